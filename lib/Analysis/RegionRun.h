//===- RegionRun.h - Executing an `on` statement ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Private to the elaboration. Every process is a frame of its own that runs
// until it waits. RegionModel.h has the rules of waiting, and is asked why when
// not all processes end: their scripts are recorded by running them once more,
// without data and without waiting.
//
//===----------------------------------------------------------------------===//
#ifndef COLL_LIB_ANALYSIS_REGIONRUN_H
#define COLL_LIB_ANALYSIS_REGIONRUN_H

#include "lib/Analysis/ElaborateMachine.h"

#include <deque>

namespace coll::elab {

class RegionRun {
public:
  RegionRun(Machine &machine, Frame &outer, const OnCode &on);
  bool execute();

  // What the machine does for the frame of a process.
  bool isGroupOpen(const Frame &frame) const;
  bool openGroup(Frame &frame);
  bool closeGroup(Frame &frame);
  /// A statement on own locations, within a group.
  bool postLocal(Frame &frame, const Statement &st, const ExprRef &expr,
                 const View &target);
  bool send(Frame &frame, const SendCode &send);
  bool receive(Frame &frame, const RecvCode &recv);
  /// Statements are noted, not done.
  bool isRecording() const { return recording; }
  bool note(ScriptOp op);

private:
  struct Message {
    std::vector<ValueId> values;
    bool hasVia = false;
    ElemType via = ElemType::T;
    SiteId site = kNone;
    MappingId mapping = 0;
  };
  struct Queue {
    Rank from, to;
    QueueCounts counts;
    std::vector<Message> messages; ///< not taken yet
    uint64_t taken = 0;
  };
  /// Something that a process has posted, and writes when all is complete.
  struct Posted {
    Statement st;
    View target;
    ExprId plan = kNone;
    std::vector<ValueId> reads; ///< of a local statement
    uint32_t queue = kNone;     ///< of a receive
  };
  struct Process {
    Frame frame;
    bool inGroup = false;
    bool hasEnded = false;
    uint64_t incomplete = 0;
    std::vector<Posted> posted;
  };

  bool run();
  bool step(uint32_t process);
  void makeProcesses();
  uint32_t queueOf(Rank from, Rank to);
  void post(uint32_t queue, bool isSend);
  void complete(Rank rank, uint64_t n);
  bool settle(Process &process);
  bool write(Process &process, Posted &posted);
  bool evaluateMessage(Frame &frame, const SendCode &send, Message &message);
  MappingId merge(MappingId sent, MappingId received);
  bool record(std::vector<Script> &scripts);
  bool explain();
  bool report();

  Machine &m;
  Frame &outer;
  const OnCode &on;
  SiteId site;
  uint64_t capacity = 0;
  llvm::SmallVector<Rank> ranks;
  std::vector<Process> processes;
  llvm::DenseMap<Rank, uint32_t> processOf;
  llvm::DenseMap<uint64_t, uint32_t> queueIndex;
  std::vector<Queue> queues;
  std::deque<uint32_t> ready;
  uint64_t numMessages = 0;
  bool recording = false;
  Script *script = nullptr;
};

} // namespace coll::elab

#endif // COLL_LIB_ANALYSIS_REGIONRUN_H
