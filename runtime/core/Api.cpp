//===- Api.cpp - The C interface of communicators -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/core/Api.h"
#include "runtime/core/CommunicatorFactory.h"
#include "runtime/core/Lane.h"

using namespace coll;

namespace coll {

Status badHandle(const coll_comm *comm) {
  if (!comm)
    return Status::error(COLL_INVALID, "the communicator is null");
  return Status::error(COLL_INVALID,
                       "the communicator belongs to the process that made it, "
                       "not to a forked child");
}

} // namespace coll

static Status nullArgument(const char *function, const char *argument) {
  return Status::error(COLL_INVALID, "%s: %s is null", function, argument);
}

coll_status coll_make_id(coll_id *id) {
  return guarded(
      [&] { return id ? makeId(*id) : nullArgument("coll_make_id", "id"); });
}

coll_status coll_comm_init(coll_comm **comm, int nranks, const coll_id *id,
                           int rank, const coll_config *config) {
  return guarded([&]() -> Status {
    if (!comm)
      return nullArgument("coll_comm_init", "comm");
    *comm = nullptr;
    if (!id)
      return nullArgument("coll_comm_init", "id");
    std::unique_ptr<coll_comm> made;
    COLL_TRY(CommunicatorFactory::fromId(nranks, *id, rank, config, made));
    *comm = made.release();
    return Status::ok();
  });
}

coll_status coll_comm_init_env(coll_comm **comm, const coll_config *config) {
  return guarded([&]() -> Status {
    if (!comm)
      return nullArgument("coll_comm_init_env", "comm");
    *comm = nullptr;
    std::unique_ptr<coll_comm> made;
    COLL_TRY(CommunicatorFactory::fromEnvironment(config, made));
    *comm = made.release();
    return Status::ok();
  });
}

coll_status coll_comm_dup(coll_comm *comm, coll_comm **lane) {
  return guarded([&]() -> Status {
    if (!lane)
      return nullArgument("coll_comm_dup", "lane");
    *lane = nullptr;
    COLL_TRY(checkHandle(comm));
    std::unique_ptr<coll_comm> made;
    COLL_TRY(CommunicatorFactory::duplicate(*comm, made));
    *lane = made.release();
    return Status::ok();
  });
}

coll_status coll_comm_split(coll_comm *comm, int color, int key,
                            coll_comm **sub) {
  return guarded([&]() -> Status {
    if (!sub)
      return nullArgument("coll_comm_split", "sub");
    *sub = nullptr;
    COLL_TRY(checkHandle(comm));
    std::unique_ptr<coll_comm> made;
    COLL_TRY(CommunicatorFactory::split(*comm, color, key, made));
    *sub = made.release();
    return Status::ok();
  });
}

coll_status coll_comm_shrink(coll_comm *failed, coll_comm **survivors) {
  return guarded([&]() -> Status {
    if (survivors)
      *survivors = nullptr;
    COLL_TRY(checkHandle(failed));
    return Status::error(COLL_INVALID,
                         "coll_comm_shrink is not supported yet: make a new "
                         "communicator of the ranks that are left");
  });
}

coll_status coll_comm_destroy(coll_comm *comm) {
  return guarded([&]() -> Status {
    if (!comm)
      return Status::ok();
    COLL_TRY(checkHandle(comm));
    std::unique_ptr<coll_comm> owner(comm); // gone in any case
    return owner->close();
  });
}

coll_status coll_comm_abort(coll_comm *comm, const char *reason) {
  return guarded([&]() -> Status {
    COLL_TRY(checkHandle(comm));
    comm->fail(Status::error(COLL_ABORTED, "rank %d aborted: %s", comm->rank(),
                             reason && *reason ? reason : "no reason given")
                   .toError());
    return Status::ok();
  });
}

coll_status coll_comm_error(coll_comm *comm, coll_error *error) {
  return guarded([&]() -> Status {
    if (!error)
      return nullArgument("coll_comm_error", "error");
    *error = {COLL_OK, -1, -1, "", ""};
    COLL_TRY(checkHandle(comm));
    if (const Error *first = comm->error())
      *error = {first->status, first->rank, first->peer, first->where.c_str(),
                first->text.c_str()};
    return Status::ok();
  });
}

int coll_comm_rank(const coll_comm *comm) { return comm ? comm->rank() : -1; }
int coll_comm_size(const coll_comm *comm) { return comm ? comm->size() : -1; }

const char *coll_status_string(coll_status status) {
  switch (status) {
  case COLL_OK:
    return "success";
  case COLL_INVALID:
    return "invalid argument";
  case COLL_MISMATCH:
    return "ranks called differently";
  case COLL_TIMEOUT:
    return "deadline passed";
  case COLL_PEER_LOST:
    return "a rank is gone";
  case COLL_ABORTED:
    return "aborted";
  case COLL_NO_MEMORY:
    return "out of memory";
  case COLL_NO_PLAN:
    return "no plan for this call";
  case COLL_SYSTEM:
    return "system error";
  case COLL_OVERLAP:
    return "launches overlap on one communicator";
  }
  return "unknown status";
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

coll_status coll_mem_alloc(coll_comm *comm, size_t bytes, void **ptr) {
  return guarded([&]() -> Status {
    if (!ptr)
      return nullArgument("coll_mem_alloc", "ptr");
    *ptr = nullptr;
    COLL_TRY(checkHandle(comm));
    if (DeviceLane *device = Lane::of(*comm).device())
      return device->allocate(bytes, ptr);
    return comm->memory().allocate(bytes, ptr);
  });
}

coll_status coll_mem_free(coll_comm *comm, void *ptr) {
  return guarded([&]() -> Status {
    COLL_TRY(checkHandle(comm));
    if (DeviceLane *device = Lane::of(*comm).device())
      return device->free(ptr);
    return comm->memory().free(ptr);
  });
}

coll_status coll_register(coll_comm *comm, void *ptr, size_t bytes, int fd) {
  return guarded([&]() -> Status {
    COLL_TRY(checkHandle(comm));
    if (DeviceLane *device = Lane::of(*comm).device())
      return device->add(ptr, bytes, fd);
    return comm->memory().add(ptr, bytes, fd);
  });
}

coll_status coll_deregister(coll_comm *comm, void *ptr) {
  return guarded([&]() -> Status {
    COLL_TRY(checkHandle(comm));
    if (DeviceLane *device = Lane::of(*comm).device())
      return device->remove(ptr);
    return comm->memory().remove(ptr);
  });
}
