//===- Names.h - What colc and coll-run have in their command lines -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COLL_LIB_DRIVER_NAMES_H
#define COLL_LIB_DRIVER_NAMES_H

#include "lib/Lowering/Formats.h"
#include "llvm/Support/Error.h"

namespace coll {

/// "f32,bf16" or "all": those that a launch may have.
llvm::Error parseFormats(llvm::StringRef list,
                         std::vector<lowering::Format> &formats);
/// FILE[:SCHEDULE], as on a command line. `schedule` is what --schedule says,
/// "" if nothing; on return the one that is meant, "" for all of the file's. An
/// error if both are there and differ.
llvm::Error splitSchedule(llvm::StringRef text, std::string &file,
                          std::string &schedule);
/// -D: "K=3", each name once.
using Defines = std::vector<std::pair<std::string, int64_t>>;
llvm::Error parseDefines(llvm::ArrayRef<std::string> texts, Defines &defines);
/// What --version prints.
void setVersionPrinter(llvm::StringRef tool);
/// "sum,max" or "all".
llvm::Error parseReduceOps(llvm::StringRef list,
                           std::vector<lowering::ReduceOp> &ops);

} // namespace coll
#endif // COLL_LIB_DRIVER_NAMES_H
