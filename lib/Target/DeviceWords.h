//===- DeviceWords.h - What the words that devices share are ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The memory-order table of docs/Cuda.md as data: for every word of coll/abi.h
// that device code comes to, how it may be accessed and what it points to.
//
//===----------------------------------------------------------------------===//
#ifndef COLL_LIB_TARGET_DEVICEWORDS_H
#define COLL_LIB_TARGET_DEVICEWORDS_H

#include "coll/abi.h"
#include "llvm/ADT/ArrayRef.h"

namespace coll {

/// What an address is of. A Number is no address; None is not known yet, or
/// null; Unknown may be anything. Flag: one of several flag words. Either: of
/// payload, or of packets or lines, as a port's tag says.
enum class Region : uint8_t {
  None,
  Number,
  Args,
  Sizes,
  Inst,
  Comm,
  Ends,
  Ring,
  Credit,
  Seq,
  Blocks,
  Signals,
  Words,
  Windows,
  Displacements,
  Abort,
  Flag,
  Payload,
  Packets,
  Lines,
  Either,
  Cells,
  Rows,
  Stack,
  Unknown
};

/// How a word may be accessed.
enum class Access : uint8_t {
  Constant, // weak loads
  Weak,     // weak loads and stores: its owner's, or ordered by a flag
  Flag,     // load acquire, store release, of system scope
  Posted,   // the same; looked at again: load relaxed
  Progress, // load acquire, store release, of device scope or wider
  Entered,  // compare-exchange acq_rel, store release, of device scope
  Report,   // store relaxed, of system scope
  Abort,    // load relaxed, of system scope
  Packet,   // load and store relaxed; of tokens acquire and release
  Cell      // weak, or relaxed of block scope
};

struct SharedWord {
  Region region;
  uint32_t offset, bytes;
  Access access;
  const char *name;
  Region target = Region::Number; // where it is an address
  uint32_t count = 1;             // an array of such words
};

/// The word at an offset of a region; `hasMore`: or later ones of its array.
/// Null: there is none.
const SharedWord *findWord(Region region, uint64_t offset, bool hasMore);

/// What a region is an array of: how many bytes. 0: of nothing.
uint32_t strideOf(Region region);

/// The cells of shared memory, by ports: sources, sinks, and the tags of both.
struct SharedCells {
  unsigned first = 0, sources = 0, sinks = 0; // first: those before ports
  uint32_t sizesOffset = 0; // in a kernel's arguments; 0: not there
};

} // namespace coll
#endif // COLL_LIB_TARGET_DEVICEWORDS_H
