// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Constant bounds and residues of integer expressions.
#ifndef TVM_ARITH_CONST_INT_BOUND_H_
#define TVM_ARITH_CONST_INT_BOUND_H_

#include <tvm/ir/scalar.h>

#include <cstdint>
#include <limits>

namespace tvm::arith {

/// min_value <= x <= max_value; kNegInf and kPosInf stand for "no bound".
class ConstIntBoundNode : public ffi::Object {
 public:
  int64_t min_value;
  int64_t max_value;

  static void RegisterReflection();
  static constexpr TVMFFISEqHashKind _type_s_eq_hash_kind = kTVMFFISEqHashKindTreeNode;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("arith.ConstIntBound", ConstIntBoundNode, ffi::Object);
};

class ConstIntBound : public ffi::ObjectRef {
 public:
  TVM_DLL ConstIntBound(int64_t min_value, int64_t max_value);
  static constexpr int64_t kPosInf = std::numeric_limits<int64_t>::max();
  static constexpr int64_t kNegInf = -kPosInf;
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(ConstIntBound, ffi::ObjectRef, ConstIntBoundNode);
};

/// x = coeff * k + base for some integer k; coeff 0 means the constant base.
class ModularSetNode : public ffi::Object {
 public:
  int64_t coeff;
  int64_t base;

  static void RegisterReflection();
  static constexpr TVMFFISEqHashKind _type_s_eq_hash_kind = kTVMFFISEqHashKindTreeNode;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("arith.ModularSet", ModularSetNode, ffi::Object);
};

class ModularSet : public ffi::ObjectRef {
 public:
  TVM_DLL ModularSet(int64_t coeff, int64_t base);
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(ModularSet, ffi::ObjectRef, ModularSetNode);
};

}  // namespace tvm::arith
#endif  // TVM_ARITH_CONST_INT_BOUND_H_
