//===- FlagWait.cpp - Any thread of a block waits for a flag --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The slow path of packets and of lines, the same state machine:
//
//   for polls = 1, 2, ...:
//     if the word has its flag: show that the block runs, if this thread has
//       shown that it waits; return
//     if it is the message's number with another signature: give up
//     if polls <= spin_limit: continue
//     if no thread tells the host where the block waits, this one does
//     if abort, or a thread has given up: return
//     if the clock is past the deadline: give up
//     sleep 32 ns, longer from poll to poll up to 1 us
//
// Any thread may find that there is nothing to wait for, while others show
// where they wait. So who gives up says why in the block's shared memory, the
// first of them alone; those that wait look there, too, and leave; and thread 0
// tells the host behind the vote that ends the slice.
//
//===----------------------------------------------------------------------===//

#include "lib/Lowering/Machine.h"

#include "coll/abi.h"
#include "coll/coll.h"

namespace coll::lowering {
using namespace mlir;
using Ordering = LLVM::AtomicOrdering;

/// What the cell of shared memory held; 0: now it holds `value`.
static Value compareExchange(Builder &b, unsigned cell, Value value) {
  auto exchange = LLVM::AtomicCmpXchgOp::create(
      b, sharedCell(b, cell), b.cst(0), value, Ordering::monotonic,
      Ordering::monotonic, "block", 8);
  return LLVM::ExtractValueOp::create(b, exchange, ArrayRef<int64_t>{0});
}

//===----------------------------------------------------------------------===//
// Giving up
//===----------------------------------------------------------------------===//

/// (why: i64, want: i64, have: i64), why: the result and, from bit 32 on, the
/// peer. The barrier before thread 0 looks orders both words.
static func::FuncOp buildGivingUp(ModuleOp module) {
  Builder b(module.getContext());
  Type i64 = b.i64();
  func::FuncOp fn =
      beginFunction(b, module, "coll_flag_give_up", {i64, i64, i64}, {});
  Value before = compareExchange(b, kFailureCell, fn.getArgument(0));
  Block *first = b.newBlock(), *done = b.newBlock();
  b.branchIf(b.eq(before, b.cst(0)), first, done);
  b.startBlock(first);
  Value both = b.or_(b.and_(fn.getArgument(1), b.cst(UINT32_MAX)),
                     b.shl(fn.getArgument(2), b.cst(32)));
  b.setField(both, sharedCell(b, kFailureCell + 1), 0);
  b.branch(done);
  b.startBlock(done);
  func::ReturnOp::create(b);
  return fn;
}

/// All threads', behind the vote.
static func::FuncOp buildTelling(ModuleOp module, func::FuncOp showLaunch) {
  Builder b(module.getContext());
  Type i32 = b.i32(), i64 = b.i64();
  func::FuncOp fn =
      beginFunction(b, module, "coll_flag_tell", {b.ptr(), i32, i64}, {});
  Block *mine = b.newBlock(), *some = b.newBlock(), *done = b.newBlock();
  b.branchIf(b.eq(Ptx::threadId(b), b.cst(0)), mine, done);
  b.startBlock(mine);
  Value why = b.field(i64, sharedCell(b, kFailureCell), 0);
  b.branchIf(b.ne(why, b.cst(0)), some, done);
  b.startBlock(some);
  Value both = b.field(i64, sharedCell(b, kFailureCell + 1), 0);
  Value report = reportOf(b, fn.getArgument(0), fn.getArgument(1));
  Value result = b.trunc(why, i32);
  uint64_t waits = uint64_t(COLL_STATE_WAIT_DATA) << 60;
  Value state = b.select(b.eq(result, b.cst(COLL_TIMEOUT, i32)), b.cst(waits),
                         b.cst(uint64_t(COLL_STATE_IDLE) << 60));
  Value peer = b.lshr(why, b.cst(32));
  func::CallOp::create(b, showLaunch,
                       ValueRange{fn.getArgument(0), fn.getArgument(1)});
  show(b, report, offsetof(coll_block, progress),
       b.or_(b.or_(fn.getArgument(2), peer), state));
  show(b, report, offsetof(coll_block, want), b.and_(both, b.cst(UINT32_MAX)));
  show(b, report, offsetof(coll_block, have), b.lshr(both, b.cst(32)));
  show(b, report, offsetof(coll_block, result), result);
  b.branch(done);
  b.startBlock(done);
  func::ReturnOp::create(b);
  return fn;
}

void Primitives::buildGiveUp(ModuleOp module) {
  giveUp = buildGivingUp(module);
  tellWhy = buildTelling(module, showLaunch);
}

//===----------------------------------------------------------------------===//
// Waiting
//===----------------------------------------------------------------------===//

namespace {
/// A packet's flag is the high half of its word, and its tag has the peer, too;
/// a line's is its last word.
class WaitBuilder {
public:
  WaitBuilder(ModuleOp module, Primitives &p, bool isLine)
      : b(module.getContext()), module(module), p(p), isLine(isLine) {}
  void build();

private:
  Value flag(Value word) { return isLine ? word : b.lshr(word, b.cst(32)); }
  /// What the host is shown of a flag: a line's number of the message.
  Value shown(Value flag) { return isLine ? b.lshr(flag, b.cst(16)) : flag; }
  void begin();
  void poll();
  void look();
  void rest();
  void finish();
  void giveUpWith(uint64_t why, Value wanted, Value have) {
    Value peer = b.shl(b.and_(position, b.cst(0xffff)), b.cst(32));
    func::CallOp::create(b, p.giveUp,
                         ValueRange{b.or_(peer, b.cst(why)), wanted, have});
  }
  /// By any thread of the block, while others may be about to; 0: by none.
  Value whyGivenUp() {
    return LLVM::LoadOp::create(b, b.i64(), sharedCell(b, kFailureCell), 8,
                                false, false, false, false, Ordering::monotonic,
                                StringRef("block"));
  }

  Builder b;
  ModuleOp module;
  Primitives &p;
  const bool isLine;
  Value inst, block, word, want, position, spins, limit, abortWord, report,
      start;
  Value polls, pause, found; // of the poll loop
  Block *pollBlock = nullptr, *lookBlock = nullptr, *restBlock = nullptr,
        *doneBlock = nullptr, *backBlock = nullptr;
};
} // namespace

void WaitBuilder::begin() {
  Type i32 = b.i32(), i64 = b.i64();
  p.flagWait =
      beginFunction(b, module, isLine ? "coll_line_wait" : "coll_packet_wait",
                    {b.ptr(), i32, globalPointer(b), i64, i64}, {i64});
  auto arguments = p.flagWait.getArguments();
  Value tag = arguments[3];
  inst = arguments[0], block = arguments[1];
  word = arguments[2];
  want = isLine ? tag : b.and_(tag, b.cst(UINT32_MAX));
  Value at = isLine ? Value(arguments[4])
                    : b.or_(arguments[4], b.lshr(tag, b.cst(48)));
  position = b.or_(at, b.cst(uint64_t(COLL_STATE_WAIT_DATA) << 60));
  Value comm = b.pointerField(inst, offsetof(coll_inst, comm));
  spins = b.field(i32, comm, offsetof(coll_comm_dev, spin_limit));
  limit = b.field(i64, comm, offsetof(coll_comm_dev, deadline_ns));
  abortWord = b.pointerField(comm, offsetof(coll_comm_dev, abort));
  report = reportOf(b, inst, block);
  start = Ptx::globalTimer(b);
  pollBlock = b.newBlock({i32, i32});
  lookBlock = b.newBlock(), restBlock = b.newBlock();
  doneBlock = b.newBlock(), backBlock = b.newBlock();
  b.branch(pollBlock, ValueRange{b.cst(0, i32), b.cst(32, i32)});
}

/// Counts to one past the limit and stays there.
void WaitBuilder::poll() {
  b.startBlock(pollBlock);
  polls = pollBlock->getArgument(0), pause = pollBlock->getArgument(1);
  Block *missing = b.newBlock(), *old = b.newBlock(), *bad = b.newBlock();
  found = b.field(b.i64(), word, 0, Ordering::monotonic);
  b.branchIf(b.eq(flag(found), want), doneBlock, missing);
  b.startBlock(missing);
  // The right message of another launch.
  Value isSeq = b.eq(b.lshr(b.xor_(flag(found), want), b.cst(16)), b.cst(0));
  b.branchIf(isSeq, bad, old);
  b.startBlock(bad);
  auto sig16 = [&](Value v) { return b.and_(v, b.cst(0xffff)); };
  giveUpWith(COLL_MISMATCH, sig16(want), sig16(flag(found)));
  b.branch(backBlock);
  b.startBlock(old);
  b.branchIf(b.ult(polls, spins), pollBlock,
             ValueRange{b.add(polls, b.cst(1, b.i32())), pause}, lookBlock, {});
}

/// One of those that wait tells of it, until it has its flag; then another.
void WaitBuilder::look() {
  b.startBlock(lookBlock);
  Block *mine = b.newBlock(), *check = b.newBlock(), *others = b.newBlock(),
        *clock = b.newBlock(), *late = b.newBlock();
  Value me = b.add(Ptx::threadId(b), b.cst(1));
  Value teller = compareExchange(b, kTellerCell, me);
  b.branchIf(b.or_(b.eq(teller, b.cst(0)), b.eq(teller, me)), mine, check);
  b.startBlock(mine);
  func::CallOp::create(b, p.showLaunch, ValueRange{inst, block});
  show(b, report, offsetof(coll_block, progress), position);
  show(b, report, offsetof(coll_block, wait_since), start);
  show(b, report, offsetof(coll_block, want), shown(want));
  show(b, report, offsetof(coll_block, have), shown(flag(found)));
  b.branch(check);
  b.startBlock(check);
  Value abort = b.field(b.i32(), abortWord, 0, Ordering::monotonic);
  b.branchIf(b.eq(abort, b.cst(0, b.i32())), others, backBlock);
  b.startBlock(others);
  b.branchIf(b.eq(whyGivenUp(), b.cst(0)), clock, backBlock);
  b.startBlock(clock);
  Value hasLimit = b.ult(b.sub(limit, b.cst(1)), b.cst(UINT64_MAX - 1));
  Value waited = b.sub(Ptx::globalTimer(b), start);
  b.branchIf(b.and_(hasLimit, b.ugt(waited, limit)), late, restBlock);
  b.startBlock(late);
  giveUpWith(COLL_TIMEOUT, shown(want), shown(flag(found)));
  b.branch(backBlock);
}

void WaitBuilder::rest() {
  Type i32 = b.i32();
  b.startBlock(restBlock);
  Ptx::sleep(b, pause);
  Value longer = b.umin(b.shl(pause, b.cst(1, i32)), b.cst(1024, i32));
  b.branch(pollBlock, ValueRange{b.add(spins, b.cst(1, i32)), longer});
}

void WaitBuilder::finish() {
  Block *told = b.newBlock();
  b.startBlock(doneBlock);
  b.branchIf(b.ugt(polls, spins), told, backBlock);
  b.startBlock(told);
  Value place = b.and_(position, b.cst((uint64_t(1) << 60) - 1));
  show(b, report, offsetof(coll_block, progress),
       b.or_(b.cst(uint64_t(COLL_STATE_RUN) << 60), place));
  LLVM::StoreOp::create(b, b.cst(0), sharedCell(b, kTellerCell), 8, false,
                        false, false, Ordering::monotonic, StringRef("block"));
  b.branch(backBlock);
  b.startBlock(backBlock);
  func::ReturnOp::create(b, ValueRange{found});
}

/// As coll_kernel_wait, for one flag. All leave at the block's next vote.
void WaitBuilder::build() {
  begin();
  poll();
  look();
  rest();
  finish();
}

void Primitives::buildFlagWait(ModuleOp module, Protocol protocol) {
  WaitBuilder(module, *this, protocol == Protocol::Lines).build();
}

void Primitives::waitForToken(Builder &b, Value word,
                              llvm::function_ref<Value(Value)> flagOf,
                              Value want, Value tag, Value position) {
  auto arguments = tokenWait.getArguments();
  Value inst = arguments[0], block = arguments[1], progress = arguments[4];
  Block *poll = b.newBlock(), *slow = b.newBlock(), *leave = b.newBlock(),
        *done = b.newBlock();
  b.branch(poll);
  b.startBlock(poll);
  Value found = b.field(b.i64(), word, 0, Ordering::acquire);
  b.branchIf(b.eq(flagOf(found), want), done, slow);
  b.startBlock(slow);
  Value later = func::CallOp::create(
                    b, flagWait, ValueRange{inst, block, word, tag, position})
                    .getResult(0);
  b.branchIf(b.eq(flagOf(later), want), poll, leave);
  b.startBlock(leave);
  func::CallOp::create(b, tellWhy, ValueRange{inst, block, progress});
  func::ReturnOp::create(b, ValueRange{b.cst(1, b.i32())});
  b.startBlock(done);
  func::ReturnOp::create(b, ValueRange{b.cst(0, b.i32())});
}

} // namespace coll::lowering
