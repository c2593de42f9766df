//===- VerifyContract.cpp - Does a schedule do what it promises? ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All is known by elaboration (lib/Analysis/Elaborate.h), which has the words,
// too. Here it is run for every member of a family, up to the first error.
//
//===----------------------------------------------------------------------===//

#include "lib/Transforms/Passes.h"

#include "lib/Analysis/BytecodeBuilder.h"
#include "lib/Analysis/Elaborate.h"
#include "lib/Transforms/SourceWords.h"

namespace coll {
#define GEN_PASS_DEF_VERIFYCONTRACT
#include "lib/Transforms/Passes.h.inc"
} // namespace coll

using namespace coll;

namespace {
class VerifyContract : public impl::VerifyContractBase<VerifyContract> {
public:
  using VerifyContractBase::VerifyContractBase;

  void runOnOperation() override;

private:
  bool readParameters(Parameters &parameters);
  mlir::LogicalResult verify(ScheduleOp schedule, Parameters parameters,
                             const SourceManager &sources);
};
} // namespace

bool VerifyContract::readParameters(Parameters &parameters) {
  parameters.rankDims.assign(ranks.begin(), ranks.end());
  for (llvm::StringRef define : defines) {
    auto [name, text] = define.split('=');
    int64_t value;
    if (name.empty() || text.getAsInteger(10, value)) {
      getOperation().emitError("option 'define' needs K=3, has ") << define;
      return false;
    }
    parameters.defines.emplace_back(name, value);
  }
  return true;
}

mlir::LogicalResult VerifyContract::verify(ScheduleOp schedule,
                                           Parameters parameters,
                                           const SourceManager &sources) {
  Bytecode code = buildBytecode(schedule, sources);
  if (code.code.empty())
    return mlir::failure(); // said already
  DiagnosticEngine diags(sources);
  LaunchFamily family = enumerateLaunch(code, parameters, diags);
  if (family.status == ElaborateResult::Right)
    for (uint64_t i = 0; i < family.size() && !diags.hasErrors(); ++i) {
      parameters.launch = family.member(i);
      elaborate(code, parameters, diags);
    }
  return emitDiagnostics(diags, schedule.getLoc());
}

void VerifyContract::runOnOperation() {
  markAllAnalysesPreserved();
  Parameters parameters;
  if (!readParameters(parameters))
    return signalPassFailure();
  SourceManager sources;
  openSources(getOperation(), sources);
  for (auto schedule : getOperation().getOps<ScheduleOp>())
    if (schedule.getRankNames().size() == ranks.size() &&
        mlir::failed(verify(schedule, parameters, sources)))
      signalPassFailure();
}
