//===- Fiber.cpp - Contexts of execution ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Fiber.h"

#if defined(__SANITIZE_ADDRESS__)
#define COLL_ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define COLL_ADDRESS_SANITIZER 1
#endif
#endif
#if defined(COLL_ADDRESS_SANITIZER)
#include <sanitizer/common_interface_defs.h>
#endif

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

//===----------------------------------------------------------------------===//
// What AddressSanitizer is told
//===----------------------------------------------------------------------===//

#if defined(COLL_ADDRESS_SANITIZER)
/// Thousands of stacks with a shadow of their own take ten times as long. What
/// is left for good returns from no function, so its strings are never freed.
extern "C" const char *__asan_default_options() {
  return "detect_stack_use_after_return=0:detect_leaks=0";
}

/// Whom this thread has left last; null: for good.
static thread_local Context *left;

/// `frames` keeps what belongs to the stack that is left; null: nothing.
static void beforeSwitch(Context *from, void **frames, const Context &to) {
  left = from;
  __sanitizer_start_switch_fiber(frames, to.stack, to.stackBytes);
}

/// On the stack that was switched to.
static void afterSwitch(void *frames) {
  const void *stack;
  size_t bytes;
  __sanitizer_finish_switch_fiber(frames, &stack, &bytes);
  if (left) {
    left->stack = stack;
    left->stackBytes = bytes;
  }
}
#else
static void beforeSwitch(Context *, void **, const Context &) {}
static void afterSwitch(void *) {}
#endif

//===----------------------------------------------------------------------===//
// Switches
//===----------------------------------------------------------------------===//

#if defined(__x86_64__)
static void begin(Context &context, void (*entry)()) {
  // A function expects the stack eight bytes off a multiple of sixteen.
  auto top = (reinterpret_cast<uintptr_t>(context.stack) + context.stackBytes) &
             ~uintptr_t(15);
  auto *words = reinterpret_cast<uintptr_t *>(top);
  words[-1] = 0; // the return address that is never used
  words[-2] = reinterpret_cast<uintptr_t>(entry);
  for (int i = 3; i <= 8; ++i)
    words[-i] = 0; // rbp, rbx, r12 to r15
  context.stackPointer = words - 8;
}

static void exchange(Context &from, Context &to) {
  collEmuSwitch(&from.stackPointer, to.stackPointer);
}
#else
static void begin(Context &context, void (*entry)()) {
  getcontext(&context.context);
  context.context.uc_stack.ss_sp = const_cast<void *>(context.stack);
  context.context.uc_stack.ss_size = context.stackBytes;
  context.context.uc_link = nullptr;
  makecontext(&context.context, entry, 0);
}

static void exchange(Context &from, Context &to) {
  swapcontext(&from.context, &to.context);
}
#endif

void prepare(Context &context, void *stack, size_t bytes, void (*entry)()) {
  context.stack = stack;
  context.stackBytes = bytes;
  begin(context, entry);
}

void arrive() { afterSwitch(nullptr); }

void switchTo(Context &from, Context &to) {
  void *frames = nullptr;
  beforeSwitch(&from, &frames, to);
  exchange(from, to);
  afterSwitch(frames);
}

void leaveFor(Context &to) {
  // Not a local variable: those may be gone before the stack is left.
  static thread_local Context nowhere;
  beforeSwitch(nullptr, nullptr, to);
  exchange(nowhere, to);
  __builtin_unreachable();
}

} // namespace coll::emu
