/*===- coll/plan.h - A plan, as it lies in an object ------------------------===
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The tables that a generated object holds, and the kernels that it has for
 * hosts and devices. All of it is constant. coll/abi.h includes this.
 *===----------------------------------------------------------------------===*/
#ifndef COLL_PLAN_H
#define COLL_PLAN_H

#include "coll/launch.h"

#ifdef __cplusplus
extern "C" {
#endif

/*===-- tables -----------------------------------------------------------===*/

/* Where a size comes from. */
enum {
  COLL_SIZE_COUNT = 0, /* the call's count[index] */
  COLL_SIZE_CONST = 1
}; /* value elements, the same on every rank */
typedef struct coll_plan_size {
  uint32_t kind, index; /* index into the *whole* launch array, flat, C order
                           (v-collectives); the runtime knows from `given` which
                           of them a rank is given */
  uint64_t value;
  uint32_t chunks; /* how many chunks a part of this size is cut into */
  uint32_t pad;
} coll_plan_size;

enum {
  COLL_BUF_IN,
  COLL_BUF_OUT,
  COLL_BUF_ELEM,
  COLL_BUF_ROW,
  COLL_BUF_SCALAR
};
typedef struct coll_plan_buf {
  const char *name;
  uint32_t kind;  /* scalars have no coll_buf; they come last in this list */
  uint32_t parts; /* parts of the buffer */
} coll_plan_buf;

/* A word of a class that differs from rank to rank: value = sum over terms of
 * ((base + sign * coord[dim]) mod size) * stride. */
typedef struct coll_reloc_term {
  int32_t base;
  uint32_t size, stride;
  uint8_t dim;     /* which coordinate of the rank; see coord_of_root */
  int8_t sign;     /* 1, -1, or 0: constant */
  uint8_t of_root; /* the coordinate is launch[0]'s, not the rank's */
  uint8_t pad;
} coll_reloc_term;
typedef struct coll_reloc {
  uint32_t word, first_term, nterms;
} coll_reloc;

/* What all ranks of a class run. Words are copied and relocated per rank when
 * the plan is loaded. */
typedef struct coll_class {
  const uint32_t *words;
  const coll_reloc *relocs;
  const coll_reloc_term *terms;
  const uint32_t *steps; /* word offset of every step, both variants after
                            another; progress' step indexes this list */
  uint32_t nwords, nrelocs, nsteps;
  uint32_t send_ends, nsend; /* word offset of nsend pairs {peer, tag} */
  uint32_t recv_ends, nrecv;
  uint32_t program_blocks;
  uint32_t entry[2]; /* word offset of program_blocks pairs {first step's word
                        offset, number of steps}: out of place, in place */
  uint32_t scratch_slots[2];
  uint32_t present; /* bit b: ranks of this class have buffer b */
  uint32_t part_sizes,
      size_stride; /* word offset of the size symbol of buffer b, part p: at
                  part_sizes + b when size_stride is 0 (all parts of a buffer
                  alike), else at part_sizes + (parts of the buffers before b) +
                  p */
  uint32_t given, ngiven; /* word offset of the size symbols whose counts this
                             rank is given, in any order and repeated at will:
                             the call's count[] follows the launch array's */
  uint32_t aliases,
      naliases; /* word offset of naliases records {buf a, part a, buf b, part
                   b, parts}: may share memory, part by part */
} coll_class;

/* The fixed head of a step in the words of a class; what follows belongs to the
 * compiler (lib/Lowering/StepTable.h). */
typedef struct coll_step_head {
  uint32_t shape; /* which of the plan's step functions */
  uint32_t step;  /* this step's number in coll_class.steps */
  uint32_t site;  /* coll_plan.sites */
  uint32_t first_chunk, nchunks;
  uint32_t size; /* size symbol */
} coll_step_head;

/* Which class a rank runs. Members of a launch family that are rotations of
 * each other share one table (rotate). */
typedef struct coll_member {
  const uint32_t *class_of; /* [nranks] */
  uint32_t rotate; /* look up coords(rank) - coords(launch[0]) mod dims instead
                      of rank */
  uint32_t pad;
} coll_member;

typedef struct coll_plan_ranks {
  uint32_t nranks, ndims;
  uint32_t dims[COLL_MAX_DIMS];
  uint64_t digest; /* of all that ranks have to agree on: schedule, parameters,
                      mapping and types of all ranks; no instruction set */
  uint32_t nmembers, nclasses;  /* nmembers: product of the launch domains */
  const coll_member *members;   /* last launch parameter fastest */
  const int32_t *launch_values; /* for each launch parameter in turn: its
                                   domain, launch_count values */
  uint32_t launch_count[COLL_MAX_LAUNCH];
  uint32_t nsizes;
  const coll_class *classes;
  const coll_plan_size *sizes;
  uint32_t nchannels; /* channel tags 0 .. nchannels of one instance; instance i
                         uses tags i * nchannels and up */
  uint32_t round_units, instances;
  uint32_t
      storage_bytes; /* widest explicitly typed storage or wire element, 0 if
                        none. With elem bytes e, slots and scratch hold scale =
                        max(1, ceil(storage_bytes / e), COLL_PLAN_ACCUM: accum
                        bytes / e) times the bytes of T */
  uint32_t flags;
  uint8_t slots,
      small_slots; /* what the program was verified with: rings have at least so
                      many slots (0: 4 and 8), and a message */
  uint16_t slices; /* has at most so many slices per round (0: as many as
                      round_units fill slots of 64 KiB) */
  const coll_plan_buf
      *bufs; /* coll_plan.nbufs, then the scalars; how many parts they have
                depends on the number of ranks */
} coll_plan_ranks;
enum {
  COLL_PLAN_ACCUM = 1
}; /* something is stored or sent in the accumulation type (f32 for f16, bf16
      and fp8, else T) */

typedef struct coll_plan_site {
  const char *file;
  uint32_t line, col;
  const char *text; /* the statement, on one line */
} coll_plan_site;

enum { COLL_ISA_V2, COLL_ISA_V3, COLL_ISA_V4, COLL_ISA_AARCH64, COLL_NUM_ISAS };
enum { COLL_ANY = 255 }; /* dtype or op of a plan that only moves data */
typedef struct coll_kernel {
  uint8_t dtype, op, isa, pad[5];
  coll_kernel_fn fn;
} coll_kernel;

/*===-- device code of a plan --------------------------------------------===*/

/* One form of the plan's device kernels. A cubin is for its chip (and chips of
 * the same major number and a higher minor one), PTX for its chip and all later
 * ones. Bitcode is the LLVM IR that was given to the NVPTX backend, for tests:
 * no driver takes it. */
enum { COLL_IMAGE_PTX = 1, COLL_IMAGE_CUBIN = 2, COLL_IMAGE_BITCODE = 3 };
typedef struct coll_image {
  uint32_t kind, chip; /* chip: 90 for sm_90 */
  const void *data;    /* PTX ends with a 0 byte, which `bytes` counts */
  uint64_t bytes;
} coll_image;

/* A kernel that every image has under `symbol`, one for each dtype, op and
 * protocol:
 *   __global__ void symbol(const __grid_constant__ coll_args args)
 * one thread block per block of the plan (grid coll_inst.nblocks, 1, 1),
 * exactly `threads` threads each, no dynamic shared memory. docs/Cuda.md says
 * what it reads and writes. */
typedef struct coll_device_kernel {
  uint8_t dtype, op;     /* as coll_kernel's */
  uint16_t threads;      /* per block */
  uint32_t protocols;    /* COLL_PROTOCOL_* that it is for */
  uint32_t param_bytes;  /* what is passed by value: head, bufs and, where they
                            fit COLL_MAX_PARAM_BYTES, sizes */
  uint32_t shared_bytes; /* static */
  uint32_t registers;    /* per thread: the most of all cubins, 0: not known */
  uint32_t pad;
  const char *symbol;
} coll_device_kernel;
/* Bulk slots and messages that go direct; small slots (COLL_ARGS_SMALL) as a
 * host's, which no device's lane has; small slots of packets, for launches with
 * COLL_ARGS_SMALL alone; lines, for launches with COLL_ARGS_LINES alone. */
enum {
  COLL_PROTOCOL_SIMPLE = 1,
  COLL_PROTOCOL_SMALL = 2,
  COLL_PROTOCOL_LL = 4,
  COLL_PROTOCOL_LL128 = 8
};
enum { COLL_MAX_PARAM_BYTES = 4096 };

typedef struct coll_plan {
  uint32_t abi, flags;
  const char *name, *contract, *source;
  uint64_t contract_hash; /* of the contract's name, its buffers and launch
                             parameters: what launches are compared by first */
  uint32_t nbufs, nscalars, nlaunch,
      ncounts; /* ncounts: 1, or 0 when no clause needs a count */
  uint32_t nranks_entries, nkernels, nsites,
      reduces; /* reduces: the contract uses `reduce`, so an op is asked for */
  const coll_plan_ranks *ranks;
  const coll_kernel *kernels;
  const coll_plan_site *sites;
  const char *launch_names; /* comma separated */
  uint64_t sizes_lo,
      sizes_hi; /* `map { sizes a .. b }`: total bytes it is meant for */
  const coll_image *images;
  const coll_device_kernel *device_kernels;
  uint32_t nimages, ndevice_kernels;
} coll_plan;
enum {
  /* The call's count[] is {rows, elements of a row}, and a row is a unit: it
     lies in one chunk, share, round and slot. Buffers of COLL_BUF_ROW have one
     row. */
  COLL_PLAN_ROWS = 2,
  /* Elements are stored or sent in blocks of 32 with a scale: a block of the
     launch's dtype is a unit, and 16 of them lie together, so that slices but
     for a piece's last begin at multiples of 16 units. */
  COLL_PLAN_BLOCKS = 4,
  /* `protocol ll`: on devices messages are packets while the call's bytes are
     below sizes_hi, in several slots where one is not enough. */
  COLL_PLAN_LL = 8,
  /* `protocol ll128`: on devices messages too long for packets are lines, where
     the communicator allows that, while the call's bytes are below sizes_hi. */
  COLL_PLAN_LL128 = 16,
  COLL_PLAN_VCOUNTS = 1
}; /* VCOUNTS: counts come from a launch array: the small protocol is never
      chosen by count, and what the launch signature leaves out is compared
      message by message. A message carries sig + (elems * COLL_SIZE_HASH >>
      32), elems being the size of the part it is cut from, and a share without
      elements is one empty message of the first round. */
#define COLL_SIZE_HASH UINT64_C(0x9e3779b97f4a7c15)

COLL_ASSERT(sizeof(coll_step_head) == 24);
COLL_ASSERT(sizeof(coll_image) == 24);
COLL_ASSERT(sizeof(coll_device_kernel) == 32);

#ifdef __cplusplus
}
#endif
#endif
