//===- StreamProbe.h - What is fast between processors ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COLL_RUNTIME_CORE_STREAMPROBE_H
#define COLL_RUNTIME_CORE_STREAMPROBE_H

#include "runtime/core/Environment.h"

namespace coll {

/// Whether handing data from one of these processors, those of all ranks, to
/// another is faster when it is stored past the caches. Measured once per
/// process, in a few milliseconds; where it cannot be (one processor alone, no
/// thread to be had), what is usual for the architecture.
bool streamsPay(const CpuMask &cpus);

/// Whether moving bytes by the kernel from process to process is faster than
/// slots. Measured once per process as well; false where it cannot be done.
bool remotePays(const CpuMask &cpus);

/// A launch that touches more bytes of one rank's buffers stores its outputs
/// past the caches as well: what `ranks` ranks touch does not fit the last one.
uint64_t streamOutBytes(int ranks);

} // namespace coll

#endif // COLL_RUNTIME_CORE_STREAMPROBE_H
