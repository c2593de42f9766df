//===- Frame.cpp - One message on a unix socket ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/core/Frame.h"
#include "runtime/core/Wire.h"

#include <cassert>
#include <cerrno>
#include <iterator>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace coll {

static constexpr uint32_t frameMagic = 0x6c6c'6f63; // "coll"

/// As it is sent, and as parseFrame reads it field by field.
struct FrameHead {
  uint32_t magic;
  uint16_t kind, nfds;
  uint64_t key;
  uint32_t bytes, reserved;
};
static constexpr size_t headBytes = sizeof(FrameHead);
static_assert(headBytes == 24);

Status parseFrame(std::span<const std::byte> packet, size_t nfds,
                  Frame &frame) {
  WireReader reader(packet);
  uint32_t magic = reader.read<uint32_t>();
  uint16_t kind = reader.read<uint16_t>();
  uint16_t fds = reader.read<uint16_t>();
  uint64_t key = reader.read<uint64_t>();
  uint32_t bytes = reader.read<uint32_t>();
  uint32_t reserved = reader.read<uint32_t>();
  if (!reader.isGood() || magic != frameMagic || reserved != 0)
    return Status::error(COLL_SYSTEM,
                         "a packet of %zu bytes is not a frame of coll",
                         packet.size());
  if (bytes != reader.remaining() || bytes > kMaxMessageBytes)
    return Status::error(COLL_SYSTEM,
                         "a frame of %zu bytes says that it has %u",
                         reader.remaining(), bytes);
  if (fds != nfds) // the kernel drops those that find no place
    return Status::error(COLL_NO_MEMORY,
                         "%zu of the %u descriptors of a frame arrived (raise "
                         "the limit: ulimit -n)",
                         nfds, unsigned(fds));
  frame.kind = kind;
  frame.key = key;
  frame.message.bytes.resize(bytes);
  reader.readBytes(frame.message.bytes);
  assert(reader.finish());
  return Status::ok();
}

/// Owns every descriptor that came with a packet, also of one to be refused or
/// to be lost for lack of memory; how many there are.
static size_t takeDescriptors(msghdr &head, std::span<UniqueFd> fds) {
  size_t taken = 0;
  for (cmsghdr *part = CMSG_FIRSTHDR(&head); part;
       part = CMSG_NXTHDR(&head, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS)
      continue;
    size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i != count; ++i) {
      int fd;
      std::memcpy(&fd, CMSG_DATA(part) + i * sizeof(int), sizeof fd);
      assert(taken != fds.size() && "there was room for so many only");
      fds[taken++].reset(fd);
    }
  }
  return taken;
}

FrameResult receiveFrame(int socket, Frame &frame, Status &status) {
  // Static per thread: 64 KiB is much for a stack of unknown size, and the
  // monitor receives all its life.
  thread_local std::vector<std::byte> buffer(headBytes + kMaxMessageBytes);
  alignas(cmsghdr) char space[CMSG_SPACE(kMaxMessageFds * sizeof(int))];
  iovec part = {buffer.data(), buffer.size()};
  msghdr head;
  ssize_t got;
  int resets = 0;
  do { // ECONNRESET hides what still lies in the queue: the next call gives it
    head = {};
    head.msg_iov = &part;
    head.msg_iovlen = 1;
    head.msg_control = space;
    head.msg_controllen = sizeof space;
    got = recvmsg(socket, &head, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  } while (got < 0 &&
           (errno == EINTR || (errno == ECONNRESET && resets++ == 0)));
  if (got < 0) {
    if (errno == EAGAIN || errno == EWOULDBLOCK)
      return FrameResult::WouldBlock;
    if (errno == ECONNRESET)
      return FrameResult::Closed;
    status = Status::system(errno, "cannot receive from a peer");
    return FrameResult::Failed;
  }
  if (got == 0)
    return FrameResult::Closed;
  UniqueFd fds[kMaxMessageFds];
  size_t numFds = takeDescriptors(head, fds);
  if (head.msg_flags & MSG_TRUNC) {
    status = Status::error(COLL_SYSTEM, "a peer sent more than %zu bytes",
                           buffer.size());
    return FrameResult::Failed;
  }
  Status parsed =
      parseFrame(std::span(buffer).first(size_t(got)), numFds, frame);
  if (!parsed.isOk()) {
    status = std::move(parsed);
    return FrameResult::Failed;
  }
  frame.message.fds.assign(std::make_move_iterator(fds),
                           std::make_move_iterator(fds + numFds));
  return FrameResult::Ok;
}

FrameResult sendFrame(int socket, uint16_t kind, uint64_t key,
                      std::span<const std::byte> bytes,
                      std::span<const int> fds, Status &status) {
  assert(bytes.size() <= kMaxMessageBytes && fds.size() <= kMaxMessageFds);
  FrameHead image = {
      frameMagic, kind, uint16_t(fds.size()), key, uint32_t(bytes.size()), 0};
  iovec parts[2] = {{&image, headBytes},
                    {const_cast<std::byte *>(bytes.data()), bytes.size()}};
  msghdr head = {};
  head.msg_iov = parts;
  head.msg_iovlen = bytes.empty() ? 1 : 2;
  alignas(cmsghdr) char space[CMSG_SPACE(kMaxMessageFds * sizeof(int))] = {};
  if (!fds.empty()) {
    head.msg_control = space;
    head.msg_controllen = CMSG_SPACE(fds.size_bytes());
    cmsghdr *rights = CMSG_FIRSTHDR(&head);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(fds.size_bytes());
    std::memcpy(CMSG_DATA(rights), fds.data(), fds.size_bytes());
  }
  ssize_t sent;
  do
    sent = sendmsg(socket, &head, MSG_DONTWAIT | MSG_NOSIGNAL);
  while (sent < 0 && errno == EINTR);
  if (sent >= 0)
    return FrameResult::Ok;
  switch (errno) {
  case EAGAIN:
  case ENOBUFS:
  case ETOOMANYREFS: // too many descriptors under way: they will arrive
    return FrameResult::WouldBlock;
  case EPIPE:
  case ECONNRESET:
  case ENOTCONN:
    return FrameResult::Closed;
  default:
    status = Status::system(errno, "cannot send to a peer");
    return FrameResult::Failed;
  }
}

FrameResult sendFrameUntil(int socket, uint16_t kind, uint64_t key,
                           std::span<const std::byte> bytes,
                           std::span<const int> fds, Deadline deadline,
                           Status &status,
                           const std::function<bool()> &shouldStop) {
  constexpr int sliceMs = 50; // how late an abort may be noticed here
  bool hadRoom = false;
  while (!shouldStop || !shouldStop()) {
    FrameResult sent = sendFrame(socket, kind, key, bytes, fds, status);
    if (sent != FrameResult::WouldBlock || deadline.hasPassed())
      return sent;
    if (hadRoom) // the socket is writable: descriptors under way are too many
      usleep(1000);
    pollfd writable = {socket, POLLOUT, 0};
    hadRoom = poll(&writable, 1, deadline.pollMs(sliceMs)) > 0;
  }
  return FrameResult::WouldBlock;
}

} // namespace coll
