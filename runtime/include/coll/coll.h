/* coll.h: the whole public C API. C99 and C++; no function throws; every pointer is borrowed for the call unless said.
   Threads: one communicator is used by one thread at a time; coll_comm_abort and coll_comm_error from any thread, any time.
   Ranks may be processes or threads of one process (one communicator each). Sizes are bytes, counts are elements; 64 bits. */
#include <stddef.h>
#include <stdint.h>
typedef enum { COLL_OK, COLL_INVALID, COLL_MISMATCH, COLL_TIMEOUT, COLL_PEER_LOST, COLL_ABORTED, COLL_NO_MEMORY, COLL_NO_PLAN,
               COLL_SYSTEM, COLL_OVERLAP } coll_status;              /* all but INVALID, NO_PLAN, NO_MEMORY end the communicator */
typedef enum { COLL_I8, COLL_U8, COLL_I32, COLL_U32, COLL_I64, COLL_U64, COLL_F16, COLL_BF16, COLL_F32, COLL_F64, COLL_E4M3, COLL_E5M2 } coll_dtype;
typedef enum { COLL_SUM, COLL_PROD, COLL_MIN, COLL_MAX, COLL_AVG, COLL_PREMUL_SUM } coll_op;
typedef struct coll_comm coll_comm;                                   /* a lane of channels among nranks ranks */
typedef struct coll_plan coll_plan;                                   /* a compiled schedule, static data in the generated object */
typedef void *coll_stream;                                            /* cudaStream_t; host plans: NULL, and the call returns when done */
typedef struct { uint8_t bytes[128]; } coll_id;                       /* made by one rank, handed to all by the application's own means */
typedef struct { uint32_t size;                                       /* sizeof(coll_config), set by COLL_CONFIG_INIT */
                 uint64_t deadline_ns, init_deadline_ns;              /* 0: 10 min, 2 min; UINT64_MAX: none */
                 int device;                                          /* -1: host */ const char *secret_file; } coll_config;
#define COLL_CONFIG_INIT {sizeof(coll_config), 0, 0, -1, NULL}
typedef struct { coll_status status; int rank, peer; const char *where;  /* "ring.coll:14:5" or "" */ const char *text; } coll_error;
#ifdef __cplusplus
extern "C" {
#endif
/* Life of a communicator. coll_comm_init_env reads torchrun's, Open MPI's, PMI's, Slurm's or COLL_* variables. */
coll_status coll_make_id(coll_id *id);
coll_status coll_comm_init(coll_comm **comm, int nranks, const coll_id *id, int rank, const coll_config *config);
coll_status coll_comm_init_env(coll_comm **comm, const coll_config *config);
coll_status coll_comm_dup(coll_comm *comm, coll_comm **lane);         /* a second lane, for concurrent launches; collective */
coll_status coll_comm_split(coll_comm *comm, int color, int key, coll_comm **sub);      /* color < 0: *sub = NULL; collective */
coll_status coll_comm_shrink(coll_comm *failed, coll_comm **survivors);
coll_status coll_comm_destroy(coll_comm *comm);                       /* collective, orderly; after a failure: local, never blocks */
coll_status coll_comm_abort(coll_comm *comm, const char *reason);
coll_status coll_comm_error(coll_comm *comm, coll_error *error);      /* never blocks; the first error wins; strings live as long as comm */
int coll_comm_rank(const coll_comm *comm), coll_comm_size(const coll_comm *comm);
const char *coll_status_string(coll_status status);
/* The text of the last call of this thread that failed, "" if none; lives until the next failing call of the thread. */
const char *coll_last_error(void);
/* Memory that peers can reach (direct mode). Local calls; mapped lazily, never a condition of being right: ranks may differ. */
coll_status coll_mem_alloc(coll_comm *comm, size_t bytes, void **ptr);
coll_status coll_mem_free(coll_comm *comm, void *ptr);
coll_status coll_register(coll_comm *comm, void *ptr, size_t bytes, int fd);  /* host: fd of the MAP_SHARED file, -1: NIC and CMA only */
coll_status coll_deregister(coll_comm *comm, void *ptr);
/* Any plan. Buffers, counts and scalars stand in the order of the contract's clauses; a buffer this rank lacks is NULL. */
typedef struct { const void *const *in; void *const *out; const void *const *arg;   /* ins, outs, row and elem args */
                 const size_t *count;                                 /* count[0], or this rank's entries of `launch n[...]`, C order */
                 const size_t *const *displ;                          /* per buffer: first element of each part; NULL: packed */
                 const double *scalar;                                /* scalar args, then PREMUL_SUM's factor */
                 const int *launch;                                   /* roots and the like */ coll_dtype dtype; coll_op op; } coll_call;
coll_status coll_launch(const coll_plan *plan, const coll_call *call, coll_comm *comm, coll_stream stream);
coll_status coll_launch_prepare(const coll_plan *plan, const coll_call *call, coll_comm *comm); /* connect + scratch now, so launches allocate nothing */
/* Standard contracts: the best registered plan (coll_use; library plans register themselves) for this size, chosen from values all ranks share. */
coll_status coll_use(coll_comm *comm, const coll_plan *plan);         /* collective; same order on all ranks */
coll_status coll_allreduce(const void *in, void *out, size_t count, coll_dtype dtype, coll_op op, coll_comm *comm, coll_stream stream);
/* ... and one per contract of the prelude by the same rule as F.h: ins, outs, args, count(s), dtype, [op if it reduces], launch values, comm, stream:
   coll_broadcast(in, out, count, dtype, root, comm, stream); coll_alltoallv(in, send_counts, send_displs, out, recv_counts, recv_displs, dtype, comm, stream) */
#ifdef __cplusplus
}
#endif
