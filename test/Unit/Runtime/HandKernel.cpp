//===- HandKernel.cpp - A kernel written by hand --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One step function for all steps, and no regard for speed.  It is compiled
// with whatever the test is compiled with, so sanitizers see every access.
//
//===----------------------------------------------------------------------===//

#include "HandChannel.h"
#include "HandPlan.h"

#include <algorithm>
#include <cassert>
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
  bool wait(const HandChannel::Wait &w, uint64_t where);
  char *sendAcquire(coll_end &e);
  char *recvAcquire(coll_end &e);
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

bool Block::wait(const HandChannel::Wait &w, uint64_t where) {
  return coll_kernel_wait(&inst, block, w.word, w.want, w.how, where) == 0;
}

char *Block::sendAcquire(coll_end &e) {
  HandChannel channel(e, isSmall());
  while (true) {
    if (char *payload = channel.trySend())
      return payload;
    if (!wait(channel.sendWait(), position(COLL_STATE_WAIT_CREDIT, e.peer)))
      return nullptr;
  }
}

char *Block::recvAcquire(coll_end &e) {
  HandChannel channel(e, isSmall());
  uint64_t where = position(COLL_STATE_WAIT_DATA, e.peer);
  char *payload;
  while (!(payload = channel.tryReceive()))
    if (!wait(channel.receiveWait(), where))
      return nullptr;
  uint32_t have = channel.signature(), want = channel.expected(args.sig);
  if (have != want && coll_kernel_mismatch(&inst, block, where, want, have))
    return nullptr;
  return payload;
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
  // As those that are generated, it must not throw, so it allocates nothing.
  constexpr uint32_t maxPorts = 64;
  char *ports[maxPorts];
  assert(count <= maxPorts);
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
        HandChannel(end(true, step->ports[p].place), isSmall())
            .publish(args.sig);
      return true;
    });
    forEach([&](uint32_t p, bool isSink, bool isChannel) {
      if (isChannel && !isSink)
        HandChannel(end(false, step->ports[p].place), isSmall()).consume();
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
    for (bool small : {false, true})
      HandChannel(end(false, ends[i]), small).flush();
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
