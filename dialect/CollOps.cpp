//===- CollOps.cpp - Custom syntax of the ops -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The parts of the assembly formats that ODS has no words for: regions whose
// arguments are printed in front of them, slices, and indices with keys.
//
//===----------------------------------------------------------------------===//

#include "dialect/CollDialect.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"

using namespace mlir;
using namespace coll;

namespace {
using UnresolvedOperands = SmallVectorImpl<OpAsmParser::UnresolvedOperand>;
} // namespace

//===----------------------------------------------------------------------===//
// custom<Word>: an enum's word, which ODS would print behind two spaces
//===----------------------------------------------------------------------===//

template <typename EnumAttr>
static ParseResult parseWord(OpAsmParser &parser, EnumAttr &attr) {
  auto value = FieldParser<decltype(attr.getValue())>::parse(parser);
  if (failed(value))
    return failure();
  attr = EnumAttr::get(parser.getContext(), *value);
  return success();
}

template <typename EnumAttr>
static void printWord(OpAsmPrinter &p, Operation *, EnumAttr attr) {
  p << attr.getValue();
}

// custom<Region>: put %out[0, 2], or get
static OptionalParseResult
parseRegion(OpAsmParser &parser,
            std::optional<OpAsmParser::UnresolvedOperand> &memory,
            DenseI64ArrayAttr &indices, UnitAttr &get) {
  if (succeeded(parser.parseOptionalKeyword("get")))
    get = parser.getBuilder().getUnitAttr();
  else if (failed(parser.parseOptionalKeyword("put")))
    return std::nullopt;
  if (parser.parseOperand(memory.emplace()))
    return failure();
  indices = dyn_cast_or_null<DenseI64ArrayAttr>(
      DenseI64ArrayAttr::parse(parser, Type()));
  return success(bool(indices));
}

static void printRegion(OpAsmPrinter &p, Operation *, Value memory,
                        DenseI64ArrayAttr indices, UnitAttr get) {
  p << (get ? "get " : "put ") << memory;
  indices.print(p);
}

/// Parses `(%a WORD, %b WORD) { ... }`; `parseWord` reads what follows a name.
static ParseResult parseArgsAndBody(OpAsmParser &parser, Region &body,
                                    Type type,
                                    function_ref<ParseResult()> parseWord) {
  SmallVector<OpAsmParser::Argument> args;
  auto parseOne = [&]() -> ParseResult {
    OpAsmParser::Argument arg;
    arg.type = type;
    if (parser.parseArgument(arg) || parseWord())
      return failure();
    args.push_back(arg);
    return success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Paren, parseOne) ||
      parser.parseRegion(body, args))
    return failure();
  if (body.empty()) { // nothing stands between the braces
    Block &block = body.emplaceBlock();
    for (OpAsmParser::Argument &arg : args)
      block.addArgument(arg.type,
                        parser.getEncodedSourceLoc(arg.ssaName.location));
  }
  return success();
}

static void printArgsAndBody(OpAsmPrinter &p, Region &body,
                             bool printTerminator,
                             function_ref<void(unsigned)> printWord) {
  p << '(';
  llvm::interleaveComma(body.getArguments(), p, [&](BlockArgument arg) {
    p.printRegionArgument(arg, {}, /*omitType=*/true);
    printWord(arg.getArgNumber());
  });
  p << ") ";
  p.printRegion(body, /*printEntryBlockArgs=*/false, printTerminator);
}

//===----------------------------------------------------------------------===//
// custom<ScheduleBody>: (%N "N") { ... }
//===----------------------------------------------------------------------===//

static ParseResult parseScheduleBody(OpAsmParser &parser, ArrayAttr &rankNames,
                                     Region &body) {
  SmallVector<Attribute> names;
  auto parseName = [&]() -> ParseResult {
    std::string name;
    if (parser.parseString(&name))
      return failure();
    names.push_back(parser.getBuilder().getStringAttr(name));
    return success();
  };
  if (parseArgsAndBody(parser, body, parser.getBuilder().getIndexType(),
                       parseName))
    return failure();
  rankNames = parser.getBuilder().getArrayAttr(names);
  return success();
}

static void printScheduleBody(OpAsmPrinter &p, Operation *, ArrayAttr rankNames,
                              Region &body) {
  printArgsAndBody(p, body, /*printTerminator=*/true,
                   [&](unsigned i) { p << ' ' << rankNames[i]; });
}

//===----------------------------------------------------------------------===//
// custom<FunctionBody>: (%x row) { ... }
//===----------------------------------------------------------------------===//

static ParseResult parseFunctionBody(OpAsmParser &parser, ArrayAttr &kinds,
                                     Region &body) {
  SmallVector<Attribute> attrs;
  auto parseKind = [&]() -> ParseResult {
    FailureOr<BufferKind> kind = FieldParser<BufferKind>::parse(parser);
    if (failed(kind))
      return failure();
    attrs.push_back(BufferKindAttr::get(parser.getContext(), *kind));
    return success();
  };
  if (parseArgsAndBody(parser, body, parser.getBuilder().getF64Type(),
                       parseKind))
    return failure();
  kinds = parser.getBuilder().getArrayAttr(attrs);
  return success();
}

static void printFunctionBody(OpAsmPrinter &p, Operation *, ArrayAttr kinds,
                              Region &body) {
  printArgsAndBody(p, body, /*printTerminator=*/true, [&](unsigned i) {
    p << ' ' << stringifyBufferKind(cast<BufferKindAttr>(kinds[i]).getValue());
  });
}

//===----------------------------------------------------------------------===//
// custom<ProcessBody>: (%r) { ... }
//===----------------------------------------------------------------------===//

static ParseResult parseProcessBody(OpAsmParser &parser, Region &body) {
  return parseArgsAndBody(parser, body, parser.getBuilder().getIndexType(),
                          [] { return success(); });
}

static void printProcessBody(OpAsmPrinter &p, Operation *, Region &body) {
  printArgsAndBody(p, body, /*printTerminator=*/true, [](unsigned) {});
}

//===----------------------------------------------------------------------===//
// custom<SliceIndices>: [%i, %lo : %n], or with steps [%i, %lo : %n : %step]
//===----------------------------------------------------------------------===//

static ParseResult parseSliceIndices(OpAsmParser &parser,
                                     UnresolvedOperands &offsets,
                                     UnresolvedOperands &sizes,
                                     UnresolvedOperands &steps,
                                     DenseBoolArrayAttr &drop) {
  SmallVector<bool> drops;
  auto parseOne = [&]() -> ParseResult {
    if (parser.parseOperand(offsets.emplace_back()))
      return failure();
    drops.push_back(failed(parser.parseOptionalColon()));
    if (drops.back())
      return success();
    if (parser.parseOperand(sizes.emplace_back()))
      return failure();
    if (succeeded(parser.parseOptionalColon()))
      return parser.parseOperand(steps.emplace_back());
    return success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseOne))
    return failure();
  drop = parser.getBuilder().getDenseBoolArrayAttr(drops);
  return success();
}

static void printSliceIndices(OpAsmPrinter &p, Operation *,
                              OperandRange offsets, OperandRange sizes,
                              OperandRange steps, DenseBoolArrayAttr drop) {
  unsigned kept = 0;
  p << '[';
  llvm::interleaveComma(llvm::seq<size_t>(0, offsets.size()), p, [&](size_t i) {
    p << offsets[i];
    if (drop[i])
      return;
    p << " : " << sizes[kept];
    if (!steps.empty())
      p << " : " << steps[kept];
    ++kept;
  });
  p << ']';
}

//===----------------------------------------------------------------------===//
// custom<KeyedIndices>: (channel = %c, block = %b)
//===----------------------------------------------------------------------===//

static ParseResult parseKeyedIndices(OpAsmParser &parser, ArrayAttr &keys,
                                     UnresolvedOperands &values) {
  SmallVector<Attribute> attrs;
  auto parseOne = [&]() -> ParseResult {
    StringRef key;
    if (parser.parseKeyword(&key) || parser.parseEqual() ||
        parser.parseOperand(values.emplace_back()))
      return failure();
    attrs.push_back(parser.getBuilder().getStringAttr(key));
    return success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Paren, parseOne))
    return failure();
  keys = parser.getBuilder().getArrayAttr(attrs);
  return success();
}

static void printKeyedIndices(OpAsmPrinter &p, Operation *, ArrayAttr keys,
                              OperandRange values) {
  p << '(';
  llvm::interleaveComma(llvm::zip_equal(keys, values), p, [&](auto pair) {
    p << cast<StringAttr>(std::get<0>(pair)).getValue() << " = "
      << std::get<1>(pair);
  });
  p << ')';
}

#define GET_OP_CLASSES
#include "dialect/CollOps.cpp.inc"
