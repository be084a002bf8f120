// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#ifndef TVM_SRC_TIRX_TRANSFORM_VECTORIZER_MASK_H_
#define TVM_SRC_TIRX_TRANSFORM_VECTORIZER_MASK_H_

#include <tvm/tirx/op.h>

#include "tirx/transform/vectorizer.h"

namespace tvm {
namespace tirx {

template <typename F>
auto Vectorizer::UnderMask(const PrimExpr& condition, F visit) {
  PrimExpr outer = mask_;
  mask_ = outer.defined() ? logical_and(outer, condition) : condition;
  auto result = visit();
  mask_ = outer;
  return result;
}

}  // namespace tirx
}  // namespace tvm

#endif  // TVM_SRC_TIRX_TRANSFORM_VECTORIZER_MASK_H_
