//===- MscclFlow.cpp - Which value is where in a foreign schedule ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A greedy run: every block goes as far as messages and waits let it, FIFOs
// have no bound. The same sum on the same rank is one value, so that the
// variants of a file share theirs.
//
//===----------------------------------------------------------------------===//
#include "lib/Interchange/MscclFlow.h"

#include "llvm/ADT/STLExtras.h"

#include <deque>
#include <map>

using namespace coll;
using namespace coll::msccl;

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

static Buffer makeBuffer(const char *name, Buffer::Kind kind, uint32_t parts,
                         uint32_t ranks, std::optional<Rank> only) {
  Buffer buffer;
  buffer.name = name;
  buffer.kind = kind;
  buffer.parts = parts;
  buffer.present.assign(ranks, !only);
  if (only)
    buffer.present[*only] = true;
  buffer.partSize.assign(parts, 0);
  return buffer;
}

FlowGraph::FlowGraph(const Algorithm &algo, std::optional<Rank> root)
    : numRanks(algo.gpus.size()) {
  llvm::StringRef coll = algo.coll;
  bool hasIns = coll == "reduce_scatter" || coll == "alltoall",
       hasOuts = coll == "allgather" || coll == "alltoall";
  perPart = hasIns || hasOuts ? algo.chunks / numRanks : algo.chunks;
  graph.contract = algo.coll;
  graph.rankDims = {numRanks};
  graph.reduces = graph.isAvgLegal =
      coll == "allreduce" || coll == "reduce" || coll == "reduce_scatter";
  if (root) {
    graph.launchNames = {"root"};
    graph.launchValues = {*root};
    graph.launchDomains = {{*root}};
  }
  graph.chunks = perPart;
  graph.buffers = {makeBuffer("in", Buffer::In, hasIns ? numRanks : 1, numRanks,
                              coll == "broadcast" ? root : std::nullopt),
                   makeBuffer("out", Buffer::Out, hasOuts ? numRanks : 1,
                              numRanks,
                              coll == "reduce" ? root : std::nullopt)};
  graph.sizes = {{SizeSymbol::Count, 0, perPart}};
  for (uint32_t chunk = 0; chunk < perPart; ++chunk)
    graph.extents.push_back({0, chunk});
  graph.mappings.emplace_back();
  ExprNode operand{ExprNode::Operand}, second = operand, fold{ExprNode::Fold};
  second.arg = 1;
  fold.arg = 2;
  graph.exprs = {{{operand}}, {{operand, second, fold}}};
  terms = TermTable(leafTypesOf(graph));
}

bool FlowGraph::hasInput(Rank rank, uint32_t offset) const {
  const Buffer &in = graph.buffers[InBuffer];
  return in.present[rank] && offset < in.parts * perPart;
}

bool FlowGraph::hasOutput(Rank rank, uint32_t offset) const {
  const Buffer &out = graph.buffers[OutBuffer];
  return out.present[rank] && offset < out.parts * perPart;
}

ValueId FlowGraph::add(Value value, uint64_t leaves) {
  graph.values.push_back(value);
  leavesOf.push_back(std::min<uint64_t>(leaves, UINT32_MAX));
  return graph.values.size() - 1;
}

ValueId FlowGraph::input(Rank rank, uint32_t offset) {
  auto [it, isNew] = inputs.try_emplace({rank, offset}, graph.values.size());
  if (!isNew)
    return it->second;
  Value value{Value::Input};
  value.rank = rank;
  value.cell = {InBuffer, offset / perPart, offset % perPart};
  value.extent = value.cell.chunk;
  value.term = terms.leaf(InBuffer, value.cell.part, value.cell.chunk, rank);
  if (!graph.reduces)
    return add(value, 1);
  Value read{Value::Op};
  read.rank = rank;
  read.extent = value.extent;
  read.leafCopy = true;
  read.term = terms.evaluate(graph.exprs[0], {value.term}, ElemType::T);
  read.firstOperand = graph.operands.size();
  read.numOperands = 1;
  graph.operands.push_back({add(value, 1), ElemType::T, /*hasVia=*/false});
  return inputs[{rank, offset}] = add(read, 1);
}

/// avg divides where all contributions have come together: a right output has
/// each once, so their number says it.
ValueId FlowGraph::sum(Rank rank, ValueId a, ValueId b, SiteId site) {
  TermId term =
      terms.evaluate(graph.exprs[1], {termOf(a), termOf(b)}, ElemType::T);
  auto [it, isNew] = sums.try_emplace({rank, term}, graph.values.size());
  if (!isNew)
    return it->second;
  Value value{Value::Op};
  value.rank = rank;
  value.term = term;
  value.extent = chunkOf(a);
  value.expr = 1;
  value.firstOperand = graph.operands.size();
  value.numOperands = 2;
  value.site = site;
  value.statement = graph.values.size();
  uint64_t leaves = leavesOf[a] + leavesOf[b];
  value.complete = leaves == numRanks;
  for (ValueId operand : {a, b})
    graph.operands.push_back(
        {operand, graph.values[operand].type, /*hasVia=*/false});
  return add(value, leaves);
}

void FlowGraph::finish() {
  graph.terms = terms.takeTerms();
  graph.termOperands = terms.takeOperands();
}

//===----------------------------------------------------------------------===//
// The run
//===----------------------------------------------------------------------===//

std::optional<uint32_t> msccl::initialOffset(const Algorithm &algo,
                                             bool inPlace,
                                             const FlowGraph &values, Rank rank,
                                             CellKey cell) {
  PhysicalPlace first = placeOf(algo, inPlace, rank, {Space::Input, 0});
  if (cell.buffer != first.buffer || cell.part < first.part ||
      !values.hasInput(rank, cell.part - first.part))
    return std::nullopt;
  return cell.part - first.part;
}

namespace {
class Tracer {
public:
  Tracer(const Algorithm &algo, bool inPlace, const ProgramSet &programs,
         FlowGraph &values)
      : algo(algo), inPlace(inPlace), ranks(programs.members[0].inPlace),
        values(values) {}
  Flow run();

private:
  struct At {
    Rank rank;
    uint32_t block, step = 0;
  };
  using Fifo = std::deque<ValueId>;
  Fifo &fifoOf(Rank from, Rank to, uint32_t tag) {
    return fifos[{from, to, tag}];
  }
  Fifo &fifoOf(Rank rank, const Port &port);
  bool advance(At &at);
  bool isReady(const At &at, const coll::Step &step);
  bool execute(const At &at, const coll::Step &step);
  ValueId load(Rank rank, const Port &port);
  Flow::Cell &cellOf(Rank rank, const Port &port);
  bool refuse(const At &at, const coll::Step &step, std::string why);

  const Algorithm &algo;
  bool inPlace;
  const std::vector<RankProgram> &ranks;
  FlowGraph &values;
  Flow flow;
  std::vector<At> blocks;
  std::vector<uint32_t> firstBlock; // by rank
  std::map<std::tuple<Rank, Rank, uint32_t>, Fifo> fifos;
};
} // namespace

Tracer::Fifo &Tracer::fifoOf(Rank rank, const Port &port) {
  const RankProgram &program = ranks[rank];
  if (port.kind == Port::Send) {
    const ChannelEnd &end = program.sendEnds[port.end];
    return fifoOf(rank, end.peer, end.tag);
  }
  const ChannelEnd &end = program.recvEnds[port.end];
  return fifoOf(end.peer, rank, end.tag);
}

bool Tracer::refuse(const At &at, const coll::Step &step, std::string why) {
  flow.refusal = std::move(why);
  flow.refusedRank = at.rank;
  flow.refusedSite = step.site;
  return false;
}

Flow::Cell &Tracer::cellOf(Rank rank, const Port &port) {
  CellKey key{port.loc.buffer, port.loc.part};
  auto [it, isNew] = flow.cells[rank].try_emplace(key.packed());
  if (isNew)
    if (auto offset = initialOffset(algo, inPlace, values, rank, key))
      it->second.value = values.input(rank, *offset);
  return it->second;
}

ValueId Tracer::load(Rank rank, const Port &port) {
  Flow::Cell &cell = cellOf(rank, port);
  cell.isReadFirst |= !cell.isWritten;
  return cell.value;
}

bool Tracer::isReady(const At &at, const coll::Step &step) {
  const RankProgram &program = ranks[at.rank];
  for (uint32_t w = step.firstWait; w < step.firstWait + step.numWaits; ++w)
    if (blocks[firstBlock[at.rank] + program.waits[w].block].step <=
        program.waits[w].step)
      return false;
  for (uint32_t p = step.firstPort; p < step.firstPort + step.numSources; ++p)
    if (program.ports[p].kind == Port::Recv &&
        fifoOf(at.rank, program.ports[p]).empty())
      return false;
  return true;
}

bool Tracer::execute(const At &at, const coll::Step &step) {
  const RankProgram &program = ranks[at.rank];
  std::vector<ValueId> &through = flow.through[at.rank];
  ValueId operands[2];
  for (uint32_t i = 0; i < step.numSources; ++i) {
    const Port &port = program.ports[step.firstPort + i];
    if (port.kind == Port::Recv) {
      Fifo &fifo = fifoOf(at.rank, port);
      operands[i] = fifo.front();
      fifo.pop_front();
    } else {
      operands[i] = load(at.rank, port);
      flow.isRaw[at.rank][step.firstPort + i] =
          !cellOf(at.rank, port).isWritten;
    }
    if (operands[i] == kNone)
      return refuse(at, step, "reads what nobody has written");
    through[step.firstPort + i] = operands[i];
  }
  ValueId result = operands[0];
  if (step.numSources == 2) {
    if (!values.graph.reduces)
      return refuse(at, step, "adds, which '" + algo.coll + "' does not");
    if (values.chunkOf(operands[0]) != values.chunkOf(operands[1]))
      return refuse(at, step,
                    "adds chunks of different places, which may "
                    "differ in size");
    result = values.sum(at.rank, operands[0], operands[1], step.site);
  }
  for (uint32_t i = step.numSources;
       i < uint32_t(step.numSources) + step.numSinks; ++i) {
    const Port &port = program.ports[step.firstPort + i];
    through[step.firstPort + i] = result;
    if (port.kind == Port::Send) {
      fifoOf(at.rank, port).push_back(result);
      continue;
    }
    Flow::Cell &cell = cellOf(at.rank, port);
    cell.value = result;
    cell.isWritten = true;
    cell.writer = step.site;
  }
  return true;
}

/// Whether it got anywhere.
bool Tracer::advance(At &at) {
  const auto &steps = ranks[at.rank].blocks[at.block].steps;
  uint32_t first = at.step;
  while (at.step < steps.size() && isReady(at, steps[at.step]) &&
         execute(at, steps[at.step]))
    ++at.step;
  return at.step != first;
}

Flow Tracer::run() {
  flow.cells.resize(ranks.size());
  for (Rank rank = 0; rank < ranks.size(); ++rank) {
    flow.through.emplace_back(ranks[rank].ports.size(), kNone);
    flow.isRaw.emplace_back(ranks[rank].ports.size(), false);
    firstBlock.push_back(blocks.size());
    for (uint32_t b = 0; b < ranks[rank].blocks.size(); ++b)
      blocks.push_back({rank, b});
  }
  for (bool isMoving = true; isMoving && flow.refusal.empty();) {
    isMoving = false;
    for (At &at : blocks)
      if (flow.refusal.empty())
        isMoving |= advance(at);
  }
  return std::move(flow);
}

Flow msccl::traceFlow(const Algorithm &algo, bool inPlace,
                      const ProgramSet &programs, FlowGraph &values) {
  return Tracer(algo, inPlace, programs, values).run();
}
