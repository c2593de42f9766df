//===- CudaMulticast.h - One address for memory of all ranks ----*- C++ -*-===//
//-*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where every rank has a device of its own and all of them can, the
// communicator has one multicast object.  It is made when ranks meet, with all
// devices in it and no memory, and every rank maps it: its arena.  Then each
// rank binds memory of coll_mem_alloc at offsets that it alone chooses, by one
// rule, so that ranks that allocate alike bind alike.  No call waits for peers
// therefore, and kernels see by the addresses in their table which places stand
// together.  What does not fit has no multicast address, which is no error.
//
//   rank r   to 0     u8 can, u64 granularity
//   rank 0   to all   string why not, u64 bytes, u64 granularity, and if it
//                     is "", the object's SharedHandle
//   rank r   to 0     u8 its device is in it
//   rank 0   to all   string why not
//   rank r   to 0     u8 it has mapped the object
//   rank 0   to all   string why not: so nobody offers memory to a rank that
//                     does not know yet where its arena is
//
//===----------------------------------------------------------------------===//
#ifndef COLL_RUNTIME_TRANSPORT_CUDA_CUDAMULTICAST_H
#define COLL_RUNTIME_TRANSPORT_CUDA_CUDAMULTICAST_H

#include "runtime/core/Communicator.h"
#include "runtime/transport/cuda/SharedHandle.h"

#include <map>
#include <optional>

namespace coll::cuda {

class CudaMulticast {
public:
  /// Both outlive it.
  CudaMulticast(Communicator &comm, const CudaDevice &device)
      : comm(comm), device(device) {}
  ~CudaMulticast();

  /// Collective.  Errors are those of the control mesh; where there is no
  /// multicast, the reason is said at COLL_DEBUG=INFO.
  Status meet(bool isEachAlone);

  bool isOn() const { return base != 0; }
  /// Of sizes and offsets of what is bound; 0: there is no object.
  size_t granularity() const { return unit; }
  /// The address of the arena's begin on this device.
  DevicePtr address() const { return base; }

  /// The address of a peer's place, as an offer has it; 0: none.
  DevicePtr placeOf(uint64_t offered, uint64_t size) const {
    bool isInside = isOn() && offered != 0 && offered - 1 < bytes &&
                    size <= bytes - (offered - 1);
    return isInside ? base + offered - 1 : 0;
  }

  /// Where in the arena the memory stands from now on, bound or not; nothing:
  /// there is no room.
  std::optional<uint64_t> bind(MemHandle memory, size_t bytes);
  void unbind(uint64_t offset) noexcept;
  /// Whether memory at this place is reached by multicast.
  bool isBound(std::optional<uint64_t> offset) const {
    auto found = offset ? places.find(*offset) : places.end();
    return found != places.end() && found->second.isBound;
  }

private:
  struct Bound {
    size_t bytes = 0;
    bool isBound = false; ///< else its place is taken all the same
  };
  Status meetAsRoot(bool can);
  Status meetAsGuest(bool can);
  std::string makeObject(size_t granularity, SharedHandle &shared);
  bool importObject(const SharedHandle &shared);
  std::string mapObject();
  void finish(const std::string &whyNot);
  Status tellAll(uint64_t phase, const std::string &whyNot,
                 const SharedHandle *object);
  void drop() noexcept;

  Communicator &comm;
  const CudaDevice &device;
  MemHandle object = 0; ///< 0: none
  DevicePtr base = 0;
  size_t bytes = 0, unit = 0;
  std::map<uint64_t, Bound> places;
};

} // namespace coll::cuda

#endif // COLL_RUNTIME_TRANSPORT_CUDA_CUDAMULTICAST_H
