//===- SemaReport.h - Diagnostics with their calls --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COLL_LIB_FRONTEND_SEMAREPORT_H
#define COLL_LIB_FRONTEND_SEMAREPORT_H

#include "lib/Frontend/SemaValue.h"
#include "lib/Support/Diagnostics.h"

namespace coll::sema {

/// A diagnostic to which the calls that led there are added at the end.
class [[nodiscard]] Report {
public:
  Report(InFlight inFlight, const Frame *frame)
      : inFlight(std::move(inFlight)), frame(frame) {}
  Report(const Report &) = delete;
  ~Report();
  Report &note(SourceRange range, const llvm::Twine &message);
  Report &help(SourceRange range, const llvm::Twine &message);
  Report &fix(SourceRange range, llvm::StringRef replacement,
              const llvm::Twine &message);
  void emit() {}

private:
  InFlight inFlight;
  const Frame *frame;
};

} // namespace coll::sema

#endif // COLL_LIB_FRONTEND_SEMAREPORT_H
