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
                   void *words, uint64_t rounds) {
  auto address = DevicePtr(reinterpret_cast<uintptr_t>(words));
  // One buffer, for drivers that copy parameters in one piece, too.
  struct {
    uint64_t words, rounds;
  } values = {address, rounds};
  void *list[] = {&values.words, &values.rounds};
  check(driver().launchKernel(function, 2, 1, 1, threads, 1, 1, 0,
                              device.stream(), list, nullptr),
        "launch of a litmus kernel");
  device.wait();
}

static void run(Gpu &device, Module module, const char *name, unsigned threads,
                uint64_t rounds) {
  Function function = nullptr;
  check(driver().moduleGetFunction(&function, module, name), name);
  std::vector<uint64_t> words(wordBytes / 8);
  void *memory = device.allocate<uint64_t>(words.size());
  device.write(memory, words.data(), wordBytes);
  launch(device, function, threads, memory, rounds);
  device.read(words.data(), memory, wordBytes);
  uint64_t wrong = words[256 / 8];
  for (unsigned t = 0; threads > 1 && t != threads; ++t)
    wrong += words[(errorsAt + 16 * t) / 8];
  if (wrong)
    fail("%s: %llu wrong values in %llu rounds", name,
         (unsigned long long)wrong, (unsigned long long)rounds);
  printf("%-24s %8llu rounds  %s\n", name, (unsigned long long)rounds,
         wrong ? "FAILED" : "ok");
  fflush(stdout);
}

void coll::gpu::checkLitmus(const Options &options) {
  Gpu device(0);
  Module module = load();
  run(device, module, "message_passing", 1, options.isQuick ? 20 : 200'000);
  run(device, module, "pairs", 32, options.isQuick ? 20 : 200'000);
  check(driver().moduleUnload(module), "unload");
}
