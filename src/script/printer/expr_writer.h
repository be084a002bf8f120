// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Writes expression docs as Python text.
#ifndef TVM_SCRIPT_PRINTER_EXPR_WRITER_H_
#define TVM_SCRIPT_PRINTER_EXPR_WRITER_H_

#include <tvm/script/printer/doc.h>

#include <string>
#include <string_view>

#include "script/printer/text_writer.h"

namespace tvm::script::printer {

using ffi::Array;
using ffi::Optional;
using ffi::String;

/// Binding strength of Python's operators; a higher one binds tighter.
enum Precedence : int {
  kAny = 0,
  kLambda,
  kIfElse,
  kOrOp,
  kAndOp,
  kNotOp,
  kCompare,
  kBitOrOp,
  kBitXorOp,
  kBitAndOp,
  kShift,
  kSum,
  kTerm,
  kUnary,
  kPower,
  /// Names, calls, literals.
  kAtom,
};

template <typename NodeType>
const NodeType* As(const DocNode* doc) {
  return doc->IsInstance<NodeType>() ? static_cast<const NodeType*>(doc) : nullptr;
}

/// Recursion is bounded: every doc checks the stack.
class ExprWriter {
 protected:
  explicit ExprWriter(const PrinterConfigNode* config) : out_(config) {}

  std::string& text() { return out_.text; }
  /// The text from `begin` on is what the doc shows.
  void Shown(const DocNode* doc, size_t begin) {
    if (!out_.tracks()) return;
    for (const AccessPath& path : doc->source_paths) out_.Shows(path, begin);
  }

  /// Prints an expression (or slice) inside something that needs at least strength `outer`.
  void Expr(const Doc& doc, int outer);
  static int PrecedenceOf(const DocNode* doc);
  void Bare(const DocNode* doc);
  void RareExpr(const DocNode* doc);
  /// What stands before a dot: the dot would be taken for a decimal point after digits.
  void Primary(const ExprDoc& doc);
  void Call(const CallDocNode* node);
  void Keyword(std::string_view key, const ExprDoc& value, bool* first);
  void Operation(const OperationDocNode* node);
  void Literal(const ffi::Any& value);
  template <typename DocRef>
  void List(const Array<DocRef>& docs) {
    bool first = true;
    for (const DocRef& doc : docs) {
      if (!first) text() += ", ";
      first = false;
      Expr(doc, kAny);
    }
  }

  TextWriter out_;
};

}  // namespace tvm::script::printer
#endif  // TVM_SCRIPT_PRINTER_EXPR_WRITER_H_
