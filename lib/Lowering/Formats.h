//===- Formats.h - Number formats and the launch's operations ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How elements lie in memory, the type they are computed in, and the
// conversions between the two, on vectors. Everything rounds to nearest even
// and is written so that its result does not depend on the vector width or on
// the instruction set: where the hardware has a conversion it is used, else
// integer arithmetic that gives the same bits. lib/Support/FloatFormats.h is
// the scalar reference; the tests compare them on every input.
//
//===----------------------------------------------------------------------===//
#ifndef COLL_LIB_LOWERING_FORMATS_H
#define COLL_LIB_LOWERING_FORMATS_H

#include "lib/Analysis/ChunkGraph.h"
#include "lib/Lowering/Builder.h"

namespace coll::lowering {

/// The values are coll_dtype's and coll_op's.
enum class Format : uint8_t {
  I8,
  U8,
  I32,
  U32,
  I64,
  U64,
  F16,
  BF16,
  F32,
  F64,
  E4M3,
  E5M2
};
enum class ReduceOp : uint8_t {
  Sum,
  Prod,
  Min,
  Max,
  Avg,
  PremulSum,
  None = 255
};
constexpr uint8_t kAnyFormat = 255;
constexpr unsigned kNumFormats = 12, kNumReduceOps = 6;

const char *nameOf(Format format);
const char *nameOf(ReduceOp op);
unsigned bytesOf(Format format);
bool isFloat(Format format);
bool isSigned(Format format);
/// f32 for f16, bf16 and fp8, else the format itself.
Format accumOf(Format format);
/// What `type` is when T is `dtype`.
Format resolve(ElemType type, Format dtype);

enum class Isa : uint8_t { V2, V3, V4, AArch64, Cuda };
const char *nameOf(Isa isa);
unsigned vectorBytesOf(Isa isa);

/// Conversions and arithmetic on vectors (or scalars, lanes == 0) for one
/// instruction set.
class Arithmetic {
public:
  /// `hasFp8`: of a device's chip, which converts fp8 itself.
  Arithmetic(Builder &b, Isa isa, bool hasFp8 = false)
      : b(b), isa(isa), hasFp8(hasFp8) {}
  /// The type as which `format` is loaded and stored.
  mlir::Type storageType(Format format, unsigned lanes);
  mlir::Type computeType(Format format, unsigned lanes);
  /// From storage to the compute type of `accum`, which is a format that is
  /// computed in directly.
  mlir::Value extend(mlir::Value value, Format from, Format accum);
  /// From the compute type of `accum` to storage, rounding.
  mlir::Value round(mlir::Value value, Format accum, Format to);
  /// One application of the launch's op, or of `+` when `op` is Sum.
  mlir::Value combine(mlir::Value a, mlir::Value b, Format accum, ReduceOp op);
  /// value / divisor (an integer scalar i64), integers toward zero.
  mlir::Value divide(mlir::Value value, mlir::Value divisor, Format accum);
  /// value * factor, factor a scalar f64.
  mlir::Value scale(mlir::Value value, mlir::Value factor, Format accum);
  /// A scalar argument of the call, an f64, in the compute type.
  mlir::Value scalarArgument(mlir::Value value, Format accum, unsigned lanes);
  mlir::Value splat(mlir::Value scalar, mlir::Type like);

private:
  mlir::Value bf16FromF32(mlir::Value value);
  mlir::Value f16FromF32(mlir::Value value);
  mlir::Value f32FromF16(mlir::Value value);
  mlir::Value f32FromFp8(mlir::Value value, Format from);
  mlir::Value chipsF32FromFp8(mlir::Value value, Format from);
  mlir::Value chipsFp8FromF32(mlir::Value value, Format to);
  mlir::Value fp8FromF32(mlir::Value value, Format to);
  mlir::Type like(mlir::Value value, mlir::Type element);
  Builder &b;
  Isa isa;
  bool hasFp8;
};

} // namespace coll::lowering
#endif // COLL_LIB_LOWERING_FORMATS_H
