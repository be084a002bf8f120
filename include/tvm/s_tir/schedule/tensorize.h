// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// How blocks fit tensor intrinsics.
#ifndef TVM_S_TIR_SCHEDULE_TENSORIZE_H_
#define TVM_S_TIR_SCHEDULE_TENSORIZE_H_

#include <tvm/s_tir/schedule/schedule.h>

namespace tvm {
namespace s_tir {

/// Which loops of a block pair with those of an intrinsic's description.
class TensorizeInfoNode : public ffi::Object {
 public:
  /// Loop of the block -> loop of the description.
  ffi::Map<StmtSRef, tirx::For> loop_map;
  /// Loop of the description -> its position, outermost first.
  ffi::Map<tirx::For, int64_t> desc_loop_indexer;
  /// Multiples to pad the block's variables to, if the extents do not divide.
  ffi::Optional<ffi::Array<int64_t>> block_iter_paddings;

  static void RegisterReflection();
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("s_tir.TensorizeInfo", TensorizeInfoNode, ffi::Object);
};

class TensorizeInfo : public ffi::ObjectRef {
 public:
  explicit TensorizeInfo(ffi::ObjectPtr<TensorizeInfoNode> node)
      : ffi::ObjectRef(ffi::UnsafeInit{}) {
    data_ = std::move(node);
  }
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NOTNULLABLE(TensorizeInfo, ffi::ObjectRef, TensorizeInfoNode);
};

/// How the variables of a block can be fused so that they fit an intrinsic.
class AutoTensorizeMappingInfoNode : public ffi::Object {
 public:
  ffi::Array<tirx::IndexMap> mappings;
  /// Buffer of the description -> buffer of the block.
  ffi::Map<tirx::Buffer, tirx::Buffer> lhs_buffer_map;
  /// Buffer of the description -> where its accesses are.
  ffi::Map<tirx::Buffer, ffi::Array<PrimExpr>> rhs_buffer_indices;
  /// Variables of the block and of the description.
  ffi::Array<tirx::IterVar> lhs_iters;
  ffi::Array<tirx::IterVar> rhs_iters;

  static void RegisterReflection();
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("s_tir.AutoTensorizeMappingInfo", AutoTensorizeMappingInfoNode,
                                    ffi::Object);
};

/// Pairs loops; nothing if the block does not compute what is described.
TVM_DLL ffi::Optional<TensorizeInfo> GetTensorizeLoopMapping(const Schedule& sch,
                                                             const SBlockRV& block,
                                                             const tirx::PrimFunc& desc_func,
                                                             bool allow_padding);
/// Fuses variables that index the same operands; null if the operands do not pair.
TVM_DLL ffi::Optional<ffi::ObjectRef> GetAutoTensorizeMappingInfo(const Schedule& sch,
                                                                  const SBlockRV& block,
                                                                  const tirx::PrimFunc& desc_func);
/// Splits and reorders the loops of a block so that the inner ones fit an intrinsic. Returns the
/// outermost of those; nothing if the block does not fit.
TVM_DLL ffi::Optional<LoopRV> TileWithTensorIntrin(const Schedule& sch, const SBlockRV& block,
                                                   const ffi::String& intrin_name,
                                                   bool allow_padding = false);
/// A layout in which loops walk through a buffer in order; nothing if there is none.
TVM_DLL ffi::Optional<tirx::IndexMap> SuggestIndexMap(const tirx::Buffer& buffer,
                                                      const ffi::Array<PrimExpr>& indices,
                                                      const ffi::Array<tirx::For>& loops,
                                                      const PrimExpr& predicate,
                                                      const arith::Analyzer& analyzer);

}  // namespace s_tir
}  // namespace tvm

#endif  // TVM_S_TIR_SCHEDULE_TENSORIZE_H_
