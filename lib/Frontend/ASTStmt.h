//===- ASTStmt.h - Statements of the syntax tree ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COLL_LIB_FRONTEND_ASTSTMT_H
#define COLL_LIB_FRONTEND_ASTSTMT_H

#include "lib/Frontend/ASTExpr.h"

namespace coll {

class LetDecl;

class Stmt {
public:
  enum class Kind : uint8_t {
    Transfer,
    Tmp,
    Let,
    If,
    Block,
    For,
    Group,
    On,
    Send,
    Recv,
    Call,
  };

  Kind kind() const { return stmtKind; }

  SourceRange range;   ///< without the label
  Ident label;         ///< empty: none
  llvm::StringRef doc; ///< the `///` lines before it, joined by '\n', or ""

protected:
  Stmt(Kind kind, SourceRange range) : range(range), stmtKind(kind) {}

private:
  Kind stmtKind;
};

/// Element types that a program can name. T is the launch's.
enum class ElementType : uint8_t {
  T,
  Accum,
  F16,
  BF16,
  F32,
  F64,
  E4M3,
  E5M2,
  MXE4M3,
};

/// `via type`, `: type`; absent if the range is invalid.
struct TypeRef {
  ElementType type = ElementType::T;
  SourceRange range;

  explicit operator bool() const { return range.isValid(); }
};

/// `copy value -> place via type`, `reduce value -> place via type`.
class TransferStmt : public Stmt {
public:
  TransferStmt(SourceRange range, bool isReduce, Expr *value, Expr *place,
               TypeRef via)
      : Stmt(Kind::Transfer, range), isReduce(isReduce), value(value),
        place(place), via(via) {}
  COLL_AST_CLASSOF(Stmt, Transfer)

  bool isReduce;
  Expr *value;
  Expr *place;
  TypeRef via;
};

/// `tmp x[K, L] : type = place`.
class TmpStmt : public Stmt {
public:
  TmpStmt(SourceRange range, Ident name, llvm::ArrayRef<Expr *> shape,
          TypeRef type, Expr *init)
      : Stmt(Kind::Tmp, range), name(name), shape(shape), type(type),
        init(init) {}
  COLL_AST_CLASSOF(Stmt, Tmp)

  Ident name;
  llvm::ArrayRef<Expr *> shape; ///< empty: none given
  TypeRef type;
  Expr *init; ///< or null
};

/// A `let` among statements.
class LetStmt : public Stmt {
public:
  LetStmt(SourceRange range, LetDecl *let) : Stmt(Kind::Let, range), let(let) {}
  COLL_AST_CLASSOF(Stmt, Let)

  LetDecl *let;
};

class BlockStmt : public Stmt {
public:
  BlockStmt(SourceRange range, llvm::ArrayRef<Stmt *> stmts)
      : Stmt(Kind::Block, range), stmts(stmts) {}
  COLL_AST_CLASSOF(Stmt, Block)

  llvm::ArrayRef<Stmt *> stmts;
};

class IfStmt : public Stmt {
public:
  IfStmt(SourceRange range, Expr *condition, BlockStmt *thenBlock,
         Stmt *elseStmt)
      : Stmt(Kind::If, range), condition(condition), thenBlock(thenBlock),
        elseStmt(elseStmt) {}
  COLL_AST_CLASSOF(Stmt, If)

  Expr *condition;
  BlockStmt *thenBlock;
  Stmt *elseStmt; ///< an IfStmt, a BlockStmt or null
};

class ForStmt : public Stmt {
public:
  ForStmt(SourceRange range, Iterators iters, BlockStmt *body)
      : Stmt(Kind::For, range), iters(iters), body(body) {}
  COLL_AST_CLASSOF(Stmt, For)

  Iterators iters;
  BlockStmt *body;
};

/// `group stmt`: every read sees the values before the group.
class GroupStmt : public Stmt {
public:
  GroupStmt(SourceRange range, Stmt *body)
      : Stmt(Kind::Group, range), body(body) {}
  COLL_AST_CLASSOF(Stmt, Group)

  Stmt *body;
};

/// `on r in ranks buffer d { }`: one process per rank.
class OnStmt : public Stmt {
public:
  OnStmt(SourceRange range, Ident name, Expr *ranks, Expr *buffer,
         BlockStmt *body)
      : Stmt(Kind::On, range), name(name), ranks(ranks), buffer(buffer),
        body(body) {}
  COLL_AST_CLASSOF(Stmt, On)

  Ident name;
  Expr *ranks;
  Expr *buffer; ///< or null: capacity 0
  BlockStmt *body;
};

/// `send value to rank via type`.
class SendStmt : public Stmt {
public:
  SendStmt(SourceRange range, Expr *value, Expr *to, TypeRef via)
      : Stmt(Kind::Send, range), value(value), to(to), via(via) {}
  COLL_AST_CLASSOF(Stmt, Send)

  Expr *value;
  Expr *to;
  TypeRef via;
};

/// `recv place from rank`, `recv reduce place from rank`.
class RecvStmt : public Stmt {
public:
  RecvStmt(SourceRange range, bool isReduce, Expr *place, Expr *from)
      : Stmt(Kind::Recv, range), isReduce(isReduce), place(place), from(from) {}
  COLL_AST_CLASSOF(Stmt, Recv)

  bool isReduce;
  Expr *place;
  Expr *from;
};

/// `procedure(args)`.
class CallStmt : public Stmt {
public:
  CallStmt(SourceRange range, Ident callee, llvm::ArrayRef<Expr *> args)
      : Stmt(Kind::Call, range), callee(callee), args(args) {}
  COLL_AST_CLASSOF(Stmt, Call)

  Ident callee;
  llvm::ArrayRef<Expr *> args;
};

} // namespace coll

#endif // COLL_LIB_FRONTEND_ASTSTMT_H
