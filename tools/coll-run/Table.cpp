//===- Table.cpp - nccl-tests' table --------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/coll-run/Table.h"

#include "lib/Lowering/Formats.h"

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

void Table::printHead() {
  if (job.options.csv) {
    printf("schedule,ranks,mode,size_bytes,count,type,redop,root,time_us,algbw_"
           "GBps,busbw_GBps,wrong\n");
    return;
  }
  printf("# %s\n#\n", title.c_str());
  printf("# %52s %-36s%s\n", "", "out-of-place", "in-place");
  printf("# %10s %12s %6s %10s %6s  %9s %7s %7s %6s  %9s %7s %7s %6s\n", "size",
         "count", "type", "redop", "root", "time", "algbw", "busbw", "#wrong",
         "time", "algbw", "busbw", "#wrong");
  printf("# %10s %12s %6s %10s %6s  %9s %7s %7s %6s  %9s %7s %7s %6s\n", "(B)",
         "(elements)", "", "", "", "(us)", "(GB/s)", "(GB/s)", "", "(us)",
         "(GB/s)", "(GB/s)", "");
  fflush(stdout);
}

static void printCells(const Cells &cells, double bytes, double factor,
                       bool checked) {
  if (!cells.present) {
    printf("  %9s %7s %7s %6s", "-", "-", "-", "-");
    return;
  }
  double bandwidth = bytes / cells.seconds / 1e9;
  std::string wrong = checked ? std::to_string(cells.wrong) : "N/A";
  printf("  %9s %7.2f %7.2f %6s", timeOf(cells.seconds).c_str(), bandwidth,
         bandwidth * factor, wrong.c_str());
}

void Table::printCsv(const Row &row, const char *mode, const Cells &cells) {
  if (!cells.present)
    return;
  double bandwidth = static_cast<double>(row.bytes) / cells.seconds / 1e9;
  printf("%s,%u,%s,%llu,%llu,%s,%s,%s,%.3f,%.4f,%.4f,%s\n",
         row.graph->schedule.c_str(), job.numRanks, mode,
         static_cast<unsigned long long>(row.bytes),
         static_cast<unsigned long long>(row.elements), typeOf(row),
         opOf(row).c_str(), rootOf(row).c_str(), cells.seconds * 1e6, bandwidth,
         bandwidth * busFactor(row.graph->contract, job.numRanks),
         job.options.check ? std::to_string(cells.wrong).c_str() : "");
}

void Table::printRow(const Row &row, const Cells &outOfPlace,
                     const Cells &inPlace) {
  double factor = busFactor(row.graph->contract, job.numRanks);
  for (const Cells *cells : {&outOfPlace, &inPlace})
    if (cells->present) {
      wrong += cells->wrong;
      busSum += static_cast<double>(row.bytes) / cells->seconds / 1e9 * factor;
      ++busRows;
    }
  if (job.options.csv) {
    printCsv(row, "out-of-place", outOfPlace);
    printCsv(row, "in-place", inPlace);
  } else {
    printf("  %10llu %12llu %6s %10s %6s",
           static_cast<unsigned long long>(row.bytes),
           static_cast<unsigned long long>(row.elements), typeOf(row),
           opOf(row).c_str(), rootOf(row).c_str());
    printCells(outOfPlace, static_cast<double>(row.bytes), factor,
               job.options.check);
    printCells(inPlace, static_cast<double>(row.bytes), factor,
               job.options.check);
    printf("\n");
  }
  fflush(stdout);
}

void Table::printBytes(const Row &row) {
  double size = row.bytes ? static_cast<double>(row.bytes) : 1;
  for (Rank r = 0; r < job.numRanks; ++r) {
    const RankResult &result = job.state->results[r];
    printf("# rank %u: read %llu bytes (%.4f of the size), wrote %llu (%.4f)\n",
           r, static_cast<unsigned long long>(result.bytesRead),
           static_cast<double>(result.bytesRead) / size,
           static_cast<unsigned long long>(result.bytesWritten),
           static_cast<double>(result.bytesWritten) / size);
  }
}

void Table::printFoot() {
  if (job.options.csv)
    return;
  if (job.options.check)
    printf("# Out of bounds values : %llu %s\n",
           static_cast<unsigned long long>(wrong), wrong ? "FAILED" : "OK");
  printf("# Avg bus bandwidth    : %.4g GB/s\n",
         busRows ? busSum / static_cast<double>(busRows) : 0.0);
}
