//===- Symmetry.cpp - Check one slice of a schedule that turns ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tries to turn all dimensions of the ranks, then fewer. Each attempt runs the
// code without data, to learn how cells turn, and then with it.
//
//===----------------------------------------------------------------------===//

#include "lib/Analysis/Symmetry.h"

#include "lib/Analysis/ElaborateWords.h"
#include "lib/Analysis/SymmetryRun.h"

using namespace coll;
using namespace coll::elab;

/// Choices of phases that are tried.
constexpr unsigned maxRetries = 16;
/// With more, the full execution of a schedule that fails is not waited for.
constexpr uint32_t manyRanks = 4096;

namespace {
class Attempt {
public:
  Attempt(const Bytecode &code, const Parameters &params,
          const std::vector<LoopRole> &roles, llvm::ArrayRef<bool> active,
          DiagnosticEngine &diags, const SymmetryOptions &options)
      : code(code), params(params), roles(roles), active(active), diags(diags),
        options(options),
        cells(std::make_shared<SymmetryCells>(params.rankDims, active)) {}
  SymmetryResult run();
  unsigned blame = SymmetryCells::stays;

private:
  SymmetryRun::Outcome runOnce(bool isLearning,
                               std::vector<Write> *trace = nullptr);
  void finish(SymmetryResult &result);
  void explainBroken(SymmetryResult &result);
  void explainStuck();
  void collectOutputs();

  const Bytecode &code;
  const Parameters &params;
  const std::vector<LoopRole> &roles;
  llvm::ArrayRef<bool> active;
  DiagnosticEngine &diags;
  const SymmetryOptions &options;
  std::shared_ptr<SymmetryCells> cells;
  std::unique_ptr<Machine> machine;
  std::unique_ptr<SymmetryRun> last;
  const char *why = "";
};
} // namespace

SymmetryRun::Outcome Attempt::runOnce(bool isLearning,
                                      std::vector<Write> *trace) {
  machine = std::make_unique<Machine>(code, params);
  machine->state.isSparse = true;
  machine->state.trace = trace;
  last = std::make_unique<SymmetryRun>(*machine, *cells, roles, active,
                                       isLearning);
  SymmetryRun::Outcome outcome = last->run();
  why = last->why;
  blame = last->blame;
  return outcome;
}

//===----------------------------------------------------------------------===//
// What is wrong
//===----------------------------------------------------------------------===//

/// The slice once more, with every write recorded.
void Attempt::explainBroken(SymmetryResult &result) {
  std::vector<Write> trace;
  runOnce(false, &trace);
  ContractCheck check(*machine);
  check.run();
  ContractFault fault = explainContract(check, trace);
  fault.numWrong *= result.numSlices;
  fault.numPromises *= result.numSlices;
  Words(*machine, diags).report(fault);
  result.status = SymmetryResult::Wrong;
}

void Attempt::explainStuck() {
  Machine other(code, params);
  other.state.isSparse = true;
  SymmetryCells unused(params.rankDims, active);
  SymmetryRun recording(other, unused, roles, active, true);
  std::vector<SymmetryRun::Op> script;
  recording.script = &script;
  recording.scriptOf = last->numRegions();
  recording.run();
  RegionFault fault = last->explainStuck(script);
  machine->faultIterations.assign(fault.links.size(), last->stuckAt());
  Words(*machine, diags).report(fault);
}

//===----------------------------------------------------------------------===//
// What is right
//===----------------------------------------------------------------------===//

/// What the slice left in `out`.
void Attempt::collectOutputs() {
  Machine &m = *machine;
  for (const Array &array : m.state.arrays) {
    if (array.buffer == kNone ||
        m.graph.buffers[array.buffer].kind != Buffer::Out)
      continue;
    for (auto [index, value] : array.sparse)
      m.graph.outputs.push_back({Rank(index / array.cells),
                                 m.state.cellOf(array, index % array.cells),
                                 value, array.writer(index)});
  }
}

void Attempt::finish(SymmetryResult &result) {
  Machine &m = *machine;
  Words words(m, diags);
  result.numValues = m.graph.values.size();
  if (result.numValues * result.numSlices <= options.fewValues) {
    result.why = "there is little to do";
    return;
  }
  collectOutputs();
  ContractCheck check(m);
  if (!check.run()) {
    result.status = SymmetryResult::Refuted;
    if (result.numValues * result.numSlices > options.manyValues)
      explainBroken(result);
    return;
  }
  ContractCheck::Comparison comparison = check.compareBits();
  result.agreement = comparison.agreement;
  if (comparison.agreement != Agreement::Yes)
    result.disagreement = describeDisagreement(check, words, comparison);
  DeadFinder finder;
  finder.add(m);
  DeadTransfers dead = finder.finish(m);
  for (DeadTransfers::Site &site : dead.sites) {
    site.dead *= result.numSlices;
    site.total *= result.numSlices;
  }
  words.report(dead);
  result.status = SymmetryResult::Right;
}

SymmetryResult Attempt::run() {
  SymmetryResult result;
  for (auto [dim, isActive] : llvm::zip_equal(params.rankDims, active))
    result.numSlices *= isActive ? dim : 1;
  using Outcome = SymmetryRun::Outcome;
  Outcome outcome = runOnce(true);
  if (outcome == Outcome::Done && !cells->solve()) {
    result.why = "cells do not turn alike";
    return result;
  }
  if (outcome == Outcome::Done) {
    unsigned retries = 0;
    do
      outcome = runOnce(false);
    while (outcome == Outcome::Retry && ++retries < maxRetries);
  }
  result.why = why;
  switch (outcome) {
  case Outcome::Done:
    finish(result);
    if (options.keepSlice) {
      machine->builder.finish();
      result.slice = std::move(machine->graph);
      result.cells = cells;
    }
    break;
  case Outcome::Excluded:
    result.status = SymmetryResult::Excluded;
    result.excludedBy = code.strings[machine->excludedBy];
    break;
  case Outcome::Failed:
    result.status = SymmetryResult::Refuted;
    if (last->isFailureCertain() && machine->graph.numRanks() > manyRanks) {
      Words(*machine, diags).report(*machine->sink.failure);
      result.status = SymmetryResult::Wrong;
    }
    break;
  case Outcome::Stuck:
    explainStuck();
    result.status = SymmetryResult::Wrong;
    break;
  case Outcome::Retry:
    result.why = "slices are not independent";
    break;
  case Outcome::NotSymmetric:
    break;
  }
  return result;
}

static unsigned smallestActive(llvm::ArrayRef<uint32_t> dims,
                               llvm::ArrayRef<bool> active) {
  unsigned best = SymmetryCells::stays;
  for (unsigned d = 0; d < dims.size(); ++d)
    if (active[d] && (best == SymmetryCells::stays || dims[d] < dims[best]))
      best = d;
  return best;
}

SymmetryResult coll::checkBySymmetry(const Bytecode &code,
                                     const Parameters &params,
                                     DiagnosticEngine &diags,
                                     const SymmetryOptions &options) {
  std::vector<LoopRole> roles = findLoopRoles(code);
  llvm::SmallVector<bool, 4> active;
  unsigned numActive = 0;
  for (uint32_t dim : params.rankDims) {
    active.push_back(dim > 1 && numActive < SymmetryRun::maxActive);
    numActive += active.back();
  }
  SymmetryResult result;
  while (numActive > 0) {
    Attempt attempt(code, params, roles, active, diags, options);
    result = attempt.run();
    unsigned blame = attempt.blame;
    if (result.status != SymmetryResult::Undecided || result.numValues)
      break;
    if (blame == SymmetryCells::stays || !active[blame])
      blame = smallestActive(params.rankDims, active);
    active[blame] = false;
    --numActive;
  }
  return result;
}
