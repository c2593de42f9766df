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
static cl::list<std::string> dtypes("dtypes", cl::CommaSeparated);
static cl::opt<std::string> opName("op", cl::init("sum"));
static cl::opt<unsigned> seeds("seeds", cl::init(10));
static cl::opt<unsigned> firstSeed("first-seed", cl::init(1));
static cl::opt<unsigned> launches("launches", cl::init(2));
static cl::opt<unsigned> slotBytes("slot-bytes", cl::init(1024));
static cl::opt<unsigned> slots("slots", cl::init(4));
static cl::opt<bool> isSmall("small", cl::desc("messages in small slots"));
static cl::opt<bool> mutants("mutants");
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

/// How many of the mutants some seed refuses.
static int runMutants(const PlanCall &call, const std::string &code,
                      const std::vector<std::string> &expected) {
  std::string symbol;
  for (uint32_t i = 0; i < call.plan->ndevice_kernels; ++i) {
    const coll_device_kernel &kernel = call.plan->device_kernels[i];
    if (symbol.empty() &&
        (kernel.dtype == COLL_ANY || kernel.dtype == call.dtype))
      symbol = kernel.symbol;
  }
  std::vector<Mutant> list;
  if (std::string error = makeMutants(code, symbol, list); !error.empty())
    return fail(error);
  std::map<std::string, std::pair<unsigned, unsigned>> byKind;
  unsigned caught = 0;
  for (const Mutant &mutant : list) {
    std::string why;
    for (unsigned seed = 1; seed <= mutantSeeds && why.empty(); ++seed)
      why = runOnDevices(call, mutant.code, optionsFor(seed), expected);
    auto &[found, all] = byKind[mutant.kind];
    ++all;
    found += !why.empty();
    caught += !why.empty();
    if (why.empty())
      outs() << "survives: " << mutant.kind << ": " << mutant.where << "\n";
  }
  std::string line =
      std::to_string(caught) + " of " + std::to_string(list.size()) + " caught";
  for (auto &[kind, numbers] : byKind) {
    outs() << "  " << kind << ": " << numbers.first << " of " << numbers.second
           << "\n";
    line += "; " + kind + " " + std::to_string(numbers.first) + "/" +
            std::to_string(numbers.second);
  }
  outs() << "mutants: " << caught << " of " << list.size() << " caught\n";
  outs().flush();
  if (!scoreName.empty())
    test::reportScore(scoreName, line);
  return caught != list.size();
}

static int runAll(const coll_plan &plan) {
  std::string code = bitcodeOf(plan);
  if (code.empty())
    return fail("the plan has no bitcode: compile it with --embed-bitcode");
  PlanCall call;
  call.plan = &plan;
  call.ranks = ranks;
  call.count = elements;
  call.rings.slotBytes = slotBytes;
  call.rings.slots = slots;
  call.isSmall = isSmall;
  call.launches = launches;
  for (auto &[name, op] : kOpNames)
    if (opName == name)
      call.op = op;
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
    uint64_t steps = 0;
    for (unsigned seed = firstSeed; seed < firstSeed + seeds; ++seed)
      if (std::string error =
              runOnDevices(call, code, optionsFor(seed), expected, &steps);
          !error.empty())
        return fail("seed " + Twine(seed) + ", " + dtypeName + ": " + error);
    outs() << planName << ": " << ranks << " ranks, " << dtypeName << ", "
           << seeds << " seeds: right, no report\n";
    errs() << steps << " accesses\n";
    if (mutants)
      if (int status = runMutants(call, code, expected))
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
