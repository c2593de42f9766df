//===- HandPlan.cpp - Plans written by hand -------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Words of a step behind its coll_step_head: number of sources, of sinks, of
// waits, words in all; then per port kind, place, part; then per wait block and
// steps.  Just before a block's first step: its receive ends, then their
// number.
//
//===----------------------------------------------------------------------===//

#include "HandPlan.h"

#include <functional>
#include <set>

namespace coll::test {

/// Collects words and the relocations among them.
class HandPlan::Table {
public:
  std::vector<uint32_t> words;
  std::vector<coll_reloc> relocs;
  std::vector<coll_reloc_term> terms;

  uint32_t size() const { return uint32_t(words.size()); }
  void add(Word word) {
    if (word.sign != 0) {
      relocs.push_back({size(), uint32_t(terms.size()), 1});
      terms.push_back(
          {word.base, word.size, 1, 0, word.sign, uint8_t(word.isRoot), 0});
    }
    words.push_back(uint32_t(word.base));
  }
  void addStep(const Step &step, uint32_t number, bool isToken);
  /// The word of the first step; those of all are added to `steps`.
  uint32_t addBlock(const std::vector<Step> &block, const Schedule &schedule,
                    std::vector<uint32_t> &steps);
};

void HandPlan::Table::addStep(const Step &step, uint32_t number, bool isToken) {
  uint32_t begin = size();
  add(isToken ? kTokenShape : 0);
  add(number);
  add(step.site);
  add(step.chunk);
  add(1);
  add(step.size);
  add(uint32_t(step.sources.size()));
  add(uint32_t(step.sinks.size()));
  add(uint32_t(step.waits.size()));
  uint32_t lengthWord = size();
  add(0);
  for (const std::vector<Port> *side : {&step.sources, &step.sinks})
    for (const Port &port : *side) {
      add(uint32_t(port.kind));
      add(port.place);
      add(port.part);
    }
  for (auto [other, count] : step.waits) {
    add(other);
    add(count);
  }
  words[lengthWord] = size() - begin;
}

uint32_t HandPlan::Table::addBlock(const std::vector<Step> &block,
                                   const Schedule &schedule,
                                   std::vector<uint32_t> &steps) {
  std::set<uint32_t> ends;
  for (const Step &step : block)
    for (const Port &port : step.sources)
      if (port.kind == Port::Channel)
        ends.insert(uint32_t(port.place.base));
  for (uint32_t end : ends)
    add(end);
  add(uint32_t(ends.size()));
  uint32_t first = size();
  for (const Step &step : block) {
    const coll_plan_size &extent = schedule.sizes[size_t(step.size.base)];
    bool isToken = extent.kind == COLL_SIZE_CONST && extent.value == 0;
    steps.push_back(size());
    addStep(step, uint32_t(steps.size()) - 1, isToken);
  }
  return first;
}

template <typename T> const T *HandPlan::keep(std::vector<T> values) {
  auto &pool = [&]() -> auto & {
    if constexpr (std::is_same_v<T, uint32_t>)
      return words;
    else if constexpr (std::is_same_v<T, coll_reloc>)
      return relocs;
    else if constexpr (std::is_same_v<T, coll_reloc_term>)
      return terms;
    else if constexpr (std::is_same_v<T, coll_class>)
      return classes;
    else if constexpr (std::is_same_v<T, coll_member>)
      return members;
    else
      return domains;
  }();
  pool.push_back(std::move(values));
  return pool.back().data();
}

coll_class HandPlan::makeClass(const Class &cls, const Schedule &schedule) {
  Table table;
  coll_class result = {};
  std::vector<uint32_t> steps;
  result.send_ends = table.size();
  result.nsend = uint32_t(cls.sends.size());
  for (const End &end : cls.sends) {
    table.add(end.peer);
    table.add(end.tag);
  }
  result.recv_ends = table.size();
  result.nrecv = uint32_t(cls.recvs.size());
  for (const End &end : cls.recvs) {
    table.add(end.peer);
    table.add(end.tag);
  }
  std::vector<uint32_t> entries;
  for (const std::vector<Step> &block : cls.blocks) {
    entries.push_back(table.addBlock(block, schedule, steps));
    entries.push_back(uint32_t(block.size()));
  }
  result.program_blocks = uint32_t(cls.blocks.size());
  for (uint32_t &entry : result.entry)
    entry = table.size();
  for (uint32_t word : entries)
    table.add(word);
  for (uint32_t &slots : result.scratch_slots)
    slots = cls.scratchSlots;
  result.present = cls.present;
  result.part_sizes = table.size();
  result.size_stride = cls.partwise;
  for (const Word &size : cls.partSizes)
    table.add(size);
  if (cls.partSizes.empty())
    for (size_t b = 0; b != schedule.buffers.size(); ++b)
      table.add(0);
  result.given = table.size();
  result.ngiven = uint32_t(cls.given.size());
  for (uint32_t size : cls.given)
    table.add(size);
  result.aliases = table.size();
  result.naliases = uint32_t(cls.aliases.size());
  for (const Class::Alias &alias : cls.aliases)
    for (Word word : {Word(alias.bufA), alias.partA, Word(alias.bufB),
                      alias.partB, Word(alias.parts)})
      table.add(word);
  result.nwords = table.size();
  result.nrelocs = uint32_t(table.relocs.size());
  result.nsteps = uint32_t(steps.size());
  result.words = keep(std::move(table.words));
  result.relocs = keep(std::move(table.relocs));
  result.terms = keep(std::move(table.terms));
  result.steps = keep(std::move(steps));
  return result;
}

void HandPlan::addRanks(const Schedule &schedule) {
  coll_plan_ranks r = {};
  r.nranks = uint32_t(schedule.nranks);
  r.ndims = 1;
  r.dims[0] = r.nranks;
  r.digest = schedule.digest
                 ? schedule.digest
                 : std::hash<std::string>()(schedule.name) + r.nranks;
  std::vector<coll_class> made;
  for (const Class &cls : schedule.classes)
    made.push_back(makeClass(cls, schedule));
  r.nclasses = uint32_t(made.size());
  r.classes = keep(std::move(made));
  std::vector<coll_member> list;
  for (const Member &member : schedule.members)
    list.push_back({keep(member.classOf), member.rotate, 0});
  r.nmembers = uint32_t(list.size());
  r.members = keep(std::move(list));
  r.launch_count[0] = uint32_t(schedule.launchDomain.size());
  r.launch_values = keep(schedule.launchDomain);
  r.nsizes = uint32_t(schedule.sizes.size());
  r.sizes = schedule.sizes.data();
  r.nchannels = schedule.channels;
  r.round_units = schedule.roundUnits;
  r.instances = schedule.instances;
  r.slots = schedule.slots;
  r.small_slots = schedule.smallSlots;
  r.bufs = schedule.buffers.data();
  ranks.push_back(r);
}

HandPlan::HandPlan(std::vector<Schedule> list) : schedules(std::move(list)) {
  for (const Schedule &schedule : schedules)
    addRanks(schedule);
  const Schedule &first = schedules.front();
  uint32_t line = 10;
  for (const std::string &text : first.sites)
    sites.push_back({"hand.coll", line++, 5, text.c_str()});
  kernels = handKernels(first.reduces);
  source.abi = COLL_ABI;
  source.flags = first.vectorCounts ? COLL_PLAN_VCOUNTS : 0;
  source.name = first.name.c_str();
  source.contract = first.contract.c_str();
  source.source = "hand.coll";
  source.contract_hash = std::hash<std::string>()(first.contract);
  source.nbufs = uint32_t(first.buffers.size());
  source.nlaunch = first.launchDomain.empty() ? 0 : 1;
  source.ncounts = first.ncounts;
  source.nranks_entries = uint32_t(ranks.size());
  source.nkernels = uint32_t(kernels.size());
  source.nsites = uint32_t(sites.size());
  source.reduces = first.reduces;
  source.ranks = ranks.data();
  source.kernels = kernels.data();
  source.sites = sites.data();
  source.launch_names = "root";
  source.sizes_lo = first.sizesLow;
  source.sizes_hi = first.sizesHigh;
}

} // namespace coll::test
