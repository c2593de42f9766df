//===- LineTile.h - Emits the loops of lines --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Private to LineTileLoop.cpp, the loops and what they compute, and
// LineAccess.cpp, how memory and lines are loaded and stored.
//
//===----------------------------------------------------------------------===//
#ifndef COLL_LIB_LOWERING_LINETILE_H
#define COLL_LIB_LOWERING_LINETILE_H

#include "lib/Lowering/Machine.h"
#include "lib/Lowering/TileEmitter.h"

namespace coll::lowering {

inline constexpr unsigned kUnitBytes = COLL_UNIT_BYTES,
                          kLineBytes = COLL_LINE_BYTES,
                          kPayloadBytes = COLL_LINE_PAYLOAD,
                          kPairBytes = 2 * kPayloadBytes, kLanesOfLine = 8,
                          kPairsOfWarp = 4, kWarpThreads = 32;

class LineTileEmitter : public TileEmitter {
public:
  LineTileEmitter(Builder &b, const StepShape &shape, const Variant &variant,
                  const std::vector<Function> &functions,
                  const TileOperands &operands, unsigned threads)
      : TileEmitter(b, shape, variant, functions, operands), threads(threads) {}
  Value emit();

private:
  /// A lane's two units, each of two words of eight bytes.
  struct Units {
    Value of[2];
  };
  /// Where a lane is in a slice: its pair of lines, and offsets in bytes.
  struct Spot {
    Value line, memory[2];
    Value there[2]; // i1: the slice has this line; none: it does
  };
  /// A source of one spot, and what was loaded of it: memory, or lines.
  struct Source {
    const PortShape *port;
    const Spot *spot;
    Value number = {}; // of a side that is walked
    Value pointer = {}, tag = {};
    Value isLine = {}; // i1, where it is not known; else none
    Units units = {};
    bool mayBeLine() const {
      return port->place == PortShape::Channel ||
             port->place == PortShape::Either;
    }
  };

  mlir::Type words() { return mlir::VectorType::get({2}, b.i64()); }
  Value wordOf(Value unit, unsigned i) {
    return mlir::LLVM::ExtractElementOp::create(b, unit, b.cst(i));
  }
  Value unitOf(Value low, Value high) {
    Value unit = mlir::LLVM::PoisonOp::create(b, words());
    unit = mlir::LLVM::InsertElementOp::create(b, unit, low, b.cst(0));
    return mlir::LLVM::InsertElementOp::create(b, unit, high, b.cst(1));
  }
  unsigned elementBytes() const {
    return variant.move ? 1 : bytesOf(variant.dtype);
  }
  unsigned elementsOfUnit() const { return kUnitBytes / elementBytes(); }
  Value loadPointer(Value address) override {
    return b.load(globalPointer(b), address, 8);
  }
  Value tagAt(Value side, Value index) {
    return b.load(b.i64(), b.at(side, b.mul(index, b.cst(8))), 8);
  }
  Value flagOf(Value tag) {
    return b.or_(b.and_(tag, b.cst(~uint64_t(0xffff))), sig16);
  }
  unsigned tilesInFlight() const;
  Spot spotAt(Value first, unsigned tile);
  Value restOf(const Spot &spot, unsigned half);
  Value isPlain(const Spot &spot, unsigned half);
  Value byParts(Value address, Value rest, mlir::Type result,
                llvm::function_ref<Value(unsigned log2)> code);
  Value loadUnit(Value pointer, const Spot &spot, unsigned half);
  void storeUnit(Value unit, Value pointer, const Spot &spot, unsigned half);
  Value whenThere(const Spot &spot, unsigned half, Value otherwise,
                  llvm::function_ref<Value()> code);
  void begin(Source &source);
  void find(Source &source);
  Value lineAddress(Value slot, const Spot &spot, unsigned half) {
    return b.at(b.at(slot, spot.line), uint64_t(half) * kLineBytes);
  }
  void askForMemory(llvm::MutableArrayRef<Source *> sources);
  Value askForLines(llvm::MutableArrayRef<Source *> sources);
  void settle(llvm::MutableArrayRef<Source *> sources);
  void waitApart(llvm::ArrayRef<Source *> sources, mlir::Block *again);
  Value isMissing(const Source &source, unsigned half);
  Value value(const Source &source, unsigned half);
  Source sourceOf(unsigned number, const Spot &spot);
  Source walkedSource(Value number, const Spot &spot);
  Units foldCounted(const Spot &spot);
  Units foldRest(const Spot &spot);
  llvm::SmallVector<Units> resultsOf(llvm::ArrayRef<Spot> spots);
  void storeLines(const Units &stored, Value slot, Value tag, const Spot &spot);
  void storeTo(llvm::ArrayRef<Units> results, llvm::ArrayRef<Spot> spots,
               const PortShape &port, Value pointer, Value tag, bool asLines);
  void storeResults(llvm::ArrayRef<Units> results, llvm::ArrayRef<Spot> spots);
  Value lineLoop(Value from, Value to, unsigned tiles);

  unsigned threads;
  llvm::SmallVector<Value> sourceTags, sinkTags; // of what is written out
  Value bytes, sig16, laneBytes, isLast, warpPair, ownPair, isAligned;
  bool isWhole = false; // all units of the loop being emitted are
  mlir::Block *failedBlock = nullptr;
};

} // namespace coll::lowering
#endif // COLL_LIB_LOWERING_LINETILE_H
