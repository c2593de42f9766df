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

#include "HostCalls.h"
#include "Module.h"
#include "Mutants.h"
#include "test/Unit/Score.h"

#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/raw_ostream.h"

#include <bit>

using namespace llvm;
using namespace coll;
using namespace coll::emu;

/// The options of this program; LLVM has hundreds of its own.
static cl::OptionCategory category("coll-emulate options");
static cl::opt<std::string> objectFile(cl::Positional, cl::Required,
                                       cl::desc("OBJECT"), cl::cat(category));
static cl::opt<std::string> planName(cl::Positional, cl::Required,
                                     cl::desc("PLAN"), cl::cat(category));
static cl::opt<unsigned> ranks("ranks", cl::Required, cl::cat(category));
static cl::opt<size_t> elements("count", cl::init(1000), cl::cat(category));
static cl::opt<size_t> rowElements("row", cl::init(100),
                                   cl::desc("of plans that cut by row"),
                                   cl::cat(category));
static cl::list<std::string> dtypes("dtypes", cl::CommaSeparated,
                                    cl::cat(category));
static cl::opt<std::string> opName("op", cl::init("sum"), cl::cat(category));
static cl::opt<unsigned> seeds("seeds", cl::init(10), cl::cat(category));
static cl::opt<unsigned> firstSeed("first-seed", cl::init(1),
                                   cl::cat(category));
static cl::opt<unsigned> launches("launches", cl::init(2), cl::cat(category));
static cl::opt<unsigned> slotBytes("slot-bytes", cl::init(1024),
                                   cl::cat(category));
static cl::opt<unsigned> slots("slots", cl::init(4), cl::cat(category));
static cl::opt<unsigned> smallSlots("small-slots", cl::init(8),
                                    cl::cat(category));
static cl::opt<unsigned> smallBytes("small-bytes", cl::init(2048),
                                    cl::cat(category));
static cl::opt<bool> isUnaligned("unaligned",
                                 cl::desc("buffers lie as badly as they may"),
                                 cl::cat(category));
static cl::opt<bool> isSmall("small", cl::desc("messages in small slots"),
                             cl::cat(category));
static cl::opt<bool> isInPlace("in-place",
                               cl::desc("buffers share memory where they may"),
                               cl::cat(category));
static cl::list<int> launchValues("launch", cl::CommaSeparated,
                                  cl::desc("of the launch parameters"),
                                  cl::cat(category));
static cl::opt<bool> tellsHow("how", cl::desc("say how messages have gone"),
                              cl::cat(category));
static cl::opt<bool> isLines("lines", cl::desc("messages of lines"),
                             cl::cat(category));
static cl::opt<bool> isBackToBack("back-to-back",
                                  cl::desc("no wait between launches"),
                                  cl::cat(category));
static cl::opt<std::string> registered(
    "registered", cl::ValueOptional,
    cl::desc("buffers in windows: all, in, out, even (of even ranks)"),
    cl::cat(category));
static cl::opt<std::string>
    multicast("multicast", cl::ValueOptional,
              cl::desc("windows with multicast addresses: all, skewed"),
              cl::cat(category));
static cl::opt<unsigned>
    period("period",
           cl::desc("only every so many launches have --count elements"),
           cl::cat(category));
static cl::opt<size_t> otherElements("other-count",
                                     cl::desc("elements of the others"),
                                     cl::cat(category));
static cl::opt<unsigned>
    firstMessage("first-message",
                 cl::desc("messages that each channel has carried before"),
                 cl::cat(category));
static cl::opt<bool> tornLines("torn-lines",
                               cl::desc("words of a line come in any order"),
                               cl::cat(category));
static cl::opt<bool> mutants("mutants", cl::cat(category));
static cl::opt<std::string>
    withoutCalls("without-calls",
                 cl::desc("leaves out all calls of this function"),
                 cl::cat(category));
static cl::opt<unsigned> mutantSeeds("mutant-seeds", cl::init(4),
                                     cl::cat(category));
static cl::opt<unsigned> mutantSample("mutant-sample", cl::init(1),
                                      cl::desc("judge one in so many"),
                                      cl::cat(category));
static cl::opt<unsigned> mutantPart("mutant-part", cl::init(0),
                                    cl::desc("which of those"),
                                    cl::cat(category));
static cl::opt<bool> mutantReach("mutant-reach",
                                 cl::desc("only tell whether they are come to"),
                                 cl::cat(category));
static cl::opt<std::string>
    mutantText("mutant-text", cl::desc("judge those whose line holds this"),
               cl::cat(category));
static cl::opt<std::string> scoreName("score", cl::cat(category));

static const std::pair<const char *, coll_dtype> kDtypeNames[] = {
    {"i8", COLL_I8},   {"u8", COLL_U8},     {"i32", COLL_I32},
    {"u32", COLL_U32}, {"i64", COLL_I64},   {"u64", COLL_U64},
    {"f16", COLL_F16}, {"bf16", COLL_BF16}, {"f32", COLL_F32},
    {"f64", COLL_F64}, {"e4m3", COLL_E4M3}, {"e5m2", COLL_E5M2}};
static const std::pair<const char *, coll_op> kOpNames[] = {
    {"sum", COLL_SUM}, {"prod", COLL_PROD}, {"min", COLL_MIN},
    {"max", COLL_MAX}, {"avg", COLL_AVG},   {"premul_sum", COLL_PREMUL_SUM}};

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
static bool loadObject(std::unique_ptr<orc::LLJIT> &jit, std::string &error) {
  auto take = [&](llvm::Error failed) {
    if (failed)
      error = toString(std::move(failed));
    return error.empty();
  };
  auto buffer = MemoryBuffer::getFile(objectFile);
  if (!buffer) {
    error = objectFile + ": " + buffer.getError().message();
    return false;
  }
  auto made = orc::LLJITBuilder().create();
  if (!made) {
    error = toString(made.takeError());
    return false;
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
  return take(jit->getMainJITDylib().define(
             orc::absoluteSymbols(std::move(symbols)))) &&
         take(jit->addObjectFile(std::move(*buffer)));
}

static std::string bitcodeOf(const coll_plan &plan) {
  for (uint32_t i = 0; i < plan.nimages; ++i)
    if (plan.images[i].kind == COLL_IMAGE_BITCODE)
      return {static_cast<const char *>(plan.images[i].data),
              size_t(plan.images[i].bytes)};
  return "";
}

/// The module after a change.
static std::string changed(const std::string &code, std::string &error,
                           function_ref<void(llvm::Module &)> change) {
  LLVMContext context;
  auto module = parseBitcodeFile(MemoryBufferRef(code, "device"), context);
  if (!module) {
    error = toString(module.takeError());
    return "";
  }
  change(**module);
  std::string text;
  raw_string_ostream os(text);
  WriteBitcodeToFile(**module, os);
  return text;
}

/// The module without calls of a function whose result nobody asks for.
static std::string withoutCallsOf(const std::string &code, StringRef name,
                                  std::string &error) {
  return changed(code, error, [&](llvm::Module &module) {
    std::vector<CallInst *> calls;
    if (Function *function = module.getFunction(name))
      for (User *user : function->users())
        if (auto *call = dyn_cast<CallInst>(user))
          calls.push_back(call);
    if (calls.empty())
      error = "nothing calls '" + name.str() + "'";
    for (CallInst *call : calls)
      call->eraseFromParent();
  });
}

/// The module with the kernels of this call alone: each type's take as long to
/// load as to run.
static std::string codeFor(const PlanCall &call, const std::string &code,
                           std::string &error) {
  const DeviceKernels kernels = chooseDeviceKernels(call);
  auto isWanted = [&](StringRef name) {
    return (kernels.slots && name == kernels.slots->symbol) ||
           (kernels.packets && name == kernels.packets->symbol) ||
           (kernels.lines && name == kernels.lines->symbol);
  };
  return changed(code, error, [&](llvm::Module &module) {
    for (Function &function : make_early_inc_range(module))
      if (function.getCallingConv() == CallingConv::PTX_Kernel &&
          !isWanted(function.getName()))
        function.eraseFromParent();
    // Nothing but what these call, and what that calls, is left.
    for (bool isMore = true; isMore;) {
      isMore = false;
      for (Function &function : make_early_inc_range(module))
        if (function.hasInternalLinkage() && function.use_empty()) {
          function.eraseFromParent();
          isMore = true;
        }
    }
  });
}

static Options optionsFor(unsigned seed) {
  Options options;
  options.seed = seed;
  options.maxReports = 1;
  options.linesInOrder = !tornLines;
  return options;
}

static const coll_dtype *findDtype(const std::string &wanted) {
  for (auto &[name, dtype] : kDtypeNames)
    if (wanted == name)
      return &dtype;
  return nullptr;
}

static PlanCall callOf(const coll_plan &plan) {
  PlanCall call;
  call.plan = &plan;
  call.ranks = ranks;
  call.count = elements;
  call.row = rowElements;
  call.period = period;
  call.otherCount = otherElements;
  call.rings.slotBytes = slotBytes;
  call.rings.slots = slots;
  call.rings.smallSlots = smallSlots;
  call.rings.smallBytes = smallBytes;
  call.isUnaligned = isUnaligned;
  call.isSmall = isSmall;
  call.isLines = isLines;
  call.launches = launches;
  call.isBackToBack = isBackToBack;
  call.isInPlace = isInPlace;
  copy(launchValues, call.launchValues.begin());
  call.firstMessage = firstMessage;
  for (auto &[name, op] : kOpNames)
    if (opName == name)
      call.op = op;
  for (auto &[name, which] : kRegisteredNames)
    if (registered == name)
      call.registered = which;
  if (multicast.getNumOccurrences()) {
    call.multicast = multicast == "skewed" ? Multicast::Skewed : Multicast::All;
    call.isExact = true;
  }
  return call;
}

static int runMutants(const std::vector<MutantPlan> &plans) {
  MutantCounts counts;
  if (std::string error = judgeMutants(
          plans,
          {mutantSeeds, mutantSample, mutantPart, mutantText, mutantReach},
          counts);
      !error.empty())
    return fail(error);
  outs() << counts.text() << "\n";
  errs() << counts.runs << " runs\n";
  outs().flush();
  if (!scoreName.empty())
    test::reportScore(scoreName, counts.text());
  return !counts.isGood();
}

/// The host's bits. In place they are those out of place, unless results are
/// what the next launch begins with.
static std::string expect(PlanCall call, std::vector<std::string> &expected) {
  call.isInPlace = call.isInPlace && call.isBackToBack;
  return runOnHost(call, expected);
}

/// How the messages of all runs have gone.
static std::string howText(const RunCounts &counts) {
  const bool isOfLines = any_of(
      counts.kernels, [](StringRef name) { return name.ends_with("_ll128"); });
  std::string text = "; messages: " + std::to_string(counts.slots) +
                     (isOfLines ? " of lines, " : " in slots, ") +
                     std::to_string(counts.packets) + " of packets, " +
                     std::to_string(counts.puts) + " put, " +
                     std::to_string(counts.gets) + " got; " +
                     std::to_string(counts.multicasts) + " by multimem";
  return text;
}

/// Every kernel of the plan. Kernels that only move bytes run for elements of
/// every size.
static int runKernels(const MutantPlan &plan) {
  unsigned runs = 0;
  const coll_plan &all = *plan.call.plan;
  for (uint32_t k = 0; k < all.ndevice_kernels; ++k) {
    const coll_device_kernel &kernel = all.device_kernels[k];
    std::vector<coll_dtype> types{coll_dtype(kernel.dtype)};
    if (kernel.dtype == COLL_ANY)
      types = {COLL_U8, COLL_BF16, COLL_F32, COLL_F64};
    for (coll_dtype dtype : types)
      for (unsigned seed = firstSeed; seed < firstSeed + seeds;
           ++seed, ++runs) {
        PlanCall call = plan.call;
        call.dtype = dtype;
        call.op = kernel.op == COLL_ANY ? COLL_SUM : coll_op(kernel.op);
        call.isSmall = kernel.protocols & COLL_PROTOCOL_LL;
        call.isLines = kernel.protocols & COLL_PROTOCOL_LL128;
        std::vector<std::string> expected;
        std::string error = expect(call, expected);
        const std::string code =
            error.empty() ? codeFor(call, plan.code, error) : "";
        if (error.empty())
          error = runOnDevices(call, code, optionsFor(seed), expected);
        if (!error.empty())
          return fail(plan.name + ", kernel " + kernel.symbol + ", dtype " +
                      Twine(unsigned(dtype)) + ", seed " + Twine(seed) + ": " +
                      error);
      }
  }
  outs() << plan.name << ": " << ranks << " ranks, " << all.ndevice_kernels
         << " kernels, " << runs << " runs: right, no report\n";
  return 0;
}

static int runSeeds(const MutantPlan &plan) {
  if (dtypes.front() == "all")
    return runKernels(plan);
  for (const std::string &dtypeName : dtypes) {
    PlanCall call = plan.call;
    const coll_dtype *dtype = findDtype(dtypeName);
    if (!dtype)
      return fail("no dtype '" + dtypeName + "'");
    call.dtype = *dtype;
    std::vector<std::string> expected;
    std::string error = expect(call, expected);
    const std::string code =
        error.empty() ? codeFor(call, plan.code, error) : "";
    if (!error.empty())
      return fail(dtypeName + ": " + error);
    RunCounts counts;
    for (unsigned seed = firstSeed; seed < firstSeed + seeds; ++seed)
      if (error = runOnDevices(call, code, optionsFor(seed), expected, &counts);
          !error.empty())
        return fail("seed " + Twine(seed) + ", " + dtypeName + ": " + error);
    outs() << plan.name << ": " << ranks << " ranks, " << dtypeName << ", "
           << seeds << " seeds: right, no report"
           << (call.multicast == Multicast::None ? ""
               : counts.multicasts               ? ", by multimem"
                                                 : ", without multimem")
           << (tellsHow ? howText(counts) : "") << "\n";
    errs() << counts.steps << " accesses\n";
  }
  return 0;
}

/// Numbers of a plan's own, as many as it says: NAME:COUNT:PERIOD:SMALLSLOTS.
static bool takeNumbers(StringRef numbers, PlanCall &call) {
  auto take = [&](auto &number) {
    auto [own, rest] = numbers.split(':');
    numbers = rest;
    return own.empty() || !own.getAsInteger(10, number);
  };
  return take(call.count) && take(call.period) && take(call.rings.smallSlots) &&
         numbers.empty() && std::has_single_bit(call.rings.smallSlots) &&
         call.rings.smallSlots <= COLL_MAX_SMALL_SLOTS;
}

/// Several plans of the object, separated by commas.
static int runAll(orc::LLJIT &jit) {
  std::vector<MutantPlan> plans;
  for (StringRef which : split(planName, ',')) {
    auto [name, numbers] = which.split(':');
    auto address = jit.lookup((name + "_plan").str());
    if (!address)
      return fail(toString(address.takeError()));
    MutantPlan plan;
    plan.name = name.str();
    const auto *found = address->toPtr<const coll_plan *>();
    plan.call = callOf(*found);
    if (!takeNumbers(numbers, plan.call))
      return fail("no numbers: '" + numbers + "'");
    plan.code = bitcodeOf(*found);
    if (plan.code.empty())
      return fail("the plan has no bitcode: compile it with --embed-bitcode");
    std::string error;
    if (!withoutCalls.empty())
      plan.code = withoutCallsOf(plan.code, withoutCalls, error);
    if (!error.empty())
      return fail(error);
    plans.push_back(std::move(plan));
  }
  if (mutants) {
    for (MutantPlan &plan : plans)
      if (const coll_dtype *dtype = findDtype(dtypes.front()))
        plan.call.dtype = *dtype;
    return runMutants(plans);
  }
  for (const MutantPlan &plan : plans)
    if (int status = runSeeds(plan))
      return status;
  return 0;
}

/// What no run can be made of, as a text; else "".
static std::string checkOptions() {
  constexpr size_t mostElements = size_t(1) << 24;
  auto isDepth = [](unsigned value, unsigned most) {
    return std::has_single_bit(value) && value <= most;
  };
  auto known = [](const auto &table, StringRef wanted) {
    return any_of(table, [&](auto &entry) { return wanted == entry.first; });
  };
  if (ranks == 0)
    return "--ranks is at least 1";
  if (isSmall && isLines)
    return "--small and --lines are two kinds of messages";
  if (seeds == 0 || launches == 0 || mutantSeeds == 0 || mutantSample == 0)
    return "--seeds, --launches, --mutant-seeds and --mutant-sample are at "
           "least 1";
  if (mutantPart >= mutantSample)
    return "--mutant-part is below --mutant-sample";
  if (!isDepth(slots, COLL_MAX_SLOTS))
    return "--slots is a power of two, " + std::to_string(COLL_MAX_SLOTS) +
           " at most";
  if (!isDepth(smallSlots, COLL_MAX_SMALL_SLOTS))
    return "--small-slots is a power of two, " +
           std::to_string(COLL_MAX_SMALL_SLOTS) + " at most";
  if (std::max({size_t(elements), size_t(rowElements), size_t(otherElements)}) >
      mostElements)
    return "--count, --row and --other-count are " +
           std::to_string(mostElements) + " at most";
  if (!known(kOpNames, opName))
    return "no --op=" + opName;
  if (launchValues.size() > COLL_MAX_LAUNCH)
    return "--launch has " + std::to_string(COLL_MAX_LAUNCH) +
           " values at most";
  if (isInPlace && mutants)
    return "--mutants are judged out of place";
  if (dtypes.empty())
    return "--dtypes names the element types";
  for (const std::string &dtype : dtypes)
    if (dtype != "all" && !known(kDtypeNames, dtype))
      return "no dtype '" + dtype + "'";
  if (registered.getNumOccurrences() && registered.empty())
    registered = "all";
  if (!registered.empty() && !known(kRegisteredNames, registered))
    return "no --registered=" + registered;
  if (!multicast.empty() && multicast != "all" && multicast != "skewed")
    return "no --multicast=" + multicast;
  return "";
}

int main(int argc, char **argv) {
  cl::HideUnrelatedOptions(category);
  cl::ParseCommandLineOptions(argc, argv, "a plan's device code on the CPU\n");
  InitializeNativeTarget();
  InitializeNativeTargetAsmPrinter();
  std::unique_ptr<orc::LLJIT> jit;
  std::string error;
  if (std::string wrong = checkOptions(); !wrong.empty())
    return fail(wrong);
  return loadObject(jit, error) ? runAll(*jit) : fail(error);
}
