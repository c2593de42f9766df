/*===- out_of_place.c - Calls a schedule that was written for in place ------===
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/
#include "h01.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ranks = 3, count = 100003 };

static int fail(const char *what) {
  fprintf(stderr, "error: %s: %s\n", what, coll_last_error());
  return 1;
}

static int run(int rank) {
  static float in[count], out[count];
  coll_comm *comm;
  char text[16];
  snprintf(text, sizeof text, "%d", rank);
  setenv("COLL_RANK", text, 1);
  if (coll_comm_init_env(&comm, NULL) != COLL_OK)
    return fail("init");
  for (int i = 0; i < count; ++i)
    in[i] = (float)(i % 1000 + rank);
  if (h01(in, out, count, COLL_F32, COLL_SUM, comm, NULL) != COLL_OK)
    return fail("launch");
  for (int i = 0; i < count; ++i)
    if (out[i] != (float)(3 * (i % 1000) + 3) ||
        in[i] != (float)(i % 1000 + rank)) {
      fprintf(stderr, "error: rank %d, element %d\n", rank, i);
      return 1;
    }
  return coll_comm_destroy(comm) == COLL_OK ? 0 : fail("destroy");
}

int main(int argc, char **argv) {
  int wrong = 0;
  setenv("COLL_NRANKS", "3", 1);
  setenv("COLL_JOB", argc > 1 ? argv[1] : argv[0], 1);
  for (int rank = 0; rank < ranks; ++rank)
    if (fork() == 0)
      _exit(run(rank));
  for (int status, rank = 0; rank < ranks; ++rank)
    wrong += wait(&status) < 0 || status != 0;
  printf("%d of %d ranks right\n", ranks - wrong, ranks);
  return wrong != 0;
}
