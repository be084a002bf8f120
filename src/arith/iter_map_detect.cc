// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Detection of iteration maps. Above 500 lines: one class, whose steps share its tables.
///
/// Each index becomes a sum of splits: scale * ((mark // lower) % extent). Sums are fused into new
/// marks when their scales chain (y * 3 + x with x < 3), splits come from floordiv and floormod.
/// Afterwards the splits of every mark are checked: those of one mark must tile it without overlap.
/// When a divisor does not divide an extent, the mark is padded and the padding predicate tells
/// which of its values no iteration has; a first round over the indices collects the divisors.
#include <tvm/arith/iter_affine_map.h>
#include <tvm/ffi/error.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace tvm::arith {

using namespace tirx;  // NOLINT(build/namespaces): the scalar nodes

namespace {

/// Insertion sort: the lists are short.
template <typename T, typename Less>
void StableSort(std::vector<T>* items, Less less) {
  for (size_t i = 1; i < items->size(); ++i) {
    for (size_t k = i; k > 0 && less((*items)[k], (*items)[k - 1]); --k) {
      std::swap((*items)[k], (*items)[k - 1]);
    }
  }
}

/// A sum under construction.
struct Sum {
  std::vector<IterSplitExpr> args;
  PrimExpr base;
};

/// One iterator with offset: split + base.
struct Fused {
  IterSplitExpr split;
  PrimExpr base;
};

class Detector {
 public:
  Detector(const ffi::Map<Var, Range>& iters, Analyzer analyzer, bool simplify_trivial)
      : iters_(iters), analyzer_(std::move(analyzer)), simplify_trivial_(simplify_trivial) {
    for (const auto& [var, range] : iters) {
      if (IsOne(range->extent) && simplify_trivial_) {
        Sum point;
        point.base = range->min;
        vars_[var.get()] = point;
        continue;
      }
      Sum sum;
      PrimExpr source = is_zero(range->min) ? PrimExpr(var) : PrimExpr(var) - range->min;
      IterMark mark(source, range->extent);
      input_marks_.push_back(mark);
      sum.args.push_back(IterSplitExpr(mark));
      sum.base = range->min;
      vars_[var.get()] = sum;
    }
  }

  const ffi::Array<ffi::String>& errors() const { return errors_; }
  const PrimExpr& padding_predicate() const { return padding_predicate_; }
  bool requires_padding() const { return requires_padding_; }
  const std::vector<IterMark>& input_marks() const { return input_marks_; }

  /// Conditions that bound one iterator or one fused sum. False if one has another form.
  bool AddPredicate(const PrimExpr& predicate);

  /// First round: only notes the divisors.
  void CollectDivisors(const ffi::Array<PrimExpr>& indices) {
    collecting_ = true;
    for (const PrimExpr& index : indices) ToSum(index);
    collecting_ = false;
    errors_ = {};
  }

  std::optional<IterSumExpr> Detect(const PrimExpr& index) {
    std::optional<Sum> sum = ToSum(index);
    if (!sum) return std::nullopt;
    if (sum->args.empty()) return IterSumExpr({}, analyzer_->Simplify(sum->base));
    std::optional<Fused> fused = Fuse(*sum);
    if (!fused) return std::nullopt;
    return IterSumExpr({fused->split}, analyzer_->Simplify(fused->base));
  }

  std::optional<Sum> ToSum(const PrimExpr& expr);
  std::optional<Fused> Fuse(Sum sum);

  bool Check(const ffi::Array<IterSumExpr>& indices, IterMapLevel level);

 private:
  void Error(const std::string& text) { errors_.push_back(text); }
  bool IsOne(const PrimExpr& x) {
    return is_one(x) || analyzer_->CanProveEqual(x, make_const(x.dtype(), 1));
  }
  bool Equal(const PrimExpr& a, const PrimExpr& b) { return analyzer_->CanProveEqual(a, b); }
  bool Divisible(const PrimExpr& a, const PrimExpr& b) {
    return is_zero(analyzer_->Simplify(floormod(a, b)));
  }
  PrimExpr S(const PrimExpr& x) { return analyzer_->Simplify(x); }

  bool UsesIters(const PrimExpr& expr) {
    return UsesVar(expr, [this](const VarNode* var) { return vars_.count(var) != 0; });
  }

  void AddScaled(Sum* into, const Sum& from, const PrimExpr& scale);
  std::optional<Sum> DivMod(const PrimExpr& a, const PrimExpr& b, bool is_div,
                            const PrimExpr& original);
  /// The iterator i + offset, padded so that its values start at a multiple of the divisors.
  Fused PadIterator(const IterSplitExpr& split, const PrimExpr& offset, const PrimExpr& divisor);
  void ReplaceConstrained(Sum* sum);
  bool SameSplit(const IterSplitExpr& a, const IterSplitExpr& b) {
    return a->source.same_as(b->source) && Equal(a->lower_factor, b->lower_factor) &&
           Equal(a->extent, b->extent);
  }
  IterMark MarkOf(const std::vector<IterSplitExpr>& args, const PrimExpr& extent);
  bool CheckMark(const IterMark& mark, std::vector<IterSplitExpr> splits, IterMapLevel level);

  struct FusedEntry {
    std::vector<IterSplitExpr> args;
    IterMark mark;
    PrimExpr low;  // smallest value of the sum; the mark counts from it
    bool constrained = false;
  };
  struct Padding {
    IterSplitExpr split;
    PrimExpr left;
    PrimExpr divisor;
    IterMark mark;
  };

  ffi::Map<Var, Range> iters_;
  Analyzer analyzer_;
  bool simplify_trivial_;
  bool collecting_ = false;
  bool requires_padding_ = false;
  std::unordered_map<const VarNode*, Sum> vars_;
  std::vector<IterMark> input_marks_;
  std::vector<FusedEntry> fused_;
  std::vector<Padding> paddings_;
  PrimExpr padding_predicate_ = const_false();
  ffi::Array<ffi::String> errors_;
};

void Detector::AddScaled(Sum* into, const Sum& from, const PrimExpr& scale) {
  for (const IterSplitExpr& arg : from.args) {
    PrimExpr arg_scale = S(arg->scale * scale);
    bool merged = false;
    for (size_t i = 0; i < into->args.size(); ++i) {
      if (!SameSplit(into->args[i], arg)) continue;
      PrimExpr total = S(into->args[i]->scale + arg_scale);
      if (is_zero(total)) {
        into->args.erase(into->args.begin() + i);
      } else {
        into->args[i].CopyOnWrite()->scale = total;
      }
      merged = true;
      break;
    }
    if (!merged && !is_zero(arg_scale)) {
      IterSplitExpr copy = arg;
      copy.CopyOnWrite()->scale = arg_scale;
      into->args.push_back(copy);
    }
  }
  into->base = S(into->base + from.base * scale);
  // (x // 4) * 4 + x % 4: neighbours of one mark whose scales chain are one split again.
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t i = 0; i < into->args.size() && !changed; ++i) {
      for (size_t j = 0; j < into->args.size() && !changed; ++j) {
        const IterSplitExpr low = into->args[i], high = into->args[j];
        if (i == j || !low->source.same_as(high->source)) continue;
        if (!Equal(high->lower_factor, low->lower_factor * low->extent) ||
            !Equal(high->scale, low->scale * low->extent)) {
          continue;
        }
        IterSplitExpr whole(low->source, low->lower_factor, S(low->extent * high->extent),
                            low->scale);
        into->args[std::min(i, j)] = whole;
        into->args.erase(into->args.begin() + std::max(i, j));
        changed = true;
      }
    }
  }
}

std::optional<Sum> Detector::ToSum(const PrimExpr& expr) {
  CheckStackDepth();
  if (!UsesIters(expr)) {
    Sum constant;
    constant.base = expr;
    return constant;
  }
  const DataType dtype = expr.dtype();
  if (const auto* var = expr.as<VarNode>()) return vars_.at(var);
  auto linear = [&](const PrimExpr& a, const PrimExpr& b, int sign) -> std::optional<Sum> {
    std::optional<Sum> x = ToSum(a), y = ToSum(b);
    if (!x || !y) return std::nullopt;
    AddScaled(&*x, *y, make_const(dtype, sign));
    return x;
  };
  if (const auto* add = expr.as<AddNode>()) return linear(add->a, add->b, 1);
  if (const auto* sub = expr.as<SubNode>()) return linear(sub->a, sub->b, -1);
  if (const auto* mul = expr.as<MulNode>()) {
    const bool left = UsesIters(mul->a), right = UsesIters(mul->b);
    if (left && right) {
      Error("product of two iterators");
      return std::nullopt;
    }
    std::optional<Sum> x = ToSum(left ? mul->a : mul->b);
    if (!x) return std::nullopt;
    Sum scaled;
    scaled.base = make_zero(dtype);
    AddScaled(&scaled, *x, left ? mul->b : mul->a);
    return scaled;
  }
  if (const auto* div = expr.as<FloorDivNode>()) return DivMod(div->a, div->b, true, expr);
  if (const auto* mod = expr.as<FloorModNode>()) return DivMod(mod->a, mod->b, false, expr);
  Error("an index uses an operation that is no sum, product, floordiv or floormod");
  return std::nullopt;
}

IterMark Detector::MarkOf(const std::vector<IterSplitExpr>& args, const PrimExpr& extent) {
  for (const FusedEntry& entry : fused_) {
    if (entry.constrained || entry.args.size() != args.size()) continue;
    bool same = true;
    for (size_t i = 0; same && i < args.size(); ++i) {
      same = SameSplit(entry.args[i], args[i]) && Equal(entry.args[i]->scale, args[i]->scale);
    }
    if (same) return entry.mark;
  }
  PrimExpr zero = make_zero(extent.dtype());
  IterMark mark(IterSumExpr(ffi::Array<IterSplitExpr>(args.begin(), args.end()), zero), extent);
  fused_.push_back({args, mark, zero, false});
  return mark;
}

void Detector::ReplaceConstrained(Sum* sum) {
  for (const FusedEntry& entry : fused_) {
    if (!entry.constrained) continue;
    // All splits of the entry, each at a common multiple of its scale there.
    PrimExpr factor;
    std::vector<size_t> found;
    for (const IterSplitExpr& wanted : entry.args) {
      for (size_t i = 0; i < sum->args.size(); ++i) {
        if (!SameSplit(sum->args[i], wanted) || !Divisible(sum->args[i]->scale, wanted->scale)) {
          continue;
        }
        PrimExpr ratio = S(floordiv(sum->args[i]->scale, wanted->scale));
        if (factor.defined() && !Equal(factor, ratio)) continue;
        factor = ratio;
        found.push_back(i);
        break;
      }
    }
    if (found.size() != entry.args.size()) continue;
    std::sort(found.begin(), found.end());
    for (size_t k = found.size(); k-- > 0;) sum->args.erase(sum->args.begin() + found[k]);
    sum->args.push_back(IterSplitExpr(entry.mark, factor));
    sum->base = S(sum->base + entry.low * factor);
  }
}

std::optional<Fused> Detector::Fuse(Sum sum) {
  ReplaceConstrained(&sum);
  if (sum.args.size() == 1) return Fused{sum.args[0], sum.base};
  TVM_FFI_ICHECK(!sum.args.empty());
  // The innermost split: the smallest constant scale; else each one is tried.
  std::vector<size_t> starts;
  std::optional<size_t> smallest;
  for (size_t i = 0; i < sum.args.size(); ++i) {
    const int64_t* c = as_const_int(sum.args[i]->scale);
    if (c == nullptr) continue;
    if (!smallest || *c < *as_const_int(sum.args[*smallest]->scale)) smallest = i;
  }
  if (smallest) {
    starts.push_back(*smallest);
  } else {
    for (size_t i = 0; i < sum.args.size(); ++i) starts.push_back(i);
  }
  for (size_t start : starts) {
    const PrimExpr base_scale = sum.args[start]->scale;
    const int64_t* sign = as_const_int(base_scale);
    if (sign != nullptr && *sign <= 0) continue;
    std::vector<IterSplitExpr> chain;  // inner to outer
    std::vector<bool> used(sum.args.size(), false);
    PrimExpr expected = base_scale, extent = make_const(base_scale.dtype(), 1);
    while (chain.size() < sum.args.size()) {
      size_t next = sum.args.size();
      for (size_t i = 0; i < sum.args.size(); ++i) {
        if (!used[i] && (chain.empty() ? i == start : Equal(sum.args[i]->scale, expected))) {
          next = i;
          break;
        }
      }
      if (next == sum.args.size()) break;
      used[next] = true;
      IterSplitExpr normalized = sum.args[next];
      normalized.CopyOnWrite()->scale = S(floordiv(sum.args[next]->scale, base_scale));
      chain.push_back(normalized);
      expected = S(sum.args[next]->scale * sum.args[next]->extent);
      extent = S(extent * sum.args[next]->extent);
    }
    if (chain.size() != sum.args.size()) continue;
    std::reverse(chain.begin(), chain.end());
    return Fused{IterSplitExpr(MarkOf(chain, extent), base_scale), sum.base};
  }
  Error("the scales and extents of a sum of iterators do not chain: values overlap or leave gaps");
  return std::nullopt;
}

Fused Detector::PadIterator(const IterSplitExpr& split, const PrimExpr& offset,
                            const PrimExpr& divisor) {
  const DataType dtype = divisor.dtype();
  IterSplitExpr plain = split;
  plain.CopyOnWrite()->scale = make_const(dtype, 1);
  Padding* padding = nullptr;
  for (Padding& entry : paddings_) {
    if (SameSplit(entry.split, plain)) padding = &entry;
  }
  if (collecting_) {
    if (padding == nullptr) {
      paddings_.push_back({plain, PrimExpr(), divisor, IterMark()});
      padding = &paddings_.back();
    } else {
      const int64_t* a = as_const_int(padding->divisor);
      const int64_t* b = as_const_int(divisor);
      if (a != nullptr && b != nullptr) {
        padding->divisor = make_const(dtype, std::lcm(*a, *b));
      } else if (Divisible(divisor, padding->divisor)) {
        padding->divisor = divisor;
      }
    }
    // The offset modulo the divisor is what the values are moved by.
    padding->left = S(floormod(offset, padding->divisor));
    return {plain, offset};
  }
  if (padding == nullptr) return {plain, offset};
  if (!padding->mark.defined()) {
    PrimExpr whole = S(ceildiv(padding->left + plain->extent, padding->divisor) * padding->divisor);
    if (is_zero(padding->left) && Equal(whole, plain->extent)) {
      padding->mark = plain->source;  // nothing to pad; marks the entry as handled
    } else {
      padding->mark = IterMark(IterSumExpr({plain}, padding->left), whole);
      requires_padding_ = true;
      // Values below the left padding and from its end on belong to no iteration.
      PrimExpr value =
          NormalizeIterMapToExpr(IterSumExpr({IterSplitExpr(padding->mark)}, make_zero(dtype)));
      PrimExpr outside = const_false();
      if (!is_zero(padding->left)) outside = outside || value < padding->left;
      PrimExpr end = S(padding->left + plain->extent);
      if (!Equal(whole, end)) outside = outside || value >= end;
      padding_predicate_ = padding_predicate_ || outside;
    }
  }
  if (padding->mark.same_as(plain->source)) return {plain, offset};
  return {IterSplitExpr(padding->mark), S(offset - padding->left)};
}

/// floordiv or floormod of scale * i + base by a divisor without iterators.
std::optional<Sum> Detector::DivMod(const PrimExpr& a, const PrimExpr& b, bool is_div,
                                    const PrimExpr& original) {
  if (UsesIters(b)) {
    Error("a divisor uses an iterator");
    return std::nullopt;
  }
  std::optional<Sum> inner = ToSum(a);
  if (!inner) return std::nullopt;
  const DataType dtype = original.dtype();
  Sum result;
  result.base = make_zero(dtype);
  if (inner->args.empty()) {
    result.base = S(is_div ? floordiv(inner->base, b) : floormod(inner->base, b));
    return result;
  }
  std::optional<Fused> fused = Fuse(*inner);
  if (!fused) return std::nullopt;
  IterSplitExpr split = fused->split;
  const PrimExpr scale = split->scale, base = fused->base;
  if (Divisible(scale, b)) {
    // Multiples of the divisor pass through a division and vanish in a remainder.
    if (is_div) {
      split.CopyOnWrite()->scale = S(floordiv(scale, b));
      result.args.push_back(split);
      result.base = S(floordiv(base, b));
    } else {
      result.base = S(floormod(base, b));
    }
    return result;
  }
  if (!Divisible(b, scale)) {
    Error("a divisor is neither a multiple nor a factor of the scale of its iterator");
    return std::nullopt;
  }
  // (s * (i + q) + r) with 0 <= r < s, divided by s * c, is (i + q) divided by c.
  const PrimExpr c = S(floordiv(b, scale));
  const PrimExpr q = S(floordiv(base, scale)), r = S(floormod(base, scale));
  Fused shifted = PadIterator(split, q, c);
  if (collecting_) {
    // The shape of the result does not matter yet, only that outer divisions see an iterator.
    IterSplitExpr part = shifted.split;
    part.CopyOnWrite()->extent = is_div ? S(ceildiv(split->extent, c)) : S(min(split->extent, c));
    if (is_div) part.CopyOnWrite()->lower_factor = S(part->lower_factor * c);
    part.CopyOnWrite()->scale = is_div ? make_const(dtype, 1) : scale;
    if (Divisible(split->extent, c) && is_zero(S(floormod(q, c)))) result.args.push_back(part);
    return result;
  }
  split = shifted.split;
  if (!Divisible(shifted.base, c)) {
    Error("an offset is not a multiple of the divisor");
    return std::nullopt;
  }
  const PrimExpr extent = split->extent;
  const bool within = analyzer_->CanProve(extent <= c);
  if (!within && !Divisible(extent, c)) {
    Error("a divisor does not divide the extent of its iterator");
    return std::nullopt;
  }
  if (is_div) {
    result.base = S(floordiv(shifted.base, c));
    if (!within) {
      result.args.push_back(IterSplitExpr(split->source, S(split->lower_factor * c),
                                          S(floordiv(extent, c)), make_const(dtype, 1)));
    }
  } else {
    result.base = r;
    result.args.push_back(
        IterSplitExpr(split->source, split->lower_factor, within ? extent : c, scale));
  }
  return result;
}

bool Detector::AddPredicate(const PrimExpr& predicate) {
  std::vector<PrimExpr> stack{predicate};
  struct Bound {
    Sum sum;
    PrimExpr low, high;  // low <= sum < high, null when open
  };
  std::vector<Bound> bounds;
  while (!stack.empty()) {
    PrimExpr cond = stack.back();
    stack.pop_back();
    if (is_const_int(cond, 1)) continue;
    if (const auto* both = cond.as<AndNode>()) {
      stack.push_back(both->a);
      stack.push_back(both->b);
      continue;
    }
    if (const auto* call = cond.as<CallNode>();
        call != nullptr && call->op.same_as(builtin_scalar::likely())) {
      stack.push_back(PrimExpr(call->args[0]));
      continue;
    }
    PrimExpr a, b;
    bool strict = false;
    if (const auto* lt = cond.as<LTNode>()) a = lt->a, b = lt->b, strict = true;
    if (const auto* le = cond.as<LENode>()) a = le->a, b = le->b;
    if (const auto* gt = cond.as<GTNode>()) a = gt->b, b = gt->a, strict = true;
    if (const auto* ge = cond.as<GENode>()) a = ge->b, b = ge->a;
    if (!a.defined()) {
      Error("a predicate is no conjunction of inequalities");
      return false;
    }
    std::optional<Sum> x = ToSum(a), y = ToSum(b);
    if (!x || !y) return false;
    const DataType dtype = a.dtype();
    AddScaled(&*x, *y, make_const(dtype, -1));  // x (<|<=) 0
    if (x->args.empty()) continue;
    const int64_t* lead = as_const_int(x->args[0]->scale);
    Bound bound;
    if (lead != nullptr && *lead < 0) {
      // -s + base < 0 is s >= base + 1.
      Sum negated;
      negated.base = make_zero(dtype);
      AddScaled(&negated, *x, make_const(dtype, -1));
      bound.sum.args = negated.args;
      bound.low = S(strict ? x->base + make_const(dtype, 1) : x->base);
    } else {
      bound.sum.args = x->args;
      PrimExpr limit = make_zero(dtype) - x->base;
      bound.high = S(strict ? limit : limit + make_const(dtype, 1));
    }
    bound.sum.base = make_zero(dtype);
    // Both ends of one sum are one constraint.
    bool joined = false;
    for (Bound& other : bounds) {
      if (other.sum.args.size() != bound.sum.args.size()) continue;
      bool same = true;
      for (size_t i = 0; same && i < bound.sum.args.size(); ++i) {
        same = SameSplit(other.sum.args[i], bound.sum.args[i]) &&
               Equal(other.sum.args[i]->scale, bound.sum.args[i]->scale);
      }
      if (!same) continue;
      if (bound.low.defined()) {
        other.low = other.low.defined() ? S(max(other.low, bound.low)) : bound.low;
      }
      if (bound.high.defined()) {
        other.high = other.high.defined() ? S(min(other.high, bound.high)) : bound.high;
      }
      joined = true;
    }
    if (!joined) bounds.push_back(bound);
  }
  // Small sums first: a larger one may contain them.
  StableSort(&bounds,
             [](const Bound& a, const Bound& b) { return a.sum.args.size() < b.sum.args.size(); });
  for (Bound& bound : bounds) {
    std::optional<Fused> fused = Fuse(bound.sum);
    if (!fused) return false;
    const PrimExpr scale = fused->split->scale;
    const DataType dtype = scale.dtype();
    if (!is_one(scale)) {
      // s * i < h is i < ceil(h / s).
      if (bound.high.defined()) bound.high = S(ceildiv(bound.high - fused->base, scale));
      if (bound.low.defined()) bound.low = S(ceildiv(bound.low - fused->base, scale));
    } else {
      if (bound.high.defined()) bound.high = S(bound.high - fused->base);
      if (bound.low.defined()) bound.low = S(bound.low - fused->base);
    }
    PrimExpr low = make_zero(dtype), high = fused->split->extent;
    if (bound.low.defined()) low = S(max(low, bound.low));
    if (bound.high.defined()) high = S(min(high, bound.high));
    if (is_zero(low) && Equal(high, fused->split->extent)) continue;
    IterSplitExpr plain = fused->split;
    plain.CopyOnWrite()->scale = make_const(dtype, 1);
    IterMark mark(IterSumExpr({plain}, S(make_zero(dtype) - low)), S(high - low));
    // Later uses of the same sum refer to the constrained mark. Both the fused split and its parts
    // are known by it.
    fused_.push_back({{plain}, mark, low, true});
    if (bound.sum.args.size() > 1) {
      std::vector<IterSplitExpr> parts;
      for (IterSplitExpr part : bound.sum.args) {
        part.CopyOnWrite()->scale = S(floordiv(part->scale, scale));
        parts.push_back(part);
      }
      fused_.push_back({parts, mark, low, true});
    }
  }
  return true;
}

// ---------------------------------------------------------------------------------------------
// Check

bool Detector::CheckMark(const IterMark& mark, std::vector<IterSplitExpr> splits,
                         IterMapLevel level) {
  PrimExpr expected = make_const(mark->extent.dtype(), 1);
  while (!splits.empty()) {
    size_t next = splits.size();
    for (size_t i = 0; i < splits.size(); ++i) {
      if (Equal(splits[i]->lower_factor, expected)) {
        next = i;
        break;
      }
    }
    if (next == splits.size()) {
      if (level == kBijective) {
        Error("an iterator is not used completely");
        return false;
      }
      // The smallest part above the gap.
      for (size_t i = 0; i < splits.size(); ++i) {
        if (!Divisible(splits[i]->lower_factor, expected)) continue;
        if (next == splits.size() ||
            analyzer_->CanProve(splits[i]->lower_factor < splits[next]->lower_factor)) {
          next = i;
        }
      }
      if (next == splits.size()) {
        Error("parts of an iterator overlap");
        return false;
      }
      expected = splits[next]->lower_factor;
    }
    expected = S(splits[next]->lower_factor * splits[next]->extent);
    splits.erase(splits.begin() + next);
  }
  if (Equal(expected, mark->extent)) return true;
  if (level == kBijective) {
    Error("the parts of an iterator do not cover it");
    return false;
  }
  if (Divisible(mark->extent, expected)) return true;
  Error("the parts of an iterator do not divide it");
  return false;
}

bool Detector::Check(const ffi::Array<IterSumExpr>& indices, IterMapLevel level) {
  if (level == kNoCheck) return true;
  if (level == kBijective && requires_padding_) {
    Error("a bijective map cannot need padding");
    return false;
  }
  std::vector<IterMark> order;
  std::unordered_map<const IterMarkNode*, std::vector<IterSplitExpr>> uses;
  auto add_use = [&](const IterSplitExpr& split) {
    auto [it, is_new] = uses.try_emplace(split->source.get());
    if (is_new) order.push_back(split->source);
    it->second.push_back(split);
  };
  for (const IterSumExpr& index : indices) {
    for (const IterSplitExpr& arg : index->args) add_use(arg);
  }
  // A mark is checked once all marks above it have added their parts. Sources are deeper than the
  // marks made of them, so sorting by depth gives the order.
  std::function<int(const IterMark&)> depth = [&](const IterMark& mark) {
    int d = 0;
    if (const auto* sum = mark->source.as<IterSumExprNode>()) {
      for (const IterSplitExpr& arg : sum->args) d = std::max(d, depth(arg->source) + 1);
    }
    return d;
  };
  std::unordered_set<const IterMarkNode*> done;
  while (true) {
    std::optional<IterMark> next;
    int best = -1;
    for (const IterMark& mark : order) {
      if (done.count(mark.get()) != 0) continue;
      int d = depth(mark);
      if (d > best) {
        best = d;
        next = mark;
      }
    }
    if (!next) break;
    done.insert(next->get());
    if (!CheckMark(*next, uses[next->get()], level)) return false;
    if (const auto* sum = (*next)->source.as<IterSumExprNode>()) {
      for (const IterSplitExpr& arg : sum->args) add_use(arg);
    }
  }
  for (const FusedEntry& entry : fused_) {
    if (entry.constrained && done.count(entry.mark.get()) == 0) {
      Error("a predicate bounds iterators that the indices do not use together");
      return false;
    }
  }
  if (level == kBijective) {
    for (const IterMark& mark : input_marks_) {
      if (done.count(mark.get()) == 0 && !IsOne(mark->extent)) {
        Error("an input iterator is not used");
        return false;
      }
    }
  }
  return true;
}

}  // namespace

IterMapResult DetectIterMap(const ffi::Array<PrimExpr>& indices,
                            const ffi::Map<Var, Range>& input_iters, const PrimExpr& predicate,
                            IterMapLevel check_level, const Analyzer& analyzer,
                            bool simplify_trivial_iterators) {
  IterMapResult result;
  for (const auto& [var, range] : input_iters) {
    const int64_t* extent = as_const_int(range->extent);
    if (extent != nullptr && *extent <= 0) {
      result->errors.push_back("iterator " + std::string(var->name) + " has no values");
      return result;
    }
  }
  Detector detector(input_iters, analyzer, simplify_trivial_iterators);
  auto fail = [&] {
    result->errors = detector.errors();
    if (result->errors.empty()) result->errors.push_back("the indices are no iteration map");
    return result;
  };
  if (predicate.defined() && !detector.AddPredicate(predicate)) return fail();
  detector.CollectDivisors(indices);
  ffi::Array<IterSumExpr> sums;
  for (const PrimExpr& index : indices) {
    std::optional<IterSumExpr> sum = detector.Detect(index);
    if (!sum) return fail();
    sums.push_back(*sum);
  }
  if (!detector.Check(sums, check_level)) return fail();
  result->indices = sums;
  result->padding_predicate = analyzer->Simplify(detector.padding_predicate());
  return result;
}

IterSumExpr NormalizeToIterSum(PrimExpr index, const ffi::Map<Var, Range>& input_iters,
                               const Analyzer& analyzer) {
  Detector detector(input_iters, analyzer, /*simplify_trivial=*/true);
  detector.CollectDivisors({index});
  std::optional<Sum> sum = detector.ToSum(index);
  if (!sum) {
    std::string text;
    for (const ffi::String& error : detector.errors()) text += std::string(error) + "; ";
    TVM_FFI_THROW(ValueError) << "cannot write " << Expr(index)
                              << " as a sum of iterators: " << text;
  }
  std::vector<IterSplitExpr> args = sum->args;
  // Larger scales first, as indices are written.
  StableSort(&args, [](const IterSplitExpr& a, const IterSplitExpr& b) {
    const int64_t* x = as_const_int(a->scale);
    const int64_t* y = as_const_int(b->scale);
    if (x != nullptr && y != nullptr) return *x > *y;
    return x == nullptr && y != nullptr;
  });
  return IterSumExpr(ffi::Array<IterSplitExpr>(args.begin(), args.end()),
                     analyzer->Simplify(sum->base));
}

}  // namespace tvm::arith
