//===- main.cpp - The check of coll on a GPU ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// usage: gpu-check [--ranks N] [--quick]
//
// Needs a CUDA driver and a device, and nothing else: schedules, device code
// and the runtime are in it.  Exit status 0: all is right; 1: something is not;
// 77: not run, as there is no device.
//
//===----------------------------------------------------------------------===//

#include "Device.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

using namespace coll;
using namespace coll::gpu;

static constexpr int notRun = 77;

static bool readOptions(int argc, char **argv, Options &options) {
  for (int i = 1; i != argc; ++i) {
    bool isRanks = strcmp(argv[i], "--ranks") == 0 && i + 1 != argc;
    if (isRanks)
      options.ranks = atoi(argv[++i]);
    else if (strcmp(argv[i], "--quick") == 0)
      options.isQuick = true;
    else
      return false;
  }
  return options.ranks >= 2 && options.ranks <= 64;
}

static void printDevices(int count) {
  for (int device = 0; device != count; ++device) {
    char name[128] = "";
    int major = 0, minor = 0, version = 0;
    check(driver().deviceGetName(name, sizeof name, device), "name");
    check(driver().deviceGetAttribute(&major, cuda::computeMajor, device),
          "attribute");
    check(driver().deviceGetAttribute(&minor, cuda::computeMinor, device),
          "attribute");
    check(driver().driverGetVersion(&version), "version");
    printf("# device %d: %s, sm_%d%d, driver for CUDA %d.%d\n", device, name,
           major, minor, version / 1000, version % 1000 / 10);
  }
}

int main(int argc, char **argv) {
  Options options;
  if (!readOptions(argc, argv, options)) {
    fprintf(stderr, "usage: gpu-check [--ranks N] [--quick]\n");
    return 2;
  }
  if (std::string why = driver().open(); !why.empty()) {
    printf("not run: %s\n", why.c_str());
    return notRun;
  }
  check(driver().deviceGetCount(&options.devices), "count of devices");
  options.devices = std::min(options.devices, options.ranks);
  printDevices(options.devices);
  struct {
    const char *title;
    void (*run)(const Options &);
  } sections[] = {{"litmus tests", checkLitmus},
                  {"collectives", checkCollectives},
                  {"failures", checkFaults},
                  {"measurements", measure}};
  for (auto &section : sections) {
    printf("\n# %s\n", section.title);
    fflush(stdout);
    section.run(options);
  }
  printf("\n%s: %u failed\n", failures ? "FAILED" : "passed", failures.load());
  return failures ? 1 : 0;
}
