//===- RandomSchedule.cpp - Generator and printer -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "RandomSchedule.h"

#include <algorithm>

using namespace coll;
using namespace coll::naive;

namespace {
class Generator {
public:
  explicit Generator(std::mt19937_64 &random) : random(random) {}
  Schedule run();

private:
  int below(int n) { return int(random() % uint64_t(n)); }
  bool chance(int percent) { return below(100) < percent; }
  int source() {
    int kind = below(100);
    return kind < 70 ? A : kind < 83 ? In : kind < 97 ? Wide : below(numArrays);
  }
  /// Seldom what may hold nothing yet, if something is to be added there.
  int target(bool reduce) {
    if (reduce && chance(95))
      return chance(70) ? A : Wide;
    return chance(60) ? A : Out + below(numArrays - 1);
  }
  Read read(int size);
  std::optional<ElemType> via();
  Statement transfer();
  Statement own();
  Statement group();
  Statement region();
  void addLocal(std::vector<Statement::Op> &ops);
  void disturb(std::vector<Statement::Op> &ops);

  std::mt19937_64 &random;
  Schedule schedule;
};
} // namespace

Read Generator::read(int size) {
  return {source(), below(schedule.numParts - std::max(size - 1, 0)),
          below(schedule.numRanks)};
}

std::optional<ElemType> Generator::via() {
  if (chance(85))
    return std::nullopt;
  return chance(50) ? ElemType::E4M3 : ElemType::BF16;
}

Statement Generator::transfer() {
  Statement s;
  s.reduce = chance(50);
  s.size = chance(25) ? 1 + below(schedule.numParts) : 0;
  s.array = target(s.reduce);
  s.part = below(schedule.numParts - std::max(s.size - 1, 0));
  s.via = via();
  int kind = below(10);
  s.value.kind = kind < 7 ? Expr::One : kind < 9 ? Expr::Reduce : Expr::Sum;
  int reads = s.value.kind == Expr::One   ? 1
              : s.value.kind == Expr::Sum ? 2
                                          : 1 + below(4);
  for (int i = 0; i < reads; ++i)
    s.value.reads.push_back(read(s.size));
  if (s.value.kind == Expr::One && chance(20)) {
    for (int r = 0; r < schedule.numRanks; ++r)
      if (chance(60))
        s.ranks.push_back(r);
    std::shuffle(s.ranks.begin(), s.ranks.end(), random);
  }
  if (s.ranks.empty())
    s.ranks.push_back(below(schedule.numRanks));
  return s;
}

Statement Generator::own() {
  Statement s;
  s.kind = Statement::Own;
  s.reduce = chance(30);
  s.array = target(s.reduce);
  s.value.reads.push_back({source(), 0, 0});
  return s;
}

Statement Generator::group() {
  Statement s;
  s.kind = Statement::Group;
  for (int n = 1 + below(5); n > 0; --n)
    s.body.push_back(transfer());
  return s;
}

void Generator::addLocal(std::vector<Statement::Op> &ops) {
  Statement::Op op{Statement::Op::Local};
  op.reduce = chance(50);
  op.array = target(op.reduce);
  op.part = below(schedule.numParts);
  op.fromArray = A;
  op.fromPart = below(schedule.numParts);
  ops.push_back(op);
}

/// Random messages in one order can be exchanged in that order without any
/// buffer; changes of a process's own order need buffers, or never end.
Statement Generator::region() {
  using Op = Statement::Op;
  Statement s;
  s.kind = Statement::On;
  s.capacity = chance(50) ? 0 : below(4);
  s.processes.resize(schedule.numRanks);
  for (int n = below(8); n > 0; --n) {
    int from = below(schedule.numRanks), to = below(schedule.numRanks);
    Op send{Op::Send, false, to, A, below(schedule.numParts)};
    send.via = via();
    bool reduce = chance(50);
    Op receive{Op::Receive, reduce, from, target(reduce),
               below(schedule.numParts)};
    if (from == to)
      s.processes[from].push_back({Op::Begin});
    s.processes[from].push_back(send);
    s.processes[to].push_back(receive);
    if (from == to)
      s.processes[from].push_back({Op::End});
    if (chance(20))
      addLocal(s.processes[below(schedule.numRanks)]);
  }
  for (auto &ops : s.processes)
    disturb(ops);
  return s;
}

void Generator::disturb(std::vector<Statement::Op> &ops) {
  using Op = Statement::Op;
  auto isPlain = [&](size_t i) {
    return ops[i].kind != Op::Begin && ops[i].kind != Op::End;
  };
  for (size_t i = 0; i + 1 < ops.size(); ++i)
    if (chance(15) && isPlain(i) && isPlain(i + 1))
      std::swap(ops[i], ops[i + 1]);
  for (size_t i = 0; i + 1 < ops.size(); ++i) {
    size_t end = std::min(ops.size(), i + 2 + below(3));
    bool isAllPlain = true;
    for (size_t j = i; j < end; ++j)
      isAllPlain &= isPlain(j);
    bool isInGroup = false;
    for (size_t j = 0; j < i; ++j)
      isInGroup =
          ops[j].kind == Op::Begin || (isInGroup && ops[j].kind != Op::End);
    if (!chance(25) || !isAllPlain || isInGroup)
      continue;
    ops.insert(ops.begin() + end, Op{Op::End});
    ops.insert(ops.begin() + i, Op{Op::Begin});
    i = end + 1;
  }
  if (chance(5) && !ops.empty() && ops.back().kind != Op::End)
    ops.pop_back();
}

Schedule Generator::run() {
  schedule.numRanks = 1 + below(4);
  schedule.numParts = 1 + below(3);
  for (int n = 1 + below(8); n > 0; --n) {
    int kind = below(10);
    schedule.statements.push_back(kind < 6   ? transfer()
                                  : kind < 7 ? own()
                                  : kind < 8 ? group()
                                             : region());
  }
  Statement last; // so that something is in `out`
  last.kind = Statement::Own;
  last.array = Out;
  last.value.reads.push_back({A, 0, 0});
  if (chance(70))
    schedule.statements.push_back(last);
  return schedule;
}

Schedule naive::randomSchedule(std::mt19937_64 &random) {
  return Generator(random).run();
}

//===----------------------------------------------------------------------===//
// Printer
//===----------------------------------------------------------------------===//

static std::string str(int x) { return std::to_string(x); }
static std::string placeText(int array, int part, int size) {
  std::string index =
      size == 0 ? str(part) : str(part) + " .. " + str(part + size);
  return std::string(arrayNames[array]) + "[" + index + "]";
}
static std::string viaText(const std::optional<ElemType> &via) {
  if (!via)
    return "";
  return *via == ElemType::E4M3 ? " via e4m3" : " via bf16";
}

static std::string print(const Statement &s) {
  std::string word = s.reduce ? "reduce " : "copy ";
  if (s.kind == Statement::Own)
    return word + arrayNames[s.value.reads[0].array] + " -> " +
           arrayNames[s.array];
  std::string value;
  for (const Read &read : s.value.reads)
    value += (value.empty()               ? ""
              : s.value.kind == Expr::Sum ? " + "
                                          : ", ") +
             placeText(read.array, read.part, s.size) + "@" + str(read.rank);
  if (s.value.kind == Expr::Reduce)
    value = "reduce(" + value + ")";
  std::string ranks;
  for (int r : s.ranks)
    ranks += (ranks.empty() ? "" : ", ") + str(r);
  if (s.ranks.size() > 1)
    ranks = "[" + ranks + "]";
  return word + value + " -> " + placeText(s.array, s.part, s.size) + "@" +
         ranks + viaText(s.via);
}

static std::string print(const Statement::Op &op) {
  using Op = Statement::Op;
  std::string here = placeText(op.array, op.part, 0);
  switch (op.kind) {
  case Op::Send:
    return "send " + here + " to " + str(op.peer) + viaText(op.via);
  case Op::Receive:
    return std::string("recv ") + (op.reduce ? "reduce " : "") + here +
           " from " + str(op.peer);
  case Op::Local:
    return std::string(op.reduce ? "reduce " : "copy ") +
           placeText(op.fromArray, op.fromPart, 0) + " -> " + here;
  case Op::Begin:
    return "group {";
  case Op::End:
    return "}";
  }
  return "";
}

std::string naive::print(const Schedule &schedule,
                         const std::map<Place, Tree> &outputs) {
  std::string parts = "[" + str(schedule.numParts) + "]";
  std::string text = "contract c {\n  in" + parts + "\n  out" + parts + "\n";
  for (const auto &[place, tree] : outputs)
    text += "  ensure " + placeText(Out, place.part, 0) + "@" +
            str(place.rank) + " == " + expression(tree) + "\n";
  text += "}\nschedule s(ranks N) : c {\n  tmp a" + parts +
          " = in\n  tmp wide" + parts + " : f32 = in\n  tmp empty" + parts +
          "\n";
  for (const Statement &s : schedule.statements) {
    if (s.kind == Statement::On) {
      text += "  on r in all buffer " + str(s.capacity) + " {\n";
      for (size_t r = 0; r < s.processes.size(); ++r) {
        text += "    if r == " + str(r) + " {\n";
        for (const Statement::Op &op : s.processes[r])
          text += "      " + ::print(op) + "\n";
        text += "    }\n";
      }
      text += "  }\n";
    } else if (s.kind == Statement::Group) {
      text += "  group {\n";
      for (const Statement &inner : s.body)
        text += "    " + ::print(inner) + "\n";
      text += "  }\n";
    } else {
      text += "  " + ::print(s) + "\n";
    }
  }
  return text + "}\n";
}
