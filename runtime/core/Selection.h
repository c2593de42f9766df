//===- Selection.h - Which schedule and protocol a call gets ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A table of rules from which the standard collectives choose.  A rule speaks
// of values that all ranks share (collective, ranks, bytes, whether every rank
// has a core), and the table itself is the same on all ranks: its digest is
// compared when they meet.  The first rule that applies, and whose schedule is
// in use, wins.  From the first to the last:
//
//   COLL_ALLREDUCE and the like   SCHEDULE or SCHEDULE:PROTOCOL, always applies
//   COLL_TUNE                     a file, most often written by coll-run --tune
//   the table that is built in    for the schedules of coll_use_standard
//
// A file has one rule a line, '#' starts a comment, ranges leave their end out:
//
//   coll-tune 1
//   # collective  ranks  cores   bytes         schedule           protocol
//   allreduce     2      any     0..16384      std_allreduce_one  auto
//   allreduce     3..9   shared  16384..max    std_allreduce_ring bulk
//
// cores: own (every rank has one), shared, any.  protocol: auto (small slots
// when all messages fit) or bulk.
//
//===----------------------------------------------------------------------===//
#ifndef COLL_RUNTIME_CORE_SELECTION_H
#define COLL_RUNTIME_CORE_SELECTION_H

#include "runtime/core/Status.h"

#include <string>
#include <string_view>
#include <vector>

namespace coll {

/// The collectives of coll.h, as rules and contracts name them.
inline constexpr const char *kStandardCollectives[] = {
    "allreduce", "allgather",  "reduce_scatter", "alltoall",  "broadcast",
    "reduce",    "scatter",    "gather",         "send_recv", "scan",
    "barrier",   "allgatherv", "alltoallv"};

/// Names of the schedules of coll_use_standard begin so.
inline constexpr std::string_view kStandardPrefix = "std_";

struct SelectionRule {
  enum class Cores { Any, Own, Shared };
  enum class Source { Variable, File, BuiltIn };

  std::string collective, schedule;
  uint64_t ranksBegin = 0, ranksEnd = UINT64_MAX;
  uint64_t bytesBegin = 0, bytesEnd = UINT64_MAX;
  Cores cores = Cores::Any;
  bool isBulk = false; ///< also where small slots would do
  Source source = Source::File;
  std::string origin; ///< "COLL_ALLREDUCE", "PATH:LINE", "built in"

  bool applies(std::string_view name, uint32_t ranks, bool ownCores,
               uint64_t bytes) const {
    return name == collective && ranks >= ranksBegin && ranks < ranksEnd &&
           bytes >= bytesBegin && bytes < bytesEnd &&
           (cores == Cores::Any || (cores == Cores::Own) == ownCores);
  }
};

class Selection {
public:
  /// Adds the rules of a file's text behind those that are there; COLL_INVALID
  /// names the line that makes no sense.
  Status addText(std::string_view text, const std::string &path,
                 SelectionRule::Source source);
  /// Adds the value of a collective's variable.
  Status addVariable(const char *collective, const std::string &variable,
                     const std::string &value);
  Status addFile(const std::string &path);
  void addBuiltIn();

  const std::vector<SelectionRule> &rules() const { return list; }
  size_t numOfFile() const;
  /// Of all rules in their order, without where they come from.
  uint64_t digest() const;

private:
  std::vector<SelectionRule> list;
};

} // namespace coll

#endif // COLL_RUNTIME_CORE_SELECTION_H
