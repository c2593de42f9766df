//===- Mutate.h - Device code with one fault --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COLL_TEST_EMULATOR_MUTATE_H
#define COLL_TEST_EMULATOR_MUTATE_H

#include <string>
#include <vector>

namespace coll::emu {

struct Mutant {
  std::string kind;  // a row of the table of memory orders
  std::string where; // function and instruction
  std::string code;  // bitcode
};

/// Every mutant of a kernel in a module. An error text on failure.
std::string makeMutants(const std::string &code, const std::string &kernel,
                        std::vector<Mutant> &mutants);

} // namespace coll::emu

#endif // COLL_TEST_EMULATOR_MUTATE_H
