/* standard.c - Every standard contract on generated plans.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * usage: standard RANKS. Element i of rank r's vector is r * 1000 + i; every
 * output is compared with what the contract says.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef USE_STANDARD
#include "coll/use_standard.h"
#else
#include "plans.h"
#endif

enum { COUNT = 37, MOST = 8 };

static int rank, ranks, failures;
static int in[MOST * COUNT], out[MOST * COUNT];

static void prepare(void) {
  for (int i = 0; i < MOST * COUNT; ++i)
    in[i] = rank * 1000 + i;
  memset(out, 0xa5, sizeof out);
}

/* What element i of part q of rank r's vector was. */
static int element(int r, int q, int i) { return r * 1000 + q * COUNT + i; }

static int sumOf(int first, int last, int q, int i) {
  int sum = 0;
  for (int r = first; r < last; ++r)
    sum += element(r, q, i);
  return sum;
}

static void check(const char *what, coll_status status) {
  if (status != COLL_OK) {
    fprintf(stderr, "rank %d: %s: %s: %s\n", rank, what,
            coll_status_string(status), coll_last_error());
    _exit(1);
  }
}

static void expect(const char *what, int at, int value) {
  if (out[at] != value && ++failures < 10)
    fprintf(stderr, "rank %d: %s: element %d is %d, not %d\n", rank, what, at,
            out[at], value);
}

static void reductions(coll_comm *comm) {
  prepare();
  check("allreduce",
        coll_allreduce(in, out, COUNT, COLL_I32, COLL_SUM, comm, NULL));
  for (int i = 0; i < COUNT; ++i)
    expect("allreduce", i, sumOf(0, ranks, 0, i));
  prepare();
  check("max", coll_allreduce(in, in, COUNT, COLL_I32, COLL_MAX, comm, NULL));
  memcpy(out, in, sizeof out);
  for (int i = 0; i < COUNT; ++i)
    expect("max in place", i, element(ranks - 1, 0, i));
  prepare();
  check("reduce_scatter",
        coll_reduce_scatter(in, out, COUNT, COLL_I32, COLL_SUM, comm, NULL));
  for (int i = 0; i < COUNT; ++i)
    expect("reduce_scatter", i, sumOf(0, ranks, rank, i));
  prepare();
  check("scan", coll_scan(in, out, COUNT, COLL_I32, COLL_SUM, comm, NULL));
  for (int i = 0; i < COUNT; ++i)
    expect("scan", i, sumOf(0, rank + 1, 0, i));
  for (int root = 0; root < ranks; ++root) {
    prepare();
    check("reduce", coll_reduce(in, rank == root ? out : NULL, COUNT, COLL_I32,
                                COLL_SUM, root, comm, NULL));
    for (int i = 0; i < COUNT && rank == root; ++i)
      expect("reduce", i, sumOf(0, ranks, 0, i));
  }
}

static void moves(coll_comm *comm) {
  prepare();
  check("allgather", coll_allgather(in, out, COUNT, COLL_I32, comm, NULL));
  for (int i = 0; i < ranks * COUNT; ++i)
    expect("allgather", i, element(i / COUNT, 0, i % COUNT));
  prepare();
  check("alltoall", coll_alltoall(in, out, COUNT, COLL_I32, comm, NULL));
  for (int i = 0; i < ranks * COUNT; ++i)
    expect("alltoall", i, element(i / COUNT, rank, i % COUNT));
  for (int root = 0; root < ranks; ++root) {
    int target = (root + 1) % ranks;
    prepare();
    check("broadcast", coll_broadcast(rank == root ? in : NULL, out, COUNT,
                                      COLL_I32, root, comm, NULL));
    for (int i = 0; i < COUNT; ++i)
      expect("broadcast", i, element(root, 0, i));
    prepare();
    check("scatter", coll_scatter(rank == root ? in : NULL, out, COUNT,
                                  COLL_I32, root, comm, NULL));
    for (int i = 0; i < COUNT; ++i)
      expect("scatter", i, element(root, rank, i));
    prepare();
    check("gather", coll_gather(in, rank == root ? out : NULL, COUNT, COLL_I32,
                                root, comm, NULL));
    for (int i = 0; i < ranks * COUNT && rank == root; ++i)
      expect("gather", i, element(i / COUNT, 0, i % COUNT));
    prepare();
    check("send_recv",
          coll_send_recv(rank == root ? in : NULL, rank == target ? out : NULL,
                         COUNT, COLL_I32, root, target, comm, NULL));
    for (int i = 0; i < COUNT && rank == target; ++i)
      expect("send_recv", i, element(root, 0, i));
  }
}

static void vectors(coll_comm *comm) {
  size_t counts[MOST], displs[MOST], sends[MOST], receives[MOST];
  for (int q = 0; q < ranks; ++q) {
    counts[q] = (size_t)(q * 5 % 7);
    displs[q] = (size_t)(ranks - 1 - q) * COUNT; /* backwards, with gaps */
    sends[q] = (size_t)(rank * 3 + q) % 5;
    receives[q] = (size_t)(q * 3 + rank) % 5;
  }
  prepare();
  check("allgatherv",
        coll_allgatherv(in, out, counts, displs, COLL_I32, comm, NULL));
  for (int q = 0; q < ranks; ++q)
    for (int i = 0; i < (int)counts[q]; ++i)
      expect("allgatherv", (int)displs[q] + i, element(q, 0, i));
  prepare();
  for (int q = 0; q < ranks; ++q)
    displs[q] = (size_t)q * COUNT;
  check("alltoallv", coll_alltoallv(in, sends, displs, out, receives, displs,
                                    COLL_I32, comm, NULL));
  for (int q = 0; q < ranks; ++q)
    for (int i = 0; i < (int)receives[q]; ++i)
      expect("alltoallv", q * COUNT + i, element(q, rank, i));
}

static int run(const coll_id *id) {
#ifndef USE_STANDARD
  const coll_plan *const plans[] = {
      &my_allreduce_plan, &my_allgather_plan, &my_reduce_scatter_plan,
      &my_alltoall_plan,  &my_broadcast_plan, &my_reduce_plan,
      &my_scatter_plan,   &my_gather_plan,    &my_send_recv_plan,
      &my_scan_plan,      &my_barrier_plan,   &my_allgatherv_plan,
      &my_alltoallv_plan};
#endif
  coll_comm *comm;
  check("init", coll_comm_init(&comm, ranks, id, rank, NULL));
#ifdef USE_STANDARD
  check("use", coll_use_standard(comm));
#else
  for (size_t i = 0; i < sizeof plans / sizeof *plans; ++i)
    check("use", coll_use(comm, plans[i]));
#endif
  for (int repeat = 0; repeat < 3; ++repeat) {
    reductions(comm);
    check("barrier", coll_barrier(comm, NULL));
    moves(comm);
    vectors(comm);
  }
#ifndef USE_STANDARD
  check("the plan's own function", my_barrier(comm, NULL));
#endif
  check("destroy", coll_comm_destroy(comm));
  return failures != 0;
}

int main(int argc, char **argv) {
  coll_id id;
  int failed = 0;
  ranks = argc > 1 ? atoi(argv[1]) : 2;
  check("make_id", coll_make_id(&id));
  for (rank = 0; rank < ranks; ++rank)
    if (fork() == 0)
      _exit(run(&id));
  for (int r = 0; r < ranks; ++r) {
    int status;
    wait(&status);
    failed |= status;
  }
  return failed != 0;
}
