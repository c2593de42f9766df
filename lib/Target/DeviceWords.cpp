//===- DeviceWords.cpp - What the words that devices share are ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Target/DeviceWords.h"

using namespace coll;

#define WORD(region, type, field, access, ...)                                 \
  {Region::region, offsetof(type, field), sizeof(type::field), Access::access, \
   #type "." #field __VA_OPT__(, ) __VA_ARGS__}
#define WORDS(region, type, field, access)                                     \
  {Region::region,                                                             \
   offsetof(type, field),                                                      \
   sizeof(type::field[0]),                                                     \
   Access::access,                                                             \
   #type "." #field,                                                           \
   Region::Number,                                                             \
   sizeof(type::field) / sizeof(type::field[0])}

static constexpr SharedWord words[] = {
    WORD(Args, coll_args, flags, Constant),
    WORD(Args, coll_args, inst, Constant, Region::Inst),
    WORD(Args, coll_args, count, Constant),
    WORD(Args, coll_args, sizes, Constant, Region::Sizes),
    WORDS(Args, coll_args, scalar, Constant),
    WORD(Args, coll_args, sig, Constant),
    WORDS(Args, coll_args, launch, Constant),
    WORD(Args, coll_args, units_q, Constant),
    WORD(Args, coll_args, units_r, Constant),
    WORD(Args, coll_args, tail_bytes, Constant),
    WORD(Args, coll_args, elem_bytes, Constant),
    WORD(Args, coll_args, slice_units, Constant),
    WORD(Args, coll_args, round_units, Constant),
    WORD(Args, coll_args, row_elems, Constant),
    WORD(Args, coll_args, unit_bytes, Constant),
    WORD(Args, coll_args, nrounds, Constant),
    // Of coll_args.bufs, which are found by their stride.
    {Region::Args, sizeof(coll_args) + offsetof(coll_buf, ptr), 8,
     Access::Constant, "coll_buf.ptr", Region::Payload},
    {Region::Args, sizeof(coll_args) + offsetof(coll_buf, win), 8,
     Access::Constant, "coll_buf.win"},
    {Region::Args, sizeof(coll_args) + offsetof(coll_buf, displ), 8,
     Access::Constant, "coll_buf.displ", Region::Displacements},
    {Region::Args, sizeof(coll_args) + offsetof(coll_buf, elem_bytes), 4,
     Access::Constant, "coll_buf.elem_bytes"},
    WORD(Sizes, coll_size, elems, Constant),
    WORD(Sizes, coll_size, units_q, Constant),
    WORD(Sizes, coll_size, units_r, Constant),
    WORD(Sizes, coll_size, tail_bytes, Constant),
    WORD(Sizes, coll_size, units, Constant),
    WORD(Inst, coll_inst, comm, Constant, Region::Comm),
    WORD(Inst, coll_inst, send_ends, Constant, Region::Ends),
    WORD(Inst, coll_inst, recv_ends, Constant, Region::Ends),
    WORD(Inst, coll_inst, blocks, Constant, Region::Blocks),
    WORD(Inst, coll_inst, consts, Constant, Region::Words),
    WORD(Inst, coll_inst, steps, Constant, Region::Words),
    WORD(Inst, coll_inst, wins, Constant, Region::Windows),
    WORD(Inst, coll_inst, scratch, Constant, Region::Payload),
    WORD(Inst, coll_inst, signals, Constant, Region::Signals),
    WORD(Inst, coll_inst, multicast, Constant),
    WORD(Inst, coll_inst, rank, Constant),
    WORD(Inst, coll_inst, nranks, Constant),
    WORD(Inst, coll_inst, ninstances, Constant),
    WORD(Inst, coll_inst, nsend, Constant),
    WORD(Inst, coll_inst, nrecv, Constant),
    WORD(Inst, coll_inst, program_blocks, Constant),
    WORD(Inst, coll_inst, scratch_slot_bytes, Constant),
    WORD(Inst, coll_inst, scratch_slots, Constant),
    WORD(Comm, coll_comm_dev, abort, Constant, Region::Abort),
    WORD(Comm, coll_comm_dev, spin_limit, Constant),
    WORD(Comm, coll_comm_dev, deadline_ns, Constant),
    {Region::Abort, 0, 4, Access::Abort, "the abort word"},
    WORD(Ends, coll_end, line, Constant, Region::Ring),
    WORD(Ends, coll_end, credit, Constant, Region::Credit),
    WORD(Ends, coll_end, slots, Constant, Region::Payload),
    WORD(Ends, coll_end, small, Constant, Region::Packets),
    WORD(Ends, coll_end, lines, Constant, Region::Lines),
    WORD(Ends, coll_end, seq, Constant, Region::Seq),
    WORD(Ends, coll_end, slot_bytes, Constant),
    WORD(Ends, coll_end, k, Constant),
    WORD(Ends, coll_end, k_small, Constant),
    WORD(Ends, coll_end, small_bytes, Constant),
    WORD(Ends, coll_end, peer, Constant),
    WORD(Ring, coll_ring_line, tail, Flag),
    WORDS(Ring, coll_ring_line, sig, Weak),
    WORD(Ring, coll_ring_line, dtail, Flag),
    WORD(Ring, coll_ring_line, avail, Posted),
    WORD(Ring, coll_ring_line, avail_win, Weak),
    WORD(Ring, coll_ring_line, avail_sig, Weak),
    WORD(Ring, coll_ring_line, cleaned, Flag),
    WORD(Credit, coll_credit_line, head, Flag),
    WORD(Credit, coll_credit_line, small_head, Flag),
    WORD(Credit, coll_credit_line, rtr, Posted),
    WORD(Credit, coll_credit_line, rtr_win, Weak),
    WORD(Credit, coll_credit_line, rtr_sig, Weak),
    WORD(Credit, coll_credit_line, ack, Flag),
    WORD(Seq, coll_seq, next, Weak),
    WORD(Seq, coll_seq, seen, Weak),
    WORD(Seq, coll_seq, published, Weak),
    WORD(Seq, coll_seq, small_next, Weak),
    WORD(Seq, coll_seq, small_seen, Weak),
    WORD(Seq, coll_seq, small_published, Weak),
    WORD(Seq, coll_seq, direct, Weak),
    WORD(Seq, coll_seq, launches, Weak),
    WORD(Blocks, coll_block, progress, Report),
    WORD(Blocks, coll_block, wait_since, Report),
    WORD(Blocks, coll_block, want, Report),
    WORD(Blocks, coll_block, have, Report),
    WORD(Blocks, coll_block, result, Report),
    WORD(Blocks, coll_block, launch, Report),
    WORD(Blocks, coll_block, runs, Report),
    WORD(Signals, coll_device_signal, steps, Progress),
    WORD(Signals, coll_device_signal, rounds, Weak),
    WORD(Signals, coll_device_signal, launches, Weak),
    WORD(Signals, coll_device_signal, launch, Weak),
    WORD(Signals, coll_device_signal, entered, Entered),
    WORD(Windows, coll_window, base, Constant, Region::Payload),
    WORD(Windows, coll_window, bytes, Constant),
    WORD(Windows, coll_window, multicast, Constant, Region::Payload),
};

uint32_t coll::strideOf(Region region) {
  switch (region) {
  case Region::Sizes:
    return sizeof(coll_size);
  case Region::Ends:
    return sizeof(coll_end);
  case Region::Blocks:
    return sizeof(coll_block);
  case Region::Signals:
    return sizeof(coll_device_signal);
  case Region::Windows:
    return sizeof(coll_window);
  default:
    return 0;
  }
}

const SharedWord *coll::findWord(Region region, uint64_t offset, bool hasMore) {
  for (const SharedWord &word : words) {
    if (word.region != region || offset < word.offset ||
        offset >= word.offset + uint64_t(word.bytes) * word.count ||
        (offset - word.offset) % word.bytes != 0)
      continue;
    return hasMore && word.count == 1 ? nullptr : &word;
  }
  return nullptr;
}
