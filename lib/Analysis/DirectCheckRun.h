//===- DirectCheckRun.h - The proof of one member ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Private to DirectCheck.cpp, which looks for races, and DirectShapes.cpp,
// which looks at messages by themselves.
//
//===----------------------------------------------------------------------===//
#ifndef COLL_LIB_ANALYSIS_DIRECTCHECKRUN_H
#define COLL_LIB_ANALYSIS_DIRECTCHECKRUN_H

#include "lib/Analysis/DirectOrder.h"

namespace coll::direct {

/// Buffer, part and chunk of a rank; parts that share memory are one.
using CellKey = std::tuple<Rank, uint16_t, uint32_t, uint32_t>;

/// When an access happens; `inRing`: if this message uses the ring.
struct Point {
  End at;
  bool isWrite = false;
  const Message *inRing = nullptr;
};

/// Of a region. Without a message the two points are one.
struct Access {
  End ring, direct;
  bool isWrite = false;
  const Message *message = nullptr;
  /// In the first round for all: the message that is moved so. Its region, or
  /// the memory of who moves it.
  const Message *ahead = nullptr;

  std::array<Point, 2> points() const {
    return {Point{ring, isWrite, message}, {direct, isWrite, nullptr}};
  }
};

/// Which step accesses the region where: the one that goes direct.
DirectError::Place placeOf(const Run &run, End end, bool isStore);

class Check {
public:
  Check(const ProgramSet &programs, uint32_t member,
        const DirectCheckOptions &options)
      : programs(programs), member(programs.members[member]), options(options) {
  }
  std::vector<DirectError> run();

private:
  bool hasInPlace() const { return !member.inPlace.empty(); }
  bool isFull() const { return errors.size() >= options.maxErrors; }
  void compareEnds(const Run &run, Variant variant);
  void compareVariants(const Run &apart, const Run &inPlace);
  void compareOrder(const Run &apart, const Run &inPlace);
  void checkShapes(const Run &run, Variant variant);
  const char *shapeError(const Run &run, const Message &message) const;
  const char *aheadError(const Run &run, const Message &message) const;
  const Port &movedPort(const Run &run, const Message &message) const;
  bool isMove(const Step &step) const;
  bool isRegion(const Message &message, const Port &port) const;
  void checkRaces(const Run &run, Variant variant);
  std::map<CellKey, std::vector<Access>> accesses(const Run &run,
                                                  Variant variant) const;
  void addOwnAccesses(const Run &run, Variant variant,
                      std::map<CellKey, std::vector<Access>> &result) const;
  void findUnordered(const Run &apart);
  CellKey cellOf(Rank rank, const Location &where, Variant variant) const;
  bool isLaunchBuffer(const Location &where) const {
    return where.space == Location::Buffer &&
           where.buffer < member.buffers.size() &&
           member.buffers[where.buffer].kind <= Buffer::Out;
  }
  void report(DirectError::Kind kind, const Run &run, const Message &message,
              Variant variant, const char *detail = "");
  void reportRace(const Run &run, Variant variant, const Access &a,
                  const Access &b);
  void reportAhead(const Run &run, Variant variant, const Access &moved,
                   const Access &other);

  const ProgramSet &programs;
  const ProgramMember &member;
  const DirectCheckOptions &options;
  std::map<std::tuple<Rank, uint16_t, uint32_t>, std::pair<uint16_t, uint32_t>>
      alias;
  std::vector<DirectError> errors;
  std::set<MessageId> unordered, ahead; // in either variant
};

} // namespace coll::direct

#endif // COLL_LIB_ANALYSIS_DIRECTCHECKRUN_H
