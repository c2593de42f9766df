//===- ProgramWords.cpp - What is wrong with programs, in words -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Analysis/MapLimits.h"
#include "lib/Driver/Session.h"
#include "lib/Support/Slugs.h"

using namespace coll;

static SourceRange rangeOf(const ProgramSet &programs, SiteId site) {
  bool known = site != kNone && site < programs.sites.size();
  return known ? programs.sites[site].range : SourceRange();
}

static std::string number(uint64_t n) { return std::to_string(n); }

static std::string describe(const BlockedAt &b) {
  std::string who = "rank " + number(b.rank) + " waits here for ";
  switch (b.why) {
  case BlockedAt::Data:
    return who + "data of rank " + number(b.peer);
  case BlockedAt::Credit:
    return who + "a free slot to rank " + number(b.peer);
  case BlockedAt::Block:
    return who + "its block " + number(b.onBlock);
  }
  return who;
}

/// The least that a ring may have on which these programs end; 0: none does.
static uint32_t enoughSlots(const ProgramSet &programs,
                            const ScheduleRefusal &r) {
  for (uint32_t slots = 2; slots <= maxSlots; slots *= 2)
    if (slots > r.shape.slots &&
        !findDeadlock(programs, r.member, r.variant,
                      {slots, slots / 2, r.shape.slices})
             .isStuck)
      return slots;
  return 0;
}

static void reportDeadlock(DiagnosticEngine &diags, const ScheduleRefusal &r,
                           const ProgramSet &programs, SourceRange range,
                           const std::string &name) {
  InFlight error = diags.error(
      Slug::ProgramDeadlock, range,
      "the programs of " + name + " deadlock with " + number(r.shape.slots) +
          " slots and messages of " + number(r.shape.slices) + " slices");
  const auto &chain =
      r.deadlock.cycle.empty() ? r.deadlock.blocked : r.deadlock.cycle;
  for (const BlockedAt &b : chain)
    error.note(rangeOf(programs, b.site), describe(b));
  uint32_t slots = enoughSlots(programs, r);
  error.help(
      SourceRange(),
      "say a smaller `round`, or " +
          (slots ? "`slots " + number(slots) + "`, which is enough, or " : "") +
          "leave both out");
}

void coll::reportRefusal(DiagnosticEngine &diags, const Bytecode &code,
                         const Instance &instance) {
  const ScheduleRefusal &r = *instance.scheduled->refusal;
  const ProgramSet &programs = instance.scheduled->programs;
  SourceRange range = rangeOf(programs, r.site);
  if (!range.isValid() && code.site != kNone)
    range = code.siteTable[code.site].range;
  std::string name =
      "'" + code.schedule + "' at " + describe(instance.dims) + " ranks";
  std::string needed = number(r.needed), limit = number(r.limit);
  switch (r.kind) {
  case ScheduleRefusal::Deadlock:
    return reportDeadlock(diags, r, programs, range, name);
  case ScheduleRefusal::RoundTooSmall:
    diags
        .error(Slug::RoundTooSmall, range,
               "a round of " + limit + " bytes is less than " + needed)
        .emit();
    return;
  case ScheduleRefusal::ScratchLimit:
    diags
        .error(Slug::ScratchLimit, range,
               name + ": rank " + number(r.rank) + " needs " + needed +
                   " bytes of scratch, 'map' allows " + limit)
        .emit();
    return;
  case ScheduleRefusal::TooManyBlocks:
    diags
        .error(Slug::TooManyBlocks, range,
               name + " has " + needed + " blocks, at most " + limit +
                   " fit a rank")
        .emit();
    return;
  case ScheduleRefusal::TooManyTags:
    diags
        .error(Slug::TooManyChannels, range,
               name + " has " + needed +
                   " channels between two ranks, at most " + limit +
                   " are possible")
        .emit();
    return;
  case ScheduleRefusal::TooManyPorts:
    diags
        .error(Slug::TooManyPorts, range,
               name + " has a step of " + needed +
                   " sources or sinks, at most " + limit + " are possible")
        .emit();
    return;
  case ScheduleRefusal::TooManySteps:
    diags
        .error(Slug::PlanLimit, range,
               name + " has " + needed + " steps on rank " + number(r.rank) +
                   ", a plan holds " + limit)
        .emit();
    return;
  case ScheduleRefusal::RoundTooLong:
    diags
        .error(Slug::PlanLimit, range,
               "rounds of " + name + " are " + needed +
                   " slots long, a plan has at most " + limit)
        .emit();
    return;
  }
}

void coll::reportProgramError(DiagnosticEngine &diags, const Instance &instance,
                              const ProgramError &error) {
  const ProgramSet &programs = instance.scheduled->programs;
  InFlight e =
      diags.error(Slug::InternalProgram, rangeOf(programs, error.site),
                  "internal error: the program of rank " + number(error.rank) +
                      " at " + describe(instance.dims) +
                      " ranks is wrong: " + coll::describe(error, programs));
  if (error.otherSite != kNone)
    e.note(rangeOf(programs, error.otherSite), "the other access");
  e.help(SourceRange(),
         "no object is written: please report this, with the file");
}
