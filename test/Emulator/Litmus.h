//===- Litmus.h - Small kernels under many seeds ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COLL_TEST_EMULATOR_LITMUS_H
#define COLL_TEST_EMULATOR_LITMUS_H

#include "Emulator.h"

#include <map>

namespace coll::emu {

/// Kernels @k0, @k1, ... of (ptr %mem, ptr %out), launched once each on the
/// device of that number (or all on device 0), one block of `threads`.
struct Litmus {
  std::string code;
  unsigned kernels = 2, threads = 1, seeds = 100;
  bool isOneDevice = false, check = true, linesInOrder = true;
  bool lateReleases = false;
  /// %mem begins with its multicast address, whose only copy it is.
  bool hasMulticast = false;
};

struct LitmusResult {
  unsigned failed = 0;                                // seeds with a report
  std::map<std::string, unsigned> kinds;              // first report of a seed
  std::map<std::vector<uint64_t>, unsigned> outcomes; // out[0..4)
  std::string error, firstReport;
};

/// %mem: 4 KiB of zeros on device 0, %out: 4 words.
LitmusResult run(const Litmus &litmus);

/// Wraps bodies into kernels, with names for what they use.
std::string kernels(const std::vector<std::string> &bodies);

} // namespace coll::emu

#endif // COLL_TEST_EMULATOR_LITMUS_H
