// C++ glue of the mok dialect: registration, the custom directives of MokOps.td, and verifiers that call C.
#include "mok_dialect.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/CAPI/IR.h"
#include "mlir/CAPI/Registration.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"

using namespace mlir;

#include "MokDialect.h.inc"

namespace mok {

static LogicalResult verifyOp(Operation *op) { return success(mok_verify_op(wrap(op))); }

// What a value is called in the text.
static StringRef resultName(Operation *op) {
  if (auto symbol = op->getAttrOfType<FlatSymbolRefAttr>("argument")) return symbol.getValue().substr(strlen("args."));
  if (auto weights = op->getAttrOfType<ArrayAttr>("weights"))
    if (auto last = weights.empty() ? FlatSymbolRefAttr() : dyn_cast<FlatSymbolRefAttr>(weights.getValue().back()))
      return last.getValue().substr(strlen("args."));
  return op->getName().stripDialect();
}

//===--- custom directives ---===//

static ParseResult parseWord(OpAsmParser &parser, StringAttr &word) {
  std::string text;
  if (parser.parseKeywordOrString(&text)) return failure();
  word = parser.getBuilder().getStringAttr(text);
  return success();
}
static void printWord(OpAsmPrinter &printer, Operation *, StringAttr word) { printer.printKeywordOrString(word.getValue()); }

static ParseResult parseNumber(OpAsmParser &parser, IntegerAttr &number) {
  int64_t value = 0;
  if (parser.parseInteger(value)) return failure();
  number = parser.getBuilder().getI64IntegerAttr(value);
  return success();
}
static void printNumber(OpAsmPrinter &printer, Operation *, IntegerAttr number) {
  if (number) printer << number.getInt();
}

static ParseResult parseFloat(OpAsmParser &parser, FloatAttr &number) {
  return parser.parseAttribute(number, parser.getBuilder().getF64Type());
}
static void printFloat(OpAsmPrinter &printer, Operation *, FloatAttr number) { printer.printAttributeWithoutType(number); }

static ParseResult parseCount(OpAsmParser &parser, Attribute &count) {
  int64_t value = 0;
  OptionalParseResult isNumber = parser.parseOptionalInteger(value);
  if (isNumber.has_value()) {
    count = parser.getBuilder().getI64IntegerAttr(value);
    return *isNumber;
  }
  StringAttr word;
  if (parseWord(parser, word)) return failure();
  count = word;
  return success();
}
static void printCount(OpAsmPrinter &printer, Operation *op, Attribute count) {
  if (auto number = dyn_cast_or_null<IntegerAttr>(count)) printNumber(printer, op, number);
  else if (auto word = dyn_cast_or_null<StringAttr>(count)) printWord(printer, op, word);
}

static ParseResult parseWords(OpAsmParser &parser, ArrayAttr &words) {
  SmallVector<Attribute> list;
  auto one = [&]() {
    StringAttr word;
    if (parseWord(parser, word)) return failure();
    list.push_back(word);
    return success();
  };
  if (parser.parseCommaSeparatedList(one)) return failure();
  words = parser.getBuilder().getArrayAttr(list);
  return success();
}
static void printWords(OpAsmPrinter &printer, Operation *op, ArrayAttr words) {
  llvm::interleaveComma(words, printer, [&](Attribute word) { printWord(printer, op, cast<StringAttr>(word)); });
}

static ParseResult parseSymbols(OpAsmParser &parser, ArrayAttr &symbols) {
  SmallVector<Attribute> list;
  auto one = [&]() {
    StringAttr name;
    if (parser.parseSymbolName(name)) return failure();
    list.push_back(FlatSymbolRefAttr::get(name));
    return success();
  };
  if (parser.parseCommaSeparatedList(one)) return failure();
  symbols = parser.getBuilder().getArrayAttr(list);
  return success();
}
static void printSymbols(OpAsmPrinter &printer, Operation *, ArrayAttr symbols) {
  llvm::interleaveComma(symbols, printer, [&](Attribute symbol) { printer.printAttribute(symbol); });
}

static ParseResult parseFactors(OpAsmParser &parser, ArrayAttr &factors) {
  SmallVector<Attribute> list;
  do {
    StringAttr word;
    if (parseWord(parser, word)) return failure();
    list.push_back(word);
  } while (succeeded(parser.parseOptionalStar()));
  factors = parser.getBuilder().getArrayAttr(list);
  return success();
}
static void printFactors(OpAsmPrinter &printer, Operation *op, ArrayAttr factors) {
  llvm::interleave(
      factors, [&](Attribute word) { printWord(printer, op, cast<StringAttr>(word)); }, [&] { printer << " * "; });
}

static ParseResult parseTarget(OpAsmParser &parser, ArrayAttr &factors) {
  return failure(parser.parseGreater() || parser.parseEqual() || parseFactors(parser, factors));
}
static void printTarget(OpAsmPrinter &printer, Operation *op, ArrayAttr factors) {
  printer << ">= ";
  printFactors(printer, op, factors);
}

static ParseResult parseIndex(OpAsmParser &parser, StringAttr &base, StringAttr &lag) {
  if (parseWord(parser, base)) return failure();
  if (failed(parser.parseOptionalMinus())) return success();
  return parseWord(parser, lag);
}
static void printIndex(OpAsmPrinter &printer, Operation *op, StringAttr base, StringAttr lag) {
  printWord(printer, op, base);
  if (!lag) return;
  printer << " - ";
  printWord(printer, op, lag);
}

}  // namespace mok

#define GET_OP_CLASSES
#include "MokOps.h.inc"
#define GET_OP_CLASSES
#include "MokOps.cpp.inc"

#include "MokDialect.cpp.inc"

void mok::MokDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "MokOps.cpp.inc"
      >();
}

LogicalResult mok::MokDialect::verifyOperationAttribute(Operation *op, NamedAttribute attribute) {
  return success(mok_verify_dialect_attribute(wrap(op), wrap(attribute.getName().getValue()), wrap(attribute.getValue())));
}

MLIR_DEFINE_CAPI_DIALECT_REGISTRATION(Mok, mok, mok::MokDialect)
