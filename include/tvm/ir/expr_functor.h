// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Dispatch on the node type of an expression, open to node types of any layer, and the visitor
/// and mutator of the scalar nodes.
#ifndef TVM_IR_EXPR_FUNCTOR_H_
#define TVM_IR_EXPR_FUNCTOR_H_

#include <tvm/ffi/extra/visit_error_context.h>
#include <tvm/ir/buffer.h>
#include <tvm/ir/function.h>
#include <tvm/ir/op.h>
#include <tvm/ir/scalar.h>

#include <functional>
#include <unordered_map>
#include <utility>
#include <vector>

namespace tvm {

/// Throws RuntimeError when this thread's stack is nearly used up. Every recursive walk of an
/// expression calls it once a level, so that deep nesting is an error and not a crash; functors do.
TVM_DLL void CheckStackDepth();

/// Calls f(const NodeType*, args...) of the most specific handler set for the node's type.
/// A functor class has one virtual VisitExpr_ per scalar node kind; another layer's functor adds
/// its own node types by overriding VisitExprDefault_ or by deriving its dispatch from this one.
template <typename FType>
class ExprFunctor;

// clang-format off: the formatter takes chains of macros for casts
#define TVM_IR_FOR_EACH_SCALAR_NODE(X) \
  X(VarNode) X(GlobalVarNode) X(OpNode) X(CallNode) X(IntImmNode) X(FloatImmNode) \
  X(tirx::StringImmNode) X(tirx::CastNode) X(tirx::AddNode) X(tirx::SubNode) X(tirx::MulNode) \
  X(tirx::DivNode) X(tirx::ModNode) X(tirx::FloorDivNode) X(tirx::FloorModNode) \
  X(tirx::MinNode) X(tirx::MaxNode) X(tirx::EQNode) X(tirx::NENode) X(tirx::LTNode) \
  X(tirx::LENode) X(tirx::GTNode) X(tirx::GENode) X(tirx::AndNode) X(tirx::OrNode) \
  X(tirx::NotNode) X(tirx::SelectNode) X(tirx::RampNode) X(tirx::BroadcastNode) \
  X(tirx::LetNode) X(tirx::ShuffleNode) X(tirx::ReduceNode) X(tirx::BufferLoadNode) \
  X(tirx::ProducerLoadNode)
// clang-format on

template <typename R, typename... Args>
class ExprFunctor<R(const Expr&, Args...)> {
 public:
  using result_type = R;
  virtual ~ExprFunctor() = default;
  R operator()(const Expr& expr, Args... args) { return VisitExpr(expr, args...); }
  virtual R VisitExpr(const Expr& expr, Args... args) {
    TVM_FFI_ICHECK(expr.defined()) << "visit of a null expression";
    TVM_FFI_VISIT_BEGIN();
    CheckStackDepth();
    const int32_t index = expr->type_index();
    const auto& table = Table();
    if (static_cast<size_t>(index) < table.size() && table[index] != nullptr) {
      return table[index](this, expr.get(), args...);
    }
    return VisitExprFallback_(expr, args...);
    TVM_FFI_VISIT_END(expr);
  }

#define TVM_IR_DECLARE_VISIT_(Node) \
  virtual R VisitExpr_(const Node* node, Args... args) { return VisitExprDefault_(node, args...); }
  TVM_IR_FOR_EACH_SCALAR_NODE(TVM_IR_DECLARE_VISIT_)
#undef TVM_IR_DECLARE_VISIT_

  /// A scalar node without an overridden handler.
  virtual R VisitExprDefault_(const ffi::Object* node, Args...) {
    TVM_FFI_THROW(TypeError) << "no handler for expression node " << node->GetTypeKey();
    TVM_FFI_UNREACHABLE();
  }
  /// A node type of another layer, or a subclass of Var.
  virtual R VisitExprFallback_(const Expr& expr, Args... args) {
    if (const auto* var = expr.as<VarNode>()) return VisitExpr_(var, args...);
    return VisitExprDefault_(expr.get(), args...);
  }

 private:
  using Entry = R (*)(ExprFunctor*, const ExprNode*, Args...);
  static const std::vector<Entry>& Table() {
    static const std::vector<Entry> table = [] {
      std::vector<Entry> entries;
#define TVM_IR_SET_ENTRY_(Node)                                                       \
  {                                                                                   \
    size_t index = Node::RuntimeTypeIndex();                                          \
    if (entries.size() <= index) entries.resize(index + 1, nullptr);                  \
    entries[index] = [](ExprFunctor* self, const ExprNode* node, Args... args) -> R { \
      return self->VisitExpr_(static_cast<const Node*>(node), args...);               \
    };                                                                                \
  }
      TVM_IR_FOR_EACH_SCALAR_NODE(TVM_IR_SET_ENTRY_)
#undef TVM_IR_SET_ENTRY_
      return entries;
    }();
    return table;
  }
};

/// Walks all sub-expressions; does not enter types or the definition behind a variable.
class TVM_DLL ExprVisitor : public ExprFunctor<void(const Expr&)> {
 public:
  using ExprFunctor::operator();

 protected:
  using ExprFunctor::VisitExpr_;
#define TVM_IR_DECLARE_VISIT_(Node) void VisitExpr_(const Node* node) override;
  TVM_IR_FOR_EACH_SCALAR_NODE(TVM_IR_DECLARE_VISIT_)
#undef TVM_IR_DECLARE_VISIT_
  /// Nodes of other layers are leaves unless a derived visitor knows better.
  void VisitExprDefault_(const ffi::Object*) override {}
};

/// Rebuilds an expression bottom-up; the same object comes back when nothing changed. A var stays
/// itself.
class TVM_DLL ExprMutator : public ExprFunctor<Expr(const Expr&)> {
 public:
  using ExprFunctor::operator();
  /// Visits a scalar operand: the result must be a scalar expression too.
  PrimExpr VisitPrimExpr(const PrimExpr& expr) { return PrimExpr(VisitExpr(expr)); }

 protected:
  using ExprFunctor::VisitExpr_;
#define TVM_IR_DECLARE_VISIT_(Node) Expr VisitExpr_(const Node* node) override;
  TVM_IR_FOR_EACH_SCALAR_NODE(TVM_IR_DECLARE_VISIT_)
#undef TVM_IR_DECLARE_VISIT_
  Expr VisitExprDefault_(const ffi::Object* node) override {
    return ffi::GetRef<Expr>(static_cast<const ExprNode*>(node));
  }
  /// Definition site of a variable (Let): override to rename.
  virtual Var VisitVarDef_(const Var& var) { return var; }
};

/// Calls `visit` on every sub-expression, operands first. Uses an explicit stack: any depth.
TVM_DLL void PostOrderVisitExpr(const Expr& expr, const std::function<void(const Expr&)>& visit);

/// Replaces free variables.
TVM_DLL Expr Substitute(Expr expr, const ffi::Map<Var, Expr>& values);
TVM_DLL PrimExpr Substitute(PrimExpr expr, const ffi::Map<Var, PrimExpr>& values);
TVM_DLL PrimExpr Substitute(PrimExpr expr,
                            const std::function<ffi::Optional<Expr>(const Var&)>& value_of);
TVM_DLL Range Substitute(const Range& range, const ffi::Map<Var, PrimExpr>& values);

/// True if a variable for which the predicate holds occurs in the expression.
TVM_DLL bool UsesVar(const Expr& expr, const std::function<bool(const VarNode*)>& predicate);
inline bool UsesVar(const Expr& expr, const Var& var) {
  return UsesVar(expr, [&](const VarNode* other) { return other == var.get(); });
}
/// Free variables in order of first occurrence.
TVM_DLL ffi::Array<Var> FreeVars(const Expr& expr);

/// Equality of structure; variables are equal only to themselves. Faster than StructuralEqual.
struct ExprDeepEqual {
  TVM_DLL bool operator()(const Expr& lhs, const Expr& rhs) const;
};
/// Hash that goes with ExprDeepEqual.
struct ExprDeepHash {
  TVM_DLL size_t operator()(const Expr& expr) const;
};

}  // namespace tvm
#endif  // TVM_IR_EXPR_FUNCTOR_H_
