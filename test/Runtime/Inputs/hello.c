/*===- hello.c - Ranks that meet and part -----------------------------------===
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/
#include "coll/coll.h"

#include <stdio.h>

int main(void) {
  coll_comm *comm;
  if (coll_comm_init_env(&comm, NULL) != COLL_OK) {
    fprintf(stderr, "error: %s\n", coll_last_error());
    return 1;
  }
  printf("rank %d of %d\n", coll_comm_rank(comm), coll_comm_size(comm));
  return coll_comm_destroy(comm) == COLL_OK ? 0 : 2;
}
