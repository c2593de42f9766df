//===- Replaced.cpp - Directives that a target does without ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What code has is asked of those who make it: of a device's protocols
// lib/Target/DeviceReport.cpp, of messages that go direct
// lib/Analysis/Direct.h. Where code for hosts and devices is made, only devices
// are spoken of: a host has no packets, and who asks for them means the device.
//
//===----------------------------------------------------------------------===//

#include "lib/Driver/Replaced.h"

#include "lib/Analysis/Report.h"
#include "lib/Lowering/Machine.h"
#include "lib/Lowering/Multimem.h"
#include "lib/Target/Cuda.h"

#include <set>

using namespace coll;
using namespace coll::lowering;

namespace {
class Replaced {
public:
  Replaced(llvm::ArrayRef<Instance> instances, const InstanceOptions &options)
      : instances(instances), options(options) {}
  std::string find();

private:
  void findAsked();
  bool asks(const std::string &name) const {
    return ofAll.count(name) || ofParts.count(name);
  }
  /// Says it, where somebody asks for it.
  void add(const std::string &name, const llvm::Twine &instead,
           const std::string &why = "");
  void addOnHost();
  void addOnDevice();
  void addMultimem();
  void addDirect();
  std::string notAdded() const;

  llvm::ArrayRef<Instance> instances;
  const InstanceOptions &options;
  std::set<std::string> ofAll, ofParts; // of a schedule; under a label
  unsigned mostThreads = 0;
  std::vector<DeviceProtocols> protocols; // of instances with programs
  std::string text;
};
} // namespace

void Replaced::findAsked() {
  for (const Instance &instance : instances)
    for (const ChunkGraph &graph : instance.members) {
      ofAll.insert(graph.map.protocol);
      mostThreads = std::max(mostThreads, graph.map.threads);
      for (const Mapping &mapping : graph.mappings) {
        ofParts.insert(mapping.protocol);
        mostThreads = std::max(mostThreads, mapping.threads);
        if (mapping.store)
          ofParts.insert("store");
      }
    }
}

void Replaced::add(const std::string &name, const llvm::Twine &instead,
                   const std::string &why) {
  if (!asks(name))
    return;
  text +=
      ((text.empty() ? "" : ", ") + llvm::Twine(name) + " by " + instead).str();
  if (!why.empty())
    text += " (" + why + ")";
}

void Replaced::addOnHost() {
  add("ll", "the small slots");
  add("ll128", "the small slots");
  add("multimem", "loads and sends to each rank");
}

/// Sums that kernels are made for, and which the hardware does not add.
std::string Replaced::notAdded() const {
  std::string list;
  unsigned count = 0;
  for (Format dtype : options.dtypes)
    for (ReduceOp op : options.ops)
      if (!addsByMultimem(dtype, op) && ++count <= 4)
        list += (list.empty() ? "" : ", ") + std::string(nameOf(op)) + " of " +
                nameOf(dtype);
  if (count > 4)
    list += " and " + std::to_string(count - 4) + " more";
  return list;
}

void Replaced::addMultimem() {
  const char *const instead = "loads and sends to each rank";
  auto hasIt = [](const DeviceProtocols &p) { return p.noMultimem.empty(); };
  // Fewer ranks than that are no news where others have it.
  if (llvm::none_of(protocols, hasIt)) {
    add("multimem", instead, protocols.back().noMultimem);
    return;
  }
  bool isMissed = false, gathers = false;
  for (const DeviceProtocols &p : protocols) {
    isMissed |= hasIt(p) && p.isMultimemMissed;
    gathers |= hasIt(p) && p.gathers;
  }
  std::string list = gathers ? notAdded() : "";
  if (isMissed)
    add("multimem", "loads and sends to each rank in part",
        "some messages are none of a sum by reduce_any of one place of every "
        "rank, nor of a copy to one");
  else if (!list.empty())
    add("multimem", "loads from each rank in sums",
        "the hardware has no " + list);
}

void Replaced::addOnDevice() {
  const char *const packets = "packets where all messages are small";
  std::string noPackets, noLines;
  for (const DeviceProtocols &p : protocols)
    if (p.hasMessages) {
      noPackets = noPackets.empty() ? p.noPackets : noPackets;
      noLines = noLines.empty() ? p.noLines : noLines;
    }
  for (const char *name : {"ll", "ll128"})
    if (!noPackets.empty())
      add(name, "slots", noPackets);
    else if (!ofAll.count(name))
      add(name, packets, "a launch has them in all messages, or in none");
    else if (llvm::StringRef(name) == "ll128" && !noLines.empty())
      add(name, packets, noLines);
  addMultimem();
}

void Replaced::addDirect() {
  for (const Instance &instance : instances) {
    if (!instance.scheduled)
      continue;
    const ProgramSet &programs = instance.scheduled->programs;
    for (uint32_t m = 0; m < programs.members.size(); ++m)
      for (const RankProgram &program : programs.members[m].outOfPlace)
        for (const Port &port : program.ports)
          if (port.wish == Port::Directly &&
              (port.direct == Port::None || !programs.launchCounts.empty()))
            return add("direct", "slots",
                       slotReasonsText(whyInSlots(programs, m)));
  }
}

std::string Replaced::find() {
  findAsked();
  const bool asksDevices = asks("ll") || asks("ll128") || asks("multimem");
  // Of a chip that is not known, nothing is.
  if (options.isForDevices && options.oldestChip && asksDevices) {
    for (const Instance &instance : instances)
      if (instance.scheduled)
        protocols.push_back(
            protocolsOn(instance.scheduled->programs, options.oldestChip));
    if (!protocols.empty())
      addOnDevice();
  } else if (!options.isForDevices) {
    addOnHost();
  }
  if (asks("direct"))
    addDirect();
  if (mostThreads > (options.isForDevices ? kMostDeviceThreads : 0)) {
    ofAll.insert("threads");
    if (options.isForDevices)
      add("threads",
          std::to_string(kMostDeviceThreads) + ", so that registers suffice");
    else
      add("threads", "one thread for each block");
  }
  add("store", "storing tmps where steps need it");
  return std::move(text);
}

std::string coll::replacedDirectives(llvm::ArrayRef<Instance> instances,
                                     const InstanceOptions &options) {
  return Replaced(instances, options).find();
}
