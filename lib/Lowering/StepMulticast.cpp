//===- StepMulticast.cpp - One address for all ranks' memory --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A side of a step whose ports are one place of every rank may be one multimem
// instruction (StepShape.h). Whether it is, thread 0 finds out for each slice
// when it has acquired all ports: every rank's place has a multicast address
// here (coll_window.multicast), and all of them are the same. Else the slice is
// loaded and stored rank by rank, from the same places, or in slots; peers see
// no difference, so ranks need not agree.
//
// What must happen before and after is what direct messages wait for anyway.
// ld_reduce loads what gets would: behind every peer's avail, before the ack.
// st stores what puts would: behind every peer's rtr, before the dtails. As the
// same memory has another address here, an alias fence stands on both paths:
// behind the acquires and before the releases.
//
//===----------------------------------------------------------------------===//

#include "lib/Lowering/Multimem.h"
#include "lib/Lowering/StepEmitter.h"

namespace coll::lowering {
using namespace mlir;

bool StepEmitter::mayGather() const {
  return machine.hasMultimem() && shape.gathers && !variant.move &&
         addsByMultimem(variant.dtype, variant.op) && shape.type == ElemType::T;
}

/// "Not known" in a cell until the first port; 0 if there is nothing to look
/// for.
constexpr uint64_t notKnown = ~uint64_t(0);

void StepEmitter::beginMulticast(PortSet &ports) {
  if (!mayGather() && !maySpread())
    return;
  Value any =
      b.ne(b.field(b.i64(), inst, offsetof(coll_inst, multicast)), b.cst(0));
  Value first = b.select(any, b.cst(notKnown), b.cst(0));
  if (mayGather())
    b.setField(first, ports.cell(PortSet::Gathered), 0);
  if (maySpread())
    b.setField(first, ports.cell(PortSet::Spread), 0);
}

/// Behind the acquire of a port: keeps the side's address if this is it.
void StepEmitter::noteMulticast(PortSet &ports, Value port, bool sink) {
  if (sink ? !maySpread() : !mayGather())
    return;
  Value cell = ports.cell(sink ? PortSet::Spread : PortSet::Gathered);
  Value known = b.field(b.i64(), cell, 0);
  Block *look = b.newBlock(), *peers = b.newBlock(), *own = b.newBlock(),
        *join = b.newBlock({b.i64()}), *done = b.newBlock();
  b.branchIf(b.ne(known, b.cst(0)), look, done);
  b.startBlock(look);
  Value part = b.mul(b.mul(word(port, kPortB), elemsOfPart),
                     b.field32(args, offsetof(coll_args, elem_bytes)));
  Value offset = b.add(part, b.add(begin, position));
  b.branchIf(isChannel(port), peers, own);
  b.startBlock(peers);
  func::FuncOp find = sink ? primitives.putMulticast : primitives.getMulticast;
  Value theirs =
      func::CallOp::create(b, find, ValueRange{inst, endOf(port, sink), offset})
          .getResult(0);
  b.branch(join, theirs);
  b.startBlock(own);
  Value buffer = b.at(b.at(args, offsetof(coll_args, bufs)),
                      b.mul(word(port, kPortA), b.cst(sizeof(coll_buf))));
  Value win = b.field(b.i64(), buffer, offsetof(coll_buf, win));
  Value rank = b.field32(inst, offsetof(coll_inst, rank));
  Value mine = func::CallOp::create(b, primitives.multicastOf,
                                    ValueRange{inst, win, rank, offset})
                   .getResult(0);
  b.branch(join, mine);
  b.startBlock(join);
  Value address = join->getArgument(0);
  Value isSame = b.eq(known, address), isFirst = b.eq(known, b.cst(notKnown));
  b.setField(b.select(b.or_(isSame, isFirst), address, b.cst(0)), cell, 0);
  b.branch(done);
  b.startBlock(done);
}

/// i1; none where the step never is.
Value StepEmitter::multicastHolds(PortSet &ports) {
  Value holds;
  auto both = [&](PortSet::Cell cell) {
    Value is = b.ne(b.field(b.i64(), ports.cell(cell), 0), b.cst(0));
    holds = holds ? b.and_(holds, is) : is;
  };
  if (mayGather())
    both(PortSet::Gathered);
  if (maySpread())
    both(PortSet::Spread);
  return holds;
}

void StepEmitter::fenceMulticast(Value condition) {
  if (!condition)
    return;
  Block *fence = b.newBlock(), *after = b.newBlock();
  b.branchIf(condition, fence, after);
  b.startBlock(fence);
  Ptx::aliasFence(b);
  b.branch(after);
  b.startBlock(after);
}

} // namespace coll::lowering
