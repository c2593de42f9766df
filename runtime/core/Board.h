//===- Board.h - What every rank of a host can see of a rank ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each rank of a communicator owns one sealed memory, mapped by all its peers
// before the communicator is ready:
//
//   first page   the abort word; peers may write it, and nothing else
//   rest         peers map it read-only:
//                  error     the error that this rank found first
//                  records   a ring of the last 64 launches
//                  split     the last split
//                  blocks    coll_block lines, which kernels write
//                  positions where a waiting block stands, as text
//
// All that a report needs lies here as text or plain numbers, so a rank can be
// named, and placed in its .coll source, after it has died.  Records and
// positions are guarded by a version (odd: being written), so a reader never
// waits for a dead writer: it takes what it gets as torn and says so.
//
//===----------------------------------------------------------------------===//
#ifndef COLL_RUNTIME_CORE_BOARD_H
#define COLL_RUNTIME_CORE_BOARD_H

#include "coll/abi.h"
#include "runtime/core/BoardRecords.h"
#include "runtime/core/Clock.h"
#include "runtime/core/Memory.h"
#include "runtime/core/Status.h"
#include "runtime/core/Versioned.h"

#include <atomic>
#include <span>
#include <string_view>

namespace coll {

/// Most blocks that the plans of a lane may have; more is refused.
inline constexpr uint32_t kMaxBlocks = COLL_MAX_BLOCKS;
/// Launches remembered per rank.
inline constexpr uint32_t kBoardRecords = 64;

/// The host or the device that a rank runs on.
struct DeviceMark {
  enum Kind : uint32_t { Unknown, Host, Cuda };
  uint32_t kind = Unknown;
  char uuid[16] = {};
  bool operator==(const DeviceMark &) const = default;
};

/// Copies text into a fixed field, cut and zero-terminated.
void copyText(char *field, size_t bytes, std::string_view text);

class Board {
public:
  Board() = default;

  /// This rank's own board and the descriptor to hand to peers.
  static Status create(int rank, int nranks, UniqueFd &fd, Board &board);
  /// A peer's, checked: seals, size, layout, and that it is this rank's.
  static Status open(const UniqueFd &fd, int rank, int nranks, Board &board);

  //===-- Any rank's --------------------------------------------------------//

  /// 0, or 1 + the rank on whose board the error stands.
  std::atomic<uint32_t> &abortWord() const;
  /// Sets the abort word unless it is set.
  void abort(int originRank) const;
  /// The error that stands on this board; false: none.
  bool readError(Error &error) const;

  /// Number of the last launch begun and finished, 0: none.
  uint64_t entered() const;
  uint64_t finished() const;
  uint64_t finishedNs() const;
  enum class Read { Ok, Absent, Torn };
  Read readLaunch(uint64_t launch, LaunchRecord &record) const;
  Read readPosition(uint32_t block, Position &position) const;
  Read readSplit(SplitRecord &record) const;
  /// coll_block.progress of a block, as last written.
  uint64_t progress(uint32_t block) const;
  /// Where the rank runs; kind 0: it has not said so yet.
  DeviceMark deviceMark() const;
  /// What a peer finds at `address` of this rank's process if the kernel lets
  /// it, and may write there again, one word further on.
  struct Probe {
    uint64_t address, value;
  };
  Probe probe() const;
  /// Does the rank reach the memory of all its peers?
  bool reachesAll() const;
  /// Whether the rank takes and gives lines (LL128); None: it has not said so.
  enum class Lines : uint32_t { None, No, Yes };
  Lines lines() const;

  //===-- The own rank's ----------------------------------------------------//

  /// coll_block[kMaxBlocks] for coll_inst.blocks: all plans of a lane share
  /// them, since its launches have one order.
  coll_block *blocks() const;
  /// Writes the record down and makes it the last launch begun.  The number of
  /// the next launch is entered() + 1.  Called by the launching thread only.
  void enterLaunch(const LaunchRecord &record);
  /// The same, when the record of kBoardRecords launches before has the same
  /// texts: they are not written again.
  void enterAgain(const LaunchRecord &record);
  /// Marks the last launch begun as finished.
  void leaveLaunch();
  /// Before its first message, by the thread that calls.
  void enterSplit(const SplitRecord &record);
  /// Says where a block waits (by its own thread, when a wait has outlived its
  /// spinning) and, with a default Position, that it goes on.
  void publishPosition(uint32_t block, const Position &position);
  /// Says where this rank runs, once.
  void publishDevice(const DeviceMark &mark);
  void publishReach();
  void publishLines(bool has);
  /// The abort word and coll_block[], for a device to reach.
  std::span<std::byte> abortMemory() const;
  std::span<std::byte> bodyMemory() const;
  /// Puts an error on the board, once; peers find it by the abort word.
  void publishError(const Error &error);

private:
  static constexpr size_t errorTextBytes = 16000;
  struct Layout;
  Layout *layout() const { return static_cast<Layout *>(body.get()); }
  static size_t layoutBytes();

  MappedMemory abortPage, body;
};

/// The read-only part.  All of it starts as zeros.
struct Board::Layout {
  uint64_t magic;
  uint32_t layoutBytes;
  int32_t rank, nranks;
  alignas(64) std::atomic<uint64_t> entered;
  std::atomic<uint64_t> finished, finishedNs;
  alignas(64) std::atomic<uint32_t> hasError;
  int32_t errorStatus, errorRank, errorPeer;
  char errorWhere[128];
  char errorText[errorTextBytes];
  alignas(64) std::atomic<uint32_t> deviceKind;
  char deviceUuid[sizeof DeviceMark::uuid];
  uint64_t probeAddress, probeValue, probeEcho;
  std::atomic<uint32_t> reachesAll, lines;
  alignas(64) Versioned<SplitRecord> split;
  alignas(64) Versioned<LaunchRecord> records[kBoardRecords];
  alignas(64) coll_block blocks[kMaxBlocks];
  alignas(64) Versioned<Position> positions[kMaxBlocks];
};

// On the path of every launch.

inline std::atomic<uint32_t> &Board::abortWord() const {
  return *static_cast<std::atomic<uint32_t> *>(abortPage.get());
}

inline uint64_t Board::entered() const {
  return layout()->entered.load(std::memory_order_acquire);
}

inline coll_block *Board::blocks() const { return layout()->blocks; }

inline void Board::enterAgain(const LaunchRecord &record) {
  Layout &page = *layout();
  page.records[record.launch % kBoardRecords]
      .writeStart<offsetof(LaunchRecord, plan)>(record);
  page.entered.store(record.launch, std::memory_order_release);
}

inline void Board::leaveLaunch() {
  Layout &page = *layout();
  page.finishedNs.store(coarseNs(), std::memory_order_relaxed);
  page.finished.store(page.entered.load(std::memory_order_relaxed),
                      std::memory_order_release);
}

} // namespace coll

#endif // COLL_RUNTIME_CORE_BOARD_H
