//===- ElaborateFacts.h - What can be wrong with a schedule -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The analyses of this directory find facts; ElaborateWords.cpp makes
// diagnostics of them.
//
//===----------------------------------------------------------------------===//
#ifndef COLL_LIB_ANALYSIS_ELABORATEFACTS_H
#define COLL_LIB_ANALYSIS_ELABORATEFACTS_H

#include "lib/Analysis/ChunkGraph.h"

#include <string>
#include <vector>

namespace coll::elab {

enum class Fault : uint8_t {
  // Integers; x and y are the operands.
  Overflow,
  BadDivisor,
  BadShift,
  BadLogarithm,
  BadLowBit,
  BadStep,
  // Lists.
  ListIndex, // x of y
  ListTooLong,
  // Views; array.
  OutOfRange,  // index x of a dimension of y
  ReshapeSize, // x locations as y
  BadExtent,   // x
  TooManyDims,
  ArrayTooLarge, // x locations on a rank
  // Parameters.
  MissingParameter,
  BadRankCount,
  TooManyRanks,
  BadChunks,
  BadLaunchValue,
  EmptyLaunchDomain,
  BadDirective,
  Asserted,
  // Ranks.
  NoSuchRank, // x, in text
  Absent,     // place
  NotOwnRank, // place is not at `other`
  OneSided,
  TwiceWrittenRank,
  NeedsOneRank,
  // Statements.
  Shape,         // text: both shapes
  EmptyRead,     // place
  EmptyReduce,   // place
  PartlyFilled,  // place, other location: x
  Extent,        // place; x and y are extents
  OperandExtent, // x and y are extents
  ReadOnly,
  WrittenTwice, // place; previous
  UnknownCount, // rank; x: size
  EmptyFold,
  // Regions.
  BadCapacity, // x
  MessageSize, // x sent, y received; previous: the send
  Region,      // see RegionFault
  // Contract.
  SizeConflict, // place
  InplaceShape,
  InplaceRank,
  InplaceTwice, // place
  // Limits.
  TooManySteps,
  TooManyValues,
  TooManyLocations
};

/// A location.
struct Place {
  uint32_t array = kNone;
  uint64_t cell = 0;
  Rank rank = kNone;
};

/// Loops that are being executed, outermost first: index into Bytecode::loops,
/// and the value of the iterator.
using Iterations = std::vector<std::pair<uint32_t, int64_t>>;

struct Failure {
  Fault fault;
  SiteId site = kNone;
  Place place = {};
  Rank other = kNone;
  int64_t x = 0, y = 0;
  SiteId previous = kNone;
  std::string text = {}, slug = {};
  Iterations iterations = {};
};

} // namespace coll::elab

#endif // COLL_LIB_ANALYSIS_ELABORATEFACTS_H
