//===- BytecodeTables.h - Side tables of Bytecode ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What instructions need that is no register: one structure per kind, indexed
// by the instruction.
//
//===----------------------------------------------------------------------===//
#ifndef COLL_LIB_ANALYSIS_BYTECODETABLES_H
#define COLL_LIB_ANALYSIS_BYTECODETABLES_H

#include "lib/Analysis/ChunkGraph.h"

#include <string>
#include <vector>

namespace coll {

using Reg = uint32_t;

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

} // namespace coll

#endif // COLL_LIB_ANALYSIS_BYTECODETABLES_H
