//===- CollScheduleOps.cpp - Schedules: names and constraints -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Verifiers of the algorithm level. Each message ends with the number of the
// constraint in the op's description. A verifier looks at its op and at what
// stands around it, never at how values are used.
//
//===----------------------------------------------------------------------===//

#include "dialect/CollDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace coll;

//===----------------------------------------------------------------------===//
// What stands around an op
//===----------------------------------------------------------------------===//

static LogicalResult verifyInPromise(Operation *op) {
  if (!op->getParentOfType<PromiseOp>())
    return op->emitOpError("stands in no coll.promise [C1]");
  return success();
}

static LogicalResult verifyNotInGroup(Operation *op) {
  if (op->getParentOfType<GroupOp>())
    return op->emitOpError("stands in a coll.group [C1]");
  return success();
}

/// The op's innermost coll.on, if the op stands in its body.
static LogicalResult verifyInProcess(Operation *op) {
  auto on = op->getParentOfType<OnOp>();
  if (!on || !on.getBody().isAncestor(op->getParentRegion()))
    return op->emitOpError("stands in no body of a coll.on [C1]");
  return success();
}

/// `coords` name a rank of the schedule around `op`.
static LogicalResult verifyRank(Operation *op, ValueRange coords,
                                StringRef constraint) {
  auto schedule = op->getParentOfType<ScheduleOp>();
  size_t dims = schedule ? schedule.getRankNames().size() : 0;
  if (coords.size() != dims)
    return op->emitOpError("names a rank by ")
           << coords.size() << " coordinates among ranks of " << dims
           << " dimensions [" << constraint << "]";
  return success();
}

static LogicalResult verifyOptionalRank(Operation *op, ValueRange coords,
                                        StringRef constraint) {
  return coords.empty() ? success() : verifyRank(op, coords, constraint);
}

//===----------------------------------------------------------------------===//
// The schedule
//===----------------------------------------------------------------------===//

void ScheduleOp::getAsmBlockArgumentNames(Region &region,
                                          OpAsmSetValueNameFn setName) {
  for (auto [arg, name] : llvm::zip(region.getArguments(), getRankNames()))
    setName(arg, cast<StringAttr>(name).getValue());
}

LogicalResult ScheduleOp::verifyRegions() {
  Block &body = getBody().front();
  bool areIndices =
      llvm::all_of(body.getArgumentTypes(), llvm::IsaPred<IndexType>);
  if (getRankNames().empty() || !areIndices ||
      getRankNames().size() != body.getNumArguments())
    return emitOpError("needs a name and an index argument for each rank "
                       "dimension, at least one [C1]");
  llvm::StringSet<> names, buffers;
  for (StringAttr name : getRankNames().getAsRange<StringAttr>())
    if (!names.insert(name).second)
      return emitOpError("has two parameters called ") << name << " [C2]";
  Operation *chunks = nullptr, *promise = nullptr;
  for (Operation &op : body) {
    StringAttr param;
    if (auto paramOp = dyn_cast<ParamOp>(op))
      param = paramOp.getNameAttr();
    if (auto launch = dyn_cast<LaunchOp>(op))
      param = launch.getNameAttr();
    if (param && !names.insert(param).second)
      return emitOpError("has two parameters called ") << param << " [C2]";
    if (auto buffer = dyn_cast<BufferOp>(op))
      if (!buffers.insert(buffer.getName()).second)
        return emitOpError("has two buffers called ")
               << buffer.getNameAttr() << " [C3]";
    Operation *&only = isa<ChunksOp>(op) ? chunks : promise;
    if (isa<ChunksOp, PromiseOp>(op) && std::exchange(only, &op))
      return emitOpError("has two of ") << op.getName() << " [C4]";
  }
  return success();
}

void ParamOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getResult(), getName());
}

void LaunchOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  if (!getCoords().empty())
    setName(getCoords().front(), getName());
}

LogicalResult LaunchOp::verify() {
  if (!getInteger())
    return verifyRank(*this, getCoords(), "C2");
  if (getCoords().size() != 1)
    return emitOpError("is an integer with ")
           << getCoords().size() << " results [C2]";
  return success();
}

LogicalResult AssertOp::verify() {
  auto isSlugChar = [](char c) {
    return llvm::isDigit(c) || (llvm::isAlpha(c) && llvm::isLower(c)) ||
           c == '-';
  };
  if (getSlug().empty() || !llvm::all_of(getSlug(), isSlugChar))
    return emitOpError("has a bad slug: ") << getSlugAttr() << " [C1]";
  StringRef rest = getMessage();
  for (size_t at; (at = rest.find('{')) != StringRef::npos;) {
    rest = rest.drop_front(at + 1);
    unsigned index;
    if (rest.consumeInteger(10, index) || !rest.starts_with("}") ||
        index >= getArgs().size())
      return emitOpError("refers to an argument that is not there [C2]");
  }
  return success();
}

LogicalResult ChunksOp::verify() {
  if (getDims().empty())
    return emitOpError("has no dimension [C2]");
  return success();
}

void BufferOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getResult(), getName());
}

LogicalResult BufferOp::verify() {
  if (!getAt().empty() && !getMembers().empty())
    return emitOpError("has both a rank and members [C2]");
  bool hasShape =
      !getParts().empty() || !getAt().empty() || !getMembers().empty();
  if (hasShape && getKind() != BufferKind::In && getKind() != BufferKind::Out)
    return emitOpError("is an argument with parts or ranks [C4]");
  return verifyOptionalRank(*this, getAt(), "C3");
}

//===----------------------------------------------------------------------===//
// The contract
//===----------------------------------------------------------------------===//

LogicalResult EnsureOp::verify() {
  return success(succeeded(verifyInPromise(*this)) &&
                 succeeded(verifyOptionalRank(*this, getAt(), "C2")));
}

LogicalResult InplaceOp::verify() {
  return success(succeeded(verifyInPromise(*this)) &&
                 succeeded(verifyOptionalRank(*this, getLhsAt(), "C2")) &&
                 succeeded(verifyOptionalRank(*this, getRhsAt(), "C2")));
}

LogicalResult SizeOfOp::verify() {
  return success(succeeded(verifyInPromise(*this)) &&
                 succeeded(verifyOptionalRank(*this, getAt(), "C2")));
}

LogicalResult LaunchCountsOp::verify() {
  if (getDims().empty())
    return emitOpError("has no dimension [C2]");
  return verifyInPromise(*this);
}

LogicalResult CountOp::verify() {
  if (getIndices().empty())
    return emitOpError("has no index [C2]");
  return verifyInPromise(*this);
}

LogicalResult ConstSizeOp::verify() { return verifyInPromise(*this); }

LogicalResult SameOp::verify() { return verifyInPromise(*this); }

//===----------------------------------------------------------------------===//
// Lists
//===----------------------------------------------------------------------===//

/// The op that builds the list to which a coll.member of this place appends.
static Operation *findListBuilder(Operation *op) {
  for (Region *region = op->getParentRegion(); region;
       region = region->getParentRegion()) {
    Operation *parent = region->getParentOp();
    if (isa<ListOp, LaunchOp, BufferOp, CopyOp, ReduceOp>(parent))
      return parent;
    if (auto on = dyn_cast<OnOp>(parent))
      return region == &on.getMembers() ? parent : nullptr;
  }
  return nullptr;
}

LogicalResult MemberOp::verify() {
  Operation *builder = findListBuilder(*this);
  if (!builder)
    return emitOpError("appends to no list [C1]");
  auto launch = dyn_cast<LaunchOp>(builder);
  bool canBeInteger = isa<ListOp>(builder) || (launch && launch.getInteger());
  if (canBeInteger && getCoords().size() == 1)
    return success();
  return verifyRank(*this, getCoords(), "C2");
}

LogicalResult ListOp::verifyRegions() {
  std::optional<size_t> arity;
  WalkResult result = getBody().walk([&](MemberOp member) {
    if (findListBuilder(member) != getOperation())
      return WalkResult::advance();
    size_t coords = member.getCoords().size();
    return WalkResult(success(*(arity ? arity : arity = coords) == coords));
  });
  if (result.wasInterrupted())
    return emitOpError("has integers and ranks among its members [C1]");
  return success();
}

LogicalResult ListGetOp::verify() {
  if (getCoords().empty())
    return emitOpError("has no result [C1]");
  return success();
}

//===----------------------------------------------------------------------===//
// Views and values
//===----------------------------------------------------------------------===//

LogicalResult SliceOp::verify() {
  size_t kept = llvm::count(getDrop(), false);
  if (getDrop().size() != getOffsets().size())
    return emitOpError("has ") << getOffsets().size() << " offsets and "
                               << getDrop().size() << " flags [C1]";
  if (getSizes().size() != kept)
    return emitOpError("has ") << getSizes().size() << " sizes where " << kept
                               << " dimensions stay [C2]";
  if (!getSteps().empty() && getSteps().size() != kept)
    return emitOpError("has ") << getSteps().size() << " steps where " << kept
                               << " dimensions stay [C3]";
  return success();
}

LogicalResult ReadOp::verify() {
  return verifyOptionalRank(*this, getAt(), "C1");
}

LogicalResult OperandOp::verify() {
  if (!(*this)->getParentOfType<FoldOp>())
    return emitOpError("stands in no coll.fold [C1]");
  return success();
}

LogicalResult ApplyOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto callee =
      symbols.lookupNearestSymbolFrom<FunctionOp>(*this, getCalleeAttr());
  if (!callee)
    return emitOpError("names no function: ") << getCalleeAttr() << " [C1]";
  if (callee.getKinds().size() != getNumOperands())
    return emitOpError("passes ")
           << getNumOperands() << " values to a function of "
           << callee.getKinds().size() << " [C2]";
  return success();
}

LogicalResult FunctionOp::verifyRegions() {
  Block &body = getBody().front();
  auto isF64 = [](Type type) { return type.isF64(); };
  if (getKinds().size() != body.getNumArguments() ||
      !llvm::all_of(body.getArgumentTypes(), isF64))
    return emitOpError(
        "needs a kind and an f64 argument for each parameter [C1]");
  for (auto kind : getKinds().getAsRange<BufferKindAttr>())
    if (kind.getValue() == BufferKind::In || kind.getValue() == BufferKind::Out)
      return emitOpError("has a parameter of kind '")
             << stringifyBufferKind(kind.getValue()) << "' [C2]";
  for (Operation &op : body)
    if (!isa<YieldOp, RowOp, arith::AddFOp, arith::SubFOp, arith::MulFOp,
             arith::DivFOp, arith::NegFOp, arith::MinimumFOp, arith::MaximumFOp,
             arith::ConstantOp, math::ExpOp, math::SqrtOp, math::RsqrtOp,
             math::TanhOp, math::AbsFOp>(op))
      return emitOpError("has ") << op.getName() << " in its body [C3]";
  for (Operation &op : body)
    if (!llvm::all_of(op.getResultTypes(), isF64))
      return emitOpError("has ") << op.getName() << " on other than f64 [C3]";
  return success();
}

//===----------------------------------------------------------------------===//
// Statements
//===----------------------------------------------------------------------===//

void TmpOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getResult(), getName());
}

LogicalResult TmpOp::verify() { return verifyNotInGroup(*this); }

LogicalResult InitOp::verify() { return verifyNotInGroup(*this); }

template <typename TransferOp>
static LogicalResult verifyTransfer(TransferOp op) {
  if (!op.getAt().empty() && !op.getMembers().empty())
    return op.emitOpError("has both a rank and members [C1]");
  return verifyOptionalRank(op, op.getAt(), "C2");
}

LogicalResult CopyOp::verify() { return verifyTransfer(*this); }

LogicalResult ReduceOp::verify() { return verifyTransfer(*this); }

LogicalResult GroupOp::verify() { return verifyNotInGroup(*this); }

LogicalResult OnOp::verifyRegions() {
  if ((*this)->getParentOfType<OnOp>())
    return emitOpError("stands in a coll.on [C1]");
  if (failed(verifyNotInGroup(*this)))
    return failure();
  Block &body = getBody().front();
  if (!llvm::all_of(body.getArgumentTypes(), llvm::IsaPred<IndexType>))
    return emitOpError("has a body whose arguments are no indices [C2]");
  return verifyRank(*this, ValueRange(body.getArguments()), "C2");
}

LogicalResult SendOp::verify() {
  return success(succeeded(verifyInProcess(*this)) &&
                 succeeded(verifyRank(*this, getPeer(), "C2")));
}

LogicalResult RecvOp::verify() {
  return success(succeeded(verifyInProcess(*this)) &&
                 succeeded(verifyRank(*this, getPeer(), "C2")));
}

//===----------------------------------------------------------------------===//
// map
//===----------------------------------------------------------------------===//

LogicalResult MappingOp::verify() {
  static constexpr StringRef known[] = {"channel",  "block",     "recv_block",
                                        "channels", "instances", "blocks",
                                        "threads",  "slots",     "slot"};
  static constexpr StringRef protocols[] = {"simple", "ll", "ll128", "multimem",
                                            "direct"};
  if (getKeys().size() != getValues().size())
    return emitOpError("has ") << getKeys().size() << " keys and "
                               << getValues().size() << " values [C1]";
  llvm::StringSet<> seen;
  for (StringAttr key : getKeys().getAsRange<StringAttr>())
    if (!llvm::is_contained(known, key.getValue()) || !seen.insert(key).second)
      return emitOpError("has an unknown or repeated key: ") << key << " [C2]";
  if (getProtocol() && !llvm::is_contained(protocols, *getProtocol()))
    return emitOpError("names no protocol: ") << getProtocolAttr() << " [C3]";
  return success();
}

LogicalResult DirectiveOp::verify() {
  struct Known {
    StringRef name;
    unsigned values;
    bool text;
  };
  static constexpr Known known[] = {
      {"sizes", 2, false},    {"protocol", 0, true}, {"instances", 1, false},
      {"channels", 1, false}, {"blocks", 1, false},  {"threads", 1, false},
      {"round", 1, false},    {"slots", 1, false},   {"slot", 1, false},
      {"scratch", 1, false},  {"order", 0, true},    {"pull", 0, false},
      {"push", 0, false},     {"staged", 0, false}};
  const Known *found = llvm::find_if(
      known, [&](const Known &entry) { return entry.name == getName(); });
  if (found == std::end(known))
    return emitOpError("is no directive of a schedule: ")
           << getNameAttr() << " [C2]";
  if (getValues().size() != found->values)
    return emitOpError("has ")
           << getValues().size() << " values for " << getNameAttr() << " [C3]";
  if (getText().has_value() != found->text)
    return emitOpError(found->text ? "needs a text for " : "has a text for ")
           << getNameAttr() << " [C4]";
  return success();
}
