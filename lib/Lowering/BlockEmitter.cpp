//===- BlockEmitter.cpp - Conversion to and from mxe4m3 -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Lowering/BlockEmitter.h"

namespace coll::lowering {
using namespace mlir;

std::pair<Value, Value> BlockEmitter::placesOf(Value pointer, Value index) {
  constexpr unsigned together = blocksTogether * blockElements;
  Value group = b.at(
      pointer, b.mul(b.udiv(index, b.cst(together)), b.cst(bytesTogether)));
  Value inside = b.and_(index, b.cst(together - 1));
  Value codes = b.at(group, b.add(inside, b.cst(blocksTogether)));
  Value scale = b.at(group, b.udiv(inside, b.cst(blockElements)));
  return {codes, scale};
}

BlockEmitter::Encoded BlockEmitter::encode(Value value) {
  value = keep(math.round(value, accum, Format::F32));
  Type f32 = b.getF32Type();
  auto vector = dyn_cast<VectorType>(value.getType());
  Type i32 = vector ? Type(vector.clone(b.i32())) : Type(b.i32());
  Value bits = b.and_(b.bitcast(value, i32), b.cst(0x7fffffff, i32));
  Value exponent = b.lshr(largest(bits), b.cst(23, b.i32()));
  Value eight = b.cst(8, b.i32());
  Value code = b.sub(arith::MaxUIOp::create(b, exponent, eight), eight);
  Value inverse = b.bitcast(
      b.shl(b.sub(b.cst(254, b.i32()), code), b.cst(23, b.i32())), f32);
  Value scaled =
      arith::MulFOp::create(b, value, math.splat(inverse, value.getType()));
  return {math.round(scaled, Format::F32, Format::E4M3),
          b.trunc(code, b.getI8Type())};
}

Value BlockEmitter::decode(Value codes, Value scale) {
  Value code = b.zext(scale, b.i32());
  Value bits = b.select(b.eq(code, b.cst(0, b.i32())), b.cst(1 << 22, b.i32()),
                        b.shl(code, b.cst(23, b.i32())));
  Value numbers = math.extend(codes, Format::E4M3, Format::F32);
  Value factor = math.splat(b.bitcast(bits, b.getF32Type()), numbers.getType());
  return math.extend(arith::MulFOp::create(b, numbers, factor), Format::F32,
                     accum);
}

Value BlockEmitter::loadBlocks(Value pointer, Value index, unsigned lanes) {
  auto [codes, scale] = placesOf(pointer, index);
  Value numbers = b.load(math.storageType(Format::E4M3, lanes), codes);
  return decode(numbers, b.load(b.getI8Type(), scale));
}

void BlockEmitter::storeBlocks(Value pointer, Value index, Value value) {
  Encoded block = encode(value);
  auto [codes, scale] = placesOf(pointer, index);
  b.store(block.codes, codes);
  storeScale(block.scale, scale);
}

Value BlockEmitter::throughBlocks(Value value) {
  Encoded block = encode(value);
  return decode(block.codes, block.scale);
}

} // namespace coll::lowering
