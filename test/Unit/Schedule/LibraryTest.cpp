//===- LibraryTest.cpp - All programs of the library and the examples -----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Dump.h"
#include "Executor.h"
#include "lib/Analysis/RankClass.h"
#include "lib/Driver/Ranks.h"
#include "lib/Driver/Session.h"

#include "llvm/Support/FileSystem.h"
#include <gtest/gtest.h>

using namespace coll;
using namespace coll::test;

namespace {

std::vector<std::string> allFiles() {
  std::vector<std::string> files;
  for (const char *folder :
       {"/lib/Library", "/examples", "/examples/language"}) {
    std::error_code error;
    for (llvm::sys::fs::directory_iterator
             it(std::string(COLL_SOURCE_DIR) + folder, error),
         end;
         it != end && !error; it.increment(error))
      if (llvm::StringRef(it->path()).ends_with(".coll"))
        files.push_back(it->path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

/// A value for every parameter that has no default: 0, 1, ...
std::vector<std::pair<std::string, int64_t>> definesFor(const Bytecode &code) {
  std::vector<std::pair<std::string, int64_t>> defines;
  for (const Instr &instr : code.code)
    if (instr.op == Opcode::Param && instr.b == kNone)
      defines.push_back({code.strings[instr.a], int64_t(defines.size())});
  return defines;
}

/// The chunk graphs of all members; none if the schedule is wrong or excluded
/// at this rank space.
std::vector<ChunkGraph> graphsOf(const Bytecode &code, const RankDims &dims,
                                 Session &session) {
  Parameters parameters;
  parameters.rankDims = dims;
  parameters.defines = definesFor(code);
  DiagnosticEngine diags(session.sources);
  LaunchFamily family = enumerateLaunch(code, parameters, diags);
  std::vector<ChunkGraph> graphs;
  if (family.status != ElaborateResult::Right)
    return graphs;
  for (uint64_t m = 0; m < family.size(); ++m) {
    parameters.launch = family.member(m);
    ElaborateResult result = elaborate(code, parameters, diags);
    if (result.status != ElaborateResult::Right)
      return {};
    graphs.push_back(std::move(result.graph));
  }
  return graphs;
}

struct Totals {
  int instances = 0, fused = 0, oneClass = 0;
};

void checkOne(const std::vector<ChunkGraph> &graphs, Totals &totals,
              std::mt19937_64 &random) {
  ScheduleResult result = schedule(graphs);
  ASSERT_FALSE(result.refusal);
  const ProgramSet &programs = result.programs;
  ProgramCheckOptions checkOptions;
  checkOptions.fifos = {result.bulk, result.small};
  ProgramCheckResult check = checkPrograms(programs, graphs, checkOptions);
  for (const ProgramError &error : check.errors)
    ADD_FAILURE() << describe(error, programs) << "\n"
                  << dump(programs, error.member, error.rank, error.variant);
  ClassSet classes = classifyRanks(programs);
  ++totals.instances;
  totals.fused += result.fusion == Fusion::Full;
  totals.oneClass += classes.classes.size() == 1;
  if (getenv("COLL_TEST_VERBOSE")) {
    uint32_t slots = 0, inPlaceSlots = 0;
    for (const ProgramMember &member : programs.members)
      for (Rank r = 0; r < programs.numRanks(); ++r) {
        slots = std::max(slots, member.outOfPlace[r].scratchSlots);
        if (!member.inPlace.empty())
          inPlaceSlots = std::max(inPlaceSlots, member.inPlace[r].scratchSlots);
      }
    printf("  fusion %d slices %u classes %zu%s members %zu slots %u in place "
           "%u\n",
           int(result.fusion), result.bulk.slices, classes.classes.size(),
           classes.rotates ? " (rotated)" : "", graphs.size(), slots,
           inPlaceSlots);
  }
  if (programs.numRanks() > 4)
    return;
  FifoShape shape = result.bulk;
  shape.rounds = 2;
  for (uint32_t m = 0; m < graphs.size(); ++m)
    for (Variant variant : {Variant::OutOfPlace, Variant::InPlace}) {
      if (variant == Variant::InPlace && programs.members[m].inPlace.empty())
        continue;
      std::vector<Variant> variants(programs.numRanks(), variant);
      EXPECT_TRUE(
          execute(programs, m, variants, graphs[m], shape, random).isRight);
    }
}

// Each is scheduled, runs as its source means, and is found to do so.
TEST(Library, EveryProgram) {
  std::mt19937_64 random(11);
  Totals totals;
  for (const std::string &file : allFiles()) {
    Session reader;
    ASSERT_TRUE(reader.parse(file, {}));
    for (const Decl *decl : reader.program().main->decls) {
      if (decl->kind() != Decl::Kind::Schedule)
        continue;
      Session session;
      session.parse(file, {});
      if (!session.analyse(decl->name.text, {}))
        continue; // an example of what is rejected
      const Bytecode &code = session.schedules()[0];
      for (uint32_t n : {1u, 2u, 3u, 4u, 5u, 7u, 8u, 12u, 16u}) {
        llvm::Expected<std::vector<RankDims>> spaces =
            rankSpaces({RankSpec{{n}, 0, 0}}, code.rankNames.size());
        ASSERT_TRUE(bool(spaces));
        for (const RankDims &dims : *spaces) {
          std::vector<ChunkGraph> graphs = graphsOf(code, dims, session);
          if (graphs.empty())
            continue;
          std::string name = code.schedule + " at " + describe(dims);
          if (getenv("COLL_TEST_VERBOSE"))
            printf("%s\n", name.c_str());
          SCOPED_TRACE(name);
          checkOne(graphs, totals, random);
        }
      }
    }
  }
  printf("%d instances, %d of them wholly fused, %d with one class of ranks\n",
         totals.instances, totals.fused, totals.oneClass);
  EXPECT_GT(totals.instances, 300);
}

} // namespace
