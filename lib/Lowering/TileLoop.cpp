//===- TileLoop.cpp - The inner loop of a step ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Lowering/RowValues.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace coll::lowering {
using namespace mlir;
using llvm::SmallVector;

void TileEmitter::run() {
  unsigned bytes = bytesOf(variant.move ? Format::U8 : variant.dtype);
  unsigned lanes = vectorBytesOf(variant.isa) / bytes;
  bool narrow = !variant.move && accum != variant.dtype;
  unsigned tiles =
      shape.loopSources || shape.sources.size() > 2 || narrow ? 2 : 4;
  // The shortest messages are all remainder, which is reached at once.
  Value isShort = b.ult(operands.elements, b.cst(16 / bytes));
  Value done = choose(
      isShort, [&] { return b.cst(0); },
      [&] {
        Value whole = largeLoop(lanes, tiles);
        whole = loop(whole, operands.elements, lanes, 1);
        if (lanes > 16 / bytes)
          whole = loop(whole, operands.elements, 16 / bytes, 1);
        return whole;
      });
  // Bytes are mostly of wider elements.
  for (unsigned piece : {8, 4})
    if (bytes == 1)
      done = loop(done, operands.elements, piece, 1);
  if (bytes < 16)
    loop(done, operands.elements, 0, 1);
}

/// The loop of several vectors, in as many forms as there are ways to store.
Value TileEmitter::largeLoop(unsigned lanes, unsigned tiles) {
  auto form = [&](Streams which) { return streamLoop(which, lanes, tiles); };
  auto bySlots = [&](Streams others) {
    return choose(
        operands.streamSlots,
        [&] { return form(Streams(others | kStreamSlots)); },
        [&] { return form(others); });
  };
  return choose(
      operands.streamMemory, [&] { return bySlots(kStreamMemory); },
      [&] { return bySlots(kStreamNone); });
}

/// One of two where a condition holds, the other where it does not or there is
/// none.
Value TileEmitter::choose(Value condition, llvm::function_ref<Value()> one,
                          llvm::function_ref<Value()> other) {
  if (!condition)
    return other();
  auto ifOp = scf::IfOp::create(b, TypeRange{b.i64()}, condition, true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(ifOp.thenBlock());
  scf::YieldOp::create(b, ValueRange{one()});
  b.setInsertionPointToStart(ifOp.elseBlock());
  scf::YieldOp::create(b, ValueRange{other()});
  return ifOp.getResult(0);
}

/// The loop with such stores. The fence comes before anything else is stored: a
/// release store does not wait for stores past the caches.
Value TileEmitter::streamLoop(Streams which, unsigned lanes, unsigned tiles) {
  streams = which;
  Value end = loop(b.cst(0), operands.elements, lanes, tiles);
  streams = kStreamNone;
  if (which != kStreamNone)
    b.streamFence();
  return end;
}

/// Handles as many whole groups of lanes * tiles elements as lie in [from, to)
/// and returns where it ended.
Value TileEmitter::loop(Value from, Value to, unsigned lanes, unsigned tiles) {
  uint64_t group = uint64_t(std::max(lanes, 1u)) * tiles;
  Value end = to;
  if (group > 1)
    end = b.add(from, b.and_(b.sub(to, from), b.cst(~(group - 1))));
  OpBuilder::InsertionGuard guard(b);
  auto forOp = scf::ForOp::create(b, from, end, b.cst(group));
  b.setInsertionPointToStart(forOp.getBody());
  tile(forOp.getInductionVar(), lanes, tiles);
  return end;
}

/// The format that is computed in: the accumulation type, but for a device's
/// sum of two elements of 16 bits. Its native addition rounds once, and to
/// round the exact sum first to f32 and then to so much narrower a format gives
/// the same bits (24 digits are at least twice 8 or 11 and two more: Figueroa,
/// "When is double rounding innocuous?", 1995).
Format TileEmitter::computedIn() const {
  bool isNarrow = variant.dtype == Format::F16 || variant.dtype == Format::BF16;
  auto isPlain = [](const PortShape &port) {
    return port.type == ElemType::T && port.place != PortShape::Scalar &&
           port.place != PortShape::Row;
  };
  auto isTwoSum = [&] {
    if (shape.loopSources)
      return shape.numSources == 2;
    return shape.expr.size() == 3 && shape.sources.size() == 2 &&
           shape.expr[0].kind == ExprNode::Operand &&
           shape.expr[1].kind == ExprNode::Operand &&
           shape.expr[2].kind != ExprNode::Apply &&
           shape.expr[2].kind != ExprNode::Round;
  };
  bool isNative = variant.isa == Isa::Cuda && isNarrow && !variant.move &&
                  variant.op == ReduceOp::Sum && shape.type == ElemType::T &&
                  isTwoSum() && llvm::all_of(shape.sources, isPlain) &&
                  llvm::all_of(shape.sinks, isPlain);
  return isNative ? variant.dtype : accumOf(variant.dtype);
}

Value TileEmitter::widen(Value value, const PortShape &port) {
  if (variant.move)
    return value;
  value = math.extend(value, formatOf(port.type), accum);
  if (!isScaled(port))
    return value;
  value = math.scale(value, operands.factor, accum);
  if (!port.scaledRounded)
    return value;
  return math.extend(math.round(value, accum, variant.dtype), variant.dtype,
                     accum);
}

Value TileEmitter::narrow(Value value, const PortShape &port) {
  if (variant.move)
    return value;
  Format format = formatOf(port.type);
  if (shape.type == ElemType::MXE4M3 || formatOf(shape.type) != format)
    value = through(value, shape.type);
  return math.round(value, accum, format);
}

SmallVector<Value> TileEmitter::loadSource(Value pointer, const PortShape &port,
                                           Value index, unsigned lanes,
                                           unsigned tiles) {
  if (port.place == PortShape::Scalar)
    return SmallVector<Value>(
        tiles,
        math.scalarArgument(b.load(b.getF64Type(), pointer, 8), accum, lanes));
  SmallVector<Value> result;
  if (port.type == ElemType::MXE4M3) {
    for (unsigned t = 0; t < tiles; ++t)
      result.push_back(loadBlocks(
          pointer, b.add(index, b.cst(uint64_t(t) * tileDistance(lanes))),
          lanes));
    return result;
  }
  Format format = formatOf(port.type);
  Value base = elementAddress(pointer, index, format);
  for (unsigned t = 0; t < tiles; ++t)
    result.push_back(
        loadVector(format, tileAddress(base, format, lanes, t), lanes));
  for (Value &v : result)
    v = widen(v, port);
  return result;
}

/// The fold over as many sources as the shape says, first to last.
SmallVector<Value> TileEmitter::foldCounted(Value index, unsigned lanes,
                                            unsigned tiles) {
  SmallVector<Value> sum =
      loadSource(operands.sources[0], shape.sources[0], index, lanes, tiles);
  for (unsigned i = 1; i < shape.numSources; ++i) {
    SmallVector<Value> next =
        loadSource(operands.sources[i], shape.sources[0], index, lanes, tiles);
    for (unsigned t = 0; t < tiles; ++t)
      sum[t] = math.combine(sum[t], next[t], accum, variant.op);
  }
  return sum;
}

/// The fold over an array of source pointers, first to last.
SmallVector<Value> TileEmitter::foldArray(Value index, unsigned lanes,
                                          unsigned tiles) {
  const PortShape &port = shape.sources[0];
  SmallVector<Value> first =
      loadSource(loadPointer(operands.sourceArray), port, index, lanes, tiles);
  auto forOp =
      scf::ForOp::create(b, b.cst(1), operands.numSources, b.cst(1), first);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(forOp.getBody());
  Value slot =
      b.at(operands.sourceArray, b.mul(forOp.getInductionVar(), b.cst(8)));
  SmallVector<Value> next =
      loadSource(loadPointer(slot), port, index, lanes, tiles);
  for (unsigned t = 0; t < tiles; ++t)
    next[t] =
        math.combine(forOp.getRegionIterArgs()[t], next[t], accum, variant.op);
  scf::YieldOp::create(b, next);
  return SmallVector<Value>(forOp.getResults());
}

Value TileEmitter::apply(const ExprNode &node, SmallVector<Value> &stack) {
  SmallVector<Value> arguments(stack.end() - node.arg, stack.end());
  stack.truncate(stack.size() - node.arg);
  if (node.kind == ExprNode::Apply)
    return emitFunction(b, functions[node.function], arguments, accum, rows);
  Value value = arguments[0];
  for (unsigned i = 1; i < arguments.size(); ++i)
    value = math.combine(value, arguments[i], accum, variant.op);
  return value;
}

/// Runs the postfix expression on values of the accumulation type.
Value TileEmitter::evaluate(ArrayRef<Value> sources) {
  SmallVector<Value> stack;
  if (rows)
    rows->restart();
  for (const ExprNode &node : shape.expr) {
    switch (node.kind) {
    case ExprNode::Operand:
      stack.push_back(sources[node.arg]);
      break;
    case ExprNode::Add: {
      Value y = stack.pop_back_val();
      stack.back() = math.combine(stack.back(), y, accum, ReduceOp::Sum);
      break;
    }
    case ExprNode::Round:
      stack.back() = through(stack.back(), node.type);
      break;
    default:
      stack.push_back(apply(node, stack));
      break;
    }
  }
  assert(stack.size() == 1 && "an expression leaves one value");
  return stack[0];
}

Value TileEmitter::through(Value value, ElemType type) {
  if (type == ElemType::MXE4M3)
    return throughBlocks(value);
  Format to = formatOf(type);
  return math.extend(math.round(value, accum, to), to, accum);
}

/// Rounds to the step's type; stays in the accumulation type for the sinks to
/// convert from.
Value TileEmitter::finish(Value value) {
  if (variant.move)
    return value;
  if (shape.complete && variant.op == ReduceOp::Avg)
    value = math.divide(value, operands.numRanks, accum);
  return value;
}

/// Slots begin on lines, other memory (what may be a window too) on 16 bytes
/// where it is streamed to; wider vectors are then stored in pieces, which the
/// processor joins again.
void TileEmitter::storeVector(Value vector, Value address,
                              const PortShape &port, unsigned bytes) {
  constexpr unsigned lineBytes = 64, unitBytes = 16;
  bool isSlot = port.place == PortShape::Channel;
  if (!(streams & (isSlot ? kStreamSlots : kStreamMemory)))
    b.store(vector, address);
  else
    b.streamStore(vector, address,
                  std::min(bytes, isSlot && port.direct != Port::Put
                                      ? lineBytes
                                      : unitBytes));
}

void TileEmitter::storeTo(Value pointer, const PortShape &port, Value index,
                          ArrayRef<Value> results, unsigned lanes) {
  if (port.type == ElemType::MXE4M3) {
    for (auto [t, value] : llvm::enumerate(results)) {
      Value v = port.type == shape.type ? value : through(value, shape.type);
      storeBlocks(pointer,
                  b.add(index, b.cst(uint64_t(t) * tileDistance(lanes))), v);
    }
    return;
  }
  Format format = formatOf(port.type);
  Value base = elementAddress(pointer, index, format);
  for (auto [t, value] : llvm::enumerate(results))
    storeVector(narrow(value, port), tileAddress(base, format, lanes, t), port,
                std::max(lanes, 1u) * bytesOf(format));
}

SmallVector<Value> TileEmitter::combine(Value index, unsigned lanes,
                                        unsigned tiles) {
  if (shape.loopSources)
    return shape.numSources ? foldCounted(index, lanes, tiles)
                            : foldArray(index, lanes, tiles);
  SmallVector<Value> results;
  SmallVector<SmallVector<Value>> loaded;
  for (auto [i, port] : llvm::enumerate(shape.sources))
    loaded.push_back(
        loadSource(operands.sources[i], port, index, lanes, tiles));
  for (unsigned t = 0; t < tiles; ++t) {
    SmallVector<Value> values;
    for (auto &source : loaded)
      values.push_back(source[t]);
    results.push_back(variant.move ? values[0] : evaluate(values));
  }
  return results;
}

void TileEmitter::tile(Value index, unsigned lanes, unsigned tiles) {
  SmallVector<Value> results = combine(index, lanes, tiles);
  for (Value &v : results)
    v = finish(v);
  storeAll(index, results, lanes);
}

void TileEmitter::storeAll(Value index, ArrayRef<Value> results,
                           unsigned lanes) {
  if (!shape.loopSinks) {
    for (auto [i, port] : llvm::enumerate(shape.sinks))
      storeTo(operands.sinks[i], port, index, results, lanes);
    return;
  }
  auto forOp = scf::ForOp::create(b, b.cst(0), operands.numSinks, b.cst(1));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(forOp.getBody());
  Value slot =
      b.at(operands.sinkArray, b.mul(forOp.getInductionVar(), b.cst(8)));
  if (operands.sinkShift)
    index = b.add(index, operands.sinkShift);
  storeTo(loadPointer(slot), shape.sinks[0], index, results, lanes);
}

void emitTileLoops(Builder &b, const StepShape &shape, const Variant &variant,
                   const std::vector<Function> &functions,
                   const TileOperands &operands) {
  TileEmitter(b, shape, variant, functions, operands).run();
}

} // namespace coll::lowering
