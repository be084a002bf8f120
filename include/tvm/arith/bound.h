// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Bounds of a variable from a condition.
#ifndef TVM_ARITH_BOUND_H_
#define TVM_ARITH_BOUND_H_

#include <tvm/arith/int_set.h>

namespace tvm::arith {

/// Values of `var` that imply `cond`, whatever the relaxed variables are; nothing when the
/// condition has an unsupported form. `hint_map` gives sets of other variables for signs.
TVM_DLL IntSet DeduceBound(const PrimExpr& var, const PrimExpr& cond,
                           const ffi::Map<Var, IntSet>& hint_map,
                           const ffi::Map<Var, IntSet>& relax_map);

}  // namespace tvm::arith
#endif  // TVM_ARITH_BOUND_H_
