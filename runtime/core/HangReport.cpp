//===- HangReport.cpp - Who waits for whom, from the boards ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Launches have one order, so the launch with the highest number that any rank
// has entered is the one that hangs.  Relative to it every rank is one of
//
//   gone      died, or destroyed the communicator
//   before    has not entered it (inside or after an earlier launch)
//   waiting   inside, and a block has written down what it waits for
//   running   inside, and no block waits
//   through   has finished it
//
// The stragglers are those that are not waiting and not through.  If all wait,
// the cycle is in the lines that follow, or the launches do not fit: records of
// the same number that differ are shown side by side.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/Communicator.h"
#include "runtime/core/Host.h"
#include "runtime/core/Text.h"

#include <algorithm>
#include <map>

namespace coll {

namespace {

enum class Standing { Gone, Before, Waiting, Running, Through };

/// What the boards say about one rank, read once: they go on changing.
struct RankView {
  Standing standing = Standing::Running;
  uint64_t entered = 0, finished = 0, finishedNs = 0;
  std::vector<std::pair<uint32_t, Position>> waits; ///< by block
  bool hasLeft = false, isLost = false, isStopped = false;
};

constexpr size_t maxLines = 16; ///< of a kind; then "and N more"

} // namespace

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

static const char *slotsText(uint32_t protocol) {
  switch (protocol) {
  case COLL_PROTOCOL_SMALL:
    return "small slots";
  case COLL_PROTOCOL_LL:
    return "packets";
  case COLL_PROTOCOL_LL128:
    return "lines";
  default:
    return "bulk slots";
  }
}

static std::string launchText(const LaunchRecord &record) {
  std::string text = format("%s by %s", record.contract, record.plan);
  if (record.hasCount)
    text += format(", count %llu", (unsigned long long)record.count);
  if (record.dtype != COLL_ANY)
    text += ", " + dtypeText(record.dtype);
  if (record.op != COLL_ANY)
    text += ", " + opText(record.op);
  for (int i = 0; i != record.nlaunch; ++i)
    text += format("%s%d", i == 0 ? ", launch values " : " ",
                   record.launchValues[i]);
  return text;
}

/// The first thing in which two launches differ, or "".
static std::string difference(const LaunchRecord &a, int rankA,
                              const LaunchRecord &b, int rankB) {
  auto differ = [&](const char *what, const std::string &valueA,
                    const std::string &valueB) {
    return format("%s %s on rank %d, %s on rank %d", what, valueA.c_str(),
                  rankA, valueB.c_str(), rankB);
  };
  auto number = [](uint64_t n) {
    return format("%llu", (unsigned long long)n);
  };
  if (a.contractHash != b.contractHash)
    return differ("contract", a.contract, b.contract);
  if (a.planDigest != b.planDigest)
    return differ(
        "plan",
        format("%s (%016llx)", a.plan, (unsigned long long)a.planDigest),
        format("%s (%016llx)", b.plan, (unsigned long long)b.planDigest));
  if (a.dtype != b.dtype)
    return differ("dtype", dtypeText(a.dtype), dtypeText(b.dtype));
  if (a.op != b.op)
    return differ("op", opText(a.op), opText(b.op));
  if (a.hasCount && b.hasCount && a.count != b.count)
    return differ("count", number(a.count), number(b.count));
  for (int i = 0; i != std::min(a.nlaunch, b.nlaunch); ++i)
    if (a.launchValues[i] != b.launchValues[i])
      return differ("launch value", format("%d", a.launchValues[i]),
                    format("%d", b.launchValues[i]));
  if (a.protocol != b.protocol)
    return differ("messages:", slotsText(a.protocol), slotsText(b.protocol));
  return "";
}

std::string Communicator::describeLaunch(uint64_t launch) const {
  LaunchRecord record;
  std::string text = format("launch %llu", (unsigned long long)launch);
  if (board(rank()).readLaunch(launch, record) == Board::Read::Ok)
    text += ", " + launchText(record);
  return text;
}

std::string Communicator::describeLaunches(uint64_t launch, int peer) const {
  LaunchRecord mine, theirs;
  bool hasMine = board(rank()).readLaunch(launch, mine) == Board::Read::Ok;
  bool hasTheirs = board(peer).readLaunch(launch, theirs) == Board::Read::Ok;
  std::string text = format("launch %llu differs between ranks %d and %d",
                            (unsigned long long)launch, rank(), peer);
  if (hasMine && hasTheirs) {
    std::string what = difference(mine, rank(), theirs, peer);
    text += ": " + (what.empty() ? "the counts of its parts" : what);
  }
  auto line = [&](int who, bool isThere, const LaunchRecord &record) {
    text += format("\n  rank %d: %s", who,
                   isThere ? launchText(record).c_str()
                           : "no record of this launch");
  };
  line(rank(), hasMine, mine);
  line(peer, hasTheirs, theirs);
  return text;
}

/// Groups of ranks with the same record of a launch, if there are several.
static std::string launchGroups(const std::vector<Board> &boards,
                                uint64_t launch) {
  std::vector<std::pair<LaunchRecord, std::vector<int>>> groups;
  for (int rank = 0; rank != int(boards.size()); ++rank) {
    LaunchRecord record;
    if (boards[size_t(rank)].readLaunch(launch, record) != Board::Read::Ok)
      continue;
    auto same = std::find_if(groups.begin(), groups.end(), [&](auto &group) {
      return difference(group.first, 0, record, 0).empty();
    });
    if (same != groups.end())
      same->second.push_back(rank);
    else
      groups.push_back({record, {rank}});
  }
  if (groups.size() < 2)
    return "";
  std::string text = format("\nthe ranks' launches %llu differ: ",
                            (unsigned long long)launch) +
                     difference(groups[0].first, groups[0].second[0],
                                groups[1].first, groups[1].second[0]);
  for (size_t i = 0; i != std::min(groups.size(), maxLines); ++i)
    text += format("\n  %s: %s", ranksText(groups[i].second).c_str(),
                   launchText(groups[i].first).c_str());
  if (groups.size() > maxLines)
    text += format("\n  and %zu more", groups.size() - maxLines);
  return text;
}

//===----------------------------------------------------------------------===//
// Ranks
//===----------------------------------------------------------------------===//

static RankView lookAt(const Board &board, uint64_t launch) {
  RankView view;
  view.finished = board.finished();
  view.entered = board.entered();
  view.finishedNs = board.finishedNs();
  for (uint32_t block = 0; block != kMaxBlocks; ++block) {
    Position position;
    // A torn one: the block is alive and on its way.
    if (board.readPosition(block, position) == Board::Read::Ok)
      view.waits.push_back({block, position});
  }
  if (view.finished >= launch && view.waits.empty())
    view.standing = Standing::Through; // else in a replay of a device's graph
  else if (view.entered < launch && view.finished == view.entered &&
           view.waits.empty())
    view.standing = Standing::Before;
  else if (!view.waits.empty())
    view.standing = Standing::Waiting;
  else
    view.standing =
        view.entered < launch ? Standing::Before : Standing::Running;
  return view;
}

static std::string beforeText(const RankView &view, uint64_t launch,
                              uint64_t now) {
  std::string text =
      format("is before launch %llu", (unsigned long long)launch);
  if (view.entered > view.finished)
    return text +
           format(" (inside launch %llu)", (unsigned long long)view.entered);
  if (view.finished == 0)
    return text + " (has launched nothing yet)";
  uint64_t ago = now > view.finishedNs ? now - view.finishedNs : 0;
  return text + format(" (left launch %llu %s ago)",
                       (unsigned long long)view.finished,
                       durationText(ago).c_str());
}

static std::string waitText(int rank, uint32_t block, size_t numWaits,
                            const Position &position, uint64_t now) {
  std::string text = format("\n  rank %d", rank);
  if (numWaits > 1)
    text += format(" block %u", block);
  switch (position.state) {
  case COLL_STATE_WAIT_CREDIT:
    text += format(" waits for room at rank %d", position.peer);
    break;
  case COLL_STATE_WAIT_BLOCK:
    text += " waits for another block of its own";
    break;
  default:
    text += position.peer < 0 ? " waits"
                              : format(" waits for rank %d", position.peer);
  }
  if (position.where[0])
    text += format(" in %s", position.where);
  if (position.what[0])
    text += format(" (%s)", position.what);
  uint64_t since = now > position.sinceNs ? now - position.sinceNs : 0;
  return text + format(" since %s", durationText(since).c_str());
}

/// "ranks 0..2 wait in ring.coll:14:5", when they all wait at one line.
static std::string waitingSummary(const std::vector<RankView> &views) {
  std::vector<int> waiting;
  std::string where;
  bool isOnePlace = true;
  for (int rank = 0; rank != int(views.size()); ++rank) {
    const RankView &view = views[size_t(rank)];
    if (view.standing != Standing::Waiting)
      continue;
    for (const auto &[block, position] : view.waits) {
      if (waiting.empty() && where.empty())
        where = position.where;
      isOnePlace = isOnePlace && where == position.where;
    }
    waiting.push_back(rank);
  }
  if (waiting.empty())
    return "";
  std::string text = ranksText(waiting);
  text += waiting.size() == 1 ? " waits" : " wait";
  return isOnePlace && !where.empty() ? text + " in " + where : text;
}

/// The stragglers, one clause for all ranks that stand alike.
static std::string stragglers(const std::vector<RankView> &views,
                              uint64_t launch, uint64_t now, int self) {
  std::map<std::string, std::vector<int>> clauses;
  for (int rank = 0; rank != int(views.size()); ++rank) {
    const RankView &view = views[size_t(rank)];
    std::string text;
    if (view.isLost)
      text = "is gone";
    else if (view.hasLeft)
      text = "has destroyed the communicator";
    else if (view.isStopped)
      text = "is stopped (by a signal)";
    else if (view.standing == Standing::Before)
      text = beforeText(view, launch, now);
    else if (view.standing == Standing::Running && rank != self)
      text = "runs and waits for nobody";
    if (!text.empty())
      clauses[text].push_back(rank);
  }
  std::string result;
  size_t shown = 0;
  for (const auto &[text, ranks] : clauses) {
    if (shown++ == maxLines)
      return result + format("; and %zu more", clauses.size() - maxLines);
    std::string clause = text;
    if (ranks.size() > 1) { // "rank 3 is", "ranks 2 and 3 are"
      if (clause.starts_with("is "))
        clause.replace(0, 2, "are");
      else if (clause.starts_with("has "))
        clause.replace(0, 3, "have");
      else if (clause == "runs and waits for nobody")
        clause = "run and wait for nobody";
    }
    result += (result.empty() ? "" : "; ") + ranksText(ranks) + " " + clause;
  }
  return result;
}

std::string Communicator::hangReport() const {
  uint64_t launch = 0, now = monotonicNs();
  for (const Board &each : boards)
    launch = std::max(launch, each.entered());
  std::vector<RankView> views;
  for (int each = 0; each != size(); ++each) {
    RankView view = lookAt(board(each), launch);
    if (each != rank()) {
      view.isLost = mesh->peerState(each) == Control::PeerState::Lost;
      view.hasLeft = mesh->peerState(each) == Control::PeerState::Left;
      int pid = mesh->peerPid(each);
      view.isStopped = !view.isLost && pid > 0 && processState(pid) == 'T';
      if (view.isLost || view.hasLeft || view.isStopped)
        view.standing = Standing::Gone;
    }
    views.push_back(std::move(view));
  }
  std::string late = stragglers(views, launch, now, rank());
  std::string waiting = waitingSummary(views);
  std::string text = late;
  if (!waiting.empty())
    text += (text.empty() ? "" : "; ") + waiting;
  if (text.empty())
    text = "no rank waits";
  size_t lines = 0, total = 0;
  for (int each = 0; each != size(); ++each)
    for (const auto &[block, position] : views[size_t(each)].waits)
      if (++total <= maxLines) {
        text += waitText(each, block, views[size_t(each)].waits.size(),
                         position, now);
        ++lines;
      }
  if (total > lines)
    text += format("\n  and %zu more waits", total - lines);
  LaunchRecord record;
  for (const Board &each : boards)
    if (each.readLaunch(launch, record) == Board::Read::Ok) {
      text += format("\nlaunch %llu: ", (unsigned long long)launch) +
              launchText(record);
      break;
    }
  return text + launchGroups(boards, launch);
}

} // namespace coll
