//===- PlanDigestTest.cpp - What ranks have to agree on ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ranks whose objects differ in anything that a message's form, order or depth
// depends on must have other digests, since the digest is all that the runtime
// compares; what only one rank sees must not matter.
//
//===----------------------------------------------------------------------===//

#include "lib/Driver/Plans.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include <gtest/gtest.h>

using namespace coll;

namespace {

/// The digest of schedule `s` of a file, at 3 ranks.
uint64_t digestOf(llvm::StringRef text) {
  llvm::SmallString<128> path;
  int file;
  EXPECT_FALSE(
      llvm::sys::fs::createTemporaryFile("digest", "coll", file, path));
  llvm::FileRemover remover(path);
  llvm::raw_fd_ostream(file, true) << text;
  Session session;
  if (!session.parse(path, {}) || !session.analyse("s", {})) {
    ADD_FAILURE() << text.str();
    return 0;
  }
  CompiledSchedule compiled;
  std::optional<Plan> plan;
  if (compileSchedule(session, session.schedules().front(),
                      {llvm::cantFail(parseRankSpec("3"))}, {}, compiled))
    plan = planOf(session, compiled);
  if (!plan) {
    ADD_FAILURE() << text.str();
    return 0;
  }
  return plan->ranks.front().digest(plan->shapes);
}

std::string ring(const std::string &via, const std::string &map,
                 const std::string &fn = "") {
  return "import \"prelude.coll\"\n" + fn +
         "schedule s(ranks N) : allreduce {\n"
         "  chunks N\n  tmp acc = in\n"
         "  for s in 0 .. N - 1, r in all { let c = (r - s - 1) % N\n"
         "    reduce acc[c]@r -> acc[c]@((r + 1) % N) " +
         via +
         " }\n"
         "  for s in 0 .. N - 1, r in all { let c = (r - s) % N\n"
         "    copy acc[c]@r -> acc[c]@((r + 1) % N) }\n"
         "  copy acc -> out\n  " +
         map + "\n}\n";
}

/// No reduction, so that a function may stand on the way.
std::string scaled(const std::string &name, const std::string &body) {
  return "fn " + name + "(x: elem) = " + body +
         "\ncontract scaling { in; out  ensure out@r == " + name +
         "(in@r) for r in all }\n"
         "schedule s(ranks N) : scaling {\n"
         "  for r in all { copy " +
         name + "(in@r) -> out@r }\n}\n";
}

TEST(PlanDigest, DiffersWithWhatMessagesAre) {
  std::vector<std::string> texts = {
      ring("", ""),
      ring("via e4m3", ""),
      ring("via e5m2", ""),
      ring("via f32", ""),
      ring("", "map { round 64KiB }"),
      ring("", "map { round 128KiB  slots 8  slot 128KiB }"),
      ring("", "map { slots 8 }"),
      ring("", "map { instances 2 }"),
      ring("", "map { channels 2 }"),
      ring("", "map { blocks 2 }"),
      scaled("f", "x * 2"),
      scaled("f", "x * 3"),
      scaled("f", "x + 2"),
  };
  std::map<uint64_t, std::string> seen;
  for (const std::string &text : texts) {
    auto [known, isNew] = seen.try_emplace(digestOf(text), text);
    EXPECT_TRUE(isNew) << text << "has the digest of\n" << known->second;
  }
}

TEST(PlanDigest, LeavesOutWhatOnlyOneRankSees) {
  uint64_t digest = digestOf(ring("", ""));
  EXPECT_EQ(digestOf(ring("", "")), digest);
  // Where it stands, what else is in the file, what a function is called.
  EXPECT_EQ(digestOf("\n\n// moved\n" + ring("", "", "fn g(x: elem) = -x\n")),
            digest);
  EXPECT_EQ(digestOf(scaled("g", "x * 2")), digestOf(scaled("f", "x * 2")));
}

} // namespace
