//===- Frame.h - One message on a unix socket -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A frame is one packet of a SOCK_SEQPACKET connection: a head of fixed layout,
// up to 64 KiB, and up to 16 descriptors beside it.  Rendezvous and the control
// mesh speak frames and nothing else, and only this file parses them.
//
//===----------------------------------------------------------------------===//
#ifndef COLL_RUNTIME_CORE_FRAME_H
#define COLL_RUNTIME_CORE_FRAME_H

#include "runtime/core/Control.h"

namespace coll {

struct Frame {
  uint16_t kind = 0;
  uint64_t key = 0;
  Message message;
};

enum class FrameResult {
  Ok,
  WouldBlock, ///< nothing there, or no room
  Closed,     ///< the other end is gone
  Failed      ///< `status` says how
};

/// Parses a packet's bytes; `nfds` descriptors came beside it.  COLL_NO_MEMORY
/// when some are missing, which is this process's fault; COLL_SYSTEM when it is
/// no frame.
Status parseFrame(std::span<const std::byte> packet, size_t nfds, Frame &frame);

/// Takes one frame; never blocks.
FrameResult receiveFrame(int socket, Frame &frame, Status &status);

/// Sends one frame; never blocks; `fds` are borrowed.
FrameResult sendFrame(int socket, uint16_t kind, uint64_t key,
                      std::span<const std::byte> bytes,
                      std::span<const int> fds, Status &status);

/// The same, waiting for room.  WouldBlock: the deadline has passed, or
/// `shouldStop`, which is asked at first and then every 50 ms, has said so.
FrameResult sendFrameUntil(int socket, uint16_t kind, uint64_t key,
                           std::span<const std::byte> bytes,
                           std::span<const int> fds, Deadline deadline,
                           Status &status,
                           const std::function<bool()> &shouldStop = nullptr);

} // namespace coll

#endif // COLL_RUNTIME_CORE_FRAME_H
