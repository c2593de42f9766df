//===- Machine.h - What hosts and devices do differently --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels of hosts and of devices are built by the same code: the same walk
// over the step table, the same state machines of channels. A host's block is
// one thread; a device's block is many, of which thread 0 keeps the channels'
// state and waits, while all share a slice's elements. What follows from that
// is behind this interface.
//
//===----------------------------------------------------------------------===//
#ifndef COLL_LIB_LOWERING_MACHINE_H
#define COLL_LIB_LOWERING_MACHINE_H

#include "coll/abi.h"
#include "lib/Lowering/Primitives.h"
#include "lib/Lowering/Ptx.h"
#include "lib/Lowering/TileLoop.h"

#include <memory>

namespace coll::lowering {

/// How the pointers of a slice's ports reach its inner loop.
class PortSet {
public:
  virtual ~PortSet() = default;
  /// First in a section of one thread.
  virtual void begin() {}
  /// `number` is the port's place in the shape, `index` the operand it is where
  /// that side is walked by a loop, else null. Inside a section of one thread.
  virtual void put(bool sink, unsigned number, Value index, Value pointer) = 0;
  /// The same of a port's tag, in launches whose messages have flags: 0 for
  /// memory, of channels Primitives::messageTag's. Behind the port's put().
  virtual void putTag(bool, unsigned, Value, Value) {}
  /// An i64 that is written in that section alone and read behind it.
  /// Multicast addresses: of the sources, of the sinks; 0: none. The thread
  /// that tells of a wait for packets, from 1. Why a thread has given up on
  /// one, and two words about it; 0: none has.
  enum Cell : unsigned { KeptSinks, Gathered, Spread, Teller, Failure };
  virtual Value cell(Cell which) = 0;
  /// Behind that section: fills in the operands.
  virtual void finish(TileOperands &tile) = 0;
};

/// How small messages travel where they are packets (PacketTileLoop.cpp).
struct PacketShape {
  unsigned bits = 0; // of a flag's sequence number; 0: there are none
  unsigned threads = 0;
};

class Machine {
public:
  virtual ~Machine() = default;

  /// Code that one thread runs for its block: what stands between begin and
  /// end. It leaves the kernel through `leave`; behind endOne() all threads of
  /// the block go on together, or leave together.
  struct Section {
    mlir::Block *leave = nullptr, *join = nullptr;
  };
  virtual Section beginOne(Builder &b, mlir::Block *leave) const = 0;
  virtual void endOne(Builder &b, Section section,
                      mlir::Block *leave) const = 0;
  /// The same behind all that the block's threads have done so far, and no
  /// thread waits for the end of it.
  virtual Section beginBehind(Builder &b) const = 0;
  virtual void endBehind(Builder &b, Section section) const = 0;
  /// beginBehind where threads may have failed: then all of them leave.
  virtual Section beginVoted(Builder &, Value, mlir::Block *) const {
    return {};
  }

  /// The numbers: of sides that are walked by a loop, else null.
  virtual std::unique_ptr<PortSet> ports(Builder &b, const StepShape &shape,
                                         const Variant &variant,
                                         Value numSources,
                                         Value numSinks) const = 0;
  virtual void tileLoops(Builder &b, const StepShape &shape,
                         const Variant &variant,
                         const std::vector<Function> &functions,
                         const TileOperands &operands) const = 0;
  virtual PacketShape packets() const { return {}; }
  /// The loops of a step with channels in a launch whose messages are packets;
  /// an i1 that says whether this thread has given up.
  virtual Value packetLoops(Builder &, const StepShape &, const Variant &,
                            const std::vector<Function> &,
                            const TileOperands &) const {
    return {};
  }
  /// The same where they are lines.
  virtual Value lineLoops(Builder &, const StepShape &, const Variant &,
                          const std::vector<Function> &,
                          const TileOperands &) const {
    return {};
  }

  /// coll_size[] of a launch.
  virtual Value sizes(Builder &b, Value args) const = 0;
  /// Enters the kernel; the number that its first round has. `open` emits what
  /// one thread does before any other thread goes on.
  virtual Value enter(Builder &b, Value args, Value inst, Value block,
                      mlir::Block *leave,
                      llvm::function_ref<void()> open) const = 0;
  /// Before the kernel returns, all being well. Thread 0's, in a section.
  virtual void exit(Builder &b, Value inst, Value block,
                    Value rounds) const = 0;
  /// Order of the words by which blocks of a rank wait for each other.
  virtual bool signalsWithinDevice() const { return false; }
  /// PortSet::put takes an index of every side, so that ports that are alike
  /// need no code of their own.
  virtual bool indexesPorts() const { return false; }
  /// Whether there are multimem instructions.
  virtual bool hasMultimem() const { return false; }
  /// Whether the next small slot is asked for ahead; on devices other blocks
  /// run meanwhile.
  bool fetchesAhead() const { return !signalsWithinDevice(); }
  /// Declares or defines the slow paths of waits.
  virtual void addWaits(mlir::ModuleOp module, Primitives &p) const = 0;
};

std::unique_ptr<Machine> makeHostMachine();

/// Threads of a block have 168 registers each when these are its threads; more
/// have too few for what is in flight, 128 of 512 and 64 of 1024: a loop that
/// spills loads less at a time than one of fewer threads.
constexpr unsigned kMostDeviceThreads = 384;

/// Threads of a block, and the most sources and sinks of a step.
struct DeviceShape {
  unsigned threads = kMostDeviceThreads;
  unsigned sources = 1, sinks = 1;
  uint64_t sizesOffset = 0; // in coll_args, where `sizes` is 0
  unsigned rowCells = 0;    // of 8 bytes, for reductions over rows
  unsigned chip = 0;        // 90 for sm_90
  unsigned packetBits = COLL_PACKET_BITS; // fewer in tests, so that they wrap
  bool hasLines = false;                  // kernels for messages of lines, too

  /// Of shared memory.
  unsigned cells() const;
};
/// Adds the block's shared memory to the module.
std::unique_ptr<Machine> makeDeviceMachine(mlir::ModuleOp module,
                                           const DeviceShape &shape);
/// Shared memory of a block: a few cells, then each port's pointer, then each
/// port's tag.
constexpr unsigned kSharedCells = 7, kTellerCell = 1 + PortSet::Teller,
                   kFailureCell = 1 + PortSet::Failure;
inline unsigned DeviceShape::cells() const {
  return kSharedCells + 2 * (sources + sinks);
}
/// Defines coll_kernel_wait and its kin (DeviceWait.cpp).
void addDeviceWaits(mlir::ModuleOp module, Primitives &p);
/// Of a device (DeviceTileLoop.cpp): the block's threads share the elements.
void emitDeviceTileLoops(Builder &b, const StepShape &shape,
                         const Variant &variant,
                         const std::vector<Function> &functions,
                         const TileOperands &operands, unsigned threads);
/// The same with packets (PacketTileLoop.cpp).
Value emitPacketLoops(Builder &b, const StepShape &shape,
                      const Variant &variant,
                      const std::vector<Function> &functions,
                      const TileOperands &operands, unsigned threads);
/// The same with lines (LineTileLoop.cpp).
Value emitLineLoops(Builder &b, const StepShape &shape, const Variant &variant,
                    const std::vector<Function> &functions,
                    const TileOperands &operands, unsigned threads);
/// Pointers to what devices share with each other and with hosts.
mlir::Type globalPointer(Builder &b);
/// The block's coll_block, and a relaxed store to it (DeviceWait.cpp).
Value reportOf(Builder &b, Value inst, Value block);
void show(Builder &b, Value report, uint64_t offset, Value value);
/// A cell of the block's shared memory.
Value sharedCell(Builder &b, unsigned number);

/// The same of steps with whole rows (DeviceRowLoop.cpp). `cells`: in shared
/// memory, as many as rowCells() says.
void emitDeviceRowLoops(Builder &b, const StepShape &shape,
                        const Variant &variant,
                        const std::vector<Function> &functions,
                        const TileOperands &operands, unsigned threads,
                        Value cells);
/// Of steps with elements in blocks of one scale (DeviceBlockLoop.cpp).
void emitDeviceBlockLoops(Builder &b, const StepShape &shape,
                          const Variant &variant,
                          const std::vector<Function> &functions,
                          const TileOperands &operands, unsigned threads);
/// Of 8 bytes, for a step of this shape.
unsigned rowCells(const StepShape &shape,
                  const std::vector<Function> &functions, unsigned threads);

/// A function that the module has yet to define or that the runtime has.
mlir::func::FuncOp declareFunction(Builder &b, mlir::ModuleOp module,
                                   llvm::StringRef name,
                                   mlir::TypeRange arguments,
                                   mlir::TypeRange results);

} // namespace coll::lowering
#endif // COLL_LIB_LOWERING_MACHINE_H
