//===- Text.h - How ranks, times and names are written ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COLL_RUNTIME_CORE_TEXT_H
#define COLL_RUNTIME_CORE_TEXT_H

#include <cstdint>
#include <string>
#include <vector>

namespace coll {

/// "rank 3", "ranks 0..2 and 5": ascending ranks, runs of three and more
/// joined (both ends included), at most eight runs and then "N more".
std::string ranksText(const std::vector<int> &ranks);

/// "350 ms", "12.3 s", "4 min".
std::string durationText(uint64_t ns);

/// "f32" and "sum"; "dtype 200" for what is none.
std::string dtypeText(unsigned dtype);
std::string opText(unsigned op);

/// Bytes as lower-case hexadecimal digits.
std::string hexText(const void *bytes, size_t count);

} // namespace coll

#endif // COLL_RUNTIME_CORE_TEXT_H
