//===- SchedulePlan.h - Which steps, in which order -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The decisions of scheduling that concern several ranks, for one launch
// member.
//
// *Time.* A value is made one unit after what it is made of has been sent, and
// a channel carries one message per unit. Ordering the steps of a rank by time,
// sends before receives, is a legal order on FIFOs that hold one message;
// chunks follow each other through a chain or a tree like through a pipeline;
// and where the source is symmetric in the ranks, so is the order, because ties
// are broken by the distance between the two ranks. Which of several messages a
// channel carries first is chosen by depth (ScheduleOrder.cpp), or by what
// flows best (ScheduleFlow.cpp).
//
// *Taking over.* A value with one user, on its own rank, is computed in the
// step of that user, if the receives this moves to a later time still happen in
// the order of their channels. A copy to another type rides on the step that
// makes the original, as one more sink.
//
// *Fused sends.* The j-th message of a channel can leave in the step that makes
// its value exactly if no earlier message of the channel has a later producer;
// all messages with that property can at once. The others, and all messages of
// `in` leaves, are sent by a step that loads and sends, at their time or just
// before the next fused one, whichever is earlier.
//
//===----------------------------------------------------------------------===//
#ifndef COLL_LIB_ANALYSIS_SCHEDULEPLAN_H
#define COLL_LIB_ANALYSIS_SCHEDULEPLAN_H

#include "lib/Analysis/Schedule.h"

#include <array>
#include <compare>
#include <set>

namespace coll::sched {

/// The place of a step in the order of its rank. `pre` orders sends that have
/// to leave just before another step.
struct Key {
  uint32_t time = 0;
  uint32_t kindAndDistance = 0;
  uint32_t id = 0;
  uint32_t preDistance = kNone, preId = kNone;
  auto operator<=>(const Key &) const = default;

  enum Kind : uint32_t { Send, Receive, Local };
  static Key at(uint32_t time, Kind kind, uint32_t distance, uint32_t id) {
    return {time, uint32_t(kind) << 30 | distance, id};
  }
  Key before(uint32_t distance, uint32_t byId) const {
    return {time, kindAndDistance, id, distance, byId};
  }
};

struct Message {
  ValueId producer, consumer;
  uint32_t channel;
  ElemType wire;
  bool hasVia;
  bool isFused = false;
};

struct Channel {
  Rank from, to;
  uint32_t tag;
  uint16_t sendBlock, recvBlock;
};

/// A step to be.
struct Node {
  enum Kind : uint8_t { Compute, Send } kind;
  uint16_t block;
  Rank rank;
  ValueId value; ///< Compute: what is made. Send: what is loaded
  Key key;
  /// Messages, linked by Plan::nextSend; the last one is known for Send only.
  uint32_t firstSend = kNone, lastSend = kNone;
};

enum class Role : uint8_t {
  Dead,
  Leaf,   ///< of `in`, or a copy of one on its own rank: loaded where needed
  Step,   ///< computed by a step of its own
  Within, ///< computed inside the step of its only user
  Rider   ///< another type of what a step computes: one more sink
};

/// Which of several messages a channel carries first.
enum class Sequence : uint8_t { Depth, Flow };

/// The displacement of two ranks, in every dimension the nearer of it and its
/// opposite.
uint32_t foldedDisplacement(const std::vector<uint32_t> &dims, Rank from,
                            Rank to);

/// Messages that are to leave at their time and not before, on all channels
/// alike: folded displacement, tag, how many messages of the channel come
/// before.
using LateSends = std::set<std::array<uint32_t, 3>>;

class Plan {
public:
  Plan(const ChunkGraph &graph, Fusion fusion, Sequence sequence,
       const LateSends &late, const ScheduleOptions &options);

  const ChunkGraph &graph;
  std::vector<Role> roles;    // by value
  std::vector<ValueId> hosts; // by value: whose step computes it
  std::vector<Message> messages;
  std::vector<Channel> channels;
  std::vector<Node> nodes;         // by rank, in order
  std::vector<uint32_t> firstNode; // by rank
  std::vector<uint32_t> nextSend;  // by message: the next one of the same step
  /// By value: the messages of its remote operands, in the order of operands.
  std::vector<uint32_t> firstMessage;
  /// By value: the riders of a step, linked.
  std::vector<ValueId> firstRider, nextRider;
  /// By value: where in outputsByValue, which has indexes into graph.outputs.
  std::vector<uint32_t> firstOutput, outputsByValue;
  /// Steps and riders, operands before users, and messages of a channel as it
  /// carries them.
  std::vector<ValueId> order;
  /// By value: its place there, before time was assigned.
  std::vector<uint32_t> orderOf;
  uint32_t numTags = 1;
  uint32_t maxBlock = 0;

  bool isLeaf(ValueId value) const { return roles[value] == Role::Leaf; }
  /// The `in` leaf behind a Leaf.
  ValueId leafOf(ValueId value) const {
    const Value &v = graph.values[value];
    return v.kind == Value::Input ? value : graph.operandsOf(v)->value;
  }
  Port::Wish wishOf(const Message &message) const;
  bool isRaw(const Message &message) const;
  bool isToken(ValueId value) const {
    return graph.sizes[graph.extents[graph.values[value].extent].size]
        .isToken();
  }
  /// Of the step that copies a leaf to `out`.
  uint16_t blockOfCopy(ValueId value) const {
    return graph.map.blocks > 1 ? lanes[value] % graph.map.blocks : 0;
  }
  /// (to - from) per dimension, modulo its size, as one number.
  uint32_t displacement(Rank from, Rank to) const;
  /// Displacements counted from near to far, a displacement next to its
  /// opposite.
  uint32_t distance(Rank from, Rank to) const {
    return distances[displacement(from, to)];
  }

private:
  struct Use {
    uint32_t count = 0;
    ValueId user = kNone; // of the last one
  };
  struct Tags;
  void measureDistances();
  void findLive();
  void indexOutputs();
  void listMessages();
  void chooseChannels();
  void chooseChannelsOf(ValueId value, Tags &tags);
  uint32_t blockOf(ValueId value, const Mapping &mapping,
                   bool atReceiver) const;
  void chooseOrder();
  void assignTimes();
  void assignTimesByFlow(uint32_t latency, uint32_t capacity);
  void chooseRiders();
  bool hasOneUse(ValueId value) const;
  bool mayTakeOver(ValueId value) const;
  void chooseHosts();
  bool mentionsRows(ValueId value) const;
  void fuseSends();
  void fuseSendsOf(uint32_t channel, std::span<const uint32_t> ordered);
  void makeNodes();
  void mergeSends();
  bool canMerge(const Node &node, const Node &next) const;

  Fusion fusion;
  Sequence sequence;
  const LateSends &late;
  uint32_t maxSources;
  std::vector<Use> uses;
  std::vector<uint32_t> lanes;       // by value: the chunk it descends from
  std::vector<uint32_t> coordinates; // rank * dims + dim
  std::vector<uint32_t> distances;   // by displacement
  std::vector<uint32_t> folded;      // by displacement: foldedDisplacement
  std::vector<Key> keys;             // by value: of the step that computes it
  std::vector<uint32_t> times;  // by value: when it would be computed by itself
  std::vector<uint16_t> blocks; // by value
  std::vector<uint16_t> sourceCount; // by value that is a step
  std::vector<Key> sendKeys;         // by message, of those that are not fused
};

} // namespace coll::sched

#endif // COLL_LIB_ANALYSIS_SCHEDULEPLAN_H
