//===- SemaMaps.h - map -----------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The walk over the statements meets labels; a map block waits for them. Each
// path of labels is a cursor: it moves on when the statement with its next
// label is entered and back when that is left. While the end of a path is
// reached, the directives under it hold for every transfer, and are evaluated
// there, where the loop variables of the labelled statement are in scope.
//
//===----------------------------------------------------------------------===//
#ifndef COLL_LIB_FRONTEND_SEMAMAPS_H
#define COLL_LIB_FRONTEND_SEMAMAPS_H

#include "lib/Frontend/SemaEmitter.h"

namespace coll::sema {

struct DirectiveInfo;

class MapEmitter {
public:
  explicit MapEmitter(Emitter &e) : e(e) {}

  /// Checks the directives of a schedule and waits for its labels. `block` may
  /// be null.
  void start(const MapBlock *block);
  /// Writes what holds for the whole schedule, and reports labels that were not
  /// met. At the end of the schedule.
  void finish();

  /// While it lives, the walk is in the statement with that label.
  class Label {
  public:
    Label(MapEmitter &maps, const Ident &label);
    ~Label();

  private:
    MapEmitter &maps;
    size_t numCursors, numHeld;
  };

  /// What is said of the transfer that is about to be written; null: nothing.
  mlir::Value mapping(SourceRange range);

private:
  /// A label path, and how far the walk got with it.
  struct Path {
    const MapItem *item;
    std::string text;    ///< "across.hop", with the labels around it
    size_t reached = 0;  ///< labels of it that were met
    bool isUsed = false; ///< there is a transfer under it
  };
  struct Cursor {
    size_t path;
    size_t next;        ///< the label it waits for
    const Frame *frame; ///< of the statement with the label before; null: none
  };
  struct Held {
    size_t path;
    const Frame *frame; ///< of the labelled statement
  };

  void check(const MapBlock *block, llvm::StringRef outer);
  bool checkDirective(const MapItem &item, bool isTop);
  bool checkWord(const DirectiveInfo &info, const MapItem &item);
  void wait(const MapBlock *block, const Frame *frame);
  void writeDirective(const MapItem &item);
  const Binding *namesOf(const Held &held) const;
  mlir::Value evalArg(const Expr *arg, llvm::StringRef name, bool isPositive);
  void reportUnmet(const Path &path);

  Emitter &e;
  const MapBlock *top = nullptr;
  std::vector<Path> paths;
  llvm::DenseMap<const MapItem *, size_t> pathOf;
  llvm::SmallVector<Cursor> cursors;
  llvm::SmallVector<Held> held;
  llvm::DenseSet<const MapItem *> wrong; ///< directives with an error
  llvm::StringSet<> labels;              ///< met so far
};

} // namespace coll::sema

#endif // COLL_LIB_FRONTEND_SEMAMAPS_H
