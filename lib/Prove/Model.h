//===- Model.h - A schedule as affine statements ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a proof is about: the statements of a schedule, each executed once per
// point of a set of integers, with locations that are affine there. Remainders,
// conditions and the like split the set into *cases*, in each of which all is
// affine; the cases of a statement partition its points. Nothing is a number
// but what the source writes as one: N is a variable like any other.
//
//===----------------------------------------------------------------------===//
#ifndef COLL_LIB_PROVE_MODEL_H
#define COLL_LIB_PROVE_MODEL_H

#include "dialect/CollDialect.h"
#include "lib/Prove/Affine.h"

namespace coll::prove {

/// An array of the contract, or a tmp. One that a loop makes anew has the
/// variables of the loop as leading, hidden dimensions.
struct ArrayInfo {
  std::string name;
  enum Kind : uint8_t { In, Out, Tmp } kind = Tmp;
  llvm::SmallVector<Var, 2> hidden;
  llvm::SmallVector<Lin> dims;     ///< extents, without the hidden ones
  llvm::SmallVector<Var> rankVars; ///< what `presence` is over
  Union presence;                  ///< ranks that have it
  unsigned numPartDims = 0;        ///< of `dims`; chunks follow
  bool isEverywhere = true;
  mlir::Operation *op = nullptr;
};

struct Location {
  unsigned array = 0;
  llvm::SmallVector<Lin, 4> index; ///< hidden ones first
  llvm::SmallVector<Lin, 2> rank;
};

/// Where a statement stands. Between two items of equal `pos` that are loops,
/// the variables decide; those of a process are equal or nothing is ordered.
struct PathItem {
  int pos = 0;
  llvm::SmallVector<Var, 2> vars;
  bool isProcess = false;
};
using Path = llvm::SmallVector<PathItem, 6>;

struct Access {
  Conj domain; ///< of the statement's variables and `inner`
  Location at;
  llvm::SmallVector<Var> inner; ///< loops of a fold
  unsigned operand = 0;
  bool isOld = false;     ///< what a reduction adds to
  bool isMessage = false; ///< what the matching send sends; `at` is unused
  llvm::SmallVector<Lin, 2> peer; ///< of a message: from whom
  mlir::Operation *op = nullptr;
};

struct Statement {
  mlir::Operation *op = nullptr;
  enum Kind : uint8_t { Transfer, Init, Send, Recv, Ensure } kind = Transfer;
  bool isReduce = false;
  Path path;
  /// Items of the path up to the snapshot that reads see: the group, or all.
  unsigned snapshot = 0;
  llvm::SmallVector<Var>
      vars; ///< all of the point: of the path, then simultaneous ones
  unsigned numPathVars = 0;
  std::vector<Access> writes; ///< empty for sends and ensures
  std::vector<Access> sends;  ///< of a send: to whom
  std::vector<Access> reads;
  llvm::SmallVector<Lin> shape; ///< of a message, to compare with its receive
  unsigned region = 0;          ///< of sends and receives
};

/// Something that must have no point.
struct Violation {
  Conj domain;
  std::string what; ///< "index 3 of acc may be out of range"
  mlir::Operation *op = nullptr;
};

/// How many elements a part has, by rank.
struct SizeClause {
  Union domain; ///< over `array`'s part indexes and rank
  unsigned array = 0;
  llvm::SmallVector<Var> partVars, rankVars;
  std::string symbol;           ///< "" a constant
  llvm::SmallVector<Lin> index; ///< of a launch count, or the constant
};

struct Region {
  Lin capacity;
  mlir::Operation *op = nullptr;
};

/// Why there is no proof.
struct Obstacle {
  std::string why;
  mlir::Operation *op = nullptr;
};

struct Model {
  std::vector<std::string> varNames;
  std::vector<Conj> domain;                  ///< of N and parameters: a union
  llvm::SmallVector<Var> ranks;              ///< extents of the rank space
  llvm::SmallVector<std::string> symbolText; ///< "N >= 2"
  std::vector<ArrayInfo> arrays;
  std::vector<Statement> statements; ///< in textual order, ensures last
  std::vector<Violation> violations;
  std::vector<SizeClause> sizes;
  std::vector<Region> regions;
  bool globalCounts = false, hasCounts = false, isToken = false;
  std::optional<Obstacle> obstacle;

  Var makeVar(const std::string &name) {
    varNames.push_back(name);
    return varNames.size() - 1;
  }
  std::string nameOf(Var var) const {
    return var < varNames.size() ? varNames[var] : "e" + std::to_string(var);
  }
};

struct ModelOptions {
  std::vector<std::pair<std::string, int64_t>> defines;
};

/// Reads a schedule; `obstacle` says where it left the class, if it did.
Model modelOf(ScheduleOp schedule, const ModelOptions &options);

} // namespace coll::prove
#endif // COLL_LIB_PROVE_MODEL_H
