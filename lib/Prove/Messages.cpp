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
// loops, the same place) there is nothing to search. Else times of a single
// block are looked for, one for each case of each operation.
//
//===----------------------------------------------------------------------===//

#include "lib/Prove/Prover.h"

#include "llvm/ADT/STLExtras.h"

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
static bool shareLoops(const Statement &a, const Statement &b,
                       llvm::SmallVectorImpl<Var> &common) {
  size_t i = 0;
  for (; i < a.path.size() && i < b.path.size() &&
         a.path[i].pos == b.path[i].pos &&
         a.path[i].isProcess == b.path[i].isProcess &&
         a.path[i].vars == b.path[i].vars;
       ++i)
    if (!a.path[i].isProcess)
      common.append(a.path[i].vars.begin(), a.path[i].vars.end());
  auto hasMore = [&](const Statement &st) {
    return llvm::any_of(llvm::drop_begin(st.path, i), [](const PathItem &item) {
      return !item.vars.empty();
    });
  };
  return !hasMore(a) && !hasMore(b);
}

/// False: the operations never meet.
bool Prover::matchPair(unsigned sendIndex, unsigned recvIndex,
                       std::vector<Match> &matches) {
  const Statement &send = model.statements[sendIndex],
                  &recv = model.statements[recvIndex];
  llvm::SmallVector<Var> common;
  llvm::SmallVector<Var, 2> sender = processOf(send),
                            receiver = processOf(recv);
  if (!shareLoops(send, recv, common))
    return false;
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
        return true;
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
      if (!match.domain.solve(unknown, solved).empty()) {
        stop(recv.op, "a message whose sender is not determined");
        return true;
      }
      for (auto &entry : match.point)
        entry.second = substitute(entry.second, solved);
      matches.push_back(std::move(match));
    }
  return true;
}

std::vector<Prover::Match> Prover::matchesOf(unsigned region) {
  std::vector<Match> matches;
  for (unsigned s = 0; s < model.statements.size(); ++s)
    for (unsigned r = 0; r < model.statements.size() && !failed(); ++r)
      if (model.statements[s].kind == Statement::Send &&
          model.statements[r].kind == Statement::Recv &&
          model.statements[s].region == region &&
          model.statements[r].region == region)
        matchPair(s, r, matches);
  return matches;
}

void Prover::matchRegion(unsigned region) {
  std::vector<Match> matches = matchesOf(region);
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
    matchRegion(region);
  }
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
      Substitution by = renaming(b.domain, {}, recvB.vars);
      Substitution pointB;
      for (const auto &[var, form] : b.point)
        pointB.push_back({var, substitute(form, by)});
      Conj both = a.domain;
      both.add(b.domain.substituted(by));
      for (auto [x, y] : llvm::zip_equal(processOf(recvA), processOf(recvB)))
        both.equal(Lin::of(x), substitute(Lin::of(y), by));
      for (auto [x, y] : llvm::zip_equal(processOf(sendA), processOf(sendB)))
        both.equal(substitute(Lin::of(x), a.point),
                   substitute(Lin::of(y), pointB));
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
      const Statement &recvA = model.statements[a.recv],
                      &recvB = model.statements[b.recv];
      const Statement &sendA = model.statements[a.send],
                      &sendB = model.statements[b.send];
      Substitution by = renaming(b.domain, {}, recvB.vars);
      Substitution pointB;
      for (const auto &[var, form] : b.point)
        pointB.push_back({var, substitute(form, by)});
      Conj both = a.domain;
      both.add(b.domain.substituted(by));
      for (auto [x, y] : llvm::zip_equal(processOf(recvA), processOf(recvB)))
        both.equal(Lin::of(x), substitute(Lin::of(y), by));
      for (auto [x, y] : llvm::zip_equal(processOf(sendA), processOf(sendB)))
        both.equal(substitute(Lin::of(x), a.point),
                   substitute(Lin::of(y), pointB));
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

/// Times of operations that stand in one block without loops inside the region:
/// one for each case, found by relaxation, then compared with every pair.
bool Prover::hasTimes(unsigned region, const std::vector<Match> &matches,
                      bool isBuffered) {
  struct Unit {
    unsigned statement;
    const Access *access;
  };
  std::vector<Unit> units;
  std::vector<std::pair<unsigned, unsigned>> ofMatch;
  const Statement *first = nullptr;
  for (unsigned i = 0; i < model.statements.size(); ++i) {
    const Statement &st = model.statements[i];
    bool isSend = st.kind == Statement::Send;
    if (st.region != region || (!isSend && st.kind != Statement::Recv))
      continue;
    // Loops inside of the process would need times that grow with them.
    bool isInside = false;
    for (const PathItem &item : st.path) {
      if (isInside && !item.vars.empty())
        return false;
      isInside |= item.isProcess;
    }
    if (st.snapshot != st.path.size())
      return false;
    if (!first)
      first = &st;
    if (st.path.size() != first->path.size())
      return false;
    for (size_t k = 0; k + 1 < st.path.size(); ++k)
      if (st.path[k].pos != first->path[k].pos)
        return false;
    for (const Access &access : isSend ? st.sends : st.reads)
      if (isSend || access.isMessage)
        units.push_back({i, &access});
  }
  struct Edge {
    unsigned from, to;
    int least; ///< time(to) >= time(from) + least
  };
  std::vector<Edge> edges;
  for (unsigned a = 0; a < units.size(); ++a)
    for (unsigned b = 0; b < units.size(); ++b) {
      const Statement &x = model.statements[units[a].statement],
                      &y = model.statements[units[b].statement];
      if (x.path.back().pos >= y.path.back().pos)
        continue;
      Substitution by = renaming(units[b].access->domain, {}, y.vars);
      Conj both = units[a].access->domain;
      both.add(units[b].access->domain.substituted(by));
      for (const PathItem &item : x.path)
        for (Var var : item.vars)
          both.equal(Lin::of(var), substitute(Lin::of(var), by));
      if (!both.isFalse && !isEmpty(both))
        edges.push_back({a, b, 1});
    }
  auto unitOf = [&](unsigned statement, const Access &access) {
    for (unsigned u = 0; u < units.size(); ++u)
      if (units[u].statement == statement && units[u].access == &access)
        return u;
    return 0u;
  };
  for (const Match &match : matches) {
    unsigned s = unitOf(match.send,
                        model.statements[match.send].sends[match.sendCase]),
             r = unitOf(match.recv,
                        model.statements[match.recv].reads[match.recvCase]);
    edges.push_back({s, r, 0});
    if (!isBuffered)
      edges.push_back({r, s, 0});
  }
  std::vector<int> time(units.size(), 0);
  for (size_t round = 0; round <= units.size() + 1; ++round) {
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

void Prover::checkWaits(unsigned region, const std::vector<Match> &matches) {
  if (isLockstep(matches) || hasTimes(region, matches, false))
    return;
  const Lin &capacity = model.regions[region].capacity;
  if (capacity.isConstant() && capacity.getConstant() >= 1 &&
      oneMessagePerPair(matches) && hasTimes(region, matches, true)) {
    isBuffered = true;
    return;
  }
  stop(model.regions[region].op,
       "processes of which no order was found in which none waits for ever");
}
