//===- AddressExchange.h - A token by way of an address ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// With COLL_ADDRESS rank 0 listens at HOST:PORT, and the ranks get from it the
// token under which they then meet on their host (Rendezvous.h).  So ranks need
// to share nothing but the address, and a rank on another host is told so at
// once, where it would wait for ever at a door of its own host.
//
//   guest -> root  Greeting   a nonce
//   root -> guest  Challenge  another nonce, and proof that it knows the secret
//   guest -> root  Answer     rank, host, and proof that it knows the secret
//   root -> guest  Token      when all have come; or a refusal
//
// Proofs are HMAC-SHA256 with the secret over both nonces and what is said, so
// none can be used again, and each end proves itself before it says anything.
// Without a secret the same is done with an empty one; then the address must be
// a loopback one, or the network be declared trusted.
//
//===----------------------------------------------------------------------===//
#ifndef COLL_RUNTIME_CORE_ADDRESSEXCHANGE_H
#define COLL_RUNTIME_CORE_ADDRESSEXCHANGE_H

#include "runtime/core/Rendezvous.h"

namespace coll {

struct AddressRequest {
  int rank = 0, nranks = 1;
  std::string address;
  std::string secret;
  bool trustedNetwork = false;
  Deadline deadline = Deadline::never();
};

Status exchangeToken(const AddressRequest &request, Token &token);

/// The first line of a file that only its owner, this user, can read.
Status readSecretFile(const std::string &path, std::string &secret);

} // namespace coll

#endif // COLL_RUNTIME_CORE_ADDRESSEXCHANGE_H
