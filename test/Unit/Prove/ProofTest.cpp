//===- ProofTest.cpp - What a schedule of the language never is -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Schedules.h"
#include "lib/Prove/Prove.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

using namespace coll;

static ProofResult prove(const std::string &body) {
  mlir::MLIRContext context;
  context.loadDialect<CollDialect, mlir::arith::ArithDialect,
                      mlir::scf::SCFDialect>();
  std::string text =
      "coll.schedule @s implements \"own\" ranks(%N \"N\") {\n"
      "  %c0 = arith.constant 0 : index\n  %c1 = arith.constant 1 : index\n"
      "  %in = coll.buffer in \"in\"\n  %out = coll.buffer out \"out\"\n"
      "  coll.promise { scf.for %r = %c0 to %N step %c1 {\n"
      "    %v = coll.read %in at(%r)\n    coll.ensure %out at(%r) is %v\n"
      "  } }\n" +
      body + "}\n";
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  if (!module) {
    ADD_FAILURE() << text;
    return {};
  }
  ProofResult result = proveForAll(test::find(*module, "s"), {});
  result.at = nullptr; // the module is gone
  return result;
}

static std::string sumOf(const std::string &operands) {
  return "  scf.for %r = %c0 to %N step %c1 {\n"
         "    %v = coll.read %in at(%r)\n    %sum = coll.fold {\n" +
         operands + "    }\n    coll.copy %sum to %out at(%r)\n  }\n";
}

TEST(Proof, OneReadAsTwoOperandsCountsTwice) {
  EXPECT_TRUE(prove(sumOf("coll.operand %v\n")).isProved);
  ProofResult twice = prove(sumOf("coll.operand %v\ncoll.operand %v\n"));
  EXPECT_FALSE(twice.isProved);
  EXPECT_EQ(twice.why, "a contribution that may be counted twice");
}

TEST(Proof, OneReadInALoopCountsAsOftenAsTheLoop) {
  EXPECT_FALSE(prove(sumOf("scf.for %i = %c0 to %N step %c1 {\n"
                           "coll.operand %v\n}\n"))
                   .isProved);
  EXPECT_TRUE(prove(sumOf("scf.for %i = %c0 to %c1 step %c1 {\n"
                          "coll.operand %v\n}\n"))
                  .isProved);
}

TEST(Proof, AFoldOfNothingHasNoValue) {
  ProofResult none = prove(sumOf(""));
  EXPECT_FALSE(none.isProved);
}

// A location that every iteration writes has what the last one wrote.
TEST(Proof, TheLastWriteIsSeen) {
  auto upTo = [](const std::string &end) {
    return "  %t = coll.tmp \"t\"\n  scf.for %r = %c0 to %N step %c1 {\n"
           "    %e = arith.addi %r, %c1 : index\n"
           "    scf.for %i = %c0 to " +
           end +
           " step %c1 {\n      %v = coll.read %in at(%i)\n"
           "      coll.copy %v to %t at(%r)\n    }\n"
           "    %w = coll.read %t at(%r)\n    coll.copy %w to %out at(%r)\n"
           "  }\n";
  };
  EXPECT_TRUE(prove(upTo("%e")).isProved);
  EXPECT_FALSE(prove(upTo("%N")).isProved);
  EXPECT_FALSE(prove(upTo("%r")).isProved); // rank 0 reads nothing
}
