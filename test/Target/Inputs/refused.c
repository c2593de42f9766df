/* refused.c - Calls that an object has no kernel or plan for, on one rank; the
 * communicator survives them. SPDX-License-Identifier: Apache-2.0 WITH
 * LLVM-exception
 */
#include <stdio.h>

#include "plans.h"

static void report(const char *what, coll_status status) {
  printf("%s: %s: %s\n", what, coll_status_string(status),
         status == COLL_OK ? "" : coll_last_error());
}

int main(void) {
  coll_comm *comm;
  coll_id id;
  float in[3] = {1, 2, 3}, out[3] = {0, 0, 0};
  coll_status status = coll_make_id(&id);
  if (status == COLL_OK)
    status = coll_comm_init(&comm, 1, &id, 0, NULL);
  report("init", status);
  if (status != COLL_OK)
    return 1;
  report("f64", alone(in, out, 1, COLL_F64, COLL_SUM, comm, NULL));
  report("max", alone(in, out, 1, COLL_F32, COLL_MAX, comm, NULL));
  report("scaled", alone_scaled(in, out, 1, COLL_F32, 2.0, comm, NULL));
  report("dtype 99", alone(in, out, 1, (coll_dtype)99, COLL_SUM, comm, NULL));
  report("two ranks", together(in, out, 1, COLL_F32, COLL_SUM, comm, NULL));
  report("f32", alone(in, out, 3, COLL_F32, COLL_SUM, comm, NULL));
  printf("out %g %g %g\n", out[0], out[1], out[2]);
  report("destroy", coll_comm_destroy(comm));
  return 0;
}
