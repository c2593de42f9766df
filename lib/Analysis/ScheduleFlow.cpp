//===- ScheduleFlow.cpp - Time when FIFOs are short -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// In order of depth, a ring whose members pass several chunks per step
// has them all on the way before the first is passed on: more messages than a
// FIFO holds. Here time is the outcome of a simulation instead. A message is
// ready for its next hop `latency` units after it was sent, and a channel takes
// what is already on its way before it takes a new leaf, so about `latency`
// chunks follow each other round the ring, and then the next ones.
//
// A step that receives and sends keeps what it receives until it can send. So
// that a ring of such steps moves, a step waits until every FIFO it sends to
// has room although nothing is taken from it in this unit; what enters a ring
// leaves one more place free (bubble flow control); and a leaf may not get
// before so many messages that one of them would not have had its room.
//
//===----------------------------------------------------------------------===//
#include "lib/Analysis/SchedulePlan.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <algorithm>
#include <queue>
#include <tuple>

using namespace coll;
using namespace coll::sched;

namespace {
/// Whose turn it is on a channel: smallest first.
struct Turn {
  bool isNew; // it comes straight from `in`
  uint32_t ready, order;
  ValueId value;
  bool operator>(const Turn &other) const {
    return std::tie(isNew, ready, order) >
           std::tie(other.isNew, other.ready, other.order);
  }
};

/// Sent in the step that made it, and not received yet.
struct OnTheWay {
  uint32_t message, ahead; // how many are in the FIFO before it
};

struct Link {
  std::priority_queue<Turn, std::vector<Turn>, std::greater<>> turns;
  llvm::SmallVector<OnTheWay, 4> onTheWay;
  uint32_t lastUsed = 0;
};

class FlowSimulation {
public:
  FlowSimulation(const Plan &plan, uint32_t latency, uint32_t capacity)
      : plan(plan), graph(plan.graph), latency(latency), capacity(capacity) {}
  std::vector<uint32_t> run();

private:
  void index();
  bool isStep(ValueId v) const { return plan.roles[v] == Role::Step; }
  bool receives(ValueId v) const {
    return plan.firstMessage[v] != plan.firstMessage[v + 1];
  }
  bool passesOn(ValueId v, uint32_t channel) const;
  bool mayGo(ValueId v) const;
  void settle(ValueId v, uint32_t time);
  void becomeReady(ValueId v);
  void drain();
  void queueReady(uint32_t time);
  bool serveLinks(uint32_t time, bool isForced);

  const Plan &plan;
  const ChunkGraph &graph;
  uint32_t latency, capacity;
  std::vector<uint32_t> times, waitsFor;
  std::vector<uint32_t> firstUser, firstSend; // by value
  std::vector<ValueId> users;
  std::vector<uint32_t> sends;               // messages, by producer
  std::vector<std::vector<ValueId>> readyAt; // by time
  std::vector<Link> links;                   // by channel
  std::vector<uint32_t> far;                 // by channel: distance of its ends
  std::vector<uint32_t> active;              // links with turns
  std::vector<uint32_t> taken;               // messages received in this unit
  std::vector<ValueId> settled;              // whose users are to be looked at
};
} // namespace

void FlowSimulation::index() {
  const size_t n = graph.values.size();
  firstUser.assign(n + 1, 0);
  firstSend.assign(n + 1, 0);
  waitsFor.assign(n, 0);
  auto forEach = [&](auto body) {
    for (ValueId v = 0; v < n; ++v)
      for (uint32_t i = 0; isStep(v) && i < graph.values[v].numOperands; ++i)
        if (ValueId operand = graph.operandsOf(graph.values[v])[i].value;
            isStep(operand))
          body(v, operand);
  };
  forEach([&](ValueId v, ValueId operand) {
    ++firstUser[operand + 1];
    ++waitsFor[v];
  });
  for (const auto &message : plan.messages)
    ++firstSend[message.producer + 1];
  for (size_t v = 0; v < n; ++v) {
    firstUser[v + 1] += firstUser[v];
    firstSend[v + 1] += firstSend[v];
  }
  users.resize(firstUser[n]);
  sends.resize(firstSend[n]);
  std::vector<uint32_t> next(firstUser.begin(), firstUser.end() - 1);
  forEach([&](ValueId v, ValueId operand) { users[next[operand]++] = v; });
  next.assign(firstSend.begin(), firstSend.end() - 1);
  for (uint32_t m = 0; m < plan.messages.size(); ++m)
    sends[next[plan.messages[m].producer]++] = m;
}

/// When everything it needs is there. Local steps take no time.
void FlowSimulation::becomeReady(ValueId v) {
  uint32_t time = 0;
  for (uint32_t i = 0; i < graph.values[v].numOperands; ++i) {
    ValueId operand = graph.operandsOf(graph.values[v])[i].value;
    if (!isStep(operand))
      continue;
    bool isLocal = graph.values[operand].rank == graph.values[v].rank;
    time = std::max(time, times[operand] + (!isLocal ? latency : receives(v)));
  }
  if (!receives(v))
    return settle(v, time);
  time = std::max(time, 1u);
  if (time >= readyAt.size())
    readyAt.resize(time + 1);
  readyAt[time].push_back(v);
}

void FlowSimulation::settle(ValueId v, uint32_t time) {
  times[v] = time;
  for (uint32_t m = plan.firstMessage[v]; m < plan.firstMessage[v + 1]; ++m) {
    Link &link = links[plan.messages[m].channel];
    link.lastUsed = time;
    if (plan.isLeaf(plan.messages[m].producer))
      for (OnTheWay &other : link.onTheWay)
        ++other.ahead;
    else
      taken.push_back(m);
  }
  for (uint32_t i = firstSend[v]; i < firstSend[v + 1]; ++i) {
    auto &onTheWay = links[plan.messages[sends[i]].channel].onTheWay;
    onTheWay.push_back({sends[i], uint32_t(onTheWay.size())});
  }
  settled.push_back(v);
}

void FlowSimulation::drain() {
  while (!settled.empty()) {
    ValueId v = settled.back();
    settled.pop_back();
    for (uint32_t i = firstUser[v]; i < firstUser[v + 1]; ++i)
      if (--waitsFor[users[i]] == 0)
        becomeReady(users[i]);
  }
}

/// What it receives goes on in the same direction.
bool FlowSimulation::passesOn(ValueId v, uint32_t channel) const {
  const Channel &to = plan.channels[channel];
  for (uint32_t m = plan.firstMessage[v]; m < plan.firstMessage[v + 1]; ++m) {
    const Channel &from = plan.channels[plan.messages[m].channel];
    if (plan.displacement(from.from, from.to) ==
        plan.displacement(to.from, to.to))
      return true;
  }
  return false;
}

bool FlowSimulation::mayGo(ValueId v) const {
  for (uint32_t i = firstSend[v]; i < firstSend[v + 1]; ++i) {
    uint32_t channel = plan.messages[sends[i]].channel,
             room = links[channel].onTheWay.size() + 1;
    if (room > capacity ||
        (room == capacity && room > 1 && !passesOn(v, channel)))
      return false;
  }
  for (uint32_t m = plan.firstMessage[v]; m < plan.firstMessage[v + 1]; ++m)
    if (plan.isLeaf(plan.messages[m].producer))
      for (const OnTheWay &other : links[plan.messages[m].channel].onTheWay)
        if (other.ahead + 1 >= capacity)
          return false;
  return true;
}

void FlowSimulation::queueReady(uint32_t time) {
  if (time >= readyAt.size())
    return;
  for (ValueId v : readyAt[time]) {
    const auto &message = plan.messages[plan.firstMessage[v]];
    if (links[message.channel].turns.empty())
      active.push_back(message.channel);
    links[message.channel].turns.push(
        {plan.isLeaf(message.producer), time, plan.orderOf[v], v});
  }
}

/// Every link takes at most one message. False: none took any.
bool FlowSimulation::serveLinks(uint32_t time, bool isForced) {
  bool hasMoved = false;
  size_t kept = 0;
  taken.clear();
  // Links that compete for the room of a third are served in an order that does
  // not depend on the rank.
  llvm::sort(active, [&](uint32_t a, uint32_t b) {
    return std::pair(far[a], a) < std::pair(far[b], b);
  });
  for (uint32_t at : active) {
    Link &link = links[at];
    ValueId v = link.turns.top().value;
    bool isFree = true;
    for (uint32_t m = plan.firstMessage[v]; m < plan.firstMessage[v + 1]; ++m)
      isFree &= links[plan.messages[m].channel].lastUsed < time;
    if (isFree && (isForced || mayGo(v))) {
      link.turns.pop();
      settle(v, time);
      hasMoved = true;
    }
    if (!link.turns.empty())
      active[kept++] = at;
  }
  active.resize(kept);
  for (uint32_t m : taken) {
    auto &onTheWay = links[plan.messages[m].channel].onTheWay;
    auto it = llvm::find_if(
        onTheWay, [&](const OnTheWay &other) { return other.message == m; });
    if (it != onTheWay.end())
      onTheWay.erase(it);
  }
  drain();
  return hasMoved;
}

std::vector<uint32_t> FlowSimulation::run() {
  const size_t n = graph.values.size();
  times.assign(n, 0);
  links.resize(plan.channels.size());
  readyAt.resize(2);
  for (const Channel &channel : plan.channels)
    far.push_back(plan.distance(channel.from, channel.to));
  index();
  for (ValueId v : plan.order)
    if (waitsFor[v] == 0)
      becomeReady(v);
  drain();
  for (uint32_t time = 1; time < readyAt.size() || !active.empty(); ++time) {
    queueReady(time);
    // Where nothing can move any more, room does not count: the check of the
    // programs will tell.
    if (!serveLinks(time, false) && time + 1 >= readyAt.size() &&
        !active.empty())
      serveLinks(time, true);
  }
  return std::move(times);
}

void Plan::assignTimesByFlow(uint32_t latency, uint32_t capacity) {
  const size_t n = graph.values.size();
  times = FlowSimulation(*this, latency, capacity).run();
  keys.resize(n);
  for (ValueId v : order) {
    uint32_t nearest = kNone;
    for (uint32_t m = firstMessage[v]; m < firstMessage[v + 1]; ++m)
      nearest = std::min(nearest, distance(channels[messages[m].channel].from,
                                           graph.values[v].rank));
    bool receives = nearest != kNone;
    keys[v] = Key::at(times[v], receives ? Key::Receive : Key::Local,
                      receives ? nearest : 0, orderOf[v]);
  }
  llvm::sort(order, [&](ValueId a, ValueId b) { return keys[a] < keys[b]; });
}
