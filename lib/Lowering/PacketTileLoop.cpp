//===- PacketTileLoop.cpp - Threads share a slice's packets ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A slice is cut into groups, the fewest elements that are whole packets in
// every channel: one of f32 or f64 (two packets), two of 16 bits, four bytes.
// Thread t of T handles the groups t, T + t, ...: neighbours access
// neighbouring packets. Loads of all sources of some groups are issued before
// the first is looked at; a packet whose flag is not the message's is waited
// for out of line. What is left over, fewer elements than a group, is one
// thread's: it handles them by elements and leaves the group's other packets
// alone.
//
// A thread that has waited in vain stores nothing more.
//
//===----------------------------------------------------------------------===//

#include "lib/Lowering/Machine.h"
#include "lib/Lowering/TileEmitter.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace coll::lowering {
using namespace mlir;
using llvm::SmallVector;

constexpr unsigned payloadBytes = 4, packetBytes = 8;

namespace {
class PacketTileEmitter : public TileEmitter {
public:
  PacketTileEmitter(Builder &b, const StepShape &shape, const Variant &variant,
                    const std::vector<Function> &functions,
                    const TileOperands &operands, unsigned threads)
      : TileEmitter(b, shape, variant, functions, operands), threads(threads) {}
  void run() override;
  Value failed; // i1: of this thread

private:
  /// How memory is accessed: a group at a time, or by elements, which may be
  /// fewer than a group.
  enum class Access : uint8_t { Groups, Elements, Partial };
  struct Source {
    const PortShape *port;
    Value pointer, tag, index;
    SmallVector<Value> packets; // as they are, or ...
    Value stored;               // ... what was loaded from memory
  };

  void chooseGroup();
  void loadTags();
  unsigned packetsOf(Format format) const {
    return group * bytesOf(format) / payloadBytes;
  }
  Type storage(Format format) {
    if (variant.move)
      return b.i32();
    return math.storageType(format, lanes());
  }
  unsigned lanes() const { return group == 1 ? 0 : group; }
  Value loadGroup(Value pointer, Format format, Value index);
  Value loadLanes(Value address, Format format);
  void storeGroup(Value value, Value pointer, Format format, Value index);
  void storeLanes(Value value, Value address, Format format);
  SmallVector<Value> words(Value stored, Format format);
  Value fromWords(ArrayRef<Value> words, Format format);
  Value packetAddress(Value slot, Value index, Format format, unsigned i) {
    return b.at(b.at(slot, b.mul(index, b.cst(2 * bytesOf(format)))),
                uint64_t(packetBytes) * i);
  }
  Value isThere(Format format, unsigned i);
  Value flagged(Value word, Value tag) {
    return b.or_(b.zext(word, b.i64()), b.shl(tag, b.cst(32)));
  }
  Value hasFlag(Value packet, Value tag) {
    return b.eq(b.lshr(packet, b.cst(32)), b.and_(tag, b.cst(UINT32_MAX)));
  }
  Value isPacket(Value tag) { return b.ne(tag, b.cst(0)); }
  SmallVector<Value> loadPackets(const Source &source);
  Value settle(Value packet, const Source &source, unsigned i);
  Source load(Value pointer, Value tag, const PortShape &port, Value index);
  Value value(Source &source);
  SmallVector<Value> fold(Value index);
  Source source(Value number, Value index);
  Value foldRest(Value index);
  SmallVector<Value> resultsOf(Value index, unsigned tiles);
  void storePackets(Value stored, Value slot, Value tag, Format format,
                    Value index);
  void store(Value stored, Value pointer, Value tag, const PortShape &port,
             Value index);
  void groups(Value first, unsigned tiles);
  Value packetLoop(Value from, Value to, unsigned tiles);
  void loops(Value whole);
  void remainder(Value whole);
  unsigned tilesInFlight() const;
  Value tagAt(Value side, Value index) {
    return b.load(b.i64(), b.at(side, b.mul(index, b.cst(8))), 8);
  }
  Value loadPointer(Value address) override {
    return b.load(globalPointer(b), address, 8);
  }

  unsigned threads, group = 1;
  SmallVector<Value> sourceTags, sinkTags; // of what is written out
  Access access = Access::Groups;
  Value rest; // i64: elements of a partial group
};
} // namespace

/// Elements of a group.
void PacketTileEmitter::chooseGroup() {
  for (const auto *side : {&shape.sources, &shape.sinks})
    for (const PortShape &port : *side)
      if (port.place == PortShape::Channel || port.place == PortShape::Either)
        group = std::max(group,
                         payloadBytes / std::min(payloadBytes,
                                                 bytesOf(formatOf(port.type))));
}

void PacketTileEmitter::loadTags() {
  for (size_t i = 0; !shape.loopSources && i < shape.sources.size(); ++i)
    sourceTags.push_back(b.load(b.i64(), b.at(operands.sourceTags, i * 8), 8));
  for (size_t i = 0; !shape.loopSinks && i < shape.sinks.size(); ++i)
    sinkTags.push_back(b.load(b.i64(), b.at(operands.sinkTags, i * 8), 8));
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

Value PacketTileEmitter::loadGroup(Value pointer, Format format, Value index) {
  Value address = elementAddress(pointer, index, format);
  unsigned bytes = bytesOf(format);
  if (access == Access::Partial)
    return loadLanes(address, format);
  if (access == Access::Groups)
    bytes = std::min(16u, bytes * group);
  return b.load(storage(format), address, bytes);
}

/// The first `rest` elements; the group's others are 0.
Value PacketTileEmitter::loadLanes(Value address, Format format) {
  Type whole = storage(format), element = getElementTypeOrSelf(whole);
  Value result = LLVM::ZeroOp::create(b, whole);
  for (unsigned i = 0; i + 1 < group; ++i) { // never all of them
    auto ifOp =
        scf::IfOp::create(b, TypeRange{whole}, b.ult(b.cst(i), rest), true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(ifOp.thenBlock());
    Value at = b.at(address, uint64_t(i) * bytesOf(format));
    Value more;
    if (variant.move) {
      Value byte = b.zext(b.load(b.getI8Type(), at, 1), b.i32());
      more = b.or_(result, b.shl(byte, b.cst(8 * i, b.i32())));
    } else {
      more = LLVM::InsertElementOp::create(
          b, result, b.load(element, at, bytesOf(format)), b.cst(i));
    }
    scf::YieldOp::create(b, ValueRange{more});
    b.setInsertionPointToStart(ifOp.elseBlock());
    scf::YieldOp::create(b, ValueRange{result});
    result = ifOp.getResult(0);
  }
  return result;
}

void PacketTileEmitter::storeGroup(Value value, Value pointer, Format format,
                                   Value index) {
  Value address = elementAddress(pointer, index, format);
  unsigned bytes = bytesOf(format);
  if (access == Access::Partial)
    return storeLanes(value, address, format);
  if (access == Access::Groups)
    bytes = std::min(16u, bytes * group);
  b.store(value, address, bytes);
}

void PacketTileEmitter::storeLanes(Value value, Value address, Format format) {
  for (unsigned i = 0; i + 1 < group; ++i) {
    auto ifOp = scf::IfOp::create(b, TypeRange{}, b.ult(b.cst(i), rest), false);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(ifOp.thenBlock());
    Value element =
        variant.move
            ? b.trunc(b.lshr(value, b.cst(8 * i, b.i32())), b.getI8Type())
            : Value(LLVM::ExtractElementOp::create(b, value, b.cst(i)));
    b.store(element, b.at(address, uint64_t(i) * bytesOf(format)),
            bytesOf(format));
  }
}

//===----------------------------------------------------------------------===//
// Packets
//===----------------------------------------------------------------------===//

/// What packets carry of a group, in words of 4 bytes.
SmallVector<Value> PacketTileEmitter::words(Value stored, Format format) {
  if (variant.move)
    return {stored};
  unsigned count = packetsOf(format);
  if (count == 1)
    return {LLVM::BitcastOp::create(b, b.i32(), stored)};
  Value all = LLVM::BitcastOp::create(
      b, VectorType::get({int64_t(count)}, b.i32()), stored);
  SmallVector<Value> result;
  for (unsigned i = 0; i < count; ++i)
    result.push_back(LLVM::ExtractElementOp::create(b, all, b.cst(i)));
  return result;
}

Value PacketTileEmitter::fromWords(ArrayRef<Value> words, Format format) {
  if (variant.move)
    return words[0];
  if (words.size() == 1)
    return LLVM::BitcastOp::create(b, storage(format), words[0]);
  Type type = VectorType::get({int64_t(words.size())}, b.i32());
  Value all = LLVM::PoisonOp::create(b, type);
  for (auto [i, word] : llvm::enumerate(words))
    all = LLVM::InsertElementOp::create(b, all, word, b.cst(i));
  return LLVM::BitcastOp::create(b, storage(format), all);
}

/// Whether a partial group has this packet; none: it has.
Value PacketTileEmitter::isThere(Format format, unsigned i) {
  if (access != Access::Partial || i == 0)
    return {};
  return b.ult(b.cst(i * payloadBytes), b.mul(rest, b.cst(bytesOf(format))));
}

SmallVector<Value> PacketTileEmitter::loadPackets(const Source &source) {
  Format format = formatOf(source.port->type);
  SmallVector<Value> result;
  for (unsigned i = 0; i < packetsOf(format); ++i) {
    auto packet = [&] {
      return b.field(b.i64(),
                     packetAddress(source.pointer, source.index, format, i), 0,
                     Builder::Ordering::monotonic);
    };
    Value there = isThere(format, i);
    if (!there) {
      result.push_back(packet());
      continue;
    }
    auto ifOp = scf::IfOp::create(b, TypeRange{b.i64()}, there, true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(ifOp.thenBlock());
    scf::YieldOp::create(b, ValueRange{packet()});
    b.setInsertionPointToStart(ifOp.elseBlock());
    scf::YieldOp::create(b, ValueRange{flagged(b.cst(0, b.i32()), source.tag)});
    result.push_back(ifOp.getResult(0));
  }
  return result;
}

/// The first loads of a source. What lies in memory is put into packets only
/// where it is not known which of both it is.
PacketTileEmitter::Source PacketTileEmitter::load(Value pointer, Value tag,
                                                  const PortShape &port,
                                                  Value index) {
  Source source{&port, pointer, tag, index, {}, {}};
  Format format = formatOf(port.type);
  if (port.place == PortShape::Scalar) {
    source.stored =
        math.scalarArgument(b.load(b.getF64Type(), pointer, 8), accum, lanes());
  } else if (port.place == PortShape::Memory) {
    source.stored = loadGroup(pointer, format, index);
  } else if (port.place == PortShape::Channel) {
    source.packets = loadPackets(source);
  } else {
    SmallVector<Type> types(packetsOf(format), b.i64());
    auto ifOp = scf::IfOp::create(b, types, isPacket(tag), true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(ifOp.thenBlock());
    scf::YieldOp::create(b, loadPackets(source));
    b.setInsertionPointToStart(ifOp.elseBlock());
    SmallVector<Value> memory;
    for (Value word : words(loadGroup(pointer, format, index), format))
      memory.push_back(flagged(word, tag));
    scf::YieldOp::create(b, memory);
    source.packets.assign(ifOp.getResults().begin(), ifOp.getResults().end());
  }
  return source;
}

/// The payload of a packet, once it has its flag.
Value PacketTileEmitter::settle(Value packet, const Source &source,
                                unsigned i) {
  auto ifOp = scf::IfOp::create(b, TypeRange{b.i64()},
                                hasFlag(packet, source.tag), true);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(ifOp.thenBlock());
    scf::YieldOp::create(b, ValueRange{packet});
    b.setInsertionPointToStart(ifOp.elseBlock());
    Value address = packetAddress(source.pointer, source.index,
                                  formatOf(source.port->type), i);
    Value later =
        func::CallOp::create(b, operands.primitives->flagWait,
                             ValueRange{operands.inst, operands.block, address,
                                        source.tag, operands.progress})
            .getResult(0);
    scf::YieldOp::create(b, ValueRange{later});
  }
  Value arrived = ifOp.getResult(0);
  Value isGood = hasFlag(arrived, source.tag);
  failed = b.or_(failed, b.xor_(isGood, b.cst(1, b.i1())));
  return b.trunc(arrived, b.i32());
}

/// In the type that is computed in.
Value PacketTileEmitter::value(Source &source) {
  if (source.port->place == PortShape::Scalar)
    return source.stored;
  SmallVector<Value> payload;
  for (auto [i, packet] : llvm::enumerate(source.packets))
    payload.push_back(settle(packet, source, i));
  if (!payload.empty())
    source.stored = fromWords(payload, formatOf(source.port->type));
  return widen(source.stored, *source.port);
}

void PacketTileEmitter::storePackets(Value stored, Value slot, Value tag,
                                     Format format, Value index) {
  for (auto [i, word] : llvm::enumerate(words(stored, format))) {
    auto packet = [&, i = i, word = word] {
      b.setField(flagged(word, tag), packetAddress(slot, index, format, i), 0,
                 Builder::Ordering::monotonic);
    };
    Value there = isThere(format, i);
    if (!there) {
      packet();
      continue;
    }
    auto ifOp = scf::IfOp::create(b, TypeRange{}, there, false);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(ifOp.thenBlock());
    packet();
  }
}

void PacketTileEmitter::store(Value stored, Value pointer, Value tag,
                              const PortShape &port, Value index) {
  Format format = formatOf(port.type);
  if (port.place == PortShape::Memory)
    return storeGroup(stored, pointer, format, index);
  if (port.place == PortShape::Channel)
    return storePackets(stored, pointer, tag, format, index);
  auto ifOp = scf::IfOp::create(b, TypeRange{}, isPacket(tag), true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(ifOp.thenBlock());
  storePackets(stored, pointer, tag, format, index);
  b.setInsertionPointToStart(ifOp.elseBlock());
  storeGroup(stored, pointer, format, index);
}

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

/// Over as many sources as the shape says, first to last; all of a group's
/// loads come first. Pointers and tags are read again for each group: in
/// registers, there are too many of them beside the loads.
SmallVector<Value> PacketTileEmitter::fold(Value index) {
  SmallVector<Source> loaded;
  for (unsigned i = 0; i < shape.numSources; ++i)
    loaded.push_back(source(b.cst(i), index));
  Value sum = value(loaded[0]);
  for (unsigned i = 1; i < shape.numSources; ++i)
    sum = math.combine(sum, value(loaded[i]), accum, variant.op);
  return {sum};
}

/// Of a side that is walked: the first loads.
PacketTileEmitter::Source PacketTileEmitter::source(Value number, Value index) {
  Value offset = b.mul(number, b.cst(8));
  return load(loadPointer(b.at(operands.sourceArray, offset)),
              tagAt(operands.sourceTags, number), shape.sources[0], index);
}

/// The same over a number of sources that is not known.
Value PacketTileEmitter::foldRest(Value index) {
  auto valueOf = [&](Value number) {
    Source made = source(number, index);
    return value(made);
  };
  Value first = valueOf(b.cst(0));
  auto forOp = scf::ForOp::create(b, b.cst(1), operands.numSources, b.cst(1),
                                  ValueRange{first, failed});
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(forOp.getBody());
    failed = forOp.getRegionIterArgs()[1];
    Value next = valueOf(forOp.getInductionVar());
    Value sum =
        math.combine(forOp.getRegionIterArgs()[0], next, accum, variant.op);
    scf::YieldOp::create(b, ValueRange{sum, failed});
  }
  failed = forOp.getResult(1);
  return forOp.getResult(0);
}

SmallVector<Value> PacketTileEmitter::resultsOf(Value index, unsigned tiles) {
  if (shape.loopSources && shape.numSources)
    return fold(index);
  if (shape.loopSources)
    return {foldRest(index)};
  SmallVector<SmallVector<Source>> loaded(tiles);
  for (unsigned t = 0; t < tiles; ++t)
    for (auto [i, port] : llvm::enumerate(shape.sources)) {
      loaded[t].push_back(
          load(operands.sources[i], sourceTags[i], port,
               b.add(index, b.cst(uint64_t(t) * group * threads))));
    }
  SmallVector<Value> results;
  for (SmallVector<Source> &sources : loaded) {
    SmallVector<Value> values;
    for (Source &source : sources)
      values.push_back(value(source));
    results.push_back(variant.move ? values[0] : evaluate(values));
  }
  return results;
}

/// The groups at element `first` and, T apart, behind it.
void PacketTileEmitter::groups(Value first, unsigned tiles) {
  SmallVector<Value> results = resultsOf(first, tiles);
  for (Value &v : results)
    v = finish(v);
  auto ifOp =
      scf::IfOp::create(b, TypeRange{}, b.eq(failed, b.cst(0, b.i1())), false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(ifOp.thenBlock());
  auto storeAll = [&](Value pointer, Value tag, const PortShape &port) {
    for (auto [t, result] : llvm::enumerate(results))
      store(narrow(result, port), pointer, tag, port,
            b.add(first, b.cst(uint64_t(t) * group * threads)));
  };
  if (!shape.loopSinks) {
    for (auto [i, port] : llvm::enumerate(shape.sinks))
      storeAll(operands.sinks[i], sinkTags[i], port);
    return;
  }
  auto forOp = scf::ForOp::create(b, b.cst(0), operands.numSinks, b.cst(1));
  b.setInsertionPointToStart(forOp.getBody());
  Value i = forOp.getInductionVar();
  storeAll(loadPointer(b.at(operands.sinkArray, b.mul(i, b.cst(8)))),
           tagAt(operands.sinkTags, i), shape.sinks[0]);
}

/// Thread by thread, groups from..to while none has failed; where the thread
/// has come to.
Value PacketTileEmitter::packetLoop(Value from, Value to, unsigned tiles) {
  Block *head = b.newBlock({b.i64(), b.i1()}), *body = b.newBlock(),
        *after = b.newBlock();
  b.branch(head, ValueRange{from, failed});
  b.startBlock(head);
  Value at = head->getArgument(0), before = head->getArgument(1);
  Value last = b.add(at, b.cst(uint64_t(tiles - 1) * threads));
  b.branchIf(b.and_(b.ult(last, to), b.eq(before, b.cst(0, b.i1()))), body,
             after);
  b.startBlock(body);
  failed = before;
  groups(b.mul(at, b.cst(group)), tiles);
  b.branch(head,
           ValueRange{b.add(at, b.cst(uint64_t(tiles) * threads)), failed});
  b.startBlock(after);
  failed = before;
  return at;
}

/// Packets that a thread asks for before it looks at one: few messages have
/// more for each.
unsigned PacketTileEmitter::tilesInFlight() const {
  if (shape.loopSources)
    return 1;
  return shape.sources.size() == 1 ? 4 : 2;
}

void PacketTileEmitter::loops(Value whole) {
  Value at = Ptx::threadId(b);
  if (tilesInFlight() > 1)
    at = packetLoop(at, whole, tilesInFlight());
  packetLoop(at, whole, 1);
}

/// Fewer elements than a group, by the last thread, which has fewest groups.
void PacketTileEmitter::remainder(Value whole) {
  Block *some = b.newBlock(), *after = b.newBlock({b.i1()});
  rest = b.urem(operands.elements, b.cst(group));
  Value isMine = b.eq(Ptx::threadId(b), b.cst(threads - 1));
  Value isDue = b.and_(b.and_(isMine, b.ne(rest, b.cst(0))),
                       b.eq(failed, b.cst(0, b.i1())));
  b.branchIf(isDue, some, {}, after, ValueRange{failed});
  b.startBlock(some);
  access = Access::Partial;
  groups(b.mul(whole, b.cst(group)), 1);
  b.branch(after, ValueRange{failed});
  b.startBlock(after);
  failed = after->getArgument(0);
}

void PacketTileEmitter::run() {
  chooseGroup();
  loadTags();
  failed = b.cst(0, b.i1());
  Value whole = b.udiv(operands.elements, b.cst(group));
  if (group == 1)
    return loops(whole);
  Block *aligned = b.newBlock(), *elements = b.newBlock(),
        *join = b.newBlock({b.i1()});
  constexpr uint64_t vectorBits = 15;
  Value bits = b.and_(operands.pointerBits, b.cst(vectorBits));
  if (variant.move)
    bits = b.and_(bits, b.cst(payloadBytes - 1));
  Value none = failed;
  b.branchIf(b.eq(bits, b.cst(0)), aligned, elements);
  for (Block *block : {aligned, elements}) {
    b.startBlock(block);
    failed = none;
    access = block == aligned ? Access::Groups : Access::Elements;
    loops(whole);
    b.branch(join, ValueRange{failed});
  }
  b.startBlock(join);
  failed = join->getArgument(0);
  remainder(whole);
}

Value emitPacketLoops(Builder &b, const StepShape &shape,
                      const Variant &variant,
                      const std::vector<Function> &functions,
                      const TileOperands &operands, unsigned threads) {
  PacketTileEmitter emitter(b, shape, variant, functions, operands, threads);
  emitter.run();
  return emitter.failed;
}

} // namespace coll::lowering
