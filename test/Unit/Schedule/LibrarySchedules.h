//===- LibrarySchedules.h - Programs from files -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COLL_TEST_UNIT_SCHEDULE_LIBRARYSCHEDULES_H
#define COLL_TEST_UNIT_SCHEDULE_LIBRARYSCHEDULES_H

#include "lib/Analysis/ChunkGraph.h"

#include <functional>
#include <string>
#include <vector>

namespace coll {
class Session;
struct Bytecode;
} // namespace coll

namespace coll::test {

/// The .coll files of these folders of the repository.
std::vector<std::string> allFiles(const std::vector<std::string> &folders);
/// A value for every parameter that has no default: 0, 1, ...
std::vector<std::pair<std::string, int64_t>> definesFor(const Bytecode &code);
/// The chunk graphs of all launch members. None if the schedule is wrong there,
/// or excluded. Parameters without a default are 0, 1, ...
std::vector<ChunkGraph> graphsOf(Session &session, const Bytecode &code,
                                 const std::vector<uint32_t> &dims,
                                 bool &isWrong);

/// A schedule at one rank space.
struct Instance {
  std::string name;
  std::vector<ChunkGraph> graphs; ///< of all launch members
};

/// Every schedule of every file of these folders of the repository, at every
/// rank space of these many ranks at which it is right and not excluded.
/// Parameters without a default are 0, 1, ...
void forEachSchedule(const std::vector<std::string> &folders,
                     const std::vector<uint32_t> &ranks,
                     const std::function<void(const Instance &)> &body);

} // namespace coll::test

#endif // COLL_TEST_UNIT_SCHEDULE_LIBRARYSCHEDULES_H
