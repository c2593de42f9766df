//===- ProgramWordsTest.cpp - Programs that are wrong are refused ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// No source makes the scheduler wrong, so its programs are made wrong here, as
// a bug of the compiler would, and verified again.
//
//===----------------------------------------------------------------------===//

#include "lib/Driver/Ranks.h"
#include "lib/Driver/Session.h"

#include "llvm/Support/raw_ostream.h"
#include <gtest/gtest.h>

using namespace coll;

namespace {

class ProgramWords : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_TRUE(session.parse(COLL_LIBRARY_DIR "/ring.coll", {}));
    ASSERT_TRUE(session.analyse("allreduce_ring", {}));
    instance = session.instantiate(session.schedules()[0], {3}, {});
    ASSERT_EQ(instance.status, Instance::Checked);
  }

  /// Verifies as Session does, and says what is found.
  std::string verify() {
    ProgramCheckOptions options;
    options.fifos = {instance.scheduled->bulk, instance.scheduled->small};
    for (const ProgramError &error :
         checkPrograms(instance.scheduled->programs, instance.members, options)
             .errors)
      reportProgramError(session.diags, instance, error);
    std::string text;
    llvm::raw_string_ostream os(text);
    render(session.diags, DiagnosticFormat::Text, os);
    return text;
  }

  Session session;
  Instance instance;
};

TEST_F(ProgramWords, RightOnesAreSilent) {
  EXPECT_EQ(verify(), "");
  EXPECT_EQ(session.verdict(), Verdict::Right);
}

TEST_F(ProgramWords, AnotherChunkIsABugOfTheCompiler) {
  RankProgram &program = instance.scheduled->programs.members[0].outOfPlace[1];
  Port *load = nullptr;
  for (Port &port : program.ports)
    if (port.kind == Port::Load && !load)
      load = &port;
  ASSERT_TRUE(load);
  load->loc.chunk = (load->loc.chunk + 1) % 3;
  std::string text = verify();
  EXPECT_NE(text.find("ring.coll:"), std::string::npos) << text;
  EXPECT_NE(text.find("error: internal error: the program of rank "),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("[internal-program]"), std::string::npos) << text;
  EXPECT_NE(text.find("help: no object is written"), std::string::npos) << text;
  EXPECT_EQ(session.verdict(), Verdict::Wrong);
}

} // namespace
