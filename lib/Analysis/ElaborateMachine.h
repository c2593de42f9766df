//===- ElaborateMachine.h - The machine that runs Bytecode ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Private to the elaboration. A Frame has the registers of one thread of
// control, the Machine has what all frames share, and a function per
// instruction; those of the integers are inlined into run(). A function returns
// false after it told the Sink what is wrong.
//
//===----------------------------------------------------------------------===//
#ifndef COLL_LIB_ANALYSIS_ELABORATEMACHINE_H
#define COLL_LIB_ANALYSIS_ELABORATEMACHINE_H

#include "lib/Analysis/ElaborateParts.h"
#include "lib/Analysis/ElaborateRegisters.h"
#include "lib/Analysis/RegionModel.h"

#include "llvm/ADT/DenseSet.h"
#include <map>

namespace coll::elab {

class RegionRun;
class SymmetryRun;

/// False: the operands are not allowed, or the result is beyond 64 bits.
bool evalBinary(Opcode op, int64_t x, int64_t y, int64_t &result);
bool evalUnary(Opcode op, int64_t x, int64_t &result);

class Machine {
public:
  Machine(const Bytecode &code, const Parameters &params);

  enum class Run { Done, Blocked, Failed };
  /// Runs until the end, a wait or a failure.
  Run run(Frame &frame);
  Frame makeFrame();

  const Bytecode &code;
  const Parameters &params;
  Sink sink;
  GraphBuilder builder;
  State state;
  ChunkGraph &graph;

  /// A `where` that does not hold: index into code.strings, and its place.
  uint32_t excludedBy = kNone;
  SiteId excludedAt = kNone;
  std::vector<RegionReport> regions;
  BigVector<Promise> promises;
  /// The right sides of `ensure`, ranks filled in; equal ones are one.
  std::vector<ExprRef> expectations;
  bool isPlainReduceOnly = true; ///< so far every ensure is reduce(in@all)
  /// The array that a statement wrote to, by site.
  std::vector<uint32_t> targetOfSite;

  /// Look at the domains of launch parameters only.
  bool wantsDomains = false, hasDomains = false;
  /// A loop to execute as if it were a group; kNone: none.
  uint32_t groupedLoop = kNone;

  /// Cells that belong together, to be found or to be executed alone; null: all
  /// are executed.
  CellGroups *groups = nullptr;
  bool isJoining() const { return groups && groups->isJoining(); }
  /// Of everything that is not read only.
  bool isLeftOut(uint32_t array, uint32_t cell) const {
    return groups && !groups->has(array, cell);
  }
  bool isLeaf(uint32_t array) const {
    uint32_t buffer = state.arrays[array].buffer;
    return buffer != kNone && graph.buffers[buffer].kind != Buffer::Out;
  }
  uint32_t nodeOf(uint32_t array, uint32_t cell) const {
    return isLeaf(array) ? kNone : groups->node(array, cell);
  }
  /// Of all promises, also those that are left out; and of each that is kept,
  /// if some are left out, its number.
  uint64_t numPromises = 0;
  BigVector<uint64_t> promiseNumbers;
  /// Elements that were looked at, also those that are left out: how far the
  /// execution has come.
  uint64_t progress = 0;

  //===--- For the parts of the machine in other files
  //---------------------===//
  bool fail(Failure f) { return sink.fail(std::move(f)); }
  SiteId siteOf(const Frame &frame) const { return code.sites[frame.pc]; }
  bool countSteps(uint64_t n, SiteId site);
  /// Where a frame is in the loops around the instruction at `pc`.
  Iterations iterationsAt(const Frame &frame, uint32_t pc) const;
  llvm::ArrayRef<Reg> regs(RegList list) const {
    return {code.pool.data() + list.first, list.count};
  }
  bool flatten(llvm::ArrayRef<int64_t> coords, Rank &rank, SiteId site);
  bool rankAt(const Frame &frame, RegList at, Rank &rank, SiteId site);
  bool ranksOf(const List &list, llvm::SmallVectorImpl<Rank> &ranks,
               SiteId site);
  /// Fails unless the array is there, and within a process at its own rank.
  bool checkPlace(const Frame &frame, uint32_t array, Rank rank, SiteId site);
  Statement statement(const Frame &frame, SiteId site, Reg mapping);
  const ExprRef *exprOf(Frame &frame, Reg value, const ReadCode &read);
  /// Reads what `expr` (ranks filled in) reads, for `size` elements in turn.
  /// With a target: nothing for its cells that are left out.
  bool gather(const Statement &st, const ExprRef &expr, size_t size,
              std::vector<ValueId> &reads, uint32_t targetArray = kNone);
  /// The nodes of what `expr` reads, joined; of each element one, or kNone.
  bool joinTarget(uint32_t array, uint32_t cell, uint32_t from);
  void joinReads(const ExprRef &expr, size_t size,
                 std::vector<uint32_t> &nodes);
  /// The expression that computes a statement's elements; kNone: plain copy.
  ExprId planOf(const Statement &st, const ExprRef &expr);
  ValueId makeElement(const Statement &st, ExprId plan, Place target,
                      llvm::ArrayRef<ValueId> reads);
  bool transferTo(const Statement &st, const ExprRef &expr, const View &target,
                  llvm::ArrayRef<Rank> ranks);
  bool checkShape(const ExprRef &expr, const View &target, SiteId site);
  void fillRanks(ExprRef &expr, Rank self) const;
  /// The `on` that is being executed; process frames run within it.
  RegionRun *region = nullptr;
  /// Why it does not end, with Fault::Region.
  std::optional<RegionFault> regionFault;
  std::vector<Iterations> faultIterations; ///< of each of its links

private:
  friend class SymmetryRun; // runs the same instructions in another way
  using Handler = bool (Machine::*)(Frame &, const Instr &);
  static const std::array<Handler, 256> handlers;
  static std::array<Handler, 256> makeHandlers();

  Run runUntilWait(Frame &frame);
  bool failInteger(const Frame &frame, const Instr &in);
  bool enterLoop(Frame &frame, const Instr &in);
  bool nextLoop(Frame &frame, const Instr &in);

  bool moveView(Frame &frame, const Instr &in);
  bool moveValue(Frame &frame, const Instr &in);
  bool moveList(Frame &frame, const Instr &in);
  bool listBegin(Frame &frame, const Instr &in);
  bool listMember(Frame &frame, const Instr &in);
  bool listEnd(Frame &frame, const Instr &in);
  bool listSize(Frame &frame, const Instr &in);
  bool listGet(Frame &frame, const Instr &in);

  bool failDims(const Frame &frame, const View &view, uint32_t dim);
  bool slice(Frame &frame, const Instr &in);
  bool reshape(Frame &frame, const Instr &in);
  bool dim(Frame &frame, const Instr &in);
  bool read(Frame &frame, const Instr &in);
  bool addValues(Frame &frame, const Instr &in);
  bool foldBegin(Frame &frame, const Instr &in);
  bool foldOperand(Frame &frame, const Instr &in);
  bool foldEnd(Frame &frame, const Instr &in);
  bool apply(Frame &frame, const Instr &in);

  bool param(Frame &frame, const Instr &in);
  bool launch(Frame &frame, const Instr &in);
  bool where(Frame &frame, const Instr &in);
  bool assertion(Frame &frame, const Instr &in);
  bool chunks(Frame &frame, const Instr &in);
  bool buffer(Frame &frame, const Instr &in);
  bool tmp(Frame &frame, const Instr &in);
  bool mapping(Frame &frame, const Instr &in);
  bool directive(Frame &frame, const Instr &in);

  bool init(Frame &frame, const Instr &in);
  bool transfer(Frame &frame, const Instr &in);
  bool groupBegin(Frame &frame, const Instr &in);
  bool groupEnd(Frame &frame, const Instr &in);
  bool on(Frame &frame, const Instr &in);
  bool send(Frame &frame, const Instr &in);
  bool recv(Frame &frame, const Instr &in);

  bool sizeOf(Frame &frame, const Instr &in);
  bool inplace(Frame &frame, const Instr &in);
  bool launchCounts(Frame &frame, const Instr &in);
  bool count(Frame &frame, const Instr &in);
  bool constSize(Frame &frame, const Instr &in);
  bool same(Frame &frame, const Instr &in);
  bool ensure(Frame &frame, const Instr &in);

  bool shapeFrom(const Frame &frame, RegList list,
                 llvm::SmallVectorImpl<uint32_t> &dims, SiteId site);
  bool checkRanks();
  void orderBuffers();
  bool domainOf(const Frame &frame, const Instr &in,
                std::vector<uint32_t> &domain);
  bool addArray(Array array, uint32_t &id);
  bool transferSingle(Frame &frame, const TransferCode &t, const Statement &st);
  bool evaluate(const Statement &st, const ExprRef &expr, const View &target,
                Rank rank);
  bool transferToRanks(const Statement &st, const ExprRef &expr,
                       const View &target, llvm::ArrayRef<Rank> ranks);
  bool transferOwn(const Statement &st, const ExprRef &expr,
                   const View &target);
  uint32_t expectationOf(ExprRef expr);
  bool sharesOnce(uint32_t array, uint32_t part, Rank rank, SiteId site);
  bool addPromise(const Promise &promise);
  bool promiseLocations(const ReadRef &read, uint32_t array,
                        llvm::ArrayRef<Rank> ranks, SiteId site);
  bool promiseValues(const ExprRef &expr, uint32_t array,
                     llvm::ArrayRef<Rank> ranks, SiteId site);

  uint64_t steps = 0;
  uint32_t numStatements = 0;
  llvm::SmallVector<uint32_t, 4> chunkDims;
  std::vector<uint32_t> bufferIndex; // of code.buffers in graph.buffers
  std::vector<uint32_t> tmpArrays;   // by TmpCode
  std::map<std::string, uint32_t> expectationIndex;
  std::vector<uint32_t> rankStamps;
  uint32_t stamp = 0;
  ExprRef directRead;

  // Reused by statements.
  llvm::SmallVector<uint32_t, 32> targetCells;
  std::vector<llvm::SmallVector<uint32_t, 32>> readCells;
  llvm::SmallVector<ValueId, 16> operandValues;
  std::vector<ValueId> gathered, results;
  /// By buffer: rank * parts + part of those that `inplace` named.
  std::vector<llvm::DenseSet<uint64_t>> sharing;
  std::vector<uint32_t> joinedNodes;
};

} // namespace coll::elab

#endif // COLL_LIB_ANALYSIS_ELABORATEMACHINE_H
