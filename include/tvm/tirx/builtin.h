// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Operators of TIRx that are not arithmetic: memory, calls, packed ABI, threads, vectors.
///
/// Each function returns the operator `tirx.<name>`. Arithmetic operators behind calls (exp, fma,
/// if_then_else, shifts, ...) are registered by the ir layer; accessors for them are here as well.
#ifndef TVM_TIRX_BUILTIN_H_
#define TVM_TIRX_BUILTIN_H_

#include <tvm/ir/op.h>
#include <tvm/runtime/base.h>
#include <tvm/tirx/expr.h>

namespace tvm {
namespace tirx {
namespace builtin {

/// `X(accessor)`: operators registered by the ir layer.
#define TVM_TIRX_FOR_EACH_SCALAR_BUILTIN(X) \
  X(reinterpret)                            \
  X(likely)                                 \
  X(bitwise_and)                            \
  X(bitwise_or)                             \
  X(bitwise_xor)                            \
  X(bitwise_not)                            \
  X(shift_left)                             \
  X(shift_right)                            \
  X(large_uint_imm)                         \
  X(q_multiply_shift)                       \
  X(q_multiply_shift_per_axis)              \
  X(isnan)                                  \
  X(popcount)                               \
  X(fma)                                    \
  X(if_then_else)                           \
  X(vscale)

/// `X(accessor)`: operators registered by the tirx layer, see src/tirx/builtin/builtin.cc.
#define TVM_TIRX_FOR_EACH_BUILTIN(X) \
  X(ret)                             \
  X(continue_loop)                   \
  X(break_loop)                      \
  X(thread_return)                   \
  X(buffer_data)                     \
  X(address_of)                      \
  X(isnullptr)                       \
  X(ptr_byte_offset)                 \
  X(handle_add_byte_offset)          \
  X(tvm_access_ptr)                  \
  X(tvm_static_handle)               \
  X(tvm_context_id)                  \
  X(tvm_tuple)                       \
  X(tvm_struct_get)                  \
  X(tvm_struct_set)                  \
  X(lookup_param)                    \
  X(tvm_throw_last_error)            \
  X(tvm_stack_alloca)                \
  X(tvm_stack_make_shape)            \
  X(tvm_stack_make_array)            \
  X(tvm_call_packed)                 \
  X(tvm_call_cpacked)                \
  X(tvm_call_trace_packed)           \
  X(tvm_call_packed_lowered)         \
  X(tvm_call_cpacked_lowered)        \
  X(tvm_call_trace_packed_lowered)   \
  X(tvm_check_return)                \
  X(check_args)                      \
  X(call_extern)                     \
  X(call_pure_extern)                \
  X(call_llvm_intrin)                \
  X(call_llvm_pure_intrin)           \
  X(call_spirv_pure_glsl450)         \
  X(prefetch)                        \
  X(tvm_storage_sync)                \
  X(tvm_kernel_replace_point)        \
  X(tvm_warp_shuffle)                \
  X(tvm_warp_shuffle_up)             \
  X(tvm_warp_shuffle_down)           \
  X(tvm_warp_shuffle_xor)            \
  X(tvm_warp_activemask)             \
  X(tvm_global_barrier_kinit)        \
  X(tvm_thread_allreduce)            \
  X(tvm_thread_invariant)            \
  X(tvm_load_matrix_sync)            \
  X(tvm_mma_sync)                    \
  X(tvm_bmma_sync)                   \
  X(tvm_fill_fragment)               \
  X(tvm_store_matrix_sync)           \
  X(vectorhigh)                      \
  X(vectorlow)                       \
  X(vectorcombine)                   \
  X(dp4a)                            \
  X(dot_lanes)                       \
  X(atomic_add)                      \
  X(nd_mem_alloc_with_scope)         \
  X(texture2d_store)                 \
  X(texture2d_load)                  \
  X(mem_copy)                        \
  X(assume)                          \
  X(undef)                           \
  X(start_profile_intrinsic)         \
  X(end_profile_intrinsic)           \
  X(anylist_getitem)                 \
  X(anylist_resetitem)               \
  X(anylist_setitem_call_packed)     \
  X(anylist_setitem_call_cpacked)    \
  X(get_active_lane_mask)            \
  X(ignore_loop_partition)           \
  X(print_buffer)                    \
  X(filter)                          \
  X(selector)

#define TVM_TIRX_BUILTIN_ACCESSOR(Name) TVM_DLL const Op& Name();
TVM_TIRX_FOR_EACH_SCALAR_BUILTIN(TVM_TIRX_BUILTIN_ACCESSOR)
TVM_TIRX_FOR_EACH_BUILTIN(TVM_TIRX_BUILTIN_ACCESSOR)
#undef TVM_TIRX_BUILTIN_ACCESSOR

TVM_DLL const Op& TVMBackendAllocWorkspace();
TVM_DLL const Op& TVMBackendFreeWorkspace();

/// Fields that tvm_struct_get and tvm_struct_set name: of a DLTensor, of a TVMFFIAny, of an int64
/// array. The numbers appear in stored programs.
enum TVMStructFieldKind : int {
  kDLTensorAddr = 0,
  kDLTensorData = 1,
  kDLTensorShape = 2,
  kDLTensorStrides = 3,
  kDLTensorNDim = 4,
  kDLTensorTypeCode = 5,
  kDLTensorTypeBits = 6,
  kDLTensorTypeLanes = 7,
  kDLTensorByteOffset = 8,
  kDLTensorDeviceId = 9,
  kDLTensorDeviceType = 10,
  kTVMFFIAnyTypeIndex = 13,
  kTVMFFIAnyZeroPadding = 14,
  kTVMFFIAnyUnionValue = 15,
  kInt64ArrayElem = 17,
};

}  // namespace builtin

/// `op(args...)` of type `dtype` (a scalar or vector type).
TVM_DLL PrimExpr CallBuiltin(DataType dtype, const Op& op, ffi::Array<Expr> args);
/// `op(args...)` that yields a pointer of type `type`, or void.
TVM_DLL Expr CallBuiltinTyped(Type type, const Op& op, ffi::Array<Expr> args);
/// The void* pointer type.
TVM_DLL Type HandleType();
/// The type of a call that yields nothing.
TVM_DLL Type VoidTy();
/// Address of one element.
TVM_DLL Expr AddressOf(const Buffer& buffer, ffi::Array<PrimExpr> indices);
/// Field `kind` of element `index` of the struct array behind `handle`.
TVM_DLL Expr StructGet(Type type, Expr handle, int index, builtin::TVMStructFieldKind kind);
TVM_DLL Expr StructSet(Expr handle, int index, builtin::TVMStructFieldKind kind, Expr value);

}  // namespace tirx
}  // namespace tvm

#endif  // TVM_TIRX_BUILTIN_H_
