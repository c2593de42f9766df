/* train.c - Data-parallel gradient descent with two generated kernels.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Fits y = w x by least squares. Every rank has its own samples; rank 0 hands
 * out the first parameters with the broadcast of parameters.coll, and in every
 * step the gradients are averaged with the ring all-reduce of ring.coll. All
 * ranks must end with the same bits. No MPI is linked: whichever launcher
 * starts the processes (mpirun, torchrun, srun, or COLL_JOB, COLL_RANK and
 * COLL_NRANKS by hand), the runtime finds the others by its variables.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "parameters.h"
#include "ring.h"

enum { PARAMETERS = 1000, SAMPLES = 64, STEPS = 60 };

static float weights[PARAMETERS], gradient[PARAMETERS], sum[PARAMETERS],
    received[PARAMETERS];

static float noise(unsigned *state) { /* in [-1, 1) */
  *state = *state * 1664525u + 1013904223u;
  return (float)(*state >> 8) / 8388608.0f - 1.0f;
}

/* The weight that the samples were made with. */
static float target(int i) { return (float)(i % 17) - 8.0f; }

/* Gradient of the squared error over this rank's samples; each parameter is a
 * problem of its own. */
static float gradients(int rank) {
  float loss = 0;
  unsigned state = 1u + (unsigned)rank;
  for (int i = 0; i < PARAMETERS; ++i) {
    gradient[i] = 0;
    for (int s = 0; s < SAMPLES; ++s) {
      float x = noise(&state), error = (weights[i] - target(i)) * x;
      gradient[i] += 2.0f * error * x / SAMPLES;
      loss += error * error;
    }
  }
  return loss / (PARAMETERS * SAMPLES);
}

static void check(coll_status status, const char *what) {
  if (status == COLL_OK)
    return;
  fprintf(stderr, "%s: %s: %s\n", what, coll_status_string(status),
          coll_last_error());
  exit(1);
}

int main(void) {
  coll_comm *comm;
  check(coll_comm_init_env(&comm, NULL), "coll_comm_init_env");
  int rank = coll_comm_rank(comm), ranks = coll_comm_size(comm);

  if (rank == 0) {
    unsigned state = 42;
    for (int i = 0; i < PARAMETERS; ++i)
      weights[i] = noise(&state);
  }
  check(parameters(rank == 0 ? weights : NULL, received, PARAMETERS, COLL_F32,
                   0, comm, NULL),
        "parameters");
  memcpy(weights, received, sizeof weights);

  float loss = 0;
  for (int step = 0; step < STEPS; ++step) {
    loss = gradients(rank);
    check(allreduce_ring(gradient, sum, PARAMETERS, COLL_F32, COLL_SUM, comm,
                         NULL),
          "allreduce_ring");
    for (int i = 0; i < PARAMETERS; ++i)
      weights[i] -= sum[i] / (float)ranks;
  }

  float worst = 0;
  for (int i = 0; i < PARAMETERS; ++i)
    worst = fmaxf(worst, fabsf(weights[i] - target(i)));
  unsigned checksum = 0;
  for (int i = 0; i < PARAMETERS; ++i) {
    unsigned bits;
    memcpy(&bits, &weights[i], sizeof bits);
    checksum = checksum * 31u + bits;
  }
  printf("rank %d of %d: loss %.2e, worst error %.2e, checksum %08x\n", rank,
         ranks, loss, worst, checksum);
  check(coll_comm_destroy(comm), "coll_comm_destroy");
  return worst < 1e-3f ? 0 : 1;
}
