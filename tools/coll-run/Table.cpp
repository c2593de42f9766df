//===- Table.cpp - nccl-tests' table --------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/coll-run/Table.h"

#include "lib/Lowering/Formats.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>

using namespace coll;

double coll::busFactor(const std::string &contract, uint32_t ranks) {
  double n = ranks;
  if (contract == "allreduce")
    return 2 * (n - 1) / n;
  if (contract == "allgather" || contract == "reduce_scatter" ||
      contract == "alltoall" || contract == "alltoallv" ||
      contract == "allgatherv")
    return (n - 1) / n;
  return 1;
}

/// To the stream that remembers what went wrong.
[[gnu::format(printf, 1, 2)]] static void print(const char *format, ...) {
  char text[1024];
  va_list arguments;
  va_start(arguments, format);
  int length = vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  llvm::outs() << llvm::StringRef(text,
                                  std::clamp<int>(length, 0, sizeof text - 1));
}

/// Without elements there is no type and no op.
static const char *typeOf(const Row &row) {
  return hasElements(*row.graph)
             ? lowering::nameOf(static_cast<lowering::Format>(row.call.dtype))
             : "none";
}

static std::string opOf(const Row &row) {
  return row.graph->reduces && hasElements(*row.graph)
             ? lowering::nameOf(static_cast<lowering::ReduceOp>(row.call.op))
             : "none";
}

static std::string rootOf(const Row &row) {
  std::string text;
  for (int value : row.launch)
    text += (text.empty() ? "" : ":") + std::to_string(value);
  return text.empty() ? "-1" : text;
}

static std::string timeOf(double seconds) {
  double us = seconds * 1e6;
  char text[32];
  snprintf(text, sizeof text,
           us < 100     ? "%.2f"
           : us < 10000 ? "%.1f"
                        : "%.0f",
           us);
  return text;
}

bool Table::isWritten() const { return !llvm::outs().has_error(); }

void Table::printHead() {
  if (options.csv) {
    print("schedule,ranks,mode,size_bytes,count,type,redop,root,time_us,algbw_"
          "GBps,busbw_GBps,wrong\n");
    llvm::outs().flush();
    return;
  }
  llvm::outs() << "# " << title << "\n#\n";
  print("# %52s %-36s%s\n", "", "out-of-place", "in-place");
  print("# %10s %12s %6s %10s %6s  %9s %7s %7s %6s  %9s %7s %7s %6s\n", "size",
        "count", "type", "redop", "root", "time", "algbw", "busbw", "#wrong",
        "time", "algbw", "busbw", "#wrong");
  print("# %10s %12s %6s %10s %6s  %9s %7s %7s %6s  %9s %7s %7s %6s\n", "(B)",
        "(elements)", "", "", "", "(us)", "(GB/s)", "(GB/s)", "", "(us)",
        "(GB/s)", "(GB/s)", "");
  llvm::outs().flush();
}

static void printCells(const Cells &cells, double bytes, double factor,
                       bool checked) {
  if (!cells.present) {
    print("  %9s %7s %7s %6s", "-", "-", "-", "-");
    return;
  }
  double bandwidth = bytes / cells.seconds / 1e9;
  std::string wrong = checked ? std::to_string(cells.wrong) : "N/A";
  print("  %9s %7.2f %7.2f %6s", timeOf(cells.seconds).c_str(), bandwidth,
        bandwidth * factor, wrong.c_str());
}

void Table::printCsv(const Row &row, const char *mode, const Cells &cells) {
  if (!cells.present)
    return;
  double bandwidth = static_cast<double>(row.bytes) / cells.seconds / 1e9;
  print("%s,%u,%s,%llu,%llu,%s,%s,%s,%.3f,%.4f,%.4f,%s\n",
        row.graph->schedule.c_str(), numRanks, mode,
        static_cast<unsigned long long>(row.bytes),
        static_cast<unsigned long long>(row.elements), typeOf(row),
        opOf(row).c_str(), rootOf(row).c_str(), cells.seconds * 1e6, bandwidth,
        bandwidth * busFactor(row.graph->contract, numRanks),
        options.check ? std::to_string(cells.wrong).c_str() : "");
}

void Table::printRow(const Row &row, const Cells &outOfPlace,
                     const Cells &inPlace) {
  double factor = busFactor(row.graph->contract, numRanks);
  for (const Cells *cells : {&outOfPlace, &inPlace})
    if (cells->present) {
      wrong += cells->wrong;
      busSum += static_cast<double>(row.bytes) / cells->seconds / 1e9 * factor;
      ++busRows;
    }
  if (options.csv) {
    printCsv(row, "out-of-place", outOfPlace);
    printCsv(row, "in-place", inPlace);
  } else {
    print("  %10llu %12llu %6s %10s %6s",
          static_cast<unsigned long long>(row.bytes),
          static_cast<unsigned long long>(row.elements), typeOf(row),
          opOf(row).c_str(), rootOf(row).c_str());
    printCells(outOfPlace, static_cast<double>(row.bytes), factor,
               options.check);
    printCells(inPlace, static_cast<double>(row.bytes), factor, options.check);
    print("\n");
  }
  llvm::outs().flush();
}

void Table::printBytes(const Row &row, const Job &job) {
  double size = row.bytes ? static_cast<double>(row.bytes) : 1;
  for (Rank r = 0; r < numRanks; ++r) {
    const RankResult &result = job.state->results[r];
    print("# rank %u: read %llu bytes (%.4f of the size), wrote %llu (%.4f)\n",
          r, static_cast<unsigned long long>(result.bytesRead),
          static_cast<double>(result.bytesRead) / size,
          static_cast<unsigned long long>(result.bytesWritten),
          static_cast<double>(result.bytesWritten) / size);
  }
}

void Table::printFoot() {
  if (options.csv)
    return;
  if (options.check)
    print("# Out of bounds values : %llu %s\n",
          static_cast<unsigned long long>(wrong), wrong ? "FAILED" : "OK");
  print("# Avg bus bandwidth    : %.4g GB/s\n",
        busRows ? busSum / static_cast<double>(busRows) : 0.0);
}
