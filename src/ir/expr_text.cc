// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include "ir/expr_text.h"

#include <tvm/ffi/extra/dataclass.h>
#include <tvm/ir/expr_functor.h>
#include <tvm/ir/scalar_op.h>

#include <cmath>
#include <cstdio>

namespace tvm {

using namespace tirx;  // NOLINT(build/namespaces): the scalar nodes

namespace {

/// Binding strength as in Python; a higher one binds tighter.
enum Precedence : int {
  kLowest = 0,
  kOr = 1,
  kAnd = 2,
  kNot = 3,
  kCompare = 4,
  kSum = 8,
  kTerm = 9,
  kAtom = 20
};

class TextWriter final : public ExprFunctor<void(const Expr&, int)> {
 public:
  std::string text;

  void VisitExpr(const Expr& expr, int outer) final {
    // A message needs no more than the beginning of a huge expression.
    if (depth_ > 200 || text.size() > 20000) {
      text += "...";
      return;
    }
    ++depth_;
    ExprFunctor::VisitExpr(expr, outer);
    --depth_;
  }

  void VisitExpr_(const VarNode* node, int) final { text += node->name; }
  void VisitExpr_(const GlobalVarNode* node, int) final { text += node->name_hint; }
  void VisitExpr_(const OpNode* node, int) final { text += node->name; }
  void VisitExpr_(const StringImmNode* node, int) final {
    text += "\"" + std::string(node->value) + "\"";
  }
  void VisitExpr_(const IntImmNode* node, int) final {
    DataType dtype = node->dtype();
    if (dtype.is_bool()) {
      text += node->value != 0 ? "True" : "False";
    } else if (dtype == DataType::Int(32)) {
      text += std::to_string(node->value);
    } else {
      text += "T." + std::string(dtype.ToString()) + "(" + std::to_string(node->value) + ")";
    }
  }
  void VisitExpr_(const FloatImmNode* node, int) final {
    std::string number;
    if (std::isfinite(node->value)) {
      char buffer[40];
      std::snprintf(buffer, sizeof(buffer), "%.17g", node->value);
      number = buffer;
      if (number.find_first_of(".e") == std::string::npos) number += ".0";
    } else {
      number = std::isnan(node->value) ? "\"nan\"" : node->value > 0 ? "\"inf\"" : "\"-inf\"";
    }
    text += "T." + std::string(node->dtype().ToString()) + "(" + number + ")";
  }

  void VisitExpr_(const AddNode* node, int outer) final { Infix(node, " + ", kSum, outer); }
  void VisitExpr_(const SubNode* node, int outer) final { Infix(node, " - ", kSum, outer); }
  void VisitExpr_(const MulNode* node, int outer) final { Infix(node, " * ", kTerm, outer); }
  void VisitExpr_(const FloorDivNode* node, int outer) final { Infix(node, " // ", kTerm, outer); }
  void VisitExpr_(const FloorModNode* node, int outer) final { Infix(node, " % ", kTerm, outer); }
  void VisitExpr_(const DivNode* node, int outer) final {
    if (node->dtype().is_any_float()) return Infix(node, " / ", kTerm, outer);
    Function("T.Div", {node->a, node->b});
  }
  void VisitExpr_(const ModNode* node, int) final { Function("T.truncmod", {node->a, node->b}); }
  void VisitExpr_(const MinNode* node, int) final { Function("T.min", {node->a, node->b}); }
  void VisitExpr_(const MaxNode* node, int) final { Function("T.max", {node->a, node->b}); }
  void VisitExpr_(const EQNode* node, int outer) final { Infix(node, " == ", kCompare, outer); }
  void VisitExpr_(const NENode* node, int outer) final { Infix(node, " != ", kCompare, outer); }
  void VisitExpr_(const LTNode* node, int outer) final { Infix(node, " < ", kCompare, outer); }
  void VisitExpr_(const LENode* node, int outer) final { Infix(node, " <= ", kCompare, outer); }
  void VisitExpr_(const GTNode* node, int outer) final { Infix(node, " > ", kCompare, outer); }
  void VisitExpr_(const GENode* node, int outer) final { Infix(node, " >= ", kCompare, outer); }
  void VisitExpr_(const AndNode* node, int outer) final { Infix(node, " and ", kAnd, outer); }
  void VisitExpr_(const OrNode* node, int outer) final { Infix(node, " or ", kOr, outer); }
  void VisitExpr_(const NotNode* node, int outer) final {
    Open(kNot, outer);
    text += "not ";
    VisitExpr(node->a, kNot + 1);
    Close(kNot, outer);
  }
  void VisitExpr_(const CastNode* node, int) final {
    text += "T.Cast(\"" + std::string(node->dtype().ToString()) + "\", ";
    VisitExpr(node->value, kLowest);
    text += ")";
  }
  void VisitExpr_(const SelectNode* node, int) final {
    Function("T.Select", {node->condition, node->true_value, node->false_value});
  }
  void VisitExpr_(const RampNode* node, int) final {
    Function("T.Ramp", {node->base, node->stride, node->lanes});
  }
  void VisitExpr_(const BroadcastNode* node, int) final {
    Function("T.Broadcast", {node->value, node->lanes});
  }
  void VisitExpr_(const LetNode* node, int) final {
    text += "T.Let(";
    VisitExpr(node->body, kLowest);
    text += ", where={" + std::string(node->var->name) + ": ";
    VisitExpr(node->value, kLowest);
    text += "})";
  }
  void VisitExpr_(const BufferLoadNode* node, int) final {
    text += std::string(node->buffer.name()) + "[";
    List(node->indices);
    text += "]";
  }
  void VisitExpr_(const CallNode* node, int) final {
    if (const auto* op = node->op.as<OpNode>()) {
      std::string name(op->name);
      text += name.compare(0, 5, "tirx.") == 0 ? "T." + name.substr(5) : name;
    } else {
      VisitExpr(node->op, kAtom);
    }
    text += "(";
    List(node->args);
    text += ")";
  }
  void VisitExprDefault_(const ffi::Object* node, int) final {
    text += std::string(ffi::ReprPrint(ffi::GetRef<ffi::ObjectRef>(node)));
  }

 private:
  void Open(int own, int outer) {
    if (own < outer) text += "(";
  }
  void Close(int own, int outer) {
    if (own < outer) text += ")";
  }
  void Infix(const BinaryOpNode* node, const char* op, int own, int outer) {
    Open(own, outer);
    VisitExpr(node->a, own == kCompare ? own + 1 : own);
    text += op;
    VisitExpr(node->b, own + 1);
    Close(own, outer);
  }
  template <typename Seq>
  void List(const Seq& values) {
    bool first = true;
    for (const auto& value : values) {
      if (!first) text += ", ";
      first = false;
      VisitExpr(value, kLowest);
    }
  }
  void Function(const char* name, std::initializer_list<PrimExpr> args) {
    text += std::string(name) + "(";
    List(args);
    text += ")";
  }

  int depth_ = 0;
};

}  // namespace

std::string ExprText(const Expr& expr) {
  if (!expr.defined()) return "None";
  TextWriter writer;
  writer(expr, kLowest);
  return writer.text;
}

std::string TypeText(const Type& type) {
  if (type.IsMissing()) return "Missing";
  if (const auto* prim = type.as<PrimTypeNode>()) {
    return prim->dtype.is_void() ? "void" : std::string(prim->dtype.ToString());
  }
  return std::string(ffi::ReprPrint(type));
}

}  // namespace tvm
