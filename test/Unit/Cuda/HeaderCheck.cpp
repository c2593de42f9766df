//===- HeaderCheck.cpp - Our declarations against cuda.h ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compiled where there is a cuda.h: every call that we declare exists under its
// exported name and takes the same number of parameters of the same kinds and
// sizes, and every number and structure is the same.
//
//===----------------------------------------------------------------------===//

// Declares the versions of calls that the header otherwise hides.
#define __CUDA_API_VERSION_INTERNAL 1
#include <cuda.h>

#include "runtime/transport/cuda/CudaApi.h"

#include <type_traits>

namespace ours = coll::cuda;

template <typename A, typename B> constexpr bool isAlike() {
  return sizeof(A) == sizeof(B) && std::is_pointer_v<A> == std::is_pointer_v<B>;
}
template <typename A, typename B> struct SameCall : std::false_type {};
template <typename... A, typename... B>
struct SameCall<CUresult(A...), ours::Result(B...)> {
  static constexpr bool compare() {
    if constexpr (sizeof...(A) == sizeof...(B))
      return (isAlike<A, B>() && ...);
    else
      return false;
  }
  static constexpr bool value = compare();
};

namespace types {
using namespace coll::cuda;
#define X(name, symbol, parameters) using name = Result parameters;
COLL_CUDA_CALLS(X)
COLL_CUDA_MULTICAST_CALLS(X)
COLL_CUDA_APPLICATION_CALLS(X)
#undef X
} // namespace types

#define X(name, symbol, parameters)                                            \
  static_assert(SameCall<decltype(::symbol), types::name>::value, #symbol);
COLL_CUDA_CALLS(X)
COLL_CUDA_MULTICAST_CALLS(X)
COLL_CUDA_APPLICATION_CALLS(X)
#undef X

#define SAME(a, b) static_assert(int(ours::a) == int(b), #b)
SAME(success, CUDA_SUCCESS);
SAME(invalidValue, CUDA_ERROR_INVALID_VALUE);
SAME(outOfMemory, CUDA_ERROR_OUT_OF_MEMORY);
SAME(notInitialized, CUDA_ERROR_NOT_INITIALIZED);
SAME(deinitialized, CUDA_ERROR_DEINITIALIZED);
SAME(noDevice, CUDA_ERROR_NO_DEVICE);
SAME(invalidDevice, CUDA_ERROR_INVALID_DEVICE);
SAME(invalidImage, CUDA_ERROR_INVALID_IMAGE);
SAME(invalidContext, CUDA_ERROR_INVALID_CONTEXT);
SAME(noBinaryForGpu, CUDA_ERROR_NO_BINARY_FOR_GPU);
SAME(invalidPtx, CUDA_ERROR_INVALID_PTX);
SAME(jitCompilerNotFound, CUDA_ERROR_JIT_COMPILER_NOT_FOUND);
SAME(unsupportedPtxVersion, CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
SAME(peerAccessUnsupported, CUDA_ERROR_PEER_ACCESS_UNSUPPORTED);
SAME(invalidHandle, CUDA_ERROR_INVALID_HANDLE);
SAME(notFound, CUDA_ERROR_NOT_FOUND);
SAME(notReady, CUDA_ERROR_NOT_READY);
SAME(illegalAddress, CUDA_ERROR_ILLEGAL_ADDRESS);
SAME(launchOutOfResources, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
SAME(alreadyMapped, CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
SAME(notRegistered, CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
SAME(launchFailed, CUDA_ERROR_LAUNCH_FAILED);
SAME(notPermitted, CUDA_ERROR_NOT_PERMITTED);
SAME(notSupported, CUDA_ERROR_NOT_SUPPORTED);
SAME(captureUnsupported, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
SAME(captureInvalidated, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
SAME(captureUnmatched, CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
SAME(captureUnjoined, CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
SAME(captureIsolation, CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
SAME(unknownError, CUDA_ERROR_UNKNOWN);
SAME(multiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
SAME(computeMajor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
SAME(computeMinor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
SAME(virtualMemory, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED);
SAME(posixHandles,
     CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED);
SAME(multicast, CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED);
SAME(pointerMemoryType, CU_POINTER_ATTRIBUTE_MEMORY_TYPE);
SAME(pointerDeviceOrdinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL);
SAME(memoryHost, CU_MEMORYTYPE_HOST);
SAME(memoryDevice, CU_MEMORYTYPE_DEVICE);
SAME(maxThreadsPerBlock, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
SAME(sharedBytes, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
SAME(registersPerThread, CU_FUNC_ATTRIBUTE_NUM_REGS);
SAME(streamNonBlocking, CU_STREAM_NON_BLOCKING);
SAME(eventNoTiming, CU_EVENT_DISABLE_TIMING);
SAME(hostRegisterPortable, CU_MEMHOSTREGISTER_PORTABLE);
SAME(hostRegisterMapped, CU_MEMHOSTREGISTER_DEVICEMAP);
SAME(captureGlobal, CU_STREAM_CAPTURE_MODE_GLOBAL);
SAME(captureThreadLocal, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
SAME(captureRelaxed, CU_STREAM_CAPTURE_MODE_RELAXED);
SAME(captureNone, CU_STREAM_CAPTURE_STATUS_NONE);
SAME(captureActive, CU_STREAM_CAPTURE_STATUS_ACTIVE);
SAME(captureBroken, CU_STREAM_CAPTURE_STATUS_INVALIDATED);
SAME(allocationPinned, CU_MEM_ALLOCATION_TYPE_PINNED);
SAME(locationDevice, CU_MEM_LOCATION_TYPE_DEVICE);
SAME(handlePosixFd, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
#if CUDA_VERSION >= 12040
SAME(handleFabric, CU_MEM_HANDLE_TYPE_FABRIC);
SAME(fabricHandles, CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED);
static_assert(sizeof(ours::FabricHandle) == sizeof(CUmemFabricHandle));
#endif
SAME(accessReadWrite, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
SAME(granularityMinimum, CU_MEM_ALLOC_GRANULARITY_MINIMUM);
SAME(granularityRecommended, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED);

#define AT(type, field, theirs, theirField)                                    \
  static_assert(offsetof(ours::type, field) == offsetof(theirs, theirField),   \
                #theirs "." #theirField)
static_assert(sizeof(ours::AllocationProp) == sizeof(CUmemAllocationProp));
AT(AllocationProp, requestedHandleTypes, CUmemAllocationProp,
   requestedHandleTypes);
AT(AllocationProp, location, CUmemAllocationProp, location);
AT(AllocationProp, win32, CUmemAllocationProp, win32HandleMetaData);
AT(AllocationProp, flags, CUmemAllocationProp, allocFlags);
static_assert(sizeof(ours::AccessDesc) == sizeof(CUmemAccessDesc));
AT(AccessDesc, flags, CUmemAccessDesc, flags);
static_assert(sizeof(ours::MulticastProp) == sizeof(CUmulticastObjectProp));
AT(MulticastProp, size, CUmulticastObjectProp, size);
AT(MulticastProp, handleTypes, CUmulticastObjectProp, handleTypes);
static_assert(sizeof(ours::Uuid) == sizeof(CUuuid));
