//===- CudaLane.cpp - The launches of a lane on a device ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/transport/cuda/CudaLane.h"
#include "runtime/core/Text.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <sched.h>
#include <set>

namespace coll::cuda {

/// Polls of a word before a device's wait sleeps and looks around.
static constexpr uint32_t devicePolls = 4096;
static constexpr size_t lineBytes = 64;

static size_t roundUp(size_t bytes, size_t multiple) {
  return (bytes + multiple - 1) / multiple * multiple;
}

//===----------------------------------------------------------------------===//
// The lane
//===----------------------------------------------------------------------===//

Status CudaLane::create(Lane &lane, std::unique_ptr<DeviceLane> &result) {
  Communicator &comm = lane.comm();
  std::unique_ptr<CudaLane> made(new CudaLane(lane));
  COLL_TRY(
      CudaDevice::open(*comm.environment().device, comm.rank(), made->device));
  const CudaDevice &device = *made->device;
  const Driver &driver = device.driver();
  ContextScope scope(driver, device.context());
  COLL_TRY(scope.status());
  COLL_TRY(RegisteredMemory::create(device, comm.board().abortMemory(),
                                    made->abortWord));
  COLL_TRY(RegisteredMemory::create(device, comm.board().bodyMemory(),
                                    made->blocks));
  for (Event *event : {&made->event, &made->captureEvent})
    COLL_TRY(driver.check(driver.eventCreate(event, eventNoTiming),
                          "cannot make an event on device %d",
                          device.number()));
  made->memory = std::make_unique<CudaWindows>(comm, device);
  COLL_TRY(made->memory->create());
  made->account =
      std::make_unique<Account::Entry>(device, comm.id(), made->event);
  COLL_TRY(made->watch.start());
  comm.info("device %d: %s, sm_%d, %d processors", device.number(),
            device.name().c_str(), device.chip(), device.processors());
  comm.info("memory of device %d is shared by %s", device.number(),
            device.hasFabric() ? "fabric handles and descriptors"
                               : "descriptors");
  result = std::move(made);
  return Status::ok();
}

CudaLane::~CudaLane() {
  watch.stop();
  if (!device)
    return;
  account.reset();
  const Driver &driver = device->driver();
  ContextScope scope(driver, device->context());
  for (auto &[plan, loaded] : plans)
    if (loaded.module)
      (void)driver.moduleUnload(loaded.module);
  for (Event made : {event, captureEvent})
    if (made)
      (void)driver.eventDestroy(made);
}

/// Peers say where they run while they make their communicators; one may have
/// returned from init before.
Status CudaLane::markOf(int peer, DeviceMark &mark) const {
  Communicator &comm = lane.comm();
  Deadline deadline = comm.initDeadline();
  while ((mark = comm.board(peer).deviceMark()).kind == DeviceMark::Unknown) {
    if (comm.isAborted())
      return comm.status();
    if (deadline.hasPassed())
      return Status::error(COLL_TIMEOUT, "rank %d has not said where it runs",
                           peer)
          .withPeer(peer);
    sched_yield();
  }
  return Status::ok();
}

/// Multicast takes each device once.
Status CudaLane::meet() {
  Communicator &comm = lane.comm();
  std::set<std::string> devices;
  for (int peer = 0; peer != comm.size(); ++peer) {
    DeviceMark mark;
    COLL_TRY(markOf(peer, mark));
    if (mark.kind == DeviceMark::Cuda)
      devices.insert(std::string(mark.uuid, sizeof mark.uuid));
  }
  COLL_TRY(meetForLines());
  return memory->meet(devices.size() == size_t(comm.size()));
}

/// Every rank says whether its device and links are known to keep a warp's 128
/// bytes in order, and there are lines if all do.
Status CudaLane::meetForLines() {
  Communicator &comm = lane.comm();
  const std::optional<bool> &wanted = comm.environment().lines;
  std::string whyNot = wanted.value_or(true) ? "" : "COLL_LL128=0";
  for (int peer = 0; !wanted && peer != comm.size() && whyNot.empty(); ++peer) {
    DeviceMark mark;
    COLL_TRY(markOf(peer, mark));
    if (std::string lacks = device->lacksLinesTo(mark); !lacks.empty())
      whyNot = format("between ranks %d and %d: %s", comm.rank(), peer,
                      lacks.c_str());
  }
  comm.board().publishLines(whyNot.empty());
  Deadline deadline = comm.initDeadline();
  for (int peer = 0; peer != comm.size(); ++peer) {
    DeviceMark mark;
    COLL_TRY(markOf(peer, mark));
    if (mark.kind != DeviceMark::Cuda) { // it will not say anything
      whyNot = format("rank %d runs on the host", peer);
      continue;
    }
    while (comm.board(peer).lines() == Board::Lines::None) {
      if (comm.isAborted())
        return comm.status();
      if (deadline.hasPassed())
        return Status::error(COLL_TIMEOUT,
                             "rank %d has not said whether it takes lines",
                             peer)
            .withPeer(peer);
      sched_yield();
    }
    if (whyNot.empty() && comm.board(peer).lines() == Board::Lines::No)
      whyNot = format("not on rank %d", peer);
  }
  linesAllowed = whyNot.empty();
  comm.info(linesAllowed ? "messages of lines (LL128) are allowed%s"
                         : "no messages of lines (LL128): %s",
            linesAllowed ? wanted ? " (COLL_LL128=1)" : "" : whyNot.c_str());
  return Status::ok();
}

std::unique_ptr<Transport> CudaLane::createTransport() {
  Communicator &comm = lane.comm();
  auto markOf = [this](int peer, DeviceMark &mark) {
    return this->markOf(peer, mark);
  };
  auto made = std::make_unique<CudaTransport>(*device, comm.rings(), markOf);
  transport = made.get();
  return made;
}

Status CudaLane::countMessages(MessageCounts &counts) {
  ContextScope scope(device->driver(), device->context());
  COLL_TRY(scope.status());
  return transport->countMessages(counts);
}

//===----------------------------------------------------------------------===//
// Loading
//===----------------------------------------------------------------------===//

/// The images that may serve the device, best first: its own cubin, those of
/// its major number, PTX that is old enough, newest first.  Then what no driver
/// but a stand-in takes.
static std::vector<const coll_image *> imagesFor(const coll_plan &plan,
                                                 uint32_t chip) {
  auto rank = [&](const coll_image &image) -> uint32_t {
    if (image.kind == COLL_IMAGE_BITCODE)
      return 1;
    if (image.chip > chip)
      return 0;
    if (image.kind == COLL_IMAGE_CUBIN)
      return image.chip / 10 == chip / 10 ? 2000 + image.chip : 0;
    return image.kind == COLL_IMAGE_PTX ? 1000 + image.chip : 0;
  };
  std::vector<const coll_image *> images;
  for (const coll_image &image : std::span(plan.images, plan.nimages))
    if (rank(image) != 0)
      images.push_back(&image);
  std::sort(images.begin(), images.end(),
            [&](const coll_image *a, const coll_image *b) {
              return rank(*a) > rank(*b);
            });
  return images;
}

static std::string chipsOf(const coll_plan &plan) {
  std::set<uint32_t> chips;
  for (const coll_image &image : std::span(plan.images, plan.nimages))
    chips.insert(image.chip);
  std::string text;
  for (uint32_t chip : chips)
    text += format("%ssm_%u", text.empty() ? "" : ", ", chip);
  return text;
}

/// The driver has no use for this form of the code; another may do.
static bool isOtherForm(Result result) {
  return result == invalidImage || result == noBinaryForGpu ||
         result == invalidPtx || result == jitCompilerNotFound ||
         result == unsupportedPtxVersion;
}

Status CudaLane::loadModule(const coll_plan &plan, LoadedPlan &loaded) {
  const Driver &driver = device->driver();
  Result first = success;
  for (const coll_image *image : imagesFor(plan, uint32_t(device->chip()))) {
    Result result = driver.moduleLoadData(&loaded.module, image->data);
    if (result == success)
      return Status::ok();
    loaded.module = nullptr;
    if (first == success || !isOtherForm(result))
      first = result;
    if (!isOtherForm(result))
      break;
  }
  if (first == success)
    return Status::error(
        COLL_INVALID,
        "plan '%s' has no code for device %d (%s, sm_%d), but for %s: compile "
        "with --target=cuda:sm_%d",
        plan.name, device->number(), device->name().c_str(), device->chip(),
        chipsOf(plan).c_str(), device->chip());
  return driver.check(first,
                      "device %d (%s, sm_%d) does not take the code of "
                      "plan '%s'",
                      device->number(), device->name().c_str(), device->chip(),
                      plan.name);
}

Status CudaLane::find(const coll_plan &plan, const coll_device_kernel &kernel,
                      Kernel *&result) {
  const Driver &driver = device->driver();
  LoadedPlan &loaded = plans[&plan];
  if (!loaded.module)
    COLL_TRY(loadModule(plan, loaded));
  Kernel &found = loaded.kernels[&kernel];
  if (!found.function) {
    Function function = nullptr;
    int perProcessor = 0;
    COLL_TRY(driver.check(
        driver.moduleGetFunction(&function, loaded.module, kernel.symbol),
        "the code of plan '%s' has no kernel %s", plan.name, kernel.symbol));
    COLL_TRY(driver.check(
        driver.occupancy(&perProcessor, function, kernel.threads, 0),
        "cannot tell how many blocks of plan '%s' device %d runs at a time",
        plan.name, device->number()));
    found.capacity = uint32_t(perProcessor) * uint32_t(device->processors());
    found.function = function;
  }
  result = &found;
  return Status::ok();
}

/// Ranks of the communicator that share the device run at the same time.
Status CudaLane::checkRoom(const Member &member,
                           const coll_device_kernel &kernel,
                           const Kernel &found) {
  Communicator &comm = lane.comm();
  uint32_t ranks = 1;
  for (int peer = 0; peer != comm.size(); ++peer) {
    DeviceMark mark;
    if (peer == comm.rank())
      continue;
    COLL_TRY(markOf(peer, mark));
    ranks += mark == device->mark();
  }
  uint64_t blocks = uint64_t(member.blocks()) * ranks;
  if (blocks <= found.capacity)
    return Status::ok();
  return Status::error(
      COLL_INVALID,
      "plan '%s' has %u blocks of %u threads on each of %u ranks on device %d, "
      "which runs %u at a time (%u on each of %d processors)",
      member.plan().plan().name, member.blocks(), kernel.threads, ranks,
      device->number(), found.capacity,
      found.capacity / uint32_t(device->processors()), device->processors());
}

/// Members share scratch, since their launches come one after another.  What
/// was handed out before is kept until the end.
Status CudaLane::scratchFor(uint64_t bytes, DevicePtr &address) {
  if (bytes && (scratches.empty() || scratches.back().size() < bytes)) {
    DeviceBuffer larger;
    COLL_TRY(DeviceBuffer::create(*device, bytes, larger));
    scratches.push_back(std::move(larger));
  }
  address = bytes ? scratches.back().address() : 0;
  return Status::ok();
}

Status CudaLane::load(Member &member) {
  ContextScope scope(device->driver(), device->context());
  COLL_TRY(scope.status());
  Communicator &comm = lane.comm();
  size_t signals = sizeof(coll_device_signal) * std::max(member.blocks(), 1u);
  size_t wordsAt = 2 * sizeof(coll_inst) + sizeof(coll_comm_dev) + 2 * signals;
  size_t wordBytes = roundUp(member.words().size_bytes(), lineBytes);
  size_t endsAt = wordsAt + wordBytes;
  size_t bytes = endsAt + member.channelEnds().size_bytes() + lineBytes;

  Tables made;
  COLL_TRY(DeviceBuffer::create(*device, bytes, made.memory));
  DevicePtr base = made.memory.address();
  DevicePtr devAt = base + 2 * sizeof(coll_inst);
  made.ends = base + endsAt;
  std::vector<std::byte> image(endsAt);

  coll_comm_dev dev = {};
  dev.abort = abortWord.address();
  dev.spin_limit = comm.environment().spin.value_or(devicePolls);
  dev.deadline_ns = comm.deadlineNs();
  std::memcpy(&image[2 * sizeof(coll_inst)], &dev, sizeof dev);
  std::memcpy(&image[wordsAt], member.words().data(),
              member.words().size_bytes());
  auto *own = reinterpret_cast<std::byte *>(comm.board().blocks());
  for (bool inPlace : {false, true}) {
    coll_inst inst = member.instance(inPlace);
    inst.comm = devAt;
    inst.send_ends = made.ends;
    inst.recv_ends =
        made.ends + sizeof(coll_end) * uint64_t(inst.nsend) * inst.ninstances;
    inst.blocks =
        blocks.address() + uint64_t(own - comm.board().bodyMemory().data());
    inst.consts = base + wordsAt;
    inst.wins = memory->table();
    inst.multicast = memory->multicastArena();
    inst.steps = inst.consts + 4 * member.rankClass().entry[inPlace];
    inst.signals = devAt + sizeof dev + inPlace * signals;
    DevicePtr scratch = 0;
    COLL_TRY(scratchFor(member.scratchBytes(inPlace), scratch));
    inst.scratch = scratch;
    std::memcpy(&image[inPlace * sizeof inst], &inst, sizeof inst);
    made.instances[inPlace] = base + inPlace * sizeof inst;
  }
  COLL_TRY(device->upload(base, image.data(), image.size()));
  tables[&member] = std::move(made);
  return Status::ok();
}

/// Loads the kernel, so that nothing is loaded or allocated while ranks that
/// share the device wait for each other in a launch.
Status CudaLane::prepare(Member &member, const coll_device_kernel &kernel) {
  ContextScope scope(device->driver(), device->context());
  COLL_TRY(scope.status());
  if (member.blocks() == 0)
    return Status::ok();
  Kernel *found = nullptr;
  COLL_TRY(find(member.plan().plan(), kernel, found));
  return checkRoom(member, kernel, *found);
}

void CudaLane::forget(const Member &member) noexcept { tables.erase(&member); }

Status CudaLane::connect(Member &member) {
  std::span<const coll_end> ends = member.channelEnds();
  if (ends.empty())
    return Status::ok();
  ContextScope scope(device->driver(), device->context());
  COLL_TRY(scope.status());
  return device->upload(tables.at(&member).ends, ends.data(),
                        ends.size_bytes());
}

} // namespace coll::cuda
