//===- Direct.cpp - Which messages may go direct --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Analysis/Direct.h"
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

/// And in both, if there are both.
struct Candidate {
  MessageId id;
  Pair variants[2];
  std::optional<Location> put, get; ///< where, if it may be so
  Port::Direct direct = Port::None;
};

class Chooser {
public:
  Chooser(ProgramSet &programs, uint32_t member)
      : programs(programs), memberIndex(member),
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
  void prefer();
  void keepToOneBuffer();
  bool takeBack(const std::vector<DirectError> &errors);
  void mark(const Candidate &candidate);
  bool takeBackAt(Rank rank);
  Candidate *find(const MessageId &id);

  ProgramSet &programs;
  const uint32_t memberIndex;
  ProgramMember &member;
  std::vector<Candidate> candidates; // by id
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
      candidate.put = v == 0 || put == candidate.put ? put : std::nullopt;
      candidate.get = v == 0 || get == candidate.get ? get : std::nullopt;
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

/// What may be either is got where the sender has more to move, of its own too,
/// than the receiver.
void Chooser::prefer() {
  std::vector<uint32_t> sent(programs.numRanks()), received(sent);
  for (Rank rank = 0; rank < programs.numRanks(); ++rank)
    sent[rank] = received[rank] = ownCopies(member.outOfPlace[rank]);
  for (const Candidate &candidate : candidates)
    if (candidate.put && candidate.get) {
      ++sent[candidate.id.from];
      ++received[candidate.id.to];
    }
  for (Candidate &candidate : candidates) {
    bool isBoth = candidate.put && candidate.get;
    bool isGot = isBoth ? sent[candidate.id.from] > received[candidate.id.to]
                        : candidate.get.has_value();
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

void Chooser::mark(const Candidate &candidate) {
  for (const Pair &pair : candidate.variants)
    for (Port *port : {pair.send, pair.recv})
      if (port) {
        port->direct = candidate.direct;
        port->loc = candidate.direct == Port::Put   ? *candidate.put
                    : candidate.direct == Port::Get ? *candidate.get
                                                    : Location();
      }
}

void Chooser::clear() {
  for (auto *ranks : {&member.outOfPlace, &member.inPlace})
    for (RankProgram &program : *ranks)
      for (Port &port : program.ports)
        if (port.direct != Port::None) {
          port.direct = Port::None;
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

/// Of two messages that must not both go direct the gets stay, where it is
/// between a get and a put: a put into memory that is read costs more than it
/// saves elsewhere. False: there is nothing to take back.
bool Chooser::takeBack(const std::vector<DirectError> &errors) {
  std::set<MessageId> refused;
  for (const DirectError &error : errors) {
    if (error.kind == DirectError::Order ||
        error.kind == DirectError::Undecided)
      return false;
    bool isOther = error.isOtherDirect && error.direct == Port::Get;
    refused.insert(isOther ? error.other : error.message);
  }
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
  constexpr uint32_t maxPasses = 8;
  for (uint32_t pass = 0; pass < maxPasses; ++pass) {
    keepToOneBuffer();
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
      return;
    if (lost->kind != ProgramError::Race || !takeBackAt(lost->rank))
      break;
  }
  clear();
}

void coll::chooseDirect(ProgramSet &programs,
                        std::span<const FifoShape> fifos) {
  for (uint32_t m = 0; m < programs.members.size(); ++m) {
    Chooser chooser(programs, m);
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
    if (candidate.variants[0].send->direct != Port::None)
      continue;
    const bool isAny = llvm::any_of(candidate.variants, [&](const Pair &pair) {
      return pair.send && (putRegion(pair) || getRegion(pair));
    });
    ++(candidate.put || candidate.get ? result.ordering
       : isAny                        ? result.inPlace
                                      : result.combined);
  }
  return result;
}

SlotReasons coll::whyInSlots(const ProgramSet &programs, uint32_t member) {
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
