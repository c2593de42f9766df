//===- Multicast.cpp - Instructions on all copies at once -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A multimem access is a weak access of every member's copy, by the thread that
// makes it: each races with whatever it is not ordered with. A sum is made in
// an order of the seed's choosing, in f32, and rounded once.
//
//===----------------------------------------------------------------------===//

#include "Hooks.h"
#include "State.h"
#include "lib/Support/FloatFormats.h"

#include <bit>
#include <cstring>

namespace coll::emu {

std::vector<char *> MachineState::members(uintptr_t address, size_t bytes,
                                          bool isWrite, uint32_t site) {
  std::vector<char *> result;
  Region *region = memory.find(address, bytes);
  auto refuse = [&](const std::string &why) {
    report(ReportKind::OutOfBounds, site, 0,
           "a multimem instruction on " + why + "\n  " +
               describe(*current, site));
    hasFailed = true;
    yield(); // never comes back
  };
  if (!region || region->kind != Region::Multicast) {
    refuse("what is no multicast address");
    return result;
  }
  size_t offset = address - region->base;
  std::set<int> devices; // that have some piece of the object
  for (const Region::Member &member : region->members) {
    if (Region *own = memory.find(member.address, 1))
      devices.insert(own->device);
    if (offset < member.offset || offset - member.offset + bytes > member.bytes)
      continue;
    uintptr_t at = member.address + (offset - member.offset);
    Region *own = resolve(at, bytes, isWrite, site);
    note(*own, at, bytes, isWrite, Scope::Weak, site, /*isMulticast=*/true);
    result.push_back(reinterpret_cast<char *>(at));
  }
  if (result.empty() || result.size() < devices.size())
    refuse("an address that " + std::to_string(result.size()) + " of " +
           std::to_string(devices.size()) + " devices have a copy at");
  return result;
}

} // namespace coll::emu

using namespace coll::emu;

template <typename Bits>
static void addUp(const std::vector<char *> &members, uint32_t *data,
                  float (*from)(Bits), Bits (*to)(float)) {
  for (size_t at = 0; at < 16; at += sizeof(Bits)) {
    float sum = 0;
    for (size_t i = 0; i < members.size(); ++i) {
      Bits bits;
      memcpy(&bits, members[i] + at, sizeof bits);
      sum = i ? sum + from(bits) : from(bits);
    }
    Bits bits = to(sum);
    memcpy(reinterpret_cast<char *>(data) + at, &bits, sizeof bits);
  }
}

void emuMulticast(void *address, uint32_t *data, uint32_t operation,
                  uint32_t site) {
  constexpr size_t bytes = 16;
  auto at = reinterpret_cast<uintptr_t>(address);
  machine->step(site, false);
  ++machine->multicasts;
  if (at % bytes) {
    machine->report(ReportKind::Misaligned, site, 0,
                    "a multimem instruction on an address that 16 does not "
                    "divide\n  " +
                        machine->describe(*current, site));
    machine->hasFailed = true;
    machine->yield();
  }
  bool isWrite = operation == kMulticastStore;
  std::vector<char *> members = machine->members(at, bytes, isWrite, site);
  if (isWrite) {
    for (char *member : members)
      memcpy(member, data, bytes);
    machine->idle = 0;
    return;
  }
  for (size_t i = members.size(); i > 1; --i)
    std::swap(members[i - 1], members[machine->draw() % i]);
  if (operation == kAddF32)
    addUp<uint32_t>(
        members, data, [](uint32_t bits) { return std::bit_cast<float>(bits); },
        [](float value) { return std::bit_cast<uint32_t>(value); });
  else if (operation == kAddF16)
    addUp<uint16_t>(members, data, coll::decode<coll::F16>,
                    coll::encode<coll::F16, float>);
  else
    addUp<uint16_t>(members, data, coll::decode<coll::BF16>,
                    coll::encode<coll::BF16, float>);
}
