//===- ChunkGraph.h - A schedule executed for concrete parameters ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The loops of a schedule are gone and every location is renamed to a value. A
// value lives at one rank, has a term (what it means, whatever the rank) and
// says how it is computed from other values: an expression over operands, each
// of which is a value of this rank (a load) or of another rank (a message).
// Values are numbered in the order of the source, so operands precede users and
// the numbering is a legal sequential execution. A copy within a rank makes no
// value: both locations hold the same one.
//
//===----------------------------------------------------------------------===//
#ifndef COLL_LIB_ANALYSIS_CHUNKGRAPH_H
#define COLL_LIB_ANALYSIS_CHUNKGRAPH_H

#include "lib/Support/Source.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>
#include <string>
#include <vector>

namespace coll {

using Rank = uint32_t; // flat, row-major, last coordinate fastest
using ValueId = uint32_t;
using TermId = uint32_t;
using ExprId = uint32_t;
using ExtentId = uint32_t;
using SiteId = uint32_t;
using MappingId = uint32_t;
constexpr uint32_t kNone = ~0u;

/// For what there are millions of: grows by realloc, which moves page tables,
/// where std::vector copies and needs all of it twice.
template <typename T> using BigVector = llvm::SmallVector<T, 0>;

/// What a value is stored or sent as. T is the launch's dtype; Accum is f32 for
/// f16, bf16 and fp8, else T.
enum class ElemType : uint8_t {
  T,
  Accum,
  F16,
  BF16,
  F32,
  F64,
  E4M3,
  E5M2,
  MXE4M3
};

/// A place in the source: the statement and, innermost first, the calls that
/// led to it.
struct Site {
  SourceRange range;
  SiteId caller = kNone;
};

/// `sizes[symbol]` elements, of which this is chunk `chunk` of `chunks`.
struct SizeSymbol {
  enum Kind : uint8_t { Count, Launch, Const } kind = Count;
  uint64_t value =
      0; // Launch: flat index into the launch array. Const: elements
  uint32_t chunks = 1; // a part of this size is cut into so many chunks (the
                       // product of `chunks`)
  bool isToken() const { return kind == Const && value == 0; }
};
struct Extent {
  uint32_t size;  // index into ChunkGraph::sizes
  uint32_t chunk; // ordinal in the part
};

/// The contract's buffers, in the order ins, outs, args (elem and row),
/// scalars.
struct Buffer {
  enum Kind : uint8_t { In, Out, ElemArg, RowArg, Scalar } kind = In;
  std::string name;
  uint32_t parts = 1;
  std::vector<bool> present;      // by rank
  std::vector<uint32_t> partSize; // [rank * parts + part], or [part] when every
                                  // rank agrees (size() == parts): size symbol
  uint32_t sizeOf(Rank rank, uint32_t part) const {
    return partSize.size() == parts ? partSize[part]
                                    : partSize[size_t(rank) * parts + part];
  }
};
/// One chunk of one buffer of one rank.
struct Cell {
  uint16_t buffer;
  uint32_t part, chunk;
};

/// Terms are hash-consed: equal ids are equal bits. Operands of Fold are in
/// order of summation. Terms.h makes them and says what is left out.
struct Term {
  enum Kind : uint8_t {
    Leaf,  // cell of `in` (or an arg) at a rank: operands[0..3] = buffer, part,
           // chunk, rank. premul_sum: an `in` leaf is leaf x factor, in accum
    Round, // of operands[0] to `type`
    Fold,  // the launch's op, left to right, in accum, not rounded
    FoldAny, // the same, order left to the hardware (operands sorted)
    Add,     // always addition
    Apply    // function `function`, uninterpreted
  } kind;
  ElemType type = ElemType::T;
  uint16_t function = 0;
  uint32_t first = 0, count = 0; // in ChunkGraph::termOperands
};

/// The expression of a value over its operands, in postfix form, interned. The
/// result is rounded to the value's type.
struct ExprNode {
  enum Kind : uint8_t { Operand, Fold, FoldAny, Add, Round, Apply } kind;
  ElemType type = ElemType::T; // Round
  uint16_t function = 0;       // Apply
  uint32_t arg =
      0; // Operand: index; Fold, FoldAny, Apply: how many values it takes
  bool operator==(const ExprNode &) const = default;
};
struct ValueExpr {
  std::vector<ExprNode> nodes;
  bool isIdentity() const { return nodes.size() == 1; }
};

struct Operand {
  ValueId value;
  ElemType via; // what it travels as; the operand's own type when nothing was
                // said. Applies also when both ends are one rank.
  bool hasVia;
};

/// What `map` says of a statement; kNone or empty: nothing.
struct Mapping {
  uint32_t channel = kNone, block = kNone, recvBlock = kNone;
  std::string protocol; // "", simple, ll, ll128, multimem, direct
  uint32_t channels = 0, instances = 0, blocks = 0, threads = 0, slots = 0;
  uint64_t slotBytes = 0;
  bool store = false, pull = false, push = false, staged = false,
       sourceOrder = false;
  bool operator==(const Mapping &) const = default;
};

struct Value {
  enum Kind : uint8_t {
    Input, // a leaf: `cell` of this rank, where the caller put it
    Op     // expr over operands, made by `site`
  } kind;
  ElemType type = ElemType::T;
  bool complete =
      false; // Op: first to hold every contribution that the contract asks of
             // it: avg divides here, before rounding
  bool leafCopy =
      false; // Op: identity of a local Input: same bits unless premul_sum,
             // where it is leaf x factor rounded to its type
  Rank rank = 0;
  TermId term = 0;
  ExtentId extent = 0;
  ExprId expr = 0;
  uint32_t firstOperand = 0, numOperands = 0; // in ChunkGraph::operands
  SiteId site = kNone;
  MappingId mapping = 0;
  uint32_t statement = 0; // execution number of the statement: values of one
                          // statement between the same ranks are one message
  Cell cell{};            // Input
};

/// A location of `out` and what it holds at the end.
struct Output {
  Rank rank;
  Cell cell;
  ValueId value;
  SiteId site; // the statement that wrote it
};

struct InplacePair { // may share memory, on this rank, part by part
  Rank rank;
  uint16_t bufferA;
  uint32_t partA;
  uint16_t bufferB;
  uint32_t partB;
};

/// An elementwise or row function, as postfix code over its parameters;
/// computed in accum.
struct Function {
  enum Op : uint8_t {
    Param,
    Const,
    Neg,
    Add,
    Sub,
    Mul,
    Div,
    Exp,
    Sqrt,
    Rsqrt,
    Tanh,
    Abs,
    Min,
    Max,
    RowSum,
    RowMean,
    RowMax
  };
  struct Node {
    Op op;
    uint32_t param = 0;
    double value = 0;
  };
  std::string name;
  std::vector<Buffer::Kind> params; // In stands for an `elem` value
  std::vector<Node> code;
  bool usesRows = false;
};

/// Schedule-wide `map` directives.
struct MapDirectives {
  std::string protocol;
  uint32_t instances = 1, channels = 1, blocks = 1, threads = 0, slots = 0;
  uint64_t roundBytes = 0, slotBytes = 0, sizesLow = 0, sizesHigh = ~0ull,
           scratchBytes = ~0ull;
  bool sourceOrder = false, byRow = false, pull = false, push = false,
       staged = false;
};

struct ChunkGraph {
  std::string schedule, contract, sourcePath;
  std::vector<uint32_t> rankDims;
  std::vector<std::string> launchNames;
  std::vector<uint32_t> launchValues; // this member's, flat ranks or integers
  std::vector<std::vector<uint32_t>> launchDomains;
  bool reduces = false;     // the contract uses `reduce`: the call has an op
  bool isAvgLegal = false;  // every ensure is a plain reduce(in@all)
  std::string launchCounts; // name of the launch array of counts, "" if the
                            // contract has one count
  std::vector<uint32_t> launchCountDims;
  bool globalCounts = false;
  uint32_t chunks = 1; // per part: the product of `chunks`

  std::vector<Buffer> buffers;
  std::vector<uint16_t> sameBuffers; // on all ranks: `require same`
  bool isSame(uint32_t buffer) const {
    return llvm::is_contained(sameBuffers, buffer);
  }
  std::vector<SizeSymbol> sizes;
  std::vector<Extent> extents;
  std::vector<Site> sites;
  BigVector<Term> terms;
  BigVector<uint32_t> termOperands;
  std::vector<ValueExpr> exprs;
  BigVector<Operand> operands;
  BigVector<Value> values;
  BigVector<Output> outputs;        // sorted by rank, buffer, part, chunk
  std::vector<InplacePair> inplace; // sorted by rank
  std::vector<Function> functions;
  std::vector<Mapping> mappings; // [0] is the empty one
  MapDirectives map;

  uint32_t numRanks() const {
    uint32_t n = 1;
    for (uint32_t d : rankDims)
      n *= d;
    return n;
  }
  const Operand *operandsOf(const Value &v) const {
    return operands.data() + v.firstOperand;
  }
};

} // namespace coll
#endif // COLL_LIB_ANALYSIS_CHUNKGRAPH_H
