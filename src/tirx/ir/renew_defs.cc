// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Fresh identities for definitions: all of them (RenewDefs), or repeated ones (ConvertToSSA).
#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/tirx/stmt_functor.h>
#include <tvm/tirx/transform.h>

#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "tirx/ir/map_array.h"
#include "tirx/transform/with_body.h"

namespace tvm {
namespace tirx {

namespace {

class DefRenamer final : public StmtExprMutator {
 public:
  /// `always`: rename every definition, otherwise only those of a variable defined before.
  explicit DefRenamer(bool always) : always_(always) {}

  Var Define(const Var& var) {
    if (IsBuffer(var.get())) return DefineBuffer(Buffer(var));
    if (!MustRename(var)) return var;
    return Remap(var, var.copy_with_suffix(""));
  }

  Buffer DefineBuffer(const Buffer& buffer) {
    Buffer visited = StmtExprMutator::VisitBufferDef(buffer);
    buffer_remap_.erase(buffer.get());  // scopes are kept in remap_
    bool rename = MustRename(buffer);
    if (!rename && visited.same_as(buffer)) return buffer;
    Buffer renamed = visited.same_as(buffer) ? buffer.WithType(buffer.buffer_type()) : visited;
    Remap(buffer, renamed);
    return renamed;
  }

  using StmtExprMutator::VisitExpr;

  void MarkDefined(const Var& var) { defined_.insert(var.get()); }
  bool Knows(const Var& var) const { return remap_.count(var.get()) != 0; }

 private:
  bool MustRename(const Var& var) { return !defined_.insert(var.get()).second || always_; }

  Var Remap(const Var& from, Var to) {
    auto it = remap_.find(from.get());
    undo_.push_back({from, it == remap_.end() ? Var(ffi::UnsafeInit{}) : it->second});
    remap_[from.get()] = to;
    return to;
  }

  template <typename F>
  auto InScope(F visit) {
    size_t mark = undo_.size();
    auto result = visit();
    while (undo_.size() > mark) {
      auto [from, previous] = std::move(undo_.back());
      undo_.pop_back();
      if (previous.defined()) {
        remap_[from.get()] = previous;
      } else {
        remap_.erase(from.get());
      }
    }
    return result;
  }

  Expr VisitExpr_(const VarNode* op) final {
    auto it = remap_.find(op);
    return it == remap_.end() ? ffi::GetRef<Expr>(op) : Expr(it->second);
  }

  Buffer VisitBufferUse(const Buffer& buffer) final {
    auto it = remap_.find(buffer.get());
    return it == remap_.end() ? buffer : Buffer(it->second);
  }

  Buffer VisitBufferDef(const Buffer& buffer) final { return DefineBuffer(buffer); }

  Var VisitVarDef_(const Var& var) final { return Define(var); }

  Expr VisitExpr_(const LetNode* op) final {
    return InScope([&] { return StmtExprMutator::VisitExpr_(op); });
  }

  Stmt VisitStmt_(const BindNode* op) final {
    Expr value = VisitExpr(op->value);
    Var var = Define(op->var);
    if (value.same_as(op->value) && var.same_as(op->var)) return ffi::GetRef<Stmt>(op);
    return Bind(var, value, op->span);
  }

  Stmt VisitStmt_(const SeqStmtNode* op) final {
    return InScope([&] { return StmtExprMutator::VisitStmt_(op); });
  }

  Stmt VisitStmt_(const IfThenElseNode* op) final {
    PrimExpr condition = VisitPrimExpr(op->condition);
    Stmt then_case = InScope([&] { return VisitStmt(op->then_case); });
    ffi::Optional<Stmt> else_case = op->else_case;
    bool same_else = true;
    if (op->else_case.has_value()) {
      Stmt visited = InScope([&] { return VisitStmt(op->else_case.value()); });
      same_else = visited.same_as(op->else_case.value());
      else_case = visited;
    }
    if (condition.same_as(op->condition) && then_case.same_as(op->then_case) && same_else) {
      return ffi::GetRef<Stmt>(op);
    }
    return IfThenElse(condition, then_case, else_case, op->span);
  }

  Stmt VisitStmt_(const ForNode* op) final {
    return InScope([&]() -> Stmt {
      PrimExpr min = VisitPrimExpr(op->min);
      PrimExpr extent = VisitPrimExpr(op->extent);
      ffi::Optional<PrimExpr> step = op->step;
      if (step.has_value()) step = VisitPrimExpr(step.value());
      Var loop_var = Define(op->loop_var);
      ffi::Optional<IterVar> binding = op->thread_binding;
      if (binding.has_value()) binding = RenameIter(binding.value());
      Stmt body = VisitStmt(op->body);
      if (loop_var.same_as(op->loop_var) && min.same_as(op->min) && extent.same_as(op->extent) &&
          body.same_as(op->body)) {
        return ffi::GetRef<Stmt>(op);
      }
      return For(loop_var, min, extent, op->kind, body, binding, op->annotations, step, op->span);
    });
  }

  Stmt VisitStmt_(const AttrStmtNode* op) final {
    return InScope([&]() -> Stmt {
      ffi::Any node = op->node;
      if (auto iter = op->node.as<IterVar>()) {
        // Thread axes may be defined again with the same meaning: they keep their identity unless
        // everything is renewed.
        if (always_) {
          Var var = Define(iter.value()->var);
          IterVar renamed = iter.value();
          renamed.CopyOnWrite()->var = var;
          node = renamed;
        }
      } else if (auto var = op->node.as<Var>()) {
        auto it = remap_.find(var.value().get());
        if (it != remap_.end()) node = it->second;
      }
      Expr value = VisitExpr(op->value);
      Stmt body = VisitStmt(op->body);
      if (node.same_as(op->node) && value.same_as(op->value) && body.same_as(op->body)) {
        return ffi::GetRef<Stmt>(op);
      }
      return AttrStmt(node, op->attr_key, value, body, op->span);
    });
  }

  Stmt VisitStmt_(const SBlockNode* op) final {
    return InScope([&] {
      SBlock block = ffi::GetRef<SBlock>(op);
      ffi::Array<IterVar> iters = MapArray(op->iter_vars, [this](const IterVar& iter) {
        Var var = Define(iter->var);
        if (var.same_as(iter->var)) return iter;
        IterVar renamed = iter;
        renamed.CopyOnWrite()->var = var;
        return renamed;
      });
      if (!iters.same_as(op->iter_vars)) block.CopyOnWrite()->iter_vars = iters;
      return StmtExprMutator::VisitStmt_(block.get());
    });
  }

  IterVar RenameIter(const IterVar& iter) {
    auto it = remap_.find(iter->var.get());
    if (it == remap_.end()) return iter;
    IterVar renamed = iter;
    renamed.CopyOnWrite()->var = it->second;
    return renamed;
  }

  bool always_;
  std::unordered_set<const ffi::Object*> defined_;
  std::unordered_map<const ffi::Object*, Var> remap_;
  std::vector<std::pair<Var, Var>> undo_;
};

/// Variables in the types of buffer parameters, which those define.
void DefineShapeVars(const Buffer& buffer, DefRenamer* renamer) {
  const BufferTypeNode* type = buffer.type();
  auto define = [renamer](const PrimExpr& expr) {
    const auto* var = expr.as<VarNode>();
    if (var != nullptr && !renamer->Knows(ffi::GetRef<Var>(var))) {
      renamer->Define(ffi::GetRef<Var>(var));
    }
  };
  for (const PrimExpr& extent : type->shape) define(extent);
  for (const PrimExpr& stride : type->strides) define(stride);
  if (type->elem_offset.defined()) define(type->elem_offset);
}

}  // namespace

PrimFunc RenewDefs(const PrimFunc& func) {
  DefRenamer renamer(/*always=*/true);
  ffi::Array<Var> params;
  for (const Var& param : func->params) {
    if (!IsBuffer(param.get())) renamer.Define(param);
  }
  for (const Var& param : func->params) {
    if (IsBuffer(param.get())) {
      DefineShapeVars(Buffer(param), &renamer);
      renamer.Define(param);
    }
    params.push_back(Downcast<Var>(renamer.VisitExpr(param)));
  }
  return PrimFunc(params, renamer(func->body), func->ret_type, func->attrs, func->span);
}

Stmt ConvertToSSA(const Stmt& stmt) { return DefRenamer(/*always=*/false)(stmt); }

namespace {

const transform::PrimFuncPassRegistration kPass{{
    .name = "tirx.ConvertSSA",
    .summary = "Define every variable once",
    .run =
        [](PrimFunc func, const transform::PassContext&) {
          DefRenamer renamer(/*always=*/false);
          for (const Var& param : func->params) renamer.MarkDefined(param);
          Stmt body = renamer(func->body);
          return WithBody(std::move(func), std::move(body));
        },
}};

}  // namespace

namespace transform {
Pass ConvertSSA() { return kPass.Create(); }
}  // namespace transform

TVM_FFI_STATIC_INIT_BLOCK() {
  namespace refl = ffi::reflection;
  refl::GlobalDef()
      .def("tirx.RenewDefs", [](PrimFunc func) { return RenewDefs(func); })
      .def("tirx.ConvertToSSA", [](Stmt stmt) { return ConvertToSSA(stmt); });
}

}  // namespace tirx
}  // namespace tvm
