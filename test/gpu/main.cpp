//===- main.cpp - The check of coll on a GPU ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// usage: gpu-check [--ranks N] [--quick] [--seconds S] [--elements N]
//                  [--only TEXT]
//
// What is not begun when S seconds have gone is left out, and that is a
// failure. --elements: of the largest call that is checked. --only: the
// collectives whose plans' names hold the text, and nothing else.  Needs a CUDA
// driver and a device, and nothing else: schedules, device code
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
    else if (strcmp(argv[i], "--seconds") == 0 && i + 1 != argc)
      options.seconds = atof(argv[++i]);
    else if (strcmp(argv[i], "--elements") == 0 && i + 1 != argc)
      options.mostElements = size_t(atoll(argv[++i]));
    else if (strcmp(argv[i], "--only") == 0 && i + 1 != argc)
      options.only = argv[++i];
    else if (strcmp(argv[i], "--process") == 0 && i + 1 != argc)
      options.process = atoi(argv[++i]);
    else
      return false;
  }
  constexpr size_t mostElements = size_t(1) << 26;
  return options.ranks >= 2 && options.ranks <= 64 && options.seconds > 0 &&
         options.mostElements >= 1 && options.mostElements <= mostElements;
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
    fprintf(stderr, "usage: gpu-check [--ranks N] [--quick] [--seconds S] "
                    "[--elements N] [--only TEXT]\n");
    return 2;
  }
  // Ranks that share a device have streams of their own, but streams share the
  // driver's queues, of which there are 8 if nobody says so: a launch that
  // stands behind one of another rank there, which waits for it, never begins.
  setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
  if (std::string why = driver().open(); !why.empty()) {
    printf("not run: %s\n", why.c_str());
    return notRun;
  }
  check(driver().deviceGetCount(&options.devices), "count of devices");
  options.devices = std::min(options.devices, options.ranks);
  if (options.process >= 0)
    return runProcess(options);
  watch(60);
  printDevices(options.devices);
  struct {
    const char *title;
    void (*run)(const Options &);
  } sections[] = {{"litmus tests", checkLitmus},
                  {"collectives", checkCollectives},
                  {"processes", checkProcesses},
                  {"failures", checkFaults},
                  {"measurements", measure}};
  for (auto &section : sections) {
    if (*options.only && section.run != checkCollectives)
      continue;
    printf("\n# %s\n", section.title);
    fflush(stdout);
    begin("%s", section.title);
    section.run(options);
  }
  printf("\n%s: %u failed, %.0f seconds\n", failures ? "FAILED" : "passed",
         failures.load(), secondsSpent());
  return failures ? 1 : 0;
}
