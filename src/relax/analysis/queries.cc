// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file
/// \brief Questions about blocks and modules: uses, recursion, what is known at compile time.
#include <tvm/ffi/reflection/registry.h>
#include <tvm/relax/analysis.h>
#include <tvm/relax/expr_functor.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace tvm {
namespace relax {

namespace {

/// Variable of a block -> variables whose bindings use it, in program order.
Map<Var, Array<Var>> UseDefChain(const DataflowBlock& block) {
  Map<Var, Array<Var>> users;
  for (const Binding& binding : block->bindings) {
    Expr value;
    if (const auto* b = binding.as<VarBindingNode>()) {
      value = b->value;
    } else {
      value = binding.as<MatchCastNode>()->value;
    }
    for (const Var& var : relax::FreeVars(value)) {
      Array<Var> list = users.Get(var).value_or(Array<Var>());
      list.push_back(binding->var);
      users.Set(var, list);
    }
    if (!users.count(binding->var)) users.Set(binding->var, Array<Var>());
  }
  return users;
}

/// Variables whose values depend on nothing but constants and the given parameters.
Array<Var> ComputableAtCompileTime(const Function& func) {
  std::unordered_set<const VarNode*> known;
  int64_t first = static_cast<int64_t>(func->params.size());
  if (auto num_input = func->GetAttr<int64_t>(attr::kNumInput)) first = num_input.value();
  for (size_t i = static_cast<size_t>(std::max<int64_t>(first, 0)); i < func->params.size(); ++i) {
    known.insert(func->params[i].get());
  }
  Array<Var> result;
  for (const BindingBlock& block : func->body->blocks) {
    for (const Binding& binding : block->bindings) {
      const auto* b = binding.as<VarBindingNode>();
      if (b == nullptr || ContainsImpureCall(b->value) || b->value.as<FunctionNode>()) continue;
      Array<Var> free = relax::FreeVars(b->value);
      bool all = std::all_of(free.begin(), free.end(),
                             [&](const Var& v) { return known.count(v.get()) != 0; });
      Array<Var> symbols = FreeSymbolicVars(b->value);
      all = all && std::all_of(symbols.begin(), symbols.end(),
                               [&](const Var& v) { return known.count(v.get()) != 0; });
      if (!all) continue;
      known.insert(binding->var.get());
      result.push_back(binding->var);
    }
  }
  return result;
}

/// Groups of functions that call each other in a cycle (strongly connected components of the call
/// graph), found with an explicit stack: call chains may be long.
class RecursionFinder {
 public:
  explicit RecursionFinder(const IRModule& mod) {
    for (const auto& [var, func] : mod->SortedFunctions()) {
      if (!func.as<FunctionNode>()) continue;
      index_of_[var.get()] = vars_.size();
      vars_.push_back(var);
    }
    for (const GlobalVar& var : vars_) {
      std::vector<size_t> callees;
      for (const GlobalVar& callee : AllGlobalVars(mod->Lookup(var))) {
        auto it = index_of_.find(callee.get());
        if (it != index_of_.end()) callees.push_back(it->second);
      }
      calls_.push_back(std::move(callees));
    }
  }

  Array<Array<GlobalVar>> Groups() {
    state_.assign(vars_.size(), State());
    for (size_t v = 0; v < vars_.size(); ++v) {
      if (state_[v].number == 0) Search(v);
    }
    return groups_;
  }

 private:
  struct State {
    size_t number = 0, low = 0, next_callee = 0;
    bool on_stack = false;
  };

  void Search(size_t root) {
    std::vector<size_t> path{root};
    Enter(root);
    while (!path.empty()) {
      size_t v = path.back();
      State& s = state_[v];
      if (s.next_callee < calls_[v].size()) {
        size_t callee = calls_[v][s.next_callee++];
        if (state_[callee].number == 0) {
          Enter(callee);
          path.push_back(callee);
        } else if (state_[callee].on_stack) {
          s.low = std::min(s.low, state_[callee].number);
        }
        continue;
      }
      path.pop_back();
      if (!path.empty()) state_[path.back()].low = std::min(state_[path.back()].low, s.low);
      if (s.low == s.number) Leave(v);
    }
  }

  void Enter(size_t v) {
    state_[v].number = state_[v].low = ++counter_;
    state_[v].on_stack = true;
    open_.push_back(v);
  }

  void Leave(size_t root) {
    std::vector<size_t> members;
    while (true) {
      size_t v = open_.back();
      open_.pop_back();
      state_[v].on_stack = false;
      members.push_back(v);
      if (v == root) break;
    }
    bool calls_itself =
        std::find(calls_[root].begin(), calls_[root].end(), root) != calls_[root].end();
    if (members.size() == 1 && !calls_itself) return;
    std::sort(members.begin(), members.end());
    Array<GlobalVar> group;
    for (size_t v : members) group.push_back(vars_[v]);
    groups_.push_back(group);
  }

  std::vector<GlobalVar> vars_;
  std::unordered_map<const GlobalVarNode*, size_t> index_of_;
  std::vector<std::vector<size_t>> calls_;
  std::vector<State> state_;
  std::vector<size_t> open_;
  size_t counter_ = 0;
  Array<Array<GlobalVar>> groups_;
};

/// Dimensions that appear in a type and can be negative only by mistake.
Array<PrimExpr> NonNegativeExpressions(const Type& ty) {
  Array<PrimExpr> result;
  auto add = [&](const Array<PrimExpr>& dims) {
    for (const PrimExpr& d : dims) {
      if (d.as<IntImmNode>()) continue;
      bool seen = std::any_of(result.begin(), result.end(),
                              [&](const PrimExpr& e) { return e.same_as(d); });
      if (!seen) result.push_back(d);
    }
  };
  std::vector<Type> pending{ty};
  while (!pending.empty()) {
    Type t = pending.back();
    pending.pop_back();
    if (const auto* tensor = t.as<TensorTypeNode>()) {
      if (auto dims = tensor->GetShape()) add(dims.value());
    } else if (const auto* shape = t.as<ShapeTypeNode>()) {
      if (shape->values.has_value()) add(shape->values.value());
    } else if (const auto* tuple = t.as<TupleTypeNode>()) {
      for (size_t i = tuple->fields.size(); i-- > 0;) pending.push_back(tuple->fields[i]);
    }
  }
  return result;
}

}  // namespace

TVM_FFI_STATIC_INIT_BLOCK() {
  namespace refl = tvm::ffi::reflection;
  refl::GlobalDef()
      .def("relax.analysis.udchain", UseDefChain)
      .def("relax.analysis.computable_at_compile_time", ComputableAtCompileTime)
      .def("relax.analysis.detect_recursion",
           [](const IRModule& mod) { return RecursionFinder(mod).Groups(); })
      .def("relax.analysis.collect_non_negative_expressions", NonNegativeExpressions);
}

}  // namespace relax
}  // namespace tvm
