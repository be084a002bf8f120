// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include "arith/linear.h"

#include <algorithm>
#include <numeric>

#include "ir/dtype_range.h"

namespace tvm::arith {

LinearBuilder::LinearBuilder(DataType dtype)
    : min_(MinIntOf(dtype.element_of())), max_(MaxIntOf(dtype.element_of())) {}

bool LinearBuilder::Accumulate(int64_t a, int64_t b, int64_t* c) {
  __int128 value = static_cast<__int128>(a) * b + *c;
  if (value < min_ || value > max_) {
    result_.valid = false;
    return false;
  }
  *c = static_cast<int64_t>(value);
  return true;
}

void LinearBuilder::AddConstant(int64_t value, int64_t scale) {
  Accumulate(value, scale, &result_.constant);
}

void LinearBuilder::AddTerm(AtomId atom, int64_t coef, int64_t scale) {
  std::vector<Term>& terms = result_.terms;
  size_t at = terms.size();
  if (terms.size() < kIndexFrom) {
    for (size_t i = 0; i < terms.size(); ++i) {
      if (terms[i].atom == atom) at = i;
    }
  } else {
    if (index_.empty()) {
      for (size_t i = 0; i < terms.size(); ++i) index_.emplace(terms[i].atom, i);
    }
    auto [it, is_new] = index_.emplace(atom, terms.size());
    at = it->second;
  }
  if (at == terms.size()) terms.push_back({0, atom});
  Accumulate(coef, scale, &terms[at].coef);
}

void LinearBuilder::Add(const Linear& other, int64_t scale) {
  if (!other.valid) result_.valid = false;
  for (const Term& term : other.terms) AddTerm(term.atom, term.coef, scale);
  AddConstant(other.constant, scale);
}

Linear LinearBuilder::Finish() {
  auto& terms = result_.terms;
  terms.erase(
      std::remove_if(terms.begin(), terms.end(), [](const Term& term) { return term.coef == 0; }),
      terms.end());
  return std::move(result_);
}

AtomId AtomTable::Intern(const PrimExpr& expr) {
  auto [it, is_new] = by_expr_.emplace(expr, static_cast<AtomId>(atoms_.size()));
  if (is_new) {
    Atom atom;
    atom.expr = expr;
    atoms_.push_back(std::move(atom));
  }
  return it->second;
}

AtomId AtomTable::InternProduct(std::vector<AtomId> factors) {
  // Products of products are flat; the order of factors is that of their ids.
  std::vector<AtomId> flat;
  for (AtomId id : factors) {
    if (atoms_[id].kind == Atom::Kind::kProduct) {
      flat.insert(flat.end(), atoms_[id].factors.begin(), atoms_[id].factors.end());
    } else {
      flat.push_back(id);
    }
  }
  std::sort(flat.begin(), flat.end());
  PrimExpr expr = atoms_[flat[0]].expr;
  for (size_t i = 1; i < flat.size(); ++i) expr = tirx::Mul(expr, atoms_[flat[i]].expr);
  AtomId id = Intern(expr);
  if (atoms_[id].kind == Atom::Kind::kOpaque && flat.size() > 1) {
    atoms_[id].kind = Atom::Kind::kProduct;
    atoms_[id].factors = std::move(flat);
  }
  return id;
}

AtomId AtomTable::InternSplit(AtomId source, int64_t lower, int64_t upper) {
  PrimExpr expr = atoms_[source].expr;
  DataType dtype = expr.dtype();
  if (lower != 1) expr = tirx::FloorDiv(expr, IntImm(dtype, lower));
  if (upper != 0) expr = tirx::FloorMod(expr, IntImm(dtype, upper / lower));
  AtomId id = Intern(expr);
  if (atoms_[id].kind == Atom::Kind::kOpaque && id != source) {
    atoms_[id].kind = Atom::Kind::kSplit;
    atoms_[id].source = source;
    atoms_[id].lower = lower;
    atoms_[id].upper = upper;
  }
  return id;
}

PrimExpr LinearToExpr(const AtomTable& atoms, const Linear& sum, DataType dtype) {
  if (sum.terms.empty()) return IntImm(dtype, sum.constant);
  std::vector<Term> terms = SortTerms(sum.terms, [](const Term& t) { return t.coef; });
  PrimExpr result;
  int64_t constant = sum.constant;
  auto scaled = [&](AtomId atom, int64_t coef) -> PrimExpr {
    if (coef == 1) return atoms[atom].expr;
    return tirx::Mul(atoms[atom].expr, IntImm(dtype, coef));
  };
  for (const Term& term : terms) {
    if (!result.defined()) {
      if (term.coef > 0) {
        result = scaled(term.atom, term.coef);
      } else if (constant > 0) {
        // c - x rather than x * -1 + c.
        result = IntImm(dtype, constant);
        constant = 0;
      } else {
        result = scaled(term.atom, term.coef);
        continue;
      }
      if (term.coef > 0) continue;
    }
    if (term.coef > 0) {
      result = tirx::Add(result, scaled(term.atom, term.coef));
    } else if (term.coef == MinIntOf(dtype)) {
      result = tirx::Add(result, scaled(term.atom, term.coef));
    } else {
      result = tirx::Sub(result, scaled(term.atom, -term.coef));
    }
  }
  if (constant != 0) result = tirx::Add(result, IntImm(dtype, constant));
  return result;
}

Linear SubLinear(DataType dtype, const Linear& a, const Linear& b) {
  LinearBuilder builder(dtype);
  builder.Add(a);
  builder.Add(b, -1);
  return builder.Finish();
}

Linear ScaleLinear(DataType dtype, const Linear& a, int64_t scale) {
  LinearBuilder builder(dtype);
  builder.Add(a, scale);
  return builder.Finish();
}

int64_t ContentOf(const Linear& sum) {
  int64_t g = 0;
  for (const Term& term : sum.terms) g = std::gcd(g, term.coef);
  return g;
}

}  // namespace tvm::arith
