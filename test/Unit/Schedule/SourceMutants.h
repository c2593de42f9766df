//===- SourceMutants.h - Schedules with one thing broken --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COLL_TEST_UNIT_SCHEDULE_SOURCEMUTANTS_H
#define COLL_TEST_UNIT_SCHEDULE_SOURCEMUTANTS_H

#include "lib/Analysis/ChunkGraph.h"
#include "lib/Frontend/AST.h"

#include <string>
#include <vector>

namespace coll::test {

/// A change of the text of a file.
struct SourceMutant {
  std::string what, text;
};

/// Every one of: a transfer, send, receive or call dropped; one repeated that
/// adds up or is a message; two neighbours swapped; `+` and `-` exchanged, and
/// an integer one more, in what is moved, where it is moved, and in the names
/// for that. Of the schedule's body and the procedures of its file it calls.
std::vector<SourceMutant> mutantsOf(const File &file, llvm::StringRef text,
                                    llvm::StringRef schedule);

/// Whether the outputs are what the contract of this name in the prelude
/// promises, by adding up contributions along the values. `known` is false if
/// the contract is none of those.
bool keepsContract(const ChunkGraph &graph, bool &known);

} // namespace coll::test

#endif // COLL_TEST_UNIT_SCHEDULE_SOURCEMUTANTS_H
