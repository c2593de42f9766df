//===- DeviceRun.cpp - A plan on the emulator, with a host beside it ------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The host looks at the blocks' lines while they run, as the runtime's monitor
// does, and sets the abort word when a block has left with a reason, or when it
// is told to. Where a rank stops all others wait in the end: then it also
// checks that blocks show where they wait.
//
//===----------------------------------------------------------------------===//

#include "PlanRun.h"

#include <cstring>
#include <sys/mman.h>

namespace coll::emu {

/// What an application does with its buffers behind a launch: reads results and
/// writes inputs. Bytes stay what they are.
static const char *const applicationCode = R"(
target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @application(ptr addrspace(1) %buffer, i64 %bytes) {
  br label %head
head:
  %at = phi i64 [ 0, %0 ], [ %next, %body ]
  %some = icmp ult i64 %at, %bytes
  br i1 %some, label %body, label %done
body:
  %address = getelementptr i8, ptr addrspace(1) %buffer, i64 %at
  %value = load i8, ptr addrspace(1) %address
  store i8 %value, ptr addrspace(1) %address
  %next = add i64 %at, 1
  br label %head
done:
  ret void
}
define ptx_kernel void @read(ptr addrspace(1) %word) {
  %value = load i32, ptr addrspace(1) %word
  ret void
}
)";

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

class DeviceRun {
public:
  DeviceRun(const PlanCall &call, Options options);
  std::string go(const std::string &code,
                 const std::vector<std::string> &expected);
  void count(RunCounts &counts) const { layout.countMessages(counts); }
  Machine machine;

private:
  /// How often the host looks, in steps.
  static constexpr uint64_t kLook = 512;

  Options watched(Options options);
  void launchAll(unsigned launch);
  void useBuffers();
  void shareNotes(unsigned launch, bool isBehind);
  void abort();
  uint64_t look(uint64_t steps);
  bool onIdle();
  bool areOthersDone() const;
  bool hasResult();
  std::string checkPositions();
  bool tellsSignatures(uint32_t rank, const coll_block &line) const;
  std::string checkEnd();
  std::string checkChannels();
  std::string checkOutputs(const std::string &before,
                           const std::string &after) const;
  coll_block *lines(uint32_t rank) const {
    return reinterpret_cast<coll_block *>(layout.ranks[rank].inst->blocks);
  }
  bool stops() const {
    return call.trouble == Trouble::Abort || call.trouble == Trouble::Deadline;
  }

  const PlanCall &call;
  const DeviceKernels kernels;
  const Module *module = nullptr, *application = nullptr;
  PlanLayout layout;
  std::vector<LaunchId> last; // by rank
  std::vector<char *> notes;  // by rank
  std::string error, seen;    // seen: what the host found wrong meanwhile
  uint64_t seed, stopAt = ~uint64_t(0);
  uint32_t stopped = ~0u;            // a rank
  uint32_t signature = 0;            // of rank 1, in the last launch
  unsigned idleCalls = 0, begun = 0; // begun: launches
  bool isAborted = false, isReady = false;
  bool isMissed = false; // the rank that stops, by others
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
  machine.stall(kHost);
  machine.hostStores(layout.abortWord, 1, 4);
}

bool DeviceRun::hasResult() {
  bool found = false;
  for (uint32_t rank = 0; rank < call.ranks; ++rank)
    for (uint32_t b = 0; b < layout.ranks[rank].inst->nblocks; ++b) {
      coll_block &line = lines(rank)[b];
      for (uint64_t *word :
           {&line.progress, &line.wait_since, &line.want, &line.have})
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
    stopped = uint32_t(seed * 2654435761u >> 16) % call.ranks;
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
  if (call.trouble == Trouble::Abort) {
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

/// Every block that is still in its launch waits now: it must say so.
std::string DeviceRun::checkPositions() {
  for (uint32_t rank = 0; rank < call.ranks; ++rank) {
    const coll_inst &inst = *layout.ranks[rank].inst;
    auto *signals = reinterpret_cast<coll_device_signal *>(inst.signals);
    if (rank == stopped)
      continue;
    for (uint32_t b = 0; b < inst.nblocks; ++b) {
      if (!signals[b].entered)
        continue;
      const coll_block &line = lines(rank)[b];
      uint64_t state = line.progress >> 60;
      bool isChannel =
          state == COLL_STATE_WAIT_DATA || state == COLL_STATE_WAIT_CREDIT;
      std::string where = ", block " + std::to_string(b) + " of rank " +
                          std::to_string(rank) + " that waits";
      if (!isChannel && state != COLL_STATE_WAIT_BLOCK)
        return "wrong position: state " + std::to_string(state) + where;
      // Channels have been used before, so their counts are not 0; a small slot
      // may be new. Packets have a sequence number in the high bits.
      bool mayBeNew = call.isSmall && line.want >> 16 <= call.rings.smallSlots;
      if (!line.wait_since || !line.want || (!line.have && !mayBeNew))
        return "wrong position: a word is 0" + where;
    }
  }
  return "";
}

void DeviceRun::launchAll(unsigned launch) {
  begun = launch + 1;
  bool isLast = launch + 1 == call.launches;
  if (isLast && stops()) {
    uint64_t before = machine.steps(); // of the launches before this one
    // Every third seed before it has done anything: then its peers lack room.
    stopAt =
        before + (seed % 3 ? seed * 7919 % std::max<uint64_t>(before, 1) : 0);
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

/// The application does so behind a launch, on the ranks' streams.
void DeviceRun::useBuffers() {
  for (uint32_t number = 0; number < call.ranks; ++number) {
    const PlanRank &rank = layout.ranks[number];
    auto use = [&](void *buffer, size_t bytes) {
      void *params[] = {&buffer, &bytes};
      if (buffer && error.empty())
        machine.launch(int(number), number, application, "application", {}, {},
                       params, 0, error);
    };
    for (size_t i = 0; i < rank.in.size(); ++i)
      use(rank.in[i], rank.inBytes[i]);
    for (size_t i = 0; i < rank.out.size(); ++i)
      use(rank.out[i], rank.outBytes[i]);
  }
}

/// Whether a block that has met another signature says which, and whose: rank
/// 0's is not that of all others, which differs in the last bit.
bool DeviceRun::tellsSignatures(uint32_t rank, const coll_block &line) const {
  uint64_t want = line.want, have = line.have, mask = 0xffffffff;
  uint64_t peer = line.progress & 0xffff;
  if (call.isSmall && kernels.packets) // of packets
    mask = 0xffff;
  if (line.progress >> 60 != COLL_STATE_IDLE)
    return false;
  uint64_t own = (rank == 0 ? signature ^ 1 : signature) & mask;
  return want == own && have == (own ^ 1) && peer < call.ranks &&
         (rank == 0) != (peer == 0);
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
      void *params[] = {&note, &bytes};
      if (isBehind || other == rank)
        machine.launch(int(rank), rank, application,
                       isBehind ? "read" : "application", {}, {}, params, 0,
                       error);
    }
}

/// What blocks have told the host when all is over.
std::string DeviceRun::checkEnd() {
  // All may be over before the host has looked.
  isAborted |= hasResult() && call.trouble != Trouble::Deadline;
  static const std::map<Trouble, uint32_t> results = {
      {Trouble::Overlap, COLL_OVERLAP},
      {Trouble::Deadline, COLL_TIMEOUT},
      {Trouble::Mismatch, COLL_MISMATCH}};
  auto allowed = results.find(call.trouble);
  bool isFound = false;
  for (uint32_t rank = 0; rank < call.ranks; ++rank)
    for (uint32_t b = 0; b < layout.ranks[rank].inst->nblocks; ++b) {
      const coll_block &line = lines(rank)[b];
      std::string where =
          " of block " + std::to_string(b) + " of rank " + std::to_string(rank);
      uint64_t state = line.progress >> 60;
      const auto &signal = reinterpret_cast<const coll_device_signal *>(
          layout.ranks[rank].inst->signals)[b];
      if (!isAborted && signal.launches + (line.result != 0) < begun)
        return "wrong result: a launch left without a word" + where;
      bool isWaiting =
          state >= COLL_STATE_WAIT_DATA && state <= COLL_STATE_WAIT_BLOCK;
      if (!isAborted && !line.result && isWaiting)
        return "wrong position: still waits" + where;
      if (!line.result)
        continue;
      if (line.result == COLL_TIMEOUT && !isWaiting)
        return "wrong position: state " + std::to_string(state) + where;
      if (allowed == results.end() || line.result != allowed->second)
        return "wrong result " + std::to_string(line.result) + where;
      isFound = true;
      if (line.result == COLL_MISMATCH && !tellsSignatures(rank, line))
        return "wrong result: other signatures" + where;
    }
  isAborted |= hasResult();
  if (std::string text = checkChannels(); !text.empty())
    return text;
  bool mustFind = isMissed || call.trouble == Trouble::Mismatch;
  return mustFind && !isFound ? "wrong result: no block says why" : "";
}

/// Nobody has received what was not sent, or sent without room, also where
/// blocks have left early. Where all have done their launch nothing is under
/// way and all credits are back.
std::string DeviceRun::checkChannels() {
  for (uint32_t sender = 0; sender < call.ranks; ++sender)
    for (auto &[id, send] : layout.ranks[sender].sends) {
      auto &receives = layout.ranks[id.first].receives;
      auto receive = receives.find({sender, id.second});
      if (receive == receives.end())
        continue;
      auto &from = *reinterpret_cast<coll_seq *>(send->seq);
      auto &to = *reinterpret_cast<coll_seq *>(receive->second->seq);
      uint64_t open = from.next - to.next;
      uint64_t openSmall = from.small_next - to.small_next;
      if (open > (isAborted ? send->k : 0u) ||
          openSmall > (isAborted ? send->k_small : 0u))
        return "wrong counts: rank " + std::to_string(sender) + " sent " +
               std::to_string(from.next) + " and " +
               std::to_string(from.small_next) + ", rank " +
               std::to_string(id.first) + " received " +
               std::to_string(to.next) + " and " +
               std::to_string(to.small_next);
      auto &credit = *reinterpret_cast<coll_credit_line *>(send->credit);
      if (!isAborted &&
          (credit.head != to.next || credit.small_head != to.small_next))
        return "wrong counts: rank " + std::to_string(id.first) +
               " kept credits of rank " + std::to_string(sender);
    }
  return "";
}

/// What stands in the outputs where the launch was not to end well: of ranks
/// that have ended theirs all of it, of others each element as it was or as it
/// is to be.
std::string DeviceRun::checkOutputs(const std::string &before,
                                    const std::string &after) const {
  size_t at = 0, width = dtypeBytes(call.dtype);
  for (const PlanRank &rank : layout.ranks) {
    const coll_inst &inst = *rank.inst;
    auto *signals = reinterpret_cast<coll_device_signal *>(inst.signals);
    bool isDone = true;
    for (uint32_t b = 0; b < inst.nblocks; ++b)
      isDone &= signals[b].launches == call.launches;
    for (size_t i = 0; i < rank.out.size(); at += rank.outBytes[i++])
      for (size_t byte = 0; byte < rank.outBytes[i]; byte += width) {
        const char *have = static_cast<const char *>(rank.out[i]) + byte;
        if (memcmp(have, &after[at + byte], width) &&
            (isDone || memcmp(have, &before[at + byte], width)))
          return std::string("wrong output: byte ") + std::to_string(byte) +
                 " of rank " + std::to_string(inst.rank) +
                 (isDone ? ", which has ended its launch"
                         : " is neither old nor new");
      }
  }
  return "";
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
    if (machine.run() == RunResult::Failed)
      return machine.reportText();
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
    if (call.trouble == Trouble::None || call.trouble == Trouble::Late)
      error = difference(
          layout.outputs(),
          expected[call.isBackToBack && !call.isInPlace ? 0 : launch]);
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
    counts->executed += run.machine.executed();
    counts->reached += run.machine.reached();
    for (auto &[site, count] : run.machine.visits())
      counts->visits[site] += count;
  }
  return error;
}

} // namespace coll::emu
