//===- MscclJudge.h - Is an MSCCL XML right? --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COLL_LIB_INTERCHANGE_MSCCLJUDGE_H
#define COLL_LIB_INTERCHANGE_MSCCLJUDGE_H

#include "lib/Interchange/MscclPrograms.h"

namespace coll::msccl {

/// What was found of one variant, in place or out of place.
struct Judgement {
  /// right, wrong, not-finished, right-only-with-copy-elements, undefined-race,
  /// undefined-shared-connection, unknown-COLL, unknown-size.
  std::string contract;
  enum Depth : uint8_t { Unknown, Exists, None } depth = Unknown;
  uint32_t leastDepth = 0;   ///< messages a FIFO must hold, if one is enough
  std::optional<bool> races; ///< empty: was not looked at
  std::optional<Rank> root;  ///< of a broadcast or reduce
};

/// How the structure is: what makes running it meaningless.
struct LintResult {
  bool isShared = false;    ///< two blocks use one end of a connection
  bool isNeverDone = false; ///< messages do not match, or waits for no flag
};
/// Errors and warnings that need no run.
LintResult lint(const SourceManager &sources, DiagnosticEngine &diags,
                const Algorithm &algorithm);

/// The k-th send of a connection and the k-th receive.
struct MessagePair {
  const Step *send, *recv;
  Rank from, to;
};
std::vector<MessagePair> matchMessages(const Algorithm &algorithm);

/// Reads nothing but `algorithm`; errors go to `diags`.
Judgement judge(const SourceManager &sources, DiagnosticEngine &diags,
                const Algorithm &algorithm, const LintResult &lint,
                bool inPlace);

/// A file, and what was found of all variants that it allows.
struct JudgedXml {
  Algorithm algorithm;
  bool isRight = true;      ///< all variants, if copies run where they have to
  bool runsCopies = false;  ///< <copy> elements are needed
  std::optional<Rank> root; ///< of a broadcast or reduce
};

/// Judges all variants, and prints a line for each to `os`, if there is one.
JudgedXml judgeVariants(const SourceManager &sources, DiagnosticEngine &diags,
                        Algorithm algorithm, llvm::raw_ostream *os = nullptr);

/// Reads and judges, and prints a line for each variant to `os`, if there is
/// one. Empty: it could not be read.
std::optional<JudgedXml> judgeXml(SourceManager &sources,
                                  DiagnosticEngine &diags, llvm::StringRef path,
                                  llvm::raw_ostream *os = nullptr);

} // namespace coll::msccl

#endif // COLL_LIB_INTERCHANGE_MSCCLJUDGE_H
