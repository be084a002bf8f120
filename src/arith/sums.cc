// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Index expressions as sums: collecting terms, products, and joining splits.
#include <algorithm>

#include "arith/analyzer_impl.h"

namespace tvm::arith {

using namespace tirx;  // NOLINT(build/namespaces): the scalar nodes

namespace {

/// More factors than this are not multiplied into one product.
constexpr size_t kMaxFactors = 8;
constexpr size_t kMaxExpandedTerms = 64;
constexpr size_t kMaxCacheEntries = 1 << 17;

}  // namespace

using Impl = AnalyzerObj::Impl;

Linear Impl::AtomLinear(AtomId id) const {
  Linear sum;
  sum.terms.push_back({1, id});
  return sum;
}

AtomId Impl::InternLinear(const Linear& sum, DataType dtype) {
  if (sum.is_atom()) return sum.terms[0].atom;
  return atoms.Intern(ToExpr(sum, dtype));
}

std::shared_ptr<const Linear> Impl::Lin(const PrimExpr& expr) {
  auto& memo = cache().linear;
  auto it = memo.find(expr.get());
  if (it != memo.end()) return it->second.second;
  auto sum = std::make_shared<const Linear>(LinearOf(expr));
  auto& after = cache().linear;
  if (after.size() > kMaxCacheEntries) after.clear();
  after[expr.get()] = {expr, sum};
  return sum;
}

/// Walks + - and * by constants with an explicit stack, so that a sum of any length is fine.
void Impl::Collect(const PrimExpr& root, int64_t root_scale, LinearBuilder* out, bool* failed) {
  const DataType dtype = root.dtype();
  std::vector<std::pair<PrimExpr, int64_t>> stack{{root, root_scale}};
  auto scaled = [&](int64_t a, int64_t b) {
    int64_t product;
    if (__builtin_mul_overflow(a, b, &product)) *failed = true;
    return product;
  };
  bool first = true;
  while (!stack.empty() && out->valid() && !*failed) {
    auto [expr, scale] = std::move(stack.back());
    stack.pop_back();
    const bool is_root = first;
    first = false;
    if (!is_root) {
      auto it = cache().linear.find(expr.get());
      if (it != cache().linear.end()) {
        out->Add(*it->second.second, scale);
        continue;
      }
    }
    if (const auto* imm = expr.as<IntImmNode>()) {
      out->AddConstant(imm->value, scale);
    } else if (const auto* add = expr.as<AddNode>()) {
      stack.emplace_back(add->b, scale);
      stack.emplace_back(add->a, scale);
    } else if (const auto* sub = expr.as<SubNode>()) {
      stack.emplace_back(sub->b, scaled(scale, -1));
      stack.emplace_back(sub->a, scale);
    } else if (const auto* mul = expr.as<MulNode>()) {
      if (const int64_t* c = as_const_int(mul->b)) {
        stack.emplace_back(mul->a, scaled(scale, *c));
      } else if (const int64_t* d = as_const_int(mul->a)) {
        stack.emplace_back(mul->b, scaled(scale, *d));
      } else {
        CheckStackDepth();
        out->Add(MulLinear(*Lin(mul->a), *Lin(mul->b), dtype), scale);
      }
    } else if (const auto* floordiv = expr.as<FloorDivNode>()) {
      CheckStackDepth();
      out->Add(FloorDivLinear(*Lin(floordiv->a), floordiv->b, dtype), scale);
    } else if (const auto* floormod = expr.as<FloorModNode>()) {
      CheckStackDepth();
      out->Add(FloorModLinear(*Lin(floormod->a), floormod->b, dtype), scale);
    } else if (const auto* var = expr.as<VarNode>()) {
      const VarFact* fact = FindFact(var);
      if (fact != nullptr && fact->value.defined()) {
        CheckStackDepth();
        out->Add(*Lin(fact->value), scale);
      } else {
        out->AddTerm(atoms.Intern(expr), 1, scale);
      }
    } else {
      CheckStackDepth();
      PrimExpr simple = Simp(expr);
      const bool is_sum = simple.as<AddNode>() || simple.as<SubNode>() || simple.as<MulNode>() ||
                          simple.as<IntImmNode>() || simple.as<VarNode>() ||
                          simple.as<FloorDivNode>() || simple.as<FloorModNode>();
      if (is_sum) {
        stack.emplace_back(simple, scale);
      } else {
        out->AddTerm(atoms.Intern(simple), 1, scale);
      }
    }
  }
}

Linear Impl::LinearOf(const PrimExpr& expr) {
  ++nodes_visited;
  const DataType dtype = expr.dtype();
  LinearBuilder builder(dtype);
  bool failed = false;
  Collect(expr, 1, &builder, &failed);
  Linear sum = builder.Finish();
  if (failed || !sum.valid) {
    sum = Linear();
    sum.valid = false;
    return sum;
  }
  return MergeSplits(std::move(sum), dtype);
}

Linear Impl::MulLinear(const Linear& a, const Linear& b, DataType dtype) {
  Linear invalid;
  invalid.valid = false;
  if (!a.valid || !b.valid) return invalid;
  if (a.is_constant()) return ScaleLinear(dtype, b, a.constant);
  if (b.is_constant()) return ScaleLinear(dtype, a, b.constant);
  int64_t coef = 1;
  auto factor = [&](const Linear& sum) {
    if (sum.terms.size() == 1 && sum.constant == 0) {
      __int128 wide = static_cast<__int128>(coef) * sum.terms[0].coef;
      coef = static_cast<int64_t>(wide);
      if (coef != wide) invalid.constant = 1;  // marks the overflow
      return sum.terms[0].atom;
    }
    return atoms.Intern(ToExpr(sum, dtype));
  };
  AtomId fa = factor(a), fb = factor(b);
  if (invalid.constant != 0) return invalid;
  size_t count =
      std::max<size_t>(1, atoms[fa].factors.size()) + std::max<size_t>(1, atoms[fb].factors.size());
  if (count > kMaxFactors) return invalid;
  LinearBuilder builder(dtype);
  builder.AddTerm(atoms.InternProduct({fa, fb}), coef);
  return builder.Finish();
}

Linear Impl::Expand(const PrimExpr& expr, int depth) {
  const DataType dtype = expr.dtype();
  Linear sum = *Lin(expr);
  if (!sum.valid || depth > 4) return sum;
  bool has_product_of_sums = false;
  for (const Term& term : sum.terms) {
    has_product_of_sums |= atoms[term.atom].kind == Atom::Kind::kProduct;
  }
  if (!has_product_of_sums) return sum;
  LinearBuilder builder(dtype);
  for (const Term& term : sum.terms) {
    if (atoms[term.atom].kind != Atom::Kind::kProduct) {
      builder.AddTerm(term.atom, term.coef);
      continue;
    }
    const std::vector<AtomId> factors = atoms[term.atom].factors;
    Linear product;
    product.constant = term.coef;
    for (AtomId id : factors) {
      Linear factor = *Lin(atoms[id].expr);
      if (!factor.valid ||
          factor.terms.size() * std::max<size_t>(1, product.terms.size()) > kMaxExpandedTerms) {
        return sum;
      }
      LinearBuilder next(dtype);
      for (const Term& t : factor.terms) {
        if (product.constant != 0) next.AddTerm(t.atom, t.coef, product.constant);
        for (const Term& p : product.terms) {
          __int128 coef = static_cast<__int128>(t.coef) * p.coef;
          if (coef != static_cast<int64_t>(coef)) return sum;
          next.AddTerm(atoms.InternProduct({t.atom, p.atom}), static_cast<int64_t>(coef));
        }
      }
      next.Add(product, factor.constant);
      product = next.Finish();
      if (!product.valid) return sum;
    }
    builder.Add(product);
  }
  builder.AddConstant(sum.constant);
  Linear expanded = builder.Finish();
  return expanded.valid ? MergeSplits(std::move(expanded), dtype) : sum;
}

// ---------------------------------------------------------------------------------------------
// Joining splits

namespace {

/// Replaces terms `remove` by `sum * scale`.
Linear ReplaceTerms(const Linear& from, DataType dtype, std::initializer_list<Term> subtract,
                    const Linear& with, int64_t scale) {
  LinearBuilder builder(dtype);
  // The joined part takes the place of the first term that it replaces.
  bool placed = false;
  for (const Term& term : from.terms) {
    int64_t coef = term.coef;
    bool touched = false;
    for (const Term& t : subtract) {
      if (t.atom == term.atom) {
        coef -= t.coef;
        touched = true;
      }
    }
    if (touched && !placed) {
      builder.Add(with, scale);
      placed = true;
    }
    if (coef != 0) builder.AddTerm(term.atom, coef);
  }
  builder.AddConstant(from.constant);
  return builder.Finish();
}

}  // namespace

Linear Impl::MergeSplits(Linear sum, DataType dtype) {
  auto join_once = [&]() -> bool {
    for (const Term& high : sum.terms) {
      const Atom h = atoms[high.atom];
      if (h.kind == Atom::Kind::kSplit) {
        // k * split(s, l, u) + k * (u / l) * split(s, u, v)  ==>  k * split(s, l, v)
        for (const Term& low : sum.terms) {
          const Atom& l = atoms[low.atom];
          if (l.kind != Atom::Kind::kSplit || l.source != h.source || l.upper != h.lower) continue;
          __int128 expected = static_cast<__int128>(low.coef) * (l.upper / l.lower);
          if (expected != high.coef) continue;
          AtomId joined =
              l.lower == 1 && h.upper == 0 ? -1 : atoms.InternSplit(h.source, l.lower, h.upper);
          Linear with = joined >= 0 ? AtomLinear(joined) : *Lin(atoms[h.source].expr);
          sum = ReplaceTerms(sum, dtype, {high, low}, with, low.coef);
          return true;
        }
        // k * s - k * l * (s // l)  ==>  k * (s % l), where all terms of s are in the sum.
        if (h.upper == 0 && high.coef % h.lower == 0) {
          const int64_t k = -(high.coef / h.lower);
          Linear source = *Lin(atoms[h.source].expr);
          bool contained = source.valid && !source.terms.empty();
          for (const Term& term : source.terms) {
            const Term* found = sum.Find(term.atom);
            contained = contained && found != nullptr &&
                        static_cast<__int128>(term.coef) * k == found->coef;
          }
          if (contained) {
            LinearBuilder builder(dtype);
            builder.Add(sum);
            builder.Add(source, -k);
            builder.AddTerm(high.atom, -high.coef);
            builder.AddTerm(atoms.InternSplit(h.source, 1, h.lower), k);
            sum = builder.Finish();
            return true;
          }
        }
        // k * (s % u) - k * s  ==>  -k * u * (s // u)
        if (h.lower == 1 && h.upper != 0) {
          const int64_t k = high.coef;
          Linear source = *Lin(atoms[h.source].expr);
          bool contained = source.valid && !source.terms.empty();
          for (const Term& term : source.terms) {
            const Term* found = sum.Find(term.atom);
            contained = contained && found != nullptr &&
                        -static_cast<__int128>(term.coef) * k == found->coef;
          }
          __int128 coef = -static_cast<__int128>(k) * h.upper;
          if (contained && coef == static_cast<int64_t>(coef)) {
            LinearBuilder builder(dtype);
            builder.Add(sum);
            builder.Add(source, k);
            builder.AddTerm(high.atom, -high.coef);
            builder.AddTerm(atoms.InternSplit(h.source, h.upper, 0), static_cast<int64_t>(coef));
            sum = builder.Finish();
            return true;
          }
        }
      } else if (const auto* mod = h.expr.as<FloorModNode>()) {
        // k * (s % n) + k * n * (s // n)  ==>  k * s for a divisor that is no constant.
        Linear divisor = *Lin(mod->b);
        if (!divisor.valid) continue;
        AtomId div = atoms.Intern(FloorDiv(mod->a, mod->b));
        Linear product = MulLinear(AtomLinear(div), divisor, dtype);
        if (!product.valid || product.terms.size() != 1) continue;
        const Term* found = sum.Find(product.terms[0].atom);
        if (found == nullptr ||
            static_cast<__int128>(product.terms[0].coef) * high.coef != found->coef) {
          continue;
        }
        Linear source = *Lin(mod->a);
        if (!source.valid) continue;
        sum = ReplaceTerms(sum, dtype, {high, *found}, source, high.coef);
        return true;
      }
    }
    return false;
  };
  // Every step removes a split or moves to a coarser one; the count is only a safety net.
  for (int step = 0; step < 64 && sum.valid && sum.terms.size() > 1; ++step) {
    if (!join_once()) break;
    ++rewrites_performed;
  }
  return sum;
}

}  // namespace tvm::arith
