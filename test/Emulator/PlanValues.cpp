//===- PlanValues.cpp - What inputs hold ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The same values for the same seed, of every type: floats that round when they
// are summed, or whole numbers whose sums are the same in any order.
//
//===----------------------------------------------------------------------===//

#include "PlanRun.h"

#include <cstring>

namespace coll::emu {

/// A code of a format with so many bits of mantissa: of magnitude 1/2 to 2, so
/// that sums and products of a few round, and nothing overflows.
static uint64_t floatCode(uint64_t random, unsigned bits, unsigned mantissa) {
  uint64_t bias = (uint64_t(1) << (bits - mantissa - 2)) - 1;
  uint64_t fraction = random >> 8 & ((uint64_t(1) << mantissa) - 1);
  return (random & 1) << (bits - 1) | (bias - (random >> 1 & 1)) << mantissa |
         fraction;
}

static uint64_t codeOf(coll_dtype dtype, uint64_t random) {
  switch (dtype) {
  case COLL_F16:
    return floatCode(random, 16, 10);
  case COLL_BF16:
    return floatCode(random, 16, 7);
  case COLL_F32:
    return floatCode(random, 32, 23);
  case COLL_F64:
    return floatCode(random, 64, 52);
  case COLL_E4M3:
    return floatCode(random, 8, 3);
  case COLL_E5M2:
    return floatCode(random, 8, 2);
  default:
    return random & 3;
  }
}

/// The code of 0, 1, 2 or 3: sums are the same in any order.
static uint64_t wholeOf(coll_dtype dtype, unsigned value) {
  static const uint64_t codes[][4] = {
      {0, 0x3c00, 0x4000, 0x4200},
      {0, 0x3f80, 0x4000, 0x4040},
      {0, 0x3f800000, 0x40000000, 0x40400000},
      {0, 0x3ff0000000000000, 0x4000000000000000, 0x4008000000000000},
      {0, 0x38, 0x40, 0x44},
      {0, 0x3c, 0x40, 0x42}};
  switch (dtype) {
  case COLL_F16:
    return codes[0][value];
  case COLL_BF16:
    return codes[1][value];
  case COLL_F32:
    return codes[2][value];
  case COLL_F64:
    return codes[3][value];
  case COLL_E4M3:
    return codes[4][value];
  case COLL_E5M2:
    return codes[5][value];
  default:
    return value;
  }
}

void fillValues(void *buffer, size_t bytes, coll_dtype dtype, uint64_t seed,
                bool isExact) {
  auto *out = static_cast<unsigned char *>(buffer);
  size_t width = dtypeBytes(dtype);
  for (size_t i = 0; i < bytes / width; ++i) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    uint64_t code = codeOf(dtype, seed ^ seed >> 29);
    if (isExact)
      code = wholeOf(dtype, unsigned(seed >> 60) & 3);
    memcpy(out + i * width, &code, width); // little-endian
  }
}

} // namespace coll::emu
