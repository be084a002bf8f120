// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Walks with a callback, and replacement of variables.
#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/tirx/stmt_functor.h>

#include <string>
#include <unordered_set>

namespace tvm {
namespace tirx {

namespace {

/// Post-order walk; shared nodes are seen once per visit, like the tree they stand for, except that
/// a node object already visited is not entered again.
class PostOrderWalker final : public StmtExprVisitor {
 public:
  explicit PostOrderWalker(const std::function<void(const ffi::ObjectRef&)>& visit)
      : visit_(visit) {}

  void VisitExpr(const Expr& expr) final {
    if (!visited_.insert(expr.get()).second) return;
    StmtExprVisitor::VisitExpr(expr);
    visit_(expr);
  }
  void VisitStmt(const Stmt& stmt) final {
    if (!visited_.insert(stmt.get()).second) return;
    StmtExprVisitor::VisitStmt(stmt);
    visit_(stmt);
  }

 private:
  const std::function<void(const ffi::ObjectRef&)>& visit_;
  std::unordered_set<const ffi::Object*> visited_;
};

class PreOrderWalker final : public StmtExprVisitor {
 public:
  explicit PreOrderWalker(const std::function<bool(const ffi::ObjectRef&)>& visit)
      : visit_(visit) {}

  void VisitExpr(const Expr& expr) final {
    if (!visited_.insert(expr.get()).second) return;
    if (visit_(expr)) StmtExprVisitor::VisitExpr(expr);
  }
  void VisitStmt(const Stmt& stmt) final {
    if (!visited_.insert(stmt.get()).second) return;
    if (visit_(stmt)) StmtExprVisitor::VisitStmt(stmt);
  }

 private:
  const std::function<bool(const ffi::ObjectRef&)>& visit_;
  std::unordered_set<const ffi::Object*> visited_;
};

template <typename Walker>
void WalkFrom(Walker* walker, const ffi::ObjectRef& node) {
  if (const auto* stmt = node.as<StmtNode>()) {
    walker->VisitStmt(ffi::GetRef<Stmt>(stmt));
  } else if (const auto* func = node.as<PrimFuncNode>()) {
    walker->VisitStmt(func->body);
  } else if (const auto* expr = node.as<ExprNode>()) {
    walker->VisitExpr(ffi::GetRef<Expr>(expr));
  } else {
    TVM_FFI_THROW(TypeError) << "expected a statement, expression or PrimFunc to walk, got "
                             << (node.defined() ? node->GetTypeKey() : std::string("None"));
  }
}

class Substituter final : public StmtExprMutator {
 public:
  using Lookup = std::function<ffi::Optional<Expr>(const Var&)>;
  explicit Substituter(const Lookup& lookup) : lookup_(lookup) {}

  Expr VisitExpr_(const VarNode* op) final {
    if (auto value = lookup_(ffi::GetRef<Var>(op))) {
      if (value.value()->dtype() != op->dtype() && IsPrimExpr(op)) {
        TVM_FFI_THROW(TypeError) << "Substitute: variable " << op->name << " has dtype "
                                 << op->dtype() << ", but its replacement has "
                                 << value.value()->dtype();
      }
      return *value;
    }
    return StmtExprMutator::VisitExpr_(op);
  }

  Buffer VisitBufferUse(const Buffer& buffer) final {
    if (auto value = lookup_(buffer)) {
      auto replacement = value.value().as<Buffer>();
      TVM_FFI_CHECK(replacement.has_value(), TypeError)
          << "Substitute: buffer " << buffer->name << " can only be replaced by a buffer";
      return *replacement;
    }
    return StmtExprMutator::VisitBufferUse(buffer);
  }

  Stmt VisitStmt_(const AttrStmtNode* op) final {
    Stmt result = StmtExprMutator::VisitStmt_(op);
    // A variable, or the variable of a thread axis, may be what the attribute is about.
    ffi::Any node = op->node;
    if (auto var = op->node.as<Var>()) {
      if (auto value = lookup_(*var)) node = *value;
    }
    if (node.same_as(op->node)) return result;
    AttrStmt updated = ffi::GetRef<AttrStmt>(result.as<AttrStmtNode>());
    updated.CopyOnWrite()->node = std::move(node);
    return updated;
  }

 private:
  const Lookup& lookup_;
};

/// Applies packed callbacks bottom-up to chosen node types.
class CallbackTransform final : public StmtExprMutator {
 public:
  CallbackTransform(const ffi::Function& preorder, const ffi::Function& postorder,
                    const std::unordered_set<int32_t>& enabled)
      : preorder_(preorder), postorder_(postorder), enabled_(enabled) {}

  Stmt VisitStmt(const Stmt& stmt) final {
    return Apply(stmt, [this](const Stmt& s) { return StmtExprMutator::VisitStmt(s); });
  }
  Expr VisitExpr(const Expr& expr) final {
    return Apply(expr, [this](const Expr& e) { return StmtExprMutator::VisitExpr(e); });
  }

 private:
  template <typename Ref, typename F>
  Ref Apply(const Ref& node, F descend) {
    if (!enabled_.empty() && enabled_.count(node->type_index()) == 0) return descend(node);
    if (preorder_ != nullptr) {
      auto replaced = preorder_(node).template cast<ffi::Optional<Ref>>();
      if (replaced.has_value()) return replaced.value();
    }
    Ref result = descend(node);
    if (postorder_ != nullptr) {
      auto replaced = postorder_(result).template cast<ffi::Optional<Ref>>();
      if (replaced.has_value()) return replaced.value();
    }
    return result;
  }

  const ffi::Function& preorder_;
  const ffi::Function& postorder_;
  const std::unordered_set<int32_t>& enabled_;
};

}  // namespace

void PostOrderVisit(const ffi::ObjectRef& node,
                    const std::function<void(const ffi::ObjectRef&)>& visit) {
  PostOrderWalker walker(visit);
  WalkFrom(&walker, node);
}

void PreOrderVisit(const ffi::ObjectRef& node,
                   const std::function<bool(const ffi::ObjectRef&)>& visit) {
  PreOrderWalker walker(visit);
  WalkFrom(&walker, node);
}

Stmt Substitute(const Stmt& stmt, const std::function<ffi::Optional<Expr>(const Var&)>& lookup) {
  return Substituter(lookup)(stmt);
}

Stmt Substitute(const Stmt& stmt, const ffi::Map<Var, Expr>& values) {
  if (values.empty()) return stmt;
  std::function<ffi::Optional<Expr>(const Var&)> lookup =
      [&values](const Var& var) -> ffi::Optional<Expr> {
    auto it = values.find(var);
    if (it == values.end()) return std::nullopt;
    return (*it).second;
  };
  return Substituter(lookup)(stmt);
}

Stmt IRTransform(const Stmt& stmt, const ffi::Function& preorder, const ffi::Function& postorder,
                 ffi::Optional<ffi::Array<ffi::String>> only_enable) {
  std::unordered_set<int32_t> enabled;
  if (only_enable.has_value()) {
    for (const ffi::String& key : only_enable.value()) {
      enabled.insert(ffi::TypeKeyToIndex(std::string_view(key.data(), key.size())));
    }
  }
  return CallbackTransform(preorder, postorder, enabled)(stmt);
}

TVM_FFI_STATIC_INIT_BLOCK() {
  namespace refl = ffi::reflection;
  refl::GlobalDef()
      .def("tirx.PostOrderVisit",
           [](ffi::ObjectRef node, ffi::Function visit) {
             PostOrderVisit(node, [&visit](const ffi::ObjectRef& n) { visit(n); });
           })
      .def("tirx.PreOrderVisit",
           [](ffi::ObjectRef node, ffi::Function visit) {
             PreOrderVisit(node,
                           [&visit](const ffi::ObjectRef& n) { return visit(n).cast<bool>(); });
           })
      .def("tirx.Substitute",
           [](ffi::ObjectRef node, ffi::Map<Var, Expr> values) -> ffi::ObjectRef {
             if (auto stmt = node.as<Stmt>()) return Substitute(*stmt, values);
             if (auto expr = node.as<Expr>()) return Substitute(*expr, values);
             TVM_FFI_THROW(TypeError)
                 << "Substitute expects a statement or an expression, got " << node->GetTypeKey();
             TVM_FFI_UNREACHABLE();
           })
      .def("tirx.IRTransform", [](Stmt stmt, ffi::Optional<ffi::Function> preorder,
                                  ffi::Optional<ffi::Function> postorder,
                                  ffi::Optional<ffi::Array<ffi::String>> only_enable) {
        return IRTransform(stmt, preorder.value_or(ffi::Function(nullptr)),
                           postorder.value_or(ffi::Function(nullptr)), only_enable);
      });
}

}  // namespace tirx
}  // namespace tvm
