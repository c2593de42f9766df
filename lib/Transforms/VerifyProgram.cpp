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

using Places = llvm::function_ref<mlir::Location(SiteId)>;

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

/// A note for each block that waits.
static void noteChain(mlir::InFlightDiagnostic &diag,
                      const DeadlockResult &stuck, Variant variant,
                      Places place) {
  const std::vector<BlockedAt> &chain =
      stuck.cycle.empty() ? stuck.blocked : stuck.cycle;
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

/// One error, with the chain, and what would be enough.
static void reportStuck(const DeadlockResult &stuck, const ProgramSet &programs,
                        uint32_t member, Variant variant,
                        const FifoShape &shape, Places place) {
  const std::vector<BlockedAt> &chain =
      stuck.cycle.empty() ? stuck.blocked : stuck.cycle;
  mlir::InFlightDiagnostic diag = mlir::emitError(
      place(chain.front().site), "program deadlocks [program-deadlock]");
  noteChain(diag, stuck, variant, place);
  if (auto least = leastSlots(programs, member, variant, shape))
    diag.attachNote() << "it would end with " << *least
                      << " slots, and with no fewer; there are " << shape.slots
                      << ", given back " << shape.batch
                      << " at a time, and messages of up to " << shape.slices;
}

/// What is wrong whatever the FIFOs.
static void reportError(const ProgramError &error, const ProgramSet &programs,
                        Places place) {
  mlir::InFlightDiagnostic diag = mlir::emitError(place(error.site));
  diag << describe(error, programs);
  if (error.kind == ProgramError::Race) {
    diag.attachNote(place(error.otherSite)) << describeOther(error);
    diag.attachNote(place(error.site)) << describeMissingOrder(error);
  } else if (error.otherSite != kNone) {
    diag.attachNote(place(error.otherSite)) << "the other end";
  } else if (error.kind == ProgramError::Stuck) {
    // As many slots as there can be messages.
    FifoShape endless{kNone / 2, 1, 1, 2};
    noteChain(diag, runFifos(programs, error.member, error.variant, endless),
              error.variant, place);
  }
}

/// A block that cannot run yet waits for one that has ended, and others may
/// wait for it.
static bool areResident(const ProgramSet &programs, uint32_t limit,
                        mlir::Location loc) {
  for (const ProgramMember &member : programs.members)
    for (const auto *ranks : {&member.outOfPlace, &member.inPlace})
      for (Rank rank = 0; rank < ranks->size(); ++rank)
        if (size_t blocks = (*ranks)[rank].blocks.size(); blocks > limit) {
          mlir::emitError(loc) << "rank " << rank << " has " << blocks
                               << " blocks, and " << limit
                               << " can run at a time: one that others wait "
                                  "for may never start [too-many-blocks]";
          return false;
        }
  return true;
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
  if (resident != 0 && !areResident(programs, resident, program.getLoc()))
    return mlir::failure();
  ProgramCheckOptions options;
  options.checkTerms = false;
  ProgramCheckResult result = checkPrograms(programs, {}, options);
  for (const ProgramError &error : result.errors)
    reportError(error, programs, place);
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
      if (!stuck.isStuck && hasDirect(programs.members[m]) &&
          runFifos(programs, m, variant, shape.guaranteed()).isStuck)
        return program.emitError(
            "cannot decide whether the program deadlocks when some messages go "
            "direct and others do not: it only runs as batches of credits are "
            "aligned where none does");
      if (!stuck.isStuck)
        continue;
      reportStuck(stuck, programs, m, variant, shape, place);
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
