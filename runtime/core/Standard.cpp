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

/// The arguments of one call, and what they ask of a plan.
struct StandardCall {
  StandardContract contract;
  const void *in = nullptr;
  void *out = nullptr;
  const size_t *counts = nullptr;
  const size_t *displs[2] = {nullptr, nullptr}; ///< of in and out
  int launch[2] = {0, 0};
  coll_dtype dtype = COLL_U8;
  coll_op op = COLL_SUM;
  /// The largest buffer of any rank has so many parts of counts[0] elements.
  bool partPerRank = false;

  Status launchOn(coll_comm *comm, coll_stream stream) const;
};

} // namespace

Status StandardCall::launchOn(coll_comm *comm, coll_stream stream) const {
  COLL_TRY(checkHandle(comm));
  if (contract.reduces && op == COLL_PREMUL_SUM)
    return Status::error(COLL_INVALID,
                         "premul_sum takes a factor: call coll_launch");
  Lane &lane = Lane::of(*comm);
  uint64_t bytes = 0;
  if (counts && !contract.vectorCounts && uint32_t(dtype) < kNumDtypes)
    bytes = counts[0] * dtypeBytes(dtype) *
            (partPerRank ? uint64_t(comm->size()) : 1);
  coll_call call = {};
  call.in = &in;
  call.out = &out;
  call.count = counts;
  call.displ = displs[0] || displs[1] ? displs : nullptr;
  call.launch = launch;
  call.dtype = dtype;
  call.op = op;
  return lane.launchBest(contract, bytes, call, stream);
}

static coll_status run(const StandardCall &call, coll_comm *comm,
                       coll_stream stream) {
  return guarded([&] { return call.launchOn(comm, stream); });
}

coll_status coll_allreduce(const void *in, void *out, size_t count,
                           coll_dtype dtype, coll_op op, coll_comm *comm,
                           coll_stream stream) {
  return run({.contract = {"allreduce", 0, true},
              .in = in,
              .out = out,
              .counts = &count,
              .dtype = dtype,
              .op = op},
             comm, stream);
}

coll_status coll_allgather(const void *in, void *out, size_t count,
                           coll_dtype dtype, coll_comm *comm,
                           coll_stream stream) {
  return run({.contract = {"allgather"},
              .in = in,
              .out = out,
              .counts = &count,
              .dtype = dtype,
              .partPerRank = true},
             comm, stream);
}

coll_status coll_reduce_scatter(const void *in, void *out, size_t count,
                                coll_dtype dtype, coll_op op, coll_comm *comm,
                                coll_stream stream) {
  return run({.contract = {"reduce_scatter", 0, true},
              .in = in,
              .out = out,
              .counts = &count,
              .dtype = dtype,
              .op = op,
              .partPerRank = true},
             comm, stream);
}

coll_status coll_alltoall(const void *in, void *out, size_t count,
                          coll_dtype dtype, coll_comm *comm,
                          coll_stream stream) {
  return run({.contract = {"alltoall"},
              .in = in,
              .out = out,
              .counts = &count,
              .dtype = dtype,
              .partPerRank = true},
             comm, stream);
}

coll_status coll_broadcast(const void *in, void *out, size_t count,
                           coll_dtype dtype, int root, coll_comm *comm,
                           coll_stream stream) {
  return run({.contract = {"broadcast", 1},
              .in = in,
              .out = out,
              .counts = &count,
              .launch = {root},
              .dtype = dtype},
             comm, stream);
}

coll_status coll_reduce(const void *in, void *out, size_t count,
                        coll_dtype dtype, coll_op op, int root, coll_comm *comm,
                        coll_stream stream) {
  return run({.contract = {"reduce", 1, true},
              .in = in,
              .out = out,
              .counts = &count,
              .launch = {root},
              .dtype = dtype,
              .op = op},
             comm, stream);
}

coll_status coll_scatter(const void *in, void *out, size_t count,
                         coll_dtype dtype, int root, coll_comm *comm,
                         coll_stream stream) {
  return run({.contract = {"scatter", 1},
              .in = in,
              .out = out,
              .counts = &count,
              .launch = {root},
              .dtype = dtype,
              .partPerRank = true},
             comm, stream);
}

coll_status coll_gather(const void *in, void *out, size_t count,
                        coll_dtype dtype, int root, coll_comm *comm,
                        coll_stream stream) {
  return run({.contract = {"gather", 1},
              .in = in,
              .out = out,
              .counts = &count,
              .launch = {root},
              .dtype = dtype,
              .partPerRank = true},
             comm, stream);
}

coll_status coll_send_recv(const void *in, void *out, size_t count,
                           coll_dtype dtype, int a, int b, coll_comm *comm,
                           coll_stream stream) {
  return run({.contract = {"send_recv", 2},
              .in = in,
              .out = out,
              .counts = &count,
              .launch = {a, b},
              .dtype = dtype},
             comm, stream);
}

coll_status coll_scan(const void *in, void *out, size_t count, coll_dtype dtype,
                      coll_op op, coll_comm *comm, coll_stream stream) {
  return run({.contract = {"scan", 0, true},
              .in = in,
              .out = out,
              .counts = &count,
              .dtype = dtype,
              .op = op},
             comm, stream);
}

coll_status coll_barrier(coll_comm *comm, coll_stream stream) {
  return run({.contract = {.name = "barrier", .anyType = true}}, comm, stream);
}

coll_status coll_allgatherv(const void *in, void *out, const size_t *counts,
                            const size_t *displs, coll_dtype dtype,
                            coll_comm *comm, coll_stream stream) {
  return run({.contract = {"allgatherv", 0, false, true},
              .in = in,
              .out = out,
              .counts = counts,
              .displs = {nullptr, displs},
              .dtype = dtype},
             comm, stream);
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
    Lane &lane = Lane::of(*comm);
    std::span<size_t> given = lane.countSpace();
    COLL_TRY(orderCounts(comm->rank(), comm->size(), send_counts, recv_counts,
                         given));
    StandardCall call = {.contract = {"alltoallv", 0, false, true},
                         .in = in,
                         .out = out,
                         .counts = given.data(),
                         .displs = {send_displs, recv_displs},
                         .dtype = dtype};
    return call.launchOn(comm, stream);
  });
}
