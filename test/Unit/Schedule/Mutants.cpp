//===- Mutants.cpp - Programs with one thing broken -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Mutants.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <functional>
#include <tuple>

using namespace coll;
using namespace coll::test;

namespace {
/// Operators, and why a mutant of each may still be the same program.
struct Operator {
  const char *name, *why;
};
const Operator operators[] = {
    {"drop step", "the step makes nothing that is used"},
    {"duplicate step", "it stores the same again"},
    {"swap steps", "the FIFOs hold what now comes earlier"},
    {"drop sink", "nobody uses what was stored"},
    {"redirect send", "both channels lead to the same"},
    {"redirect receive", "both channels bring the same"},
    {"load other chunk", "both hold the same"},
    {"store other chunk", "both are promised the same"},
    {"store other part", "both are promised the same"},
    {"other slot", "the slot is free at that time"},
    {"swap sources", "the first two of a sum change places"},
    {"toggle complete", "the value is no number"},
    {"toggle scaled", "the value is no number"},
    {"toggle rounding of scaled", "the result is rounded to the same"},
    {"other type", "the values fit both types"},
    {"other extent", "both chunks are as long"},
    {"other shift", "the order of the sum is the hardware's"},
    {"drop wait", "another wait or message orders the same"},
    {"wait earlier", "the step between touches nothing shared"},
    {"other block", "messages order what waits ordered"}};
static_assert(std::size(operators) == size_t(Mutation::Count));

/// One rank's program and where to break it.
class Mutator {
public:
  Mutator(RankProgram &program, const ProgramSet &programs,
          std::mt19937_64 &random)
      : program(program), programs(programs), random(random) {}
  bool run(Mutation mutation);

private:
  using Wanted = std::function<bool(const Port &)>;
  bool changePort(const Wanted &wanted, const std::function<void(Port &)> &how);
  bool changeStep(const std::function<bool(Step &)> &change);
  bool changeOrder(Mutation mutation);
  bool changeMemory(Mutation mutation);
  bool changeNumbers(Mutation mutation);
  bool changeWaits(Mutation mutation);
  bool moveToOtherBlock();
  llvm::ArrayRef<Port> portsOf(const Step &step) const {
    return llvm::ArrayRef(program.ports)
        .slice(step.firstPort, step.numSources + step.numSinks);
  }
  bool mattersTwice(const Step &step) const;
  bool shareSomething(const Step &a, const Step &b) const;
  /// The hardware sums as it likes.
  bool isUnordered(const Step &step) const {
    return llvm::any_of(
        programs.exprs[step.expr].nodes,
        [](const ExprNode &node) { return node.kind == ExprNode::FoldAny; });
  }
  uint32_t chunksOf(const Step &step) const {
    return programs.sizes[step.size].chunks;
  }
  /// A value other than `old` below `limit`.
  uint32_t another(uint32_t old, uint32_t limit) {
    return limit < 2 ? old : (old + 1 + random() % (limit - 1)) % limit;
  }

  RankProgram &program;
  const ProgramSet &programs;
  std::mt19937_64 &random;
};
} // namespace

static bool isChannel(const Port &port) {
  return port.kind == Port::Recv || port.kind == Port::Send;
}
static bool isMemory(const Port &port) { return !isChannel(port); }
static bool isIn(const Port &port, Port::Kind kind, Location::Space space) {
  return port.kind == kind && port.loc.space == space;
}

const char *test::nameOf(Mutation mutation) {
  return operators[int(mutation)].name;
}

const char *test::whyEquivalent(Mutation mutation) {
  return operators[int(mutation)].why;
}

/// Changes one of the ports that are wanted. False: there is none, or it ends
/// as it was.
bool Mutator::changePort(const Wanted &wanted,
                         const std::function<void(Port &)> &how) {
  std::vector<Port *> ports;
  for (const BlockProgram &block : program.blocks)
    for (const Step &step : block.steps)
      for (uint32_t p = step.firstPort;
           p < step.firstPort + step.numSources + step.numSinks; ++p)
        if (wanted(program.ports[p]))
          ports.push_back(&program.ports[p]);
  if (ports.empty())
    return false;
  Port &port = *ports[random() % ports.size()];
  auto all = [](const Port &p) {
    return std::tuple(p.kind, p.type, p.scaled, p.scaledRounded,
                      p.receivedScaled, p.end, p.loc.space, p.loc.buffer,
                      p.loc.part, p.loc.chunk, p.direct);
  };
  auto before = all(port);
  how(port);
  return all(port) != before;
}

/// Tries the steps from a random one on, until `change` takes one.
bool Mutator::changeStep(const std::function<bool(Step &)> &change) {
  std::vector<Step *> steps;
  for (BlockProgram &block : program.blocks)
    for (Step &step : block.steps)
      steps.push_back(&step);
  size_t first = steps.empty() ? 0 : random() % steps.size();
  for (size_t i = 0; i < steps.size(); ++i)
    if (change(*steps[(first + i) % steps.size()]))
      return true;
  return false;
}

/// To do it twice is more than to store the same again.
bool Mutator::mattersTwice(const Step &step) const {
  for (const Port &port : portsOf(step)) {
    if (isChannel(port))
      return true;
    for (const Port &other : portsOf(step))
      if (port.kind == Port::Store && other.kind == Port::Load &&
          port.loc == other.loc)
        return true;
  }
  return false;
}

/// A channel; memory that one of them writes; or one receives and one sends, so
/// that the order may decide a deadlock.
bool Mutator::shareSomething(const Step &a, const Step &b) const {
  for (const Port &x : portsOf(a))
    for (const Port &y : portsOf(b)) {
      if (isChannel(x) != isChannel(y))
        continue;
      if (isChannel(x) && (x.kind != y.kind || x.end == y.end))
        return true;
      if (isMemory(x) && x.loc == y.loc &&
          (x.kind == Port::Store || y.kind == Port::Store))
        return true;
    }
  return false;
}

bool Mutator::changeOrder(Mutation mutation) {
  BlockProgram &block = program.blocks[random() % program.blocks.size()];
  if (block.steps.empty())
    return false;
  const size_t first = random() % block.steps.size();
  for (size_t i = 0; i < block.steps.size(); ++i) {
    size_t at = (first + i) % block.steps.size();
    auto it = block.steps.begin() + at;
    if (mutation == Mutation::DropStep) {
      block.steps.erase(it);
      return true;
    }
    if (mutation == Mutation::DuplicateStep && mattersTwice(*it)) {
      block.steps.insert(it, Step(*it));
      return true;
    }
    if (mutation == Mutation::SwapSteps && at + 1 < block.steps.size() &&
        shareSomething(it[0], it[1])) {
      std::swap(it[0], it[1]);
      return true;
    }
  }
  return false;
}

bool Mutator::changeMemory(Mutation mutation) {
  const uint32_t chunks = programs.sizes[0].chunks;
  auto ofBuffer = [](Port::Kind kind) {
    return [kind](const Port &p) { return isIn(p, kind, Location::Buffer); };
  };
  switch (mutation) {
  case Mutation::OtherChunkLoaded:
    return changePort(ofBuffer(Port::Load), [&](Port &p) {
      p.loc.chunk = another(p.loc.chunk, chunks);
    });
  case Mutation::OtherChunkStored:
    return changePort(ofBuffer(Port::Store), [&](Port &p) {
      p.loc.chunk = another(p.loc.chunk, chunks);
    });
  case Mutation::OtherPartStored:
    return changePort(ofBuffer(Port::Store), [&](Port &p) {
      p.loc.part =
          another(p.loc.part, programs.members[0].buffers[p.loc.buffer].parts);
    });
  default:
    return changePort(
        [](const Port &p) {
          return isMemory(p) && p.loc.space == Location::Scratch;
        },
        [&](Port &p) {
          p.loc.part = another(p.loc.part, program.scratchSlots);
        });
  }
}

bool Mutator::changeNumbers(Mutation mutation) {
  switch (mutation) {
  case Mutation::SwapSources:
    return changeStep([&](Step &step) {
      if (step.numSources < 3 || isUnordered(step))
        return false;
      // Not the first two of the sum, which may change places.
      auto operand = [&](uint32_t i) -> Port & {
        return program
            .ports[step.firstPort + (i + step.shift) % step.numSources];
      };
      std::swap(operand(step.numSources - 2), operand(step.numSources - 1));
      return true;
    });
  case Mutation::ToggleComplete:
    return programs.numRanks() > 1 && changeStep([&](Step &step) {
             if (programs.sizes[step.size].isToken())
               return false;
             step.complete = !step.complete;
             return true;
           });
  case Mutation::ToggleScaled:
    return programs.reduces &&
           changePort(
               [](const Port &p) {
                 return p.kind == Port::Load || p.kind == Port::Recv;
               },
               [&](Port &p) {
                 (p.kind == Port::Load ? p.scaled : p.receivedScaled) ^= true;
               });
  case Mutation::ToggleRounded:
    // Of a copy, the result is rounded again.
    return programs.reduces && changeStep([&](Step &step) {
             for (uint32_t i = 0; i < step.numSources; ++i) {
               Port &p = program.ports[step.firstPort + i];
               bool isCopy = programs.exprs[step.expr].isIdentity();
               if ((p.scaled || p.receivedScaled) && !isCopy) {
                 p.scaledRounded ^= true;
                 return true;
               }
             }
             return false;
           });
  case Mutation::OtherType:
    return changePort(
        [&](const Port &p) { return isMemory(p) || p.kind == Port::Send; },
        [&](Port &p) {
          p.type = p.type == ElemType::BF16 ? ElemType::T : ElemType::BF16;
        });
  case Mutation::OtherChunk:
    return changeStep([&](Step &step) {
      uint32_t before = step.chunk;
      step.chunk = another(step.chunk, chunksOf(step));
      return step.chunk != before;
    });
  default:
    return changeStep([&](Step &step) {
      if (step.numSources < 3 || isUnordered(step))
        return false;
      step.shift = another(step.shift, step.numSources);
      return true;
    });
  }
}

bool Mutator::changeWaits(Mutation mutation) {
  return changeStep([&](Step &step) {
    if (!step.numWaits)
      return false;
    BlockWait &last = program.waits[step.firstWait + step.numWaits - 1];
    if (mutation == Mutation::DropWait)
      --step.numWaits;
    else if (last.step == 0)
      return false;
    else
      --last.step;
    return true;
  });
}

/// A step without messages, to the end of a block where nothing waits for it or
/// lets it wait. Steps behind it keep their numbers: it stays, without sinks.
bool Mutator::moveToOtherBlock() {
  if (program.blocks.size() < 2)
    return false;
  const uint32_t from = random() % program.blocks.size();
  const uint32_t to = another(from, program.blocks.size());
  for (Step &step : program.blocks[from].steps) {
    if (llvm::any_of(portsOf(step), isChannel))
      continue;
    program.blocks[to].steps.push_back(step);
    program.blocks[to].steps.back().numWaits = 0;
    step.numSinks = 0;
    return true;
  }
  return false;
}

bool Mutator::run(Mutation mutation) {
  switch (mutation) {
  case Mutation::DropStep:
  case Mutation::DuplicateStep:
  case Mutation::SwapSteps:
    return changeOrder(mutation);
  case Mutation::DropSink:
    return changeStep([](Step &step) {
      if (step.numSinks < 2)
        return false;
      --step.numSinks; // the last
      return true;
    });
  case Mutation::RedirectSend:
    return changePort(
        [](const Port &p) { return p.kind == Port::Send; },
        [&](Port &p) { p.end = another(p.end, program.sendEnds.size()); });
  case Mutation::RedirectReceive:
    return changePort(
        [](const Port &p) { return p.kind == Port::Recv; },
        [&](Port &p) { p.end = another(p.end, program.recvEnds.size()); });
  case Mutation::OtherChunkLoaded:
  case Mutation::OtherChunkStored:
  case Mutation::OtherPartStored:
  case Mutation::OtherSlot:
    return changeMemory(mutation);
  case Mutation::DropWait:
  case Mutation::WaitEarlier:
    return changeWaits(mutation);
  case Mutation::OtherBlock:
    return moveToOtherBlock();
  default:
    return changeNumbers(mutation);
  }
}

bool test::mutate(RankProgram &program, const ProgramSet &programs,
                  Mutation mutation, std::mt19937_64 &random) {
  return !program.blocks.empty() &&
         Mutator(program, programs, random).run(mutation);
}

Mutated test::mutate(ProgramSet &programs, Mutation mutation,
                     std::mt19937_64 &random) {
  Mutated result;
  result.member = random() % programs.members.size();
  ProgramMember &member = programs.members[result.member];
  if (!member.inPlace.empty() && random() % 3 == 0)
    result.variant = Variant::InPlace;
  auto &ranks =
      result.variant == Variant::InPlace ? member.inPlace : member.outOfPlace;
  // Some ranks may have nothing to change.
  const Rank first = random() % programs.numRanks();
  for (Rank i = 0; i < programs.numRanks() && !result.isChanged; ++i) {
    result.rank = (first + i) % programs.numRanks();
    result.isChanged = mutate(ranks[result.rank], programs, mutation, random);
  }
  return result;
}
