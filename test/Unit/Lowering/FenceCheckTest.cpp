//===- FenceCheckTest.cpp - Stores past the caches need their fence -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Target/FenceCheck.h"

#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/Support/SourceMgr.h"

#include <gtest/gtest.h>

namespace {

/// Whether a function with this body is accepted. %p and %q are pointers, %v a
/// vector, %c a condition.
bool isAccepted(const std::string &body) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic error;
  auto module = llvm::parseAssemblyString(
      "declare void @llvm.x86.sse.sfence()\n"
      "declare void @other()\n"
      "define void @kernel(ptr %p, ptr %q, <4 x i32> %v, i1 %c) {\n" +
          body + "}\n!0 = !{i32 1}\n",
      error, context);
  EXPECT_TRUE(module) << error.getMessage().str();
  llvm::Error result = coll::checkFences(*module);
  bool isGood = !result;
  llvm::consumeError(std::move(result));
  return isGood;
}

const std::string stream = "store <4 x i32> %v, ptr %p, !nontemporal !0\n",
                  fence = "call void @llvm.x86.sse.sfence()\n",
                  publish = "store atomic i64 1, ptr %q release, align 8\n",
                  plain = "store i64 1, ptr %q\n",
                  payload = "store <4 x i32> %v, ptr %q\n",
                  call = "call void @other()\n", ret = "ret void\n";

TEST(FenceCheck, AFenceComesBeforeWhateverOthersCanSee) {
  EXPECT_TRUE(isAccepted(stream + fence + publish + ret));
  EXPECT_TRUE(isAccepted(stream + payload + fence + plain + call + ret));
  EXPECT_TRUE(isAccepted(publish + call + ret));
  EXPECT_FALSE(isAccepted(stream + publish + fence + ret));
  EXPECT_FALSE(isAccepted(stream + plain + fence + ret));
  EXPECT_FALSE(isAccepted(stream + call + fence + ret));
  EXPECT_FALSE(isAccepted(stream + ret));
  EXPECT_FALSE(isAccepted(fence + stream + publish + ret));
}

TEST(FenceCheck, OnEveryPath) {
  std::string branch = "br i1 %c, label %a, label %b\n";
  EXPECT_TRUE(isAccepted(stream + branch + "a:\n" + fence + "br label %end\n" +
                         "b:\n" + fence + "br label %end\n" + "end:\n" +
                         publish + ret));
  EXPECT_FALSE(isAccepted(stream + branch + "a:\n" + fence + "br label %end\n" +
                          "b:\nbr label %end\nend:\n" + publish + ret));
  // The loop's next turn publishes what the turn before has stored.
  std::string loop = "br label %a\na:\n";
  EXPECT_FALSE(
      isAccepted(loop + publish + stream + branch + "b:\n" + fence + ret));
  EXPECT_TRUE(
      isAccepted(loop + publish + stream + fence + branch + "b:\n" + ret));
}

} // namespace
