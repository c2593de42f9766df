//===- LineTileLoop.cpp - Threads share a slice's lines -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Eight lanes handle a pair of lines: 240 bytes of payload, which are 15 units
// of 16 bytes, so that all memory is accessed by whole units. In units of the
// pair, which lie one behind the other in memory:
//
//   lane          0    1   ...  6    7
//   first line    0    1   ...  6    7 (low half), flag
//   second line   8    9   ... 14    7 (high half), flag
//
// So lane l loads units l and 8 + l, and only the last one, which has one unit,
// splits it; nothing is shuffled. A message of at most 120 bytes in its last
// pair has no second line there.
//
// Warp w of W handles the pairs 4 w .. 4 w + 3, and 4 W on: all conditions but
// those of the last pairs are a warp's. Memory and lines of all sources are
// asked for before one is looked at; lines whose flag is not the message's are
// asked for again, by all lanes together, since a line is one only where they
// are; after a few times their last lanes wait out of line (FlagWait.cpp), and
// then all ask again. What orders lanes that memory has sent different ways is
// a barrier of the warp.
//
//   aligned:  two pairs at a time for each eight lanes, as far as whole ones go
//   then:     single pairs; units that do not lie on 16 bytes, or are not
//             whole, out of line by elements
//
// A warp that has waited in vain stores nothing more.
//
//===----------------------------------------------------------------------===//

#include "lib/Lowering/LineTile.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace coll::lowering {
using namespace mlir;
using llvm::SmallVector;

//===----------------------------------------------------------------------===//
// Where
//===----------------------------------------------------------------------===//

LineTileEmitter::Spot LineTileEmitter::spotAt(Value first, unsigned tile) {
  Value pair = b.add(b.add(first, ownPair),
                     b.cst(uint64_t(tile) * threads / kLanesOfLine));
  Spot spot;
  spot.line = b.add(b.mul(pair, b.cst(2 * kLineBytes)), laneBytes);
  Value begin = b.mul(pair, b.cst(kPairBytes));
  spot.memory[0] = b.add(begin, laneBytes);
  // The last lane has no second unit: it loads its first again, since to load
  // nothing would send it another way.
  Value next = b.select(isLast, b.cst(0), b.cst(kLanesOfLine * kUnitBytes));
  spot.memory[1] = b.add(spot.memory[0], next);
  if (!isWhole) {
    spot.there[0] = b.ult(begin, bytes);
    spot.there[1] = b.ult(b.add(begin, b.cst(kPayloadBytes)), bytes);
  }
  return spot;
}

/// Pairs of lines for each eight lanes at a time.
unsigned LineTileEmitter::tilesInFlight() const {
  return !shape.loopSources && shape.sources.size() <= 2 ? 2 : 1;
}

//===----------------------------------------------------------------------===//
// Sources and sinks
//===----------------------------------------------------------------------===//

LineTileEmitter::Source LineTileEmitter::sourceOf(unsigned number,
                                                  const Spot &spot) {
  Source source{&shape.sources[number],
                &spot,
                {},
                operands.sources[number],
                sourceTags[number]};
  begin(source);
  return source;
}

/// Of a side that is walked.
LineTileEmitter::Source LineTileEmitter::walkedSource(Value number,
                                                      const Spot &spot) {
  return {&shape.sources[0], &spot, number};
}

/// Over as many sources as the shape says, first to last. Several are asked for
/// at a time: fewer, the more registers their elements take when they are
/// added.
LineTileEmitter::Units LineTileEmitter::foldCounted(const Spot &spot) {
  constexpr unsigned together = 2;
  Units sum;
  for (unsigned first = 0; first < shape.numSources; first += together) {
    SmallVector<Source> sources;
    SmallVector<Source *> all;
    for (unsigned i = first; i < std::min(first + together, shape.numSources);
         ++i)
      sources.push_back(walkedSource(b.cst(i), spot));
    for (Source &source : sources)
      all.push_back(&source);
    settle(all);
    for (const Source &source : sources)
      for (unsigned half : {0, 1}) {
        Value next = value(source, half);
        Value &its = sum.of[half];
        its = its ? math.combine(its, next, accum, variant.op) : next;
      }
  }
  return sum;
}

/// The same over a number of sources that is not known.
LineTileEmitter::Units LineTileEmitter::foldRest(const Spot &spot) {
  auto valuesOf = [&](Value number) -> Units {
    Source source = walkedSource(number, spot);
    Source *all[] = {&source};
    settle(all);
    return {{value(source, 0), value(source, 1)}};
  };
  Units first = valuesOf(b.cst(0));
  Type type = first.of[0].getType();
  Block *head = b.newBlock({b.i64(), type, type}), *body = b.newBlock(),
        *after = b.newBlock();
  b.branch(head, ValueRange{b.cst(1), first.of[0], first.of[1]});
  b.startBlock(head);
  Value number = head->getArgument(0);
  b.branchIf(b.ult(number, operands.numSources), body, after);
  b.startBlock(body);
  Units next = valuesOf(number);
  SmallVector<Value> sums = {b.add(number, b.cst(1))};
  for (unsigned half : {0, 1})
    sums.push_back(math.combine(head->getArgument(1 + half), next.of[half],
                                accum, variant.op));
  b.branch(head, sums);
  b.startBlock(after);
  return {{head->getArgument(1), head->getArgument(2)}};
}

SmallVector<LineTileEmitter::Units>
LineTileEmitter::resultsOf(ArrayRef<Spot> spots) {
  if (shape.loopSources && shape.numSources)
    return {foldCounted(spots[0])};
  if (shape.loopSources)
    return {foldRest(spots[0])};
  SmallVector<SmallVector<Source>> sources(spots.size());
  SmallVector<Source *> all;
  for (auto [spot, its] : llvm::zip(spots, sources))
    for (unsigned i = 0; i < shape.sources.size(); ++i)
      its.push_back(sourceOf(i, spot));
  for (SmallVector<Source> &its : sources)
    for (Source &source : its)
      all.push_back(&source);
  settle(all);
  SmallVector<Units> results;
  for (SmallVector<Source> &its : sources) {
    Units units;
    for (unsigned half : {0, 1}) {
      SmallVector<Value> values;
      for (const Source &source : its)
        values.push_back(value(source, half));
      units.of[half] = variant.move ? values[0] : evaluate(values);
    }
    results.push_back(units);
  }
  return results;
}

/// Either the lines or the memory among the sinks.
void LineTileEmitter::storeTo(ArrayRef<Units> results, ArrayRef<Spot> spots,
                              const PortShape &port, Value pointer, Value tag,
                              bool asLines) {
  for (auto [result, spot] : llvm::zip(results, spots)) {
    Units units = result;
    for (Value &unit : units.of)
      if (!variant.move)
        unit = LLVM::BitcastOp::create(b, words(), narrow(unit, port));
    if (asLines)
      storeLines(units, pointer, tag, spot);
    else
      for (unsigned half : {0, 1})
        storeUnit(units.of[half], pointer, spot, half);
  }
}

/// Lines first, while lanes are together.
void LineTileEmitter::storeResults(ArrayRef<Units> results,
                                   ArrayRef<Spot> spots) {
  Ptx::warpBarrier(b);
  for (bool asLines : {true, false}) {
    auto storeOne = [&](const PortShape &port, Value pointer, Value tag) {
      if (port.place != PortShape::Either) {
        if (asLines == (port.place == PortShape::Channel))
          storeTo(results, spots, port, pointer, tag, asLines);
        return;
      }
      Value isDue = asLines ? b.ne(tag, b.cst(0)) : b.eq(tag, b.cst(0));
      auto ifOp = scf::IfOp::create(b, TypeRange{}, isDue, false);
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(ifOp.thenBlock());
      storeTo(results, spots, port, pointer, tag, asLines);
    };
    if (!shape.loopSinks) {
      for (auto [i, port] : llvm::enumerate(shape.sinks))
        storeOne(port, operands.sinks[i], sinkTags[i]);
      continue;
    }
    OpBuilder::InsertionGuard guard(b);
    auto forOp = scf::ForOp::create(b, b.cst(0), operands.numSinks, b.cst(1));
    b.setInsertionPointToStart(forOp.getBody());
    Value i = forOp.getInductionVar();
    storeOne(shape.sinks[0],
             loadPointer(b.at(operands.sinkArray, b.mul(i, b.cst(8)))),
             tagAt(operands.sinkTags, i));
  }
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

/// Pairs from..to, of this warp from `from` on; where it has come to. With
/// whole units only as far as all of the warp's pairs are.
Value LineTileEmitter::lineLoop(Value from, Value to, unsigned tiles) {
  uint64_t stride = threads / kLanesOfLine;
  uint64_t last = isWhole ? (tiles - 1) * stride + kPairsOfWarp - 1 : 0;
  Block *head = b.newBlock({b.i64()}), *body = b.newBlock(),
        *after = b.newBlock();
  b.branch(head, ValueRange{from});
  b.startBlock(head);
  Value at = head->getArgument(0);
  b.branchIf(b.ult(b.add(at, b.cst(last)), to), body, after);
  b.startBlock(body);
  SmallVector<Spot> spots;
  for (unsigned t = 0; t < tiles; ++t)
    spots.push_back(spotAt(at, t));
  SmallVector<Units> results = resultsOf(spots);
  for (Units &units : results)
    for (Value &unit : units.of)
      unit = finish(unit);
  storeResults(results, spots);
  b.branch(head, ValueRange{b.add(at, b.cst(tiles * stride))});
  b.startBlock(after);
  return at;
}

/// Whether this thread has given up.
Value LineTileEmitter::emit() {
  for (size_t i = 0; !shape.loopSources && i < shape.sources.size(); ++i)
    sourceTags.push_back(b.load(b.i64(), b.at(operands.sourceTags, i * 8), 8));
  for (size_t i = 0; !shape.loopSinks && i < shape.sinks.size(); ++i)
    sinkTags.push_back(b.load(b.i64(), b.at(operands.sinkTags, i * 8), 8));
  Value thread = Ptx::threadId(b);
  Value lane = b.and_(thread, b.cst(kLanesOfLine - 1));
  isLast = b.eq(lane, b.cst(kLanesOfLine - 1));
  laneBytes = b.mul(lane, b.cst(kUnitBytes));
  warpPair = b.mul(b.udiv(thread, b.cst(kWarpThreads)), b.cst(kPairsOfWarp));
  ownPair =
      b.and_(b.udiv(thread, b.cst(kLanesOfLine)), b.cst(kPairsOfWarp - 1));
  sig16 = b.and_(b.zext(operands.sig, b.i64()), b.cst(0xffff));
  bytes = b.mul(operands.elements, b.cst(elementBytes()));
  isAligned = b.hasNone(operands.pointerBits, kUnitBytes - 1);
  failedBlock = b.newBlock();
  Block *end = b.newBlock({b.i1()});
  Value pairs = b.udiv(b.add(bytes, b.cst(kPairBytes - 1)), b.cst(kPairBytes));
  Value whole = b.select(isAligned, b.udiv(bytes, b.cst(kPairBytes)), b.cst(0));
  isWhole = true;
  Value at = lineLoop(warpPair, whole, tilesInFlight());
  isWhole = false;
  lineLoop(at, pairs, 1);
  b.branch(end, ValueRange{b.cst(0, b.i1())});
  b.startBlock(failedBlock);
  b.branch(end, ValueRange{b.cst(1, b.i1())});
  b.startBlock(end);
  return end->getArgument(0);
}

Value emitLineLoops(Builder &b, const StepShape &shape, const Variant &variant,
                    const std::vector<Function> &functions,
                    const TileOperands &operands, unsigned threads) {
  return LineTileEmitter(b, shape, variant, functions, operands, threads)
      .emit();
}

} // namespace coll::lowering
