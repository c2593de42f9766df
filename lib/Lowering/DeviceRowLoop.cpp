//===- DeviceRowLoop.cpp - A block's warps share rows ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The warps of a block are teams of 1, 2, 4 or 8, each of which takes a row at
// a time: many short rows keep all warps busy, and a single long row 8 of them.
//
// lib/Support/RowOrder.h says in which order a row is summed. Its 2048 partial
// results are 8 groups of 256: lane L of the group's warp has the 8 consecutive
// ones from 8 L on, which it loads as vectors, 2048 elements apart. It adds
// them in pairs, the warp goes on with shuffles, and the team meets in shared
// memory:
//
//   vectors:   8 partial results a lane -> pairs in the lane -> lanes 1, 2, 4,
//              8, 16 apart
//   elements:  where memory or the length of rows does not allow vectors: for c
//              in 0 .. 8 partial result 32 c + L -> lanes 1 to 16 apart; lane c
//              keeps it -> lanes 1, 2, 4 apart
//   team:      8 groups -> pairs, in every thread
//
// Cells of two passes alternate, so one barrier a pass is enough: between the
// uses of a cell lies the barrier of the pass between them.
//
//===----------------------------------------------------------------------===//

#include "lib/Lowering/Machine.h"
#include "lib/Lowering/RowValues.h"
#include "lib/Support/RowOrder.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace coll::lowering {
using namespace mlir;
using llvm::SmallVector;

constexpr unsigned vectorBytes = 16, warpLanes = 32, perLane = 8,
                   groupElements = perLane * warpLanes,
                   groups = rowPartials / groupElements;

namespace {
/// Who a thread is among those that share rows; i64.
struct Team {
  Value number, warps;       // of this thread; in each
  Value count;               // of whole teams in the block
  Value warp, lane;          // of this thread in its team, in its warp
  Value cells;               // of the block, in shared memory
  unsigned cellsOfReduction; // elements
};

class DeviceRowEmitter : public TileEmitter {
public:
  DeviceRowEmitter(Builder &b, const StepShape &shape, const Variant &variant,
                   const std::vector<Function> &functions,
                   const TileOperands &operands, const RowReductions &plan,
                   const Team &team, Value isVector)
      : TileEmitter(b, shape, variant, functions, operands),
        values(b, plan, operands.elements), team(team), isVector(isVector) {
    rows = &values;
  }
  /// Leaves the results of this pass' reductions in cells.
  void reduce(unsigned pass, Value parity);
  /// Behind a barrier: takes them from there.
  void take(unsigned pass, Value parity, Value isMine);
  /// With all reductions known: the step's results.
  void run() override;

private:
  unsigned tileDistance(unsigned) override { return distance; }
  Value loadVector(Format format, Value address, unsigned lanes) override;
  Value loadPointer(Value address) override {
    return b.load(LLVM::LLVMPointerType::get(b.getContext(), 1), address, 8);
  }
  void storeVector(Value vector, Value address, const PortShape &,
                   unsigned bytes) override {
    b.store(vector, address, std::min(bytes, vectorBytes));
  }
  SmallVector<Value> ofGroup(Value group);
  unsigned tilesInFlight() const;
  SmallVector<Value> byVectors(Value first);
  SmallVector<Value> byElements(Value first);
  SmallVector<Value> walk(Value index, Value count, unsigned lanes,
                          unsigned tiles, ValueRange partials);
  Value stepsFrom(Value first);
  Value exchanged(Value value, unsigned distance);
  Value acrossLanes(unsigned reduction, Value value, unsigned lanes);
  Value pairs(unsigned reduction, Value vector);
  Value cellsOf(unsigned place, Value parity);
  void walkRow(unsigned lanes, unsigned tiles);

  RowValues values;
  const Team &team;
  Value isVector;
  SmallVector<unsigned> reductions; // of the pass
  unsigned distance = rowPartials;  // elements from tile to tile
};
} // namespace

/// What a pointer is aligned to where it is used for vectors: what 16 bytes of
/// T take as `format`.
Value DeviceRowEmitter::loadVector(Format format, Value address,
                                   unsigned lanes) {
  unsigned bytes = bytesOf(format);
  if (lanes)
    bytes = std::min(vectorBytes, vectorBytes / bytesOf(variant.dtype) * bytes);
  return b.load(math.storageType(format, lanes), address, bytes);
}

/// The value of the lane whose number differs in one bit.
Value DeviceRowEmitter::exchanged(Value value, unsigned distance) {
  auto word = [&](Value bits) { return Ptx::shuffleXor(b, bits, distance); };
  if (accum != Format::F64)
    return b.bitcast(word(b.bitcast(value, b.i32())), value.getType());
  Value bits = b.bitcast(value, b.i64());
  Value low = word(b.trunc(bits, b.i32())),
        high = word(b.trunc(b.lshr(bits, b.cst(32)), b.i32()));
  return b.bitcast(
      b.or_(b.zext(low, b.i64()), b.shl(b.zext(high, b.i64()), b.cst(32))),
      value.getType());
}

/// Pairs of the first so many lanes' values; in each of these lanes.
Value DeviceRowEmitter::acrossLanes(unsigned reduction, Value value,
                                    unsigned lanes) {
  for (unsigned distance = 1; distance < lanes; distance *= 2)
    value = values.combine(reduction, value, exchanged(value, distance));
  return value;
}

/// Of a vector of 8, in the thread.
Value DeviceRowEmitter::pairs(unsigned reduction, Value vector) {
  SmallVector<Value> elements;
  for (unsigned i = 0; i < perLane; ++i)
    elements.push_back(
        vector::ExtractOp::create(b, vector, ArrayRef<int64_t>{int64_t(i)}));
  for (; elements.size() > 1; elements.truncate(elements.size() / 2))
    for (unsigned i = 0; i < elements.size() / 2; ++i)
      elements[i] =
          values.combine(reduction, elements[2 * i], elements[2 * i + 1]);
  return elements[0];
}

/// How many of first, first + 2048, ... lie in the row.
Value DeviceRowEmitter::stepsFrom(Value first) {
  Value length = operands.elements;
  Value count = b.udiv(b.add(b.sub(length, first), b.cst(rowPartials - 1)),
                       b.cst(rowPartials));
  return b.select(b.ult(first, length), count, b.cst(0));
}

/// Adds to one partial result of each reduction `count` elements, or vectors of
/// them, from `index` on; `tiles` of them are loaded before the first is used.
SmallVector<Value> DeviceRowEmitter::walk(Value index, Value count,
                                          unsigned lanes, unsigned tiles,
                                          ValueRange partials) {
  auto forOp = scf::ForOp::create(b, b.cst(0), count, b.cst(tiles), partials);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(forOp.getBody());
  Value place =
      b.add(index, b.mul(forOp.getInductionVar(), b.cst(rowPartials)));
  SmallVector<SmallVector<Value>> loaded;
  for (auto [i, port] : llvm::enumerate(shape.sources))
    loaded.push_back(
        loadSource(operands.sources[i], port, place, lanes, tiles));
  SmallVector<Value> result(forOp.getRegionIterArgs());
  for (unsigned t = 0; t < tiles; ++t) {
    SmallVector<Value> sources;
    for (SmallVector<Value> &source : loaded)
      sources.push_back(source[t]);
    evaluate(sources);
    for (auto [n, reduction] : llvm::enumerate(reductions))
      result[n] =
          values.combine(reduction, result[n], values.operandOf(reduction));
  }
  scf::YieldOp::create(b, result);
  return SmallVector<Value>(forOp.getResults());
}

/// 8 loads of 16 bytes before the first use, where there is room for several
/// vectors of each source.
unsigned DeviceRowEmitter::tilesInFlight() const {
  unsigned loads = 0;
  for (const PortShape &port : shape.sources)
    if (port.place != PortShape::Scalar && port.place != PortShape::Row)
      loads +=
          std::max(1u, perLane * bytesOf(formatOf(port.type)) / vectorBytes);
  return std::clamp(llvm::bit_floor(8 / std::max(1u, loads)), 1u, 4u);
}

SmallVector<Value> DeviceRowEmitter::byVectors(Value first) {
  Value index = b.add(first, b.mul(team.lane, b.cst(perLane)));
  unsigned tiles = tilesInFlight();
  Value count = stepsFrom(index);
  Value whole = b.and_(count, b.cst(~uint64_t(tiles - 1)));
  SmallVector<Value> partials;
  for (unsigned reduction : reductions)
    partials.push_back(
        values.start(reduction, math.computeType(accum, perLane)));
  partials = walk(index, whole, perLane, tiles, partials);
  partials = walk(b.add(index, b.mul(whole, b.cst(rowPartials))),
                  b.sub(count, whole), perLane, 1, partials);
  for (auto [n, reduction] : llvm::enumerate(reductions))
    partials[n] =
        acrossLanes(reduction, pairs(reduction, partials[n]), warpLanes);
  return partials;
}

SmallVector<Value> DeviceRowEmitter::byElements(Value first) {
  SmallVector<Value> starts;
  for (unsigned reduction : reductions)
    starts.push_back(values.start(reduction, math.computeType(accum, 0)));
  auto forOp =
      scf::ForOp::create(b, b.cst(0), b.cst(perLane), b.cst(1), starts);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(forOp.getBody());
    Value c = forOp.getInductionVar();
    Value index = b.add(b.add(first, b.mul(c, b.cst(warpLanes))), team.lane);
    SmallVector<Value> sums = walk(index, stepsFrom(index), 0, 1, starts);
    Value keeps = b.eq(team.lane, c);
    for (auto [n, reduction] : llvm::enumerate(reductions))
      sums[n] = b.select(keeps, acrossLanes(reduction, sums[n], warpLanes),
                         forOp.getRegionIterArgs()[n]);
    scf::YieldOp::create(b, sums);
  }
  SmallVector<Value> results(forOp.getResults());
  for (auto [n, reduction] : llvm::enumerate(reductions))
    results[n] = acrossLanes(reduction, results[n], perLane);
  return results;
}

SmallVector<Value> DeviceRowEmitter::ofGroup(Value group) {
  Value first = b.mul(group, b.cst(groupElements));
  SmallVector<Type> types(reductions.size(), math.computeType(accum, 0));
  auto ifOp = scf::IfOp::create(b, types, isVector, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(ifOp.thenBlock());
  scf::YieldOp::create(b, byVectors(first));
  b.setInsertionPointToStart(ifOp.elseBlock());
  scf::YieldOp::create(b, byElements(first));
  return SmallVector<Value>(ifOp.getResults());
}

/// Those of this thread's team for the pass' reduction number `place`.
Value DeviceRowEmitter::cellsOf(unsigned place, Value parity) {
  unsigned bytes = bytesOf(accum);
  Value all = b.mul(parity, b.cst(reductions.size()));
  Value base = b.mul(b.add(all, b.cst(place)), b.cst(team.cellsOfReduction));
  return b.at(team.cells, b.mul(b.add(base, b.mul(team.number, b.cst(groups))),
                                b.cst(bytes)));
}

void DeviceRowEmitter::reduce(unsigned pass, Value parity) {
  reductions = values.of(pass);
  auto forOp = scf::ForOp::create(b, team.warp, b.cst(groups), team.warps);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(forOp.getBody());
  Value group = forOp.getInductionVar();
  SmallVector<Value> results = ofGroup(group);
  auto ifOp = scf::IfOp::create(b, b.eq(team.lane, b.cst(0)), false);
  b.setInsertionPointToStart(ifOp.thenBlock());
  unsigned bytes = bytesOf(accum);
  for (auto [n, result] : llvm::enumerate(results))
    b.store(result, b.at(cellsOf(n, parity), b.mul(group, b.cst(bytes))),
            bytes);
}

/// A thread without a row reads no cells, which nobody has written.
void DeviceRowEmitter::take(unsigned pass, Value parity, Value isMine) {
  Type type = math.computeType(accum, 0);
  reductions = values.of(pass);
  for (auto [n, reduction] : llvm::enumerate(reductions)) {
    auto ifOp = scf::IfOp::create(b, type, isMine, /*withElseRegion=*/true);
    values.set(reduction, ifOp.getResult(0));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(ifOp.elseBlock());
    scf::YieldOp::create(b, values.start(reduction, type));
    b.setInsertionPointToStart(ifOp.thenBlock());
    Value all = b.load(math.computeType(accum, groups), cellsOf(n, parity),
                       vectorBytes);
    scf::YieldOp::create(b, pairs(reduction, all));
  }
}

/// A warp handles `tiles` times 32 neighbouring vectors, then those of the
/// team's next turn; what is left over one by one.
void DeviceRowEmitter::walkRow(unsigned lanes, unsigned tiles) {
  unsigned width = std::max(lanes, 1u), span = width * warpLanes;
  auto loop = [&](Value from, Value to, unsigned tiles) {
    Value first = b.add(from, b.mul(team.warp, b.cst(span * tiles)));
    auto forOp =
        scf::ForOp::create(b, b.add(first, b.mul(team.lane, b.cst(width))), to,
                           b.mul(team.warps, b.cst(span * tiles)));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(forOp.getBody());
    tile(forOp.getInductionVar(), lanes, tiles);
  };
  Value whole = b.cst(0);
  if (tiles > 1) {
    distance = span;
    whole = b.mul(b.udiv(operands.elements, b.cst(span * tiles)),
                  b.cst(span * tiles));
    loop(b.cst(0), whole, tiles);
    distance = rowPartials;
  }
  loop(whole, operands.elements, 1);
}

void DeviceRowEmitter::run() {
  unsigned lanes = vectorBytes / bytesOf(variant.dtype), loads = 0;
  for (const PortShape &port : shape.sources)
    loads += port.place != PortShape::Scalar;
  auto ifOp = scf::IfOp::create(b, TypeRange{}, isVector, true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(ifOp.thenBlock());
  // With more loads in flight, or of what is widened, kernels spill that also
  // have the steps of a ring.
  unsigned budget = accum == variant.dtype ? 4 : 1;
  walkRow(lanes,
          std::clamp(llvm::bit_floor(budget / std::max(1u, loads)), 1u, 4u));
  b.setInsertionPointToStart(ifOp.elseBlock());
  walkRow(0, 1);
}

/// Teams of as many warps as have something to do.
static Team makeTeam(Builder &b, Value rows, Value length, unsigned threads,
                     Value cells) {
  unsigned blockWarps = threads / warpLanes;
  Value thread = Ptx::threadId(b);
  Value warp = b.lshr(thread, b.cst(5));
  Value many = b.select(b.ult(rows, b.cst(3)), b.cst(8), b.cst(4));
  auto upTo = [&](unsigned groupsOfRow, unsigned warps, Value otherwise) {
    return b.select(b.ugt(length, b.cst(groupsOfRow * groupElements)),
                    otherwise, b.cst(warps));
  };
  Value warps = upTo(1, 1, upTo(2, 2, upTo(4, 4, many)));
  warps = b.umin(warps, b.cst(llvm::bit_floor(blockWarps)));
  Team team;
  team.warps = warps;
  team.number = b.udiv(warp, warps);
  team.count = b.udiv(b.cst(blockWarps), warps);
  team.warp = b.urem(warp, warps);
  team.lane = b.and_(thread, b.cst(warpLanes - 1));
  team.cells = cells;
  team.cellsOfReduction = blockWarps * groups;
  return team;
}

unsigned rowCells(const StepShape &shape,
                  const std::vector<Function> &functions, unsigned threads) {
  RowReductions plan = findRowReductions(shape.expr, functions);
  unsigned most = 0;
  for (unsigned pass = 0; pass < plan.passes; ++pass)
    most = std::max<unsigned>(
        most, llvm::count_if(plan.all, [&](const RowReductions::One &one) {
          return one.pass == pass;
        }));
  return 2 * most * (threads / warpLanes) * groups;
}

/// Pointers anew from shared memory, in every pass. Loaded once for all rows,
/// each becomes several that every row moves on (of every pass and loop one of
/// every source): more registers than a thread has.
static void reloadPointers(Builder &b, SmallVector<Value> &pointers) {
  for (Value &pointer : pointers)
    if (auto load =
            pointer ? pointer.getDefiningOp<LLVM::LoadOp>() : LLVM::LoadOp())
      pointer = cast<LLVM::LoadOp>(b.clone(*load)).getResult();
}

void emitDeviceRowLoops(Builder &b, const StepShape &shape,
                        const Variant &variant,
                        const std::vector<Function> &functions,
                        const TileOperands &operands, unsigned threads,
                        Value cells) {
  RowReductions plan = findRowReductions(shape.expr, functions);
  Value length = operands.rowElements;
  Value rows = b.udiv(operands.elements, length);
  Team team = makeTeam(b, rows, length, threads, cells);
  uint64_t vectorElements =
      std::max(perLane, vectorBytes / bytesOf(variant.dtype));
  Value bits = b.or_(b.and_(operands.pointerBits, b.cst(vectorBytes - 1)),
                     b.and_(length, b.cst(vectorElements - 1)));
  Value isVector = b.eq(bits, b.cst(0));

  auto forOp =
      scf::ForOp::create(b, b.cst(0), rows, team.count, ValueRange{b.cst(0)});
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(forOp.getBody());
  Value row = b.add(forOp.getInductionVar(), team.number);
  Value isMine = b.and_(b.ult(team.number, team.count), b.ult(row, rows));
  Value parity = forOp.getRegionIterArg(0);
  TileOperands own = operandsOfRow(b, shape, variant, operands, row);
  DeviceRowEmitter emitter(b, shape, variant, functions, own, plan, team,
                           isVector);
  auto ifMine = [&](llvm::function_ref<void()> code) {
    auto ifOp = scf::IfOp::create(b, isMine, false);
    OpBuilder::InsertionGuard inner(b);
    b.setInsertionPointToStart(ifOp.thenBlock());
    TileOperands anew = operands;
    reloadPointers(b, anew.sources);
    reloadPointers(b, anew.sinks);
    own = operandsOfRow(b, shape, variant, anew, row);
    code();
  };
  for (unsigned pass = 0; pass < plan.passes; ++pass) {
    ifMine([&] { emitter.reduce(pass, parity); });
    Ptx::barrier(b);
    emitter.take(pass, parity, isMine);
    parity = b.sub(b.cst(1), parity);
  }
  ifMine([&] { emitter.run(); });
  scf::YieldOp::create(b, ValueRange{parity});
}

} // namespace coll::lowering
