// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file
/// \brief CanonicalizeBindings and EliminateCommonSubexpr.
///
///   a = x; b = R.add(a, a)                 =>  b = R.add(x, x)
///   t = (x, y); z = t[0]                   =>  z is x
///   b = R.match_cast(x, type of x)         =>  b is x
///   a = R.exp(x); b = R.exp(x); f(a, b)    =>  a = R.exp(x); f(a, a)
#include <tvm/ffi/extra/structural_equal.h>
#include <tvm/ffi/extra/structural_hash.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/relax/analysis.h>
#include <tvm/relax/expr_functor.h>

#include <unordered_map>
#include <unordered_set>

#include "relax/analysis/type_rewrite.h"
#include "relax/transform/utils.h"

namespace tvm {
namespace relax {
namespace transform {

namespace {

/// Variables that stand for a shape in the type of a variable.
std::unordered_set<const VarNode*> ShapesInTypes(const Function& func) {
  struct Collector : public ExprVisitor {
    std::unordered_set<const VarNode*> shapes;
    void VisitVarDef(const Var& var) override {
      ForEachShapeVar(var->ty, [this](const VarNode* shape) { shapes.insert(shape); });
    }
  };
  Collector collector;
  collector.VisitExpr(func);
  return collector.shapes;
}

/// Replaces variables by others of the same type; what they stood for is decided by derived classes
/// binding by binding. Types stay, and so do the variables in them.
class Forwarder : public TypeKeepingMutator {
 public:
  explicit Forwarder(const Function& func) : in_types_(ShapesInTypes(func)) {}

  using ExprMutatorBase::VisitExpr_;
  Expr VisitExpr_(const VarNode* op) override {
    auto it = alias_.find(op);
    return it == alias_.end() ? GetRef<Expr>(op) : it->second;
  }
  Expr VisitExpr_(const DataflowVarNode* op) override {
    return Forwarder::VisitExpr_(static_cast<const VarNode*>(op));
  }

 protected:
  std::unordered_map<const VarNode*, Expr> alias_;
  const std::unordered_set<const VarNode*> in_types_;
};

class Canonicalizer : public Forwarder {
 public:
  using Forwarder::Forwarder;

  BindingBlock VisitBindingBlock(const BindingBlock& block) override {
    bool dataflow = block.as<DataflowBlockNode>() != nullptr;
    Array<Binding> kept;
    bool same = true;
    for (const Binding& b : block->bindings) {
      Expr value;
      if (const auto* vb = b.as<VarBindingNode>()) {
        value = VisitExpr(vb->value);
      } else {
        const auto* mc = b.as<MatchCastNode>();
        value = VisitExpr(mc->value);
        if (!ProvenCast(value, mc->ty)) {
          same = same && value.same_as(mc->value);
          kept.push_back(value.same_as(mc->value) ? b : Binding(MatchCast(mc->var, value, mc->ty)));
          continue;
        }
      }
      value = Fold(value);
      // A dataflow variable must not be seen outside of its block.
      bool escapes = dataflow && !b->var.as<DataflowVarNode>();
      bool leaf = value.as<VarNode>() || value.as<ConstantNode>() || value.as<ShapeExprNode>();
      bool hidden = value.as<DataflowVarNode>() != nullptr;
      const bool needed = (escapes && hidden) || in_types_.count(b->var.get());
      if (leaf && !needed && SameType(b->var, value)) {
        alias_[b->var.get()] = value;
        same = false;
        continue;
      }
      if (const auto* t = value.as<TupleNode>()) tuples_[b->var.get()] = GetRef<Tuple>(t);
      const auto* vb = b.as<VarBindingNode>();
      if (vb != nullptr && value.same_as(vb->value)) {
        kept.push_back(b);
      } else {
        kept.push_back(VarBinding(b->var, value, b->span));
        same = false;
      }
    }
    if (same) return block;
    if (dataflow) return DataflowBlock(kept, block->span);
    return BindingBlock(kept, block->span);
  }

 private:
  static bool SameType(const Var& var, const Expr& value) {
    return var->ty.same_as(value->ty) || IsBaseOf(var->ty, value->ty);
  }
  static bool ProvenCast(const Expr& value, const Type& ty) {
    return DefinableSymbolicVarsInType(ty).empty() ? IsBaseOf(ty, value->ty)
                                                   : ffi::StructuralEqual::Equal(ty, value->ty);
  }
  Expr Fold(const Expr& value) {
    const auto* item = value.as<TupleGetItemNode>();
    if (item == nullptr) return value;
    if (const auto* t = item->tuple.as<TupleNode>()) return t->fields[item->index];
    const auto* var = item->tuple.as<VarNode>();
    auto it = var == nullptr ? tuples_.end() : tuples_.find(var);
    if (it == tuples_.end()) return value;
    Expr field = it->second->fields[item->index];
    return field;
  }
  std::unordered_map<const VarNode*, Tuple> tuples_;
};

Function Canonicalize(Function func, const IRModule&, const PassContext&) {
  return Downcast<Function>(Canonicalizer(func).VisitExpr(func));
}
const FunctionPassRegistration kCanonicalize({"relax.CanonicalizeBindings",
                                              "Forwards aliases, proven casts and tuple fields.",
                                              Canonicalize});

class CSE : public Forwarder {
 public:
  CSE(const Function& func, bool call_only) : Forwarder(func), call_only_(call_only) {}

  BindingBlock VisitBindingBlock(const BindingBlock& block) override {
    bool dataflow = block.as<DataflowBlockNode>() != nullptr;
    std::unordered_map<uint64_t, std::vector<std::pair<Expr, Var>>> seen;
    Array<Binding> kept;
    bool same = true;
    for (const Binding& b : block->bindings) {
      const auto* vb = b.as<VarBindingNode>();
      if (vb == nullptr) {
        const auto* mc = b.as<MatchCastNode>();
        Expr value = VisitExpr(mc->value);
        same = same && value.same_as(mc->value);
        kept.push_back(value.same_as(mc->value) ? b : Binding(MatchCast(mc->var, value, mc->ty)));
        continue;
      }
      Expr value = VisitExpr(vb->value);
      bool output = dataflow && !vb->var.as<DataflowVarNode>();
      if (Eligible(value)) {
        auto& bucket = seen[Key(value)];
        const Var* found = nullptr;
        for (const auto& [e, v] : bucket) {
          if (Same(e, value)) found = &v;
        }
        if (found != nullptr) {
          if (!(output && found->as<DataflowVarNode>()) && !in_types_.count(vb->var.get())) {
            alias_[vb->var.get()] = *found;
            same = false;
            continue;
          }
          value = *found;
        } else {
          bucket.emplace_back(value, vb->var);
        }
      }
      same = same && value.same_as(vb->value);
      kept.push_back(value.same_as(vb->value) ? b : Binding(VarBinding(vb->var, value, vb->span)));
    }
    if (same) return block;
    if (dataflow) return DataflowBlock(kept, block->span);
    return BindingBlock(kept, block->span);
  }

 private:
  bool Eligible(const Expr& e) const {
    if (e.as<TupleGetItemNode>() || e.as<TupleNode>()) return !call_only_;
    const auto* call = e.as<CallNode>();
    return call != nullptr && call->op.as<OpNode>() && !IsImpureCall(GetRef<Call>(call));
  }
  /// Constants and variables count by identity, so that no tensor is read.
  static uint64_t Key(const Expr& e) {
    uint64_t h = 1469598103934665603ull;
    auto mix = [&h](uint64_t v) { h = (h ^ v) * 1099511628211ull; };
    mix(e->type_index());
    ForEachOperand(e, [&](const Expr& a) { mix(Id(a)); });
    if (const auto* call = e.as<CallNode>()) {
      mix(reinterpret_cast<uintptr_t>(call->op.get()));
      if (call->attrs.defined()) mix(ffi::StructuralHash::Hash(call->attrs));
    } else if (const auto* item = e.as<TupleGetItemNode>()) {
      mix(item->index);
    }
    return h;
  }
  static uint64_t Id(const Expr& a) {
    if (a.as<VarNode>() || a.as<ConstantNode>()) return reinterpret_cast<uintptr_t>(a.get());
    if (const auto* t = a.as<TupleNode>()) {
      uint64_t h = 7;
      for (const Expr& f : t->fields) h = h * 31 + Id(f);
      return h;
    }
    return ffi::StructuralHash::Hash(a);
  }
  static void ForEachOperand(const Expr& e, const std::function<void(const Expr&)>& f) {
    if (const auto* call = e.as<CallNode>()) {
      for (const Expr& a : call->args) f(a);
    } else if (const auto* t = e.as<TupleNode>()) {
      for (const Expr& a : t->fields) f(a);
    } else if (const auto* item = e.as<TupleGetItemNode>()) {
      f(item->tuple);
    }
  }
  static bool SameOperand(const Expr& a, const Expr& b) {
    if (a.same_as(b)) return true;
    if (a.as<VarNode>() || a.as<ConstantNode>() || b.as<VarNode>() || b.as<ConstantNode>()) {
      return false;
    }
    const auto* x = a.as<TupleNode>();
    const auto* y = b.as<TupleNode>();
    if (x != nullptr && y != nullptr) return SameList(x->fields, y->fields);
    return ffi::StructuralEqual::Equal(a, b);
  }
  static bool SameList(const Array<Expr>& a, const Array<Expr>& b) {
    if (a.size() != b.size()) return false;
    for (size_t i = 0; i < a.size(); ++i) {
      if (!SameOperand(a[i], b[i])) return false;
    }
    return true;
  }
  static bool Same(const Expr& a, const Expr& b) {
    if (a->type_index() != b->type_index()) return false;
    if (const auto* x = a.as<TupleNode>()) return SameList(x->fields, b.as<TupleNode>()->fields);
    if (const auto* x = a.as<TupleGetItemNode>()) {
      const auto* y = b.as<TupleGetItemNode>();
      return x->index == y->index && SameOperand(x->tuple, y->tuple);
    }
    const auto* x = a.as<CallNode>();
    const auto* y = b.as<CallNode>();
    return x->op.same_as(y->op) && SameList(x->args, y->args) &&
           ffi::StructuralEqual::Equal(x->attrs, y->attrs) &&
           ffi::StructuralEqual::Equal(x->ty_args, y->ty_args) &&
           (x->ty.same_as(y->ty) || ffi::StructuralEqual::Equal(x->ty, y->ty));
  }
  bool call_only_;
};

}  // namespace

Pass CanonicalizeBindings() { return kCanonicalize(); }
Pass EliminateCommonSubexpr(bool call_only) {
  return CreateFunctionPass(
      [call_only](Function f, IRModule, PassContext) {
        return Downcast<Function>(CSE(f, call_only).VisitExpr(f));
      },
      1, "EliminateCommonSubexpr", {});
}

TVM_FFI_STATIC_INIT_BLOCK() {
  namespace refl = tvm::ffi::reflection;
  refl::GlobalDef().def("relax.transform.EliminateCommonSubexpr", EliminateCommonSubexpr);
}

}  // namespace transform
}  // namespace relax
}  // namespace tvm
