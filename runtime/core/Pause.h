//===- Pause.h - Waiting a moment without giving up the core ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COLL_RUNTIME_CORE_PAUSE_H
#define COLL_RUNTIME_CORE_PAUSE_H

namespace coll {

/// Tells the processor that this is a spinning loop.
inline void pauseCore() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("isb" ::: "memory"); // about as long as x86's pause
#endif
}

} // namespace coll

#endif // COLL_RUNTIME_CORE_PAUSE_H
