//===- HandSchedules.cpp - Schedules written by hand ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "HandPlan.h"

namespace coll::test {

static constexpr uint32_t in = 0, out = 1;

static coll_plan_size countOf(uint32_t index, uint32_t chunks = 1) {
  return {COLL_SIZE_COUNT, index, 0, chunks, 0};
}

Schedule ringAllreduce(int n, uint32_t instances, uint32_t roundUnits) {
  Schedule s;
  s.name = "hand_ring";
  s.contract = "allreduce";
  s.nranks = n;
  s.instances = instances;
  s.roundUnits = roundUnits;
  s.reduces = true;
  s.buffers = {{"in", COLL_BUF_IN, 1}, {"out", COLL_BUF_OUT, 1}};
  s.sizes = {countOf(0, uint32_t(n))};
  s.sites = {"reduce a[c]@g[i] -> a[c]@g[i + 1]",
             "copy a[c]@g[i] -> a[c]@g[i + 1]"};
  auto chunk = [&](int base) { return Word::ofRank(base, n); };
  std::vector<Step> steps;
  if (n == 1) {
    steps.push_back({{buffer(in)}, {buffer(out)}});
  } else {
    Port mine = buffer(in), result = buffer(out), prev = channel(0),
         next = channel(0);
    steps.push_back({{mine}, {next}, chunk(-1)});
    for (int i = 1; i != n - 1; ++i)
      steps.push_back({{prev, mine}, {next}, chunk(-i - 1)});
    steps.push_back({{prev, mine}, {result, next}, chunk(0)});
    for (int i = 1; i != n - 1; ++i)
      steps.push_back({{prev}, {result, next}, chunk(-i), 0, 1});
    steps.push_back({{prev}, {result}, chunk(1), 0, 1});
  }
  Class ring;
  ring.blocks = {steps};
  if (n > 1) {
    ring.sends = {{Word::ofRank(1, n), 0}};
    ring.recvs = {{Word::ofRank(-1, n), 0}};
  }
  ring.aliases = {{in, 0, out, 0, 1}};
  s.classes = {ring};
  s.members = {{std::vector<uint32_t>(size_t(n), 0)}};
  return s;
}

Schedule directAllgather(int n) {
  Schedule s;
  s.name = "hand_allgather";
  s.contract = "allgather";
  s.nranks = n;
  s.buffers = {{"in", COLL_BUF_IN, 1}, {"out", COLL_BUF_OUT, uint32_t(n)}};
  s.sizes = {countOf(0)};
  s.sites = {"copy in@q -> out[q]@r"};
  s.members = {{}};
  for (int r = 0; r != n; ++r) {
    Class cls;
    Step send = {{buffer(in)}, {buffer(out, uint32_t(r))}};
    std::vector<Step> recvs;
    for (int p = 0; p != n; ++p) {
      if (p == r)
        continue;
      send.sinks.push_back(channel(uint32_t(cls.sends.size())));
      recvs.push_back(
          {{channel(uint32_t(cls.recvs.size()))}, {buffer(out, uint32_t(p))}});
      cls.sends.push_back({uint32_t(p)});
      cls.recvs.push_back({uint32_t(p)});
    }
    cls.blocks = {{send}};
    cls.blocks[0].insert(cls.blocks[0].end(), recvs.begin(), recvs.end());
    cls.aliases = {{in, 0, out, uint32_t(r), 1}};
    s.classes.push_back(cls);
    s.members[0].classOf.push_back(uint32_t(r));
  }
  return s;
}

Schedule chainBroadcast(int n) {
  Schedule s;
  s.name = "hand_chain";
  s.contract = "broadcast";
  s.nranks = n;
  s.buffers = {{"in", COLL_BUF_IN, 1}, {"out", COLL_BUF_OUT, 1}};
  s.sizes = {countOf(0)};
  s.sites = {"copy out@g[i] -> out@g[i + 1]"};
  for (int v = 0; v != n; ++v) {
    Class cls;
    Step step = {{v == 0 ? buffer(in) : channel(0)}, {buffer(out)}};
    cls.present = v == 0 ? 3 : 2;
    if (v != 0)
      cls.recvs = {{Word::ofRank(-1, n)}};
    else
      cls.aliases = {{in, 0, out, 0, 1}};
    if (v != n - 1) {
      cls.sends = {{Word::ofRank(1, n)}};
      step.sinks.push_back(channel(0));
    }
    cls.blocks = {{step}};
    s.classes.push_back(cls);
  }
  for (int root = 0; root != n; ++root) {
    s.launchDomain.push_back(root);
    Member member;
    member.rotate = true;
    for (int v = 0; v != n; ++v)
      member.classOf.push_back(uint32_t(v));
    s.members.push_back(member);
  }
  return s;
}

Schedule starBarrier(int n) {
  Schedule s;
  s.name = "hand_barrier";
  s.contract = "barrier";
  s.nranks = n;
  s.ncounts = 0;
  s.buffers = {{"in", COLL_BUF_IN, 1}, {"out", COLL_BUF_OUT, 1}};
  s.sizes = {{COLL_SIZE_CONST, 0, 0, 1, 0}};
  s.sites = {"copy reduce(in@all) -> out@r"};
  s.members = {{}};
  for (int r = 0; r != n; ++r) {
    Class cls;
    std::vector<Step> steps;
    for (int p = 0; p != n; ++p) {
      if (p == r || (r != 0 && p != 0))
        continue;
      cls.sends.push_back({uint32_t(p)});
      cls.recvs.push_back({uint32_t(p)});
    }
    for (uint32_t i = 0; i != cls.sends.size(); ++i)
      steps.push_back(r == 0 ? Step{{channel(i)}, {buffer(out)}}
                             : Step{{buffer(in)}, {channel(i)}});
    for (uint32_t i = 0; i != cls.sends.size(); ++i)
      steps.push_back(r == 0 ? Step{{buffer(in)}, {channel(i)}}
                             : Step{{channel(i)}, {buffer(out)}});
    cls.blocks = {steps};
    s.classes.push_back(cls);
    s.members[0].classOf.push_back(uint32_t(r));
  }
  return s;
}

Schedule directAlltoallv(int n) {
  Schedule s;
  s.name = "hand_alltoallv";
  s.contract = "alltoallv";
  s.nranks = n;
  s.vectorCounts = true;
  s.buffers = {{"in", COLL_BUF_IN, uint32_t(n)},
               {"out", COLL_BUF_OUT, uint32_t(n)}};
  s.sites = {"copy in[q]@p -> out[p]@q"};
  for (int i = 0; i != n * n; ++i)
    s.sizes.push_back(countOf(uint32_t(i)));
  s.members = {{}};
  for (int r = 0; r != n; ++r) {
    Class cls;
    cls.partwise = true;
    auto size = [&](int from, int to) { return uint32_t(from * n + to); };
    for (int q = 0; q != n; ++q)
      cls.partSizes.push_back(size(r, q));
    for (int p = 0; p != n; ++p)
      cls.partSizes.push_back(size(p, r));
    for (int p = 0; p != n; ++p)
      for (int q = 0; q != n; ++q)
        if (p == r || q == r)
          cls.given.push_back(size(p, q));
    std::vector<Step> steps = {
        {{buffer(in, uint32_t(r))}, {buffer(out, uint32_t(r))}, 0, size(r, r)}};
    for (int d = 1; d != n; ++d) {
      uint32_t to = uint32_t((r + d) % n);
      steps.push_back(
          {{buffer(in, to)}, {channel(uint32_t(d - 1))}, 0, size(r, int(to))});
      cls.sends.push_back({to});
    }
    for (int d = 1; d != n; ++d) {
      uint32_t from = uint32_t((r + n - d) % n);
      steps.push_back({{channel(uint32_t(d - 1))},
                       {buffer(out, from)},
                       0,
                       size(int(from), r)});
      cls.recvs.push_back({from});
    }
    cls.blocks = {steps};
    s.classes.push_back(cls);
    s.members[0].classOf.push_back(uint32_t(r));
  }
  return s;
}

Schedule twoBlockShift(int n, uint32_t instances) {
  Schedule s;
  s.instances = instances;
  s.name = "hand_shift";
  s.contract = "shift";
  s.nranks = n;
  s.buffers = {{"in", COLL_BUF_IN, 1}, {"out", COLL_BUF_OUT, 1}};
  s.sizes = {countOf(0)};
  s.sites = {"copy in@r -> out@((r + 1) % N)"};
  s.roundUnits = 64;
  Class cls;
  cls.sends = {{Word::ofRank(1, n)}};
  cls.recvs = {{Word::ofRank(-1, n)}};
  cls.scratchSlots = 1;
  // Block 1 may not overwrite the slot before block 0 has read the round
  // before: block 0's send comes first, so one round is enough of a distance.
  cls.blocks = {
      {{{buffer(in)}, {channel(0)}},
       {{scratch(0)}, {buffer(out)}, 0, 0, 0, {{1, 1}}}},
      {{{channel(0)}, {scratch(0)}, 0, 0, 0, {{0, 1}}}},
  };
  s.classes = {cls};
  s.members = {{std::vector<uint32_t>(size_t(n), 0)}};
  return s;
}

} // namespace coll::test
