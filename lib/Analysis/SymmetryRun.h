//===- SymmetryRun.h - One slice of a schedule that turns -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Private to the check by symmetry. Executes a schedule as rank 0 sees it,
// beside a Machine that keeps locations, values, terms and promises.
//
// A loop over all N positions of a dimension of the ranks is run for position 0
// only: the others are the same, turned. Every element that a statement moves
// is turned to phase 0, so one slice of the locations is computed, with the
// ranks, cells and terms that the full execution would have there. The other
// slices are this one, turned: their terms are equal where these are, and keep
// their promises if these do.
//
// Iterations of such a loop follow each other in the schedule, and here they do
// not. So two of them may not touch the same location, unless all of them read
// it; positions that the body itself loops over are held to the same rule. The
// accesses tell: locations remember in which execution of the loop they were
// used, and from which phase.
//
// Whatever cannot be shown, a condition that differs between ranks, say, ends
// the attempt.
//
//===----------------------------------------------------------------------===//
#ifndef COLL_LIB_ANALYSIS_SYMMETRYRUN_H
#define COLL_LIB_ANALYSIS_SYMMETRYRUN_H

#include "lib/Analysis/ElaborateMachine.h"
#include "lib/Analysis/SymmetryCells.h"

#include "llvm/ADT/DenseSet.h"

namespace coll::elab {

/// Which dimension of the ranks a loop walks along, if it does, and whether
/// downwards. By loop.
struct LoopRole {
  uint8_t dim = SymmetryCells::stays;
  bool isDown = false;
};
std::vector<LoopRole> findLoopRoles(const Bytecode &code);

class SymmetryRun {
public:
  static constexpr unsigned maxActive = 3;
  enum class Outcome : uint8_t {
    Done,
    Excluded,
    Failed,      ///< the machine's sink knows
    Stuck,       ///< a region does not end
    Retry,       ///< with other phases
    NotSymmetric ///< see `why`
  };

  SymmetryRun(Machine &machine, SymmetryCells &cells,
              const std::vector<LoopRole> &roles, llvm::ArrayRef<bool> active,
              bool isLearning);
  Outcome run();

  /// What a process does with others; the distance is from sender to receiver.
  struct Op {
    ScriptOp::Kind kind;
    Rank distance = 0;
    SiteId site = kNone;
    std::vector<uint64_t> cells = {}; ///< read by a send, written by a receive
  };
  /// While learning: the operations of the region of this number, from 1.
  std::vector<Op> *script = nullptr;
  uint32_t scriptOf = 0;
  uint32_t numRegions() const { return regions; }
  /// Stuck: given the script of the last region.
  RegionFault explainStuck(llvm::ArrayRef<Op> script) const;
  Iterations stuckAt() const { return m.iterationsAt(frame, frame.pc); }
  /// What has failed does so in whatever order the ranks are run.
  bool isFailureCertain() const { return region || !isInOrbit(); }

  const char *why = "";
  unsigned blame = SymmetryCells::stays; ///< the dimension that does not turn

private:
  struct ReadUse {
    ViewUse view;
  };
  struct ExprUse {
    std::vector<ReadUse> reads;
    /// Operands of a fold come in an order that does not turn, and the result
    /// depends on it (isOrdered), or it does not matter.
    bool isOrdered = false, hasFree = false;
    void append(const ExprUse &other);
  };
  struct ActiveLoop {
    uint32_t loop;
    enum Mode : uint8_t { Plain, Orbit, Free } mode;
    uint8_t dim;
    uint32_t outerStamp;
  };
  /// Where in the loops over ranks an access is, by active dimension.
  struct Key {
    std::array<uint32_t, maxActive> epoch{}, stamp{}, phase{};
  };
  struct Accesses {
    Key write, read;
    uint8_t isReadMixed = 0; ///< bit per dimension
  };
  /// A read of an element, turned to the slice.
  struct Turned {
    uint32_t array, cell;
    Rank rank;
  };
  struct SentElement {
    ValueId value = kNone; ///< kNone: a leaf, `cell` of `array`
    Steps by;
    uint32_t array, cell;
  };
  struct Sent {
    std::vector<SentElement> elements;
    ViewUse use;
    bool hasVia;
    ElemType via;
    SiteId site;
  };
  struct Queue {
    QueueCounts counts;
    std::vector<Sent> messages; ///< by number
  };
  struct Posted {
    bool isSend;
    Rank offset;       ///< of the queue
    uint64_t sequence; ///< of its kind in the queue
    Statement st;
    View target;
    ViewUse use;
  };

  // SymmetryRun.cpp
  bool step();
  bool integer(const Instr &in);
  bool enterLoop(const Instr &in);
  bool nextLoop();
  bool other(const Instr &in);
  bool slice(const Instr &in);
  bool handle(const Instr &in) {
    return (m.*Machine::handlers[size_t(in.op)])(frame, in);
  }
  Seen seen(Reg reg) const { return {frame.ints[reg], turns[reg]}; }
  bool areFixed(RegList list) const;
  bool giveUp(const char *reason, unsigned dim = SymmetryCells::stays) {
    why = reason;
    blame = dim;
    return end(Outcome::NotSymmetric);
  }
  bool end(Outcome o) {
    outcome = o;
    return false;
  }
  bool isInOrbit() const;
  bool isEverywhere(const List &list, llvm::ArrayRef<Turn> turns);

  // SymmetryFrame.cpp
  bool declare(const Instr &in);
  bool buffer(const Instr &in);
  bool mapping(const Instr &in);
  bool inplace(const Instr &in);
  bool sharesOnce(Reg view, Rank rank);
  bool value(const Instr &in);
  bool list(const Instr &in);
  ViewUse whole(uint32_t array) const;
  bool turnsAsRank(llvm::ArrayRef<Turn> coords);
  bool rankAt(RegList at, Rank &rank);
  bool ensure(const Instr &in);
  bool promiseAll(const Instr &in, ExprRef expr, const ExprUse &use, Rank rank);
  bool promise(const Instr &in, const ExprRef &expr, const ExprUse &use,
               bool spread, size_t element, Rank rank,
               llvm::DenseMap<uint32_t, uint32_t> &known);
  bool isShared(uint32_t array, unsigned dim, uint32_t mark);

  // SymmetryTransfers.cpp
  Steps stepsTo(const SymmetryCells::Spot &spot, Rank rank) const;
  Rank turnedRank(Rank rank, const Steps &by) const;
  uint32_t coord(Rank rank, unsigned dim) const {
    return rank / strides[dim] % dims[dim];
  }
  Key keyOf(const Steps &by) const;
  bool noteRead(uint32_t array, Rank rank, uint32_t cell, const Key &key);
  bool noteWrite(uint32_t array, Rank rank, uint32_t cell, const Key &key);
  bool isClash(const Key &a, const Key &b, unsigned d) const;
  bool transfer(const Instr &in);
  bool init(const Instr &in);
  const ExprRef *exprOf(Reg value, const ReadCode &read, const ExprUse *&use);
  bool learn(const View &target, const ViewUse &use, const ExprRef &expr,
             const ExprUse &exprUse);
  bool move(const Statement &st, const ExprRef &expr, const ExprUse &exprUse,
            const View &target, const ViewUse &use, llvm::ArrayRef<Rank> ranks,
            bool isOwn);
  bool moveOwn(const Statement &st, const ExprRef &expr, const ExprUse &exprUse,
               const View &target, const ViewUse &use);
  llvm::SmallVector<Rank, 4> ownRanks() const;
  bool turnReads(const ExprRef &expr, const ExprUse &exprUse, size_t element,
                 const ViewUse &use, const SymmetryCells::Spot &spot, Rank rank,
                 const Steps &by, llvm::SmallVectorImpl<Turned> &reads);
  bool isLeaf(uint32_t array) const {
    const Array &a = m.state.arrays[array];
    return a.buffer != kNone && m.graph.buffers[a.buffer].kind != Buffer::Out;
  }

  // SymmetryRegion.cpp
  bool on(const Instr &in);
  bool send(const Instr &in);
  bool receive(const Instr &in);
  bool groupBegin();
  bool groupEnd();
  bool settle();
  void note(Op op, const View *view = nullptr);
  bool writeReceived(const Posted &posted);
  bool endProcess();
  Rank negated(Rank rank) const;

  Machine &m;
  SymmetryCells &cells;
  const std::vector<LoopRole> &roles;
  llvm::SmallVector<uint32_t, 4> dims, strides;
  llvm::SmallVector<bool, 4> active;
  bool isLearning;
  Outcome outcome = Outcome::Done;

  Frame frame;
  std::vector<Turn> turns; ///< of frame.ints
  std::vector<ViewUse> views;
  std::vector<ExprUse> values;
  std::vector<std::vector<Turn>> lists, openLists;
  struct OpenFold {
    ExprUse use;
    bool isFree = false;
  };
  std::vector<OpenFold> openFolds;

  std::vector<ActiveLoop> loops;
  std::array<uint32_t, maxActive>
      epoch{}; ///< by number of the active dim, 0: not in an orbit
  std::array<uint32_t, maxActive> stamp{};
  llvm::SmallVector<uint8_t, 4> activeIndex;
  uint32_t lastEpoch = 0, lastStamp = 0;
  bool inGroup = false;
  std::array<bool, maxActive> groupIsInside{}; ///< the orbit, by active dim
  llvm::DenseMap<uint64_t, Accesses> accesses;
  ExprUse directUse;
  /// What promises of an array whose phase is the rank have in common.
  std::map<std::pair<uint32_t, unsigned>, uint32_t> marks;
  uint64_t promisedReads = 0;
  llvm::DenseSet<std::pair<uint64_t, uint32_t>> shared; ///< by `inplace`

  // The region that is being executed.
  const OnCode *region = nullptr;
  SiteId regionSite = kNone;
  uint32_t regions = 0;
  uint64_t capacity = 0;
  std::map<Rank, Queue> queues; ///< by the distance from sender to receiver
  std::vector<Posted> posted;

  // Reused by statements.
  llvm::SmallVector<uint32_t, 32> targetCells;
  std::vector<llvm::SmallVector<uint32_t, 32>> readCells;
};

} // namespace coll::elab

#endif // COLL_LIB_ANALYSIS_SYMMETRYRUN_H
