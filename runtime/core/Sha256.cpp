//===- Sha256.cpp - SHA-256 and HMAC-SHA-256 ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/core/Sha256.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace coll {

// The first 32 bits of the fractional parts of the cube roots of the first 64
// primes (FIPS 180-4, section 4.2.2).
static constexpr uint32_t roundConstants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1,
    0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3,
    0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786,
    0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147,
    0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13,
    0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
    0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a,
    0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208,
    0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

void Sha256::compress(const std::byte *block) {
  uint32_t w[64];
  for (int i = 0; i != 16; ++i) {
    uint32_t bigEndian;
    std::memcpy(&bigEndian, block + 4 * i, 4);
    w[i] = __builtin_bswap32(bigEndian);
  }
  for (int i = 16; i != 64; ++i) {
    uint32_t s0 =
        std::rotr(w[i - 15], 7) ^ std::rotr(w[i - 15], 18) ^ (w[i - 15] >> 3);
    uint32_t s1 =
        std::rotr(w[i - 2], 17) ^ std::rotr(w[i - 2], 19) ^ (w[i - 2] >> 10);
    w[i] = w[i - 16] + s0 + w[i - 7] + s1;
  }
  auto [a, b, c, d, e, f, g, h] = state;
  for (int i = 0; i != 64; ++i) {
    uint32_t s1 = std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25);
    uint32_t t1 = h + s1 + ((e & f) ^ (~e & g)) + roundConstants[i] + w[i];
    uint32_t s0 = std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22);
    uint32_t t2 = s0 + ((a & b) ^ (a & c) ^ (b & c));
    h = g, g = f, f = e, e = d + t1, d = c, c = b, b = a, a = t1 + t2;
  }
  const uint32_t round[8] = {a, b, c, d, e, f, g, h};
  for (int i = 0; i != 8; ++i)
    state[i] += round[i];
}

Sha256 &Sha256::update(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    size_t used = size_t(total % 64);
    size_t take = std::min(64 - used, bytes.size());
    std::memcpy(pending + used, bytes.data(), take);
    total += take;
    bytes = bytes.subspan(take);
    if (used + take == 64)
      compress(pending);
  }
  return *this;
}

Digest Sha256::finish() {
  uint64_t bits = __builtin_bswap64(total * 8);
  const std::byte one{0x80}, zero{0};
  update({&one, 1});
  while (total % 64 != 56)
    update({&zero, 1});
  update(std::as_bytes(std::span(&bits, 1)));
  Digest digest;
  for (int i = 0; i != 8; ++i) {
    uint32_t bigEndian = __builtin_bswap32(state[i]);
    std::memcpy(digest.data() + 4 * i, &bigEndian, 4);
  }
  return digest;
}

Digest hmacSha256(std::span<const std::byte> key,
                  std::span<const std::byte> message) {
  std::byte block[64] = {};
  if (key.size() > sizeof block) {
    Digest shortKey = Sha256().update(key).finish();
    std::memcpy(block, shortKey.data(), shortKey.size());
  } else if (!key.empty()) {
    std::memcpy(block, key.data(), key.size());
  }
  std::byte inner[64], outer[64];
  for (int i = 0; i != 64; ++i) {
    inner[i] = block[i] ^ std::byte{0x36};
    outer[i] = block[i] ^ std::byte{0x5c};
  }
  Digest digest = Sha256().update(inner).update(message).finish();
  return Sha256().update(outer).update(digest).finish();
}

bool equalInConstantTime(std::span<const std::byte> a,
                         std::span<const std::byte> b) {
  if (a.size() != b.size())
    return false;
  std::byte differences{0};
  for (size_t i = 0; i != a.size(); ++i)
    differences |= a[i] ^ b[i];
  return differences == std::byte{0};
}

} // namespace coll
