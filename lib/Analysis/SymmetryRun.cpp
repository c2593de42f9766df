//===- SymmetryRun.cpp - One slice of a schedule: control -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Analysis/SymmetryRun.h"

#include "llvm/ADT/DenseSet.h"

using namespace coll;
using namespace coll::elab;

SymmetryRun::SymmetryRun(Machine &machine, SymmetryCells &cells,
                         const std::vector<LoopRole> &roles,
                         llvm::ArrayRef<bool> active, bool isLearning)
    : m(machine), cells(cells), roles(roles), strides(m.graph.rankDims.size()),
      active(active), isLearning(isLearning) {
  dims.assign(m.graph.rankDims.begin(), m.graph.rankDims.end());
  uint32_t stride = 1;
  for (size_t d = dims.size(); d-- > 0; stride *= dims[d])
    strides[d] = stride;
  uint8_t next = 0;
  for (bool isActive : active)
    activeIndex.push_back(isActive ? next++ : SymmetryCells::stays);
  assert(next <= maxActive);
}

SymmetryRun::Outcome SymmetryRun::run() {
  if (m.sink.failure)
    return Outcome::Failed;
  frame = m.makeFrame();
  turns.resize(frame.ints.size());
  views.resize(frame.views.size());
  values.resize(frame.values.size());
  lists.resize(frame.lists.size());
  for (uint32_t start : {0u, m.code.ensures}) {
    frame.pc = start;
    while (m.code.code[frame.pc].op != Opcode::Halt)
      if (!step()) {
        if (outcome == Outcome::Done)
          outcome = Outcome::Failed; // and the sink knows why
        return outcome;
      }
  }
  return Outcome::Done;
}

bool SymmetryRun::isInOrbit() const {
  return llvm::any_of(epoch, [](uint32_t e) { return e != 0; });
}

bool SymmetryRun::areFixed(RegList list) const {
  return llvm::all_of(m.regs(list),
                      [&](Reg reg) { return turns[reg].isFixed(); });
}

bool SymmetryRun::step() {
  const Instr &in = m.code.code[frame.pc];
  switch (in.op) {
  case Opcode::Jump:
    frame.pc = in.a;
    return true;
  case Opcode::JumpUnless:
    if (!turns[in.b].isFixed())
      return giveUp("a condition is not the same for all ranks",
                    turns[in.b].turns() ? turns[in.b].dim
                                        : SymmetryCells::stays);
    frame.pc = frame.ints[in.b] ? frame.pc + 1 : in.a;
    return true;
  case Opcode::LoopEnter:
    return enterLoop(in);
  case Opcode::LoopNext:
    return nextLoop();
  default:
    break;
  }
  bool ok = in.op <= lastUnary ? integer(in) : other(in);
  if (!ok)
    return false;
  if (m.excludedBy != kNone)
    return end(Outcome::Excluded);
  ++frame.pc;
  return true;
}

bool SymmetryRun::integer(const Instr &in) {
  bool isBinary = in.op <= lastBinary, isMove = in.op == Opcode::Move;
  Seen a = seen(in.a), b = isBinary && !isMove ? seen(in.b) : Seen{};
  bool areFixed = a.turn.isFixed() && b.turn.isFixed();
  int64_t &result = frame.ints[in.dst];
  bool ok = isBinary ? evalBinary(in.op, a.value, b.value, result)
                     : evalUnary(in.op, a.value, result);
  if (areFixed) {
    turns[in.dst] = {};
    return ok || m.failInteger(frame, in);
  }
  ok = ok && isBinary && turnOfBinary(in.op, a, b, dims, result, turns[in.dst]);
  return ok || giveUp("an expression is not the same for all ranks");
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

/// A value that one iteration hands to the next.
static bool hasCarried(const Bytecode &code, const LoopCode &loop) {
  llvm::DenseSet<std::pair<uint8_t, Reg>> inside;
  auto isMove = [](Opcode op) {
    return op == Opcode::Move || op == Opcode::MoveView ||
           op == Opcode::MoveValue || op == Opcode::MoveList;
  };
  for (uint32_t pc = loop.body; pc < loop.end; ++pc)
    if (isMove(code.code[pc].op))
      inside.insert({uint8_t(code.code[pc].op), code.code[pc].dst});
  for (uint32_t pc = 0; pc < loop.body && !inside.empty(); ++pc)
    if (isMove(code.code[pc].op) &&
        inside.contains({uint8_t(code.code[pc].op), code.code[pc].dst}))
      return true;
  return false;
}

bool SymmetryRun::enterLoop(const Instr &in) {
  const LoopCode &loop = m.code.loops[in.a];
  Seen low = seen(loop.low), high = seen(loop.high), by = seen(loop.step);
  if (!low.turn.isFixed() || !high.turn.isFixed() || !by.turn.isFixed())
    return giveUp("a loop is not the same for all ranks");
  if (by.value <= 0)
    return m.fail({.fault = Fault::BadStep, .site = loop.site, .x = by.value});
  if (low.value >= high.value) {
    frame.pc = loop.end;
    return true;
  }
  LoopRole role = roles[in.a];
  ActiveLoop entry{in.a, ActiveLoop::Plain, role.dim, 0};
  bool isAlongRanks = role.dim != SymmetryCells::stays && active[role.dim] &&
                      low.value == 0 && by.value == 1 &&
                      high.value == dims[role.dim];
  bool isSet = !openLists.empty() || !openFolds.empty();
  // A process walks along the ranks in an order of its own.
  isAlongRanks &= !region || isSet;
  turns[loop.var] = {};
  frame.ints[loop.var] = low.value;
  if (isAlongRanks) {
    if (hasCarried(m.code, loop))
      return giveUp("a loop hands a value from rank to rank", role.dim);
    unsigned d = activeIndex[role.dim];
    uint32_t n = dims[role.dim];
    entry.outerStamp = stamp[d];
    entry.mode = isSet || epoch[d] ? ActiveLoop::Free : ActiveLoop::Orbit;
    turns[loop.var] = {Turn::Index, role.dim, role.isDown ? n - 1 : 1, 0,
                       int64_t(n) - 1};
    if (entry.mode == ActiveLoop::Orbit)
      epoch[d] = ++lastEpoch;
    else
      stamp[d] = ++lastStamp;
    for (OpenFold &fold : openFolds)
      fold.isFree = true;
  }
  loops.push_back(entry);
  frame.pc = loop.body;
  return m.countSteps(1, loop.site);
}

bool SymmetryRun::nextLoop() {
  ActiveLoop &entry = loops.back();
  const LoopCode &loop = m.code.loops[entry.loop];
  int64_t &var = frame.ints[loop.var];
  uint64_t left = uint64_t(frame.ints[loop.high]) - uint64_t(var);
  bool goesOn =
      entry.mode != ActiveLoop::Orbit && uint64_t(frame.ints[loop.step]) < left;
  if (goesOn) {
    var += frame.ints[loop.step];
    if (entry.mode == ActiveLoop::Free)
      stamp[activeIndex[entry.dim]] = ++lastStamp;
    frame.pc = loop.body;
    return m.countSteps(1, loop.site);
  }
  if (entry.mode == ActiveLoop::Orbit)
    epoch[activeIndex[entry.dim]] = 0;
  if (entry.mode != ActiveLoop::Plain)
    stamp[activeIndex[entry.dim]] = entry.outerStamp;
  frame.pc = loop.end;
  loops.pop_back();
  return true;
}

//===----------------------------------------------------------------------===//
// The other instructions
//===----------------------------------------------------------------------===//

bool SymmetryRun::slice(const Instr &in) {
  if (in.count > frame.views[in.a].numDims)
    return handle(in);       // which says so
  ViewUse use = views[in.a]; // a copy: the result may be the same register
  llvm::ArrayRef<Reg> triples = m.regs({in.b, in.count * 3u});
  View view = frame.views[in.a];
  uint32_t axis = 0;
  for (uint32_t d = 0; use.isKnown && d < in.count; ++d, ++axis) {
    while (use.axes[axis].kind == AxisUse::At)
      ++axis;
    AxisUse &to = use.axes[axis];
    Seen offset = seen(triples[3 * d]);
    Reg sizeReg = triples[3 * d + 1], stepReg = triples[3 * d + 2];
    bool isPart = to.kind == AxisUse::Part;
    int64_t low = isPart ? to.low : 0, step = isPart ? to.step : 1;
    if (sizeReg == kNone) {
      bool isPlain = low == 0 && step == 1;
      // Within bounds for every rank, then.
      bool isInside =
          offset.turn.isFixed() || (offset.turn.kind == Turn::Index &&
                                    isPlain && offset.high() < view.dims[d]);
      if (!isInside)
        return giveUp("an index is not the same for all ranks",
                      offset.turn.turns() ? offset.turn.dim
                                          : SymmetryCells::stays);
      to = {AxisUse::At, low + offset.value * step, offset.turn};
      continue;
    }
    Seen size = seen(sizeReg),
         by = stepReg == kNone ? Seen{1, {}} : seen(stepReg);
    if (!offset.turn.isFixed() || !size.turn.isFixed() || !by.turn.isFixed())
      return giveUp("a range is not the same for all ranks");
    if (offset.value != 0 || size.value != view.dims[d] || by.value != 1)
      to = {AxisUse::Part,
            0,
            {},
            low + offset.value * step,
            std::max<int64_t>(size.value, 0),
            by.value * step};
  }
  views[in.dst] = std::move(use);
  return handle(in);
}

bool SymmetryRun::other(const Instr &in) {
  switch (in.op) {
  case Opcode::MoveView:
    views[in.dst] = views[in.a];
    return handle(in);
  case Opcode::MoveValue:
    values[in.dst] = values[in.a];
    return handle(in);
  case Opcode::MoveList:
    lists[in.dst] = lists[in.a];
    return handle(in);
  case Opcode::ListBegin:
  case Opcode::Member:
  case Opcode::ListEnd:
  case Opcode::ListSize:
  case Opcode::ListGet:
    return list(in);
  case Opcode::Slice:
    return slice(in);
  case Opcode::Reshape:
    if (!areFixed({in.b, in.count}))
      return giveUp("a shape is not the same for all ranks");
    if (!handle(in))
      return false;
    views[in.dst] = views[in.a];
    views[in.dst].isKnown &=
        frame.views[in.dst].shape() == frame.views[in.a].shape();
    return true;
  case Opcode::Dim:
    turns[in.dst] = {};
    return handle(in);
  case Opcode::Read:
  case Opcode::AddValues:
  case Opcode::FoldBegin:
  case Opcode::FoldOperand:
  case Opcode::FoldEnd:
  case Opcode::Apply:
    return value(in);
  case Opcode::Init:
    return init(in);
  case Opcode::Transfer:
    return transfer(in);
  case Opcode::GroupBegin:
    return groupBegin();
  case Opcode::GroupEnd:
    return groupEnd();
  case Opcode::On:
    return on(in);
  case Opcode::ProcessEnd:
    return endProcess();
  case Opcode::Send:
    return send(in);
  case Opcode::Recv:
    return receive(in);
  case Opcode::Ensure:
    return ensure(in);
  default:
    return declare(in);
  }
}
