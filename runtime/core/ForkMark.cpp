//===- ForkMark.cpp - Is this the process that began? ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/core/ForkMark.h"
#include "runtime/core/Memory.h"

#include <cerrno>
#include <new>
#include <sys/mman.h>

namespace coll {

ForkMark::~ForkMark() {
  if (mark)
    munmap(mark, pageBytes());
}

Status ForkMark::set() {
  void *page = mmap(nullptr, pageBytes(), PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED)
    return Status::system(errno, "cannot allocate a page");
  mark = new (page) std::atomic<uint32_t>(1);
  if (madvise(page, pageBytes(), MADV_WIPEONFORK) != 0)
    return Status::system(errno, "cannot mark a page to be wiped in children");
  return Status::ok();
}

} // namespace coll
