//===- PrimitiveBuilder.h - Emits the operations of channels ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Private to Primitives.cpp, the receiving end, and SendPrimitives.cpp.
//
//===----------------------------------------------------------------------===//
#ifndef COLL_LIB_LOWERING_PRIMITIVEBUILDER_H
#define COLL_LIB_LOWERING_PRIMITIVEBUILDER_H

#include "coll/abi.h"
#include "lib/Lowering/Machine.h"

namespace coll::lowering {

/// The two protocols differ in which words count and which word tells.
struct Counters {
  uint64_t next, seen, published, head, k;
};
inline constexpr Counters kBulk{
    offsetof(coll_seq, next), offsetof(coll_seq, seen),
    offsetof(coll_seq, published), offsetof(coll_credit_line, head),
    offsetof(coll_end, k)};
inline constexpr Counters kSmall{
    offsetof(coll_seq, small_next), offsetof(coll_seq, small_seen),
    offsetof(coll_seq, small_published), offsetof(coll_credit_line, small_head),
    offsetof(coll_end, k_small)};

/// Of a host.
void prefetch(Builder &b, Value address, bool toWrite);

class PrimitiveBuilder {
public:
  PrimitiveBuilder(mlir::ModuleOp module, Primitives &p, const Machine &machine,
                   Protocol protocol)
      : b(module.getContext()), module(module), p(p), machine(machine),
        protocol(protocol) {}
  void recvAcquire();
  void recvSmallSlot(mlir::ValueRange arguments);
  void recvSlot(mlir::ValueRange arguments);
  void recvPackets(mlir::ValueRange arguments);
  void recvLines(Value end);
  void recvRelease();
  void sendAcquire();
  void sendPublish();
  void publishCleaned(Value end, Value number);
  void fetchToWrite();
  void flushCredits();
  void blockWait();

private:
  /// Lines count as messages of the bulk ring.
  bool isBulk() const { return protocol == Protocol::Slots || hasLines(); }
  const Counters &counters() const { return isBulk() ? kBulk : kSmall; }
  mlir::func::FuncOp begin(llvm::StringRef name, mlir::TypeRange arguments,
                           mlir::TypeRange results) {
    return beginFunction(b, module, (name + suffixOf(protocol)).str(),
                         arguments, results);
  }
  Value sig16(Value sig) { return b.and_(b.zext(sig, b.i64()), b.cst(0xffff)); }
  Value smallSlot(Value end, Value next);
  bool hasPackets() const { return protocol == Protocol::Packets; }
  bool hasLines() const { return protocol == Protocol::Lines; }
  bool hasPlaces() const { return !machine.signalsWithinDevice(); }
  unsigned packetBits() const { return machine.packets().bits; }
  void fetchNextSlot(Value end, Value next);
  Value slotIndex(Value end, Value next, const Counters &c) {
    return b.and_(next, b.sub(b.field16(end, c.k), b.cst(1)));
  }
  Value sigAddress(Value end, Value index) {
    return b.at(b.at(b.pointerField(end, offsetof(coll_end, line)),
                     offsetof(coll_ring_line, sig)),
                b.mul(index, b.cst(4)));
  }
  /// Calls the runtime until the condition holds: falls through to `again`, or
  /// returns null.
  void slowPath(Value inst, Value block, Value word, Value want, uint32_t how,
                Value progress, unsigned state, Value end, mlir::Block *again);
  void returnNull() {
    mlir::func::ReturnOp::create(
        b, mlir::ValueRange{Value(mlir::LLVM::ZeroOp::create(b, b.ptr()))});
  }
  void checkSignature(Value inst, Value block, Value end, Value progress,
                      Value want, Value have, mlir::Block *good);
  void acquireCredit(Value inst, Value block, Value end, Value progress,
                     const Counters &c, mlir::Block *then);
  void returnCredit(Value end, const Counters &c, bool flush);

  Builder b;
  mlir::ModuleOp module;
  Primitives &p;
  const Machine &machine;
  const Protocol protocol;
};

} // namespace coll::lowering
#endif // COLL_LIB_LOWERING_PRIMITIVEBUILDER_H
