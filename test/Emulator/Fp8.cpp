//===- Fp8.cpp - What a chip converts to and from fp8 ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PTX's cvt.rn.satfinite.{e4m3x2,e5m2x2}.f32 and cvt.rn.f16x2.{e4m3x2,e5m2x2}
// (PTX ISA 8.1, cvt), by the definition of the formats: the nearest of all
// numbers, of two as near the even one, and nothing beyond the largest. What
// colc emits elsewhere is another method, so that one tests the other.
//
//===----------------------------------------------------------------------===//

#include "Hooks.h"

#include <bit>
#include <cmath>

namespace {
struct Kind {
  int mantissa, bias;
  unsigned largest; // code of the largest number
};
constexpr Kind kE4M3{3, 7, 0x7e}, kE5M2{2, 15, 0x7b};
} // namespace

static double numberOf(const Kind &kind, unsigned code) {
  int exponent = int(code >> kind.mantissa);
  unsigned fraction = code & ((1u << kind.mantissa) - 1);
  if (exponent == 0)
    return std::ldexp(fraction, 1 - kind.bias - kind.mantissa);
  return std::ldexp(fraction + (1u << kind.mantissa),
                    exponent - kind.bias - kind.mantissa);
}

static unsigned encodeOne(const Kind &kind, float value) {
  if (std::isnan(value))
    return 0x7f;
  unsigned sign = std::signbit(value) ? 0x80 : 0;
  double magnitude = std::fabs(double(value));
  unsigned code = kind.largest;
  for (unsigned low = 0; low < kind.largest; ++low) {
    double below = magnitude - numberOf(kind, low),
           above = numberOf(kind, low + 1) - magnitude;
    if (above < 0)
      continue;
    code = below < above || (below == above && low % 2 == 0) ? low : low + 1;
    break;
  }
  return code | sign;
}

/// The f16 of the same number.
static unsigned halfOf(bool isE5M2, unsigned code) {
  if (isE5M2) // the upper half of an f16, NaN and infinity too
    return (code & 0x7f) > 0x7c ? 0x7fff : code << 8;
  unsigned sign = (code & 0x80) << 8, magnitude = code & 0x7f;
  if (magnitude == 0x7f)
    return 0x7fff;
  if (magnitude >= 8)
    return sign | ((magnitude << 7) + (8 << 10));
  if (magnitude == 0)
    return sign;
  // A multiple of 2^-9: with its first bit at the implicit place.
  int shift = std::countl_zero(magnitude) - (31 - 3);
  unsigned fraction = (magnitude << shift) & 7;
  return sign | unsigned(9 - shift) << 10 | fraction << 7;
}

uint32_t emuToFp8(uint32_t isE5M2, uint32_t upper, uint32_t lower) {
  const Kind &kind = isE5M2 ? kE5M2 : kE4M3;
  return encodeOne(kind, std::bit_cast<float>(upper)) << 8 |
         encodeOne(kind, std::bit_cast<float>(lower));
}

uint32_t emuFromFp8(uint32_t isE5M2, uint32_t pair) {
  return halfOf(isE5M2, pair >> 8 & 0xff) << 16 | halfOf(isE5M2, pair & 0xff);
}
