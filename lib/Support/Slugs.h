//===- Slugs.h - The kinds of diagnostics ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef COLL_LIB_SUPPORT_SLUGS_H
#define COLL_LIB_SUPPORT_SLUGS_H

#include <cstdint>

namespace coll {

/// The name of a kind of diagnostic; every one has a section in
/// docs/Diagnostics.md. Slugs.def lists them.
enum class Slug : uint16_t {
#define COLL_SLUG(NAME, TEXT, SUMMARY) NAME,
#include "lib/Support/Slugs.def"
};

} // namespace coll

#endif // COLL_LIB_SUPPORT_SLUGS_H
