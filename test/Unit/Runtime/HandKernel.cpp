//===- HandKernel.cpp - A kernel written by hand --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The state machines of the two protocols as docs/Runtime.md gives them, one
// step function for all steps, and no regard for speed.  It is compiled with
// whatever the test is compiled with, so sanitizers see every access.
//
//===----------------------------------------------------------------------===//

#include "HandPlan.h"

#include <algorithm>
#include <cstring>

namespace coll::test {
namespace {

template <typename T> T *at(uint64_t address) {
  return reinterpret_cast<T *>(address);
}
uint64_t acquire(const uint64_t *word) {
  return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}
void release(uint64_t *word, uint64_t value) {
  __atomic_store_n(word, value, __ATOMIC_RELEASE);
}

/// The words behind a step's head.
struct StepWords {
  coll_step_head head;
  uint32_t numSources, numSinks, numWaits, length;
  struct {
    uint32_t kind, place, part;
  } ports[];
};

/// One block of one launch.
class Block {
public:
  Block(const coll_args &args, uint32_t block)
      : args(args), inst(*at<coll_inst>(args.inst)), block(block),
        instance(block / inst.program_blocks),
        own(block % inst.program_blocks) {}

  template <typename T, typename Combine> void run(Combine combine);

private:
  bool isSmall() const { return args.flags & COLL_ARGS_SMALL; }
  uint64_t position(uint64_t state, uint64_t peer) const {
    return state << 60 | uint64_t(step->head.step) << 40 | slice << 16 | peer;
  }
  coll_end &end(bool sends, uint32_t index) const {
    uint32_t count = sends ? inst.nsend : inst.nrecv;
    return at<coll_end>(sends ? inst.send_ends
                              : inst.recv_ends)[instance * count + index];
  }
  uint64_t *smallSlot(const coll_end &e, uint64_t next) const {
    uint64_t stride = (e.small_bytes + COLL_SMALL_HEAD + 63) / 64 * 64;
    return at<uint64_t>(e.small + next % e.k_small * stride);
  }
  char *sendAcquire(coll_end &e);
  void sendPublish(coll_end &e);
  char *recvAcquire(coll_end &e);
  void recvRelease(coll_end &e);
  void flush(coll_end &e);
  bool waitForBlocks(uint64_t round);
  void locate(uint64_t round);
  char *memory(const StepWords &words, uint32_t port, uint64_t pos,
               uint32_t elemBytes);
  template <typename T, typename Combine> bool runStep(Combine combine);

  const coll_args &args;
  coll_inst &inst;
  uint32_t block, instance, own;
  const StepWords *step = nullptr;
  uint64_t slice = 0, begin = 0, bytes = 0;
};

char *Block::sendAcquire(coll_end &e) {
  auto &seq = *at<coll_seq>(e.seq);
  auto &credit = *at<coll_credit_line>(e.credit);
  uint64_t next = isSmall() ? seq.small_next : seq.next;
  uint64_t &seen = isSmall() ? seq.small_seen : seq.seen;
  const uint64_t *head = isSmall() ? &credit.small_head : &credit.head;
  uint64_t k = isSmall() ? e.k_small : e.k;
  while (next - seen >= k) {
    seen = acquire(head);
    if (next - seen >= k &&
        coll_kernel_wait(&inst, block, head, next - k, COLL_WAIT_ABOVE,
                         position(COLL_STATE_WAIT_CREDIT, e.peer)))
      return nullptr;
  }
  return isSmall() ? reinterpret_cast<char *>(smallSlot(e, next) + 1)
                   : at<char>(e.slots + next % e.k * e.slot_bytes);
}

void Block::sendPublish(coll_end &e) {
  auto &seq = *at<coll_seq>(e.seq);
  auto &line = *at<coll_ring_line>(e.line);
  if (isSmall()) {
    uint64_t next = seq.small_next++;
    release(smallSlot(e, next), (next + 1) << 16 | (args.sig & 0xffff));
    return;
  }
  line.sig[seq.next % e.k] = args.sig;
  release(&line.tail, ++seq.next);
}

char *Block::recvAcquire(coll_end &e) {
  auto &seq = *at<coll_seq>(e.seq);
  auto &line = *at<coll_ring_line>(e.line);
  uint64_t where = position(COLL_STATE_WAIT_DATA, e.peer);
  if (isSmall()) {
    uint64_t *slot = smallSlot(e, seq.small_next);
    while (acquire(slot) >> 16 != seq.small_next + 1)
      if (coll_kernel_wait(&inst, block, slot, seq.small_next + 1,
                           COLL_WAIT_SMALL_FLAG, where))
        return nullptr;
    uint32_t have = acquire(slot) & 0xffff, want = args.sig & 0xffff;
    if (have != want && coll_kernel_mismatch(&inst, block, where, want, have))
      return nullptr;
    return reinterpret_cast<char *>(slot + 1);
  }
  while (seq.seen <= seq.next) {
    seq.seen = acquire(&line.tail);
    if (seq.seen <= seq.next &&
        coll_kernel_wait(&inst, block, &line.tail, seq.next, COLL_WAIT_ABOVE,
                         where))
      return nullptr;
  }
  uint32_t have = line.sig[seq.next % e.k];
  if (have != args.sig &&
      coll_kernel_mismatch(&inst, block, where, args.sig, have))
    return nullptr;
  return at<char>(e.slots + seq.next % e.k * e.slot_bytes);
}

void Block::recvRelease(coll_end &e) {
  auto &seq = *at<coll_seq>(e.seq);
  auto &credit = *at<coll_credit_line>(e.credit);
  uint64_t &next = isSmall() ? seq.small_next : seq.next;
  uint64_t &published = isSmall() ? seq.small_published : seq.published;
  uint64_t batch = std::max((isSmall() ? e.k_small : e.k) / 2, 1);
  if (++next - published >= batch)
    release(isSmall() ? &credit.small_head : &credit.head, published = next);
}

void Block::flush(coll_end &e) {
  auto &seq = *at<coll_seq>(e.seq);
  auto &credit = *at<coll_credit_line>(e.credit);
  if (seq.next != seq.published)
    release(&credit.head, seq.published = seq.next);
  if (seq.small_next != seq.small_published)
    release(&credit.small_head, seq.small_published = seq.small_next);
}

bool Block::waitForBlocks(uint64_t round) {
  const auto *steps = at<uint32_t[2]>(inst.steps);
  const uint32_t *waits = reinterpret_cast<const uint32_t *>(step) +
                          step->length - 2 * step->numWaits;
  for (uint32_t w = 0; w != step->numWaits; ++w) {
    uint32_t other = waits[2 * w];
    uint64_t want = round * steps[other][1] + waits[2 * w + 1];
    const auto *word = at<uint64_t>(
        inst.signals + 64 * uint64_t(instance * inst.program_blocks + other));
    while (acquire(word) < want)
      if (coll_kernel_wait(&inst, block, word, want - 1, COLL_WAIT_ABOVE,
                           position(COLL_STATE_WAIT_BLOCK, other)))
        return false;
  }
  return true;
}

/// Chunk, share of the instance, round: where the piece lies in its part.
void Block::locate(uint64_t round) {
  const coll_size &size = at<coll_size>(args.sizes)[step->head.size];
  uint64_t chunk = step->head.first_chunk;
  uint64_t first =
      chunk * size.units_q + std::min<uint64_t>(chunk, size.units_r);
  uint64_t units = size.units_q + (chunk < size.units_r);
  uint64_t n = inst.ninstances, i = instance;
  first += i * (units / n) + std::min(i, units % n);
  units = units / n + (i < units % n);
  uint64_t done = std::min(round * args.round_units, units);
  first += done;
  units = std::min<uint64_t>(units - done, args.round_units);
  begin = first * COLL_UNIT_BYTES;
  bytes = units * COLL_UNIT_BYTES;
  if (units != 0 && first + units == size.units)
    bytes -= COLL_UNIT_BYTES - size.tail_bytes;
}

char *Block::memory(const StepWords &words, uint32_t port, uint64_t pos,
                    uint32_t elemBytes) {
  auto [kind, place, part] = words.ports[port];
  if (kind == Port::Scratch)
    return at<char>(inst.scratch) + pos +
           uint64_t(instance * inst.scratch_slots + place) *
               inst.scratch_slot_bytes;
  const coll_buf &buf = args.bufs[place];
  uint64_t elems = at<coll_size>(args.sizes)[words.head.size].elems;
  uint64_t first = buf.displ ? at<uint64_t>(buf.displ)[part] : part * elems;
  return at<char>(buf.ptr) + first * elemBytes + begin + pos;
}

template <typename T, typename Combine> bool Block::runStep(Combine combine) {
  const bool isToken = step->head.shape == kTokenShape;
  const uint64_t sliceBytes = uint64_t(args.slice_units) * COLL_UNIT_BYTES;
  const uint32_t count = step->numSources + step->numSinks;
  std::vector<char *> ports(count);
  slice = 0;
  for (uint64_t pos = 0; pos < bytes || (isToken && slice == 0);
       pos += sliceBytes, ++slice) {
    uint64_t now = isToken ? 0 : std::min(bytes - pos, sliceBytes);
    auto forEach = [&](auto body) {
      for (uint32_t p = 0; p != count; ++p)
        if (!body(p, p >= step->numSources,
                  step->ports[p].kind == Port::Channel))
          return false;
      return true;
    };
    bool goesOn = forEach([&](uint32_t p, bool isSink, bool isChannel) {
      uint32_t place = step->ports[p].place;
      ports[p] = !isChannel ? memory(*step, p, pos, args.elem_bytes)
                 : isSink   ? sendAcquire(end(true, place))
                            : recvAcquire(end(false, place));
      return ports[p] != nullptr || !isChannel;
    });
    if (!goesOn)
      return false;
    for (uint64_t i = 0; i + sizeof(T) <= now; i += sizeof(T)) {
      T value, more;
      std::memcpy(&value, ports[0] + i, sizeof(T));
      for (uint32_t s = 1; s < step->numSources; ++s) {
        std::memcpy(&more, ports[s] + i, sizeof(T));
        value = combine(value, more);
      }
      for (uint32_t s = step->numSources; s != count; ++s)
        std::memcpy(ports[s] + i, &value, sizeof(T));
    }
    forEach([&](uint32_t p, bool isSink, bool isChannel) {
      if (isChannel && isSink)
        sendPublish(end(true, step->ports[p].place));
      return true;
    });
    forEach([&](uint32_t p, bool isSink, bool isChannel) {
      if (isChannel && !isSink)
        recvRelease(end(false, step->ports[p].place));
      return true;
    });
  }
  return true;
}

template <typename T, typename Combine> void Block::run(Combine combine) {
  const auto *steps = at<uint32_t[2]>(inst.steps);
  const auto *words = at<uint32_t>(inst.consts);
  const uint32_t *first = words + steps[own][0];
  for (uint64_t round = 0; round != args.nrounds; ++round) {
    step = reinterpret_cast<const StepWords *>(first);
    for (uint32_t s = 0; s != steps[own][1]; ++s) {
      if (!waitForBlocks(round))
        return;
      locate(round);
      bool isOver = step->head.shape == kTokenShape && round != 0;
      if (!isOver && !runStep<T>(combine))
        return;
      if (inst.program_blocks > 1)
        release(at<uint64_t>(inst.signals + 64 * uint64_t(block)),
                round * steps[own][1] + s + 1);
      step = reinterpret_cast<const StepWords *>(
          reinterpret_cast<const uint32_t *>(step) + step->length);
    }
  }
  const uint32_t *ends = first - 1 - first[-1];
  for (uint32_t i = 0; i != first[-1]; ++i)
    flush(end(false, ends[i]));
}

struct Sum {
  template <typename T> T operator()(T a, T b) const { return T(a + b); }
};
struct Min {
  template <typename T> T operator()(T a, T b) const { return std::min(a, b); }
};
struct Max {
  template <typename T> T operator()(T a, T b) const { return std::max(a, b); }
};
struct First {
  template <typename T> T operator()(T a, T) const { return a; }
};

template <typename T, typename Combine>
void kernel(const coll_args *args, uint32_t block) {
  Block(*args, block).run<T>(Combine());
}

template <typename T, typename Combine>
void addKernel(std::vector<coll_kernel> &list, uint8_t dtype, uint8_t op) {
#if defined(__aarch64__)
  constexpr uint8_t isa = COLL_ISA_AARCH64;
#else
  constexpr uint8_t isa = COLL_ISA_V2;
#endif
  list.push_back({dtype, op, isa, {}, kernel<T, Combine>});
}

template <typename T>
void addOps(std::vector<coll_kernel> &list, uint8_t dtype) {
  addKernel<T, Sum>(list, dtype, COLL_SUM);
  addKernel<T, Min>(list, dtype, COLL_MIN);
  addKernel<T, Max>(list, dtype, COLL_MAX);
}

} // namespace

std::vector<coll_kernel> handKernels(bool reduces) {
  std::vector<coll_kernel> list;
  if (!reduces) {
    addKernel<char, First>(list, COLL_ANY, COLL_ANY);
    return list;
  }
  addOps<float>(list, COLL_F32);
  addOps<double>(list, COLL_F64);
  addOps<int32_t>(list, COLL_I32);
  return list;
}

} // namespace coll::test
