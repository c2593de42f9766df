//===- FailingMemory.h - An operator new that fails -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Linked into a program, this replaces operator new.  A Shortage counts the
// allocations of some threads down and lets one, or all from there on, fail.
//
//===----------------------------------------------------------------------===//
#ifndef COLL_TEST_UNIT_RUNTIME_FAILINGMEMORY_H
#define COLL_TEST_UNIT_RUNTIME_FAILINGMEMORY_H

#include <atomic>

namespace coll::test {

class Shortage {
public:
  /// The allocation number `first` fails, counted from 1, and if `lasts` all
  /// that follow.
  explicit Shortage(int first, bool lasts = false)
      : left(first), lasts(lasts) {}

  /// While this lives the allocations of this thread count.
  class OnThisThread {
  public:
    explicit OnThisThread(Shortage &shortage);
    ~OnThisThread();
  };
  /// The same for all threads of the library in this process.
  class OnLibraryThreads {
  public:
    explicit OnLibraryThreads(Shortage &shortage);
    ~OnLibraryThreads();
  };

  bool hasStruck() const { return left.load() <= 0; }
  bool strikes() {
    int now = left.fetch_sub(1);
    return now == 1 || (lasts && now < 1);
  }

private:
  std::atomic<int> left;
  bool lasts;
};

} // namespace coll::test

#endif // COLL_TEST_UNIT_RUNTIME_FAILINGMEMORY_H
