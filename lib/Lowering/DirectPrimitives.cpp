//===- DirectPrimitives.cpp - Messages without slots ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The direct state machines of docs/Runtime.md, word for word. Both ends count
// the launches that may use the channel directly (coll_seq.launches). The owner
// of a region posts one word a launch: 2 * launches + 1, behind its window and
// signature, or 2 * launches, if it has no window and both ends use the ring.
//
// Put.  Receiver, at entry: rtr_win, rtr_sig; rtr (release).
//   Sender: while rtr < 2 * launches: wait (acquire). If it is 2 * launches + 1
//   compare rtr_sig; store into the window; direct += 1; dtail = direct
//   (release).
//   Receiver: direct += 1; while dtail < direct: wait (acquire).
// Get.  Sender, at entry: avail_win, avail_sig; avail (release).
//   Receiver: while avail < 2 * launches: wait (acquire). If it is 2 * launches
//   + 1 compare avail_sig; load from the window. At its end: ack = launches
//   (release).
//   Sender, at its end, if it posted a window: while ack < launches: wait
//   (acquire).
// In the ring every message has its signature; others have that of the launch
// alone.
//
// An owner that posted a window goes to the next launch only behind this
// launch's last dtail or ack. So where a peer finds 2 * launches + 1, words and
// window stay as they are for as long as it needs them, and they are read again
// at every message. An owner without a window may be launches ahead: then the
// word is larger, which says ring as well, and the window is not looked at.
//
// A window that is not mapped here is one that only the kernel reaches (number
// 0, the peer's address), or an error: either is the runtime's affair
// (runtime/core/DirectMove.cpp). It gives memory to load from or to store to
// instead; what was stored there is brought over where the message is
// published.
//
//===----------------------------------------------------------------------===//

#include "lib/Lowering/Primitives.h"

#include "coll/abi.h"

namespace coll::lowering {
using namespace mlir;
using Ordering = LLVM::AtomicOrdering;

namespace {
/// What puts and gets differ in: the line that one end posts on and the other
/// polls, and its words.
struct Handshake {
  uint64_t line, word, win, sig;
  unsigned state; // of who waits for it
  uint32_t how;
};
constexpr Handshake kPut{offsetof(coll_end, credit),
                         offsetof(coll_credit_line, rtr),
                         offsetof(coll_credit_line, rtr_win),
                         offsetof(coll_credit_line, rtr_sig),
                         COLL_STATE_WAIT_CREDIT,
                         COLL_DIRECT_PUT};
constexpr Handshake kGet{offsetof(coll_end, line),
                         offsetof(coll_ring_line, avail),
                         offsetof(coll_ring_line, avail_win),
                         offsetof(coll_ring_line, avail_sig),
                         COLL_STATE_WAIT_DATA,
                         COLL_DIRECT_GET};

class DirectBuilder {
public:
  DirectBuilder(ModuleOp module, const Primitives &p)
      : b(module.getContext()), module(module), p(p) {}
  func::FuncOp open(StringRef name, const Handshake &h);
  func::FuncOp acquire(StringRef name, const Handshake &h,
                       func::FuncOp fallback);
  func::FuncOp getRelease();
  func::FuncOp putWay();
  func::FuncOp putPublish();
  func::FuncOp putWait();
  func::FuncOp getDone();
  func::FuncOp getWait();
  func::FuncOp multicastOf();
  func::FuncOp multicast(StringRef name, const Handshake &h);

private:
  Value seqOf(Value end) {
    return b.pointerField(end, offsetof(coll_end, seq));
  }
  Value launches(Value end) {
    return b.field(b.i64(), seqOf(end), offsetof(coll_seq, launches));
  }
  Value position(Value progress, unsigned state, Value end) {
    return b.or_(progress, b.or_(b.cst(uint64_t(state) << 60),
                                 b.field16(end, offsetof(coll_end, peer))));
  }
  void leaveNull() {
    func::ReturnOp::create(b,
                           ValueRange{Value(LLVM::ZeroOp::create(b, b.ptr()))});
  }
  Value await(Value inst, Value block, Value word, Value least, Value position,
              Block *then, llvm::function_ref<void()> leave);
  /// What the word is when the peer has a window for this launch.
  Value withWindow(Value end) {
    return b.or_(b.shl(launches(end), b.cst(1)), b.cst(1));
  }
  void waitFunction(Value inst, Value block, Value word, Value least,
                    Value position);
  void branchIfDirect(Value end, const Handshake &h, Block *direct,
                      Block *ring);
  Value window(Value inst, Value end, Value id);
  void windowAddress(const Handshake &h, Value inst, Value block, Value end,
                     Value progress, Value win, Value offset, Value bytes);

  Builder b;
  ModuleOp module;
  const Primitives &p;
};
} // namespace

/// Falls through to `then` when *word >= least (acquire). Returns what it is.
Value DirectBuilder::await(Value inst, Value block, Value word, Value least,
                           Value position, Block *then,
                           llvm::function_ref<void()> leave) {
  Block *poll = b.newBlock(), *slow = b.newBlock(), *out = b.newBlock();
  b.branch(poll);
  b.startBlock(poll);
  Value have = b.field(b.i64(), word, 0, Ordering::acquire);
  b.branchIf(b.uge(have, least), then, slow);
  b.startBlock(slow);
  Value rc = func::CallOp::create(
                 b, p.wait,
                 ValueRange{inst, block, word, b.sub(least, b.cst(1)),
                            b.cst(COLL_WAIT_ABOVE, b.i32()), position})
                 .getResult(0);
  b.branchIf(b.eq(rc, b.cst(0, b.i32())), poll, out);
  b.startBlock(out);
  leave();
  return have;
}

/// The rest of a function that waits and returns 0, or 1 to leave.
void DirectBuilder::waitFunction(Value inst, Value block, Value word,
                                 Value least, Value position) {
  auto leaveWith = [&](uint64_t rc) {
    func::ReturnOp::create(b, ValueRange{b.cst(rc, b.i32())});
  };
  Block *there = b.newBlock();
  await(inst, block, word, least, position, there, [&] { leaveWith(1); });
  b.startBlock(there);
  leaveWith(0);
}

func::FuncOp DirectBuilder::open(StringRef name, const Handshake &h) {
  func::FuncOp fn =
      beginFunction(b, module, name, {b.ptr(), b.ptr(), b.i32(), b.i1()}, {});
  Value args = fn.getArgument(0), end = fn.getArgument(1),
        buffer = fn.getArgument(2), declines = fn.getArgument(3);
  Value launch = b.add(launches(end), b.cst(1));
  b.setField(launch, seqOf(end), offsetof(coll_seq, launches));
  Block *post = b.newBlock(), *done = b.newBlock();
  b.branchIf(b.ne(buffer, b.cst(0, b.i32())), post, done);
  b.startBlock(post);
  Value index = b.sub(b.zext(buffer, b.i64()), b.cst(1));
  Value entry = b.at(b.at(args, offsetof(coll_args, bufs)),
                     b.mul(index, b.cst(sizeof(coll_buf))));
  Value line = b.pointerField(end, h.line);
  Value win = b.select(declines, b.cst(0),
                       b.field(b.i64(), entry, offsetof(coll_buf, win)));
  Value word = b.shl(launch, b.cst(1));
  Block *window = b.newBlock(), *tell = b.newBlock({b.i64()});
  b.branchIf(b.ne(win, b.cst(0)), window, {}, tell, ValueRange{word});
  b.startBlock(window);
  b.setField(win, line, h.win);
  b.setField(b.field32(args, offsetof(coll_args, sig)), line, h.sig);
  b.branch(tell, ValueRange{b.or_(word, b.cst(1))});
  b.startBlock(tell);
  b.setField(tell->getArgument(0), line, h.word, Ordering::release);
  b.branch(done);
  b.startBlock(done);
  func::ReturnOp::create(b);
  return fn;
}

/// The entry of window `id` of the peer.
Value DirectBuilder::window(Value inst, Value end, Value id) {
  Value index = b.add(b.mul(id, b.field32(inst, offsetof(coll_inst, nranks))),
                      b.field16(end, offsetof(coll_end, peer)));
  return b.at(b.pointerField(inst, offsetof(coll_inst, wins)),
              b.mul(index, b.cst(sizeof(coll_window))));
}

/// Returns base of the window and `offset`, when all `bytes` lie in it, else
/// what the runtime has instead.
void DirectBuilder::windowAddress(const Handshake &h, Value inst, Value block,
                                  Value end, Value progress, Value win,
                                  Value offset, Value bytes) {
  Value id = b.lshr(win, b.cst(48));
  Value at = b.add(b.and_(win, b.cst((uint64_t(1) << 48) - 1)), offset);
  Block *known = b.newBlock(), *good = b.newBlock(), *bad = b.newBlock();
  b.branchIf(b.ult(id, b.cst(COLL_MAX_WINDOWS)), known, bad);
  b.startBlock(known);
  Value entry = window(inst, end, id);
  Value base = b.field(b.i64(), entry, offsetof(coll_window, base));
  Value size = b.field(b.i64(), entry, offsetof(coll_window, bytes));
  Value fits = b.and_(b.uge(size, at), b.uge(b.sub(size, at), bytes));
  b.branchIf(b.and_(fits, b.ne(size, b.cst(0))), good, bad);
  b.startBlock(bad);
  if (p.window) {
    Value other =
        func::CallOp::create(b, p.window,
                             ValueRange{inst, block, end, progress, win, offset,
                                        bytes, b.cst(h.how, b.i32())})
            .getResult(0);
    func::ReturnOp::create(b, ValueRange{other});
  } else {
    func::CallOp::create(
        b, p.badWindow,
        ValueRange{inst, block, position(progress, COLL_STATE_IDLE, end), win});
    leaveNull();
  }
  b.startBlock(good);
  Value address = LLVM::IntToPtrOp::create(b, b.ptr(), b.add(base, at));
  func::ReturnOp::create(b, ValueRange{address});
}

func::FuncOp DirectBuilder::acquire(StringRef name, const Handshake &h,
                                    func::FuncOp fallback) {
  Type ptr = b.ptr(), i64 = b.i64();
  func::FuncOp fn = beginFunction(
      b, module, name, {ptr, b.i32(), ptr, ptr, i64, b.i32(), i64, i64}, {ptr});
  auto a = fn.getArguments();
  Value inst = a[0], block = a[1], args = a[2], end = a[3], progress = a[4],
        sig = a[5], offset = a[6], bytes = a[7];
  Block *ring = b.newBlock(), *look = b.newBlock(), *compare = b.newBlock(),
        *differs = b.newBlock(), *direct = b.newBlock();
  Value line = b.pointerField(end, h.line);
  Value open = withWindow(end);
  Value word =
      await(inst, block, b.at(line, h.word), b.sub(open, b.cst(1)),
            position(progress, h.state, end), look, [&] { leaveNull(); });

  b.startBlock(ring);
  SmallVector<Value> operands = {inst, block, args, end, progress};
  if (fallback.getNumArguments() == 6)
    operands.push_back(sig);
  func::ReturnOp::create(
      b, ValueRange{func::CallOp::create(b, fallback, operands).getResult(0)});

  b.startBlock(look);
  b.branchIf(b.eq(word, open), compare, ring);
  b.startBlock(compare);
  Value win = b.field(b.i64(), line, h.win);
  Value launch = b.field(b.i32(), args, offsetof(coll_args, sig));
  Value theirs = b.trunc(b.field(b.i64(), line, h.sig), b.i32());
  b.branchIf(b.eq(theirs, launch), direct, differs);
  b.startBlock(differs);
  func::CallOp::create(b, p.mismatch,
                       ValueRange{inst, block,
                                  position(progress, COLL_STATE_IDLE, end),
                                  launch, theirs});
  leaveNull();
  b.startBlock(direct);
  windowAddress(h, inst, block, end, progress, win, offset, bytes);
  return fn;
}

/// Branches to `direct` if the peer has posted a window for this launch, else
/// to `ring`. It has posted what it has: acquire would say no more.
void DirectBuilder::branchIfDirect(Value end, const Handshake &h, Block *direct,
                                   Block *ring) {
  Value word = b.field(b.i64(), b.pointerField(end, h.line), h.word,
                       Ordering::monotonic);
  b.branchIf(b.eq(word, withWindow(end)), direct, ring);
}

func::FuncOp DirectBuilder::getRelease() {
  func::FuncOp fn =
      beginFunction(b, module, "coll_get_release", {b.ptr(), b.ptr()}, {});
  Value args = fn.getArgument(0), end = fn.getArgument(1);
  Block *direct = b.newBlock(), *ring = b.newBlock();
  branchIfDirect(end, kGet, direct, ring);
  b.startBlock(ring);
  func::CallOp::create(b, p.recvRelease, ValueRange{args, end});
  func::ReturnOp::create(b);
  b.startBlock(direct);
  func::ReturnOp::create(b);
  return fn;
}

/// Behind putAcquire.
func::FuncOp DirectBuilder::putWay() {
  func::FuncOp fn =
      beginFunction(b, module, "coll_put_way", {b.ptr(), b.ptr()}, {b.i32()});
  Value end = fn.getArgument(1);
  Block *direct = b.newBlock(), *ring = b.newBlock();
  branchIfDirect(end, kPut, direct, ring);
  b.startBlock(ring);
  func::ReturnOp::create(b, ValueRange{b.cst(kPutBySlot, b.i32())});
  b.startBlock(direct);
  Value win = b.field(b.i64(), b.pointerField(end, kPut.line), kPut.win);
  Value entry = window(fn.getArgument(0), end, b.cst(0));
  Value size = b.field(b.i64(), entry, offsetof(coll_window, bytes));
  Value isRemote =
      b.and_(b.eq(b.lshr(win, b.cst(48)), b.cst(0)), b.eq(size, b.cst(0)));
  func::ReturnOp::create(
      b, ValueRange{b.select(isRemote, b.cst(kPutByKernel, b.i32()),
                             b.cst(kPutByWindow, b.i32()))});
  return fn;
}

func::FuncOp DirectBuilder::putPublish() {
  Type ptr = b.ptr(), i64 = b.i64();
  func::FuncOp fn = beginFunction(
      b, module, "coll_put_publish",
      {ptr, b.i32(), ptr, ptr, i64, b.i32(), i64, i64}, {b.i32()});
  auto a = fn.getArguments();
  Value inst = a[0], block = a[1], args = a[2], end = a[3], progress = a[4],
        offset = a[6], bytes = a[7];
  auto leaveWith = [&](Value rc) { func::ReturnOp::create(b, ValueRange{rc}); };
  Value good = b.cst(0, b.i32());
  Block *ring = b.newBlock(), *direct = b.newBlock();
  branchIfDirect(end, kPut, direct, ring);
  b.startBlock(ring);
  func::CallOp::create(b, p.sendPublish, ValueRange{args, end, a[5]});
  leaveWith(good);
  b.startBlock(direct);
  if (p.move) {
    Block *remote = b.newBlock(), *mapped = b.newBlock();
    Value way =
        func::CallOp::create(b, p.putWay, ValueRange{inst, end}).getResult(0);
    b.branchIf(b.eq(way, b.cst(kPutByKernel, b.i32())), remote, mapped);
    b.startBlock(remote);
    Value stopover = LLVM::ZeroOp::create(b, ptr);
    leaveWith(
        func::CallOp::create(b, p.move,
                             ValueRange{inst, block, end, progress, offset,
                                        bytes, stopover, b.cst(1)})
            .getResult(0));
    b.startBlock(mapped);
  }
  Value seq = seqOf(end);
  Value after =
      b.add(b.field(b.i64(), seq, offsetof(coll_seq, direct)), b.cst(1));
  b.setField(after, seq, offsetof(coll_seq, direct));
  b.setField(after, b.pointerField(end, offsetof(coll_end, line)),
             offsetof(coll_ring_line, dtail), Ordering::release);
  leaveWith(good);
  return fn;
}

func::FuncOp DirectBuilder::putWait() {
  func::FuncOp fn =
      beginFunction(b, module, "coll_put_wait",
                    {b.ptr(), b.i32(), b.ptr(), b.i64(), b.i64()}, {b.i32()});
  auto a = fn.getArguments();
  Value end = a[2], seq = seqOf(end);
  Value expected =
      b.add(b.field(b.i64(), seq, offsetof(coll_seq, direct)), a[4]);
  b.setField(expected, seq, offsetof(coll_seq, direct));
  Value word = b.at(b.pointerField(end, offsetof(coll_end, line)),
                    offsetof(coll_ring_line, dtail));
  waitFunction(a[0], a[1], word, expected,
               position(a[3], COLL_STATE_WAIT_DATA, end));
  return fn;
}

func::FuncOp DirectBuilder::getDone() {
  func::FuncOp fn = beginFunction(b, module, "coll_get_done", {b.ptr()}, {});
  Value end = fn.getArgument(0);
  b.setField(launches(end), b.pointerField(end, offsetof(coll_end, credit)),
             offsetof(coll_credit_line, ack), Ordering::release);
  func::ReturnOp::create(b);
  return fn;
}

func::FuncOp DirectBuilder::getWait() {
  func::FuncOp fn =
      beginFunction(b, module, "coll_get_wait",
                    {b.ptr(), b.i32(), b.ptr(), b.i64()}, {b.i32()});
  auto a = fn.getArguments();
  Value end = a[2];
  Value word = b.at(b.pointerField(end, offsetof(coll_end, credit)),
                    offsetof(coll_credit_line, ack));
  waitFunction(a[0], a[1], word, launches(end),
               position(a[3], COLL_STATE_WAIT_CREDIT, end));
  return fn;
}

func::FuncOp DirectBuilder::multicastOf() {
  func::FuncOp fn =
      beginFunction(b, module, "coll_multicast_of",
                    {b.ptr(), b.i64(), b.i64(), b.i64()}, {b.i64()});
  auto a = fn.getArguments();
  Value inst = a[0], win = a[1], id = b.lshr(win, b.cst(48));
  Block *known = b.newBlock(), *none = b.newBlock(), *found = b.newBlock();
  b.branchIf(b.and_(b.ne(id, b.cst(0)), b.ult(id, b.cst(COLL_MAX_WINDOWS))),
             known, none);
  b.startBlock(known);
  Value index =
      b.add(b.mul(id, b.field32(inst, offsetof(coll_inst, nranks))), a[2]);
  Value window = b.at(b.pointerField(inst, offsetof(coll_inst, wins)),
                      b.mul(index, b.cst(sizeof(coll_window))));
  Value base = b.field(b.i64(), window, offsetof(coll_window, multicast));
  b.branchIf(b.ne(base, b.cst(0)), found, none);
  b.startBlock(none);
  func::ReturnOp::create(b, ValueRange{b.cst(0)});
  b.startBlock(found);
  Value at = b.and_(win, b.cst((uint64_t(1) << 48) - 1));
  func::ReturnOp::create(b, ValueRange{b.add(base, b.add(at, a[3]))});
  return fn;
}

func::FuncOp DirectBuilder::multicast(StringRef name, const Handshake &h) {
  func::FuncOp fn =
      beginFunction(b, module, name, {b.ptr(), b.ptr(), b.i64()}, {b.i64()});
  auto a = fn.getArguments();
  Value end = a[1], line = b.pointerField(end, h.line);
  Block *window = b.newBlock(), *none = b.newBlock();
  Value word = b.field(b.i64(), line, h.word, Ordering::monotonic);
  b.branchIf(b.eq(word, withWindow(end)), window, none);
  b.startBlock(none);
  func::ReturnOp::create(b, ValueRange{b.cst(0)});
  b.startBlock(window);
  Value address =
      func::CallOp::create(b, p.multicastOf,
                           ValueRange{a[0], b.field(b.i64(), line, h.win),
                                      b.field16(end, offsetof(coll_end, peer)),
                                      a[2]})
          .getResult(0);
  func::ReturnOp::create(b, ValueRange{address});
  return fn;
}

void Primitives::buildDirect(ModuleOp module, bool hasMultimem) {
  DirectBuilder builder(module, *this);
  // Whoever owns the region opens: the receiver for puts, the sender for gets.
  openRecv = builder.open("coll_open_recv", kPut);
  openSend = builder.open("coll_open_send", kGet);
  getAcquire = builder.acquire("coll_get_acquire", kGet, recvAcquire);
  putAcquire = builder.acquire("coll_put_acquire", kPut, sendAcquire);
  getRelease = builder.getRelease();
  if (move)
    putWay = builder.putWay();
  putPublish = builder.putPublish();
  putWait = builder.putWait();
  getDone = builder.getDone();
  getWait = builder.getWait();
  if (!hasMultimem)
    return;
  multicastOf = builder.multicastOf();
  getMulticast = builder.multicast("coll_get_multicast", kGet);
  putMulticast = builder.multicast("coll_put_multicast", kPut);
}

} // namespace coll::lowering
