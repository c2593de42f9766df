//===- RowLoop.cpp - Steps whose functions take whole rows ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// For each row: a pass over it for each level of reductions, which leaves a
// scalar for each, then the usual loops, in which these scalars are known.
// Passes load the sources anew: a row lies in the first or second cache.
//
// lib/Support/RowOrder.h says in which order a row is summed: 2048 partial
// results, element i to number i mod 2048, then adjacent pairs. A pass takes
// 8 vectors of partial results at a time and keeps them in registers, while it
// walks the row with a stride of 2048:
//
//   for m in 0 .. min(2048, W) step B = 8 * lanes:
//     acc[8] = start
//     for i in m .. while i + B <= W step 2048: acc += f(row[i .. i + B])
//     what is left of the last block, element by element, in memory
//     q[m / 8 ..] = the three levels of pairs of acc, one vector
//   the result = all levels of pairs of q[256]
//
//===----------------------------------------------------------------------===//

#include "lib/Lowering/RowValues.h"
#include "lib/Support/RowOrder.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace coll::lowering {
using namespace mlir;
using llvm::SmallVector;

constexpr unsigned kVectors = 8; // of partial results in registers

namespace {
class RowEmitter : public TileEmitter {
public:
  RowEmitter(Builder &b, const StepShape &shape, const Variant &variant,
             const std::vector<Function> &functions,
             const TileOperands &operands, const RowReductions &plan)
      : TileEmitter(b, shape, variant, functions, operands),
        values(b, plan, operands.elements), plan(plan),
        accumBytes(bytesOf(accum)),
        lanes(vectorBytesOf(variant.isa) / accumBytes) {
    rows = &values;
  }
  void run() override;

private:
  void pass(unsigned number);
  SmallVector<Value> block(Value first, ArrayRef<unsigned> reductions);
  SmallVector<Value> rest(Value from, ValueRange partials,
                          ArrayRef<unsigned> reductions);
  void addTo(Value partials, Value from, Value offset, unsigned lanes,
             unsigned reduction);
  SmallVector<Value> combined(Value index, unsigned lanes, unsigned tiles,
                              ValueRange partials,
                              ArrayRef<unsigned> reductions);
  Value pairs(unsigned reduction, Value x, Value y);
  Value pairsOf(unsigned reduction, SmallVector<Value> vectors);
  Value array(unsigned elements);
  Type vector() { return math.storageType(accum, lanes); }
  unsigned blockElements() const { return kVectors * lanes; }

  RowValues values;
  const RowReductions &plan;
  unsigned accumBytes, lanes;
};
} // namespace

/// In the function's frame, whatever loop this is in.
Value RowEmitter::array(unsigned elements) {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(&b.region->front());
  Value memory = b.array(b.i64(), b.cst(elements * accumBytes / 8));
  return memory;
}

/// The sums of adjacent elements of x and y, one after the other.
Value RowEmitter::pairs(unsigned reduction, Value x, Value y) {
  unsigned count = cast<VectorType>(x.getType()).getNumElements();
  SmallVector<int64_t> even, odd;
  for (unsigned i = 0; i < count; ++i) {
    even.push_back(2 * i);
    odd.push_back(2 * i + 1);
  }
  return values.combine(reduction, vector::ShuffleOp::create(b, x, y, even),
                        vector::ShuffleOp::create(b, x, y, odd));
}

/// Pairs until one vector is left of a power of two of them.
Value RowEmitter::pairsOf(unsigned reduction, SmallVector<Value> vectors) {
  for (; vectors.size() > 1; vectors.truncate(vectors.size() / 2))
    for (unsigned i = 0; i < vectors.size() / 2; ++i)
      vectors[i] = pairs(reduction, vectors[2 * i], vectors[2 * i + 1]);
  return vectors[0];
}

/// partials, 8 vectors for each reduction, with so many tiles from `index` on.
SmallVector<Value> RowEmitter::combined(Value index, unsigned lanes,
                                        unsigned tiles, ValueRange partials,
                                        ArrayRef<unsigned> reductions) {
  SmallVector<SmallVector<Value>> loaded;
  for (auto [i, port] : llvm::enumerate(shape.sources))
    loaded.push_back(
        loadSource(operands.sources[i], port, index, lanes, tiles));
  SmallVector<Value> result(partials);
  for (unsigned t = 0; t < tiles; ++t) {
    SmallVector<Value> sources;
    for (SmallVector<Value> &source : loaded)
      sources.push_back(source[t]);
    evaluate(sources);
    for (auto [n, reduction] : llvm::enumerate(reductions)) {
      Value &partial = result[n * tiles + t];
      partial = values.combine(reduction, partial, values.operandOf(reduction));
    }
  }
  return result;
}

/// partials[offset ..] with as many elements from `from` + `offset` on.
void RowEmitter::addTo(Value partials, Value from, Value offset, unsigned lanes,
                       unsigned reduction) {
  Value place = b.at(partials, b.mul(offset, b.cst(accumBytes)));
  Value before = b.load(math.storageType(accum, lanes), place, accumBytes);
  Value after =
      combined(b.add(from, offset), lanes, 1, before, {reduction}).front();
  b.store(after, place, accumBytes);
}

/// What the row's last, shorter block adds to the partial results, if it is
/// theirs.
SmallVector<Value> RowEmitter::rest(Value from, ValueRange partials,
                                    ArrayRef<unsigned> reductions) {
  SmallVector<Value> memory;
  for (unsigned i = 0; i < reductions.size(); ++i)
    memory.push_back(array(blockElements()));
  auto ifOp =
      scf::IfOp::create(b, TypeRange(partials), b.ult(from, operands.elements),
                        /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(ifOp.elseBlock());
  scf::YieldOp::create(b, partials);
  b.setInsertionPointToStart(ifOp.thenBlock());
  auto place = [&](size_t i) {
    return b.at(memory[i / kVectors], (i % kVectors) * lanes * accumBytes);
  };
  for (auto [i, partial] : llvm::enumerate(partials))
    b.store(partial, place(i), accumBytes);
  Value left = b.sub(operands.elements, from);
  Value whole = b.and_(left, b.cst(~uint64_t(lanes - 1)));
  auto loop = [&](Value begin, Value end, unsigned lanes) {
    auto forOp = scf::ForOp::create(b, begin, end, b.cst(std::max(lanes, 1u)));
    OpBuilder::InsertionGuard inner(b);
    b.setInsertionPointToStart(forOp.getBody());
    for (auto [n, reduction] : llvm::enumerate(reductions))
      addTo(memory[n], from, forOp.getInductionVar(), lanes, reduction);
  };
  loop(b.cst(0), whole, lanes);
  loop(whole, left, 0);
  SmallVector<Value> after;
  for (size_t i = 0; i < partials.size(); ++i)
    after.push_back(b.load(vector(), place(i), accumBytes));
  scf::YieldOp::create(b, after);
  return SmallVector<Value>(ifOp.getResults());
}

/// The partial results from number `first` on.
SmallVector<Value> RowEmitter::block(Value first,
                                     ArrayRef<unsigned> reductions) {
  SmallVector<Value> starts;
  for (unsigned reduction : reductions)
    starts.append(kVectors, values.start(reduction, vector()));
  // How many whole blocks lie in the row, 2048 elements apart.
  Value count = b.udiv(b.add(b.sub(operands.elements, first),
                             b.cst(rowPartials - blockElements())),
                       b.cst(rowPartials));
  Value end = b.add(first, b.mul(count, b.cst(rowPartials)));
  auto forOp = scf::ForOp::create(b, first, end, b.cst(rowPartials), starts);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(forOp.getBody());
    scf::YieldOp::create(b, combined(forOp.getInductionVar(), lanes, kVectors,
                                     forOp.getRegionIterArgs(), reductions));
  }
  return rest(end, forOp.getResults(), reductions);
}

void RowEmitter::pass(unsigned number) {
  constexpr unsigned kept = rowPartials / kVectors;
  SmallVector<unsigned> reductions = values.of(number);
  SmallVector<Value> memory;
  for (unsigned reduction : reductions) {
    Value start = values.start(reduction, vector());
    Value q = memory.emplace_back(array(kept));
    for (unsigned i = 0; i < kept; i += lanes)
      b.store(start, b.at(q, uint64_t(i) * accumBytes), accumBytes);
  }
  Value end = b.umin(operands.elements, b.cst(rowPartials));
  auto forOp = scf::ForOp::create(b, b.cst(0), end, b.cst(blockElements()));
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(forOp.getBody());
    Value first = forOp.getInductionVar();
    SmallVector<Value> partials = block(first, reductions);
    for (auto [n, reduction] : llvm::enumerate(reductions)) {
      auto own = ArrayRef(partials).slice(n * kVectors, kVectors);
      Value place = b.at(
          memory[n], b.mul(b.udiv(first, b.cst(kVectors)), b.cst(accumBytes)));
      b.store(pairsOf(reduction, SmallVector<Value>(own)), place, accumBytes);
    }
  }
  for (auto [n, reduction] : llvm::enumerate(reductions)) {
    SmallVector<Value> vectors;
    for (unsigned i = 0; i < kept; i += lanes)
      vectors.push_back(b.load(
          vector(), b.at(memory[n], uint64_t(i) * accumBytes), accumBytes));
    Value last = pairsOf(reduction, vectors);
    SmallVector<Value> elements;
    for (unsigned i = 0; i < lanes; ++i)
      elements.push_back(
          vector::ExtractOp::create(b, last, ArrayRef<int64_t>{int64_t(i)}));
    for (; elements.size() > 1; elements.truncate(elements.size() / 2))
      for (unsigned i = 0; i < elements.size() / 2; ++i)
        elements[i] =
            values.combine(reduction, elements[2 * i], elements[2 * i + 1]);
    values.set(reduction, elements[0]);
  }
}

void RowEmitter::run() {
  for (unsigned number = 0; number < plan.passes; ++number)
    pass(number);
  TileEmitter::run();
}

void emitRowLoops(Builder &b, const StepShape &shape, const Variant &variant,
                  const std::vector<Function> &functions,
                  const TileOperands &operands) {
  RowReductions plan = findRowReductions(shape.expr, functions);
  // Rows in a slot begin on lines if the slot does and they are whole lines of
  // the narrowest type.
  constexpr unsigned lineBytes = 64;
  TileOperands slice = operands;
  for (Value *condition : {&slice.streamSlots, &slice.streamMemory})
    if (*condition)
      *condition =
          b.and_(*condition, b.hasNone(operands.rowElements, lineBytes - 1));
  Value count = b.udiv(operands.elements, operands.rowElements);
  auto forOp = scf::ForOp::create(b, b.cst(0), count, b.cst(1));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(forOp.getBody());
  TileOperands row =
      operandsOfRow(b, shape, variant, slice, forOp.getInductionVar());
  RowEmitter(b, shape, variant, functions, row, plan).run();
}

} // namespace coll::lowering
