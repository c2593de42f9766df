//===- DirectCheck.h - May these messages go direct? ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A message that goes direct is stored by the sender where the receiver wants
// it (put), or loaded by the receiver from where the sender has it (get).
// Whether it does is settled per channel when a launch begins, so a program has
// to be right in every mixture. The proof, for one member:
//
// 1. Both ends of a message, in place and out of place, say the same. But in
//    place the owner of the region may say that it uses slots, of all messages
//    of a channel that are put, or got: the owner decides for each launch
//    whether they go direct, so its peers need not know. To that launch they
//    are messages as any other, and so are its accesses.
// 2. A put's receive only moves the message into its region, and a get's send
//    only moves its region into the message: so the one access stands for the
//    other.
// 3. Each access to a region happens at one of two points: a put's store where
//    it is sent (direct) or received (ring), a get's load where it is received
//    (direct) or sent (ring). Of two conflicting accesses to a region, one of
//    which may go direct, all points of one come before all points of the
//    other. Then every mixture leaves the values of the ring, which
//    checkPrograms computes.
// 4. What comes before what is known from program order, waits between blocks
//    and messages, send before receive. A get that goes direct makes its
//    receiver wait for nothing but the sender's having entered the launch, so a
//    get orders nothing (but itself, where it is taken to use the ring). Nor
//    does a put whose arrival is awaited when the launch ends (DirectWait.h).
//    Credits order nothing, since only the ring has them. Nor may two blocks of
//    a rank rely on such messages wherever else they meet: checkPrograms looks
//    for races with the others alone. A chunk may be empty
//    where another is not, and then has no messages: only messages of the
//    region's own chunk count.
// 5. Ranks are in place or not each by itself. What other ranks do between
//    their messages does not matter to a region, so it is enough that the
//    messages of a block have one order in both, and to look at each variant.
// 6. Direct messages wait for no credit, and rtr and avail are sent before a
//    block waits for anything: so a mixture waits for no more than the ring,
//    message by message, at the slots that are there whatever the alignment of
//    batches (FifoShape::guaranteed; fewer messages are aligned otherwise). A
//    block waits for ack after all else, when it has given back its credits and
//    sent its own acks.
// 7. What is moved ahead happens at its step in the first round for all rounds.
//    Rounds touch different elements, so of two accesses to an element one is
//    too early if in its round it has to come behind the other. So all that
//    conflicts with it comes after it: with its store where it is stored, with
//    its load where it is loaded, whose own order is that of the round.
//
// Nothing here knows how messages were chosen (Direct.h).
//
//===----------------------------------------------------------------------===//
#ifndef COLL_LIB_ANALYSIS_DIRECTCHECK_H
#define COLL_LIB_ANALYSIS_DIRECTCHECK_H

#include "lib/Analysis/ProgramDeadlock.h"

#include <vector>

namespace coll {

/// The `index`-th message of a channel.
struct MessageId {
  Rank from = 0, to = 0;
  uint32_t tag = 0, index = 0;
  auto operator<=>(const MessageId &) const = default;
};

struct DirectError {
  enum Kind : uint8_t {
    Differs,   ///< the ends, or the variants, do not say the same
    Shape,     ///< it is no message that could go direct; `detail`
    Order,     ///< the variants have messages of a block in different orders
    Race,      ///< nothing orders it and another access to its region
    Ahead,     ///< something comes before what is moved ahead of its round
    Undecided, ///< there is too much to look at
  } kind;
  Variant variant = Variant::OutOfPlace;
  MessageId message = {};
  /// Where the message is put or got from, and by which step. Race: of the
  /// other access, `other` if that may go direct, too.
  struct Place {
    Rank rank = 0;
    uint32_t block = 0, step = 0;
    bool isStore = false;
  } at = {}, otherAt = {};
  bool isOtherDirect = false;
  MessageId other = {};
  Location region = {};
  Port::Direct direct = Port::None;
  const char *detail = "";
};

struct DirectCheckOptions {
  uint32_t maxErrors = 8;
  /// Steps back from one access towards another, over all accesses.
  uint64_t maxWork = uint64_t(1) << 28;
};

/// Of a member whose programs checkPrograms finds right without a word on what
/// goes direct. Nothing may: no errors.
std::vector<DirectError> checkDirect(const ProgramSet &programs,
                                     uint32_t member,
                                     const DirectCheckOptions &options = {});

/// A message of a member may go direct.
bool hasDirect(const ProgramMember &member);

} // namespace coll

#endif // COLL_LIB_ANALYSIS_DIRECTCHECK_H
