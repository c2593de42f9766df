//===- DeviceWait.cpp - The slow path of waits, on the device -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs in thread 0 of a block, the others standing at a barrier:
//
//   show where the block is
//   for polls = 1, 2, ...:
//     if the word has its value (acquire.sys): show that it runs; return 0
//     if polls <= spin_limit: continue
//     if abort (relaxed.sys): return 1
//     if the clock is past the deadline: result = timeout; return 1
//     sleep 32 ns, longer from poll to poll up to 1 us
//
// What is shown lies in the host's memory and goes there by relaxed stores of
// system scope. While a wait is in its spin, nothing but the word is touched:
// it lies in this device's memory, and the poll costs no peer anything.
//
//===----------------------------------------------------------------------===//

#include "lib/Lowering/Machine.h"

#include "coll/abi.h"
#include "coll/coll.h"

namespace coll::lowering {
using namespace mlir;
using Ordering = LLVM::AtomicOrdering;

Value reportOf(Builder &b, Value inst, Value block) {
  return b.at(b.pointerField(inst, offsetof(coll_inst, blocks)),
              b.mul(b.zext(block, b.i64()), b.cst(sizeof(coll_block))));
}

void show(Builder &b, Value report, uint64_t offset, Value value) {
  b.setField(value, report, offset, Ordering::monotonic);
}

namespace {
class WaitEmitter {
public:
  WaitEmitter(ModuleOp module, Primitives &p)
      : b(module.getContext()), module(module), p(p) {}
  void showLaunch();
  void wait();
  void mismatch();
  void badWindow();

private:
  Value holds(Value value, Value want, Value how);
  void giveUp(Value report, uint32_t why);
  void callShowLaunch(Value inst, Value block) {
    func::CallOp::create(b, p.showLaunch, ValueRange{inst, block});
  }
  Builder b;
  ModuleOp module;
  Primitives &p;
};
} // namespace

Value WaitEmitter::holds(Value value, Value want, Value how) {
  Value isFlag = b.eq(how, b.cst(COLL_WAIT_SMALL_FLAG, b.i32()));
  return b.select(isFlag, b.eq(b.lshr(value, b.cst(16)), want),
                  b.ugt(value, want));
}

void WaitEmitter::giveUp(Value report, uint32_t why) {
  show(b, report, offsetof(coll_block, result), b.cst(why, b.i32()));
  func::ReturnOp::create(b, ValueRange{b.cst(1, b.i32())});
}

/// Its number, and how many launches of this plan there have been: no host runs
/// when a graph is replayed.
void WaitEmitter::showLaunch() {
  p.showLaunch =
      beginFunction(b, module, "coll_show_launch", {b.ptr(), b.i32()}, {});
  Value inst = p.showLaunch.getArgument(0), block = p.showLaunch.getArgument(1);
  Value report = reportOf(b, inst, block);
  Value signal =
      b.at(b.pointerField(inst, offsetof(coll_inst, signals)),
           b.mul(b.zext(block, b.i64()), b.cst(sizeof(coll_device_signal))));
  show(b, report, offsetof(coll_block, launch),
       b.field32(signal, offsetof(coll_device_signal, launch)));
  show(b, report, offsetof(coll_block, runs),
       b.add(b.field(b.i64(), signal, offsetof(coll_device_signal, launches)),
             b.cst(1)));
  func::ReturnOp::create(b);
}

void WaitEmitter::wait() {
  Type ptr = b.ptr(), i32 = b.i32(), i64 = b.i64();
  p.wait = beginFunction(b, module, "coll_kernel_wait",
                         {ptr, i32, ptr, i64, i32, i64}, {i32});
  auto arguments = p.wait.getArguments();
  Value inst = arguments[0], word = arguments[2], want = arguments[3],
        how = arguments[4], progress = arguments[5];
  Value comm = b.pointerField(inst, offsetof(coll_inst, comm));
  Value spins = b.field(i32, comm, offsetof(coll_comm_dev, spin_limit));
  Value limit = b.field(i64, comm, offsetof(coll_comm_dev, deadline_ns));
  Value abortWord = b.pointerField(comm, offsetof(coll_comm_dev, abort));
  Value report = reportOf(b, inst, arguments[1]);
  Value start = Ptx::globalTimer(b);
  Block *poll = b.newBlock({i32, i32}), *not_ = b.newBlock(),
        *look = b.newBlock({i32}), *first = b.newBlock(), *check = b.newBlock(),
        *clock = b.newBlock(), *late = b.newBlock(), *rest = b.newBlock(),
        *aborted = b.newBlock(), *done = b.newBlock(), *shown = b.newBlock(),
        *back = b.newBlock();
  b.branch(poll, ValueRange{b.cst(0, i32), b.cst(32, i32)});

  b.startBlock(poll);
  Value polls = poll->getArgument(0), pause = poll->getArgument(1);
  Value value = b.field(i64, word, 0, Ordering::acquire);
  b.branchIf(holds(value, want, how), done, not_);
  b.startBlock(not_);
  // Counts to one past the limit and stays there.
  b.branchIf(b.ult(polls, spins), poll,
             ValueRange{b.add(polls, b.cst(1, i32)), pause}, look,
             ValueRange{polls});

  b.startBlock(look);
  b.branchIf(b.eq(look->getArgument(0), spins), first, check);
  b.startBlock(first);
  callShowLaunch(inst, arguments[1]);
  show(b, report, offsetof(coll_block, progress), progress);
  show(b, report, offsetof(coll_block, wait_since), start);
  show(b, report, offsetof(coll_block, want), want);
  b.branch(check);
  b.startBlock(check);
  show(b, report, offsetof(coll_block, have), value);
  Value abort = b.field(i32, abortWord, 0, Ordering::monotonic);
  b.branchIf(b.eq(abort, b.cst(0, i32)), clock, aborted);
  b.startBlock(aborted);
  func::ReturnOp::create(b, ValueRange{b.cst(1, i32)});
  b.startBlock(clock);
  Value hasLimit = b.ult(b.sub(limit, b.cst(1)), b.cst(UINT64_MAX - 1));
  Value waited = b.sub(Ptx::globalTimer(b), start);
  b.branchIf(b.and_(hasLimit, b.ugt(waited, limit)), late, rest);
  b.startBlock(late);
  giveUp(report, COLL_TIMEOUT);
  b.startBlock(rest);
  Ptx::sleep(b, pause);
  Value longer = b.umin(b.shl(pause, b.cst(1, i32)), b.cst(1024, i32));
  b.branch(poll, ValueRange{b.add(spins, b.cst(1, i32)), longer});

  b.startBlock(done);
  b.branchIf(b.ugt(polls, spins), shown, back);
  b.startBlock(shown);
  Value running = b.or_(b.cst(uint64_t(COLL_STATE_RUN) << 60),
                        b.and_(progress, b.cst((uint64_t(1) << 60) - 1)));
  show(b, report, offsetof(coll_block, progress), running);
  b.branch(back);
  b.startBlock(back);
  func::ReturnOp::create(b, ValueRange{b.cst(0, i32)});
}

void WaitEmitter::mismatch() {
  Type ptr = b.ptr(), i32 = b.i32(), i64 = b.i64();
  p.mismatch = beginFunction(b, module, "coll_kernel_mismatch",
                             {ptr, i32, i64, i32, i32}, {i32});
  auto arguments = p.mismatch.getArguments();
  Value report = reportOf(b, arguments[0], arguments[1]);
  callShowLaunch(arguments[0], arguments[1]);
  show(b, report, offsetof(coll_block, progress), arguments[2]);
  show(b, report, offsetof(coll_block, want), b.zext(arguments[3], i64));
  show(b, report, offsetof(coll_block, have), b.zext(arguments[4], i64));
  giveUp(report, COLL_MISMATCH);
}

void WaitEmitter::badWindow() {
  Type ptr = b.ptr(), i32 = b.i32(), i64 = b.i64();
  p.badWindow = beginFunction(b, module, "coll_kernel_window",
                              {ptr, i32, i64, i64}, {i32});
  auto arguments = p.badWindow.getArguments();
  Value report = reportOf(b, arguments[0], arguments[1]);
  callShowLaunch(arguments[0], arguments[1]);
  show(b, report, offsetof(coll_block, progress), arguments[2]);
  show(b, report, offsetof(coll_block, have), arguments[3]);
  giveUp(report, COLL_SYSTEM);
}

void addDeviceWaits(ModuleOp module, Primitives &p) {
  WaitEmitter emitter(module, p);
  emitter.showLaunch();
  emitter.wait();
  emitter.mismatch();
  emitter.badWindow();
}

} // namespace coll::lowering
