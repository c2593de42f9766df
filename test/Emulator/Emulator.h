//===- Emulator.h - Device code on the CPU ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Several GPUs in one process: the LLVM IR that is handed to the NVPTX backend
// runs here, one fiber per thread, in one OS thread. A seeded scheduler may
// pre-empt at every access to memory that threads share, and a checker knows
// the memory model of PTX (docs/Cuda.md). Device addresses are addresses of
// this process.
//
// Plain C++: no LLVM header, so that the stand-in driver can include it. One
// Machine is used by one OS thread at a time. No function throws.
//
//===----------------------------------------------------------------------===//
#ifndef COLL_TEST_EMULATOR_EMULATOR_H
#define COLL_TEST_EMULATOR_EMULATOR_H

#include "Faults.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace coll::emu {

struct Dim3 {
  uint32_t x = 1, y = 1, z = 1;
  uint64_t volume() const { return uint64_t(x) * y * z; }
};

enum class ReportKind {
  Race,
  OutOfBounds,
  Uninitialised,
  Misaligned,
  ReadOnly,
  NonCoherent,
  DivergentBarrier,
  Deadlock,
  StepLimit,
  Trap,
  Unsupported,
  Overlap
};
const char *nameOf(ReportKind kind);

struct Report {
  ReportKind kind;
  std::string text; // several lines: what, then each access
};

struct Options {
  uint64_t seed = 1;
  /// One weak access in so many may pre-empt; strong ones do every second time.
  unsigned preemptEvery = 16;
  /// Judge the accesses. Without it the order is still adversarial.
  bool check = true;
  bool checkUninitialised = true;
  bool staleReads = true; // older values, where coherence and causality allow
  unsigned history = 6;   // values of a word that are kept for that
  bool lateReleases = false; // they arrive when every thread waits
  /// Eight lanes' volatile accesses of 16 bytes to one line of 128, made
  /// together, are one access, whose words come in ascending order. PTX does
  /// not say so: for chips where it holds (docs/Cuda.md, section 7).
  bool linesInOrder = true;
  unsigned maxReports = 8; // alike ones count once; then the run ends
  uint64_t maxSteps = uint64_t(1) << 32; // accesses to shared memory
  /// So many loads in a row, of all threads together, without anybody changing
  /// anything: nobody waits for a thing that can come. 0: 4096 + 256 a thread.
  uint64_t idleLoads = 0;
  /// Called instead of reporting a deadlock: other processes may write. False:
  /// give up (a deadlock is reported).
  std::function<bool()> onIdle;
  /// Before an address in no memory is reported. True: it is mapped now.
  std::function<bool()> onUnknown;
  /// What the host does meanwhile: called between threads, the next time after
  /// so many steps as it returns (0: never again). It may call hostStores and
  /// hostLoads.
  std::function<uint64_t(uint64_t steps)> whileRunning;
  /// %globaltimer: the clock, else 32 ns a step.
  bool realTime = false;
  Fault fault;
  /// Note what threads come to (Machine::marks).
  bool keepsMarks = false;
};

/// What a run has come to at a site.
enum Mark : uint8_t {
  kCame = 1,
  kTaken = 2, // a branch
  kNotTaken = 4,
  kOverruled = 8 // a vote, by other threads
};

/// As a device: memory that all see. Addresses below are of this process.
constexpr int kHost = -1;

enum class RunResult { Finished, Failed }; // Failed: reports() says why

class Module;
class MachineState;
using LaunchId = uint64_t; // from 1; 0: no launch

class Machine {
public:
  Machine(unsigned numDevices, Options options);
  ~Machine();
  Machine(const Machine &) = delete;
  Machine &operator=(const Machine &) = delete;

  //===-- memory ----------------------------------------------------------===//
  /// 256-byte aligned, zero but counted as uninitialised, owned by the machine
  /// until release() or its end. Never 0 for bytes > 0.
  void *alloc(int device, size_t bytes);
  void release(void *address);
  /// Memory of the caller, which must outlive its registration. Fails (false)
  /// when a part of it is registered already.
  bool add(void *address, size_t bytes, int device, bool isInitialised = true,
           bool isReadOnly = false);
  void remove(void *address);
  /// Of allocated memory: what is stored there by strong operations is taken by
  /// whoever loads it first, and may be overwritten only by what comes behind
  /// that load. All of it is atomic, so no race says that; and a load that
  /// returns a later store is not executed.
  void holdsPackets(void *address);
  /// The same bytes at another address (a peer's mapping): the checker takes
  /// accesses to `address` for accesses to `target`, which is registered.
  bool addAlias(void *address, size_t bytes, void *target);
  /// A multicast range: only multimem instructions may use it. Byte i stands
  /// for byte i of every member; members can be added later.
  bool addMulticast(void *address, size_t bytes);
  bool addMember(void *multicast, void *member, size_t offset, size_t bytes);
  /// What the host does, as the checker sees it; run() and synchronize() order
  /// it after what has finished.
  void hostWrote(const void *address, size_t bytes);
  void hostReads(const void *address, size_t bytes);
  /// Strong accesses, of system scope, also while kernels run.
  void hostStores(void *address, uint64_t value, unsigned bytes);
  uint64_t hostLoads(const void *address, unsigned bytes);

  //===-- code ------------------------------------------------------------===//
  /// Bitcode or text of a module for NVPTX. Null and a message when it cannot
  /// be run; the machine owns the module.
  Module *load(const std::string &code, std::string &error);
  /// Sizes of the kernel's parameters in bytes; empty also if there is none of
  /// that name (hasKernel says which).
  bool hasKernel(const Module *module, const std::string &kernel) const;
  std::vector<size_t> paramBytes(const Module *module,
                                 const std::string &kernel) const;
  /// Address and size of a global variable of the module, null if it has none.
  /// One copy per loaded module, for all devices.
  void *global(const Module *module, const std::string &name,
               size_t &bytes) const;

  //===-- launches --------------------------------------------------------===//
  /// Params as cuLaunchKernel takes them: one pointer each, copied now. The
  /// kernel begins in run() when all earlier launches of the stream have ended.
  LaunchId launch(int device, uint64_t stream, const Module *module,
                  const std::string &kernel, Dim3 grid, Dim3 block,
                  void *const *params, size_t dynamicSharedBytes,
                  std::string &error);
  /// What is launched on the stream from now on begins after that launch.
  void streamWait(uint64_t stream, LaunchId launch);
  /// The launch begins after the earlier one has ended, but nothing orders what
  /// they do: a stroke of luck, not an edge between streams.
  void beginsLate(LaunchId launch, LaunchId earlier);
  bool isFinished(LaunchId launch) const;
  /// The device's threads do not run until another one is named, or none
  /// (kHost): whoever needs them waits, and in the end onIdle is called.
  void stall(int device);
  /// Runs all launches until those of the list have ended (empty: all), and
  /// orders the host after these.
  RunResult run(const std::vector<LaunchId> &until = {});

  const std::vector<Report> &reports() const;
  std::string reportText() const; // all of them
  uint64_t steps() const;
  uint64_t switches() const;
  /// Multimem instructions.
  uint64_t multicasts() const;
  /// Lines that were stored as one.
  uint64_t lines() const;
  /// By site, of Mark; sites behind the end have none.
  const std::vector<uint8_t> &marks() const;
  /// How often the fault made its place do what it does not do otherwise.
  uint64_t reached() const;
  /// What faults can be made of.
  static std::vector<Place> places(const Module *module);

private:
  std::unique_ptr<MachineState> state;
};

} // namespace coll::emu

#endif // COLL_TEST_EMULATOR_EMULATOR_H
