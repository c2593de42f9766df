//===- HandPlan.h - Plans written by hand -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the compiler makes, made by hand against coll/abi.h alone, so that the
// runtime is tested without the compiler and the ABI by two parties.  A step
// combines all its sources, in order, and stores the result into all its sinks.
//
//===----------------------------------------------------------------------===//
#ifndef COLL_TEST_UNIT_RUNTIME_HANDPLAN_H
#define COLL_TEST_UNIT_RUNTIME_HANDPLAN_H

#include "coll/abi.h"
#include "coll/coll.h"

#include <deque>
#include <string>
#include <vector>

namespace coll::test {

/// A word of a table: `base`, or (base + sign * coordinate) mod size, the
/// coordinate being the rank's or launch[0]'s.
struct Word {
  Word(uint32_t base = 0) : base(int32_t(base)) {}
  static Word ofRank(int base, int size, int sign = 1) {
    Word word;
    word.base = base;
    word.size = uint32_t(size);
    word.sign = int8_t(sign);
    return word;
  }
  static Word ofRoot(int base, int size, int sign = 1) {
    Word word = ofRank(base, size, sign);
    word.isRoot = true;
    return word;
  }
  int32_t base = 0;
  uint32_t size = 0;
  int8_t sign = 0;
  bool isRoot = false;
};

struct Port {
  enum Kind : uint32_t { Buffer, Scratch, Channel } kind;
  Word place; ///< buffer; scratch slot; number of the end
  Word part;
};
inline Port buffer(Word place, Word part = 0) {
  return {Port::Buffer, place, part};
}
inline Port scratch(Word slot) { return {Port::Scratch, slot, 0}; }
inline Port channel(uint32_t end) { return {Port::Channel, end, 0}; }

struct Step {
  std::vector<Port> sources, sinks;
  Word chunk = 0;
  Word size = 0;
  uint32_t site = 0;
  /// Waits for blocks to have finished so many steps of the same round.
  std::vector<std::pair<uint32_t, uint32_t>> waits = {};
};

struct End {
  Word peer;
  uint32_t tag = 0;
};

struct Class {
  std::vector<std::vector<Step>> blocks;
  std::vector<End> sends, recvs;
  uint32_t scratchSlots = 0;
  uint32_t present = ~0u;
  std::vector<Word> partSizes; ///< per buffer, or per part when partwise
  bool partwise = false;
  std::vector<uint32_t> given;
  struct Alias {
    uint32_t bufA;
    Word partA;
    uint32_t bufB;
    Word partB;
    uint32_t parts;
  };
  std::vector<Alias> aliases;
};

struct Member {
  std::vector<uint32_t> classOf;
  bool rotate = false;
};

/// A schedule for one number of ranks, as input of HandPlan.
struct Schedule {
  std::string name, contract;
  int nranks = 1;
  std::vector<coll_plan_buf> buffers;
  std::vector<coll_plan_size> sizes;
  std::vector<Class> classes;
  std::vector<Member> members;
  std::vector<int32_t> launchDomain; ///< of one parameter, "root"; or empty
  std::vector<std::string> sites;
  uint32_t channels = 1, instances = 1, roundUnits = 4096;
  uint8_t slots = 0, smallSlots = 0; ///< least, for not to deadlock; 0: usual
  uint32_t ncounts = 1;
  bool reduces = false, vectorCounts = false;
  uint64_t sizesLow = 0, sizesHigh = 0;
  uint64_t digest = 0; ///< 0: from the name
};

/// Owns all tables of a plan.  Several schedules make an object that serves
/// several numbers of ranks.
class HandPlan {
public:
  explicit HandPlan(std::vector<Schedule> schedules);
  HandPlan(const HandPlan &) = delete;
  HandPlan &operator=(const HandPlan &) = delete;

  const coll_plan &plan() const { return source; }
  coll_plan &change() { return source; } ///< to break it
  coll_plan_ranks &changeRanks(size_t i) { return ranks[i]; }
  void setKernels(std::vector<coll_kernel> list) {
    kernels = std::move(list);
    source.kernels = kernels.data();
    source.nkernels = uint32_t(kernels.size());
  }

private:
  void addRanks(const Schedule &schedule);
  coll_class makeClass(const Class &cls, const Schedule &schedule);
  class Table;
  template <typename T> const T *keep(std::vector<T> values);

  std::deque<std::vector<uint32_t>> words;
  std::deque<std::vector<coll_reloc>> relocs;
  std::deque<std::vector<coll_reloc_term>> terms;
  std::deque<std::vector<coll_class>> classes;
  std::deque<std::vector<coll_member>> members;
  std::deque<std::vector<int32_t>> domains;
  std::vector<Schedule> schedules;
  std::vector<coll_plan_ranks> ranks;
  std::vector<coll_plan_site> sites;
  std::vector<coll_kernel> kernels;
  coll_plan source = {};
};

/// coll_step_head.shape of steps on tokens; of others it is 0.
inline constexpr uint32_t kTokenShape = 1;
/// The kernels: f32, f64 and i32 with sum, min and max; or moving bytes.
std::vector<coll_kernel> handKernels(bool reduces);

//===-- Schedules ------------------------------------------------------------//

/// Reduce-scatter and all-gather around a ring; one class, relocated.
Schedule ringAllreduce(int nranks, uint32_t instances = 1,
                       uint32_t roundUnits = 4096);
/// Every rank sends its part to every other; parts, aliases, no relocations.
Schedule directAllgather(int nranks);
/// A chain from the root; one class per place in the chain, rotated.
Schedule chainBroadcast(int nranks);
/// Tokens to and from rank 0.
Schedule starBarrier(int nranks);
/// Each rank sends n[p, q] elements to every other.
Schedule directAlltoallv(int nranks);
/// Two blocks: one receives into scratch, the other stores and sends on.
Schedule twoBlockShift(int nranks, uint32_t instances = 1);

} // namespace coll::test

#endif // COLL_TEST_UNIT_RUNTIME_HANDPLAN_H
