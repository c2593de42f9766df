//===- SourceMutationTest.cpp - Broken schedules of the library -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every schedule of the library with one thing of its text changed, in every
// way that SourceMutants.h knows, must be refused at some number of ranks, or
// keep its contract at all of them.
//
//===----------------------------------------------------------------------===//
#include "../Score.h"
#include "LibrarySchedules.h"
#include "SourceMutants.h"
#include "lib/Driver/Ranks.h"
#include "lib/Driver/Session.h"

#include "llvm/Support/FileSystem.h"
#include <fstream>
#include <gtest/gtest.h>

using namespace coll;
using namespace coll::test;

namespace {
struct Tally {
  uint64_t mutants = 0, refusedBySema = 0, caught = 0, equivalent = 0,
           missed = 0;
  std::map<std::string, uint64_t> equivalents; // by the kind of change
};

const std::map<std::string, const char *> reasons = {
    {"drop", "the value is there already"},
    {"repeat", "tokens that arrive twice do no harm"},
    {"swap", "the two share nothing"},
    {"negate", "other ranks do the same work, or a loop of copies goes on"},
    {"increase", "a loop of copies goes on, or another rank does the work"}};

enum class Outcome { NoProgram, Caught, Equivalent, Missed };
} // namespace

static Outcome judge(const std::string &path, llvm::StringRef schedule) {
  Session session;
  if (!session.parse(path, {COLL_SOURCE_DIR "/lib/Library"}) ||
      !session.analyse(schedule, {}))
    return Outcome::NoProgram;
  const Bytecode &code = session.schedules()[0];
  bool isKept = true;
  for (uint32_t n : {2u, 3u, 4u, 6u})
    for (const RankDims &dims : llvm::cantFail(
             rankSpaces({RankSpec{{n}, 0, 0}}, code.rankDims.size()))) {
      bool isWrong = false;
      for (const ChunkGraph &graph : graphsOf(session, code, dims, isWrong)) {
        bool isKnown = true;
        isKept &= keepsContract(graph, isKnown);
        if (!isKnown)
          return Outcome::NoProgram; // nothing to judge it by
      }
      if (isWrong)
        return Outcome::Caught;
    }
  return isKept ? Outcome::Equivalent : Outcome::Missed;
}

static void mutateFile(const std::string &path, Tally &tally) {
  Session reader;
  ASSERT_TRUE(reader.parse(path, {}));
  const File &file = *reader.program().main;
  llvm::StringRef text = reader.sources.file(file.id).text();
  std::string mutantPath =
      testing::TempDir() + "mutant-" + std::to_string(getpid()) + ".coll";
  for (const Decl *decl : file.decls) {
    if (decl->kind() != Decl::Kind::Schedule)
      continue;
    for (const SourceMutant &mutant : mutantsOf(file, text, decl->name.text)) {
      std::ofstream(mutantPath) << mutant.text;
      Outcome outcome = judge(mutantPath, decl->name.text);
      if (outcome == Outcome::NoProgram) {
        ++tally.refusedBySema;
        continue;
      }
      ++tally.mutants;
      tally.caught += outcome == Outcome::Caught;
      tally.equivalent += outcome == Outcome::Equivalent;
      tally.missed += outcome == Outcome::Missed;
      if (outcome == Outcome::Equivalent) {
        ++tally.equivalents[mutant.what.substr(0, mutant.what.find(' '))];
        printf("equivalent: %s: %s\n", decl->name.text.str().c_str(),
               mutant.what.c_str());
      }
      EXPECT_NE(outcome, Outcome::Missed)
          << decl->name.text.str() << ": " << mutant.what;
    }
  }
  std::remove(mutantPath.c_str());
}

TEST(SourceMutation, NothingIsMissed) {
  Tally tally;
  for (const std::string &path : allFiles({"/lib/Library"}))
    mutateFile(path, tally);
  std::string list;
  for (auto &[what, count] : tally.equivalents)
    list += (list.empty() ? " (" : ", ") + std::to_string(count) + " " + what +
            ": " + reasons.at(what);
  reportScore(
      "mutation of sources",
      std::to_string(tally.mutants) + " mutants, " +
          std::to_string(tally.caught) + " caught, " +
          std::to_string(tally.equivalent) + " equivalent" + list +
          (list.empty() ? ", " : "), ") + std::to_string(tally.missed) +
          " missed; " + std::to_string(tally.refusedBySema) +
          " more were no programs, or of contracts that are not judged");
  EXPECT_EQ(tally.missed, 0u);
  EXPECT_LT(tally.equivalent * 4, tally.mutants);
}
