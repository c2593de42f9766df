//===- MscclPrograms.h - From MSCCL XML to programs -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COLL_LIB_INTERCHANGE_MSCCLPROGRAMS_H
#define COLL_LIB_INTERCHANGE_MSCCLPROGRAMS_H

#include "lib/Analysis/Program.h"
#include "lib/Interchange/Msccl.h"

namespace coll::msccl {

/// Buffers of an imported program. Memory that may be written is `out` kind;
/// `start` buffers are what lies there before, and share it.
enum ImportedBuffer : uint16_t {
  InBuffer,
  OutBuffer,
  ScratchBuffer,
  OutStart,
  ScratchStart
};

struct ImportOptions {
  bool inPlace = false;
  bool preloads = false; ///< run <copy> elements
  bool wholeMessages =
      false; ///< a step of n chunks is one step, for counting messages; else n
  bool targetIsSource = false; ///< rrc, rrcs: as if the source were the target
};

/// Chunks of the input and the output of each rank, and where they lie in
/// place.
struct Shape {
  uint32_t in = 0, out = 0;
  bool isKnown = true; ///< false: the contract of `coll` is not known
  bool divides =
      true; ///< false: nchunksperloop cannot be split among the ranks
};
Shape shapeOf(const Algorithm &algorithm);

/// Where a chunk of a rank's buffer lies.
struct PhysicalPlace {
  uint16_t buffer;
  uint32_t part;
};
PhysicalPlace placeOf(const Algorithm &algorithm, bool inPlace, Rank rank,
                      Place place);

/// The programs are in the member's `inPlace`, whatever the variant, since
/// starts share memory; those of whole messages in `outOfPlace`. The site of a
/// step is its tag. The algorithm has no lint error.
ProgramSet importPrograms(const Algorithm &algorithm,
                          const ImportOptions &options);

/// The first step of block `block` at or after `step` that raises a flag.
std::optional<uint32_t> flaggedStep(const Gpu &gpu, uint32_t block,
                                    uint32_t step);

/// Memory and steps that the checks need; above this they are not tried.
inline constexpr uint64_t maxImportedChunks = 1u << 24,
                          maxImportedSteps = 1u << 22;

} // namespace coll::msccl

#endif // COLL_LIB_INTERCHANGE_MSCCLPROGRAMS_H
