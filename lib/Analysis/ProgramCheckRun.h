//===- ProgramCheckRun.h - Running programs on terms ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One greedy run of one variant of one member. Programs are deterministic and
// every channel has one writer and one reader, so this run speaks for all; what
// it cannot speak for, two blocks on one location, is reported as a race.
//
//===----------------------------------------------------------------------===//
#ifndef COLL_LIB_ANALYSIS_PROGRAMCHECKRUN_H
#define COLL_LIB_ANALYSIS_PROGRAMCHECKRUN_H

#include "lib/Analysis/ProgramCheckMemory.h"
#include "lib/Analysis/Terms.h"

namespace coll::check {

/// Terms of the checker: those of the chunk graph, and three things that values
/// of the graph leave implicit. An `in` leaf that nobody has multiplied yet is
/// a leaf of buffer b + n; in round i of the program leaves are of buffer b +
/// 2ni; avg's division is a function of its own.
class CheckTerms {
public:
  CheckTerms(const ProgramSet &programs, uint32_t member,
             const ChunkGraph *graph, uint32_t rounds);
  TermTable table;
  const uint32_t numBuffers, numRanks;
  static constexpr uint16_t averageFunction = UINT16_MAX;

  /// What lies in memory at the start.
  TermId rawLeaf(Rank rank, const Cell &cell, uint32_t round);
  /// The number that reading it gives: kNone if `term` is no raw leaf.
  TermId scaledLeaf(TermId term);
  bool isScaled(uint32_t buffer) const { return scaled[buffer]; }
  TermId result(const ValueExpr &expr, llvm::ArrayRef<TermId> operands,
                bool complete, ElemType type);
  /// The term of every value of the graph in a round; without `complete`, as
  /// the graph itself has it.
  std::vector<TermId> evaluate(const ChunkGraph &graph, uint32_t round,
                               bool withAverage);
  /// Both have the same tokens: order and repetition do not matter.
  bool haveSameLeaves(TermId a, TermId b) const;

private:
  std::vector<TermId> leavesOf(TermId term) const;
  std::vector<bool> scaled; // by buffer
};

struct ChannelTrace {
  uint64_t hash = 0; ///< of its messages, in order
  uint64_t messages = 0;
  bool operator==(const ChannelTrace &) const = default;
};

class Machine {
public:
  Machine(const ProgramSet &programs, uint32_t member, Variant variant,
          CheckTerms &terms, const ProgramCheckOptions &options,
          uint32_t rounds = 0);
  /// Runs all rounds. False: an error was recorded.
  bool run();
  Content contentOf(Rank rank, const Cell &cell, uint32_t round);

  std::vector<ProgramError> errors;
  struct Stored {
    Rank rank;
    Location location;
    uint32_t block, step;
  };
  std::vector<Stored> stored; // to out, in round 0
  llvm::DenseMap<std::pair<uint64_t, uint32_t>, ChannelTrace>
      traces; // (from, to), tag
  uint64_t steps = 0, messages = 0;
  /// As many as asked for; 0: as its blocks need. Messages of both variants are
  /// compared, and one may have fewer blocks.
  const uint32_t rounds;

private:
  struct Message {
    Content content;
    Event event;
    uint32_t block, step;
    SiteId site;
  };
  struct Fifo {
    Rank from, to;
    uint32_t tag, receiver = kNone,
                  sender = kNone; // blocks, counted over all ranks
    std::vector<Message> messages = {};
    size_t head = 0;
    ChannelTrace trace = {};
  };
  struct Block {
    Rank rank;
    uint32_t block;
    uint32_t round = 0, step = 0;
    bool isQueued = true;
  };
  bool validate();
  bool validateStep(Rank rank, uint32_t block, uint32_t step);
  bool connect();
  void initialise();
  void advance(Block &block);
  bool isReady(const Block &block, const Step &step) const;
  bool isIdle(const Block &block, const Step &step) const;
  bool execute(Block &block, const Step &step);
  bool load(const Block &block, const Step &step, const Port &port, Event event,
            TermId &term);
  bool receive(const Block &block, const Step &step, const Port &port,
               TermId &term);
  bool scale(const Block &block, const Port &port, bool isScaled, TermId &term);
  bool store(const Block &block, const Step &step, const Port &port,
             Event event, TermId term);
  void send(const Block &block, const Step &step, const Port &port, Event event,
            TermId term);
  bool finish();
  bool fail(ProgramError::Kind kind, Rank rank, uint32_t block, uint32_t step,
            const char *detail = "");
  bool failAt(const Block &block, ProgramError::Kind kind, const Port &port,
              const char *detail = "");
  bool raceAt(const Block &block, const Port &port, Conflict other);
  void wake(uint32_t block);
  const Step &stepAt(const Block &block) const {
    return ranks[block.rank].blocks[block.block].steps[block.step];
  }

  const ProgramSet &programs;
  const ProgramMember &member;
  uint32_t memberIndex;
  Variant variant;
  const std::vector<RankProgram> &ranks;
  CheckTerms &terms;
  Memory memory;
  Order order;
  std::vector<Block> blocks;
  std::vector<uint32_t> firstBlock; // by rank
  std::vector<Fifo> fifos;
  std::vector<std::vector<uint32_t>> sendFifos, recvFifos; // by rank and end
  std::vector<uint32_t> queue;
  uint32_t openRounds = 1; // may be run
  /// By rank and port: see unorderedReceives. Empty: nothing goes direct.
  std::vector<std::vector<bool>> unordered;
  llvm::SmallVector<TermId, 8> operands, sources;
};

uint32_t roundsToRun(const std::vector<RankProgram> &ranks);

/// Two blocks of a rank that touch one location, with an order between them
/// only as long as nothing goes direct. Of programs that are right in the ring.
std::optional<ProgramError> lostOrder(const ProgramSet &programs,
                                      uint32_t member);

/// What checkDirect finds.
std::vector<ProgramError> directErrors(const ProgramSet &programs,
                                       uint32_t member, uint32_t maxErrors);
/// Messages may go direct, and the programs do not run on the slots that are
/// there however batches of credits are aligned.
bool needsAlignment(const ProgramSet &programs, uint32_t member,
                    Variant variant, const FifoShape &fifo);

} // namespace coll::check

#endif // COLL_LIB_ANALYSIS_PROGRAMCHECKRUN_H
