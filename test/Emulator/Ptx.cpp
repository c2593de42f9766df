//===- Ptx.cpp - Inline PTX -----------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each instruction is taken apart into its name, its modifiers and its operands
// and becomes calls of hooks. A modifier that is not known here is an error,
// not something to skip: what is judged must be what runs.
//
//===----------------------------------------------------------------------===//

#include "Instrument.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/IR/InlineAsm.h"

using namespace llvm;

namespace coll::emu {

namespace {
/// One instruction and the values of its operands.
struct PtxLowering {
  HookBuilder &h;
  CallInst *call;
  SmallVector<Type *> results;  // of the outputs, $0 and up
  SmallVector<Value *> outputs; // null until written

  SmallVector<StringRef> modifiers; // behind the first, less what was taken
  StringRef name;
  SmallVector<StringRef> operands;

  bool take(StringRef modifier) {
    auto it = llvm::find(modifiers, modifier);
    if (it == modifiers.end())
      return false;
    modifiers.erase(it);
    return true;
  }
  Scope takeScope(Scope otherwise) {
    if (take("cta"))
      return Scope::Cta;
    if (take("gpu") || take("cluster"))
      return Scope::Gpu;
    if (take("sys"))
      return Scope::Sys;
    return otherwise;
  }
  std::optional<Order> takeOrder() {
    for (auto &[text, order] : {std::pair("relaxed", Order::Relaxed),
                                {"acquire", Order::Acquire},
                                {"release", Order::Release},
                                {"acq_rel", Order::AcqRel},
                                {"sc", Order::SeqCst}})
      if (take(text))
        return order;
    return std::nullopt;
  }
  void takeSpace() {
    for (const char *space : {"global", "shared", "shared::cta", "generic"})
      if (take(space))
        return;
  }

  /// Number of an operand $n, or nothing.
  std::optional<unsigned> number(StringRef text) {
    unsigned n;
    text = text.trim();
    if (!text.consume_front("$") || text.getAsInteger(10, n))
      return std::nullopt;
    return n;
  }
  Value *input(StringRef text) {
    if (auto n = number(text)) {
      if (*n < outputs.size())
        return outputs[*n];
      return *n - outputs.size() < call->arg_size()
                 ? call->getArgOperand(*n - unsigned(outputs.size()))
                 : nullptr;
    }
    int64_t value;
    return text.trim().getAsInteger(0, value) ? nullptr
                                              : h.b.getInt32(uint32_t(value));
  }
  bool setOutput(StringRef text, Value *value) {
    auto n = number(text);
    if (!n || *n >= outputs.size())
      return false;
    Type *type = results[*n];
    Value *bits = h.toBits(value);
    outputs[*n] = h.fromBits(bits, type);
    return true;
  }
  /// [$n] or [$n+offset].
  Value *address(StringRef text) {
    text = text.trim();
    if (!text.consume_front("[") || !text.consume_back("]"))
      return nullptr;
    auto [base, offset] = text.split('+');
    Value *pointer = input(base);
    uint64_t bytes = 0;
    if (!pointer || (!offset.empty() && offset.trim().getAsInteger(0, bytes)))
      return nullptr;
    return h.element(h.toHost(pointer), bytes);
  }
  SmallVector<StringRef> list(StringRef text) {
    SmallVector<StringRef> parts;
    text = text.trim();
    if (text.consume_front("{") && text.consume_back("}"))
      text.split(parts, ',');
    else
      parts.push_back(text);
    return parts;
  }
  /// Bytes of one element; the last modifier.
  unsigned takeType(char &kind) {
    if (modifiers.empty())
      return 0;
    StringRef text = modifiers.pop_back_val();
    unsigned bits = 0;
    kind = text.front();
    if (text.drop_front().getAsInteger(10, bits))
      return 0;
    return bits / 8;
  }
  unsigned takeVector() { return take("v2") ? 2 : take("v4") ? 4 : 1; }

  bool lowerLoad();
  bool lowerStore();
  bool lowerAtomic(bool hasResult);
  bool lowerFence();
  bool lowerMulticast();
  bool lower();
};
} // namespace

bool PtxLowering::lowerLoad() {
  char kind = 'b';
  unsigned bytes = takeType(kind);
  bool isVolatile = take("volatile"), isNc = take("nc");
  take("weak");
  std::optional<Order> order = takeOrder();
  Scope scope = takeScope(Scope::Sys);
  takeSpace();
  unsigned count = takeVector();
  for (const char *hint : {"L1::no_allocate", "L1::evict_first",
                           "L1::evict_last", "L2::128B", "L2::256B"})
    take(hint);
  if (!bytes || bytes > 8 || !modifiers.empty() || operands.size() != 2)
    return false;
  Value *pointer = address(operands[1]);
  SmallVector<StringRef> targets = list(operands[0]);
  if (!pointer || targets.size() != count)
    return false;
  Type *type = h.b.getIntNTy(8 * bytes);
  if (!order && !isVolatile)
    h.weak(pointer, h.b.getInt64(bytes * count),
           isNc ? uint32_t(kNonCoherent) : 0, bytes * count);
  for (unsigned i = 0; i < count; ++i) {
    Value *at = h.element(pointer, i * bytes);
    Value *value =
        order || isVolatile
            ? h.strongLoad(at, type, order.value_or(Order::Relaxed), scope)
            : h.b.CreateLoad(type, at);
    if (kind == 's' && bytes < 4)
      value = h.b.CreateSExt(value, h.b.getInt32Ty());
    if (!setOutput(targets[i], value))
      return false;
  }
  return true;
}

bool PtxLowering::lowerStore() {
  char kind = 'b';
  unsigned bytes = takeType(kind);
  bool isVolatile = take("volatile");
  take("weak");
  std::optional<Order> order = takeOrder();
  Scope scope = takeScope(Scope::Sys);
  takeSpace();
  unsigned count = takeVector();
  if (!bytes || bytes > 8 || !modifiers.empty() || operands.size() != 2)
    return false;
  Value *pointer = address(operands[0]);
  SmallVector<StringRef> sources = list(operands[1]);
  if (!pointer || sources.size() != count)
    return false;
  if (!order && !isVolatile)
    h.weak(pointer, h.b.getInt64(bytes * count), kWrite, bytes * count);
  for (unsigned i = 0; i < count; ++i) {
    Value *source = input(sources[i]);
    if (!source)
      return false;
    Value *value = h.b.CreateTrunc(h.toBits(source), h.b.getIntNTy(8 * bytes));
    Value *at = h.element(pointer, i * bytes);
    if (order || isVolatile)
      h.strongStore(at, value, order.value_or(Order::Relaxed), scope);
    else
      h.b.CreateStore(value, at);
  }
  return true;
}

bool PtxLowering::lowerAtomic(bool hasResult) {
  char kind = 'b';
  unsigned bytes = takeType(kind);
  Order order = takeOrder().value_or(Order::Relaxed);
  Scope scope = takeScope(Scope::Gpu);
  takeSpace();
  if ((bytes != 4 && bytes != 8) || operands.size() < (hasResult ? 3u : 2u))
    return false;
  Value *pointer = address(operands[hasResult ? 1 : 0]);
  Value *operand = input(operands[hasResult ? 2 : 1]);
  if (!pointer || !operand || modifiers.size() != 1)
    return false;
  Type *type = h.b.getIntNTy(8 * bytes);
  auto narrow = [&](Value *v) { return h.b.CreateTrunc(h.toBits(v), type); };
  Value *old = nullptr;
  if (modifiers[0] == "cas") {
    Value *value =
        hasResult && operands.size() == 4 ? input(operands[3]) : nullptr;
    if (!value)
      return false;
    old = h.swap(pointer, narrow(operand), narrow(value), order, scope);
  } else {
    bool isSigned = kind == 's', isFloat = kind == 'f';
    uint32_t operation = StringSwitch<uint32_t>(modifiers[0])
                             .Case("exch", kExchange)
                             .Case("add", !isFloat     ? kAdd
                                          : bytes == 4 ? kFAdd32
                                                       : kFAdd64)
                             .Case("and", kAnd)
                             .Case("or", kOr)
                             .Case("xor", kXor)
                             .Case("min", isSigned ? kMin : kUMin)
                             .Case("max", isSigned ? kMax : kUMax)
                             .Case("inc", kInc)
                             .Case("dec", kDec)
                             .Default(~0u);
    if (operation == ~0u)
      return false;
    old = h.modify(pointer, narrow(operand), operation, order, scope);
  }
  return !hasResult || setOutput(operands[0], old);
}

bool PtxLowering::lowerFence() {
  if (name == "membar") {
    Scope scope = take("cta")   ? Scope::Cta
                  : take("gl")  ? Scope::Gpu
                  : take("sys") ? Scope::Sys
                                : Scope::Weak;
    if (scope == Scope::Weak || !modifiers.empty())
      return false;
    h.fence(Order::SeqCst, scope); // PTX ISA: a synonym of fence.sc
    return true;
  }
  if (take("proxy")) {
    if (!take("alias") || !modifiers.empty())
      return false;
    h.fenceAliases();
    return true;
  }
  std::optional<Order> order = takeOrder();
  Scope scope = takeScope(Scope::Weak);
  if (scope == Scope::Weak || !modifiers.empty())
    return false;
  h.fence(order.value_or(Order::AcqRel), scope);
  return true;
}

/// Registers go through an array on the thread's stack.
bool PtxLowering::lowerMulticast() {
  SmallVector<StringRef> all(modifiers);
  std::string text = join(all, ".");
  uint32_t operation =
      StringSwitch<uint32_t>(text)
          .Case("st.weak.global.v4.f32", kMulticastStore)
          .Case("ld_reduce.weak.global.add.v4.f32", kAddF32)
          .Case("ld_reduce.weak.global.add.acc::f32.v4.f16x2", kAddF16)
          .Case("ld_reduce.weak.global.add.acc::f32.v4.bf16x2", kAddBf16)
          .Default(~0u);
  if (operation == ~0u || operands.size() != 2)
    return false;
  bool isStore = operation == kMulticastStore;
  Value *pointer = address(operands[isStore ? 0 : 1]);
  SmallVector<StringRef> registers = list(operands[isStore ? 1 : 0]);
  if (!pointer || registers.size() != 4)
    return false;
  BasicBlock &entry = call->getFunction()->getEntryBlock();
  Type *word = h.b.getInt32Ty();
  auto *array = new AllocaInst(ArrayType::get(word, 4), 0, "", entry.begin());
  for (unsigned i = 0; isStore && i < 4; ++i) {
    Value *value = input(registers[i]);
    if (!value)
      return false;
    h.b.CreateStore(h.b.CreateTrunc(h.toBits(value), word),
                    h.element(array, 4 * i));
  }
  h.call("emuMulticast", h.b.getVoidTy(),
         {pointer, array, h.i32(operation), h.i32(h.site)});
  for (unsigned i = 0; !isStore && i < 4; ++i)
    if (!setOutput(registers[i], h.b.CreateLoad(word, h.element(array, 4 * i))))
      return false;
  return true;
}

bool PtxLowering::lower() {
  if (name == "multimem")
    return lowerMulticast();
  if (name == "ld")
    return lowerLoad();
  if (name == "st")
    return lowerStore();
  if (name == "atom" || name == "red")
    return lowerAtomic(name == "atom");
  if (name == "fence" || name == "membar")
    return lowerFence();
  if (name == "bar" || name == "barrier") {
    take("cta");
    bool isAligned = name == "bar" || take("aligned");
    Value *id = operands.empty() ? nullptr : input(operands[0]);
    Value *count = operands.size() > 1 ? input(operands[1]) : h.i32(0);
    bool isArrive = take("arrive");
    if (!id || !count || (!isArrive && !take("sync")) || !modifiers.empty())
      return false;
    h.addPlace(PlaceKind::Barrier, Order::AcqRel, Scope::Cta, 0);
    h.call("emuBarrier", h.b.getVoidTy(),
           {id, count, h.i32(isAligned), h.i32(!isArrive), h.i32(h.site)});
    return true;
  }
  if (name == "nanosleep") {
    h.call("emuPause", h.b.getVoidTy(), {h.i32(h.site)});
    return true;
  }
  if (name == "mov" && operands.size() == 2) {
    StringRef from = operands[1].trim();
    if (from == "%laneid")
      return setOutput(operands[0],
                       h.call("emuRegister", h.b.getInt32Ty(), {h.i32(kLane)}));
    if (from == "%globaltimer")
      return setOutput(operands[0], h.call("emuTime", h.b.getInt64Ty(), {}));
    Value *value = input(from);
    return value && setOutput(operands[0], value);
  }
  return false;
}

/// Splits at commas outside of braces and brackets.
static SmallVector<StringRef> splitOperands(StringRef text) {
  SmallVector<StringRef> parts;
  int depth = 0;
  size_t begin = 0;
  for (size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && (text[i] == '{' || text[i] == '['))
      ++depth;
    if (i < text.size() && (text[i] == '}' || text[i] == ']'))
      --depth;
    if (i == text.size() || (text[i] == ',' && depth == 0)) {
      StringRef part = text.slice(begin, i).trim();
      if (!part.empty())
        parts.push_back(part);
      begin = i + 1;
    }
  }
  return parts;
}

std::string lowerPtx(CallInst *call, uint32_t site) {
  auto *assembly = cast<InlineAsm>(call->getCalledOperand());
  HookBuilder h(call, site);
  PtxLowering ptx{h, call, {}, {}, {}, {}, {}};
  if (auto *type = dyn_cast<StructType>(call->getType()))
    ptx.results.append(type->element_begin(), type->element_end());
  else if (!call->getType()->isVoidTy())
    ptx.results.push_back(call->getType());
  ptx.outputs.resize(ptx.results.size());
  StringRef text = assembly->getAsmString();
  SmallVector<StringRef> statements;
  text.split(statements, ';');
  for (StringRef statement : statements) {
    statement = statement.trim();
    if (statement.empty())
      continue;
    auto [head, tail] = statement.split(' ');
    ptx.modifiers.clear();
    head.trim().split(ptx.modifiers, '.');
    ptx.name = ptx.modifiers.front();
    ptx.modifiers.erase(ptx.modifiers.begin());
    ptx.operands = splitOperands(tail);
    if (!ptx.lower())
      return "inline PTX that is not known here ('" + statement.str() + "')";
  }
  for (Value *output : ptx.outputs)
    if (!output)
      return "inline PTX with a result that it does not set";
  Value *result = nullptr;
  if (isa<StructType>(call->getType())) {
    result = PoisonValue::get(call->getType());
    for (unsigned i = 0; i < ptx.outputs.size(); ++i)
      result = h.b.CreateInsertValue(result, ptx.outputs[i], i);
  } else if (!ptx.outputs.empty()) {
    result = ptx.outputs[0];
  }
  if (result)
    call->replaceAllUsesWith(result);
  call->eraseFromParent();
  return "";
}

} // namespace coll::emu
