//===- TuneRules.cpp - From measurements to rules -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/coll-run/Tune.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/FormatVariadic.h"

using namespace coll;

namespace {
struct Stretch {
  size_t candidate;
  uint64_t begin; // bytes
};
} // namespace

/// The candidates of one collective, in the order of the table. A candidate
/// must win by more than noise before the table changes its mind.
static std::vector<Stretch>
stretchesOf(llvm::ArrayRef<size_t> members,
            const std::vector<TuneCandidate> &candidates,
            const std::vector<TuneTimes> &times) {
  constexpr double gain = 0.9;
  // No small slot holds more, so both protocols are one from there on.
  constexpr uint64_t mostSmall = 32 << 10;
  auto isOne = [&](size_t member, uint64_t bytes) {
    return candidates[member].isBulk && bytes > mostSmall;
  };
  std::vector<Stretch> result;
  uint64_t before = 0;
  for (const auto &[bytes, first] : times[members[0]]) {
    size_t best = members[0];
    double least = first;
    for (size_t member : members) {
      auto found = times[member].find(bytes);
      if (found != times[member].end() && found->second < least &&
          !isOne(member, bytes)) {
        best = member;
        least = found->second;
      }
    }
    if (result.empty()) {
      result.push_back({best, 0});
    } else if (size_t last = result.back().candidate; best != last) {
      auto held = times[last].find(bytes);
      // Sizes grow by a factor: the crossover lies somewhere in between.
      if (held == times[last].end() || isOne(last, bytes) ||
          least < gain * held->second)
        result.push_back({best, before + (bytes - before) / 2});
    }
    before = bytes;
  }
  return result;
}

std::string coll::tuneRules(const std::string &ranks,
                            const std::vector<TuneCandidate> &candidates,
                            const std::vector<TuneTimes> &times) {
  std::string text;
  for (size_t i = 0; i < candidates.size(); ++i) {
    const std::string &collective = candidates[i].collective;
    if (i != 0 && candidates[i - 1].collective == collective)
      continue;
    llvm::SmallVector<size_t> members;
    for (size_t k = i; k < candidates.size(); ++k)
      if (candidates[k].collective == collective && !times[k].empty())
        members.push_back(k);
    if (members.empty())
      continue;
    std::vector<Stretch> stretches = stretchesOf(members, candidates, times);
    for (size_t s = 0; s < stretches.size(); ++s) {
      const TuneCandidate &chosen = candidates[stretches[s].candidate];
      std::string bytes = llvm::formatv(
          "{0}..{1}", stretches[s].begin,
          s + 1 == stretches.size() ? std::string("max")
                                    : std::to_string(stretches[s + 1].begin));
      text += llvm::formatv("{0,-14} {1,-7} any {2,-18} {3,-25} {4}\n",
                            collective, ranks, bytes, chosen.schedule,
                            chosen.isBulk ? "bulk" : "auto");
    }
  }
  return text;
}
