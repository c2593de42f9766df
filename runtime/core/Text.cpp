//===- Text.cpp - How ranks, times and names are written ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/core/Text.h"
#include "runtime/core/Status.h"

namespace coll {

std::string ranksText(const std::vector<int> &ranks) {
  constexpr size_t maxParts = 8;
  std::vector<std::string> parts;
  size_t shown = 0;
  while (shown != ranks.size() && parts.size() != maxParts) {
    size_t end = shown + 1;
    while (end != ranks.size() && ranks[end] == ranks[end - 1] + 1)
      ++end;
    bool isRun = end - shown >= 3;
    parts.push_back(isRun ? format("%d..%d", ranks[shown], ranks[end - 1])
                          : format("%d", ranks[shown]));
    shown = isRun ? end : shown + 1;
  }
  if (shown != ranks.size())
    parts.push_back(format("%zu more", ranks.size() - shown));
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (size_t i = 0; i != parts.size(); ++i)
    text += (i == 0 ? "" : i + 1 == parts.size() ? " and " : ", ") + parts[i];
  return text;
}

std::string durationText(uint64_t ns) {
  double seconds = double(ns) * 1e-9;
  if (seconds < 1)
    return format("%.0f ms", seconds * 1e3);
  if (seconds < 120)
    return format("%.1f s", seconds);
  return format("%.0f min", seconds / 60);
}

std::string dtypeText(unsigned dtype) {
  static const char *const names[] = {"i8",  "u8",  "i32",  "u32",
                                      "i64", "u64", "f16",  "bf16",
                                      "f32", "f64", "e4m3", "e5m2"};
  static_assert(COLL_I8 == 0 && COLL_E5M2 == 11 && std::size(names) == 12);
  return dtype < std::size(names) ? names[dtype] : format("dtype %u", dtype);
}

std::string opText(unsigned op) {
  static const char *const names[] = {"sum", "prod", "min",
                                      "max", "avg",  "premul_sum"};
  static_assert(COLL_SUM == 0 && COLL_PREMUL_SUM == 5 && std::size(names) == 6);
  return op < std::size(names) ? names[op] : format("op %u", op);
}

std::string hexText(const void *bytes, size_t count) {
  std::string text;
  for (size_t i = 0; i != count; ++i)
    text += format("%02x", static_cast<const unsigned char *>(bytes)[i]);
  return text;
}

} // namespace coll
