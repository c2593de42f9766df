//===- DeviceCheckTest.cpp - What device code must not have ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Target/Cuda.h"

#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/SourceMgr.h"

#include <gtest/gtest.h>

using namespace llvm;

namespace {

/// What is said of a function with this body, whose arguments are a pointer to
/// global memory, %p, and a number, %v.
std::string refusalOf(StringRef body,
                      StringRef parameters = "ptr addrspace(1) %p, i64 %v") {
  LLVMContext context;
  SMDiagnostic diagnostic;
  std::string text =
      ("target triple = \"nvptx64-nvidia-cuda\"\n"
       "declare void @elsewhere()\n"
       "declare void @llvm.nvvm.nanosleep(i32)\n"
       "define void @f(" +
       parameters + ") {\n" + body + "\n ret void\n}\n!0 = !{}\n")
          .str();
  auto module = parseAssemblyString(text, diagnostic, context);
  EXPECT_TRUE(module) << diagnostic.getMessage().str() << "\n" << text;
  return module ? toString(coll::checkDeviceModule(*module)) : "";
}

std::string refusalOfPtx(StringRef line) {
  return toString(
      coll::checkPtx(("\tmov.b32 \t%r1, 0;\n\t" + line + "\n").str()));
}

TEST(DeviceCheck, TakesWhatTheBackendKeeps) {
  EXPECT_EQ(
      refusalOf(
          "%a = load atomic i64, ptr addrspace(1) %p acquire, align 8\n"
          "store atomic i64 %v, ptr addrspace(1) %p monotonic, align 8\n"
          "store i64 %v, ptr addrspace(1) %p\n"
          "fence syncscope(\"device\") acq_rel\n"
          "%c = cmpxchg ptr addrspace(1) %p, i64 0, i64 1 acq_rel acquire\n"
          "call void @llvm.nvvm.nanosleep(i32 32)"),
      "");
  for (const char *line : {"ld.acquire.sys.b64 \t%rd1, [%rd2];",
                           "st.relaxed.sys.global.b64 \t[%rd1], %rd2;",
                           "atom.acq_rel.gpu.cas.b32 \t%r1, [%rd1], 0, 1;",
                           "bar.red.or.pred \t%p1, 0, %p2;",
                           "ld.global.v4.b32 \t{%r1, %r2, %r3, %r4}, [%rd1];"})
    EXPECT_EQ(refusalOfPtx(line), "") << line;
}

TEST(DeviceCheck, RefusesWhoseOrderIsLost) {
  EXPECT_EQ(refusalOf("%a = atomicrmw add ptr addrspace(1) %p, i64 %v acq_rel"),
            "internal error: 'f' has an atomicrmw, whose order and scope are "
            "lost");
  EXPECT_EQ(refusalOf("%a = load volatile i64, ptr addrspace(1) %p"),
            "internal error: 'f' has a volatile access, which orders nothing");
  EXPECT_EQ(refusalOf("store volatile i64 %v, ptr addrspace(1) %p"),
            "internal error: 'f' has a volatile access, which orders nothing");
  for (const char *line :
       {"red.relaxed.sys.global.add.u64 \t[%rd1], %rd2;",
        "atom.global.add.u64 \t%rd1, [%rd2], %rd3;",
        "atom.acq_rel.sys.global.exch.b64 \t%rd1, [%rd2], %rd3;",
        "ld.volatile.global.b64 \t%rd1, [%rd2];",
        "st.volatile.global.b64 \t[%rd1], %rd2;"})
    EXPECT_EQ(refusalOfPtx(line),
              "internal error: PTX has '" + std::string(line) + "'");
}

/// A lane's part of a line is the one volatile access.
TEST(DeviceCheck, TakesLines) {
  EXPECT_EQ(refusalOf("%a = load volatile <2 x i64>, ptr addrspace(1) %p, "
                      "align 16\n"
                      "store volatile <2 x i64> %a, ptr addrspace(1) %p, "
                      "align 16"),
            "");
  const std::string refused =
      "internal error: 'f' has a volatile access, which orders nothing";
  for (const char *body :
       {"%a = load volatile <2 x i64>, ptr addrspace(1) %p, align 8",
        "%a = load volatile <4 x i32>, ptr addrspace(1) %p, align 16",
        "%a = load volatile <2 x double>, ptr addrspace(1) %p, align 16",
        "%a = load volatile i128, ptr addrspace(1) %p, align 16",
        "%a = load atomic volatile i64, ptr addrspace(1) %p monotonic, align 8",
        "store volatile <1 x i64> zeroinitializer, ptr addrspace(1) %p, "
        "align 16",
        "store volatile <2 x i64> zeroinitializer, ptr addrspace(1) %p, "
        "align 8"})
    EXPECT_EQ(refusalOf(body), refused) << body;
  EXPECT_EQ(refusalOf("%a = load volatile <2 x i64>, ptr %q, align 16",
                      "ptr %q, i64 %v"),
            refused)
      << "generic addresses may be of shared memory";
  for (const char *line : {"ld.volatile.global.v2.b64 \t{%rd1, %rd2}, [%rd3];",
                           "st.volatile.global.v2.b64 \t[%rd3], {%rd1, %rd2};"})
    EXPECT_EQ(refusalOfPtx(line), "") << line;
  for (const char *line :
       {"ld.volatile.global.v4.b32 \t{%r1, %r2, %r3, %r4}, [%rd3];",
        "ld.volatile.v2.b64 \t{%rd1, %rd2}, [%rd3];",
        "st.volatile.shared.v2.b64 \t[%rd3], {%rd1, %rd2};"})
    EXPECT_EQ(refusalOfPtx(line),
              "internal error: PTX has '" + std::string(line) + "'");
}

TEST(DeviceCheck, RefusesNonCoherentLoads) {
  EXPECT_EQ(refusalOf("%a = load i64, ptr addrspace(1) %p, !invariant.load !0"),
            "internal error: 'f' has an invariant load, which becomes "
            "non-coherent");
  EXPECT_EQ(
      refusalOf("%a = load i64, ptr %q", "ptr noalias readonly %q, i64 %v"),
      "internal error: 'f' has a pointer that is loaded from "
      "non-coherently");
  for (const char *line :
       {"ld.global.nc.v4.b32 \t{%r1, %r2, %r3, %r4}, [%rd1];",
        "ld.global.nc.b64 \t%rd1, [%rd2];"})
    EXPECT_EQ(refusalOfPtx(line),
              "internal error: PTX has '" + std::string(line) + "'");
}

TEST(DeviceCheck, RefusesWhatItCannotSee) {
  EXPECT_EQ(refusalOf("call void asm sideeffect \"membar.gl;\", \"\"()"),
            "internal error: 'f' has inline assembly");
  EXPECT_EQ(refusalOf("call void @elsewhere()"),
            "internal error: 'f' has a call of what is not in the module");
}

} // namespace
