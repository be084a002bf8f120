// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Dispatch of the simplifier over node kinds. Sums go to sums.cc, the rest is here and in the
/// other simplify_*.cc files.
#include <cmath>

#include "arith/analyzer_impl.h"

namespace tvm::arith {

using namespace tirx;  // NOLINT(build/namespaces): the scalar nodes
using Impl = AnalyzerObj::Impl;

namespace {

constexpr size_t kMaxCacheEntries = 1 << 17;

bool IsLeaf(const PrimExpr& expr) {
  return expr.as<IntImmNode>() || expr.as<FloatImmNode>() || expr.as<StringImmNode>();
}

/// Kind of a node with two operands; false when it has another form.
bool BinaryKindOf(const PrimExpr& expr, BinaryKind* kind, PrimExpr* a, PrimExpr* b) {
#define TVM_MATCH_BINARY(Name)                    \
  if (const auto* node = expr.as<Name##Node>()) { \
    *kind = BinaryKind::k##Name;                  \
    *a = node->a;                                 \
    *b = node->b;                                 \
    return true;                                  \
  }
  TVM_MATCH_BINARY(Add)
  TVM_MATCH_BINARY(Sub)
  TVM_MATCH_BINARY(Mul)
  TVM_MATCH_BINARY(Div)
  TVM_MATCH_BINARY(Mod)
  TVM_MATCH_BINARY(FloorDiv)
  TVM_MATCH_BINARY(FloorMod)
  TVM_MATCH_BINARY(Min)
  TVM_MATCH_BINARY(Max)
  TVM_MATCH_BINARY(EQ)
  TVM_MATCH_BINARY(NE)
  TVM_MATCH_BINARY(LT)
  TVM_MATCH_BINARY(LE)
  TVM_MATCH_BINARY(GT)
  TVM_MATCH_BINARY(GE)
  TVM_MATCH_BINARY(And)
  TVM_MATCH_BINARY(Or)
#undef TVM_MATCH_BINARY
  return false;
}

PrimExpr MakeBinary(BinaryKind kind, const PrimExpr& a, const PrimExpr& b) {
  switch (kind) {
    case BinaryKind::kAdd:
      return Add(a, b);
    case BinaryKind::kSub:
      return Sub(a, b);
    case BinaryKind::kMul:
      return Mul(a, b);
    case BinaryKind::kDiv:
      return Div(a, b);
    case BinaryKind::kMod:
      return Mod(a, b);
    case BinaryKind::kFloorDiv:
      return FloorDiv(a, b);
    case BinaryKind::kFloorMod:
      return FloorMod(a, b);
    case BinaryKind::kMin:
      return Min(a, b);
    case BinaryKind::kMax:
      return Max(a, b);
    case BinaryKind::kEQ:
      return EQ(a, b);
    case BinaryKind::kNE:
      return NE(a, b);
    case BinaryKind::kLT:
      return LT(a, b);
    case BinaryKind::kLE:
      return LE(a, b);
    case BinaryKind::kGT:
      return GT(a, b);
    case BinaryKind::kGE:
      return GE(a, b);
    case BinaryKind::kAnd:
      return And(a, b);
    case BinaryKind::kOr:
      return Or(a, b);
  }
  return PrimExpr();
}

}  // namespace

/// Rebuilds a node from simplified operands; used for node kinds without rules.
class OperandSimplifier final : public ExprMutator {
 public:
  explicit OperandSimplifier(Impl* impl) : impl_(impl) {}
  Expr Rebuild(const Expr& expr) { return ExprFunctor::VisitExpr(expr); }
  Expr VisitExpr(const Expr& expr) final {
    if (expr.as<OpNode>() || expr.as<GlobalVarNode>()) return expr;
    if (!IsPrimExpr(expr)) {
      // Pointers and the like: only what is inside can be simplified.
      return expr.as<VarNode>() ? expr : Rebuild(expr);
    }
    return impl_->Simp(PrimExpr(expr));
  }

 private:
  Impl* impl_;
};

PrimExpr Impl::Simp(const PrimExpr& expr) {
  if (IsLeaf(expr)) return expr;
  auto& memo = cache().simplified;
  auto it = memo.find(expr.get());
  if (it != memo.end()) return it->second.second;
  CheckStackDepth();
  PrimExpr result = SimpNode(expr);
  auto& after = cache().simplified;
  if (after.size() > kMaxCacheEntries) after.clear();
  after[expr.get()] = {expr, result};
  after.try_emplace(result.get(), std::pair(result, result));
  return result;
}

PrimExpr Impl::SimpNode(const PrimExpr& expr) {
  const DataType dtype = expr.dtype();
  ++nodes_visited;
  if (const auto* var = expr.as<VarNode>()) {
    const VarFact* fact = FindFact(var);
    if (fact != nullptr && fact->value.defined()) return Simp(fact->value);
    if (dtype.is_bool() && dtype.is_scalar()) return LookUpKnown(expr);
    if (IsIndexType(dtype)) {
      Interval bound = Bound(expr);
      if (bound.is_point() && bound.has_lo() && bound.has_hi()) return IntImm(dtype, bound.lo);
    }
    return expr;
  }
  BinaryKind kind;
  PrimExpr a, b;
  if (BinaryKindOf(expr, &kind, &a, &b)) {
    const bool is_logic = kind == BinaryKind::kAnd || kind == BinaryKind::kOr;
    if (!dtype.is_scalar()) return SimpVectorBinary(kind, Simp(a), Simp(b));
    if (is_logic) return kind == BinaryKind::kAnd ? SimpAnd(a, b) : SimpOr(a, b);
    if (IsCompare(kind)) {
      switch (kind) {
        case BinaryKind::kEQ:
          return SimpCompare(CompareKind::kEQ, a, b);
        case BinaryKind::kNE:
          return SimpCompare(CompareKind::kNE, a, b);
        case BinaryKind::kLT:
          return SimpCompare(CompareKind::kLT, a, b);
        case BinaryKind::kLE:
          return SimpCompare(CompareKind::kLE, a, b);
        case BinaryKind::kGT:
          return SimpCompare(CompareKind::kLT, b, a);
        default:
          return SimpCompare(CompareKind::kLE, b, a);
      }
    }
    if (kind == BinaryKind::kMin || kind == BinaryKind::kMax) {
      return SimpMinMax(kind == BinaryKind::kMin, Simp(a), Simp(b));
    }
    if (UsesLinear(dtype)) {
      if (kind != BinaryKind::kDiv && kind != BinaryKind::kMod) {
        auto sum = Lin(expr);
        if (sum->valid) return ToExpr(*sum, dtype);
      } else {
        // Truncation is flooring where both operands are known not to be negative.
        PrimExpr sa = Simp(a), sb = Simp(b);
        TVM_FFI_CHECK(!is_const_int(sb, 0), ValueError) << "Divide by zero: " << Expr(expr);
        if (Bound(sa).lo >= 0 && Bound(sb).lo >= 0) {
          return Simp(kind == BinaryKind::kDiv ? PrimExpr(FloorDiv(sa, sb))
                                               : PrimExpr(FloorMod(sa, sb)));
        }
        const int64_t* c = as_const_int(sb);
        auto sum = Lin(sa);
        if (c != nullptr && *c > 0 && sum->valid && sum->constant % *c == 0 &&
            ContentOf(*sum) % *c == 0 && !sum->is_constant()) {
          if (kind == BinaryKind::kMod) return IntImm(dtype, 0);
          return Simp(FloorDiv(sa, sb));
        }
        return SimpNarrowBinary(kind, sa, sb);
      }
    }
    return SimpNarrowBinary(kind, Simp(a), Simp(b));
  }
  if (const auto* node = expr.as<NotNode>()) return SimpNot(Simp(node->a));
  if (const auto* node = expr.as<CastNode>()) return SimpCast(dtype, Simp(node->value));
  if (const auto* node = expr.as<SelectNode>()) {
    return SimpChoice(expr, node->condition, node->true_value, node->false_value, true);
  }
  if (const auto* node = expr.as<CallNode>()) return SimpCall(node);
  if (const auto* node = expr.as<LetNode>()) {
    Expr value = OperandSimplifier(this).VisitExpr(node->value);
    const bool substitute = IsPrimExpr(value) && (value.as<IntImmNode>() ||
                                                  value.as<FloatImmNode>() || value.as<VarNode>());
    if (substitute && IsPrimExpr(node->body)) {
      return Simp(
          Substitute(PrimExpr(node->body), ffi::Map<Var, PrimExpr>{{node->var, PrimExpr(value)}}));
    }
    if (scopes.empty() && IsPrimExpr(value) &&
        (value.dtype().is_int() || value.dtype().is_uint())) {
      VarFact& fact = facts[node->var.get()];
      if (!fact.var.defined()) {
        fact.var = node->var;
        fact.bound = Bound(PrimExpr(value));
      }
    }
    Expr body = OperandSimplifier(this).VisitExpr(node->body);
    if (!UsesVar(body, node->var)) return PrimExpr(body);
    if (value.same_as(node->value) && body.same_as(node->body)) return expr;
    return PrimExpr(Let(node->var, value, body, node->span));
  }
  if (const auto* node = expr.as<ReduceNode>()) return SimpReduce(node);
  if (const auto* node = expr.as<BroadcastNode>()) {
    PrimExpr value = Simp(node->value);
    if (value.same_as(node->value)) return expr;
    return Broadcast(value, node->lanes, node->span);
  }
  if (const auto* node = expr.as<RampNode>()) {
    PrimExpr base = Simp(node->base), stride = Simp(node->stride);
    if (is_zero(stride)) return Broadcast(base, node->lanes);
    if (base.same_as(node->base) && stride.same_as(node->stride)) return expr;
    return Ramp(base, stride, node->lanes, node->span);
  }
  Expr rebuilt = OperandSimplifier(this).Rebuild(expr);
  PrimExpr result(rebuilt);
  if (dtype.is_bool() && dtype.is_scalar()) return LookUpKnown(result);
  return result;
}

/// Types without index semantics: literals fold, exact identities apply, nothing else.
PrimExpr Impl::SimpNarrowBinary(BinaryKind kind, const PrimExpr& a, const PrimExpr& b) {
  if (PrimExpr folded = TryFold(kind, a, b); folded.defined()) return folded;
  DataType dtype = a.dtype();
  const bool is_int = dtype.is_int() || dtype.is_uint();
  if (is_int) {
    // Exact modulo 2^bits.
    if (kind == BinaryKind::kSub && ExprDeepEqual()(a, b)) return make_zero(dtype);
    if (kind == BinaryKind::kSub && is_const_int(b)) {
      const int64_t value = b.as<IntImmNode>()->value;
      auto negated = WrapToType(dtype, uint64_t{0} - static_cast<uint64_t>(value));
      if (negated.has_value() && dtype.is_int()) return Add(a, IntImm(dtype, *negated));
    }
    Interval ba = Bound(a), bb = Bound(b);
    const bool positive = ba.lo >= 0 && bb.lo > 0;
    if ((kind == BinaryKind::kFloorDiv || kind == BinaryKind::kDiv) && positive && ba.hi < bb.lo) {
      return make_zero(dtype);
    }
    if ((kind == BinaryKind::kFloorMod || kind == BinaryKind::kMod) && positive && ba.hi < bb.lo) {
      return a;
    }
  }
  return MakeBinary(kind, a, b);
}

PrimExpr Impl::SimpCast(DataType dtype, const PrimExpr& value) {
  DataType from = value.dtype();
  if (from == dtype) return value;
  if (PrimExpr folded = TryFoldCast(dtype, value); folded.defined()) return folded;
  if (const auto* broadcast = value.as<BroadcastNode>()) {
    return Broadcast(SimpCast(dtype.element_of(), broadcast->value), broadcast->lanes);
  }
  if (const auto* inner = value.as<CastNode>()) {
    // int -> wider int -> any int: the middle step loses nothing.
    DataType origin = inner->value.dtype();
    const bool ints = dtype.is_int() && from.is_int() && origin.is_int();
    if (ints && from.bits() >= origin.bits()) {
      return origin == dtype ? inner->value : SimpCast(dtype, inner->value);
    }
  }
  // Into a sum, when neither the narrow nor the wide arithmetic can wrap around.
  if (UsesLinear(dtype) && UsesLinear(from)) {
    auto sum = Lin(value);
    const bool is_sum = sum->valid && (sum->terms.size() + (sum->constant != 0) > 1 ||
                                       (sum->terms.size() == 1 && sum->terms[0].coef != 1));
    if (is_sum) {
      auto bounded = [&](const Interval& bound) {
        Interval range = ClosedTypeInterval(dtype), narrow = ClosedTypeInterval(from);
        return bound.has_lo() && bound.has_hi() && bound.lo >= std::max(range.lo, narrow.lo) &&
               bound.hi <= std::min(range.hi, narrow.hi);
      };
      WideInterval partial;
      partial.has_lo = partial.has_hi = true;
      partial.lo = partial.hi = sum->constant;
      bool safe = bounded(Interval::Point(sum->constant));
      for (const Term& term : sum->terms) {
        partial = AddWide(partial, ScaleWide(BoundOfAtom(term.atom), term.coef));
        safe = safe && partial.has_lo && partial.has_hi &&
               bounded(FitToType(from, ScaleWide(BoundOfAtom(term.atom), term.coef))) &&
               bounded(FitToType(DataType::Int(64), partial));
      }
      if (safe) {
        LinearBuilder builder(dtype);
        for (const Term& term : sum->terms) {
          PrimExpr atom = SimpCast(dtype, atoms[term.atom].expr);
          builder.Add(*Lin(atom), term.coef);
        }
        builder.AddConstant(sum->constant);
        Linear wide = builder.Finish();
        if (wide.valid) return ToExpr(MergeSplits(std::move(wide), dtype), dtype);
      }
    }
  }
  return Cast(dtype, value);
}

PrimExpr Impl::SimpUnder(const PrimExpr& condition, const PrimExpr& expr) {
  if (IsLeaf(expr)) return expr;
  std::function<void()> leave = EnterConstraint(condition);
  PrimExpr result;
  try {
    result = Simp(expr);
  } catch (...) {
    leave();
    throw;
  }
  leave();
  return result;
}

PrimExpr Impl::SimpChoice(const PrimExpr& original, const PrimExpr& cond, const PrimExpr& t,
                          const PrimExpr& f, bool is_select) {
  PrimExpr c = Simp(cond);
  if (const int64_t* value = as_const_int(c)) return Simp(*value != 0 ? t : f);
  PrimExpr tv, fv;
  if (c.dtype().is_scalar()) {
    tv = SimpUnder(c, t);
    fv = SimpUnder(SimpNot(c), f);
  } else {
    tv = Simp(t);
    fv = Simp(f);
  }
  if (ExprDeepEqual()(tv, fv)) return tv;
  if (tv.dtype().is_bool() && tv.dtype().is_scalar()) {
    const int64_t* tc = as_const_int(tv);
    const int64_t* fc = as_const_int(fv);
    if (tc != nullptr && fc != nullptr) return *tc != 0 ? c : SimpNot(c);
    // What if_then_else guards may only be moved into an operand that is always evaluated when it
    // reads nothing.
    auto movable = [&](const PrimExpr& value) {
      return is_select || SideEffect(value) <= CallEffectKind::kPure;
    };
    if (fc != nullptr && *fc == 0 && movable(tv)) return And(c, tv);
    if (tc != nullptr && *tc != 0 && movable(fv)) return Or(c, fv);
  }
  if (is_select) {
    const auto* node = original.as<SelectNode>();
    if (c.same_as(node->condition) && tv.same_as(node->true_value) &&
        fv.same_as(node->false_value)) {
      return original;
    }
    return Select(c, tv, fv, node->span);
  }
  const auto* call = original.as<CallNode>();
  if (c.same_as(call->args[0]) && tv.same_as(call->args[1]) && fv.same_as(call->args[2])) {
    return original;
  }
  return Call(call->ty, call->op, {c, tv, fv}, call->attrs, call->ty_args, call->span);
}

PrimExpr Impl::SimpCall(const CallNode* call) {
  PrimExpr original = ffi::GetRef<PrimExpr>(call);
  auto arg = [&](size_t i) { return PrimExpr(call->args[i]); };
  if (call->op.same_as(builtin_scalar::if_then_else())) {
    return SimpChoice(original, arg(0), arg(1), arg(2), false);
  }
  Expr rebuilt = OperandSimplifier(this).Rebuild(original);
  const auto* node = rebuilt.as<CallNode>();
  PrimExpr result(rebuilt);
  if (node->op.same_as(builtin_scalar::likely())) {
    if (is_const_int(node->args[0])) return PrimExpr(node->args[0]);
    return LookUpKnown(result);
  }
  auto const_arg = [&](size_t i) { return as_const_int(node->args[i]); };
  if (node->args.size() == 2 && node->dtype().is_scalar()) {
    PrimExpr a, b;
    if (IsPrimExpr(node->args[0]) && IsPrimExpr(node->args[1])) {
      a = PrimExpr(node->args[0]);
      b = PrimExpr(node->args[1]);
    }
    if (a.defined()) {
      const bool foldable = const_arg(0) != nullptr && const_arg(1) != nullptr;
      if (node->op.same_as(builtin_scalar::bitwise_and())) {
        if (foldable) return bitwise_and(a, b);
        const int64_t* mask = const_arg(1);
        if (mask != nullptr && *mask == 0) return b;
        // x & (2^k - 1) is x % 2^k for every integer x in two's complement.
        if (mask != nullptr && UsesLinear(node->dtype()) && *mask > 0 &&
            ((*mask + 1) & *mask) == 0 && Bound(a).lo >= 0 && *mask < MaxIntOf(node->dtype())) {
          return Simp(FloorMod(a, IntImm(a.dtype(), *mask + 1)));
        }
      } else if (node->op.same_as(builtin_scalar::bitwise_or())) {
        if (foldable) return bitwise_or(a, b);
        if (const_arg(1) != nullptr && *const_arg(1) == 0) return a;
      } else if (node->op.same_as(builtin_scalar::bitwise_xor())) {
        if (foldable) return bitwise_xor(a, b);
        if (const_arg(1) != nullptr && *const_arg(1) == 0) return a;
      } else if (node->op.same_as(builtin_scalar::shift_left())) {
        if (foldable) return left_shift(a, b);
        const int64_t* amount = const_arg(1);
        if (amount != nullptr && UsesLinear(node->dtype()) && *amount >= 0 &&
            *amount < a.dtype().bits() - 1) {
          return Simp(Mul(a, IntImm(a.dtype(), int64_t{1} << *amount)));
        }
      } else if (node->op.same_as(builtin_scalar::shift_right())) {
        if (foldable) return right_shift(a, b);
        const int64_t* amount = const_arg(1);
        if (amount != nullptr && UsesLinear(node->dtype()) && *amount >= 0 &&
            *amount < a.dtype().bits() - 1) {
          return Simp(FloorDiv(a, IntImm(a.dtype(), int64_t{1} << *amount)));
        }
      }
    }
  }
  if (node->args.size() == 1 && const_arg(0) != nullptr) {
    if (node->op.same_as(builtin_scalar::clz())) return clz(PrimExpr(node->args[0]));
    if (node->op.same_as(builtin_scalar::popcount())) return popcount(PrimExpr(node->args[0]));
    if (node->op.same_as(builtin_scalar::bitwise_not())) {
      return bitwise_neg(PrimExpr(node->args[0]));
    }
  }
  if (node->args.size() == 1) {
    if (const auto* imm = node->args[0].as<FloatImmNode>()) {
      // What scalar_op.h folds when it builds the call.
      PrimExpr x = ffi::GetRef<PrimExpr>(imm);
      static const Op floor_op = Op::Get("tirx.floor"), trunc_op = Op::Get("tirx.trunc"),
                      round_op = Op::Get("tirx.round"), fabs_op = Op::Get("tirx.fabs");
      if (node->op.same_as(builtin_scalar::ceil())) return ceil(x);
      if (node->op.same_as(builtin_scalar::log2())) return log2(x);
      if (node->op.same_as(builtin_scalar::isnan())) return isnan(x);
      if (node->op.same_as(floor_op)) return floor(x);
      if (node->op.same_as(trunc_op)) return trunc(x);
      if (node->op.same_as(round_op)) return round(x);
      if (node->op.same_as(fabs_op)) return abs(x);
    }
  }
  if (node->dtype().is_bool() && node->dtype().is_scalar()) return LookUpKnown(result);
  return result;
}

PrimExpr Impl::SimpReduce(const ReduceNode* reduce) {
  // Fewer components first: those that no result needs are dropped, with their sources.
  const CommReducerNode* combiner = reduce->combiner.get();
  const size_t n = combiner->result.size();
  std::vector<bool> used(n, false);
  std::vector<size_t> work{static_cast<size_t>(reduce->value_index)};
  used[reduce->value_index] = true;
  while (!work.empty()) {
    size_t index = work.back();
    work.pop_back();
    for (size_t j = 0; j < n; ++j) {
      if (used[j]) continue;
      const bool needs = UsesVar(combiner->result[index], [&](const VarNode* var) {
        return var == combiner->lhs[j].get() || var == combiner->rhs[j].get();
      });
      if (needs) {
        used[j] = true;
        work.push_back(j);
      }
    }
  }
  ffi::Array<Var> lhs, rhs;
  ffi::Array<PrimExpr> result, identity, source, init;
  int value_index = 0;
  bool changed = false;
  for (size_t i = 0; i < n; ++i) {
    if (!used[i]) {
      changed = true;
      continue;
    }
    if (static_cast<int>(i) == reduce->value_index) value_index = static_cast<int>(result.size());
    lhs.push_back(combiner->lhs[i]);
    rhs.push_back(combiner->rhs[i]);
    PrimExpr value = Simp(combiner->result[i]), neutral = Simp(combiner->identity_element[i]);
    PrimExpr from = SimpUnder(Simp(reduce->condition), reduce->source[i]);
    changed |= !value.same_as(combiner->result[i]) || !from.same_as(reduce->source[i]) ||
               !neutral.same_as(combiner->identity_element[i]);
    result.push_back(value);
    identity.push_back(neutral);
    source.push_back(from);
    if (!reduce->init.empty()) {
      PrimExpr start = Simp(reduce->init[i]);
      changed |= !start.same_as(reduce->init[i]);
      init.push_back(start);
    }
  }
  PrimExpr condition = Simp(reduce->condition);
  changed |= !condition.same_as(reduce->condition);
  // A reduction over nothing is its start value.
  if (reduce->axis.empty()) {
    PrimExpr start = init.empty() ? identity[value_index] : init[value_index];
    if (init.empty()) return Simp(select(condition, source[value_index], start));
  }
  if (!changed) return ffi::GetRef<PrimExpr>(reduce);
  CommReducer reducer(lhs, rhs, result, identity, combiner->span);
  return Reduce(reducer, source, reduce->axis, condition, value_index, init, reduce->span);
}

}  // namespace tvm::arith
