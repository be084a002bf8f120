// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file
/// \brief Makers of the calls that lowering passes produce.
#ifndef TVM_SRC_RELAX_OP_CALL_LIKE_H_
#define TVM_SRC_RELAX_OP_CALL_LIKE_H_

#include <tvm/relax/op_row.h>

namespace tvm {
namespace relax {

/// `relax.<name>` as an Op, looked up once per call site.
#define TVM_RX_OP(name)                                    \
  ([]() -> const Op& {                                     \
    static const Op& op = *new Op(Op::Get("relax." name)); \
    return op;                                             \
  }())

/// Whether `e` calls the operator.
inline bool IsCallTo(const Expr& e, const Op& op) {
  const auto* call = e.as<CallNode>();
  return call != nullptr && call->op.same_as(op);
}

/// call_tir(gv, args, out_ty), typed.
Call MakeCallTIR(const GlobalVar& gv, const Array<Expr>& args, const Type& out_ty,
                 Optional<Expr> extra_shape = std::nullopt);
/// builtin.alloc_tensor of a tensor type with known dimensions, typed.
Call MakeAllocTensor(const Type& tensor_ty, int64_t device_index = 0,
                     const String& scope = "global");
/// Call of a runtime function by name with the given result type.
Call MakePackedCall(const String& symbol, const Array<Expr>& args, const Type& ret);

}  // namespace relax
}  // namespace tvm

#endif  // TVM_SRC_RELAX_OP_CALL_LIKE_H_
