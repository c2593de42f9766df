//===- Options.h - The command line of colc ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COLL_TOOLS_COLC_OPTIONS_H
#define COLL_TOOLS_COLC_OPTIONS_H

#include "lib/Driver/Ranks.h"
#include "lib/Support/Diagnostics.h"
#include "lib/Target/HostObject.h"

#include <optional>
#include <string>
#include <vector>

namespace coll {

enum class Emit {
  Ast,
  Coll,
  Program,
  Kernel,
  Llvm,
  Asm,
  Ptx,
  Cubin,
  Object,
  Report,
  Xml
};

struct Options {
  std::string file, schedule, output, explain;
  std::vector<RankSpec> ranks;
  std::vector<std::pair<std::string, int64_t>> defines;
  std::vector<std::string> libraryDirs;
  bool check = false, prove = false, invariants = false;
  Emit emit = Emit::Object;
  DiagnosticFormat diagnostics = DiagnosticFormat::Text;
  HostOptions host;
  std::vector<unsigned> chips; // of CUDA, smallest first: 90 for sm_90
  unsigned oldestChip() const { return chips.empty() ? 0 : chips.front(); }
  bool embedBitcode = false;
  std::string ptxas;                      // empty: the one that is found
  bool allDtypes = false, allOps = false; // host's are what there is
};

/// Empty: the command line is wrong, and standard error says how.
std::optional<Options> parseOptions(int argc, char **argv);

} // namespace coll
#endif // COLL_TOOLS_COLC_OPTIONS_H
