//===- Mutate.h - Device code with one fault --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COLL_TEST_EMULATOR_MUTATE_H
#define COLL_TEST_EMULATOR_MUTATE_H

#include <string>
#include <vector>

namespace coll::emu {

struct Mutant {
  std::string kind;     // a row of the table of memory orders
  std::string function; // of the library, or "kernel"
  std::string text;     // the instruction
  bool isInLoop = false;
  std::string code; // bitcode, which calls emuReached where it differs

  std::string where() const { return function + ": " + text; }
};

/// Why no run can tell the mutant from its original; empty: some run can.
std::string whyEquivalent(const Mutant &mutant);

/// Every mutant of a kernel in a module. An error text on failure.
std::string makeMutants(const std::string &code, const std::string &kernel,
                        std::vector<Mutant> &mutants);

} // namespace coll::emu

#endif // COLL_TEST_EMULATOR_MUTATE_H
