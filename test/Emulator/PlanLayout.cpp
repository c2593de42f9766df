//===- PlanLayout.cpp - What kernels read, for all ranks ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "PlanRun.h"

#include <cstring>

namespace coll::emu {

DeviceKernels chooseDeviceKernels(const PlanCall &call) {
  auto find = [&](uint32_t protocol) {
    return DeviceLane::find(*call.plan, call.dtype, call.op, protocol);
  };
  return {find(COLL_PROTOCOL_SIMPLE), find(COLL_PROTOCOL_LL)};
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
  if (std::string error = fillArguments(0u); !error.empty())
    return error;
  showWindows();
  return "";
}

std::string PlanLayout::buildRank(uint32_t number) {
  PlanRank &rank = ranks[number];
  rank.cls = &classOf(*table, 0, int(number), 0);
  const coll_class &cls = *rank.cls;
  rank.words.assign(cls.words, cls.words + cls.nwords);
  relocate(cls, *table, int(number), 0, rank.words);
  StreamRules rules;
  rules.hasSmall = !isDevice || chooseDeviceKernels(call).packets;
  rules.hasPackets = isDevice && rules.hasSmall;
  rank.arguments = std::make_unique<Arguments>(
      *call.plan, *table, cls, rank.words, stepChunks, call.rings, rules);
  rank.arguments->useBulk(!call.isSmall);
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
  uint64_t scratch = slotBytes * cls.scratch_slots[0] * table->instances;

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
      end.seq = addressOf(memory->alloc(number, sizeof(coll_seq), true));
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
      send->line = receive->line =
          addressOf(memory->alloc(receiver, sizeof(coll_ring_line), true));
      send->credit = receive->credit =
          addressOf(memory->alloc(sender, sizeof(coll_credit_line), true));
      // Nobody reads a slot that nobody wrote.
      send->slots = receive->slots = addressOf(memory->alloc(
          receiver, size_t(rings.slotBytes) * rings.slots, false));
      void *small = memory->alloc(receiver, stride * rings.smallSlots, true);
      memory->holdsPackets(small);
      send->small = receive->small = addressOf(small);
    }
}

bool PlanLayout::isRegistered(uint32_t rank, uint32_t kind) const {
  switch (isDevice ? call.registered : Registered::None) {
  case Registered::None:
    return false;
  case Registered::All:
    return true;
  case Registered::In:
    return kind == COLL_BUF_IN;
  case Registered::Out:
    return kind == COLL_BUF_OUT;
  case Registered::Even:
    return rank % 2 == 0;
  }
  return false;
}

/// Windows begin before their buffer, and ranks number them differently.
void *PlanLayout::makeBuffer(uint32_t rank, uint32_t buffer, size_t bytes) {
  size_t before = call.isUnaligned ? dtypeBytes(call.dtype) : 0;
  uint32_t kind = table->bufs[buffer].kind;
  if (!bytes || !isRegistered(rank, kind))
    return static_cast<char *>(
               memory->alloc(rank, before + bytes, kind != COLL_BUF_OUT)) +
           before;
  before += 64;
  auto *base = static_cast<char *>(
      memory->alloc(rank, before + bytes, kind != COLL_BUF_OUT));
  windows.push_back({rank, buffer, 1 + rank + buffer, base, before + bytes});
  return base + before;
}

/// The tables of peers' windows, and the launch's buffers in them.
void PlanLayout::showWindows() {
  if (windows.empty())
    return;
  for (PlanRank &rank : ranks) {
    size_t bytes = sizeof(coll_window) * COLL_MAX_WINDOWS * ranks.size();
    auto *shown =
        static_cast<coll_window *>(memory->alloc(rank.inst->rank, bytes, true));
    rank.inst->wins = addressOf(shown);
    tables.push_back(shown);
    for (const PlanWindow &window : windows) {
      coll_window &entry = shown[window.number * ranks.size() + window.rank];
      entry.base = addressOf(window.base);
      entry.bytes = window.bytes;
    }
  }
  for (const PlanWindow &window : windows) {
    coll_buf &buf = ranks[window.rank].arguments->args().bufs[window.buffer];
    buf.win = window.number << 48 | (buf.ptr - addressOf(window.base));
  }
  if (call.multicast != Multicast::None)
    showMulticast();
}

/// One object per buffer that all ranks have in a window, mapped by each.
void PlanLayout::showMulticast() {
  for (uint32_t b = 0; b < call.plan->nbufs; ++b) {
    std::vector<const PlanWindow *> all;
    for (const PlanWindow &window : windows)
      if (window.buffer == b && (all.empty() || window.bytes == all[0]->bytes))
        all.push_back(&window);
    if (all.size() != ranks.size())
      continue;
    std::vector<void *> members;
    for (const PlanWindow *window : all)
      members.push_back(window->base);
    for (uint32_t rank = 0; rank < ranks.size(); ++rank) {
      uint64_t address = addressOf(memory->multicast(members, all[0]->bytes));
      for (const PlanWindow *window : all) {
        bool isSkewed =
            call.multicast == Multicast::Skewed && window->rank == 1;
        tables[rank][window->number * ranks.size() + window->rank].multicast =
            address + (isSkewed ? 16 : 0);
      }
      ranks[rank].inst->multicast = 1;
    }
  }
}

std::string PlanLayout::buildBuffers(uint32_t number) {
  PlanRank &rank = ranks[number];
  const coll_class &cls = *rank.cls;
  uint32_t word = cls.part_sizes;
  for (uint32_t b = 0; b < call.plan->nbufs; ++b) {
    const coll_plan_buf &buf = table->bufs[b];
    size_t elems = 0;
    for (uint32_t part = 0; part < buf.parts; ++part) {
      uint32_t symbol =
          rank.words[cls.size_stride ? word + part : cls.part_sizes + b];
      const coll_plan_size &size = table->sizes[symbol];
      elems += buf.kind == COLL_BUF_ROW       ? call.row
               : size.kind == COLL_SIZE_CONST ? size.value
                                              : elementsOf(call.count);
    }
    word += buf.parts;
    size_t bytes = elems * dtypeBytes(call.dtype);
    void *made = cls.present >> b & 1 ? makeBuffer(number, b, bytes) : nullptr;
    if (buf.kind == COLL_BUF_OUT) {
      rank.out.push_back(made);
      rank.outBytes.push_back(made ? bytes : 0);
    } else {
      (buf.kind == COLL_BUF_IN ? rank.in : rank.arg).push_back(made);
      rank.inBytes.push_back(made ? bytes : 0);
    }
  }
  return "";
}

/// What the call's first count stands for.
size_t PlanLayout::elementsOf(size_t count) const {
  return hasRows() ? count / call.row * call.row : count;
}

std::string PlanLayout::fillArguments(unsigned launch) {
  size_t count = call.countOf(launch);
  size_t counts[] = {hasRows() ? count / call.row : count, call.row};
  for (PlanRank &rank : ranks)
    if (std::string error = fillArguments(rank, counts); !error.empty())
      return error;
  return "";
}

std::string PlanLayout::fillArguments(PlanRank &rank, const size_t *counts) {
  coll_call launched = {};
  launched.in = rank.in.data();
  launched.out = rank.out.data();
  launched.arg = rank.arg.data();
  launched.count = counts;
  static const double scalars[COLL_MAX_SCALARS] = {2, 2, 2, 2};
  launched.scalar = scalars;
  static const int roots[COLL_MAX_LAUNCH] = {};
  launched.launch = roots;
  launched.dtype = call.dtype;
  launched.op = call.op;
  if (Status status = rank.arguments->fill(launched); !status.isOk())
    return status.text();
  rank.arguments->args().inst = addressOf(rank.inst);
  return "";
}

/// A code of a format with so many bits of mantissa: of magnitude 1/2 to 2, so
/// that sums and products of a few round, and nothing overflows.
static uint64_t floatCode(uint64_t random, unsigned bits, unsigned mantissa) {
  uint64_t bias = (uint64_t(1) << (bits - mantissa - 2)) - 1;
  uint64_t fraction = random >> 8 & ((uint64_t(1) << mantissa) - 1);
  return (random & 1) << (bits - 1) | (bias - (random >> 1 & 1)) << mantissa |
         fraction;
}

static uint64_t codeOf(coll_dtype dtype, uint64_t random) {
  switch (dtype) {
  case COLL_F16:
    return floatCode(random, 16, 10);
  case COLL_BF16:
    return floatCode(random, 16, 7);
  case COLL_F32:
    return floatCode(random, 32, 23);
  case COLL_F64:
    return floatCode(random, 64, 52);
  case COLL_E4M3:
    return floatCode(random, 8, 3);
  case COLL_E5M2:
    return floatCode(random, 8, 2);
  default:
    return random & 3;
  }
}

/// The code of 0, 1, 2 or 3: sums are the same in any order.
static uint64_t wholeOf(coll_dtype dtype, unsigned value) {
  static const uint64_t codes[][4] = {
      {0, 0x3c00, 0x4000, 0x4200},
      {0, 0x3f80, 0x4000, 0x4040},
      {0, 0x3f800000, 0x40000000, 0x40400000},
      {0, 0x3ff0000000000000, 0x4000000000000000, 0x4008000000000000},
      {0, 0x38, 0x40, 0x44},
      {0, 0x3c, 0x40, 0x42}};
  switch (dtype) {
  case COLL_F16:
    return codes[0][value];
  case COLL_BF16:
    return codes[1][value];
  case COLL_F32:
    return codes[2][value];
  case COLL_F64:
    return codes[3][value];
  case COLL_E4M3:
    return codes[4][value];
  case COLL_E5M2:
    return codes[5][value];
  default:
    return value;
  }
}

static void fill(void *buffer, size_t bytes, coll_dtype dtype, uint64_t seed,
                 bool isExact) {
  auto *out = static_cast<unsigned char *>(buffer);
  size_t width = dtypeBytes(dtype);
  for (size_t i = 0; i < bytes / width; ++i) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    uint64_t code = codeOf(dtype, seed ^ seed >> 29);
    if (isExact)
      code = wholeOf(dtype, unsigned(seed >> 60) & 3);
    memcpy(out + i * width, &code, width); // little-endian
  }
}

void PlanLayout::fillInputs(unsigned launch) {
  for (uint32_t number = 0; number < call.ranks; ++number) {
    const PlanRank &rank = ranks[number];
    for (size_t i = 0; i < rank.in.size() + rank.arg.size(); ++i) {
      void *buffer =
          i < rank.in.size() ? rank.in[i] : rank.arg[i - rank.in.size()];
      if (buffer)
        fill(buffer, rank.inBytes[i], call.dtype,
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

std::vector<char> PlanLayout::arguments(uint32_t number, size_t bytes) const {
  coll_args &args = ranks[number].arguments->args();
  size_t head = sizeof(coll_args) + sizeof(coll_buf) * args.nbufs;
  std::vector<char> value(std::max(bytes, head));
  memcpy(value.data(), &args, head);
  auto *copy = reinterpret_cast<coll_args *>(value.data());
  size_t sizes = sizeof(coll_size) * args.nsizes;
  if (isDevice && bytes > head) { // they stand behind the buffers
    memcpy(value.data() + head, reinterpret_cast<void *>(args.sizes),
           std::min(sizes, bytes - head));
    copy->sizes = 0;
  } else if (isDevice) {
    void *made = memory->alloc(number, sizes, true);
    memcpy(made, reinterpret_cast<void *>(args.sizes), sizes);
    copy->sizes = addressOf(made);
  }
  return value;
}

} // namespace coll::emu
