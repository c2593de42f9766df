//===- BrokenPassTest.cpp - No object of a broken program -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A pass that breaks programs is put behind scheduling. The session must notice
// and give nothing to make a plan of, for every operator whose mutants are
// never right.
//
//===----------------------------------------------------------------------===//

#include "lib/Driver/Plans.h"
#include "test/Unit/Schedule/Mutants.h"

#include <gtest/gtest.h>

using namespace coll;
using test::Mutation;

namespace {
constexpr Mutation fatal[] = {
    Mutation::DropStep,         Mutation::DuplicateStep,
    Mutation::DropSink,         Mutation::RedirectSend,
    Mutation::RedirectReceive,  Mutation::OtherChunkLoaded,
    Mutation::OtherChunkStored, Mutation::OtherPartStored,
    Mutation::OtherType,        Mutation::OtherChunk};
} // namespace

TEST(BrokenPass, GivesNoPlan) {
  uint64_t seed = 42, broken = 0;
  std::mt19937_64 random(seed);
  for (const char *file : {"ring", "tree", "nvls", "root"}) {
    Session reader;
    std::string path = std::string(COLL_LIBRARY_DIR) + "/" + file + ".coll";
    ASSERT_TRUE(reader.parse(path, {}) && reader.analyse("", {}));
    for (const Bytecode &code : reader.schedules())
      for (Mutation mutation : fatal) {
        if (code.rankDims.size() != 1)
          continue;
        SCOPED_TRACE(code.schedule + ", " + test::nameOf(mutation));
        Session session;
        ASSERT_TRUE(session.parse(path, {}) &&
                    session.analyse(code.schedule, {}));
        bool isBroken = false;
        InstanceOptions options;
        options.afterSchedule = [&](ScheduleResult &result) {
          isBroken = test::mutate(result.programs, mutation, random).isChanged;
        };
        CompiledSchedule compiled;
        bool isGood = compileSchedule(session, session.schedules()[0],
                                      {RankSpec{{4}, 0, 0}}, options, compiled);
        EXPECT_EQ(isGood, !isBroken);
        if (!isBroken)
          continue;
        ++broken;
        EXPECT_TRUE(compiled.instances.empty());
        EXPECT_EQ(session.verdict(), Verdict::Wrong);
        ASSERT_FALSE(session.diags.diagnostics().empty());
        EXPECT_EQ(session.diags.diagnostics()[0].slug, Slug::InternalProgram);
      }
  }
  EXPECT_GT(broken, 100u);
}
