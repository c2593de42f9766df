//===- Plan.cpp - Reading a plan as it lies in the object -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/core/Plan.h"
#include "runtime/core/Environment.h"
#include "runtime/core/Text.h"

#include <algorithm>
#include <cassert>

namespace coll {
namespace {

struct DtypeBytes {
  uint32_t own, accumulator;
};
/// By coll_dtype: i8 u8 i32 u32 i64 u64 f16 bf16 f32 f64 e4m3 e5m2.
constexpr DtypeBytes dtypes[kNumDtypes] = {{1, 1}, {1, 1}, {4, 4}, {4, 4},
                                           {8, 8}, {8, 8}, {2, 4}, {2, 4},
                                           {4, 4}, {8, 8}, {1, 4}, {1, 4}};

/// A rank of a grid; the last coordinate is the fastest.
struct Coords {
  uint32_t at[4] = {};
};

Coords coordsOf(const coll_plan_ranks &ranks, int rank) {
  Coords coords;
  uint32_t rest = uint32_t(rank);
  for (uint32_t d = ranks.ndims; d-- != 0; rest /= ranks.dims[d])
    coords.at[d] = rest % ranks.dims[d];
  return coords;
}

uint32_t evaluate(const coll_reloc_term &term, const Coords &rank,
                  const Coords &root) {
  int64_t coord = (term.of_root ? root : rank).at[term.dim];
  int64_t value = (int64_t(term.base) + term.sign * coord) % int64_t(term.size);
  if (value < 0)
    value += term.size;
  return uint32_t(value) * term.stride;
}

} // namespace

uint32_t dtypeBytes(uint32_t dtype) {
  assert(dtype < kNumDtypes);
  return dtypes[dtype].own;
}
uint32_t accumBytes(uint32_t dtype) {
  assert(dtype < kNumDtypes);
  return dtypes[dtype].accumulator;
}

const coll_plan_ranks *findRanks(const coll_plan &plan, int nranks) {
  for (uint32_t i = 0; i != plan.nranks_entries; ++i)
    if (plan.ranks[i].nranks == uint32_t(nranks))
      return &plan.ranks[i];
  return nullptr;
}

std::string describeSizes(const coll_plan &plan) {
  std::string text;
  for (uint32_t i = 0; i != plan.nranks_entries; ++i)
    text += (i ? ", " : "") + std::to_string(plan.ranks[i].nranks);
  return text.empty() ? "none" : text;
}

Status checkPlan(const coll_plan &plan, const coll_plan_ranks &ranks) {
  auto malformed = [&](const char *what) {
    return Status::error(COLL_INVALID, "plan '%s' is malformed: %s", plan.name,
                         what);
  };
  if (plan.nbufs > COLL_MAX_BUFS)
    return malformed("too many buffers");
  // The last scalar of a launch is premul_sum's factor.
  if (plan.nscalars + (plan.reduces ? 1 : 0) > COLL_MAX_SCALARS)
    return malformed("too many scalars");
  if (plan.nlaunch > COLL_MAX_LAUNCH)
    return malformed("too many launch parameters");
  if (ranks.ndims > COLL_MAX_DIMS)
    return malformed("too many dimensions");
  uint64_t product = 1;
  for (uint32_t d = 0; d != ranks.ndims; ++d)
    product *= ranks.dims[d];
  if (product != ranks.nranks || ranks.nranks > UINT16_MAX)
    return malformed("its dimensions do not give its number of ranks");
  if (ranks.round_units == 0 || ranks.instances == 0)
    return malformed("no rounds or no instances");
  if (ranks.round_units > uint32_t(COLL_MAX_ROUND_BYTES) / COLL_UNIT_BYTES)
    return malformed("its rounds are too long");
  auto isDepth = [](uint32_t slots) {
    return (slots & (slots - 1)) == 0 && slots <= COLL_MAX_SLOTS;
  };
  if (!isDepth(ranks.slots) || !isDepth(ranks.small_slots))
    return malformed("its rings are not a power of two of slots");
  uint64_t members = 1;
  for (uint32_t p = 0; p != plan.nlaunch; ++p)
    members *= ranks.launch_count[p];
  if (members != ranks.nmembers)
    return malformed("its members are not the product of its launch domains");
  for (uint32_t s = 0; s != ranks.nsizes; ++s)
    if (ranks.sizes[s].chunks == 0)
      return malformed("a size has no chunks");
  for (uint32_t c = 0; c != ranks.nclasses; ++c) {
    const coll_class &cls = ranks.classes[c];
    if (uint64_t(cls.program_blocks) * ranks.instances > COLL_MAX_BLOCKS)
      return malformed("too many blocks");
    if (cls.nsteps > COLL_MAX_STEPS)
      return malformed("too many steps");
    auto holds = [&](uint32_t first, uint64_t words) {
      return first <= cls.nwords && words <= cls.nwords - first;
    };
    if (!holds(cls.send_ends, 2 * uint64_t(cls.nsend)) ||
        !holds(cls.recv_ends, 2 * uint64_t(cls.nrecv)) ||
        !holds(cls.entry[0], 2 * uint64_t(cls.program_blocks)) ||
        !holds(cls.entry[1], 2 * uint64_t(cls.program_blocks)) ||
        !holds(cls.given, cls.ngiven) ||
        !holds(cls.aliases, 5 * uint64_t(cls.naliases)))
      return malformed("a list lies outside of its class");
    for (uint32_t r = 0; r != cls.nrelocs; ++r) {
      const coll_reloc &reloc = cls.relocs[r];
      if (reloc.word >= cls.nwords)
        return malformed("a relocation lies outside of its class");
      for (uint32_t t = 0; t != reloc.nterms; ++t) {
        const coll_reloc_term &term = cls.terms[reloc.first_term + t];
        if (term.size == 0 || term.dim >= std::max(ranks.ndims, 1u))
          return malformed("a relocation has no modulus or no dimension");
      }
    }
    for (uint32_t s = 0; s != cls.nsteps; ++s)
      if (!holds(cls.steps[s], sizeof(coll_step_head) / 4))
        return malformed("a step lies outside of its class");
  }
  return Status::ok();
}

/// "0 .. 4" when the values are consecutive, else a list.
static std::string describeDomain(std::span<const int32_t> values) {
  bool isRange = !values.empty();
  for (size_t i = 1; i < values.size(); ++i)
    isRange &= values[i] == values[i - 1] + 1;
  if (isRange && values.size() > 1)
    return std::to_string(values.front()) + " .. " +
           std::to_string(values.back() + 1);
  constexpr size_t most = 8;
  std::string text = "[";
  for (size_t i = 0; i != std::min(values.size(), most); ++i)
    text += (i ? ", " : "") + std::to_string(values[i]);
  return text + (values.size() > most ? ", ...]" : "]");
}

/// The name at this place in a comma separated list.
static std::string nameAt(const char *list, uint32_t index) {
  std::string_view rest = list ? list : "";
  for (; index != 0; --index)
    rest.remove_prefix(std::min(rest.find(','), rest.size() - 1) + 1);
  return std::string(rest.substr(0, rest.find(',')));
}

Status findMember(const coll_plan &plan, const coll_plan_ranks &ranks,
                  const int *launch, uint32_t &member) {
  member = 0;
  if (plan.nlaunch == 0)
    return Status::ok();
  if (!launch)
    return Status::error(COLL_INVALID,
                         "coll_call.launch is NULL, but plan '%s' asks for %s",
                         plan.name, plan.launch_names);
  const int32_t *values = ranks.launch_values;
  for (uint32_t p = 0; p != plan.nlaunch; ++p) {
    std::span<const int32_t> domain(values, ranks.launch_count[p]);
    // Almost every domain is 0 .. N, where the value is its own index.
    size_t index = size_t(launch[p]);
    if (index >= domain.size() || domain[index] != launch[p])
      index = size_t(std::find(domain.begin(), domain.end(), launch[p]) -
                     domain.begin());
    if (index == domain.size())
      return Status::error(COLL_INVALID,
                           "%s is %d, outside of its domain %s (plan '%s' for "
                           "%u ranks)",
                           nameAt(plan.launch_names, p).c_str(), launch[p],
                           describeDomain(domain).c_str(), plan.name,
                           ranks.nranks);
    member = member * ranks.launch_count[p] + uint32_t(index);
    values += ranks.launch_count[p];
  }
  return Status::ok();
}

const coll_class &classOf(const coll_plan_ranks &ranks, uint32_t member,
                          int rank, int root) {
  const coll_member &m = ranks.members[member];
  uint32_t place = uint32_t(rank);
  if (m.rotate) {
    Coords at = coordsOf(ranks, rank), origin = coordsOf(ranks, root);
    place = 0;
    for (uint32_t d = 0; d != ranks.ndims; ++d) {
      uint32_t n = ranks.dims[d];
      place = place * n + (at.at[d] + n - origin.at[d]) % n;
    }
  }
  assert(m.class_of[place] < ranks.nclasses);
  return ranks.classes[m.class_of[place]];
}

void relocate(const coll_class &cls, const coll_plan_ranks &ranks, int rank,
              int root, std::span<uint32_t> words) {
  Coords at = coordsOf(ranks, rank), origin = coordsOf(ranks, root);
  for (uint32_t r = 0; r != cls.nrelocs; ++r) {
    const coll_reloc &reloc = cls.relocs[r];
    uint32_t value = 0;
    for (uint32_t t = 0; t != reloc.nterms; ++t)
      value += evaluate(cls.terms[reloc.first_term + t], at, origin);
    words[reloc.word] = value;
  }
}

uint64_t totalBlocks(const coll_plan_ranks &ranks, uint32_t member, int root) {
  uint64_t total = 0;
  for (uint32_t rank = 0; rank != ranks.nranks; ++rank)
    total += classOf(ranks, member, int(rank), root).program_blocks;
  return total * ranks.instances;
}

VerifiedRings verifiedRings(const coll_plan_ranks &ranks) {
  constexpr uint32_t slots = 4, smallSlots = 8; // what abi.h means by 0
  constexpr uint32_t slotUnits = (64 << 10) / COLL_UNIT_BYTES;
  return {ranks.slots ? ranks.slots : slots,
          ranks.small_slots ? ranks.small_slots : smallSlots,
          ranks.slices ? ranks.slices
                       : (ranks.round_units + slotUnits - 1) / slotUnits};
}

static uint32_t scaleOf(const coll_plan_ranks &ranks, uint32_t elemBytes,
                        uint32_t accumulatorBytes) {
  uint32_t scale = (ranks.storage_bytes + elemBytes - 1) / elemBytes;
  if (ranks.flags & COLL_PLAN_ACCUM)
    scale = std::max(scale, accumulatorBytes / elemBytes);
  return std::max(scale, 1u);
}

uint32_t storageScale(const coll_plan_ranks &ranks, uint32_t dtype) {
  return scaleOf(ranks, dtypeBytes(dtype), accumBytes(dtype));
}

uint32_t maxStorageScale(const coll_plan &plan, const coll_plan_ranks &ranks) {
  uint32_t scale = 1;
  for (uint32_t k = 0; k != plan.nkernels; ++k)
    for (uint32_t dtype = 0; dtype != kNumDtypes; ++dtype)
      if (plan.kernels[k].dtype == dtype || plan.kernels[k].dtype == COLL_ANY)
        scale = std::max(scale, storageScale(ranks, dtype));
  return scale;
}

std::vector<uint32_t> maxStepChunks(const coll_plan_ranks &ranks) {
  constexpr uint32_t sizeField = offsetof(coll_step_head, size) / 4;
  constexpr uint32_t countField = offsetof(coll_step_head, nchunks) / 4;
  std::vector<uint32_t> most(ranks.nsizes, 0);
  std::vector<bool> isRelocated;
  for (const coll_class &cls : std::span(ranks.classes, ranks.nclasses)) {
    isRelocated.assign(cls.nwords, false);
    for (uint32_t r = 0; r != cls.nrelocs; ++r)
      isRelocated[cls.relocs[r].word] = true;
    for (uint32_t word : std::span(cls.steps, cls.nsteps)) {
      const auto *head =
          reinterpret_cast<const coll_step_head *>(cls.words + word);
      // Where a step's own words do not tell, a whole part is the bound.
      for (uint32_t size = 0; size != ranks.nsizes; ++size)
        if (isRelocated[word + sizeField] || head->size == size)
          most[size] = std::max(most[size], isRelocated[word + countField]
                                                ? ranks.sizes[size].chunks
                                                : head->nchunks);
    }
  }
  return most;
}

std::string describeDtypes(const coll_plan &plan) {
  std::string text;
  for (uint32_t dtype = 0; dtype != kNumDtypes; ++dtype)
    for (uint32_t k = 0; k != plan.nkernels; ++k)
      if (plan.kernels[k].dtype == dtype) {
        text += (text.empty() ? "" : ", ") + dtypeText(dtype);
        break;
      }
  return text;
}

std::string describeOps(const coll_plan &plan) {
  std::string text;
  for (uint32_t op = 0; op != kNumOps; ++op)
    for (uint32_t k = 0; k != plan.nkernels; ++k)
      if (plan.kernels[k].op == op) {
        text += (text.empty() ? "" : ", ") + opText(op);
        break;
      }
  return text;
}

StepText describeStep(const coll_plan &plan, const coll_class &cls,
                      std::span<const uint32_t> words, uint32_t step) {
  StepText text;
  if (step >= cls.nsteps)
    return text;
  const auto *head =
      reinterpret_cast<const coll_step_head *>(&words[cls.steps[step]]);
  if (head->site < plan.nsites) {
    const coll_plan_site &site = plan.sites[head->site];
    text.where = format("%s:%u:%u", site.file, site.line, site.col);
    text.what = site.text;
  } else {
    text.what = format("step %u", step);
  }
  if (head->nchunks == 1)
    text.what += format(", chunk %u", head->first_chunk);
  else if (head->nchunks > 1)
    text.what += format(", chunks %u .. %u", head->first_chunk,
                        head->first_chunk + head->nchunks);
  return text;
}

std::string lastPart(const std::string &text, size_t length) {
  constexpr std::string_view dots = "...";
  assert(length >= dots.size());
  if (text.size() <= length)
    return text;
  return std::string(dots) + text.substr(text.size() - (length - dots.size()));
}

} // namespace coll
