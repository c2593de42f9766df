//===- ElaborateFaultWords.cpp - Deadlocks and broken promises ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Analysis/ElaborateWords.h"
#include "lib/Support/Slugs.h"

#include <set>

using namespace coll;
using namespace coll::elab;

/// Links of a cycle in one line.
constexpr size_t maxLinks = 6;

static std::string str(int64_t x) { return std::to_string(x); }
static std::string quote(const std::string &name) { return "'" + name + "'"; }
static std::string times(uint64_t n) {
  return n == 1 ? "once" : n == 2 ? "twice" : std::to_string(n) + " times";
}

//===----------------------------------------------------------------------===//
// Regions
//===----------------------------------------------------------------------===//

void Words::report(const RegionFault &fault) {
  if (fault.kind == RegionFault::Deadlock)
    return reportDeadlock(fault);
  const RegionFault::Link &link = fault.links.front();
  bool isSent = fault.kind == RegionFault::NeverReceived;
  std::string text =
      isSent ? "a message of rank " + rank(link.rank) + " to rank " +
                   rank(link.peer) + " is never received"
             : "rank " + rank(link.rank) + " waits for a message of rank " +
                   rank(link.peer) + " that is never sent";
  Diagnostic d{Severity::Error,
               isSent ? Slug::NeverReceived : Slug::NeverSent,
               text,
               range(link.site),
               {},
               {}};
  if (!fault.isPeerPresent)
    d.note(head(fault.region),
           "rank " + rank(link.peer) + " has no process here");
  emit(std::move(d), link.site);
}

/// One note for all that wait at one place, and one for what they wait for.
void Words::addWaits(Diagnostic &d, const RegionFault &fault) {
  std::map<SiteId, std::vector<Rank>> waiting, wanted;
  std::map<SiteId, std::set<std::string>> when;
  std::map<SiteId, bool> isSend;
  for (auto [i, link] : llvm::enumerate(fault.links)) {
    when[link.site].insert(iterations(m.faultIterations[i]));
    waiting[link.site].push_back(link.rank);
    wanted[link.counterpart].push_back(link.rank);
    isSend[link.site] = link.isSend;
    isSend[link.counterpart] = !link.isSend;
  }
  for (auto &[site, who] : waiting) {
    bool isOne = who.size() == 1 || ranks(who) == "every rank";
    std::string text = ranks(who) + (isOne ? " waits here, " : " wait here, ");
    const std::string &at = *when[site].begin();
    if (when[site].size() == 1 && !at.empty())
      text += "at " + at + ", ";
    if (!isSend[site])
      text += "for a message that was not sent";
    else
      text += isOne ? "until its message is taken"
                    : "until their messages are taken";
    d.note(range(site), text);
  }
  for (auto &[site, who] : wanted)
    d.note(range(site), std::string("the ") +
                            (isSend[site] ? "send" : "receive") +
                            (who.size() > 1 ? " each waits for, never reached"
                                            : " that rank " + rank(who[0]) +
                                                  " waits for, never reached"));
}

void Words::addRepairs(Diagnostic &d, const RegionFault &fault) {
  for (auto [first, second] : fault.repairs) {
    SourceRange a = range(first), b = range(second);
    if (a.file != b.file || !a.isValid() || a.end > b.begin)
      return;
    llvm::StringRef between = text({a.file, a.end, b.begin});
    if (between.find_first_not_of(" \t\r\n;") != llvm::StringRef::npos)
      return; // something else stands there
  }
  for (auto [first, second] : fault.repairs) {
    SourceRange a = range(first), b = range(second);
    d.fix(a.to(b), "group { " + text(a).str() + "   " + text(b).str() + " }",
          "post both together");
  }
}

void Words::reportDeadlock(const RegionFault &fault) {
  std::string text = "schedule " + quote(m.graph.schedule) + " deadlocks: ";
  for (size_t i = 0; i < fault.links.size() && i < maxLinks; ++i) {
    const RegionFault::Link &link = fault.links[i];
    text += (i == 0 ? "rank " : ", ") + rank(link.rank) +
            (i == 0 ? " waits for " : " for ") + rank(link.peer);
  }
  if (fault.links.size() > maxLinks)
    text += ", and so on round " + str(fault.links.size()) + " ranks";
  SiteId site = fault.links.front().site;
  Diagnostic d{Severity::Error, Slug::Deadlock, text, range(site), {}, {}};
  addWaits(d, fault);
  if (fault.leastCapacity)
    d.note(head(fault.region),
           "it would end with 'buffer " + str(*fault.leastCapacity) +
               "', and with no less" +
               (fault.capacity ? "; it says " + str(fault.capacity) : ""));
  else
    d.note(head(fault.region), "no buffer is large enough for it to end");
  addRepairs(d, fault);
  emit(std::move(d), site);
}

//===----------------------------------------------------------------------===//
// Contract
//===----------------------------------------------------------------------===//

/// "the input of rank 4", "the inputs of ranks 1 and 2", or the terms.
std::string Words::contribution(const ContractFault &fault) const {
  const TermTable &terms = m.builder.terms;
  bool isInput =
      fault.isPlainReduce && llvm::all_of(fault.parts, [&](TermId part) {
        return terms[part].kind == Term::Leaf;
      });
  if (isInput) {
    std::vector<Rank> who;
    for (TermId part : fault.parts)
      who.push_back(terms.operandsOf(part)[3]);
    return (who.size() == 1 ? "the input of " : "the inputs of ") + ranks(who);
  }
  size_t others = fault.parts.size() - 1;
  return term(fault.part) + (others ? " and " + str(others) + " more" : "");
}

Words::Message Words::contractMessage(const ContractFault &fault) const {
  std::string output = place(fault.place);
  std::string where;
  for (auto [function, argument] : fault.arguments)
    where += ", in argument " + str(argument + 1) + " of " +
             m.graph.functions[function].name;
  std::string part = fault.part == kNone ? "" : contribution(fault);
  bool isOutput = fault.culpritPlace.array == fault.place.array &&
                  fault.culpritPlace.cell == fault.place.cell &&
                  fault.culpritPlace.rank == fault.place.rank;
  switch (fault.kind) {
  case ContractFault::Unwritten:
    return {Slug::UnwrittenOutput, output + " is never written"};
  case ContractFault::Missing:
    if (fault.doesOverwrite)
      return {Slug::MissingContribution, "this copy overwrites " + part +
                                             ", which nothing else adds to " +
                                             output};
    if (fault.count != 0)
      return {Slug::MissingContribution,
              output + " has " + term(fault.part) + " " + times(fault.count) +
                  ", where " + times(fault.promisedCount) + " is promised" +
                  where};
    return {Slug::MissingContribution, output + " lacks " + part + where};
  case ContractFault::Double: {
    std::string times = ::times(fault.count);
    if (fault.culpritPlace.array == kNone || isOutput)
      return {Slug::DoubleContribution,
              output + " has " + part + " " + times + where};
    return {Slug::DoubleContribution,
            "this adds " + part + " to " + place(fault.culpritPlace) +
                " again; at the end " + output + " has " +
                (fault.parts.size() > 1 ? term(fault.part) : "it") + " " +
                times};
  }
  case ContractFault::PlusIsNotReduce:
    if (fault.isPlusPromised)
      return {Slug::PlusIsNotReduce,
              "'reduce' is the op of the launch, where " +
                  quote(m.graph.contract) + " promises addition for " + output};
    return {Slug::PlusIsNotReduce,
            "'+' is always addition, where " + quote(m.graph.contract) +
                " promises the op of the launch for " + output};
  case ContractFault::Wrong:
    break;
  }
  return {Slug::WrongValue, output + " gets " + term(fault.heldThere) +
                                " instead of " + term(fault.promisedThere) +
                                where};
}

void Words::addChain(Diagnostic &d, const ContractFault &fault) {
  using Link = ContractFault::Link;
  for (const Link &link : fault.chain) {
    std::string at = place(link.place);
    switch (link.kind) {
    case Link::HeldSince:
      d.note(range(link.site), at + " has it since here");
      break;
    case Link::Added:
      d.note(range(link.site), "what is added, " + at + ", has it since here");
      break;
    case Link::Reached:
      d.note(range(link.site),
             "the one of " + term(fault.part) + " gets as far as " + at);
      break;
    case Link::CameFrom:
      d.note(range(link.site), "it comes from " + at + ", which gets it here");
      break;
    case Link::Output:
      d.note(range(link.site), "this takes what there is to " + at);
      break;
    case Link::Elsewhere:
      d.note(range(link.site),
             "this writes " + at + (link.isOneOfMany ? ", among others" : ""));
      break;
    case Link::Others:
      d.note(range(link.site), "and there are more, the next is here");
      break;
    }
  }
}

void Words::addGroup(Diagnostic &d, const ContractFault &fault) {
  if (fault.groupLoop == kNone)
    return;
  SourceRange at = range(m.code.loops[fault.groupLoop].site);
  std::string text =
      "as a group, where every read sees the values before the loop, it "
      "keeps the contract";
  if (std::optional<uint32_t> begin = iteratorOf(at).forBegin)
    d.fix({at.file, *begin, *begin}, "group ", text);
  else
    d.help(
        at,
        "with this iterator in a 'group for' of its own, where every read sees "
        "the values before the loop, it keeps the contract");
}

void Words::report(const ContractFault &fault) {
  Message message = contractMessage(fault);
  Diagnostic d{Severity::Error,      message.slug, message.text,
               range(fault.culprit), {},           {}};
  SiteId site = fault.culprit;
  if (site == kNone) {
    site = m.code.site;
    d.range = head(site);
  }
  addChain(d, fault);
  std::string promise = quote(m.graph.contract) + " promises ";
  if (fault.isPlainReduce)
    promise += "the input of every rank, once";
  else if (fault.promised == kNone)
    promise += "what depends on a location that is never written";
  else
    promise += term(fault.promised);
  d.note(range(fault.promise.site), promise);
  if (fault.numWrong > 1)
    d.note({}, str(fault.numWrong) + " of the " + str(fault.numPromises) +
                   " promised locations are wrong");
  addGroup(d, fault);
  emit(std::move(d), site);
}
