//===- PlanTest.cpp - Reading the tables of a plan ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/core/Plan.h"
#include "HandPlan.h"

#include <gtest/gtest.h>

using namespace coll;
using namespace coll::test;

namespace {

TEST(Plan, RanksAreFoundBySize) {
  HandPlan plan({ringAllreduce(2), ringAllreduce(4), ringAllreduce(8)});
  EXPECT_EQ(findRanks(plan.plan(), 4), &plan.plan().ranks[1]);
  EXPECT_EQ(findRanks(plan.plan(), 3), nullptr);
  EXPECT_EQ(describeSizes(plan.plan()), "2, 4, 8");
}

TEST(Plan, MembersByLaunchValues) {
  HandPlan plan({chainBroadcast(4)});
  uint32_t member = 9;
  for (int root = 0; root != 4; ++root) {
    ASSERT_TRUE(
        findMember(plan.plan(), plan.plan().ranks[0], &root, member).isOk());
    EXPECT_EQ(member, uint32_t(root));
  }
  for (int root : {-1, 4, 1000}) {
    Status status =
        findMember(plan.plan(), plan.plan().ranks[0], &root, member);
    EXPECT_EQ(status.code(), COLL_INVALID);
    EXPECT_EQ(status.text(), "root is " + std::to_string(root) +
                                 ", outside of its domain 0 .. 4 (plan "
                                 "'hand_chain' for 4 ranks)");
  }
  EXPECT_EQ(
      findMember(plan.plan(), plan.plan().ranks[0], nullptr, member).code(),
      COLL_INVALID);
}

TEST(Plan, MembersOfTwoParametersLastFastest) {
  HandPlan plan({chainBroadcast(4)});
  const int32_t domains[] = {3, 5, 9, /*b*/ 0, 2};
  plan.change().nlaunch = 2;
  plan.change().launch_names = "a,b";
  coll_plan_ranks &ranks = plan.changeRanks(0);
  ranks.launch_values = domains;
  ranks.launch_count[0] = 3;
  ranks.launch_count[1] = 2;
  uint32_t member = 0;
  const int good[] = {5, 2};
  ASSERT_TRUE(findMember(plan.plan(), ranks, good, member).isOk());
  EXPECT_EQ(member, 3u);
  const int bad[] = {4, 2};
  EXPECT_EQ(findMember(plan.plan(), ranks, bad, member).text(),
            "a is 4, outside of its domain [3, 5, 9] (plan 'hand_chain' for 4 "
            "ranks)");
  const int worse[] = {9, 1};
  EXPECT_EQ(findMember(plan.plan(), ranks, worse, member).text(),
            "b is 1, outside of its domain [0, 2] (plan 'hand_chain' for 4 "
            "ranks)");
}

TEST(Plan, RotatedMembersShareClasses) {
  HandPlan plan({chainBroadcast(4)});
  const coll_plan_ranks &ranks = plan.plan().ranks[0];
  for (int root = 0; root != 4; ++root)
    for (int rank = 0; rank != 4; ++rank)
      EXPECT_EQ(&classOf(ranks, uint32_t(root), rank, root),
                &ranks.classes[(rank + 4 - root) % 4]);
}

TEST(Plan, RotationOfAGridIsByCoordinate) {
  HandPlan plan({chainBroadcast(6)});
  coll_plan_ranks &ranks = plan.changeRanks(0);
  ranks.ndims = 2;
  ranks.dims[0] = 2;
  ranks.dims[1] = 3;
  // Rank (1, 0) from root (1, 2): (0, -2 mod 3) = (0, 1).
  EXPECT_EQ(&classOf(ranks, 0, 3, 5), &ranks.classes[1]);
  // Rank (0, 1) from root (1, 2): (-1 mod 2, -1 mod 3) = (1, 2).
  EXPECT_EQ(&classOf(ranks, 0, 1, 5), &ranks.classes[5]);
}

TEST(Plan, RelocationsAddTermsByCoordinate) {
  coll_plan_ranks ranks = {};
  ranks.nranks = 6;
  ranks.ndims = 2;
  ranks.dims[0] = 2;
  ranks.dims[1] = 3;
  const coll_reloc_term terms[] = {
      {1, 2, 3, 0, 1, 0, 0},  // ((1 + m) mod 2) * 3
      {-1, 3, 1, 1, 1, 0, 0}, // (-1 + g) mod 3
      {0, 3, 10, 1, -1, 1, 0} // (-g of the root mod 3) * 10
  };
  const coll_reloc relocs[] = {{1, 0, 2}, {3, 2, 1}};
  coll_class cls = {};
  cls.nwords = 4;
  cls.relocs = relocs;
  cls.nrelocs = 2;
  cls.terms = terms;
  uint32_t words[] = {7, 7, 7, 7};
  relocate(cls, ranks, /*rank (1, 0)*/ 3, /*root (0, 2)*/ 2, words);
  EXPECT_EQ(words[0], 7u);
  EXPECT_EQ(words[1], 0u * 3 + 2u);
  EXPECT_EQ(words[2], 7u);
  EXPECT_EQ(words[3], 10u);
}

TEST(Plan, StepsAreNamedByTheirSource) {
  HandPlan plan({ringAllreduce(4)});
  const coll_class &cls = plan.plan().ranks[0].classes[0];
  std::vector<uint32_t> words(cls.words, cls.words + cls.nwords);
  relocate(cls, plan.plan().ranks[0], 2, 0, words);
  StepText text = describeStep(plan.plan(), cls, words, 1);
  EXPECT_EQ(text.where, "hand.coll:10:5");
  EXPECT_EQ(text.what, "reduce a[c]@g[i] -> a[c]@g[i + 1], chunk 0");
  EXPECT_EQ(describeStep(plan.plan(), cls, words, 1000).where, "");
}

TEST(Plan, LongPlacesKeepTheirLineNumber) {
  EXPECT_EQ(lastPart("ring.coll:14:5", 14), "ring.coll:14:5");
  EXPECT_EQ(lastPart("ring.coll:14:5", 13), "....coll:14:5");
}

TEST(Plan, ScaleOfStorage) {
  coll_plan_ranks ranks = {};
  EXPECT_EQ(storageScale(ranks, COLL_F16), 1u);
  ranks.storage_bytes = 4;
  EXPECT_EQ(storageScale(ranks, COLL_F16), 2u);
  EXPECT_EQ(storageScale(ranks, COLL_U8), 4u);
  EXPECT_EQ(storageScale(ranks, COLL_F64), 1u);
  ranks.storage_bytes = 0;
  ranks.flags = COLL_PLAN_ACCUM;
  EXPECT_EQ(storageScale(ranks, COLL_E4M3), 4u);
  EXPECT_EQ(storageScale(ranks, COLL_BF16), 2u);
  EXPECT_EQ(storageScale(ranks, COLL_U8), 1u);
  HandPlan mover({chainBroadcast(2)});
  EXPECT_EQ(maxStorageScale(mover.plan(), ranks), 4u);
  HandPlan ring({ringAllreduce(2)});
  EXPECT_EQ(maxStorageScale(ring.plan(), ranks), 1u);
}

TEST(Plan, WhatItWasVerifiedWith) {
  coll_plan_ranks ranks = {};
  ranks.round_units = 4096;
  EXPECT_EQ(verifiedRings(ranks).slots, 4u);
  EXPECT_EQ(verifiedRings(ranks).smallSlots, 8u);
  EXPECT_EQ(verifiedRings(ranks).slices, 1u);
  ranks.round_units = 4097;
  EXPECT_EQ(verifiedRings(ranks).slices, 2u);
  ranks.slots = 8;
  ranks.small_slots = 4;
  ranks.slices = 5;
  EXPECT_EQ(verifiedRings(ranks).slots, 8u);
  EXPECT_EQ(verifiedRings(ranks).smallSlots, 4u);
  EXPECT_EQ(verifiedRings(ranks).slices, 5u);
}

TEST(Plan, MalformedTablesAreRefused) {
  HandPlan good({chainBroadcast(3)});
  const coll_plan_ranks ranks = good.plan().ranks[0];
  EXPECT_TRUE(checkPlan(good.plan(), ranks).isOk());
  auto refused = [&](auto change) {
    coll_plan_ranks broken = ranks;
    std::vector<coll_class> classes(ranks.classes,
                                    ranks.classes + ranks.nclasses);
    std::vector<coll_plan_size> sizes(ranks.sizes, ranks.sizes + ranks.nsizes);
    broken.classes = classes.data();
    broken.sizes = sizes.data();
    change(broken, classes[1], sizes[0]);
    Status status = checkPlan(good.plan(), broken);
    EXPECT_EQ(status.code(), COLL_INVALID);
    EXPECT_NE(status.text().find("'hand_chain' is malformed"),
              std::string::npos);
  };
  using Ranks = coll_plan_ranks;
  refused([](Ranks &r, coll_class &, coll_plan_size &) { r.dims[0] = 4; });
  refused([](Ranks &r, coll_class &, coll_plan_size &) { r.ndims = 5; });
  refused([](Ranks &r, coll_class &, coll_plan_size &) { r.round_units = 0; });
  refused([](Ranks &r, coll_class &, coll_plan_size &) { r.instances = 0; });
  refused([](Ranks &r, coll_class &, coll_plan_size &) { r.instances = 65; });
  refused([](Ranks &r, coll_class &, coll_plan_size &) { r.slots = 12; });
  refused([](Ranks &r, coll_class &, coll_plan_size &) { r.small_slots = 16; });
  refused([](Ranks &r, coll_class &, coll_plan_size &) {
    r.round_units = 1 << 25;
  });
  refused([](Ranks &, coll_class &c, coll_plan_size &) { c.nsteps = 1 << 21; });
  refused([](Ranks &, coll_class &c, coll_plan_size &) { c.entry[1] = ~0u; });
  refused([](Ranks &, coll_class &c, coll_plan_size &) { c.nsend = 1 << 20; });
  refused([](Ranks &, coll_class &c, coll_plan_size &) { c.given = ~0u; });
  refused(
      [](Ranks &, coll_class &c, coll_plan_size &) { c.naliases = 1 << 20; });
  refused([](Ranks &r, coll_class &, coll_plan_size &) { r.nmembers = 2; });
  refused([](Ranks &, coll_class &, coll_plan_size &s) { s.chunks = 0; });
  refused([](Ranks &, coll_class &c, coll_plan_size &) { c.nwords = 3; });
  const coll_reloc_term endless = {0, 0, 1, 0, 1, 0, 0};
  refused(
      [&](Ranks &, coll_class &c, coll_plan_size &) { c.terms = &endless; });
}

} // namespace
