//===- Devices.cpp - The stand-in's devices, contexts and errors ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/StandIn/StandIn.h"

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

using namespace coll::cuda;

namespace coll::standin {

/// A context is its device's number, one up, so that none is null.
static thread_local std::vector<int> contexts;

static int number(const char *name, int otherwise) {
  const char *text = getenv(name);
  return text && *text ? atoi(text) : otherwise;
}

/// "NAME:N:E" or "N:E".
static void readFailure(World &world) {
  const char *text = getenv("COLL_STANDIN_FAIL");
  if (!text || !*text)
    return;
  std::string rest = text;
  size_t last = rest.rfind(':');
  if (last == std::string::npos)
    return;
  world.failResult = atoi(rest.c_str() + last + 1);
  rest.resize(last);
  size_t first = rest.rfind(':');
  world.failName = first == std::string::npos ? "" : rest.substr(0, first);
  world.failCall = strtoull(
      rest.c_str() + (first == std::string::npos ? 0 : first + 1), nullptr, 10);
}

World &World::get() {
  static World &world = *[] {
    auto *made = new World; // lives to the very end of the process
    made->devices = number("COLL_STANDIN_DEVICES", 1);
    made->chip = number("COLL_STANDIN_CHIP", 90);
    made->version = number("COLL_STANDIN_VERSION", 13000);
    made->sms = number("COLL_STANDIN_SMS", 4);
    made->hasPeers = number("COLL_STANDIN_PEERS", 1);
    made->hasLinks = number("COLL_STANDIN_NVLINK", 1);
    made->hasMulticast = number("COLL_STANDIN_MULTICAST", 1);
    made->fabric = number("COLL_STANDIN_FABRIC", 1);
    made->queues = number("CUDA_DEVICE_MAX_CONNECTIONS", 8);
    made->printsCount = number("COLL_STANDIN_COUNT", 0);
    made->retained.resize(size_t(made->devices));
    readFailure(*made);
    return made;
  }();
  return world;
}

/// Calls that give something back do so even when they return an error (of
/// other work, as a driver's do), and without a context nothing can be given
/// back: failures of the N-th call of any name pass these over.
static bool givesBack(const char *name) {
  static const std::set<std::string> names = {
      "cuMemFree_v2",
      "cuMemHostUnregister",
      "cuMemUnmap",
      "cuMemAddressFree",
      "cuMemRelease",
      "cuMulticastUnbind",
      "cuStreamDestroy_v2",
      "cuEventDestroy_v2",
      "cuModuleUnload",
      "cuDevicePrimaryCtxRelease_v2",
      "cuCtxPushCurrent_v2",
      "cuCtxPopCurrent_v2",
      "cuThreadExchangeStreamCaptureMode"};
  return names.count(name) != 0;
}

Result enter(const char *name, bool needsContext) {
  World &world = World::get();
  std::lock_guard lock(world.mutex);
  uint64_t count = givesBack(name) ? 0 : ++world.calls;
  uint64_t named = ++world.callsByName[name];
  if (world.failCall != 0 && (world.failName.empty()   ? count
                              : world.failName == name ? named
                                                       : 0) == world.failCall)
    return world.failResult;
  if (!world.isInitialized && strcmp(name, "cuInit") != 0)
    return wrong(notInitialized, "%s comes before cuInit", name);
  if (needsContext && contexts.empty())
    return wrong(invalidContext, "%s without a current context", name);
  return needsContext ? world.sticky : Result(success);
}

Result wrong(Result result, const char *format, ...) {
  fputs("stand-in: error: ", stderr);
  va_list arguments;
  va_start(arguments, format);
  vfprintf(stderr, format, arguments);
  va_end(arguments);
  fprintf(stderr, " (%d)\n", result);
  return result;
}

int currentDevice() { return contexts.empty() ? -1 : contexts.back() - 1; }

/// Everything that the process has not given back.
static std::vector<std::string> leaks() {
  World &world = World::get();
  std::lock_guard lock(world.mutex);
  world.leaks.clear();
  for (auto &[handle, physical] : world.handles)
    world.leak("a memory handle of " + std::to_string(physical->bytes) +
               " bytes");
  for (auto &[address, mapping] : world.mappings)
    world.leak("a mapping of " + std::to_string(mapping.bytes) + " bytes");
  for (auto &[address, reservation] : world.reservations)
    world.leak("reserved addresses, " + std::to_string(reservation.bytes) +
               " bytes");
  for (auto &[address, allocation] : world.allocations)
    world.leak("an allocation of " + std::to_string(allocation.bytes) +
               " bytes");
  for (auto &[address, registration] : world.registrations)
    world.leak("registered host memory, " + std::to_string(registration.bytes) +
               " bytes");
  for (size_t d = 0; d != world.retained.size(); ++d)
    if (world.retained[d])
      world.leak("the context of device " + std::to_string(d));
  listStreamLeaks(world);
  listModuleLeaks(world);
  return world.leaks;
}

namespace {
struct AtExit {
  ~AtExit() {
    World &world = World::get();
    if (world.printsCount)
      fprintf(stderr,
              "stand-in: %llu calls, %llu multimem instructions, %llu lines, "
              "%d queues\n",
              (unsigned long long)world.calls,
              (unsigned long long)world.multimems,
              (unsigned long long)world.lines, world.queues);
    std::vector<std::string> left = leaks();
    for (const std::string &what : left)
      fprintf(stderr, "stand-in: error: not given back at exit: %s\n",
              what.c_str());
    if (left.empty())
      return;
    fflush(nullptr);
    _exit(97);
  }
};
AtExit atExit;
} // namespace
} // namespace coll::standin

using namespace coll::standin;

//===----------------------------------------------------------------------===//
// For tests in the same process
//===----------------------------------------------------------------------===//

/// The next call of this name ("": any) but `skip` returns `result`.
STANDIN_EXPORT void standinFail(const char *name, uint64_t skip, int result) {
  World &world = World::get();
  std::lock_guard lock(world.mutex);
  world.failName = name;
  world.failCall = skip + 1 + (*name ? world.callsByName[name] : world.calls);
  world.failResult = result;
  if (result == success)
    world.failCall = 0;
}
STANDIN_EXPORT uint64_t standinCalls() {
  World &world = World::get();
  std::lock_guard lock(world.mutex);
  return world.calls;
}
STANDIN_EXPORT void standinSetPeers(int hasPeers) {
  World &world = World::get();
  std::lock_guard lock(world.mutex);
  world.hasPeers = hasPeers != 0;
}
STANDIN_EXPORT void standinSetFabric(int fabric) {
  World &world = World::get();
  std::lock_guard lock(world.mutex);
  world.fabric = fabric;
}
STANDIN_EXPORT void standinClearSticky() {
  World &world = World::get();
  std::lock_guard lock(world.mutex);
  world.sticky = success;
}
/// How many things have not been given back; they are listed on request.
STANDIN_EXPORT int standinLeaks(int print) {
  std::vector<std::string> left = leaks();
  for (const std::string &what : left)
    if (print)
      fprintf(stderr, "stand-in: not given back: %s\n", what.c_str());
  return int(left.size());
}

//===----------------------------------------------------------------------===//
// Errors, devices, contexts
//===----------------------------------------------------------------------===//

namespace {
struct ErrorText {
  Result result;
  const char *name, *text;
};
constexpr ErrorText errorTexts[] = {
    {success, "CUDA_SUCCESS", "no error"},
    {invalidValue, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {outOfMemory, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {notInitialized, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {noDevice, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {invalidDevice, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {invalidImage, "CUDA_ERROR_INVALID_IMAGE",
     "device kernel image is invalid"},
    {invalidContext, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {noBinaryForGpu, "CUDA_ERROR_NO_BINARY_FOR_GPU",
     "no kernel image is available for execution on the device"},
    {invalidHandle, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {notFound, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {notReady, "CUDA_ERROR_NOT_READY", "device not ready"},
    {illegalAddress, "CUDA_ERROR_ILLEGAL_ADDRESS",
     "an illegal memory access was encountered"},
    {launchOutOfResources, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES",
     "too many resources requested for launch"},
    {launchFailed, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    {notPermitted, "CUDA_ERROR_NOT_PERMITTED", "operation not permitted"},
    {notSupported, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"},
    {captureUnsupported, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",
     "operation not permitted when stream is capturing"},
    {captureIsolation, "CUDA_ERROR_STREAM_CAPTURE_ISOLATION",
     "dependency created on uncaptured work in another stream"},
};
const ErrorText *findText(Result result) {
  for (const ErrorText &entry : errorTexts)
    if (entry.result == result)
      return &entry;
  return nullptr;
}
bool isDevice(Device device) {
  return device >= 0 && device < World::get().devices;
}
} // namespace

STANDIN_EXPORT Result cuGetErrorName(Result result, const char **name) {
  const ErrorText *entry = findText(result);
  *name = entry ? entry->name : nullptr;
  return entry ? success : invalidValue;
}
STANDIN_EXPORT Result cuGetErrorString(Result result, const char **text) {
  const ErrorText *entry = findText(result);
  *text = entry ? entry->text : nullptr;
  return entry ? success : invalidValue;
}

STANDIN_EXPORT Result cuInit(unsigned flags) {
  STANDIN_CALL("cuInit", false);
  World &world = World::get();
  std::lock_guard lock(world.mutex);
  if (world.devices == 0)
    return noDevice;
  world.isInitialized = true;
  return flags == 0 ? success : invalidValue;
}
STANDIN_EXPORT Result cuDriverGetVersion(int *version) {
  STANDIN_CALL("cuDriverGetVersion", false);
  *version = World::get().version;
  return success;
}
STANDIN_EXPORT Result cuDeviceGetCount(int *count) {
  STANDIN_CALL("cuDeviceGetCount", false);
  *count = World::get().devices;
  return success;
}
STANDIN_EXPORT Result cuDeviceGet(Device *device, int ordinal) {
  STANDIN_CALL("cuDeviceGet", false);
  *device = ordinal;
  return isDevice(ordinal) ? success : invalidDevice;
}
STANDIN_EXPORT Result cuDeviceGetName(char *name, int bytes, Device device) {
  STANDIN_CALL("cuDeviceGetName", false);
  snprintf(name, size_t(bytes), "stand-in %d", device);
  return isDevice(device) ? success : invalidDevice;
}
STANDIN_EXPORT Result cuDeviceGetAttribute(int *value,
                                           DeviceAttribute attribute,
                                           Device device) {
  STANDIN_CALL("cuDeviceGetAttribute", false);
  if (!isDevice(device))
    return invalidDevice;
  World &world = World::get();
  switch (attribute) {
  case multiprocessors:
    *value = world.sms;
    return success;
  case computeMajor:
    *value = world.chip / 10;
    return success;
  case computeMinor:
    *value = world.chip % 10;
    return success;
  case fabricHandles:
    *value = world.fabric != 0;
    return success;
  case virtualMemory:
  case posixHandles:
    *value = 1;
    return success;
  case multicast:
    *value = world.hasMulticast;
    return success;
  }
  return wrong(invalidValue, "there is no device attribute %d", attribute);
}
STANDIN_EXPORT Result cuDeviceGetUuid_v2(Uuid *uuid, Device device) {
  STANDIN_CALL("cuDeviceGetUuid_v2", false);
  if (!isDevice(device))
    return invalidDevice;
  *uuid = {};
  snprintf(uuid->bytes, sizeof uuid->bytes, "stand-in %d", device);
  return success;
}
STANDIN_EXPORT Result cuDeviceCanAccessPeer(int *can, Device device,
                                            Device peer) {
  STANDIN_CALL("cuDeviceCanAccessPeer", false);
  if (!isDevice(device) || !isDevice(peer))
    return invalidDevice;
  *can = World::get().hasPeers && device != peer;
  return success;
}

STANDIN_EXPORT Result cuDeviceGetP2PAttribute(int *value,
                                              PeerAttribute attribute,
                                              Device from, Device to) {
  STANDIN_CALL("cuDeviceGetP2PAttribute", false);
  if (!isDevice(from) || !isDevice(to) || from == to)
    return invalidDevice;
  if (attribute != nativeAtomics)
    return wrong(invalidValue, "there is no attribute %d of two devices",
                 attribute);
  *value = World::get().hasPeers && World::get().hasLinks;
  return success;
}

static Context contextOf(Device device) {
  return reinterpret_cast<Context>(uintptr_t(device) + 1);
}

STANDIN_EXPORT Result cuDevicePrimaryCtxRetain(Context *context,
                                               Device device) {
  STANDIN_CALL("cuDevicePrimaryCtxRetain", false);
  World &world = World::get();
  std::lock_guard lock(world.mutex);
  if (!isDevice(device))
    return invalidDevice;
  ++world.retained[size_t(device)];
  *context = contextOf(device);
  return success;
}
STANDIN_EXPORT Result cuDevicePrimaryCtxRelease_v2(Device device) {
  STANDIN_CALL("cuDevicePrimaryCtxRelease_v2", false);
  World &world = World::get();
  std::lock_guard lock(world.mutex);
  if (!isDevice(device) || world.retained[size_t(device)] == 0)
    return wrong(invalidContext, "device %d has no context to release", device);
  --world.retained[size_t(device)];
  return success;
}
STANDIN_EXPORT Result cuCtxPushCurrent_v2(Context context) {
  STANDIN_CALL("cuCtxPushCurrent_v2", false);
  World &world = World::get();
  std::lock_guard lock(world.mutex);
  uintptr_t which = reinterpret_cast<uintptr_t>(context);
  if (which == 0 || which > world.retained.size() ||
      world.retained[which - 1] == 0)
    return wrong(invalidContext, "cuCtxPushCurrent of a dead context");
  contexts.push_back(int(which));
  return success;
}
STANDIN_EXPORT Result cuCtxPopCurrent_v2(Context *context) {
  STANDIN_CALL("cuCtxPopCurrent_v2", false);
  if (contexts.empty())
    return wrong(invalidContext, "cuCtxPopCurrent without one");
  *context = contextOf(contexts.back() - 1);
  contexts.pop_back();
  return success;
}
