//===- PlanRun.h - The ranks of a plan, in one process ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lays out what kernels read (coll/abi.h) for all ranks of a plan: words, ends
// of channels, rings, arguments. Once for host kernels, which run in threads
// and say which bits are right, and once for device kernels on the emulator.
// What the runtime knows of plans and calls is the runtime's own code.
//
//===----------------------------------------------------------------------===//
#ifndef COLL_TEST_EMULATOR_PLANRUN_H
#define COLL_TEST_EMULATOR_PLANRUN_H

#include "Emulator.h"

#include "runtime/core/Arguments.h"
#include "runtime/core/DeviceLane.h"

#include <array>
#include <map>
#include <set>

namespace coll::emu {

/// Which launch buffers of a device lie in windows. Even: those of the ranks
/// with even numbers.
enum class Registered { None, All, In, Out, Even };

/// Which windows have multicast addresses. Skewed: all, but one rank's stand
/// for another place of the others.
enum class Multicast { None, All, Skewed };

/// What goes wrong in a run on devices, on purpose.
enum class Trouble {
  None,
  Late,     // a rank's launches are ordered by nothing but `entered`
  Overlap,  // two launches of every rank at a time
  Abort,    // a rank stops somewhere, and the host aborts; it goes on then
  Gone,     // the same, and it never goes on
  Deadline, // a rank stops somewhere, and waits have an end
  Mismatch, // rank 0 calls with another signature
  Window    // rank 0's buffers lie in a window that nobody else knows
};

struct PlanCall {
  const coll_plan *plan = nullptr;
  uint32_t ranks = 0;
  size_t count = 0;
  size_t row = 1; // elements of a row, of plans that cut by row
  coll_dtype dtype = COLL_F32;
  coll_op op = COLL_SUM;
  RingSizes rings;
  bool isSmall = false, isLines = false; // small slots; lines; if the plan may
  unsigned launches = 2; // one after another, on the same channels
  /// Unless 0, only every so many launches have `count` elements, the others
  /// `otherCount`.
  unsigned period = 0;
  size_t otherCount = 0;
  size_t countOf(unsigned launch) const {
    return period && launch % period ? otherCount : count;
  }
  /// The host does not wait between launches, so that channels alone order
  /// what different ranks do; all get the first launch's inputs.
  bool isBackToBack = false;
  Registered registered = Registered::None;
  bool comesAndGoes = false; // some ranks have no window in some launches
  bool hides(uint32_t rank, unsigned launch) const;
  Multicast multicast = Multicast::None;
  bool isExact = false;     // sums are the same in any order
  bool isUnaligned = false; // buffers lie on their elements' size alone
  bool isInPlace = false;   // ranks whose buffers may share memory
  std::array<int, COLL_MAX_LAUNCH> launchValues{};
  Trouble trouble = Trouble::None;
  /// Back to back, a rank that stops does so within so many steps of the run;
  /// else in the last launch.
  uint64_t stopWithin = 0;
  uint64_t firstMessage = 0; // messages that each channel has carried before
  bool hasLateReleases = false;
};

/// As the runtime chooses them.
DeviceKernels chooseDeviceKernels(const PlanCall &call);

/// Where the layout's memory comes from. `isWritten`: the host fills it.
class PlanMemory {
public:
  virtual ~PlanMemory() = default;
  virtual void *alloc(uint32_t rank, size_t bytes, bool isWritten) = 0;
  /// The host has filled it.
  virtual void wrote(void *, size_t) {}
  /// What lies there is taken before it is overwritten.
  virtual void holdsPackets(void *) {}
  /// An address of a rank that stands for all members.
  virtual void *multicast(const std::vector<void *> &, size_t) {
    return nullptr;
  }
};

struct PlanWindow {
  uint32_t rank, buffer;
  uint64_t number;
  void *base;
  size_t bytes;
};

/// Where a buffer begins: so many bytes behind another's begin, or its own.
struct PlanPlace {
  uint32_t base;
  size_t offset;
};

/// Sums over runs.
struct RunCounts {
  uint64_t steps = 0, multicasts = 0, reached = 0; // as of Machine
  std::vector<uint8_t> marks;                      // of one run, if wanted
  bool doesAll = true;           // of PlanLayout, in all launches
  std::set<std::string> kernels; // that were launched
  /// Messages in slots, of packets, put; channels whose receiver got, in the
  /// last launch.
  uint64_t slots = 0, packets = 0, puts = 0, gets = 0;
  std::array<uint64_t, 5> ways() const;
};

struct PlanRank {
  const coll_class *cls = nullptr;
  std::vector<uint32_t> words;
  std::unique_ptr<Arguments> arguments;
  coll_inst *inst = nullptr;
  std::vector<void *> in, out, arg;
  std::vector<size_t> inBytes, outBytes; // inBytes: the ins, then the args
  std::vector<PlanPlace> places;         // by buffer
  std::map<std::pair<uint32_t, uint32_t>, coll_end *> sends, receives;
};

class PlanLayout {
public:
  /// An error text, empty when all is well.
  std::string build(const PlanCall &call, PlanMemory &memory, bool isDevice);
  /// Fills the inputs for a launch; the same values for the same number.
  void fillInputs(unsigned launch);
  /// The arguments of a launch.
  std::string fillArguments(unsigned launch);
  /// What the outputs of all ranks hold.
  std::string outputs() const;
  /// Whether every step of every rank has elements, in the launch whose
  /// arguments are filled; or the plan moves none.
  bool doesAll() const;
  /// How messages have gone so far.
  void countMessages(RunCounts &counts) const;
  /// coll_args for a rank's kernel, by value, `bytes` long.
  std::vector<char> arguments(uint32_t rank, size_t bytes) const;

  std::vector<PlanRank> ranks;
  uint32_t *abortWord = nullptr;

private:
  std::string buildRank(uint32_t rank);
  void buildEnds(uint32_t rank);
  void connect();
  std::string buildBuffers(uint32_t rank);
  std::string placeBuffers(PlanRank &rank);
  bool sharesMemory() const;
  std::vector<size_t> partsOf(const PlanRank &rank, uint32_t buffer) const;
  bool isRegistered(const PlanRank &rank, uint32_t base) const;
  char *makeBuffer(const PlanRank &rank, uint32_t buffer, size_t bytes);
  void showWindows();
  void showMulticast();
  std::string fillArguments(PlanRank &rank, unsigned launch);
  std::vector<size_t> countsOf(const PlanRank &rank, size_t count) const;
  bool hasRows() const { return call.plan->flags & COLL_PLAN_ROWS; }
  size_t elementsOf(size_t count) const;
  size_t elementsOf(const coll_plan_size &size, size_t count) const;

  PlanCall call;
  const coll_plan_ranks *table = nullptr;
  uint32_t member = 0, number = 0; // number: the launch's, from 1
  PlanMemory *memory = nullptr;
  bool isDevice = false;
  std::vector<uint32_t> stepChunks;
  std::vector<PlanWindow> windows;
  std::vector<coll_window *> tables; // by rank
};

/// In runs with Trouble::Deadline.
constexpr uint64_t kDeadlineSteps = 40000;

void fillValues(void *buffer, size_t bytes, coll_dtype dtype, uint64_t seed,
                bool isExact);

/// Outputs after each launch, by host kernels in threads.
std::string runOnHost(const PlanCall &call, std::vector<std::string> &outputs);
/// The same on the emulator; `code` is the module. The text says what is wrong:
/// reports, outputs that are not `expected`, or what blocks tell the host.
std::string runOnDevices(const PlanCall &call, const std::string &code,
                         const Options &options,
                         const std::vector<std::string> &expected,
                         RunCounts *counts = nullptr);

} // namespace coll::emu

#endif // COLL_TEST_EMULATOR_PLANRUN_H
