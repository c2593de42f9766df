//===- TcpStream.cpp - Messages over a TCP connection ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/core/TcpStream.h"
#include "runtime/core/Wire.h"

#include <algorithm>
#include <arpa/inet.h>
#include <cassert>
#include <cerrno>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace coll {

static constexpr uint32_t tcpMagic = 0x7063'7463; // "ctcp"
static constexpr size_t headBytes = 12;
static constexpr int pollSliceMs = 1000;

//===----------------------------------------------------------------------===//
// Addresses
//===----------------------------------------------------------------------===//

static bool isLoopbackAddress(const sockaddr *address) {
  if (address->sa_family == AF_INET) {
    in_addr host = reinterpret_cast<const sockaddr_in *>(address)->sin_addr;
    return (ntohl(host.s_addr) >> 24) == 127;
  }
  return address->sa_family == AF_INET6 &&
         IN6_IS_ADDR_LOOPBACK(
             &reinterpret_cast<const sockaddr_in6 *>(address)->sin6_addr);
}

Status TcpAddress::resolve(const std::string &text, TcpAddress &result) {
  size_t colon = text.rfind(':');
  std::string host = text.substr(0, colon);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']')
    host = host.substr(1, host.size() - 2);
  if (colon == std::string::npos || host.empty() || colon + 1 == text.size())
    return Status::error(COLL_INVALID, "'%s' is not HOST:PORT", text.c_str());
  addrinfo hints = {}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  int failure =
      getaddrinfo(host.c_str(), text.c_str() + colon + 1, &hints, &found);
  if (failure != 0)
    return Status::error(COLL_INVALID, "'%s' cannot be resolved: %s",
                         text.c_str(), gai_strerror(failure));
  std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(found, freeaddrinfo);
  result.text = text;
  std::span bytes(reinterpret_cast<const std::byte *>(found->ai_addr),
                  found->ai_addrlen);
  result.sockaddrBytes.assign(bytes.begin(), bytes.end());
  result.isLoopback = isLoopbackAddress(found->ai_addr);
  return Status::ok();
}

static UniqueFd openSocket(const TcpAddress &address) {
  sa_family_t family;
  std::memcpy(&family, address.sockaddrBytes.data(), sizeof family);
  return UniqueFd(
      ::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

static const sockaddr *sockaddrOf(const TcpAddress &address) {
  return reinterpret_cast<const sockaddr *>(address.sockaddrBytes.data());
}

Status listenTcp(const TcpAddress &address, UniqueFd &result) {
  UniqueFd fd = openSocket(address);
  int one = 1; // or the port of a job that has just ended stays taken
  if (!fd.isValid() ||
      setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) != 0)
    return Status::system(errno, "cannot create a TCP socket");
  if (bind(fd.get(), sockaddrOf(address),
           socklen_t(address.sockaddrBytes.size())) != 0) {
    if (errno == EADDRNOTAVAIL)
      return Status::error(COLL_INVALID,
                           "%s is not an address of this host, on which rank 0 "
                           "runs",
                           address.text.c_str());
    return Status::system(errno, "rank 0 cannot listen at %s",
                          address.text.c_str());
  }
  if (listen(fd.get(), SOMAXCONN) != 0)
    return Status::system(errno, "rank 0 cannot listen at %s",
                          address.text.c_str());
  result = std::move(fd);
  return Status::ok();
}

//===----------------------------------------------------------------------===//
// Streams
//===----------------------------------------------------------------------===//

/// One attempt; the errno of its failure, 0: connected.
static int tryConnect(const TcpAddress &address, Deadline deadline,
                      UniqueFd &result) {
  UniqueFd fd = openSocket(address);
  if (!fd.isValid())
    return errno;
  int failure = ::connect(fd.get(), sockaddrOf(address),
                          socklen_t(address.sockaddrBytes.size())) == 0
                    ? 0
                    : errno;
  while (failure == EINPROGRESS || failure == EINTR) {
    pollfd writable = {fd.get(), POLLOUT, 0};
    int ready = poll(&writable, 1, deadline.pollMs(pollSliceMs));
    if (ready == 0 && deadline.hasPassed())
      return ETIMEDOUT;
    if (ready <= 0)
      continue;
    socklen_t size = sizeof failure;
    if (getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &failure, &size) != 0)
      return errno;
  }
  if (failure == 0) {
    int one = 1;
    setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    result = std::move(fd);
  }
  return failure;
}

Status TcpStream::connect(const TcpAddress &address, Deadline deadline,
                          TcpStream &result) {
  unsigned pauseUs = 500;
  constexpr unsigned maxPauseUs = 50'000;
  while (true) {
    UniqueFd fd;
    int failure = tryConnect(address, deadline, fd);
    if (failure == 0) {
      result = TcpStream(std::move(fd));
      return Status::ok();
    }
    // Rank 0, or its host, may still be coming.
    bool mayCome = failure == ECONNREFUSED || failure == ECONNRESET ||
                   failure == EHOSTUNREACH || failure == ENETUNREACH ||
                   failure == ETIMEDOUT || failure == EAGAIN;
    if (!mayCome)
      return Status::system(failure, "cannot connect to rank 0 at %s",
                            address.text.c_str());
    if (deadline.hasPassed())
      return Status::error(COLL_TIMEOUT,
                           "rank 0 never came: nothing listens at %s",
                           address.text.c_str())
          .withPeer(0);
    usleep(pauseUs);
    pauseUs = std::min(2 * pauseUs, maxPauseUs);
  }
}

Status TcpStream::send(uint16_t kind, std::span<const std::byte> bytes,
                       Deadline deadline) {
  assert(bytes.size() <= maxBytes);
  WireWriter writer;
  writer.write<uint32_t>(tcpMagic)
      .write<uint16_t>(kind)
      .write<uint16_t>(0)
      .write<uint32_t>(uint32_t(bytes.size()))
      .writeBytes(bytes);
  std::span<const std::byte> rest = writer.bytes();
  while (!rest.empty()) {
    ssize_t sent = ::send(fd.get(), rest.data(), rest.size(), MSG_NOSIGNAL);
    if (sent >= 0) {
      rest = rest.subspan(size_t(sent));
      continue;
    }
    if (errno == EINTR)
      continue;
    if (errno != EAGAIN)
      return Status::error(COLL_PEER_LOST, "the connection has closed");
    if (deadline.hasPassed())
      return Status::error(COLL_TIMEOUT, "the other end does not read");
    pollfd writable = {fd.get(), POLLOUT, 0};
    poll(&writable, 1, deadline.pollMs(pollSliceMs));
  }
  return Status::ok();
}

TcpStream::Received TcpStream::receive(TcpMessage &message) {
  while (true) {
    size_t wanted = headBytes;
    if (input.size() >= headBytes) {
      WireReader reader(input);
      uint32_t magic = reader.read<uint32_t>();
      uint16_t kind = reader.read<uint16_t>();
      uint16_t reserved = reader.read<uint16_t>();
      uint32_t bytes = reader.read<uint32_t>();
      if (magic != tcpMagic || reserved != 0 || bytes > maxBytes)
        return Received::Malformed;
      wanted += bytes;
      if (input.size() == wanted) {
        message.kind = kind;
        message.bytes.assign(input.begin() + headBytes, input.end());
        input.clear();
        return Received::Message;
      }
    }
    size_t have = input.size();
    input.resize(wanted);
    ssize_t got;
    do
      got = recv(fd.get(), input.data() + have, wanted - have, 0);
    while (got < 0 && errno == EINTR);
    input.resize(have + size_t(std::max<ssize_t>(got, 0)));
    if (got == 0)
      return Received::Closed;
    if (got < 0)
      return errno == EAGAIN ? Received::Nothing : Received::Closed;
  }
}

Status TcpStream::await(Deadline deadline, TcpMessage &message) {
  while (true) {
    switch (receive(message)) {
    case Received::Message:
      return Status::ok();
    case Received::Closed:
      return Status::error(COLL_PEER_LOST, "the connection has closed");
    case Received::Malformed:
      return Status::error(COLL_SYSTEM, "the other end is no rank of coll");
    case Received::Nothing:
      break;
    }
    if (deadline.hasPassed())
      return Status::error(COLL_TIMEOUT, "no answer");
    pollfd readable = {fd.get(), POLLIN, 0};
    poll(&readable, 1, deadline.pollMs(pollSliceMs));
  }
}

} // namespace coll
