//===- Execution.h - One execution of a program -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COLL_TEST_UNIT_SCHEDULE_EXECUTION_H
#define COLL_TEST_UNIT_SCHEDULE_EXECUTION_H

#include "Executor.h"
#include "Numbers.h"

#include <deque>
#include <map>
#include <span>
#include <tuple>

namespace coll::test {

/// What an execution has come to.
struct State {
  using Address =
      std::tuple<Rank, int, uint32_t, uint32_t, uint32_t,
                 uint32_t>; // rank, space/buffer, part, chunk, round, slice
  struct Cell {
    Number number;
    ElemType type;
    uint32_t size, chunk;
  };
  using Channel = std::tuple<Rank, Rank, uint32_t>; // from, to, tag
  struct Block {
    Rank rank;
    uint32_t block, round = 0, step = 0, slice = 0;
    bool hasLeft = false; ///< the launch
  };
  std::map<Address, Cell> memory;
  std::map<Channel, std::deque<Cell>> fifos;
  std::map<Channel, uint64_t> received, given, sent; // in the ring
  std::map<Channel, uint64_t> put, awaited;
  std::vector<Block> blocks;
  std::vector<uint32_t> launch;    // by rank: those that are over
  std::map<Address, bool> written; // of out

  /// Equal states have equal digests. `onlyCounts`: data does not matter.
  uint64_t digest(bool onlyCounts) const;
};

struct Execution : State {
  Execution(const ProgramSet &programs, const ChunkGraph &graph,
            const Setting &setting);
  void run(std::mt19937_64 &random);
  AllOrders explore(uint64_t maxStates, bool onlyCounts);
  ExecutorResult result;

private:
  /// A block that can go on, or a user whose launch is over.
  struct Event {
    bool isUser;
    uint32_t number;
  };
  using Access = std::pair<Address, bool>; // isWrite

  bool reduces() const { return graph.reduces; }
  Variant variantOf(Rank rank) const {
    return setting.variants.empty() ? Variant::OutOfPlace
                                    : setting.variants[rank];
  }
  const RankProgram &programOf(Rank rank) const {
    return (variantOf(rank) == Variant::InPlace ? member.inPlace
                                                : member.outOfPlace)[rank];
  }
  const Step &stepOf(const Block &b) const {
    return programOf(b.rank).blocks[b.block].steps[b.step];
  }
  std::span<const Port> sourcesOf(const Block &b) const {
    return std::span(programOf(b.rank).ports)
        .subspan(stepOf(b).firstPort, stepOf(b).numSources);
  }
  std::span<const Port> sinksOf(const Block &b) const {
    return std::span(programOf(b.rank).ports)
        .subspan(stepOf(b).firstPort + stepOf(b).numSources,
                 stepOf(b).numSinks);
  }
  Channel channelOf(Rank rank, const Port &port) const;
  bool isDirect(Rank rank, const Port &port) const;
  /// Where the message of a port that goes direct is stored or loaded.
  Address regionOf(const Block &b, const Port &port) const;
  bool isDeferred(const Block &b) const;
  bool isDropped(const Block &b, const Port &sink) const;
  bool isIdle(const Block &b) const;
  /// A message's port in a step that moves all rounds in the first, and this is
  /// its first slice, or a later one.
  bool isAhead(const Block &b, const Port &port) const;
  std::vector<Block> slicesAhead(const Block &b) const;
  bool moveAhead(const Block &b);

  uint32_t slicesOf(const Step &step, uint32_t round) const;
  Number leaf(Rank rank, uint16_t buffer, uint32_t part, uint32_t chunk,
              uint32_t round, uint32_t slice, uint32_t launch, bool raw) const;
  Address addressOf(Rank rank, const Location &loc, uint32_t round,
                    uint32_t slice, bool isToken) const;
  bool exists(Rank rank, const Location &loc, bool isToken) const;

  void initialise();
  void learn();
  void fill(Rank rank);
  const std::vector<Number> &meaning(uint32_t launch, uint32_t round,
                                     uint32_t slice) const;
  bool isRight(Rank rank) const;
  bool isPromised(Rank rank) const;
  bool isQuiet() const;

  bool isOver(const Block &b) const { return b.round == setting.shape.rounds; }
  bool areBlocksDone(const Block &b) const;
  bool canUse(const Block &b, const Port &port) const;
  bool canGo(const Block &b) const;
  bool canLeave(const Block &b) const;
  bool broken() {
    result.isBroken = true;
    return false;
  }
  bool takeSource(const Block &b, const Port &port, Number &number);
  bool giveSink(const Block &b, const Port &port, Number value);
  bool storeTo(const Block &b, const Port &port, Number value);
  bool doSlice(const Block &b);
  void endLaunch(Rank rank);

  bool hasUsers() const {
    return setting.launches > 1 || !setting.direct.empty() || setting.asInRing;
  }
  std::vector<Event> ready();
  bool advance(Event event);
  bool isAnyRace(const std::vector<Event> &events) const;
  std::vector<Access> touched(const Block &b) const;
  void finish();

  const ProgramSet &programs;
  const ProgramMember &member;
  const ChunkGraph &graph;
  const Setting &setting;
  bool hasReadNothing = false, isWrong = false;
  /// By launch and rank: what is in its buffers. While it is being found out:
  /// `isLearning`.
  using Buffers = std::map<Address, uint64_t>;
  Buffers buffersOf(Rank rank) const;
  std::map<std::pair<uint32_t, Rank>, Buffers> expected;
  bool isLearning = false;
  // These stay as they are.
  std::map<Channel, uint32_t> receiver; // index of the block
  std::map<std::pair<Rank, uint32_t>, uint32_t> blockIndex;
  /// By index: channels whose messages are put or got in its rank's memory.
  std::vector<std::vector<Channel>> puts, gets;
  std::set<std::tuple<Rank, uint32_t, uint32_t>> lateReceives; // block, step
  std::set<DirectMessages>
      owned; ///< which the owner's variant does not decline
  mutable std::map<std::tuple<uint32_t, uint32_t, uint32_t>,
                   std::vector<Number>>
      meanings;

  static constexpr uint64_t garbage = 0x5ca1ab1e; // read where nothing is
};

} // namespace coll::test

#endif // COLL_TEST_UNIT_SCHEDULE_EXECUTION_H
