//===- coll-run.cpp - Runs a schedule on local processes ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Driver/Plans.h"
#include "lib/Driver/Streams.h"
#include "lib/Driver/Variants.h"
#include "tools/coll-run/DeviceCode.h"
#include "tools/coll-run/Jit.h"
#include "tools/coll-run/Job.h"
#include "tools/coll-run/Rows.h"
#include "tools/coll-run/Table.h"
#include "tools/coll-run/Tune.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/PrettyStackTrace.h"
#include "llvm/Support/SmallVectorMemoryBuffer.h"

#include <set>
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
compileObject(Session &session, const Plan &plan, const RunOptions &options,
              const std::vector<GpuInfo> &gpus) {
  HostOptions host;
  host.dtypes = options.dtypes;
  host.ops = options.ops;
  host.arch = nativeArch();
  host.isas = {options.isa.value_or(bestIsa())};
  host.countBytes = options.countBytes;
  host.hasHost = !options.onGpus;
  std::vector<DeviceCode> devices;
  if (options.onGpus) {
    llvm::Expected<DeviceCode> code =
        compileForGpus(session, plan, host, gpus, options.ptxas);
    if (!code)
      return code.takeError();
    devices.push_back(std::move(*code));
  }
  llvm::Expected<std::unique_ptr<llvm::TargetMachine>> machine =
      createHostMachine(host.arch);
  if (!machine)
    return machine.takeError();
  llvm::LLVMContext context;
  auto module =
      compileHost(&session.context(), context, plan, host, **machine, devices);
  if (!module)
    return module.takeError();
  llvm::SmallVector<char, 0> code;
  llvm::raw_svector_ostream os(code);
  if (llvm::Error error = emitCode(**module, **machine, false, os))
    return std::move(error);
  return LoadedObject::load(
      std::make_unique<llvm::SmallVectorMemoryBuffer>(std::move(code)));
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
  if (!error && !llvm::sys::fs::is_directory(options.dumpDir))
    error = std::make_error_code(std::errc::not_a_directory);
  if (error)
    fail("cannot make '" + options.dumpDir + "': " + error.message());
  return !error;
}

static bool writeFile(const std::string &path, const void *data,
                      uint64_t bytes) {
  std::error_code error;
  llvm::raw_fd_ostream os(path, error);
  if (!error) {
    os.write(static_cast<const char *>(data), bytes);
    os.close();
    error = os.error();
    os.clear_error();
  }
  if (error)
    fail("cannot write '" + path + "': " + error.message());
  return !error;
}

/// Inputs and outputs of the row that was checked last; scalars are doubles.
static bool dumpBuffers(Job &job, const Row &row) {
  for (Rank r = 0; r < job.numRanks; ++r) {
    std::vector<BufferLayout> layout = layoutOf(row, r);
    const double *scalar = row.call.scalars.data();
    for (uint32_t b = 0; b < job.numBuffers; ++b) {
      const Buffer &buffer = row.graph->buffers[b];
      std::string path = job.options.dumpDir + "/rank" + std::to_string(r) +
                         "." + buffer.name + ".bin";
      bool isWritten = true;
      if (buffer.kind == Buffer::Scalar)
        isWritten = writeFile(path, scalar++, sizeof *scalar);
      else if (!layout[b].firstElement.empty())
        isWritten = writeFile(path, job.sharedBuffer(r, b), layout[b].bytes);
      if (!isWritten)
        return false;
    }
  }
  return true;
}

/// Stops when the rows cannot be written: nobody would see them.
static bool runRows(Job &job, Table &table) {
  for (size_t i = 0; i < job.rows.size() && table.isWritten(); ++i) {
    Cells cells[2];
    for (Mode mode : job.modes) {
      if (!job.isRun(job.rows[i], mode))
        continue;
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
      table.printBytes(job.rows[i], job);
    showProgress(job, i + 1);
  }
  return true;
}

/// What was asked for and is not so: `--row` where a size has less than a row.
static void noteShortRows(const RowSet &set, const RunOptions &options) {
  if (!options.rowIsNamed)
    return;
  size_t shorter = llvm::count_if(set.rows, [&](const Row &row) {
    return row.call.row && row.call.row < options.row;
  });
  if (shorter)
    llvm::errs() << "coll-run: note: " << shorter << " of " << set.rows.size()
                 << " lines have fewer elements than a row of " << options.row
                 << " (--row): theirs are one shorter row\n";
}

/// The rows, in the modes that the contract has.
static llvm::Expected<RowSet> makeRows(const Instance &instance,
                                       const RunOptions &options) {
  llvm::Expected<RowSet> set = rowsOf(instance, options);
  if (!set)
    return set.takeError();
  noteShortRows(*set, options);
  const ChunkGraph &graph = instance.members[0];
  if (options.inPlaceOnly && graph.inplace.empty())
    return llvm::createStringError("contract '" + graph.contract +
                                   "' has no 'inplace'");
  if (set->notInPlace.empty())
    return set;
  if (options.inPlaceOnly)
    return llvm::createStringError("no buffers lie as the 'inplace' of "
                                   "contract '" +
                                   graph.contract +
                                   "' says: " + set->notInPlace);
  llvm::errs() << "coll-run: note: not run in place where no buffers lie as "
                  "the 'inplace' of contract '"
               << graph.contract << "' says: " << set->notInPlace << "\n";
  return set;
}

/// The devices that the ranks run on, in the order of the ranks.
static llvm::Expected<std::vector<GpuInfo>>
gpusOfRanks(const RunOptions &options, uint32_t numRanks,
            const std::vector<GpuInfo> &all) {
  if (!options.gpu)
    return std::vector<GpuInfo>(
        all.begin(), all.begin() + std::min<size_t>(numRanks, all.size()));
  size_t number = size_t(*options.gpu);
  if (number >= all.size())
    return llvm::createStringError(
        "--device cuda:%zu: there %s %zu CUDA device%s on this machine", number,
        all.size() == 1 ? "is" : "are", all.size(), all.size() == 1 ? "" : "s");
  return std::vector<GpuInfo>{all[number]};
}

static std::string titleOf(const Instance &instance, const RunOptions &options,
                           const std::vector<GpuInfo> &gpus) {
  const ChunkGraph &graph = instance.members[0];
  std::string where =
      std::to_string(sysconf(_SC_NPROCESSORS_ONLN)) + " cores, shared memory";
  if (options.onGpus) {
    std::set<std::string> names;
    for (const GpuInfo &gpu : gpus)
      names.insert(gpu.name);
    where = options.gpu ? "CUDA device " + std::to_string(*options.gpu)
                        : std::to_string(gpus.size()) + " CUDA device" +
                              (gpus.size() == 1 ? "" : "s");
    where += " (" + llvm::join(names, ", ") + ")";
  }
  std::string rows =
      graph.map.byRow
          ? ", rows of at most " + std::to_string(options.row) + " elements"
          : "";
  return graph.schedule + " (" + graph.contract + ") of " + options.file +
         ", " + describe(instance.dims) + " ranks" +
         (options.threads ? " as threads" : "") + " on " + where + rows +
         ", seed " + std::to_string(options.seed);
}

static int runJob(std::vector<Row> rows, uint32_t numRanks,
                  const RunOptions &options, const coll_plan *plan,
                  size_t numGpus, Table &table) {
  std::unique_ptr<Job> job =
      Job::create(options, plan, std::move(rows), numRanks);
  if (!job)
    return static_cast<int>(Verdict::Wrong);
  job->numGpus = numGpus;
  if (!job->start())
    return static_cast<int>(Verdict::Wrong);
  bool ok = runRows(*job, table);
  if (!table.isWritten())
    return static_cast<int>(Verdict::Usage); // main says why
  if (!ok)
    job->state->failed.store(1);
  bool isDumped =
      !ok || options.dumpDir.empty() || dumpBuffers(*job, job->rows.back());
  ok &= job->finish();
  if (ok)
    table.printFoot();
  if (!isDumped)
    return static_cast<int>(Verdict::Usage);
  return ok && table.totalWrong() == 0 ? 0 : static_cast<int>(Verdict::Wrong);
}

/// The schedule at the number of ranks that was asked for. Empty: the session's
/// diagnostics say why.
static std::optional<CompiledSchedule>
compileFile(Session &session, const RunOptions &options, unsigned oldestChip) {
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
  instanceOptions.setTargets(!options.onGpus, oldestChip);
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

/// Streams of ranks that share a device share the driver's queues, of which
/// there are 8 if nobody says so: a launch that stands behind one of another
/// rank, which waits for it, never begins. Before the driver is started; what
/// the environment says stays.
static void provideQueues() {
  setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", /*overwrite=*/0);
}

/// False: standard error says why ranks cannot run on devices here.
static bool chooseDevices(const RunOptions &options, uint32_t numRanks,
                          const std::vector<GpuInfo> &all,
                          std::vector<GpuInfo> &used) {
  llvm::Expected<std::vector<GpuInfo>> chosen =
      gpusOfRanks(options, numRanks, all);
  if (!chosen) {
    fail(llvm::toString(chosen.takeError()));
    return false;
  }
  used = std::move(*chosen);
  if (numRanks > used.size() && !options.threads)
    llvm::errs() << "coll-run: note: processes that share a device take turns "
                    "on it unless MPS runs; --as-threads runs them beside each "
                    "other\n";
  return true;
}

/// Compiles and runs. What is wrong is in the session's diagnostics, or has
/// been said on standard error.
static int run(Session &session, RunOptions &options) {
  std::vector<GpuInfo> allGpus, gpus;
  unsigned oldestChip = 0;
  std::string noGpus; // said when the schedule is known to be right
  if (options.onGpus) {
    if (options.threads)
      provideQueues();
    llvm::Expected<std::vector<GpuInfo>> found = findGpus();
    if (found)
      allGpus = std::move(*found);
    else
      noGpus = llvm::toString(found.takeError());
    for (const GpuInfo &gpu : allGpus)
      oldestChip = oldestChip ? std::min(oldestChip, gpu.chip) : gpu.chip;
  }
  std::optional<CompiledSchedule> schedule =
      compileFile(session, options, oldestChip);
  std::optional<Plan> plan;
  if (schedule)
    plan = planOf(session, *schedule);
  if (!plan)
    return 0;
  const Instance &instance = schedule->instances[0];
  options.inBlocks = lowering::hasBlocks(plan->shapes);
  uint32_t numRanks = instance.members[0].numRanks();
  if (numRanks > maxRunRanks)
    return fail("a process for each rank, and more than " +
                llvm::Twine(maxRunRanks) + " of them");
  if (!fitDtypes(session, *plan, options.allDtypes, options.dtypes) ||
      !fitOps(session, *plan, /*mayLeaveOut=*/true, options.ops))
    return 0;
  options.inPlaceOnly |= !schedule->outOfPlace;
  llvm::Expected<RowSet> set = makeRows(instance, options);
  if (!set)
    return fail(llvm::toString(set.takeError()));
  if (!makeDumpDir(options))
    return static_cast<int>(Verdict::Usage);
  render(session.diags, DiagnosticFormat::Text, llvm::errs());
  if (!noGpus.empty()) {
    fail("--device cuda: " + noGpus);
    return static_cast<int>(Verdict::Usage);
  }
  if (options.onGpus && !chooseDevices(options, numRanks, allGpus, gpus))
    return static_cast<int>(Verdict::Usage);
  Table table(options, numRanks, titleOf(instance, options, gpus));
  table.printHead();
  llvm::Expected<std::unique_ptr<LoadedObject>> object =
      compileObject(session, *plan, options, gpus);
  if (!object)
    return fail(llvm::toString(object.takeError()), Verdict::Wrong);
  llvm::Expected<const coll_plan *> loaded = (*object)->plan(plan->name);
  if (!loaded)
    return fail(llvm::toString(loaded.takeError()), Verdict::Wrong);
  provideSlots(*instance.scheduled);
  return runJob(std::move(set->rows), numRanks, options, *loaded,
                allGpus.size(), table);
}

int main(int argc, char **argv) {
  StandardStreams streams;
  llvm::InitLLVM init(argc, argv);
  llvm::setBugReportMsg("coll-run crashed: please report this, with the file "
                        "and the command line\n");
  std::optional<RunOptions> options = parseRunOptions(argc, argv);
  if (!options)
    return static_cast<int>(Verdict::Usage);
  if (!options->tuneFile.empty())
    return runTune(*options);
  if (!options->onGpus) // as the command line has it
    setenv("COLL_DEVICE", "host", /*overwrite=*/1);
  Session session;
  int status = run(session, *options);
  if (session.diags.hasErrors()) {
    render(session.diags, DiagnosticFormat::Text, llvm::errs());
    return static_cast<int>(session.verdict());
  }
  // Warnings of the session have been printed.
  DiagnosticEngine diags(session.sources);
  if (streams.flush(diags))
    return status;
  render(diags, DiagnosticFormat::Text, llvm::errs());
  return static_cast<int>(Verdict::Usage);
}
