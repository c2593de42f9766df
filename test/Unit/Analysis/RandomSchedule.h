//===- RandomSchedule.h - Schedules to try the elaboration with -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A small language of statements, a generator, a printer that writes .coll, and
// an interpreter that keeps a map from locations to trees and follows the words
// of docs/Language.md. All arrays have the same number of parts, of one chunk
// each.
//
//===----------------------------------------------------------------------===//
#ifndef COLL_TEST_UNIT_ANALYSIS_RANDOMSCHEDULE_H
#define COLL_TEST_UNIT_ANALYSIS_RANDOMSCHEDULE_H

#include "NaiveTerms.h"

#include <map>
#include <optional>
#include <random>

namespace coll::naive {

enum ArrayName { In, Out, A, Wide, Empty, numArrays };
constexpr const char *arrayNames[] = {"in", "out", "a", "wide", "empty"};

struct Place {
  int array, part, rank;
  auto operator<=>(const Place &) const = default;
};

/// Of a slice of `size` parts that start at `part`; size 0: one part.
struct Read {
  int array, part, rank;
};
struct Expr {
  enum Kind { One, Reduce, Sum } kind = One;
  std::vector<Read> reads;
};

struct Statement {
  enum Kind { Transfer, Own, Group, On } kind = Transfer;
  bool reduce = false;
  Expr value;
  int array = A, part = 0, size = 0; // target
  std::vector<int> ranks;            // written to
  std::optional<ElemType> via;
  std::vector<Statement> body; // Group

  struct Op {
    enum Kind { Send, Receive, Local, Begin, End } kind;
    bool reduce = false;
    int peer = 0;
    int array = A, part = 0; // read by Send, written by Receive and Local
    int fromArray = A, fromPart = 0;  // Local
    std::optional<ElemType> via = {}; // Send
  };
  int capacity = 0;
  std::vector<std::vector<Op>> processes; // On: by rank
};

struct Schedule {
  int numRanks, numParts;
  std::vector<Statement> statements;
};

Schedule randomSchedule(std::mt19937_64 &random);
/// The program, with a contract that promises `outputs`.
std::string print(const Schedule &schedule,
                  const std::map<Place, Tree> &outputs);

/// What is wrong with a schedule, by slug; empty: nothing.
struct Result {
  std::string error;
  std::map<Place, Tree> state;
};
Result interpret(const Schedule &schedule, std::mt19937_64 &random);

} // namespace coll::naive

#endif // COLL_TEST_UNIT_ANALYSIS_RANDOMSCHEDULE_H
