//===- FailingMemory.cpp - An operator new that fails ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "FailingMemory.h"

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <new>
#include <sys/prctl.h>

using coll::test::Shortage;

namespace {
thread_local Shortage *here = nullptr;
std::atomic<Shortage *> onLibraryThreads{nullptr};

/// Threads of the library call themselves coll-something.
bool isLibraryThread() {
  char name[16] = "";
  prctl(PR_GET_NAME, name);
  return std::strncmp(name, "coll-", 5) == 0;
}

void *allocate(std::size_t bytes, std::size_t alignment) {
  Shortage *shortage = here;
  if (Shortage *theirs = onLibraryThreads.load(); theirs && isLibraryThread())
    shortage = theirs;
  if (shortage && shortage->strikes())
    throw std::bad_alloc();
  bytes = (bytes + alignment) / alignment * alignment; // and never 0
  if (void *memory = std::aligned_alloc(alignment, bytes))
    return memory;
  throw std::bad_alloc();
}
} // namespace

Shortage::OnThisThread::OnThisThread(Shortage &shortage) { here = &shortage; }
Shortage::OnThisThread::~OnThisThread() { here = nullptr; }

Shortage::OnLibraryThreads::OnLibraryThreads(Shortage &shortage) {
  onLibraryThreads.store(&shortage);
}
Shortage::OnLibraryThreads::~OnLibraryThreads() {
  onLibraryThreads.store(nullptr);
}

void *operator new(std::size_t bytes) {
  return allocate(bytes, alignof(std::max_align_t));
}
void *operator new(std::size_t bytes, std::align_val_t alignment) {
  return allocate(bytes, std::size_t(alignment));
}
void *operator new(std::size_t bytes, const std::nothrow_t &) noexcept {
  try {
    return operator new(bytes);
  } catch (const std::bad_alloc &) {
    return nullptr;
  }
}
void operator delete(void *memory) noexcept { std::free(memory); }
void operator delete(void *memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void *memory, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete(void *memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}
