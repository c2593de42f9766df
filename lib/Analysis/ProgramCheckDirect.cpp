//===- ProgramCheckDirect.cpp - What checkDirect finds, as program errors -===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Analysis/ProgramCheckRun.h"

using namespace coll;

static SiteId siteOf(const std::vector<RankProgram> &ranks,
                     const DirectError::Place &at) {
  const auto &blocks = ranks[at.rank].blocks;
  return at.block < blocks.size() && at.step < blocks[at.block].steps.size()
             ? blocks[at.block].steps[at.step].site
             : kNone;
}

std::vector<ProgramError> check::directErrors(const ProgramSet &programs,
                                              uint32_t m, uint32_t maxErrors) {
  std::vector<ProgramError> result;
  DirectCheckOptions options;
  options.maxErrors = maxErrors;
  const ProgramMember &member = programs.members[m];
  for (const DirectError &found : checkDirect(programs, m, options)) {
    const bool isAhead = found.kind == DirectError::Ahead;
    ProgramError error{found.kind == DirectError::Race || isAhead
                           ? ProgramError::DirectRace
                           : ProgramError::NotDirect};
    const auto &ranks =
        found.variant == Variant::InPlace ? member.inPlace : member.outOfPlace;
    error.member = m;
    error.variant = found.variant;
    error.rank = found.at.rank;
    error.block = found.at.block;
    error.step = found.at.step;
    error.site = siteOf(ranks, found.at);
    error.otherRank = found.otherAt.rank;
    error.otherBlock = found.otherAt.block;
    error.otherStep = found.otherAt.step;
    error.otherSite = siteOf(ranks, found.otherAt);
    error.isStore = found.at.isStore;
    error.isOtherStore = found.otherAt.isStore;
    error.isOtherDirect = found.isOtherDirect;
    error.isDirect = true;
    error.isAhead = isAhead;
    error.peer =
        found.direct == Port::Get ? found.message.from : found.message.to;
    error.tag = found.message.tag;
    error.location = found.region;
    error.detail = found.detail;
    if (found.kind == DirectError::Order) {
      error.otherSite = kNone;
      error.detail = "its blocks have their messages in another order in place";
    } else if (found.kind == DirectError::Undecided) {
      error.detail = "there are too many accesses to decide what orders them";
    }
    result.push_back(error);
  }
  return result;
}

std::optional<ProgramError> check::lostOrder(const ProgramSet &programs,
                                             uint32_t m) {
  const ProgramMember &member = programs.members[m];
  for (Variant variant : {Variant::OutOfPlace, Variant::InPlace}) {
    const auto &ranks =
        variant == Variant::InPlace ? member.inPlace : member.outOfPlace;
    const uint32_t rounds = roundsToRun(ranks);
    if (ranks.empty() || rounds == 1) // no rank has two blocks
      continue;
    CheckTerms terms(programs, m, nullptr, rounds);
    Machine machine(programs, m, variant, terms, {}, rounds);
    if (!machine.run())
      return machine.errors[0];
  }
  return std::nullopt;
}

/// Where a message may go direct, every mixture must run, and that is certain
/// only if it does not matter how batches are aligned.
bool check::needsAlignment(const ProgramSet &programs, uint32_t m,
                           Variant variant, const FifoShape &fifo) {
  return hasDirect(programs.members[m]) &&
         runFifos(programs, m, variant, fifo.guaranteed()).isStuck;
}
