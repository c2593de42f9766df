//===- Hooks.cpp - What instrumented code calls ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Hooks.h"
#include "State.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <ctime>

using namespace coll::emu;

static uintptr_t toInteger(const void *address) {
  return reinterpret_cast<uintptr_t>(address);
}

/// The thread's own stack: nobody else sees it.
static bool isPrivate(const void *address) {
  uintptr_t offset =
      toInteger(address) - reinterpret_cast<uintptr_t>(current->stack);
  return offset < (64u << 10);
}

static Order orderOf(uint32_t how) { return Order(how & 0xff); }
static Scope scopeOf(uint32_t how) { return Scope(how >> 8 & 0xff); }

void emuWeak(const void *address, uint64_t bytes, uint32_t flags,
             uint32_t alignment, uint32_t site) {
  if (!bytes || isPrivate(address))
    return;
  machine->step(site, false);
  uintptr_t at = toInteger(address);
  if (alignment > 1 && at % alignment) {
    machine->report(ReportKind::Misaligned, site, 0,
                    "an access to an address that " +
                        std::to_string(alignment) + " does not divide\n  " +
                        machine->describe(*current, site));
    machine->hasFailed = true;
    machine->yield();
  }
  bool isWrite = flags & kWrite;
  Region *region = machine->resolve(at, bytes, isWrite, site);
  if ((flags & kNonCoherent) && !region->isReadOnly)
    machine->report(ReportKind::NonCoherent, site, 0,
                    "a non-coherent load of memory that others may write\n  " +
                        machine->describe(*current, site));
  machine->note(*region, at, bytes, isWrite, Scope::Weak, site);
  if (isWrite)
    machine->idle = 0;
}

/// Order and scope that are left by a fault.
static uint32_t weaken(uint32_t how, FaultKind fault) {
  Order order = orderOf(how);
  Scope scope = scopeOf(how);
  switch (fault) {
  case FaultKind::Relaxed:
    return pack(uint32_t(Order::Relaxed), uint32_t(scope));
  case FaultKind::NoAcquire:
    return pack(uint32_t(Order::Release), uint32_t(scope));
  case FaultKind::NoRelease:
    return pack(uint32_t(Order::Acquire), uint32_t(scope));
  case FaultKind::Gpu:
    return pack(uint32_t(order), uint32_t(Scope::Gpu));
  case FaultKind::Cta:
    return pack(uint32_t(order), uint32_t(Scope::Cta));
  default:
    return how;
  }
}

static uint64_t loadWeak(const void *address, uint32_t bytes, uint32_t site) {
  emuWeak(address, bytes, 0, bytes, site);
  uint64_t value = 0;
  memcpy(&value, address, bytes);
  return value;
}
static void storeWeak(void *address, uint64_t value, uint32_t bytes,
                      uint32_t site) {
  emuWeak(address, bytes, kWrite, bytes, site);
  memcpy(address, &value, bytes);
}

uint64_t emuLoad(const void *address, uint32_t bytes, uint32_t how,
                 uint32_t site) {
  uintptr_t at = toInteger(address);
  FaultKind fault = machine->faultAt(site, PlaceKind::Load);
  if (fault == FaultKind::Weak)
    return loadWeak(address, bytes, site);
  how = weaken(how, fault);
  auto load = [&](uintptr_t from, uint32_t width) {
    return machine->loadFlag(from, width, orderOf(how), scopeOf(how), site);
  };
  if (fault != FaultKind::Split)
    return load(at, bytes);
  uint64_t low = load(at, 4);
  return low | load(at + 4, 4) << 32;
}

void emuStore(void *address, uint64_t value, uint32_t bytes, uint32_t how,
              uint32_t site) {
  uintptr_t at = toInteger(address);
  FaultKind fault = machine->faultAt(site, PlaceKind::Store);
  if (fault == FaultKind::Dropped)
    return;
  if (fault == FaultKind::Weak)
    return storeWeak(address, value, bytes, site);
  how = weaken(how, fault);
  auto store = [&](uintptr_t to, uint64_t part, uint32_t width) {
    machine->storeFlag(to, part, width, orderOf(how), scopeOf(how), site);
  };
  if (fault != FaultKind::Split)
    return store(at, value, bytes);
  store(at, uint32_t(value), 4);
  store(at + 4, value >> 32, 4);
}

/// The words one by one, as PTX takes a vector's elements.
static void accessParts(uintptr_t at, uint64_t *values, bool isWrite,
                        Scope scope, uint32_t site) {
  for (unsigned i = 0; i < 2; ++i)
    if (isWrite)
      machine->storeFlag(at + 8 * i, values[i], 8, Order::Relaxed, scope, site);
    else
      values[i] = machine->loadFlag(at + 8 * i, 8, Order::Relaxed, scope, site);
}

static void accessLine(void *address, uint64_t *values, bool isWrite,
                       FaultKind fault, uint32_t site) {
  uintptr_t at = toInteger(address);
  if (fault == FaultKind::Weak) {
    emuWeak(address, 16, isWrite ? uint32_t(kWrite) : 0, 16, site);
    isWrite ? memcpy(address, values, 16) : memcpy(values, address, 16);
    return;
  }
  Scope scope = scopeOf(
      weaken(pack(uint32_t(Order::Relaxed), uint32_t(Scope::Sys)), fault));
  if (fault == FaultKind::Split ||
      !machine->accessLine(at, values, isWrite, scope, site))
    accessParts(at, values, isWrite, scope, site);
}

void emuLoadLine(const void *address, uint64_t *values, uint32_t site) {
  accessLine(const_cast<void *>(address), values, false,
             machine->faultAt(site, PlaceKind::Load), site);
}

void emuStoreLine(void *address, uint64_t *values, uint32_t site) {
  FaultKind fault = machine->faultAt(site, PlaceKind::Store);
  if (fault != FaultKind::Dropped)
    accessLine(address, values, true, fault, site);
}

void emuPath(uint32_t place) { machine->branchedTo(place); }

template <typename F, typename I>
static uint64_t addFloats(uint64_t a, uint64_t b) {
  return std::bit_cast<I>(std::bit_cast<F>(I(a)) + std::bit_cast<F>(I(b)));
}

static uint64_t apply(uint32_t operation, uint64_t old, uint64_t operand,
                      uint32_t bytes) {
  unsigned shift = 64 - 8 * bytes;
  int64_t a = int64_t(old << shift) >> shift,
          b = int64_t(operand << shift) >> shift;
  uint64_t ua = old << shift >> shift, ub = operand << shift >> shift;
  switch (operation) {
  case kExchange:
    return operand;
  case kAdd:
    return old + operand;
  case kSub:
    return old - operand;
  case kAnd:
    return old & operand;
  case kOr:
    return old | operand;
  case kXor:
    return old ^ operand;
  case kMin:
    return uint64_t(std::min(a, b));
  case kMax:
    return uint64_t(std::max(a, b));
  case kUMin:
    return std::min(ua, ub);
  case kUMax:
    return std::max(ua, ub);
  case kFAdd32:
    return addFloats<float, uint32_t>(old, operand);
  case kFAdd64:
    return addFloats<double, uint64_t>(old, operand);
  case kInc:
    return ua >= ub ? 0 : ua + 1;
  default:
    return ua == 0 || ua > ub ? ub : ua - 1; // kDec
  }
}

uint64_t emuModify(void *address, uint64_t operand, uint32_t operation,
                   uint32_t bytes, uint32_t how, uint32_t site) {
  FaultKind fault = machine->faultAt(site, PlaceKind::Modify);
  if (fault == FaultKind::Weak) {
    uint64_t old = loadWeak(address, bytes, site);
    storeWeak(address, apply(operation, old, operand, bytes), bytes, site);
    return old;
  }
  how = weaken(how, fault);
  return machine->modifyFlag(toInteger(address), bytes, orderOf(how),
                             scopeOf(how), site,
                             [&](uint64_t old, uint64_t &value) {
                               value = apply(operation, old, operand, bytes);
                               return true;
                             });
}

uint64_t emuSwap(void *address, uint64_t expected, uint64_t value,
                 uint32_t bytes, uint32_t how, uint32_t site) {
  FaultKind fault = machine->faultAt(site, PlaceKind::Modify);
  if (fault == FaultKind::Weak) {
    uint64_t old = loadWeak(address, bytes, site);
    if (old == expected)
      storeWeak(address, value, bytes, site);
    return old;
  }
  how = weaken(how, fault);
  return machine->modifyFlag(toInteger(address), bytes, orderOf(how),
                             scopeOf(how), site,
                             [&](uint64_t old, uint64_t &result) {
                               result = value;
                               return old == expected;
                             });
}

void emuFence(uint32_t how, uint32_t site) {
  FaultKind fault = machine->faultAt(site, PlaceKind::Fence);
  if (fault == FaultKind::Dropped)
    return;
  how = weaken(how, fault);
  machine->step(site, true);
  machine->fence(orderOf(how), scopeOf(how));
}

void emuAliasFence(uint32_t site) {
  if (machine->faultAt(site, PlaceKind::Fence) != FaultKind::Dropped)
    machine->fenceAliases();
}

void emuBarrier(uint32_t id, uint32_t count, uint32_t isAligned, uint32_t waits,
                uint32_t site) {
  if (machine->faultAt(site, PlaceKind::Barrier) == FaultKind::Dropped)
    return;
  machine->barrier(id, count, isAligned, waits, site);
}

uint32_t emuBarrierVotes(uint32_t id, uint32_t count, uint32_t isAligned,
                         uint32_t vote, uint32_t site) {
  FaultKind fault = machine->faultAt(site, PlaceKind::Vote);
  if (fault == FaultKind::Dropped)
    return vote;
  machine->barrier(id, count, isAligned, true, site, vote);
  uint32_t result = current->block->barriers[id].result;
  if (result && !vote)
    machine->mark(site, kOverruled);
  if (fault != FaultKind::Alone)
    return result;
  machine->reached += result && !vote;
  return vote;
}

static uint32_t part(const Dim3 &index, uint32_t which) {
  return which == 0 ? index.x : which == 1 ? index.y : index.z;
}

uint32_t emuRegister(uint32_t which) {
  const Block &block = *current->block;
  switch (which & ~3u) {
  case kThreadIndex:
    return part(current->index, which & 3);
  case kBlockIndex:
    return part(block.index, which & 3);
  case kBlockSize:
    return part(block.launch->block, which & 3);
  case kGridSize:
    return part(block.launch->grid, which & 3);
  default:
    break;
  }
  switch (which) {
  case kLane:
    return current->lane % 32;
  case kWarp:
    return current->lane / 32;
  case kActiveMask:
    return 1u << current->lane % 32;
  default:
    return uint32_t(block.launch->device);
  }
}

uint64_t emuTime() {
  if (!machine->options.realTime)
    return machine->steps * 32;
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return uint64_t(now.tv_sec) * 1'000'000'000 + uint64_t(now.tv_nsec);
}

void emuPause(uint32_t site) {
  machine->step(site, false);
  machine->yield();
}

void *emuShared(uint64_t offset) { return current->block->sharedBase + offset; }

static bool isVote(uint32_t kind) {
  return kind >= kVoteAny && kind <= kVoteBallot;
}

uint64_t emuExchange(uint32_t kind, uint32_t mask, uint32_t value,
                     uint32_t lane, uint32_t site) {
  if (kind == kWarpBarrier &&
      machine->faultAt(site, PlaceKind::WarpBarrier) == FaultKind::Dropped)
    return 0;
  FaultKind fault =
      isVote(kind) ? machine->faultAt(site, PlaceKind::Vote) : FaultKind::None;
  // Of a vote that nobody else takes part in.
  uint32_t own = kind == kVoteUniform  ? 1
                 : kind == kVoteBallot ? (value & 1) << current->lane % 32
                                       : value;
  if (fault == FaultKind::Dropped)
    return own;
  bool isValid = false;
  auto result =
      uint32_t(machine->exchange(kind, mask, value, lane, site, isValid));
  if (result != own)
    machine->mark(site, kOverruled);
  if (fault == FaultKind::Alone) {
    machine->reached += result != own;
    return own;
  }
  return result | uint64_t(isValid) << 32;
}

/// Lane that shfl reads (PTX ISA, shfl.sync): 32 for none. Modes 0 to 3: up,
/// down, butterfly, index.
uint32_t emuShuffleLane(uint32_t mode, uint32_t operand, uint32_t clamp) {
  uint32_t lane = current->lane % 32, segment = clamp >> 8 & 31;
  uint32_t limit = clamp & 31;
  uint32_t last = (lane & segment) | (limit & ~segment);
  uint32_t first = lane & segment;
  operand &= 31;
  switch (mode) {
  case 0:
    return int(lane - operand) >= int(last) ? lane - operand : 32;
  case 1:
    return lane + operand <= last ? lane + operand : 32;
  case 2:
    return (lane ^ operand) <= last ? lane ^ operand : 32;
  default: {
    uint32_t other = first | (operand & ~segment);
    return other <= last ? other : 32;
  }
  }
}

void emuTrap(uint32_t site) {
  machine->report(ReportKind::Trap, site, 0,
                  "the kernel traps\n  " + machine->describe(*current, site));
  machine->hasFailed = true;
  machine->yield();
}

uint32_t emuBranch(uint32_t condition, uint32_t site) {
  FaultKind fault = machine->faultAt(site, PlaceKind::Branch);
  machine->mark(site, condition ? kTaken : kNotTaken);
  if (fault == FaultKind::None)
    return condition;
  uint32_t other = fault == FaultKind::Always;
  machine->reached += other != condition;
  return other;
}

void emuGuard(uint32_t condition, uint32_t site) {
  machine->mark(site, condition ? kTaken : kNotTaken);
}

namespace coll::emu {
#define COLL_EMU_HOOK(name) {#name, reinterpret_cast<void *>(&name)}
const Hook kHooks[] = {
    COLL_EMU_HOOK(emuWeak),      COLL_EMU_HOOK(emuLoad),
    COLL_EMU_HOOK(emuStore),     COLL_EMU_HOOK(emuModify),
    COLL_EMU_HOOK(emuSwap),      COLL_EMU_HOOK(emuFence),
    COLL_EMU_HOOK(emuBarrier),   COLL_EMU_HOOK(emuBarrierVotes),
    COLL_EMU_HOOK(emuRegister),  COLL_EMU_HOOK(emuTime),
    COLL_EMU_HOOK(emuPause),     COLL_EMU_HOOK(emuShared),
    COLL_EMU_HOOK(emuExchange),  COLL_EMU_HOOK(emuShuffleLane),
    COLL_EMU_HOOK(emuTrap),      COLL_EMU_HOOK(emuBranch),
    COLL_EMU_HOOK(emuToFp8),     COLL_EMU_HOOK(emuFromFp8),
    COLL_EMU_HOOK(emuMulticast), COLL_EMU_HOOK(emuLoadLine),
    COLL_EMU_HOOK(emuStoreLine), COLL_EMU_HOOK(emuPath),
    COLL_EMU_HOOK(emuGuard),     COLL_EMU_HOOK(emuAliasFence),
    {nullptr, nullptr}};
#undef COLL_EMU_HOOK
} // namespace coll::emu
