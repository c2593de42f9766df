//===- Application.h - What applications do with buffers --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COLL_TEST_EMULATOR_APPLICATION_H
#define COLL_TEST_EMULATOR_APPLICATION_H

namespace coll::emu {

/// What an application does with its buffers behind a launch: reads results and
/// writes inputs. Bytes grow by %growth, or stay what they are.
inline const char *const applicationCode = R"(
target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @application(ptr addrspace(1) %buffer, i64 %bytes,
                                     i8 %growth) {
  br label %head
head:
  %at = phi i64 [ 0, %0 ], [ %next, %body ]
  %some = icmp ult i64 %at, %bytes
  br i1 %some, label %body, label %done
body:
  %address = getelementptr i8, ptr addrspace(1) %buffer, i64 %at
  %value = load i8, ptr addrspace(1) %address
  %new = add i8 %value, %growth
  store i8 %new, ptr addrspace(1) %address
  %next = add i64 %at, 1
  br label %head
done:
  ret void
}
define ptx_kernel void @read(ptr addrspace(1) %word) {
  %value = load i32, ptr addrspace(1) %word
  ret void
}
)";

} // namespace coll::emu

#endif // COLL_TEST_EMULATOR_APPLICATION_H
