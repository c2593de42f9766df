//===- Memory.h - Memory and its shadow -------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each registered range has a shadow: four bytes of memory have one cell, which
// lists the accesses that a later one may still race with. Pages of cells are
// made at the first access, so a large registered buffer costs nothing.
//
//===----------------------------------------------------------------------===//
#ifndef COLL_TEST_EMULATOR_MEMORY_H
#define COLL_TEST_EMULATOR_MEMORY_H

#include "Emulator.h"

#include <map>

namespace coll::emu {

/// One access that is remembered.
struct Entry {
  uint32_t slot = 0, time = 0; // time 0: empty
  uint32_t site = 0;
  uint8_t mask = 0; // which of the four bytes
  bool isWrite : 1 = false;
  bool isMulticast : 1 = false; // at another address than others'
  Scope scope = Scope::Weak;
  uint8_t extent = 0; // of a strong access: where it begins and ends
};

/// Most cells have one writer and one reader. What many threads read gets one
/// entry each, appended without a look at the others: only a write looks.
struct Cell {
  Entry write, read;
  std::vector<Entry> *more = nullptr; // owned; rarely there
  uint32_t moreWrites = 0, moreLimit = 0;
  uint8_t initialised = 0; // bytes
  bool hasHistory = false; // a flag word begins at or before it
};

constexpr size_t kPageBytes = 4096;
struct ShadowPage {
  explicit ShadowPage(bool isInitialised) {
    for (Cell &cell : cells)
      cell.initialised = isInitialised ? 15 : 0;
  }
  ~ShadowPage() {
    for (Cell &cell : cells)
      delete cell.more;
  }
  ShadowPage(const ShadowPage &) = delete;
  ShadowPage &operator=(const ShadowPage &) = delete;
  Cell cells[kPageBytes / 4];
};

struct Region {
  enum Kind { Plain, Alias, Multicast, Shared };
  uintptr_t base = 0;
  size_t bytes = 0;
  Kind kind = Plain;
  int device = kHost;
  bool isInitialised = false, isReadOnly = false;
  bool holdsPackets = false; // see Machine::holdsPackets
  std::unique_ptr<char[]> owned;
  uintptr_t target = 0; // Alias
  struct Member {
    uintptr_t address;
    size_t offset, bytes;
  };
  std::vector<Member> members; // Multicast
  std::vector<std::unique_ptr<ShadowPage>> pages;

  Cell &cell(uintptr_t address) {
    size_t index = (address - (base & ~uintptr_t(3))) / 4;
    std::unique_ptr<ShadowPage> &page = pages[index / (kPageBytes / 4)];
    if (!page)
      page = std::make_unique<ShadowPage>(isInitialised);
    return page->cells[index % (kPageBytes / 4)];
  }
};

/// The registered ranges, disjoint.
class AddressSpace {
public:
  /// The range that holds the whole access, else null.
  Region *find(uintptr_t address, size_t bytes) {
    if (last && address - last->base < last->bytes)
      return bytes <= last->bytes - (address - last->base) ? last : nullptr;
    Region *region = nearest(address);
    if (!region || address - region->base >= region->bytes ||
        bytes > region->bytes - (address - region->base))
      return nullptr;
    return last = region;
  }
  /// The last range that begins at or before the address, null if none does.
  Region *nearest(uintptr_t address) {
    auto it = regions.upper_bound(address);
    return it == regions.begin() ? nullptr : std::prev(it)->second.get();
  }
  Region *insert(std::unique_ptr<Region> region);
  void erase(uintptr_t base);

private:
  std::map<uintptr_t, std::unique_ptr<Region>> regions;
  Region *last = nullptr;
};

} // namespace coll::emu

#endif // COLL_TEST_EMULATOR_MEMORY_H
