//===- BytecodeEmitter.h - Writes Bytecode for ops --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Private to buildBytecode. A walk over the ops in order: every SSA value gets
// a register when it is first seen, every op becomes one instruction or a few.
// A read that one statement uses is not written on its own: the statement names
// its view and rank, which saves the elaboration a copy of the expression.
//
//===----------------------------------------------------------------------===//
#ifndef COLL_LIB_ANALYSIS_BYTECODEEMITTER_H
#define COLL_LIB_ANALYSIS_BYTECODEEMITTER_H

#include "dialect/CollDialect.h"
#include "lib/Analysis/Bytecode.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace coll::bytecode {

class Emitter {
public:
  Emitter(ScheduleOp schedule, const SourceManager &sources);
  Bytecode run();

private:
  /// A promise is written twice: what must be known before the statements run,
  /// and what is compared after them.
  enum class Phase { Body, Declare, Ensure } phase = Phase::Body;

  // BytecodeBuilder.cpp: control and integers.
  void emitBlock(mlir::Block &block);
  void emitOp(mlir::Operation &op);
  bool isWanted(mlir::Operation &op);
  bool emitInteger(mlir::Operation &op);
  bool emitConstant(mlir::arith::ConstantOp op);
  bool emitCompare(mlir::arith::CmpIOp op);
  void emitSelect(mlir::arith::SelectOp op);
  void emitFor(mlir::scf::ForOp op);
  void emitIf(mlir::scf::IfOp op);
  void emitMoves(mlir::ValueRange from, mlir::ValueRange to, SiteId site);
  bool emitStructure(mlir::Operation &op);

  // BytecodeStatements.cpp: the ops of the dialect.
  bool emitExpression(mlir::Operation &op);
  bool emitFrame(mlir::Operation &op);
  bool emitStatement(mlir::Operation &op);
  bool emitContract(mlir::Operation &op);
  void emitSlice(SliceOp op);
  void emitFold(FoldOp op);
  void emitLaunch(LaunchOp op);
  void emitBuffer(BufferOp op);
  void emitMapping(MappingOp op);
  void emitOn(OnOp op);
  template <typename Op> void emitTransfer(Op op, bool isReduce);
  void emitSend(SendOp op);
  /// A list register with what the region's coll.member ops append.
  Reg emitList(mlir::Region &region, SiteId site);
  void setValue(mlir::Value value, Reg &reg, ReadCode &read);
  static bool isReadInPlace(ReadOp read);
  uint16_t functionIndex(mlir::Operation *from, mlir::FlatSymbolRefAttr name);

  Reg reg(mlir::Value value);
  RegList regList(mlir::ValueRange values);
  uint32_t string(llvm::StringRef text);
  SiteId site(mlir::Location location);
  SourceRange rangeOf(mlir::FileLineColRange location);
  Instr &emit(Opcode op, SiteId at);
  uint32_t here() const { return code.code.size(); }
  void unsupported(mlir::Operation &op, llvm::StringRef why);

  ScheduleOp schedule;
  const SourceManager &sources;
  Bytecode code;
  bool failed = false;
  llvm::DenseMap<mlir::Value, Reg> registers;
  llvm::DenseMap<mlir::Location, SiteId> siteOf;
  llvm::StringMap<FileId> fileOf;
  llvm::StringMap<uint32_t> stringOf;
  llvm::StringMap<uint16_t> functionOf;
  PromiseOp promise;
};

} // namespace coll::bytecode

#endif // COLL_LIB_ANALYSIS_BYTECODEEMITTER_H
