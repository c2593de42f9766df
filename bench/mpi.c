//===- mpi.c - The collectives of Host.cpp by an MPI ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// usage: mpirun -n RANKS mpi BATCHES OPERATIONS BYTES...   (see Host.cpp)
//
// The same batches and the same lines; there are no floors among them.
//
//===----------------------------------------------------------------------===//

#define _GNU_SOURCE
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
  ALLREDUCE,
  ALLGATHER,
  REDUCE_SCATTER,
  BROADCAST,
  ALLTOALL,
  REDUCE,
  GATHER,
  SCATTER,
  SENDRECV,
  NUM_OPS
};
static const char *const names[] = {"allreduce", "allgather", "reduce_scatter",
                                    "broadcast", "alltoall",  "reduce",
                                    "gather",    "scatter",   "sendrecv"};
static const double batch_seconds = 0.002;
static int rank, ranks;
static float *in, *out;

static void once(int op, int count) {
  int part = count / ranks;
  MPI_Comm world = MPI_COMM_WORLD;
  switch (op) {
  case ALLREDUCE:
    MPI_Allreduce(in, out, count, MPI_FLOAT, MPI_SUM, world);
    break;
  case ALLGATHER:
    MPI_Allgather(in, part, MPI_FLOAT, out, part, MPI_FLOAT, world);
    break;
  case REDUCE_SCATTER:
    MPI_Reduce_scatter_block(in, out, part, MPI_FLOAT, MPI_SUM, world);
    break;
  case BROADCAST: /* MPI's is in place */
    MPI_Bcast(out, count, MPI_FLOAT, 0, world);
    break;
  case ALLTOALL:
    MPI_Alltoall(in, part, MPI_FLOAT, out, part, MPI_FLOAT, world);
    break;
  case REDUCE:
    MPI_Reduce(in, out, count, MPI_FLOAT, MPI_SUM, 0, world);
    break;
  case GATHER:
    MPI_Gather(in, part, MPI_FLOAT, out, part, MPI_FLOAT, 0, world);
    break;
  case SCATTER:
    MPI_Scatter(in, part, MPI_FLOAT, out, part, MPI_FLOAT, 0, world);
    break;
  case SENDRECV:
    MPI_Sendrecv(in, count, MPI_FLOAT, (rank + 1) % ranks, 0, out, count,
                 MPI_FLOAT, (rank + ranks - 1) % ranks, 0, world,
                 MPI_STATUS_IGNORE);
    break;
  }
}

static double batch(int op, int count, int iterations) {
  MPI_Barrier(MPI_COMM_WORLD);
  double start = MPI_Wtime(), own, slowest;
  for (int i = 0; i < iterations; ++i)
    once(op, count);
  own = (MPI_Wtime() - start) / iterations;
  MPI_Allreduce(&own, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return slowest;
}

static int compare(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* Whether a list with commas has the name; it has every one if it is "all". */
static int isListed(const char *list, const char *name) {
  size_t length = strlen(name);
  if (strcmp(list, "all") == 0)
    return 1;
  for (const char *at = list; (at = strstr(at, name)) != NULL; at += length)
    if ((at == list || at[-1] == ',') && (at[length] == ',' || !at[length]))
      return 1;
  return 0;
}

static float *allocate(size_t bytes) {
  void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    MPI_Abort(MPI_COMM_WORLD, 1);
  madvise(memory, bytes, MADV_HUGEPAGE);
  memset(memory, 0, bytes);
  return memory;
}

static void pin(void) {
  cpu_set_t usable, own;
  int skip, cpu = 0;
  if (sched_getaffinity(0, sizeof usable, &usable) != 0)
    return;
  skip = rank % CPU_COUNT(&usable);
  while (!CPU_ISSET(cpu, &usable) || skip-- != 0)
    ++cpu;
  CPU_ZERO(&own);
  CPU_SET(cpu, &own);
  sched_setaffinity(0, sizeof own, &own);
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  int batches = argc > 1 ? atoi(argv[1]) : 0;
  size_t most = 0;
  if (argc < 4 || batches < 1)
    MPI_Abort(MPI_COMM_WORLD, 2);
  pin();
  for (int i = 3; i < argc; ++i)
    if (strtoull(argv[i], NULL, 10) > most)
      most = strtoull(argv[i], NULL, 10);
  in = allocate(most);
  out = allocate(most);
  double *seconds = malloc(sizeof(double) * (size_t)batches);
  for (int i = 3; i < argc; ++i) {
    size_t bytes = strtoull(argv[i], NULL, 10);
    int count = (int)(bytes / sizeof(float));
    for (int op = 0; op < NUM_OPS; ++op) {
      if (!isListed(argv[2], names[op]))
        continue;
      double each = batch(op, count, 2);
      int iterations = (int)(batch_seconds / (each > 1e-8 ? each : 1e-8));
      iterations = iterations < 1 ? 1 : iterations > 20000 ? 20000 : iterations;
      MPI_Bcast(&iterations, 1, MPI_INT, 0, MPI_COMM_WORLD);
      for (int b = 0; b < batches; ++b)
        seconds[b] = batch(op, count, iterations);
      qsort(seconds, (size_t)batches, sizeof(double), compare);
      if (rank == 0)
        printf("%s,%d,%zu,%.4f\n", names[op], ranks, bytes,
               seconds[batches / 5] * 1e6);
    }
  }
  MPI_Finalize();
  return 0;
}
