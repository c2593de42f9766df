//===- ListedParser.h - Options that are one of a list ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// As the parser of enumerated options, but what is none of the values is
// answered with all of them, and with the nearest.
//
//===----------------------------------------------------------------------===//
#ifndef COLL_LIB_SUPPORT_LISTEDPARSER_H
#define COLL_LIB_SUPPORT_LISTEDPARSER_H

#include "llvm/Support/CommandLine.h"

#include <string>

namespace coll {

template <typename T> class ListedParser : public llvm::cl::parser<T> {
public:
  using llvm::cl::parser<T>::parser;

  bool parse(llvm::cl::Option &option, llvm::StringRef name,
             llvm::StringRef value, T &result) {
    constexpr unsigned farthest = 2;
    std::string all;
    llvm::StringRef nearest;
    unsigned least = farthest + 1;
    for (unsigned i = 0; i != this->getNumOptions(); ++i) {
      const llvm::StringRef each = this->getOption(i);
      if (each == value)
        return llvm::cl::parser<T>::parse(option, name, value, result);
      if (each.empty())
        continue;
      all += (all.empty() ? "" : ", ") + each.str();
      const unsigned distance = value.edit_distance(each, true, least);
      if (distance < least) {
        least = distance;
        nearest = each;
      }
    }
    std::string text = "there is no '" + value.str() + "'; there are " + all;
    if (!nearest.empty())
      text += "; did you mean '" + nearest.str() + "'?";
    return option.error(text);
  }
};

} // namespace coll
#endif // COLL_LIB_SUPPORT_LISTEDPARSER_H
