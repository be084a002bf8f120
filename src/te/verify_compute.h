// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#ifndef TVM_SRC_TE_VERIFY_COMPUTE_H_
#define TVM_SRC_TE_VERIFY_COMPUTE_H_

#include <tvm/tirx/expr.h>

namespace tvm {
namespace te {

/// A compute body is at least one expression; reductions appear only at the top, in all outputs or
/// in none, and then share combiner, sources, axes, condition and init. ValueError otherwise.
void VerifyComputeBody(const ffi::String& name, const ffi::Array<PrimExpr>& body);

}  // namespace te
}  // namespace tvm

#endif  // TVM_SRC_TE_VERIFY_COMPUTE_H_
