//===- Environment.h - What the environment says ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Environment.cpp is the one file of the runtime that reads environment
// variables (and what the host offers: processors, quota).  It is read once per
// communicator, when that is made; everything else takes the values from here.
//
//   COLL_DEBUG         WARN | INFO: say on stderr what was found
//   COLL_DEADLINE      seconds a wait may last        (coll_config wins)
//   COLL_INIT_DEADLINE seconds an init may last       (coll_config wins)
//   COLL_SLOT_BYTES, COLL_SLOTS, COLL_SMALL_BYTES, COLL_SMALL_SLOTS
//                      sizes of the rings; rank 0's values hold for all
//   COLL_SPIN          pauses before a wait yields    (default: by cores)
//   COLL_ISA           v2 | v3 | v4 | aarch64
//   COLL_NT            0 | 1 | auto: stores past the caches (default: as
//                      rank 0 measures)
//   COLL_CMA           0 | 1 | auto: memory of other processes by the kernel
//                      (default: as rank 0 measures, and launches show)
//   COLL_LL128         0 | 1 | auto: messages of lines between devices
//                      (default: by chip and links); any rank's 0 holds for all
//   COLL_TRANSPORT     shm
//   COLL_TUNE          file of rules from which the standard collectives choose
//   COLL_ALLREDUCE and the like (COLL_ and the collective's name)
//                      SCHEDULE or SCHEDULE:PROTOCOL; see Selection.h
//   COLL_DEVICE        host | cuda | cuda:N           (coll_config wins)
//   COLL_MULTICAST     MiB of coll_mem_alloc that devices reach by multicast;
//                      0: none
//   COLL_DIR           directory for rendezvous       (default /tmp/coll-UID)
//   COLL_SECRET, COLL_TRUSTED_NETWORK                 (rendezvous over TCP)
// and the variables of the launchers, see Launcher.
//
//===----------------------------------------------------------------------===//
#ifndef COLL_RUNTIME_CORE_ENVIRONMENT_H
#define COLL_RUNTIME_CORE_ENVIRONMENT_H

#include "coll/abi.h"
#include "runtime/core/Selection.h"
#include "runtime/core/Status.h"

#include <array>
#include <optional>

namespace coll {

/// Most ranks of a communicator.
inline constexpr int kMaxRanks = 65536;

inline constexpr uint32_t kMaxSmallSlots = COLL_MAX_SMALL_SLOTS;

/// Sizes of the rings of a lane, the same on all its ranks.
struct RingSizes {
  uint32_t slotBytes = 64 << 10; ///< payload of a bulk slot, multiple of 64
  uint32_t slots = 8;            ///< power of two, 1 .. COLL_MAX_SLOTS
  uint32_t smallBytes = 2 << 10; ///< payload of a small slot, multiple of 16
  uint32_t smallSlots = 32;      ///< power of two, 1 .. kMaxSmallSlots

  /// Says which bound is broken.
  Status check() const;
};

/// Processors that this process may use, as far as the first 1024.
using CpuMask = std::array<uint64_t, 16>;

enum class DebugLevel { None, Warn, Info };

struct Environment {
  RingSizes rings;
  DebugLevel debug = DebugLevel::None;
  std::optional<uint64_t> deadlineNs, initDeadlineNs; ///< COLL_*, if set
  std::optional<uint32_t> spin;                       ///< COLL_SPIN, if set
  std::optional<uint32_t> isa;                        ///< COLL_ISA_*, if set
  std::optional<bool> nonTemporal;                    ///< COLL_NT, if set
  std::optional<bool> processMemory;                  ///< COLL_CMA, if set
  std::optional<bool> lines;                          ///< COLL_LL128, if set
  Selection selection;  ///< COLL_TUNE, COLL_ALLREDUCE and the like
  std::string tuneFile; ///< COLL_TUNE or ""
  /// Number of a CUDA device, COLL_DEVICE_BY_RANK, or none: the host.
  std::optional<int> device;
  uint64_t multicastBytes = uint64_t(1) << 30; ///< COLL_MULTICAST
  std::string directory; ///< for rendezvous sockets; may not exist yet
  std::string secret;    ///< COLL_SECRET or ""
  bool trustedNetwork = false;
  CpuMask cpus = {};       ///< affinity mask
  uint32_t quotaCores = 0; ///< cgroup quota, rounded up; 0: none
};

/// Reads and checks all of the above; an error names the variable.
Status readEnvironment(Environment &environment);

/// What a launcher says about this process.
struct Launcher {
  std::string name; ///< "COLL_RANK", "torchrun", "Open MPI", "PMI", "Slurm"
  int rank = -1, nranks = 0;
  /// The same text on all ranks of the job and on no other job of this user.
  std::string job;
  std::string title; ///< how errors call the job
  /// "HOST:PORT" where rank 0 listens, or "": the ranks meet by `job` alone.
  std::string address;
};

/// Finds the launcher, in this order: COLL_RANK, COLL_NRANKS with COLL_JOB or
/// COLL_ADDRESS; torchrun; Open MPI; PMI (MPICH); Slurm.
/// COLL_INVALID names the variable that is missing, malformed or contradictory,
/// and says so when the ranks are not all on this host.
Status readLauncher(Launcher &launcher);

} // namespace coll

#endif // COLL_RUNTIME_CORE_ENVIRONMENT_H
