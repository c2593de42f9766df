//===- MscclLint.cpp - What is wrong with an XML without running it -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Connections: a channel between two ranks has one block on either side, and
// the k-th send meets the k-th receive. Dependencies: somebody raises the flag,
// nops are where loaders want them, and do not wait in a circle (circles with
// steps are left to findDeadlock). Limits: of the runtimes that load such
// files.
//
//===----------------------------------------------------------------------===//
#include "lib/Interchange/MscclJudge.h"
#include "lib/Support/Slugs.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"

#include <map>
#include <tuple>

using namespace coll;
using namespace coll::msccl;

using Connection = std::tuple<Rank, Rank, uint32_t>; // from, to, channel

namespace {
struct Side {
  const Block *block = nullptr;
  std::vector<const coll::msccl::Step *> steps;
};

class Linter {
public:
  Linter(const SourceManager &sources, DiagnosticEngine &diags,
         const Algorithm &algo)
      : sources(sources), diags(diags), algo(algo) {}
  LintResult run();

private:
  void collect();
  void share(Rank rank, const Block &block, bool isSend);
  void match(const Connection &connection, const Side &send, const Side &recv);
  void checkDependencies(Rank rank, const Gpu &gpu);
  void checkNop(const Block &block, uint32_t step);
  bool waitsForItself(const Gpu &gpu, uint32_t block, uint32_t step);
  void checkLimits();
  void checkBlockLimits(Rank rank, const Gpu &gpu);
  void limit(SourceRange range, const llvm::Twine &message);

  const SourceManager &sources;
  DiagnosticEngine &diags;
  const Algorithm &algo;
  LintResult result;
  std::map<Connection, Side> sends, recvs;
};
} // namespace

/// Blocks that name a peer own the connection, whether they use it or not.
void Linter::share(Rank rank, const Block &block, bool isSend) {
  int32_t peer = isSend ? block.sendPeer : block.recvPeer;
  if (peer < 0)
    return;
  Connection key = isSend ? Connection(rank, peer, block.channel)
                          : Connection(peer, rank, block.channel);
  Side &side = (isSend ? sends : recvs)[key];
  if (side.block) {
    result.isShared = true;
    diags
        .error(isSend ? Slug::SendPeerChanShared : Slug::RecvPeerChanShared,
               block.range,
               "two thread blocks of rank " + llvm::Twine(rank) +
                   (isSend ? " send to rank " : " receive from rank ") +
                   llvm::Twine(peer) + " on channel " +
                   llvm::Twine(block.channel))
        .note(side.block->range, "the other one");
    return;
  }
  side.block = &block;
  for (const coll::msccl::Step &step : block.steps)
    if (isSend ? msccl::sends(step.kind) : receives(step.kind))
      side.steps.push_back(&step);
}

void Linter::collect() {
  for (Rank rank = 0; rank < algo.gpus.size(); ++rank)
    for (const Block &block : algo.gpus[rank].blocks)
      for (bool isSend : {true, false})
        share(rank, block, isSend);
}

void Linter::match(const Connection &connection, const Side &send,
                   const Side &recv) {
  auto [from, to, channel] = connection;
  std::string where = "from rank " + std::to_string(from) + " to rank " +
                      std::to_string(to) + " on channel " +
                      std::to_string(channel);
  size_t common = std::min(send.steps.size(), recv.steps.size());
  for (size_t i = 0; i < common; ++i) {
    if (send.steps[i]->count == recv.steps[i]->count)
      continue;
    result.isNeverDone = true;
    diags
        .error(Slug::SendRecvCount,
               attributeOf(sources, recv.steps[i]->range, "cnt"),
               "message " + llvm::Twine(i + 1) + " " + where +
                   " is received as " + llvm::Twine(recv.steps[i]->count) +
                   (recv.steps[i]->count == 1 ? " chunk and sent as "
                                              : " chunks and sent as ") +
                   llvm::Twine(send.steps[i]->count))
        .note(send.steps[i]->range, "sent here");
    return; // what follows is shifted
  }
  if (send.steps.size() == recv.steps.size())
    return;
  result.isNeverDone = true;
  if (send.steps.size() > common)
    diags
        .error(Slug::NeverReceived, send.steps[common]->range,
               "message " + llvm::Twine(common + 1) + " " + where +
                   " is never received")
        .emit();
  else
    diags
        .error(Slug::NeverSent, recv.steps[common]->range,
               "message " + llvm::Twine(common + 1) + " " + where +
                   " is never sent")
        .emit();
}

void Linter::checkNop(const Block &block, uint32_t s) {
  const coll::msccl::Step &nop = block.steps[s];
  if (nop.depBlock < 0)
    return;
  bool isFollowed =
      s + 1 < block.steps.size() && block.steps[s + 1].depBlock >= 0;
  if (!isFollowed)
    diags
        .error(Slug::NopChainRule, nop.range,
               "a nop that waits is not followed by a step that waits: loaders "
               "refuse the file")
        .help(s + 1 < block.steps.size() ? block.steps[s + 1].range
                                         : block.range,
              "the dependency of the last nop belongs to the step itself");
}

/// Through nops only: the rest is a deadlock of the programs.
bool Linter::waitsForItself(const Gpu &gpu, uint32_t own, uint32_t step) {
  llvm::SmallVector<std::pair<uint32_t, uint32_t>, 8> stack{{own, step}};
  llvm::DenseSet<std::pair<uint32_t, uint32_t>> seen;
  while (!stack.empty()) {
    auto [b, s] = stack.pop_back_val();
    const coll::msccl::Step &at = gpu.blocks[b].steps[s];
    if (at.depBlock < 0)
      continue;
    std::optional<uint32_t> flagged = flaggedStep(gpu, at.depBlock, at.depStep);
    if (!flagged)
      continue;
    if (uint32_t(at.depBlock) == own) {
      if (*flagged >= step)
        return true;
      continue;
    }
    const auto &steps = gpu.blocks[at.depBlock].steps;
    for (uint32_t i = *flagged + 1; i-- > 0 && steps[i].kind == StepKind::Nop;)
      if (seen.insert({at.depBlock, i}).second)
        stack.push_back({uint32_t(at.depBlock), i});
  }
  return false;
}

void Linter::checkDependencies(Rank rank, const Gpu &gpu) {
  for (uint32_t b = 0; b < gpu.blocks.size(); ++b)
    for (uint32_t s = 0; s < gpu.blocks[b].steps.size(); ++s) {
      const coll::msccl::Step &step = gpu.blocks[b].steps[s];
      if (step.kind == StepKind::Nop)
        checkNop(gpu.blocks[b], s);
      if (step.depBlock < 0)
        continue;
      if (!flaggedStep(gpu, step.depBlock, step.depStep)) {
        result.isNeverDone = true;
        SourceRange other = gpu.blocks[step.depBlock].steps[step.depStep].range;
        InFlight error = diags.error(
            Slug::MissingHasdep, step.range,
            "rank " + llvm::Twine(rank) + " waits for step " +
                llvm::Twine(step.depStep) + " of block " +
                llvm::Twine(step.depBlock) +
                ", and neither that step nor a later one raises a flag");
        if (SourceRange value = attributeOf(sources, other, "hasdep");
            value != other)
          error.fix(value, "1", "raise the flag");
        else
          error.help(other, "hasdep=\"1\" raises the flag");
      } else if (waitsForItself(gpu, b, s)) {
        result.isNeverDone = true;
        diags
            .error(Slug::Deadlock, step.range,
                   "rank " + llvm::Twine(rank) +
                       " waits, through nops, for what comes after this step")
            .emit();
      }
    }
}

void Linter::limit(SourceRange range, const llvm::Twine &message) {
  diags.warning(Slug::RuntimeLimit, range, message).emit();
}

void Linter::checkBlockLimits(Rank rank, const Gpu &gpu) {
  if (gpu.blocks.size() > 216)
    limit(gpu.range, "rank " + llvm::Twine(rank) + " has " +
                         llvm::Twine(gpu.blocks.size()) +
                         " thread blocks; microsoft/msccl takes 216");
  std::map<std::pair<bool, uint32_t>, uint32_t> perChannel;
  bool said = false;
  for (const Block &block : gpu.blocks) {
    if (block.steps.size() > 256)
      limit(block.range, "a thread block of " +
                             llvm::Twine(block.steps.size()) +
                             " steps; the runtimes take 256");
    if (block.sendPeer >= 0)
      ++perChannel[{true, block.channel}];
    if (block.recvPeer >= 0)
      ++perChannel[{false, block.channel}];
    for (const coll::msccl::Step &step : block.steps) {
      if (step.count > 71 && !std::exchange(said, true))
        limit(attributeOf(sources, step.range, "cnt"),
              "a step of " + llvm::Twine(step.count) +
                  " chunks; the runtimes take 71");
      if (step.depBlock > 127 && !std::exchange(said, true))
        limit(attributeOf(sources, step.range, "depid"),
              "a dependency on block " + llvm::Twine(step.depBlock) +
                  "; Azure's executor takes 127");
    }
  }
  for (const auto &[channel, count] : perChannel)
    if (count > 32)
      limit(gpu.range,
            llvm::Twine(count) + " thread blocks of rank " + llvm::Twine(rank) +
                (channel.first ? " send" : " receive") + " on channel " +
                llvm::Twine(channel.second) + "; the runtimes take 32");
}

void Linter::checkLimits() {
  uint32_t channels = 0;
  for (Rank rank = 0; rank < algo.gpus.size(); ++rank) {
    for (const Block &block : algo.gpus[rank].blocks)
      channels = std::max(channels, block.channel + 1);
    checkBlockLimits(rank, algo.gpus[rank]);
  }
  if (channels > 32)
    limit(algo.range,
          llvm::Twine(channels) + " channels; the runtimes take 32");
  if (channels > algo.channels)
    limit(attributeOf(sources, algo.range, "nchannels"),
          "'nchannels' is " + llvm::Twine(algo.channels) +
              " and the highest channel is " + llvm::Twine(channels - 1));
  if (!algo.inPlace && !algo.outOfPlace)
    limit(algo.range,
          "neither 'inplace' nor 'outofplace': no call selects the file");
  std::string missing;
  for (auto [has, name] : {std::pair(algo.hasOutOfPlace, "outofplace"),
                           {algo.hasMinBytes, "minBytes"},
                           {algo.hasMaxBytes, "maxBytes"}})
    if (!has)
      missing += (missing.empty() ? "'" : ", '") + std::string(name) + "'";
  if (!missing.empty() && !algo.hasPreloads())
    limit(algo.range,
          "without " + missing + " Azure's loader refuses the file");
}

LintResult Linter::run() {
  collect();
  if (!result.isShared) {
    std::vector<Connection> all;
    for (const auto *sides : {&sends, &recvs})
      for (const auto &[connection, side] : *sides)
        all.push_back(connection);
    llvm::sort(all);
    all.erase(std::unique(all.begin(), all.end()), all.end());
    for (const Connection &connection : all)
      match(connection, sends[connection], recvs[connection]);
  }
  for (Rank rank = 0; rank < algo.gpus.size(); ++rank)
    checkDependencies(rank, algo.gpus[rank]);
  checkLimits();
  return result;
}

LintResult msccl::lint(const SourceManager &sources, DiagnosticEngine &diags,
                       const Algorithm &algo) {
  return Linter(sources, diags, algo).run();
}

std::vector<MessagePair> msccl::matchMessages(const Algorithm &algo) {
  std::map<Connection, std::vector<const coll::msccl::Step *>> sent, received;
  for (Rank rank = 0; rank < algo.gpus.size(); ++rank)
    for (const Block &block : algo.gpus[rank].blocks)
      for (const coll::msccl::Step &step : block.steps) {
        if (sends(step.kind))
          sent[{rank, block.sendPeer, block.channel}].push_back(&step);
        if (receives(step.kind))
          received[{block.recvPeer, rank, block.channel}].push_back(&step);
      }
  std::vector<MessagePair> pairs;
  for (const auto &[connection, steps] : sent) {
    const auto &others = received[connection];
    for (size_t i = 0; i < std::min(steps.size(), others.size()); ++i)
      pairs.push_back({steps[i], others[i], std::get<0>(connection),
                       std::get<1>(connection)});
  }
  return pairs;
}
