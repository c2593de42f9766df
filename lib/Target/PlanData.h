//===- PlanData.h - The constant data of a plan -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COLL_LIB_TARGET_PLANDATA_H
#define COLL_LIB_TARGET_PLANDATA_H

#include "lib/Lowering/KernelBuilder.h"
#include "lib/Lowering/StepTable.h"
#include "llvm/IR/Module.h"

#include <optional>

namespace coll {

/// One statement, for reports.
struct PlanSite {
  std::string file, text;
  uint32_t line = 0, column = 0;
};

/// A schedule at one rank count: the programs, which class every rank runs, and
/// the classes as words.
struct PlanRanks {
  const ProgramSet *programs = nullptr;
  ClassSet classes;
  std::vector<lowering::ClassTable> tables;
  FifoShape bulk, small; // what the programs were verified with
  /// Of all that ranks have to agree on to understand each other's messages:
  /// what goes over which channel in which order, in which form, at which depth
  /// and cut how. Neither kernels nor the place in the source are part of it.
  uint64_t digest(const lowering::ShapeTable &shapes) const;
};

struct Plan {
  std::string name; // of the schedule; the C names begin with it
  std::vector<PlanRanks> ranks;
  std::vector<PlanSite> sites;
  lowering::ShapeTable shapes;
  const ProgramSet &any() const { return *ranks.front().programs; }
};

/// coll_image and coll_device_kernel.
struct DeviceImage {
  uint32_t kind = 0, chip = 0;
  std::string data;
};
struct DeviceKernel {
  uint8_t dtype = 0, op = 0;
  std::string symbol;
  uint32_t threads = 0, paramBytes = 0, sharedBytes = 0, registers = 0;
  uint32_t protocols = 0; // COLL_PROTOCOL_*
};
struct DeviceCode {
  std::vector<DeviceImage> images;
  std::vector<DeviceKernel> kernels;
};

/// Whether some size is the caller's to give.
bool hasCounts(const ProgramSet &programs);
/// Whether there are elements at all; a barrier has none.
bool hasElements(const ProgramSet &programs);

/// What a plan has no room for, in words: "5 launch parameters, a plan has at
/// most 3". Nothing if everything fits. What scheduling can exceed it refuses
/// itself (lib/Analysis/MapLimits.h).
std::optional<std::string> exceedsPlan(const ProgramSet &programs);

/// Adds `const coll_plan NAME_plan` (coll/abi.h) to a module that holds the
/// kernels.
void addPlanData(llvm::Module &module, const Plan &plan,
                 const std::vector<lowering::KernelInfo> &kernels,
                 const DeviceCode &device = {});

} // namespace coll
#endif // COLL_LIB_TARGET_PLANDATA_H
