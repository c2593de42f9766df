//===- RoundTripTest.cpp - To MSCCL XML and back --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every schedule of the library that the format can hold is exported, read,
// imported and exported again: the second file is the first, and where blocks
// have the connections of thread blocks and steps the form of the format's, the
// imported programs are those of the scheduler. Files of others become
// canonical by one export, and stay so.
//
//===----------------------------------------------------------------------===//

#include "lib/Driver/Ranks.h"
#include "lib/Driver/Session.h"
#include "lib/Interchange/MscclExport.h"
#include "lib/Interchange/MscclImport.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include <gtest/gtest.h>
#include <tuple>

using namespace coll;

namespace {

std::string textOf(const msccl::Algorithm &algo) {
  std::string text;
  llvm::raw_string_ostream os(text);
  msccl::writeXml(algo, os);
  return text;
}

std::string wordsOf(const DiagnosticEngine &diags) {
  std::string text;
  llvm::raw_string_ostream os(text);
  render(diags, DiagnosticFormat::Text, os);
  return text;
}

/// A file of memory, judged and imported.
struct Imported {
  explicit Imported(const std::string &text) {
    FileId file = sources.add("a.xml", text);
    auto algo = msccl::readXml(sources, diags, file);
    if (!algo)
      return;
    judged = msccl::judgeVariants(sources, diags, std::move(*algo));
    if (judged->isRight)
      schedule = msccl::importSchedule(*judged, "a.xml", diags);
  }
  const ProgramSet &programs() const { return schedule->scheduled.programs; }

  SourceManager sources;
  DiagnosticEngine diags{sources};
  std::optional<msccl::JudgedXml> judged;
  std::optional<msccl::ImportedSchedule> schedule;
};

/// A port, with the other rank in place of the number of an end.
using Plain = std::tuple<int, int, bool, bool, bool, Rank, uint32_t, int, int,
                         uint32_t, uint32_t>;
Plain plain(const RankProgram &program, const Port &port) {
  ChannelEnd end{0, 0};
  if (port.kind == Port::Recv)
    end = program.recvEnds[port.end];
  if (port.kind == Port::Send)
    end = program.sendEnds[port.end];
  bool isMemory = port.kind == Port::Load || port.kind == Port::Store;
  Location at = isMemory ? port.loc : Location();
  return {port.kind,           int(port.type), port.scaled, port.scaledRounded,
          port.receivedScaled, end.peer,       end.tag,     at.space,
          at.buffer,           at.part,        at.chunk};
}

/// What a step does, without its place in the source. x + y is y + x. Waits for
/// the round before are for scratch, which the format has one of an iteration.
std::string describe(const ProgramSet &programs, const RankProgram &program,
                     const Step &step) {
  std::vector<Plain> sources, sinks;
  for (uint32_t p = 0; p < step.numSources; ++p)
    sources.push_back(plain(program, program.ports[step.firstPort + p]));
  for (uint32_t p = 0; p < step.numSinks; ++p)
    sinks.push_back(
        plain(program, program.ports[step.firstPort + step.numSources + p]));
  llvm::sort(sources);
  llvm::sort(sinks);
  std::string text;
  llvm::raw_string_ostream os(text);
  auto print = [&](const std::vector<Plain> &ports) {
    for (const Plain &port : ports) {
      std::apply([&](auto... field) { ((os << int64_t(field) << ' '), ...); },
                 port);
      os << "; ";
    }
  };
  print(sources);
  os << "-> ";
  print(sinks);
  os << (programs.exprs[step.expr].isIdentity() ? "copy" : "sum") << ", type "
     << int(step.type) << ", complete " << step.complete << ", chunk "
     << step.chunk << ", waits";
  std::vector<std::pair<uint32_t, uint32_t>> waits;
  for (uint32_t w = step.firstWait; w < step.firstWait + step.numWaits; ++w)
    if (!program.waits[w].previousRound)
      waits.push_back({program.waits[w].block, program.waits[w].step});
  llvm::sort(waits);
  for (auto [block, s] : waits)
    os << ' ' << block << '.' << s;
  return text;
}

std::string describe(const ProgramSet &programs) {
  std::string text;
  for (const RankProgram &rank : programs.members[0].outOfPlace) {
    for (const BlockProgram &block : rank.blocks) {
      for (const Step &step : block.steps)
        text += describe(programs, rank, step) + "\n";
      text += "end of block\n";
    }
    text += "end of rank, " + std::to_string(rank.scratchSlots) + " slots\n";
  }
  return text;
}

/// Whether each block is a thread block as it is, and each step a step. Of
/// premul_sum the format's loaders round each product.
bool isHeldAsItIs(const ProgramSet &programs) {
  for (const RankProgram &rank : programs.members[0].outOfPlace)
    for (const BlockProgram &block : rank.blocks) {
      std::set<std::pair<Rank, uint32_t>> sends, recvs;
      for (const Step &step : block.steps) {
        unsigned kinds[4] = {};
        for (uint32_t p = 0; p < uint32_t(step.numSources) + step.numSinks;
             ++p) {
          const Port &port = rank.ports[step.firstPort + p];
          ++kinds[port.kind];
          if (port.receivedScaled || port.scaled != port.scaledRounded)
            return false;
          if (port.kind == Port::Send)
            sends.insert(
                {rank.sendEnds[port.end].peer, rank.sendEnds[port.end].tag});
          if (port.kind == Port::Recv)
            recvs.insert(
                {rank.recvEnds[port.end].peer, rank.recvEnds[port.end].tag});
        }
        // s, r, rcs, rrc, rrs, rrcs, cpy, re.
        unsigned recv = kinds[Port::Recv], load = kinds[Port::Load],
                 send = kinds[Port::Send], store = kinds[Port::Store];
        bool isS = !recv && load == 1 && send == 1 && !store;
        bool isCpy = !recv && load == 1 && !send && store == 1;
        bool isR = recv == 1 && !load && send <= 1 && store == 1;
        bool isRrc = recv == 1 && load == 1 && send <= 1 && store <= 1;
        if (!(isS || isCpy || isR || isRrc))
          return false;
      }
      if (sends.size() > 1 || recvs.size() > 1 ||
          (sends.size() == 1 && recvs.size() == 1 &&
           sends.begin()->second != recvs.begin()->second))
        return false;
    }
  return true;
}

struct Score {
  unsigned held = 0, exact = 0, refused = 0;
  std::set<std::string> reasons;
};

void roundTrip(const ProgramSet &programs, const SourceManager &sources,
               Score &score) {
  DiagnosticEngine diags(sources);
  std::optional<msccl::Algorithm> first =
      msccl::exportPrograms(programs, diags);
  if (!first) {
    ++score.refused;
    llvm::StringRef message = diags.diagnostics()[0].message;
    score.reasons.insert(message.split("': ").second.str());
    EXPECT_EQ(slugText(diags.diagnostics()[0].slug), "not-xml");
    return;
  }
  ++score.held;
  std::string text = textOf(*first);
  Imported imported(text);
  ASSERT_TRUE(imported.schedule) << wordsOf(imported.diags) << text;
  EXPECT_TRUE(imported.schedule->outOfPlace);
  ProgramCheckOptions options;
  options.fifos = {imported.schedule->scheduled.bulk,
                   imported.schedule->scheduled.small};
  for (const ProgramError &error :
       checkPrograms(imported.programs(), {&imported.schedule->graph, 1},
                     options)
           .errors)
    ADD_FAILURE() << describe(error, imported.programs());
  if (isHeldAsItIs(programs)) {
    ++score.exact;
    EXPECT_EQ(describe(programs), describe(imported.programs())) << text;
  }
  std::optional<msccl::Algorithm> second =
      msccl::exportPrograms(imported.programs(), imported.diags);
  ASSERT_TRUE(second) << wordsOf(imported.diags);
  EXPECT_EQ(text, textOf(*second));
}

class RoundTrip : public testing::TestWithParam<const char *> {};

TEST_P(RoundTrip, ToXmlAndBack) {
  Session session;
  ASSERT_TRUE(session.parse(
      (COLL_LIBRARY_DIR "/" + std::string(GetParam()) + ".coll"), {}));
  ASSERT_TRUE(session.analyse("", {}));
  Score score;
  for (const Bytecode &code : session.schedules())
    for (const char *text :
         code.rankDims.size() == 1
             ? std::vector<const char *>{"2", "3", "4", "5", "8"}
             : std::vector<const char *>{"2,2", "2,3", "4,2"}) {
      InstanceOptions options;
      if (!code.launches.empty())
        options.defines = {{code.launches[0].name, 1}};
      if (code.schedule.starts_with("p2p"))
        options.defines = {{"a", 0}, {"b", 1}};
      Instance instance = session.instantiate(
          code, llvm::cantFail(parseRankSpec(text)).dims, options);
      if (instance.status == Instance::Excluded)
        continue;
      ASSERT_EQ(instance.status, Instance::Checked) << code.schedule;
      SCOPED_TRACE(code.schedule + " at " + text + " ranks");
      roundTrip(instance.scheduled->programs, session.sources, score);
      if (HasFatalFailure())
        return;
    }
  EXPECT_FALSE(session.diags.hasErrors()) << wordsOf(session.diags);
  llvm::outs() << GetParam() << ": " << score.held << " held, " << score.exact
               << " of them step by step, " << score.refused << " not\n";
  for (const std::string &reason : score.reasons)
    llvm::outs() << "  " << reason << "\n";
  llvm::outs().flush();
}

INSTANTIATE_TEST_SUITE_P(Library, RoundTrip,
                         testing::Values("ring", "tree", "hier", "root", "nvls",
                                         "p2p"),
                         [](const auto &info) { return info.param; });

/// Files of others.
class Canonical : public testing::TestWithParam<const char *> {};

TEST_P(Canonical, StaysAsItIs) {
  std::string path = COLL_XML_DIR "/" + std::string(GetParam()) + ".xml";
  auto buffer = llvm::MemoryBuffer::getFile(path);
  ASSERT_TRUE(buffer);
  Imported file((*buffer)->getBuffer().str());
  ASSERT_TRUE(file.schedule) << wordsOf(file.diags);
  std::optional<msccl::Algorithm> first =
      msccl::exportPrograms(file.programs(), file.diags);
  ASSERT_TRUE(first) << wordsOf(file.diags);
  Imported again(textOf(*first));
  ASSERT_TRUE(again.schedule) << wordsOf(again.diags);
  // Nothing is lost, and nothing changes any more.
  EXPECT_EQ(describe(file.programs()), describe(again.programs()));
  std::optional<msccl::Algorithm> second =
      msccl::exportPrograms(again.programs(), again.diags);
  ASSERT_TRUE(second) << wordsOf(again.diags);
  EXPECT_EQ(textOf(*first), textOf(*second));
}

INSTANTIATE_TEST_SUITE_P(
    Files, Canonical,
    testing::Values("known/h01_ring_allreduce_in_place_ok",
                    "known/h02_wait_on_unflagged_step_ok",
                    "known/h03_ordered_through_other_rank_ok",
                    "known/h04_copy_element_only", "reducescatter",
                    "whole-messages"),
    [](const auto &info) {
      std::string name = info.param;
      llvm::replace(name, '/', '_');
      llvm::replace(name, '-', '_');
      return name;
    });

} // namespace
