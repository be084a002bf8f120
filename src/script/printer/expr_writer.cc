// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include "script/printer/expr_writer.h"

#include <tvm/ffi/error.h>
#include <tvm/ir/expr_functor.h>
#include <tvm/script/printer/doc_printer.h>

#include <charconv>
#include <cmath>

namespace tvm::script::printer {

namespace {

struct OperatorInfo {
  const char* token;
  Precedence precedence;
};

/// By OperationKind.
constexpr OperatorInfo kOperators[] = {
    {"", kAny},         {"-", kUnary},      {"~", kUnary},     {"not ", kNotOp},
    {"", kAny},         {"", kAny},         {" + ", kSum},     {" - ", kSum},
    {" * ", kTerm},     {" / ", kTerm},     {" // ", kTerm},   {" % ", kTerm},
    {" ** ", kPower},   {" << ", kShift},   {" >> ", kShift},  {" & ", kBitAndOp},
    {" | ", kBitOrOp},  {" ^ ", kBitXorOp}, {" < ", kCompare}, {" <= ", kCompare},
    {" == ", kCompare}, {" != ", kCompare}, {" > ", kCompare}, {" >= ", kCompare},
    {" and ", kAndOp},  {" or ", kOrOp},    {" @ ", kTerm},    {"", kAny},
    {"", kAny},         {"", kIfElse},      {"", kAny},
};

}  // namespace

void ExprWriter::Expr(const Doc& doc, int outer) {
  CheckStackDepth();
  int own = PrecedenceOf(doc.get());
  bool parens = own < outer;
  if (parens) text() += '(';
  size_t begin = text().size();
  Bare(doc.get());
  Shown(doc.get(), begin);
  if (parens) text() += ')';
}

int ExprWriter::PrecedenceOf(const DocNode* doc) {
  if (const auto* op = As<OperationDocNode>(doc)) {
    return kOperators[static_cast<int>(op->kind)].precedence;
  }
  if (doc->IsInstance<LambdaDocNode>()) return kLambda;
  if (const auto* literal = As<LiteralDocNode>(doc)) {
    if (auto value = literal->value.as<int64_t>()) return *value < 0 ? kUnary : kAtom;
    if (auto value = literal->value.as<double>()) return std::signbit(*value) ? kUnary : kAtom;
  }
  return kAtom;
}

void ExprWriter::Bare(const DocNode* doc) {
  if (const auto* node = As<IdDocNode>(doc)) {
    text() += std::string_view(node->name);
  } else if (const auto* node = As<AttrAccessDocNode>(doc)) {
    Primary(node->value);
    text() += '.';
    text() += std::string_view(node->name);
  } else if (const auto* node = As<CallDocNode>(doc)) {
    Call(node);
  } else if (const auto* node = As<OperationDocNode>(doc)) {
    Operation(node);
  } else if (const auto* node = As<LiteralDocNode>(doc)) {
    Literal(node->value);
  } else if (const auto* node = As<IndexDocNode>(doc)) {
    Expr(node->value, kAtom);
    text() += '[';
    if (node->indices.empty()) text() += "()";
    List(node->indices);
    text() += ']';
  } else if (const auto* node = As<TupleDocNode>(doc)) {
    text() += '(';
    List(node->elements);
    text() += node->elements.size() == 1 ? ",)" : ")";
  } else if (const auto* node = As<ListDocNode>(doc)) {
    text() += '[';
    List(node->elements);
    text() += ']';
  } else {
    RareExpr(doc);
  }
}

void ExprWriter::RareExpr(const DocNode* doc) {
  if (const auto* node = As<SliceDocNode>(doc)) {
    if (node->start.has_value()) Expr(*node->start, kAny);
    text() += ':';
    if (node->stop.has_value()) Expr(*node->stop, kAny);
    if (node->step.has_value()) {
      text() += ':';
      Expr(*node->step, kAny);
    }
  } else if (const auto* node = As<DictDocNode>(doc)) {
    text() += '{';
    for (size_t i = 0; i < node->keys.size(); ++i) {
      if (i != 0) text() += ", ";
      Expr(node->keys[i], kAny);
      text() += ": ";
      Expr(node->values[i], kAny);
    }
    text() += '}';
  } else if (const auto* node = As<LambdaDocNode>(doc)) {
    text() += "lambda ";
    List(node->args);
    text() += ": ";
    Expr(node->body, kLambda);
  } else if (const auto* node = As<ExprStringDocNode>(doc)) {
    text() += std::string_view(node->text);
  } else {
    TVM_FFI_THROW(TypeError) << "cannot print a doc of type " << doc->GetTypeKey();
  }
}

void ExprWriter::Primary(const ExprDoc& doc) {
  const auto* literal = doc.as<LiteralDocNode>();
  bool digits = literal != nullptr && literal->value.as<int64_t>().has_value() &&
                !literal->value.as<bool>().has_value();
  if (!digits || PrecedenceOf(doc.get()) < kAtom) return Expr(doc, kAtom);
  text() += '(';
  Expr(doc, kAny);
  text() += ')';
}

void ExprWriter::Call(const CallDocNode* node) {
  Expr(node->callee, kAtom);
  text() += '(';
  List(node->args);
  bool first = node->args.empty();
  for (size_t i = 0; i < node->kwargs_keys.size(); ++i) {
    Keyword(std::string_view(node->kwargs_keys[i]), node->kwargs_values[i], &first);
  }
  text() += ')';
}

void ExprWriter::Keyword(std::string_view key, const ExprDoc& value, bool* first) {
  if (!*first) text() += ", ";
  *first = false;
  text() += key;
  text() += '=';
  Expr(value, kAny);
}

void ExprWriter::Operation(const OperationDocNode* node) {
  const OperatorInfo& info = kOperators[static_cast<int>(node->kind)];
  int own = info.precedence;
  const Array<ExprDoc>& operands = node->operands;
  if (operands.size() == 1) {
    text() += info.token;
    Expr(operands[0], own);
  } else if (operands.size() == 2) {
    // `a < b < c` is a chain of comparisons in Python, so comparisons never nest bare.
    int left = own == kCompare || own == kPower ? own + 1 : own;
    int right = own == kPower ? static_cast<int>(kUnary) : own + 1;
    Expr(operands[0], left);
    text() += info.token;
    Expr(operands[1], right);
  } else {
    Expr(operands[1], kIfElse + 1);
    text() += " if ";
    Expr(operands[0], kIfElse + 1);
    text() += " else ";
    Expr(operands[2], kIfElse);
  }
}

void ExprWriter::Literal(const ffi::Any& value) {
  switch (value.type_index()) {
    case ffi::TypeIndex::kTVMFFINone:
      text() += "None";
      return;
    case ffi::TypeIndex::kTVMFFIBool:
      text() += value.cast<bool>() ? "True" : "False";
      return;
    case ffi::TypeIndex::kTVMFFIInt: {
      char digits[24];
      auto end = std::to_chars(digits, digits + sizeof(digits), value.cast<int64_t>()).ptr;
      text().append(digits, end);
      return;
    }
    case ffi::TypeIndex::kTVMFFIFloat:
      text() += PythonFloat(value.cast<double>());
      return;
    default:
      break;
  }
  if (auto string = value.as<String>()) {
    text() += PythonString(*string);
    return;
  }
  TVM_FFI_THROW(TypeError) << "LiteralDoc holds None, bool, int, float or str, found "
                           << value.GetTypeKey();
}

}  // namespace tvm::script::printer
