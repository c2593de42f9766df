//===- ForkMark.h - Is this the process that began? -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A page that the kernel wipes in forked children.  Reading it costs a load,
// where getpid is a system call: 200 ns and more on a virtual machine, as much
// as a whole small all-reduce.
//
//===----------------------------------------------------------------------===//
#ifndef COLL_RUNTIME_CORE_FORKMARK_H
#define COLL_RUNTIME_CORE_FORKMARK_H

#include "runtime/core/Status.h"

#include <atomic>

namespace coll {

class ForkMark {
public:
  ForkMark() = default;
  ForkMark(const ForkMark &) = delete;
  ForkMark &operator=(const ForkMark &) = delete;
  ~ForkMark();

  /// From here on this process is the own one.
  Status set();
  bool isOwnProcess() const {
    return mark && mark->load(std::memory_order_relaxed) != 0;
  }

private:
  std::atomic<uint32_t> *mark = nullptr;
};

} // namespace coll

#endif // COLL_RUNTIME_CORE_FORKMARK_H
