// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Sums of integer multiples of atoms, the normal form of index expressions.
///
/// An atom is what the simplifier does not take apart: a variable, a load, a call, a product of
/// atoms, or a split. Atoms are interned: equal structure, equal id. A split stands for
/// floormod(floordiv(source, lower), upper / lower); upper 0 means no floormod.
#ifndef TVM_SRC_ARITH_LINEAR_H_
#define TVM_SRC_ARITH_LINEAR_H_

#include <tvm/ir/expr_functor.h>
#include <tvm/ir/scalar_op.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

namespace tvm::arith {

using AtomId = int32_t;

struct Term {
  int64_t coef;
  AtomId atom;
};

/// sum coef * atom + constant. Terms keep the order of first appearance; no atom appears twice and
/// no coefficient is 0. `valid` is false when a coefficient left the range of the dtype: then the
/// sum means nothing and the expression must be kept as it was.
struct Linear {
  std::vector<Term> terms;
  int64_t constant = 0;
  bool valid = true;

  bool is_constant() const { return terms.empty(); }
  bool is_zero() const { return terms.empty() && constant == 0; }
  /// One atom with coefficient 1 and nothing else.
  bool is_atom() const { return terms.size() == 1 && terms[0].coef == 1 && constant == 0; }
  const Term* Find(AtomId atom) const {
    for (const Term& term : terms) {
      if (term.atom == atom) return &term;
    }
    return nullptr;
  }
};

/// Terms by falling key; terms of one key keep their order.
template <typename Key>
std::vector<Term> SortTerms(const std::vector<Term>& terms, Key key) {
  std::vector<std::pair<size_t, Term>> indexed;
  for (size_t i = 0; i < terms.size(); ++i) indexed.emplace_back(i, terms[i]);
  std::sort(indexed.begin(), indexed.end(), [&](const auto& a, const auto& b) {
    auto ka = key(a.second), kb = key(b.second);
    return ka != kb ? ka > kb : a.first < b.first;
  });
  std::vector<Term> sorted;
  for (const auto& [index, term] : indexed) sorted.push_back(term);
  return sorted;
}

/// Adds up terms; linear in their number.
class LinearBuilder {
 public:
  explicit LinearBuilder(DataType dtype);
  void AddConstant(int64_t value, int64_t scale = 1);
  void AddTerm(AtomId atom, int64_t coef, int64_t scale = 1);
  void Add(const Linear& other, int64_t scale = 1);
  void Invalidate() { result_.valid = false; }
  bool valid() const { return result_.valid; }
  Linear Finish();

 private:
  /// a * b + c, or invalid beyond the dtype.
  bool Accumulate(int64_t a, int64_t b, int64_t* c);

  static constexpr size_t kIndexFrom = 16;
  int64_t min_, max_;
  Linear result_;
  std::unordered_map<AtomId, size_t> index_;
};

struct Atom {
  enum class Kind { kOpaque, kProduct, kSplit };
  PrimExpr expr;
  Kind kind = Kind::kOpaque;
  std::vector<AtomId> factors;  // kProduct, sorted
  AtomId source = -1;           // kSplit
  int64_t lower = 1, upper = 0;
};

class AtomTable {
 public:
  AtomId Intern(const PrimExpr& expr);
  /// Product of two or more factors; `expr` is made when the product is new.
  AtomId InternProduct(std::vector<AtomId> factors);
  AtomId InternSplit(AtomId source, int64_t lower, int64_t upper);
  const Atom& operator[](AtomId id) const { return atoms_[id]; }
  size_t size() const { return atoms_.size(); }

 private:
  std::vector<Atom> atoms_;
  std::unordered_map<PrimExpr, AtomId, ExprDeepHash, ExprDeepEqual> by_expr_;
};

/// Expression of a valid sum: larger coefficients first, subtractions and the constant last.
PrimExpr LinearToExpr(const AtomTable& atoms, const Linear& sum, DataType dtype);

/// Difference a - b.
Linear SubLinear(DataType dtype, const Linear& a, const Linear& b);
Linear ScaleLinear(DataType dtype, const Linear& a, int64_t scale);
/// Greatest common divisor of the coefficients, without the constant.
int64_t ContentOf(const Linear& sum);

}  // namespace tvm::arith
#endif  // TVM_SRC_ARITH_LINEAR_H_
