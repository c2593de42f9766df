//===- DeviceChecks.cpp - What blocks leave behind ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the host finds when launches are over or have been given up: where
// blocks wait, what they say went wrong, counts of messages and credits, and
// outputs of launches that were not to end well.
//
//===----------------------------------------------------------------------===//

#include "DeviceRun.h"

#include <cstring>

namespace coll::emu {

/// Whether a block says in which launch it waits, or which it has left.
bool DeviceRun::tellsLaunch(uint32_t rank, uint32_t block) const {
  const coll_block &line = lines(rank)[block];
  const auto &signal = reinterpret_cast<const coll_device_signal *>(
      layout.ranks[rank].inst->signals)[block];
  // A launch that has met another says nothing of itself.
  if (line.result == COLL_OVERLAP)
    return true;
  // All launches before this one have ended well.
  return line.runs == signal.launches + 1 && line.launch == line.runs &&
         (call.isBackToBack || line.launch == begun);
}

/// Every block that is still in its launch waits now: it must say so.
std::string DeviceRun::checkPositions() {
  for (uint32_t rank = 0; rank < call.ranks; ++rank) {
    const coll_inst &inst = *layout.ranks[rank].inst;
    auto *signals = reinterpret_cast<coll_device_signal *>(inst.signals);
    if (rank == stopped)
      continue;
    for (uint32_t b = 0; b < inst.nblocks; ++b) {
      if (!signals[b].entered)
        continue;
      const coll_block &line = lines(rank)[b];
      uint64_t state = line.progress >> 60;
      bool isChannel =
          state == COLL_STATE_WAIT_DATA || state == COLL_STATE_WAIT_CREDIT;
      std::string where = ", block " + std::to_string(b) + " of rank " +
                          std::to_string(rank) + " that waits";
      if (!isChannel && state != COLL_STATE_WAIT_BLOCK)
        return "wrong position: state " + std::to_string(state) + where;
      if (!tellsLaunch(rank, b))
        return "wrong position: of another launch" + where;
      // A count that is waited for has not been reached; of another wait's
      // packet the sequence number would be left here.
      if (state == COLL_STATE_WAIT_CREDIT && line.have > line.want)
        return "wrong position: waits for what it has" + where;
      // Behind a launch channels' counts are not 0, nor credits; a small slot,
      // or one for lines, may be new. Packets have a sequence number in the
      // high bits.
      uint64_t sequence = call.isSmall ? line.want >> 16 : line.want;
      uint32_t slots = call.isSmall   ? call.rings.smallSlots
                       : call.isLines ? call.rings.slots
                                      : 0;
      bool mayBeNew = slots && state == COLL_STATE_WAIT_DATA &&
                      sequence <= call.firstMessage + slots;
      bool hasCounts = line.want && (line.have || mayBeNew);
      if (!line.wait_since || (!hasCounts && !call.isBackToBack))
        return "wrong position: a word is 0" + where;
    }
  }
  return "";
}

/// Whether a block that has met another signature says which, and whose: rank
/// 0's is not that of all others, which differs in the last bit.
bool DeviceRun::tellsSignatures(uint32_t rank, const coll_block &line) const {
  uint64_t want = line.want, have = line.have, mask = 0xffffffff;
  uint64_t peer = line.progress & 0xffff;
  if ((call.isSmall && kernels.packets) || (call.isLines && kernels.lines))
    mask = 0xffff;
  if (line.progress >> 60 != COLL_STATE_IDLE)
    return false;
  uint64_t own = (rank == 0 ? signature ^ 1 : signature) & mask;
  return want == own && have == (own ^ 1) && peer < call.ranks &&
         (rank == 0) != (peer == 0);
}

/// What blocks have told the host when all is over.
std::string DeviceRun::checkEnd() {
  // All may be over before the host has looked.
  isAborted |= hasResult() && call.trouble != Trouble::Deadline;
  static const std::map<Trouble, uint32_t> results = {
      {Trouble::Overlap, COLL_OVERLAP},
      {Trouble::Deadline, COLL_TIMEOUT},
      {Trouble::Mismatch, COLL_MISMATCH},
      {Trouble::Window, COLL_SYSTEM}};
  auto allowed = results.find(call.trouble);
  bool isFound = false;
  for (uint32_t rank = 0; rank < call.ranks; ++rank)
    for (uint32_t b = 0; b < layout.ranks[rank].inst->nblocks; ++b) {
      const coll_block &line = lines(rank)[b];
      std::string where =
          " of block " + std::to_string(b) + " of rank " + std::to_string(rank);
      if (isGone(rank))
        continue;
      uint64_t state = line.progress >> 60;
      const auto &signal = reinterpret_cast<const coll_device_signal *>(
          layout.ranks[rank].inst->signals)[b];
      if (!isAborted && signal.launches + (line.result != 0) < begun)
        return "wrong result: a launch left without a word" + where;
      bool isWaiting =
          state >= COLL_STATE_WAIT_DATA && state <= COLL_STATE_WAIT_BLOCK;
      if (!isAborted && !line.result && isWaiting)
        return "wrong position: still waits" + where;
      // A launch of the block has been given up before this one.
      bool isBehind =
          call.isBackToBack && isToAbort() && line.result == COLL_OVERLAP;
      if (!line.result || isBehind)
        continue;
      if (line.result == COLL_TIMEOUT && !isWaiting)
        return "wrong position: state " + std::to_string(state) + where;
      if (!tellsLaunch(rank, b))
        return "wrong result: of another launch" + where;
      if (allowed == results.end() || line.result != allowed->second)
        return "wrong result " + std::to_string(line.result) + where;
      isFound = true;
      if (line.result == COLL_MISMATCH && !tellsSignatures(rank, line))
        return "wrong result: other signatures" + where;
      if (line.result == COLL_SYSTEM &&
          (state != COLL_STATE_IDLE || line.progress & 0xffff ||
           line.have >> 48 < COLL_MAX_WINDOWS - 1))
        return "wrong result: another window" + where;
    }
  isAborted |= hasResult();
  if (std::string text = checkChannels(); !text.empty())
    return text;
  bool mustFind = isMissed || hidesWindows || call.trouble == Trouble::Mismatch;
  return mustFind && !isFound ? "wrong result: no block says why" : "";
}

/// Nobody has received what was not sent, or sent without room, also where
/// blocks have left early. Where all have done their launch nothing is under
/// way and all credits are back.
std::string DeviceRun::checkChannels() {
  for (uint32_t sender = 0; sender < call.ranks; ++sender)
    for (auto &[id, send] : layout.ranks[sender].sends) {
      auto &receives = layout.ranks[id.first].receives;
      auto receive = receives.find({sender, id.second});
      if (receive == receives.end() || isGone(sender)) // packets may be there
        continue;
      auto &from = *reinterpret_cast<coll_seq *>(send->seq);
      auto &to = *reinterpret_cast<coll_seq *>(receive->second->seq);
      uint64_t open = from.next - to.next;
      uint64_t openSmall = from.small_next - to.small_next;
      if (open > (isAborted ? send->k : 0u) ||
          openSmall > (isAborted ? send->k_small : 0u))
        return "wrong counts: rank " + std::to_string(sender) + " sent " +
               std::to_string(from.next) + " and " +
               std::to_string(from.small_next) + ", rank " +
               std::to_string(id.first) + " received " +
               std::to_string(to.next) + " and " +
               std::to_string(to.small_next);
      auto &credit = *reinterpret_cast<coll_credit_line *>(send->credit);
      if (!isAborted &&
          (credit.head != to.next || credit.small_head != to.small_next))
        return "wrong counts: rank " + std::to_string(id.first) +
               " kept credits of rank " + std::to_string(sender);
    }
  return "";
}

/// What stands in the outputs where the launch was not to end well: of ranks
/// that have ended theirs all of it, of others each element as it was or as it
/// is to be.
std::string DeviceRun::checkOutputs(const std::string &before,
                                    const std::string &after) const {
  size_t at = 0, width = dtypeBytes(call.dtype);
  for (const PlanRank &rank : layout.ranks) {
    const coll_inst &inst = *rank.inst;
    auto *signals = reinterpret_cast<coll_device_signal *>(inst.signals);
    bool isDone = true;
    for (uint32_t b = 0; b < inst.nblocks; ++b)
      isDone &= signals[b].launches == call.launches;
    for (size_t i = 0; i < rank.out.size(); at += rank.outBytes[i++])
      for (size_t byte = 0; byte < rank.outBytes[i]; byte += width) {
        const char *have = static_cast<const char *>(rank.out[i]) + byte;
        if (memcmp(have, &after[at + byte], width) &&
            (isDone || memcmp(have, &before[at + byte], width)))
          return std::string("wrong output: byte ") + std::to_string(byte) +
                 " of rank " + std::to_string(inst.rank) +
                 (isDone ? ", which has ended its launch"
                         : " is neither old nor new");
      }
  }
  return "";
}

} // namespace coll::emu
