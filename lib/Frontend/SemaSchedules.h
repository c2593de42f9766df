//===- SemaSchedules.h - Schedules ------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COLL_LIB_FRONTEND_SEMASCHEDULES_H
#define COLL_LIB_FRONTEND_SEMASCHEDULES_H

#include "lib/Frontend/SemaEmitter.h"

#include "dialect/CollDialect.h"

namespace coll::sema {

class ScheduleEmitter {
public:
  explicit ScheduleEmitter(Emitter &e) : e(e) {}

  /// Writes `decl` where the builder stands.
  ScheduleOp emit(const ScheduleDecl *decl);
  /// Looks for what is wrong with a declaration that no schedule uses.
  void checkUnused(const Decl *decl);

private:
  bool bindRanks(const ScheduleDecl *decl);
  ScheduleOp create(const ScheduleDecl *decl, llvm::StringRef name);
  void bindParam(const ScheduleParam &param);
  void bindLaunch(const ScheduleParam &param);
  void emitWhere(const ScheduleDecl *decl);
  void useContract(const ScheduleDecl *decl);
  void emitBody(const ScheduleDecl *decl);

  Emitter &e;
  llvm::SmallVector<mlir::Value, 4> chunks;
};

} // namespace coll::sema

#endif // COLL_LIB_FRONTEND_SEMASCHEDULES_H
