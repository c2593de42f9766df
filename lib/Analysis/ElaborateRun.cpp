//===- ElaborateRun.cpp - Integers, control and lists ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Analysis/ElaborateMachine.h"
#include "lib/Support/Integers.h"

using namespace coll;
using namespace coll::elab;

Machine::Machine(const Bytecode &code, const Parameters &params)
    : code(code), params(params), builder(params.limits, sink, code.reduces),
      state(params.limits, sink, builder), graph(builder.graph) {
  graph.schedule = code.schedule;
  graph.contract = code.contract;
  graph.sourcePath = code.sourcePath;
  graph.rankDims = params.rankDims;
  graph.sites = code.siteTable;
  graph.functions = code.functions;
  tmpArrays.assign(code.tmps.size(), kNone);
  targetOfSite.assign(code.siteTable.size(), kNone);
  if (checkRanks())
    orderBuffers();
}

bool Machine::checkRanks() {
  assert(params.rankDims.size() == code.rankDims.size());
  uint64_t ranks = 1;
  for (uint32_t dim : params.rankDims) {
    ranks *= dim;
    if (ranks > params.limits.ranks)
      return fail({.fault = Fault::TooManyRanks, .site = code.site});
  }
  return ranks != 0 || fail({.fault = Fault::BadRankCount, .site = code.site});
}

Frame Machine::makeFrame() {
  Frame frame;
  frame.ints = code.ints;
  for (auto [reg, dim] : llvm::zip_equal(code.rankDims, params.rankDims))
    frame.ints[reg] = dim;
  frame.views.resize(code.numViews);
  frame.values.resize(code.numValues);
  frame.lists.resize(code.numLists);
  return frame;
}

bool Machine::countSteps(uint64_t n, SiteId site) {
  steps += n;
  if (steps <= params.limits.steps)
    return true;
  return fail({.fault = Fault::TooManySteps, .site = site});
}

//===----------------------------------------------------------------------===//
// Integers
//===----------------------------------------------------------------------===//

bool elab::evalBinary(Opcode op, int64_t x, int64_t y, int64_t &z) {
  switch (op) {
  case Opcode::Move:
    return z = x, true;
  case Opcode::Add:
    return integers::add(x, y, z);
  case Opcode::Sub:
    return integers::sub(x, y, z);
  case Opcode::Mul:
    return integers::mul(x, y, z);
  case Opcode::Div:
    return integers::div(x, y, z);
  case Opcode::Mod:
    return integers::mod(x, y, z);
  case Opcode::Shl:
    return integers::shl(x, y, z);
  case Opcode::Shr:
    return integers::shr(x, y, z);
  case Opcode::And:
    return z = x & y, true;
  case Opcode::Or:
    return z = x | y, true;
  case Opcode::Xor:
    return z = x ^ y, true;
  case Opcode::Min:
    return z = std::min(x, y), true;
  case Opcode::Max:
    return z = std::max(x, y), true;
  case Opcode::Eq:
    return z = x == y, true;
  case Opcode::Ne:
    return z = x != y, true;
  case Opcode::Lt:
    return z = x < y, true;
  case Opcode::Le:
    return z = x <= y, true;
  case Opcode::Gt:
    return z = x > y, true;
  default:
    return z = x >= y, true;
  }
}

bool elab::evalUnary(Opcode op, int64_t x, int64_t &z) {
  switch (op) {
  case Opcode::Abs:
    return integers::abs(x, z);
  case Opcode::Log2:
    return integers::log2(x, z);
  case Opcode::CeilLog2:
    return integers::ceilLog2(x, z);
  case Opcode::Lsb:
    return integers::lsb(x, z);
  case Opcode::Popcount:
    return integers::popcount(x, z);
  default:
    return z = x > 0 && (x & (x - 1)) == 0, true;
  }
}

bool Machine::failInteger(const Frame &frame, const Instr &in) {
  Failure f{.fault = Fault::Overflow, .site = siteOf(frame)};
  f.x = frame.ints[in.a];
  if (in.op <= lastBinary)
    f.y = frame.ints[in.b];
  if (in.op == Opcode::Div || in.op == Opcode::Mod)
    f.fault = Fault::BadDivisor;
  if ((in.op == Opcode::Shl || in.op == Opcode::Shr) &&
      !integers::isShiftCount(f.y))
    f.fault = Fault::BadShift;
  if (in.op == Opcode::Log2 || in.op == Opcode::CeilLog2)
    f.fault = Fault::BadLogarithm;
  if (in.op == Opcode::Lsb || in.op == Opcode::Popcount)
    f.fault = Fault::BadLowBit;
  return fail(std::move(f));
}

//===----------------------------------------------------------------------===//
// Control
//===----------------------------------------------------------------------===//

Iterations Machine::iterationsAt(const Frame &frame, uint32_t pc) const {
  Iterations iterations;
  for (auto [i, loop] : llvm::enumerate(code.loops))
    if (pc >= loop.body && pc < loop.end)
      iterations.push_back({uint32_t(i), frame.ints[loop.var]});
  return iterations;
}

Machine::Run Machine::run(Frame &frame) {
  Run result = runUntilWait(frame);
  bool isNew =
      result == Run::Failed && sink.failure && sink.failure->iterations.empty();
  if (isNew)
    sink.failure->iterations = iterationsAt(frame, frame.pc);
  return result;
}

Machine::Run Machine::runUntilWait(Frame &frame) {
  const Instr *instrs = code.code.data();
  int64_t *ints = frame.ints.data();
  while (true) {
    const Instr &in = instrs[frame.pc];
    bool ok = true;
    if (in.op <= lastBinary) {
      ok = evalBinary(in.op, ints[in.a], in.op == Opcode::Move ? 0 : ints[in.b],
                      ints[in.dst]) ||
           failInteger(frame, in);
    } else if (in.op <= lastUnary) {
      ok = evalUnary(in.op, ints[in.a], ints[in.dst]) || failInteger(frame, in);
    } else {
      switch (in.op) {
      case Opcode::Jump:
        frame.pc = in.a;
        continue;
      case Opcode::JumpUnless:
        frame.pc = ints[in.b] ? frame.pc + 1 : in.a;
        continue;
      case Opcode::LoopEnter:
        if (!enterLoop(frame, in))
          return Run::Failed;
        continue;
      case Opcode::LoopNext:
        if (!nextLoop(frame, in))
          return Run::Failed;
        continue;
      case Opcode::Halt:
      case Opcode::ProcessEnd:
        return Run::Done;
      default:
        ok = (this->*handlers[size_t(in.op)])(frame, in);
        if (excludedBy != kNone || hasDomains)
          return Run::Done;
      }
    }
    if (!ok)
      return Run::Failed;
    ++frame.pc;
    if (frame.isWaiting)
      return Run::Blocked;
  }
}

bool Machine::enterLoop(Frame &frame, const Instr &in) {
  const LoopCode &loop = code.loops[in.a];
  int64_t low = frame.ints[loop.low];
  if (frame.ints[loop.step] <= 0)
    return fail({.fault = Fault::BadStep,
                 .site = loop.site,
                 .x = frame.ints[loop.step]});
  if (low >= frame.ints[loop.high]) {
    frame.pc = loop.end;
    return true;
  }
  if (in.a == groupedLoop && !state.isGroupOpen())
    state.openGroup();
  frame.ints[loop.var] = low;
  frame.pc = loop.body;
  return countSteps(1, loop.site);
}

bool Machine::nextLoop(Frame &frame, const Instr &in) {
  const LoopCode &loop = code.loops[in.a];
  int64_t &var = frame.ints[loop.var];
  uint64_t left = uint64_t(frame.ints[loop.high]) - uint64_t(var);
  if (uint64_t(frame.ints[loop.step]) < left) {
    var += frame.ints[loop.step];
    frame.pc = loop.body;
    return countSteps(1, loop.site);
  }
  if (in.a == groupedLoop)
    state.closeGroup();
  frame.pc = loop.end;
  return true;
}

//===----------------------------------------------------------------------===//
// Lists
//===----------------------------------------------------------------------===//

bool Machine::listBegin(Frame &frame, const Instr &) {
  frame.openLists.emplace_back();
  return true;
}

bool Machine::listMember(Frame &frame, const Instr &in) {
  List &list = frame.openLists.back();
  if (list.arity == 0)
    list.arity = in.count;
  assert(list.arity == in.count && "a list of ranks of one space");
  for (Reg reg : regs({in.b, in.count}))
    list.flat.push_back(frame.ints[reg]);
  if (list.size() > maxListMembers)
    return fail({.fault = Fault::ListTooLong, .site = siteOf(frame)});
  return countSteps(1, siteOf(frame));
}

bool Machine::listEnd(Frame &frame, const Instr &in) {
  frame.lists[in.dst] = std::move(frame.openLists.back());
  frame.openLists.pop_back();
  return true;
}

bool Machine::listSize(Frame &frame, const Instr &in) {
  frame.ints[in.dst] = frame.lists[in.a].size();
  return true;
}

bool Machine::listGet(Frame &frame, const Instr &in) {
  const List &list = frame.lists[in.a];
  int64_t at = frame.ints[in.b];
  if (at < 0 || uint64_t(at) >= list.size())
    return fail({.fault = Fault::ListIndex,
                 .site = siteOf(frame),
                 .x = at,
                 .y = int64_t(list.size())});
  for (auto [reg, coord] :
       llvm::zip_equal(regs({in.c, in.count}), list.member(at)))
    frame.ints[reg] = coord;
  return true;
}

bool Machine::moveList(Frame &frame, const Instr &in) {
  frame.lists[in.dst] = frame.lists[in.a];
  return true;
}

bool Machine::moveView(Frame &frame, const Instr &in) {
  frame.views[in.dst] = frame.views[in.a];
  return true;
}

bool Machine::moveValue(Frame &frame, const Instr &in) {
  frame.values[in.dst] = frame.values[in.a];
  return true;
}

//===----------------------------------------------------------------------===//
// Ranks
//===----------------------------------------------------------------------===//

bool Machine::flatten(llvm::ArrayRef<int64_t> coords, Rank &rank, SiteId site) {
  assert(coords.size() == graph.rankDims.size());
  uint64_t flat = 0;
  bool ok = true;
  for (auto [coord, dim] : llvm::zip_equal(coords, graph.rankDims)) {
    ok &= coord >= 0 && coord < dim;
    flat = flat * dim + uint64_t(coord);
  }
  rank = flat;
  if (ok)
    return true;
  std::string text;
  for (auto [i, coord] : llvm::enumerate(coords))
    text += (i ? ", " : "") + std::to_string(coord);
  return fail({.fault = Fault::NoSuchRank,
               .site = site,
               .text = coords.size() > 1 ? "(" + text + ")" : text});
}

bool Machine::rankAt(const Frame &frame, RegList at, Rank &rank, SiteId site) {
  llvm::SmallVector<int64_t, 4> coords;
  for (Reg reg : regs(at))
    coords.push_back(frame.ints[reg]);
  return flatten(coords, rank, site);
}

bool Machine::ranksOf(const List &list, llvm::SmallVectorImpl<Rank> &ranks,
                      SiteId site) {
  ranks.clear();
  for (size_t i = 0; i < list.size(); ++i)
    if (!flatten(list.member(i), ranks.emplace_back(), site))
      return false;
  return true;
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

std::array<Machine::Handler, 256> Machine::makeHandlers() {
  std::array<Handler, 256> table{};
  auto set = [&](Opcode op, Handler handler) { table[size_t(op)] = handler; };
  set(Opcode::MoveView, &Machine::moveView);
  set(Opcode::MoveValue, &Machine::moveValue);
  set(Opcode::MoveList, &Machine::moveList);
  set(Opcode::ListBegin, &Machine::listBegin);
  set(Opcode::Member, &Machine::listMember);
  set(Opcode::ListEnd, &Machine::listEnd);
  set(Opcode::ListSize, &Machine::listSize);
  set(Opcode::ListGet, &Machine::listGet);
  set(Opcode::Slice, &Machine::slice);
  set(Opcode::Reshape, &Machine::reshape);
  set(Opcode::Dim, &Machine::dim);
  set(Opcode::Read, &Machine::read);
  set(Opcode::AddValues, &Machine::addValues);
  set(Opcode::FoldBegin, &Machine::foldBegin);
  set(Opcode::FoldOperand, &Machine::foldOperand);
  set(Opcode::FoldEnd, &Machine::foldEnd);
  set(Opcode::Apply, &Machine::apply);
  set(Opcode::Param, &Machine::param);
  set(Opcode::Launch, &Machine::launch);
  set(Opcode::Where, &Machine::where);
  set(Opcode::Assert, &Machine::assertion);
  set(Opcode::Chunks, &Machine::chunks);
  set(Opcode::Buffer, &Machine::buffer);
  set(Opcode::Tmp, &Machine::tmp);
  set(Opcode::Init, &Machine::init);
  set(Opcode::Mapping, &Machine::mapping);
  set(Opcode::Directive, &Machine::directive);
  set(Opcode::Transfer, &Machine::transfer);
  set(Opcode::GroupBegin, &Machine::groupBegin);
  set(Opcode::GroupEnd, &Machine::groupEnd);
  set(Opcode::On, &Machine::on);
  set(Opcode::Send, &Machine::send);
  set(Opcode::Recv, &Machine::recv);
  set(Opcode::SizeOf, &Machine::sizeOf);
  set(Opcode::Inplace, &Machine::inplace);
  set(Opcode::LaunchCounts, &Machine::launchCounts);
  set(Opcode::Count, &Machine::count);
  set(Opcode::ConstSize, &Machine::constSize);
  set(Opcode::Same, &Machine::same);
  set(Opcode::Ensure, &Machine::ensure);
  return table;
}

const std::array<Machine::Handler, 256> Machine::handlers =
    Machine::makeHandlers();
