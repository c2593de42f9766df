//===- DeviceReport.cpp - Which protocols device code has -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a plan's device code has beside slots, and why it lacks the rest: as
// kernels are built (KernelBuilder.cpp, StepMulticast.cpp), said before any is.
// What goes direct depends on no target (lib/Analysis/Report.h).
//
//===----------------------------------------------------------------------===//

#include "lib/Target/Cuda.h"

#include "lib/Lowering/Multimem.h"
#include "lib/Lowering/StepShape.h"
#include "llvm/Support/raw_ostream.h"

#include <map>
#include <tuple>

using namespace coll;
using namespace coll::lowering;

/// A channel of a rank that sends.
using ChannelKey = std::tuple<Rank, Rank, uint32_t>;

namespace {
/// The messages of a channel, in order, as one end has them.
struct End {
  std::vector<bool> asks, has; // multimem
};

class Judge {
public:
  Judge(const ProgramSet &programs, unsigned chip)
      : programs(programs), chip(chip) {}
  DeviceProtocols judge();

private:
  std::string whyNoPackets() const;
  std::string whyNoMultimem() const;
  bool isMissed() const;
  void look(Rank rank, const RankProgram &program, const Step &step,
            const StepShape &shape);

  const ProgramSet &programs;
  const unsigned chip;
  DeviceProtocols has;
  bool hasBlocks = false;
  std::map<ChannelKey, End> sent, received;
};
} // namespace

void Judge::look(Rank rank, const RankProgram &program, const Step &step,
                 const StepShape &shape) {
  has.hasMessages |= shape.hasChannel();
  hasBlocks |= shape.hasBlocks();
  const bool gathers = shape.gathers && shape.type == ElemType::T;
  has.gathers |= gathers;
  has.spreads |= shape.spreads;
  for (uint32_t i = 0; i < step.numSources + step.numSinks; ++i) {
    const Port &port = program.ports[step.firstPort + i];
    const bool isSend = port.kind == Port::Send;
    if (!isSend && port.kind != Port::Recv)
      continue;
    const ChannelEnd &end =
        (isSend ? program.sendEnds : program.recvEnds)[port.end];
    const ChannelKey key = isSend ? ChannelKey(rank, end.peer, end.tag)
                                  : ChannelKey(end.peer, rank, end.tag);
    End &own = (isSend ? sent : received)[key];
    own.asks.push_back(port.wish == Port::ByMultimem);
    own.has.push_back(isSend ? shape.spreads : gathers);
  }
}

/// A message is done by multimem at either end: it is one of a sum's, or one of
/// a store's.
bool Judge::isMissed() const {
  for (const auto &[key, from] : sent) {
    const End &to = received.at(key);
    for (size_t i = 0; i != from.asks.size(); ++i)
      if (from.asks[i] && !from.has[i] && !to.has[i])
        return true;
  }
  return false;
}

std::string Judge::whyNoPackets() const {
  if (!has.hasMessages)
    return "there are no messages";
  if (!programs.launchCounts.empty())
    return "only some ranks know how long a message is";
  if (programs.map.byRow)
    return "rows are whole";
  return hasBlocks ? "blocks have a scale" : "";
}

std::string Judge::whyNoMultimem() const {
  if (chip < kMultimemChip)
    return "chips have it from sm_" + std::to_string(kMultimemChip) + " on";
  if (programs.numRanks() < kMultimemRanks)
    return "there are fewer than " + std::to_string(kMultimemRanks) + " ranks";
  if (!programs.launchCounts.empty())
    return "with counts of each rank no message goes direct";
  if (!has.gathers && !has.spreads)
    return "no step sums by reduce_any, or stores, one place of every rank in "
           "messages that go direct";
  return "";
}

DeviceProtocols Judge::judge() {
  anyStep(programs, [&](Rank rank, const RankProgram &program, const Step &step,
                        const StepShape &shape) {
    look(rank, program, step, shape);
    return false;
  });
  has.noPackets = whyNoPackets();
  has.noLines = !has.noPackets.empty() ? has.noPackets
                : fitsLines(programs)  ? ""
                                       : "what is sent is of another type";
  has.noMultimem = whyNoMultimem();
  has.isMultimemMissed = isMissed();
  return std::move(has);
}

DeviceProtocols coll::protocolsOn(const ProgramSet &programs, unsigned chip) {
  return Judge(programs, chip).judge();
}

std::string coll::reportOnDevice(const ProgramSet &programs, unsigned chip) {
  std::string text;
  llvm::raw_string_ostream os(text);
  const DeviceProtocols has = protocolsOn(programs, chip);
  auto say = [&](const char *name, const std::string &why) {
    os << (why.empty() ? "" : "no ") << name;
    if (!why.empty())
      os << " (" << why << ")";
  };
  os << "  on sm_" << chip << ": ";
  say("packets", has.noPackets);
  if (programs.map.protocol == "ll128" && has.noPackets.empty()) {
    os << ", ";
    say("lines", has.noLines);
  }
  os << ", ";
  say("multimem", has.noMultimem);
  if (has.noMultimem.empty()) {
    if (has.gathers)
      os << " sums of f32, f16 and bf16";
    if (has.spreads)
      os << (has.gathers ? " and" : "") << " stores";
  }
  os << "\n";
  return text;
}
