/* several-counts.c - One object at several rank counts.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * usage: several-counts RANKS...: for each number, so many processes gather
 * with allgather_ring, in place and not, and exchange unequal pieces with
 * alltoallv_direct. Prints "N: right" or what was wrong.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "plans.h"

enum { COUNT = 1000, MOST = 16 };

static int bad(int rank, const char *what, coll_status status) {
  fprintf(stderr, "rank %d: %s: %s: %s\n", rank, what,
          coll_status_string(status), coll_last_error());
  return 1;
}

static int gather(coll_comm *comm, int rank, int n, int inPlace) {
  static int in[COUNT], out[MOST * COUNT];
  int *source = inPlace ? out + rank * COUNT : in;
  memset(out, 0xa5, sizeof out);
  for (int i = 0; i < COUNT; ++i)
    source[i] = rank * COUNT + i;
  coll_status status = allgather_ring(source, out, COUNT, COLL_I32, comm, NULL);
  if (status != COLL_OK)
    return bad(rank, "allgather_ring", status);
  for (int i = 0; i < n * COUNT; ++i)
    if (out[i] != i)
      return fprintf(stderr, "rank %d: allgather_ring: element %d is %d\n",
                     rank, i, out[i]),
             1;
  return 0;
}

static size_t pieceOf(int from, int to) {
  return (size_t)(from * 7 + to * 3) % 11;
}

static int exchange(coll_comm *comm, int rank, int n) {
  static int in[MOST * 11], out[MOST * 11];
  size_t counts[2 * MOST], given = 0, at = 0;
  /* What rank is given of n[p, q], in C order: its row and its column. */
  for (int p = 0; p < n; ++p)
    for (int q = 0; q < n; ++q)
      if (p == rank || q == rank)
        counts[given++] = pieceOf(p, q);
  for (int q = 0; q < n; ++q)
    for (size_t i = 0; i < pieceOf(rank, q); ++i)
      in[at++] = rank * 10000 + q * 100 + (int)i;
  memset(out, 0xa5, sizeof out);
  coll_status status =
      alltoallv_direct(in, out, counts, NULL, COLL_I32, comm, NULL);
  if (status != COLL_OK)
    return bad(rank, "alltoallv_direct", status);
  at = 0;
  for (int p = 0; p < n; ++p)
    for (size_t i = 0; i < pieceOf(p, rank); ++i, ++at)
      if (out[at] != p * 10000 + rank * 100 + (int)i)
        return fprintf(stderr,
                       "rank %d: alltoallv_direct: element %d of %d's is %d\n",
                       rank, (int)i, p, out[at]),
               1;
  return 0;
}

static int run(const coll_id *id, int rank, int n) {
  coll_comm *comm;
  coll_config config = COLL_CONFIG_INIT;
  config.deadline_ns = config.init_deadline_ns = 60000000000u;
  coll_status status = coll_comm_init(&comm, n, id, rank, &config);
  if (status != COLL_OK)
    return bad(rank, "coll_comm_init", status);
  int wrong = gather(comm, rank, n, 0) | gather(comm, rank, n, 1) |
              exchange(comm, rank, n);
  coll_comm_destroy(comm);
  return wrong;
}

int main(int argc, char **argv) {
  int failed = 0;
  for (int a = 1; a < argc; ++a) {
    int n = atoi(argv[a]), wrong = 0;
    coll_id id;
    if (coll_make_id(&id) != COLL_OK)
      return bad(-1, "coll_make_id", COLL_SYSTEM);
    fflush(stdout);
    for (int rank = 0; rank < n; ++rank)
      if (fork() == 0)
        _exit(run(&id, rank, n));
    for (int rank = 0; rank < n; ++rank) {
      int status;
      wait(&status);
      wrong |= status;
    }
    printf("%d: %s\n", n, wrong ? "wrong" : "right");
    failed |= wrong;
  }
  return failed != 0;
}
