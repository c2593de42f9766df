//===- PlanWordsTest.cpp - Plans say what their programs say --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Takes schedules of the library to the constant data of a plan, loads that as
// the runtime does (its own functions check it, choose the class of a rank and
// relocate the words) and reads every rank's program back from the words. What
// is read must be the program that was scheduled and verified.
//
//===----------------------------------------------------------------------===//

#include "lib/Driver/Plans.h"
#include "lib/Lowering/StepWords.h"
#include "runtime/core/Plan.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include <gtest/gtest.h>
#include <set>

using namespace coll;
using namespace coll::lowering;
namespace orc = llvm::orc;

namespace {

/// The data of plans, without kernels, where the runtime could find it.
class LoadedPlans {
public:
  explicit LoadedPlans(const Plan &plan) {
    auto machine = llvm::cantFail(createHostMachine(nativeArch()));
    auto context = std::make_unique<llvm::LLVMContext>();
    auto module = std::make_unique<llvm::Module>("data", *context);
    module->setTargetTriple(machine->getTargetTriple());
    module->setDataLayout(machine->createDataLayout());
    addPlanData(*module, plan, {});
    jit = llvm::cantFail(orc::LLJITBuilder().create());
    llvm::cantFail(jit->addIRModule(
        orc::ThreadSafeModule(std::move(module), std::move(context))));
    loaded = llvm::cantFail(jit->lookup(plan.name + "_plan"))
                 .toPtr<const coll_plan *>();
  }
  const coll_plan &get() const { return *loaded; }

private:
  std::unique_ptr<orc::LLJIT> jit;
  const coll_plan *loaded;
};

/// One rank's words against one rank's programs.
class Reader {
public:
  Reader(const Plan &plan, const PlanRanks &ranks, const coll_plan &loaded,
         uint32_t member, Rank rank)
      : plan(plan), programs(*ranks.programs),
        table(*findRanks(loaded, int(programs.numRanks()))),
        member(programs.members[member]), rank(rank) {
    const std::vector<uint32_t> &values = this->member.launchValues;
    int root = values.empty() ? 0 : int(values[0]);
    cls = &classOf(table, member, int(rank), root);
    words.assign(cls->words, cls->words + cls->nwords);
    relocate(*cls, table, int(rank), root, words);
  }
  void check();

private:
  void checkEnds(const std::vector<ChannelEnd> &ends, uint32_t at,
                 uint32_t count);
  void checkBuffers();
  void checkGiven();
  void checkAliases();
  void checkVariant(const RankProgram &program, uint32_t entry);
  void checkBlock(const RankProgram &program, const BlockProgram &block,
                  uint32_t first);
  void checkStep(const RankProgram &program, const Step &step, uint32_t at);
  void checkPort(const Port &port, const Step &step, const uint32_t *at);

  const Plan &plan;
  const ProgramSet &programs;
  const coll_plan_ranks &table;
  const ProgramMember &member;
  Rank rank;
  const coll_class *cls;
  std::vector<uint32_t> words;
};

void Reader::check() {
  const RankProgram &program = member.outOfPlace[rank];
  checkEnds(program.sendEnds, cls->send_ends, cls->nsend);
  checkEnds(program.recvEnds, cls->recv_ends, cls->nrecv);
  checkBuffers();
  checkGiven();
  checkAliases();
  ASSERT_EQ(cls->program_blocks, program.blocks.size());
  EXPECT_EQ(cls->scratch_slots[0], program.scratchSlots);
  checkVariant(program, cls->entry[0]);
  const RankProgram &inPlace =
      member.inPlace.empty() ? program : member.inPlace[rank];
  EXPECT_EQ(cls->scratch_slots[1], inPlace.scratchSlots);
  checkVariant(inPlace, cls->entry[1]);
}

void Reader::checkEnds(const std::vector<ChannelEnd> &ends, uint32_t at,
                       uint32_t count) {
  ASSERT_EQ(count, ends.size());
  for (const ChannelEnd &end : ends) {
    EXPECT_EQ(words[at++], end.peer);
    EXPECT_EQ(words[at++], end.tag);
  }
}

void Reader::checkBuffers() {
  uint32_t flat = 0;
  for (uint32_t b = 0; b < member.buffers.size(); ++b) {
    const Buffer &buffer = member.buffers[b];
    EXPECT_EQ(table.bufs[b].parts, buffer.parts) << buffer.name;
    EXPECT_EQ(table.bufs[b].name, buffer.name);
    if (buffer.kind == Buffer::Scalar)
      continue;
    EXPECT_EQ(cls->present >> b & 1, buffer.present[rank]) << buffer.name;
    for (uint32_t p = 0; p < buffer.parts; ++p) {
      uint32_t at = cls->part_sizes + (cls->size_stride ? flat + p : b);
      EXPECT_EQ(words[at], buffer.sizeOf(rank, p)) << buffer.name << " " << p;
    }
    flat += buffer.parts;
  }
}

/// The counts that the rank's own buffers name, in whatever order.
void Reader::checkGiven() {
  std::set<uint64_t> expected, given;
  auto add = [](std::set<uint64_t> &set, const SizeSymbol &size) {
    if (size.kind != SizeSymbol::Const)
      set.insert(size.kind == SizeSymbol::Launch ? size.value : 0);
  };
  for (const Buffer &buffer : member.buffers)
    for (uint32_t p = 0; p < buffer.parts; ++p)
      if (buffer.kind != Buffer::Scalar && buffer.present[rank])
        add(expected, programs.sizes[buffer.sizeOf(rank, p)]);
  if (programs.globalCounts)
    for (const SizeSymbol &size : programs.sizes)
      add(expected, size);
  for (uint32_t i = 0; i < cls->ngiven; ++i)
    add(given, programs.sizes[words[cls->given + i]]);
  EXPECT_EQ(given, expected);
}

void Reader::checkAliases() {
  std::vector<std::vector<uint32_t>> expected, found;
  for (const InplacePair &pair : member.inplacePairs)
    if (pair.rank == rank)
      expected.push_back(
          {pair.bufferA, pair.partA, pair.bufferB, pair.partB, 1});
  for (uint32_t i = 0; i < cls->naliases; ++i) {
    auto begin = words.begin() + cls->aliases + 5 * i;
    found.emplace_back(begin, begin + 5);
  }
  EXPECT_EQ(found, expected);
}

void Reader::checkVariant(const RankProgram &program, uint32_t entry) {
  for (const BlockProgram &block : program.blocks) {
    uint32_t first = words[entry++], count = words[entry++];
    ASSERT_EQ(count, block.steps.size());
    checkBlock(program, block, first);
  }
}

void Reader::checkBlock(const RankProgram &program, const BlockProgram &block,
                        uint32_t first) {
  std::set<uint32_t> receives, listed;
  uint32_t at = first;
  for (const Step &step : block.steps) {
    checkStep(program, step, at);
    at += words[at + kStepLength];
    for (uint32_t i = 0; i < step.numSources; ++i)
      if (const Port &port = program.ports[step.firstPort + i];
          port.kind == Port::Recv)
        receives.insert(port.end);
  }
  for (uint32_t i = 0; i < words[first - 1]; ++i)
    listed.insert(words[first - 2 - i]);
  EXPECT_EQ(listed, receives) << "credits that are returned at the end";
}

void Reader::checkStep(const RankProgram &program, const Step &step,
                       uint32_t at) {
  const Port *ports = program.ports.data() + step.firstPort;
  const uint32_t *word = &words[at];
  EXPECT_EQ(cls->steps[word[kStepNumber]], at);
  EXPECT_EQ(word[kStepChunk], step.chunk);
  EXPECT_EQ(word[kStepNumChunks], 1u);
  EXPECT_EQ(word[kStepSize], step.size);
  EXPECT_EQ(word[kStepShift], step.shift);
  ASSERT_EQ(word[kStepNumSources], step.numSources);
  ASSERT_EQ(word[kStepNumSinks], step.numSinks);
  ASSERT_EQ(word[kStepNumWaits], step.numWaits);
  StepShape shape = shapeOf(step, ports, programs.exprs[step.expr],
                            member.buffers, programs.sizes[step.size].isToken(),
                            &program, programs.numRanks());
  EXPECT_EQ(plan.shapes.all()[word[kStepShape]].key(), shape.key());
  uint32_t numPorts = step.numSources + step.numSinks;
  for (uint32_t i = 0; i < numPorts; ++i)
    checkPort(ports[i], step, word + kStepPorts + i * kPortWords);
  const uint32_t *wait = word + kStepPorts + numPorts * kPortWords;
  for (uint32_t i = 0; i < step.numWaits; ++i, wait += kWaitWords) {
    const BlockWait &expected = program.waits[step.firstWait + i];
    EXPECT_EQ(wait[0],
              expected.block | (expected.previousRound ? kPreviousRound : 0));
    EXPECT_EQ(wait[1], expected.step + 1);
  }
  EXPECT_EQ(word + word[kStepLength], wait);
}

void Reader::checkPort(const Port &port, const Step &step, const uint32_t *at) {
  if (port.kind == Port::Recv || port.kind == Port::Send) {
    EXPECT_EQ(at[kPortKind], kPortChannel);
    EXPECT_EQ(at[kPortA], port.end);
    bool isDirect = port.direct != Port::None;
    EXPECT_EQ(at[kPortB], isDirect ? port.loc.part : 0);
    // When the arrival of a put is awaited is the table's own matter.
    EXPECT_EQ(at[kPortC] & ~uint32_t(kPortDeferred | kPortAhead),
              isDirect ? unsigned(port.direct) | port.loc.buffer << 8 : 0);
    return;
  }
  bool isBuffer = port.loc.space == Location::Buffer;
  if (isBuffer && member.buffers[port.loc.buffer].kind == Buffer::Scalar) {
    EXPECT_EQ(at[kPortKind], kPortScalar);
    return;
  }
  EXPECT_EQ(at[kPortKind], kPortMemory);
  EXPECT_EQ(at[kPortA], isBuffer ? port.loc.buffer : kScratch);
  EXPECT_EQ(at[kPortB], port.loc.part);
  // The kernel takes the chunk of the step for that of every port; a row has
  // none.
  if (isBuffer && member.buffers[port.loc.buffer].kind != Buffer::RowArg)
    EXPECT_EQ(port.loc.chunk, step.chunk);
}

class PlanWords : public testing::TestWithParam<const char *> {};

/// All of a file's schedules that have programs at these numbers of ranks.
TEST_P(PlanWords, AreThePrograms) {
  Session session;
  ASSERT_TRUE(session.parse(GetParam(), {}));
  ASSERT_TRUE(session.analyse("", {}));
  unsigned numPlans = 0;
  for (const Bytecode &code : session.schedules()) {
    std::vector<RankSpec> specs;
    for (const char *text : code.rankDims.size() == 1
                                ? std::vector<const char *>{"2", "3", "4", "7"}
                                : std::vector<const char *>{"2,2", "2,3"})
      specs.push_back(llvm::cantFail(parseRankSpec(text)));
    CompiledSchedule compiled;
    InstanceOptions options;
    if (code.schedule.starts_with("p2p"))
      options.defines = {{"a", 0}, {"b", 1}};
    ASSERT_TRUE(compileSchedule(session, code, specs, options, compiled));
    std::optional<Plan> plan;
    if (!compiled.instances.empty())
      plan = planOf(session, compiled);
    if (!plan)
      continue; // of functions over rows
    ++numPlans;
    LoadedPlans loaded(*plan);
    for (const PlanRanks &ranks : plan->ranks) {
      const ProgramSet &programs = *ranks.programs;
      Status status = checkPlan(
          loaded.get(), *findRanks(loaded.get(), int(programs.numRanks())));
      ASSERT_TRUE(status.isOk()) << status.text();
      for (uint32_t m = 0; m < programs.members.size(); ++m)
        for (Rank r = 0; r < programs.numRanks(); ++r) {
          SCOPED_TRACE(code.schedule + " at " +
                       std::to_string(programs.numRanks()) + " ranks, member " +
                       std::to_string(m) + ", rank " + std::to_string(r));
          Reader(*plan, ranks, loaded.get(), m, r).check();
          if (HasFatalFailure())
            return;
        }
    }
  }
  EXPECT_GT(numPlans, 0u);
}

#define LIBRARY(NAME) COLL_LIBRARY_DIR "/" NAME ".coll"
INSTANTIATE_TEST_SUITE_P(
    Files, PlanWords,
    testing::Values(LIBRARY("ring"), LIBRARY("tree"), LIBRARY("hier"),
                    LIBRARY("root"), LIBRARY("nvls"), LIBRARY("p2p"),
                    LIBRARY("barrier"), COLL_MAPPED_FILE),
    [](const testing::TestParamInfo<const char *> &info) {
      llvm::StringRef name = llvm::StringRef(info.param).rsplit('/').second;
      return llvm::join(llvm::split(name.split('.').first, '-'), "_");
    });

} // namespace
