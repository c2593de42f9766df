//===- DirectLaunches.h - Launches in registered memory ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compiled schedules whose messages go direct, and one launch of them.
//
//===----------------------------------------------------------------------===//
#ifndef COLL_TEST_UNIT_RUNTIME_DIRECTLAUNCHES_H
#define COLL_TEST_UNIT_RUNTIME_DIRECTLAUNCHES_H

#include "Launching.h"

extern "C" {
extern const coll_plan allreduce_two_shot_plan, broadcast_direct_plan,
    allgather_direct_plan;
}

namespace coll::test::direct {

constexpr int nranks = 3;
constexpr size_t most = 60'000; ///< elements; launches of a tenth are not small

enum class Kind { Allreduce, Broadcast, Allgather };
struct Compiled {
  const char *name;
  const coll_plan *plan;
  Kind kind;
};
inline const Compiled schedules[] = {
    {"gets and puts", &allreduce_two_shot_plan, Kind::Allreduce},
    {"gets", &broadcast_direct_plan, Kind::Broadcast},
    {"puts", &allgather_direct_plan, Kind::Allgather}};

/// Buffers of one rank, each in a window and not.
class Buffers {
public:
  explicit Buffers(coll_comm *comm) : comm(comm) {
    for (void *&memory : shared)
      EXPECT_EQ(coll_mem_alloc(comm, nranks * most * 4, &memory), COLL_OK);
    for (std::vector<int32_t> &memory : own)
      memory.resize(nranks * most);
  }
  ~Buffers() {
    for (void *memory : shared)
      coll_mem_free(comm, memory);
  }
  int32_t *in(bool isShared) { return at(0, isShared); }
  int32_t *out(bool isShared) { return at(1, isShared); }

private:
  int32_t *at(int which, bool isShared) {
    return isShared ? static_cast<int32_t *>(shared[which]) : own[which].data();
  }
  coll_comm *comm;
  void *shared[2];
  std::vector<int32_t> own[2];
};

/// One launch of a schedule, the same on every rank but for its buffers.
struct Launch {
  const Compiled &schedule;
  size_t count;
  int number, root = 0;

  coll_status run(coll_comm *comm, const int32_t *in, int32_t *out) const {
    Call call;
    call.in(in).out(out).count(count);
    if (schedule.kind == Kind::Broadcast)
      call.root(root);
    return coll_launch(schedule.plan, call, comm, nullptr);
  }
  int32_t input(int rank, size_t i) const { return valueAt(rank, i) + number; }
  void fill(int rank, int32_t *in) const {
    for (size_t i = 0; i != count; ++i)
      in[i] = input(rank, i);
  }
  /// The number of wrong elements.
  size_t numWrong(const int32_t *out) const {
    size_t wrong = 0, parts = schedule.kind == Kind::Allgather ? nranks : 1;
    for (size_t part = 0; part != parts; ++part)
      for (size_t i = 0; i != count; ++i) {
        int32_t want = 0;
        if (schedule.kind == Kind::Allreduce)
          for (int rank = 0; rank != nranks; ++rank)
            want += input(rank, i);
        else
          want = input(parts > 1 ? int(part) : root, i);
        wrong += out[part * count + i] != want;
      }
    return wrong;
  }
  /// Where a rank's input lies when its output is in place.
  size_t ownPart(int rank) const {
    return schedule.kind == Kind::Allgather ? size_t(rank) * count : 0;
  }
};

} // namespace coll::test::direct

#endif // COLL_TEST_UNIT_RUNTIME_DIRECTLAUNCHES_H
