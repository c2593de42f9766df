//===- Seeds.h - Which cases a random test tries ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// So many cases from seed 1 on in the normal tests, so that every run is the
// same; other seeds, for as long as there is time, in ./dev nightly:
//
//   COLL_TEST_SEEDS=FIRST:COUNT  COLL_TEST_SEEDS=FIRST COLL_TEST_SECONDS=60
//
//===----------------------------------------------------------------------===//
#ifndef COLL_TEST_UNIT_SEEDS_H
#define COLL_TEST_UNIT_SEEDS_H

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace coll::test {

class Seeds {
public:
  explicit Seeds(uint64_t usual) : count(usual) {
    if (const char *seconds = getenv("COLL_TEST_SECONDS")) {
      count = UINT64_MAX;
      end += std::chrono::milliseconds(int64_t(atof(seconds) * 1000));
      isTimed = true;
    }
    unsigned long long from = 0, many = 0;
    const char *text = getenv("COLL_TEST_SEEDS");
    int read = text ? sscanf(text, "%llu:%llu", &from, &many) : 0;
    if (read > 0)
      first = from;
    if (read > 1)
      count = many;
  }
  /// False: that was all.
  bool next() {
    if (done == count || (isTimed && std::chrono::steady_clock::now() >= end))
      return false;
    ++done;
    return true;
  }
  uint64_t seed() const { return first + done - 1; }
  uint64_t numDone() const { return done; }
  /// Enough cases to expect something of how they are mixed.
  bool areMany() const { return done >= 500; }
  std::string text() const {
    return "seeds " + std::to_string(first) + " to " + std::to_string(seed());
  }

private:
  uint64_t first = 1, count, done = 0;
  bool isTimed = false;
  std::chrono::steady_clock::time_point end = std::chrono::steady_clock::now();
};

} // namespace coll::test

#endif // COLL_TEST_UNIT_SEEDS_H
