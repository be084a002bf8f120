// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file
/// \brief Bindings taken out of a block into a function of their own.
#ifndef TVM_SRC_RELAX_TRANSFORM_FUSED_FUNCTION_H_
#define TVM_SRC_RELAX_TRANSFORM_FUSED_FUNCTION_H_

#include <tvm/relax/expr.h>

#include <string>
#include <unordered_set>
#include <vector>

namespace tvm {
namespace relax {

struct FusedFunction {
  Function func;
  /// Type of the call, in symbols of the caller.
  Type call_type;
  /// Operands of the call, in the order of the parameters.
  Array<Expr> args;
  /// Variables of the block that the function gives: its result, or the fields of it if more.
  std::vector<Var> outputs;
};

/// A private function computing `bindings`, of which `outputs` are visible outside. Variables that
/// nothing here binds become parameters; so do constants with `lift_constants`. Symbolic variables
/// that no parameter defines come in a last parameter `tir_vars`, a shape.
FusedFunction MakeFusedFunction(const std::vector<VarBinding>& bindings,
                                const std::unordered_set<const VarNode*>& outputs,
                                bool lift_constants, Map<String, ffi::Any> attrs);

/// `fused_` and the names of what is called, cut to a sensible length.
std::string FusedName(const std::vector<VarBinding>& bindings, const std::string& prefix);

}  // namespace relax
}  // namespace tvm

#endif  // TVM_SRC_RELAX_TRANSFORM_FUSED_FUNCTION_H_
