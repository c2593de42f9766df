//===- coll-emulate.cpp - A plan's device code on the emulator ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//   coll-emulate OBJECT PLAN --ranks=N [--count=] [--dtypes=] [--seeds=] ...
//
// Runs host kernels for the bits that are right, then device kernels under so
// many seeds. With --mutants also every mutant of the device kernel, each of
// which some seed must refuse.
//
//===----------------------------------------------------------------------===//

#include "Module.h"
#include "Mutate.h"
#include "PlanRun.h"
#include "test/Unit/Score.h"

#include "llvm/Support/CommandLine.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/raw_ostream.h"

#include <array>
#include <map>

using namespace llvm;
using namespace coll;
using namespace coll::emu;

static cl::opt<std::string> objectFile(cl::Positional, cl::Required,
                                       cl::desc("OBJECT"));
static cl::opt<std::string> planName(cl::Positional, cl::Required,
                                     cl::desc("PLAN"));
static cl::opt<unsigned> ranks("ranks", cl::Required);
static cl::opt<size_t> elements("count", cl::init(1000));
static cl::opt<size_t> rowElements("row", cl::init(100),
                                   cl::desc("of plans that cut by row"));
static cl::list<std::string> dtypes("dtypes", cl::CommaSeparated);
static cl::opt<std::string> opName("op", cl::init("sum"));
static cl::opt<unsigned> seeds("seeds", cl::init(10));
static cl::opt<unsigned> firstSeed("first-seed", cl::init(1));
static cl::opt<unsigned> launches("launches", cl::init(2));
static cl::opt<unsigned> slotBytes("slot-bytes", cl::init(1024));
static cl::opt<unsigned> slots("slots", cl::init(4));
static cl::opt<bool> isSmall("small", cl::desc("messages in small slots"));
static cl::opt<bool> isBackToBack("back-to-back",
                                  cl::desc("no wait between launches"));
static cl::opt<std::string> registered(
    "registered", cl::ValueOptional,
    cl::desc("buffers in windows: all, in, out, even (of even ranks)"));
static cl::opt<std::string>
    multicast("multicast", cl::ValueOptional,
              cl::desc("windows with multicast addresses: all, skewed"));
static cl::opt<unsigned>
    period("period",
           cl::desc("only every so many launches have --count elements"));
static cl::opt<size_t> otherElements("other-count",
                                     cl::desc("elements of the others"));
static cl::opt<bool> mutants("mutants");
static cl::opt<std::string> mutantKind("mutant-kind",
                                       cl::desc("only mutants of this kind"));
static cl::opt<unsigned> mutantSeeds("mutant-seeds", cl::init(4));
static cl::opt<std::string> scoreName("score");

static const std::pair<const char *, coll_dtype> kDtypeNames[] = {
    {"i8", COLL_I8},   {"u8", COLL_U8},     {"i32", COLL_I32},
    {"u32", COLL_U32}, {"i64", COLL_I64},   {"u64", COLL_U64},
    {"f16", COLL_F16}, {"bf16", COLL_BF16}, {"f32", COLL_F32},
    {"f64", COLL_F64}, {"e4m3", COLL_E4M3}, {"e5m2", COLL_E5M2}};
static const std::pair<const char *, coll_op> kOpNames[] = {{"sum", COLL_SUM},
                                                            {"prod", COLL_PROD},
                                                            {"min", COLL_MIN},
                                                            {"max", COLL_MAX}};

static const std::pair<const char *, Registered> kRegisteredNames[] = {
    {"all", Registered::All},
    {"in", Registered::In},
    {"out", Registered::Out},
    {"even", Registered::Even}};

static int fail(const Twine &text) {
  errs() << "coll-emulate: " << text << "\n";
  return 1;
}

static uint64_t countBytes(uint64_t) { return 0; }

/// The object's code and tables in this process.
static const coll_plan *loadPlan(std::unique_ptr<orc::LLJIT> &jit,
                                 std::string &error) {
  auto take = [&](llvm::Error failed) {
    if (failed)
      error = toString(std::move(failed));
    return error.empty();
  };
  auto buffer = MemoryBuffer::getFile(objectFile);
  if (!buffer) {
    error = objectFile + ": " + buffer.getError().message();
    return nullptr;
  }
  auto made = orc::LLJITBuilder().create();
  if (!made) {
    error = toString(made.takeError());
    return nullptr;
  }
  jit = std::move(*made);
  orc::SymbolMap symbols;
  auto define = [&](const char *name, auto *function) {
    symbols[jit->mangleAndIntern(name)] = {orc::ExecutorAddr::fromPtr(function),
                                           JITSymbolFlags::Exported |
                                               JITSymbolFlags::Callable};
  };
  define("coll_kernel_wait", &waitOnHost);
  define("coll_kernel_mismatch", &mismatchOnHost);
  define("coll_kernel_window", &windowOnHost);
  define("coll_kernel_remote", &remoteOnHost);
  define("coll_kernel_move", &moveOnHost);
  define("coll_count_bytes", &countBytes);
  if (!take(jit->getMainJITDylib().define(
          orc::absoluteSymbols(std::move(symbols)))) ||
      !take(jit->addObjectFile(std::move(*buffer))))
    return nullptr;
  auto address = jit->lookup(planName + "_plan");
  if (!address) {
    error = toString(address.takeError());
    return nullptr;
  }
  return address->toPtr<const coll_plan *>();
}

static std::string bitcodeOf(const coll_plan &plan) {
  for (uint32_t i = 0; i < plan.nimages; ++i)
    if (plan.images[i].kind == COLL_IMAGE_BITCODE)
      return {static_cast<const char *>(plan.images[i].data),
              size_t(plan.images[i].bytes)};
  return "";
}

static Options optionsFor(unsigned seed) {
  Options options;
  options.seed = seed;
  options.maxReports = 1;
  return options;
}

/// A call, and the outputs that are right.
struct Way {
  PlanCall call;
  std::vector<std::string> expected;
};

static std::string makeWays(const PlanCall &call, std::vector<Way> &ways) {
  for (bool small : {false, true}) {
    Way way;
    if (call.period) { // what is wrong may need other inputs to be seen
      way.call = call;
      if (std::string error = runOnHost(call, way.expected); !error.empty())
        return error;
      ways.push_back(std::move(way));
      break;
    }
    way.call = call;
    way.call.isSmall = small;
    way.call.isBackToBack = true;
    PlanCall first = way.call;
    first.launches = 1;
    if (std::string error = runOnHost(first, way.expected); !error.empty())
      return error;
    ways.push_back(std::move(way));
  }
  return "";
}

enum class Verdict { Caught, Equivalent, NotReached, Missed };

static Verdict judge(const Mutant &mutant, const std::vector<Way> &ways) {
  RunCounts all;
  for (const Way &way : ways)
    for (unsigned seed = 1; seed <= mutantSeeds; ++seed) {
      RunCounts counts;
      if (!runOnDevices(way.call, mutant.code, optionsFor(seed), way.expected,
                        &counts)
               .empty())
        return Verdict::Caught;
      all.reached += counts.reached;
      if (!counts.reached)
        break; // nor does another seed come to it
    }
  return !all.reached                     ? Verdict::NotReached
         : !whyEquivalent(mutant).empty() ? Verdict::Equivalent
                                          : Verdict::Missed;
}

static std::string kernelFor(const PlanCall &call) {
  for (uint32_t i = 0; i < call.plan->ndevice_kernels; ++i) {
    const coll_device_kernel &kernel = call.plan->device_kernels[i];
    if (kernel.dtype == COLL_ANY || kernel.dtype == call.dtype)
      return kernel.symbol;
  }
  return "";
}

static int runMutants(const PlanCall &call, const std::string &code) {
  std::vector<Mutant> list;
  std::vector<Way> ways;
  std::string error = makeMutants(code, kernelFor(call), list);
  if (error.empty())
    error = makeWays(call, ways);
  if (!error.empty())
    return fail(error);
  static const char *const names[] = {"caught", "equivalent", "not reached",
                                      "MISSED"};
  std::map<std::string, std::array<unsigned, 4>> byKind;
  std::array<unsigned, 4> total = {};
  if (!mutantKind.empty())
    erase_if(list, [](const Mutant &m) { return m.kind != mutantKind; });
  for (const Mutant &mutant : list) {
    unsigned verdict = unsigned(judge(mutant, ways));
    ++byKind[mutant.kind][verdict];
    ++total[verdict];
    outs() << names[verdict] << ": " << mutant.kind << ": " << mutant.where();
    if (verdict == unsigned(Verdict::Equivalent))
      outs() << " (" << whyEquivalent(mutant) << ")";
    outs() << "\n";
  }
  auto textOf = [&](const std::array<unsigned, 4> &numbers) {
    std::string text;
    for (unsigned i = 0; i < 4; ++i)
      text += (i ? ", " : "") + std::to_string(numbers[i]) + " " + names[i];
    return text;
  };
  for (auto &[kind, numbers] : byKind)
    outs() << "  " << kind << ": " << textOf(numbers) << "\n";
  std::string line = std::to_string(list.size()) + " mutants: " + textOf(total);
  outs() << line << "\n";
  outs().flush();
  if (!scoreName.empty())
    test::reportScore(scoreName, line);
  return total[unsigned(Verdict::Missed)] != 0;
}

static int runAll(const coll_plan &plan) {
  std::string code = bitcodeOf(plan);
  if (code.empty())
    return fail("the plan has no bitcode: compile it with --embed-bitcode");
  PlanCall call;
  call.plan = &plan;
  call.ranks = ranks;
  call.count = elements;
  call.row = rowElements;
  call.period = period;
  call.otherCount = otherElements;
  call.rings.slotBytes = slotBytes;
  call.rings.slots = slots;
  call.isSmall = isSmall;
  call.launches = launches;
  call.isBackToBack = isBackToBack;
  for (auto &[name, op] : kOpNames)
    if (opName == name)
      call.op = op;
  if (registered.getNumOccurrences() && registered.empty())
    registered = "all";
  for (auto &[name, which] : kRegisteredNames)
    if (registered == name)
      call.registered = which;
  if (!registered.empty() && call.registered == Registered::None)
    return fail("no --registered=" + registered);
  if (multicast.getNumOccurrences()) {
    call.multicast = multicast == "skewed" ? Multicast::Skewed : Multicast::All;
    call.isExact = true;
    if (!multicast.empty() && multicast != "all" && multicast != "skewed")
      return fail("no --multicast=" + multicast);
  }
  for (const std::string &dtypeName : dtypes) {
    bool isKnown = false;
    for (auto &[name, dtype] : kDtypeNames)
      if (dtypeName == name) {
        call.dtype = dtype;
        isKnown = true;
      }
    if (!isKnown)
      return fail("no dtype '" + dtypeName + "'");
    std::vector<std::string> expected;
    if (std::string error = runOnHost(call, expected); !error.empty())
      return fail(error);
    RunCounts counts;
    for (unsigned seed = firstSeed; seed < firstSeed + seeds; ++seed)
      if (std::string error =
              runOnDevices(call, code, optionsFor(seed), expected, &counts);
          !error.empty())
        return fail("seed " + Twine(seed) + ", " + dtypeName + ": " + error);
    outs() << planName << ": " << ranks << " ranks, " << dtypeName << ", "
           << seeds << " seeds: right, no report"
           << (call.multicast == Multicast::None ? ""
               : counts.multicasts               ? ", by multimem"
                                                 : ", without multimem")
           << "\n";
    errs() << counts.steps << " accesses\n";
    if (mutants)
      if (int status = runMutants(call, code))
        return status;
  }
  return 0;
}

int main(int argc, char **argv) {
  cl::ParseCommandLineOptions(argc, argv, "a plan's device code on the CPU\n");
  InitializeNativeTarget();
  InitializeNativeTargetAsmPrinter();
  std::unique_ptr<orc::LLJIT> jit;
  std::string error;
  const coll_plan *plan = loadPlan(jit, error);
  return plan ? runAll(*plan) : fail(error);
}
