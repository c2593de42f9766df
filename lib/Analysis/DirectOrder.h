//===- DirectOrder.h - What comes before what in every mixture --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Messages of a member as pairs of ports, and the order of steps that holds
// whichever of them go direct (DirectCheck.h).
//
//===----------------------------------------------------------------------===//
#ifndef COLL_LIB_ANALYSIS_DIRECTORDER_H
#define COLL_LIB_ANALYSIS_DIRECTORDER_H

#include "lib/Analysis/DirectCheck.h"

#include <array>
#include <map>
#include <set>

namespace coll::direct {

/// A step, and a port of it.
struct End {
  uint32_t block = kNone; ///< counted over all ranks
  uint32_t step = 0, port = 0;
};

struct Message {
  MessageId id;
  End send, recv;
  uint32_t size = 0, chunk = 0;
  Port::Direct direct = Port::None; ///< as both ends say
  /// As one of them says: the region's owner may decline.
  Port::Direct said = Port::None;
  bool ahead = false; ///< who moves it says so

  /// Who moves it, if it goes direct, and whose region it is.
  End mover() const { return said == Port::Get ? recv : send; }
  End owner() const { return said == Port::Get ? send : recv; }
};

/// One variant of one member. Its messages are in order of their ids.
class Run {
public:
  Run(const ProgramMember &member, Variant variant);

  struct BlockOf {
    Rank rank;
    uint32_t block; // of the rank
  };
  std::vector<BlockOf> blocks;
  std::vector<uint32_t> firstBlock; // by rank
  std::vector<Message> messages;
  const std::vector<RankProgram> &ranks;

  const RankProgram &programOf(uint32_t block) const {
    return ranks[blocks[block].rank];
  }
  const Step &stepAt(End end) const {
    return programOf(end.block).blocks[blocks[end.block].block].steps[end.step];
  }
  const Port &portAt(End end) const {
    return programOf(end.block).ports[end.port];
  }
};

/// Marks what may be moved ahead for the simplest of reasons: nothing else
/// touches what is stored to, and nothing stores to what is loaded from.
void markAhead(const ProgramSet &programs, ProgramMember &member);

/// Of the steps of a run, as messages of one chunk see it.
class Order {
public:
  /// `unordered`: messages that nobody waits for in the step that receives
  /// them, in some mixture. `hasVariants`: other ranks may be in the other
  /// variant, and wait in other ways.
  Order(const Run &run, const std::set<MessageId> &unordered, bool hasVariants,
        uint64_t maxWork);

  /// Whether all of step `a` that concerns an element of the chunk comes before
  /// step `b`. `inRing`: messages that use the ring, or null. False where
  /// `isCut`.
  bool isBefore(End a, End b, Rank owner,
                std::array<const Message *, 2> inRing);
  /// From now on of this chunk.
  void enter(uint32_t size, uint32_t chunk);
  bool isCut = false; ///< `maxWork` was not enough

private:
  struct Edge {
    uint32_t at; // step of the block that waits
    uint32_t block, step;
  };

  const Run &run;
  const std::set<MessageId> &unordered;
  const bool hasVariants;
  uint64_t workLeft;
  std::map<std::pair<uint32_t, uint32_t>, std::vector<uint32_t>>
      messagesOf;                       // by size and chunk
  std::vector<std::vector<Edge>> waits; // by block
  std::vector<std::vector<Edge>> edges; // by block, of the chunk
  std::vector<uint32_t> touched;        // blocks with edges
  std::vector<uint32_t> bounds, queued; // by block, of a search
};

} // namespace coll::direct

#endif // COLL_LIB_ANALYSIS_DIRECTORDER_H
