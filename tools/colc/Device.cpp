//===- Device.cpp - colc --target=cuda:CHIP -------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A plan's device code: a cubin for each chip named, and PTX of the oldest of
// them, which drivers translate for chips that are newer. Without an assembler
// it is PTX alone, and that is said.
//
//===----------------------------------------------------------------------===//

#include "tools/colc/Device.h"

#include "coll/abi.h"
#include "lib/Support/Slugs.h"
#include "lib/Target/Cuda.h"
#include "tools/colc/Compile.h"
#include "llvm/Bitcode/BitcodeWriter.h"

using namespace coll;

namespace {
/// One plan for one chip.
struct ChipCode {
  std::string ir, bitcode, ptx;
  std::vector<DeviceKernel> kernels;
};

class DeviceCompiler {
public:
  DeviceCompiler(Session &session, const Options &options)
      : session(session), options(options), ptxas(findPtxas(options.ptxas)) {}
  std::optional<ChipCode> compile(const Plan &plan, unsigned chip);
  std::optional<Cubin> assemblePlan(const Plan &plan, llvm::StringRef ptx,
                                    unsigned chip);
  bool add(const Plan &plan, DeviceCode &code);
  void warnOfNoAssembler();
  void refuseWithoutAssembler();
  bool hasAssembler() const { return !ptxas.empty(); }

private:
  Session &session;
  const Options &options;
  std::string whyNoAssembler() const;
  std::string ptxas;
};
} // namespace

std::string DeviceCompiler::whyNoAssembler() const {
  return options.ptxas.empty() ? "there is no ptxas beside colc, in PATH or in "
                                 "/usr/local/cuda/bin"
                               : "'" + options.ptxas + "' is no program";
}

void DeviceCompiler::refuseWithoutAssembler() {
  session.diags
      .error(Slug::NoAssembler, {},
             whyNoAssembler() + ": --emit=cubin needs one, --emit=ptx does not")
      .emit();
}

void DeviceCompiler::warnOfNoAssembler() {
  session.diags
      .warning(Slug::NoAssembler, {},
               whyNoAssembler() +
                   ": device code is PTX alone, which drivers translate "
                   "when a plan is loaded")
      .emit();
}

std::optional<ChipCode> DeviceCompiler::compile(const Plan &plan,
                                                unsigned chip) {
  ChipCode code;
  llvm::LLVMContext context;
  auto fail = [&](llvm::Error error) {
    std::string text = llvm::toString(std::move(error));
    Slug slug = llvm::StringRef(text).starts_with("internal error")
                    ? Slug::InternalProgram
                    : Slug::DeviceLimit;
    session.diags.error(slug, {}, text).emit();
    return std::nullopt;
  };
  auto module = compileDevice(&session.context(), context, plan, options.host,
                              chip, code.kernels);
  if (!module)
    return fail(module.takeError());
  llvm::raw_string_ostream(code.ir) << **module;
  if (options.embedBitcode) {
    llvm::raw_string_ostream os(code.bitcode);
    llvm::WriteBitcodeToFile(**module, os);
  }
  llvm::Expected<std::string> ptx = emitPtx(**module, chip);
  if (!ptx)
    return fail(ptx.takeError());
  code.ptx = std::move(*ptx);
  return code;
}

std::optional<Cubin> DeviceCompiler::assemblePlan(const Plan &plan,
                                                  llvm::StringRef ptx,
                                                  unsigned chip) {
  llvm::Expected<Cubin> cubin = assemble(ptxas, ptx, chip);
  if (cubin)
    return std::move(*cubin);
  session.diags
      .error(Slug::Assembler, {},
             "ptxas refuses '" + plan.name + "' for sm_" +
                 std::to_string(chip) + ": " +
                 llvm::toString(cubin.takeError()))
      .emit();
  return std::nullopt;
}

bool DeviceCompiler::add(const Plan &plan, DeviceCode &result) {
  for (unsigned chip : options.chips) {
    std::optional<ChipCode> code = compile(plan, chip);
    if (!code)
      return false;
    if (chip == options.chips.front()) {
      result.kernels = code->kernels;
      result.images.push_back({COLL_IMAGE_PTX, chip, code->ptx});
      if (options.embedBitcode)
        result.images.push_back({COLL_IMAGE_BITCODE, chip, code->bitcode});
    }
    if (!hasAssembler())
      continue;
    std::optional<Cubin> cubin = assemblePlan(plan, code->ptx, chip);
    if (!cubin)
      return false;
    result.images.push_back({COLL_IMAGE_CUBIN, chip, cubin->code});
    for (DeviceKernel &kernel : result.kernels)
      for (const KernelUse &use : cubin->uses)
        if (use.symbol == kernel.symbol)
          kernel.registers = std::max(kernel.registers, use.registers);
  }
  return true;
}

bool coll::isDeviceText(const Options &options) {
  return options.emit == Emit::Ptx || options.emit == Emit::Cubin ||
         (options.emit == Emit::Llvm && !options.host.hasHost);
}

void coll::emitDeviceText(Session &session, const Options &options,
                          llvm::ArrayRef<Plan> plans) {
  DeviceCompiler compiler(session, options);
  if (options.emit == Emit::Cubin && plans.size() != 1) {
    session.usage("--emit=cubin writes one schedule: --schedule").emit();
    return;
  }
  if (options.emit == Emit::Cubin && !compiler.hasAssembler())
    return compiler.refuseWithoutAssembler();
  std::string text;
  for (const Plan &plan : plans) {
    std::optional<ChipCode> code =
        compiler.compile(plan, options.chips.front());
    if (!code)
      return;
    if (options.emit != Emit::Cubin) {
      text += options.emit == Emit::Llvm ? code->ir : code->ptx;
      continue;
    }
    std::optional<Cubin> cubin =
        compiler.assemblePlan(plan, code->ptx, options.chips.front());
    if (!cubin)
      return;
    text = std::move(cubin->code);
  }
  writeOutput(session, options.output,
              [&](llvm::raw_ostream &os) { os << text; });
}

bool coll::compileDevices(Session &session, const Options &options,
                          llvm::ArrayRef<Plan> plans,
                          std::vector<DeviceCode> &devices) {
  if (options.chips.empty())
    return true;
  DeviceCompiler compiler(session, options);
  if (!compiler.hasAssembler())
    compiler.warnOfNoAssembler();
  for (const Plan &plan : plans) {
    devices.emplace_back();
    if (!compiler.add(plan, devices.back()))
      return false;
  }
  return true;
}
