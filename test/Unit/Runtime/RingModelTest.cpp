//===- RingModelTest.cpp - Every interleaving of one ring -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A small model checker: a sender, a receiver and the memory between them, all
// interleavings of their steps, and every order in which the sender's stores
// may become visible.  A release store becomes visible after all stores before
// it; other stores whenever they like.
//
//   sender    credit?  store payload, publish (tail; or the slot's flag)
//   receiver  message?  read payload, count, return credits (head) in batches
//             and at the end of a launch
//
// Checked: the receiver reads every message and no other, and never do both
// wait.  The mutants leave out what the memory-order table of docs/Runtime.md
// asks for; each must be caught, or the table asks for too much.
//
//===----------------------------------------------------------------------===//

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <set>
#include <string>
#include <vector>

namespace {

enum class Mutant {
  None,
  PublishWithoutRelease, ///< or without the sfence after non-temporal stores
  PollWithoutAcquire,    ///< the payload may be read before the poll
  CreditWithoutRelease,  ///< the payload may be read after the credit is given
  FlushForgotten,        ///< no credits at the end of a launch
};

struct Model {
  unsigned k = 1, batch = 1;
  bool isSmall = false;
  std::vector<unsigned> launches; ///< messages of each
  Mutant mutant = Mutant::None;
};

constexpr unsigned maxSlots = 4, maxPending = 12;
constexpr uint8_t none = 0xff;

/// Bytes only, so that states compare by memory.
struct State {
  // Memory: what is visible.  A payload is the number of its message.
  std::array<uint8_t, maxSlots> payload, flag;
  uint8_t tail, head;
  // Sender: messages sent, credits seen, is a payload stored but unpublished?
  uint8_t sent, seenHead, isStored;
  struct Store {
    uint8_t where, value, isRelease;
  };
  std::array<Store, maxPending> pending;
  uint8_t numPending;
  // Receiver: messages taken, tail seen, credits given; payloads read too early
  // and reads put off.
  uint8_t next, seenTail, published, launch, inLaunch;
  uint8_t early;
  std::array<uint8_t, maxSlots> late; ///< messages still to be read, or none

  bool operator<(const State &other) const {
    return std::memcmp(this, &other, sizeof *this) < 0;
  }
};
constexpr uint8_t payloadAt = 0, flagAt = 10, tailAt = 20;

class Checker {
public:
  explicit Checker(const Model &model) : model(model) {
    for (unsigned n : model.launches)
      total += n;
  }
  /// "" or what went wrong.
  std::string run();
  size_t numStates() const { return visited.size(); }

private:
  void push(const State &state) {
    if (visited.insert(state).second)
      stack.push_back(state);
  }
  void stepSender(State s);
  void stepReceiver(State s);
  void commitStores(const State &s);
  void take(State s, uint8_t payload);
  void addStore(State &s, uint8_t where, uint8_t value, bool isRelease) {
    s.pending.at(s.numPending++) = {where, value, isRelease};
  }
  void endLaunches(State &s) const {
    while (s.launch != model.launches.size() &&
           s.inLaunch == model.launches[s.launch]) {
      ++s.launch;
      s.inLaunch = 0;
      if (model.mutant != Mutant::FlushForgotten)
        s.head = s.published = s.next;
    }
  }
  bool isDone(const State &s) const {
    return s.next == total && s.sent == total && s.numPending == 0;
  }

  const Model &model;
  unsigned total = 0;
  std::set<State> visited;
  std::vector<State> stack;
  std::string error;
  bool moved = false;
};

void Checker::stepSender(State s) {
  if (s.sent == total)
    return;
  if (s.isStored) {
    bool isRelease = model.mutant != Mutant::PublishWithoutRelease;
    ++s.sent;
    s.isStored = 0;
    if (model.isSmall)
      addStore(s, flagAt + (s.sent - 1) % model.k, s.sent, isRelease);
    else
      addStore(s, tailAt, s.sent, isRelease);
  } else if (s.sent - s.seenHead < int(model.k)) {
    addStore(s, payloadAt + s.sent % model.k, s.sent, false);
    s.isStored = 1;
  } else if (s.seenHead != s.head) {
    s.seenHead = s.head;
  } else {
    return; // waits
  }
  moved = true;
  push(s);
}

/// Any store may become visible, but for later ones to the same word, and
/// release stores before all that precede them.
void Checker::commitStores(const State &state) {
  for (uint8_t i = 0; i != state.numPending; ++i) {
    State::Store store = state.pending[i];
    bool isFree = !store.isRelease || i == 0;
    for (uint8_t j = 0; j != i; ++j)
      isFree &= state.pending[j].where != store.where;
    if (!isFree)
      continue;
    State s = state;
    for (uint8_t j = i; j + 1 != s.numPending; ++j)
      s.pending[j] = s.pending[j + 1];
    s.pending[--s.numPending] = {0, 0, 0};
    if (store.where >= tailAt)
      s.tail = store.value;
    else if (store.where >= flagAt)
      s.flag[store.where - flagAt] = store.value;
    else
      s.payload[store.where] = store.value;
    moved = true;
    push(s);
  }
}

/// Counts the message whose payload has been read, and gives credits.
void Checker::take(State s, uint8_t payload) {
  if (payload != s.next && error.empty())
    error = "message " + std::to_string(s.next) + " read as " +
            std::to_string(payload);
  ++s.next;
  ++s.inLaunch;
  if (unsigned(s.next - s.published) >= model.batch)
    s.head = s.published = s.next;
  endLaunches(s);
  s.early = none;
  push(s);
}

void Checker::stepReceiver(State s) {
  for (uint8_t &message : s.late)
    if (message != none) { // a read that was put off happens now
      State after = s;
      size_t slot = message % model.k;
      if (s.payload[slot] != message && error.empty())
        error = "message " + std::to_string(message) + " read late";
      after.late[size_t(&message - s.late.data())] = none;
      moved = true;
      push(after);
    }
  if (s.next == total)
    return;
  size_t slot = s.next % model.k;
  if (model.mutant == Mutant::PollWithoutAcquire && s.early == none) {
    State early = s;
    early.early = s.payload[slot];
    push(early); // no progress by itself
  }
  bool isThere = s.seenTail > s.next;
  if (model.isSmall) {
    isThere = s.flag[slot] == s.next + 1;
  } else if (!isThere && s.tail > s.next) {
    s.seenTail = s.tail;
    moved = true;
    push(s);
    return;
  }
  if (!isThere)
    return; // waits
  moved = true;
  if (model.mutant == Mutant::CreditWithoutRelease && s.late[slot] == none) {
    State late = s;
    late.late[slot] = s.next;
    take(late, s.next);
  }
  take(s, s.early != none ? s.early : s.payload[slot]);
}

std::string Checker::run() {
  State first;
  std::memset(&first, 0, sizeof first);
  first.payload.fill(none - 1);
  first.early = none;
  first.late.fill(none);
  endLaunches(first);
  push(first);
  while (!stack.empty() && error.empty()) {
    State s = stack.back();
    stack.pop_back();
    moved = false;
    stepSender(s);
    stepReceiver(s);
    commitStores(s);
    if (!moved && !isDone(s) && error.empty())
      error = "deadlock after " + std::to_string(s.next) + " messages";
  }
  return error;
}

std::string check(const Model &model) { return Checker(model).run(); }

/// Launches of fewer and of more messages than there are slots.
std::vector<std::vector<unsigned>> launchLists(unsigned k) {
  return {{k + 2}, {1, 1, 1}, {0, k, k + 1}, {k - 1, k + 1, 2}, {2 * k, 1}};
}

TEST(RingModel, EveryDepthAndBatchUpToTheDepthIsRight) {
  size_t states = 0;
  for (bool isSmall : {false, true})
    for (unsigned k = 1; k <= maxSlots; ++k)
      for (unsigned batch = 1; batch <= k; ++batch)
        for (const auto &launches : launchLists(k)) {
          Model model = {k, batch, isSmall, launches, Mutant::None};
          Checker checker(model);
          EXPECT_EQ(checker.run(), "")
              << "k " << k << ", batch " << batch << ", small " << isSmall;
          states += checker.numStates();
        }
  EXPECT_GT(states, 10000u) << "the search has looked at next to nothing";
}

TEST(RingModel, ABatchBeyondTheDepthDeadlocks) {
  for (bool isSmall : {false, true})
    for (unsigned k = 1; k <= maxSlots; ++k)
      EXPECT_NE(check({k, k + 1, isSmall, {2 * k + 2}, Mutant::None})
                    .find("deadlock"),
                std::string::npos);
}

/// A batch that a launch does not complete is what the flush is for.
TEST(RingModel, ForgottenFlushDeadlocksAcrossLaunches) {
  for (bool isSmall : {false, true}) {
    Model model = {2, 3, isSmall, {2, 1}, Mutant::None};
    EXPECT_EQ(check(model), "");
    model.mutant = Mutant::FlushForgotten;
    EXPECT_NE(check(model).find("deadlock"), std::string::npos);
  }
}

class RingMutant : public testing::TestWithParam<Mutant> {};

TEST_P(RingMutant, IsCaught) {
  for (bool isSmall : {false, true}) {
    Model model = {2, 1, isSmall, {5}, Mutant::None};
    EXPECT_EQ(check(model), "");
    model.mutant = GetParam();
    EXPECT_NE(check(model), "") << "small " << isSmall;
  }
}

INSTANTIATE_TEST_SUITE_P(Orders, RingMutant,
                         testing::Values(Mutant::PublishWithoutRelease,
                                         Mutant::PollWithoutAcquire,
                                         Mutant::CreditWithoutRelease));

} // namespace
