//===- CollScheduleOps.cpp - Names and verifiers, algorithm level ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialect/CollDialect.h"

using namespace mlir;
using namespace coll;

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

void ScheduleOp::getAsmBlockArgumentNames(Region &region,
                                          OpAsmSetValueNameFn setName) {
  for (auto [arg, name] : llvm::zip(region.getArguments(), getRankNames()))
    setName(arg, cast<StringAttr>(name).getValue());
}

void ParamOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getResult(), getName());
}

void LaunchOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  if (!getCoords().empty())
    setName(getCoords().front(), getName());
}

void BufferOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getResult(), getName());
}

void TmpOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getResult(), getName());
}

//===----------------------------------------------------------------------===//
// Verifiers
//===----------------------------------------------------------------------===//

LogicalResult ScheduleOp::verifyRegions() {
  if (getRankNames().empty() || getRankNames().size() != getBody().getNumArguments())
    return emitOpError("has ") << getBody().getNumArguments() << " arguments for "
                               << getRankNames().size() << " rank dimensions";
  return success();
}

LogicalResult FunctionOp::verifyRegions() {
  if (getKinds().size() != getBody().getNumArguments())
    return emitOpError("has ") << getBody().getNumArguments() << " arguments for "
                               << getKinds().size() << " kinds";
  return success();
}

LogicalResult ApplyOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto callee = symbols.lookupNearestSymbolFrom<FunctionOp>(*this, getCalleeAttr());
  if (!callee)
    return emitOpError("names no function: ") << getCalleeAttr();
  if (callee.getKinds().size() != getNumOperands())
    return emitOpError("passes ") << getNumOperands() << " values to a function of "
                                  << callee.getKinds().size();
  return success();
}

LogicalResult SliceOp::verify() {
  size_t kept = llvm::count(getDrop(), false);
  if (getDrop().size() != getOffsets().size() || getSizes().size() != kept)
    return emitOpError("needs a size for each dimension that is kept");
  if (!getSteps().empty() && getSteps().size() != kept)
    return emitOpError("needs a step for each dimension that is kept, or none");
  return success();
}

static LogicalResult verifyTransfer(Operation *op, ValueRange at, Region &members) {
  if (!at.empty() && !members.empty())
    return op->emitOpError("writes to one rank or to members, not to both");
  return success();
}
LogicalResult CopyOp::verify() { return verifyTransfer(*this, getAt(), getMembers()); }
LogicalResult ReduceOp::verify() { return verifyTransfer(*this, getAt(), getMembers()); }

LogicalResult MappingOp::verify() {
  if (getKeys().size() != getValues().size())
    return emitOpError("needs a value for each key");
  return success();
}
