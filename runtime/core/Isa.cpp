//===- Isa.cpp - What this processor can execute --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The levels are those of the x86-64 psABI.  CPUID says what the processor has,
// XGETBV which registers the operating system saves: without the second a
// kernel that uses AVX corrupts the caller after the first context switch.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/Isa.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace coll {

const char *isaName(uint32_t isa) {
  static const char *const names[COLL_NUM_ISAS] = {"v2", "v3", "v4", "aarch64"};
  return isa < COLL_NUM_ISAS ? names[isa] : "?";
}

#if defined(__x86_64__)

namespace {
struct Leaf {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
};
} // namespace

static Leaf cpuid(unsigned leaf, unsigned subleaf) {
  Leaf r;
  if (!__get_cpuid_count(leaf, subleaf, &r.eax, &r.ebx, &r.ecx, &r.edx))
    return {};
  return r;
}

/// Which register states the operating system saves (XCR0).
static unsigned savedStates() {
  unsigned low, high;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return low;
}

std::optional<uint32_t> hostIsa() {
  const Leaf basic = cpuid(1, 0), features = cpuid(7, 0);
  const Leaf extended = cpuid(0x80000001, 0);
  auto hasAll = [](unsigned word, unsigned mask) {
    return (word & mask) == mask;
  };
  if (!hasAll(basic.ecx, bit_SSE3 | bit_SSSE3 | bit_SSE4_1 | bit_SSE4_2 |
                             bit_POPCNT | bit_CMPXCHG16B) ||
      !hasAll(extended.ecx, bit_LAHF_LM))
    return std::nullopt;

  constexpr unsigned ymmStates = 0x06, zmmStates = 0xe6;
  if (!hasAll(basic.ecx,
              bit_OSXSAVE | bit_AVX | bit_FMA | bit_F16C | bit_MOVBE) ||
      !hasAll(features.ebx, bit_AVX2 | bit_BMI | bit_BMI2) ||
      !hasAll(extended.ecx, bit_LZCNT) || !hasAll(savedStates(), ymmStates))
    return COLL_ISA_V2;

  if (!hasAll(features.ebx, bit_AVX512F | bit_AVX512BW | bit_AVX512CD |
                                bit_AVX512DQ | bit_AVX512VL) ||
      !hasAll(savedStates(), zmmStates))
    return COLL_ISA_V3;
  return COLL_ISA_V4;
}

#elif defined(__aarch64__)

std::optional<uint32_t> hostIsa() { return COLL_ISA_AARCH64; }

#else

std::optional<uint32_t> hostIsa() { return std::nullopt; }

#endif

bool canRun(uint32_t kernel, uint32_t host) {
  if (kernel == COLL_ISA_AARCH64 || host == COLL_ISA_AARCH64)
    return kernel == host;
  return kernel <= host;
}

Status chooseIsa(std::optional<uint32_t> wanted, uint32_t &isa) {
  std::optional<uint32_t> host = hostIsa();
  if (!host)
    return Status::error(COLL_INVALID,
                         "this processor has none of the instruction sets that "
                         "kernels are made for (x86-64-v2 and up, aarch64)");
  if (wanted && !canRun(*wanted, *host))
    return Status::error(COLL_INVALID,
                         "COLL_ISA=%s, but this processor has %s at most",
                         isaName(*wanted), isaName(*host));
  isa = wanted.value_or(*host);
  return Status::ok();
}

} // namespace coll
