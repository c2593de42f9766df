//===- Scratch.cpp - Memory between the steps of a launch -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/core/Scratch.h"

#include <algorithm>
#include <cerrno>
#include <sys/mman.h>

namespace coll {

Scratch::~Scratch() {
  if (memory)
    munmap(memory, size);
}

Status Scratch::serve(coll_inst &inst, uint64_t bytes) {
  if (bytes > size) {
    // Present from the start: a first touch costs more than the copy into it.
    void *larger = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (larger == MAP_FAILED)
      return Status::system(errno, "cannot allocate %llu bytes of scratch",
                            (unsigned long long)bytes);
    if (memory)
      munmap(memory, size);
    memory = larger;
    size = bytes;
    for (coll_inst *user : users)
      user->scratch = reinterpret_cast<uint64_t>(memory);
  }
  inst.scratch = reinterpret_cast<uint64_t>(memory);
  users.push_back(&inst);
  return Status::ok();
}

void Scratch::forget(const coll_inst &inst) { std::erase(users, &inst); }

Stopovers::~Stopovers() {
  if (memory)
    munmap(memory, number * each);
}

Status Stopovers::reserve(size_t slots, size_t slotBytes) {
  if (slots <= number)
    return Status::ok();
  void *larger = mmap(nullptr, slots * slotBytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (larger == MAP_FAILED)
    return Status::system(errno, "cannot reserve %zu bytes for messages",
                          slots * slotBytes);
  if (memory)
    munmap(memory, number * each);
  memory = static_cast<std::byte *>(larger);
  number = slots;
  each = slotBytes;
  return Status::ok();
}

} // namespace coll
