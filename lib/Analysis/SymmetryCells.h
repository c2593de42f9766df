//===- SymmetryCells.h - How locations change when ranks turn ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Private to the check by symmetry. When ranks turn by one step, the cells of
// an array turn with them: along some of its axes, by a degree that may depend
// on where the cell is on the axes that stay (the two directions of a ring are
// two halves of an array). Nobody declares this. It is learned from the indexes
// that statements use, carried on through statements that move whole arrays,
// and then checked at every access: what was learned is a guess, and a wrong
// one is never believed.
//
// The chunks of a part turn alike in all buffers, so that extents do.
//
// The phase of a location is a number modulo N that grows by one when the ranks
// turn by one step: the rank itself, or an index of the cell. The locations of
// phase 0 are one slice, and all others are what it becomes by turning.
//
//===----------------------------------------------------------------------===//
#ifndef COLL_LIB_ANALYSIS_SYMMETRYCELLS_H
#define COLL_LIB_ANALYSIS_SYMMETRYCELLS_H

#include "lib/Analysis/ElaborateState.h"
#include "lib/Analysis/SymmetryTurn.h"

#include <set>

namespace coll::elab {

/// How a view uses an axis of its array.
struct AxisUse {
  enum Kind : uint8_t { Whole, Part, At } kind = Whole;
  int64_t at = 0;                      ///< At: as one rank sees it
  Turn turn;                           ///< At
  int64_t low = 0, size = 0, step = 1; ///< Part
};
/// By axis of the array.
struct ViewUse {
  bool isKnown = true;
  llvm::SmallVector<AxisUse, 4> axes;
};

/// Steps to turn by, by dimension of the rank space.
using Steps = llvm::SmallVector<uint32_t, 4>;

class SymmetryCells {
public:
  static constexpr uint8_t stays = 0xff, byRank = 0xff;

  /// Dimensions that are turned have isActive.
  SymmetryCells(llvm::ArrayRef<uint32_t> rankDims, llvm::ArrayRef<bool> active)
      : rankDims(rankDims), active(active) {}

  bool isTurned(unsigned dim) const { return active[dim]; }

  /// Call for each array in the order of their numbers; does nothing the second
  /// time.
  void addArray(const Array &array, llvm::ArrayRef<uint32_t> chunkDims);

  //===--- Learning -------------------------------------------------------===//
  void note(uint32_t array, const ViewUse &use);
  /// Elements of one view go to those of another.
  void notePair(uint32_t to, const ViewUse &toUse, uint32_t from,
                const ViewUse &fromUse);
  /// False: what was seen does not fit together.
  bool solve();

  //===--- Using what was learned -----------------------------------------===//
  /// A cell and how it turns.
  struct Spot {
    uint32_t array;
    uint32_t cell;
    unsigned numAxes;
    std::array<uint32_t, maxDims> at, degree;
    std::array<uint8_t, maxDims> dim; ///< stays: with it
  };
  Spot spot(uint32_t array, uint32_t cell) const;
  uint32_t turned(const Spot &spot, const Steps &by) const;
  uint32_t phase(const Spot &spot, uint32_t rankAt, unsigned dim) const;
  /// Whether the view turns as the spot in it does; axes of ranges are not
  /// looked at, but for whether they are whole.
  bool fits(const ViewUse &use, const Spot &spot) const;
  /// The same for two spots that are one element.
  bool fits(const ViewUse &to, const Spot &toSpot, const ViewUse &from,
            const Spot &fromSpot) const;
  bool hasPhaseByRank(uint32_t array, unsigned dim) const {
    return arrays[array].phaseAxis[dim] == byRank;
  }
  /// Chooses other phases for two arrays so that these spots agree; false:
  /// there are none left to try.
  bool reconcile(const Spot &a, uint32_t rankA, const Spot &b, uint32_t rankB,
                 unsigned dim);

private:
  struct Action {
    llvm::SmallVector<uint32_t, 4> sizes;
    llvm::SmallVector<uint8_t, 4> dims; ///< by axis
    uint32_t numKeys = 1;               ///< cells of the axes that stay
    std::vector<uint32_t> degrees;      ///< [key * axes + axis], 0: not known
  };
  struct ArrayPlan {
    uint32_t own; ///< action of the leading axes
    uint32_t numOwn, numAxes;
    std::vector<uint8_t> phaseAxis; ///< by dimension
    unsigned changes = 0;
  };
  struct Pair {
    uint32_t to, from;
    ViewUse toUse, fromUse;
  };
  /// The action that an axis belongs to, and its number there.
  std::pair<uint32_t, uint32_t> actionOf(const ArrayPlan &plan,
                                         uint32_t axis) const {
    return axis < plan.numOwn ? std::pair(plan.own, axis)
                              : std::pair(0u, axis - plan.numOwn);
  }
  uint8_t &dimOf(uint32_t array, uint32_t axis);
  bool setDim(uint32_t array, uint32_t axis, uint8_t dim, bool &changed);
  bool solveAxes();
  bool solveDegrees();
  bool setDegree(uint32_t array, uint32_t axis, llvm::ArrayRef<uint32_t> coords,
                 uint32_t degree, bool &changed);
  uint32_t *degreeAt(uint32_t array, uint32_t axis,
                     llvm::ArrayRef<uint32_t> coords);
  template <typename Fn>
  bool forEachStaying(uint32_t array, const ViewUse &use, Fn fn);
  bool applyUse(uint32_t array, const ViewUse &use, bool &changed);
  bool applyPair(const Pair &pair, bool &changed);
  void choosePhases();
  bool mayBePhase(const ArrayPlan &plan, uint32_t axis, unsigned dim) const;

  llvm::SmallVector<uint32_t, 4> rankDims;
  llvm::SmallVector<bool, 4> active;
  std::vector<Action> actions; ///< [0]: the chunks of a part
  std::vector<ArrayPlan> arrays;
  std::set<std::vector<int64_t>> seen;
  std::vector<std::pair<uint32_t, ViewUse>> uses;
  std::vector<Pair> pairs;
};

} // namespace coll::elab

#endif // COLL_LIB_ANALYSIS_SYMMETRYCELLS_H
