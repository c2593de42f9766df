//===- Names.cpp - What colc and coll-run have in their command lines -----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Driver/Names.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/CommandLine.h"

using namespace coll;
using namespace coll::lowering;

/// Reads names of `all`, which lists what there is; "all" is all of it.
template <typename T>
static llvm::Error parseNames(llvm::StringRef list, llvm::ArrayRef<T> all,
                              std::vector<T> &result) {
  llvm::SmallVector<llvm::StringRef> parts;
  list.split(parts, ',');
  for (llvm::StringRef part : parts) {
    if (part == "all") {
      result.assign(all.begin(), all.end());
      return llvm::Error::success();
    }
    auto found = llvm::find_if(all, [&](T t) { return part == nameOf(t); });
    if (found == all.end()) {
      std::string known;
      for (T t : all)
        known += std::string(known.empty() ? "" : ", ") + nameOf(t);
      return llvm::createStringError("there is no '" + part + "'; there are " +
                                     known);
    }
    if (!llvm::is_contained(result, *found))
      result.push_back(*found);
  }
  return llvm::Error::success();
}

llvm::Error coll::splitSchedule(llvm::StringRef text, std::string &file,
                                std::string &schedule) {
  auto [path, name] = text.rsplit(':');
  // A file's name has a dot or a slash where a schedule's is one word.
  bool isNamed = !name.empty() && llvm::all_of(name, [](char c) {
    return llvm::isAlnum(c) || c == '_';
  });
  file = (isNamed ? path : text).str();
  if (!isNamed)
    return llvm::Error::success();
  if (!schedule.empty() && schedule != name)
    return llvm::createStringError("--schedule " + schedule + ": " + text +
                                   " names another");
  schedule = name.str();
  return llvm::Error::success();
}

llvm::Error coll::parseDefines(llvm::ArrayRef<std::string> texts,
                               Defines &defines) {
  for (llvm::StringRef text : texts) {
    auto [name, valueText] = text.split('=');
    int64_t value;
    if (name.empty() || valueText.getAsInteger(0, value))
      return llvm::createStringError("-D " + text + ": not NAME=INTEGER");
    if (llvm::any_of(defines,
                     [&](const auto &define) { return define.first == name; }))
      return llvm::createStringError("-D " + text + ": '" + name +
                                     "' has a value already");
    defines.push_back({name.str(), value});
  }
  return llvm::Error::success();
}

void coll::setVersionPrinter(llvm::StringRef tool) {
  std::string text =
      (tool + " " + COLL_VERSION + " (LLVM " + LLVM_VERSION_STRING + ")\n")
          .str();
  llvm::cl::SetVersionPrinter([text](llvm::raw_ostream &os) { os << text; });
}

llvm::Error coll::parseFormats(llvm::StringRef list,
                               std::vector<Format> &formats) {
  static const Format all[] = {
      Format::I8,  Format::U8,  Format::I32,  Format::U32, Format::I64,
      Format::U64, Format::F16, Format::BF16, Format::F32, Format::F64};
  return parseNames<Format>(list, all, formats);
}

llvm::Error coll::parseReduceOps(llvm::StringRef list,
                                 std::vector<ReduceOp> &ops) {
  static const ReduceOp all[] = {ReduceOp::Sum, ReduceOp::Prod,
                                 ReduceOp::Min, ReduceOp::Max,
                                 ReduceOp::Avg, ReduceOp::PremulSum};
  return parseNames<ReduceOp>(list, all, ops);
}
