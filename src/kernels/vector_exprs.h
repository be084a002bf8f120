// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Shorthands for expressions on whole vectors.
#ifndef TVM_KERNELS_VECTOR_EXPRS_H_
#define TVM_KERNELS_VECTOR_EXPRS_H_

#include <tvm/tirx/builtin.h>
#include <tvm/tirx/op.h>

#include "kernels/register_tile.h"

namespace tvm {
namespace kernels {

/// `width` elements from `at` on.
inline PrimExpr VectorAt(const tirx::Buffer& buffer, const PrimExpr& at, int64_t width) {
  return tirx::BufferLoad(buffer, {Consecutive(at, width)});
}
inline tirx::Stmt StoreAt(const tirx::Buffer& buffer, const PrimExpr& at, const PrimExpr& value) {
  return tirx::BufferStore(buffer, value, {Consecutive(at, value.dtype().lanes())});
}
/// The same bits as another type.
inline PrimExpr SameBits(DataType dtype, const PrimExpr& value) {
  return tirx::CallBuiltin(dtype, tirx::builtin::reinterpret(), {value});
}
/// a * b + c, rounded once.
inline PrimExpr MultiplyAdd(const PrimExpr& a, const PrimExpr& b, const PrimExpr& c) {
  return tirx::CallBuiltin(c.dtype(), tirx::builtin::fma(), {a, b, c});
}
/// One number of the element type in as many lanes as the type has.
inline PrimExpr AllLanes(DataType dtype, double value) {
  return Splat(make_const(dtype.element_of(), value), dtype.lanes());
}
/// A variable that holds the value, so that it is computed once.
inline PrimExpr Named(const char* name, const PrimExpr& value, ffi::Array<tirx::Stmt>* seq) {
  Var var(name, value.dtype());
  seq->push_back(tirx::Bind(var, value));
  return var;
}

}  // namespace kernels
}  // namespace tvm

#endif  // TVM_KERNELS_VECTOR_EXPRS_H_
