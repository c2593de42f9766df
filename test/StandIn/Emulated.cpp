//===- Emulated.cpp - Kernels of the stand-in, on the emulator ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bitcode that was given to the NVPTX backend.  A machine runs one launch at a
// time; launches at the same time take a machine each.  They reach the memory
// of each other and of other processes, so their accesses are not judged here
// (the emulator's own tests do that), and waiting for others is no deadlock.
//
//===----------------------------------------------------------------------===//

#include "test/Emulator/Emulator.h"
#include "test/StandIn/Executor.h"

#include <cstdio>
#include <cstring>
#include <sched.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace coll::standin {

namespace {
struct Runner {
  std::unique_ptr<emu::Machine> machine;
  emu::Module *module = nullptr;
  std::vector<void *> known; ///< memory that it has been told of
};

struct KernelName {
  std::string symbol;
  size_t parameterBytes;
};

class Emulated final : public Image {
public:
  static std::unique_ptr<Image> load(std::string code);
  const void *find(const std::string &symbol) override;
  size_t parameterBytes(const void *kernel) override {
    return static_cast<const KernelName *>(kernel)->parameterBytes;
  }
  bool run(const void *kernel, LaunchShape shape,
           const void *parameters) override;

private:
  std::unique_ptr<Runner> take();
  static void forget(Runner &runner);
  static void learn(Runner &runner);
  static void learnMulticast(Runner &runner, DevicePtr address,
                             const Physical &object);

  std::string code;
  std::mutex mutex;
  std::vector<std::unique_ptr<Runner>> idle;
  std::map<std::string, KernelName> kernels;
};

emu::Options options() {
  emu::Options made;
  made.check = false;
  made.checkUninitialised = false;
  made.staleReads = false;
  made.preemptEvery = 256;
  made.maxSteps = UINT64_MAX;
  made.realTime = true;
  made.onIdle = [] {
    sched_yield();
    return true;
  };
  return made;
}

std::unique_ptr<Image> Emulated::load(std::string code) {
  auto made = std::make_unique<Emulated>();
  made->code = std::move(code);
  std::unique_ptr<Runner> runner = made->take();
  if (!runner)
    return nullptr;
  made->idle.push_back(std::move(runner));
  return made;
}

std::unique_ptr<Runner> Emulated::take() {
  {
    std::lock_guard lock(mutex);
    if (!idle.empty()) {
      std::unique_ptr<Runner> runner = std::move(idle.back());
      idle.pop_back();
      return runner;
    }
  }
  auto runner = std::make_unique<Runner>();
  emu::Options made = options();
  made.onUnknown = [own = runner.get()] {
    learn(*own);
    return true;
  };
  runner->machine = std::make_unique<emu::Machine>(1, std::move(made));
  std::string error;
  runner->module = runner->machine->load(code, error);
  if (!runner->module) {
    fprintf(stderr, "stand-in: error: the emulator takes no such code: %s\n",
            error.c_str());
    return nullptr;
  }
  return runner;
}

const void *Emulated::find(const std::string &symbol) {
  std::unique_ptr<Runner> runner = take();
  const void *found = nullptr;
  if (runner && runner->machine->hasKernel(runner->module, symbol)) {
    size_t bytes = 0;
    for (size_t each : runner->machine->paramBytes(runner->module, symbol))
      bytes += each;
    std::lock_guard lock(mutex);
    found = &(kernels[symbol] = {symbol, bytes});
  }
  std::lock_guard lock(mutex);
  if (runner)
    idle.push_back(std::move(runner));
  return found;
}

/// Memory that is bound to a multicast object, by whatever process, mapped
/// here.  It stays so: nobody can tell when it is used last.
static void *mapBound(const Physical &object, const BoundMemory &bound) {
  static std::map<std::pair<ino_t, uint64_t>, void *> known;
  struct stat info;
  if (bound.fd < 0 || fstat(object.fd, &info) != 0)
    return nullptr;
  void *&memory = known[{info.st_ino, bound.serial}];
  if (!memory) {
    void *mapped = mmap(nullptr, bound.bytes, PROT_READ | PROT_WRITE,
                        MAP_SHARED, bound.fd, off_t(bound.memoryOffset));
    memory = mapped == MAP_FAILED ? nullptr : mapped;
  }
  close(bound.fd);
  return memory;
}

/// Under the world's mutex.
void Emulated::learnMulticast(Runner &runner, DevicePtr address,
                              const Physical &object) {
  void *base = reinterpret_cast<void *>(uintptr_t(address));
  if (!runner.machine->addMulticast(base, object.bytes))
    return;
  runner.known.push_back(base);
  for (const BoundMemory &bound : boundMemory(object)) {
    void *memory = mapBound(object, bound);
    // Ranks that are threads each have a mapping of the object.
    bool isKnown = std::find(runner.known.begin(), runner.known.end(),
                             memory) != runner.known.end();
    if (!memory || (!isKnown && !runner.machine->add(memory, bound.bytes, 0)))
      continue;
    if (!isKnown)
      runner.known.push_back(memory);
    runner.machine->addMember(base, memory, bound.offset, bound.bytes);
  }
}

void Emulated::forget(Runner &runner) {
  for (void *address : runner.known)
    runner.machine->remove(address);
  runner.known.clear();
}

/// All memory that a device can reach now and that is not known yet: peers'
/// windows come while a launch runs.
void Emulated::learn(Runner &runner) {
  auto add = [&](uint64_t address, size_t bytes, int device) {
    void *memory = reinterpret_cast<void *>(uintptr_t(address));
    if (runner.machine->add(memory, bytes, device))
      runner.known.push_back(memory);
  };
  World &world = World::get();
  std::lock_guard lock(world.mutex);
  for (auto &[address, entry] : world.allocations)
    add(address, entry.bytes, 0);
  for (auto &[address, entry] : world.mappings)
    if (entry.isAccessible && entry.physical->multicast)
      learnMulticast(runner, address, *entry.physical);
    else if (entry.isAccessible)
      add(address, entry.bytes, 0);
  for (auto &[address, entry] : world.registrations)
    add(reinterpret_cast<uintptr_t>(entry.device), entry.bytes, emu::kHost);
}

bool Emulated::run(const void *kernel, LaunchShape shape,
                   const void *parameters) {
  std::unique_ptr<Runner> runner = take();
  if (!runner)
    return false;
  forget(*runner);
  learn(*runner);
  const uint64_t multimemsBefore = runner->machine->multicasts(),
                 linesBefore = runner->machine->lines();
  const auto &name = *static_cast<const KernelName *>(kernel);
  // They lie one behind the other, as the launch has copied them.
  std::vector<void *> list;
  auto *next = static_cast<std::byte *>(const_cast<void *>(parameters));
  for (size_t each : runner->machine->paramBytes(runner->module, name.symbol)) {
    list.push_back(next);
    next += each;
  }
  std::string error;
  bool ok =
      runner->machine->launch(0, 1, runner->module, name.symbol, {shape.grid},
                              {shape.threads}, list.data(), 0, error) != 0 &&
      runner->machine->run() == emu::RunResult::Finished;
  if (!ok)
    fprintf(stderr, "stand-in: error: kernel %s has failed: %s\n%s\n",
            name.symbol.c_str(), error.c_str(),
            runner->machine->reportText().c_str());
  {
    std::lock_guard lock(World::get().mutex);
    World::get().multimems += runner->machine->multicasts() - multimemsBefore;
    World::get().lines += runner->machine->lines() - linesBefore;
  }
  std::lock_guard lock(mutex);
  if (ok)
    idle.push_back(std::move(runner));
  return ok;
}
} // namespace

/// Bitcode does not say how long it is: it is a mark and blocks, each of which
/// does ("LLVM Bitcode File Format": two bits that enter a block, its number,
/// the width of its abbreviations, then at the next word its length in words).
static size_t bitcodeBytes(const char *data) {
  auto word = [&](size_t at) {
    uint32_t value;
    std::memcpy(&value, data + at, sizeof value);
    return value;
  };
  size_t at = 4;
  while (true) {
    uint32_t first = word(at), number = first >> 2 & 0xff;
    bool isBlock = (first & 3) == 1 && (number == 8 || number == 13 ||
                                        number == 23 || number == 25);
    if (!isBlock)
      return at;
    at += 8 + size_t(word(at + 4)) * 4;
  }
}

std::unique_ptr<Image> loadBitcode(const void *image) {
  const char *data = static_cast<const char *>(image);
  if (std::memcmp(data, "BC\xc0\xde", 4) != 0)
    return nullptr;
  return Emulated::load(std::string(data, bitcodeBytes(data)));
}

} // namespace coll::standin
