//===- CollDialect.cpp - Registration of the coll dialect -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialect/CollDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

#include "dialect/CollDialect.cpp.inc"
#include "dialect/CollEnums.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "dialect/CollTypes.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "dialect/CollAttrs.cpp.inc"

void coll::CollDialect::initialize() {
  registerTypes();
  registerAttributes();
  addOperations<
#define GET_OP_LIST
#include "dialect/CollOps.cpp.inc"
      >();
}

void coll::CollDialect::registerTypes() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialect/CollTypes.cpp.inc"
      >();
}

void coll::CollDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialect/CollAttrs.cpp.inc"
      >();
}
