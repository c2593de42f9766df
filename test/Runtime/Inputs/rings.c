/* rings.c - All-gathers that use rings in every way
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * usage: rings CALLS NT...       COLL_NT of each rank: 0, 1 or auto
 *
 * Lengths take turns, so that messages of a whole slot, of a half and of a
 * quarter follow one another in a ring. No two calls have the same data: what
 * is read from where another message lies is seen. */
#include <coll/use_standard.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const size_t lengths[] = {2064,  6000,  16384, 16400, 32768,
                                 40000, 65536, 3000,  150000};
enum { NUM_LENGTHS = sizeof lengths / sizeof *lengths, MOST = 150000 };

static uint32_t value(unsigned call, int rank, size_t i) {
  return (call * 1000003u + (uint32_t)rank * 7919u + (uint32_t)i) * 2654435761u;
}

static int gather(coll_comm *comm, int rank, int ranks, unsigned call,
                  uint32_t *in, uint32_t *out) {
  size_t count = lengths[call % NUM_LENGTHS] / sizeof *in;
  for (size_t i = 0; i != count; ++i)
    in[i] = value(call, rank, i);
  memset(out, 0, (size_t)ranks * count * sizeof *out);
  if (coll_allgather(in, out, count, COLL_U32, comm, NULL) != COLL_OK) {
    fprintf(stderr, "rank %d: %s\n", rank, coll_last_error());
    return 1;
  }
  for (int r = 0; r != ranks; ++r)
    for (size_t i = 0; i != count; ++i)
      if (out[(size_t)r * count + i] != value(call, r, i)) {
        fprintf(stderr, "rank %d: call %u: element %zu of rank %d is wrong\n",
                rank, call, i, r);
        return 1;
      }
  return 0;
}

static int run(const coll_id *id, int rank, int ranks, unsigned calls) {
  coll_comm *comm = NULL;
  if (coll_comm_init(&comm, ranks, id, rank, NULL) != COLL_OK ||
      coll_use_standard(comm) != COLL_OK) {
    fprintf(stderr, "rank %d: %s\n", rank, coll_last_error());
    return 1;
  }
  uint32_t *in = malloc(MOST), *out = malloc((size_t)ranks * MOST);
  int failed = 0;
  for (unsigned call = 0; call != calls && !failed; ++call)
    failed = gather(comm, rank, ranks, call, in, out);
  free(in);
  free(out);
  return failed || coll_comm_destroy(comm) != COLL_OK;
}

int main(int argc, char **argv) {
  coll_id id;
  int ranks = argc - 2, failed = 0, status;
  if (ranks < 2 || coll_make_id(&id) != COLL_OK)
    return 2;
  for (int rank = 0; rank != ranks; ++rank)
    if (fork() == 0) {
      setenv("COLL_NT", argv[2 + rank], 1);
      _exit(run(&id, rank, ranks, (unsigned)atoi(argv[1])));
    }
  while (wait(&status) > 0)
    failed |= status != 0;
  puts(failed ? "wrong" : "right");
  return failed;
}
