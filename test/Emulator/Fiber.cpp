//===- Fiber.cpp - Contexts of execution ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Fiber.h"

#if defined(__x86_64__)
extern "C" void collEmuSwitch(void **from, void *to);
asm(R"(
.text
.type collEmuSwitch, @function
collEmuSwitch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size collEmuSwitch, .-collEmuSwitch
)");
#endif

namespace coll::emu {

#if defined(__x86_64__)
void prepare(Context &context, void *stack, size_t bytes, void (*entry)()) {
  // A function expects the stack eight bytes off a multiple of sixteen.
  auto top = (reinterpret_cast<uintptr_t>(stack) + bytes) & ~uintptr_t(15);
  auto *words = reinterpret_cast<uintptr_t *>(top);
  words[-1] = 0; // the return address that is never used
  words[-2] = reinterpret_cast<uintptr_t>(entry);
  for (int i = 3; i <= 8; ++i)
    words[-i] = 0; // rbp, rbx, r12 to r15
  context.stackPointer = words - 8;
}

void switchTo(Context &from, Context &to) {
  collEmuSwitch(&from.stackPointer, to.stackPointer);
}
#else
void prepare(Context &context, void *stack, size_t bytes, void (*entry)()) {
  getcontext(&context.context);
  context.context.uc_stack.ss_sp = stack;
  context.context.uc_stack.ss_size = bytes;
  context.context.uc_link = nullptr;
  makecontext(&context.context, entry, 0);
}

void switchTo(Context &from, Context &to) {
  swapcontext(&from.context, &to.context);
}
#endif

} // namespace coll::emu
