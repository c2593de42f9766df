//===- Id.cpp - Names of communicators ------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// coll_id, 128 bytes: "COLLID01", a random token, the host's id, the user, and
// the host's name for errors; the rest is zero.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/CommunicatorFactory.h"
#include "runtime/core/Host.h"
#include "runtime/core/Sha256.h"
#include "runtime/core/Wire.h"

#include <algorithm>
#include <cstring>
#include <unistd.h>

namespace coll {

static constexpr char idMagic[8] = {'C', 'O', 'L', 'L', 'I', 'D', '0', '1'};
static constexpr size_t maxHostText = 64;

Status makeId(coll_id &id) {
  Token token;
  COLL_TRY(fillRandom(token));
  WireWriter writer;
  writer.writeBytes(std::as_bytes(std::span(idMagic)))
      .writeBytes(token)
      .writeBytes(hostId())
      .write<uint32_t>(uint32_t(geteuid()))
      .writeString(hostName().substr(0, maxHostText));
  id = {};
  static_assert(8 + 16 + 16 + 4 + 4 + maxHostText <= sizeof id.bytes);
  std::memcpy(id.bytes, writer.bytes().data(), writer.bytes().size());
  return Status::ok();
}

Status readId(const coll_id &id, Token &token) {
  WireReader reader(std::as_bytes(std::span(id.bytes)));
  std::byte magic[sizeof idMagic];
  HostId host;
  reader.readBytes(magic);
  reader.readBytes(token);
  reader.readBytes(host);
  uint32_t user = reader.read<uint32_t>();
  std::string name = reader.readString(maxHostText);
  if (!reader.isGood() || std::memcmp(magic, idMagic, sizeof magic) != 0)
    return Status::error(COLL_INVALID, "the id is not from coll_make_id");
  if (host != hostId())
    return Status::error(COLL_INVALID,
                         "the id was made on host '%s' and this is '%s': ranks "
                         "on several hosts are not supported yet",
                         name.c_str(), hostName().c_str());
  if (user != geteuid())
    return Status::error(COLL_INVALID,
                         "the id was made by user %u and this process runs as "
                         "user %u",
                         user, unsigned(geteuid()));
  return Status::ok();
}

Token tokenOf(std::string_view kind, std::string_view name) {
  Digest digest = Sha256()
                      .update("coll job ")
                      .update(kind)
                      .update(std::string_view("\0", 1))
                      .update(name)
                      .finish();
  Token token;
  std::copy_n(digest.begin(), token.size(), token.begin());
  return token;
}

} // namespace coll
