//===- coll-run.cpp - Runs a schedule on local processes ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Driver/Plans.h"
#include "tools/coll-run/Jit.h"
#include "tools/coll-run/Job.h"
#include "tools/coll-run/Table.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/PrettyStackTrace.h"
#include "llvm/Support/SmallVectorMemoryBuffer.h"

#include <unistd.h>

using namespace coll;

static int fail(const llvm::Twine &message, Verdict verdict = Verdict::Usage) {
  llvm::errs() << "coll-run: error: " << message << "\n";
  return static_cast<int>(verdict);
}

/// The schedule to run, or an error that lists what the file has.
static const Bytecode *chooseSchedule(Session &session,
                                      const RunOptions &options) {
  const std::vector<Bytecode> &all = session.schedules();
  if (all.size() == 1)
    return &all[0];
  std::string names;
  for (const Bytecode &code : all)
    names += (names.empty() ? "" : ", ") + code.schedule;
  session
      .usage("'" + options.file +
             "' has several schedules, say which as FILE:SCHEDULE: " + names)
      .emit();
  return nullptr;
}

/// Nothing is compiled that this processor would not run.
static lowering::Isa bestIsa() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("x86-64-v4"))
    return lowering::Isa::V4;
  return __builtin_cpu_supports("x86-64-v3") ? lowering::Isa::V3
                                             : lowering::Isa::V2;
#else
  return lowering::Isa::AArch64;
#endif
}

static llvm::Expected<std::unique_ptr<LoadedObject>>
compileObject(Session &session, const Plan &plan, const RunOptions &options) {
  HostOptions host;
  host.dtypes = options.dtypes;
  host.ops = options.ops;
  host.arch = nativeArch();
  host.isas = {options.isa.value_or(bestIsa())};
  host.countBytes = options.countBytes;
  llvm::Expected<std::unique_ptr<llvm::TargetMachine>> machine =
      createHostMachine(host.arch);
  if (!machine)
    return machine.takeError();
  llvm::LLVMContext context;
  auto module = compileHost(&session.context(), context, plan, host, **machine);
  if (!module)
    return module.takeError();
  llvm::SmallVector<char, 0> code;
  llvm::raw_svector_ostream os(code);
  if (llvm::Error error = emitCode(**module, **machine, false, os))
    return std::move(error);
  return LoadedObject::load(
      std::make_unique<llvm::SmallVectorMemoryBuffer>(std::move(code)));
}

static std::vector<uint64_t> sizesOf(const RunOptions &options) {
  std::vector<uint64_t> sizes;
  for (uint64_t bytes = options.minBytes; bytes <= options.maxBytes;) {
    sizes.push_back(bytes);
    uint64_t next =
        options.stepBytes ? bytes + options.stepBytes : bytes * options.factor;
    // The largest size is always a row, also where the factor steps over it.
    bool stepsOver = !options.stepBytes && next > options.maxBytes &&
                     bytes < options.maxBytes;
    bytes = stepsOver ? options.maxBytes : next;
  }
  return sizes;
}

/// What the rows of the table are: elements of a part.
static std::vector<uint64_t> elementCounts(const ChunkGraph &graph,
                                           const RunOptions &options,
                                           uint32_t elementBytes) {
  if (!hasCounts(graph))
    return {0};
  if (!options.counts.empty())
    return options.counts;
  std::vector<uint64_t> counts;
  for (uint64_t bytes : sizesOf(options))
    counts.push_back(elementsFor(graph, bytes, elementBytes));
  return counts;
}

/// The launch values to run: one for each root that was asked for.
static std::vector<uint32_t> membersToRun(const Instance &instance,
                                          const RunOptions &options) {
  std::vector<uint32_t> members;
  for (uint32_t m = 0; m < instance.members.size(); ++m) {
    const std::vector<uint32_t> &values = instance.members[m].launchValues;
    bool wanted = options.allRoots || values.empty();
    for (int root : options.roots)
      wanted |= llvm::all_of(
          values, [&](uint32_t v) { return v == static_cast<uint32_t>(root); });
    if (wanted)
      members.push_back(m);
  }
  return members;
}

static Row makeRow(const ChunkGraph &graph, const RunOptions &options,
                   uint64_t elements, coll_dtype dtype, coll_op op) {
  Row row;
  row.graph = &graph;
  row.elements = elements;
  row.bytes = elements * bytesOf(dtype) * mostParts(graph);
  row.launch.assign(graph.launchValues.begin(), graph.launchValues.end());
  row.call.dtype = dtype;
  row.call.op = op;
  bool isFloat = lowering::isFloat(static_cast<lowering::Format>(dtype));
  row.call.factor = isFloat ? options.factorOfPremul : 3;
  row.call.count = row.elements;
  if (!graph.launchCounts.empty())
    row.call.counts =
        unevenCounts(graph, row.elements, options.seed + elements);
  for (const Buffer &buffer : graph.buffers)
    if (buffer.kind == Buffer::Scalar)
      row.call.scalars.push_back(0.125);
  for (Rank r = 0; r < graph.numRanks() && !hasCounts(graph); ++r)
    for (const BufferLayout &buffer : layoutOf(row, r))
      row.bytes = std::max(row.bytes, buffer.bytes);
  return row;
}

static std::vector<Row> rowsOf(const Instance &instance,
                               const RunOptions &options) {
  std::vector<Row> rows;
  const ChunkGraph &any = instance.members[0];
  std::vector<lowering::Format> dtypes = options.dtypes;
  std::vector<lowering::ReduceOp> ops = options.ops;
  if (!hasElements(any))
    dtypes.assign(1, lowering::Format::U8);
  if (!any.reduces || !hasElements(any))
    ops.assign(1, lowering::ReduceOp::Sum);
  else if (!any.isAvgLegal)
    llvm::erase(ops, lowering::ReduceOp::Avg);
  for (lowering::Format dtype : dtypes)
    for (lowering::ReduceOp op : ops)
      for (uint32_t member : membersToRun(instance, options))
        for (uint64_t elements :
             elementCounts(any, options, lowering::bytesOf(dtype)))
          rows.push_back(makeRow(instance.members[member], options, elements,
                                 static_cast<coll_dtype>(dtype),
                                 static_cast<coll_op>(op)));
  return rows;
}

/// Compares all outputs of a row, which the ranks have copied to shared memory.
static uint64_t checkRow(Job &job, const Row &row) {
  std::vector<std::vector<BufferLayout>> layouts;
  for (Rank r = 0; r < job.numRanks; ++r)
    layouts.push_back(layoutOf(row, r));
  auto address = [&](Rank rank, uint32_t buffer,
                     uint32_t part) -> const void * {
    return job.sharedBuffer(rank, buffer) +
           layouts[rank][buffer].firstElement[part] * bytesOf(row.call.dtype);
  };
  InterpreterResult result =
      checkOutputs(*row.graph, row.call, address, address,
                   std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)));
  if (!result.error.empty()) {
    fail(result.error);
    return 1;
  }
  for (const Mismatch &m : result.first)
    llvm::errs() << llvm::formatv(
        "# wrong: rank {0}, {1} part {2}, element {3}: got {4}, the schedule "
        "says {5}, exactly {6}\n",
        m.rank, row.graph->buffers[m.cell.buffer].name, m.cell.part, m.element,
        m.got, m.expected, m.exact);
  return std::max(result.wrongBits, result.outOfBound);
}

static double meanSeconds(const Job &job) {
  double sum = 0;
  for (Rank r = 0; r < job.numRanks; ++r)
    sum += job.state->results[r].seconds;
  return sum / job.numRanks;
}

/// A line that is overwritten, for people who wait.
static void showProgress(const Job &job, size_t done) {
  if (!isatty(STDERR_FILENO) || isatty(STDOUT_FILENO))
    return;
  fprintf(stderr, "\r%zu of %zu rows%s", done, job.rows.size(),
          done == job.rows.size() ? "\r\033[K" : "");
}

static bool makeDumpDir(const RunOptions &options) {
  if (options.dumpDir.empty())
    return true;
  std::error_code error = llvm::sys::fs::create_directories(options.dumpDir);
  if (error)
    fail("cannot make '" + options.dumpDir + "': " + error.message());
  return !error;
}

/// Inputs and outputs of the row that was checked last.
static bool dumpBuffers(Job &job, const Row &row) {
  for (Rank r = 0; r < job.numRanks; ++r) {
    std::vector<BufferLayout> layout = layoutOf(row, r);
    for (uint32_t b = 0; b < job.numBuffers; ++b) {
      if (layout[b].firstElement.empty())
        continue;
      std::string path = job.options.dumpDir + "/rank" + std::to_string(r) +
                         "." + row.graph->buffers[b].name + ".bin";
      std::error_code error;
      llvm::raw_fd_ostream os(path, error);
      if (!error) {
        os.write(reinterpret_cast<const char *>(job.sharedBuffer(r, b)),
                 layout[b].bytes);
        os.close();
        error = os.error();
        os.clear_error();
      }
      if (error) {
        fail("cannot write '" + path + "': " + error.message());
        return false;
      }
    }
  }
  return true;
}

static bool runRows(Job &job, Table &table) {
  table.printHead();
  for (size_t i = 0; i < job.rows.size(); ++i) {
    Cells cells[2];
    for (Mode mode : job.modes) {
      Cells &c = cells[mode == Mode::InPlace];
      c.present = true;
      if (job.options.check) {
        if (!job.meet())
          return false;
        c.wrong = checkRow(job, job.rows[i]);
        if (!job.meet())
          return false;
      }
      if (!job.meet())
        return false;
      c.seconds = meanSeconds(job);
    }
    table.printRow(job.rows[i], cells[0], cells[1]);
    if (job.options.countBytes)
      table.printBytes(job.rows[i]);
    showProgress(job, i + 1);
  }
  return job.options.dumpDir.empty() || dumpBuffers(job, job.rows.back());
}

static int runJob(const Instance &instance, const RunOptions &options,
                  const coll_plan *plan) {
  std::vector<Row> rows = rowsOf(instance, options);
  if (rows.empty())
    return fail("-r names no launch value that the schedule has");
  const ChunkGraph &graph = instance.members[0];
  if (options.inPlaceOnly && graph.inplace.empty())
    return fail("contract '" + graph.contract + "' has no 'inplace'");
  if (!makeDumpDir(options))
    return static_cast<int>(Verdict::Usage);
  std::unique_ptr<Job> job =
      Job::create(options, plan, std::move(rows), graph.numRanks());
  if (!job || !job->start())
    return static_cast<int>(Verdict::Wrong);
  std::string title =
      graph.schedule + " (" + graph.contract + ") of " + options.file + ", " +
      describe(instance.dims) + " ranks on " +
      std::to_string(sysconf(_SC_NPROCESSORS_ONLN)) +
      " cores, shared memory, seed " + std::to_string(options.seed);
  Table table(*job, title);
  bool ok = runRows(*job, table);
  if (!ok)
    job->state->failed.store(1);
  ok &= job->finish();
  if (ok)
    table.printFoot();
  return ok && table.totalWrong() == 0 ? 0 : static_cast<int>(Verdict::Wrong);
}

/// The schedule at the number of ranks that was asked for. Empty: the session's
/// diagnostics say why.
static std::optional<CompiledSchedule> compileFile(Session &session,
                                                   const RunOptions &options) {
  if (isForeign(options.file)) {
    if (!options.defines.empty()) {
      session.usage("-D: an XML has no parameters").emit();
      return std::nullopt;
    }
    return compileForeign(session, options.file, options.schedule,
                          options.ranks);
  }
  if (!session.parse(options.file, options.libraryDirs) ||
      !session.analyse(options.schedule, options.defines))
    return std::nullopt;
  const Bytecode *code = chooseSchedule(session, options);
  InstanceOptions instanceOptions;
  instanceOptions.defines = options.defines;
  CompiledSchedule schedule;
  if (!code || !compileSchedule(session, *code, options.ranks, instanceOptions,
                                schedule))
    return std::nullopt;
  if (schedule.instances.empty()) {
    session.usage("'where' leaves nothing to run").emit();
    return std::nullopt;
  }
  return schedule;
}

/// A plan may need more slots than channels have by default. What the
/// environment says stays.
static void provideSlots(const ScheduleResult &scheduled) {
  if (scheduled.bulk.slots > ScheduleOptions().slots)
    setenv("COLL_SLOTS", std::to_string(scheduled.bulk.slots).c_str(),
           /*overwrite=*/0);
}

/// Compiles and runs. What is wrong is in the session's diagnostics, or has
/// been said on standard error.
static int run(Session &session, RunOptions &options) {
  std::optional<CompiledSchedule> schedule = compileFile(session, options);
  std::optional<Plan> plan;
  if (schedule)
    plan = planOf(session, *schedule);
  if (!plan)
    return 0;
  const Instance &instance = schedule->instances[0];
  if (instance.members[0].numRanks() > maxRunRanks)
    return fail("more than " + llvm::Twine(maxRunRanks) + " processes");
  llvm::Expected<std::unique_ptr<LoadedObject>> object =
      compileObject(session, *plan, options);
  if (!object)
    return fail(llvm::toString(object.takeError()), Verdict::Wrong);
  llvm::Expected<const coll_plan *> loaded = (*object)->plan(plan->name);
  if (!loaded)
    return fail(llvm::toString(loaded.takeError()), Verdict::Wrong);
  render(session.diags, DiagnosticFormat::Text, llvm::errs());
  provideSlots(*instance.scheduled);
  options.inPlaceOnly |= !schedule->outOfPlace;
  return runJob(instance, options, *loaded);
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  llvm::setBugReportMsg("coll-run crashed: please report this, with the file "
                        "and the command line\n");
  std::optional<RunOptions> options = parseRunOptions(argc, argv);
  if (!options)
    return static_cast<int>(Verdict::Usage);
  Session session;
  int status = run(session, *options);
  if (!session.diags.hasErrors())
    return status;
  render(session.diags, DiagnosticFormat::Text, llvm::errs());
  return static_cast<int>(session.verdict());
}
