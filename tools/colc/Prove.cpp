//===- Prove.cpp - colc --prove -------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// First the schedule is executed for a few rank spaces, smallest first: what is
// wrong is nearly always wrong there, and is then reported with the usual
// counterexample. What survives is proved for all of them, or nobody knows.
//
//===----------------------------------------------------------------------===//

#include "tools/colc/Prove.h"

#include "lib/Analysis/SourceLocation.h"
#include "lib/Driver/Plans.h"
#include "lib/Prove/Prove.h"
#include "lib/Support/Slugs.h"
#include "llvm/Support/Format.h"
#include <ctime>

using namespace coll;

/// Rank spaces that are executed: all up to so many ranks, and some above.
static constexpr uint32_t lastSmall = 9;
static constexpr uint32_t larger[] = {12, 15, 16, 17, 24, 31, 32, 33};

static double cpuMs() { return std::clock() * 1e3 / CLOCKS_PER_SEC; }

/// "2 to 9, 12", by how many ranks the spaces have.
static std::string spanText(const std::vector<RankDims> &spaces) {
  std::string text;
  uint32_t last = 0, first = 0;
  auto flush = [&] {
    if (first == 0)
      return;
    text += (text.empty() ? "" : ", ") + std::to_string(first);
    if (last > first)
      text += (last > first + 1 ? " to " : ", ") + std::to_string(last);
  };
  std::vector<uint32_t> sizes;
  for (const RankDims &dims : spaces) {
    uint32_t size = 1;
    for (uint32_t d : dims)
      size *= d;
    sizes.push_back(size);
  }
  llvm::sort(sizes);
  sizes.erase(llvm::unique(sizes), sizes.end());
  for (uint32_t size : sizes) {
    if (first && size == last + 1) {
      last = size;
      continue;
    }
    flush();
    first = last = size;
  }
  flush();
  return text;
}

namespace {
/// Executions of one schedule.
struct Trials {
  std::vector<RankDims> right, excluded;
  bool isWrong = false;
  RankDims failed;                  ///< if it is wrong
  Verdict verdict = Verdict::Right; ///< of that: an argument may lack
  bool isTooLarge = false;          ///< not wrong, but given up
};
} // namespace

static void execute(Session &session, const Bytecode &code,
                    const Options &options, llvm::ArrayRef<RankSpec> specs,
                    Trials &trials) {
  InstanceOptions instanceOptions;
  instanceOptions.defines = options.defines;
  instanceOptions.maxProgramValues = 0; // the schedule, not its programs
  for (const RankDims &dims : rankSpacesOf(session, code, specs)) {
    if (trials.isWrong)
      return;
    Instance instance = session.instantiate(code, dims, instanceOptions);
    if (instance.status == Instance::Failed) {
      trials.isWrong = true;
      trials.failed = dims;
      const Diagnostic &error = session.diags.diagnostics().back();
      trials.verdict = verdictOf(error);
      trials.isTooLarge = isLimit(error);
    } else if (instance.status == Instance::Checked)
      trials.right.push_back(dims);
    else
      trials.excluded.push_back(dims);
  }
}

static RankSpec range(uint32_t low, uint32_t high) {
  RankSpec spec;
  spec.low = low;
  spec.high = high;
  return spec;
}

/// Where the failure of an obligation points to, if it is small enough.
static void trySuspect(Session &session, const Bytecode &code,
                       const Options &options, const ProofResult &proof,
                       Trials &trials) {
  constexpr int64_t maxSuspect = 64;
  if (!proof.suspect)
    return;
  RankSpec spec;
  int64_t total = 1;
  for (int64_t dim : *proof.suspect) {
    if (dim < 1 || dim > maxSuspect || total > maxSuspect)
      return;
    total *= dim;
    spec.dims.push_back(dim);
  }
  if (total <= maxSuspect)
    execute(session, code, options, spec, trials);
}

static ScheduleOp scheduleOf(Session &session, const Bytecode &code) {
  for (ScheduleOp op : session.module().getOps<ScheduleOp>())
    if (op.getSymName() == code.schedule)
      return op;
  return {};
}

static void printProof(const Bytecode &code, const ProofResult &proof,
                       const Options &options, double ms) {
  llvm::raw_ostream &os = llvm::outs();
  os << code.schedule << ": proved for " << proof.domain
     << " (dataflow, no double count, "
     << (proof.hasRegions ? proof.needsBuffers
                                ? "no deadlock with the buffer it asks for"
                                : "no deadlock at depth 0"
                          : "no deadlock at any depth")
     << ") [" << llvm::format("%.0f", ms) << " ms]\n";
  if (options.invariants)
    for (const std::string &line : proof.invariants)
      os << "  " << line << "\n";
}

static Verdict proveSchedule(Session &session, const Bytecode &code,
                             const Options &options) {
  Trials trials;
  execute(session, code, options, range(2, lastSmall + 1), trials);
  double start = cpuMs();
  ProofResult proof;
  if (!trials.isWrong) {
    proof = proveForAll(scheduleOf(session, code), options.defines);
    if (!proof.isProved)
      trySuspect(session, code, options, proof, trials);
  }
  if (proof.isProved && !trials.isWrong) {
    printProof(code, proof, options, cpuMs() - start);
    return Verdict::Right;
  }
  if (!trials.isWrong)
    for (uint32_t n : larger)
      execute(session, code, options, range(n, n + 1), trials);
  if (trials.isWrong) {
    if (trials.verdict == Verdict::Wrong)
      llvm::outs() << code.schedule
                   << (trials.isTooLarge ? ": too large to execute at "
                                         : ": refuted at ")
                   << describe(trials.failed) << " ranks\n";
    return trials.verdict;
  }
  llvm::outs() << code.schedule << ": cannot decide for all N"
               << (trials.right.empty()
                       ? std::string()
                       : "; right at " + spanText(trials.right) + " ranks")
               << "\n";
  session.diags
      .warning(Slug::Undecided,
               proof.at ? rangeOf(session.sources, proof.at->getLoc())
                        : SourceRange(),
               "cannot decide '" + code.schedule +
                   "' for all numbers of ranks: " + proof.why)
      .emit();
  return Verdict::Undecided;
}

Verdict coll::proveSchedules(Session &session, const Options &options) {
  if (!options.ranks.empty() && !options.check) {
    session
        .usage("--prove is about every number of ranks: --ranks is for "
               "--check")
        .emit();
    return Verdict::Usage;
  }
  Verdict verdict = Verdict::Right;
  for (const Bytecode &code : session.schedules())
    verdict = worse(verdict, proveSchedule(session, code, options));
  return verdict;
}
