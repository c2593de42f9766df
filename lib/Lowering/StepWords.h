//===- StepWords.h - The words of a step ------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A class of ranks is a list of 32-bit words; the kernel walks them. Private to
// the compiler but for coll_step_head (coll/abi.h): StepTable.cpp writes the
// words and the code that StepBuilder.cpp emits reads them, by the same
// offsets.
//
//   step   coll_step_head, numWaits, words in all, numSources, numSinks, shift,
//          then the ports, then the waits
//   port   kind, a, b, c: for memory 0, buffer or kScratch, part or scratch
//          slot, -; for a scalar 2, number of the scalar, -, -; for a channel
//          1, end, part, kPortPut or kPortGet | buffer << 8, or 0: of a message
//          that may go direct, part and buffer of the region at its owner (put:
//          the receiver, get: the sender); the chunk is the step's
//          The kPortDeferred of a put says that nothing but the receive touches
//          its region from there on: its arrival is awaited at the end
//          The kPortAhead in c of a step's first source, memory or the channel
//          of a get: what the kernel moves by itself may be moved in the first
//          round for all
//   wait   block (kPreviousRound added: of the round before), steps of it that
//          must have finished
//   block  just before the first step: the block's ends with messages that may
//          go direct (end, EndWord, 1 + the buffer of this rank that puts go
//          to or gets come from, or 0, step), their number, the block's receive
//          ends, their number. With kEndDeclines the peer is told that there is
//          no window, whatever the buffer lies in
//
//===----------------------------------------------------------------------===//
#ifndef COLL_LIB_LOWERING_STEPWORDS_H
#define COLL_LIB_LOWERING_STEPWORDS_H

#include "coll/abi.h"

namespace coll::lowering {

enum StepWord : uint32_t {
  kStepShape = offsetof(coll_step_head, shape) / 4,
  kStepNumber = offsetof(coll_step_head, step) / 4,
  kStepSite = offsetof(coll_step_head, site) / 4,
  kStepChunk = offsetof(coll_step_head, first_chunk) / 4,
  kStepNumChunks = offsetof(coll_step_head, nchunks) / 4,
  kStepSize = offsetof(coll_step_head, size) / 4,
  kStepNumWaits = sizeof(coll_step_head) / 4,
  kStepLength,
  kStepNumSources,
  kStepNumSinks,
  kStepShift, // operand i is source (i + shift) mod numSources, in steps that
              // fold all of many sources
  kStepPorts
};
constexpr uint32_t kPortWords = 4, kPortKind = 0, kPortA = 1, kPortB = 2,
                   kPortC = 3;
enum DirectWord : uint32_t {
  kPortPut = 1,
  kPortGet = 2,
  kPortDirect = kPortPut | kPortGet,
  kPortAhead = 1u << 30,
  kPortDeferred = 1u << 31
};
enum EndWord : uint32_t {
  kEndSends = 1,
  kEndPuts = 2,
  kEndGets = 4,
  kEndDeclines = 8
};
constexpr uint32_t kEndWords = 4;
enum PortWord : uint32_t { kPortMemory = 0, kPortChannel = 1, kPortScalar = 2 };
constexpr uint32_t kWaitWords = 2, kPreviousRound = 1u << 31;
constexpr uint32_t kScratch = 0xffff;

} // namespace coll::lowering
#endif // COLL_LIB_LOWERING_STEPWORDS_H
