// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Analyzer: simplification and proofs about scalar expressions, given facts about variables.
///
///   Analyzer analyzer;
///   analyzer->Bind(i, Range::FromMinExtent(0, 8));
///   analyzer->Simplify(floordiv(i, 8));          // 0
///   analyzer->CanProve(i * 4 + 3 < 32);          // true
#ifndef TVM_ARITH_ANALYZER_H_
#define TVM_ARITH_ANALYZER_H_

#include <tvm/arith/const_int_bound.h>
#include <tvm/arith/int_set.h>
#include <tvm/ir/expr_functor.h>
#include <tvm/ir/scalar_op.h>

#include <functional>
#include <memory>

namespace tvm::arith {

enum class ProofStrength : int { kDefault = 0, kSymbolicBound = 1 };

enum class CompareResult : int {
  kInconsistent = 0,
  kEQ = 1,
  kLT = 2,
  kLE = 3,
  kGT = 4,
  kGE = 5,
  kNE = 6,
  kUnknown = 7,
};

/// Optional, more expensive rules.
enum Extension : int64_t {
  kNoExtensions = 0,
  kTransitivelyProveInequalities = 1,
  kConvertBooleanToAndOfOrs = 2,
  kApplyConstraintsToBooleanBranches = 4,
  kComparisonOfProductAndSum = 8,
};

/// Facts and caches; one per walk of a program. Not thread-safe.
class AnalyzerObj : public ffi::Object {
 public:
  TVM_DLL AnalyzerObj();
  TVM_DLL ~AnalyzerObj();

  // Facts.
  /// Var equals that expression. Error when it is bound already to something else, unless override.
  TVM_DLL void Bind(const Var& var, const PrimExpr& value, bool allow_override = false);
  /// Var lies in that range; a range of extent 1 binds the var to its min.
  TVM_DLL void Bind(const Var& var, const Range& range, bool allow_override = false);
  TVM_DLL void Bind(const ffi::Map<Var, Range>& ranges, bool allow_override = false);
  TVM_DLL void MarkGlobalNonNegValue(const PrimExpr& value);
  TVM_DLL void Update(const Var& var, const ConstIntBound& bound, bool allow_override = false);
  TVM_DLL void Update(const Var& var, const ModularSet& set, bool allow_override = false);
  TVM_DLL void Update(const Var& var, const IntSet& set, bool allow_override = false);
  /// Assumes a condition until the returned function is called.
  TVM_DLL std::function<void()> EnterConstraint(const PrimExpr& condition);

  // Questions.
  TVM_DLL PrimExpr Simplify(const PrimExpr& expr, int steps = 2);
  TVM_DLL PrimExpr RewriteSimplify(const PrimExpr& expr);
  TVM_DLL PrimExpr CanonicalSimplify(const PrimExpr& expr);
  TVM_DLL ConstIntBound GetConstIntBound(const PrimExpr& expr);
  TVM_DLL bool IsConstIntBoundBound(const Var& var) const;
  TVM_DLL ModularSet GetModularSet(const PrimExpr& expr);
  TVM_DLL IntSet GetIntSet(const PrimExpr& expr);
  TVM_DLL IntSet GetIntSet(const PrimExpr& expr, const ffi::Map<Var, IntSet>& dom_map);
  TVM_DLL bool CanProve(const PrimExpr& cond, ProofStrength strength = ProofStrength::kDefault);
  TVM_DLL bool CanProveEqual(const PrimExpr& lhs, const PrimExpr& rhs);
  TVM_DLL bool CanProveGreaterEqual(const PrimExpr& expr, int64_t lower_bound);
  TVM_DLL bool CanProveLess(const PrimExpr& expr, int64_t upper_bound);
  TVM_DLL bool CanProveLessEqualThanSymbolicShapeValue(const PrimExpr& lhs, const PrimExpr& shape);
  TVM_DLL CompareResult TryCompare(const PrimExpr& lhs, const PrimExpr& rhs,
                                   bool propagate_inequalities = true);

  // Options.
  TVM_DLL int64_t GetEnabledExtensions() const;
  TVM_DLL void SetEnabledExtensions(int64_t flags);
  TVM_DLL void SetMaximumRewriteSteps(int64_t steps);
  TVM_DLL ffi::ObjectRef GetStats() const;
  TVM_DLL void ResetStats();
  /// Unsigned floor-division rules may treat unsigned values as indices that never wrap.
  TVM_DLL void SetAllowUIntAsIndex(bool allow);

  static constexpr bool _type_mutable = true;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("arith.Analyzer", AnalyzerObj, ffi::Object);

  struct Impl;
  Impl* impl() const { return impl_.get(); }

 private:
  std::unique_ptr<Impl> impl_;
};

class Analyzer : public ffi::ObjectRef {
 public:
  /// A new analyzer without facts.
  TVM_DLL Analyzer();
  explicit Analyzer(ffi::UnsafeInit tag) : ffi::ObjectRef(tag) {}
  explicit Analyzer(ffi::ObjectPtr<AnalyzerObj> node) : ffi::ObjectRef(ffi::UnsafeInit{}) {
    data_ = std::move(node);
  }
  Analyzer(const Analyzer&) = default;
  Analyzer(Analyzer&&) = default;
  Analyzer& operator=(const Analyzer&) = default;
  Analyzer& operator=(Analyzer&&) = default;

  AnalyzerObj* operator->() const { return get(); }
  AnalyzerObj* get() const {
    return const_cast<AnalyzerObj*>(static_cast<const AnalyzerObj*>(data_.get()));
  }
  /// An independent analyzer with the same facts.
  TVM_DLL Analyzer Clone() const;

  static constexpr bool _type_is_nullable = false;
  using ContainerType = AnalyzerObj;
};

/// Assumes a condition for the life of this object.
class ConstraintScope {
 public:
  ConstraintScope(const Analyzer& analyzer, const PrimExpr& condition)
      : exit_(analyzer->EnterConstraint(condition)) {}
  ~ConstraintScope() noexcept(false) {
    if (exit_) exit_();
  }
  ConstraintScope(const ConstraintScope&) = delete;
  ConstraintScope& operator=(const ConstraintScope&) = delete;

 private:
  std::function<void()> exit_;
};

}  // namespace tvm::arith
#endif  // TVM_ARITH_ANALYZER_H_
