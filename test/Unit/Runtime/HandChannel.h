//===- HandChannel.h - The two protocols, by hand ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The state machines of a channel as docs/Runtime.md gives them, without the
// waiting: each operation that may have to wait says so instead, and on what.
//
//===----------------------------------------------------------------------===//
#ifndef COLL_TEST_UNIT_RUNTIME_HANDCHANNEL_H
#define COLL_TEST_UNIT_RUNTIME_HANDCHANNEL_H

#include "coll/abi.h"

#include <algorithm>

namespace coll::test {

/// Slots that a receiver collects before it gives them back; 0: k / 2, as
/// generated kernels do. For tests that force another edge on the runtime.
inline uint64_t forcedBatch = 0;

class HandChannel {
public:
  HandChannel(coll_end &end, bool isSmall)
      : end(end), isSmall(isSmall), seq(*at<coll_seq>(end.seq)) {}

  /// What coll_kernel_wait is given when an operation cannot go on.
  struct Wait {
    const uint64_t *word;
    uint64_t want;
    uint32_t how;
  };

  //===-- Sender ------------------------------------------------------------//

  /// The payload of the next slot, or null: no credit, see sendWait.
  char *trySend() {
    if (sent() - seen() >= k())
      seen() = acquire(headWord());
    if (sent() - seen() >= k())
      return nullptr;
    return isSmall ? reinterpret_cast<char *>(smallSlot(sent()) + 1)
                   : at<char>(end.slots + sent() % k() * end.slot_bytes);
  }
  Wait sendWait() { return {headWord(), sent() - k(), COLL_WAIT_ABOVE}; }
  void publish(uint32_t sig) {
    if (isSmall) {
      uint64_t *slot = smallSlot(seq.small_next++);
      release(slot, seq.small_next << 16 | (sig & 0xffff));
      return;
    }
    line().sig[seq.next % k()] = sig;
    release(&line().tail, ++seq.next);
  }

  //===-- Receiver ----------------------------------------------------------//

  /// The payload of the next message, or null: none yet, see receiveWait.
  char *tryReceive() {
    if (isSmall) {
      uint64_t *slot = smallSlot(seq.small_next);
      bool isThere = acquire(slot) >> 16 == seq.small_next + 1;
      return isThere ? reinterpret_cast<char *>(slot + 1) : nullptr;
    }
    if (seq.seen <= seq.next)
      seq.seen = acquire(&line().tail);
    if (seq.seen <= seq.next)
      return nullptr;
    return at<char>(end.slots + seq.next % k() * end.slot_bytes);
  }
  Wait receiveWait() {
    if (isSmall)
      return {smallSlot(seq.small_next), seq.small_next + 1,
              COLL_WAIT_SMALL_FLAG};
    return {&line().tail, seq.next, COLL_WAIT_ABOVE};
  }
  /// Of the message that tryReceive has returned, and what it should be.
  uint32_t signature() {
    return isSmall ? acquire(smallSlot(seq.small_next)) & 0xffff
                   : line().sig[seq.next % k()];
  }
  uint32_t expected(uint32_t sig) const { return isSmall ? sig & 0xffff : sig; }
  void consume() {
    uint64_t batch = forcedBatch ? forcedBatch : k() / 2;
    if (++sent() - published() >= std::max<uint64_t>(batch, 1))
      flush();
  }
  /// Returns all credits: at the end of a launch.
  void flush() {
    if (sent() != published())
      release(headWord(), published() = sent());
  }

private:
  template <typename T> static T *at(uint64_t address) {
    return reinterpret_cast<T *>(address);
  }
  static uint64_t acquire(const uint64_t *word) {
    return __atomic_load_n(word, __ATOMIC_ACQUIRE);
  }
  static void release(uint64_t *word, uint64_t value) {
    __atomic_store_n(word, value, __ATOMIC_RELEASE);
  }
  uint64_t k() const { return isSmall ? end.k_small : end.k; }
  /// Messages sent, or received: `next`.
  uint64_t &sent() { return isSmall ? seq.small_next : seq.next; }
  uint64_t &seen() { return isSmall ? seq.small_seen : seq.seen; }
  uint64_t &published() {
    return isSmall ? seq.small_published : seq.published;
  }
  coll_ring_line &line() { return *at<coll_ring_line>(end.line); }
  uint64_t *headWord() {
    auto &credit = *at<coll_credit_line>(end.credit);
    return isSmall ? &credit.small_head : &credit.head;
  }
  uint64_t *smallSlot(uint64_t number) {
    uint64_t stride = (end.small_bytes + COLL_SMALL_HEAD + 63) / 64 * 64;
    return at<uint64_t>(end.small + number * (k() / 2 | 1) % k() * stride);
  }

  coll_end &end;
  bool isSmall;
  coll_seq &seq;
};

} // namespace coll::test

#endif // COLL_TEST_UNIT_RUNTIME_HANDCHANNEL_H
