// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#ifndef TVM_SRC_TIRX_TRANSFORM_WITH_BODY_H_
#define TVM_SRC_TIRX_TRANSFORM_WITH_BODY_H_

#include <tvm/tirx/function.h>

#include <utility>

namespace tvm {
namespace tirx {

/// `func` with another body; the same object when the body is the same.
inline PrimFunc WithBody(PrimFunc func, Stmt body) {
  if (!body.same_as(func->body)) func.CopyOnWrite()->body = std::move(body);
  return func;
}

}  // namespace tirx
}  // namespace tvm

#endif  // TVM_SRC_TIRX_TRANSFORM_WITH_BODY_H_
