// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Index expressions as sums of splits of iterators, and questions about such maps.
#ifndef TVM_ARITH_ITER_AFFINE_MAP_H_
#define TVM_ARITH_ITER_AFFINE_MAP_H_

#include <tvm/arith/analyzer.h>

namespace tvm::arith {

/// Base of the iteration expressions. They are expressions so that an index can be rewritten to
/// them in place; their dtype is that of the index.
class IterMapExprNode : public ExprNode {
 public:
  static void RegisterReflection();
  static constexpr uint32_t _type_child_slots = 2;
  TVM_FFI_DECLARE_OBJECT_INFO("arith.IterMapExpr", IterMapExprNode, ExprNode);
};

class IterMapExpr : public PrimExpr {
 public:
  TVM_IR_DEFINE_PRIM_REF_METHODS(IterMapExpr, PrimExpr, IterMapExprNode);
};

/// An iterator of values 0..extent-1: an input variable, or a sum fused into one. Two marks are the
/// same iterator only if they are one object.
class IterMarkNode : public ffi::Object {
 public:
  PrimExpr source;
  PrimExpr extent;

  static void RegisterReflection();
  static constexpr TVMFFISEqHashKind _type_s_eq_hash_kind = kTVMFFISEqHashKindDAGNode;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("arith.IterMark", IterMarkNode, ffi::Object);
};

class IterMark : public ffi::ObjectRef {
 public:
  TVM_DLL IterMark(PrimExpr source, PrimExpr extent);
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(IterMark, ffi::ObjectRef, IterMarkNode);
  TVM_DEFINE_OBJECT_REF_COW_METHOD(IterMarkNode);
};

/// floormod(floordiv(source, lower_factor), extent) * scale
class IterSplitExprNode : public IterMapExprNode {
 public:
  IterMark source;
  PrimExpr lower_factor;
  PrimExpr extent;
  PrimExpr scale;

  static void RegisterReflection();
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("arith.IterSplitExpr", IterSplitExprNode, IterMapExprNode);
};

class IterSplitExpr : public IterMapExpr {
 public:
  TVM_DLL explicit IterSplitExpr(IterMark source);
  TVM_DLL IterSplitExpr(IterMark source, PrimExpr scale);
  TVM_DLL IterSplitExpr(IterMark source, PrimExpr lower_factor, PrimExpr extent, PrimExpr scale);
  TVM_IR_DEFINE_PRIM_REF_METHODS(IterSplitExpr, IterMapExpr, IterSplitExprNode);
  TVM_DEFINE_OBJECT_REF_COW_METHOD(IterSplitExprNode);
};

/// Sum of splits plus a base without iterators.
class IterSumExprNode : public IterMapExprNode {
 public:
  ffi::Array<IterSplitExpr> args;
  PrimExpr base;

  static void RegisterReflection();
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("arith.IterSumExpr", IterSumExprNode, IterMapExprNode);
};

class IterSumExpr : public IterMapExpr {
 public:
  TVM_DLL IterSumExpr(ffi::Array<IterSplitExpr> args, PrimExpr base);
  TVM_IR_DEFINE_PRIM_REF_METHODS(IterSumExpr, IterMapExpr, IterSumExprNode);
  TVM_DEFINE_OBJECT_REF_COW_METHOD(IterSumExprNode);
};

/// What must hold between the input iterators and the indices.
enum IterMapLevel : int { kBijective = 0, kSurjective = 1, kNoCheck = 3 };

class IterMapResultNode : public ffi::Object {
 public:
  /// Empty on failure.
  ffi::Array<IterSumExpr> indices;
  ffi::Array<ffi::String> errors;
  /// True on the iterations that padding added; false when there is no padding.
  PrimExpr padding_predicate;

  static void RegisterReflection();
  static constexpr bool _type_mutable = true;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("arith.IterMapResult", IterMapResultNode, ffi::Object);
};

class IterMapResult : public ffi::ObjectRef {
 public:
  TVM_DLL IterMapResult();
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NOTNULLABLE(IterMapResult, ffi::ObjectRef, IterMapResultNode);
};

TVM_DLL IterMapResult DetectIterMap(const ffi::Array<PrimExpr>& indices,
                                    const ffi::Map<Var, Range>& input_iters,
                                    const PrimExpr& predicate, IterMapLevel check_level,
                                    const Analyzer& analyzer,
                                    bool simplify_trivial_iterators = true);
TVM_DLL PrimExpr NormalizeIterMapToExpr(const PrimExpr& expr);
TVM_DLL IterSumExpr NormalizeToIterSum(PrimExpr index, const ffi::Map<Var, Range>& input_iters,
                                       const Analyzer& analyzer);
TVM_DLL ffi::Array<PrimExpr> IterMapSimplify(const ffi::Array<PrimExpr>& indices,
                                             const ffi::Map<Var, Range>& input_iters,
                                             const PrimExpr& input_pred, IterMapLevel check_level,
                                             const Analyzer& analyzer,
                                             bool simplify_trivial_iterators = true);
TVM_DLL ffi::Map<Var, PrimExpr> InverseAffineIterMap(const ffi::Array<IterSumExpr>& iter_map,
                                                     const ffi::Array<PrimExpr>& outputs);
TVM_DLL ffi::Array<ffi::Array<IterMark>> SubspaceDivide(
    const ffi::Array<PrimExpr>& bindings, const ffi::Map<Var, Range>& input_iters,
    const ffi::Array<Var>& sub_iters, const PrimExpr& predicate, IterMapLevel check_level,
    const Analyzer& analyzer, bool simplify_trivial_iterators = true);

}  // namespace tvm::arith
#endif  // TVM_ARITH_ITER_AFFINE_MAP_H_
