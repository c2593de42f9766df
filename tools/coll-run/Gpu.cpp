//===- Gpu.cpp - What coll-run asks of CUDA's driver itself ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/coll-run/Gpu.h"

#include "runtime/transport/cuda/CudaApplication.h"
#include "llvm/ADT/StringExtras.h"

#include <csignal>
#include <cstring>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace coll;
using namespace coll::cuda;

using Calls = ApplicationDriver;

//===----------------------------------------------------------------------===//
// Devices
//===----------------------------------------------------------------------===//

/// A line for each device, "CHIP NAME"; or "error: TEXT".
static std::string describeGpus() {
  Calls calls;
  if (std::string error = calls.open(); !error.empty())
    return "error: " + error;
  int count = 0;
  if (Result result = calls.deviceGetCount(&count))
    return "error: cannot count the CUDA devices: " + calls.textOf(result);
  std::string text;
  for (int device = 0; device != count; ++device) {
    char name[128] = "";
    int major = 0, minor = 0;
    Result result = calls.deviceGetName(name, sizeof name, device);
    if (!result)
      result = calls.deviceGetAttribute(&major, computeMajor, device);
    if (!result)
      result = calls.deviceGetAttribute(&minor, computeMinor, device);
    if (result)
      return "error: cannot examine CUDA device " + std::to_string(device) +
             ": " + calls.textOf(result);
    text += std::to_string(major * 10 + minor) + " " + name + "\n";
  }
  return text;
}

/// What the child writes until it ends; a driver that hangs is not waited for.
static std::string readAll(int fd, pid_t child) {
  constexpr int patienceMs = 120'000;
  std::string text;
  pollfd waiting = {fd, POLLIN, 0};
  char piece[4096];
  while (poll(&waiting, 1, patienceMs) > 0) {
    ssize_t bytes = read(fd, piece, sizeof piece);
    if (bytes <= 0)
      return text;
    text.append(piece, size_t(bytes));
  }
  kill(child, SIGKILL);
  return "error: the CUDA driver does not answer";
}

llvm::Expected<std::vector<GpuInfo>> coll::findGpus() {
  int ends[2];
  pid_t child = -1;
  if (pipe(ends) == 0 && (child = fork()) < 0) {
    close(ends[0]);
    close(ends[1]);
  }
  if (child < 0)
    return llvm::createStringError(std::string("cannot start a process: ") +
                                   strerror(errno));
  if (child == 0) {
    std::string text = describeGpus();
    bool isWritten =
        write(ends[1], text.data(), text.size()) == ssize_t(text.size());
    _exit(isWritten ? 0 : 1);
  }
  close(ends[1]);
  std::string text = readAll(ends[0], child);
  close(ends[0]);
  waitpid(child, nullptr, 0);
  llvm::StringRef rest = text;
  if (rest.consume_front("error: "))
    return llvm::createStringError(rest);
  std::vector<GpuInfo> found;
  while (!rest.empty()) {
    auto [line, others] = rest.split('\n');
    GpuInfo gpu;
    if (!line.consumeInteger(10, gpu.chip))
      gpu.name = line.trim().str();
    found.push_back(gpu);
    rest = others;
  }
  if (found.empty())
    return llvm::createStringError(
        "there is a CUDA driver on this machine, and no CUDA device");
  return found;
}

//===----------------------------------------------------------------------===//
// A rank's device
//===----------------------------------------------------------------------===//

struct Gpu::State {
  Calls calls;
  int device = -1; // -1: no context is held
  Context context = nullptr;
  bool isCurrent = false;
  Stream stream = nullptr;
  std::vector<DevicePtr> memory;
  Graph graph = nullptr;
  GraphExec exec = nullptr;
};

static DevicePtr addressOf(const void *p) {
  return reinterpret_cast<uintptr_t>(p);
}

Gpu::Gpu() : state(std::make_unique<State>()) {}

bool Gpu::check(Result result, const char *what) {
  if (result != success && error.empty())
    error = std::string(what) + ": " + state->calls.textOf(result);
  return error.empty();
}

bool Gpu::open(int device) {
  error = state->calls.open();
  if (!error.empty())
    return false;
  Calls &calls = state->calls;
  if (!check(calls.primaryRetain(&state->context, device), "context"))
    return false;
  state->device = device;
  if (!check(calls.ctxPush(state->context), "context"))
    return false;
  state->isCurrent = true;
  return check(calls.streamCreate(&state->stream, streamNonBlocking), "stream");
}

/// Nothing can be done about errors here.
Gpu::~Gpu() {
  if (state->device < 0)
    return;
  Calls &calls = state->calls;
  if (state->isCurrent) {
    dropGraph();
    if (state->stream)
      (void)calls.streamDestroy(state->stream);
    for (DevicePtr memory : state->memory)
      (void)calls.memFree(memory);
    (void)calls.ctxPop(&state->context);
  }
  (void)calls.primaryRelease(state->device);
}

void *Gpu::stream() const { return state->stream; }

void *Gpu::allocate(size_t bytes) {
  DevicePtr memory = 0;
  if (!error.empty() ||
      !check(state->calls.memAlloc(&memory, bytes), "device memory"))
    return nullptr;
  state->memory.push_back(memory);
  return reinterpret_cast<void *>(uintptr_t(memory));
}

bool Gpu::fill(void *to, const void *from, size_t bytes) {
  if (bytes == 0)
    return error.empty();
  return error.empty() &&
         check(state->calls.copyToDevice(addressOf(to), from, bytes,
                                         state->stream),
               "copy to the device") &&
         wait();
}

bool Gpu::read(void *to, const void *from, size_t bytes) {
  if (bytes == 0)
    return error.empty();
  return error.empty() &&
         check(
             state->calls.copyToHost(to, addressOf(from), bytes, state->stream),
             "copy from the device") &&
         wait();
}

bool Gpu::wait() {
  return error.empty() &&
         check(state->calls.streamSynchronize(state->stream), "stream");
}

//===----------------------------------------------------------------------===//
// Graphs
//===----------------------------------------------------------------------===//

void Gpu::dropGraph() {
  if (state->exec)
    (void)state->calls.graphExecDestroy(state->exec);
  if (state->graph)
    (void)state->calls.graphDestroy(state->graph);
  state->exec = nullptr;
  state->graph = nullptr;
}

bool Gpu::capture(const std::function<bool()> &queue) {
  Calls &calls = state->calls;
  dropGraph();
  if (!error.empty() ||
      !check(calls.streamBeginCapture(state->stream, captureThreadLocal),
             "begin of a capture"))
    return false;
  bool isQueued = queue();
  bool isEnded =
      check(calls.streamEndCapture(state->stream, &state->graph), "capture");
  return isQueued && isEnded &&
         check(calls.graphInstantiate(&state->exec, state->graph, 0), "graph");
}

bool Gpu::replay() {
  return error.empty() &&
         check(state->calls.graphLaunch(state->exec, state->stream), "replay");
}
