//===- TileEmitter.h - Emits a step's inner loops ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is loaded, computed and stored for one group of vectors, and the loops
// of a host around it; a device has others (DeviceTileLoop.cpp).
//
//===----------------------------------------------------------------------===//
#ifndef COLL_LIB_LOWERING_TILEEMITTER_H
#define COLL_LIB_LOWERING_TILEEMITTER_H

#include "lib/Lowering/TileLoop.h"

namespace coll::lowering {

/// Which sinks are stored to past the caches: bits.
enum Streams : uint8_t {
  kStreamNone = 0,
  kStreamSlots = 1,
  kStreamMemory = 2,
  kStreamAll = kStreamSlots | kStreamMemory
};

class TileEmitter {
public:
  TileEmitter(Builder &b, const StepShape &shape, const Variant &variant,
              const std::vector<Function> &functions,
              const TileOperands &operands)
      : b(b), shape(shape), variant(variant), functions(functions),
        operands(operands), math(b, variant.isa, variant.hasFp8),
        accum(computedIn()) {}
  virtual ~TileEmitter() = default;
  virtual void run();

protected:
  Value largeLoop(unsigned lanes, unsigned tiles);
  Value streamLoop(Streams which, unsigned lanes, unsigned tiles);
  Value choose(Value condition, llvm::function_ref<Value()> one,
               llvm::function_ref<Value()> other);
  virtual Value loop(Value from, Value to, unsigned lanes, unsigned tiles);
  void tile(Value index, unsigned lanes, unsigned tiles);
  /// The results of so many groups of lanes, and where they go.
  virtual llvm::SmallVector<Value> combine(Value index, unsigned lanes,
                                           unsigned tiles);
  virtual void storeAll(Value index, llvm::ArrayRef<Value> results,
                        unsigned lanes);
  Value elementAddress(Value base, Value index, Format format) {
    return b.at(base, b.mul(index, b.cst(bytesOf(format))));
  }
  /// Of the next tile of a group: elements from one to the other.
  virtual unsigned tileDistance(unsigned lanes) { return std::max(lanes, 1u); }
  Value tileAddress(Value base, Format format, unsigned lanes, unsigned tile) {
    return b.at(base, uint64_t(tile) * tileDistance(lanes) * bytesOf(format));
  }
  virtual Value loadVector(Format format, Value address, unsigned lanes) {
    return b.load(math.storageType(format, lanes), address);
  }
  virtual Value loadPointer(Value address) {
    return b.load(b.ptr(), address, 8);
  }
  Format formatOf(ElemType type) const {
    return variant.move ? Format::U8 : resolve(type, variant.dtype);
  }
  llvm::SmallVector<Value> loadSource(Value pointer, const PortShape &port,
                                      Value index, unsigned lanes,
                                      unsigned tiles);
  llvm::SmallVector<Value> foldCounted(Value index, unsigned lanes,
                                       unsigned tiles);
  llvm::SmallVector<Value> foldArray(Value index, unsigned lanes,
                                     unsigned tiles);
  /// mxe4m3, of emitters whose tiles are blocks (BlockEmitter.h).
  virtual Value loadBlocks(Value, Value, unsigned) { return noBlocks(); }
  virtual void storeBlocks(Value, Value, Value) { noBlocks(); }
  virtual Value throughBlocks(Value) { return noBlocks(); }
  [[noreturn]] static Value noBlocks() {
    llvm::report_fatal_error("mxe4m3 where tiles are no blocks");
  }
  /// What `value` is after a stay in `type`, in the accumulation type.
  Value through(Value value, ElemType type);
  /// From what was loaded to the type that is computed in, and back.
  Value widen(Value value, const PortShape &port);
  Value narrow(Value value, const PortShape &port);
  Value evaluate(llvm::ArrayRef<Value> sources);
  Value apply(const ExprNode &node, llvm::SmallVector<Value> &stack);
  Value finish(Value value);
  void storeTo(Value pointer, const PortShape &port, Value index,
               llvm::ArrayRef<Value> results, unsigned lanes);
  virtual void storeVector(Value vector, Value address, const PortShape &port,
                           unsigned bytes);
  Format computedIn() const;
  bool isScaled(const PortShape &port) const {
    return variant.op == ReduceOp::PremulSum &&
           (port.scaled || port.scaledRounded);
  }

  Builder &b;
  const StepShape &shape;
  const Variant &variant;
  const std::vector<Function> &functions;
  const TileOperands &operands;
  Arithmetic math;
  Format accum;
  Streams streams = kStreamNone; // of the loop being emitted
  RowValues *rows = nullptr;     // where functions reduce over rows
};

} // namespace coll::lowering
#endif // COLL_LIB_LOWERING_TILEEMITTER_H
