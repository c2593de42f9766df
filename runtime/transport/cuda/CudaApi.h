//===- CudaApi.h - The part of CUDA's driver API in use ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Our own declarations, so that the runtime builds without CUDA: names, types
// and numbers of the public driver API (NVIDIA, "CUDA Driver API", CUDA 13.0),
// and of it only what the runtime calls.  Handles are opaque.  A test compiles
// this against cuda.h where there is one (test/Unit/Cuda/HeaderCheck.cpp).
//
//===----------------------------------------------------------------------===//
#ifndef COLL_RUNTIME_TRANSPORT_CUDA_CUDAAPI_H
#define COLL_RUNTIME_TRANSPORT_CUDA_CUDAAPI_H

#include <cstddef>
#include <cstdint>

namespace coll::cuda {

using Result = int; // CUresult
using Device = int;
using DevicePtr = unsigned long long;
using MemHandle = unsigned long long;
using Context = struct ContextBody *;
using Module = struct ModuleBody *;
using Function = struct FunctionBody *;
using Stream = struct StreamBody *;
using Event = struct EventBody *;
using Graph = struct GraphBody *;
using GraphExec = struct GraphExecBody *;
using GraphNode = struct GraphNodeBody *;

struct Uuid {
  char bytes[16];
};

enum : Result {
  success = 0,
  invalidValue = 1,
  outOfMemory = 2,
  notInitialized = 3,
  deinitialized = 4,
  noDevice = 100,
  invalidDevice = 101,
  invalidImage = 200,
  invalidContext = 201,
  noBinaryForGpu = 209,
  peerAccessUnsupported = 217,
  invalidPtx = 218,
  jitCompilerNotFound = 221,
  unsupportedPtxVersion = 222,
  invalidHandle = 400,
  notFound = 500,
  notReady = 600,
  illegalAddress = 700,
  launchOutOfResources = 701,
  alreadyMapped = 712, // CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED
  notRegistered = 713, // CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED
  launchFailed = 719,
  notPermitted = 800,
  notSupported = 801,
  captureUnsupported = 900,
  captureInvalidated = 901,
  captureUnmatched = 903,
  captureUnjoined = 904,
  captureIsolation = 905,
  unknownError = 999
};

enum DeviceAttribute : int {
  multiprocessors = 16,
  computeMajor = 75,
  computeMinor = 76,
  virtualMemory = 102,
  posixHandles = 103,
  fabricHandles = 128, // CUDA 12.3; older drivers do not know it
  multicast = 132
};

/// Native atomics between two devices: NVLink has them, PCIe has not.
enum PeerAttribute : int { nativeAtomics = 3 };

enum PointerAttribute : int { pointerMemoryType = 2, pointerDeviceOrdinal = 9 };
enum MemoryType : unsigned { memoryHost = 1, memoryDevice = 2 };

enum FunctionAttribute : int {
  maxThreadsPerBlock = 0,
  sharedBytes = 1,
  registersPerThread = 4
};

enum : unsigned {
  streamNonBlocking = 1,
  eventNoTiming = 2,
  hostRegisterPortable = 1,
  hostRegisterMapped = 2
};

enum CaptureMode : int { captureGlobal, captureThreadLocal, captureRelaxed };
enum CaptureStatus : int { captureNone, captureActive, captureBroken };

struct MemLocation {
  int type; ///< 1: a device
  int id;
};
struct AllocationProp {
  int type;                 ///< 1: pinned
  int requestedHandleTypes; ///< a set of handlePosixFd, handleFabric
  MemLocation location;
  void *win32;
  struct {
    unsigned char compression, rdma;
    unsigned short usage;
    unsigned char reserved[4];
  } flags;
};
struct AccessDesc {
  MemLocation location;
  int flags; ///< 3: read and write
};
struct FabricHandle {
  unsigned char bytes[64];
};
struct MulticastProp {
  unsigned numDevices;
  size_t size;
  unsigned long long handleTypes, flags;
};
enum : int {
  allocationPinned = 1,
  locationDevice = 1,
  handlePosixFd = 1,
  handleFabric = 8,
  accessReadWrite = 3,
  granularityMinimum = 0,
  granularityRecommended = 1
};

} // namespace coll::cuda

/// Every call in use that drivers of CUDA 12.0 have: X(result-less name,
/// exported symbol, parameters).
#define COLL_CUDA_CALLS(X)                                                     \
  X(init, cuInit, (unsigned))                                                  \
  X(driverGetVersion, cuDriverGetVersion, (int *))                             \
  X(getErrorName, cuGetErrorName, (Result, const char **))                     \
  X(getErrorString, cuGetErrorString, (Result, const char **))                 \
  X(deviceGetCount, cuDeviceGetCount, (int *))                                 \
  X(deviceGet, cuDeviceGet, (Device *, int))                                   \
  X(deviceGetName, cuDeviceGetName, (char *, int, Device))                     \
  X(deviceGetAttribute, cuDeviceGetAttribute,                                  \
    (int *, DeviceAttribute, Device))                                          \
  X(deviceGetUuid, cuDeviceGetUuid_v2, (Uuid *, Device))                       \
  X(deviceCanAccessPeer, cuDeviceCanAccessPeer, (int *, Device, Device))       \
  X(deviceGetPeerAttribute, cuDeviceGetP2PAttribute,                           \
    (int *, PeerAttribute, Device, Device))                                    \
  X(primaryRetain, cuDevicePrimaryCtxRetain, (Context *, Device))              \
  X(primaryRelease, cuDevicePrimaryCtxRelease_v2, (Device))                    \
  X(ctxPush, cuCtxPushCurrent_v2, (Context))                                   \
  X(ctxPop, cuCtxPopCurrent_v2, (Context *))                                   \
  X(moduleLoadData, cuModuleLoadData, (Module *, const void *))                \
  X(moduleUnload, cuModuleUnload, (Module))                                    \
  X(moduleGetFunction, cuModuleGetFunction,                                    \
    (Function *, Module, const char *))                                        \
  X(funcGetAttribute, cuFuncGetAttribute,                                      \
    (int *, FunctionAttribute, Function))                                      \
  X(occupancy, cuOccupancyMaxActiveBlocksPerMultiprocessor,                    \
    (int *, Function, int, size_t))                                            \
  X(launchKernel, cuLaunchKernel,                                              \
    (Function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,     \
     unsigned, Stream, void **, void **))                                      \
  X(memAlloc, cuMemAlloc_v2, (DevicePtr *, size_t))                            \
  X(memFree, cuMemFree_v2, (DevicePtr))                                        \
  X(copyToDevice, cuMemcpyHtoDAsync_v2,                                        \
    (DevicePtr, const void *, size_t, Stream))                                 \
  X(copyToHost, cuMemcpyDtoHAsync_v2, (void *, DevicePtr, size_t, Stream))     \
  X(setBytes, cuMemsetD8Async, (DevicePtr, unsigned char, size_t, Stream))     \
  X(hostRegister, cuMemHostRegister_v2, (void *, size_t, unsigned))            \
  X(hostUnregister, cuMemHostUnregister, (void *))                             \
  X(hostDevicePointer, cuMemHostGetDevicePointer_v2,                           \
    (DevicePtr *, void *, unsigned))                                           \
  X(pointerGetAttribute, cuPointerGetAttribute,                                \
    (void *, PointerAttribute, DevicePtr))                                     \
  X(memGranularity, cuMemGetAllocationGranularity,                             \
    (size_t *, const AllocationProp *, int))                                   \
  X(memCreate, cuMemCreate,                                                    \
    (MemHandle *, size_t, const AllocationProp *, unsigned long long))         \
  X(memRelease, cuMemRelease, (MemHandle))                                     \
  X(memExport, cuMemExportToShareableHandle,                                   \
    (void *, MemHandle, int, unsigned long long))                              \
  X(memImport, cuMemImportFromShareableHandle, (MemHandle *, void *, int))     \
  X(memRetain, cuMemRetainAllocationHandle, (MemHandle *, void *))             \
  X(memRange, cuMemGetAddressRange_v2, (DevicePtr *, size_t *, DevicePtr))     \
  X(addressReserve, cuMemAddressReserve,                                       \
    (DevicePtr *, size_t, size_t, DevicePtr, unsigned long long))              \
  X(addressFree, cuMemAddressFree, (DevicePtr, size_t))                        \
  X(memMap, cuMemMap,                                                          \
    (DevicePtr, size_t, size_t, MemHandle, unsigned long long))                \
  X(memUnmap, cuMemUnmap, (DevicePtr, size_t))                                 \
  X(memSetAccess, cuMemSetAccess,                                              \
    (DevicePtr, size_t, const AccessDesc *, size_t))                           \
  X(streamCreate, cuStreamCreate, (Stream *, unsigned))                        \
  X(streamDestroy, cuStreamDestroy_v2, (Stream))                               \
  X(streamSynchronize, cuStreamSynchronize, (Stream))                          \
  X(streamWaitEvent, cuStreamWaitEvent, (Stream, Event, unsigned))             \
  X(streamCaptureInfo, cuStreamGetCaptureInfo_v2,                              \
    (Stream, CaptureStatus *, uint64_t *, Graph *, const GraphNode **,         \
     size_t *))                                                                \
  X(exchangeCaptureMode, cuThreadExchangeStreamCaptureMode, (CaptureMode *))   \
  X(eventCreate, cuEventCreate, (Event *, unsigned))                           \
  X(eventDestroy, cuEventDestroy_v2, (Event))                                  \
  X(eventRecord, cuEventRecord, (Event, Stream))                               \
  X(eventQuery, cuEventQuery, (Event))

/// Of CUDA 12.1; null where a driver has none of them.
#define COLL_CUDA_MULTICAST_CALLS(X)                                           \
  X(multicastCreate, cuMulticastCreate, (MemHandle *, const MulticastProp *))  \
  X(multicastAddDevice, cuMulticastAddDevice, (MemHandle, Device))             \
  X(multicastBindMem, cuMulticastBindMem,                                      \
    (MemHandle, size_t, MemHandle, size_t, size_t, unsigned long long))        \
  X(multicastUnbind, cuMulticastUnbind, (MemHandle, Device, size_t, size_t))   \
  X(multicastGranularity, cuMulticastGetGranularity,                           \
    (size_t *, const MulticastProp *, int))

/// Calls of applications, which the runtime itself has no use for: the stand-in
/// has them, and tests.
#define COLL_CUDA_APPLICATION_CALLS(X)                                         \
  X(ctxSynchronize, cuCtxSynchronize, ())                                      \
  X(copyOnDevice, cuMemcpyDtoDAsync_v2,                                        \
    (DevicePtr, DevicePtr, size_t, Stream))                                    \
  X(streamBeginCapture, cuStreamBeginCapture_v2, (Stream, CaptureMode))        \
  X(streamEndCapture, cuStreamEndCapture, (Stream, Graph *))                   \
  X(graphInstantiate, cuGraphInstantiateWithFlags,                             \
    (GraphExec *, Graph, unsigned long long))                                  \
  X(graphLaunch, cuGraphLaunch, (GraphExec, Stream))                           \
  X(graphExecDestroy, cuGraphExecDestroy, (GraphExec))                         \
  X(graphDestroy, cuGraphDestroy, (Graph))

#endif // COLL_RUNTIME_TRANSPORT_CUDA_CUDAAPI_H
