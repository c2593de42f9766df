//===- Intrinsics.cpp - The intrinsics of NVPTX ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Instrument.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/IR/Intrinsics.h"

using namespace llvm;

namespace coll::emu {

/// read.ptx.sreg.X, or nothing.
static Value *readRegister(HookBuilder &h, StringRef name) {
  auto axis = [&](uint32_t base) -> std::optional<uint32_t> {
    StringRef tail = name.take_back(2);
    if (tail == ".x")
      return base;
    if (tail == ".y")
      return base + 1;
    return tail == ".z" ? std::optional(base + 2) : std::nullopt;
  };
  std::optional<uint32_t> which;
  if (name.starts_with("tid."))
    which = axis(kThreadIndex);
  else if (name.starts_with("ntid."))
    which = axis(kBlockSize);
  else if (name.starts_with("ctaid."))
    which = axis(kBlockIndex);
  else if (name.starts_with("nctaid."))
    which = axis(kGridSize);
  else if (name == "laneid")
    which = kLane;
  else if (name == "warpid")
    which = kWarp;
  if (which)
    return h.call("emuRegister", h.b.getInt32Ty(), {h.i32(*which)});
  if (name == "warpsize")
    return h.i32(32);
  if (name.starts_with("lanemask.")) {
    Value *lane = h.call("emuRegister", h.b.getInt32Ty(), {h.i32(kLane)});
    Value *bit = h.b.CreateShl(h.i32(1), lane);
    if (name == "lanemask.eq")
      return bit;
    Value *below = h.b.CreateSub(bit, h.i32(1));
    if (name == "lanemask.lt")
      return below;
    Value *upTo = h.b.CreateOr(below, bit);
    return name == "lanemask.le"   ? upTo
           : name == "lanemask.gt" ? h.b.CreateNot(upTo)
                                   : h.b.CreateNot(below);
  }
  return nullptr;
}

static bool lowerBarrier(HookBuilder &h, CallInst *call, StringRef name) {
  auto operand = [&](unsigned i) { return call->getArgOperand(i); };
  bool isAligned = name.consume_front("sync.aligned.") ||
                   name.consume_front("arrive.aligned.");
  bool isArrive = call->getCalledFunction()->getName().contains(".arrive.");
  if (!isAligned && !name.consume_front("sync.") &&
      !name.consume_front("arrive."))
    return false;
  Value *count = h.i32(0);
  if (name == "count")
    count = operand(1);
  else if (name != "all")
    return false;
  h.addPlace(PlaceKind::Barrier, Order::AcqRel, Scope::Cta, 0);
  h.call(
      "emuBarrier", h.b.getVoidTy(),
      {operand(0), count, h.i32(isAligned), h.i32(!isArrive), h.i32(h.site)});
  return true;
}

/// barrier.cta.red.OP[.aligned].all|count (id, [count,] predicate).
static Value *lowerBarrierVote(HookBuilder &h, CallInst *call, StringRef name) {
  auto [operation, tail] = name.split('.');
  bool isAligned = tail.consume_front("aligned."), isAll = tail == "all";
  if (!isAll && tail != "count")
    return nullptr;
  Value *count = isAll ? h.i32(0) : call->getArgOperand(1);
  Value *vote = call->getArgOperand(isAll ? 1 : 2);
  h.addPlace(PlaceKind::Vote, Order::AcqRel, Scope::Cta, 0);
  Value *votes =
      h.call("emuBarrierVotes", h.b.getInt32Ty(),
             {call->getArgOperand(0), count, h.i32(isAligned),
              h.b.CreateZExt(h.b.CreateIsNotNull(vote), h.b.getInt32Ty()),
              h.i32(h.site)});
  if (operation == "popc")
    return votes;
  if (operation == "or")
    return h.b.CreateIsNotNull(votes);
  if (operation != "and")
    return nullptr;
  if (!isAll)
    return h.b.CreateICmpEQ(votes, count);
  Value *size = h.b.getInt32(1);
  for (uint32_t axis = 0; axis < 3; ++axis)
    size = h.b.CreateMul(size, h.call("emuRegister", h.b.getInt32Ty(),
                                      {h.i32(kBlockSize + axis)}));
  return h.b.CreateICmpEQ(votes, size);
}

static Value *exchange(HookBuilder &h, uint32_t kind, Value *mask, Value *value,
                       Value *lane) {
  return h.call("emuExchange", h.b.getInt64Ty(),
                {h.i32(kind), mask, value, lane, h.i32(h.site)});
}

/// shfl.sync.MODE.TYPE[p] (mask, value, lane, clamp).
static Value *lowerShuffle(HookBuilder &h, CallInst *call, StringRef name) {
  auto [modeText, type] = name.split('.');
  uint32_t mode = StringSwitch<uint32_t>(modeText)
                      .Case("up", 0)
                      .Case("down", 1)
                      .Case("bfly", 2)
                      .Case("idx", 3)
                      .Default(~0u);
  if (mode == ~0u)
    return nullptr;
  Value *lane =
      h.call("emuShuffleLane", h.b.getInt32Ty(),
             {h.i32(mode), call->getArgOperand(2), call->getArgOperand(3)});
  Value *value = call->getArgOperand(1);
  Value *bits = h.b.CreateTrunc(h.toBits(value), h.b.getInt32Ty());
  Value *both = exchange(h, kShuffle, call->getArgOperand(0), bits, lane);
  Value *result = h.fromBits(both, value->getType());
  if (!type.ends_with("p"))
    return result;
  Value *isValid = h.b.CreateTrunc(h.b.CreateLShr(both, 32), h.b.getInt1Ty());
  Value *pair = PoisonValue::get(call->getType());
  pair = h.b.CreateInsertValue(pair, result, 0);
  return h.b.CreateInsertValue(pair, isValid, 1);
}

static Value *lowerVote(HookBuilder &h, CallInst *call, StringRef name) {
  uint32_t kind = StringSwitch<uint32_t>(name)
                      .Case("any.sync", kVoteAny)
                      .Case("all.sync", kVoteAll)
                      .Case("uni.sync", kVoteUniform)
                      .Case("ballot.sync", kVoteBallot)
                      .Default(~0u);
  if (kind == ~0u)
    return nullptr;
  h.addPlace(PlaceKind::Vote, Order::Relaxed, Scope::Cta, 0);
  Value *bits = exchange(
      h, kind, call->getArgOperand(0),
      h.b.CreateZExt(call->getArgOperand(1), h.b.getInt32Ty()), h.i32(0));
  return h.b.CreateTrunc(bits, call->getType());
}

/// Arithmetic that the target-independent intrinsics have as well.
static Value *lowerMath(HookBuilder &h, CallInst *call, StringRef name) {
  auto with = [&](Intrinsic::ID id) -> Value * {
    SmallVector<Value *> operands(call->args());
    return h.b.CreateIntrinsic(call->getType(), id, operands);
  };
  if (name.starts_with("fma.rn."))
    return with(Intrinsic::fma);
  if (name.starts_with("sqrt.rn."))
    return with(Intrinsic::sqrt);
  if (name.starts_with("fabs"))
    return with(Intrinsic::fabs);
  if (name == "fmin.f" || name == "fmin.d")
    return with(Intrinsic::minnum);
  if (name == "fmax.f" || name == "fmax.d")
    return with(Intrinsic::maxnum);
  if (name.starts_with("add.rn."))
    return h.b.CreateFAdd(call->getArgOperand(0), call->getArgOperand(1));
  if (name.starts_with("mul.rn."))
    return h.b.CreateFMul(call->getArgOperand(0), call->getArgOperand(1));
  if (name.starts_with("div.rn."))
    return h.b.CreateFDiv(call->getArgOperand(0), call->getArgOperand(1));
  return nullptr;
}

static Value *lowerFenceOf(HookBuilder &h, StringRef name) {
  Scope scope = name == "cta"   ? Scope::Cta
                : name == "gl"  ? Scope::Gpu
                : name == "sys" ? Scope::Sys
                                : Scope::Weak;
  if (scope == Scope::Weak)
    return nullptr;
  h.fence(Order::SeqCst, scope); // membar: fence.sc
  return h.i32(0);
}

/// ff.to.FORMATx2.rn (upper, lower), FORMATx2.to.f16x2.rn (pair).
static Value *lowerFp8(HookBuilder &h, CallInst *call, StringRef name) {
  bool isFrom = name.consume_front("ff.to.");
  uint32_t isE5M2 = name.consume_front("e5m2x2");
  if (!isE5M2 && !name.consume_front("e4m3x2"))
    return nullptr;
  if (isFrom && name == ".rn")
    return h.b.CreateTrunc(
        h.call("emuToFp8", h.b.getInt32Ty(),
               {h.i32(isE5M2),
                h.b.CreateBitCast(call->getArgOperand(0), h.b.getInt32Ty()),
                h.b.CreateBitCast(call->getArgOperand(1), h.b.getInt32Ty())}),
        call->getType());
  if (isFrom || name != ".to.f16x2.rn")
    return nullptr;
  Value *pair = h.b.CreateZExt(call->getArgOperand(0), h.b.getInt32Ty());
  return h.b.CreateBitCast(
      h.call("emuFromFp8", h.b.getInt32Ty(), {h.i32(isE5M2), pair}),
      call->getType());
}

std::string lowerIntrinsic(CallInst *call, uint32_t site) {
  StringRef name = call->getCalledFunction()->getName();
  HookBuilder h(call, site);
  Value *result = nullptr;
  bool isKnown = false;
  if (name == "llvm.trap") {
    h.call("emuTrap", h.b.getVoidTy(), {h.i32(site)});
    isKnown = true;
  }
  name.consume_front("llvm.nvvm.");
  if (name.consume_front("read.ptx.sreg.")) {
    if (name == "globaltimer" || name == "clock64" || name == "globaltimer.lo")
      result = h.b.CreateZExtOrTrunc(h.call("emuTime", h.b.getInt64Ty(), {}),
                                     call->getType());
    else
      result = readRegister(h, name);
  } else if (name.consume_front("barrier.cta.red.")) {
    result = lowerBarrierVote(h, call, name);
  } else if (name.consume_front("barrier.cta.")) {
    isKnown = lowerBarrier(h, call, name);
  } else if (name == "bar.warp.sync") {
    h.addPlace(PlaceKind::WarpBarrier, Order::AcqRel, Scope::Cta, 0);
    exchange(h, kWarpBarrier, call->getArgOperand(0), h.i32(0), h.i32(0));
    isKnown = true;
  } else if (name.consume_front("shfl.sync.")) {
    result = lowerShuffle(h, call, name);
  } else if (name.consume_front("vote.")) {
    result = lowerVote(h, call, name);
  } else if (name.consume_front("membar.")) {
    isKnown = lowerFenceOf(h, name) != nullptr;
  } else if (name == "fence.proxy.alias") {
    h.fenceAliases();
    isKnown = true;
  } else if (name == "nanosleep") {
    h.call("emuPause", h.b.getVoidTy(), {h.i32(site)});
    isKnown = true;
  } else if (name == "activemask") {
    result = h.call("emuRegister", h.b.getInt32Ty(), {h.i32(kActiveMask)});
  } else if (name.contains(".approx")) {
    return "an approximation, whose bits are the chip's own (exact: sqrt.rn, "
           "div.rn)";
  } else {
    result = lowerMath(h, call, name);
    if (!result)
      result = lowerFp8(h, call, name);
  }
  if (!result && !isKnown)
    return "an intrinsic that is not known here";
  if (result)
    call->replaceAllUsesWith(result);
  call->eraseFromParent();
  return "";
}

} // namespace coll::emu
