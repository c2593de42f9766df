//===- Ranks.h - Ranks as threads and as processes --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the tests of the runtime share: a rendezvous directory of their own, and
// a body run once per rank, on threads of this process or in forked children.
//
//===----------------------------------------------------------------------===//
#ifndef COLL_TEST_UNIT_RUNTIME_RANKS_H
#define COLL_TEST_UNIT_RUNTIME_RANKS_H

#include "coll/coll.h"

#include <functional>
#include <map>
#include <string>
#include <sys/types.h>
#include <vector>

namespace coll::test {

/// A directory for rendezvous, in COLL_DIR while this lives; removed after.
class RendezvousDirectory {
public:
  RendezvousDirectory();
  ~RendezvousDirectory();
  const std::string &path() const { return name; }
  /// What lies in it.
  std::vector<std::string> entries() const;

private:
  std::string name;
};

/// Sets variables of the environment and puts the old values back.
class Variables {
public:
  /// An empty value unsets.
  explicit Variables(const std::map<std::string, std::string> &values);
  ~Variables();

private:
  std::map<std::string, std::string> before;
};

/// What a process has open: counted before and after, nothing may be left.
struct Holdings {
  size_t descriptors = 0, threads = 0, mappings = 0;
  static Holdings now();
  bool operator==(const Holdings &) const = default;
};

/// Runs `body(rank)` on one thread per rank and waits for all.
void asThreads(int nranks, const std::function<void(int)> &body);

/// Runs `body(rank)` in one forked child per rank.  The result of each is what
/// the body returned ("" is good), or "signal 9" and the like.
std::vector<std::string>
asProcesses(int nranks, const std::function<std::string(int)> &body);

/// A communicator of a fresh id on every rank.
using WithComm = std::function<void(int rank, coll_comm *comm)>;
void withComms(int nranks, const WithComm &body,
               const coll_config *config = nullptr);

/// A configuration with these deadlines in milliseconds.
coll_config deadlines(uint64_t waitMs, uint64_t initMs = 20'000);

/// The error of a communicator.
coll_error errorOf(coll_comm *comm);

/// Waits up to 10 s for the communicator to have an error, and returns it.
coll_error awaitError(coll_comm *comm);

void sleepMs(unsigned ms);

} // namespace coll::test

#endif // COLL_TEST_UNIT_RUNTIME_RANKS_H
