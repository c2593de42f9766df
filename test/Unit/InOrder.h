//===- InOrder.h - Random text, the same with every compiler ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Of `f() + g()` and of `h(f(), g())` either compiler may call g first, and a
// seed then means two things. What stands between braces is called from left
// to right.
//
//===----------------------------------------------------------------------===//
#ifndef COLL_TEST_UNIT_INORDER_H
#define COLL_TEST_UNIT_INORDER_H

#include <initializer_list>
#include <string>

namespace coll::test {

/// inOrder({f(), g()}): the parts, one after the other.
inline std::string inOrder(std::initializer_list<std::string> parts) {
  std::string text;
  for (const std::string &part : parts)
    text += part;
  return text;
}

} // namespace coll::test

#endif // COLL_TEST_UNIT_INORDER_H
