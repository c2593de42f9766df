//===- StepShape.cpp - What steps have in common --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Lowering/StepShape.h"
#include "lib/Lowering/Multimem.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"

#include <cassert>
#include <set>

namespace coll::lowering {
using namespace mlir;

bool StepShape::isMove(ReduceOp op) const {
  if (token) // nothing is computed of nothing
    return true;
  bool identity =
      !loopSources && expr.size() == 1 && expr[0].kind == ExprNode::Operand;
  if (!identity || (complete && op == ReduceOp::Avg))
    return false;
  if (op == ReduceOp::PremulSum &&
      (sources[0].scaled || sources[0].scaledRounded))
    return false;
  auto isT = [](const PortShape &p) {
    return p.type == ElemType::T && p.place != PortShape::Scalar &&
           p.place != PortShape::Row;
  };
  return type == ElemType::T && llvm::all_of(sources, isT) &&
         llvm::all_of(sinks, isT);
}

bool StepShape::needsFloat() const {
  auto explicitFloat = [](ElemType t) {
    return t != ElemType::T && t != ElemType::Accum;
  };
  for (const PortShape &p : sources)
    if (explicitFloat(p.type))
      return true;
  for (const PortShape &p : sinks)
    if (explicitFloat(p.type))
      return true;
  for (const ExprNode &n : expr)
    if ((n.kind == ExprNode::Round && explicitFloat(n.type)) ||
        n.kind == ExprNode::Apply)
      return true;
  return explicitFloat(type);
}

bool StepShape::hasChannel() const {
  auto isChannel = [](const PortShape &p) {
    return p.place == PortShape::Channel || p.place == PortShape::Either;
  };
  return llvm::any_of(sources, isChannel) || llvm::any_of(sinks, isChannel);
}

bool StepShape::hasDirect() const {
  auto isDirect = [](const PortShape &p) { return p.direct != Port::None; };
  return llvm::any_of(sources, isDirect) || llvm::any_of(sinks, isDirect);
}

bool StepShape::fitsLines() const {
  auto isPlain = [](const PortShape &p) {
    return p.place == PortShape::Scalar ||
           (p.place != PortShape::Row && p.type == ElemType::T);
  };
  return llvm::all_of(sources, isPlain) && llvm::all_of(sinks, isPlain);
}

bool StepShape::hasBlocks() const {
  auto isBlocked = [](const auto &of) { return of.type == ElemType::MXE4M3; };
  return type == ElemType::MXE4M3 || llvm::any_of(sources, isBlocked) ||
         llvm::any_of(sinks, isBlocked) ||
         llvm::any_of(expr, [&](const ExprNode &n) {
           return n.kind == ExprNode::Round && isBlocked(n);
         });
}

bool StepShape::hasRows(const std::vector<Function> &functions) const {
  return llvm::any_of(
             sources,
             [](const PortShape &p) { return p.place == PortShape::Row; }) ||
         llvm::any_of(expr, [&](const ExprNode &n) {
           return n.kind == ExprNode::Apply && functions[n.function].usesRows;
         });
}

static void printPorts(llvm::raw_ostream &os,
                       const std::vector<PortShape> &ports, bool loop) {
  for (const PortShape &p : ports)
    os << "MCESR"[p.place] << unsigned(p.type) << (p.scaled ? "s" : "")
       << (p.direct == Port::None  ? ""
           : p.direct == Port::Put ? "p"
                                   : "g")
       << (p.drops ? "d" : "") << (p.scaledRounded ? "r" : "")
       << (loop ? "*" : "") << ' ';
}

std::string StepShape::key() const {
  std::string text;
  llvm::raw_string_ostream os(text);
  printPorts(os, sources, loopSources);
  os << numSources << (gathers ? "G" : "") << (spreads ? "S" : "")
     << (spreadsSource ? "o" : "") << "| ";
  for (const ExprNode &n : expr)
    os << unsigned(n.kind) << ':' << unsigned(n.type) << ':' << n.function
       << ':' << n.arg << ' ';
  os << "-> " << unsigned(type) << (complete ? "c" : "") << (token ? "t" : "")
     << " | ";
  printPorts(os, sinks, loopSinks);
  return text;
}

static PortShape shapeOf(const Port &port, const std::vector<Buffer> &buffers) {
  PortShape shape;
  if (port.kind == Port::Recv || port.kind == Port::Send)
    shape.place = PortShape::Channel;
  else if (port.loc.space == Location::Buffer &&
           buffers[port.loc.buffer].kind == Buffer::Scalar)
    shape.place = PortShape::Scalar;
  else if (port.loc.space == Location::Buffer &&
           buffers[port.loc.buffer].kind == Buffer::RowArg)
    shape.place = PortShape::Row;
  shape.type = port.type;
  shape.direct = port.direct;
  shape.drops = port.kind == Port::Send && port.direct == Port::Get;
  shape.scaled = port.scaled || port.receivedScaled;
  shape.scaledRounded = port.scaledRounded;
  return shape;
}

/// Whether `ports` differ in nothing but their places, so that a loop can walk
/// them.
static bool uniform(const std::vector<PortShape> &ports) {
  for (PortShape p : ports) {
    if (p.place == PortShape::Scalar || p.place == PortShape::Row)
      return false;
    p.place = ports[0].place;
    p.direct = ports[0].direct;
    p.drops = ports[0].drops;
    if (p != ports[0])
      return false;
  }
  return true;
}

/// `Operand 0, ..., Operand n-1, Fold n` and nothing else.
static bool isPlainFold(const ValueExpr &expr, unsigned n) {
  if (expr.nodes.size() != n + 1 || (expr.nodes[n].kind != ExprNode::Fold &&
                                     expr.nodes[n].kind != ExprNode::FoldAny))
    return false;
  for (unsigned i = 0; i < n; ++i)
    if (expr.nodes[i].kind != ExprNode::Operand || expr.nodes[i].arg != i)
      return false;
  return true;
}

static void makeLoop(std::vector<PortShape> &ports) {
  for (const PortShape &p : ports) {
    ports[0].direct = std::max(ports[0].direct, p.direct);
    ports[0].drops |= p.drops;
  }
  ports.resize(1);
  ports[0].place = PortShape::Either;
}

/// Sources that differ in nothing but their places, where one rank loads what
/// another receives: in larger expressions than folds, as in reduce(in@all) +
/// residual. One shape, and so one loop, for all ranks; the table says which is
/// which.
static void mergePlaces(std::vector<PortShape> &ports) {
  auto isAlike = [](const PortShape &a, const PortShape &b) {
    return a.type == b.type && a.scaled == b.scaled &&
           a.scaledRounded == b.scaledRounded;
  };
  auto has = [&](const PortShape &like, PortShape::Place place) {
    return llvm::any_of(ports, [&](const PortShape &p) {
      return p.place == place && isAlike(p, like);
    });
  };
  std::vector<PortShape> merged = ports;
  for (PortShape &port : merged) {
    if (port.place == PortShape::Scalar || port.place == PortShape::Row ||
        !has(port, PortShape::Memory) || !has(port, PortShape::Channel))
      continue;
    for (const PortShape &other : ports)
      if (isAlike(other, port))
        port.direct = std::max(port.direct, other.direct);
    port.place = PortShape::Either;
  }
  ports = std::move(merged);
}

/// One place of every rank: this rank's own, and messages that may go direct to
/// or from all others.
static bool isOfAllRanks(llvm::ArrayRef<Port> ports,
                         const std::vector<ChannelEnd> &ends,
                         Port::Direct direct, uint32_t numRanks) {
  if (ports.size() != numRanks || numRanks < kMultimemRanks)
    return false;
  std::set<Rank> peers;
  for (const Port &port : ports) {
    if (port.type != ElemType::T || port.loc != ports[0].loc ||
        port.loc.space != Location::Buffer)
      return false;
    bool isOwn = port.kind == Port::Load || port.kind == Port::Store;
    if (!isOwn &&
        (port.direct != direct || !peers.insert(ends[port.end].peer).second))
      return false;
  }
  return peers.size() + 1 == numRanks;
}

/// This rank's place, where its bytes are already, is the only source, and the
/// sinks are messages to one place of all others. Stored there again, they hurt
/// nobody if no other step touches the place. That it is the same place, its
/// address tells (StepMulticast.cpp).
static bool isFromOwnPlace(llvm::ArrayRef<Port> ports, const Step &step,
                           const RankProgram &program, uint32_t numRanks) {
  llvm::ArrayRef<Port> sinks = ports.drop_front(step.numSources);
  const Port &source = ports[0];
  const bool isAsItIs = source.type == ElemType::T &&
                        step.type == ElemType::T && !step.complete &&
                        !source.scaled && !source.scaledRounded;
  if (step.numSources != 1 || source.kind != Port::Load || sinks.empty() ||
      !isAsItIs || source.loc.space != Location::Buffer ||
      numRanks < kMultimemRanks || sinks.size() + 1 != numRanks)
    return false;
  std::set<Rank> peers;
  for (const Port &port : sinks)
    if (port.kind != Port::Send || port.direct != Port::Put ||
        port.type != ElemType::T || port.loc != sinks[0].loc ||
        !peers.insert(program.sendEnds[port.end].peer).second)
      return false;
  return llvm::all_of(program.ports, [&](const Port &port) {
    const bool isOfStep = &port >= ports.begin() && &port < ports.end();
    return isOfStep || (port.loc != source.loc && port.loc != sinks[0].loc) ||
           (port.kind == Port::Send && port.direct == Port::Put);
  });
}

static void findMultimem(StepShape &shape, const Step &step, const Port *ports,
                         const ValueExpr &expr, const RankProgram &program,
                         uint32_t numRanks) {
  llvm::ArrayRef<Port> all(ports, size_t(step.numSources) + step.numSinks);
  shape.gathers = isPlainFold(expr, step.numSources) &&
                  expr.nodes.back().kind == ExprNode::FoldAny &&
                  isOfAllRanks(all.take_front(step.numSources),
                               program.recvEnds, Port::Get, numRanks);
  shape.spreads = isOfAllRanks(all.drop_front(step.numSources),
                               program.sendEnds, Port::Put, numRanks);
  if (!shape.spreads && expr.isIdentity())
    shape.spreads = shape.spreadsSource =
        isFromOwnPlace(all, step, program, numRanks);
}

StepShape shapeOf(const Step &step, const Port *ports, const ValueExpr &expr,
                  const std::vector<Buffer> &buffers, bool token,
                  const RankProgram *program, uint32_t numRanks) {
  StepShape shape;
  if (program && !token)
    findMultimem(shape, step, ports, expr, *program, numRanks);
  for (unsigned i = 0; i < step.numSources; ++i)
    shape.sources.push_back(shapeOf(ports[i], buffers));
  for (unsigned i = 0; i < step.numSinks; ++i)
    shape.sinks.push_back(shapeOf(ports[step.numSources + i], buffers));
  for (unsigned i = 0; i < step.numSinks; ++i)
    if (ports[0].direct == Port::Put && step.numSources == 1 &&
        ports[step.numSources + i].kind == Port::Store &&
        ports[step.numSources + i].loc == ports[0].loc)
      shape.sinks[i].drops = true;
  shape.token = token;
  shape.type = step.type;
  shape.complete = step.complete;
  shape.expr = expr.nodes;
  // Which source is a load and which a receive differs from rank to rank in
  // sums over all ranks; the loop leaves it to the table.
  if (shape.sources.size() > kMaxUnrolledSources && uniform(shape.sources) &&
      isPlainFold(expr, step.numSources)) {
    shape.loopSources = true;
    if (shape.sources.size() <= kMaxCountedSources)
      shape.numSources = shape.sources.size();
    makeLoop(shape.sources);
    shape.expr.clear();
  } else if (shape.sources.size() > kMaxUnrolledSources) {
    mergePlaces(shape.sources);
  }
  assert((step.shift == 0 || shape.loopSources || step.numSources == 2) &&
         "only folds of all sources start elsewhere");
  if (shape.sinks.size() > kMaxUnrolledSinks && uniform(shape.sinks)) {
    shape.loopSinks = true;
    makeLoop(shape.sinks);
  }
  return shape;
}

bool hasBlocks(const ShapeTable &shapes) {
  return llvm::any_of(shapes.all(),
                      [](const StepShape &s) { return s.hasBlocks(); });
}

bool anyStep(const ProgramSet &programs,
             llvm::function_ref<bool(Rank, const RankProgram &, const Step &,
                                     const StepShape &)>
                 is) {
  for (const ProgramMember &member : programs.members)
    for (auto [rank, program] : llvm::enumerate(member.outOfPlace))
      for (const BlockProgram &block : program.blocks)
        for (const Step &step : block.steps)
          if (is(Rank(rank), program, step,
                 shapeOf(step, program.ports.data() + step.firstPort,
                         programs.exprs[step.expr], member.buffers,
                         programs.sizes[step.size].isToken(), &program,
                         programs.numRanks())))
            return true;
  return false;
}

bool fitsLines(const ProgramSet &programs) {
  return programs.launchCounts.empty() && !programs.map.byRow &&
         !anyStep(programs, [](Rank, const RankProgram &, const Step &,
                               const StepShape &shape) {
           return shape.hasBlocks() ||
                  (shape.hasChannel() && !shape.fitsLines());
         });
}

uint32_t ShapeTable::idOf(const StepShape &shape) {
  auto [it, isNew] = ids.try_emplace(shape.key(), shapes.size());
  if (isNew)
    shapes.push_back(shape);
  return it->second;
}

} // namespace coll::lowering
