/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * For LD_PRELOAD: ranks see a peer go just when they leave. A communicator that
 * was destroyed is not used again. */
#define _GNU_SOURCE
#include <coll/coll.h>
#include <dlfcn.h>
#include <unistd.h>

static int is_destroyed;

coll_status coll_comm_destroy(coll_comm *comm) {
  coll_status (*destroy)(coll_comm *) =
      (coll_status (*)(coll_comm *))dlsym(RTLD_NEXT, "coll_comm_destroy");
  destroy(comm);
  is_destroyed = 1;
  return COLL_PEER_LOST;
}

coll_status coll_comm_error(coll_comm *comm, coll_error *error) {
  coll_status (*get)(coll_comm *, coll_error *) =
      (coll_status (*)(coll_comm *, coll_error *))dlsym(RTLD_NEXT,
                                                        "coll_comm_error");
  if (is_destroyed)
    _exit(99);
  return get(comm, error);
}
