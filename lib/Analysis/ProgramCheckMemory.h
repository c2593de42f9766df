//===- ProgramCheckMemory.h - Memory of the checked ranks -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What every location of every rank holds, and who touched it last. Chunks of a
// buffer are other bytes in every round; scratch is the same memory again. In
// place, the two parts of a pair are one.
//
// Happens-before is a clock per block of a rank: how many steps of every block
// of that rank are known to have finished. Blocks of other ranks are looked at
// only for the conflicts that this leaves open: a search backward through
// program order, waits and messages, over events in the order in which they
// were run.
//
//===----------------------------------------------------------------------===//
#ifndef COLL_LIB_ANALYSIS_PROGRAMCHECKMEMORY_H
#define COLL_LIB_ANALYSIS_PROGRAMCHECKMEMORY_H

#include "lib/Analysis/ProgramCheck.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"

#include <optional>

namespace coll::check {

/// What a location or a message holds.
struct Content {
  TermId term = kNone; ///< kNone: nothing
  ElemType type = ElemType::T;
  uint32_t size = 0, chunk = 0;
};

/// A step of a block, in one round: the n-th that the block finishes.
struct Event {
  uint32_t block = kNone; ///< counted over all ranks
  uint32_t number = 0;
};

/// The memory of one variant of one member.
class Memory {
public:
  Memory(const ProgramSet &programs, uint32_t member, Variant variant,
         uint32_t rounds);

  /// kNone: the rank has no such location. Tokens' slots are memory here.
  uint32_t find(Rank rank, const Location &location, bool isToken,
                uint32_t round);
  Content &operator[](uint32_t at) { return contents[at]; }
  bool hasBuffer(Rank rank, uint32_t buffer) const;
  uint32_t chunksOf(Rank rank, uint32_t buffer, uint32_t part) const;
  /// The location is (also) one of `out`.
  bool isOut(Rank rank, const Location &location) const;

private:
  const ProgramSet &programs;
  const ProgramMember &member;
  std::vector<uint32_t> base;      // by rank and buffer: of the first round
  std::vector<uint32_t> stride;    // by buffer: chunks of a part
  std::vector<uint32_t> roundSize; // by rank
  std::vector<uint32_t> scratch, slots; // by rank: the first, how many
  llvm::DenseMap<std::pair<uint64_t, uint32_t>, std::pair<uint32_t, uint32_t>>
      alias; // (rank, buffer), part -> buffer, part
  llvm::DenseMap<std::pair<uint64_t, uint32_t>, uint32_t> tokenSlots;
  std::vector<Content> contents;
};

/// An access that was come to before, and not in any order.
struct Conflict {
  Event event;
  bool isWrite;
};

/// Order between steps of different blocks, for ranks that have several.
class Order {
public:
  explicit Order(const std::vector<RankProgram> &ranks, uint32_t maxSearch);
  /// A step starts: it comes after these. Returns its number.
  Event begin(Rank rank, uint32_t block, llvm::ArrayRef<Event> after);
  /// The conflicting access of another block that nothing orders before this
  /// one.
  std::optional<Conflict> touch(Rank rank, uint32_t location, Event event,
                                bool isWrite);
  bool isTracked(Rank rank) const { return tracked[rank]; }
  uint32_t blockAt(Rank rank, uint32_t block) const {
    return firstBlock[rank] + block;
  }
  uint32_t blockOfRank(uint32_t block) const {
    return block - firstBlock[rankOf[block]];
  }

private:
  struct Access {
    Event write;
    llvm::SmallVector<Event, 2> reads; // since, one per block
  };
  bool isBefore(Event earlier, Event later);
  bool isReachable(Event earlier, Event later);
  uint32_t width(uint32_t block) const {
    return firstBlock[rankOf[block] + 1] - firstBlock[rankOf[block]];
  }

  std::vector<uint32_t> firstBlock; // by rank
  std::vector<Rank> rankOf;         // by block
  std::vector<bool> tracked;        // by rank
  bool anyTracked = false;
  uint32_t searchesLeft;
  // By block: the clocks after each of its steps, `width` numbers each; the
  // order of execution; and what came before (program order apart).
  std::vector<std::vector<uint32_t>> clocks;
  std::vector<std::vector<uint64_t>> executed;
  std::vector<std::vector<llvm::SmallVector<Event, 1>>> causes;
  uint64_t next = 0;
  llvm::DenseMap<uint32_t, Access>
      accesses; // by location: all ranks' are numbered together
};

} // namespace coll::check

#endif // COLL_LIB_ANALYSIS_PROGRAMCHECKMEMORY_H
