// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Sets of integers with symbolic bounds, and regions made of them.
#ifndef TVM_ARITH_INT_SET_H_
#define TVM_ARITH_INT_SET_H_

#include <tvm/arith/const_int_bound.h>
#include <tvm/ir/buffer.h>

#include <unordered_map>

namespace tvm::arith {

class Analyzer;

/// Kind of unbounded end of an interval.
TVM_DLL PrimExpr pos_inf();
TVM_DLL PrimExpr neg_inf();
TVM_DLL bool is_pos_inf(const PrimExpr& value);
TVM_DLL bool is_neg_inf(const PrimExpr& value);

class IntSetNode : public ffi::Object {
 public:
  static constexpr TVMFFISEqHashKind _type_s_eq_hash_kind = kTVMFFISEqHashKindTreeNode;
  static constexpr uint32_t _type_child_slots = 2;
  TVM_FFI_DECLARE_OBJECT_INFO("ir.IntSet", IntSetNode, ffi::Object);
};

/// [min_value, max_value], both ends included, either end possibly infinite. Empty if both ends
/// are the wrong infinities.
class IntervalSetNode : public IntSetNode {
 public:
  PrimExpr min_value;
  PrimExpr max_value;

  bool HasLowerBound() const { return !is_neg_inf(min_value) && !IsEmpty(); }
  bool HasUpperBound() const { return !is_pos_inf(max_value) && !IsEmpty(); }
  bool IsSinglePoint() const { return min_value.same_as(max_value); }
  bool IsEmpty() const { return is_pos_inf(min_value) || is_neg_inf(max_value); }
  bool IsEverything() const { return is_neg_inf(min_value) && is_pos_inf(max_value); }

  static void RegisterReflection();
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("arith.IntervalSet", IntervalSetNode, IntSetNode);
};

class IntSet : public ffi::ObjectRef {
 public:
  TVM_DLL static IntSet Nothing();
  TVM_DLL static IntSet Everything();
  TVM_DLL static IntSet SinglePoint(PrimExpr point);
  TVM_DLL static IntSet Interval(PrimExpr min, PrimExpr max);
  TVM_DLL static IntSet FromMinExtent(PrimExpr min, PrimExpr extent);
  TVM_DLL static IntSet FromRange(const Range& range);
  /// The values a (vector) expression takes in its lanes.
  TVM_DLL static IntSet Vector(PrimExpr vector);

  TVM_DLL PrimExpr min() const;
  TVM_DLL PrimExpr max() const;
  TVM_DLL bool IsNothing() const;
  TVM_DLL bool IsEverything() const;
  TVM_DLL bool IsSinglePoint() const;
  TVM_DLL bool HasLowerBound() const;
  TVM_DLL bool HasUpperBound() const;
  TVM_DLL bool CanProveSinglePoint(const Analyzer& analyzer) const;
  TVM_DLL bool CanProvePositive() const;
  TVM_DLL bool CanProveNegative() const;
  TVM_DLL bool CanProveNonPositive() const;
  TVM_DLL bool CanProveNonNegative() const;
  TVM_DLL PrimExpr PointValue() const;
  /// Range that covers the set; `max_range` when the set is unbounded.
  TVM_DLL Range CoverRange(Range max_range) const;
  TVM_DLL bool MatchRange(const Range& range) const;

  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(IntSet, ffi::ObjectRef, IntSetNode);
};

class IntervalSet : public IntSet {
 public:
  TVM_DLL IntervalSet(PrimExpr min_value, PrimExpr max_value);
  static IntervalSet SinglePoint(PrimExpr value) { return IntervalSet(value, value); }
  static IntervalSet Everything() { return IntervalSet(neg_inf(), pos_inf()); }
  static IntervalSet Empty() { return IntervalSet(pos_inf(), neg_inf()); }
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(IntervalSet, IntSet, IntervalSetNode);
  TVM_DEFINE_OBJECT_REF_COW_METHOD(IntervalSetNode);
};

using IntSetMap = std::unordered_map<Var, IntSet, ffi::ObjectPtrHash, ffi::ObjectPtrEqual>;

/// Set of values of an expression whose variables range over sets; a variable without a set is a
/// symbol. Sound: the result covers every value.
TVM_DLL IntSet EvalSet(const PrimExpr& expr, const ffi::Map<Var, IntSet>& dom_map);
TVM_DLL IntSet EvalSet(const PrimExpr& expr, const IntSetMap& dom_map);
TVM_DLL IntSet EvalSet(const PrimExpr& expr, const ffi::Map<Var, IntSet>& dom_map,
                       const Analyzer& analyzer);
TVM_DLL IntSet EvalSet(const Range& range, const ffi::Map<Var, IntSet>& dom_map);
TVM_DLL ffi::Array<IntSet> EvalSet(const ffi::Array<Range>& region,
                                   const ffi::Map<Var, IntSet>& dom_map);

TVM_DLL ffi::Map<Var, IntSet> AsIntSet(const ffi::Map<Var, Range>& ranges);

/// Smallest interval that covers all sets / that all sets cover is not computed: lower bound =
/// the first set when nothing better is provable.
TVM_DLL IntSet Union(const ffi::Array<IntSet>& sets);
TVM_DLL IntSet UnionLowerBound(const ffi::Array<IntSet>& sets);
TVM_DLL IntSet Intersect(const ffi::Array<IntSet>& sets);
TVM_DLL ffi::Array<IntSet> UnionRegion(const ffi::Array<ffi::Array<IntSet>>& regions);
TVM_DLL ffi::Array<IntSet> UnionRegionLowerBound(const ffi::Array<ffi::Array<IntSet>>& regions);

/// Region touched while the variables run over their domains under a predicate. Strict: exact, or
/// nullopt; lower: contained in what is touched, or nullopt; upper: covers what is touched.
TVM_DLL ffi::Optional<ffi::Array<IntSet>> EstimateRegionStrictBound(
    const ffi::Array<Range>& region, const ffi::Map<Var, Range>& var_dom, const PrimExpr& predicate,
    const Analyzer& analyzer);
TVM_DLL ffi::Optional<ffi::Array<IntSet>> EstimateRegionLowerBound(
    const ffi::Array<Range>& region, const ffi::Map<Var, Range>& var_dom, const PrimExpr& predicate,
    const Analyzer& analyzer);
TVM_DLL ffi::Array<IntSet> EstimateRegionUpperBound(const ffi::Array<Range>& region,
                                                    const ffi::Map<Var, Range>& var_dom,
                                                    const PrimExpr& predicate,
                                                    const Analyzer& analyzer);

}  // namespace tvm::arith
#endif  // TVM_ARITH_INT_SET_H_
