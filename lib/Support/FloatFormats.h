//===- FloatFormats.h - f16, bf16 and fp8 as integers -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The reference for every conversion in the project: generated vector code and
// the interpreter are compared with these. All conversions are exact or round
// to nearest even, once, subnormals included. Conversion to fp8 saturates,
// infinity too; NaN stays NaN (its payload is not kept). The formats are IEEE's
// binary16, bfloat16, and E4M3 (no infinity, largest 448) and E5M2 of the OCP
// 8-bit specification (OFP8, revision 1.0).
//
// Written without branches so that loops over them become vector code. They
// need the default rounding mode and subnormals that are not flushed.
//
//===----------------------------------------------------------------------===//
#ifndef COLL_LIB_SUPPORT_FLOATFORMATS_H
#define COLL_LIB_SUPPORT_FLOATFORMATS_H

#include <bit>
#include <cstdint>

namespace coll {

/// A small format: 1 sign bit, exponent, mantissa, from the high bits down.
template <class StorageT, unsigned exponentBits, unsigned mantissaBits,
          uint32_t largestCode, uint32_t overflowCode, uint32_t nanCode>
struct SmallFloat {
  using Storage = StorageT;
  static constexpr unsigned width = 8 * sizeof(Storage);
  static constexpr unsigned mantissa = mantissaBits;
  static constexpr int bias = (1 << (exponentBits - 1)) - 1;
  static constexpr uint32_t largest = largestCode; // the largest finite number
  static constexpr uint32_t overflow = overflowCode; // what larger ones become
  static constexpr uint32_t nan = nanCode;
  static constexpr uint32_t signBit = 1u << (width - 1);
  /// The exponent of the smallest subnormal.
  static constexpr int lowest = 1 - bias - int(mantissa);
};

using F16 = SmallFloat<uint16_t, 5, 10, 0x7bff, 0x7c00, 0x7e00>;
using BF16 = SmallFloat<uint16_t, 8, 7, 0x7f7f, 0x7f80, 0x7fc0>;
using E4M3 = SmallFloat<uint8_t, 4, 3, 0x7e, 0x7e, 0x7f>;
using E5M2 = SmallFloat<uint8_t, 5, 2, 0x7b, 0x7b, 0x7e>;

namespace detail {
template <class Float> struct Wide;
template <> struct Wide<float> {
  using Bits = uint32_t;
  static constexpr unsigned mantissa = 23;
  static constexpr int bias = 127;
};
template <> struct Wide<double> {
  using Bits = uint64_t;
  static constexpr unsigned mantissa = 52;
  static constexpr int bias = 1023;
};
/// 2^exponent, which must be normal.
template <class Float> constexpr Float powerOfTwo(int exponent) {
  using Bits = typename Wide<Float>::Bits;
  return std::bit_cast<Float>(Bits(exponent + Wide<Float>::bias)
                              << Wide<Float>::mantissa);
}
} // namespace detail

/// Rounds a float or a double, in one step.
template <class Format, class Float>
constexpr typename Format::Storage encode(Float value) {
  using W = detail::Wide<Float>;
  using Bits = typename W::Bits;
  constexpr unsigned drop = W::mantissa - Format::mantissa;
  constexpr Bits signBit = Bits(1) << (8 * sizeof(Bits) - 1);
  constexpr Bits infinity =
      std::bit_cast<Bits>(detail::powerOfTwo<Float>(W::bias)) +
      (Bits(1) << W::mantissa);
  const Bits bits = std::bit_cast<Bits>(value);
  const Bits magnitude = bits & ~signBit;

  // Subnormal results: adding a number whose last place is the smallest
  // subnormal lets the adder round.
  constexpr Float magic =
      detail::powerOfTwo<Float>(Format::lowest + int(W::mantissa));
  const Bits tiny =
      std::bit_cast<Bits>(std::bit_cast<Float>(magnitude) + magic) -
      std::bit_cast<Bits>(magic);

  constexpr Bits rebias = Bits(W::bias - Format::bias) << W::mantissa;
  const Bits half = (Bits(1) << (drop - 1)) - 1 + ((magnitude >> drop) & 1);
  const Bits normal = (magnitude - rebias + half) >> drop;

  constexpr Bits smallestNormal = std::bit_cast<Bits>(
      detail::powerOfTwo<Float>(Format::lowest + int(Format::mantissa)));
  Bits code = magnitude < smallestNormal ? tiny : normal;
  code = magnitude >= infinity || code > Format::largest
             ? Bits(Format::overflow)
             : code;
  code = magnitude > infinity ? Bits(Format::nan) : code;
  const Bits sign = (bits & signBit) >> (8 * sizeof(Bits) - Format::width);
  return typename Format::Storage(code | sign);
}

/// Exact.
template <class Format> constexpr float decode(typename Format::Storage code) {
  using W = detail::Wide<float>;
  constexpr uint32_t quietNaN = 0x7fc00000, infinity = 0x7f800000;
  const uint32_t magnitude = code & (Format::signBit - 1);
  // The bits as a float with too small an exponent; the product is exact, also
  // for subnormals.
  const float number =
      std::bit_cast<float>(magnitude << (W::mantissa - Format::mantissa)) *
      detail::powerOfTwo<float>(W::bias - Format::bias);
  uint32_t bits = std::bit_cast<uint32_t>(number);
  bits = magnitude > Format::largest ? infinity : bits;
  // Formats with an infinity have it just after the largest number.
  constexpr bool hasInfinity = Format::nan > Format::largest + 1;
  bits = magnitude > Format::largest + uint32_t(hasInfinity) ? quietNaN : bits;
  return std::bit_cast<float>(bits | uint32_t(code & Format::signBit)
                                         << (32 - Format::width));
}

} // namespace coll

#endif // COLL_LIB_SUPPORT_FLOATFORMATS_H
