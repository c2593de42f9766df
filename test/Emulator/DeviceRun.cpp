//===- DeviceRun.cpp - A plan on the emulator, with a host beside it ------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The host looks at the blocks' lines while they run, as the runtime's monitor
// does, and sets the abort word when a block has left with a reason, or when it
// is told to. Where a rank stops all others wait in the end: then it also
// checks that blocks show where they wait.
//
//===----------------------------------------------------------------------===//

#include "DeviceRun.h"
#include "Application.h"

#include <cstring>
#include <sys/mman.h>

namespace coll::emu {

namespace {
class DeviceMemory : public PlanMemory {
public:
  explicit DeviceMemory(Machine &machine) : machine(machine) {}
  void *alloc(uint32_t rank, size_t bytes, bool isWritten) override {
    void *made = machine.alloc(rank == ~0u ? kHost : int(rank),
                               std::max<size_t>(bytes, 1));
    if (isWritten)
      machine.hostWrote(made, bytes);
    return made;
  }
  void wrote(void *address, size_t bytes) override {
    machine.hostWrote(address, bytes);
  }
  void holdsPackets(void *address) override { machine.holdsPackets(address); }
  void *multicast(const std::vector<void *> &members, size_t bytes) override {
    // Addresses that nothing else may be loaded from.
    void *made =
        mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mapped.emplace_back(made, bytes);
    bool isGood = made != MAP_FAILED && machine.addMulticast(made, bytes);
    for (void *member : members)
      isGood = isGood && machine.addMember(made, member, 0, bytes);
    return isGood ? made : nullptr;
  }
  ~DeviceMemory() override {
    for (auto [address, bytes] : mapped)
      munmap(address, bytes);
  }

private:
  Machine &machine;
  std::vector<std::pair<void *, size_t>> mapped;
};
} // namespace

DeviceRun::DeviceRun(const PlanCall &call, Options options)
    : machine(call.ranks, watched(options)), call(call),
      kernels(chooseDeviceKernels(call)), seed(options.seed) {}

Options DeviceRun::watched(Options options) {
  options.whileRunning = [this](uint64_t steps) { return look(steps); };
  options.onIdle = [this] { return onIdle(); };
  return options;
}

void DeviceRun::abort() {
  isAborted = true;
  if (call.trouble != Trouble::Gone)
    machine.stall(kHost);
  machine.hostStores(layout.abortWord, 1, 4);
}

bool DeviceRun::hasResult() {
  bool found = false;
  for (uint32_t rank = 0; rank < call.ranks; ++rank)
    for (uint32_t b = 0; b < layout.ranks[rank].inst->nblocks; ++b) {
      coll_block &line = lines(rank)[b];
      for (uint64_t *word : {&line.progress, &line.launch, &line.wait_since,
                             &line.want, &line.have, &line.runs})
        machine.hostLoads(word, 8);
      found |= machine.hostLoads(&line.result, 4) != 0;
    }
  return found;
}

uint64_t DeviceRun::look(uint64_t steps) {
  // Where waits have an end, all that wait for the same must come to it.
  if (isReady && !isAborted && hasResult() && call.trouble != Trouble::Deadline)
    abort();
  if (steps >= stopAt) {
    machine.stall(int(stopped));
    stopAt = ~uint64_t(0);
  }
  return std::min(kLook, stopAt - steps);
}

bool DeviceRun::onIdle() {
  if (isAborted)
    return false;
  if (hasResult() && call.trouble != Trouble::Deadline) {
    abort();
    return true;
  }
  if (isToAbort()) {
    seen = checkPositions();
    abort();
    return true;
  }
  if (call.trouble != Trouble::Deadline)
    return false;
  if (areOthersDone()) {
    machine.stall(kHost); // it goes on, late
    return true;
  }
  isMissed = true;
  return ++idleCalls < 8;
}

/// Whether all but the rank that has stopped have ended their launch or left:
/// then nobody waits for it, and nobody's deadline passes any more.
bool DeviceRun::areOthersDone() const {
  for (uint32_t rank = 0; rank < call.ranks; ++rank) {
    const coll_inst &inst = *layout.ranks[rank].inst;
    auto *signals = reinterpret_cast<coll_device_signal *>(inst.signals);
    for (uint32_t b = 0; b < inst.nblocks; ++b)
      if (rank != stopped && signals[b].entered && !lines(rank)[b].result)
        return false;
  }
  return true;
}

void DeviceRun::launchAll(unsigned launch) {
  begun = launch + 1;
  bool isLast = launch + 1 == call.launches;
  if (isLast && stops()) {
    uint64_t before = machine.steps(); // of the launches before this one
    // Every third seed before it has done anything: then its peers lack room.
    uint64_t most = call.isBackToBack ? call.stopWithin : before;
    stopAt =
        before + (seed % 3 ? seed * 7919 % std::max<uint64_t>(most, 1) : 0);
    stopped = uint32_t(seed * 2654435761u >> 16) % call.ranks;
  }
  bool isBeside =
      call.trouble == Trouble::Late || call.trouble == Trouble::Overlap;
  for (uint32_t rank = 0; rank < call.ranks && error.empty(); ++rank) {
    const coll_inst &inst = *layout.ranks[rank].inst;
    if (!inst.nblocks)
      continue;
    const coll_device_kernel &kernel =
        kernels.of(layout.ranks[rank].arguments->args());
    std::vector<char> args = layout.arguments(rank, kernel.param_bytes);
    signature = reinterpret_cast<coll_args *>(args.data())->sig;
    if (call.trouble == Trouble::Mismatch && isLast && rank == 0)
      reinterpret_cast<coll_args *>(args.data())->sig ^= 1;
    if (call.trouble == Trouble::Window && isLast && rank == 0)
      hideWindows(*reinterpret_cast<coll_args *>(args.data()));
    launched.insert(kernel.symbol);
    void *params[] = {args.data()};
    uint64_t stream = rank + (isBeside ? launch * uint64_t(call.ranks) : 0);
    LaunchId id = machine.launch(int(rank), stream, module, kernel.symbol,
                                 {inst.nblocks, 1, 1}, {kernel.threads, 1, 1},
                                 params, 0, error);
    if (call.trouble == Trouble::Late && launch)
      machine.beginsLate(id, last[rank]);
    last[rank] = id;
  }
}

/// Buffers lie in a window of a number that peers have no entry for. They say
/// so where messages may go direct, which launches before have counted.
void DeviceRun::hideWindows(coll_args &args) {
  bool isDirect = false;
  for (const auto *ends : {&layout.ranks[0].sends, &layout.ranks[0].receives})
    for (auto &[id, end] : *ends)
      isDirect |= reinterpret_cast<const coll_seq *>(end->seq)->launches != 0;
  for (uint32_t buffer = 0; buffer < args.nbufs; ++buffer)
    if (uint64_t &win = args.bufs[buffer].win; win) {
      win = (COLL_MAX_WINDOWS - seed % 2) << 48; // or none that there can be
      hidesWindows = isDirect;
    }
}

/// The application does so behind a launch, on the ranks' streams.
void DeviceRun::useBuffers() {
  for (uint32_t number = 0; number < call.ranks; ++number) {
    const PlanRank &rank = layout.ranks[number];
    auto use = [&](void *buffer, size_t bytes, uint8_t growth) {
      void *params[] = {&buffer, &bytes, &growth};
      if (buffer && error.empty())
        machine.launch(int(number), number, application, "application", {}, {},
                       params, 0, error);
    };
    for (size_t i = 0; i < rank.in.size(); ++i)
      use(rank.in[i], rank.inBytes[i], call.period ? 1 : 0);
    for (size_t i = 0; i < rank.out.size(); ++i)
      use(rank.out[i], rank.outBytes[i], 0);
  }
}

/// Where nothing but tokens travel, applications rely on the launch to order
/// what they do in each other's memory: each writes a note before it and reads
/// all behind it.
void DeviceRun::shareNotes(unsigned launch, bool isBehind) {
  bool hasPayload = !call.isBackToBack || call.trouble != Trouble::None;
  for (const PlanRank &rank : layout.ranks)
    for (size_t bytes : rank.outBytes)
      hasPayload |= bytes != 0;
  if (hasPayload)
    return;
  constexpr size_t stride = 64;
  for (uint32_t rank = 0; rank < call.ranks && notes.size() < call.ranks;
       ++rank) {
    notes.push_back(static_cast<char *>(machine.alloc(int(rank), 2 * stride)));
    machine.hostWrote(notes.back(), 2 * stride);
  }
  for (uint32_t rank = 0; rank < call.ranks; ++rank)
    for (uint32_t other = 0; other < call.ranks && error.empty(); ++other) {
      void *note = notes[other] + launch % 2 * stride;
      uint64_t bytes = 4;
      uint8_t growth = 0;
      void *params[] = {&note, &bytes, &growth};
      if (isBehind || other == rank)
        machine.launch(int(rank), rank, application,
                       isBehind ? "read" : "application", {}, {}, params, 0,
                       error);
    }
}

static std::string difference(const std::string &have,
                              const std::string &want) {
  if (have == want)
    return "";
  size_t at = 0;
  while (at < have.size() && at < want.size() && have[at] == want[at])
    ++at;
  return "wrong output: byte " + std::to_string(at) + " of " +
         std::to_string(want.size()) + " differs from the host's";
}

std::string DeviceRun::go(const std::string &code,
                          const std::vector<std::string> &expected) {
  module = machine.load(code, error);
  application = machine.load(applicationCode, error);
  if (!module || !application)
    return error;
  DeviceMemory memory(machine);
  error = layout.build(call, memory, true);
  isReady = error.empty();
  last.resize(call.ranks);
  for (unsigned launch = 0; launch < call.launches && error.empty(); ++launch) {
    if (!call.isBackToBack || launch == 0)
      layout.fillInputs(launch);
    error = layout.fillArguments(launch);
    if (error.empty()) {
      doesAll &= layout.doesAll();
      shareNotes(launch, false);
      launchAll(launch);
      shareNotes(launch, true);
    }
    if (error.empty() && call.isBackToBack && launch + 1 < call.launches) {
      if (call.trouble == Trouble::None)
        useBuffers();
      continue;
    }
    if (!error.empty())
      break;
    const bool isOneGone = stopped < call.ranks && isGone(stopped);
    std::vector<LaunchId> awaited; // empty: all
    for (uint32_t rank = 0; isOneGone && rank < call.ranks; ++rank)
      if (rank != stopped && last[rank])
        awaited.push_back(last[rank]);
    if (machine.run(awaited) == RunResult::Failed)
      return machine.reportText();
    isAborted |= isOneGone; // what it was to do is open
    if (!seen.empty())
      return seen;
    // Also where a wait took long before its time.
    if (isAborted || hasResult()) {
      error = call.isBackToBack
                  ? ""
                  : checkOutputs(launch ? expected[launch - 1]
                                        : std::string(expected[0].size(), 0),
                                 expected[launch]);
      break;
    }
    bool isFirst = call.isBackToBack && !call.isInPlace;
    std::string wanted = expected[isFirst ? 0 : launch];
    for (char &byte : wanted)
      byte = char(byte + (isFirst && call.period ? launch : 0));
    if (call.trouble == Trouble::None || call.trouble == Trouble::Late)
      error = difference(layout.outputs(), wanted);
  }
  return error.empty() ? checkEnd() : error;
}

std::string runOnDevices(const PlanCall &call, const std::string &code,
                         const Options &options,
                         const std::vector<std::string> &expected,
                         RunCounts *counts) {
  if (!chooseDeviceKernels(call).slots)
    return "the plan has no device kernel for this dtype and op";
  DeviceRun run(call, options);
  std::string error = run.go(code, expected);
  if (counts) {
    run.count(*counts);
    counts->steps += run.machine.steps();
    counts->multicasts += run.machine.multicasts();
    counts->reached += run.machine.reached();
    counts->marks = run.machine.marks();
    counts->kernels = run.launched;
  }
  return error;
}

} // namespace coll::emu
