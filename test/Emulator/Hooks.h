//===- Hooks.h - What instrumented code calls -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COLL_TEST_EMULATOR_HOOKS_H
#define COLL_TEST_EMULATOR_HOOKS_H

#include <cstdint>

namespace coll::emu {

/// Flags of emuWeak.
enum : uint32_t { kWrite = 1, kNonCoherent = 2 };

enum : uint32_t {
  kShuffle,
  kVoteAny,
  kVoteAll,
  kVoteUniform,
  kVoteBallot,
  kReduceOr,
  kReduceAnd,
  kWarpBarrier
};

enum : uint32_t { // operations of emuModify
  kExchange,
  kAdd,
  kSub,
  kAnd,
  kOr,
  kXor,
  kMin,
  kMax,
  kUMin,
  kUMax,
  kFAdd32,
  kFAdd64,
  kInc,
  kDec
};

enum : uint32_t { // emuRegister: three words each, x to z
  kThreadIndex = 0,
  kBlockIndex = 4,
  kBlockSize = 8,
  kGridSize = 12,
  kLane = 16,
  kWarp = 17,
  kActiveMask = 18,
  kDevice = 19
};

/// An order and a scope (Memory.h) in one word.
constexpr uint32_t pack(uint32_t order, uint32_t scope) {
  return order | scope << 8;
}

enum : uint32_t { kMulticastStore, kAddF32, kAddF16, kAddBf16 }; // emuMulticast

/// Name and address of every hook, for the JIT; ends with a null name.
struct Hook {
  const char *name;
  void *address;
};
extern const Hook kHooks[];

} // namespace coll::emu

extern "C" {
void emuWeak(const void *address, uint64_t bytes, uint32_t flags,
             uint32_t alignment, uint32_t site);
uint64_t emuLoad(const void *address, uint32_t bytes, uint32_t how,
                 uint32_t site);
void emuStore(void *address, uint64_t value, uint32_t bytes, uint32_t how,
              uint32_t site);
uint64_t emuModify(void *address, uint64_t operand, uint32_t operation,
                   uint32_t bytes, uint32_t how, uint32_t site);
uint64_t emuSwap(void *address, uint64_t expected, uint64_t value,
                 uint32_t bytes, uint32_t how, uint32_t site);
/// Two words of a line, with seven other lanes.
void emuLoadLine(const void *address, uint64_t *values, uint32_t site);
void emuStoreLine(void *address, uint64_t *values, uint32_t site);
/// The thread has branched; in modules that access lines.
void emuPath(uint32_t place);
void emuFence(uint32_t how, uint32_t site);
void emuAliasFence(uint32_t site);
void emuBarrier(uint32_t id, uint32_t count, uint32_t isAligned, uint32_t waits,
                uint32_t site);
/// How many threads came with a vote.
uint32_t emuBarrierVotes(uint32_t id, uint32_t count, uint32_t isAligned,
                         uint32_t vote, uint32_t site);
uint32_t emuRegister(uint32_t which);
uint64_t emuTime();
void emuPause(uint32_t site);
void *emuShared(uint64_t offset);
/// The result, and in bit 32 whether it came from another thread.
uint64_t emuExchange(uint32_t kind, uint32_t mask, uint32_t value,
                     uint32_t lane, uint32_t site);
uint32_t emuShuffleLane(uint32_t mode, uint32_t operand, uint32_t clamp);
/// Two numbers of fp8 in the low half; f32 bits; two f16 (PTX's cvt).
uint32_t emuToFp8(uint32_t isE5M2, uint32_t upper, uint32_t lower);
uint32_t emuFromFp8(uint32_t isE5M2, uint32_t pair);
/// A multimem instruction of 16 bytes, `data` being its registers.
void emuMulticast(void *address, uint32_t *data, uint32_t operation,
                  uint32_t site);
void emuTrap(uint32_t site);
uint32_t emuBranch(uint32_t condition, uint32_t site);
/// A branch without faults, whose ways are noted.
void emuGuard(uint32_t condition, uint32_t site);
}

#endif // COLL_TEST_EMULATOR_HOOKS_H
