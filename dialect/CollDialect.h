//===- CollDialect.h - The coll dialect -------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Types, attributes and ops of both levels; CollOps.td and what it includes say
// what they are. Enums are called DataType, BufferKind and RowReduction, so
// that lib/Analysis/ChunkGraph.h may be included beside this file.
//
//===----------------------------------------------------------------------===//
#ifndef COLL_DIALECT_COLLDIALECT_H
#define COLL_DIALECT_COLLDIALECT_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dialect/CollDialect.h.inc"
#include "dialect/CollEnums.h.inc"

#define GET_TYPEDEF_CLASSES
#include "dialect/CollTypes.h.inc"
#define GET_ATTRDEF_CLASSES
#include "dialect/CollAttrs.h.inc"
#define GET_OP_CLASSES
#include "dialect/CollOps.h.inc"

#endif // COLL_DIALECT_COLLDIALECT_H
