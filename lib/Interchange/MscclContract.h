//===- MscclContract.h - What a run of an XML leaves behind -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COLL_LIB_INTERCHANGE_MSCCLCONTRACT_H
#define COLL_LIB_INTERCHANGE_MSCCLCONTRACT_H

#include "lib/Analysis/ProgramCheck.h"
#include "lib/Interchange/MscclPrograms.h"

#include <map>

namespace coll::msccl {

/// How often each initial content contributes to something.
struct Leaf {
  uint16_t buffer; ///< an ImportedBuffer
  Rank rank;
  uint32_t part;
  auto operator<=>(const Leaf &) const = default;
};
using Bag = std::vector<std::pair<Leaf, uint32_t>>; ///< sorted

/// An output chunk that is not what the contract promises.
struct WrongChunk {
  Rank rank;
  uint32_t chunk; ///< of the output
  Bag missing, surplus;
  bool isUnwritten = false;
  SourceRange writer = {}; ///< the last step that wrote it
};

struct RunResult {
  ProgramSet programs;               ///< the sites of `error`
  std::optional<ProgramError> error; ///< it stopped here
  std::vector<WrongChunk> wrong;     ///< the first few
  uint64_t numWrong = 0;
  std::optional<Rank> root;
  bool isTooLarge = false; ///< to be compared
  bool isRight() const { return !error && numWrong == 0 && !isTooLarge; }
};

/// Runs the programs on terms and compares with the contract of `coll`. Races
/// are looked for in any case.
RunResult runAndCompare(const Algorithm &algorithm,
                        const ImportOptions &options);

} // namespace coll::msccl

#endif // COLL_LIB_INTERCHANGE_MSCCLCONTRACT_H
