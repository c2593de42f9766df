//===- Direct.cpp - Which messages may go direct --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Analysis/Direct.h"
#include "lib/Analysis/DirectOrder.h"
#include "lib/Analysis/DirectWait.h"
#include "lib/Analysis/ProgramCheckRun.h"

#include "llvm/ADT/STLExtras.h"

#include <map>
#include <optional>
#include <set>

using namespace coll;

namespace {
/// A message in one variant: pointers into its two programs.
struct Pair {
  Port *send = nullptr, *recv = nullptr;
  const Step *sender = nullptr, *receiver = nullptr;
  RankProgram *from = nullptr, *to = nullptr;
};

/// Of a channel, what goes direct in one way.
using Kind = std::tuple<Rank, Rank, uint32_t, Port::Direct>;

/// And in both, if there are both.
struct Candidate {
  MessageId id;
  Pair variants[2];
  std::optional<Location> put, get; ///< where out of place, if it may be so
  bool putsInPlace = true, getsInPlace = true; ///< and there in place, too
  Port::Direct direct = Port::None;

  bool isInPlace() const {
    return direct == Port::Put ? putsInPlace : getsInPlace;
  }
  Kind kind() const { return {id.from, id.to, id.tag, direct}; }
};

class Chooser {
public:
  Chooser(ProgramSet &programs, uint32_t member, bool mayMulticast = false)
      : programs(programs), memberIndex(member), mayMulticast(mayMulticast),
        member(programs.members[member]) {}
  void choose();
  void clear();
  SlotReasons reasons();

private:
  bool collect();
  void collect(std::vector<RankProgram> &ranks, uint32_t variant);
  std::optional<Location> putRegion(const Pair &pair) const;
  std::optional<Location> getRegion(const Pair &pair) const;
  bool onlyMoves(const Step &step, const Port &source) const;
  bool isOf(const Port &port, Buffer::Kind kind) const {
    return port.loc.space == Location::Buffer &&
           member.buffers[port.loc.buffer].kind == kind &&
           port.type == ElemType::T;
  }
  uint32_t ownCopies(const RankProgram &program) const;
  std::vector<bool> findSpreads() const;
  void prefer();
  void keepToOneBuffer();
  void keepToVariants();
  bool takeBack(const std::vector<DirectError> &errors);
  void takeBackInPlace(const std::set<MessageId> &ids,
                       std::set<MessageId> &refused);
  void mark(const Candidate &candidate);
  bool takeBackAt(Rank rank);
  Candidate *find(const MessageId &id);

  ProgramSet &programs;
  const uint32_t memberIndex;
  const bool mayMulticast;
  ProgramMember &member;
  std::vector<Candidate> candidates; // by id
  std::set<Kind> declined;           // in place
};
} // namespace

void Chooser::collect(std::vector<RankProgram> &ranks, uint32_t variant) {
  std::map<MessageId, Pair> pairs;
  std::map<std::tuple<Rank, Rank, uint32_t>, uint32_t> sent, received;
  for (Rank rank = 0; rank < ranks.size(); ++rank) {
    RankProgram &program = ranks[rank];
    for (const BlockProgram &block : program.blocks)
      for (const Step &step : block.steps)
        for (uint32_t p = step.firstPort;
             p < step.firstPort + step.numSources + step.numSinks; ++p) {
          Port &port = program.ports[p];
          if (port.kind == Port::Send) {
            const ChannelEnd &end = program.sendEnds[port.end];
            uint32_t index = sent[{rank, end.peer, end.tag}]++;
            Pair &pair = pairs[{rank, end.peer, end.tag, index}];
            pair.send = &port;
            pair.sender = &step;
            pair.from = &program;
          } else if (port.kind == Port::Recv) {
            const ChannelEnd &end = program.recvEnds[port.end];
            uint32_t index = received[{end.peer, rank, end.tag}]++;
            Pair &pair = pairs[{end.peer, rank, end.tag, index}];
            pair.recv = &port;
            pair.receiver = &step;
            pair.to = &program;
          }
        }
  }
  if (variant == 0)
    for (const auto &[id, pair] : pairs)
      candidates.push_back({id, {pair, {}}, {}, {}});
  else
    for (Candidate &candidate : candidates)
      candidate.variants[1] = pairs[candidate.id];
}

bool Chooser::onlyMoves(const Step &step, const Port &source) const {
  return step.numSources == 1 && programs.exprs[step.expr].isIdentity() &&
         step.type == ElemType::T && !step.complete &&
         !programs.sizes[step.size].isToken() && source.type == ElemType::T &&
         !source.scaled && !source.receivedScaled && !source.scaledRounded;
}

std::optional<Location> Chooser::putRegion(const Pair &pair) const {
  if (!onlyMoves(*pair.receiver, *pair.recv))
    return std::nullopt;
  const Step &step = *pair.receiver;
  for (uint32_t p = step.firstPort + 1; p <= step.firstPort + step.numSinks;
       ++p)
    if (const Port &port = pair.to->ports[p];
        port.kind == Port::Store && isOf(port, Buffer::Out))
      return port.loc;
  return std::nullopt;
}

std::optional<Location> Chooser::getRegion(const Pair &pair) const {
  const Port &source = pair.from->ports[pair.sender->firstPort];
  if (source.kind != Port::Load || !isOf(source, Buffer::In) ||
      !onlyMoves(*pair.sender, source) || pair.send->type != ElemType::T ||
      pair.recv->type != ElemType::T)
    return std::nullopt;
  return source.loc;
}

/// False: the programs are not such that anything could go direct.
bool Chooser::collect() {
  collect(member.outOfPlace, 0);
  const uint32_t variants = member.inPlace.empty() ? 1 : 2;
  if (variants == 2)
    collect(member.inPlace, 1);
  for (Candidate &candidate : candidates) {
    for (uint32_t v = 0; v < variants; ++v) {
      const Pair &pair = candidate.variants[v];
      if (!pair.send || !pair.recv)
        return false;
      std::optional<Location> put = putRegion(pair), get = getRegion(pair);
      if (pair.send->wish == Port::InSlots)
        put = get = std::nullopt;
      if (v == 0) {
        candidate.put = put;
        candidate.get = get;
        continue;
      }
      candidate.putsInPlace = put == candidate.put;
      candidate.getsInPlace = get == candidate.get;
    }
  }
  return true;
}

/// How often a rank copies memory of its own.
uint32_t Chooser::ownCopies(const RankProgram &program) const {
  uint32_t copies = 0;
  for (const BlockProgram &block : program.blocks)
    for (const Step &step : block.steps)
      for (uint32_t p = step.firstPort + 1;
           p <= step.firstPort + step.numSinks && step.numSources == 1 &&
           program.ports[step.firstPort].kind == Port::Load;
           ++p)
        copies += program.ports[p].kind == Port::Store;
  return copies;
}

/// By candidate: may be either, and its sender's step sends to one place of all
/// other ranks, so that a multimem instruction stores all of it, if it is put.
std::vector<bool> Chooser::findSpreads() const {
  constexpr uint32_t fewestRanks = 3; // as for lowering
  std::map<const Step *, std::vector<uint32_t>> sends;
  for (uint32_t c = 0; c < candidates.size(); ++c)
    sends[candidates[c].variants[0].sender].push_back(c);
  std::vector<bool> result(candidates.size());
  for (const auto &[step, of] : sends) {
    const Candidate &first = candidates[of[0]];
    std::set<Rank> peers;
    bool isAll = programs.numRanks() >= fewestRanks;
    for (uint32_t c : of) {
      const Candidate &each = candidates[c];
      isAll &=
          each.put && each.get && each.put == first.put &&
          (mayMulticast || each.variants[0].send->wish == Port::ByMultimem) &&
          peers.insert(each.id.to).second;
    }
    isAll &= peers.size() + 1 == programs.numRanks();
    for (uint32_t c : of)
      result[c] = isAll;
  }
  return result;
}

/// What may be either is got where the sender has more to move, of its own too,
/// than the receiver, unless one instruction moves it to all, or `map` says
/// who.
void Chooser::prefer() {
  const std::vector<bool> spreads = findSpreads();
  std::vector<uint32_t> sent(programs.numRanks()), received(sent);
  for (Rank rank = 0; rank < programs.numRanks(); ++rank)
    sent[rank] = received[rank] = ownCopies(member.outOfPlace[rank]);
  for (const Candidate &candidate : candidates)
    if (candidate.put && candidate.get) {
      ++sent[candidate.id.from];
      ++received[candidate.id.to];
    }
  for (uint32_t c = 0; c < candidates.size(); ++c) {
    Candidate &candidate = candidates[c];
    bool isBoth = candidate.put && candidate.get;
    const Port::Wish wish = candidate.variants[0].send->wish;
    bool isMore = sent[candidate.id.from] > received[candidate.id.to];
    bool isGot = !isBoth                ? candidate.get.has_value()
                 : wish == Port::Pushed ? false
                 : wish == Port::Pulled ? true
                                        : !spreads[c] && isMore;
    candidate.direct = isGot           ? Port::Get
                       : candidate.put ? Port::Put
                                       : Port::None;
  }
}

/// Of a channel all puts, and all gets, are of one buffer: the first's.
void Chooser::keepToOneBuffer() {
  std::map<std::tuple<Rank, Rank, uint32_t, Port::Direct>, uint16_t> buffers;
  for (Candidate &candidate : candidates) {
    if (candidate.direct == Port::None)
      continue;
    const auto &[from, to, tag, index] = candidate.id;
    const uint16_t buffer =
        (candidate.direct == Port::Put ? candidate.put : candidate.get)->buffer;
    if (buffers.try_emplace({from, to, tag, candidate.direct}, buffer)
            .first->second != buffer)
      candidate.direct = Port::None;
  }
}

/// What of a channel is not the same in place is declined there, if nothing of
/// the channel that goes direct is; else it goes direct in neither.
void Chooser::keepToVariants() {
  std::set<Kind> same;
  for (const Candidate &candidate : candidates)
    if (candidate.direct != Port::None && candidate.isInPlace())
      same.insert(candidate.kind());
  for (Candidate &candidate : candidates) {
    if (candidate.direct == Port::None || candidate.isInPlace())
      continue;
    if (same.count(candidate.kind()))
      candidate.direct = Port::None;
    else
      declined.insert(candidate.kind());
  }
}

void Chooser::mark(const Candidate &candidate) {
  for (const Pair &pair : candidate.variants)
    for (Port *port : {pair.send, pair.recv}) {
      if (!port)
        continue;
      const bool isOwner =
          port == (candidate.direct == Port::Put ? pair.recv : pair.send);
      const bool isDeclined = isOwner && &pair == &candidate.variants[1] &&
                              declined.count(candidate.kind());
      port->direct = isDeclined ? Port::None : candidate.direct;
      port->ahead = false;
      port->loc = port->direct == Port::Put   ? *candidate.put
                  : port->direct == Port::Get ? *candidate.get
                                              : Location();
    }
}

void Chooser::clear() {
  for (auto *ranks : {&member.outOfPlace, &member.inPlace})
    for (RankProgram &program : *ranks)
      for (Port &port : program.ports)
        if (port.direct != Port::None) {
          port.direct = Port::None;
          port.ahead = false;
          port.loc = {};
        }
}

Candidate *Chooser::find(const MessageId &id) {
  auto it = llvm::lower_bound(
      candidates, id, [](const Candidate &candidate, const MessageId &other) {
        return candidate.id < other;
      });
  return it != candidates.end() && it->id == id ? &*it : nullptr;
}

/// What cannot be in place alone is declined there, unless it may still be got
/// in both, or something else of its channel can be: then it is refused.
void Chooser::takeBackInPlace(const std::set<MessageId> &ids,
                              std::set<MessageId> &refused) {
  std::set<Kind> kept;
  for (const Candidate &candidate : candidates)
    if (candidate.direct != Port::None && !ids.count(candidate.id))
      kept.insert(candidate.kind());
  for (const MessageId &id : ids) {
    const Candidate *candidate = find(id);
    if (!candidate || candidate->direct == Port::None ||
        declined.count(candidate->kind()) || kept.count(candidate->kind()) ||
        (candidate->direct == Port::Put && candidate->get &&
         candidate->getsInPlace))
      refused.insert(id);
    else
      declined.insert(candidate->kind());
  }
}

/// Of two messages that must not both go direct the gets stay, where it is
/// between a get and a put: a put into memory that is read costs more than it
/// saves elsewhere. False: there is nothing to take back.
bool Chooser::takeBack(const std::vector<DirectError> &errors) {
  std::set<MessageId> refused, inPlace;
  for (const DirectError &error : errors) {
    if (error.kind == DirectError::Order ||
        error.kind == DirectError::Undecided)
      return false;
    bool isOther = error.isOtherDirect && error.direct == Port::Get;
    (error.variant == Variant::InPlace ? inPlace : refused)
        .insert(isOther ? error.other : error.message);
  }
  takeBackInPlace(inPlace, refused);
  for (const MessageId &id : refused) {
    Candidate *candidate = find(id);
    if (!candidate || candidate->direct == Port::None)
      return false;
    // A put that cannot be may still be got; then it is neither.
    candidate->direct = candidate->direct == Port::Put && candidate->get
                            ? Port::Get
                            : Port::None;
    candidate->put.reset();
  }
  return true;
}

/// Of a rank whose blocks only messages put in order, what orders nothing when
/// it goes direct. False: there is none.
bool Chooser::takeBackAt(Rank rank) {
  const std::vector<std::vector<bool>> unordered =
      unorderedReceives(member, Variant::OutOfPlace);
  bool isAny = false;
  for (Candidate &candidate : candidates) {
    const auto &[from, to, tag, index] = candidate.id;
    const Pair &pair = candidate.variants[0];
    if ((from != rank && to != rank) || candidate.direct == Port::None ||
        !unordered[to][pair.recv - pair.to->ports.data()])
      continue;
    candidate.direct = Port::None;
    candidate.put.reset(), candidate.get.reset();
    isAny = true;
  }
  return isAny;
}

void Chooser::choose() {
  clear();
  if (!collect())
    return;
  prefer();
  DirectCheckOptions options;
  options.maxErrors = ~0u;
  constexpr uint32_t maxPasses = 12;
  for (uint32_t pass = 0; pass < maxPasses; ++pass) {
    keepToOneBuffer();
    keepToVariants();
    for (const Candidate &candidate : candidates)
      mark(candidate);
    std::vector<DirectError> errors =
        checkDirect(programs, memberIndex, options);
    if (!errors.empty()) {
      if (!takeBack(errors))
        break;
      continue;
    }
    std::optional<ProgramError> lost = check::lostOrder(programs, memberIndex);
    if (!lost)
      return direct::markAhead(programs, member);
    if (lost->kind != ProgramError::Race || !takeBackAt(lost->rank))
      break;
  }
  clear();
}

void coll::chooseDirect(ProgramSet &programs, std::span<const FifoShape> fifos,
                        bool mayMulticast) {
  for (uint32_t m = 0; m < programs.members.size(); ++m) {
    Chooser chooser(programs, m, mayMulticast);
    bool runs = true;
    for (const FifoShape &fifo : fifos)
      for (Variant variant : {Variant::OutOfPlace, Variant::InPlace})
        if (runs && (variant == Variant::OutOfPlace ||
                     !programs.members[m].inPlace.empty())) {
          DeadlockResult result =
              runFifos(programs, m, variant, fifo.guaranteed());
          runs = !result.isStuck && result.isDecided;
        }
    if (runs)
      chooser.choose();
    else
      chooser.clear();
  }
}

/// Of the marks that there are.
SlotReasons Chooser::reasons() {
  SlotReasons result;
  if (!collect())
    return result;
  for (const Candidate &candidate : candidates) {
    const Pair &inPlace = candidate.variants[1];
    if (candidate.variants[0].send->direct != Port::None) {
      result.declined +=
          inPlace.send && inPlace.send->direct != inPlace.recv->direct;
      continue;
    }
    const bool isAny = llvm::any_of(candidate.variants, [&](const Pair &pair) {
      return pair.send && (putRegion(pair) || getRegion(pair));
    });
    ++(candidate.variants[0].send->wish == Port::InSlots ? result.asked
       : candidate.put || candidate.get                  ? result.ordering
       : isAny                                           ? result.inPlace
                                                         : result.combined);
  }
  return result;
}

SlotReasons coll::whyInSlots(const ProgramSet &programs, uint32_t member) {
  if (!programs.launchCounts.empty()) {
    const auto [puts, gets, others] = countDirect(programs.members[member]);
    SlotReasons all;
    all.counted = puts + gets + others;
    return all;
  }
  ProgramSet copy = programs; // whose ports the chooser holds
  return Chooser(copy, member).reasons();
}

DirectCounts coll::countDirect(const ProgramMember &member) {
  DirectCounts counts;
  for (const RankProgram &program : member.outOfPlace)
    for (const Port &port : program.ports)
      if (port.kind == Port::Send)
        ++(port.direct == Port::Put   ? counts.puts
           : port.direct == Port::Get ? counts.gets
                                      : counts.others);
  return counts;
}

DirectCounts coll::countDirect(const ProgramSet &programs) {
  DirectCounts counts;
  for (const ProgramMember &member : programs.members) {
    DirectCounts of = countDirect(member);
    counts.puts += of.puts;
    counts.gets += of.gets;
    counts.others += of.others;
  }
  return counts;
}
