//===- ProgramSamples.cpp - Programs to try things on ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ProgramSamples.h"

using namespace coll;

static ExprNode operand(uint32_t index) {
  return {ExprNode::Operand, ElemType::T, 0, index};
}

static Port recv(uint32_t end) {
  Port port{};
  port.kind = Port::Recv;
  port.end = end;
  return port;
}
static Port send(uint32_t end) {
  Port port = recv(end);
  port.kind = Port::Send;
  return port;
}
static Port load(uint16_t buffer, uint32_t part, uint32_t chunk) {
  Port port{};
  port.kind = Port::Load;
  port.loc = {Location::Buffer, buffer, part, chunk};
  return port;
}
static Port store(uint16_t buffer, uint32_t part, uint32_t chunk) {
  Port port = load(buffer, part, chunk);
  port.kind = Port::Store;
  return port;
}
static Port inScratch(Port port, uint32_t slot) {
  port.loc = {Location::Scratch, 0, slot, 0};
  return port;
}

static void addStep(RankProgram &program, size_t block, Step step,
                    std::vector<Port> sources, std::vector<Port> sinks,
                    std::vector<BlockWait> waits = {}) {
  step.firstPort = program.ports.size();
  step.numSources = sources.size();
  step.numSinks = sinks.size();
  step.firstWait = program.waits.size();
  step.numWaits = waits.size();
  program.ports.insert(program.ports.end(), sources.begin(), sources.end());
  program.ports.insert(program.ports.end(), sinks.begin(), sinks.end());
  program.waits.insert(program.waits.end(), waits.begin(), waits.end());
  program.blocks[block].steps.push_back(step);
}

static Buffer buffer(Buffer::Kind kind, std::string name, uint32_t ranks) {
  return {kind, std::move(name), 1, std::vector<bool>(ranks, true), {0}};
}

/// Messages that may go direct.
static void addDirect(RankProgram &program) {
  Step moved;
  moved.expr = 1;
  moved.chunk = 2;
  Port get = recv(0), put = send(0);
  get.direct = Port::Get;
  get.loc = {Location::Buffer, 3, 0, 2};
  put.direct = Port::Put;
  put.loc = {Location::Buffer, 2, 0, 2};
  addStep(program, 2, moved, {get}, {put});
}

ProgramSet coll::makeRing(uint32_t n, FileId file) {
  ProgramSet programs;
  programs.schedule = "ring";
  programs.contract = "allreduce";
  programs.sourcePath = "dir/x.coll";
  programs.rankDims = {n};
  programs.reduces = programs.isAvgLegal = true;
  programs.sizes = {{SizeSymbol::Count, 0, n}};
  programs.exprs = {
      {{operand(0)}},
      {{operand(0), operand(1), {ExprNode::Fold, ElemType::T, 0, 2}}}};
  programs.sites = {{{file, 5, 9}, kNone}, {{file, 40, 95}, 0}};
  programs.roundBytes = 1 << 16;
  ProgramMember &member = programs.members.emplace_back();
  member.buffers = {buffer(Buffer::In, "in", n), buffer(Buffer::Out, "out", n)};
  for (uint32_t r = 0; r < n; ++r) {
    member.inplacePairs.push_back({r, 0, 0, 1, 0});
    RankProgram &program = member.outOfPlace.emplace_back();
    program.blocks.resize(1);
    program.sendEnds = {{(r + 1) % n, 0}};
    program.recvEnds = {{(r + n - 1) % n, 0}};
    for (uint32_t s = 0; s < 2 * n - 1; ++s) {
      Step step;
      step.chunk = (r + 2 * n - s - 1) % n;
      step.site = s % 2;
      bool reduces = s > 0 && s < n;
      step.expr = reduces;
      step.complete = s == n - 1;
      std::vector<Port> from, to;
      if (s > 0)
        from.push_back(recv(0));
      if (s < n)
        from.push_back(load(0, 0, step.chunk));
      if (s >= n - 1)
        to.push_back(store(1, 0, step.chunk));
      if (s < 2 * n - 2)
        to.push_back(send(0));
      addStep(program, 0, step, from, to);
    }
  }
  member.inPlace = member.outOfPlace;
  return programs;
}

ProgramSet coll::makeEveryField(FileId file) {
  ProgramSet programs;
  programs.schedule = "all";
  programs.contract = "c \"quoted\"";
  programs.sourcePath = "a b.coll";
  programs.rankDims = {1, 2};
  programs.launchNames = {"root", "depth"};
  programs.launchDomains = {{0, 1}, {7}};
  programs.reduces = programs.globalCounts = true;
  programs.launchCounts = "n";
  programs.launchCountDims = {2, 3};
  programs.sizes = {{SizeSymbol::Launch, 5, 3},
                    {SizeSymbol::Const, 0, 1},
                    {SizeSymbol::Const, uint64_t(1) << 48, 2}};
  programs.functions = {
      {"f",
       {Buffer::In, Buffer::RowArg, Buffer::Scalar},
       {{Function::Param, 0, 0},
        {Function::Param, 1, 0},
        {Function::Mul},
        {Function::RowMean},
        {Function::Const, 0, 0.1},
        {Function::Add},
        {Function::Rsqrt},
        {Function::Param, 2, 0},
        {Function::Div}},
       true},
      {"g", {Buffer::In}, {{Function::Param, 0, 0}, {Function::Neg}}, false}};
  programs.exprs = {{{operand(1),
                      operand(0),
                      {ExprNode::FoldAny, ElemType::T, 0, 2},
                      {ExprNode::Round, ElemType::E5M2},
                      operand(2),
                      operand(1),
                      {ExprNode::Add},
                      operand(0),
                      {ExprNode::Apply, ElemType::T, 0, 3},
                      {ExprNode::Apply, ElemType::T, 1, 1}}},
                    {{operand(0), {ExprNode::Fold, ElemType::T, 0, 1}}}};
  programs.sites = {
      {{file, 0, 0}, kNone}, {{file, 31, 599}, 0}, {{file, 600, 600}, 1}};
  programs.map = {"ll", 2,     3,       4,    5,    6,    7,    8,
                  9,    ~1ull, 1 << 20, true, true, true, true, true};
  programs.numTags = 9;
  programs.instances = 2;
  programs.roundBytes = 0xfffffff0;
  for (uint32_t root : {0, 1}) {
    ProgramMember &member = programs.members.emplace_back();
    member.launchValues = {root, 7};
    member.buffers = {{Buffer::In, "in", 2, {false, true}, {0, 0, 1, 2}},
                      {Buffer::Out, "out", 1, {false, false}, {1}},
                      {Buffer::ElemArg, "x", 1, {true, true}, {0}},
                      {Buffer::RowArg, "w", 1, {true, true}, {0}},
                      {Buffer::Scalar, "eps", 1, {true, true}, {0}}};
    RankProgram program;
    program.scratchSlots = 4;
    program.sendEnds = {{1, 8}, {1, 0}};
    program.recvEnds = {{1, 3}};
    program.blocks.resize(3);
    Step step;
    step.shift = 2;
    step.type = ElemType::F32;
    step.complete = true;
    step.chunk = 2;
    step.site = 2;
    step.value = 77;
    Port raw = recv(0), leaf = load(0, 1, 2),
         saved = inScratch(load(0, 0, 0), 3);
    raw.type = ElemType::E4M3;
    raw.receivedScaled = raw.scaledRounded = true;
    leaf.scaled = true;
    saved.type = ElemType::Accum;
    Port wire = send(1), cell = store(2, 0, 1);
    wire.type = ElemType::MXE4M3;
    cell.type = ElemType::BF16;
    addStep(program, 0, step, {raw, leaf, saved},
            {cell, wire, inScratch(store(0, 0, 0), 0)},
            {{2, 0, true}, {2, 1, false}});
    Step token;
    token.size = 1;
    token.expr = 1;
    addStep(program, 2, token, {inScratch(load(0, 0, 0), 9)}, {send(0)});
    addStep(program, 2, token, {inScratch(load(0, 0, 0), 9)}, {});
    addDirect(program);
    RankProgram other;
    other.sendEnds = {{0, 3}};
    member.outOfPlace = {program, other};
    if (root == 1) {
      member.inPlace = {program, {}};
      member.inplacePairs = {{1, 0, 1, 1, 0}};
    }
  }
  return programs;
}
