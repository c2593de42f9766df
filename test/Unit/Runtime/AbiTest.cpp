//===- AbiTest.cpp - Where the fields of coll/abi.h lie -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Objects are linked with runtimes of other days: an offset that moves needs a
// new COLL_ABI.  These are the offsets of ABI 5, typed once more on purpose.
//
//===----------------------------------------------------------------------===//

#include "coll/abi.h"

#include <gtest/gtest.h>

namespace {

#define EXPECT_AT(type, field, offset)                                         \
  EXPECT_EQ(offsetof(type, field), size_t(offset)) << #type "." #field

TEST(Abi, Version) { EXPECT_EQ(COLL_ABI, 5); }

TEST(Abi, Arguments) {
  EXPECT_AT(coll_args, abi, 0);
  EXPECT_AT(coll_args, flags, 4);
  EXPECT_AT(coll_args, inst, 8);
  EXPECT_AT(coll_args, count, 16);
  EXPECT_AT(coll_args, sizes, 24);
  EXPECT_AT(coll_args, scalar, 32);
  EXPECT_AT(coll_args, sig, 64);
  EXPECT_AT(coll_args, launch, 68);
  EXPECT_AT(coll_args, units_q, 80);
  EXPECT_AT(coll_args, units_r, 88);
  EXPECT_AT(coll_args, tail_bytes, 92);
  EXPECT_AT(coll_args, elem_bytes, 96);
  EXPECT_AT(coll_args, slice_units, 100);
  EXPECT_AT(coll_args, nbufs, 104);
  EXPECT_AT(coll_args, nsizes, 106);
  EXPECT_AT(coll_args, round_units, 108);
  EXPECT_AT(coll_args, row_elems, 112);
  EXPECT_AT(coll_args, unit_bytes, 116);
  EXPECT_AT(coll_args, nrounds, 120);
  EXPECT_AT(coll_args, bufs, 128);
  EXPECT_AT(coll_buf, ptr, 0);
  EXPECT_AT(coll_buf, win, 8);
  EXPECT_AT(coll_buf, displ, 16);
  EXPECT_AT(coll_buf, elem_bytes, 24);
  EXPECT_AT(coll_size, elems, 0);
  EXPECT_AT(coll_size, units_q, 8);
  EXPECT_AT(coll_size, units_r, 16);
  EXPECT_AT(coll_size, tail_bytes, 20);
  EXPECT_AT(coll_size, units, 24);
}

TEST(Abi, Instance) {
  EXPECT_AT(coll_inst, comm, 0);
  EXPECT_AT(coll_inst, send_ends, 8);
  EXPECT_AT(coll_inst, recv_ends, 16);
  EXPECT_AT(coll_inst, blocks, 24);
  EXPECT_AT(coll_inst, consts, 32);
  EXPECT_AT(coll_inst, steps, 40);
  EXPECT_AT(coll_inst, wins, 48);
  EXPECT_AT(coll_inst, scratch, 56);
  EXPECT_AT(coll_inst, signals, 64);
  EXPECT_AT(coll_inst, multicast, 72);
  EXPECT_AT(coll_inst, nblocks, 80);
  EXPECT_AT(coll_inst, nchannels, 84);
  EXPECT_AT(coll_inst, rank, 88);
  EXPECT_AT(coll_inst, nranks, 92);
  EXPECT_AT(coll_inst, digest, 96);
  EXPECT_AT(coll_inst, ninstances, 104);
  EXPECT_AT(coll_inst, nsend, 108);
  EXPECT_AT(coll_inst, nrecv, 112);
  EXPECT_AT(coll_inst, program_blocks, 116);
  EXPECT_AT(coll_inst, scratch_slot_bytes, 120);
  EXPECT_AT(coll_inst, scratch_slots, 124);
  EXPECT_AT(coll_window, base, 0);
  EXPECT_AT(coll_window, bytes, 8);
  EXPECT_AT(coll_window, multicast, 16);
}

TEST(Abi, CommunicatorAndBlocks) {
  EXPECT_AT(coll_comm_dev, abort, 0);
  EXPECT_AT(coll_comm_dev, spin_limit, 8);
  EXPECT_AT(coll_comm_dev, flags, 12);
  EXPECT_AT(coll_comm_dev, deadline_ns, 16);
  EXPECT_AT(coll_comm_dev, board, 24);
  EXPECT_AT(coll_block, progress, 0);
  EXPECT_AT(coll_block, launch, 8);
  EXPECT_AT(coll_block, entered, 16);
  EXPECT_AT(coll_block, wait_since, 24);
  EXPECT_AT(coll_block, want, 32);
  EXPECT_AT(coll_block, have, 40);
  EXPECT_AT(coll_block, result, 48);
  EXPECT_AT(coll_block, runs, 56);
}

TEST(Abi, Channels) {
  EXPECT_AT(coll_end, line, 0);
  EXPECT_AT(coll_end, credit, 8);
  EXPECT_AT(coll_end, slots, 16);
  EXPECT_AT(coll_end, small, 24);
  EXPECT_AT(coll_end, lines, 32);
  EXPECT_AT(coll_end, seq, 40);
  EXPECT_AT(coll_end, slot_bytes, 48);
  EXPECT_AT(coll_end, k, 52);
  EXPECT_AT(coll_end, k_small, 54);
  EXPECT_AT(coll_end, small_bytes, 56);
  EXPECT_AT(coll_end, peer, 60);
  EXPECT_AT(coll_end, spread, 62);
  EXPECT_AT(coll_seq, next, 0);
  EXPECT_AT(coll_seq, seen, 8);
  EXPECT_AT(coll_seq, published, 16);
  EXPECT_AT(coll_seq, small_next, 24);
  EXPECT_AT(coll_seq, small_seen, 32);
  EXPECT_AT(coll_seq, small_published, 40);
  EXPECT_AT(coll_seq, direct, 48);
  EXPECT_AT(coll_seq, launches, 56);
  EXPECT_AT(coll_ring_line, tail, 0);
  EXPECT_AT(coll_ring_line, sig, 8);
  EXPECT_AT(coll_ring_line, dtail, 40);
  EXPECT_AT(coll_ring_line, avail, 48);
  EXPECT_AT(coll_ring_line, avail_win, 56);
  EXPECT_AT(coll_ring_line, avail_sig, 64);
  EXPECT_AT(coll_ring_line, cleaned, 72);
  EXPECT_AT(coll_credit_line, head, 0);
  EXPECT_AT(coll_credit_line, small_head, 8);
  EXPECT_AT(coll_credit_line, rtr, 16);
  EXPECT_AT(coll_credit_line, rtr_win, 24);
  EXPECT_AT(coll_credit_line, rtr_sig, 32);
  EXPECT_AT(coll_credit_line, ack, 40);
}

/// What lies in objects.
TEST(Abi, Plans) {
  EXPECT_AT(coll_step_head, shape, 0);
  EXPECT_AT(coll_step_head, step, 4);
  EXPECT_AT(coll_step_head, site, 8);
  EXPECT_AT(coll_step_head, first_chunk, 12);
  EXPECT_AT(coll_step_head, nchunks, 16);
  EXPECT_AT(coll_step_head, size, 20);
  EXPECT_EQ(sizeof(coll_plan_size), 24u);
  EXPECT_EQ(sizeof(coll_plan_buf), 16u);
  EXPECT_EQ(sizeof(coll_reloc_term), 16u);
  EXPECT_EQ(sizeof(coll_reloc), 12u);
  EXPECT_EQ(sizeof(coll_member), 16u);
  EXPECT_EQ(sizeof(coll_plan_site), 24u);
  EXPECT_EQ(sizeof(coll_kernel), 16u);
  EXPECT_AT(coll_class, nwords, 32);
  EXPECT_AT(coll_class, send_ends, 44);
  EXPECT_AT(coll_class, program_blocks, 60);
  EXPECT_AT(coll_class, entry, 64);
  EXPECT_AT(coll_class, present, 80);
  EXPECT_AT(coll_class, aliases, 100);
  EXPECT_EQ(sizeof(coll_class), 112u);
  EXPECT_AT(coll_plan_ranks, digest, 24);
  EXPECT_AT(coll_plan_ranks, nmembers, 32);
  EXPECT_AT(coll_plan_ranks, members, 40);
  EXPECT_AT(coll_plan_ranks, launch_count, 56);
  EXPECT_AT(coll_plan_ranks, nsizes, 68);
  EXPECT_AT(coll_plan_ranks, classes, 72);
  EXPECT_AT(coll_plan_ranks, nchannels, 88);
  EXPECT_AT(coll_plan_ranks, flags, 104);
  EXPECT_AT(coll_plan_ranks, slots, 108);
  EXPECT_AT(coll_plan_ranks, small_slots, 109);
  EXPECT_AT(coll_plan_ranks, slices, 110);
  EXPECT_AT(coll_plan_ranks, bufs, 112);
  EXPECT_EQ(sizeof(coll_plan_ranks), 120u);
  EXPECT_AT(coll_plan, name, 8);
  EXPECT_AT(coll_plan, contract_hash, 32);
  EXPECT_AT(coll_plan, nbufs, 40);
  EXPECT_AT(coll_plan, ranks, 72);
  EXPECT_AT(coll_plan, launch_names, 96);
  EXPECT_AT(coll_plan, sizes_lo, 104);
  EXPECT_AT(coll_plan, images, 120);
  EXPECT_AT(coll_plan, device_kernels, 128);
  EXPECT_AT(coll_plan, nimages, 136);
  EXPECT_EQ(sizeof(coll_plan), 144u);
}

TEST(Abi, DeviceCode) {
  EXPECT_AT(coll_image, chip, 4);
  EXPECT_AT(coll_image, data, 8);
  EXPECT_AT(coll_image, bytes, 16);
  EXPECT_AT(coll_device_kernel, threads, 2);
  EXPECT_AT(coll_device_kernel, protocols, 4);
  EXPECT_AT(coll_device_kernel, param_bytes, 8);
  EXPECT_AT(coll_device_kernel, shared_bytes, 12);
  EXPECT_AT(coll_device_kernel, registers, 16);
  EXPECT_AT(coll_device_kernel, symbol, 24);
  EXPECT_AT(coll_device_signal, rounds, 8);
  EXPECT_AT(coll_device_signal, launches, 16);
  EXPECT_AT(coll_device_signal, entered, 24);
  EXPECT_AT(coll_device_signal, launch, 28);
}

} // namespace
