//===- Arguments.h - From a call to what kernels read -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks a coll_call against the contract and fills a coll_args.  All memory is
// allocated when the member of a plan is loaded; a launch allocates nothing.
//
// Three things are decided here, each from values that all ranks share (else
// the ends of a channel would disagree): the sizes of chunks and the number of
// rounds; small or bulk rings; the signature.  One is this rank's own affair:
// whether its buffers lie in place.
//
//===----------------------------------------------------------------------===//
#ifndef COLL_RUNTIME_CORE_ARGUMENTS_H
#define COLL_RUNTIME_CORE_ARGUMENTS_H

#include "runtime/core/Environment.h"
#include "runtime/core/Plan.h"
#include "runtime/core/UserMemory.h"
#include "runtime/core/WayTrials.h"

#include <vector>

namespace coll {

/// No buffer is larger: sums and products of sizes below it do not overflow.
constexpr uint64_t maxBufferBytes = uint64_t(1) << 62;

/// What a rank's words say of one buffer of the contract.
struct CallBuffer {
  const char *name = "";
  uint32_t kind = COLL_BUF_IN;
  uint32_t index = 0; ///< among the ins, the outs or the args
  uint32_t parts = 1;
  bool isPresent = false;
  bool isUniform = true;             ///< all parts have the size symbols[0]
  const uint32_t *symbols = nullptr; ///< [1] or [parts]
  std::vector<uint64_t> packed;      ///< where parts start, if not uniform
};

/// How launches run.  When kernels store past the caches, and what is offered
/// to peers, is each rank's own affair.
struct LaunchRules {
  bool streams = false;    ///< kernels store past the caches into bulk slots
  uint64_t outBytes = 0;   ///< so into buffers, when a launch touches more
  bool hasSmall = true;    ///< kernels know the small rings
  bool hasPackets = false; ///< the small slots are packets
  bool hasLines = false;   ///< bulk messages may be lines
  /// Messages of few slots are cut finer, into pieces of no less than this; the
  /// same on all ranks; 0: they are not.
  uint32_t pieceBytes = 0;
  bool byKernel = false; ///< peers get at memory in no window
};

/// Of a plan and of the kernels that its launches choose from: ranks of which
/// one has code for packets or lines, and another has not, would wait for each
/// other.
uint64_t digestOf(const coll_plan_ranks &ranks, const LaunchRules &rules);

class Arguments {
public:
  /// All references outlive this object.
  Arguments(const coll_plan &plan, const coll_plan_ranks &ranks,
            const coll_class &cls, std::span<const uint32_t> words,
            std::span<const uint32_t> maxStepChunks, const RingSizes &rings,
            LaunchRules rules);

  /// From now on buffers that lie in this rank's windows are marked as such.
  void useWindows(const UserMemory &memory) { windows = &memory; }
  /// How the next launch runs, if it is not small.
  void take(Way way);

  /// Fills args() for this call, whose dtype and op have been checked.
  /// COLL_INVALID names what is wrong with it.
  Status fill(const coll_call &call);

  /// From the next fill on: neither small slots nor lines; the same on all
  /// ranks.
  void useBulk(bool bulk) {
    isShaped &= bulk == isBulk;
    isBulk = bulk;
  }

  /// How often args() has been filled, and whether that was the last time:
  /// what it holds of that call still holds.
  uint64_t fills() const { return numFills; }
  bool isFilled(uint64_t fills) const {
    return fills == numFills && (!windows || windowsSeen == windows->changes());
  }

  coll_args &args() { return *head; }
  const coll_args &args() const { return *head; }
  std::span<const CallBuffer> callBuffers() const { return buffers; }
  /// What a launch reaches of a buffer: [begin, end).
  uint64_t begin(size_t buffer) const { return begins[buffer]; }
  uint64_t end(size_t buffer) const { return ends[buffer]; }
  bool isInPlace() const { return head->flags & COLL_ARGS_IN_PLACE; }
  /// In bytes, when a share is one round.
  uint64_t largestMessage() const { return messageBytes; }
  /// COLL_PROTOCOL_*: what the messages of args() go by.
  uint32_t protocol() const {
    return head->flags & COLL_ARGS_LINES      ? COLL_PROTOCOL_LL128
           : !(head->flags & COLL_ARGS_SMALL) ? COLL_PROTOCOL_SIMPLE
           : rules.hasPackets                 ? COLL_PROTOCOL_LL
                                              : COLL_PROTOCOL_SMALL;
  }

private:
  struct PartRange {
    uint64_t begin, end;
    uint32_t buffer, part;
  };

  bool hasOneCount() const {
    return plan.ncounts != 0 && !(plan.flags & COLL_PLAN_VCOUNTS);
  }
  bool hasRows() const { return plan.flags & COLL_PLAN_ROWS; }
  /// Of a call: the count, or rows and their length, of *head.
  bool hasCount(const coll_call &call) const {
    if (!hasRows())
      return call.count[0] == head->count;
    return call.count[1] == head->row_elems &&
           call.count[0] == head->count / head->row_elems;
  }
  Status fillShape(const coll_call &call);
  Status fillUnit(const coll_call &call);
  Status describeLongRow(uint32_t dtype) const;
  Status describeShortSlots(uint32_t dtype) const;
  Status fillSizes(const coll_call &call);
  bool isBelowEnd() const;
  bool isForPackets() const {
    return rules.hasPackets && plan.flags & COLL_PLAN_LL && isBelowEnd();
  }
  bool isForLines() const {
    return rules.hasLines && plan.flags & COLL_PLAN_LL128 && isBelowEnd();
  }
  void cutIntoRounds(uint32_t dtype);
  void setTurns(uint64_t payload);
  uint32_t bulkSlice(uint64_t message, uint64_t unitBytes) const;
  Status fillScalars(const coll_call &call);
  Status fillBuffer(const coll_call &call, CallBuffer &buffer, coll_buf &result,
                    uint64_t &begin, uint64_t &end);
  Status fillBuffers(const coll_call &call);
  bool moveBuffers(const coll_call &call);
  void findWindows();
  Status partsExtent(const CallBuffer &buffer, const coll_buf &buf,
                     uint64_t &first, uint64_t &last) const;
  Status checkOverlaps();
  Status describeOverlap(const PartRange &a, const PartRange &b) const;
  bool liesInPlace() const;
  bool isAlias(const PartRange &a, const PartRange &b) const;
  void sign(const coll_call &call);

  uint64_t elemsOf(const CallBuffer &buffer, uint32_t part) const {
    if (buffer.kind == COLL_BUF_ROW)
      return head->row_elems;
    return sizes[buffer.symbols[buffer.isUniform ? 0 : part]].elems;
  }
  uint64_t addressOf(uint32_t buffer, uint32_t part) const;
  /// From the first to the last element that a launch reaches.
  uint64_t bytesOf(size_t buffer) const {
    return ends[buffer] - begins[buffer];
  }

  const coll_plan &plan;
  const coll_plan_ranks &ranks;
  const coll_class &cls;
  std::span<const uint32_t> words;
  std::span<const uint32_t> maxStepChunks;
  const RingSizes &rings;
  const LaunchRules rules;

  struct alignas(64) Line {
    std::byte bytes[64];
  };
  std::vector<Line> storage; ///< of *head
  coll_args *head = nullptr;
  std::vector<coll_size> sizes;
  std::vector<int32_t> givenOf; ///< by size symbol: index into count[] or -1
  std::vector<CallBuffer> buffers;
  std::vector<uint64_t> begins, ends; ///< extents of the buffers in memory
  std::vector<uint64_t> inProcess;    ///< coll_buf.win of those in no window
  std::vector<PartRange> ranges;
  bool isPlain = false;  ///< no scalars, and packed buffers of equal parts
  bool isPlaced = false; ///< *head holds buffers that have been checked
  bool isBulk = false;   ///< neither small slots nor lines
  bool isByKernel;       ///< buffers in no window are offered as inProcess says
  bool isShaped = false; ///< *head holds the shape of a call with these
  const UserMemory *windows = nullptr;
  uint64_t numFills = 0;
  uint64_t messageBytes = 0; ///< the largest's, when a share is one round
  uint64_t windowsSeen = 0;  ///< UserMemory::changes() when these were found
  coll_dtype shapedDtype = COLL_I8;
  coll_op shapedOp = COLL_SUM;
};

} // namespace coll

#endif // COLL_RUNTIME_CORE_ARGUMENTS_H
