//===- ScheduleSends.cpp - Which step sends which message -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The second half of Plan: the senders' side of every channel, and the steps.
//
//===----------------------------------------------------------------------===//
#include "lib/Analysis/SchedulePlan.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <tuple>

using namespace coll;
using namespace coll::sched;

/// What `map` says of a message. What is said under a label wins, but nothing
/// undoes `staged`.
Port::Wish Plan::wishOf(const Message &message) const {
  const Mapping &mapping =
      graph.mappings[graph.values[message.consumer].mapping];
  const std::string &protocol =
      mapping.protocol.empty() ? graph.map.protocol : mapping.protocol;
  if (mapping.staged || graph.map.staged || protocol == "simple")
    return Port::InSlots;
  const bool says = mapping.push || mapping.pull;
  if (says ? mapping.push : graph.map.push)
    return Port::Pushed;
  if (says ? mapping.pull : graph.map.pull)
    return Port::Pulled;
  return protocol == "multimem" ? Port::ByMultimem
         : protocol == "direct" ? Port::Directly
                                : Port::AsFits;
}

/// What is sent are the bytes of `in`, so that the receiver may load them
/// itself: where they are reduced, premul_sum multiplies there. With `via` the
/// product is what is rounded. Of a copy it is a product that
/// has been rounded: receivers that do that are of a shape of their own, code
/// that plans have only where they gain by it, since `map` says so or one
/// multimem instruction may load from all ranks.
bool Plan::isRaw(const Message &message) const {
  const Value &value = graph.values[message.producer];
  if (!isLeaf(message.producer) || message.hasVia || value.type != ElemType::T)
    return false;
  const Port::Wish wish = wishOf(message);
  const ValueExpr &expr = graph.exprs[graph.values[message.consumer].expr];
  return value.kind == Value::Input || wish == Port::Pulled ||
         wish == Port::ByMultimem || wish == Port::Directly ||
         llvm::any_of(expr.nodes, [](const ExprNode &node) {
           return node.kind == ExprNode::FoldAny;
         });
}

void Plan::fuseSends() {
  // Messages by channel, in the order of their consumers.
  std::vector<uint32_t> first(channels.size() + 1, 0), ordered(messages.size());
  for (const Message &message : messages)
    ++first[message.channel + 1];
  for (size_t c = 0; c < channels.size(); ++c)
    first[c + 1] += first[c];
  std::vector<uint32_t> next(first.begin(), first.end() - 1);
  for (ValueId v : order)
    for (uint32_t m = firstMessage[v]; m < firstMessage[v + 1]; ++m)
      ordered[next[messages[m].channel]++] = m;
  sendKeys.resize(messages.size());
  for (uint32_t c = 0; c < channels.size(); ++c)
    fuseSendsOf(c, {ordered.data() + first[c], ordered.data() + first[c + 1]});
  makeNodes();
  mergeSends();
}

void Plan::fuseSendsOf(uint32_t c, std::span<const uint32_t> ordered) {
  const Channel &channel = channels[c];
  const uint32_t far = distance(channel.from, channel.to);
  auto ownKey = [&](const Message &message) {
    return Key::at(times[message.consumer], Key::Send, far,
                   orderOf[message.consumer]);
  };
  Key latest; // no later message may leave before this
  bool isFirst = true;
  auto notBefore = [&](const Key &key) {
    latest = isFirst ? key : std::max(latest, key);
    isFirst = false;
  };
  for (uint32_t i = 0; i < ordered.size(); ++i) {
    Message &message = messages[ordered[i]];
    if (late.contains(
            {folded[displacement(channel.from, channel.to)], channel.tag, i})) {
      notBefore(ownKey(message));
    } else if (!isLeaf(message.producer)) {
      ValueId host = hosts[message.producer];
      message.isFused = fusion != Fusion::None &&
                        blocks[host] == channel.sendBlock &&
                        (isFirst || latest < keys[host]);
      notBefore(keys[host]);
    }
  }
  Key following{kNone, kNone, kNone}; // the next fused message's
  for (size_t i = ordered.size(); i-- > 0;) {
    const Message &message = messages[ordered[i]];
    if (message.isFused) {
      following = keys[hosts[message.producer]];
      continue;
    }
    Key own = ownKey(message);
    sendKeys[ordered[i]] =
        own < following ? own
                        : following.before(far, orderOf[message.consumer]);
  }
}

void Plan::makeNodes() {
  nextSend.assign(messages.size(), kNone);
  std::vector<uint32_t> fused;
  for (ValueId v = 0; v < graph.values.size(); ++v)
    if (roles[v] == Role::Step)
      nodes.push_back(
          {Node::Compute, blocks[v], graph.values[v].rank, v, keys[v]});
  for (uint32_t m = 0; m < messages.size(); ++m) {
    const Message &message = messages[m];
    const Channel &channel = channels[message.channel];
    if (message.isFused)
      fused.push_back(m);
    else
      nodes.push_back({Node::Send, channel.sendBlock, channel.from,
                       message.producer, sendKeys[m], m, m});
  }
  std::sort(nodes.begin(), nodes.end(), [](const Node &a, const Node &b) {
    return std::tie(a.rank, a.key, a.firstSend) <
           std::tie(b.rank, b.key, b.firstSend);
  });
  // The sinks of a step by distance, which is the same for ranks alike.
  auto place = [&](uint32_t m) {
    const Channel &channel = channels[messages[m].channel];
    return std::tuple(hosts[messages[m].producer],
                      distance(channel.from, channel.to), m);
  };
  std::sort(fused.begin(), fused.end(),
            [&](uint32_t a, uint32_t b) { return place(a) < place(b); });
  std::vector<uint32_t> firstOf(graph.values.size(), kNone);
  for (size_t i = fused.size(); i-- > 0;) {
    uint32_t &first = firstOf[hosts[messages[fused[i]].producer]];
    nextSend[fused[i]] = first;
    first = fused[i];
  }
  for (Node &node : nodes)
    if (node.kind == Node::Compute)
      node.firstSend = firstOf[node.value];
}

/// Whether `next`, which sends one message, may be part of `node`: both send
/// the same value, read in the same way.
bool Plan::canMerge(const Node &node, const Node &next) const {
  if (node.kind != Node::Send || next.kind != Node::Send)
    return false;
  if (!isLeaf(node.value) || !isLeaf(next.value))
    return node.value == next.value;
  const Value &a = graph.values[node.value], &b = graph.values[next.value];
  if (leafOf(node.value) != leafOf(next.value) || a.type != b.type)
    return false;
  const bool isRawA = isRaw(messages[node.firstSend]),
             isRawB = isRaw(messages[next.firstSend]);
  return !graph.reduces || (isRawA == isRawB && (isRawA || a.kind == b.kind));
}

/// Sends of one value that follow each other in a block, on different channels,
/// become one step with several sinks: the value is read once.
void Plan::mergeSends() {
  std::vector<Node> merged;
  std::vector<uint32_t> lastOfBlock(maxBlock + 1),
      lastOfChannel(channels.size(), kNone);
  firstNode.assign(graph.numRanks() + 1, 0);
  size_t i = 0;
  for (Rank rank = 0; rank < graph.numRanks(); ++rank) {
    firstNode[rank] = merged.size();
    std::fill(lastOfBlock.begin(), lastOfBlock.end(), kNone);
    for (; i < nodes.size() && nodes[i].rank == rank; ++i) {
      const Node &node = nodes[i];
      uint32_t &last = lastOfBlock[node.block];
      uint32_t *sender = node.kind == Node::Send
                             ? &lastOfChannel[messages[node.firstSend].channel]
                             : nullptr;
      if (last != kNone && canMerge(merged[last], node) && *sender != last) {
        nextSend[merged[last].lastSend] = node.firstSend;
        merged[last].lastSend = node.firstSend;
      } else {
        last = merged.size();
        merged.push_back(node);
      }
      if (sender)
        *sender = last;
    }
  }
  firstNode[graph.numRanks()] = merged.size();
  nodes = std::move(merged);
}
