// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Scalar expressions of TIRx. They are owned by the ir layer; this header keeps the public path.
#ifndef TVM_TIRX_EXPR_H_
#define TVM_TIRX_EXPR_H_

#include <tvm/ir/buffer.h>
#include <tvm/ir/scalar.h>
#include <tvm/tirx/fwd.h>

#endif  // TVM_TIRX_EXPR_H_
