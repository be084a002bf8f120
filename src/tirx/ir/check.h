// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Checks that constructors of statements share.
#ifndef TVM_SRC_TIRX_IR_CHECK_H_
#define TVM_SRC_TIRX_IR_CHECK_H_

#include <tvm/ffi/error.h>
#include <tvm/tirx/stmt.h>

namespace tvm {
namespace tirx {

inline void RequireDefined(const ffi::ObjectRef& value, const char* where, const char* field) {
  if (!value.defined()) {
    TVM_FFI_THROW(ValueError) << where << ": field " << field << " must not be None";
  }
}

/// A scalar condition.
void RequireBool(const PrimExpr& condition, const char* where);

/// The dtype of the elements at `indices` of `buffer`: one scalar index per dimension, of which the
/// last may be a vector. ValueError or TypeError otherwise.
DataType AccessedType(const Buffer& buffer, const ffi::Array<PrimExpr>& indices, const char* where);

/// `predicate` must be a bool vector with as many lanes as the last index.
void RequirePredicate(const PrimExpr& predicate, const Buffer& buffer,
                      const ffi::Array<PrimExpr>& indices, const char* where);

}  // namespace tirx
}  // namespace tvm

#endif  // TVM_SRC_TIRX_IR_CHECK_H_
