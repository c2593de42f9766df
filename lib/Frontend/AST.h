//===- AST.h - The syntax tree of a .coll file ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The tree is the grammar of docs/Language.md, node for node: nothing is
// resolved, looked up or folded. Rules that hold for all of it:
//
// * Nodes live in the arena of their File and are immutable once parsed; they
//   hold no memory of their own, so lists are ArrayRefs into the arena.
// * Every node has the SourceRange of its own text, without parentheses around
//   it. Names and documentation are StringRefs into the source.
// * Pointers are non-null unless the comment says "or null".
// * A tree is complete even after errors: what did not parse is an ErrorExpr or
//   is left out. Whoever reads on after errors must accept ErrorExpr silently.
// * Kinds are told apart with llvm::isa, cast and dyn_cast. ASTExpr.h has the
//   expressions, ASTStmt.h the statements, ASTClause.h the clauses of
//   contracts, ASTDecl.h all that stands at the top of a file.
// * No path through the tree is longer than maxTreeDepth, so that recursion
//   over it is safe.
//
//===----------------------------------------------------------------------===//
#ifndef COLL_LIB_FRONTEND_AST_H
#define COLL_LIB_FRONTEND_AST_H

#include "lib/Frontend/ASTDecl.h"
#include "lib/Frontend/ASTExpr.h"
#include "lib/Frontend/ASTStmt.h"

#include "llvm/Support/Allocator.h"

#include <memory>

namespace llvm {
class raw_ostream;
} // namespace llvm

namespace coll {

/// Blocks, brackets and prefix operators may nest this deep ...
inline constexpr unsigned maxNesting = 200;
/// ... and an expression, whose operators in a row nest to the left, this deep.
inline constexpr unsigned maxExprDepth = 1000;
/// A statement and its block are two nodes: together they bound any path.
inline constexpr unsigned maxTreeDepth = 2 * maxNesting + maxExprDepth;
/// Elements of one list: arguments, names, iterators; not statements.
inline constexpr unsigned maxListLength = 1u << 16;
/// Bytes of a name, and of a string.
inline constexpr unsigned maxNameBytes = 255;

/// One parsed file. Owns the arena of its nodes.
class File {
public:
  explicit File(FileId id) : id(id) {}
  File(const File &) = delete;
  File &operator=(const File &) = delete;

  const FileId id;
  /// All declarations but imports, in the order of the source.
  llvm::ArrayRef<Decl *> decls;
  llvm::ArrayRef<ImportDecl *> imports;
  /// An error was reported in this file, so the tree may lack parts.
  bool hasErrors = false;

  llvm::BumpPtrAllocator arena;
};

/// Prints `file` in the canonical form: one statement a line, two spaces of
/// indentation, fewest parentheses. The output parses to the same tree if the
/// file had no errors. Comments are lost but for documentation.
/// With `allParentheses` trees that differ print differently.
void printFile(const File &file, llvm::raw_ostream &os,
               bool allParentheses = false);
void printExpr(const Expr &expr, llvm::raw_ostream &os);

/// The spelling of the language's enums.
llvm::StringRef spelling(UnaryOp op);
llvm::StringRef spelling(BinaryOp op);
llvm::StringRef spelling(ElementType type);
llvm::StringRef spelling(ArgKind kind);

} // namespace coll

#endif // COLL_LIB_FRONTEND_AST_H
