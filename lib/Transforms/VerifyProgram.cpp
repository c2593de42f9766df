//===- VerifyProgram.cpp - Do programs run to their end? ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The second verification (lib/Analysis/ProgramCheck.h), without the question
// what the result means, and the run against FIFOs (ProgramDeadlock.h). Here
// are the words only.
//
//===----------------------------------------------------------------------===//

#include "lib/Transforms/Passes.h"

#include "lib/Analysis/ProgramCheck.h"
#include "lib/Transforms/ProgramToIR.h"
#include "lib/Transforms/SourceWords.h"

namespace coll {
#define GEN_PASS_DEF_VERIFYPROGRAM
#include "lib/Transforms/Passes.h.inc"
} // namespace coll

using namespace coll;

namespace {
class VerifyProgram : public impl::VerifyProgramBase<VerifyProgram> {
public:
  using VerifyProgramBase::VerifyProgramBase;

  void runOnOperation() override;

private:
  mlir::LogicalResult verify(ProgramOp program);
};
} // namespace

static const char *whatFor(BlockedAt::Why why) {
  switch (why) {
  case BlockedAt::Data:
    return "a message of rank ";
  case BlockedAt::Credit:
    return "a free slot to rank ";
  case BlockedAt::Block:
    return "its block ";
  }
  llvm_unreachable("unknown reason");
}

/// One error, with a note for each block that waits.
static void reportStuck(const DeadlockResult &stuck, Variant variant,
                        llvm::function_ref<mlir::Location(SiteId)> place) {
  const std::vector<BlockedAt> &chain =
      stuck.cycle.empty() ? stuck.blocked : stuck.cycle;
  mlir::InFlightDiagnostic diag = mlir::emitError(
      place(chain.front().site), "program deadlocks [program-deadlock]");
  for (const BlockedAt &at : llvm::ArrayRef(chain).take_front(maxNotes))
    diag.attachNote(place(at.site))
        << "rank " << at.rank
        << (variant == Variant::InPlace ? " (in place)" : "")
        << " waits here, in block " << at.block << ", for " << whatFor(at.why)
        << (at.why == BlockedAt::Block ? at.onBlock : at.peer)
        << (at.isOver ? ", which has ended" : "");
  if (chain.size() > maxNotes)
    diag.attachNote() << "and " << chain.size() - maxNotes << " more";
}

mlir::LogicalResult VerifyProgram::verify(ProgramOp program) {
  // Places are those of the ops; no source is needed to point at them.
  mlir::FailureOr<ImportedProgram> imported =
      programFromIR(program, SourceManager());
  if (mlir::failed(imported))
    return mlir::failure();
  const ProgramSet &programs = imported->programs;
  auto place = [&](SiteId site) {
    return site == kNone ? program.getLoc() : imported->siteLocs[site];
  };
  ProgramCheckOptions options;
  options.checkTerms = false;
  ProgramCheckResult result = checkPrograms(programs, {}, options);
  for (const ProgramError &error : result.errors) {
    mlir::InFlightDiagnostic diag = mlir::emitError(place(error.site));
    diag << describe(error, programs);
    if (error.otherSite != kNone)
      diag.attachNote(place(error.otherSite))
          << (error.kind == ProgramError::Race ? "the other access"
                                               : "the other end");
  }
  if (!result.isRight())
    return mlir::failure();
  FifoShape shape{slots, batch, slices};
  for (uint32_t m = 0; m < programs.members.size(); ++m)
    for (Variant variant : {Variant::OutOfPlace, Variant::InPlace}) {
      if (variant == Variant::InPlace && programs.members[m].inPlace.empty())
        continue;
      DeadlockResult stuck = findDeadlock(programs, m, variant, shape);
      if (!stuck.isDecided)
        return program.emitError(
            "cannot decide whether the program deadlocks: two "
            "blocks use one end of a channel");
      if (!stuck.isStuck)
        continue;
      reportStuck(stuck, variant, place);
      return mlir::failure();
    }
  return mlir::success();
}

void VerifyProgram::runOnOperation() {
  markAllAnalysesPreserved();
  if (slots == 0 || batch == 0 || batch > slots || slices == 0) {
    getOperation().emitError(
        "a FIFO needs slots, and a batch of at most so many");
    return signalPassFailure();
  }
  for (auto program : getOperation().getOps<ProgramOp>())
    if (mlir::failed(verify(program)))
      signalPassFailure();
}
