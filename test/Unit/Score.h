//===- Score.h - What a test counted ----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// lit hides what passing tests print. A line left in $COLL_TEST_SCORES is shown
// by ./dev test (test/report.py). Plain C++: the runtime's tests have no LLVM.
//
//===----------------------------------------------------------------------===//
#ifndef COLL_TEST_UNIT_SCORE_H
#define COLL_TEST_UNIT_SCORE_H

#include <cstdio>
#include <cstdlib>
#include <string>

namespace coll::test {

/// `name` is the score's own: of two tests with one name the last is shown.
inline void reportScore(const std::string &name, const std::string &line) {
  printf("%s: %s\n", name.c_str(), line.c_str());
  const char *folder = getenv("COLL_TEST_SCORES");
  if (!folder || !*folder)
    return;
  std::string path = std::string(folder) + "/" + name;
  if (FILE *file = fopen(path.c_str(), "w")) {
    fprintf(file, "%s\n", line.c_str());
    fclose(file);
  }
}

} // namespace coll::test

#endif // COLL_TEST_UNIT_SCORE_H
