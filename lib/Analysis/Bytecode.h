//===- Bytecode.h - A schedule as flat register code ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is run to execute a schedule for concrete parameters. Every SSA value of
// a coll.schedule has a register of its own, loops and conditions are jumps,
// and what an instruction needs besides registers stands in side tables. The
// code is made once per schedule and runs for every rank count and launch
// member.
//
// Four kinds of register: integers (also conditions, size symbols and
// mappings), views, elementwise expressions ("values") and lists. Where an
// instruction has a variable number of operands, `b` and `count` name a piece
// of `pool`.
//
//===----------------------------------------------------------------------===//
#ifndef COLL_LIB_ANALYSIS_BYTECODE_H
#define COLL_LIB_ANALYSIS_BYTECODE_H

#include "lib/Analysis/ChunkGraph.h"

#include <string>
#include <vector>

namespace coll {

using Reg = uint32_t;

enum class Opcode : uint8_t {
  // Integers: dst = a op b.
  Move,
  Add,
  Sub,
  Mul,
  Div,
  Mod,
  Shl,
  Shr,
  And,
  Or,
  Xor,
  Min,
  Max,
  Eq,
  Ne,
  Lt,
  Le,
  Gt,
  Ge,
  // dst = op a.
  Abs,
  Log2,
  CeilLog2,
  Lsb,
  Popcount,
  Pow2,
  // Control. `a` is the target; JumpUnless: if not b. Loops: `a` indexes
  // `loops`.
  Jump,
  JumpUnless,
  LoopEnter,
  LoopNext,
  Halt,
  // Registers of the other kinds: dst = a.
  MoveView,
  MoveValue,
  MoveList,
  // Lists. Member appends pool[b ..+ count]. ListGet: list a at b, to pool[c
  // ..+ count].
  ListBegin,
  Member,
  ListEnd,
  ListSize,
  ListGet,
  // Views of a. Slice: pool[b ..] holds count triples offset, size (kNone: the
  // dimension is indexed and vanishes), step (kNone: 1). Dim: of dimension b.
  Slice,
  Reshape,
  Dim,
  // Values. Read: view a at rank pool[b ..+ count]. FoldEnd: flag = any. Apply:
  // function a.
  Read,
  AddValues,
  FoldBegin,
  FoldOperand,
  FoldEnd,
  Apply,
  // The frame of the schedule. Param: name a, default register b or kNone.
  // Launch:
  // index a, domain list b, to pool[c ..+ count]. Where: condition a, text b.
  // Assert: condition a, assertion b. Buffer, Tmp, Directive: index a.
  Param,
  Launch,
  Where,
  Assert,
  Chunks,
  Buffer,
  Tmp,
  Init,
  Mapping,
  Directive,
  // Statements; `a` indexes the side table of the same name.
  Transfer,
  GroupBegin,
  GroupEnd,
  On,
  ProcessEnd,
  Send,
  Recv,
  // The contract. SizeOf: view a at pool[b ..+ count] has size c. Ensure: the
  // same, with value c. Count: of pool[b ..+ count].
  SizeOf,
  Inplace,
  LaunchCounts,
  Count,
  ConstSize,
  Same,
  Ensure
};
constexpr Opcode lastBinary = Opcode::Ge;
constexpr Opcode lastUnary = Opcode::Pow2;

struct Instr {
  Opcode op;
  uint8_t flag = 0;
  uint16_t count = 0;
  Reg dst = kNone, a = kNone, b = kNone, c = kNone;
};

/// Registers pool[first ..+ count].
struct RegList {
  uint32_t first = 0, count = 0;
};

struct LoopCode {
  Reg var, low, high, step;
  uint32_t body = 0,
           end = 0; // first instruction of the body, and after the loop
  SiteId site = kNone;
};

struct BufferCode {
  coll::Buffer::Kind kind;
  std::string name;
  RegList parts, at;   // at.count == 0: not one rank
  Reg members = kNone; // a list of ranks
};

struct TmpCode {
  std::string name;
  RegList dims;
  ElemType type = ElemType::T;
};

struct AssertCode {
  std::string slug, message; // {0}, {1} stand for the arguments
  RegList args;
};

/// What a value register would hold, if it is only one read: `view` at `at`.
struct ReadCode {
  Reg view = kNone;
  RegList at;
  SiteId site = kNone;
};

struct TransferCode {
  bool reduce = false, hasVia = false;
  ElemType via = ElemType::T;
  Reg value = kNone; // kNone: `read`
  ReadCode read;
  Reg target = kNone;
  RegList at;          // one rank, or
  Reg members = kNone; // a list of ranks, or neither: own rank
  Reg mapping = kNone;
};

struct SendCode {
  bool hasVia = false;
  ElemType via = ElemType::T;
  Reg value = kNone; // kNone: `read`
  ReadCode read;
  RegList peer;
  Reg mapping = kNone;
};

struct RecvCode {
  bool reduce = false;
  Reg target = kNone;
  RegList peer;
  Reg mapping = kNone;
};

struct OnCode {
  Reg members = kNone, capacity = kNone;
  RegList self;      // where each process finds its rank
  uint32_t body = 0; // its first instruction; the code goes on at `end`
  uint32_t end = 0;
};

struct MappingCode {
  std::vector<std::string>
      keys; // channel, block, recv_block, channels, instances, ...
  RegList values;
  coll::Mapping fixed; // what needs no execution
};

struct DirectiveCode {
  std::string name, text;
  RegList values;
};

struct InplaceCode {
  Reg lhs, rhs;
  RegList lhsAt, rhsAt;
};

struct LaunchCountsCode {
  std::string name;
  RegList dims;
  bool isGlobal = false;
};

struct LaunchCode {
  std::string name;
  bool isInteger = false;
};

struct Bytecode {
  std::string schedule, contract, sourcePath;
  std::vector<std::string> rankNames;
  SiteId site = kNone; // of the schedule
  bool reduces = false;

  std::vector<Instr> code;
  std::vector<SiteId> sites; // by instruction
  uint32_t ensures = 0;      // where the code that compares the outputs starts

  std::vector<int64_t>
      ints; // integer registers at the start: constants, else 0
  uint32_t numViews = 0, numValues = 0, numLists = 0;
  std::vector<Reg> rankDims; // registers of the sizes of the rank space
  std::vector<Reg> pool;

  std::vector<std::string> strings;
  std::vector<Site> siteTable;
  std::vector<LoopCode> loops;
  std::vector<LaunchCode> launches;
  std::vector<BufferCode> buffers;
  std::vector<TmpCode> tmps;
  std::vector<AssertCode> asserts;
  std::vector<TransferCode> transfers;
  std::vector<SendCode> sends;
  std::vector<RecvCode> recvs;
  std::vector<OnCode> ons;
  std::vector<MappingCode> mappings;
  std::vector<DirectiveCode> directives;
  std::vector<InplaceCode> inplaces;
  std::vector<LaunchCountsCode> launchCounts;
  std::vector<Function> functions;
};

} // namespace coll

#endif // COLL_LIB_ANALYSIS_BYTECODE_H
