//===- Sha256.h - SHA-256 and HMAC-SHA-256 ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// FIPS 180-4 and RFC 2104.  For names of rendezvous sockets and for the proof
// that both ends of a TCP rendezvous know the same secret; nothing here is
// fast.
//
//===----------------------------------------------------------------------===//
#ifndef COLL_RUNTIME_CORE_SHA256_H
#define COLL_RUNTIME_CORE_SHA256_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace coll {

using Digest = std::array<std::byte, 32>;

class Sha256 {
public:
  Sha256 &update(std::span<const std::byte> bytes);
  Sha256 &update(std::string_view text) {
    return update(std::as_bytes(std::span(text.data(), text.size())));
  }
  Digest finish();

private:
  void compress(const std::byte *block);

  uint32_t state[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                       0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  uint64_t total = 0; ///< bytes
  std::byte pending[64];
};

Digest hmacSha256(std::span<const std::byte> key,
                  std::span<const std::byte> message);

/// Compares in a time that does not depend on where they differ.
bool equalInConstantTime(std::span<const std::byte> a,
                         std::span<const std::byte> b);

} // namespace coll

#endif // COLL_RUNTIME_CORE_SHA256_H
