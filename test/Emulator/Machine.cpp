//===- Machine.cpp - What users of the emulator call ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Module.h"
#include "State.h"

#include <algorithm>
#include <cstring>

namespace coll::emu {

/// Finished launches that are remembered for edges between streams.
constexpr size_t kKeptLaunches = 256;

static uintptr_t toInteger(const void *address) {
  return reinterpret_cast<uintptr_t>(address);
}

Region *AddressSpace::insert(std::unique_ptr<Region> region) {
  Region *before = nearest(region->base + region->bytes - 1);
  if (!region->bytes || (before && before->base + before->bytes > region->base))
    return nullptr;
  size_t cells = (region->bytes + (region->base & 3) + 3) / 4;
  region->pages.resize((cells + kPageBytes / 4 - 1) / (kPageBytes / 4));
  Region *result = region.get();
  regions[region->base] = std::move(region);
  return result;
}

void AddressSpace::erase(uintptr_t base) {
  last = nullptr;
  regions.erase(base);
}

Machine::Machine(unsigned numDevices, Options options)
    : state(std::make_unique<MachineState>()) {
  state->options = std::move(options);
  state->numDevices = numDevices;
  // Neighbouring seeds must not begin alike.
  uint64_t seed = state->options.seed + 0x9e3779b97f4a7c15;
  seed = (seed ^ seed >> 30) * 0xbf58476d1ce4e5b9;
  seed = (seed ^ seed >> 27) * 0x94d049bb133111eb;
  state->random = (seed ^ seed >> 31) | 1;
}

Machine::~Machine() = default;

void *Machine::alloc(int device, size_t bytes) {
  if (!bytes)
    return nullptr;
  auto region = std::make_unique<Region>();
  region->owned = std::make_unique<char[]>(bytes + 255);
  region->base = (toInteger(region->owned.get()) + 255) & ~uintptr_t(255);
  region->bytes = bytes;
  region->device = device;
  Region *made = state->memory.insert(std::move(region));
  return made ? reinterpret_cast<void *>(made->base) : nullptr;
}

bool Machine::add(void *address, size_t bytes, int device, bool isInitialised,
                  bool isReadOnly) {
  auto region = std::make_unique<Region>();
  region->base = toInteger(address);
  region->bytes = bytes;
  region->device = device;
  region->isInitialised = isInitialised;
  region->isReadOnly = isReadOnly;
  return state->memory.insert(std::move(region)) != nullptr;
}

void Machine::remove(void *address) {
  Region *region = state->memory.find(toInteger(address), 1);
  if (!region || region->base != toInteger(address))
    return;
  uintptr_t end = region->base + region->bytes;
  for (auto it = state->flags.begin(); it != state->flags.end();)
    it = it->first >= region->base && it->first < end ? state->flags.erase(it)
                                                      : std::next(it);
  state->memory.erase(region->base);
}
void Machine::release(void *address) { remove(address); }

bool Machine::addAlias(void *address, size_t bytes, void *target) {
  if (!state->memory.find(toInteger(target), bytes))
    return false;
  auto region = std::make_unique<Region>();
  region->base = toInteger(address);
  region->bytes = bytes;
  region->kind = Region::Alias;
  region->target = toInteger(target);
  return state->memory.insert(std::move(region)) != nullptr;
}

bool Machine::addMulticast(void *address, size_t bytes) {
  auto region = std::make_unique<Region>();
  region->base = toInteger(address);
  region->bytes = bytes;
  region->kind = Region::Multicast;
  return state->memory.insert(std::move(region)) != nullptr;
}

bool Machine::addMember(void *multicast, void *member, size_t offset,
                        size_t bytes) {
  Region *region = state->memory.find(toInteger(multicast), 1);
  if (!region || region->kind != Region::Multicast || offset > region->bytes ||
      bytes > region->bytes - offset ||
      !state->memory.find(toInteger(member), bytes))
    return false;
  region->members.push_back({toInteger(member), offset, bytes});
  return true;
}

void Machine::holdsPackets(void *address) {
  if (Region *region = state->memory.find(toInteger(address), 1))
    region->holdsPackets = true;
}

void Machine::hostWrote(const void *address, size_t bytes) {
  state->noteHost(toInteger(address), bytes, true);
}
void Machine::hostReads(const void *address, size_t bytes) {
  state->noteHost(toInteger(address), bytes, false);
}

void Machine::hostStores(void *address, uint64_t value, unsigned bytes) {
  state->noteHost(toInteger(address), bytes, true, Scope::Sys);
  memcpy(address, &value, bytes);
  state->idle = 0;
}
uint64_t Machine::hostLoads(const void *address, unsigned bytes) {
  state->noteHost(toInteger(address), bytes, false, Scope::Sys);
  uint64_t value = 0;
  memcpy(&value, address, bytes);
  return value;
}

Module *Machine::load(const std::string &code, std::string &error) {
  std::shared_ptr<Module> module = loadModule(code, error);
  if (!module)
    return nullptr;
  for (const LoadedGlobal &global : module->globals)
    add(global.address, global.bytes, kHost);
  for (const LoadedGlobal &global : module->constants)
    add(global.address, global.bytes, kHost, true, true);
  // Loaded already in this machine: the same ranges are registered.
  state->modules.push_back(std::move(module));
  return state->modules.back().get();
}

bool Machine::hasKernel(const Module *module, const std::string &kernel) const {
  return module->find(kernel) != nullptr;
}

std::vector<size_t> Machine::paramBytes(const Module *module,
                                        const std::string &kernel) const {
  const LoadedKernel *found = module->find(kernel);
  return found ? found->paramBytes : std::vector<size_t>();
}

void *Machine::global(const Module *module, const std::string &name,
                      size_t &bytes) const {
  for (auto *list : {&module->globals, &module->constants})
    for (const LoadedGlobal &global : *list)
      if (global.name == name) {
        bytes = global.bytes;
        return global.address;
      }
  return nullptr;
}

LaunchId Machine::launch(int device, uint64_t streamId, const Module *module,
                         const std::string &kernel, Dim3 grid, Dim3 block,
                         void *const *params, size_t dynamicSharedBytes,
                         std::string &error) {
  const LoadedKernel *found = module->find(kernel);
  if (!found)
    error = "no kernel '" + kernel + "'";
  else if (device < 0 || unsigned(device) >= state->numDevices)
    error = "no device " + std::to_string(device);
  else if (!grid.volume() || !block.volume() || block.volume() > 1024)
    error = "a launch of no threads, or of more than 1024 in a block";
  if (!error.empty())
    return 0;
  auto made = std::make_unique<LaunchState>();
  made->id = state->nextLaunch++;
  made->device = device;
  made->stream = streamId;
  made->module = module;
  made->kernel = kernel;
  made->entry = found->entry;
  made->grid = grid;
  made->block = block;
  made->sharedBytes = module->sharedBytes + dynamicSharedBytes;
  for (size_t i = 0; i < found->paramBytes.size(); ++i) {
    size_t bytes = found->paramBytes[i];
    auto *copy = static_cast<char *>(alloc(device, bytes));
    memcpy(copy, params[i], bytes);
    Region *region = state->memory.find(toInteger(copy), bytes);
    region->isInitialised = region->isReadOnly = true;
    made->paramPointers.push_back(copy);
  }
  Times begins;
  raise(begins, state->hostKnows);
  raise(begins, 0, state->hostTime++);
  made->begins = std::make_shared<const Times>(std::move(begins));
  Stream &stream = state->streams[streamId];
  made->after = std::move(stream.waits);
  stream.waits.clear();
  if (stream.last)
    made->after.push_back(stream.last);
  stream.last = made->id;
  LaunchId id = made->id;
  state->launches[id] = std::move(made);
  return id;
}

void Machine::streamWait(uint64_t stream, LaunchId launch) {
  if (launch)
    state->streams[stream].waits.push_back(launch);
}

void Machine::beginsLate(LaunchId launch, LaunchId earlier) {
  if (LaunchState *found = state->find(launch))
    found->late.push_back(earlier);
}

void Machine::stall(int device) { state->stalled = device; }

bool Machine::isFinished(LaunchId launch) const {
  LaunchState *found = state->find(launch);
  return !found || found->isFinished;
}

/// Forgets what nobody can name any more; edges from it become edges from all
/// that had ended before, through the host's knowledge.
static void forgetLaunches(MachineState &state) {
  while (state.launches.size() > kKeptLaunches &&
         state.launches.begin()->second->isFinished) {
    acquire(state.hostKnows, std::make_shared<const Times>(
                                 state.launches.begin()->second->ends));
    state.launches.erase(state.launches.begin());
  }
}

RunResult Machine::run(const std::vector<LaunchId> &until) {
  MachineState *outer = std::exchange(machine, state.get());
  state->idle = 0;
  bool isDone = !state->hasFailed && state->runSome(until);
  machine = outer;
  if (!isDone)
    return RunResult::Failed;
  auto learn = [&](LaunchState &launch) {
    if (launch.isFinished && !launch.isKnownToHost) {
      acquire(state->hostKnows, std::make_shared<const Times>(launch.ends));
      launch.isKnownToHost = true;
    }
  };
  if (until.empty())
    for (auto &[id, launch] : state->launches)
      learn(*launch);
  for (LaunchId id : until)
    if (LaunchState *launch = state->find(id))
      learn(*launch);
  forgetLaunches(*state);
  return state->reports.empty() ? RunResult::Finished : RunResult::Failed;
}

const std::vector<Report> &Machine::reports() const { return state->reports; }

std::string Machine::reportText() const {
  std::string text;
  for (const Report &report : state->reports)
    text += report.text + "\n";
  return text;
}

uint64_t Machine::steps() const { return state->steps; }
uint64_t Machine::multicasts() const { return state->multicasts; }
uint64_t Machine::lines() const { return state->nextLine - 1; }
uint64_t Machine::switches() const { return state->switches; }
const std::vector<uint8_t> &Machine::marks() const { return state->marks; }
uint64_t Machine::reached() const { return state->reached; }
std::vector<Place> Machine::places(const Module *module) {
  return module->places;
}

} // namespace coll::emu
