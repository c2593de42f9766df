//===- SchedulePlan.cpp - Which steps there are, and in which order -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Liveness, channels, time, and what computes where. Which sends are fused is
// ScheduleSends.cpp.
//
//===----------------------------------------------------------------------===//
#include "lib/Analysis/SchedulePlan.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <algorithm>
#include <map>
#include <tuple>

using namespace coll;
using namespace coll::sched;

Plan::Plan(const ChunkGraph &graph, Fusion fusion, Sequence sequence,
           const LateSends &late, const ScheduleOptions &options)
    : graph(graph), fusion(fusion), sequence(sequence), late(late),
      maxSources(options.maxSources) {
  measureDistances();
  findLive();
  indexOutputs();
  listMessages();
  chooseOrder();
  chooseChannels();
  constexpr uint32_t flowLatency = 2;
  uint32_t slots = graph.map.slots ? graph.map.slots : options.slots;
  uint32_t capacity =
      FifoShape{slots, std::max(1u, slots / 2)}.guaranteedSlots();
  sequence == Sequence::Flow ? assignTimesByFlow(flowLatency, capacity)
                             : assignTimes();
  chooseRiders();
  chooseHosts();
  fuseSends();
}

uint32_t sched::foldedDisplacement(const std::vector<uint32_t> &dims, Rank from,
                                   Rank to) {
  uint32_t flat = 0, weight = 1;
  for (size_t d = dims.size(); d-- > 0; from /= dims[d], to /= dims[d]) {
    uint32_t difference = (to % dims[d] + dims[d] - from % dims[d]) % dims[d];
    flat += std::min(difference, dims[d] - difference) * weight;
    weight *= dims[d];
  }
  return flat;
}

void Plan::measureDistances() {
  const uint32_t dims = graph.rankDims.size(), ranks = graph.numRanks();
  coordinates.resize(size_t(ranks) * dims);
  folded.assign(ranks, 0);
  for (Rank r = 0; r < ranks; ++r) {
    for (uint32_t d = dims, rest = r; d-- > 0; rest /= graph.rankDims[d])
      coordinates[size_t(r) * dims + d] = rest % graph.rankDims[d];
    folded[r] = foldedDisplacement(graph.rankDims, 0, r);
  }
  std::vector<uint32_t> byDistance(ranks);
  distances.resize(ranks);
  for (uint32_t i = 0; i < ranks; ++i)
    byDistance[i] = i;
  llvm::sort(byDistance, [&](uint32_t a, uint32_t b) {
    return std::pair(folded[a], a) < std::pair(folded[b], b);
  });
  for (uint32_t i = 0; i < ranks; ++i)
    distances[byDistance[i]] = i;
}

uint32_t Plan::displacement(Rank from, Rank to) const {
  const uint32_t dims = graph.rankDims.size();
  const uint32_t *a = coordinates.data() + size_t(from) * dims;
  const uint32_t *b = coordinates.data() + size_t(to) * dims;
  uint32_t flat = 0;
  for (uint32_t d = 0; d < dims; ++d) {
    uint32_t size = graph.rankDims[d];
    uint32_t diff = b[d] >= a[d] ? b[d] - a[d] : b[d] + size - a[d];
    flat = flat * size + diff;
  }
  return flat;
}

/// Everything that an output or a token needs. Tokens are never dropped: what
/// they carry is the order itself.
void Plan::findLive() {
  const size_t n = graph.values.size();
  roles.assign(n, Role::Dead);
  hosts.resize(n);
  uses.assign(n, {});
  std::vector<bool> live(n);
  for (const Output &output : graph.outputs)
    live[output.value] = true;
  for (ValueId v = n; v-- > 0;) {
    const Value &value = graph.values[v];
    hosts[v] = v;
    if (value.kind == Value::Op && isToken(v))
      live[v] = true;
    if (!live[v])
      continue;
    roles[v] =
        value.kind == Value::Input || value.leafCopy ? Role::Leaf : Role::Step;
    for (uint32_t i = 0; i < value.numOperands; ++i) {
      ValueId operand = graph.operandsOf(value)[i].value;
      live[operand] = true;
      ++uses[operand].count;
      uses[operand].user = v;
    }
  }
}

void Plan::indexOutputs() {
  firstOutput.assign(graph.values.size() + 1, 0);
  for (const Output &output : graph.outputs)
    ++firstOutput[output.value + 1];
  for (size_t v = 0; v < graph.values.size(); ++v)
    firstOutput[v + 1] += firstOutput[v];
  outputsByValue.resize(graph.outputs.size());
  std::vector<uint32_t> next(firstOutput.begin(), firstOutput.end() - 1);
  for (uint32_t i = 0; i < graph.outputs.size(); ++i)
    outputsByValue[next[graph.outputs[i].value]++] = i;
}

uint32_t Plan::blockOf(ValueId v, const Mapping &mapping,
                       bool atReceiver) const {
  if (atReceiver && mapping.recvBlock != kNone)
    return mapping.recvBlock;
  if (mapping.block != kNone)
    return mapping.block;
  uint32_t count = mapping.blocks ? mapping.blocks : graph.map.blocks;
  return count > 1 ? lanes[v] % count : 0;
}

/// What travels, by value and operand; on which channel is not known yet.
void Plan::listMessages() {
  const size_t n = graph.values.size();
  lanes.assign(n, 0);
  firstMessage.assign(n + 1, 0);
  for (ValueId v = 0; v < n; ++v) {
    const Value &value = graph.values[v];
    const Operand *operands = graph.operandsOf(value);
    if (value.kind == Value::Input)
      lanes[v] = value.cell.part * graph.chunks + value.cell.chunk;
    else
      lanes[v] = value.numOperands ? lanes[operands->value] : 0;
    firstMessage[v] = messages.size();
    for (uint32_t i = 0; roles[v] == Role::Step && i < value.numOperands; ++i)
      if (graph.values[operands[i].value].rank != value.rank)
        messages.push_back(
            {operands[i].value, v, kNone, operands[i].via, operands[i].hasVia});
  }
  firstMessage[n] = messages.size();
}

/// What tells channels between two ranks apart: what `map` calls the channel,
/// the block at either end, and how many messages to the same value came
/// before. So a channel belongs to one block at either end, and a step has one
/// message of each.
struct Plan::Tags {
  using Tag = std::tuple<uint32_t, uint32_t, uint32_t, uint32_t>;
  std::map<Tag, uint32_t> ids; // numbered by first use
  llvm::DenseMap<std::pair<uint64_t, uint32_t>, uint32_t> channelIds;
  /// Messages so far of one mapping between two ranks: `channels n` deals them
  /// out in turn.
  llvm::DenseMap<std::pair<uint64_t, MappingId>, uint32_t> turns;
  llvm::SmallVector<Rank, 4> peers; // of the value at hand, so far
};

void Plan::chooseChannels() {
  blocks.assign(graph.values.size(), 0);
  maxBlock = graph.map.blocks > 1 ? graph.map.blocks - 1 : 0; // see blockOfCopy
  Tags tags;
  for (ValueId v : order)
    chooseChannelsOf(v, tags);
  // In the order of the map, not of first use: tags do not depend on the ranks.
  std::vector<uint32_t> numbers(tags.ids.size());
  uint32_t next = 0;
  for (auto &[tag, id] : tags.ids)
    numbers[id] = next++;
  for (Channel &channel : channels)
    channel.tag = numbers[channel.tag];
  numTags = std::max<uint32_t>(1, next);
}

void Plan::chooseChannelsOf(ValueId v, Tags &tags) {
  const Value &value = graph.values[v];
  const Mapping &mapping = graph.mappings[value.mapping];
  uint32_t sendBlock = blockOf(v, mapping, false),
           recvBlock = blockOf(v, mapping, true);
  blocks[v] = recvBlock;
  maxBlock = std::max({maxBlock, sendBlock, recvBlock});
  uint32_t count = mapping.channels ? mapping.channels : graph.map.channels;
  tags.peers.clear();
  for (uint32_t m = firstMessage[v]; m < firstMessage[v + 1]; ++m) {
    Rank from = graph.values[messages[m].producer].rank;
    const uint64_t pair = uint64_t(from) << 32 | value.rank;
    uint32_t before = std::count(tags.peers.begin(), tags.peers.end(), from);
    tags.peers.push_back(from);
    uint32_t lane = mapping.channel != kNone ? mapping.channel : 0;
    if (mapping.channel == kNone && count > 1)
      lane = tags.turns[{pair, value.mapping}]++ % count;
    Tags::Tag tag{lane, sendBlock, recvBlock, before};
    uint32_t id = tags.ids.try_emplace(tag, tags.ids.size()).first->second;
    auto [channel, isNew] =
        tags.channelIds.try_emplace({pair, id}, channels.size());
    if (isNew)
      channels.push_back(
          {from, value.rank, id, uint16_t(sendBlock), uint16_t(recvBlock)});
    messages[m].channel = channel->second;
  }
  // A local statement that says nothing stays where its operand was made.
  if (!tags.peers.empty() || mapping.block != kNone || mapping.blocks ||
      graph.map.blocks > 1)
    return;
  const Operand *operands = graph.operandsOf(value);
  for (uint32_t i = 0; i < value.numOperands; ++i)
    if (roles[operands[i].value] == Role::Step)
      blocks[v] = blocks[operands[i].value];
}

void Plan::assignTimes() {
  const size_t n = graph.values.size();
  keys.resize(n);
  times.assign(n, 0);
  std::vector<uint32_t> last(channels.size(),
                             0); // time of the channel's last message
  for (ValueId v : order) {
    const Value &value = graph.values[v];
    uint32_t local = 0, remote = 0, nearest = kNone;
    bool hasLocal = false;
    for (uint32_t i = 0; i < value.numOperands; ++i) {
      ValueId operand = graph.operandsOf(value)[i].value;
      if (graph.values[operand].rank != value.rank || isLeaf(operand))
        continue;
      hasLocal = true;
      local = std::max(local, times[operand]);
    }
    for (uint32_t m = firstMessage[v]; m < firstMessage[v + 1]; ++m) {
      const Message &message = messages[m];
      uint32_t made = times[message.producer];
      remote = std::max({remote, made + 1, last[message.channel] + 1});
      nearest = std::min(nearest,
                         distance(channels[message.channel].from, value.rank));
    }
    bool receives = nearest != kNone;
    uint32_t time = receives ? std::max(remote, local + hasLocal) : local;
    if (graph.map.sourceOrder)
      time = std::max(time, orderOf[v]);
    times[v] = time;
    keys[v] = Key::at(time, receives ? Key::Receive : Key::Local,
                      receives ? nearest : 0, orderOf[v]);
    for (uint32_t m = firstMessage[v]; m < firstMessage[v + 1]; ++m)
      last[messages[m].channel] = time;
  }
}

/// A copy to another type that is made where the original is: the step that
/// makes the original has it as one more sink. Not if it travels as a third
/// type, which one sink cannot round to.
void Plan::chooseRiders() {
  firstRider.assign(graph.values.size(), kNone);
  nextRider.assign(graph.values.size(), kNone);
  if (fusion == Fusion::None)
    return;
  std::vector<bool> travelsAsOther(graph.values.size());
  for (const Message &message : messages)
    if (message.wire != graph.values[message.producer].type)
      travelsAsOther[message.producer] = true;
  for (ValueId v = 0; v < graph.values.size(); ++v) {
    const Value &value = graph.values[v];
    if (roles[v] != Role::Step || value.numOperands != 1 || value.complete ||
        !graph.exprs[value.expr].isIdentity() || travelsAsOther[v])
      continue;
    const Operand &operand = *graph.operandsOf(value);
    const Value &original = graph.values[operand.value];
    if (roles[operand.value] != Role::Step || original.rank != value.rank ||
        (operand.hasVia && operand.via != original.type) ||
        blocks[operand.value] != blocks[v])
      continue;
    if (hasOneUse(operand.value) && !original.complete &&
        fusion == Fusion::Full)
      continue; // then the original is better computed within the copy
    roles[v] = Role::Rider;
    hosts[v] = operand.value;
    keys[v] = keys[operand.value];
    nextRider[v] = firstRider[operand.value];
    firstRider[operand.value] = v;
  }
}

bool Plan::hasOneUse(ValueId v) const {
  return uses[v].count == 1 && firstOutput[v] == firstOutput[v + 1];
}

bool Plan::mentionsRows(ValueId v) const {
  const Value &value = graph.values[v];
  return llvm::any_of(graph.exprs[value.expr].nodes, [&](const ExprNode &node) {
    return node.kind == ExprNode::Apply &&
           graph.functions[node.function].usesRows;
  });
}

/// Whether the step of v's only user may do what v's step would do, channels
/// apart.
bool Plan::mayTakeOver(ValueId v) const {
  const Value &value = graph.values[v];
  ValueId user = uses[v].user;
  if (fusion != Fusion::Full || !hasOneUse(v) || value.complete ||
      graph.map.sourceOrder || graph.values[user].rank != value.rank)
    return false;
  ValueId host = hosts[user];
  const Extent &extent = graph.extents[value.extent],
               &hostExtent = graph.extents[graph.values[host].extent];
  if ((roles[user] != Role::Step && roles[user] != Role::Within) ||
      blocks[host] != blocks[v] || extent.size != hostExtent.size ||
      extent.chunk != hostExtent.chunk || mentionsRows(user) || mentionsRows(v))
    return false;
  // An operand that is named twice would be received twice.
  const Value &consumer = graph.values[user];
  auto isOperand = [](const ExprNode &node) {
    return node.kind == ExprNode::Operand;
  };
  if (llvm::count_if(graph.exprs[consumer.expr].nodes, isOperand) !=
      consumer.numOperands)
    return false;
  if (graph.exprs[value.expr].isIdentity())
    return true;
  // Waiting for everything at once costs time where the parts come at different
  // times, and registers.
  return sourceCount[host] + value.numOperands - 1 <= maxSources &&
         times[host] - times[v] <= maxSources;
}

/// From the last value to the first, so that the positions of all later
/// messages of a channel are known: a receive may move to the step of a user if
/// that comes before all of them.
void Plan::chooseHosts() {
  const size_t n = graph.values.size();
  sourceCount.assign(n, 0);
  std::vector<Key> following(channels.size(), Key{kNone, kNone, kNone});
  llvm::DenseSet<std::pair<uint32_t, uint32_t>> taken; // host, channel
  for (ValueId v : llvm::reverse(order)) {
    if (roles[v] != Role::Step)
      continue;
    const Value &value = graph.values[v];
    std::span<Message> received(messages.data() + firstMessage[v],
                                messages.data() + firstMessage[v + 1]);
    sourceCount[v] = std::min<uint32_t>(value.numOperands, UINT16_MAX / 2);
    if (mayTakeOver(v)) {
      ValueId host = hosts[uses[v].user];
      bool inOrder = llvm::all_of(received, [&](const Message &m) {
        return keys[host] < following[m.channel] &&
               !taken.contains({host, m.channel});
      });
      if (inOrder) {
        roles[v] = Role::Within;
        hosts[v] = host;
        keys[v] = keys[host];
        sourceCount[host] += sourceCount[v] - 1;
      }
    }
    for (const Message &m : received) {
      following[m.channel] = keys[v];
      if (fusion == Fusion::Full)
        taken.insert({hosts[v], m.channel});
    }
  }
}
