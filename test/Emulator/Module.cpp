//===- Module.cpp - From a module's text to functions of this process -----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Module.h"
#include "State.h"

#include "llvm/IRReader/IRReader.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/raw_ostream.h"

#include <bit>
#include <mutex>

using namespace llvm;

// Rounding to bfloat16, which libgcc has from version 13 on only.
static uint16_t roundToBf16(float value) {
  auto bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffff) > 0x7f800000)
    return uint16_t(bits >> 16 | 0x40);
  return uint16_t((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}
namespace coll::emu {

constexpr size_t kKeptModules = 32;

// Sites are numbered over all modules of the process.
static std::mutex siteLock;
static std::deque<Site> &sites() {
  static std::deque<Site> list{Site()};
  return list;
}
const Site &siteOf(uint32_t site) {
  std::lock_guard lock(siteLock);
  return sites()[site];
}
uint32_t addSite(Site site) {
  std::lock_guard lock(siteLock);
  sites().push_back(std::move(site));
  return uint32_t(sites().size() - 1);
}

template <typename T>
static bool take(Expected<T> value, T &into, std::string &error) {
  if (!value) {
    error = toString(value.takeError());
    return false;
  }
  into = std::move(*value);
  return true;
}

static float emuBf16Bits(float value) {
  return std::bit_cast<float>(uint32_t(roundToBf16(value)));
}
static float emuBf16BitsOfDouble(double value) {
  // Round to odd first, so that the second rounding sees what the first lost.
  float single = float(value);
  auto bits = std::bit_cast<uint32_t>(single);
  if (double(single) != value && !(bits & 1)) {
    bool isAway = (value > 0) == (double(single) > value) && single != 0;
    bits = isAway ? bits - 1 : bits + 1;
  }
  return emuBf16Bits(std::bit_cast<float>(bits));
}

static bool defineHooks(orc::LLJIT &jit, std::string &error) {
  orc::SymbolMap symbols;
  auto define = [&](StringRef name, void *address) {
    symbols[jit.mangleAndIntern(name)] = {orc::ExecutorAddr::fromPtr(address),
                                          JITSymbolFlags::Exported |
                                              JITSymbolFlags::Callable};
  };
  for (const Hook *hook = kHooks; hook->name; ++hook)
    define(hook->name, hook->address);
  define("__truncsfbf2", reinterpret_cast<void *>(&emuBf16Bits));
  define("__truncdfbf2", reinterpret_cast<void *>(&emuBf16BitsOfDouble));
  if (Error failed = jit.getMainJITDylib().define(
          orc::absoluteSymbols(std::move(symbols)))) {
    error = toString(std::move(failed));
    return false;
  }
  return true;
}

static bool lookUp(Module &module, const Instrumented &made,
                   std::string &error) {
  auto find = [&](const std::string &name, void *&address) {
    orc::ExecutorAddr found;
    if (!take(module.jit->lookup(name), found, error))
      return false;
    address = found.toPtr<void *>();
    return true;
  };
  for (const InstrumentedKernel &kernel : made.kernels) {
    void *address = nullptr;
    if (!find(kernel.entry, address))
      return false;
    module.kernels.push_back({kernel.name,
                              reinterpret_cast<void (*)(void **)>(address),
                              kernel.paramBytes});
  }
  auto findAll = [&](auto &names, std::vector<LoadedGlobal> &list) {
    for (auto &[name, bytes] : names) {
      LoadedGlobal global{name, nullptr, bytes};
      if (!find(name, global.address))
        return false;
      list.push_back(global);
    }
    return true;
  };
  return findAll(made.globals, module.globals) &&
         findAll(made.constants, module.constants);
}

static std::shared_ptr<Module> compile(const std::string &code,
                                       std::string &error) {
  static std::once_flag once;
  std::call_once(once, [] {
    InitializeNativeTarget();
    InitializeNativeTargetAsmPrinter();
  });
  auto context = std::make_unique<LLVMContext>();
  SMDiagnostic diagnostic;
  auto ir = parseIR(MemoryBufferRef(code, "kernel"), diagnostic, *context);
  if (!ir) {
    raw_string_ostream stream(error);
    diagnostic.print("emulator", stream, false);
    return nullptr;
  }
  auto module = std::make_shared<Module>();
  auto host = orc::JITTargetMachineBuilder::detectHost();
  if (!host) {
    error = toString(host.takeError());
    return nullptr;
  }
  orc::JITTargetMachineBuilder &machineBuilder = *host;
  // A kernel is compiled for few runs.
  machineBuilder.setCodeGenOptLevel(CodeGenOptLevel::Less);
  machineBuilder.getOptions().AllowFPOpFusion = FPOpFusion::Strict;
  if (!take(orc::LLJITBuilder()
                .setJITTargetMachineBuilder(std::move(machineBuilder))
                .create(),
            module->jit, error) ||
      !defineHooks(*module->jit, error))
    return nullptr;
  ir->setTargetTriple(module->jit->getTargetTriple());
  ir->setDataLayout(module->jit->getDataLayout());
  Instrumented made;
  error = instrument(*ir, made);
  if (!error.empty())
    return nullptr;
  module->sharedBytes = made.sharedBytes;
  module->places = std::move(made.places);
  if (Error failed = module->jit->addIRModule(
          orc::ThreadSafeModule(std::move(ir), std::move(context)))) {
    error = toString(std::move(failed));
    return nullptr;
  }
  return lookUp(*module, made, error) ? module : nullptr;
}

std::shared_ptr<Module> loadModule(const std::string &code,
                                   std::string &error) {
  // Many machines run one module, each with a seed of its own. One with
  // variables belongs to a machine.
  static std::mutex lock;
  static std::map<std::string, std::shared_ptr<Module>> known;
  std::lock_guard guard(lock);
  if (auto it = known.find(code); it != known.end())
    return it->second;
  std::shared_ptr<Module> module = compile(code, error);
  if (module && module->globals.empty()) {
    if (known.size() >= kKeptModules)
      known.clear();
    known[code] = module;
  }
  return module;
}

} // namespace coll::emu
