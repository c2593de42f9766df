//===- DeviceTileLoop.cpp - Threads share a slice's elements --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Thread t of T handles the vectors t, T + t, 2 T + t, ...: neighbours load
// neighbouring 16 bytes. Several vectors, T apart, are loaded before any is
// used, so that a thread has enough bytes in flight; how many is a matter of
// registers, which the number of threads bounds. No cut changes the order in
// which an element's operands are combined, so the bits are the host's.
//
//   aligned:  groups of T * tiles vectors; single vectors; elements
//   else:     elements, or words of four bytes where bytes are only moved
//
//===----------------------------------------------------------------------===//

#include "lib/Lowering/Machine.h"
#include "lib/Lowering/TileEmitter.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace coll::lowering {
using namespace mlir;

constexpr unsigned vectorBytes = 16;

namespace {
class DeviceTileEmitter : public TileEmitter {
public:
  DeviceTileEmitter(Builder &b, const StepShape &shape, const Variant &variant,
                    const std::vector<Function> &functions,
                    const TileOperands &operands, unsigned threads)
      : TileEmitter(b, shape, variant, functions, operands), threads(threads) {}
  void run() override;

private:
  Value loop(Value from, Value to, unsigned lanes, unsigned tiles) override;
  unsigned tileDistance(unsigned lanes) override {
    return std::max(lanes, 1u) * threads;
  }
  Value loadVector(Format format, Value address, unsigned lanes) override;
  Value loadPointer(Value address) override {
    return b.load(LLVM::LLVMPointerType::get(b.getContext(), 1), address, 8);
  }
  void storeVector(Value vector, Value address, const PortShape &,
                   unsigned bytes) override {
    b.store(vector, address, std::min(bytes, vectorBytes));
  }
  void vectors(unsigned lanes);
  unsigned tilesInFlight() const;
  Value hasNo(uint64_t bits) {
    return b.eq(b.and_(operands.pointerBits, b.cst(bits)), b.cst(0));
  }
  unsigned threads;
};
} // namespace

/// Loads of one thread before the first use: 8 if a vector is 16 bytes and has
/// at most two sources; fewer where an element is widened in registers.
unsigned DeviceTileEmitter::tilesInFlight() const {
  unsigned sources =
      shape.loopSources ? std::max(shape.numSources, 2u) : shape.sources.size();
  bool narrow = !variant.move && accum != variant.dtype;
  unsigned vectors = narrow ? 4 : 8;
  return std::max(1u, vectors / std::max(1u, sources));
}

Value DeviceTileEmitter::loadVector(Format format, Value address,
                                    unsigned lanes) {
  unsigned bytes = std::max(lanes, 1u) * bytesOf(format);
  Type type = math.storageType(format, lanes);
  if (variant.move && lanes >= 4) // words: bytes would be taken apart
    type = VectorType::get({lanes / 4}, b.i32());
  return b.load(type, address, std::min(bytes, vectorBytes));
}

/// As many whole groups as lie in [from, to); single vectors: all whole ones.
Value DeviceTileEmitter::loop(Value from, Value to, unsigned lanes,
                              unsigned tiles) {
  uint64_t vector = std::max(lanes, 1u), round = vector * threads * tiles;
  uint64_t granule = tiles > 1 ? round : vector;
  Value end = to;
  if (granule > 1) {
    Value length = b.sub(to, from);
    end = b.add(from, b.mul(b.udiv(length, b.cst(granule)), b.cst(granule)));
  }
  OpBuilder::InsertionGuard guard(b);
  Value first = b.add(from, b.mul(Ptx::threadId(b), b.cst(vector)));
  auto forOp = scf::ForOp::create(b, first, end, b.cst(round));
  b.setInsertionPointToStart(forOp.getBody());
  tile(forOp.getInductionVar(), lanes, tiles);
  return end;
}

void DeviceTileEmitter::vectors(unsigned lanes) {
  Value done = b.cst(0);
  if (tilesInFlight() > 1)
    done = loop(done, operands.elements, lanes, tilesInFlight());
  done = loop(done, operands.elements, lanes, 1);
  if (lanes > 1)
    loop(done, operands.elements, 0, 1);
}

void DeviceTileEmitter::run() {
  unsigned bytes = bytesOf(variant.move ? Format::U8 : variant.dtype);
  auto either = [&](uint64_t bits, unsigned lanes,
                    llvm::function_ref<void()> otherwise) {
    auto ifOp = scf::IfOp::create(b, TypeRange{}, hasNo(bits), true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(ifOp.thenBlock());
    vectors(lanes);
    b.setInsertionPointToStart(ifOp.elseBlock());
    otherwise();
  };
  auto elements = [&] { vectors(0); };
  auto words = [&] { either(3, 4, elements); };
  if (variant.move)
    either(vectorBytes - 1, vectorBytes, words);
  else
    either(vectorBytes - 1, vectorBytes / bytes, elements);
}

void emitDeviceTileLoops(Builder &b, const StepShape &shape,
                         const Variant &variant,
                         const std::vector<Function> &functions,
                         const TileOperands &operands, unsigned threads) {
  DeviceTileEmitter(b, shape, variant, functions, operands, threads).run();
}

} // namespace coll::lowering
