//===- CudaMulticast.cpp - One address for the memory of all ranks --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/transport/cuda/CudaMulticast.h"
#include "runtime/core/Text.h"
#include "runtime/core/Wire.h"

#include <algorithm>

namespace coll::cuda {

/// Of the control mesh; channels have the first one.
static constexpr uint16_t multicastKind = kFirstLaneKind + 1;
enum : uint64_t {
  AbilityPhase,
  ObjectPhase,
  AddedPhase,
  VerdictPhase,
  MappedPhase,
  EndPhase
};
static constexpr size_t longestReason = 500;
/// More than any device has.
static constexpr size_t largestUnit = size_t(1) << 34;

//===----------------------------------------------------------------------===//
// The object
//===----------------------------------------------------------------------===//

/// On rank 0, its device added.  "": done; else why not.
std::string CudaMulticast::makeObject(size_t granularity,
                                      SharedHandle &shared) {
  const Driver &driver = device.driver();
  bytes = (comm.environment().multicastBytes + granularity - 1) / granularity *
          granularity;
  MulticastProp prop = {};
  prop.numDevices = unsigned(comm.size());
  prop.size = bytes;
  prop.handleTypes = unsigned(device.handleTypes());
  Status status = driver.check(driver.multicastCreate(&object, &prop),
                               "cannot make an object of %zu bytes", bytes);
  if (!status.isOk()) {
    object = 0;
    return status.text();
  }
  status = driver.check(driver.multicastAddDevice(object, device.number()),
                        "cannot add device %d", device.number());
  if (status.isOk())
    status = SharedHandle::of(device, object, shared);
  return status.isOk() ? "" : status.text();
}

bool CudaMulticast::importObject(const SharedHandle &shared) {
  const Driver &driver = device.driver();
  bool byFabric = false;
  if (!shared.import(device, object, byFabric).isOk()) {
    object = 0;
    return false;
  }
  comm.info("the multicast object is mapped by a %s",
            byFabric ? "fabric handle" : "descriptor");
  return driver.multicastAddDevice(object, device.number()) == success;
}

/// When all devices are in the object. "": done; else why not.
std::string CudaMulticast::mapObject() {
  const Driver &driver = device.driver();
  if (driver.addressReserve(&base, bytes, unit, 0, 0) != success) {
    base = 0;
    return format("rank %d has no addresses", comm.rank());
  }
  AccessDesc access = {{locationDevice, device.number()}, accessReadWrite};
  bool isMapped = driver.memMap(base, bytes, 0, object, 0) == success;
  if (isMapped && driver.memSetAccess(base, bytes, &access, 1) == success)
    return "";
  if (isMapped)
    (void)driver.memUnmap(base, bytes);
  (void)driver.addressFree(base, bytes);
  base = 0;
  return format("rank %d cannot map the object", comm.rank());
}

void CudaMulticast::finish(const std::string &whyNot) {
  if (whyNot.empty()) {
    comm.info("multicast over %d devices for %zu MiB of coll_mem_alloc",
              comm.size(), bytes >> 20);
    return;
  }
  drop();
  comm.info("no multicast: %s", whyNot.c_str());
}

void CudaMulticast::drop() noexcept {
  if (object == 0)
    return;
  const Driver &driver = device.driver();
  if (base) {
    (void)driver.memUnmap(base, bytes);
    (void)driver.addressFree(base, bytes);
  }
  (void)driver.memRelease(object);
  object = 0;
  base = 0;
  unit = 0;
}

CudaMulticast::~CudaMulticast() {
  ContextScope scope(device.driver(), device.context());
  while (!places.empty())
    unbind(places.begin()->first);
  drop();
}

//===----------------------------------------------------------------------===//
// Meeting
//===----------------------------------------------------------------------===//

Status CudaMulticast::tellAll(uint64_t phase, const std::string &whyNot,
                              const SharedHandle *shared) {
  WireWriter writer;
  writer.writeString(whyNot.substr(0, longestReason));
  writer.write<uint64_t>(bytes);
  writer.write<uint64_t>(unit);
  int fd = -1;
  if (shared && whyNot.empty()) {
    shared->write(writer);
    fd = shared->fd.get();
  }
  std::span<const int> fds(&fd, fd >= 0 ? 1 : 0);
  for (int peer = 1; peer != comm.size(); ++peer)
    COLL_TRY(comm.control().send(peer, multicastKind, phase, writer.bytes(),
                                 fds, comm.initDeadline()));
  return Status::ok();
}

static Status malformed(int peer) {
  return Status::error(COLL_SYSTEM,
                       "rank %d speaks of multicast in a message that is "
                       "malformed",
                       peer)
      .withPeer(peer);
}

Status CudaMulticast::meetAsRoot(bool can) {
  std::string whyNot = can ? "" : "rank 0 cannot, or is not to";
  Message message;
  for (int peer = 1; peer != comm.size(); ++peer) {
    COLL_TRY(comm.control().receive(peer, multicastKind, AbilityPhase,
                                    comm.initDeadline(), message));
    WireReader reader(message.bytes);
    bool canThey = reader.read<uint8_t>() != 0;
    uint64_t theirs = reader.read<uint64_t>();
    if (!reader.finish() || theirs > largestUnit)
      return malformed(peer);
    if (!canThey && whyNot.empty())
      whyNot = format("rank %d cannot, or is not to", peer);
    unit = std::max<size_t>(unit, theirs); // powers of two
  }
  SharedHandle shared;
  if (whyNot.empty())
    whyNot = makeObject(unit, shared);
  COLL_TRY(tellAll(ObjectPhase, whyNot, &shared));
  auto hear = [&](uint64_t phase, const char *what) -> Status {
    for (int peer = 1; peer != comm.size(); ++peer) {
      COLL_TRY(comm.control().receive(peer, multicastKind, phase,
                                      comm.initDeadline(), message));
      if (message.bytes.size() != 1)
        return malformed(peer);
      if (message.bytes[0] != std::byte{1} && whyNot.empty())
        whyNot = format("rank %d %s", peer, what);
    }
    return Status::ok();
  };
  if (whyNot.empty()) {
    COLL_TRY(hear(AddedPhase, "cannot add its device"));
    COLL_TRY(tellAll(VerdictPhase, whyNot, nullptr));
    if (whyNot.empty()) {
      whyNot = mapObject();
      COLL_TRY(hear(MappedPhase, "cannot map the object"));
      COLL_TRY(tellAll(EndPhase, whyNot, nullptr));
    }
  }
  finish(whyNot);
  return Status::ok();
}

Status CudaMulticast::meetAsGuest(bool can) {
  Control &control = comm.control();
  WireWriter writer;
  writer.write<uint8_t>(can);
  writer.write<uint64_t>(unit);
  COLL_TRY(control.send(0, multicastKind, AbilityPhase, writer.bytes(), {},
                        comm.initDeadline()));
  Message message;
  SharedHandle shared;
  auto take = [&](uint64_t phase, std::string &whyNot) -> Status {
    COLL_TRY(
        control.receive(0, multicastKind, phase, comm.initDeadline(), message));
    WireReader reader(message.bytes);
    whyNot = reader.readString(longestReason);
    bytes = reader.read<uint64_t>();
    unit = reader.read<uint64_t>();
    if (phase == ObjectPhase && whyNot.empty() &&
        !SharedHandle::read(reader, message.fds, shared))
      return malformed(0);
    return reader.finish() ? Status::ok() : malformed(0);
  };
  std::string whyNot;
  COLL_TRY(take(ObjectPhase, whyNot));
  if (whyNot.empty()) {
    if (bytes == 0 || unit == 0 || unit > largestUnit || bytes % unit != 0)
      return malformed(0);
    std::byte isAdded{importObject(shared)};
    COLL_TRY(control.send(0, multicastKind, AddedPhase, {&isAdded, 1}, {},
                          comm.initDeadline()));
    COLL_TRY(take(VerdictPhase, whyNot));
    if (whyNot.empty()) {
      std::byte isMapped{mapObject().empty()};
      COLL_TRY(control.send(0, multicastKind, MappedPhase, {&isMapped, 1}, {},
                            comm.initDeadline()));
      COLL_TRY(take(EndPhase, whyNot));
    }
  }
  finish(whyNot);
  return Status::ok();
}

Status CudaMulticast::meet(bool isEachAlone) {
  if (comm.size() == 1)
    return Status::ok();
  if (!isEachAlone) { // which all ranks know
    comm.info("no multicast: ranks share a device");
    return Status::ok();
  }
  const Driver &driver = device.driver();
  ContextScope scope(driver, device.context());
  COLL_TRY(scope.status());
  if (!driver.hasMulticast())
    comm.info("the CUDA driver has no multicast, which came with CUDA 12.1");
  int has = 0;
  MulticastProp prop = {};
  prop.numDevices = unsigned(comm.size());
  prop.size = 1;
  prop.handleTypes = unsigned(device.handleTypes());
  bool can =
      comm.environment().multicastBytes != 0 && driver.hasMulticast() &&
      driver.deviceGetAttribute(&has, multicast, device.number()) == success &&
      has &&
      driver.multicastGranularity(&unit, &prop, granularityMinimum) ==
          success &&
      unit != 0 && unit <= largestUnit;
  if (!can)
    unit = 0;
  return comm.rank() == 0 ? meetAsRoot(can) : meetAsGuest(can);
}

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

/// The first gap that is large enough, whether or not the driver then binds the
/// memory: other ranks may have bound theirs.
std::optional<uint64_t> CudaMulticast::bind(MemHandle memory, size_t size) {
  if (!isOn() || size % unit != 0 || size == 0)
    return std::nullopt;
  uint64_t at = 0;
  for (auto &[offset, place] : places) {
    if (offset - at >= size)
      break;
    at = offset + place.bytes;
  }
  if (bytes - at < size) {
    comm.info("%zu bytes do not fit the rest of the %zu that multicast reaches",
              size, bytes);
    return std::nullopt;
  }
  Status status = device.driver().check(
      device.driver().multicastBindMem(object, at, memory, 0, size, 0),
      "multicast does not reach %zu bytes", size);
  places[at] = {size, status.isOk()};
  if (!status.isOk())
    comm.info("%s", status.text().c_str());
  return at;
}

void CudaMulticast::unbind(uint64_t offset) noexcept {
  auto found = places.find(offset);
  if (found == places.end())
    return;
  if (found->second.isBound)
    (void)device.driver().multicastUnbind(object, device.number(), offset,
                                          found->second.bytes);
  places.erase(found);
}

} // namespace coll::cuda
