/* mismatch.c - Rank 1 calls otherwise than ranks 0 and 2, in the second launch.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * usage: mismatch count|part|gone|more|dtype|op|plan|absent. Prints every
 * rank's status, in order, then what rank 0 has to say.
 */
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "plans.h"

enum { RANKS = 3, COUNT = 100 };

static struct {
  char status[64], text[4000];
} reports[RANKS];

/* Every part has two elements, but for the one that rank 0 sends to rank 1:
 * `sent` elements, says rank 0, and `taken`, says rank 1. */
static coll_status swapParts(const void *in, void *out, int rank, size_t sent,
                             size_t taken, coll_comm *comm) {
  size_t counts[2 * RANKS - 1], *next = counts;
  for (int p = 0; p < RANKS; ++p)
    for (int q = 0; q < RANKS; ++q)
      if (p == rank || q == rank)
        *next++ = p != 0 || q != 1 ? 2 : rank == 0 ? sent : taken;
  return swap(in, out, counts, NULL, COLL_F32, comm, NULL);
}

static coll_status second(const char *how, int rank, coll_comm *comm) {
  static int in[COUNT + 1], out[COUNT + 1];
  int odd = rank == 1;
  if (odd && strcmp(how, "plan") == 0)
    return spread(in, out, COUNT, COLL_F32, comm, NULL);
  if (odd && strcmp(how, "absent") == 0) {
    sleep(6);
    return COLL_OK;
  }
  if (strcmp(how, "part") == 0)
    return swapParts(in, out, rank, 2, 1, comm);
  if (strcmp(how, "gone") == 0)
    return swapParts(in, out, rank, 2, 0, comm);
  if (strcmp(how, "more") == 0)
    return swapParts(in, out, rank, 0, 2, comm);
  size_t count = odd && strcmp(how, "count") == 0 ? COUNT + 1 : COUNT;
  coll_dtype dtype = odd && strcmp(how, "dtype") == 0 ? COLL_I32 : COLL_F32;
  coll_op op = odd && strcmp(how, "op") == 0 ? COLL_MAX : COLL_SUM;
  return sums(in, out, count, dtype, op, comm, NULL);
}

static void run(const coll_id *id, const char *how, int rank, int fd) {
  static float in[COUNT], out[COUNT];
  coll_comm *comm;
  coll_config config = COLL_CONFIG_INIT;
  config.deadline_ns = strcmp(how, "absent") == 0 ? 2000000000u : 60000000000u;
  coll_status status = coll_comm_init(&comm, RANKS, id, rank, &config);
  if (status == COLL_OK)
    status = sums(in, out, COUNT, COLL_F32, COLL_SUM, comm, NULL);
  /* A rank that was done before anyone could find out is told by its next call.
   */
  for (int i = 0; i < 2 && status == COLL_OK; ++i)
    status = second(how, rank, comm);
  snprintf(reports[rank].status, sizeof reports[rank].status, "%s",
           coll_status_string(status));
  snprintf(reports[rank].text, sizeof reports[rank].text, "%s",
           coll_last_error());
  if (write(fd, &reports[rank], sizeof reports[rank]) !=
      (ssize_t)sizeof reports[rank])
    _exit(1);
  if (comm)
    coll_comm_destroy(comm);
  _exit(0);
}

int main(int argc, char **argv) {
  coll_id id;
  int ends[RANKS][2];
  if (argc != 2 || coll_make_id(&id) != COLL_OK)
    return 1;
  for (int rank = 0; rank < RANKS; ++rank) {
    if (pipe(ends[rank]) != 0)
      return 1;
    if (fork() == 0)
      run(&id, argv[1], rank, ends[rank][1]);
  }
  for (int rank = 0; rank < RANKS; ++rank) {
    if (read(ends[rank][0], &reports[rank], sizeof reports[rank]) !=
        (ssize_t)sizeof reports[rank])
      return 1;
    printf("rank %d: %s\n", rank, reports[rank].status);
  }
  printf("%s\n", reports[0].text);
  while (wait(NULL) > 0)
    ;
  return 0;
}
