//===- StepShape.h - What steps have in common ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A plan's steps differ in where they load, store, send and receive; those are
// words of a table. What is left is the shape: how many sources and sinks of
// which kind, and the expression between them. Each shape becomes one function
// of the kernel with one inner loop. A ring all-reduce has five shapes whatever
// the number of ranks.
//
//===----------------------------------------------------------------------===//
#ifndef COLL_LIB_LOWERING_STEPSHAPE_H
#define COLL_LIB_LOWERING_STEPSHAPE_H

#include "lib/Analysis/Program.h"
#include "lib/Lowering/Formats.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <map>

namespace coll::lowering {

struct PortShape {
  enum Place : uint8_t {
    Memory,
    Channel,
    Either,
    Scalar,
    Row
  } place = Memory; // Either: the step's words say which. Row: one row of
                    // memory, which serves every row of the step
  ElemType type = ElemType::T;
  bool scaled = false,
       scaledRounded = false; // what premul_sum does to a source
  // Of a channel: whether its message may go direct; of an Either, not None:
  // the step's words say whether and how.
  Port::Direct direct = Port::None;
  // Sinks that fall away while the step's own buffer lies in a window: what
  // peers get themselves, and where they put themselves.
  bool drops = false;
  auto operator<=>(const PortShape &) const = default;
};

struct StepShape {
  std::vector<PortShape> sources,
      sinks; // a looped side has one entry that stands for all
  bool loopSources = false, loopSinks = false;
  unsigned numSources = 0; // of looped sources, if code is made for so many
  bool token = false;
  std::vector<ExprNode> expr; // empty for looped sources: a fold over all
  ElemType type = ElemType::T;
  bool complete = false;
  /// The sources are one place of every rank, summed in any order; the sinks
  /// are one place of every rank. Of this rank it is memory, of the others
  /// messages that may go direct, so one multimem instruction may be for all.
  bool gathers = false, spreads = false;
  /// Of the latter: this rank's place is the step's source, as in place.
  bool spreadsSource = false;

  /// The step only moves bytes when the op is `op`: one function serves all
  /// dtypes.
  bool isMove(ReduceOp op) const;
  /// Formats other than T and its accumulation type: integers cannot be rounded
  /// to them.
  bool needsFloat() const;
  /// Rows must be whole: there is a row argument, or a function reduces over
  /// rows.
  bool hasRows(const std::vector<Function> &functions) const;
  /// Something is in blocks of 32 elements: mxe4m3.
  bool hasBlocks() const;
  std::string key() const;
  /// A message.
  bool hasChannel() const;
  /// A message that may go direct.
  bool hasDirect() const;
  /// Whether a line holds as many elements of all ports.
  bool fitsLines() const;
  /// A receive whose message the sender may store where the step would.
  bool receivesPut() const {
    return sources.size() == 1 && !loopSources &&
           sources[0].direct == Port::Put;
  }
};

/// More sinks than this are walked by a loop over pointers instead of being
/// written out; so are sources that are folded, from three on. Up to eight of
/// these the inner loop is for that number.
constexpr unsigned kMaxUnrolledSinks = 4, kMaxUnrolledSources = 2,
                   kMaxCountedSources = 8;

/// The shape of `step`, whose ports begin at `ports`. `program`: the rank's, of
/// so many, to find what multimem instructions are for.
StepShape shapeOf(const Step &step, const Port *ports, const ValueExpr &expr,
                  const std::vector<Buffer> &buffers, bool token,
                  const RankProgram *program = nullptr, uint32_t numRanks = 0);
/// Whether `is` holds of a step of the programs, asked in their order up to
/// there.
bool anyStep(const ProgramSet &programs,
             llvm::function_ref<bool(Rank, const RankProgram &, const Step &,
                                     const StepShape &)>
                 is);
/// Whether all messages may be lines.
bool fitsLines(const ProgramSet &programs);

/// The shapes of a plan, numbered in order of first use.
class ShapeTable {
public:
  uint32_t idOf(const StepShape &shape);
  const std::vector<StepShape> &all() const { return shapes; }

private:
  std::vector<StepShape> shapes;
  std::map<std::string, uint32_t> ids;
};

bool hasBlocks(const ShapeTable &shapes);

} // namespace coll::lowering
#endif // COLL_LIB_LOWERING_STEPSHAPE_H
