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
// Where a slice's places of all ranks have one multicast address, a vector of
// all sources is one multimem.ld_reduce, and one for all sinks a multimem.st.
// What is less than a vector is loaded and stored rank by rank.
//
//===----------------------------------------------------------------------===//

#include "lib/Lowering/Machine.h"
#include "lib/Lowering/Multimem.h"
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
  SmallVector<Value> combine(Value index, unsigned lanes,
                             unsigned tiles) override;
  void storeAll(Value index, ArrayRef<Value> results, unsigned lanes) override;
  Value groups(unsigned lanes);
  void vectors(unsigned lanes);
  Value multicastAddress(Value base, Value index, unsigned lanes,
                         unsigned tile) {
    Value first =
        b.add(base, b.mul(index, b.cst(bytesOf(formatOf(ElemType::T)))));
    return b.add(first, b.cst(uint64_t(tile) * tileDistance(lanes) *
                              bytesOf(formatOf(ElemType::T))));
  }
  unsigned tilesInFlight() const;
  Value hasNo(uint64_t bits) { return b.hasNone(operands.pointerBits, bits); }
  unsigned threads;
  bool isMulticast = false; // in the loop being emitted
};
} // namespace

/// Loads of one thread before the first use: 8 if a vector is 16 bytes and has
/// at most two sources; fewer where an element is widened in registers.
unsigned DeviceTileEmitter::tilesInFlight() const {
  unsigned sources =
      shape.loopSources ? std::max(shape.numSources, 2u) : shape.sources.size();
  if (isMulticast && operands.gathered)
    sources = 2; // a load is bytes of all ranks
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

static Value assembly(Builder &b, Type result, ValueRange operands,
                      const char *text, const char *constraints) {
  auto op = LLVM::InlineAsmOp::create(
      b, result, operands, text, constraints, /*has_side_effects=*/true,
      /*is_align_stack=*/false, LLVM::tailcallkind::TailCallKind::None,
      LLVM::AsmDialectAttr(), ArrayAttr());
  return result ? op.getResult(0) : Value();
}

SmallVector<Value> DeviceTileEmitter::combine(Value index, unsigned lanes,
                                              unsigned tiles) {
  if (!isMulticast || !operands.gathered)
    return TileEmitter::combine(index, lanes, tiles);
  const char *text = variant.dtype == Format::F32   ? kMultimemAddF32
                     : variant.dtype == Format::F16 ? kMultimemAddF16
                                                    : kMultimemAddBf16;
  SmallVector<Type> words(4, b.i32());
  Type four = LLVM::LLVMStructType::getLiteral(b.getContext(), words);
  SmallVector<Value> results;
  for (unsigned t = 0; t < tiles; ++t) {
    Value loaded =
        assembly(b, four, multicastAddress(operands.gathered, index, lanes, t),
                 text, kMultimemLoadConstraints);
    Value vector = LLVM::PoisonOp::create(b, VectorType::get({4}, b.i32()));
    for (int64_t i = 0; i < 4; ++i)
      vector = LLVM::InsertElementOp::create(
          b, vector, LLVM::ExtractValueOp::create(b, loaded, i), b.cst(i));
    vector = LLVM::BitcastOp::create(b, math.storageType(variant.dtype, lanes),
                                     vector);
    results.push_back(vector);
  }
  for (Value &v : results)
    v = math.extend(v, variant.dtype, accum);
  return results;
}

void DeviceTileEmitter::storeAll(Value index, ArrayRef<Value> results,
                                 unsigned lanes) {
  if (!isMulticast || !operands.spread)
    return TileEmitter::storeAll(index, results, lanes);
  for (auto [t, value] : llvm::enumerate(results)) {
    Value v =
        variant.move ? value : math.round(value, accum, formatOf(shape.type));
    v = LLVM::BitcastOp::create(b, VectorType::get({4}, b.i32()), v);
    SmallVector<Value> all = {
        multicastAddress(operands.spread, index, lanes, t)};
    for (int64_t i = 0; i < 4; ++i)
      all.push_back(LLVM::ExtractElementOp::create(b, v, b.cst(i)));
    assembly(b, {}, all, kMultimemStore, kMultimemStoreConstraints);
  }
}

/// All whole vectors; where they end.
Value DeviceTileEmitter::groups(unsigned lanes) {
  Value done = b.cst(0);
  if (tilesInFlight() > 1)
    done = loop(done, operands.elements, lanes, tilesInFlight());
  return loop(done, operands.elements, lanes, 1);
}

void DeviceTileEmitter::vectors(unsigned lanes) {
  Value done;
  if (operands.isMulticast &&
      lanes * bytesOf(formatOf(ElemType::T)) == vectorBytes) {
    auto ifOp =
        scf::IfOp::create(b, TypeRange{b.i64()}, operands.isMulticast, true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(ifOp.thenBlock());
    Format usual = accum;
    bool isPlain = llvm::all_of(shape.sinks, [](const PortShape &port) {
      return port.type == ElemType::T;
    });
    if (operands.gathered && isPlain && variant.op == ReduceOp::Sum)
      accum = variant.dtype; // it is rounded when it is loaded
    isMulticast = true;
    scf::YieldOp::create(b, ValueRange{groups(lanes)});
    isMulticast = false;
    accum = usual;
    b.setInsertionPointToStart(ifOp.elseBlock());
    scf::YieldOp::create(b, ValueRange{groups(lanes)});
    done = ifOp.getResult(0);
  } else {
    done = groups(lanes);
  }
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
