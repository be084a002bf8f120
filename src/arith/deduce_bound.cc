// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Solves a condition for one variable.
#include <tvm/arith/analyzer.h>
#include <tvm/arith/bound.h>
#include <tvm/ffi/error.h>

#include <optional>

namespace tvm::arith {

using namespace tirx;  // NOLINT(build/namespaces): the scalar nodes

namespace {

enum class Relation { kLE, kGE, kEQ };

Relation Mirror(Relation r) {
  return r == Relation::kLE ? Relation::kGE : r == Relation::kGE ? Relation::kLE : r;
}

int CountUses(const PrimExpr& expr, const PrimExpr& target) {
  if (ExprDeepEqual()(expr, target)) return 1;
  int count = 0;
  struct Counter final : ExprVisitor {
    const PrimExpr& target;
    int* count;
    Counter(const PrimExpr& t, int* c) : target(t), count(c) {}
    void VisitExpr(const Expr& e) final {
      if (ExprDeepEqual()(e, target)) {
        ++*count;
      } else {
        ExprVisitor::VisitExpr(e);
      }
    }
  };
  Counter(target, &count)(expr);
  return count;
}

/// Peels operations off `side`, which contains the target once, and applies their inverse to the
/// other side until the target stands alone.
class Solver {
 public:
  Solver(const PrimExpr& target, const ffi::Map<Var, IntSet>& hints, Analyzer analyzer)
      : target_(target), hints_(hints), analyzer_(std::move(analyzer)) {}

  bool Solve(PrimExpr side, Relation* relation, PrimExpr* other) {
    for (int step = 0; step < 1000; ++step) {
      if (ExprDeepEqual()(side, target_)) return true;
      if (const auto* add = side.as<AddNode>()) {
        const bool left = CountUses(add->a, target_) == 1;
        *other = *other - (left ? add->b : add->a);
        side = left ? add->a : add->b;
      } else if (const auto* sub = side.as<SubNode>()) {
        if (CountUses(sub->a, target_) == 1) {
          *other = *other + sub->b;
          side = sub->a;
        } else {
          *other = sub->a - *other;
          side = sub->b;
          *relation = Mirror(*relation);
        }
      } else if (const auto* mul = side.as<MulNode>()) {
        const bool left = CountUses(mul->a, target_) == 1;
        if (!DivideBy(left ? mul->b : mul->a, relation, other)) return false;
        side = left ? mul->a : mul->b;
      } else if (const auto* div = side.as<FloorDivNode>()) {
        // a // c <= t is a <= t * c + c - 1;  a // c >= t is a >= t * c.
        if (CountUses(div->a, target_) != 1 || SignOf(div->b) <= 0) return false;
        PrimExpr scaled = *other * div->b;
        if (*relation == Relation::kEQ) return false;
        if (*relation == Relation::kLE) {
          scaled = scaled + div->b - make_const(scaled.dtype(), 1);
        }
        *other = scaled;
        side = div->a;
      } else {
        return false;
      }
      *other = analyzer_->Simplify(*other);
    }
    return false;
  }

 private:
  /// 1, -1, or 0 when unknown.
  int SignOf(const PrimExpr& value) {
    IntSet set = EvalSet(value, hints_, analyzer_);
    if (set.HasLowerBound() && analyzer_->CanProveGreaterEqual(set.min(), 1)) return 1;
    if (set.HasUpperBound() && analyzer_->CanProveLess(set.max(), 0)) return -1;
    return 0;
  }

  /// side * c (relation) other, solved for side.
  bool DivideBy(PrimExpr c, Relation* relation, PrimExpr* other) {
    const int sign = SignOf(c);
    if (sign == 0) return false;
    if (sign < 0) {
      c = analyzer_->Simplify(make_zero(c.dtype()) - c);
      *other = make_zero(other->dtype()) - *other;
      *relation = Mirror(*relation);
    }
    switch (*relation) {
      case Relation::kLE:
        *other = floordiv(*other, c);
        return true;
      case Relation::kGE:
        *other = ceildiv(*other, c);
        return true;
      case Relation::kEQ:
        // Only a multiple has a solution.
        if (!is_zero(analyzer_->Simplify(floormod(*other, c)))) return false;
        *other = floordiv(*other, c);
        return true;
    }
    return false;
  }

  const PrimExpr& target_;
  const ffi::Map<Var, IntSet>& hints_;
  Analyzer analyzer_;
};

}  // namespace

IntSet DeduceBound(const PrimExpr& target, const PrimExpr& cond,
                   const ffi::Map<Var, IntSet>& hint_map, const ffi::Map<Var, IntSet>& relax_map) {
  if (const auto* both = cond.as<AndNode>()) {
    return Intersect({DeduceBound(target, both->a, hint_map, relax_map),
                      DeduceBound(target, both->b, hint_map, relax_map)});
  }
  Analyzer analyzer;
  PrimExpr a, b;
  Relation relation;
  if (const auto* lt = cond.as<LTNode>()) {
    a = lt->a;
    b = lt->b - make_const(lt->b.dtype(), 1);
    relation = Relation::kLE;
  } else if (const auto* le = cond.as<LENode>()) {
    a = le->a;
    b = le->b;
    relation = Relation::kLE;
  } else if (const auto* gt = cond.as<GTNode>()) {
    a = gt->a;
    b = gt->b + make_const(gt->b.dtype(), 1);
    relation = Relation::kGE;
  } else if (const auto* ge = cond.as<GENode>()) {
    a = ge->a;
    b = ge->b;
    relation = Relation::kGE;
  } else if (const auto* eq = cond.as<EQNode>()) {
    a = eq->a;
    b = eq->b;
    relation = Relation::kEQ;
  } else {
    return IntSet::Nothing();
  }
  DataType dtype = a.dtype();
  if (!dtype.is_scalar() || !(dtype.is_int() || dtype.is_uint())) return IntSet::Nothing();

  PrimExpr side, other;
  const int in_a = CountUses(a, target), in_b = CountUses(b, target);
  if (in_a == 1 && in_b == 0) {
    side = analyzer->Simplify(a);
    other = b;
  } else if (in_a == 0 && in_b == 1) {
    side = analyzer->Simplify(b);
    other = a;
    relation = Mirror(relation);
  } else if (in_a + in_b > 1) {
    // Like terms may leave it in one place.
    side = analyzer->Simplify(a - b);
    other = make_zero(dtype);
  } else {
    return IntSet::Nothing();
  }
  if (CountUses(side, target) != 1) return IntSet::Nothing();
  if (!Solver(target, hint_map, analyzer).Solve(side, &relation, &other)) {
    return IntSet::Nothing();
  }
  // The bound must hold for every value of the relaxed variables.
  IntSet range = EvalSet(other, relax_map, analyzer);
  switch (relation) {
    case Relation::kLE:
      if (!range.HasLowerBound()) return IntSet::Nothing();
      return IntervalSet(neg_inf(), range.min());
    case Relation::kGE:
      if (!range.HasUpperBound()) return IntSet::Nothing();
      return IntervalSet(range.max(), pos_inf());
    case Relation::kEQ:
      if (!range.CanProveSinglePoint(analyzer)) return IntSet::Nothing();
      return IntSet::SinglePoint(range.min());
  }
  return IntSet::Nothing();
}

}  // namespace tvm::arith
