/*===- coll/coll.h - The C interface ----------------------------*- C -*-===
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The whole public interface of the runtime; C99 and C++.  Compiled schedules
 * add one function each, declared in the header that colc writes beside the
 * object, and these call coll_launch.
 *
 *   coll_comm *comm;
 *   if (coll_comm_init_env(&comm, NULL) != COLL_OK)
 *     die(coll_last_error());
 *   allreduce_ring(in, out, count, COLL_F32, COLL_SUM, comm, NULL);
 *   coll_comm_destroy(comm);
 *
 * Ranks are processes, or threads of one process with a communicator each.  One
 * communicator is used by one thread at a time; only coll_comm_abort and
 * coll_comm_error may be called from any thread at any time.  It cannot be used
 * in a forked child.
 *
 * *Collective* calls are made by all ranks of a communicator, in one order.
 * Sizes are bytes, counts are elements, both 64 bits wide.  Pointers are
 * borrowed for the call unless it says otherwise.  Nothing throws, and nothing
 * waits longer than the communicator's deadlines.
 *===----------------------------------------------------------------------===*/
#ifndef COLL_COLL_H
#define COLL_COLL_H

#include <stddef.h>
#include <stdint.h>

/* Callers may pass any number, and are told if it is none of these: so C++
 * must not take them for impossible. */
#ifdef __cplusplus
#define COLL_ENUM : int
extern "C" {
#else
#define COLL_ENUM
#endif

/* INVALID, NO_PLAN and NO_MEMORY leave a communicator as it was.  All others
 * end it, on all ranks: what follows is coll_comm_error and
 * coll_comm_destroy. */
typedef enum COLL_ENUM {
  COLL_OK,
  COLL_INVALID,   /* a wrong argument or variable; nothing was begun */
  COLL_MISMATCH,  /* ranks called with other counts, types, ops or plans */
  COLL_TIMEOUT,   /* the deadline passed; the text says who waits for whom */
  COLL_PEER_LOST, /* a rank died or left */
  COLL_ABORTED,   /* coll_comm_abort on some rank */
  COLL_NO_MEMORY,
  COLL_NO_PLAN, /* none for this number of ranks or this call */
  COLL_SYSTEM,  /* a system call failed, or a peer broke the protocol */
  COLL_OVERLAP  /* two launches at a time on one communicator */
} coll_status;

typedef enum COLL_ENUM {
  COLL_I8,
  COLL_U8,
  COLL_I32,
  COLL_U32,
  COLL_I64,
  COLL_U64,
  COLL_F16,
  COLL_BF16,
  COLL_F32,
  COLL_F64,
  COLL_E4M3,
  COLL_E5M2
} coll_dtype;

typedef enum COLL_ENUM {
  COLL_SUM,
  COLL_PROD,
  COLL_MIN,
  COLL_MAX,
  COLL_AVG,       /* the sum, divided by the number of ranks */
  COLL_PREMUL_SUM /* the sum of inputs, each times a factor; coll_launch only */
} coll_op;

/* "deadline passed" and the like.  Never NULL. */
const char *coll_status_string(coll_status status);

/* What was wrong with the last call of this thread that failed: a sentence, or
 * "" if none has.  Lives until the thread's next call that fails. */
const char *coll_last_error(void);

/*===-- Communicators
 * -------------------------------------------------------===*/

/* Ranks that launch together: one lane of channels among them, on which
 * launches have one order. */
typedef struct coll_comm coll_comm;

/* Names a communicator to be.  Made by one rank, brought to all others by the
 * application's own means, used for one coll_comm_init per rank. */
typedef struct {
  uint8_t bytes[128];
} coll_id;

typedef struct {
  uint32_t size;             /* sizeof(coll_config), by COLL_CONFIG_INIT */
  uint64_t deadline_ns;      /* of every wait; 0: COLL_DEADLINE or 10 min */
  uint64_t init_deadline_ns; /* 0: COLL_INIT_DEADLINE or 2 min */
  int device;                /* a CUDA device's number, or COLL_DEVICE_* */
  const char *secret_file;   /* for rendezvous over TCP, mode 0600; or NULL */
} coll_config;               /* UINT64_MAX as a deadline: none */
enum {
  COLL_DEVICE_DEFAULT = -1, /* COLL_DEVICE (host, cuda, cuda:N), or the host */
  COLL_DEVICE_BY_RANK = -2  /* CUDA, the rank modulo the number of devices */
};
#define COLL_CONFIG_INIT {sizeof(coll_config), 0, 0, -1, NULL}

coll_status coll_make_id(coll_id *id);

/* Waits for all ranks; the ranks that did not come in time are named.  NULL for
 * config means COLL_CONFIG_INIT.  On an error *comm is NULL, on all ranks, and
 * coll_last_error() says why.  All ranks must be on one host yet, and belong to
 * one user. */
coll_status coll_comm_init(coll_comm **comm, int nranks, const coll_id *id,
                           int rank, const coll_config *config);

/* The same for the ranks that a launcher has started, told by the variables of,
 * in this order:
 *   COLL_RANK, COLL_NRANKS with COLL_JOB (a text of the job's own) or
 *   COLL_ADDRESS (HOST:PORT at which rank 0 shall listen)
 *   torchrun   RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT
 *   Open MPI   OMPI_COMM_WORLD_RANK, OMPI_COMM_WORLD_SIZE
 *   MPICH      PMI_RANK, PMI_SIZE
 *   Slurm      SLURM_PROCID, SLURM_NTASKS, SLURM_JOB_ID */
coll_status coll_comm_init_env(coll_comm **comm, const coll_config *config);

/* A second lane among the same ranks, for launches beside each other.
 * Collective. */
coll_status coll_comm_dup(coll_comm *comm, coll_comm **lane);

/* One communicator per color, its ranks in the order of (key, rank in comm).
 * With a negative color a rank is in none and *sub is NULL.  Collective. */
coll_status coll_comm_split(coll_comm *comm, int color, int key,
                            coll_comm **sub);

/* Not yet: answers COLL_INVALID. */
coll_status coll_comm_shrink(coll_comm *failed, coll_comm **survivors);

/* Collective: waits, up to the deadline, until all ranks have come to destroy
 * it.  After a failure it waits for nobody.  The communicator is gone in any
 * case; the result is the error that it had, if any.  NULL is allowed. */
coll_status coll_comm_destroy(coll_comm *comm);

/* Ends the communicator on all ranks: their calls return COLL_ABORTED.  From
 * any thread.  The first error wins. */
coll_status coll_comm_abort(coll_comm *comm, const char *reason);

typedef struct {
  coll_status status; /* COLL_OK: none */
  int rank;           /* that found it, -1: none */
  int peer;           /* that it is about, -1: none */
  const char *where;  /* "ring.coll:14:5" or "" */
  const char *text;   /* a sentence, or a report of several lines */
} coll_error;

/* The error that ended the communicator, the same on all ranks in most cases.
 * Never blocks; from any thread.  The texts live as long as comm. */
coll_status coll_comm_error(coll_comm *comm, coll_error *error);

int coll_comm_rank(const coll_comm *comm);
int coll_comm_size(const coll_comm *comm);

/*===-- Memory that peers can reach
 * -----------------------------------------===*/

/* Messages from and to such memory need no copy through slots, in launches that
 * are not small.  Local calls: ranks may differ, and no result depends on it.
 */

/* Zeroed, page-aligned; freed by coll_mem_free or with the communicator. */
coll_status coll_mem_alloc(coll_comm *comm, size_t bytes, void **ptr);
coll_status coll_mem_free(coll_comm *comm, void *ptr);

/* Memory of the application, which must stay mapped until it is deregistered.
 * fd: of the file that it maps MAP_SHARED from its start; -1: none. */
coll_status coll_register(coll_comm *comm, void *ptr, size_t bytes, int fd);
coll_status coll_deregister(coll_comm *comm, void *ptr);

/*===-- Any plan
 * ------------------------------------------------------------===*/

/* A compiled schedule: constant data in an object that colc has written. */
typedef struct coll_plan coll_plan;

/* A cudaStream_t, on a communicator of a device: the launch is queued on it.
 * NULL: the call returns when the launch is done, as on the host.  Launches on
 * one communicator have one order, whatever their streams.  Buffers may lie in
 * device memory, or anywhere on the host: those are copied both ways, and the
 * call returns when that is done. */
typedef void *coll_stream;

/* Buffers, counts and scalars stand in the order of the contract's clauses.  A
 * buffer that this rank does not have is NULL. */
typedef struct {
  const void *const *in;
  void *const *out;
  const void *const *arg; /* row and elem arguments */
  const size_t *count;    /* count[0]; or of `launch n[...]` the entries that
                             this rank is given, in C order; of a schedule that
                             cuts `by row` the rows of a part, and the elements
                             of a row */
  const size_t *const *displ; /* per buffer, ins then outs: the first element of
                                 each part; NULL: parts lie one by one */
  const double *scalar;       /* scalar arguments, then PREMUL_SUM's factor */
  const int *launch;          /* launch values: roots and the like */
  coll_dtype dtype;
  coll_op op;
} coll_call;

coll_status coll_launch(const coll_plan *plan, const coll_call *call,
                        coll_comm *comm, coll_stream stream);

/* Connects channels and allocates scratch, as the first launch would: later
 * launches of this plan with these launch values allocate nothing.
 * Collective. */
coll_status coll_launch_prepare(const coll_plan *plan, const coll_call *call,
                                coll_comm *comm);

/*===-- Standard contracts
 * --------------------------------------------------===*/

/* Adds a plan to those that the calls below choose from, 256 at most, by its
 * contract, the number of ranks, `sizes` of its mapping, and whether all ranks
 * have kernels for it: values that all ranks share.  A plan that is in use
 * already stays so.  It must outlive comm.  Collective, in one order. */
coll_status coll_use(coll_comm *comm, const coll_plan *plan);

/* Buffers have parts of `count` elements: [n] is n parts, one per rank, one
 * after another; others are one part.  in == out where the contract says
 * `inplace`; any other overlap is COLL_INVALID.  COLL_NO_PLAN when no plan in
 * use fits; coll/use_standard.h puts those of the library to use. */
coll_status coll_allreduce(const void *in, void *out, size_t count,
                           coll_dtype dtype, coll_op op, coll_comm *comm,
                           coll_stream stream);
/* out[n] */
coll_status coll_allgather(const void *in, void *out, size_t count,
                           coll_dtype dtype, coll_comm *comm,
                           coll_stream stream);
/* in[n] */
coll_status coll_reduce_scatter(const void *in, void *out, size_t count,
                                coll_dtype dtype, coll_op op, coll_comm *comm,
                                coll_stream stream);
/* in[n], out[n] */
coll_status coll_alltoall(const void *in, void *out, size_t count,
                          coll_dtype dtype, coll_comm *comm,
                          coll_stream stream);
/* in at the root only */
coll_status coll_broadcast(const void *in, void *out, size_t count,
                           coll_dtype dtype, int root, coll_comm *comm,
                           coll_stream stream);
/* out at the root only */
coll_status coll_reduce(const void *in, void *out, size_t count,
                        coll_dtype dtype, coll_op op, int root, coll_comm *comm,
                        coll_stream stream);
/* in[n] at the root only */
coll_status coll_scatter(const void *in, void *out, size_t count,
                         coll_dtype dtype, int root, coll_comm *comm,
                         coll_stream stream);
/* out[n] at the root only */
coll_status coll_gather(const void *in, void *out, size_t count,
                        coll_dtype dtype, int root, coll_comm *comm,
                        coll_stream stream);
/* in at rank a, out at rank b; all ranks call */
coll_status coll_send_recv(const void *in, void *out, size_t count,
                           coll_dtype dtype, int a, int b, coll_comm *comm,
                           coll_stream stream);
/* out: the reduction over ranks 0 to this one */
coll_status coll_scan(const void *in, void *out, size_t count, coll_dtype dtype,
                      coll_op op, coll_comm *comm, coll_stream stream);
coll_status coll_barrier(coll_comm *comm, coll_stream stream);

/* counts[n]: elements of every rank.  displs[n]: where each part begins in out,
 * in elements; NULL: one after another. */
coll_status coll_allgatherv(const void *in, void *out, const size_t *counts,
                            const size_t *displs, coll_dtype dtype,
                            coll_comm *comm, coll_stream stream);
/* send_counts[n] and recv_counts[n]: elements to and from every rank. */
coll_status coll_alltoallv(const void *in, const size_t *send_counts,
                           const size_t *send_displs, void *out,
                           const size_t *recv_counts, const size_t *recv_displs,
                           coll_dtype dtype, coll_comm *comm,
                           coll_stream stream);

#ifdef __cplusplus
}
#endif

#endif /* COLL_COLL_H */
