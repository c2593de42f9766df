/*===- coll/abi.h - What generated code and the runtime agree on ------------===
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The one place where the layout of everything that crosses between a generated
 * object and the runtime is written down. The compiler takes every offset from
 * here with offsetof, so no offset is typed twice; the static asserts at the
 * end make a silent change impossible.
 *
 * Lifetimes:   communicator  coll_comm_dev
 *              lane          rings, credit lines, coll_seq  (a channel's ends)
 *              plan on lane  coll_inst, coll_end[], coll_block[], step words
 *              launch        coll_args
 *              object        coll_plan and all it points to   (constant)
 *
 * All integers are little-endian. Sizes in bytes unless the name says
 * otherwise; a *unit* is 16 bytes of the launch's element type, or one row.
 *===----------------------------------------------------------------------===*/
#ifndef COLL_ABI_H
#define COLL_ABI_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#define COLL_ASSERT(cond) static_assert(cond, #cond)
#else
#define COLL_ASSERT(cond) _Static_assert(cond, #cond)
#endif

enum { COLL_BLOCK_ELEMS = 32, COLL_BLOCKS_TOGETHER = 16 };
enum {
  COLL_ABI = 5,
  COLL_UNIT_BYTES = 16,
  COLL_MAX_SLOTS = 8,
  COLL_MAX_SMALL_SLOTS = 64,
  COLL_MAX_BUFS = 32,
  COLL_MAX_LAUNCH = 3,
  COLL_MAX_SCALARS = 4,
  COLL_MAX_DIMS = 4,      /* of the rank space */
  COLL_MAX_WINDOWS = 256, /* of a rank; number 0 is its whole process */
  COLL_MAX_BLOCKS = 64    /* of a rank, instances counted */
};
enum {
  COLL_MAX_SLOT_BYTES = 1 << 30,
  COLL_MAX_ROUND_BYTES = 1 << 28, /* of elements; 8 times that where storage is
                                     wider still fits 32 bits */
  COLL_MAX_STEPS = 1 << 20 /* of a class; coll_block.progress has 20 bits */
};

/*===-- one launch -------------------------------------------------------===*/

/* One buffer of the contract: the ins, then the outs, then the args, each in
 * the order of its clauses. */
typedef struct coll_buf {
  uint64_t ptr;   /* address, 0 if this rank does not have the buffer */
  uint64_t win;   /* window id << 48 | offset in it; id 0: the address, which
                     peers reach by the kernel or in their own process; all 0:
                     they do not reach it */
  uint64_t displ; /* address of uint64_t[parts]: first element of each part; 0:
                     packed, part p starts at p * elems of its size */
  uint32_t elem_bytes;
  uint32_t flags;
} coll_buf;

/* One size symbol that this rank is given, cut into the plan's chunks: chunk c
 * has units_q + (c < units_r) units. */
typedef struct coll_size {
  uint64_t elems;
  uint64_t units_q;
  uint32_t units_r;
  uint32_t tail_bytes; /* bytes in the last unit of the part: 1..16, or a row;
                          0 when elems is 0 */
  uint64_t units;      /* ceil(elems * elem_bytes / unit_bytes) */
} coll_size;

enum {
  COLL_ARGS_SMALL = 1, /* all messages of this launch use the small rings */
  COLL_ARGS_IN_PLACE = 2,
  /* Where vectors are stored past the caches (x86; never with
     COLL_ARGS_SMALL). They change no value and no order that anyone can see. */
  COLL_ARGS_STREAM_SLOTS = 4, /* into bulk slots */
  COLL_ARGS_STREAM_OUT = 8,   /* into the call's buffers */
  COLL_ARGS_LINES = 16, /* of devices: all messages of this launch are lines */
  /* Of hosts: a bulk message of this launch may begin at the first 2^t quarters
     of its place, 0 <= t <= 2. */
  COLL_ARGS_TURNS_SHIFT = 8,
  COLL_ARGS_TURNS_BITS = 2,
  /* On devices the bits from here on are the launch's number, as it was queued
     or captured, modulo 2^22. */
  COLL_ARGS_LAUNCH_SHIFT = 10
};

typedef struct coll_args {
  uint32_t abi, flags;
  uint64_t inst;  /* coll_inst */
  uint64_t count; /* elements, when the contract has one count */
  uint64_t sizes; /* coll_size[nsizes], by size symbol; a symbol that this rank
                     is not given has elems 0 */
  double scalar[COLL_MAX_SCALARS]; /* scalar args; premul_sum's factor is in the
                                      last one */
  uint32_t sig; /* launch signature, which every message carries; see
                   COLL_SIZE_HASH */
  int32_t launch[COLL_MAX_LAUNCH];
  uint64_t units_q; /* sizes[0].units_q and units_r, here so that the common
                       case touches one line */
  uint32_t units_r, tail_bytes;
  uint32_t elem_bytes; /* of the launch's dtype */
  uint32_t
      slice_units; /* payload of one slot, in units of the launch's dtype */
  uint16_t nbufs, nsizes;
  uint32_t round_units; /* at most this much of a chunk's share per round */
  uint32_t row_elems;   /* COLL_PLAN_ROWS: elements of a row, else 0 */
  uint32_t unit_bytes;  /* what everything is cut into: COLL_UNIT_BYTES, or a
                           row or a block of the launch's dtype */
  uint64_t nrounds;     /* >= 1 */
  coll_buf bufs[];
} coll_args;

/*===-- a plan on a lane -------------------------------------------------===*/

/* Memory of a peer, as it is mapped here. A device's table has the rank's own
 * windows too: multicast is looked up for every rank. A peer that is a thread
 * of this process has a window 0, all addresses.
 *
 * `multicast` is an address in a multicast range that is mapped on this rank's
 * device (CUDA: an object whose members are all ranks of the communicator, each
 * once and each on a device of its own). It stands for `base` of this window,
 * and at the same time for one place of every other rank: places of two ranks
 * stand together exactly when window.multicast + offset is the same for both,
 * and different objects have different addresses. So a kernel makes sure of
 * what it uses: a multimem instruction is for an address that the places of all
 * ranks have in common. 0: the window is in no such object. Modulo 16 it is
 * what base is. It is set before the peer hears that its window is known here,
 * as base is, and stays until the window is gone. */
typedef struct coll_window {
  uint64_t base, bytes; /* bytes 0: not mapped */
  uint64_t multicast;
  uint64_t reserved;
} coll_window;

typedef struct coll_inst {
  uint64_t comm;      /* coll_comm_dev */
  uint64_t send_ends; /* coll_end[ninstances][nsend] */
  uint64_t recv_ends; /* coll_end[ninstances][nrecv] */
  uint64_t blocks;    /* coll_block[nblocks] */
  uint64_t consts;  /* uint32_t[]: the class's words, relocated for this rank */
  uint64_t steps;   /* uint32_t[program_blocks][2] inside consts: word offset of
                       the first step, number of steps */
  uint64_t wins;    /* coll_window[COLL_MAX_WINDOWS][nranks]: peers' windows */
  uint64_t scratch; /* [ninstances][slots] of scratch_slot_bytes */
  uint64_t
      signals; /* uint64_t[nblocks], 64 bytes apart: steps finished in this
                  launch; the runtime clears them before it starts the blocks */
  uint64_t multicast; /* not 0: windows may have multicast addresses; 0: the
                         kernel looks at none */
  uint32_t nblocks; /* program_blocks * ninstances: block b is program block b %
                       program_blocks of instance b / program_blocks */
  uint32_t nchannels;
  uint32_t rank, nranks;
  uint64_t digest;
  uint32_t ninstances, nsend, nrecv, program_blocks;
  uint32_t scratch_slot_bytes, scratch_slots;
} coll_inst;

/* What coll_inst.signals points to on a device, where no host runs between the
 * launches of a graph: one line per block, in device memory, zero when the plan
 * is loaded, from then on the kernel's alone. */
typedef struct coll_device_signal {
  uint64_t steps;  /* finished, over all launches: rounds * steps of a round */
  uint64_t rounds; /* of earlier launches */
  uint64_t launches;
  uint32_t entered; /* 1: a launch runs */
  uint32_t launch;  /* its number, of coll_args.flags */
  uint32_t pad[8];
} coll_device_signal;

typedef struct coll_comm_dev {
  uint64_t abort; /* address of a uint32_t; not 0: leave */
  uint32_t spin_limit, flags;
  uint64_t deadline_ns; /* per wait */
  uint64_t board;
  uint64_t reserved[4];
} coll_comm_dev;

/* One line, written by its block alone. progress = state:4 | step:20 | slice:24
 * | peer:16 from the high bits down. Of devices, where one is shown: launch is
 * the number of the launch as it was queued or captured, of coll_args.flags,
 * and runs counts the launches of this coll_inst, replays of graphs and this
 * one included. */
typedef struct coll_block {
  uint64_t progress, launch;
  uint32_t entered, pad0;
  uint64_t wait_since, want, have;
  uint32_t result, pad1;
  uint64_t runs;
} coll_block;
enum {
  COLL_STATE_IDLE,
  COLL_STATE_RUN,
  COLL_STATE_WAIT_DATA,
  COLL_STATE_WAIT_CREDIT,
  COLL_STATE_WAIT_BLOCK,
  COLL_STATE_DONE
};

/* One end of a channel, constant after connect. */
typedef struct coll_end {
  uint64_t line;   /* coll_ring_line: recv: local, send: remote */
  uint64_t credit; /* coll_credit_line: send: local, recv: remote */
  uint64_t slots, small;
  uint64_t lines; /* slots of lines; 0: none */
  uint64_t seq;   /* coll_seq */
  uint32_t slot_bytes;
  uint16_t k, k_small;  /* powers of two, k at most COLL_MAX_SLOTS */
  uint32_t small_bytes; /* payload of a small slot; its stride is small_bytes +
                           COLL_SMALL_HEAD rounded up to 64, of packets twice
                           small_bytes rounded up to COLL_PACKET_ALIGN */
  uint16_t peer;
  uint16_t spread; /* of hosts: one less than the places of the bulk ring, a
                      power of two; 0: there are k */
} coll_end;
/* Bulk message n (from 0) of a host lies in place n mod k, or, with this bit in
 * its signature, in place n mod the number of places, from quarter (n >>
 * COLL_PLACE_SHIFT) mod 2^t of a slot on: see COLL_ARGS_TURNS_SHIFT. Either way
 * the place is n modulo k, so of all that are under way each has its own. */
enum { COLL_PLACE_WIDE = 1, COLL_PLACE_SHIFT = 5 };
enum {
  COLL_SMALL_HEAD = 8
}; /* a small slot: the flag word (seq << 16 | sig16), then the payload,
      contiguous. Small message n (from 0) of a host lies in slot n * (k_small /
      2 | 1) mod k_small: what a processor fetches behind the slot it is at is
      not what its peer is at. */

/* On devices a small slot is packets (LL): words of eight bytes, each four
 * bytes of payload (the low half) and a flag of 32 bits, (seq mod 2^16) << 16 |
 * sig16, written and read whole. Nothing else orders them. So that no flag of
 * 2^16 messages ago is taken for a new one, the sender writes whole slots,
 * whatever the message's length, when the low COLL_PACKET_BITS - 1 bits of seq
 * are at least 2^(COLL_PACKET_BITS - 1) - COLL_MAX_SMALL_SLOTS, and says so in
 * coll_ring_line.cleaned; the receiver of such a message waits for that. */
enum { COLL_PACKET_BITS = 16, COLL_PACKET_ALIGN = 128 };

/* On devices a message may be lines (LL128): 128 bytes each, of which the last
 * word is a flag of 64 bits, seq << 16 | sig16, seq being the message's number
 * in the bulk ring from 1; it never comes again. Lines go in pairs, so that all
 * payload is 16 bytes of memory: of the 240 bytes of a pair the first line has
 * bytes 0 to 120; the second has 128 to 240, then 120 to 128. A message has as
 * many lines as it needs. Slots of lines lie from coll_end.lines on, a multiple
 * of 128, COLL_LINE_STRIDE(slot_bytes) apart, one for each of the ring's k; all
 * is 0 at first, and nothing else lies there. Credits and coll_seq are the bulk
 * ring's; tail and sig are not written. A token is the flag of its slot's first
 * line. */
enum { COLL_LINE_BYTES = 128, COLL_LINE_PAYLOAD = 120 };
#define COLL_LINE_STRIDE(slot_bytes)                                           \
  (((slot_bytes) + 2 * COLL_LINE_PAYLOAD - 1) / (2 * COLL_LINE_PAYLOAD) * 2 *  \
   COLL_LINE_BYTES)

/* One line, written by the owning block alone. */
typedef struct coll_seq {
  uint64_t next, seen, published;                   /* bulk */
  uint64_t small_next, small_seen, small_published; /* small */
  uint64_t direct;   /* messages put: sender: stored, receiver: expected */
  uint64_t launches; /* that may use the channel directly, this one included */
} coll_seq;

/* In the receiver's memory, written by the sender. */
typedef struct coll_ring_line {
  uint64_t tail;
  uint32_t sig[COLL_MAX_SLOTS]; /* of hosts the lowest bit says where a message
                                   lies: COLL_PLACE_WIDE */
  uint64_t dtail;               /* messages put */
  uint64_t avail; /* 2 * launches, + 1 if avail_win and avail_sig stand here */
  uint64_t avail_win; /* coll_buf.win of what gets come from */
  uint64_t avail_sig;
  uint64_t cleaned; /* packets: seq of the last message that filled its slot */
  uint64_t pad[6];
} coll_ring_line;

/* In the sender's memory, written by the receiver. */
typedef struct coll_credit_line {
  uint64_t head, small_head;
  uint64_t rtr;     /* 2 * launches, + 1 if rtr_win and rtr_sig stand here */
  uint64_t rtr_win; /* coll_buf.win of what puts go to */
  uint64_t rtr_sig;
  uint64_t ack; /* launches whose gets are done */
  uint64_t pad[2];
} coll_credit_line;

/*===-- what the runtime offers to generated code ------------------------===*/

enum {
  COLL_WAIT_ABOVE = 0, /* until *word > want */
  COLL_WAIT_SMALL_FLAG = 1
}; /* until *word >> 16 == want */

/* The slow path of every wait: spins, yields, sleeps; drives transports; looks
   at the abort word and the deadline. Returns 0 when the condition holds (the
   caller loads the word again with acquire), else the kernel stores nothing
   more and returns. */
uint32_t coll_kernel_wait(const coll_inst *inst, uint32_t block,
                          const uint64_t *word, uint64_t want, uint32_t how,
                          uint64_t progress);

/* A message carries another launch's signature: records `mismatch` and aborts
 * the communicator. Always returns non-zero. */
uint32_t coll_kernel_mismatch(const coll_inst *inst, uint32_t block,
                              uint64_t progress, uint32_t want, uint32_t have);

enum { COLL_DIRECT_PUT = 1, COLL_DIRECT_GET = 2 };

/* Memory that a peer names for direct access and that is not mapped here. Where
 * it is reached by the kernel: memory of this block's own, which holds what was
 * read there (a get), or is to be filled for coll_kernel_move (a put). Else,
 * and where it cannot be read, ends the communicator and returns null. */
void *coll_kernel_window(const coll_inst *inst, uint32_t block,
                         const coll_end *end, uint64_t progress, uint64_t win,
                         uint64_t offset, uint64_t bytes, uint32_t how);

/* Waits for what the peer posts for this launch. 0: slots, or memory that is
 * mapped here; 1: memory that is reached by the kernel; 2: leave. */
uint32_t coll_kernel_remote(const coll_inst *inst, uint32_t block,
                            const coll_args *args, const coll_end *end,
                            uint64_t progress, uint32_t how);

/* Moves bytes by the kernel between `local` and `offset` in the memory that the
 * peer has posted: there, as so many messages put, all of which are counted, or
 * from there, if there are no messages. Of a put `local` may be null: what
 * coll_kernel_window has returned. Not 0: leave. */
uint32_t coll_kernel_move(const coll_inst *inst, uint32_t block,
                          const coll_end *end, uint64_t progress,
                          uint64_t offset, uint64_t bytes, void *local,
                          uint64_t messages);

/* What a kernel entry point is. The runtime calls it once per block, block 0 in
 * the caller's thread; it marks coll_block.entered around the call. */
typedef void (*coll_kernel_fn)(const coll_args *args, uint32_t block);

/*===-- a plan, as it lies in the object ---------------------------------===*/

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

COLL_ASSERT(sizeof(coll_buf) == 32);
COLL_ASSERT(sizeof(coll_size) == 32);
COLL_ASSERT(offsetof(coll_args, bufs) == 128);
COLL_ASSERT(sizeof(coll_window) == 32);
COLL_ASSERT(sizeof(coll_inst) == 128);
COLL_ASSERT(sizeof(coll_comm_dev) == 64);
COLL_ASSERT(sizeof(coll_block) == 64);
COLL_ASSERT(sizeof(coll_end) == 64);
COLL_ASSERT(sizeof(coll_seq) == 64);
COLL_ASSERT(sizeof(coll_ring_line) == 128);
COLL_ASSERT(sizeof(coll_credit_line) == 64);
COLL_ASSERT(sizeof(coll_step_head) == 24);
COLL_ASSERT(sizeof(coll_device_signal) == 64);
COLL_ASSERT(sizeof(coll_image) == 24);
COLL_ASSERT(sizeof(coll_device_kernel) == 32);

#ifdef __cplusplus
}
#endif
#endif
