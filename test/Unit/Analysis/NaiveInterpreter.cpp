//===- NaiveInterpreter.cpp - Schedules by the words of the page ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "RandomSchedule.h"

#include <deque>
#include <set>

using namespace coll;
using namespace coll::naive;

namespace {
/// The first error ends everything.
struct Wrong {
  const char *slug;
};

class Interpreter {
public:
  Interpreter(const Schedule &schedule, std::mt19937_64 &random)
      : schedule(schedule), random(random) {}
  Result run();

private:
  using State = std::map<Place, Tree>;
  using Op = Statement::Op;
  /// One location that a statement writes: copies, or adds.
  struct Write {
    Place place;
    Tree value;
    bool reduce;
  };
  static ElemType typeOf(int array) {
    return array == Wide ? ElemType::F32 : ElemType::T;
  }
  Tree get(const State &state, Place place) const;
  Tree evaluate(const Statement &s, const State &state, int element,
                int rank) const;
  std::vector<Write> writesOf(const Statement &s, const State &state) const;
  void apply(const std::vector<Write> &writes, const State &before,
             bool isGroup);
  void runOwn(const Statement &s);
  void runRegion(const Statement &s);

  // Regions, literally: posted operations, queues and one event at a time.
  struct Message {
    Tree value;
    std::optional<ElemType> via;
  };
  struct Posted {
    Op op;
    Message message; // of a send; of a receive once it is complete
    bool isComplete = false;
  };
  struct Process {
    size_t next = 0;
    bool inGroup = false;
    std::vector<Posted> posted;
  };
  bool post(const Statement &s, int rank);
  bool move(int from, int to, int capacity);
  bool finish(int rank);
  std::vector<Process> processes;
  std::map<std::pair<int, int>, std::deque<Message>> queues;

  const Schedule &schedule;
  std::mt19937_64 &random;
  State state;
};
} // namespace

Tree Interpreter::get(const State &state, Place place) const {
  if (place.array == In)
    return leaf(place.part, place.rank);
  auto it = state.find(place);
  if (it == state.end())
    throw Wrong{"empty-read"};
  return it->second;
}

/// Without the final rounding.
Tree Interpreter::evaluate(const Statement &s, const State &state, int element,
                           int) const {
  std::vector<Tree> values;
  for (const Read &read : s.value.reads) {
    Tree value = get(state, {read.array, read.part + element, read.rank});
    values.push_back(s.via ? round(value, *s.via) : value);
  }
  return s.value.kind == Expr::Sum ? add(values[0], values[1]) : fold(values);
}

std::vector<Interpreter::Write>
Interpreter::writesOf(const Statement &s, const State &state) const {
  std::vector<Write> writes;
  for (int rank : s.ranks)
    for (int e = 0; e < std::max(s.size, 1); ++e)
      writes.push_back(
          {{s.array, s.part + e, rank}, evaluate(s, state, e, rank), s.reduce});
  return writes;
}

void Interpreter::apply(const std::vector<Write> &writes, const State &before,
                        bool isGroup) {
  std::map<Place, bool> written;
  for (const Write &write : writes) {
    bool isFirst = !written.contains(write.place);
    if (isGroup && !isFirst && (!write.reduce || !written[write.place]))
      throw Wrong{"written-twice"};
    written[write.place] = write.reduce;
    Tree value = write.value;
    if (write.reduce)
      value = fold({get(isFirst ? before : state, write.place), value});
    state[write.place] = round(value, typeOf(write.place.array));
  }
}

void Interpreter::runOwn(const Statement &s) {
  State before = state;
  std::vector<Write> writes;
  for (int rank = 0; rank < schedule.numRanks; ++rank)
    for (int part = 0; part < schedule.numParts; ++part)
      writes.push_back({{s.array, part, rank},
                        get(before, {s.value.reads[0].array, part, rank}),
                        s.reduce});
  apply(writes, before, false);
}

//===----------------------------------------------------------------------===//
// Regions
//===----------------------------------------------------------------------===//

/// Posts the next operation, or group, if the process waits for nothing.
bool Interpreter::post(const Statement &s, int rank) {
  Process &process = processes[rank];
  const std::vector<Op> &ops = s.processes[rank];
  if (!process.posted.empty() || process.inGroup || process.next == ops.size())
    return false;
  process.inGroup = ops[process.next].kind == Op::Begin;
  do {
    const Op &op = ops[process.next++];
    if (op.kind == Op::Begin || op.kind == Op::End)
      continue;
    Posted posted{op, {}, op.kind == Op::Local};
    if (op.kind == Op::Send)
      posted.message = {get(state, {op.array, op.part, rank}), op.via};
    if (op.kind == Op::Local)
      posted.message = {get(state, {op.fromArray, op.fromPart, rank}), {}};
    process.posted.push_back(posted);
  } while (process.inGroup && ops[process.next - 1].kind != Op::End);
  return true;
}

/// One event of the queue between two ranks, if there is one.
bool Interpreter::move(int from, int to, int capacity) {
  std::deque<Message> &queue = queues[{from, to}];
  Posted *send = nullptr, *receive = nullptr;
  for (Posted &p : processes[from].posted)
    if (!send && !p.isComplete && p.op.kind == Op::Send && p.op.peer == to)
      send = &p;
  for (Posted &p : processes[to].posted)
    if (!receive && !p.isComplete && p.op.kind == Op::Receive &&
        p.op.peer == from)
      receive = &p;
  if (receive && !queue.empty()) {
    receive->message = queue.front();
    queue.pop_front();
    return receive->isComplete = true;
  }
  if (send && receive) {
    receive->message = send->message;
    return send->isComplete = receive->isComplete = true;
  }
  if (send && int(queue.size()) < capacity) {
    queue.push_back(send->message);
    return send->isComplete = true;
  }
  return false;
}

/// All that is posted is complete: the writes show.
bool Interpreter::finish(int rank) {
  Process &process = processes[rank];
  if (process.posted.empty() && !process.inGroup)
    return false;
  std::vector<Write> writes;
  for (const Posted &posted : process.posted) {
    if (!posted.isComplete)
      return false;
    if (posted.op.kind == Op::Send)
      continue;
    Tree value = posted.message.value;
    if (posted.message.via)
      value = round(value, *posted.message.via);
    writes.push_back(
        {{posted.op.array, posted.op.part, rank}, value, posted.op.reduce});
  }
  apply(writes, state, process.inGroup);
  process.posted.clear();
  process.inGroup = false;
  return true;
}

void Interpreter::runRegion(const Statement &s) {
  processes.assign(schedule.numRanks, {});
  queues.clear();
  // Events in random order, until none is possible.
  std::vector<int> events(schedule.numRanks * (2 + schedule.numRanks));
  for (size_t i = 0; i < events.size(); ++i)
    events[i] = int(i);
  bool isMoving = true;
  while (isMoving) {
    isMoving = false;
    std::shuffle(events.begin(), events.end(), random);
    for (int event : events) {
      int rank = event % schedule.numRanks, what = event / schedule.numRanks;
      isMoving |= what == 0   ? post(s, rank)
                  : what == 1 ? finish(rank)
                              : move(rank, what - 2, s.capacity);
    }
  }
  for (int rank = 0; rank < schedule.numRanks; ++rank)
    if (!processes[rank].posted.empty() || processes[rank].inGroup ||
        processes[rank].next != s.processes[rank].size())
      throw Wrong{"stuck"};
  for (const auto &[pair, queue] : queues)
    if (!queue.empty())
      throw Wrong{"stuck"};
}

Result Interpreter::run() {
  for (int rank = 0; rank < schedule.numRanks; ++rank)
    for (int part = 0; part < schedule.numParts; ++part) {
      state[{A, part, rank}] = round(leaf(part, rank), ElemType::T);
      state[{Wide, part, rank}] = round(leaf(part, rank), ElemType::F32);
    }
  Result result;
  try {
    for (const Statement &s : schedule.statements) {
      State before = state;
      if (s.kind == Statement::Own) {
        runOwn(s);
      } else if (s.kind == Statement::On) {
        runRegion(s);
      } else if (s.kind == Statement::Group) {
        std::vector<Write> writes;
        for (const Statement &inner : s.body)
          for (Write &write : writesOf(inner, before))
            writes.push_back(write);
        apply(writes, before, true);
      } else {
        apply(writesOf(s, before), before, false);
      }
    }
  } catch (const Wrong &wrong) {
    result.error = wrong.slug;
  }
  result.state = state;
  return result;
}

Result naive::interpret(const Schedule &schedule, std::mt19937_64 &random) {
  return Interpreter(schedule, random).run();
}
