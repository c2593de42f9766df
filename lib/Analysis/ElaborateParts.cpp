//===- ElaborateParts.cpp - Checking a schedule in parts ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every part has its own verdict; what is said of the schedule is what one
// execution of all would say: of failures the first in order of execution, of
// broken promises the first in their order and how many there are. The part
// that has it is executed once more, to explain it.
//
//===----------------------------------------------------------------------===//

#include "lib/Analysis/ElaborateParts.h"

#include "lib/Analysis/ElaborateExecution.h"
#include "lib/Analysis/ElaborateWords.h"

using namespace coll;
using namespace coll::elab;

/// Of each part; where no graph is made of them, steps are cheaper.
constexpr uint64_t maxSteps = 1u << 28;

uint32_t CellGroups::split(uint64_t most) {
  std::vector<uint64_t> sizes(parent.size());
  for (uint32_t node = 0; node < parent.size(); ++node)
    sizes[find(node)] += weight[node];
  partOf.resize(parent.size());
  uint32_t part = 0;
  uint64_t filled = 0;
  for (uint32_t node = 0; node < parent.size(); ++node) {
    uint32_t root = find(node); // the lowest of its group
    if (root != node) {
      partOf[node] = partOf[root];
      continue;
    }
    if (filled != 0 && filled + sizes[node] > most) {
      ++part;
      filled = 0;
    }
    filled += sizes[node];
    partOf[node] = part;
  }
  return part + 1;
}

namespace {
class PartsCheck {
public:
  PartsCheck(const Bytecode &code, const Parameters &params,
             DiagnosticEngine &diags, CellGroups &groups)
      : code(code), params(params), diags(diags), groups(groups) {}
  ElaborateResult run(uint32_t numParts);

private:
  void add(Execution &part, uint32_t number, bool isRight);
  void compareBits(Execution &part);
  void reportFirst();

  const Bytecode &code;
  const Parameters &params;
  DiagnosticEngine &diags;
  CellGroups &groups;
  ElaborateResult result;
  DeadFinder dead;
  uint64_t numWrong = 0, numPromises = 0;
  uint64_t firstDisagreement = ~0ull;
  /// Of the part that has the first failure or, without one, the first broken
  /// promise.
  bool hasFailed = false;
  uint64_t first = ~0ull;
  uint32_t firstPart = 0;
};
} // namespace

void PartsCheck::compareBits(Execution &part) {
  ContractCheck::Comparison comparison = part.check->compareBits();
  if (comparison.agreement == Agreement::Yes)
    return;
  uint64_t number = part.machine.promiseNumbers[comparison.other];
  bool isWorse = comparison.agreement == Agreement::No &&
                 result.agreement != Agreement::No;
  bool isEarlier =
      comparison.agreement == result.agreement && number < firstDisagreement;
  if (!isWorse && result.agreement != Agreement::Yes && !isEarlier)
    return;
  result.agreement = comparison.agreement;
  firstDisagreement = number;
  result.disagreement =
      describeDisagreement(*part.check, Words(part.machine, diags), comparison);
}

void PartsCheck::add(Execution &part, uint32_t number, bool isRight) {
  Machine &m = part.machine;
  result.numValues += m.graph.values.size();
  if (m.sink.failure) {
    if (!hasFailed || m.progress < first) {
      first = m.progress;
      firstPart = number;
    }
    hasFailed = true;
    return;
  }
  numPromises = m.numPromises;
  if (!isRight) {
    numWrong += part.check->numWrong;
    uint64_t promise = m.promiseNumbers[part.check->firstWrong];
    if (!hasFailed && promise < first) {
      first = promise;
      firstPart = number;
    }
    return;
  }
  if (hasFailed || numWrong != 0)
    return;
  collectOutputs(m);
  compareBits(part);
  dead.add(m);
}

void PartsCheck::reportFirst() {
  groups.select(firstPart);
  Execution again(code, params, &groups);
  again.machine.state.trace = &again.trace;
  again.run();
  Words words(again.machine, diags);
  if (again.machine.sink.failure)
    return words.report(*again.machine.sink.failure);
  ContractFault fault = explainContract(*again.check, again.trace);
  fault.numWrong = numWrong;
  fault.numPromises = numPromises;
  findGroup(code, params, result.numValues, fault);
  words.report(fault);
}

/// Every part would say the same.
static bool isOfAllParts(const Failure &failure) {
  return failure.fault == Fault::Region ||
         failure.fault == Fault::TooManySteps ||
         failure.fault == Fault::TooManyLocations;
}

ElaborateResult PartsCheck::run(uint32_t numParts) {
  std::unique_ptr<Execution> part;
  for (uint32_t i = 0; i < numParts; ++i) {
    groups.select(i);
    part.reset(); // it takes as much memory as the next one
    part = std::make_unique<Execution>(code, params, &groups);
    bool isRight = part->run();
    if (part->machine.sink.failure &&
        isOfAllParts(*part->machine.sink.failure)) {
      Words(part->machine, diags).report(*part->machine.sink.failure);
      return std::move(result);
    }
    add(*part, i, isRight);
  }
  if (hasFailed || numWrong != 0) {
    part.reset();
    reportFirst();
    return std::move(result);
  }
  Words(part->machine, diags).report(dead.finish(part->machine));
  result.status = ElaborateResult::Right;
  return std::move(result);
}

ElaborateResult coll::checkInParts(const Bytecode &code,
                                   const Parameters &given,
                                   DiagnosticEngine &diags,
                                   uint64_t mostValues) {
  Parameters params = given;
  params.limits.steps = std::max(params.limits.steps, maxSteps);
  CellGroups groups;
  bool isKnown;
  {
    Execution joining(code, params, &groups);
    joining.run();
    isKnown =
        !joining.machine.sink.failure && joining.machine.excludedBy == kNone;
  }
  if (!isKnown || groups.size() <= mostValues)
    return elaborate(code, params, diags);
  return PartsCheck(code, params, diags, groups).run(groups.split(mostValues));
}
