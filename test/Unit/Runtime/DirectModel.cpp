//===- DirectModel.cpp - Every interleaving of direct messages ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "DirectModel.h"

#include <array>
#include <cstdint>
#include <cstring>
#include <unordered_set>

using namespace coll::test;

namespace {
constexpr unsigned maxMessages = 2, maxPending = 8, ringSlots = 2;
/// Words that the ends share; then payload.
enum Word : uint8_t { Rtr, RtrWin, Avail, AvailWin, Dtail, Ack, Tail, In };
constexpr uint8_t Out = In + maxMessages, Slots = Out + maxMessages,
                  numWords = Slots + ringSlots, none = 0xff;

struct Op {
  enum Kind : uint8_t {
    Store,   ///< `value` to `word`
    Release, ///< the same, after all before it
    Wait,    ///< word >= value
    Window,  ///< reads what stands beside `word`: must be `value`
    Push,    ///< into the ring
    Pop,     ///< out of it: must be `value`
    Read,    ///< `word` must be `value`
    Enter,   ///< the buffers are the launch's from here on
    Leave,   ///< and the user's again
  } kind;
  uint8_t word = 0, value = 0;
  /// Skipped unless the window that was read last is one, or is none.
  enum Condition : uint8_t { Always, IfWindow, IfNone } condition = Always;
  uint8_t launch = 0;
};

/// Bytes only, so that states compare by memory.
struct State {
  std::array<uint8_t, numWords> memory;
  uint8_t popped, isAborted;
  struct Pending {
    uint8_t word, value, isRelease, launch;
  };
  struct End {
    uint8_t at, window, hasLeft, inLaunch, early, pushed, numPending;
    std::array<Pending, maxPending> pending;
  } ends[2];

  std::string bytes() const {
    return {reinterpret_cast<const char *>(this), sizeof *this};
  }
};
constexpr int sender = 0, receiver = 1;

/// What is stored for a message: different in every launch, never 0.
uint8_t stamp(unsigned launch, unsigned message) {
  return uint8_t(16 * (launch + 1) + message);
}
constexpr uint8_t junk = 1; // what users leave

class Checker {
public:
  explicit Checker(const DirectModel &model) : model(model) {
    for (unsigned l = 0; l != model.launches.size(); ++l)
      addLaunch(l);
  }
  /// "" or what went wrong.
  std::string run();
  size_t numStates() const { return visited.size(); }

private:
  bool is(DirectMutant mutant) const { return model.mutant == mutant; }
  void addLaunch(unsigned l);
  void addSender(unsigned l);
  void addReceiver(unsigned l);
  void post(std::vector<Op> &to, uint8_t word, uint8_t number, bool hasWindow,
            bool isCareless) const;
  void push(const State &state) {
    if (visited.insert(state.bytes()).second)
      stack.push_back(state);
  }
  void fail(const std::string &what) {
    if (error.empty())
      error = what;
  }
  void step(State s, int who);
  void commit(const State &s, int who);
  bool canPass(const State &s, int who, const Op &op) const;
  void perform(State &s, int who, const Op &op);
  uint8_t load(const State &s, int who, uint8_t word) const;
  bool isDone(const State &s, int who) const {
    return s.ends[who].hasLeft || s.ends[who].at == ops[who].size();
  }

  const DirectModel &model;
  std::vector<Op> ops[2];
  std::unordered_set<std::string> visited;
  std::vector<State> stack;
  std::string error;
  bool moved = false;
  uint8_t direct = 0; // messages put so far, as ops are made
};

} // namespace

void Checker::addLaunch(unsigned l) {
  const uint8_t before = direct;
  addSender(l);
  direct = before;
  addReceiver(l);
}

/// The word of a launch is 2 n + 1 behind a window, which is the next word, or
/// 2 n without.
void Checker::post(std::vector<Op> &to, uint8_t word, uint8_t number,
                   bool hasWindow, bool isCareless) const {
  const bool isAlone = is(DirectMutant::WindowAlone);
  if (hasWindow || isAlone)
    to.push_back({Op::Store, uint8_t(word + 1), hasWindow ? number : uint8_t(0),
                  Op::Always, number});
  to.push_back({isCareless ? Op::Store : Op::Release, word,
                uint8_t(2 * number + (hasWindow && !isAlone)), Op::Always,
                number});
}

void Checker::addSender(unsigned l) {
  const ModelLaunch &launch = model.launches[l];
  const uint8_t number = uint8_t(l + 1);
  const bool hasGets = launch.messages.find('g') != std::string::npos;
  auto add = [&](Op op) {
    op.launch = number;
    ops[sender].push_back(op);
  };
  for (uint8_t m = 0; m != launch.messages.size(); ++m)
    add({Op::Store, uint8_t(In + m), stamp(l, m)});
  add({Op::Enter});
  if (hasGets)
    post(ops[sender], Avail, number, launch.hasIn,
         is(DirectMutant::AvailNoRelease));
  for (uint8_t m = 0; m != launch.messages.size(); ++m) {
    if (launch.messages[m] == 'g') {
      if (!launch.hasIn)
        add({Op::Push, 0, stamp(l, m)});
      continue;
    }
    if (!is(DirectMutant::NoRtrWait))
      add({Op::Wait, Rtr, uint8_t(is(DirectMutant::AnyRtr) ? 2 : 2 * number)});
    add({Op::Window, Rtr, launch.hasOut ? number : uint8_t(0)});
    add({Op::Store, uint8_t(Out + m), stamp(l, m), Op::IfWindow});
    add({is(DirectMutant::DtailNoRelease) ? Op::Store : Op::Release, Dtail,
         uint8_t(direct + 1), Op::IfWindow});
    add({Op::Push, 0, stamp(l, m), Op::IfNone});
    direct += launch.hasOut;
  }
  if (hasGets && launch.hasIn && !is(DirectMutant::NoAckWait))
    add({Op::Wait, Ack, number});
  add({Op::Leave});
}

void Checker::addReceiver(unsigned l) {
  const ModelLaunch &launch = model.launches[l];
  const uint8_t number = uint8_t(l + 1);
  const bool hasGets = launch.messages.find('g') != std::string::npos,
             hasPuts = launch.messages.find('p') != std::string::npos;
  auto add = [&](Op op) {
    op.launch = number;
    ops[receiver].push_back(op);
  };
  auto addAck = [&] {
    if (hasGets)
      add({Op::Release, Ack, number});
  };
  for (uint8_t m = 0; m != launch.messages.size(); ++m)
    add({Op::Store, uint8_t(Out + m), junk});
  add({Op::Enter});
  if (hasPuts)
    post(ops[receiver], Rtr, number, launch.hasOut,
         is(DirectMutant::RtrNoRelease));
  if (is(DirectMutant::AckEarly))
    addAck();
  for (uint8_t m = 0; m != launch.messages.size(); ++m) {
    if (launch.messages[m] == 'p') {
      direct += launch.hasOut;
      if (!launch.hasOut)
        add({Op::Pop, 0, stamp(l, m)});
      continue;
    }
    if (!is(DirectMutant::NoAvailWait))
      add({Op::Wait, Avail, uint8_t(2 * number)});
    add({Op::Window, Avail, launch.hasIn ? number : uint8_t(0)});
    add({Op::Read, uint8_t(In + m), stamp(l, m), Op::IfWindow});
    add({Op::Pop, 0, stamp(l, m), Op::IfNone});
  }
  if (!is(DirectMutant::AckEarly))
    addAck();
  if (hasPuts && launch.hasOut && !is(DirectMutant::NoDtailWait))
    add({Op::Wait, Dtail, direct});
  add({Op::Leave});
  for (uint8_t m = 0; m != launch.messages.size(); ++m)
    if (launch.messages[m] == 'p' && launch.hasOut)
      add({Op::Read, uint8_t(Out + m), stamp(l, m)});
}

/// What this end sees: its own stores first.
uint8_t Checker::load(const State &s, int who, uint8_t word) const {
  const State::End &end = s.ends[who];
  for (uint8_t i = end.numPending; i-- != 0;)
    if (end.pending[i].word == word)
      return end.pending[i].value;
  return s.memory[word];
}

bool Checker::canPass(const State &s, int who, const Op &op) const {
  switch (op.kind) {
  case Op::Wait:
    return s.memory[op.word] >= op.value;
  case Op::Push:
    return s.ends[who].pushed - s.popped < int(ringSlots);
  case Op::Pop:
    return s.memory[Tail] > s.popped;
  default:
    return true;
  }
}

void Checker::perform(State &s, int who, const Op &op) {
  State::End &end = s.ends[who];
  auto store = [&](uint8_t word, uint8_t value, bool isRelease) {
    end.pending.at(end.numPending++) = {word, value, isRelease, op.launch};
  };
  auto expect = [&](uint8_t have, const char *what) {
    if (have != op.value && !s.isAborted)
      fail(std::string(what) + " of launch " + std::to_string(op.launch) +
           ": " + std::to_string(have) + ", not " + std::to_string(op.value));
  };
  const uint8_t early = end.early;
  switch (op.kind) {
  case Op::Store:
  case Op::Release:
    store(op.word, op.value, op.kind == Op::Release);
    return;
  case Op::Wait:
    return;
  case Op::Window:
    end.window = load(s, who, op.word) == 2 * op.launch + 1 ||
                         is(DirectMutant::WindowAlone)
                     ? load(s, who, uint8_t(op.word + 1))
                     : uint8_t(0);
    expect(end.window, "a window");
    return;
  case Op::Push:
    store(uint8_t(Slots + end.pushed % ringSlots), op.value, false);
    store(Tail, ++end.pushed, true);
    return;
  case Op::Pop:
    expect(s.memory[Slots + s.popped % ringSlots], "a message in the ring");
    ++s.popped;
    return;
  case Op::Read:
    if (op.word < Out && s.ends[sender].inLaunch != op.launch && !s.isAborted)
      fail("in is read in no launch");
    expect(early != none ? early : load(s, who, op.word),
           op.word < Out ? "in" : "out");
    end.early = none;
    return;
  case Op::Enter:
    end.inLaunch = op.launch;
    return;
  case Op::Leave:
    end.inLaunch = 0;
    return;
  }
}

/// What the mutants without an acquire may have loaded before the poll: the
/// next load of the same end.
static const Op *nextRead(const std::vector<Op> &ops, size_t at) {
  for (; at != ops.size(); ++at)
    if (ops[at].kind == Op::Read)
      return &ops[at];
  return nullptr;
}

void Checker::step(State s, int who) {
  State::End &end = s.ends[who];
  if (isDone(s, who))
    return;
  const Op &op = ops[who][end.at];
  const bool isWait =
      op.kind == Op::Wait || op.kind == Op::Push || op.kind == Op::Pop;
  if (isWait && s.isAborted && !is(DirectMutant::DeafToAbort)) {
    State left = s;
    left.ends[who].hasLeft = 1;
    moved = true;
    push(left);
  }
  if (op.kind == Op::Wait && end.early == none &&
      ((is(DirectMutant::DtailNoAcquire) && op.word == Dtail) ||
       (is(DirectMutant::AvailNoAcquire) && op.word == Avail)))
    if (const Op *read = nextRead(ops[who], end.at)) {
      State early = s;
      early.ends[who].early = load(s, who, read->word);
      push(early); // no progress by itself
    }
  // A store that does not wait for the poll before it.
  const bool isPassed =
      canPass(s, who, op) ||
      (is(DirectMutant::AckNoAcquire) && op.kind == Op::Wait && op.word == Ack);
  if (!isPassed || end.numPending + 2u > maxPending)
    return;
  perform(s, who, op);
  auto isSkipped = [&](const Op &next) {
    return (next.condition == Op::IfWindow && end.window == 0) ||
           (next.condition == Op::IfNone && end.window != 0);
  };
  ++end.at;
  while (end.at != ops[who].size() && isSkipped(ops[who][end.at]))
    ++end.at;
  moved = true;
  push(s);
}

/// Any store may become visible, but for later ones to the same word, and
/// release stores before all that precede them.
void Checker::commit(const State &state, int who) {
  const State::End &of = state.ends[who];
  for (uint8_t i = 0; i != of.numPending; ++i) {
    const State::Pending store = of.pending[i];
    bool isFree = !store.isRelease || i == 0;
    for (uint8_t j = 0; j != i; ++j)
      isFree &= of.pending[j].word != store.word;
    if (!isFree)
      continue;
    State s = state;
    State::End &end = s.ends[who];
    for (uint8_t j = i; j + 1 != end.numPending; ++j)
      end.pending[j] = end.pending[j + 1];
    end.pending[--end.numPending] = {0, 0, 0, 0};
    if (who == sender && store.word >= Out && store.word < Slots &&
        s.ends[receiver].inLaunch != store.launch && !s.isAborted)
      fail("out is stored to in no launch");
    s.memory[store.word] = store.value;
    moved = true;
    push(s);
  }
}

std::string Checker::run() {
  State first;
  std::memset(&first, 0, sizeof first);
  for (State::End &end : first.ends)
    end.early = none;
  push(first);
  while (!stack.empty() && error.empty()) {
    State s = stack.back();
    stack.pop_back();
    moved = false;
    for (int who : {sender, receiver}) {
      step(s, who);
      commit(s, who);
    }
    if (!moved && !(isDone(s, sender) && isDone(s, receiver)))
      fail(s.isAborted ? "an abort ends no wait" : "both wait");
    if (!model.mayAbort || s.isAborted)
      continue;
    s.isAborted = 1; // by whom it may be, or because one end is gone
    push(s);
    for (int who : {sender, receiver}) {
      State killed = s;
      killed.ends[who].hasLeft = 1;
      push(killed);
    }
  }
  return error;
}

Checked coll::test::check(const DirectModel &model) {
  Checker checker(model);
  Checked result;
  result.error = checker.run();
  result.numStates = checker.numStates();
  return result;
}
