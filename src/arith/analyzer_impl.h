// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// The engine behind arith::Analyzer. Split over several files by what they answer:
///   simplify*.cc   normal forms             bounds.cc      intervals and residues
///   divmod.cc      floordiv and floormod    constraint.cc  facts and their scopes
#ifndef TVM_SRC_ARITH_ANALYZER_IMPL_H_
#define TVM_SRC_ARITH_ANALYZER_IMPL_H_

#include <tvm/arith/analyzer.h>

#include <memory>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "arith/interval.h"
#include "arith/linear.h"

namespace tvm::arith {

/// What is known about a variable for the whole life of the analyzer.
struct VarFact {
  Var var;
  std::optional<Interval> bound;
  std::optional<Residue> residue;
  IntSet set;
  /// The variable is this expression.
  PrimExpr value;
};

/// A sum without constant whose value lies in an interval.
struct LinearFact {
  Linear sum;
  Interval bound;
};

/// Results that hold under the facts of one scope. An entry keeps its key alive.
struct ScopeCache {
  std::unordered_map<const ffi::Object*, std::pair<PrimExpr, PrimExpr>> simplified;
  std::unordered_map<const ffi::Object*, std::pair<PrimExpr, std::shared_ptr<const Linear>>> linear;
  std::unordered_map<const ffi::Object*, std::pair<PrimExpr, Interval>> bounds;
  std::unordered_map<AtomId, Interval> atom_bounds;
  void Clear() {
    simplified.clear();
    linear.clear();
    bounds.clear();
    atom_bounds.clear();
  }
};

enum class CompareKind { kLT, kLE, kEQ, kNE };

struct AnalyzerObj::Impl {
  Impl();

  // ---- facts (constraint.cc) ----
  void BindValue(const Var& var, const PrimExpr& value, bool allow_override);
  void BindRange(const Var& var, const Range& range, bool allow_override);
  void SetBound(const Var& var, const Interval& bound, bool allow_override);
  void SetResidue(const Var& var, const Residue& residue, bool allow_override);
  void SetIntSet(const Var& var, const IntSet& set, bool allow_override);
  void MarkNonNegative(const PrimExpr& value);
  std::function<void()> EnterConstraint(const PrimExpr& condition);
  void CopyFactsFrom(const Impl& other);

  // ---- normal forms ----
  /// Any expression, simplified.
  PrimExpr Simp(const PrimExpr& expr);
  /// Sum form of an index expression. Invalid when it overflows.
  std::shared_ptr<const Linear> Lin(const PrimExpr& expr);
  PrimExpr ToExpr(const Linear& sum, DataType dtype) const {
    return LinearToExpr(atoms, sum, dtype);
  }
  /// Same with products of sums multiplied out: larger, used only to compare.
  Linear Expand(const PrimExpr& expr, int depth = 0);

  // ---- bounds ----
  Interval Bound(const PrimExpr& expr);
  Interval BoundOf(const Linear& sum, DataType dtype);
  Interval BoundOfAtom(AtomId id);
  Residue ResidueOf(const PrimExpr& expr);
  Residue ResidueOf(const Linear& sum);
  Residue ResidueOfAtom(AtomId id);
  /// Upper end of a sum by chaining linear facts; kPosInf when none is found.
  int64_t UpperByChains(const Linear& sum, DataType dtype, int depth);

  // ---- proofs ----
  bool Prove(const PrimExpr& cond, ProofStrength strength);
  bool ProveEqual(const PrimExpr& lhs, const PrimExpr& rhs);
  CompareResult Compare(const PrimExpr& lhs, const PrimExpr& rhs, bool propagate);

  // ---- helpers for the files of the engine ----
  static bool IsIndexType(DataType dtype) {
    return dtype.is_scalar() && dtype.is_int() && (dtype.bits() == 32 || dtype.bits() == 64);
  }
  bool UsesLinear(DataType dtype) const {
    return IsIndexType(dtype) || (allow_uint_as_index && dtype.is_scalar() && dtype.is_uint() &&
                                  (dtype.bits() == 32 || dtype.bits() == 64));
  }
  Linear LinearOf(const PrimExpr& expr);
  void Collect(const PrimExpr& expr, int64_t scale, LinearBuilder* out, bool* failed);
  Linear MulLinear(const Linear& a, const Linear& b, DataType dtype);
  Linear FloorDivLinear(const Linear& a, const PrimExpr& divisor, DataType dtype);
  Linear FloorModLinear(const Linear& a, const PrimExpr& divisor, DataType dtype);
  Linear FloorDivConst(const Linear& a, int64_t c, DataType dtype);
  Linear FloorModConst(const Linear& a, int64_t c, DataType dtype);
  Linear AtomLinear(AtomId id) const;
  AtomId InternLinear(const Linear& sum, DataType dtype);
  /// Joins splits of one source: (x // 8) * 8 + x % 8 is x.
  Linear MergeSplits(Linear sum, DataType dtype);
  /// Parts of a sum: multiples of g, and a rest that lies in [0, g).
  bool SplitByRange(const Linear& sum, int64_t modulus, DataType dtype, Linear* high, Linear* low,
                    int64_t* g);

  PrimExpr SimpNode(const PrimExpr& expr);
  PrimExpr SimpCompare(CompareKind kind, const PrimExpr& a, const PrimExpr& b);
  PrimExpr CompareLinear(CompareKind kind, const PrimExpr& a, const PrimExpr& b);
  PrimExpr SimpMinMax(bool is_min, const PrimExpr& a, const PrimExpr& b);
  PrimExpr SimpAnd(const PrimExpr& a, const PrimExpr& b);
  PrimExpr SimpOr(const PrimExpr& a, const PrimExpr& b);
  PrimExpr SimpNot(const PrimExpr& a);
  PrimExpr SimpChoice(const PrimExpr& original, const PrimExpr& cond, const PrimExpr& t,
                      const PrimExpr& f, bool is_select);
  PrimExpr SimpCast(DataType dtype, const PrimExpr& value);
  PrimExpr SimpCall(const CallNode* call);
  PrimExpr SimpReduce(const tirx::ReduceNode* reduce);
  PrimExpr SimpVectorBinary(BinaryKind kind, const PrimExpr& a, const PrimExpr& b);
  PrimExpr SimpNarrowBinary(BinaryKind kind, const PrimExpr& a, const PrimExpr& b);
  /// A literal that the constraints decide, else the expression.
  PrimExpr LookUpKnown(const PrimExpr& condition);
  PrimExpr SimpUnder(const PrimExpr& condition, const PrimExpr& expr);

  Interval ComputeBound(const PrimExpr& expr);
  Interval ComputeAtomBound(AtomId id);
  Interval BoundOfCall(const CallNode* call);
  Interval BoundByFacts(const Linear& sum, DataType dtype, Interval start);
  const VarFact* FindFact(const VarNode* var);

  // ---- constraint bookkeeping ----
  void Assume(const PrimExpr& literal);
  void AssumeLinear(const Linear& sum, Interval bound, DataType dtype);
  void AddLinearFact(Linear sum, Interval bound);
  void SetKnown(const PrimExpr& condition, bool value);
  void NarrowAtom(AtomId id, Interval bound);
  void PushScope();
  void PopScope();
  void FactsChanged(const VarNode* var);
  /// Before a variable is bound anew: facts about its old value no longer hold.
  void ForgetVar(const Var& var);
  ScopeCache& cache() { return *caches.back(); }

  /// Everything a scope added, so that leaving it can be undone.
  struct Scope {
    size_t num_linear_facts;
    std::vector<std::pair<PrimExpr, std::optional<bool>>> known;
    std::vector<std::pair<AtomId, std::optional<Interval>>> atom_bounds;
    std::vector<std::pair<const VarNode*, std::optional<Residue>>> residues;
  };

  AtomTable atoms;
  std::unordered_map<const VarNode*, VarFact> facts;
  std::vector<LinearFact> linear_facts;
  std::unordered_map<AtomId, std::vector<size_t>> facts_by_atom;
  std::unordered_map<AtomId, Interval> narrowed;
  std::unordered_map<const VarNode*, Residue> scoped_residues;
  std::unordered_map<PrimExpr, bool, ExprDeepHash, ExprDeepEqual> known;
  std::vector<PrimExpr> constraints;
  std::vector<Scope> scopes;
  std::vector<std::unique_ptr<ScopeCache>> caches;
  /// Variables that a cached result has looked at.
  std::unordered_set<const VarNode*> looked_at;

  int64_t extensions = 0;
  int64_t max_rewrite_steps = 0;
  bool allow_uint_as_index = false;
  int64_t nodes_visited = 0, rewrites_performed = 0, constraints_entered = 0;
};

}  // namespace tvm::arith
#endif  // TVM_SRC_ARITH_ANALYZER_IMPL_H_
