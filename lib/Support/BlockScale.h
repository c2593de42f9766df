//===- BlockScale.h - mxe4m3: 32 elements and their scale -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A block of 32 elements is 32 numbers in e4m3 and one power of two that they
// are multiplied by, as an exponent biased by 127 (OCP Microscaling Formats,
// version 1.0, MXFP8 with E4M3 and E8M0). The scale is that of the
// specification's own conversion: of the largest magnitude 2^e * 1.f the
// exponent e - 8, so that it falls into the upper half of e4m3's range or
// saturates there. What is not finite counts as the largest exponent, whose
// scale takes infinity back to infinity and all finite numbers to zero.
//
// Where blocks are stored or sent: 16 scales, then 16 blocks of codes, and so
// on, so that codes are aligned. Blocks begin at multiples of 32 elements of a
// part; the last one of a part may be short, and is then filled up with zeros.
//
//===----------------------------------------------------------------------===//
#ifndef COLL_LIB_SUPPORT_BLOCKSCALE_H
#define COLL_LIB_SUPPORT_BLOCKSCALE_H

#include "lib/Support/FloatFormats.h"

#include <algorithm>
#include <cstddef>

namespace coll {

constexpr unsigned blockElements = 32, blocksTogether = 16,
                   bytesTogether = blocksTogether * (1 + blockElements);

/// The scale's code for a block whose largest magnitude has these bits.
constexpr uint32_t blockScale(uint32_t largest) {
  return std::max(largest >> 23, 8u) - 8;
}
/// By what elements are divided and multiplied: exact powers of two.
constexpr uint32_t inverseScaleBits(uint32_t code) {
  return (254 - code) << 23;
}
constexpr uint32_t scaleBits(uint32_t code) {
  return code == 0 ? 1u << 22 : code << 23;
}

/// What `n` elements of one block are after a stay in the format.
inline void roundOneBlock(const float *in, float *out, size_t n) {
  uint32_t largest = 0;
  for (size_t i = 0; i < n; ++i)
    largest = std::max(largest, std::bit_cast<uint32_t>(in[i]) & 0x7fffffff);
  uint32_t code = blockScale(largest);
  float inverse = std::bit_cast<float>(inverseScaleBits(code)),
        scale = std::bit_cast<float>(scaleBits(code));
  for (size_t i = 0; i < n; ++i)
    out[i] = decode<E4M3>(encode<E4M3>(in[i] * inverse)) * scale;
}

} // namespace coll
#endif // COLL_LIB_SUPPORT_BLOCKSCALE_H
