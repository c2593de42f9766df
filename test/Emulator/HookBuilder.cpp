//===- HookBuilder.cpp - Calls of hooks -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Instrument.h"

using namespace llvm;

namespace coll::emu {

thread_local std::vector<Place> *HookBuilder::places = nullptr;

void HookBuilder::addPlace(PlaceKind kind, Order order, Scope scope,
                           unsigned bytes) {
  if (!places)
    return;
  if (!places->empty() && places->back().site == site &&
      places->back().kind == kind)
    return; // the next element of a vector
  Place place;
  place.site = site;
  place.kind = kind;
  place.order = order;
  place.scope = scope;
  place.bytes = uint8_t(bytes);
  places->push_back(std::move(place));
}

CallInst *HookBuilder::call(StringRef name, Type *result,
                            ArrayRef<Value *> operands) {
  SmallVector<Type *> types;
  for (Value *operand : operands)
    types.push_back(operand->getType());
  llvm::Module *module = b.GetInsertBlock()->getModule();
  return b.CreateCall(module->getOrInsertFunction(
                          name, FunctionType::get(result, types, false)),
                      operands);
}

Value *HookBuilder::toHost(Value *pointer) {
  if (pointer->getType()->isIntegerTy())
    return b.CreateIntToPtr(pointer, b.getPtrTy());
  return b.CreateAddrSpaceCast(pointer, b.getPtrTy());
}

unsigned HookBuilder::bytesOf(Type *type) {
  if (type->isPointerTy())
    return 8;
  return unsigned(type->getPrimitiveSizeInBits().getFixedValue() + 7) / 8;
}

Value *HookBuilder::toBits(Value *value) {
  Type *type = value->getType();
  if (type->isPointerTy())
    return b.CreatePtrToInt(value, b.getInt64Ty());
  if (!type->isIntegerTy())
    value = b.CreateBitCast(value, b.getIntNTy(8 * bytesOf(type)));
  return b.CreateZExt(value, b.getInt64Ty());
}

Value *HookBuilder::fromBits(Value *bits, Type *type) {
  if (type->isPointerTy())
    return b.CreateIntToPtr(bits, type);
  if (type->isIntegerTy())
    return b.CreateTrunc(bits, type);
  return b.CreateBitCast(b.CreateTrunc(bits, b.getIntNTy(8 * bytesOf(type))),
                         type);
}

Value *HookBuilder::element(Value *pointer, uint64_t offset) {
  return offset ? b.CreateConstGEP1_64(b.getInt8Ty(), pointer, offset)
                : pointer;
}

void HookBuilder::weak(Value *pointer, Value *bytes, uint32_t flags,
                       uint32_t alignment) {
  call("emuWeak", b.getVoidTy(),
       {toHost(pointer), b.CreateZExt(bytes, b.getInt64Ty()), i32(flags),
        i32(alignment), i32(site)});
}

Value *HookBuilder::strongLoad(Value *pointer, Type *type, Order order,
                               Scope scope) {
  Value *host = toHost(pointer);
  Value *how = i32(pack(uint32_t(order), uint32_t(scope)));
  addPlace(PlaceKind::Load, order, scope, bytesOf(type->getScalarType()));
  auto one = [&](Type *t, uint64_t offset) {
    return fromBits(
        call("emuLoad", b.getInt64Ty(),
             {element(host, offset), i32(bytesOf(t)), how, i32(site)}),
        t);
  };
  auto *vector = dyn_cast<FixedVectorType>(type);
  if (!vector)
    return one(type, 0);
  Value *result = PoisonValue::get(type);
  for (unsigned i = 0; i < vector->getNumElements(); ++i)
    result = b.CreateInsertElement(
        result,
        one(vector->getElementType(), i * bytesOf(vector->getElementType())),
        uint64_t(i));
  return result;
}

void HookBuilder::strongStore(Value *pointer, Value *value, Order order,
                              Scope scope) {
  Value *host = toHost(pointer);
  Value *how = i32(pack(uint32_t(order), uint32_t(scope)));
  addPlace(PlaceKind::Store, order, scope,
           bytesOf(value->getType()->getScalarType()));
  auto one = [&](Value *v, uint64_t offset) {
    call("emuStore", b.getVoidTy(),
         {element(host, offset), toBits(v), i32(bytesOf(v->getType())), how,
          i32(site)});
  };
  auto *vector = dyn_cast<FixedVectorType>(value->getType());
  if (!vector)
    return one(value, 0);
  for (unsigned i = 0; i < vector->getNumElements(); ++i)
    one(b.CreateExtractElement(value, uint64_t(i)),
        i * bytesOf(vector->getElementType()));
}

Value *HookBuilder::loadLine(Value *pointer, Type *type) {
  addPlace(PlaceKind::Load, Order::Relaxed, Scope::Sys, 16);
  BasicBlock &entry = b.GetInsertBlock()->getParent()->getEntryBlock();
  auto *values = new AllocaInst(type, 0, "", entry.begin());
  call("emuLoadLine", b.getVoidTy(), {toHost(pointer), values, i32(site)});
  return b.CreateLoad(type, values);
}

void HookBuilder::storeLine(Value *pointer, Value *value) {
  addPlace(PlaceKind::Store, Order::Relaxed, Scope::Sys, 16);
  BasicBlock &entry = b.GetInsertBlock()->getParent()->getEntryBlock();
  auto *values = new AllocaInst(value->getType(), 0, "", entry.begin());
  b.CreateStore(value, values);
  call("emuStoreLine", b.getVoidTy(), {toHost(pointer), values, i32(site)});
}

Value *HookBuilder::modify(Value *pointer, Value *operand, uint32_t operation,
                           Order order, Scope scope) {
  addPlace(PlaceKind::Modify, order, scope, bytesOf(operand->getType()));
  return fromBits(
      call("emuModify", b.getInt64Ty(),
           {toHost(pointer), toBits(operand), i32(operation),
            i32(bytesOf(operand->getType())),
            i32(pack(uint32_t(order), uint32_t(scope))), i32(site)}),
      operand->getType());
}

Value *HookBuilder::swap(Value *pointer, Value *expected, Value *value,
                         Order order, Scope scope) {
  addPlace(PlaceKind::Modify, order, scope, bytesOf(value->getType()));
  return fromBits(
      call("emuSwap", b.getInt64Ty(),
           {toHost(pointer), toBits(expected), toBits(value),
            i32(bytesOf(value->getType())),
            i32(pack(uint32_t(order), uint32_t(scope))), i32(site)}),
      value->getType());
}

void HookBuilder::fenceAliases() {
  addPlace(PlaceKind::Fence, Order::Relaxed, Scope::Weak, 0);
  call("emuAliasFence", b.getVoidTy(), {i32(site)});
}

void HookBuilder::fence(Order order, Scope scope) {
  addPlace(PlaceKind::Fence, order, scope, 0);
  call("emuFence", b.getVoidTy(),
       {i32(pack(uint32_t(order), uint32_t(scope))), i32(site)});
}

} // namespace coll::emu
