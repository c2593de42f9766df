//===- Formats.cpp - Number formats and the launch's operations -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Narrow formats without hardware support are converted by integer arithmetic
// on the bits of an f32, in two branches joined by a select.
// Normal: add half of the last kept place (and the last kept bit, so that ties
// go to even), shift the rest out, re-bias the exponent.
// Subnormal: add 2^k such that the result's last place is the target's smallest
// subnormal: the addition rounds, and the low bits are the answer.
// The reverse direction shifts the narrow bits into place as if they were an
// f32 of tiny exponent and multiplies by a power of two, which is exact and
// turns subnormals into normals.
//
//===----------------------------------------------------------------------===//

#include "lib/Lowering/Formats.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace coll::lowering {
using namespace mlir;

const char *nameOf(Format format) {
  static const char *names[] = {"i8",  "u8",   "i32", "u32", "i64",  "u64",
                                "f16", "bf16", "f32", "f64", "e4m3", "e5m2"};
  return names[static_cast<unsigned>(format)];
}

const char *nameOf(ReduceOp op) {
  static const char *names[] = {"sum", "prod", "min",
                                "max", "avg",  "premul_sum"};
  return op == ReduceOp::None ? "none" : names[static_cast<unsigned>(op)];
}

unsigned bytesOf(Format format) {
  static const unsigned bytes[] = {1, 1, 4, 4, 8, 8, 2, 2, 4, 8, 1, 1};
  return bytes[static_cast<unsigned>(format)];
}

bool isFloat(Format format) { return format >= Format::F16; }
bool isSigned(Format format) {
  return format == Format::I8 || format == Format::I32 || format == Format::I64;
}

Format accumOf(Format format) {
  bool narrow = format == Format::F16 || format == Format::BF16 ||
                format == Format::E4M3 || format == Format::E5M2;
  return narrow ? Format::F32 : format;
}

Format resolve(ElemType type, Format dtype) {
  switch (type) {
  case ElemType::T:
    return dtype;
  case ElemType::Accum:
    return accumOf(dtype);
  case ElemType::F16:
    return Format::F16;
  case ElemType::BF16:
    return Format::BF16;
  case ElemType::F32:
    return Format::F32;
  case ElemType::F64:
    return Format::F64;
  case ElemType::E4M3:
    return Format::E4M3;
  case ElemType::E5M2:
    return Format::E5M2;
  case ElemType::MXE4M3: // plain e4m3 would be other numbers, in silence
    llvm::report_fatal_error("mxe4m3 is no format of single elements");
  }
  llvm_unreachable("unknown element type");
}

const char *nameOf(Isa isa) {
  static const char *names[] = {"v2", "v3", "v4", "aarch64", "cuda"};
  return names[static_cast<unsigned>(isa)];
}

unsigned vectorBytesOf(Isa isa) {
  return isa == Isa::V4 ? 64 : isa == Isa::V3 ? 32 : 16;
}

static Type shaped(Type element, unsigned lanes) {
  return lanes == 0 ? element : Type(VectorType::get({lanes}, element));
}

Type Arithmetic::storageType(Format format, unsigned lanes) {
  Type element = format == Format::F32 ? Type(b.getF32Type())
                 : format == Format::F64
                     ? Type(b.getF64Type())
                     : Type(b.getIntegerType(bytesOf(format) * 8));
  return shaped(element, lanes);
}

Type Arithmetic::computeType(Format format, unsigned lanes) {
  return storageType(accumOf(format), lanes);
}

Type Arithmetic::like(Value value, Type element) {
  auto vector = dyn_cast<VectorType>(value.getType());
  return vector ? Type(vector.clone(element)) : element;
}

Value Arithmetic::splat(Value scalar, Type type) {
  auto vector = dyn_cast<VectorType>(type);
  return vector ? Value(vector::BroadcastOp::create(b, vector, scalar))
                : scalar;
}

Value Arithmetic::scalarArgument(Value value, Format accum, unsigned lanes) {
  Type type = computeType(accum, lanes), element = getElementTypeOrSelf(type);
  return splat(accum == Format::F64
                   ? value
                   : Value(arith::TruncFOp::create(b, element, value)),
               type);
}

Value Arithmetic::extend(Value value, Format from, Format accum) {
  if (from == accum)
    return value;
  Type i32 = like(value, b.getI32Type()), f32 = like(value, b.getF32Type());
  Value wide;
  switch (from) {
  case Format::BF16:
    wide = b.bitcast(b.shl(b.zext(value, i32), b.cst(16, i32)), f32);
    break;
  case Format::F16:
    wide = f32FromF16(value);
    break;
  case Format::E4M3:
  case Format::E5M2:
    wide = f32FromFp8(value, from);
    break;
  case Format::F64:
    return arith::TruncFOp::create(b, f32, value);
  default:
    wide = value;
    break;
  }
  return accum == Format::F64 ? Value(arith::ExtFOp::create(
                                    b, like(value, b.getF64Type()), wide))
                              : wide;
}

Value Arithmetic::round(Value value, Format accum, Format to) {
  if (accum == to)
    return value;
  if (to == Format::F64)
    return arith::ExtFOp::create(b, like(value, b.getF64Type()), value);
  if (accum ==
      Format::F64) // f64 reaches narrow formats through f32: stated in the
                   // language page, so that one path rounds everywhere
    value = arith::TruncFOp::create(b, like(value, b.getF32Type()), value);
  switch (to) {
  case Format::F32:
    return value;
  case Format::BF16:
    return bf16FromF32(value);
  case Format::F16:
    return f16FromF32(value);
  case Format::E4M3:
  case Format::E5M2:
    return fp8FromF32(value, to);
  default:
    llvm_unreachable("integers are not rounded");
  }
}

Value Arithmetic::bf16FromF32(Value value) {
  Type i32 = like(value, b.getI32Type()), i16 = like(value, b.i16());
  if (isa == Isa::Cuda) // one instruction of every chip that has bf16
    return b.bitcast(
        arith::TruncFOp::create(b, like(value, b.getBF16Type()), value), i16);
  Value bits = b.bitcast(value, i32);
  Value odd = b.and_(b.lshr(bits, b.cst(16, i32)), b.cst(1, i32));
  Value rounded =
      b.lshr(b.add(bits, b.add(odd, b.cst(0x7fff, i32))), b.cst(16, i32));
  Value nan = arith::CmpFOp::create(b, arith::CmpFPredicate::UNO, value, value);
  Value quiet = b.or_(b.lshr(bits, b.cst(16, i32)), b.cst(0x40, i32));
  return b.trunc(b.select(nan, quiet, rounded), i16);
}

Value Arithmetic::f32FromF16(Value value) {
  Type f32 = like(value, b.getF32Type());
  if (isa != Isa::V2)
    return arith::ExtFOp::create(b, f32,
                                 b.bitcast(value, like(value, b.getF16Type())));
  Type i32 = like(value, b.getI32Type());
  Value bits = b.zext(value, i32);
  Value magnitude = b.shl(b.and_(bits, b.cst(0x7fff, i32)), b.cst(13, i32));
  Value scaled =
      arith::MulFOp::create(b, b.bitcast(magnitude, f32), b.fcst(0x1p112, f32));
  Value infOrNan = b.uge(magnitude, b.cst(0x7c00u << 13, i32));
  Value special = b.or_(magnitude, b.cst(0x7f800000, i32));
  Value absolute = b.select(infOrNan, special, b.bitcast(scaled, i32));
  Value sign = b.shl(b.and_(bits, b.cst(0x8000, i32)), b.cst(16, i32));
  return b.bitcast(b.or_(absolute, sign), f32);
}

Value Arithmetic::f16FromF32(Value value) {
  Type i16 = like(value, b.i16());
  if (isa != Isa::V2)
    return b.bitcast(
        arith::TruncFOp::create(b, like(value, b.getF16Type()), value), i16);
  Type i32 = like(value, b.getI32Type()), f32 = like(value, b.getF32Type());
  Value bits = b.bitcast(value, i32);
  Value absolute = b.and_(bits, b.cst(0x7fffffff, i32));
  Value odd = b.and_(b.lshr(absolute, b.cst(13, i32)), b.cst(1, i32));
  Value normal = b.sub(
      b.lshr(b.add(absolute, b.add(odd, b.cst(0xfff, i32))), b.cst(13, i32)),
      b.cst(112u << 10, i32));
  Value magic =
      b.fcst(0.5, f32); // last place of [0.5, 1) is 2^-24, the smallest f16
  Value sum = arith::AddFOp::create(b, b.bitcast(absolute, f32), magic);
  Value subnormal = b.sub(b.bitcast(sum, i32), b.cst(0x3f000000, i32));
  Value result =
      b.select(b.ult(absolute, b.cst(113u << 23, i32)), subnormal, normal);
  result = b.select(b.uge(absolute, b.cst(0x477ff000, i32)), b.cst(0x7c00, i32),
                    result); // 65520 and above
  Value nan = b.or_(b.and_(b.lshr(absolute, b.cst(13, i32)), b.cst(0x3ff, i32)),
                    b.cst(0x7e00, i32));
  result = b.select(b.ugt(absolute, b.cst(0x7f800000, i32)), nan, result);
  Value sign = b.and_(b.lshr(bits, b.cst(16, i32)), b.cst(0x8000, i32));
  return b.trunc(b.or_(result, sign), i16);
}

namespace {
struct Fp8 {
  unsigned mantissa, bias;
  uint32_t nanBits, largest; // the f32 bits of the largest finite value, which
                             // infinity and all above become
};
} // namespace
static Fp8 fp8(Format format) {
  return format == Format::E4M3 ? Fp8{3, 7, 0x7f, 0x43e00000}
                                : Fp8{2, 15, 0x7e, 0x47600000};
}

/// From and to `count` elements, of a vector or a scalar.
static SmallVector<Value> elementsOf(Builder &b, Value value) {
  auto vector = dyn_cast<VectorType>(value.getType());
  if (!vector)
    return {value};
  SmallVector<Value> elements;
  for (int64_t i = 0; i < vector.getNumElements(); ++i)
    elements.push_back(vector::ExtractOp::create(b, value, i));
  return elements;
}

static Value joined(Builder &b, Type type, ArrayRef<Value> elements) {
  auto vector = dyn_cast<VectorType>(type);
  return vector ? Value(vector::FromElementsOp::create(b, vector, elements))
                : elements[0];
}

static Value callIntrinsic(Builder &b, const Twine &name, Type result,
                           ValueRange operands) {
  return LLVM::CallIntrinsicOp::create(
             b, result, b.getStringAttr("llvm.nvvm." + name), operands)
      .getResult(0);
}

/// Two at a time: by way of two f16, which hold every fp8 exactly.
Value Arithmetic::chipsF32FromFp8(Value value, Format from) {
  Type f32 = b.getF32Type(), halves = VectorType::get({2}, b.getF16Type());
  SmallVector<Value> codes = elementsOf(b, value), numbers;
  for (size_t i = 0; i < codes.size(); i += 2) {
    Value pair = b.zext(codes[i], b.i16());
    if (i + 1 < codes.size())
      pair =
          b.or_(pair, b.shl(b.zext(codes[i + 1], b.i16()), b.cst(8, b.i16())));
    Value both =
        callIntrinsic(b, Twine(nameOf(from)) + "x2.to.f16x2.rn", halves, pair);
    for (size_t k = 0; k < 2 && i + k < codes.size(); ++k)
      numbers.push_back(arith::ExtFOp::create(
          b, f32, vector::ExtractOp::create(b, both, int64_t(k)).getResult()));
  }
  return joined(b, like(value, f32), numbers);
}

/// The instruction saturates as the language says, infinity too; all NaNs are
/// one.
Value Arithmetic::chipsFp8FromF32(Value value, Format to) {
  Type i8 = b.getI8Type();
  SmallVector<Value> numbers = elementsOf(b, value), codes;
  for (size_t i = 0; i < numbers.size(); i += 2) {
    bool isPair = i + 1 < numbers.size();
    // The first operand becomes the upper half.
    Value pair =
        callIntrinsic(b, Twine("ff.to.") + nameOf(to) + "x2.rn", b.i16(),
                      {numbers[isPair ? i + 1 : i], numbers[i]});
    codes.push_back(b.trunc(pair, i8));
    if (isPair)
      codes.push_back(b.trunc(b.lshr(pair, b.cst(8, b.i16())), i8));
  }
  return joined(b, like(value, i8), codes);
}

Value Arithmetic::f32FromFp8(Value value, Format from) {
  if (hasFp8)
    return chipsF32FromFp8(value, from);
  Fp8 f = fp8(from);
  Type i32 = like(value, b.getI32Type()), f32 = like(value, b.getF32Type());
  Value bits = b.zext(value, i32);
  Value narrow = b.and_(bits, b.cst(0x7f, i32));
  Value magnitude = b.shl(narrow, b.cst(23 - f.mantissa, i32));
  Value scaled = arith::MulFOp::create(
      b, b.bitcast(magnitude, f32), b.fcst(std::ldexp(1.0, 127 - f.bias), f32));
  Value absolute = b.bitcast(scaled, i32);
  if (from == Format::E4M3) {
    absolute = b.select(b.eq(narrow, b.cst(0x7f, i32)), b.cst(0x7fc00000, i32),
                        absolute);
  } else {
    Value special = b.select(b.eq(narrow, b.cst(0x7c, i32)),
                             b.cst(0x7f800000, i32), b.cst(0x7fc00000, i32));
    absolute = b.select(b.uge(narrow, b.cst(0x7c, i32)), special, absolute);
  }
  Value sign = b.shl(b.and_(bits, b.cst(0x80, i32)), b.cst(24, i32));
  return b.bitcast(b.or_(absolute, sign), f32);
}

Value Arithmetic::fp8FromF32(Value value, Format to) {
  if (hasFp8)
    return chipsFp8FromF32(value, to);
  Fp8 f = fp8(to);
  Type i32 = like(value, b.getI32Type()), f32 = like(value, b.getF32Type());
  unsigned shift = 23 - f.mantissa;
  Value bits = b.bitcast(value, i32);
  Value full = b.and_(bits, b.cst(0x7fffffff, i32));
  Value absolute = b.umin(full, b.cst(f.largest, i32));
  Value odd = b.and_(b.lshr(absolute, b.cst(shift, i32)), b.cst(1, i32));
  Value half = b.cst((1u << (shift - 1)) - 1, i32);
  Value normal =
      b.sub(b.lshr(b.add(absolute, b.add(odd, half)), b.cst(shift, i32)),
            b.cst((127 - f.bias) << f.mantissa, i32));
  int smallest =
      1 - static_cast<int>(f.bias) -
      static_cast<int>(f.mantissa); // exponent of the smallest subnormal
  double magic = std::ldexp(1.0, smallest + 23);
  float magicFloat = static_cast<float>(magic);
  Value sum =
      arith::AddFOp::create(b, b.bitcast(absolute, f32), b.fcst(magic, f32));
  Value subnormal = b.sub(b.bitcast(sum, i32),
                          b.cst(llvm::bit_cast<uint32_t>(magicFloat), i32));
  Value isSubnormal = b.ult(absolute, b.cst((127 - f.bias + 1) << 23, i32));
  Value result = b.select(isSubnormal, subnormal, normal);
  result = b.select(b.ugt(full, b.cst(0x7f800000, i32)), b.cst(f.nanBits, i32),
                    result);
  Value sign = b.and_(b.lshr(bits, b.cst(24, i32)), b.cst(0x80, i32));
  return b.trunc(b.or_(result, sign), like(value, b.getI8Type()));
}

Value Arithmetic::combine(Value x, Value y, Format accum, ReduceOp op) {
  if (accum == Format::F16 || accum == Format::BF16) {
    Type type =
        like(x, accum == Format::F16 ? Type(b.getF16Type()) : b.getBF16Type());
    Value sum =
        combine(b.bitcast(x, type), b.bitcast(y, type), Format::F32, op);
    return b.bitcast(sum, x.getType());
  }
  switch (op) {
  case ReduceOp::Prod:
    return isFloat(accum) ? Value(arith::MulFOp::create(b, x, y)) : b.mul(x, y);
  case ReduceOp::Min:
    if (isFloat(accum))
      return arith::MinimumFOp::create(b, x, y);
    return isSigned(accum) ? Value(arith::MinSIOp::create(b, x, y))
                           : Value(arith::MinUIOp::create(b, x, y));
  case ReduceOp::Max:
    if (isFloat(accum))
      return arith::MaximumFOp::create(b, x, y);
    return isSigned(accum) ? Value(arith::MaxSIOp::create(b, x, y))
                           : Value(arith::MaxUIOp::create(b, x, y));
  default:
    return isFloat(accum) ? Value(arith::AddFOp::create(b, x, y)) : b.add(x, y);
  }
}

Value Arithmetic::divide(Value value, Value divisor, Format accum) {
  Type element = getElementTypeOrSelf(value.getType());
  if (isFloat(accum)) {
    Value d = arith::UIToFPOp::create(b, element, divisor);
    return arith::DivFOp::create(b, value, splat(d, value.getType()));
  }
  if (element.getIntOrFloatBitWidth() <
      32) { // the number of ranks may not fit the element
    Type wide = like(value, b.getI32Type());
    Value widened = isSigned(accum)
                        ? Value(arith::ExtSIOp::create(b, wide, value))
                        : b.zext(value, wide);
    return b.trunc(
        divide(widened, divisor, isSigned(accum) ? Format::I32 : Format::U32),
        value.getType());
  }
  Value d = splat(b.trunc(divisor, element), value.getType());
  return isSigned(accum) ? Value(arith::DivSIOp::create(b, value, d))
                         : Value(arith::DivUIOp::create(b, value, d));
}

Value Arithmetic::scale(Value value, Value factor, Format accum) {
  Type element = getElementTypeOrSelf(value.getType());
  if (!isFloat(accum)) {
    Value f = isSigned(accum)
                  ? Value(arith::FPToSIOp::create(b, element, factor))
                  : Value(arith::FPToUIOp::create(b, element, factor));
    return b.mul(value, splat(f, value.getType()));
  }
  Value f = accum == Format::F64
                ? factor
                : Value(arith::TruncFOp::create(b, element, factor));
  return arith::MulFOp::create(b, value, splat(f, value.getType()));
}

} // namespace coll::lowering
