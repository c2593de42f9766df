//===- DeviceFlow.cpp - Which words device code comes to ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every value has the join of what may come there, from None upwards, until
// nothing changes any more. Offsets are kept modulo a power of two, so loops
// end: a join never adds zeros. What is computed from addresses otherwise than
// by adding is a number. Cells of shared memory hold what the same function
// stores there: thread 0 fills them before each slice.
//
//===----------------------------------------------------------------------===//

#include "lib/Target/DeviceFlow.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Operator.h"
#include "llvm/Support/KnownBits.h"

using namespace llvm;
using namespace coll;

static bool isFlag(const Address &address) {
  if (address.region == Region::Flag)
    return true;
  uint64_t offset = uint64_t(address.offset);
  if (uint32_t stride = strideOf(address.region)) {
    if (!address.isExact() && address.zeros < countr_zero(stride))
      return false;
    offset %= stride;
  } else if (!address.isExact()) {
    return false;
  }
  const SharedWord *word = findWord(address.region, offset, false);
  return word &&
         (word->access == Access::Flag || word->access == Access::Posted ||
          word->access == Access::Progress);
}

static Region joined(Region a, Region b) {
  auto isData = [](Region r) {
    return r == Region::Payload || r == Region::Packets || r == Region::Lines ||
           r == Region::Either;
  };
  if (isData(a) && isData(b))
    return Region::Either;
  // Cells hold numbers as well, and pointers are null.
  if (isData(a) && b == Region::Number)
    return a;
  if (isData(b) && a == Region::Number)
    return b;
  return Region::Unknown;
}

static Address join(const Address &a, const Address &b) {
  if (a.region == Region::None || a == b)
    return b;
  if (b.region == Region::None)
    return a;
  if (a.region != b.region) {
    if (isFlag(a) && isFlag(b))
      return {Region::Flag, 64, 0};
    return {joined(a.region, b.region), 0, 0};
  }
  Address result = a;
  result.span = 0;
  result.zeros = std::min(a.zeros, b.zeros);
  if (a.offset != b.offset) {
    if (isFlag(a) && isFlag(b) && a.isExact() && b.isExact())
      return {Region::Flag, 64, 0};
    int zeros = countr_zero(uint64_t(a.offset - b.offset));
    result.zeros = std::min<int>(result.zeros, zeros);
  }
  return result;
}

DeviceFlow::DeviceFlow(const Module &module, const SharedCells &cells)
    : layout(module.getDataLayout()), cells(cells) {
  for (const llvm::Function &function : module)
    if (function.getCallingConv() == CallingConv::PTX_Kernel) {
      reached.insert(&function);
      known[function.getArg(0)] = {Region::Args, 64, 0};
    }
  do {
    hasChanged = false;
    for (const llvm::Function &function : module)
      if (isReached(function))
        visit(function);
  } while (hasChanged);
}

void DeviceFlow::raise(const llvm::Value *value, const Address &address) {
  Address &old = known[value];
  Address now = join(old, address);
  if (now == old)
    return;
  old = now;
  hasChanged = true;
}

Address DeviceFlow::addressOf(const llvm::Value *value) const {
  if (const auto *global = dyn_cast<GlobalVariable>(value))
    return {global->getName() == "coll_ports" ? Region::Cells : Region::Rows,
            64, 0};
  if (const auto *gep = dyn_cast<GEPOperator>(value);
      gep && isa<Constant>(value))
    return ofGep(*gep);
  if (const auto *cast = dyn_cast<ConstantExpr>(value); cast && cast->isCast())
    return addressOf(cast->getOperand(0));
  // Null, as an integer too, is nowhere.
  if (const auto *constant = dyn_cast<Constant>(value);
      constant && (constant->isNullValue() || isa<UndefValue>(constant)))
    return {};
  if (isa<Constant>(value))
    return {Region::Number, 0, 0};
  auto found = known.find(value);
  return found == known.end() ? Address() : found->second;
}

bool DeviceFlow::isTag(const Address &address) const {
  int64_t first = 8 * (int64_t(cells.first) + cells.sources + cells.sinks);
  return address.region == Region::Cells && address.offset >= first;
}

const SharedWord *DeviceFlow::wordAt(const Address &address) const {
  uint64_t offset = uint64_t(address.offset);
  Region region = address.region;
  bool hasMore = !address.isExact();
  // Behind the head of the arguments: buffers, then sizes. A number that counts
  // from 1 begins before the first.
  static_assert(sizeof(coll_buf) == 32 && sizeof(coll_size) == 32);
  constexpr uint64_t head = sizeof(coll_args), entry = sizeof(coll_buf);
  const bool isEntry = hasMore && address.zeros >= countr_zero(entry);
  if (region == Region::Args && (offset >= head || isEntry)) {
    if (hasMore && !isEntry)
      return nullptr;
    bool isSize = cells.sizesOffset && address.offset >= cells.sizesOffset;
    return isSize ? findWord(Region::Sizes, offset % entry, false)
                  : findWord(region, head + offset % entry, false);
  }
  if (uint32_t stride = strideOf(region)) {
    if (hasMore && address.zeros < countr_zero(stride))
      return nullptr;
    return findWord(region, offset % stride, false);
  }
  const SharedWord *word = findWord(region, offset, hasMore);
  bool isArray = word && hasMore &&
                 (1u << std::min<int>(address.zeros, 31)) % word->bytes != 0;
  return isArray ? nullptr : word;
}

//===----------------------------------------------------------------------===//
// Offsets
//===----------------------------------------------------------------------===//

static unsigned zerosOf(const llvm::Value *value, const DataLayout &layout) {
  return computeKnownBits(value, layout).countMinTrailingZeros();
}

/// A number is added.
Address DeviceFlow::added(Address base, const llvm::Value *offset) const {
  if (base.region == Region::None || base.region == Region::Number)
    return base;
  if (const auto *constant = dyn_cast<ConstantInt>(offset))
    base.offset += constant->getSExtValue();
  else
    base.zeros = std::min<unsigned>(base.zeros, zerosOf(offset, layout));
  return base;
}

/// The numbers [first, second) that a value may be, as ports are counted: by a
/// loop from 0 to a constant.
static std::optional<std::pair<uint64_t, uint64_t>>
rangeOf(const llvm::Value *value) {
  if (const auto *constant = dyn_cast<ConstantInt>(value))
    return {{constant->getZExtValue(), constant->getZExtValue() + 1}};
  if (const auto *op = dyn_cast<BinaryOperator>(value)) {
    auto a = rangeOf(op->getOperand(0)), b = rangeOf(op->getOperand(1));
    if (!a || !b)
      return std::nullopt;
    if (op->getOpcode() == Instruction::Add)
      return {{a->first + b->first, a->second + b->second - 1}};
    if (op->getOpcode() == Instruction::Mul)
      return {{a->first * b->first, (a->second - 1) * (b->second - 1) + 1}};
    return std::nullopt;
  }
  const auto *phi = dyn_cast<PHINode>(value);
  const auto *branch =
      phi ? dyn_cast<BranchInst>(phi->getParent()->getTerminator()) : nullptr;
  const auto *compare = branch && branch->isConditional()
                            ? dyn_cast<ICmpInst>(branch->getCondition())
                            : nullptr;
  if (!compare || compare->getPredicate() != CmpInst::ICMP_ULT ||
      compare->getOperand(0) != phi)
    return std::nullopt;
  const auto *end = dyn_cast<ConstantInt>(compare->getOperand(1));
  return end ? std::optional(std::pair(uint64_t(0), end->getZExtValue()))
             : std::nullopt;
}

Address DeviceFlow::ofGep(const GEPOperator &gep) const {
  Address result = addressOf(gep.getPointerOperand());
  if (result.region == Region::None || result.region == Region::Number)
    return result;
  unsigned bits = layout.getIndexTypeSizeInBits(gep.getType());
  SmallMapVector<llvm::Value *, APInt, 4> variable;
  APInt constant(bits, 0);
  if (!gep.collectOffset(layout, bits, variable, constant))
    return {Region::Unknown, 0, 0};
  result.offset += constant.getSExtValue();
  for (auto &[index, scale] : variable) {
    result.zeros = std::min<unsigned>(result.zeros, zerosOf(index, layout) +
                                                        scale.countr_zero());
    auto range = result.region == Region::Cells && variable.size() == 1
                     ? rangeOf(index)
                     : std::nullopt;
    if (!range)
      continue;
    result.offset += int64_t(scale.getZExtValue() * range->first);
    result.span =
        uint32_t(scale.getZExtValue() * (range->second - 1 - range->first) + 8);
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Shared memory
//===----------------------------------------------------------------------===//

/// [first, end) of the cells that an address may mean: to the end of its side.
std::pair<unsigned, unsigned>
DeviceFlow::cellsAt(const Address &address) const {
  unsigned cell = unsigned(address.offset / 8);
  if (address.isExact())
    return {cell, cell + 1};
  if (address.span)
    return {cell, cell + (address.span + 7) / 8};
  unsigned end = cells.first;
  for (unsigned count :
       {cells.sources, cells.sinks, cells.sources, cells.sinks})
    if (cell >= end)
      end += count;
  return {cell, std::max(end, cell + 1)};
}

void DeviceFlow::noteStore(const StoreInst &store) {
  Address at = addressOf(store.getPointerOperand());
  if (at.region != Region::Cells)
    return;
  Address value = addressOf(store.getValueOperand());
  auto [cell, end] = cellsAt(at);
  for (; cell < end; ++cell) {
    Address &old = stored[store.getFunction()][cell];
    Address now = join(old, value);
    hasChanged |= now != old;
    old = now;
  }
}

Address DeviceFlow::loaded(const LoadInst &load) {
  Address at = addressOf(load.getPointerOperand());
  if (at.region == Region::None)
    return {};
  if (at.region == Region::Cells) {
    Address result;
    auto [cell, end] = cellsAt(at);
    const CellMap &map = stored[load.getFunction()];
    for (; cell < end; ++cell)
      if (auto found = map.find(cell); found != map.end())
        result = join(result, found->second);
    return result.region == Region::None ? Address{Region::Number, 0, 0}
                                         : result;
  }
  const SharedWord *word = wordAt(at);
  bool isWhole = layout.getTypeStoreSize(load.getType()) == 8;
  if (word && isWhole && word->target != Region::Number)
    return {word->target, 64, 0};
  return {Region::Number, 0, 0};
}

//===----------------------------------------------------------------------===//
// Instructions
//===----------------------------------------------------------------------===//

bool coll::isPartAccess(const llvm::Function &function) {
  return function.getName().starts_with("coll_load_part_") ||
         function.getName().starts_with("coll_store_part_");
}

void DeviceFlow::noteCall(const CallBase &call) {
  const llvm::Function *callee = call.getCalledFunction();
  if (!callee || callee->isDeclaration()) {
    if (!call.getType()->isVoidTy())
      raise(&call, {Region::Number, 0, 0});
    return;
  }
  hasChanged |= reached.insert(callee).second;
  for (const auto &[argument, value] : zip(callee->args(), call.args())) {
    Address address = addressOf(value.get());
    // The call counts as an access of memory.
    if (isPartAccess(*callee) && address.region == Region::Either)
      address.region = Region::Payload;
    raise(&argument, address);
  }
  if (!call.getType()->isVoidTy())
    raise(&call, known.lookup(callee));
}

Address DeviceFlow::valueOf(const Instruction &instruction) {
  const Address number{Region::Number, 0, 0};
  auto operand = [&](unsigned i) {
    return addressOf(instruction.getOperand(i));
  };
  auto isAddress = [](const Address &a) {
    return a.region != Region::None && a.region != Region::Number;
  };
  switch (instruction.getOpcode()) {
  case Instruction::Load:
    return loaded(cast<LoadInst>(instruction));
  case Instruction::GetElementPtr:
    return ofGep(cast<GEPOperator>(instruction));
  case Instruction::PtrToInt:
  case Instruction::PtrToAddr:
  case Instruction::IntToPtr:
  case Instruction::AddrSpaceCast:
  case Instruction::BitCast:
  case Instruction::Freeze:
    return operand(0);
  case Instruction::Add:
  case Instruction::Or: {
    Address a = operand(0), b = operand(1);
    if (isAddress(a) && isAddress(b))
      return number;
    if (!isAddress(a) && !isAddress(b))
      return a.region == Region::None ? b : a;
    return isAddress(a) ? added(a, instruction.getOperand(1))
                        : added(b, instruction.getOperand(0));
  }
  case Instruction::Select:
    return join(operand(1), operand(2));
  case Instruction::PHI: {
    Address result;
    for (const llvm::Value *value :
         cast<PHINode>(instruction).incoming_values())
      result = join(result, addressOf(value));
    return result;
  }
  case Instruction::Alloca:
    return {Region::Stack, 64, 0};
  default:
    return number;
  }
}

void DeviceFlow::visit(const llvm::Function &function) {
  for (const Instruction &instruction : instructions(function)) {
    if (const auto *call = dyn_cast<CallBase>(&instruction))
      noteCall(*call);
    else if (const auto *store = dyn_cast<StoreInst>(&instruction))
      noteStore(*store);
    else if (const auto *ret = dyn_cast<ReturnInst>(&instruction)) {
      if (ret->getReturnValue())
        raise(&function, addressOf(ret->getReturnValue()));
    } else if (!instruction.getType()->isVoidTy()) {
      raise(&instruction, valueOf(instruction));
    }
  }
}
