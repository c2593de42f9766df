//===- SyntaxGenerator.h - Random programs of the grammar -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Text that the grammar derives, with white space, comments and parentheses put
// in at random. It means nothing: names are not declared.
//
//===----------------------------------------------------------------------===//
#ifndef COLL_TEST_UNIT_FRONTEND_SYNTAXGENERATOR_H
#define COLL_TEST_UNIT_FRONTEND_SYNTAXGENERATOR_H

#include "../InOrder.h"

#include <functional>
#include <random>
#include <string>

namespace coll {

class SyntaxGenerator {
public:
  explicit SyntaxGenerator(unsigned seed) : random(seed) {}

  std::string file() {
    std::string text = maybe("import \"ring.coll\"\n");
    for (unsigned i = below(6); i-- > 0;)
      text += declaration();
    return text;
  }

private:
  using Rule = std::function<std::string()>;
  static std::string inOrder(std::initializer_list<std::string> parts) {
    return test::inOrder(parts);
  }

  unsigned below(unsigned n) { return random() % n; }
  bool spend() { return budget > 0 && budget-- > 0; }
  bool flip() { return below(2) == 0; }
  std::string maybe(const std::string &text) { return flip() ? text : ""; }
  std::string maybe(const Rule &rule) { return flip() ? rule() : ""; }
  std::string pick(std::initializer_list<const char *> words) {
    return words.begin()[below(words.size())];
  }
  std::string blank() {
    return pick(
        {" ", " ", " ", "  ", "\n", "\t", " // remark, it is\n", "\r\n"});
  }
  std::string list(const Rule &rule, unsigned most = 3) {
    std::string text = rule();
    for (unsigned i = budget ? below(most) : 0; i-- > 0;)
      text += inOrder({",", blank(), rule()});
    return text;
  }
  std::string name() {
    return pick({"a", "b", "acc", "N", "row", "by", "mod_", "x1", "same"});
  }

  std::string atom() {
    // Only leaves from here on, or texts would grow without end.
    if (!spend())
      return pick({"1", "4KiB", "in", "out", "all", "r", "n"});
    std::string text;
    switch (below(9)) {
    case 0:
      text =
          inOrder({name(), "(", maybe(list([&] { return argument(); })), ")"});
      break;
    case 1:
      text = inOrder({pick({"reduce", "size"}), "(",
                      list([&] { return argument(); }), ")"});
      break;
    case 2:
      text = inOrder(
          {"(", expr(), ",", blank(), list([&] { return expr(); }), ")"});
      break;
    case 3:
      text = "[" + maybe(list([&] { return expr(); })) + "]";
      break;
    case 4:
      text = inOrder({"[", expr(), " for ", iterators(), "]"});
      break;
    case 5:
      text = "(" + expr() + ")";
      break;
    default:
      text = pick({"1", "4KiB", "in", "out", "all", "r", "n"});
    }
    return text;
  }
  std::string indices() {
    return "[" + list([&] { return expr(); }) + "]";
  }
  std::string place() {
    std::string text = atom();
    for (unsigned i = budget ? below(3) : 0; i-- > 0;)
      text += flip() ? indices() : " as " + indices();
    if (flip())
      text += inOrder({"@", atom(), budget ? maybe(indices()) : ""});
    return text;
  }
  std::string unary() { return inOrder({maybe("-"), maybe("- "), place()}); }
  std::string bits() {
    std::string text = unary();
    for (unsigned i = below(3); i-- > 0;)
      text += inOrder(
          {blank(), pick({"|", "^", "&", "<<", ">>", "+", "-", "*", "/", "%"}),
           blank(), unary()});
    return text;
  }
  std::string range() {
    if (below(8) == 0)
      return "..";
    return inOrder({bits(), maybe([&] {
                      return inOrder(
                          {" .. ", bits(), maybe(" step " + bits())});
                    })});
  }
  std::string expr() {
    std::string text;
    for (unsigned i = below(2) + 1; i-- > 0;) {
      text += inOrder({maybe("not "), range()});
      if (flip())
        text += inOrder({blank(), pick({"==", "!=", "<", "<=", ">", ">="}),
                         blank(), range()});
      if (i > 0)
        text += inOrder({blank(), pick({"and", "or"}), blank()});
    }
    if (budget && below(4) == 0)
      text += inOrder({" ? ", expr(), " : ", expr()});
    return text;
  }
  std::string iterators() {
    return inOrder({list([&] { return inOrder({name(), " in ", expr()}); }, 2),
                    maybe([&] { return " if " + expr(); })});
  }
  std::string argument() {
    return inOrder({expr(), maybe([&] { return " for " + iterators(); })});
  }

  std::string via() {
    return maybe([&] { return " via " + pick({"T", "f16", "e4m3"}); });
  }
  std::string block() {
    std::string text = "{" + blank();
    for (unsigned i = spend() ? below(4) : 0; i-- > 0;)
      text += inOrder({statement(), pick({"\n", ";", " "})});
    return text + "}";
  }
  std::string statement() {
    std::string label = below(4) == 0 ? name() + ": " : "";
    std::string doc = below(8) == 0 ? "\n/// Says so.\n" : "";
    return doc + label + unlabelled();
  }
  std::string unlabelled() {
    switch (below(11)) {
    case 0:
      return inOrder({"tmp ", name(), maybe(indices()), maybe(" : accum"),
                      maybe(" = " + place())});
    case 1:
      return inOrder({"let ", name(), maybe("(a, b)"), " = ", expr()});
    case 2:
      return inOrder(
          {"if ", expr(), block(), maybe([&] { return "else " + block(); })});
    case 3:
      return inOrder({"for ", iterators(), block()});
    case 4:
      return "group " + block();
    case 5:
      return inOrder({"on r in ", expr(), maybe(" buffer " + expr()), block()});
    case 6:
      return inOrder({"send ", expr(), " to ", expr(), via()});
    case 7:
      // `recv reduce (x)` has the flag and no call.
      return inOrder(
          {"recv ", flip() ? "reduce " + place() : name(), " from ", expr()});
    case 8:
      return inOrder({name(), "(", maybe(list([&] { return expr(); })), ")"});
    default:
      return inOrder(
          {pick({"copy ", "reduce "}), expr(), " -> ", place(), via()});
    }
  }
  std::string map() {
    std::string text = "{ ";
    for (unsigned i = spend() ? below(4) : 0; i-- > 0;)
      text += flip()   ? pick({"pull ", "staged; ", "protocol ll\n"})
              : flip() ? inOrder({name(), maybe(".hop"), " ", map()})
                       : "channel " + bits() + " ";
    return text + "}";
  }
  std::string clause() {
    switch (below(6)) {
    case 0:
      return inOrder({pick({"in", "out"}), maybe(" residual"),
                      maybe("[all, 2]"), maybe("@root")});
    case 1:
      return "arg w : " + pick({"elem", "row", "scalar"});
    case 2:
      return "launch n[all]" + maybe(" global");
    case 3:
      return "require same(" + pick({"in", "w"}) + ")";
    default:
      return inOrder({pick({"ensure ", "inplace ", "size "}), range(), " == ",
                      range(), maybe([&] { return " for " + iterators(); })});
    }
  }
  std::string declaration() {
    std::string doc = maybe("/// What for.\n///\n/// And why.\n");
    switch (below(5)) {
    case 0: {
      std::string text =
          inOrder({doc, "contract ", name(), maybe("(a, b)"), " {\n"});
      for (unsigned i = below(5); i-- > 0;)
        text += inOrder({clause(), pick({"\n", ";", " "})});
      return text + "}\n";
    }
    case 1:
      return inOrder({doc, "def ", name(), "(",
                      maybe("ranks g[n], chunks a[n, 2], k, chunks b, ranks h"),
                      ")", maybe(" where " + list([&] { return expr(); })),
                      block(), "\n"});
    case 2:
      return inOrder(
          {doc, "fn ", name(), "(x: elem, y: row) = ", bits(), "\n"});
    case 3:
      return inOrder({doc, "let ", name(), maybe("(x)"), " = ", expr(), "\n"});
    default: {
      std::string text =
          inOrder({doc, "schedule s(ranks ", pick({"N", "(M, G)"}),
                   maybe(", launch root in all, K = 8, J"),
                   ") : ", pick({"reduce", "allreduce"}), maybe("(root)"),
                   maybe(" where " + list([&] { return expr(); })), " {\n"});
      text += maybe(inOrder(
          {"chunks ", list([&] { return expr(); }), maybe(" by row"), "\n"}));
      for (unsigned i = below(5); i-- > 0;)
        text += statement() + "\n";
      return inOrder({text, maybe([&] { return "map " + map(); }), "}\n"});
    }
    }
  }

  std::mt19937 random;
  /// What is left for branching; without it only leaves are derived.
  unsigned budget = 200;
};

} // namespace coll

#endif // COLL_TEST_UNIT_FRONTEND_SYNTAXGENERATOR_H
