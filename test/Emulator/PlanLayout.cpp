//===- PlanLayout.cpp - What kernels read, for all ranks ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "PlanRun.h"

#include "lib/Lowering/StepWords.h"

#include <cstring>

namespace coll::emu {

DeviceKernels chooseDeviceKernels(const PlanCall &call) {
  auto find = [&](uint32_t protocol) {
    return DeviceLane::find(*call.plan, call.dtype, call.op, protocol);
  };
  return {find(COLL_PROTOCOL_SIMPLE), find(COLL_PROTOCOL_LL),
          find(COLL_PROTOCOL_LL128)};
}

bool PlanCall::hides(uint32_t rank, unsigned launch) const {
  constexpr uint8_t hidden[] = {1, 0, 6, 2, 0, 5}; // ranks, as bits
  return comesAndGoes && hidden[launch % 6] >> rank % 3 & 1;
}

/// How messages have gone, whatever the order of things.
std::array<uint64_t, 5> RunCounts::ways() const {
  return {slots, packets, puts, gets, multicasts};
}

static uint64_t addressOf(const void *pointer) {
  return reinterpret_cast<uint64_t>(pointer);
}

std::string PlanLayout::build(const PlanCall &wanted, PlanMemory &source,
                              bool forDevice) {
  call = wanted;
  memory = &source;
  isDevice = forDevice;
  table = findRanks(*call.plan, int(call.ranks));
  if (!table)
    return "the plan is not for " + std::to_string(call.ranks) + " ranks";
  if (Status status = checkPlan(*call.plan, *table); !status.isOk())
    return status.text();
  if (Status status =
          findMember(*call.plan, *table, call.launchValues.data(), member);
      !status.isOk())
    return status.text();
  stepChunks = maxStepChunks(*table);
  ranks.resize(call.ranks);
  abortWord = static_cast<uint32_t *>(memory->alloc(~0u, 4, true));
  for (uint32_t rank = 0; rank < call.ranks; ++rank)
    if (std::string error = buildRank(rank); !error.empty())
      return error;
  connect();
  for (uint32_t rank = 0; rank < call.ranks; ++rank)
    if (std::string error = buildBuffers(rank); !error.empty())
      return error;
  if (call.isInPlace && !sharesMemory())
    return "no rank has buffers that share memory in place";
  showWindows();
  return fillArguments(0u);
}

bool PlanLayout::sharesMemory() const {
  for (const PlanRank &rank : ranks)
    for (uint32_t b = 0; b < rank.places.size(); ++b)
      if (rank.places[b].base != b)
        return true;
  return false;
}

std::string PlanLayout::buildRank(uint32_t number) {
  PlanRank &rank = ranks[number];
  const int root = call.plan->nlaunch ? call.launchValues[0] : 0;
  rank.cls = &classOf(*table, member, int(number), root);
  const coll_class &cls = *rank.cls;
  rank.words.assign(cls.words, cls.words + cls.nwords);
  relocate(cls, *table, int(number), root, rank.words);
  LaunchRules rules;
  rules.hasSmall = !isDevice || chooseDeviceKernels(call).packets;
  if (call.isLines) // whatever their length
    rules.hasSmall = false;
  rules.hasPackets = isDevice && rules.hasSmall;
  rules.hasLines = isDevice && call.isLines && chooseDeviceKernels(call).lines;
  rank.arguments = std::make_unique<Arguments>(
      *call.plan, *table, cls, rank.words, stepChunks, call.rings, rules);
  rank.arguments->useBulk(!call.isSmall && !call.isLines);
  uint32_t blocks = cls.program_blocks * table->instances;

  auto *inst =
      static_cast<coll_inst *>(memory->alloc(number, sizeof(coll_inst), true));
  auto *comm = static_cast<coll_comm_dev *>(
      memory->alloc(number, sizeof(coll_comm_dev), true));
  comm->abort = addressOf(abortWord);
  comm->spin_limit = 4;
  if (call.trouble == Trouble::Deadline)
    comm->deadline_ns = kDeadlineSteps * 32;
  auto *words = static_cast<uint32_t *>(
      memory->alloc(number, 4 * rank.words.size() + 4, true));
  memcpy(words, rank.words.data(), 4 * rank.words.size());
  uint64_t slotBytes = uint64_t(table->round_units) * COLL_UNIT_BYTES *
                       maxStorageScale(*call.plan, *table);
  uint64_t scratch = slotBytes *
                     std::max(cls.scratch_slots[0], cls.scratch_slots[1]) *
                     table->instances;

  inst->comm = addressOf(comm);
  inst->blocks =
      addressOf(memory->alloc(~0u, sizeof(coll_block) * (blocks + 1), true));
  inst->consts = addressOf(words);
  inst->steps = addressOf(words + cls.entry[0]);
  inst->scratch =
      scratch ? addressOf(memory->alloc(number, scratch, false)) : 0;
  inst->signals = addressOf(
      memory->alloc(number, sizeof(coll_device_signal) * (blocks + 1), true));
  inst->nblocks = blocks;
  inst->nchannels = table->nchannels;
  inst->rank = number;
  inst->nranks = call.ranks;
  inst->digest = table->digest;
  inst->ninstances = table->instances;
  inst->nsend = cls.nsend;
  inst->nrecv = cls.nrecv;
  inst->program_blocks = cls.program_blocks;
  inst->scratch_slot_bytes = uint32_t(slotBytes);
  inst->scratch_slots = cls.scratch_slots[0];
  rank.inst = inst;
  buildEnds(number);
  return "";
}

void PlanLayout::buildEnds(uint32_t number) {
  PlanRank &rank = ranks[number];
  const coll_class &cls = *rank.cls;
  auto make = [&](uint32_t word, uint32_t count, auto &byPeer) {
    size_t total = size_t(count) * table->instances;
    auto *ends = static_cast<coll_end *>(
        memory->alloc(number, sizeof(coll_end) * (total + 1), true));
    for (size_t i = 0; i < total; ++i) {
      coll_end &end = ends[i];
      uint32_t peer = rank.words[word + 2 * (i % count)];
      uint32_t tag = rank.words[word + 2 * (i % count) + 1] +
                     uint32_t(i / count) * table->nchannels;
      end.peer = uint16_t(peer);
      end.slot_bytes = call.rings.slotBytes;
      end.small_bytes = call.rings.smallBytes;
      end.k = uint16_t(call.rings.slots);
      end.k_small = uint16_t(call.rings.smallSlots);
      auto *seq = static_cast<coll_seq *>(
          memory->alloc(number, sizeof(coll_seq), true));
      seq->next = seq->seen = seq->published = call.firstMessage;
      seq->small_next = seq->small_seen = seq->small_published =
          call.firstMessage;
      end.seq = addressOf(seq);
      byPeer[{peer, tag}] = &end;
    }
    return addressOf(ends);
  };
  rank.inst->send_ends = make(cls.send_ends, cls.nsend, rank.sends);
  rank.inst->recv_ends = make(cls.recv_ends, cls.nrecv, rank.receives);
}

/// Rings lie at the receiver, credits at the sender.
void PlanLayout::connect() {
  const RingSizes &rings = call.rings;
  size_t stride = (rings.smallBytes + COLL_SMALL_HEAD + 63) / 64 * 64;
  if (isDevice) // packets
    stride = (2 * size_t(rings.smallBytes) + COLL_PACKET_ALIGN - 1) /
             COLL_PACKET_ALIGN * COLL_PACKET_ALIGN;
  for (uint32_t sender = 0; sender < call.ranks; ++sender)
    for (auto &[id, send] : ranks[sender].sends) {
      auto [receiver, tag] = id;
      coll_end *receive = ranks[receiver].receives[{sender, tag}];
      if (!receive)
        continue;
      auto *line = static_cast<coll_ring_line *>(
          memory->alloc(receiver, sizeof(coll_ring_line), true));
      auto *credit = static_cast<coll_credit_line *>(
          memory->alloc(sender, sizeof(coll_credit_line), true));
      line->tail = credit->head = credit->small_head = call.firstMessage;
      send->line = receive->line = addressOf(line);
      send->credit = receive->credit = addressOf(credit);
      // Nobody reads a slot that nobody wrote.
      send->slots = receive->slots = addressOf(memory->alloc(
          receiver, size_t(rings.slotBytes) * rings.slots, false));
      if (call.isLines) {
        size_t bytes = size_t(COLL_LINE_STRIDE(rings.slotBytes)) * rings.slots;
        void *lines = memory->alloc(receiver, bytes, true);
        memory->holdsPackets(lines);
        send->lines = receive->lines = addressOf(lines);
      }
      void *small = memory->alloc(receiver, stride * rings.smallSlots, true);
      memory->holdsPackets(small);
      send->small = receive->small = addressOf(small);
    }
}

void PlanLayout::fillInputs(unsigned launch) {
  for (uint32_t number = 0; number < call.ranks; ++number) {
    const PlanRank &rank = ranks[number];
    for (size_t i = 0; i < rank.in.size() + rank.arg.size(); ++i) {
      void *buffer =
          i < rank.in.size() ? rank.in[i] : rank.arg[i - rank.in.size()];
      if (buffer)
        fillValues(buffer, rank.inBytes[i], call.dtype,
                   launch * 1000003u + number * 1009u + i + 1, call.isExact);
    }
  }
}

std::string PlanLayout::outputs() const {
  std::string all;
  for (const PlanRank &rank : ranks)
    for (size_t i = 0; i < rank.out.size(); ++i)
      if (rank.out[i])
        all.append(static_cast<const char *>(rank.out[i]), rank.outBytes[i]);
  return all;
}

bool PlanLayout::doesAll() const {
  using namespace coll::lowering;
  for (const PlanRank &rank : ranks) {
    const auto *words = reinterpret_cast<const uint32_t *>(rank.inst->consts),
               *entry = reinterpret_cast<const uint32_t *>(rank.inst->steps);
    const coll_args &args = rank.arguments->args();
    const auto *sizes = reinterpret_cast<const coll_size *>(args.sizes);
    bool hasElements = false;
    for (uint32_t i = 0; i < args.nsizes; ++i)
      hasElements |= sizes[i].units != 0;
    for (uint32_t b = 0; hasElements && b < rank.inst->program_blocks; ++b) {
      const uint32_t *step = words + entry[2 * b];
      for (uint32_t i = 0; i < entry[2 * b + 1]; ++i) {
        const coll_size &size = sizes[step[kStepSize]];
        if (size.units_q + (step[kStepChunk] < size.units_r) <
            rank.inst->ninstances)
          return false;
        step += step[kStepLength];
      }
    }
  }
  return true;
}

void PlanLayout::countMessages(RunCounts &counts) const {
  for (const PlanRank &rank : ranks) {
    for (auto &[id, send] : rank.sends) {
      const auto &seq = *reinterpret_cast<const coll_seq *>(send->seq);
      counts.slots += seq.next;
      counts.packets += seq.small_next;
      counts.puts += seq.direct;
    }
    for (auto &[id, receive] : rank.receives)
      counts.gets +=
          reinterpret_cast<const coll_ring_line *>(receive->line)->avail & 1;
  }
}

std::vector<char> PlanLayout::arguments(uint32_t rank, size_t bytes) const {
  coll_args &args = ranks[rank].arguments->args();
  size_t head = sizeof(coll_args) + sizeof(coll_buf) * args.nbufs;
  std::vector<char> value(std::max(bytes, head));
  memcpy(value.data(), &args, head);
  auto *copy = reinterpret_cast<coll_args *>(value.data());
  if (isDevice)
    copy->flags |= number << COLL_ARGS_LAUNCH_SHIFT;
  for (uint32_t b = 0; isDevice && b < args.nbufs; ++b)
    if (uint64_t &displ = copy->bufs[b].displ) {
      size_t tableBytes = sizeof(uint64_t) * table->bufs[b].parts;
      void *made = memory->alloc(rank, tableBytes, true);
      memcpy(made, reinterpret_cast<void *>(displ), tableBytes);
      displ = addressOf(made);
    }
  size_t sizes = sizeof(coll_size) * args.nsizes;
  if (isDevice && bytes > head) { // they stand behind the buffers
    memcpy(value.data() + head, reinterpret_cast<void *>(args.sizes),
           std::min(sizes, bytes - head));
    copy->sizes = 0;
  } else if (isDevice) {
    void *made = memory->alloc(rank, sizes, true);
    memcpy(made, reinterpret_cast<void *>(args.sizes), sizes);
    copy->sizes = addressOf(made);
  }
  return value;
}

} // namespace coll::emu
