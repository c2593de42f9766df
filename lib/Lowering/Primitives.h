//===- Primitives.h - The operations that know memory order -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A kernel touches shared words in six small functions and nowhere else; a test
// holds each to the memory-order table of docs/Runtime.md. On the host they are
// C++'s acquire loads and release stores of 8 bytes; the slow path of a wait is
// the runtime's coll_kernel_wait.
//
//===----------------------------------------------------------------------===//
#ifndef COLL_LIB_LOWERING_PRIMITIVES_H
#define COLL_LIB_LOWERING_PRIMITIVES_H

#include "lib/Lowering/Builder.h"

#include "mlir/IR/BuiltinOps.h"

namespace coll::lowering {

class Machine;

/// Which launches code is for: all, of hosts, whose steps look at
/// COLL_ARGS_SMALL; those with bulk slots, with small slots, with packets, with
/// lines. Devices have a kernel for slots, one for packets and one for lines.
enum class Protocol : uint8_t { Any, Slots, Small, Packets, Lines };
/// Of the names of functions for it.
inline const char *suffixOf(Protocol protocol) {
  return protocol == Protocol::Packets ? "_ll"
         : protocol == Protocol::Lines ? "_ll128"
         : protocol == Protocol::Small ? "_small"
                                       : "";
}

/// How a message that may be put travels in a launch.
enum PutWay : uint32_t {
  kPutBySlot,
  kPutByWindow,
  kPutByKernel // which alone reaches the memory that the peer has posted
};

/// The functions of one module that touch shared words.
struct Primitives {
  /// (inst, block: i32, args, end, progress: i64, sig: i32) -> payload of the
  /// next message, which must carry `sig`; null to leave the kernel
  mlir::func::FuncOp recvAcquire;
  /// (args, end): the payload was read; returns credits in batches
  mlir::func::FuncOp recvRelease;
  /// (inst, block: i32, args, end, progress: i64) -> payload to write, null to
  /// leave the kernel
  mlir::func::FuncOp sendAcquire;
  /// (args, end, sig: i32): the payload is written
  mlir::func::FuncOp sendPublish;
  /// (inst, end, bytes: i64): of a rank that only sends, asks for the line that
  /// its next small message goes to; null where nothing is asked for ahead
  mlir::func::FuncOp fetchToWrite;
  /// (end): returns every credit not yet returned, when a launch ends
  mlir::func::FuncOp flushCredits;
  /// (inst, block: i32, other: i32, steps: i64, progress: i64) -> i32, not 0 to
  /// leave: block `other` has finished `steps` steps of this launch
  mlir::func::FuncOp blockWait;

  /// What messages that may go direct need besides (DirectPrimitives.cpp).
  ///
  /// Opens a launch at an end, before its first wait. (args, end, buffer: i32):
  /// counts the launch and, unless `buffer` is 0, posts the window of launch
  /// buffer `buffer - 1`: the receiver's for puts, the sender's for gets.
  mlir::func::FuncOp openRecv, openSend;
  /// (inst, block: i32, args, end, progress: i64, sig: i32, offset: i64, bytes:
  /// i64) -> where to load, where to store this message; null to leave. Where
  /// the peer has posted no window, a slot; else `offset` in it.
  mlir::func::FuncOp getAcquire, putAcquire;
  /// (args, end): the same for recvRelease
  mlir::func::FuncOp getRelease;
  /// (inst, block: i32, args, end, progress: i64, sig: i32, offset: i64, bytes:
  /// i64) -> i32, not 0 to leave: the same for sendPublish
  mlir::func::FuncOp putPublish;
  /// (inst, end) -> i32, a PutWay: behind putAcquire, where that has found room
  mlir::func::FuncOp putWay;
  /// (inst, block: i32, end, progress: i64, messages: i64) -> i32, not 0 to
  /// leave: so many more messages have been put here
  mlir::func::FuncOp putWait;
  /// (end): all gets of this launch are done
  mlir::func::FuncOp getDone;
  /// (inst, block: i32, end, progress: i64) -> i32, not 0 to leave: the peer's
  /// gets of this launch are done
  mlir::func::FuncOp getWait;
  /// (inst, end, offset: i64) -> i64: behind getAcquire or putAcquire, the
  /// multicast address of `offset` in the peer's region, 0 if it has none
  mlir::func::FuncOp getMulticast, putMulticast;
  /// (inst, win: i64, rank: i64, offset: i64) -> i64: the same of a window
  mlir::func::FuncOp multicastOf;

  /// What messages with flags in their payload need, on devices: packets
  /// (PacketPrimitives.cpp) or lines (LinePrimitives.cpp).
  ///
  /// (end, sig: i32) -> i64: of the end's next message. Of packets their flag,
  /// kTag bits, and the peer in the highest 16; of lines their number << 16 |
  /// the peer, never 0.
  mlir::func::FuncOp messageTag;
  /// (inst, block: i32, word, tag: i64, progress: i64) -> i64: any thread's
  /// slow path; the word once its flag is there. Another flag: give up. Of
  /// lines the tag is the flag, and the peer is in `progress`.
  mlir::func::FuncOp flagWait;
  /// (why: i64, want: i64, have: i64): any thread's, to leave with a reason.
  mlir::func::FuncOp giveUp;
  /// (inst, block: i32, progress: i64): all threads', before they leave: thread
  /// 0 tells the host of a reason.
  mlir::func::FuncOp tellWhy;
  /// (end, words: i64, sig: i32): all threads'; of the next message, whose
  /// words these are, fills the rest of the slot if it is time to.
  mlir::func::FuncOp packetClean;
  /// A message without payload is one flag that has order besides.
  /// (inst, block: i32, slot, tag: i64, progress: i64, sig: i32) -> i32, not 0
  /// to leave
  mlir::func::FuncOp tokenWait;
  /// (end, sig: i32)
  mlir::func::FuncOp tokenSend;
  /// (address, bytes: i64) -> i64, i64: so many of 16 bytes, 0 for the others,
  /// by loads of 1, 2, 4 or 8. (address, bytes: i64, i64, i64) stores them.
  mlir::func::FuncOp loadPart[4], storePart[4];

  /// The runtime's functions on a host, declared; a device's own.
  mlir::func::FuncOp wait, mismatch;
  /// A device's own: (inst, block: i32): which launch it is that waits or
  /// leaves.
  mlir::func::FuncOp showLaunch;
  /// A device's own: (inst, block: i32, progress: i64, win: i64) -> i32.
  mlir::func::FuncOp badWindow;
  /// Of a host alone, where the kernel moves what is mapped nowhere.
  mlir::func::FuncOp window, remote, move;
  /// (read: i64, written: i64); only where bytes are counted, provided by who
  /// counts.
  mlir::func::FuncOp countBytes;

  /// For bulk slots, and whatever else there is.
  Primitives(mlir::ModuleOp module, const Machine &machine);
  /// Of hosts, for small slots.
  Primitives forSmall(mlir::ModuleOp module, const Machine &machine) const;
  /// Of devices, for packets: the waits are the same ones.
  Primitives forPackets(mlir::ModuleOp module, const Machine &machine) const;
  /// The same for lines, beside those for packets.
  Primitives forLines(mlir::ModuleOp module, const Machine &machine,
                      const Primitives &packets) const;

  /// The body of tokenWait, from where it knows the word, `flagOf` which is to
  /// be `want`, and flagWait's last two arguments; acquires.
  void waitForToken(Builder &b, Value word,
                    llvm::function_ref<Value(Value)> flagOf, Value want,
                    Value tag, Value position);

private:
  void buildDirect(mlir::ModuleOp module, bool hasMultimem);
  void buildPackets(mlir::ModuleOp module, const Machine &machine);
  void buildLines(mlir::ModuleOp module);
  void buildGiveUp(mlir::ModuleOp module);
  void buildFlagWait(mlir::ModuleOp module, Protocol protocol);
};

enum Tag : uint64_t {
  kTagPacket = uint64_t(1) << 32, // of a channel
  kTagClean = uint64_t(1) << 33   // the sender fills the whole slot
};
/// The slot of small message `next`, of packets.
Value packetSlot(Builder &b, Value end, Value next);
/// Whether the slot is filled with message `seq`, counted from 1.
Value isCleaning(Builder &b, Value seq, unsigned bits);
/// The slot of message `next`, of lines.
Value lineSlot(Builder &b, Value end, Value next);

/// A private function of the module; the builder stands in its entry block,
/// `b.region` is its body.
mlir::func::FuncOp beginFunction(Builder &b, mlir::ModuleOp module,
                                 llvm::StringRef name,
                                 mlir::TypeRange arguments,
                                 mlir::TypeRange results);

/// Payload of bulk message `next` (Places.cpp): of a host, whose sender uses
/// the whole ring or not; of a device.
Value hostSlot(Builder &b, Value args, Value end, Value next, Value isWide);
Value deviceSlot(Builder &b, Value end, Value next);
/// i1: whether this rank does, in this launch.
Value sendsWide(Builder &b, Value args);
/// i32: a signature as it is compared, and as this rank sends it.
Value withoutPlace(Builder &b, Value sig);
Value withPlace(Builder &b, Value args, Value sig);

} // namespace coll::lowering
#endif // COLL_LIB_LOWERING_PRIMITIVES_H
