// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// IndexMap: a rearrangement of buffer indices.
#ifndef TVM_TIRX_INDEX_MAP_H_
#define TVM_TIRX_INDEX_MAP_H_

#include <tvm/arith/analyzer.h>
#include <tvm/tirx/expr.h>

#include <functional>
#include <utility>

namespace tvm {
namespace tirx {

class IndexMapNode : public ffi::Object {
 public:
  ffi::Array<Var> initial_indices;
  ffi::Array<PrimExpr> final_indices;
  /// Inverse given by the user; an IndexMap, kept as ObjectRef because the type is being defined.
  ffi::Optional<ffi::ObjectRef> inverse_index_map;

  static void RegisterReflection();
  static constexpr TVMFFISEqHashKind _type_s_eq_hash_kind = kTVMFFISEqHashKindTreeNode;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("tirx.IndexMap", IndexMapNode, ffi::Object);

  /// The final indices for the given initial ones, simplified.
  TVM_DLL ffi::Array<PrimExpr> MapIndices(const ffi::Array<PrimExpr>& indices,
                                          const arith::Analyzer& analyzer) const;
  TVM_DLL ffi::Array<Range> MapRanges(const ffi::Array<Range>& ranges,
                                      const arith::Analyzer& analyzer) const;
  /// The extents that hold every mapped index of a buffer of `shape`.
  TVM_DLL ffi::Array<PrimExpr> MapShape(const ffi::Array<PrimExpr>& shape,
                                        const arith::Analyzer& analyzer) const;
};

class IndexMap : public ffi::ObjectRef {
 public:
  TVM_DLL IndexMap(ffi::Array<Var> initial_indices, ffi::Array<PrimExpr> final_indices,
                   ffi::Optional<IndexMap> inverse_index_map = std::nullopt);
  TVM_DLL static IndexMap FromFunc(int ndim,
                                   const std::function<ffi::Array<PrimExpr>(ffi::Array<Var>)>& func,
                                   ffi::Optional<IndexMap> inverse_index_map = std::nullopt,
                                   DataType index_dtype = DataType::Int(64));
  /// The inverse over `initial_ranges`; ValueError unless the map is bijective there.
  TVM_DLL IndexMap Inverse(ffi::Array<Range> initial_ranges, const arith::Analyzer& analyzer) const;
  /// The inverse, with the predicate that holds on indices introduced as padding.
  TVM_DLL std::pair<IndexMap, PrimExpr> NonSurjectiveInverse(ffi::Array<Range> initial_ranges,
                                                             const arith::Analyzer& analyzer) const;
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(IndexMap, ffi::ObjectRef, IndexMapNode);
};

}  // namespace tirx
}  // namespace tvm

#endif  // TVM_TIRX_INDEX_MAP_H_
