//===- ForcedRun.cpp - Programs on the runtime, unchecked -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ForcedRun.h"
#include "test/Unit/Runtime/HandChannel.h"
#include "test/Unit/Runtime/Launching.h"

#include <mutex>

using namespace coll;

static constexpr uint32_t slotBytes = 64;

static test::Port portOf(const coll::Port &port) {
  if (port.kind == coll::Port::Recv || port.kind == coll::Port::Send)
    return test::channel(port.end);
  if (port.loc.space == Location::Scratch)
    return test::scratch(port.loc.part);
  return test::buffer(port.loc.buffer, port.loc.part);
}

static test::Class classOf(const RankProgram &program) {
  test::Class cls;
  cls.scratchSlots = program.scratchSlots;
  for (const ChannelEnd &end : program.sendEnds)
    cls.sends.push_back({end.peer, end.tag});
  for (const ChannelEnd &end : program.recvEnds)
    cls.recvs.push_back({end.peer, end.tag});
  for (const BlockProgram &block : program.blocks) {
    std::vector<test::Step> &steps = cls.blocks.emplace_back();
    for (const coll::Step &step : block.steps) {
      test::Step &to = steps.emplace_back();
      const coll::Port *ports = program.ports.data() + step.firstPort;
      for (uint32_t i = 0; i < step.numSources; ++i)
        to.sources.push_back(portOf(ports[i]));
      for (uint32_t i = 0; i < step.numSinks; ++i)
        to.sinks.push_back(portOf(ports[step.numSources + i]));
      to.chunk = step.chunk;
    }
  }
  return cls;
}

static test::Schedule scheduleOf(const ProgramSet &programs) {
  test::Schedule s;
  s.name = "forced";
  s.contract = "allreduce";
  s.nranks = int(programs.numRanks());
  s.buffers = {{"in", COLL_BUF_IN, 1}, {"out", COLL_BUF_OUT, 1}};
  s.sizes = {{COLL_SIZE_COUNT, 0, 0, programs.sizes[0].chunks, 0}};
  s.sites = {"forced"};
  s.reduces = true;
  s.slots = s.smallSlots = 1; // what it was verified with, as it says
  s.members = {{}};
  for (const RankProgram &program : programs.members[0].outOfPlace) {
    s.members[0].classOf.push_back(s.classes.size());
    s.classes.push_back(classOf(program));
  }
  return s;
}

test::ForcedResult test::runForced(const ProgramSet &programs,
                                   const FifoShape &shape,
                                   uint64_t deadlineMs) {
  const int nranks = int(programs.numRanks());
  // A message of one small slot would be sent as such.
  Variables variables({{"COLL_SLOTS", std::to_string(shape.slots)},
                       {"COLL_SLOT_BYTES", std::to_string(slotBytes)},
                       {"COLL_SMALL_BYTES", "16"}});
  HandPlan plan({scheduleOf(programs)});
  plan.changeRanks(0).slices = uint16_t(shape.slices);
  const size_t count = size_t(shape.slices) * programs.sizes[0].chunks *
                       slotBytes / sizeof(int32_t);
  forcedBatch = shape.batch;
  std::mutex mutex;
  ForcedResult result;
  result.isRight = result.hasEnded = true;
  RendezvousDirectory directory;
  coll_id id = {};
  EXPECT_EQ(coll_make_id(&id), COLL_OK) << coll_last_error();
  asThreads(nranks, [&](int rank) {
    coll_config config = deadlines(deadlineMs, 60'000);
    coll_comm *comm = nullptr;
    ASSERT_EQ(coll_comm_init(&comm, nranks, &id, rank, &config), COLL_OK)
        << coll_last_error();
    // A rank that has ended destroys it while others may be stuck for good.
    auto launches = [&] {
      for (uint32_t launch = 0; launch < shape.rounds; ++launch) {
        std::vector<int32_t> in = inputOf(rank, count), out(count, -1);
        Call call;
        call.in(in.data()).out(out.data()).count(count);
        coll_status status = coll_launch(&plan.plan(), call, comm, nullptr);
        std::lock_guard lock(mutex);
        if (status != COLL_OK) {
          result.hasEnded = result.isRight = false;
          result.hasTimedOut |= status == COLL_TIMEOUT;
          if (result.report.empty())
            result.report = coll_last_error();
          return;
        }
        result.isRight &= out == sumOf(nranks, count);
      }
    };
    launches();
    coll_comm_destroy(comm);
  });
  forcedBatch = 0;
  return result;
}
