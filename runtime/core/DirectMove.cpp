//===- DirectMove.cpp - Messages that the kernel moves --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Who owns a region that is in no window posts its address (coll_buf.win with
// number 0), if all peers reach this process. A peer that is a thread of it
// uses the address as it is. Others come here:
//
//   a step that only moves      coll_kernel_move, all of it at once, from
//   buffer
//                               to buffer
//   others, slice by slice      a get: coll_kernel_window reads into memory of
//                               this end's own, which stays in the caches, and
//                               the step computes from there; a put: the step
//                               stores into such memory, and coll_kernel_move
//                               brings it over
//
// The order of both is that of any direct message (docs/Runtime.md): nothing is
// written before rtr, read before avail, and neither after dtail and ack.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/Lane.h"
#include "runtime/core/RemoteMemory.h"
#include "runtime/core/Wait.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace coll {
namespace {

/// Moved by one call: a millisecond, where it is slow. A call itself costs one
/// or two microseconds.
constexpr uint64_t pieceBytes = 4 << 20;

class Mover {
public:
  Mover(const coll_inst *inst, uint32_t block, const coll_end *end,
        uint64_t progress)
      : inst(PlanInstance::of(inst)), lane(*this->inst.lane), comm(lane.comm()),
        block(block), end(*end), progress(progress), peer(end->peer) {}

  /// What the peer has posted, and where.
  uint64_t posted(bool isPut) const {
    return isPut ? credit().rtr_win : line().avail_win;
  }
  bool isRemote(uint64_t win) const {
    return win != 0 && win >> 48 == 0 && window(0).bytes == 0;
  }
  std::byte *stopover(bool isPut) const {
    auto first = reinterpret_cast<const coll_end *>(inst.recv_ends);
    return lane.stopovers().slot(isPut ? block
                                       : inst.nblocks + size_t(&end - first));
  }
  uint32_t await(const coll_args &args, bool isPut) const;
  bool move(bool isPut, uint64_t remote, std::byte *local, uint64_t bytes);
  void publish(uint64_t messages) const;
  void refuse(uint64_t win) const;

private:
  const coll_credit_line &credit() const {
    return *reinterpret_cast<const coll_credit_line *>(end.credit);
  }
  coll_ring_line &line() const {
    return *reinterpret_cast<coll_ring_line *>(end.line);
  }
  coll_seq &seq() const { return *reinterpret_cast<coll_seq *>(end.seq); }
  const coll_window &window(uint64_t number) const {
    return reinterpret_cast<const coll_window *>(
        inst.wins)[number * inst.nranks + uint64_t(peer)];
  }
  uint64_t position(uint64_t state) const {
    return progress | state << 60 | uint64_t(peer);
  }
  void fail(Status status) const {
    (void)endAt(&inst, block, position(COLL_STATE_IDLE), std::move(status));
  }
  Status describe(int error, bool isPut, uint64_t remote) const;

  const PlanInstance &inst;
  Lane &lane;
  Communicator &comm;
  const uint32_t block;
  const coll_end &end;
  const uint64_t progress;
  const int peer;
};

/// As coll_kernel_remote says.
uint32_t Mover::await(const coll_args &args, bool isPut) const {
  const uint64_t *word = isPut ? &credit().rtr : &line().avail;
  const uint64_t ring = 2 * seq().launches, open = ring + 1;
  uint64_t have;
  while ((have = __atomic_load_n(word, __ATOMIC_ACQUIRE)) < ring)
    if (coll_kernel_wait(
            &inst, block, word, ring - 1, COLL_WAIT_ABOVE,
            position(isPut ? COLL_STATE_WAIT_CREDIT : COLL_STATE_WAIT_DATA)))
      return 2;
  if (have != open || !isRemote(posted(isPut)))
    return 0;
  uint32_t theirs = uint32_t(isPut ? credit().rtr_sig : line().avail_sig);
  if (theirs == args.sig)
    return 1;
  (void)coll_kernel_mismatch(&inst, block, position(COLL_STATE_IDLE), args.sig,
                             theirs);
  return 2;
}

Status Mover::describe(int error, bool isPut, uint64_t remote) const {
  int pid = comm.control().peerPid(peer);
  bool isGone = comm.control().peerState(peer) == Control::PeerState::Lost;
  if (error == ESRCH || isGone)
    return Status::error(COLL_PEER_LOST,
                         "rank %d (pid %d) is gone: its memory cannot be %s",
                         peer, pid, isPut ? "written to" : "read");
  const char *why = error == EPERM ? "the kernel does not permit it any longer"
                    : error == EFAULT
                        ? "its buffer, or this rank's, is not mapped"
                        : strerror(error);
  return Status::error(
      COLL_SYSTEM, "memory of rank %d (pid %d) from %#llx on cannot be %s: %s",
      peer, pid, (unsigned long long)remote, isPut ? "written to" : "read",
      why);
}

/// False: leave.
bool Mover::move(bool isPut, uint64_t remote, std::byte *local,
                 uint64_t bytes) {
  const int pid = comm.control().peerPid(peer);
  for (uint64_t done = 0; done != bytes;) {
    if (comm.isAborted()) {
      fail(comm.status());
      return false;
    }
    uint64_t piece = std::min(bytes - done, pieceBytes);
    int error = isPut ? writeRemote(pid, remote + done, local + done, piece)
                      : readRemote(pid, remote + done, local + done, piece);
    if (error != 0) {
      fail(
          catchNoMemory([&] { return describe(error, isPut, remote + done); }));
      return false;
    }
    done += piece;
  }
  return true;
}

void Mover::publish(uint64_t messages) const {
  seq().direct += messages;
  __atomic_store_n(&line().dtail, seq().direct, __ATOMIC_RELEASE);
}

void Mover::refuse(uint64_t win) const {
  fail(catchNoMemory([&] {
    return Status::error(
        COLL_SYSTEM,
        "rank %d offers memory that it has not registered, or not as much of "
        "it: window %u from byte %llu on",
        peer, uint32_t(win >> 48),
        (unsigned long long)(win & (kAddressEnd - 1)));
  }));
}

} // namespace
} // namespace coll

using namespace coll;

void *coll_kernel_window(const coll_inst *inst, uint32_t block,
                         const coll_end *end, uint64_t progress, uint64_t win,
                         uint64_t offset, uint64_t bytes, uint32_t how) {
  Mover mover(inst, block, end, progress);
  const bool isPut = how == COLL_DIRECT_PUT;
  if (!mover.isRemote(win)) {
    mover.refuse(win);
    return nullptr;
  }
  std::byte *memory = mover.stopover(isPut);
  if (!isPut && !mover.move(isPut, win + offset, memory, bytes))
    return nullptr;
  return memory;
}

uint32_t coll_kernel_remote(const coll_inst *inst, uint32_t block,
                            const coll_args *args, const coll_end *end,
                            uint64_t progress, uint32_t how) {
  if (args->flags & COLL_ARGS_SMALL)
    return 0;
  return Mover(inst, block, end, progress).await(*args, how == COLL_DIRECT_PUT);
}

uint32_t coll_kernel_move(const coll_inst *inst, uint32_t block,
                          const coll_end *end, uint64_t progress,
                          uint64_t offset, uint64_t bytes, void *local,
                          uint64_t messages) {
  Mover mover(inst, block, end, progress);
  const bool isPut = messages != 0;
  auto *memory =
      local ? static_cast<std::byte *>(local) : mover.stopover(isPut);
  if (!mover.move(isPut, mover.posted(isPut) + offset, memory, bytes))
    return 1;
  if (isPut)
    mover.publish(messages);
  return 0;
}
