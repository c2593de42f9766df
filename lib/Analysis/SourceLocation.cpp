//===- SourceLocation.cpp - MLIR's places as ours -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Analysis/SourceLocation.h"

using namespace coll;

SourceRange coll::rangeIn(const SourceManager &sources, FileId file,
                          mlir::FileLineColRange location) {
  const SourceFile &source = sources.file(file);
  auto offset = [&](unsigned line, unsigned column) -> std::optional<uint32_t> {
    if (line == 0 || column == 0 || line > source.lineCount())
      return std::nullopt;
    return std::min<uint64_t>(source.lineStart(line) + uint64_t(column) - 1,
                              source.text().size());
  };
  auto begin = offset(location.getStartLine(), location.getStartColumn());
  auto end = offset(location.getEndLine(), location.getEndColumn());
  if (!begin || !end || *end < *begin)
    return {};
  return {file, *begin, *end};
}

SourceRange coll::rangeOf(const SourceManager &sources,
                          mlir::Location location) {
  auto place = location->findInstanceOf<mlir::FileLineColRange>();
  for (FileId file = 0; place && file < sources.size(); ++file)
    if (sources.file(file).name() == place.getFilename().getValue())
      return rangeIn(sources, file, place);
  return {};
}
