//===- AffineTest.cpp - Sets of integers ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Prove/Affine.h"

#include <gtest/gtest.h>
#include <random>

using namespace coll::prove;

static const Var N = 0, x = 1, y = 2, q = 3;

static Conj atLeastTwo() {
  Conj conj;
  conj.lessEqual(Lin(2), Lin::of(N));
  return conj;
}

// The library's difference alone says that all N minus the odd N is nothing.
TEST(Affine, DifferenceKeepsTheEvenNumbers) {
  Conj odd = atLeastTwo();
  odd.within(Lin::of(N) - Lin(1) - 2 * Lin::of(q), Lin(0), Lin(1));
  EXPECT_FALSE(isSubset(atLeastTwo(), odd, {N}));
  EXPECT_TRUE(isSubset(odd, atLeastTwo(), {N}));
  auto rest = subtract(atLeastTwo(), odd, {N}, [] { return Var(100); });
  ASSERT_TRUE(rest);
  for (int64_t n = 2; n < 20; ++n) {
    bool isThere = false;
    for (Conj conj : *rest) {
      conj.equal(Lin::of(N), Lin(n));
      isThere |= !isEmpty(conj);
    }
    EXPECT_EQ(isThere, n % 2 == 0) << n;
  }
}

TEST(Affine, OddAndEvenAreEverything) {
  Conj odd = atLeastTwo(), even = atLeastTwo();
  odd.equal(Lin::of(N), 2 * Lin::of(q) + Lin(1));
  even.equal(Lin::of(N), 2 * Lin::of(q));
  EXPECT_TRUE(isSubset(atLeastTwo(), {odd, even}, {N}));
  EXPECT_FALSE(isSubset(atLeastTwo(), {even}, {N}));
}

// y is no quotient: what cannot be complemented is not found in anything.
TEST(Affine, ExistentialsThatAreNoQuotientsAreNotComplemented) {
  Conj some = atLeastTwo();
  some.within(3 * Lin::of(y) + 2 * Lin::of(q) - Lin::of(N), Lin(0), Lin(1));
  EXPECT_FALSE(isSubset(atLeastTwo(), some, {N}));
}

TEST(Affine, SampleIsAPoint) {
  Conj conj = atLeastTwo();
  conj.within(Lin::of(x), Lin(3), Lin::of(N));
  conj.equal(Lin::of(y), Lin::of(x) + Lin(7));
  auto sample = sampleOf(conj, {N, x, y});
  ASSERT_TRUE(sample);
  EXPECT_GE((*sample)[1], 3);
  EXPECT_LT((*sample)[1], (*sample)[0]);
  EXPECT_EQ((*sample)[2], (*sample)[1] + 7);
  conj.less(Lin::of(N), Lin(4));
  EXPECT_FALSE(sampleOf(conj, {N, x, y}));
}

//===----------------------------------------------------------------------===//
// Against all points of a box
//===----------------------------------------------------------------------===//

static int64_t valueAt(const Lin &form, llvm::ArrayRef<int64_t> point) {
  int64_t value = form.getConstant();
  for (auto [var, c] : form.getTerms())
    value += c * point[var];
  return value;
}

/// Without existential variables.
static bool has(llvm::ArrayRef<Conj> set, llvm::ArrayRef<int64_t> point) {
  return llvm::any_of(set, [&](const Conj &conj) {
    return !conj.isFalse && llvm::all_of(conj.eqs, [&](const Lin &f) {
      return valueAt(f, point) == 0;
    }) && llvm::all_of(conj.ges, [&](const Lin &f) {
      return valueAt(f, point) >= 0;
    });
  });
}

static Union randomUnion(std::mt19937 &random) {
  Union set;
  for (unsigned n = 1 + random() % 4; n > 0; --n) {
    Conj conj;
    for (Var var : {N, x, y})
      conj.within(Lin::of(var), Lin(0), Lin(5));
    for (unsigned k = random() % 3; k > 0; --k) {
      Lin form(int64_t(random() % 7) - 3);
      for (Var var : {N, x, y})
        form.addScaled(Lin::of(var), int64_t(random() % 5) - 2);
      random() % 4 ? conj.addGe(form) : conj.addEq(form);
    }
    set.push_back(conj);
  }
  return set;
}

TEST(Affine, RandomSetsAreAsTheirPoints) {
  std::mt19937 random(2026);
  for (unsigned trial = 0; trial < 400; ++trial) {
    Union a = randomUnion(random), b = randomUnion(random);
    Union small = simplified(a, {N, x, y});
    EXPECT_LE(small.size(), a.size());
    std::vector<Union> parts;
    for (const Conj &conj : a)
      parts.push_back(*subtract(conj, b, {N, x, y}, [] { return Var(100); }));
    bool isIn = true;
    for (int64_t n = -1; n < 6; ++n)
      for (int64_t i = -1; i < 6; ++i)
        for (int64_t j = -1; j < 6; ++j) {
          int64_t point[] = {n, i, j};
          bool inA = has(a, point), inB = has(b, point);
          isIn &= !inA || inB;
          ASSERT_EQ(has(small, point), inA) << "trial " << trial;
          bool inRest = llvm::any_of(
              parts, [&](const Union &part) { return has(part, point); });
          ASSERT_EQ(inRest, inA && !inB) << "trial " << trial;
        }
    ASSERT_EQ(isSubset(a, b, {N, x, y}), isIn) << "trial " << trial;
  }
}

TEST(Affine, ProjectionIsExact) {
  std::mt19937 random(7);
  for (unsigned trial = 0; trial < 300; ++trial) {
    Conj conj = randomUnion(random)[0], projected = conj;
    projected.project(llvm::ArrayRef<Var>(y));
    for (int64_t n = 0; n < 5; ++n)
      for (int64_t i = 0; i < 5; ++i) {
        bool isThere = false;
        for (int64_t j = 0; j < 5; ++j)
          isThere |= has(conj, {n, i, j});
        Conj here = projected;
        here.equal(Lin::of(N), Lin(n));
        here.equal(Lin::of(x), Lin(i));
        ASSERT_EQ(!isEmpty(here), isThere) << "trial " << trial;
      }
  }
}
