//===- Fiber.h - Contexts of execution --------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A switch saves what the calling convention wants kept, nothing else: about
// two nanoseconds on x86-64. Elsewhere ucontext.
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
};

/// `entry` begins on the stack at the first switch to the context. It must not
/// return.
void prepare(Context &context, void *stack, size_t bytes, void (*entry)());
void switchTo(Context &from, Context &to);

} // namespace coll::emu

#endif // COLL_TEST_EMULATOR_FIBER_H
