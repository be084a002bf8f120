// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file
/// \brief Small helpers of the Relax layer: host tensors and integer literals.
#ifndef TVM_SRC_RELAX_IR_UTILS_H_
#define TVM_SRC_RELAX_IR_UTILS_H_

#include <tvm/ffi/container/tensor.h>
#include <tvm/ir/expr.h>
#include <tvm/ir/scalar_op.h>
#include <tvm/relax/expr.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace tvm {
namespace relax {

/// Uninitialised tensor in host memory, 64-byte aligned.
TVM_DLL ffi::Tensor NewHostTensor(const std::vector<int64_t>& shape, DataType dtype);
/// Write `value` as an element of type `dtype`; TypeError for types without a host form.
TVM_DLL void StoreScalar(void* dst, DataType dtype, double value);
TVM_DLL void StoreScalar(void* dst, DataType dtype, int64_t value);
/// Read one element as a double, or as an integer (exact for integer types).
TVM_DLL double LoadScalarAsDouble(const void* src, DataType dtype);
TVM_DLL int64_t LoadScalarAsInt(const void* src, DataType dtype);
/// Pointer to the first element, byte offset applied.
inline char* TensorBytes(const ffi::Tensor& t) {
  return static_cast<char*>(t.data_ptr()) + t.byte_offset();
}
inline int64_t TensorByteSize(const ffi::Tensor& t) {
  return t.numel() * ((t.dtype().bits * t.dtype().lanes + 7) / 8);
}

inline PrimExpr Int64(int64_t v) { return IntImm(DataType::Int(64), v); }
/// Literal dimensions of a shape.
inline Array<PrimExpr> Dims(const std::vector<int64_t>& v) {
  Array<PrimExpr> r;
  r.reserve(v.size());
  for (int64_t d : v) r.push_back(Int64(d));
  return r;
}
inline std::optional<int64_t> AsInt(const PrimExpr& e) {
  if (const auto* imm = e.as<IntImmNode>()) return imm->value;
  return std::nullopt;
}
inline bool IsConstInt(const PrimExpr& e, int64_t v) {
  const auto* imm = e.as<IntImmNode>();
  return imm != nullptr && imm->value == v;
}
/// Dimensions as integers, or nullopt when one is symbolic.
inline std::optional<std::vector<int64_t>> AsInts(const Array<PrimExpr>& dims) {
  std::vector<int64_t> r;
  r.reserve(dims.size());
  for (const PrimExpr& d : dims) {
    const auto* imm = d.as<IntImmNode>();
    if (imm == nullptr) return std::nullopt;
    r.push_back(imm->value);
  }
  return r;
}

}  // namespace relax
}  // namespace tvm

#endif  // TVM_SRC_RELAX_IR_UTILS_H_
