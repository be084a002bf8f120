// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// PrimFunc: a function of scalars, pointers and buffers with a statement as its body.
#ifndef TVM_TIRX_FUNCTION_H_
#define TVM_TIRX_FUNCTION_H_

#include <tvm/ir/function.h>
#include <tvm/tirx/stmt.h>

#include <utility>

namespace tvm {
namespace tirx {

class PrimFuncNode : public BaseFuncNode {
 public:
  /// A parameter of BufferType is the buffer itself: there is no separate buffer map.
  ffi::Array<Var> params;
  Type ret_type;
  Stmt body;

  static void RegisterReflection();
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("tirx.PrimFunc", PrimFuncNode, BaseFuncNode);
};

class PrimFunc : public BaseFunc {
 public:
  /// Without `ret_type` the function returns nothing.
  TVM_DLL PrimFunc(ffi::Array<Var> params, Stmt body, ffi::Optional<Type> ret_type = std::nullopt,
                   DictAttrs attrs = DictAttrs(), Span span = Span());
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(PrimFunc, BaseFunc, PrimFuncNode);
  TVM_DEFINE_OBJECT_REF_COW_METHOD(PrimFuncNode);
};

/// Whether the declared return type carries a value.
TVM_DLL bool ReturnsValue(const PrimFuncNode* func);

/// Replaces parameters by expressions (scalars) or buffers of more specific shape. The replaced
/// parameters vanish, symbolic dimensions of replaced buffers become what the new shapes say.
TVM_DLL PrimFunc Specialize(PrimFunc func, const ffi::Map<Var, ffi::Any>& param_map);

/// A pair of functions: what a tensor instruction means, and how it is written.
class TensorIntrinNode : public ffi::Object {
 public:
  PrimFunc desc;
  PrimFunc impl;

  static void RegisterReflection();
  static constexpr TVMFFISEqHashKind _type_s_eq_hash_kind = kTVMFFISEqHashKindTreeNode;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("tirx.TensorIntrin", TensorIntrinNode, ffi::Object);
};

class TensorIntrin : public ffi::ObjectRef {
 public:
  TVM_DLL TensorIntrin(PrimFunc desc, PrimFunc impl);
  TVM_DLL static void Register(ffi::String name, TensorIntrin intrin, bool allow_override = false);
  TVM_DLL static ffi::Optional<TensorIntrin> Get(ffi::String name, bool allow_missing = false);
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(TensorIntrin, ffi::ObjectRef, TensorIntrinNode);
};

namespace attr {

using tvm::attr::kCallingConv;
using tvm::attr::kGlobalSymbol;
using tvm::attr::kNumInputs;
using tvm::attr::kSTir;
using tvm::attr::kTarget;

inline constexpr const char* kNoAlias = "tirx.noalias";
inline constexpr const char* kIsEntryFunc = "tirx.is_entry_func";
inline constexpr const char* kIsGlobalFunc = "tirx.is_global_func";
inline constexpr const char* kIsHostFunc = "tirx.is_host_func";
inline constexpr const char* kIsScheduled = "tirx.is_scheduled";
inline constexpr const char* kKernelLaunchParams = "tirx.kernel_launch_params";
/// Set by callers that guarantee their arguments: MakePackedAPI emits no check.
inline constexpr const char* kNoArgCheck = "tirx.no_arg_check";
/// Operands of products are rounded to bfloat16 on request. These conversions may flush subnormal
/// numbers to zero, as processors' own instructions do, and what is rounded right away may be
/// computed with few bits more than are kept.
inline constexpr const char* kFlushSubnormals = "tirx.flush_subnormals";

}  // namespace attr
}  // namespace tirx
}  // namespace tvm

#endif  // TVM_TIRX_FUNCTION_H_
