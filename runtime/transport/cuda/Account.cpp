//===- Account.cpp - Blocks in flight on the devices ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/transport/cuda/Account.h"

namespace coll::cuda {

std::mutex &Account::mutex() {
  static std::mutex made;
  return made;
}
std::list<Account::Entry *> &Account::entries() {
  static std::list<Entry *> made;
  return made;
}

Account::Entry::~Entry() {
  std::lock_guard lock(Account::mutex());
  entries().remove(this);
}

void Account::add(Entry &entry, uint64_t blocks) {
  entries().remove(&entry);
  entry.blocks = blocks;
  entries().push_back(&entry); // the oldest stands first
}

Status Account::makeRoom(Entry &entry, Stream stream, uint64_t blocks,
                         uint64_t capacity) {
  const Driver &driver = entry.device.driver();
  uint64_t inFlight = 0;
  std::list<Entry *> others;
  for (Entry *other : entries()) {
    if (other == &entry || other->device.number() != entry.device.number())
      continue;
    if (other->blocks && driver.eventQuery(other->event) != notReady)
      other->blocks = 0;
    inFlight += other->blocks;
    if (other->blocks && other->communicator != entry.communicator)
      others.push_back(other);
  }
  for (Entry *oldest : others) {
    if (inFlight + blocks <= capacity)
      break;
    COLL_TRY(driver.check(driver.streamWaitEvent(stream, oldest->event, 0),
                          "cannot wait for room on device %d",
                          entry.device.number()));
    inFlight -= oldest->blocks;
  }
  return Status::ok();
}

} // namespace coll::cuda
