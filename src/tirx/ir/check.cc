// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include "tirx/ir/check.h"

namespace tvm {
namespace tirx {

void RequireBool(const PrimExpr& condition, const char* where) {
  RequireDefined(condition, where, "condition");
  DataType dtype = condition.dtype();
  if (!dtype.is_scalar() || !dtype.is_predicate_dtype()) {
    TVM_FFI_THROW(TypeError) << where << ": the condition must be a scalar bool, but has dtype "
                             << dtype;
  }
}

DataType AccessedType(const Buffer& buffer, const ffi::Array<PrimExpr>& indices,
                      const char* where) {
  if (indices.size() != buffer.ndim()) {
    TVM_FFI_THROW(ValueError) << where << ": buffer " << buffer->name << " has " << buffer.ndim()
                              << " dimensions, but " << indices.size() << " indices were given";
  }
  for (size_t i = 0; i < indices.size(); ++i) {
    DataType dtype = indices[i].dtype();
    if (!(dtype.is_int() || dtype.is_uint() || dtype.is_bool())) {
      TVM_FFI_THROW(TypeError) << where << ": index " << i << " of buffer " << buffer->name
                               << " must be an integer, but has dtype " << dtype;
    }
    if (i + 1 < indices.size() && !dtype.is_scalar()) {
      TVM_FFI_THROW(ValueError) << where << ": only the last index of buffer " << buffer->name
                                << " may be a vector, but index " << i << " has dtype " << dtype;
    }
  }
  DataType element = buffer.dtype();
  if (indices.empty()) return element;
  DataType last = indices[indices.size() - 1].dtype();
  if (last.is_scalar()) return element;
  if (last.is_scalable_vector()) {
    if (element.is_scalable_vector()) {
      TVM_FFI_THROW(ValueError) << where << ": index and elements of buffer " << buffer->name
                                << " cannot both be scalable vectors";
    }
    return element.with_scalable_vscale_factor(last.vscale_factor() * element.lanes());
  }
  if (element.is_scalable_vector()) {
    return element.with_scalable_vscale_factor(element.vscale_factor() * last.lanes());
  }
  return element.with_lanes(element.lanes() * last.lanes());
}

void RequirePredicate(const PrimExpr& predicate, const Buffer& buffer,
                      const ffi::Array<PrimExpr>& indices, const char* where) {
  DataType lanes = indices.empty() ? DataType::Int(32) : indices[indices.size() - 1].dtype();
  DataType dtype = predicate.dtype();
  if (!dtype.is_predicate_dtype() || dtype.raw_lanes() != lanes.raw_lanes()) {
    TVM_FFI_THROW(TypeError) << where << ": the predicate of an access to buffer " << buffer->name
                             << " must be bool with the lanes of the last index (" << lanes
                             << "), but has dtype " << dtype;
  }
}

}  // namespace tirx
}  // namespace tvm
