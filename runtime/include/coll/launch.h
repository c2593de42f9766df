/*===- coll/launch.h - What kernels and the runtime share at run time -------===
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * What a launch is given, what a plan has on a lane, the words that the two
 * ends of a channel write for each other, and the calls that kernels make.
 * coll/abi.h says how long each lives.
 *===----------------------------------------------------------------------===*/
#ifndef COLL_LAUNCH_H
#define COLL_LAUNCH_H

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
COLL_ASSERT(sizeof(coll_device_signal) == 64);

#ifdef __cplusplus
}
#endif
#endif
