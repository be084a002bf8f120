// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// And, or, not: the second operand is simplified knowing the first.
#include <algorithm>

#include "arith/analyzer_impl.h"

namespace tvm::arith {

using namespace tirx;  // NOLINT(build/namespaces): the scalar nodes
using Impl = AnalyzerObj::Impl;

namespace {

bool IsComparison(const PrimExpr& expr) {
  return expr.as<LTNode>() || expr.as<LENode>() || expr.as<EQNode>() || expr.as<NENode>();
}

template <typename Node>
void FlattenLogic(const PrimExpr& a, const PrimExpr& b, std::vector<PrimExpr>* out) {
  std::vector<PrimExpr> stack{b, a};
  while (!stack.empty()) {
    PrimExpr top = std::move(stack.back());
    stack.pop_back();
    if (const auto* node = top.as<Node>()) {
      stack.push_back(node->b);
      stack.push_back(node->a);
    } else {
      out->push_back(std::move(top));
    }
  }
}

/// x // c == q and x % c == r together are x == c * q + r.
PrimExpr JoinDivMod(Impl* impl, const PrimExpr& a, const PrimExpr& b) {
  const auto* ea = a.as<EQNode>();
  const auto* eb = b.as<EQNode>();
  if (ea == nullptr || eb == nullptr) return PrimExpr();
  const auto* div = ea->a.as<FloorDivNode>();
  const auto* mod = eb->a.as<FloorModNode>();
  const EQNode* div_side = ea;
  const EQNode* mod_side = eb;
  if (div == nullptr || mod == nullptr) {
    div = eb->a.as<FloorDivNode>();
    mod = ea->a.as<FloorModNode>();
    div_side = eb;
    mod_side = ea;
  }
  if (div == nullptr || mod == nullptr) return PrimExpr();
  const int64_t* c = as_const_int(div->b);
  const int64_t* q = as_const_int(div_side->b);
  const int64_t* r = as_const_int(mod_side->b);
  if (c == nullptr || q == nullptr || r == nullptr || !is_const_int(mod->b, *c) || *c <= 0 ||
      *r < 0 || *r >= *c || !ExprDeepEqual()(div->a, mod->a)) {
    return PrimExpr();
  }
  DataType dtype = div->a.dtype();
  __int128 value = static_cast<__int128>(*c) * *q + *r;
  if (value > MaxIntOf(dtype) || value < MinIntOf(dtype)) return PrimExpr();
  return impl->Simp(EQ(div->a, IntImm(dtype, static_cast<int64_t>(value))));
}

}  // namespace

PrimExpr Impl::LookUpKnown(const PrimExpr& condition) {
  if (known.empty()) return condition;
  auto it = known.find(condition);
  return it == known.end() ? condition : PrimExpr(IntImm::Bool(it->second));
}

PrimExpr Impl::SimpNot(const PrimExpr& a) {
  if (const int64_t* value = as_const_int(a)) return IntImm::Bool(*value == 0);
  if (const auto* inner = a.as<NotNode>()) return inner->a;
  DataType dtype = a.dtype();
  if (!dtype.is_scalar()) {
    if (const auto* broadcast = a.as<BroadcastNode>()) {
      return Broadcast(SimpNot(broadcast->value), broadcast->lanes);
    }
  }
  if (const auto* node = a.as<EQNode>()) return LookUpKnown(NE(node->a, node->b));
  if (const auto* node = a.as<NENode>()) return LookUpKnown(EQ(node->a, node->b));
  // Order is only total without NaN.
  if (const auto* node = a.as<LTNode>(); node && !node->a.dtype().is_any_float()) {
    return dtype.is_scalar() ? SimpCompare(CompareKind::kLE, node->b, node->a)
                             : PrimExpr(LE(node->b, node->a));
  }
  if (const auto* node = a.as<LENode>(); node && !node->a.dtype().is_any_float()) {
    return dtype.is_scalar() ? SimpCompare(CompareKind::kLT, node->b, node->a)
                             : PrimExpr(LT(node->b, node->a));
  }
  if (dtype.is_scalar()) {
    if (const auto* node = a.as<AndNode>()) return SimpOr(SimpNot(node->a), SimpNot(node->b));
    if (const auto* node = a.as<OrNode>()) return SimpAnd(SimpNot(node->a), SimpNot(node->b));
  }
  return LookUpKnown(Not(a));
}

PrimExpr Impl::SimpAnd(const PrimExpr& a, const PrimExpr& b) {
  std::vector<PrimExpr> operands;
  FlattenLogic<AndNode>(a, b, &operands);
  std::vector<PrimExpr> kept;
  PrimExpr so_far;
  for (const PrimExpr& operand : operands) {
    // An operand is evaluated only when those before it hold.
    PrimExpr simple = so_far.defined() ? SimpUnder(so_far, operand) : Simp(operand);
    if (const int64_t* value = as_const_int(simple)) {
      if (*value == 0) return IntImm::Bool(false);
      continue;
    }
    std::vector<PrimExpr> parts;
    if (const auto* inner = simple.as<AndNode>()) {
      FlattenLogic<AndNode>(inner->a, inner->b, &parts);
    } else {
      parts.push_back(simple);
    }
    for (PrimExpr& part : parts) {
      bool joined = false;
      for (PrimExpr& other : kept) {
        PrimExpr both = JoinDivMod(this, other, part);
        if (!both.defined()) continue;
        if (is_const_int(both, 0)) return both;
        other = both;
        joined = true;
        break;
      }
      if (!joined) kept.push_back(part);
    }
    so_far = PrimExpr();
    for (const PrimExpr& part : kept) {
      so_far = so_far.defined() ? PrimExpr(And(so_far, part)) : part;
    }
  }
  // A later comparison can make an earlier one redundant: x < 5 and x < 3.
  for (size_t i = 0; i + 1 < kept.size() && kept.size() <= 6; ++i) {
    if (!IsComparison(kept[i])) continue;
    for (size_t j = i + 1; j < kept.size(); ++j) {
      if (!IsComparison(kept[j])) continue;
      PrimExpr simple = SimpUnder(kept[j], kept[i]);
      const int64_t* value = as_const_int(simple);
      if (value == nullptr) continue;
      if (*value == 0) return IntImm::Bool(false);
      kept.erase(kept.begin() + i);
      --i;
      break;
    }
  }
  if (kept.empty()) return IntImm::Bool(true);
  PrimExpr result = kept[0];
  for (size_t i = 1; i < kept.size(); ++i) result = And(result, kept[i]);
  return LookUpKnown(result);
}

PrimExpr Impl::SimpOr(const PrimExpr& a, const PrimExpr& b) {
  std::vector<PrimExpr> operands;
  FlattenLogic<OrNode>(a, b, &operands);
  std::vector<PrimExpr> kept;
  for (const PrimExpr& operand : operands) {
    // An operand is evaluated only when those before it fail.
    PrimExpr none;
    for (const PrimExpr& part : kept) {
      PrimExpr negated = SimpNot(part);
      none = none.defined() ? PrimExpr(And(none, negated)) : negated;
    }
    PrimExpr simple = none.defined() ? SimpUnder(none, operand) : Simp(operand);
    if (const int64_t* value = as_const_int(simple)) {
      if (*value != 0) return IntImm::Bool(true);
      continue;
    }
    if (const auto* inner = simple.as<OrNode>()) {
      FlattenLogic<OrNode>(inner->a, inner->b, &kept);
    } else {
      kept.push_back(simple);
    }
  }
  for (size_t i = 0; i + 1 < kept.size() && kept.size() <= 6; ++i) {
    if (!IsComparison(kept[i])) continue;
    for (size_t j = i + 1; j < kept.size(); ++j) {
      if (!IsComparison(kept[j])) continue;
      PrimExpr simple = SimpUnder(SimpNot(kept[j]), kept[i]);
      const int64_t* value = as_const_int(simple);
      if (value == nullptr) continue;
      if (*value != 0) return IntImm::Bool(true);
      kept.erase(kept.begin() + i);
      --i;
      break;
    }
  }
  if (kept.empty()) return IntImm::Bool(false);
  PrimExpr result = kept[0];
  for (size_t i = 1; i < kept.size(); ++i) result = Or(result, kept[i]);
  return LookUpKnown(result);
}

}  // namespace tvm::arith
