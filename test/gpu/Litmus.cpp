//===- Litmus.cpp - What device code relies on, on a GPU ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The kernels of litmus.ll.  A wrong value in them is a GPU, or a compiler,
// that does not keep what PTX promises: nothing else could be right then.
//
//===----------------------------------------------------------------------===//

#include "Device.h"

#include <cstdio>

using namespace coll;
using namespace coll::cuda;
using namespace coll::gpu;

// What the packer has made of litmus.ll (plans.cpp).
extern "C" const char litmusPtx[], litmusBitcode[];

static constexpr size_t wordBytes = 32 << 10, errorsAt = 16 << 10;

static Module load() {
  Module module = nullptr;
  // Bitcode is for stand-in drivers.
  if (driver().moduleLoadData(&module, litmusPtx) != success)
    check(driver().moduleLoadData(&module, litmusBitcode), "litmus kernels");
  return module;
}

static void launch(Gpu &device, Function function, unsigned threads,
                   DevicePtr words, uint64_t rounds, uint64_t apart) {
  // One buffer, for drivers that copy parameters in one piece, too.
  struct {
    uint64_t words, rounds, apart;
  } values = {words, rounds, apart};
  void *list[] = {&values.words, &values.rounds, &values.apart};
  check(driver().launchKernel(function, 2, 1, 1, threads, 1, 1, 0,
                              device.stream(), list, nullptr),
        "launch of a litmus kernel");
  device.wait();
}

namespace {
/// Memory that is mapped twice.
class Twice {
public:
  explicit Twice(int device);
  ~Twice();
  Twice(const Twice &) = delete;
  DevicePtr at[2] = {};

private:
  MemHandle handle = 0;
  size_t bytes = 0;
};
} // namespace

Twice::Twice(int device) {
  AllocationProp prop = {};
  prop.type = allocationPinned;
  prop.location = {locationDevice, device};
  check(driver().memGranularity(&bytes, &prop, granularityMinimum), "granule");
  bytes = (wordBytes + bytes - 1) / bytes * bytes;
  check(driver().memCreate(&handle, bytes, &prop, 0), "memory");
  AccessDesc access = {{locationDevice, device}, accessReadWrite};
  for (DevicePtr &each : at) {
    check(driver().addressReserve(&each, bytes, 0, 0, 0), "addresses");
    check(driver().memMap(each, bytes, 0, handle, 0), "map");
    check(driver().memSetAccess(each, bytes, &access, 1), "access");
  }
}

Twice::~Twice() {
  for (DevicePtr each : at) {
    check(driver().memUnmap(each, bytes), "unmap");
    check(driver().addressFree(each, bytes), "free of addresses");
  }
  check(driver().memRelease(handle), "free");
}

static void run(Gpu &device, Module module, const char *name, unsigned threads,
                uint64_t rounds, bool isTwice) {
  begin("litmus test %s", name);
  Function function = nullptr;
  check(driver().moduleGetFunction(&function, module, name), name);
  std::vector<uint64_t> words(wordBytes / 8);
  Twice memory(device.number);
  auto *base = reinterpret_cast<void *>(uintptr_t(memory.at[0]));
  device.write(base, words.data(), wordBytes);
  launch(device, function, threads, memory.at[0], rounds,
         memory.at[isTwice] - memory.at[0]);
  device.read(words.data(), base, wordBytes);
  uint64_t wrong = words[256 / 8];
  for (unsigned t = 0; threads > 1 && t != threads; ++t)
    wrong += words[(errorsAt + 16 * t) / 8];
  if (wrong)
    fail("%s: %llu wrong values in %llu rounds", name,
         (unsigned long long)wrong, (unsigned long long)rounds);
  printf("%-24s %-16s %8llu rounds  %s\n", name,
         isTwice ? "two addresses" : "one address", (unsigned long long)rounds,
         wrong ? "FAILED" : "ok");
  fflush(stdout);
}

void coll::gpu::checkLitmus(const Options &options) {
  Gpu device(0);
  Module module = load();
  const uint64_t rounds = options.isQuick ? 20 : options.mostElements / 5;
  for (bool isTwice : {false, true}) {
    run(device, module, "message_passing", 1, rounds, isTwice);
    run(device, module, "pairs", 32, rounds, isTwice);
  }
  check(driver().moduleUnload(module), "unload");
}
