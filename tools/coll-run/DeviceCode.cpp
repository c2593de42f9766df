//===- DeviceCode.cpp - A plan's code for the devices of a run ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/coll-run/DeviceCode.h"

#include "coll/abi.h"
#include "lib/Target/Cuda.h"
#include "llvm/Bitcode/BitcodeWriter.h"

#include <set>

using namespace coll;

/// The newest chip that code is made for and `chip` runs code of; 0: none.
static unsigned codeChip(unsigned chip) {
  unsigned best = 0;
  for (unsigned known : knownChips())
    if (known <= chip)
      best = known;
  return best;
}

/// PTX and bitcode are of the oldest chip alone.
static llvm::Error addChip(Session &session, const Plan &plan,
                           const HostOptions &options, unsigned chip,
                           const std::string &ptxas, DeviceCode &code) {
  bool isFirst = code.images.empty();
  llvm::LLVMContext context;
  std::vector<DeviceKernel> kernels;
  auto module =
      compileDevice(&session.context(), context, plan, options, chip, kernels);
  if (!module)
    return module.takeError();
  std::string bitcode;
  llvm::raw_string_ostream os(bitcode);
  llvm::WriteBitcodeToFile(**module, os);
  llvm::Expected<std::string> ptx = emitPtx(**module, chip);
  if (!ptx)
    return ptx.takeError();
  if (isFirst) {
    code.kernels = std::move(kernels);
    code.images.push_back({COLL_IMAGE_PTX, chip, *ptx});
    code.images.push_back({COLL_IMAGE_BITCODE, chip, std::move(bitcode)});
  }
  if (ptxas.empty())
    return llvm::Error::success();
  llvm::Expected<Cubin> cubin = assemble(ptxas, *ptx, chip);
  if (!cubin)
    return cubin.takeError();
  code.images.push_back({COLL_IMAGE_CUBIN, chip, std::move(cubin->code)});
  return llvm::Error::success();
}

llvm::Expected<DeviceCode> coll::compileForGpus(
    Session &session, const Plan &plan, const HostOptions &options,
    const std::vector<GpuInfo> &gpus, const std::string &ptxas) {
  std::string assembler = ptxas == "none" ? "" : findPtxas(ptxas);
  if (assembler.empty() && !ptxas.empty() && ptxas != "none")
    return llvm::createStringError("--ptxas " + ptxas + ": is no program");
  std::set<unsigned> chips; // oldest first
  for (const GpuInfo &gpu : gpus) {
    unsigned chip = codeChip(gpu.chip);
    if (chip == 0)
      return llvm::createStringError(
          "%s is an sm_%u, and code is made for sm_%u and newer",
          gpu.name.c_str(), gpu.chip, knownChips().front());
    chips.insert(chip);
  }
  DeviceCode code;
  for (unsigned chip : chips)
    if (llvm::Error error =
            addChip(session, plan, options, chip, assembler, code))
      return std::move(error);
  return code;
}
