//===- Table.h - nccl-tests' table ------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COLL_TOOLS_COLL_RUN_TABLE_H
#define COLL_TOOLS_COLL_RUN_TABLE_H

#include "tools/coll-run/Job.h"

namespace coll {

/// One mode of one row.
struct Cells {
  bool present = false;
  double seconds = 0; // a launch, mean over ranks
  uint64_t wrong = 0;
};

/// busbw / algbw, as nccl-tests' doc/PERFORMANCE.md defines it.
double busFactor(const std::string &contract, uint32_t ranks);

class Table {
public:
  Table(const RunOptions &options, uint32_t numRanks, std::string title)
      : options(options), numRanks(numRanks), title(std::move(title)) {}
  void printHead();
  void printRow(const Row &row, const Cells &outOfPlace, const Cells &inPlace);
  /// What the kernels of the row counted, per rank, in units of the row's size.
  void printBytes(const Row &row, const Job &job);
  void printFoot();
  uint64_t totalWrong() const { return wrong; }
  bool isWritten() const; // all of what was printed

private:
  void printCsv(const Row &row, const char *mode, const Cells &cells);
  const RunOptions &options;
  uint32_t numRanks;
  std::string title;
  uint64_t wrong = 0;
  double busSum = 0;
  uint64_t busRows = 0;
};

} // namespace coll
#endif // COLL_TOOLS_COLL_RUN_TABLE_H
