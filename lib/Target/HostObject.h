//===- HostObject.h - Programs to an object and its header ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COLL_LIB_TARGET_HOSTOBJECT_H
#define COLL_LIB_TARGET_HOSTOBJECT_H

#include "lib/Analysis/Schedule.h"
#include "lib/Support/Source.h"
#include "lib/Target/HostCode.h"
#include "lib/Target/PlanData.h"

namespace coll {

struct HostOptions {
  std::vector<lowering::Format>
      dtypes; // asked for; those a schedule cannot have are left out
  std::vector<lowering::ReduceOp> ops;
  HostArch arch = HostArch::X86_64;
  std::vector<lowering::Isa> isas;        // empty: all of the family
  bool hasHost = true;                    // false: no kernels for hosts
  unsigned packetBits = COLL_PACKET_BITS; // of flags: fewer in tests
  bool countBytes = false; // kernels report the bytes they move to
                           // coll_count_bytes(read, written)
};

/// A schedule and its programs, one set per rank count.
struct ScheduleInput {
  std::string name;
  std::vector<const ScheduleResult *> scheduled;
};

/// Classes, tables, shapes and sites of a schedule, which uses no functions of
/// rows.
Plan makePlan(const ScheduleInput &input, const SourceManager &sources);

/// The kernels of a plan as kernel IR.
lowering::KernelModule
makeKernels(mlir::MLIRContext *context, const Plan &plan,
            const HostOptions &options,
            std::optional<lowering::DeviceShape> device = std::nullopt);

/// All plans in one LLVM module, optimized; `devices`: of each plan, or none.
llvm::Expected<std::unique_ptr<llvm::Module>>
compileHost(mlir::MLIRContext *mlirContext, llvm::LLVMContext &context,
            llvm::ArrayRef<Plan> plans, const HostOptions &options,
            llvm::TargetMachine &machine,
            llvm::ArrayRef<DeviceCode> devices = {});

/// F.h: for every plan its declaration and a function with the buffers, counts,
/// dtype, op, launch values, communicator and stream as parameters.
void writeHeader(llvm::ArrayRef<Plan> plans, llvm::StringRef fileName,
                 llvm::raw_ostream &os);

} // namespace coll
#endif // COLL_LIB_TARGET_HOSTOBJECT_H
