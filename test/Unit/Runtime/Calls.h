//===- Calls.h - Building a coll_call ---------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COLL_TEST_UNIT_RUNTIME_CALLS_H
#define COLL_TEST_UNIT_RUNTIME_CALLS_H

#include "coll/coll.h"

#include <vector>

namespace coll::test {

/// Owns the arrays that a coll_call points to.
class Call {
public:
  explicit Call(coll_dtype dtype = COLL_I32, coll_op op = COLL_SUM) {
    call.dtype = dtype;
    call.op = op;
  }
  Call &in(const void *pointer) { return ins.push_back(pointer), *this; }
  Call &out(void *pointer) { return outs.push_back(pointer), *this; }
  Call &count(size_t value) { return list.push_back(value), *this; }
  Call &counts(std::vector<size_t> values) {
    return list = std::move(values), *this;
  }
  Call &root(int value) { return values.push_back(value), *this; }
  Call &scalar(double value) { return scalars.push_back(value), *this; }
  /// Of the next buffer; kept by the caller.
  Call &displ(const std::vector<size_t> &values) {
    return displs.push_back(values.data()), *this;
  }

  operator const coll_call *() {
    auto orNull = [](auto &values) {
      return values.empty() ? nullptr : values.data();
    };
    call.in = orNull(ins);
    call.out = orNull(outs);
    call.count = orNull(list);
    call.launch = orNull(values);
    call.scalar = orNull(scalars);
    call.displ = orNull(displs);
    return &call;
  }

private:
  coll_call call = {};
  std::vector<const void *> ins;
  std::vector<void *> outs;
  std::vector<size_t> list;
  std::vector<int> values;
  std::vector<double> scalars;
  std::vector<const size_t *> displs;
};

} // namespace coll::test

#endif // COLL_TEST_UNIT_RUNTIME_CALLS_H
