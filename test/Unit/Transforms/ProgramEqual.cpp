//===- ProgramEqual.cpp - Are two programs the same? ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Structured bindings name every field, so that a new one does not compile
// until it is compared.
//
//===----------------------------------------------------------------------===//

#include "ProgramEqual.h"

#include <sstream>

using namespace coll;

namespace {
class Describer {
public:
  explicit Describer(const ProgramSet &programs) : programs(programs) {}

  std::string run();

private:
  template <typename... Values> void put(const Values &...values) {
    ((os << ' ', one(values)), ...);
  }
  template <typename T> void one(const T &value) {
    if constexpr (std::is_enum_v<T>)
      os << int(value);
    else
      os << value;
  }
  template <typename T> void one(const std::vector<T> &values) {
    os << '[';
    for (const auto &value : values)
      os << ' ', one(static_cast<T>(value));
    os << ']';
  }

  void describe(const MapDirectives &map);
  void describe(const Function &function);
  void describe(const Buffer &buffer);
  void describe(const ProgramMember &member);
  void describe(const RankProgram &program);
  void describe(const RankProgram &program, const Step &step);
  void describe(const Port &port);
  void describeSite(SiteId site);

  const ProgramSet &programs;
  std::ostringstream os;
};
} // namespace

void Describer::describe(const MapDirectives &map) {
  const auto &[protocol, instances, channels, blocks, threads, slots,
               roundBytes, slotBytes, sizesLow, sizesHigh, scratchBytes,
               sourceOrder, byRow, pull, push, staged] = map;
  put("\nmap", protocol, instances, channels, blocks, threads, slots,
      roundBytes, slotBytes, sizesLow, sizesHigh, scratchBytes, sourceOrder,
      byRow, pull, push, staged);
}

void Describer::describe(const Function &function) {
  const auto &[name, params, code, usesRows] = function;
  put("\nfunction", name, params, usesRows);
  for (const auto &[op, param, value] : code)
    put(op, param, value, ';');
}

void Describer::describe(const Buffer &buffer) {
  const auto &[kind, name, parts, present, partSize] = buffer;
  put("\nbuffer", kind, name, parts, present, partSize);
}

void Describer::describeSite(SiteId site) {
  put("site");
  for (; site != kNone; site = programs.sites[site].caller) {
    const auto &[file, begin, end] = programs.sites[site].range;
    put(file, begin, end, ';');
  }
}

void Describer::describe(const Port &port) {
  // A wish is not part of the text: `direct` says what became of it.
  const auto &[kind, type, scaled, scaledRounded, receivedScaled, end, loc,
               direct, ahead, wish] = port;
  const auto &[space, buffer, part, chunk] = loc;
  put("\n      port", kind, type, scaled, scaledRounded, receivedScaled, end,
      space, buffer, part, chunk, direct, ahead);
}

void Describer::describe(const RankProgram &program, const Step &step) {
  const auto &[firstPort, numSources, numSinks, shift, expr, type, complete,
               size, chunk, site, firstWait, numWaits, value] = step;
  put("\n    step", numSources, numSinks, shift, type, complete, size, chunk,
      value);
  describeSite(site);
  put("expr");
  for (const auto &[kind, roundType, function, arg] :
       programs.exprs[expr].nodes)
    put(kind, roundType, function, arg, ';');
  for (uint32_t i = 0; i < numWaits; ++i) {
    const auto &[block, waitStep, previousRound] = program.waits[firstWait + i];
    put("\n      wait", block, waitStep, previousRound);
  }
  for (uint32_t i = 0; i < uint32_t(numSources + numSinks); ++i)
    describe(program.ports[firstPort + i]);
}

void Describer::describe(const RankProgram &program) {
  const auto &[blocks, ports, waits, sendEnds, recvEnds, scratchSlots] =
      program;
  put("\nrank", scratchSlots);
  for (const auto *ends : {&sendEnds, &recvEnds}) {
    put("ends");
    for (const auto &[peer, tag] : *ends)
      put(peer, tag, ';');
  }
  for (const BlockProgram &block : blocks) {
    put("\n  block");
    for (const Step &step : block.steps)
      describe(program, step);
  }
}

void Describer::describe(const ProgramMember &member) {
  const auto &[launchValues, outOfPlace, inPlace, inplacePairs, buffers] =
      member;
  put("\nmember", launchValues);
  for (const auto &[rank, bufferA, partA, bufferB, partB] : inplacePairs)
    put("\nalias", rank, bufferA, partA, bufferB, partB);
  for (const Buffer &buffer : buffers)
    describe(buffer);
  put("\nout of place");
  for (const RankProgram &program : outOfPlace)
    describe(program);
  put("\nin place");
  for (const RankProgram &program : inPlace)
    describe(program);
}

std::string Describer::run() {
  const auto &[schedule, contract, sourcePath, rankDims, launchNames,
               launchDomains, reduces, isAvgLegal, globalCounts, launchCounts,
               launchCountDims, sizes, exprs, functions, sites, map, numTags,
               instances, roundBytes, members] = programs;
  put(schedule, contract, sourcePath, rankDims, launchNames, reduces,
      isAvgLegal, globalCounts, launchCounts, launchCountDims, numTags,
      instances, roundBytes);
  for (const std::vector<uint32_t> &domain : launchDomains)
    put("\ndomain", domain);
  for (const auto &[kind, value, chunks] : sizes)
    put("\nsize", kind, value, chunks);
  describe(map);
  for (const Function &function : functions)
    describe(function);
  for (const ProgramMember &member : members)
    describe(member);
  return os.str();
}

std::string coll::describe(const ProgramSet &programs) {
  return Describer(programs).run();
}
