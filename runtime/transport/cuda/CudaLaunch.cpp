//===- CudaLaunch.cpp - From a call to a launch on a device ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/core/Text.h"
#include "runtime/transport/cuda/CudaLane.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <sched.h>

namespace coll::cuda {

/// Tables that a lane keeps for launches whose arguments do not fit their
/// parameters; graphs keep theirs, so many at most.
static constexpr size_t freeTables = 16, mostTables = 4096;

static size_t roundUp(size_t bytes, size_t multiple) {
  return (bytes + multiple - 1) / multiple * multiple;
}

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

/// Makes `memory` have so many bytes.  What it was is kept to the end: giving
/// memory back may wait for all that runs on the device, which may be a rank
/// that waits for this one.  Doubling bounds what is kept.
Status CudaLane::growTo(size_t bytes, DeviceBuffer &memory) {
  if (memory.size() >= bytes)
    return Status::ok();
  DeviceBuffer larger;
  retired.reserve(retired.size() + 1);
  COLL_TRY(DeviceBuffer::create(*device, std::max(bytes, 2 * memory.size()),
                                larger));
  if (memory.size())
    retired.push_back(std::move(memory));
  memory = std::move(larger);
  return Status::ok();
}

/// Memory on the device with this content, which lives until the launch has
/// ended, or as long as the lane when a graph keeps it.
Status CudaLane::tableFor(std::vector<uint64_t> content, bool isCaptured,
                          DevicePtr &address) {
  for (auto &table : launchTables)
    if (table->content == content && (table->isCaptured || !isCaptured)) {
      address = table->memory.address();
      return Status::ok();
    }
  LaunchTable *free = nullptr;
  if (!isCaptured && launchTables.size() >= freeTables) {
    for (size_t i = 0; i != launchTables.size() && !free; ++i) {
      LaunchTable &next = *launchTables[nextTable++ % launchTables.size()];
      free = next.isCaptured ? nullptr : &next;
    }
    if (free) // its launch may not have ended
      COLL_TRY(await(lane.comm().deadline()));
  }
  if (launchTables.size() == mostTables)
    return Status::error(COLL_INVALID,
                         "graphs hold %zu launches of this communicator that "
                         "need tables of their own, and there may be no more",
                         mostTables);
  if (!free) {
    launchTables.push_back(std::make_unique<LaunchTable>());
    free = launchTables.back().get();
  }
  size_t bytes = content.size() * sizeof content[0];
  free->content.clear();
  COLL_TRY(growTo(bytes, free->memory));
  COLL_TRY(device->upload(free->memory.address(), content.data(), bytes));
  free->content = std::move(content);
  free->isCaptured = isCaptured;
  address = free->memory.address();
  return Status::ok();
}

Status CudaLane::fillParameters(const Member &member,
                                const coll_device_kernel &kernel,
                                const Arguments &arguments, bool isCaptured,
                                Parameters &parameters) {
  const coll_args &source = arguments.args();
  auto &args = *reinterpret_cast<coll_args *>(parameters.data());
  size_t headBytes = sizeof(coll_args) + source.nbufs * sizeof(coll_buf);
  size_t sizeBytes = source.nsizes * sizeof(coll_size);
  assert(headBytes <= sizeof parameters && "plans have few buffers");
  std::memcpy(&args, &source, headBytes);
  args.inst = tables.at(&member).instances[arguments.isInPlace()];
  args.flags |= uint32_t(lane.comm().board().entered())
                << COLL_ARGS_LAUNCH_SHIFT;

  // Displacements, and sizes that do not fit, lie in memory of the device.
  std::vector<uint64_t> content;
  std::vector<std::pair<size_t, size_t>> displ; // buffer, place
  const auto *sizes = reinterpret_cast<const void *>(source.sizes);
  if (kernel.param_bytes > headBytes) {
    if (kernel.param_bytes > sizeof parameters ||
        headBytes + sizeBytes > kernel.param_bytes)
      return Status::error(COLL_INVALID,
                           "plan '%s' is malformed: its kernel takes %u bytes",
                           member.plan().plan().name, kernel.param_bytes);
    std::memcpy(reinterpret_cast<std::byte *>(&args) + headBytes, sizes,
                sizeBytes);
    args.sizes = 0;
    sizeBytes = 0;
  }
  content.resize(sizeBytes / sizeof content[0]);
  if (sizeBytes)
    std::memcpy(content.data(), sizes, sizeBytes);
  for (size_t b = 0; b != source.nbufs; ++b)
    if (source.bufs[b].displ) {
      const auto *list = reinterpret_cast<uint64_t *>(source.bufs[b].displ);
      displ.push_back({b, content.size()});
      content.insert(content.end(), list,
                     list + arguments.callBuffers()[b].parts);
    }
  if (content.empty())
    return Status::ok();
  DevicePtr at = 0;
  COLL_TRY(tableFor(std::move(content), isCaptured, at));
  if (sizeBytes)
    args.sizes = at;
  for (auto [buffer, place] : displ)
    args.bufs[buffer].displ = at + place * sizeof(uint64_t);
  return Status::ok();
}

//===----------------------------------------------------------------------===//
// Buffers of the host
//===----------------------------------------------------------------------===//

/// The buffers that the device cannot reach; those that share memory become
/// one piece.
Status CudaLane::findHostBuffers(const Arguments &arguments) {
  const Driver &driver = device->driver();
  staged.clear();
  hostBuffers.clear();
  for (size_t b = 0; b != arguments.args().nbufs; ++b) {
    const CallBuffer &buffer = arguments.callBuffers()[b];
    uint64_t begin = arguments.begin(b), end = arguments.end(b);
    if (!buffer.isPresent || begin == end)
      continue;
    unsigned type = 0;
    // The driver knows nothing of the host's memory: then this is an error.
    if (driver.pointerGetAttribute(&type, pointerMemoryType, begin) ==
            success &&
        type == memoryDevice)
      continue;
    if (checked.isCaptured)
      return Status::error(COLL_INVALID,
                           "buffer '%s' lies in host memory, and a launch that "
                           "is captured takes device memory",
                           buffer.name);
    staged.push_back({begin, end, buffer.kind == COLL_BUF_OUT});
    hostBuffers.push_back(b);
  }
  std::sort(staged.begin(), staged.end(),
            [](const Staged &a, const Staged &b) { return a.begin < b.begin; });
  size_t pieces = 0;
  for (const Staged &next : staged) {
    if (pieces != 0 && next.begin < staged[pieces - 1].end) {
      Staged &piece = staged[pieces - 1];
      piece.end = std::max(piece.end, next.end);
      piece.isWritten |= next.isWritten;
    } else {
      staged[pieces++] = next;
    }
  }
  staged.resize(pieces);
  return Status::ok();
}

/// Gives the pieces places on the device.  A piece keeps its place within 256
/// bytes, so that alignments stay.
Status CudaLane::placeStaged(const Arguments &arguments, coll_args &args) {
  if (staged.empty())
    return Status::ok();
  uint64_t bytes = 0;
  for (Staged &piece : staged) {
    piece.at = bytes + piece.begin % 256;
    bytes = roundUp(piece.at + (piece.end - piece.begin), 256);
  }
  COLL_TRY(await(Deadline::after(UINT64_MAX))); // what uses it now
  COLL_TRY(growTo(bytes, staging));
  for (Staged &piece : staged)
    piece.at += staging.address();
  for (size_t b : hostBuffers)
    for (const Staged &piece : staged)
      if (arguments.begin(b) >= piece.begin && arguments.begin(b) < piece.end)
        args.bufs[b].ptr += piece.at - piece.begin;
  return Status::ok();
}

/// All of a piece goes both ways: what a launch does not write between the
/// parts of a buffer stays as it was.
Status CudaLane::copyStaged(bool toDevice, Stream stream) {
  const Driver &driver = device->driver();
  for (const Staged &piece : staged) {
    size_t bytes = piece.end - piece.begin;
    auto *host = reinterpret_cast<void *>(piece.begin);
    if (toDevice)
      COLL_TRY(driver.check(driver.copyToDevice(piece.at, host, bytes, stream),
                            "cannot copy %zu bytes to device %d", bytes,
                            device->number()));
    else if (piece.isWritten)
      COLL_TRY(driver.check(driver.copyToHost(host, piece.at, bytes, stream),
                            "cannot copy %zu bytes from device %d", bytes,
                            device->number()));
  }
  return Status::ok();
}

//===----------------------------------------------------------------------===//
// Launch
//===----------------------------------------------------------------------===//

Status CudaLane::check(Member &member, const coll_device_kernel &kernel,
                       const Arguments &arguments, coll_stream stream) {
  const Driver &driver = device->driver();
  ContextScope scope(driver, device->context());
  COLL_TRY(scope.status());
  checked = {};
  checked.kernel = &kernel;
  if (member.blocks() == 0)
    return Status::ok();
  COLL_TRY(find(member.plan().plan(), kernel, checked.found));
  COLL_TRY(checkRoom(member, kernel, *checked.found));
  checked.stream = stream ? static_cast<Stream>(stream) : device->stream();
  CaptureStatus status = captureNone;
  uint64_t capture = 0;
  if (stream)
    COLL_TRY(
        driver.check(driver.streamCaptureInfo(checked.stream, &status, &capture,
                                              nullptr, nullptr, nullptr),
                     "cannot use the stream of the launch"));
  if (status == captureBroken)
    return Status::error(COLL_INVALID, "the stream's capture is broken");
  checked.isCaptured = status == captureActive;
  checked.capture = checked.isCaptured ? capture : 0;
  COLL_TRY(findHostBuffers(arguments));
  checked.isSynchronous = !stream || !staged.empty();
  return Status::ok();
}

/// No edge leads into a capture or out of it.
Status CudaLane::orderBehindLast() {
  if (!lastStream || checked.stream == lastStream ||
      checked.capture != lastCapture)
    return Status::ok();
  const Driver &driver = device->driver();
  return driver.check(
      driver.streamWaitEvent(checked.stream,
                             checked.isCaptured ? captureEvent : event, 0),
      "cannot order a launch behind one on another stream");
}

Status CudaLane::startKernel(const Member &member, Parameters &parameters) {
  const auto &args = *reinterpret_cast<const coll_args *>(parameters.data());
  const Driver &driver = device->driver();
  void *list[] = {parameters.data()};
  COLL_TRY(
      driver.check(driver.launchKernel(checked.found->function, member.blocks(),
                                       1, 1, checked.kernel->threads, 1, 1, 0,
                                       checked.stream, list, nullptr),
                   "cannot launch plan '%s' on device %d",
                   member.plan().plan().name, device->number()));
  watch.look(member, args.flags & COLL_ARGS_IN_PLACE, checked.isCaptured);
  Status status = copyStaged(/*toDevice=*/false, checked.stream);
  if (status.isOk())
    status = driver.check(
        driver.eventRecord(checked.isCaptured ? captureEvent : event,
                           checked.stream),
        "cannot mark the end of a launch");
  isQueued |= !checked.isCaptured && status.isOk();
  return status;
}

Status CudaLane::launch(Member &member, const Arguments &arguments) {
  if (member.blocks() == 0)
    return Status::ok();
  ContextScope scope(device->driver(), device->context());
  COLL_TRY(scope.status());
  Status status = queue(member, arguments);
  if (status.isOk() && checked.isSynchronous)
    status = await(Deadline::after(UINT64_MAX));
  if (status.isOk() || checked.isCaptured || doesNotAnswer)
    return status;
  // What has been queued uses memory that must not go before; its blocks leave
  // when the communicator has failed.
  status = lane.comm().endWith(std::move(status));
  device->settle(checked.stream);
  return status;
}

Status CudaLane::queue(Member &member, const Arguments &arguments) {
  alignas(16) Parameters parameters = {};
  COLL_TRY(fillParameters(member, *checked.kernel, arguments,
                          checked.isCaptured, parameters));
  COLL_TRY(placeStaged(arguments,
                       *reinterpret_cast<coll_args *>(parameters.data())));
  COLL_TRY(orderBehindLast());
  COLL_TRY(copyStaged(/*toDevice=*/true, checked.stream));
  auto start = [&] { return startKernel(member, parameters); };
  if (checked.isCaptured)
    COLL_TRY(start());
  else
    COLL_TRY(Account::launch(*account, checked.stream, member.blocks(),
                             checked.found->capacity, start));
  lastStream = checked.stream;
  lastCapture = checked.capture;
  return Status::ok();
}

/// Waits until what is queued has ended.  Kernels keep the deadline of waits
/// themselves, and leave when the communicator has failed.
Status CudaLane::await(Deadline deadline) {
  constexpr uint64_t yieldNs = 2'000'000, leaveNs = 20'000'000'000;
  if (!isQueued)
    return Status::ok();
  const Driver &driver = device->driver();
  Communicator &comm = lane.comm();
  uint64_t start = monotonicNs(), abortedAt = 0;
  while (true) {
    Result result = driver.eventQuery(event);
    if (result == success)
      break;
    if (result != notReady)
      return driver.check(result, "a launch on device %d has failed",
                          device->number());
    uint64_t now = monotonicNs();
    if (comm.isAborted() && !abortedAt)
      abortedAt = now;
    if (abortedAt && now - abortedAt > leaveNs) {
      doesNotAnswer = true;
      return comm.status();
    }
    if (deadline.hasPassed())
      return Status::error(COLL_TIMEOUT,
                           "launches on device %d have not ended\n%s",
                           device->number(), comm.hangReport().c_str());
    if (now - start < yieldNs) {
      sched_yield();
      continue;
    }
    timespec pause = {0, 50'000};
    nanosleep(&pause, nullptr);
  }
  isQueued = false;
  watch.rest();
  if (comm.isAborted())
    return comm.status();
  // The watching thread may not have looked yet.
  const coll_block *lines = comm.board().blocks();
  for (uint32_t b = 0; b != kMaxBlocks; ++b)
    if (__atomic_load_n(&lines[b].result, __ATOMIC_ACQUIRE) != 0)
      return watch.reason(b);
  comm.board().leaveLaunch();
  return Status::ok();
}

/// After a failure kernels may still be leaving; what they use goes behind
/// them.
void CudaLane::close() noexcept {
  constexpr uint64_t leaveNs = 20'000'000'000;
  constexpr unsigned mostErrors = 3; // then the device itself has failed
  watch.stop();
  ContextScope scope(device->driver(), device->context());
  uint64_t start = monotonicNs();
  for (unsigned errors = 0; isQueued && errors != mostErrors;) {
    Result result = device->driver().eventQuery(event);
    isQueued = result != success;
    errors += result != success && result != notReady;
    if (monotonicNs() - start > leaveNs)
      return;
    sched_yield();
  }
}

void CudaLane::noteFinished() {
  if (!isQueued)
    return;
  ContextScope scope(device->driver(), device->context());
  if (device->driver().eventQuery(event) != success)
    return;
  isQueued = false;
  lane.comm().board().leaveLaunch();
}

Status CudaLane::drain(Deadline deadline) {
  ContextScope scope(device->driver(), device->context());
  COLL_TRY(scope.status());
  return await(deadline);
}

} // namespace coll::cuda
