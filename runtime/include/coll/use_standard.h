/*===- coll/use_standard.h - The library's schedules ------------*- C -*-===
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * For applications that call coll_allreduce and its kin and bring no schedules
 * of their own.  In CMake, coll_add_standard(TARGET RANKS 2..9 DTYPES f32)
 * compiles the library's for the target; by hand it is
 *
 *   colc standard.coll --ranks 2..9 --dtypes=f32 -o standard.o
 *
 * Include this, link the object, and call coll_use_standard once per
 * communicator.  Which of them a call runs is a table's matter (COLL_TUNE).
 *===----------------------------------------------------------------------===*/
#ifndef COLL_USE_STANDARD_H
#define COLL_USE_STANDARD_H

#include "coll/coll.h"
#include "standard.h" /* written by colc, beside the object */

/* Collective.  COLL_NO_PLAN: not compiled for so many ranks; the text names
 * those that there are. */
static inline coll_status coll_use_standard(coll_comm *comm) {
  const coll_plan *const plans[] = {&std_allreduce_one_shot_plan,
                                    &std_allreduce_two_shot_plan,
                                    &std_allreduce_ring_plan,
                                    &std_allgather_direct_plan,
                                    &std_allgather_ring_plan,
                                    &std_reduce_scatter_direct_plan,
                                    &std_reduce_scatter_ring_plan,
                                    &std_alltoall_direct_plan,
                                    &std_broadcast_direct_plan,
                                    &std_broadcast_halves_plan,
                                    &std_broadcast_chain_plan,
                                    &std_reduce_direct_plan,
                                    &std_scatter_direct_plan,
                                    &std_gather_direct_plan,
                                    &std_send_recv_plan,
                                    &std_send_recv_halves_plan,
                                    &std_scan_plan,
                                    &std_barrier_plan,
                                    &std_allgatherv_plan,
                                    &std_alltoallv_plan};
  coll_status status = COLL_OK;
  for (size_t i = 0; i != sizeof plans / sizeof *plans && status == COLL_OK;
       ++i)
    status = coll_use(comm, plans[i]);
  return status;
}

#endif /* COLL_USE_STANDARD_H */
