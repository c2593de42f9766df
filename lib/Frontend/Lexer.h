//===- Lexer.h - From .coll text to tokens ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COLL_LIB_FRONTEND_LEXER_H
#define COLL_LIB_FRONTEND_LEXER_H

#include "lib/Support/Diagnostics.h"

#include "llvm/ADT/SmallVector.h"

namespace coll {

enum class Token : uint8_t {
  EndOfFile,
  Identifier,
  Integer,
  Float,
  String,
// The reserved words.
#define COLL_WORD(NAME, TEXT) NAME,
// Punctuation.
#define COLL_PUNCTUATION(NAME, TEXT) NAME,
// What other languages write; kept so that the parser can say what we write.
#define COLL_FOREIGN(NAME, TEXT) NAME,
#include "lib/Frontend/Tokens.def"
};

/// Of words and punctuation; empty for the other tokens.
llvm::StringRef spelling(Token token);
bool isReservedWord(Token token);

/// A token where it stands.
struct Lexeme {
  Token kind = Token::EndOfFile;
  bool startsLine = false; ///< the first token of its line
  bool hasDoc = false;     ///< documentation precedes it
  /// A comment follows on its line that looks like a division: `n // 2`. The
  /// offset of the slashes, or 0.
  uint32_t divisionComment = 0;
  uint32_t begin = 0;
  uint32_t end = 0;
};

/// Makes tokens one by one. What is no token becomes an error, once, and is
/// then skipped. A file that is not UTF-8 ends at the first bad byte.
class Lexer {
public:
  Lexer(const SourceManager &sources, FileId file);

  Lexeme next();
  /// Hands over the errors found so far in the text up to `end`. Tokens are
  /// made ahead of their use, and errors are to be told in the order of the
  /// text.
  bool hasErrors() const { return !found.empty(); }
  std::vector<Diagnostic> takeErrors(uint32_t end);
  /// Goes on at `offset`, which may lie before tokens already made.
  void restartAt(uint32_t offset);

  llvm::StringRef text() const { return source; }
  llvm::StringRef text(const Lexeme &token) const {
    return source.slice(token.begin, token.end);
  }
  SourceRange range(uint32_t begin, uint32_t end) const {
    return {fileId, begin, end};
  }
  SourceRange range(const Lexeme &token) const {
    return range(token.begin, token.end);
  }

  /// The documentation before `token`, lines joined by '\n'.
  std::string doc(const Lexeme &token) const;

private:
  Diagnostic &error(Slug slug, SourceRange range, const llvm::Twine &message);
  void checkText();
  void encodingError(uint32_t offset);
  void skipBlanks(Lexeme &token);
  void lineComment(bool isDoc);
  void blockComment();
  Token scan();
  Token word();
  Token number();
  Token string(char quote);
  Token punctuation();
  Token badCharacter();
  uint32_t divisionCommentAfter(const Lexeme &token) const;
  bool looksLikeOperand(llvm::StringRef comment) const;
  bool isKnownName(llvm::StringRef name) const;
  char peek(uint32_t ahead = 0) const {
    return at + ahead < source.size() ? source[at + ahead] : '\0';
  }

  const SourceManager &sources;
  FileId fileId;
  llvm::StringRef source;
  uint32_t at = 0;
  std::vector<Diagnostic> found;
  /// Where the text stops to be UTF-8, if that has not been said yet.
  std::optional<uint32_t> badByte;
  /// Every `///` line, in order, and where the token begins that it documents.
  struct DocLine {
    SourceRange range;
    uint32_t owner;
  };
  llvm::SmallVector<DocLine, 16> docLines;
};

} // namespace coll

#endif // COLL_LIB_FRONTEND_LEXER_H
