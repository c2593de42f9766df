//===- DeviceCode.h - A plan's code for the devices of a run ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COLL_TOOLS_COLL_RUN_DEVICECODE_H
#define COLL_TOOLS_COLL_RUN_DEVICECODE_H

#include "lib/Driver/Session.h"
#include "lib/Target/HostObject.h"
#include "tools/coll-run/Gpu.h"

namespace coll {

/// PTX for the oldest of the devices, cubins where there is an assembler
/// (`ptxas`: which one, "none": do without), and the bitcode that stand-in
/// drivers run.
llvm::Expected<DeviceCode> compileForGpus(Session &session, const Plan &plan,
                                          const HostOptions &options,
                                          const std::vector<GpuInfo> &gpus,
                                          const std::string &ptxas);

} // namespace coll
#endif // COLL_TOOLS_COLL_RUN_DEVICECODE_H
