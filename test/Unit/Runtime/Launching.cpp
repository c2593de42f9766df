//===- Launching.cpp - What tests of launches share -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Launching.h"

namespace coll::test {

static void runRank(const coll_id &id, int nranks, int rank,
                    const WithComm &body, uint64_t deadlineMs) {
  coll_config config = deadlines(deadlineMs, 60'000);
  coll_comm *comm = nullptr;
  ASSERT_EQ(coll_comm_init(&comm, nranks, &id, rank, &config), COLL_OK)
      << coll_last_error();
  body(rank, comm);
  coll_status before = errorOf(comm).status;
  coll_status end = coll_comm_destroy(comm);
  EXPECT_EQ(end, before) << coll_last_error();
}

static coll_id makeTestId() {
  coll_id id = {};
  EXPECT_EQ(coll_make_id(&id), COLL_OK) << coll_last_error();
  return id;
}

void onThreads(int nranks, const WithComm &body, uint64_t deadlineMs) {
  RendezvousDirectory directory;
  coll_id id = makeTestId();
  asThreads(nranks,
            [&](int rank) { runRank(id, nranks, rank, body, deadlineMs); });
}

std::vector<std::string> onProcesses(int nranks, const WithComm &body,
                                     uint64_t deadlineMs) {
  RendezvousDirectory directory;
  coll_id id = makeTestId();
  return asProcesses(nranks, [&](int rank) -> std::string {
    runRank(id, nranks, rank, body, deadlineMs);
    fflush(stdout); // where assertions have been written
    return testing::Test::HasFailure() ? "failed" : "";
  });
}

void onGoodProcesses(int nranks, const WithComm &body, uint64_t deadlineMs) {
  std::vector<std::string> ends = onProcesses(nranks, body, deadlineMs);
  for (int rank = 0; rank != nranks; ++rank)
    EXPECT_EQ(ends[size_t(rank)], "") << "rank " << rank;
}

int32_t valueAt(int rank, size_t i) {
  return int32_t((i * 2654435761u >> 7) % 1000) + 1000 * rank;
}

std::vector<int32_t> inputOf(int rank, size_t count) {
  std::vector<int32_t> values(count);
  for (size_t i = 0; i != count; ++i)
    values[i] = valueAt(rank, i);
  return values;
}

std::vector<int32_t> sumOf(int nranks, size_t count) {
  std::vector<int32_t> sums(count, 0);
  for (int rank = 0; rank != nranks; ++rank)
    for (size_t i = 0; i != count; ++i)
      sums[i] += valueAt(rank, i);
  return sums;
}

void checkAllreduce(const coll_plan &plan, int rank, coll_comm *comm,
                    size_t count, bool inPlace) {
  std::vector<int32_t> in = inputOf(rank, count), out(count, -1);
  std::vector<int32_t> &result = inPlace ? in : out;
  Call call;
  call.in(in.data()).out(result.data()).count(count);
  ASSERT_EQ(coll_launch(&plan, call, comm, nullptr), COLL_OK)
      << coll_last_error();
  EXPECT_TRUE(result == sumOf(coll_comm_size(comm), count))
      << "rank " << rank << ", count " << count << ", in place " << inPlace;
}

coll_status allreduce(const coll_plan &plan, coll_comm *comm, size_t count,
                      coll_dtype dtype, coll_op op) {
  std::vector<double> in(count), out(count);
  Call call(dtype, op);
  call.in(in.data()).out(out.data()).count(count);
  return coll_launch(&plan, call, comm, nullptr);
}

void expectContains(const std::string &text, const std::string &part) {
  EXPECT_NE(text.find(part), std::string::npos)
      << "'" << part << "' is not in:\n"
      << text;
}

size_t elemsFrom(int p, int q) {
  return size_t((p * 7 + q * 3) % 5) * (p == q ? 1 : 70001);
}

void checkAlltoallv(const coll_plan &plan, int rank, coll_comm *comm,
                    bool displaced) {
  int nranks = coll_comm_size(comm);
  const size_t gap = displaced ? 5 : 0;
  std::vector<size_t> given, inDispl, outDispl;
  size_t inTotal = 0, outTotal = 0;
  for (int p = 0; p != nranks; ++p)
    for (int q = 0; q != nranks; ++q)
      if (p == rank || q == rank)
        given.push_back(elemsFrom(p, q));
  for (int q = 0; q != nranks; ++q) {
    inDispl.push_back(inTotal);
    outDispl.push_back(outTotal);
    inTotal += elemsFrom(rank, q) + gap;
    outTotal += elemsFrom(q, rank) + gap;
  }
  std::vector<int32_t> in = inputOf(rank, inTotal), out(outTotal, -1);
  Call call;
  call.in(in.data()).out(out.data()).counts(given);
  if (displaced)
    call.displ(inDispl).displ(outDispl);
  ASSERT_EQ(coll_launch(&plan, call, comm, nullptr), COLL_OK)
      << coll_last_error();

  std::vector<int32_t> expected(outTotal, -1);
  for (int p = 0; p != nranks; ++p) {
    size_t first = 0; // of the part for this rank, in p's input
    for (int q = 0; q != rank; ++q)
      first += elemsFrom(p, q) + gap;
    for (size_t i = 0; i != elemsFrom(p, rank); ++i)
      expected[outDispl[size_t(p)] + i] = valueAt(p, first + i);
  }
  EXPECT_TRUE(out == expected) << "rank " << rank;
}

} // namespace coll::test
