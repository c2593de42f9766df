//===- State.h - The inside of a machine ------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COLL_TEST_EMULATOR_STATE_H
#define COLL_TEST_EMULATOR_STATE_H

#include "Threads.h"

#include <functional>
#include <set>

#include <string>
#include <tuple>

namespace coll::emu {

class MachineState {
public:
  Options options;
  unsigned numDevices = 0;
  AddressSpace memory;
  std::unordered_map<uintptr_t, Flag> flags;
  std::vector<std::shared_ptr<Module>> modules;
  std::map<LaunchId, std::unique_ptr<LaunchState>> launches;
  std::map<uint64_t, Stream> streams;
  std::vector<SlotOwner> slots{1}; // 0: the host
  Clock hostKnows;
  uint32_t hostTime = 1;
  std::map<int, Times> scFences; // fence.sc: by device; kHost: of system scope
  std::vector<Report> reports;
  std::set<std::tuple<ReportKind, uint32_t, uint32_t>> reported;
  bool hasFailed = false;

  // Scheduling
  Context scheduler;
  std::vector<Thread *> ready;
  std::vector<char *> freeStacks;
  std::vector<std::pair<char *, size_t>> stackChunks;
  uint64_t random = 1, steps = 0, switches = 0, idle = 0, multicasts = 0;
  uint64_t reached = 0;       // the fault's place
  std::vector<uint8_t> marks; // by site
  uint64_t nextHostStep = 0;
  uint64_t quietSince = 0; // of the idle loads in a row the first, in steps
  int stalled = kHost;     // a device whose threads do not run
  uint64_t nextBlock = 1, nextTogether = 1, nextLine = 1;
  LaunchId nextLaunch = 1;
  uint64_t favoured = 0, favourUntil = 0;

  ~MachineState();

  uint64_t draw() {
    random ^= random << 13;
    random ^= random >> 7;
    random ^= random << 17;
    return random;
  }
  bool draw(unsigned outOf) { return outOf < 2 || draw() % outOf == 0; }

  void mark(uint32_t site, uint8_t what) {
    if (!options.keepsMarks)
      return;
    if (site >= marks.size())
      marks.resize(site + 256);
    marks[site] |= what;
  }
  /// The fault, where this place has it.
  FaultKind faultAt(uint32_t site, PlaceKind place) {
    mark(site, kCame);
    if (site != options.fault.site || place != options.fault.place || !site)
      return FaultKind::None;
    if (place != PlaceKind::Branch && options.fault.kind != FaultKind::Alone)
      ++reached;
    return options.fault.kind;
  }

  // Scheduler.cpp
  LaunchState *find(LaunchId id) const;
  bool mayStart(const LaunchState &launch) const;
  void start(LaunchState &launch);
  void startBlock(LaunchState &launch, Block &block);
  void finish(Thread &thread);
  void finish(LaunchState &launch);
  Thread *pick();
  Thread *pickAny();
  bool runSome(const std::vector<LaunchId> &until);
  void yield(); // of the current thread, which stays ready
  void block(); // until unblock()
  void unblock(Thread &thread);
  void step(uint32_t site, bool isStrong); // may yield, may never return
  void idleLoad();
  uint64_t idleLimit() const; // of such loads in a row
  bool isQuiet() const;       // every thread has had one since the last change
  [[noreturn]] void leave();  // the current thread never goes on
  bool isWithin(const std::vector<LaunchId> &until) const;
  void reportDeadlock();

  // Check.cpp
  void report(ReportKind kind, uint32_t siteA, uint32_t siteB,
              const std::string &text);
  std::string describe(const Thread &thread, uint32_t site) const;
  std::string describe(const Entry &entry) const;
  Region *resolve(uintptr_t &address, size_t bytes, bool isWrite,
                  uint32_t site); // null: reported
  void note(Region &region, uintptr_t address, size_t bytes, bool isWrite,
            Scope scope, uint32_t site, bool isMulticast = false);
  /// The same bytes of every member of a multicast range; all are noted.
  std::vector<char *> members(uintptr_t address, size_t bytes, bool isWrite,
                              uint32_t site);
  void noteHost(uintptr_t address, size_t bytes, bool isWrite,
                Scope scope = Scope::Weak);

  // Flags.cpp
  uint64_t loadFlag(uintptr_t address, unsigned bytes, Order order, Scope scope,
                    uint32_t site);
  void storeFlag(uintptr_t address, uint64_t value, unsigned bytes, Order order,
                 Scope scope, uint32_t site);
  using Modify = std::function<bool(uint64_t old, uint64_t &value)>;
  uint64_t modifyFlag(uintptr_t address, unsigned bytes, Order order,
                      Scope scope, uint32_t site, const Modify &modify);
  /// All words of a line at once, word i by lane i / 2.
  void loadLine(LineMeeting &line, Scope scope, uint32_t site);
  void storeLine(LineMeeting &line, Scope scope, uint32_t site);
  void checkTaken(const FlagWrite &before, uint32_t site);
  void fence(Order order, Scope scope);
  void fenceAliases();
  void forgetFlags(Region &region, uintptr_t address, size_t bytes);

  // Barriers.cpp
  void barrier(uint32_t id, uint32_t count, bool isAligned, bool waits,
               uint32_t site, bool vote = false);
  void completeBarrier(Meeting &meeting);
  void order(const std::vector<Thread *> &threads,
             const std::vector<Released> &passed = {});
  uint64_t exchange(uint32_t kind, uint32_t mask, uint64_t value, uint32_t lane,
                    uint32_t site, bool &isValid);
  void meet(WarpExchange &exchange, uint32_t kind, uint32_t mask,
            uint32_t site);
  void completeExchange(WarpExchange &exchange, Thread *last);
  void checkWarp(WarpExchange &exchange, uint32_t warp);

  // Lines.cpp
  /// Whether the current thread's 16 bytes were accessed with seven other
  /// lanes', as one line; else the thread makes its accesses itself.
  bool accessLine(uintptr_t address, uint64_t *values, bool isWrite,
                  Scope scope, uint32_t site);
  void branchedTo(uint32_t place);
  void comeTogether(const std::vector<Thread *> &threads);
  void cannotCome(Thread &thread); // to where others of its line wait
};

/// The machine and the thread that run now; one OS thread.
extern thread_local MachineState *machine;
extern thread_local Thread *current;

const Site &siteOf(uint32_t site); // Module.cpp
uint32_t addSite(Site site);

std::string toText(const Dim3 &index);

} // namespace coll::emu

#endif // COLL_TEST_EMULATOR_STATE_H
