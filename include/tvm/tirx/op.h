// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Arithmetic helpers on scalar expressions, owned by the ir layer.
#ifndef TVM_TIRX_OP_H_
#define TVM_TIRX_OP_H_

#include <tvm/ir/scalar.h>
#include <tvm/ir/scalar_op.h>
#include <tvm/tirx/fwd.h>

#endif  // TVM_TIRX_OP_H_
