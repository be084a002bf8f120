// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Variables and iteration variables of TIRx, owned by the ir layer.
#ifndef TVM_TIRX_VAR_H_
#define TVM_TIRX_VAR_H_

#include <tvm/ir/scalar.h>
#include <tvm/tirx/fwd.h>

#endif  // TVM_TIRX_VAR_H_
