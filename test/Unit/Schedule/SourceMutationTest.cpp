//===- SourceMutationTest.cpp - Broken schedules of the library -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every schedule of the library with one thing of its text changed, in every
// way that SourceMutants.h knows, must be refused at some number of ranks, or
// keep its contract at all of them. Where a message then has a repair, the
// repaired text must keep it.
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

/// `wrongAt`: where it was caught, if that is a matter of its contract.
static Outcome judge(const std::string &path, llvm::StringRef schedule,
                     RankDims *wrongAt = nullptr) {
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
      if (isWrong && wrongAt)
        *wrongAt = dims;
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

//===----------------------------------------------------------------------===//
// Repairs
//===----------------------------------------------------------------------===//

/// Nothing: there is no repair.
static std::optional<std::string> repaired(const std::string &path,
                                           llvm::StringRef schedule,
                                           const RankDims &dims) {
  Session session;
  if (!session.parse(path, {COLL_SOURCE_DIR "/lib/Library"}) ||
      !session.analyse(schedule, {}))
    return std::nullopt;
  InstanceOptions options;
  options.defines = definesFor(session.schedules()[0]);
  options.maxProgramValues = 0;
  session.instantiate(session.schedules()[0], dims, options);
  const Diagnostic *error = session.diags.lastError();
  if (!error || error->fixits.size() != 1)
    return std::nullopt;
  const FixIt &fixit = error->fixits.front();
  std::string text = session.sources.file(fixit.range.file).text().str();
  return text.replace(fixit.range.begin, fixit.range.size(), fixit.replacement);
}

/// One thing in so many that can go wrong in the library.
constexpr unsigned oneRepairIn = 4;

TEST(SourceMutation, RepairsKeepTheContract) {
  std::map<std::string, std::pair<unsigned, unsigned>> found; // of how many
  unsigned number = 0;
  std::string path =
      testing::TempDir() + "repair-" + std::to_string(getpid()) + ".coll";
  for (const std::string &original : allFiles({"/lib/Library"})) {
    Session reader;
    ASSERT_TRUE(reader.parse(original, {}));
    const File &file = *reader.program().main;
    for (const Decl *decl : file.decls)
      for (const SourceMutant &mutant : mutantsOf(
               file, reader.sources.file(file.id).text(), decl->name.text)) {
        RankDims dims;
        if (decl->kind() != Decl::Kind::Schedule || number++ % oneRepairIn)
          continue;
        std::ofstream(path) << mutant.text;
        judge(path, decl->name.text, &dims);
        if (dims.empty())
          continue;
        auto &[repairs, all] =
            found[mutant.what.substr(0, mutant.what.find(' '))];
        ++all;
        std::optional<std::string> text = repaired(path, decl->name.text, dims);
        if (!text)
          continue;
        ++repairs;
        std::ofstream(path) << *text;
        EXPECT_EQ(judge(path, decl->name.text), Outcome::Equivalent)
            << decl->name.text.str() << ": " << mutant.what << "\n"
            << *text;
      }
  }
  std::remove(path.c_str());
  std::string list;
  for (auto &[what, counts] : found)
    list += (list.empty() ? "" : ", ") + what + " " +
            std::to_string(counts.first) + " of " +
            std::to_string(counts.second);
  reportScore("repairs of sources", list);
  EXPECT_GE(found["negate"].first * 2, found["negate"].second) << list;
  EXPECT_GE(found["repeat"].first * 2, found["repeat"].second) << list;
}
