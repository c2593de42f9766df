//===- Modules.cpp - The stand-in's modules and launches ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/StandIn/Executor.h"
#include "test/StandIn/Streams.h"

#include <cstring>

using namespace coll::standin;

namespace {
struct ModuleState;
struct FunctionState {
  ModuleState *module;
  const void *kernel;
};
struct ModuleState {
  std::unique_ptr<Image> image; ///< null: of a form that is only recognised
  std::map<std::string, FunctionState> functions;
};
std::mutex moduleMutex;
std::set<ModuleState *> &modules() {
  static auto &made = *new std::set<ModuleState *>;
  return made;
}
FunctionState *functionOf(Function function, const char *call) {
  auto *state = reinterpret_cast<FunctionState *>(function);
  std::lock_guard lock(moduleMutex);
  for (ModuleState *module : modules())
    for (auto &[name, entry] : module->functions)
      if (&entry == state)
        return state;
  wrong(invalidHandle, "%s of a function whose module is gone", call);
  return nullptr;
}
} // namespace

void coll::standin::listModuleLeaks(World &world) {
  std::lock_guard lock(moduleMutex);
  if (!modules().empty())
    world.leak(std::to_string(modules().size()) + " modules");
}

/// A cubin (an ELF file) or PTX (text): right, and not for this "device".
static bool isForDevices(const void *image) {
  if (std::memcmp(image, "\177ELF", 4) == 0)
    return true;
  const char *text = static_cast<const char *>(image);
  while (*text == '\n' || std::strncmp(text, "//", 2) == 0)
    text += *text == '\n' ? 1 : std::strcspn(text, "\n");
  return std::strncmp(text, ".version", 8) == 0;
}

STANDIN_EXPORT Result cuModuleLoadData(Module *module, const void *image) {
  STANDIN_CALL("cuModuleLoadData");
  if (isForDevices(image))
    return noBinaryForGpu;
  std::unique_ptr<Image> loaded = loadImage(image);
  if (!loaded)
    return wrong(invalidImage, "an image that is none, or cannot be run here");
  auto *made = new ModuleState{std::move(loaded), {}};
  std::lock_guard lock(moduleMutex);
  modules().insert(made);
  *module = reinterpret_cast<Module>(made);
  return success;
}
STANDIN_EXPORT Result cuModuleUnload(Module module) {
  STANDIN_CALL("cuModuleUnload");
  auto *state = reinterpret_cast<ModuleState *>(module);
  std::lock_guard lock(moduleMutex);
  if (modules().erase(state) == 0)
    return wrong(invalidHandle, "cuModuleUnload of a dead module");
  delete state;
  return success;
}
STANDIN_EXPORT Result cuModuleGetFunction(Function *function, Module module,
                                          const char *name) {
  STANDIN_CALL("cuModuleGetFunction");
  auto *state = reinterpret_cast<ModuleState *>(module);
  std::lock_guard lock(moduleMutex);
  if (!modules().count(state))
    return wrong(invalidHandle, "cuModuleGetFunction of a dead module");
  const void *kernel = state->image->find(name);
  if (!kernel)
    return notFound;
  FunctionState &entry = state->functions[name];
  entry = {state, kernel};
  *function = reinterpret_cast<Function>(&entry);
  return success;
}
STANDIN_EXPORT Result cuFuncGetAttribute(int *value, FunctionAttribute which,
                                         Function function) {
  STANDIN_CALL("cuFuncGetAttribute");
  if (!functionOf(function, "cuFuncGetAttribute"))
    return invalidHandle;
  *value = which == maxThreadsPerBlock ? 1024 : which == sharedBytes ? 0 : 64;
  return success;
}
STANDIN_EXPORT Result cuOccupancyMaxActiveBlocksPerMultiprocessor(
    int *blocks, Function function, int threads, size_t shared) {
  STANDIN_CALL("cuOccupancyMaxActiveBlocksPerMultiprocessor");
  if (!functionOf(function, "cuOccupancy"))
    return invalidHandle;
  if (threads <= 0 || threads > 1024 || shared != 0)
    return wrong(invalidValue, "a block of %d threads", threads);
  *blocks = 2048 / threads;
  return success;
}

STANDIN_EXPORT Result cuLaunchKernel(Function function, unsigned gridX,
                                     unsigned gridY, unsigned gridZ,
                                     unsigned threadsX, unsigned threadsY,
                                     unsigned threadsZ, unsigned shared,
                                     Stream stream, void **parameters,
                                     void **extra) {
  STANDIN_CALL("cuLaunchKernel");
  FunctionState *state = functionOf(function, "cuLaunchKernel");
  if (!state)
    return invalidHandle;
  if (gridX == 0 || gridY != 1 || gridZ != 1 || threadsX == 0 ||
      threadsX > 1024 || threadsY != 1 || threadsZ != 1 || shared != 0 ||
      extra || !parameters)
    return wrong(invalidValue, "a launch of %u blocks of %u threads", gridX,
                 threadsX);
  Image *image = state->module->image.get();
  const void *kernel = state->kernel;
  auto copy = std::make_shared<std::vector<std::max_align_t>>(
      image->parameterBytes(kernel) / sizeof(std::max_align_t) + 1);
  std::memcpy(copy->data(), parameters[0], image->parameterBytes(kernel));
  return submit(stream, [=] {
    if (!image->run(kernel, {gridX, threadsX}, copy->data()))
      World::get().sticky = launchFailed;
  });
}
