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
#include "llvm/Support/raw_ostream.h"

using namespace coll;
using namespace coll::lowering;

namespace {
struct Steps {
  bool hasChannel = false, hasBlocks = false, gathers = false, spreads = false;
};
} // namespace

static Steps stepsOf(const ProgramSet &programs) {
  Steps all;
  anyStep(programs, [&](const Step &, const StepShape &shape) {
    all.hasChannel |= shape.hasChannel();
    all.hasBlocks |= shape.hasBlocks();
    all.gathers |= shape.gathers && shape.type == ElemType::T;
    all.spreads |= shape.spreads;
    return false;
  });
  return all;
}

static const char *whyNoPackets(const ProgramSet &programs,
                                const Steps &steps) {
  if (!steps.hasChannel)
    return "there are no messages";
  if (!programs.launchCounts.empty())
    return "only some ranks know how long a message is";
  if (programs.map.byRow)
    return "rows are whole";
  return steps.hasBlocks ? "blocks have a scale" : nullptr;
}

static std::string whyNoMultimem(const ProgramSet &programs, const Steps &steps,
                                 unsigned chip) {
  if (chip < kMultimemChip)
    return "chips have it from sm_" + std::to_string(kMultimemChip) + " on";
  if (programs.numRanks() < kMultimemRanks)
    return "there are fewer than " + std::to_string(kMultimemRanks) + " ranks";
  if (!programs.launchCounts.empty())
    return "with counts of each rank no message goes direct";
  if (!steps.gathers && !steps.spreads)
    return "no step sums by reduce_any, or stores, one place of every rank in "
           "messages that go direct";
  return "";
}

std::string coll::reportOnDevice(const ProgramSet &programs, unsigned chip) {
  std::string text;
  llvm::raw_string_ostream os(text);
  const Steps steps = stepsOf(programs);
  os << "  on sm_" << chip << ": ";
  if (const char *why = whyNoPackets(programs, steps))
    os << "no packets (" << why << ")";
  else
    os << "packets";
  if (programs.map.protocol == "ll128" && !whyNoPackets(programs, steps))
    os << (fitsLines(programs)
               ? ", lines"
               : ", no lines (what is sent is of another type)");
  if (std::string why = whyNoMultimem(programs, steps, chip); !why.empty()) {
    os << ", no multimem (" << why << ")\n";
    return text;
  }
  os << ", multimem";
  const char *before = " ";
  if (steps.gathers) {
    os << before << "sums of f32, f16 and bf16";
    before = " and ";
  }
  if (steps.spreads)
    os << before << "stores";
  os << "\n";
  return text;
}
