//===- Fiber.h - Contexts of execution --------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A switch saves what the calling convention wants kept, nothing else: about
// two nanoseconds on x86-64. Elsewhere ucontext. AddressSanitizer is told which
// stack is in use.
//
//===----------------------------------------------------------------------===//
#ifndef COLL_TEST_EMULATOR_FIBER_H
#define COLL_TEST_EMULATOR_FIBER_H

#include <cstddef>
#include <cstdint>
#if !defined(__x86_64__)
#include <ucontext.h>
#endif

namespace coll::emu {

struct Context {
#if defined(__x86_64__)
  void *stackPointer = nullptr;
#else
  ucontext_t context;
#endif
  /// The stack it runs on. Of a context that was never prepared, a thread's
  /// own, it is known once that has been left.
  const void *stack = nullptr;
  size_t stackBytes = 0;
};

/// `entry` begins on the stack at the first switch to the context. It calls
/// arrive() first, and must not return.
void prepare(Context &context, void *stack, size_t bytes, void (*entry)());
void arrive();
void switchTo(Context &from, Context &to);
/// The same for good: nobody comes back.
[[noreturn]] void leaveFor(Context &to);

} // namespace coll::emu

#endif // COLL_TEST_EMULATOR_FIBER_H
