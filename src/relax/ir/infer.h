// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file
/// \brief What the registry says about an operator: inference, normal form, purity.
#ifndef TVM_SRC_RELAX_IR_INFER_H_
#define TVM_SRC_RELAX_IR_INFER_H_

#include <tvm/ffi/function.h>
#include <tvm/relax/block_builder.h>

namespace tvm {
namespace relax {

/// The operator's normal-form hook, or nullptr.
const ffi::Function* FNormalizeOf(const Call& call);
/// The operator's further checks of a well-formed call, `fn(ctx, call)`, which throws; or nullptr.
const ffi::Function* FValidateOf(const Call& call);
/// Whether calls of the operator have no effect; false when nothing is registered.
bool IsPureOp(const Op& op);

}  // namespace relax
}  // namespace tvm

#endif  // TVM_SRC_RELAX_IR_INFER_H_
