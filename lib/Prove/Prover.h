//===- Prover.h - The proof itself ------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// docs/Proofs.md has the argument. In short:
//   1. Sources.cpp: which write each read sees, as a function of the point of
//      the read; exact, by cases.
//   2. Values.cpp: of each statement, which leaves its value has at a point.
//      A statement that reads its own earlier values gets a closed form by
//      guessing, and the guess is proved by induction on the execution.
//   3. Obligations.cpp: no double count, extents, groups, the contract.
//   4. Messages.cpp: sends meet receives, and nobody waits in a circle.
//
//===----------------------------------------------------------------------===//
#ifndef COLL_LIB_PROVE_PROVER_H
#define COLL_LIB_PROVE_PROVER_H

#include "lib/Prove/Model.h"

namespace coll::prove {

/// Part of a read: here it sees what one statement wrote, or a leaf.
struct Piece {
  static constexpr unsigned leaf = ~0u;
  Conj domain; ///< of the reader's variables and `inner`
  unsigned source = leaf;
  Substitution point; ///< the source's variables
  Location at;        ///< of a leaf
  llvm::SmallVector<Var> inner;
  unsigned operand = 0;
  bool isOld = false;
};

class Prover {
public:
  explicit Prover(Model &model) : model(model) {}
  /// True: proved. Else `obstacle` is why not.
  bool run();

  std::optional<Obstacle> obstacle;
  /// Ranks at which it may be wrong, if a point is known.
  std::optional<std::vector<int64_t>> suspect;
  bool hasRegions = false, isBuffered = false;
  /// Of each statement, what it writes.
  std::vector<std::string> invariants() const;

private:
  // Sources.cpp
  void findSources(unsigned index);
  void findSourcesOf(unsigned index, const Access &read);
  struct Candidate {
    unsigned source;
    Substitution point;
    Conj domain;
  };
  void addCandidates(unsigned index, const Access &read, unsigned writer,
                     const Access &write, std::vector<Candidate> &found);
  void latest(Conj domain, llvm::SmallVector<Var> left,
              llvm::ArrayRef<Var> foreign, Candidate candidate,
              std::vector<Candidate> &found);
  void resolve(unsigned index, const Access &read,
               const std::vector<Candidate> &found);
  /// Orders in which `a` is executed before `b`, as far as `limit` items.
  Union before(const Statement &a, const Substitution &pointA,
               const Statement &b, const Substitution &pointB,
               unsigned limit) const;
  void checkTies(const Statement &reader, const std::vector<Candidate> &found);

  // Values.cpp
  void solveValues();
  bool solveValue(unsigned index);
  bool inlineOne();
  Union contribution(const Piece &piece, bool keepInner);
  Union contributionOf(unsigned index, llvm::function_ref<bool(const Piece &)>);
  bool accelerate(unsigned index, const std::vector<Piece> &selves,
                  const Union &base, Union &guess);
  void prove(unsigned index, const std::vector<Piece> &selves,
             const Union &base, const Union &guess);

  // Obligations.cpp
  void checkDisjoint(unsigned index);
  void checkFolds(unsigned index);
  void checkExtents(unsigned index);
  void checkSizes(unsigned index);
  void checkSizesOf(const Statement &st, const Access &write, const Conj &moved,
                    llvm::ArrayRef<Var> has);
  void checkOutputSizes(const Statement &st, const Access &write,
                        const Union &sizes, llvm::ArrayRef<Var> has);
  void checkGroup(unsigned index);
  void checkMembers(unsigned index);
  void checkEnsure(unsigned index);
  Union sizesAt(unsigned array, llvm::ArrayRef<Lin> parts,
                llvm::ArrayRef<Lin> rank, llvm::ArrayRef<Var> result,
                const Conj &domain);

  // Messages.cpp
  void matchMessages();
  void matchRegion(unsigned region, bool byOrdinal);
  struct Match {
    unsigned send, recv, sendCase, recvCase;
    Conj domain;          ///< of both points
    Substitution point;   ///< of the send, by that of the receive
    Substitution renamed; ///< the send's variables in `domain` before solving
    Conj whole;           ///< before solving
  };
  std::vector<Match> matchesOf(unsigned region, bool byOrdinal);
  /// Two messages between the same two ranks: where both are, the names that
  /// the second's variables got there, and the second's point under them.
  struct MatchPair {
    Conj both;
    Substitution by, pointB;
  };
  MatchPair sameRanks(const Match &a, const Match &b);
  unsigned ordinalOf(unsigned index) const;
  void matchPair(unsigned send, unsigned recv, std::vector<Match> &matches);
  void checkOrder(const std::vector<Match> &matches);
  void checkWaits(unsigned region, const std::vector<Match> &matches);
  bool isLockstep(const std::vector<Match> &matches) const;
  bool hasTimes(unsigned region, const std::vector<Match> &matches,
                bool isBuffered, int64_t slope);
  bool oneMessagePerPair(const std::vector<Match> &matches);

  // Bookkeeping.
  void stop(mlir::Operation *op, const std::string &why,
            const Conj *witness = nullptr);
  bool failed() const { return obstacle.has_value(); }
  bool isSymbol(Var var) const { return var < symbol.size() && symbol[var]; }
  Var fresh(const std::string &name = "t") { return model.makeVar(name); }
  /// New names for everything in `conj` but symbols and `keep`.
  Substitution renaming(const Conj &conj, llvm::ArrayRef<Var> keep,
                        llvm::ArrayRef<Var> also = {});
  Substitution identity(llvm::ArrayRef<Var> vars) const;
  llvm::SmallVector<Var> dimsOf(const Statement &st,
                                llvm::ArrayRef<Var> more = {}) const;
  void mustBeEmpty(const Conj &conj, const std::string &why,
                   mlir::Operation *op);
  void setLeaf(Conj &conj, const Location &at) const;
  std::string leafText() const;
  std::string nameOf(Var var) const { return model.nameOf(var); }

  Model &model;
  std::vector<bool> symbol;
  llvm::SmallVector<Var> symbols, leafVars;
  Var leafArray = 0;
  llvm::SmallVector<Var> leafIndex, leafRank;
  unsigned numChunkDims = 0;
  std::vector<std::vector<Piece>> pieces, work; ///< by statement
  std::vector<std::optional<Union>> values;     ///< by statement
};

} // namespace coll::prove
#endif // COLL_LIB_PROVE_PROVER_H
