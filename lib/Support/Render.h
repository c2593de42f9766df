//===- Render.h - The renderers of diagnostics, one by one ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COLL_LIB_SUPPORT_RENDER_H
#define COLL_LIB_SUPPORT_RENDER_H

#include "lib/Support/Diagnostics.h"

namespace coll {

/// "error", "warning", "note", "help".
llvm::StringRef severityText(Severity severity);

void renderText(const DiagnosticEngine &engine, llvm::raw_ostream &os);
void renderJson(const DiagnosticEngine &engine, llvm::raw_ostream &os);
void renderSarif(const DiagnosticEngine &engine, llvm::raw_ostream &os);

} // namespace coll

#endif // COLL_LIB_SUPPORT_RENDER_H
