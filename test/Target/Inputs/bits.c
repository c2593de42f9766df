/* bits.c - Prints a hash of what an all-reduce gives on every rank.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ring.h"

enum { RANKS = 3, COUNT = 4099 };

static int run(const coll_id *id, int rank) {
  static float in[COUNT], out[COUNT];
  unsigned state = 1u + (unsigned)rank, hash = 2166136261u;
  coll_comm *comm;
  for (int i = 0; i < COUNT; ++i) {
    state = state * 1664525u + 1013904223u;
    in[i] = (float)state / 65536.0f - 30000.0f;
  }
  if (coll_comm_init(&comm, RANKS, id, rank, NULL) != COLL_OK ||
      allreduce_ring(in, out, COUNT, COLL_F32, COLL_SUM, comm, NULL) !=
          COLL_OK) {
    fprintf(stderr, "rank %d: %s\n", rank, coll_last_error());
    return 1;
  }
  coll_comm_destroy(comm);
  for (int i = 0; i < COUNT; ++i) {
    unsigned bits;
    memcpy(&bits, &out[i], sizeof bits);
    hash = (hash ^ bits) * 16777619u;
  }
  printf("rank %d: %08x\n", rank, hash);
  fflush(stdout);
  return 0;
}

int main(void) {
  coll_id id;
  int failed = 0;
  if (coll_make_id(&id) != COLL_OK)
    return 1;
  for (int rank = 0; rank < RANKS; ++rank)
    if (fork() == 0)
      _exit(run(&id, rank));
  for (int rank = 0; rank < RANKS; ++rank) {
    int status;
    wait(&status);
    failed |= status;
  }
  return failed != 0;
}
