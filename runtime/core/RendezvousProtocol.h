//===- RendezvousProtocol.h - What ranks say when they meet -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COLL_RUNTIME_CORE_RENDEZVOUSPROTOCOL_H
#define COLL_RUNTIME_CORE_RENDEZVOUSPROTOCOL_H

#include "runtime/core/Frame.h"
#include "runtime/core/Host.h"
#include "runtime/core/Rendezvous.h"

#include <sys/un.h>

namespace coll {

/// Changes with anything that ranks of one job must agree on: the messages
/// below, Board's layout, the ABI.
inline constexpr uint32_t kProtocolVersion = 3;

enum RendezvousKind : uint16_t {
  HelloKind = 1,
  WelcomeKind,
  PeerKind,
  ReadyKind,
  GoKind,
  RefuseKind
};

/// A process, as others see it.
struct ProcessName {
  int pid = 0;
  uint64_t pidNamespace = 0; ///< inode of /proc/self/ns/pid, 0: unknown

  static ProcessName own();
  /// The pid if it means something in this process's namespace, else 0.
  int visiblePid() const;
};

struct Hello {
  uint32_t version = kProtocolVersion;
  int32_t rank = 0, nranks = 0;
  ProcessName process;
  HostId host = {};
  uint32_t quotaCores = 0;
  uint32_t isa = 0; ///< COLL_ISA_* of the best kernels that it runs
  CpuMask cpus = {};
  uint64_t selection = 0; ///< Selection::digest()

  static Hello own(const MeetingRequest &request);
  std::vector<std::byte> encode() const;
  static bool decode(std::span<const std::byte> bytes, Hello &hello);
};

struct Welcome {
  RingSizes rings;
  uint32_t hostCores = 1;
  uint32_t commonIsa = 0; ///< the least of all ranks
  bool streams = false;
  bool remotePays = false;
  uint64_t id = 0;

  std::vector<std::byte> encode() const;
  static bool decode(std::span<const std::byte> bytes, Welcome &welcome);
};

struct PeerNote {
  int32_t rank = 0;
  ProcessName process;

  std::vector<std::byte> encode() const;
  static bool decode(std::span<const std::byte> bytes, PeerNote &note);
};

std::vector<std::byte> encodeRefusal(const Status &status);
/// The refusal's error; an error of its own if it is malformed.
Status decodeRefusal(std::span<const std::byte> bytes);

/// Sends and takes one frame, waiting for room or for it until the deadline.
/// COLL_PEER_LOST when the other end has closed.
Status putFrame(int socket, uint16_t kind, std::span<const std::byte> bytes,
                std::span<const int> fds, Deadline deadline);
Status takeFrame(int socket, Deadline deadline, Frame &frame);

/// The address of the socket; COLL_INVALID when COLL_DIR is too long for one.
Status socketAddress(const MeetingRequest &request, sockaddr_un &address);
/// Makes the directory and the socket in it, and listens.  COLL_INVALID when
/// another rank 0 does so already.  The caller removes the name.
Status openListener(const MeetingRequest &request, sockaddr_un &address,
                    UniqueFd &listener);
/// The user and process at the other end.
Status peerCredentials(int socket, unsigned &uid, int &pid);

/// What accept's failure means to a root: most often that nobody is there, or
/// has gone again.  Not being able to accept is an error.
Status acceptStatus(int errnoValue);

/// A pidfd of this process; invalid where the kernel has none.
UniqueFd openOwnPidfd();

Status meetAsRoot(const MeetingRequest &request);
Status meetAsGuest(const MeetingRequest &request);

} // namespace coll

#endif // COLL_RUNTIME_CORE_RENDEZVOUSPROTOCOL_H
