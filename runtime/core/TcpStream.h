//===- TcpStream.h - Messages over a TCP connection -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Only for rendezvous: few, short messages, each a head of fixed layout and up
// to 8 KiB.
//
//===----------------------------------------------------------------------===//
#ifndef COLL_RUNTIME_CORE_TCPSTREAM_H
#define COLL_RUNTIME_CORE_TCPSTREAM_H

#include "runtime/core/Clock.h"
#include "runtime/core/Memory.h"
#include "runtime/core/Status.h"

#include <span>
#include <string>
#include <vector>

namespace coll {

/// "HOST:PORT" or "[V6]:PORT", resolved.
struct TcpAddress {
  std::string text;
  std::vector<std::byte> sockaddrBytes;
  bool isLoopback = false;

  static Status resolve(const std::string &text, TcpAddress &result);
};

/// Listens at an address of this host.
Status listenTcp(const TcpAddress &address, UniqueFd &result);

struct TcpMessage {
  uint16_t kind = 0;
  std::vector<std::byte> bytes;
};

class TcpStream {
public:
  static constexpr size_t maxBytes = 8192;

  TcpStream() = default;
  explicit TcpStream(UniqueFd fd) : fd(std::move(fd)) {}
  /// Connects, trying again while nobody listens, until the deadline.
  static Status connect(const TcpAddress &address, Deadline deadline,
                        TcpStream &result);

  int socket() const { return fd.get(); }
  void close() { fd.reset(); }

  /// Waits for room until the deadline; COLL_PEER_LOST when closed.
  Status send(uint16_t kind, std::span<const std::byte> bytes,
              Deadline deadline);
  /// Takes what has arrived.  Never blocks.
  enum class Received { Message, Nothing, Closed, Malformed };
  Received receive(TcpMessage &message);
  /// The same, waiting until the deadline.
  Status await(Deadline deadline, TcpMessage &message);

private:
  UniqueFd fd;
  std::vector<std::byte> input; ///< the start of a message
};

} // namespace coll

#endif // COLL_RUNTIME_CORE_TCPSTREAM_H
