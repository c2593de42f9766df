//===- LineAccess.cpp - Lanes load and store memory and lines -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A unit of 16 bytes of memory: by one access where it is whole and lies on 16
// bytes, else out of line by elements. A line: by one volatile access of each
// of its eight lanes, all or none of them; what of it is missing is asked for
// again, by all lanes of the warp.
//
//===----------------------------------------------------------------------===//

#include "lib/Lowering/LineTile.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/MathExtras.h"

namespace coll::lowering {
using namespace mlir;
using llvm::SmallVector;

/// Before a lane waits out of line.
constexpr unsigned roundsTogether = 8;

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

/// What the slice has of a unit, at most all of it.
Value LineTileEmitter::restOf(const Spot &spot, unsigned half) {
  Value begin = b.umin(spot.memory[half], bytes);
  return b.umin(b.sub(bytes, begin), b.cst(kUnitBytes));
}

/// Whether a unit is accessed as a whole.
Value LineTileEmitter::isPlain(const Spot &spot, unsigned half) {
  Value end = b.add(spot.memory[half], b.cst(kUnitBytes));
  return b.and_(isAligned, b.uge(bytes, end));
}

/// Accesses as long as elements are; where bytes are moved, of four if all lies
/// right.
Value LineTileEmitter::byParts(Value address, Value rest, Type result,
                               llvm::function_ref<Value(unsigned log2)> code) {
  if (!variant.move)
    return code(llvm::Log2_32(elementBytes()));
  Value low = b.or_(LLVM::PtrToIntOp::create(b, b.i64(), address), rest);
  Value isWords = b.hasNone(low, 3);
  auto ifOp = result ? scf::IfOp::create(b, TypeRange{result}, isWords, true)
                     : scf::IfOp::create(b, TypeRange{}, isWords, true);
  OpBuilder::InsertionGuard guard(b);
  for (bool words : {true, false}) {
    b.setInsertionPointToStart(words ? ifOp.thenBlock() : ifOp.elseBlock());
    Value made = code(words ? 2 : 0);
    if (result)
      scf::YieldOp::create(b, ValueRange{made});
  }
  return result ? ifOp.getResult(0) : Value();
}

Value LineTileEmitter::loadUnit(Value pointer, const Spot &spot,
                                unsigned half) {
  Value address = b.at(pointer, spot.memory[half]);
  if (isWhole)
    return b.load(words(), address, kUnitBytes);
  auto ifOp =
      scf::IfOp::create(b, TypeRange{words()}, isPlain(spot, half), true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(ifOp.thenBlock());
  scf::YieldOp::create(b, ValueRange{b.load(words(), address, kUnitBytes)});
  b.setInsertionPointToStart(ifOp.elseBlock());
  Value rest = restOf(spot, half);
  Value unit = byParts(address, rest, words(), [&](unsigned log2) -> Value {
    auto call = func::CallOp::create(b, operands.primitives->loadPart[log2],
                                     ValueRange{address, rest});
    return unitOf(call.getResult(0), call.getResult(1));
  });
  scf::YieldOp::create(b, ValueRange{unit});
  return ifOp.getResult(0);
}

/// Of a second unit, if this lane has one.
void LineTileEmitter::storeUnit(Value unit, Value pointer, const Spot &spot,
                                unsigned half) {
  OpBuilder::InsertionGuard guard(b);
  if (half == 1) {
    auto ifOp = scf::IfOp::create(b, TypeRange{},
                                  b.xor_(isLast, b.cst(1, b.i1())), false);
    b.setInsertionPointToStart(ifOp.thenBlock());
  }
  Value address = b.at(pointer, spot.memory[half]);
  if (isWhole)
    return b.store(unit, address, kUnitBytes);
  auto ifOp = scf::IfOp::create(b, TypeRange{}, isPlain(spot, half), true);
  b.setInsertionPointToStart(ifOp.thenBlock());
  b.store(unit, address, kUnitBytes);
  b.setInsertionPointToStart(ifOp.elseBlock());
  Value rest = restOf(spot, half);
  byParts(address, rest, {}, [&](unsigned log2) -> Value {
    func::CallOp::create(
        b, operands.primitives->storePart[log2],
        ValueRange{address, rest, wordOf(unit, 0), wordOf(unit, 1)});
    return {};
  });
}

//===----------------------------------------------------------------------===//
// Lines
//===----------------------------------------------------------------------===//

/// Eight lanes at a time.
Value LineTileEmitter::whenThere(const Spot &spot, unsigned half,
                                 Value otherwise,
                                 llvm::function_ref<Value()> code) {
  if (!spot.there[half])
    return code();
  auto ifOp = otherwise
                  ? scf::IfOp::create(b, TypeRange{otherwise.getType()},
                                      spot.there[half], true)
                  : scf::IfOp::create(b, TypeRange{}, spot.there[half], false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(ifOp.thenBlock());
  Value result = code();
  if (!otherwise)
    return {};
  scf::YieldOp::create(b, ValueRange{result});
  b.setInsertionPointToStart(ifOp.elseBlock());
  scf::YieldOp::create(b, ValueRange{otherwise});
  return ifOp.getResult(0);
}

/// Where a source is. Of a side that is walked that is read again each time: in
/// registers there are too many of them beside what is loaded.
void LineTileEmitter::find(Source &source) {
  if (!source.number)
    return;
  Value offset = b.mul(source.number, b.cst(8));
  source.pointer = loadPointer(b.at(operands.sourceArray, offset));
  source.tag = tagAt(operands.sourceTags, source.number);
  source.isLine = b.ne(source.tag, b.cst(0));
}

/// What lies in memory. Where it is not known whether a source does, it is
/// loaded with the lines, each time: apart they would take twice the registers.
void LineTileEmitter::begin(Source &source) {
  if (source.port->place == PortShape::Either && !source.number)
    source.isLine = b.ne(source.tag, b.cst(0));
  if (source.port->place == PortShape::Memory)
    for (unsigned half : {0, 1})
      source.units.of[half] = loadUnit(source.pointer, *source.spot, half);
}

/// Of sources of which it is not known whether they are lines, memory.
void LineTileEmitter::askForMemory(MutableArrayRef<Source *> sources) {
  bool any = false;
  Value zero = LLVM::ZeroOp::create(b, words());
  for (Source *source : sources) {
    if (!source->isLine)
      continue;
    any = true;
    auto ifOp =
        scf::IfOp::create(b, TypeRange{words(), words()}, source->isLine, true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(ifOp.thenBlock());
    scf::YieldOp::create(b, ValueRange{zero, zero});
    b.setInsertionPointToStart(ifOp.elseBlock());
    Value first = loadUnit(source->pointer, *source->spot, 0),
          second = loadUnit(source->pointer, *source->spot, 1);
    scf::YieldOp::create(b, ValueRange{first, second});
    source->units = {{ifOp.getResult(0), ifOp.getResult(1)}};
  }
  if (any && !isWhole)
    Ptx::warpBarrier(b);
}

/// Whether this lane has the flag of a line, and it is not the message's.
Value LineTileEmitter::isMissing(const Source &source, unsigned half) {
  Value missing = b.and_(
      isLast, b.ne(wordOf(source.units.of[half], 1), flagOf(source.tag)));
  if (source.spot->there[half])
    missing = b.and_(missing, source.spot->there[half]);
  return source.isLine ? b.and_(missing, source.isLine) : missing;
}

/// Whether one of this lane is missing.
Value LineTileEmitter::askForLines(MutableArrayRef<Source *> sources) {
  for (Source *source : sources)
    find(*source);
  askForMemory(sources);
  Value zero = LLVM::ZeroOp::create(b, words());
  for (Source *source : sources)
    for (unsigned half : {0, 1}) {
      auto line = [&]() -> Value {
        return LLVM::LoadOp::create(
            b, words(), lineAddress(source->pointer, *source->spot, half),
            kUnitBytes, /*isVolatile=*/true);
      };
      Value &unit = source->units.of[half];
      if (!source->isLine) {
        unit = whenThere(*source->spot, half, zero, line);
        continue;
      }
      auto ifOp =
          scf::IfOp::create(b, TypeRange{words()}, source->isLine, true);
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(ifOp.thenBlock());
      scf::YieldOp::create(
          b, ValueRange{whenThere(*source->spot, half, zero, line)});
      b.setInsertionPointToStart(ifOp.elseBlock());
      scf::YieldOp::create(b, ValueRange{unit});
      unit = ifOp.getResult(0);
    }
  Value missing;
  for (Source *source : sources)
    for (unsigned half : {0, 1}) {
      Value its = isMissing(*source, half);
      missing = missing ? b.or_(missing, its) : its;
    }
  return missing;
}

/// Each lane whose line is missing waits for its flag; behind that all lanes
/// ask `again`, or give up.
void LineTileEmitter::waitApart(ArrayRef<Source *> sources, Block *again) {
  Value no = b.cst(0, b.i1()), missing = no, flag = b.cst(0), peer = b.cst(0);
  Value address = LLVM::ZeroOp::create(b, globalPointer(b));
  for (const Source *found : sources) {
    Source source = *found;
    find(source);
    for (unsigned half : {0, 1}) {
      Value its = isMissing(source, half);
      Value word =
          b.at(lineAddress(source.pointer, *source.spot, half), uint64_t(8));
      missing = b.or_(missing, its);
      address = b.select(its, word, address);
      flag = b.select(its, flagOf(source.tag), flag);
      peer = b.select(its, b.and_(source.tag, b.cst(0xffff)), peer);
    }
  }
  auto ifOp = scf::IfOp::create(b, TypeRange{b.i1()}, missing, true);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(ifOp.thenBlock());
    Value have =
        func::CallOp::create(b, operands.primitives->flagWait,
                             ValueRange{operands.inst, operands.block, address,
                                        flag, b.or_(operands.progress, peer)})
            .getResult(0);
    scf::YieldOp::create(b, ValueRange{b.ne(have, flag)});
    b.setInsertionPointToStart(ifOp.elseBlock());
    scf::YieldOp::create(b, ValueRange{no});
  }
  Value failed = Ptx::warpOr(b, ifOp.getResult(0));
  b.branchIf(failed, failedBlock, {}, again, ValueRange{b.cst(0, b.i32())});
}

/// All lines of these sources; memory has been asked for.
void LineTileEmitter::settle(MutableArrayRef<Source *> all) {
  SmallVector<Source *> sources;
  for (Source *source : all)
    if (source->mayBeLine())
      sources.push_back(source);
  if (sources.empty())
    return;
  Block *head = b.newBlock({b.i32()}), *missing = b.newBlock(),
        *slow = b.newBlock(), *done = b.newBlock();
  Ptx::warpBarrier(b);
  b.branch(head, ValueRange{b.cst(0, b.i32())});
  b.startBlock(head);
  Value rounds = head->getArgument(0);
  Value any = Ptx::warpOr(b, askForLines(sources));
  b.branchIf(any, missing, done);
  b.startBlock(missing);
  b.branchIf(b.ult(rounds, b.cst(roundsTogether, b.i32())), head,
             ValueRange{b.add(rounds, b.cst(1, b.i32()))}, slow, {});
  b.startBlock(slow);
  waitApart(sources, head);
  b.startBlock(done);
}

/// In the type that is computed in.
Value LineTileEmitter::value(const Source &source, unsigned half) {
  if (source.port->place == PortShape::Scalar)
    return math.scalarArgument(b.load(b.getF64Type(), source.pointer, 8), accum,
                               elementsOfUnit());
  Value unit = source.units.of[half];
  if (source.mayBeLine() && half == 0) { // the last lane's is in both lines
    Value isSplit = source.isLine ? b.and_(isLast, source.isLine) : isLast;
    unit =
        unitOf(wordOf(unit, 0), b.select(isSplit, wordOf(source.units.of[1], 0),
                                         wordOf(unit, 1)));
  }
  if (variant.move)
    return unit;
  unit = LLVM::BitcastOp::create(
      b, math.storageType(variant.dtype, elementsOfUnit()), unit);
  return widen(unit, *source.port);
}

/// The last lane's one unit is in both lines, before their flags.
void LineTileEmitter::storeLines(const Units &stored, Value slot, Value tag,
                                 const Spot &spot) {
  Value flag = flagOf(tag);
  Value x0 = wordOf(stored.of[0], 0), x1 = wordOf(stored.of[0], 1),
        y0 = wordOf(stored.of[1], 0), y1 = wordOf(stored.of[1], 1);
  Value lines[] = {
      unitOf(x0, b.select(isLast, flag, x1)),
      unitOf(b.select(isLast, x1, y0), b.select(isLast, flag, y1))};
  for (unsigned half : {0, 1})
    whenThere(spot, half, {}, [&]() -> Value {
      LLVM::StoreOp::create(b, lines[half], lineAddress(slot, spot, half),
                            kUnitBytes, /*isVolatile=*/true);
      return {};
    });
}

} // namespace coll::lowering
