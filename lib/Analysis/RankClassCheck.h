//===- RankClassCheck.h - Do classes say what programs say? -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The second verification is of programs; objects are written from classes. So
// every rank's program is put together again from its class, as a runtime does
// it, and compared with the one that was verified. Of how classes are found it
// knows nothing.
//
//===----------------------------------------------------------------------===//
#ifndef COLL_LIB_ANALYSIS_RANKCLASSCHECK_H
#define COLL_LIB_ANALYSIS_RANKCLASSCHECK_H

#include "lib/Analysis/RankClass.h"

#include <string>

namespace coll {

/// What is wrong first; "": nothing.
std::string checkClasses(const ProgramSet &programs, const ClassSet &set);

} // namespace coll

#endif // COLL_LIB_ANALYSIS_RANKCLASSCHECK_H
