// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Walks with an explicit stack, substitution, free variables, and comparison of expressions.
#include <tvm/ffi/error.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/ir/expr_functor.h>
#include <tvm/ir/scalar_op.h>

#include <cstring>
#include <functional>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

namespace tvm {

using namespace tirx;  // NOLINT(build/namespaces): the scalar nodes

namespace {

/// Calls `push` with each direct operand. Order: as evaluated.
class OperandLister final : public ExprVisitor {
 public:
  explicit OperandLister(std::vector<Expr>* out) : out_(out) {}
  void List(const Expr& expr) { ExprFunctor::VisitExpr(expr); }
  void VisitExpr(const Expr& operand) final { out_->push_back(operand); }

 private:
  std::vector<Expr>* out_;
};

}  // namespace

void PostOrderVisitExpr(const Expr& expr, const std::function<void(const Expr&)>& visit) {
  // (node, operands already expanded). A shared node is visited once.
  std::vector<std::pair<Expr, bool>> stack{{expr, false}};
  std::unordered_set<const ffi::Object*> seen;
  std::vector<Expr> operands;
  while (!stack.empty()) {
    auto [node, expanded] = stack.back();
    stack.pop_back();
    if (expanded) {
      visit(node);
      continue;
    }
    if (!seen.insert(node.get()).second) continue;
    stack.emplace_back(node, true);
    operands.clear();
    OperandLister(&operands).List(node);
    for (size_t i = operands.size(); i-- > 0;) stack.emplace_back(operands[i], false);
  }
}

// ---------------------------------------------------------------------------------------------
// Substitution

namespace {

class Substituter final : public ExprMutator {
 public:
  using ValueOf = std::function<ffi::Optional<Expr>(const Var&)>;
  explicit Substituter(const ValueOf& value_of) : value_of_(value_of) {}

  Expr VisitExpr_(const VarNode* node) final {
    Var var = ffi::GetRef<Var>(node);
    ffi::Optional<Expr> value = value_of_(var);
    if (!value.has_value()) return var;
    Expr result = value.value();
    TVM_FFI_CHECK(!IsPrimExpr(node) || !IsPrimExpr(result) || node->dtype() == result.dtype(),
                  TypeError)
        << "substitute: variable " << node->name << " of dtype " << node->dtype()
        << " is replaced by a value of dtype " << result.dtype();
    return result;
  }

 private:
  const ValueOf& value_of_;
};

}  // namespace

Expr Substitute(Expr expr, const ffi::Map<Var, Expr>& values) {
  if (values.empty()) return expr;
  Substituter::ValueOf value_of = [&](const Var& var) { return values.Get(var); };
  return Substituter(value_of)(expr);
}

PrimExpr Substitute(PrimExpr expr, const ffi::Map<Var, PrimExpr>& values) {
  if (values.empty()) return expr;
  Substituter::ValueOf value_of = [&](const Var& var) -> ffi::Optional<Expr> {
    auto value = values.Get(var);
    if (!value.has_value()) return std::nullopt;
    return Expr(value.value());
  };
  return PrimExpr(Substituter(value_of)(expr));
}

PrimExpr Substitute(PrimExpr expr, const std::function<ffi::Optional<Expr>(const Var&)>& value_of) {
  return PrimExpr(Substituter(value_of)(expr));
}

Range Substitute(const Range& range, const ffi::Map<Var, PrimExpr>& values) {
  PrimExpr min = Substitute(range->min, values), extent = Substitute(range->extent, values);
  if (min.same_as(range->min) && extent.same_as(range->extent)) return range;
  return Range::FromMinExtent(std::move(min), std::move(extent), range->span);
}

// ---------------------------------------------------------------------------------------------
// Variables

bool UsesVar(const Expr& expr, const std::function<bool(const VarNode*)>& predicate) {
  std::vector<Expr> stack{expr};
  std::unordered_set<const ffi::Object*> seen;
  while (!stack.empty()) {
    Expr node = std::move(stack.back());
    stack.pop_back();
    if (const auto* var = node.as<VarNode>()) {
      if (predicate(var)) return true;
      continue;
    }
    // Leaves are not worth remembering.
    if (node.as<IntImmNode>() != nullptr || node.as<FloatImmNode>() != nullptr) continue;
    if (!node.unique() && !seen.insert(node.get()).second) continue;
    OperandLister(&stack).List(node);
  }
  return false;
}

ffi::Array<Var> FreeVars(const Expr& expr) {
  ffi::Array<Var> vars;
  std::unordered_set<const VarNode*> bound, seen;
  PostOrderVisitExpr(expr, [&](const Expr& node) {
    if (const auto* let = node.as<LetNode>()) bound.insert(let->var.get());
    if (const auto* reduce = node.as<ReduceNode>()) {
      for (const IterVar& iter : reduce->axis) bound.insert(iter->var.get());
    }
    if (const auto* var = node.as<VarNode>()) {
      if (seen.insert(var).second) vars.push_back(ffi::GetRef<Var>(var));
    }
  });
  if (bound.empty()) return vars;
  ffi::Array<Var> free;
  for (const Var& var : vars) {
    if (bound.count(var.get()) == 0) free.push_back(var);
  }
  return free;
}

// ---------------------------------------------------------------------------------------------
// Comparison

namespace {

bool SameAttrs(const Attrs& a, const Attrs& b) { return a.same_as(b); }

/// Compares what a node holds besides its operands; both are of one node class.
bool SameHead(const ExprNode* a, const ExprNode* b) {
  const int32_t index = a->type_index();
  if (index == IntImmNode::RuntimeTypeIndex()) {
    return static_cast<const IntImmNode*>(a)->value == static_cast<const IntImmNode*>(b)->value &&
           a->dtype() == b->dtype();
  }
  if (index == FloatImmNode::RuntimeTypeIndex()) {
    // By bits: NaN equals NaN, and the zeros differ.
    double x = static_cast<const FloatImmNode*>(a)->value;
    double y = static_cast<const FloatImmNode*>(b)->value;
    return std::memcmp(&x, &y, sizeof(x)) == 0 && a->dtype() == b->dtype();
  }
  if (index == StringImmNode::RuntimeTypeIndex()) {
    return static_cast<const StringImmNode*>(a)->value ==
           static_cast<const StringImmNode*>(b)->value;
  }
  if (index == CastNode::RuntimeTypeIndex()) return a->dtype() == b->dtype();
  if (index == CallNode::RuntimeTypeIndex()) {
    const auto* x = static_cast<const CallNode*>(a);
    const auto* y = static_cast<const CallNode*>(b);
    if (x->args.size() != y->args.size() || !SameAttrs(x->attrs, y->attrs)) return false;
    if (IsPrimExpr(x) != IsPrimExpr(y)) return false;
    return !IsPrimExpr(x) || x->dtype() == y->dtype();
  }
  if (index == LetNode::RuntimeTypeIndex()) {
    return static_cast<const LetNode*>(a)->var.same_as(static_cast<const LetNode*>(b)->var);
  }
  if (index == ReduceNode::RuntimeTypeIndex()) {
    const auto* x = static_cast<const ReduceNode*>(a);
    const auto* y = static_cast<const ReduceNode*>(b);
    if (!x->combiner.same_as(y->combiner) || x->value_index != y->value_index ||
        x->axis.size() != y->axis.size()) {
      return false;
    }
    for (size_t i = 0; i < x->axis.size(); ++i) {
      if (!x->axis[i]->var.same_as(y->axis[i]->var)) return false;
    }
    return true;
  }
  if (index == ProducerLoadNode::RuntimeTypeIndex()) {
    return static_cast<const ProducerLoadNode*>(a)->producer.same_as(
        static_cast<const ProducerLoadNode*>(b)->producer);
  }
  if (index == ShuffleNode::RuntimeTypeIndex()) {
    return static_cast<const ShuffleNode*>(a)->vectors.size() ==
           static_cast<const ShuffleNode*>(b)->vectors.size();
  }
  return true;
}

}  // namespace

bool ExprDeepEqual::operator()(const Expr& lhs, const Expr& rhs) const {
  if (lhs.same_as(rhs)) return true;
  if (!lhs.defined() || !rhs.defined()) return false;
  // Most comparisons end at the root.
  if (lhs->type_index() != rhs->type_index()) return false;
  std::vector<std::pair<Expr, Expr>> stack{{lhs, rhs}};
  std::vector<Expr> left, right;
  while (!stack.empty()) {
    auto [a, b] = std::move(stack.back());
    stack.pop_back();
    if (a.same_as(b)) continue;
    if (a->type_index() != b->type_index()) return false;
    if (a.as<VarNode>() != nullptr || a.as<OpNode>() != nullptr ||
        a.as<GlobalVarNode>() != nullptr) {
      return false;
    }
    if (!SameHead(a.get(), b.get())) return false;
    left.clear();
    right.clear();
    OperandLister(&left).List(a);
    OperandLister(&right).List(b);
    if (left.size() != right.size()) return false;
    // A node of another layer without operands is only equal to itself.
    if (left.empty() && a.as<IntImmNode>() == nullptr && a.as<FloatImmNode>() == nullptr &&
        a.as<StringImmNode>() == nullptr) {
      return false;
    }
    for (size_t i = left.size(); i-- > 0;) stack.emplace_back(left[i], right[i]);
  }
  return true;
}

size_t ExprDeepHash::operator()(const Expr& expr) const {
  uint64_t hash = 0x9E3779B97F4A7C15ull;
  auto mix = [&hash](uint64_t value) {
    hash ^= value;
    hash *= 0xFF51AFD7ED558CCDull;
    hash ^= hash >> 32;
  };
  std::vector<Expr> stack{expr};
  // A shared graph can stand for a huge tree; its first nodes tell it apart well enough.
  int budget = 512;
  while (!stack.empty() && budget-- > 0) {
    Expr node = std::move(stack.back());
    stack.pop_back();
    if (node.as<VarNode>() != nullptr || node.as<OpNode>() != nullptr ||
        node.as<GlobalVarNode>() != nullptr) {
      mix(reinterpret_cast<uintptr_t>(node.get()));
      continue;
    }
    mix(static_cast<uint64_t>(node->type_index()));
    if (const auto* imm = node.as<IntImmNode>()) {
      mix(static_cast<uint64_t>(imm->value));
    } else if (const auto* number = node.as<FloatImmNode>()) {
      uint64_t bits;
      std::memcpy(&bits, &number->value, sizeof(bits));
      mix(bits);
    } else if (const auto* text = node.as<StringImmNode>()) {
      mix(std::hash<std::string_view>()(std::string_view(text->value.data(), text->value.size())));
    } else {
      OperandLister(&stack).List(node);
    }
  }
  return static_cast<size_t>(hash);
}

TVM_FFI_STATIC_INIT_BLOCK() {
  namespace refl = ffi::reflection;
  refl::GlobalDef()
      .def("ir.ExprDeepEqual", [](const Expr& a, const Expr& b) { return ExprDeepEqual()(a, b); })
      .def("ir.SubstituteExpr",
           [](const Expr& expr, ffi::Map<Var, Expr> values) { return Substitute(expr, values); })
      .def("ir.FreeVars", [](const Expr& expr) { return FreeVars(expr); })
      .def("ir.UsesVar", [](const Expr& expr, const Var& var) { return UsesVar(expr, var); });
}

}  // namespace tvm
