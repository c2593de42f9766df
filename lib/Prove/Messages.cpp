//===- Messages.cpp - Sends meet receives, and nobody waits in a circle ---===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which send a receive meets is guessed: the one to this rank in the same
// iteration. That it is the k-th of its queue for the k-th receive follows if
// the guess pairs all sends with all receives, one to one, and keeps the order
// of every queue.
//
// Nobody waits in a circle if every operation can be given a time that grows
// along each process and is the same on both ends of a message: among the
// operations with the least time that are not complete, both ends are posted.
// Where the program text gives such times (the same iteration of the same
// loops, the same place) there is nothing to search. Else times are looked for
// that grow with the rank, with the loops, and by a constant for each case of
// each operation.
//
//===----------------------------------------------------------------------===//

#include "lib/Prove/Prover.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"

using namespace coll;
using namespace coll::prove;

//===----------------------------------------------------------------------===//
// Matching
//===----------------------------------------------------------------------===//

static llvm::SmallVector<Var, 2> processOf(const Statement &st) {
  for (const PathItem &item : st.path)
    if (item.isProcess)
      return item.vars;
  return {};
}

/// Loops that both operations stand in, item by item.
static llvm::SmallVector<Var> commonLoops(const Statement &a,
                                          const Statement &b) {
  llvm::SmallVector<Var> common;
  for (size_t i = 0; i < a.path.size() && i < b.path.size() &&
                     a.path[i].pos == b.path[i].pos &&
                     a.path[i].isProcess == b.path[i].isProcess &&
                     a.path[i].vars == b.path[i].vars;
       ++i)
    if (!a.path[i].isProcess)
      common.append(a.path[i].vars.begin(), a.path[i].vars.end());
  return common;
}

/// Other loops have to follow from who talks to whom.
void Prover::matchPair(unsigned sendIndex, unsigned recvIndex,
                       std::vector<Match> &matches) {
  const Statement &send = model.statements[sendIndex],
                  &recv = model.statements[recvIndex];
  llvm::SmallVector<Var> common = commonLoops(send, recv);
  llvm::SmallVector<Var, 2> sender = processOf(send),
                            receiver = processOf(recv);
  for (auto [s, access] : llvm::enumerate(send.sends))
    for (auto [r, message] : llvm::enumerate(recv.reads)) {
      if (!message.isMessage)
        continue;
      Substitution by = renaming(access.domain, {}, send.vars);
      Conj both = message.domain;
      both.add(access.domain.substituted(by));
      for (auto [var, from] : llvm::zip_equal(sender, message.peer))
        both.equal(substitute(Lin::of(var), by), from);
      for (auto [to, var] : llvm::zip_equal(access.peer, receiver))
        both.equal(substitute(to, by), Lin::of(var));
      for (Var var : common)
        both.equal(Lin::of(var), substitute(Lin::of(var), by));
      if (both.isFalse || isEmpty(both))
        continue;
      llvm::ArrayRef<Lin> from = access.at.index, to = message.at.index;
      if (from.size() != to.size()) {
        stop(recv.op, "a message of another shape");
        return;
      }
      for (auto [a, b] : llvm::zip_equal(from, to))
        for (bool isLess : {true, false}) {
          Conj differ = both;
          isLess ? differ.less(substitute(a, by), b)
                 : differ.less(b, substitute(a, by));
          mustBeEmpty(differ, "a message that may have another size", recv.op);
        }
      for (size_t e = 0; e < from.size(); ++e)
        both.equal(Lin::of(recv.vars[recv.numPathVars + e]),
                   substitute(Lin::of(send.vars[send.numPathVars + e]), by));
      Match match{sendIndex, recvIndex, unsigned(s), unsigned(r),
                  both,      {},        by,          both};
      llvm::SmallVector<Var> unknown;
      for (Var var : send.vars) {
        Lin form = substitute(Lin::of(var), by);
        match.point.push_back({var, form});
        unknown.push_back(form.getTerms()[0].first);
      }
      Substitution solved;
      if (!match.domain.solve(unknown, solved).empty())
        continue; // not a pair, as a guess
      for (auto &entry : match.point)
        entry.second = substitute(entry.second, solved);
      matches.push_back(std::move(match));
    }
}

/// How many operations of its kind stand before it in its group or block.
unsigned Prover::ordinalOf(unsigned index) const {
  const Statement &st = model.statements[index];
  auto depthOf = [](const Statement &s) {
    return s.snapshot < s.path.size() ? s.snapshot : s.path.size() - 1;
  };
  unsigned count = 0;
  for (unsigned i = 0; i < index; ++i) {
    const Statement &other = model.statements[i];
    if (other.kind == st.kind && other.region == st.region &&
        depthOf(other) == depthOf(st) &&
        llvm::all_of(llvm::seq<size_t>(0, depthOf(st)), [&](size_t k) {
          return other.path[k].pos == st.path[k].pos;
        }))
      ++count;
  }
  return count;
}

/// By ordinal: the k-th send of a block or group with the k-th receive.
std::vector<Prover::Match> Prover::matchesOf(unsigned region, bool byOrdinal) {
  std::vector<Match> matches;
  for (unsigned s = 0; s < model.statements.size(); ++s)
    for (unsigned r = 0; r < model.statements.size() && !failed(); ++r)
      if (model.statements[s].kind == Statement::Send &&
          model.statements[r].kind == Statement::Recv &&
          model.statements[s].region == region &&
          model.statements[r].region == region &&
          (!byOrdinal || ordinalOf(s) == ordinalOf(r)))
        matchPair(s, r, matches);
  return matches;
}

void Prover::matchRegion(unsigned region, bool byOrdinal) {
  std::vector<Match> matches = matchesOf(region, byOrdinal);
  for (unsigned i = 0; i < model.statements.size() && !failed(); ++i) {
    const Statement &st = model.statements[i];
    if (st.region != region ||
        (st.kind != Statement::Send && st.kind != Statement::Recv))
      continue;
    Union met, points;
    bool isSend = st.kind == Statement::Send;
    for (const Match &match : matches) {
      if ((isSend ? match.send : match.recv) != i)
        continue;
      Conj conj = match.whole;
      if (isSend) { // its own names, the receive's become existential
        Substitution back;
        for (const auto &[var, form] : match.renamed)
          back.push_back({form.getTerms()[0].first, Lin::of(var)});
        Substitution away = renaming(match.whole, {});
        for (auto &entry : away)
          for (const auto &[var, form] : back)
            if (entry.first == var)
              entry.second = form;
        conj = conj.substituted(away);
      }
      met.push_back(conj);
    }
    for (const Access &access : isSend ? st.sends : st.reads)
      if (isSend || access.isMessage)
        points.push_back(access.domain);
    Conj witness;
    if (!isSubset(points, met, dimsOf(st), &witness))
      stop(st.op,
           isSend ? "a message for which no receive of the same iteration was "
                    "found"
                  : "a receive for which no send of the same iteration was "
                    "found",
           &witness);
  }
  if (!failed())
    checkOrder(matches);
  if (!failed())
    checkWaits(region, matches);
  if (failed())
    return;
  for (const Match &match : matches) {
    Piece piece;
    piece.domain = match.domain;
    piece.source = match.send;
    piece.point = match.point;
    piece.operand = 0;
    pieces[match.recv].push_back(std::move(piece));
  }
}

void Prover::matchMessages() {
  for (unsigned region = 0; region < model.regions.size() && !failed();
       ++region) {
    hasRegions = true;
    matchRegion(region, false);
    if (!failed())
      continue;
    // Another guess: several messages of one pair in one block.
    std::optional<Obstacle> first = std::exchange(obstacle, std::nullopt);
    std::optional<std::vector<int64_t>> at =
        std::exchange(suspect, std::nullopt);
    matchRegion(region, true);
    if (failed()) {
      obstacle = first;
      suspect = at;
    }
  }
}

Prover::MatchPair Prover::sameRanks(const Match &a, const Match &b) {
  const Statement &sendA = model.statements[a.send],
                  &sendB = model.statements[b.send],
                  &recvA = model.statements[a.recv],
                  &recvB = model.statements[b.recv];
  MatchPair pair;
  pair.by = renaming(b.domain, {}, recvB.vars);
  for (const auto &[var, form] : b.point)
    pair.pointB.push_back({var, substitute(form, pair.by)});
  pair.both = a.domain;
  pair.both.add(b.domain.substituted(pair.by));
  for (auto [x, y] : llvm::zip_equal(processOf(recvA), processOf(recvB)))
    pair.both.equal(Lin::of(x), substitute(Lin::of(y), pair.by));
  for (auto [x, y] : llvm::zip_equal(processOf(sendA), processOf(sendB)))
    pair.both.equal(substitute(Lin::of(x), a.point),
                    substitute(Lin::of(y), pair.pointB));
  return pair;
}

/// Of two messages of one queue, the one sent first is received first. Also: no
/// message is received twice, and no receive takes two.
void Prover::checkOrder(const std::vector<Match> &matches) {
  for (const Match &a : matches)
    for (const Match &b : matches) {
      if (failed())
        return;
      const Statement &sendA = model.statements[a.send],
                      &sendB = model.statements[b.send],
                      &recvA = model.statements[a.recv],
                      &recvB = model.statements[b.recv];
      auto [both, by, pointB] = sameRanks(a, b);
      if (both.isFalse || isEmpty(both))
        continue;
      for (const Conj &sent : before(sendA, a.point, sendB, pointB, ~0u))
        for (const Conj &received :
             before(recvB, by, recvA, identity(recvA.vars), ~0u)) {
          Conj crossed = both;
          crossed.add(sent);
          crossed.add(received);
          mustBeEmpty(crossed,
                      "messages that may be received in another order "
                      "than sent",
                      recvA.op);
        }
      // One to one: the same receive of two sends, or the other way round.
      if (a.recv == b.recv && a.send != b.send) {
        Conj same = both;
        for (Var var : recvA.vars)
          same.equal(Lin::of(var), substitute(Lin::of(var), by));
        mustBeEmpty(same, "a receive that two sends may meet", recvA.op);
      }
      if (a.send == b.send && a.recv != b.recv) {
        Conj same = both;
        for (Var var : sendA.vars)
          same.equal(substitute(Lin::of(var), a.point),
                     substitute(Lin::of(var), pointB));
        mustBeEmpty(same, "a message that two receives may meet", sendA.op);
      }
      if (a.send == b.send && a.recv == b.recv) {
        Conj same = both; // equal sends have equal receives, and back
        for (Var var : sendA.vars)
          same.equal(substitute(Lin::of(var), a.point),
                     substitute(Lin::of(var), pointB));
        for (Var var : recvA.vars) {
          Conj differ = same;
          differ.less(Lin::of(var), substitute(Lin::of(var), by));
          mustBeEmpty(differ, "a message that two receives may meet", sendA.op);
        }
        Conj sameRecv = both;
        for (Var var : recvA.vars)
          sameRecv.equal(Lin::of(var), substitute(Lin::of(var), by));
        for (Var var : sendA.vars) {
          Conj differ = sameRecv;
          differ.less(substitute(Lin::of(var), a.point),
                      substitute(Lin::of(var), pointB));
          mustBeEmpty(differ, "a receive that two sends may meet", recvA.op);
        }
      }
    }
}

//===----------------------------------------------------------------------===//
// Waiting
//===----------------------------------------------------------------------===//

/// Whether the text gives the times: what is posted together stands at the same
/// place of the same iteration on both sides.
bool Prover::isLockstep(const std::vector<Match> &matches) const {
  return llvm::all_of(matches, [&](const Match &match) {
    const Statement &send = model.statements[match.send],
                    &recv = model.statements[match.recv];
    if (send.snapshot != recv.snapshot)
      return false;
    for (unsigned i = 0; i < send.snapshot; ++i)
      if (send.path[i].pos != recv.path[i].pos ||
          send.path[i].isProcess != recv.path[i].isProcess ||
          send.path[i].vars != recv.path[i].vars)
        return false;
    return true;
  });
}

/// No queue ever gets more than one message, so that one place is enough.
bool Prover::oneMessagePerPair(const std::vector<Match> &matches) {
  for (const Match &a : matches)
    for (const Match &b : matches) {
      const Statement &recvA = model.statements[a.recv];
      auto [both, by, pointB] = sameRanks(a, b);
      // The region is one statement: loops around it start queues anew.
      for (const PathItem &item : recvA.path) {
        if (item.isProcess)
          break;
        for (Var var : item.vars)
          both.equal(Lin::of(var), substitute(Lin::of(var), by));
      }
      if (both.isFalse || isEmpty(both))
        continue;
      if (a.recv != b.recv)
        return false;
      for (Var var : llvm::ArrayRef(recvA.vars).take_front(recvA.numPathVars)) {
        Conj differ = both;
        differ.less(Lin::of(var), substitute(Lin::of(var), by));
        if (!isEmpty(differ))
          return false;
      }
    }
  return true;
}

namespace {
/// An operation in one of its cases, and its time up to a constant.
struct Unit {
  unsigned statement;
  const Access *access;
  Lin time;
};
/// time(to) >= time(from) + least
struct Edge {
  unsigned from, to;
  int64_t least;
};
} // namespace

/// Constants with which all edges hold; by relaxation, as there are few.
static bool hasSolution(const std::vector<Edge> &edges, size_t numUnits) {
  std::vector<int64_t> time(numUnits, 0);
  for (size_t round = 0; round <= numUnits + 1; ++round) {
    bool hasChanged = false;
    for (const Edge &edge : edges)
      if (time[edge.to] < time[edge.from] + edge.least) {
        time[edge.to] = time[edge.from] + edge.least;
        hasChanged = true;
      }
    if (!hasChanged)
      return true;
  }
  return false;
}

/// The largest small number that `form` never falls short of.
static std::optional<int64_t> leastOf(const Lin &form, const Conj &domain) {
  constexpr int64_t most = 3;
  for (int64_t k = most; k >= -most; --k) {
    Conj below = domain;
    below.less(form, Lin(k));
    if (isEmpty(below))
      return k;
  }
  return std::nullopt;
}

/// Loops around a region, and the process: equal for whatever can wait.
static llvm::SmallVector<Var> regionVars(const Statement &st) {
  llvm::SmallVector<Var> vars;
  for (const PathItem &item : st.path) {
    vars.append(item.vars.begin(), item.vars.end());
    if (item.isProcess)
      break;
  }
  return vars;
}

/// Times of the form: `slope` times the rank, the loops inside of the region,
/// and a constant for each case of each operation.
bool Prover::hasTimes(unsigned region, const std::vector<Match> &matches,
                      bool isBuffered, int64_t slope) {
  std::vector<Unit> units;
  for (unsigned i = 0; i < model.statements.size(); ++i) {
    const Statement &st = model.statements[i];
    bool isSend = st.kind == Statement::Send;
    if (st.region != region || (!isSend && st.kind != Statement::Recv))
      continue;
    Lin time = slope * Lin::of(processOf(st).back());
    llvm::SmallVector<Var> outer = regionVars(st);
    for (const PathItem &item : st.path)
      for (Var var : item.vars)
        if (!llvm::is_contained(outer, var))
          time += Lin::of(var);
    for (const Access &access : isSend ? st.sends : st.reads)
      if (isSend || access.isMessage)
        units.push_back({i, &access, time});
  }
  std::vector<Edge> edges;
  // Along a process time grows; what a group posts has one time.
  for (unsigned a = 0; a < units.size(); ++a)
    for (unsigned b = 0; b < units.size(); ++b) {
      const Statement &x = model.statements[units[a].statement],
                      &y = model.statements[units[b].statement];
      Substitution by = renaming(units[b].access->domain, {}, y.vars);
      Conj both = units[a].access->domain;
      both.add(units[b].access->domain.substituted(by));
      for (auto [u, v] : llvm::zip_equal(regionVars(x), regionVars(y)))
        both.equal(Lin::of(u), substitute(Lin::of(v), by));
      Lin difference = substitute(units[b].time, by) - units[a].time;
      auto add = [&](const Conj &domain, int64_t more) {
        if (domain.isFalse || isEmpty(domain))
          return true;
        std::optional<int64_t> least = leastOf(difference, domain);
        if (least)
          edges.push_back({a, b, more - *least});
        return least.has_value();
      };
      unsigned limit = std::min(x.snapshot, y.snapshot);
      for (const Conj &order : before(x, identity(x.vars), y, by, limit)) {
        Conj domain = both;
        domain.add(order);
        if (!add(domain, 1))
          return false;
      }
      bool isSameGroup = a != b && x.snapshot == y.snapshot &&
                         x.snapshot < x.path.size() &&
                         y.snapshot < y.path.size();
      Conj same = both;
      for (unsigned i = 0; i < x.snapshot && isSameGroup; ++i) {
        isSameGroup = x.path[i].pos == y.path[i].pos;
        for (Var var : isSameGroup ? x.path[i].vars : PathItem().vars)
          same.equal(Lin::of(var), substitute(Lin::of(var), by));
      }
      if (isSameGroup && !add(same, 0))
        return false;
    }
  auto unitOf = [&](unsigned statement, const Access &access) {
    return llvm::find_if(units,
                         [&](const Unit &unit) {
                           return unit.statement == statement &&
                                  unit.access == &access;
                         }) -
           units.begin();
  };
  for (const Match &match : matches) {
    unsigned s = unitOf(match.send,
                        model.statements[match.send].sends[match.sendCase]),
             r = unitOf(match.recv,
                        model.statements[match.recv].reads[match.recvCase]);
    Lin difference = units[r].time - substitute(units[s].time, match.point);
    std::optional<int64_t> least = leastOf(difference, match.domain),
                           most = leastOf(-1 * difference, match.domain);
    if (!least || (!isBuffered && !most))
      return false;
    edges.push_back({s, r, -*least});
    if (!isBuffered)
      edges.push_back({r, s, -*most});
  }
  return hasSolution(edges, units.size());
}

void Prover::checkWaits(unsigned region, const std::vector<Match> &matches) {
  constexpr int64_t slopes[] = {0, 1, -1, 2, -2};
  auto isOrdered = [&](bool buffered) {
    return llvm::any_of(slopes, [&](int64_t slope) {
      return hasTimes(region, matches, buffered, slope);
    });
  };
  if (isLockstep(matches) || isOrdered(false))
    return;
  const Lin &capacity = model.regions[region].capacity;
  if (capacity.isConstant() && capacity.getConstant() >= 1 &&
      oneMessagePerPair(matches) && isOrdered(true)) {
    isBuffered = true;
    return;
  }
  stop(model.regions[region].op,
       "processes of which no order was found in which none waits for ever");
}
