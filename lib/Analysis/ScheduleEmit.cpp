//===- ScheduleEmit.cpp - The steps of one rank ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Drafts: which sources, which expression, which sinks. Where values lie and
// how steps are written down is ScheduleStorage.cpp.
//
//===----------------------------------------------------------------------===//
#include "lib/Analysis/ScheduleEmit.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <tuple>

using namespace coll;
using namespace coll::sched;

static uint64_t partKey(uint32_t buffer, uint32_t part) {
  return uint64_t(buffer) << 32 | part;
}

Emitter::Emitter(const Plan &plan, Interner &interner, Variant variant)
    : plan(plan), graph(plan.graph), interner(interner), variant(variant) {
  places.resize(graph.values.size());
  firstOutput.assign(graph.numRanks() + 1, 0);
  for (const Output &output : graph.outputs)
    ++firstOutput[output.rank + 1];
  firstPair.assign(graph.numRanks() + 1, 0);
  for (const InplacePair &pair : graph.inplace)
    ++firstPair[pair.rank + 1];
  for (Rank r = 0; r < graph.numRanks(); ++r) {
    firstOutput[r + 1] += firstOutput[r];
    firstPair[r + 1] += firstPair[r];
  }
  if (variant != Variant::InPlace)
    return;
  for (ValueId v = 0; v < graph.values.size(); ++v) {
    const Value &value = graph.values[v];
    if (value.kind == Value::Input && plan.roles[v] != Role::Dead)
      leafOfCell[{value.rank, partKey(value.cell.buffer, value.cell.part)
                                      << 20 ^
                                  value.cell.chunk}] = v;
  }
}

bool Emitter::isScaled(ValueId leaf) const {
  return graph.reduces &&
         graph.buffers[graph.values[leaf].cell.buffer].kind == Buffer::In;
}

/// In place, the leaf in whose memory a location of `out` lies; kNone: no leaf,
/// or one that nobody reads.
ValueId Emitter::leafUnder(const Cell &cell) const {
  auto it = alias.find(partKey(cell.buffer, cell.part));
  if (it == alias.end())
    return kNone;
  auto leaf = leafOfCell.find({rank, it->second << 20 ^ cell.chunk});
  return leaf == leafOfCell.end() ? kNone : leaf->second;
}

RankProgram Emitter::emit(Rank ofRank) {
  rank = ofRank;
  drafts.clear();
  copies.clear();
  alias.clear();
  sendEnds.clear();
  recvEnds.clear();
  if (variant == Variant::InPlace)
    for (uint32_t i = firstPair[rank]; i < firstPair[rank + 1]; ++i) {
      const InplacePair &pair = graph.inplace[i];
      uint64_t a = partKey(pair.bufferA, pair.partA),
               b = partKey(pair.bufferB, pair.partB);
      bool isAIn = graph.buffers[pair.bufferA].kind == Buffer::In;
      alias[isAIn ? b : a] = isAIn ? a : b;
    }
  for (uint32_t i = firstOutput[rank]; i < firstOutput[rank + 1]; ++i)
    if (plan.isLeaf(graph.outputs[i].value))
      copies.push_back(i);
  for (uint32_t i = plan.firstNode[rank]; i < plan.firstNode[rank + 1]; ++i)
    plan.nodes[i].kind == Node::Compute ? draftCompute(plan.nodes[i])
                                        : draftSend(plan.nodes[i]);
  draftCopies();
  saveOverwritten();
  placeValues();
  indexReaders();
  RankProgram program;
  giveSlots(program);
  writeSteps(program);
  return program;
}

void Emitter::draftCompute(const Node &node) {
  const Value &value = graph.values[node.value];
  Draft &draft = drafts.emplace_back();
  draft.block = node.block;
  draft.value = node.value;
  draft.site = value.site;
  draft.type = value.type;
  draft.complete = value.complete && graph.numRanks() > 1;
  expand(node.value, draft);
  orderSources(draft);
  addStores(node.value, draft);
  for (ValueId rider = plan.firstRider[node.value]; rider != kNone;
       rider = plan.nextRider[rider])
    addStores(rider, draft);
  for (uint32_t m = node.firstSend; m != kNone; m = plan.nextSend[m])
    draft.sinks.push_back({Sink::Send, plan.messages[m].wire, m});
}

/// Appends the expression of a value. Returns a type that holds the result
/// exactly (Accum: perhaps none other does).
ElemType Emitter::expand(ValueId v, Draft &draft) {
  const Value &value = graph.values[v];
  const Operand *operands = graph.operandsOf(value);
  llvm::SmallVector<uint32_t, 8> messageOf;
  uint32_t message = plan.firstMessage[v];
  for (uint32_t i = 0; i < value.numOperands; ++i)
    messageOf.push_back(
        graph.values[operands[i].value].rank == rank ? kNone : message++);
  llvm::SmallVector<uint32_t, 8> sourceOf(value.numOperands, kNone);
  ElemType known = ElemType::Accum;
  const std::vector<ExprNode> &nodes = graph.exprs[value.expr].nodes;
  for (const ExprNode &node : nodes) {
    if (node.kind != ExprNode::Operand) {
      draft.expr.push_back(node);
      known = node.kind == ExprNode::Round ? node.type : ElemType::Accum;
      continue;
    }
    const Operand &operand = operands[node.arg];
    if (messageOf[node.arg] != kNone && sourceOf[node.arg] != kNone) {
      draft.expr.push_back(
          {ExprNode::Operand, ElemType::T, 0, sourceOf[node.arg]});
      known = operand.via;
      continue;
    }
    sourceOf[node.arg] = draft.sources.size();
    known = expandOperand(v, operand, messageOf[node.arg], draft);
  }
  return known;
}

void Emitter::addRound(ElemType type, ElemType known, Draft &draft) const {
  if (type != known)
    draft.expr.push_back({ExprNode::Round, type, 0, 0});
}

ElemType Emitter::expandOperand(ValueId user, const Operand &operand,
                                uint32_t message, Draft &draft) {
  const Value &value = graph.values[operand.value];
  uint32_t source = draft.sources.size();
  if (message != kNone) {
    const Value &consumer = graph.values[user];
    bool isRaw = plan.isRaw(plan.messages[message]) &&
                 isScaled(plan.leafOf(operand.value));
    // Of a copy the product is rounded, and within another step nothing else
    // would round it.
    bool isRounded = isRaw && (value.kind == Value::Op ||
                               (plan.roles[user] == Role::Within &&
                                consumer.type == ElemType::T &&
                                graph.exprs[consumer.expr].isIdentity()));
    uint32_t distance = plan.displacement(rank, value.rank);
    draft.sources.push_back(
        {Source::Receive, operand.via, isRaw, isRounded, message, distance});
    draft.expr.push_back({ExprNode::Operand, ElemType::T, 0, source});
    return isRaw && !isRounded ? ElemType::Accum : operand.via;
  }
  ElemType known;
  if (plan.isLeaf(operand.value)) {
    known = addLeaf(operand.value, draft);
  } else if (plan.roles[operand.value] == Role::Within) {
    known = expand(operand.value, draft);
    addRound(value.type, known, draft);
    known = value.type;
  } else {
    draft.sources.push_back(
        {Source::Memory, value.type, false, false, operand.value});
    draft.expr.push_back({ExprNode::Operand, ElemType::T, 0, source});
    known = value.type;
  }
  if (!operand.hasVia)
    return known;
  addRound(operand.via, known, draft);
  return operand.via;
}

/// The source for a leaf or for a copy of one, of this rank.
ElemType Emitter::addLeaf(ValueId v, Draft &draft) {
  const Value &value = graph.values[v];
  ValueId leaf = plan.leafOf(v);
  bool scaled = isScaled(leaf), isCopy = value.kind == Value::Op;
  draft.expr.push_back(
      {ExprNode::Operand, ElemType::T, 0, uint32_t(draft.sources.size())});
  draft.sources.push_back({Source::Leaf, ElemType::T, scaled,
                           scaled && isCopy && value.type == ElemType::T,
                           leaf});
  if (!isCopy)
    return scaled ? ElemType::Accum : ElemType::T;
  addRound(value.type, ElemType::T, draft);
  return value.type;
}

/// Ranks that fold the same list, each from where it stands, get the same
/// ports: what is their own first, then the others by displacement. `shift`
/// says where the list begins. Two operands need no shift: x + y is y + x; more
/// are walked by a loop and have to be alike.
void Emitter::orderSources(Draft &draft) const {
  const uint32_t n = draft.sources.size();
  if (n < 2 || draft.expr.size() != n + 1 ||
      (draft.expr.back().kind != ExprNode::Fold &&
       draft.expr.back().kind != ExprNode::FoldAny))
    return;
  auto how = [](const Source &source) {
    return std::tuple(source.type, source.scaled, source.scaledRounded);
  };
  uint32_t first = 0;
  for (uint32_t i = 0; i < n; ++i) {
    if (draft.expr[i].kind != ExprNode::Operand || draft.expr[i].arg != i ||
        (n > 2 && how(draft.sources[i]) != how(draft.sources[0])))
      return;
    if (draft.sources[i].distance < draft.sources[first].distance)
      first = i;
  }
  for (uint32_t i = 0; i + 1 < n; ++i)
    if (draft.sources[(first + i) % n].distance >=
        draft.sources[(first + i + 1) % n].distance)
      return;
  std::rotate(draft.sources.begin(), draft.sources.begin() + first,
              draft.sources.end());
  draft.shift = n == 2 ? 0 : (n - first) % n;
}

void Emitter::addStores(ValueId v, Draft &draft) const {
  for (uint32_t i = plan.firstOutput[v]; i < plan.firstOutput[v + 1]; ++i)
    draft.sinks.push_back(
        {Sink::Out, graph.values[v].type, plan.outputsByValue[i]});
}

void Emitter::draftSend(const Node &node) {
  const Value &value = graph.values[node.value];
  Draft &draft = drafts.emplace_back();
  const Message &message = plan.messages[node.firstSend];
  draft.block = node.block;
  draft.value = node.value;
  draft.site = graph.values[message.consumer].site;
  draft.type = value.type;
  if (!plan.isLeaf(node.value)) {
    draft.sources.push_back(
        {Source::Memory, value.type, false, false, node.value});
    draft.expr.push_back({ExprNode::Operand, ElemType::T, 0, 0});
  } else {
    addLeaf(node.value, draft);
    if (plan.isRaw(message)) // the receiver multiplies
      draft.sources[0].scaled = draft.sources[0].scaledRounded = false;
    else if (value.kind == Value::Input && draft.sources[0].scaled)
      draft.type = ElemType::Accum; // the product is rounded to `via`
    if (draft.expr.back().kind == ExprNode::Round)
      draft.expr.pop_back(); // the step's own type does it
    attachCopies(draft);
  }
  for (uint32_t m = node.firstSend; m != kNone; m = plan.nextSend[m])
    draft.sinks.push_back({Sink::Send, plan.messages[m].wire, m});
}

/// In place, the location of `out` is the leaf's own memory.
bool Emitter::isItself(const Output &output) const {
  return leafUnder(output.cell) == plan.leafOf(output.value);
}

/// A step that loads a leaf to send it also stores it where `out` keeps it. In
/// place only where no leaf lies: an early store is one that others must fear.
void Emitter::attachCopies(Draft &send) {
  const Source &source = send.sources[0];
  if (send.type != ElemType::T || source.scaled != source.scaledRounded ||
      (isScaled(source.id) && !source.scaled))
    return;
  llvm::erase_if(copies, [&](uint32_t i) {
    const Output &output = graph.outputs[i];
    if (plan.leafOf(output.value) != source.id ||
        alias.contains(partKey(output.cell.buffer, output.cell.part)))
      return false;
    send.sinks.push_back({Sink::Out, ElemType::T, i});
    return true;
  });
}

/// What is left: locations of `out` that hold a leaf. Where they are the leaf's
/// own memory nothing is to do, unless premul_sum scales it; then it comes
/// last.
void Emitter::draftCopies() {
  auto isLast = [&](uint32_t i) { return isItself(graph.outputs[i]); };
  llvm::sort(copies, [&](uint32_t a, uint32_t b) {
    return std::pair(isLast(a), a) < std::pair(isLast(b), b);
  });
  for (size_t i = 0; i < copies.size(); ++i) {
    const Output &output = graph.outputs[copies[i]];
    ValueId leaf = plan.leafOf(output.value);
    if (isLast(copies[i]) && !isScaled(leaf))
      continue;
    Draft draft;
    draft.value = output.value;
    draft.site = output.site;
    draft.block = plan.blockOfCopy(output.value);
    addLeaf(output.value, draft);
    draft.sources[0].scaledRounded = draft.sources[0].scaled;
    draft.sinks.push_back({Sink::Out, ElemType::T, copies[i]});
    // Other copies of the same leaf that follow come along.
    while (i + 1 < copies.size() &&
           plan.leafOf(graph.outputs[copies[i + 1]].value) == leaf &&
           !isLast(copies[i + 1]))
      draft.sinks.push_back({Sink::Out, ElemType::T, copies[++i]});
    drafts.push_back(std::move(draft));
  }
}
