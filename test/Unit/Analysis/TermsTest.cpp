//===- TermsTest.cpp - Which terms are one --------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Analysis/Terms.h"

#include "gtest/gtest.h"

using namespace coll;
using E = ElemType;

namespace {
struct Terms : testing::Test {
  /// Buffer 0: leaves are T; buffer 1: leaves may be scaled.
  TermTable table{{E::T, E::Accum}};
  TermId a = table.leaf(0, 0, 0, 0), b = table.leaf(0, 0, 0, 1),
         c = table.leaf(0, 0, 0, 2);
};
} // namespace

TEST_F(Terms, AreSharedByWhatTheyAre) {
  EXPECT_EQ(table.leaf(0, 0, 0, 1), b);
  EXPECT_NE(table.leaf(0, 0, 1, 1), b);
  EXPECT_EQ(table.fold({a, b, c}), table.fold({a, b, c}));
  EXPECT_NE(table.fold({a, b, c}), table.fold({a, c, b}));
  EXPECT_NE(table.fold({a, b}), table.add(a, b));
}

TEST_F(Terms, AreCommutativeInTheFirstTwoOperands) {
  EXPECT_EQ(table.fold({a, b, c}), table.fold({b, a, c}));
  EXPECT_EQ(table.add(a, b), table.add(b, a));
  EXPECT_EQ(table.fold({a, b, c}, true), table.fold({c, b, a}, true));
  EXPECT_NE(table.apply(0, {a, b}), table.apply(0, {b, a}));
}

TEST_F(Terms, LeaveOutAFoldOfOne) { EXPECT_EQ(table.fold({a}), a); }

TEST_F(Terms, LeaveOutRoundingsThatChangeNothing) {
  TermId sum = table.fold({a, b});
  TermId e4m3 = table.round(sum, E::E4M3);
  EXPECT_NE(e4m3, sum);
  EXPECT_EQ(table.round(e4m3, E::F32), e4m3);
  EXPECT_EQ(table.round(table.round(e4m3, E::BF16), E::E4M3), e4m3);
  EXPECT_NE(table.round(e4m3, E::E5M2), e4m3);
  EXPECT_EQ(table.round(sum, E::Accum), sum);
  EXPECT_EQ(table.round(table.round(sum, E::T), E::Accum),
            table.round(sum, E::T));
  EXPECT_EQ(table.round(table.round(sum, E::MXE4M3), E::MXE4M3),
            table.round(sum, E::MXE4M3));
  EXPECT_NE(table.round(table.round(sum, E::MXE4M3), E::T),
            table.round(sum, E::MXE4M3));
}

TEST_F(Terms, RoundACopyOfALeafOnlyIfItMayBeScaled) {
  TermId scaled = table.leaf(1, 0, 0, 0);
  EXPECT_EQ(table.round(a, E::T), a);
  EXPECT_NE(table.round(scaled, E::T), scaled);
  EXPECT_NE(table.round(a, E::F32), a); // T may be f64
}

TEST_F(Terms, GoOnFromAFinishedTable) {
  TermId sum = table.round(table.fold({a, b}), E::T);
  size_t size = table.size();
  TermTable again(table.takeTerms(), table.takeOperands(), {E::T, E::Accum});
  EXPECT_EQ(again.round(again.fold({b, a}), E::T), sum);
  EXPECT_EQ(again.leaf(0, 0, 0, 2), c);
  EXPECT_EQ(again.size(), size);
}

TEST_F(Terms, AreTheSameWithAndWithoutAShape) {
  TermTable other({E::T});
  other.setShape(0, 2, 3, 2);
  for (uint32_t part : {0u, 1u})
    for (uint32_t chunk : {0u, 2u}) {
      TermId leaf = other.leaf(0, part, chunk, 1);
      EXPECT_EQ(leaf, other.leaf(0, part, chunk, 1));
      EXPECT_EQ(other.operandsOf(leaf)[1], part);
    }
  EXPECT_EQ(other.size(), 4u);
}

TEST_F(Terms, EvaluateExpressions) {
  using N = ExprNode;
  ValueExpr expr{{{N::Operand, E::T, 0, 0},
                  {N::Operand, E::T, 0, 1},
                  {N::Fold, E::T, 0, 2},
                  {N::Operand, E::T, 0, 2},
                  {N::Add}}};
  EXPECT_EQ(table.evaluate(expr, {a, b, c}, E::T),
            table.round(table.add(table.fold({a, b}), c), E::T));
}
