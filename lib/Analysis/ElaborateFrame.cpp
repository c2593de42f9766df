//===- ElaborateFrame.cpp - Parameters, arrays and map directives ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Analysis/ElaborateMachine.h"
#include "lib/Analysis/MapLimits.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/StringSwitch.h"
#include <numeric>

using namespace coll;
using namespace coll::elab;

//===----------------------------------------------------------------------===//
// Parameters
//===----------------------------------------------------------------------===//

static const int64_t *findDefine(const Parameters &params,
                                 llvm::StringRef name) {
  for (const auto &[key, value] : params.defines)
    if (key == name)
      return &value;
  return nullptr;
}

bool Machine::param(Frame &frame, const Instr &in) {
  const std::string &name = code.strings[in.a];
  if (const int64_t *value = findDefine(params, name))
    frame.ints[in.dst] = *value;
  else if (in.b != kNone)
    frame.ints[in.dst] = frame.ints[in.b];
  else
    return fail({.fault = Fault::MissingParameter,
                 .site = siteOf(frame),
                 .text = name});
  return true;
}

bool Machine::domainOf(const Frame &frame, const Instr &in,
                       std::vector<uint32_t> &domain) {
  const List &list = frame.lists[in.b];
  SiteId site = siteOf(frame);
  llvm::SmallVector<Rank> ranks;
  if (!code.launches[in.a].isInteger && !ranksOf(list, ranks, site))
    return false;
  for (size_t i = 0; i < list.size(); ++i) {
    int64_t value = ranks.empty() ? list.flat[i] : ranks[i];
    if (value < 0 || value > INT32_MAX)
      return fail({.fault = Fault::BadLaunchValue,
                   .site = site,
                   .x = value,
                   .text = code.launches[in.a].name});
    domain.push_back(value);
  }
  if (domain.empty())
    return fail({.fault = Fault::EmptyLaunchDomain,
                 .site = site,
                 .text = code.launches[in.a].name});
  // Each value is one member, wherever it is first named.
  llvm::DenseSet<uint32_t> seen;
  llvm::erase_if(domain,
                 [&](uint32_t value) { return !seen.insert(value).second; });
  return true;
}

bool Machine::launch(Frame &frame, const Instr &in) {
  const LaunchCode &launch = code.launches[in.a];
  std::vector<uint32_t> domain;
  if (!domainOf(frame, in, domain))
    return false;
  int64_t value = domain[0];
  if (const int64_t *defined = findDefine(params, launch.name))
    value = *defined;
  else if (in.a < params.launch.size())
    value = params.launch[in.a];
  if (!llvm::is_contained(domain, value))
    return fail({.fault = Fault::BadLaunchValue,
                 .site = siteOf(frame),
                 .x = value,
                 .text = launch.name});
  if (findDefine(params, launch.name))
    domain.assign(1, value);
  graph.launchNames.push_back(launch.name);
  graph.launchValues.push_back(value);
  graph.launchDomains.push_back(std::move(domain));
  hasDomains = wantsDomains && graph.launchNames.size() == code.launches.size();
  if (launch.isInteger) {
    frame.ints[code.pool[in.c]] = value;
    return true;
  }
  llvm::ArrayRef<Reg> coords = regs({in.c, in.count});
  for (size_t d = coords.size(); d-- > 0; value /= graph.rankDims[d])
    frame.ints[coords[d]] = value % graph.rankDims[d];
  return true;
}

bool Machine::where(Frame &frame, const Instr &in) {
  if (frame.ints[in.a] == 0 && excludedBy == kNone) {
    excludedBy = in.b;
    excludedAt = siteOf(frame);
  }
  return true;
}

bool Machine::assertion(Frame &frame, const Instr &in) {
  if (frame.ints[in.a] != 0)
    return true;
  const AssertCode &assertion = code.asserts[in.b];
  std::string text;
  llvm::StringRef rest = assertion.message;
  while (!rest.empty()) { // {0}, {1}, ...
    unsigned i = 0;
    llvm::StringRef from = rest;
    if (rest.consume_front("{") && !rest.consumeInteger(10, i) &&
        rest.consume_front("}") && i < assertion.args.count) {
      text += std::to_string(frame.ints[regs(assertion.args)[i]]);
    } else {
      rest = from.drop_front();
      text += from.front();
    }
  }
  return fail({.fault = Fault::Asserted,
               .site = siteOf(frame),
               .text = text,
               .slug = assertion.slug});
}

//===----------------------------------------------------------------------===//
// Arrays
//===----------------------------------------------------------------------===//

bool Machine::chunks(Frame &frame, const Instr &in) {
  if (!shapeFrom(frame, {in.b, in.count}, chunkDims, siteOf(frame)))
    return false;
  for (uint32_t dim : chunkDims) {
    if (dim == 0)
      return fail({.fault = Fault::BadChunks, .site = siteOf(frame)});
    graph.chunks *= dim;
  }
  graph.map.byRow = in.flag;
  graph.sizes[0].chunks = graph.chunks;
  return true;
}

/// ChunkGraph has ins, outs, args and scalars in this order; clauses may come
/// in any.
void Machine::orderBuffers() {
  auto classOf = [&](uint32_t i) {
    Buffer::Kind kind = code.buffers[i].kind;
    return kind == Buffer::RowArg ? Buffer::ElemArg : kind;
  };
  std::vector<uint32_t> order(code.buffers.size());
  std::iota(order.begin(), order.end(), 0);
  llvm::sort(order, [&](uint32_t a, uint32_t b) {
    return std::pair(classOf(a), a) < std::pair(classOf(b), b);
  });
  bufferIndex.resize(order.size());
  graph.buffers.resize(order.size());
  for (auto [to, from] : llvm::enumerate(order)) {
    bufferIndex[from] = to;
    graph.buffers[to].kind = code.buffers[from].kind;
    graph.buffers[to].name = code.buffers[from].name;
    graph.buffers[to].present.assign(graph.numRanks(), false);
    builder.terms.addLeafType(
        leafTypeOf(code.buffers[from].kind, code.reduces));
  }
}

bool Machine::addArray(Array array, uint32_t &id) {
  id = state.arrays.size();
  if (id >= maxArrays)
    return fail({.fault = Fault::TooManyLocations, .site = array.site});
  if (!isJoining() && !state.allocate(array))
    return false;
  if (groups)
    groups->addArray(array.cells);
  state.arrays.push_back(std::move(array));
  return true;
}

bool Machine::buffer(Frame &frame, const Instr &in) {
  const BufferCode &from = code.buffers[in.a];
  SiteId site = siteOf(frame);
  Array array;
  array.name = from.name;
  array.site = site;
  array.buffer = bufferIndex[in.a];
  array.isBroadcast =
      from.kind == Buffer::RowArg || from.kind == Buffer::Scalar;
  if (!shapeFrom(frame, from.parts, array.dims, site))
    return false;
  Buffer &buffer = graph.buffers[array.buffer];
  for (uint32_t dim : array.dims)
    buffer.parts *= dim;
  if (from.kind != Buffer::Scalar)
    array.dims.append(chunkDims);
  uint64_t cells = uint64_t(buffer.parts) * graph.chunks;
  if (array.dims.size() > maxDims)
    return fail({.fault = Fault::TooManyDims,
                 .site = site,
                 .x = int64_t(array.dims.size())});
  if (cells > params.limits.chunks)
    return fail({.fault = Fault::ArrayTooLarge, .site = site});
  array.cells = array.isBroadcast ? 1 : cells;
  if (!state.isSparse)
    builder.terms.setShape(array.buffer, buffer.parts,
                           array.isBroadcast ? 1 : graph.chunks,
                           graph.numRanks());

  llvm::SmallVector<Rank> ranks;
  if (from.members != kNone) {
    if (!ranksOf(frame.lists[from.members], ranks, site))
      return false;
  } else if (from.at.count &&
             !rankAt(frame, from.at, ranks.emplace_back(), site)) {
    return false;
  }
  bool isEverywhere = from.members == kNone && !from.at.count;
  buffer.present.assign(graph.numRanks(), isEverywhere);
  for (Rank rank : ranks)
    buffer.present[rank] = true;
  uint32_t size =
      array.isBroadcast ? builder.sizeSymbol(SizeSymbol::Const, 1, 1) : 0;
  buffer.partSize.assign(buffer.parts, size);

  uint32_t id;
  if (!addArray(std::move(array), id))
    return false;
  frame.views[in.dst] = state.whole(id);
  return true;
}

bool Machine::tmp(Frame &frame, const Instr &in) {
  const TmpCode &from = code.tmps[in.a];
  llvm::SmallVector<uint32_t, 4> dims;
  if (!shapeFrom(frame, from.dims, dims, siteOf(frame)))
    return false;
  uint32_t &id = tmpArrays[in.a];
  if (frame.self == kNone && id != kNone && state.arrays[id].dims == dims) {
    state.arrays[id].clear();
  } else {
    Array array;
    array.name = from.name;
    array.site = siteOf(frame);
    array.type = from.type;
    array.dims = dims;
    array.onlyRank = frame.self;
    for (uint32_t dim : dims)
      array.cells *= dim;
    if (!addArray(std::move(array), id))
      return false;
  }
  frame.views[in.dst] = state.whole(id);
  return countSteps(1, siteOf(frame));
}

//===----------------------------------------------------------------------===//
// Map
//===----------------------------------------------------------------------===//

/// Where a key of a mapping goes; null: it is `slot`.
static uint32_t *fieldOf(Mapping &mapping, llvm::StringRef key) {
  return llvm::StringSwitch<uint32_t *>(key)
      .Case("channel", &mapping.channel)
      .Case("block", &mapping.block)
      .Case("recv_block", &mapping.recvBlock)
      .Case("channels", &mapping.channels)
      .Case("instances", &mapping.instances)
      .Case("blocks", &mapping.blocks)
      .Case("threads", &mapping.threads)
      .Case("slots", &mapping.slots)
      .Default(nullptr);
}

bool Machine::mapping(Frame &frame, const Instr &in) {
  const MappingCode &from = code.mappings[in.a];
  Mapping mapping = from.fixed;
  for (auto [key, reg] : llvm::zip_equal(from.keys, regs(from.values))) {
    int64_t value = frame.ints[reg];
    if (!mapLimitOf(key).allows(value))
      return fail({.fault = Fault::BadDirective,
                   .site = siteOf(frame),
                   .x = value,
                   .text = key});
    if (uint32_t *field = fieldOf(mapping, key))
      *field = value;
    else
      mapping.slotBytes = value;
  }
  frame.ints[in.dst] = builder.mapping(mapping);
  return true;
}

static uint32_t *fieldOf(MapDirectives &map, llvm::StringRef name) {
  return llvm::StringSwitch<uint32_t *>(name)
      .Case("instances", &map.instances)
      .Case("channels", &map.channels)
      .Case("blocks", &map.blocks)
      .Case("threads", &map.threads)
      .Case("slots", &map.slots)
      .Default(nullptr);
}
static uint64_t *bytesOf(MapDirectives &map, llvm::StringRef name) {
  return llvm::StringSwitch<uint64_t *>(name)
      .Case("round", &map.roundBytes)
      .Case("slot", &map.slotBytes)
      .Case("scratch", &map.scratchBytes)
      .Case("sizes", &map.sizesLow)
      .Default(nullptr);
}
static bool *flagOf(MapDirectives &map, llvm::StringRef name) {
  return llvm::StringSwitch<bool *>(name)
      .Case("order", &map.sourceOrder)
      .Case("pull", &map.pull)
      .Case("push", &map.push)
      .Case("staged", &map.staged)
      .Default(nullptr);
}

bool Machine::directive(Frame &frame, const Instr &in) {
  const DirectiveCode &from = code.directives[in.a];
  MapDirectives &map = graph.map;
  uint32_t *count = fieldOf(map, from.name);
  uint64_t *bytes = bytesOf(map, from.name);
  for (auto [i, reg] : llvm::enumerate(regs(from.values))) {
    int64_t value = frame.ints[reg];
    if (!mapLimitOf(from.name).allows(value))
      return fail({.fault = Fault::BadDirective,
                   .site = siteOf(frame),
                   .x = value,
                   .text = from.name});
    if (count)
      *count = value;
    else if (bytes)
      (i == 0 ? *bytes : map.sizesHigh) = value;
  }
  if (from.name == "sizes" && map.sizesHigh < map.sizesLow)
    return fail({.fault = Fault::Asserted,
                 .site = siteOf(frame),
                 .text = "'sizes' ends at " + std::to_string(map.sizesHigh) +
                         ", before it starts at " +
                         std::to_string(map.sizesLow),
                 .slug = "bad-directive"});
  if (bool *flag = flagOf(map, from.name))
    *flag = true;
  if (from.name == "protocol")
    map.protocol = from.text;
  return true;
}
