// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Linear forms of expressions in given variables.
#include <tvm/arith/analyzer.h>
#include <tvm/arith/pattern.h>
#include <tvm/ffi/error.h>

#include <limits>
#include <optional>
#include <vector>

namespace tvm::arith {

using namespace tirx;  // NOLINT(build/namespaces): the scalar nodes

namespace {

/// coefs[i] * vars[i] summed up, plus base. A null expression is zero.
struct LinearForm {
  std::vector<PrimExpr> coefs;
  PrimExpr base;
};

PrimExpr AddOrNull(const PrimExpr& a, const PrimExpr& b) {
  if (!a.defined()) return b;
  if (!b.defined()) return a;
  return a + b;
}

PrimExpr SubOrNull(const PrimExpr& a, const PrimExpr& b) {
  if (!b.defined()) return a;
  if (!a.defined()) return make_zero(b.dtype()) - b;
  return a - b;
}

PrimExpr MulOrNull(const PrimExpr& a, const PrimExpr& b) {
  if (!a.defined() || !b.defined()) return PrimExpr();
  return a * b;
}

class LinearFormDetector final : public ExprFunctor<std::optional<LinearForm>(const Expr&)> {
 public:
  using Result = std::optional<LinearForm>;
  explicit LinearFormDetector(const ffi::Array<Var>& vars) : vars_(vars) {}

  Result VisitExpr_(const VarNode* node) final {
    for (size_t i = 0; i < vars_.size(); ++i) {
      if (vars_[i].get() == node) {
        LinearForm form{std::vector<PrimExpr>(vars_.size()), PrimExpr()};
        form.coefs[i] = make_const(node->dtype(), 1);
        return form;
      }
    }
    return Constant(ffi::GetRef<PrimExpr>(node));
  }

  Result VisitExpr_(const AddNode* node) final {
    return Merge(VisitExpr(node->a), VisitExpr(node->b), AddOrNull);
  }

  Result VisitExpr_(const SubNode* node) final {
    return Merge(VisitExpr(node->a), VisitExpr(node->b), SubOrNull);
  }

  Result VisitExpr_(const MulNode* node) final {
    Result a = VisitExpr(node->a), b = VisitExpr(node->b);
    if (!a || !b) return std::nullopt;
    if (HasVar(*a) && HasVar(*b)) return std::nullopt;
    LinearForm& form = HasVar(*a) ? *a : *b;
    const PrimExpr& factor = HasVar(*a) ? b->base : a->base;
    for (PrimExpr& coef : form.coefs) coef = MulOrNull(coef, factor);
    form.base = MulOrNull(form.base, factor);
    return std::move(form);
  }

  Result VisitExprDefault_(const ffi::Object* node) final {
    PrimExpr expr = ffi::GetRef<PrimExpr>(static_cast<const ExprNode*>(node));
    const bool uses = UsesVar(expr, [&](const VarNode* var) {
      for (const Var& candidate : vars_) {
        if (candidate.get() == var) return true;
      }
      return false;
    });
    if (uses) return std::nullopt;
    return Constant(expr);
  }

 private:
  Result Constant(const PrimExpr& value) {
    return LinearForm{std::vector<PrimExpr>(vars_.size()), value};
  }
  static bool HasVar(const LinearForm& form) {
    for (const PrimExpr& coef : form.coefs) {
      if (coef.defined()) return true;
    }
    return false;
  }
  static Result Merge(Result a, Result b, PrimExpr (*join)(const PrimExpr&, const PrimExpr&)) {
    if (!a || !b) return std::nullopt;
    for (size_t i = 0; i < a->coefs.size(); ++i) a->coefs[i] = join(a->coefs[i], b->coefs[i]);
    a->base = join(a->base, b->base);
    return a;
  }

  const ffi::Array<Var>& vars_;
};

}  // namespace

ffi::Array<PrimExpr> DetectLinearEquation(const PrimExpr& expr, const ffi::Array<Var>& vars) {
  std::optional<LinearForm> form = LinearFormDetector(vars)(expr);
  if (!form) return {};
  Analyzer analyzer;
  ffi::Array<PrimExpr> result;
  for (size_t i = 0; i < vars.size(); ++i) {
    const PrimExpr& coef = form->coefs[i];
    result.push_back(coef.defined() ? analyzer->Simplify(coef) : make_zero(vars[i].dtype()));
  }
  result.push_back(form->base.defined() ? analyzer->Simplify(form->base) : make_zero(expr.dtype()));
  return result;
}

namespace {

/// Ends of one variable; null where there is none.
struct Ends {
  PrimExpr low, high;
};

/// Adds what a condition says about the variables; false when it has another form.
bool DetectOne(const PrimExpr& cond, const ffi::Array<Var>& vars, std::vector<Ends>* ends) {
  PrimExpr difference;  // >= 0, or == 0
  bool is_equality = false;
  auto one = [](const PrimExpr& x) { return make_const(x.dtype(), 1); };
  if (const auto* lt = cond.as<LTNode>()) {
    difference = lt->b - lt->a - one(lt->a);
  } else if (const auto* le = cond.as<LENode>()) {
    difference = le->b - le->a;
  } else if (const auto* gt = cond.as<GTNode>()) {
    difference = gt->a - gt->b - one(gt->a);
  } else if (const auto* ge = cond.as<GENode>()) {
    difference = ge->a - ge->b;
  } else if (const auto* eq = cond.as<EQNode>()) {
    difference = eq->a - eq->b;
    is_equality = true;
  } else {
    return false;
  }
  DataType dtype = difference.dtype();
  if (!dtype.is_scalar() || !(dtype.is_int() || dtype.is_uint())) return false;
  Analyzer analyzer;
  ffi::Array<PrimExpr> form = DetectLinearEquation(analyzer->Simplify(difference), vars);
  if (form.empty()) return false;
  int only = -1;
  for (size_t i = 0; i < vars.size(); ++i) {
    if (is_zero(form[i])) continue;
    if (only >= 0) return false;
    only = static_cast<int>(i);
  }
  if (only < 0) return false;
  const PrimExpr& coef = form[only];
  const PrimExpr& base = form[vars.size()];
  Ends& target = (*ends)[only];
  auto raise_low = [&](const PrimExpr& value) {
    PrimExpr simple = analyzer->Simplify(value);
    target.low = target.low.defined() ? analyzer->Simplify(max(target.low, simple)) : simple;
  };
  auto cut_high = [&](const PrimExpr& value) {
    PrimExpr simple = analyzer->Simplify(value);
    target.high = target.high.defined() ? analyzer->Simplify(min(target.high, simple)) : simple;
  };
  // coef * v + base >= 0
  const int64_t* c = as_const_int(coef);
  if (c == nullptr) return false;
  PrimExpr negated = make_zero(dtype) - base;
  if (is_equality) {
    if (*c != 1 && *c != -1) return false;
    PrimExpr value = *c == 1 ? negated : base;
    raise_low(value);
    cut_high(value);
    return true;
  }
  if (*c > 0) {
    // v >= ceil(-base / c)
    raise_low(*c == 1 ? negated : ceildiv(negated, coef));
  } else {
    if (*c == std::numeric_limits<int64_t>::min()) return false;
    PrimExpr divisor = make_const(dtype, -*c);
    cut_high(*c == -1 ? base : floordiv(base, divisor));
  }
  return true;
}

}  // namespace

ffi::Array<PrimExpr> DetectClipBound(const PrimExpr& expr, const ffi::Array<Var>& vars) {
  std::vector<Ends> ends(vars.size());
  std::vector<PrimExpr> stack{expr};
  while (!stack.empty()) {
    PrimExpr cond = std::move(stack.back());
    stack.pop_back();
    if (const auto* both = cond.as<AndNode>()) {
      stack.push_back(both->b);
      stack.push_back(both->a);
      continue;
    }
    if (is_const_int(cond, 1)) continue;
    if (!DetectOne(cond, vars, &ends)) return {};
  }
  ffi::Array<PrimExpr> result;
  for (const Ends& end : ends) {
    result.push_back(end.low);
    result.push_back(end.high);
  }
  return result;
}

}  // namespace tvm::arith
