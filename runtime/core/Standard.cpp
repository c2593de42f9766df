//===- Standard.cpp - The standard contracts ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// coll_allreduce and its kin: each says what its contract looks like, picks the
// registered plan that suits best from values that all ranks share, and
// launches it.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/Api.h"
#include "runtime/core/Lane.h"

using namespace coll;

namespace {

constexpr StandardContract allreduce = {.name = "allreduce", .reduces = true};
constexpr StandardContract allgather = {.name = "allgather",
                                        .partPerRank = true};
constexpr StandardContract reduceScatter = {
    .name = "reduce_scatter", .reduces = true, .partPerRank = true};
constexpr StandardContract alltoall = {.name = "alltoall", .partPerRank = true};
constexpr StandardContract broadcast = {.name = "broadcast", .nlaunch = 1};
constexpr StandardContract reduce = {
    .name = "reduce", .nlaunch = 1, .reduces = true};
constexpr StandardContract scatter = {
    .name = "scatter", .nlaunch = 1, .partPerRank = true};
constexpr StandardContract gather = {
    .name = "gather", .nlaunch = 1, .partPerRank = true};
constexpr StandardContract sendRecv = {.name = "send_recv", .nlaunch = 2};
constexpr StandardContract scan = {.name = "scan", .reduces = true};
constexpr StandardContract barrier = {.name = "barrier", .anyType = true};
constexpr StandardContract allgatherv = {.name = "allgatherv",
                                         .vectorCounts = true};
constexpr StandardContract alltoallv = {.name = "alltoallv",
                                        .vectorCounts = true};

[[gnu::always_inline]] inline coll_status
run(const StandardCall &call, coll_comm *comm, coll_stream stream) {
  Status status = checkHandle(comm);
  if (status.isOk())
    status = Lane::of(*comm).launchStandard(call, stream);
  return status.isOk() ? COLL_OK : report(status);
}

} // namespace

coll_status coll_allreduce(const void *in, void *out, size_t count,
                           coll_dtype dtype, coll_op op, coll_comm *comm,
                           coll_stream stream) {
  return run({&allreduce, in, out, count, dtype, op}, comm, stream);
}

coll_status coll_allgather(const void *in, void *out, size_t count,
                           coll_dtype dtype, coll_comm *comm,
                           coll_stream stream) {
  return run({&allgather, in, out, count, dtype}, comm, stream);
}

coll_status coll_reduce_scatter(const void *in, void *out, size_t count,
                                coll_dtype dtype, coll_op op, coll_comm *comm,
                                coll_stream stream) {
  return run({&reduceScatter, in, out, count, dtype, op}, comm, stream);
}

coll_status coll_alltoall(const void *in, void *out, size_t count,
                          coll_dtype dtype, coll_comm *comm,
                          coll_stream stream) {
  return run({&alltoall, in, out, count, dtype}, comm, stream);
}

coll_status coll_broadcast(const void *in, void *out, size_t count,
                           coll_dtype dtype, int root, coll_comm *comm,
                           coll_stream stream) {
  return run({&broadcast, in, out, count, dtype, COLL_SUM, {root, 0}}, comm,
             stream);
}

coll_status coll_reduce(const void *in, void *out, size_t count,
                        coll_dtype dtype, coll_op op, int root, coll_comm *comm,
                        coll_stream stream) {
  return run({&reduce, in, out, count, dtype, op, {root, 0}}, comm, stream);
}

coll_status coll_scatter(const void *in, void *out, size_t count,
                         coll_dtype dtype, int root, coll_comm *comm,
                         coll_stream stream) {
  return run({&scatter, in, out, count, dtype, COLL_SUM, {root, 0}}, comm,
             stream);
}

coll_status coll_gather(const void *in, void *out, size_t count,
                        coll_dtype dtype, int root, coll_comm *comm,
                        coll_stream stream) {
  return run({&gather, in, out, count, dtype, COLL_SUM, {root, 0}}, comm,
             stream);
}

coll_status coll_send_recv(const void *in, void *out, size_t count,
                           coll_dtype dtype, int a, int b, coll_comm *comm,
                           coll_stream stream) {
  return run({&sendRecv, in, out, count, dtype, COLL_SUM, {a, b}}, comm,
             stream);
}

coll_status coll_scan(const void *in, void *out, size_t count, coll_dtype dtype,
                      coll_op op, coll_comm *comm, coll_stream stream) {
  return run({&scan, in, out, count, dtype, op}, comm, stream);
}

coll_status coll_barrier(coll_comm *comm, coll_stream stream) {
  return run({.contract = &barrier}, comm, stream);
}

/// Counts and displacements are the caller's arrays, read at every call.
static Status launchVector(const StandardContract &contract, coll_comm *comm,
                           const void *in, void *out, const size_t *counts,
                           const size_t *const displs[2], coll_dtype dtype,
                           coll_stream stream) {
  coll_call call = {};
  call.in = &in;
  call.out = &out;
  call.count = counts;
  call.displ = displs[0] || displs[1] ? displs : nullptr;
  call.dtype = dtype;
  return Lane::of(*comm).launchBest(contract, 0, call, stream);
}

coll_status coll_allgatherv(const void *in, void *out, const size_t *counts,
                            const size_t *displs, coll_dtype dtype,
                            coll_comm *comm, coll_stream stream) {
  return guarded([&]() -> Status {
    COLL_TRY(checkHandle(comm));
    const size_t *const both[] = {nullptr, displs};
    return launchVector(allgatherv, comm, in, out, counts, both, dtype, stream);
  });
}

/// Of n[p, q] a rank r is given row r and column r, in C order.
static Status orderCounts(int rank, int nranks, const size_t *sends,
                          const size_t *recvs, std::span<size_t> given) {
  if (!sends || !recvs)
    return Status::error(COLL_INVALID, "%s is null",
                         sends ? "recv_counts" : "send_counts");
  if (sends[rank] != recvs[rank])
    return Status::error(COLL_INVALID,
                         "rank %d sends %zu elements to itself and receives "
                         "%zu",
                         rank, sends[rank], recvs[rank]);
  size_t next = 0;
  for (int p = 0; p != nranks; ++p) {
    if (p != rank)
      given[next++] = recvs[p];
    for (int q = 0; p == rank && q != nranks; ++q)
      given[next++] = sends[q];
  }
  return Status::ok();
}

coll_status coll_alltoallv(const void *in, const size_t *send_counts,
                           const size_t *send_displs, void *out,
                           const size_t *recv_counts, const size_t *recv_displs,
                           coll_dtype dtype, coll_comm *comm,
                           coll_stream stream) {
  return guarded([&]() -> Status {
    COLL_TRY(checkHandle(comm));
    std::span<size_t> given = Lane::of(*comm).countSpace();
    COLL_TRY(orderCounts(comm->rank(), comm->size(), send_counts, recv_counts,
                         given));
    const size_t *const displs[] = {send_displs, recv_displs};
    return launchVector(alltoallv, comm, in, out, given.data(), displs, dtype,
                        stream);
  });
}
