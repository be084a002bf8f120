// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Buffers of TIRx, owned by the ir layer, and the helpers that produce addresses of elements.
#ifndef TVM_TIRX_BUFFER_H_
#define TVM_TIRX_BUFFER_H_

#include <tvm/ir/buffer.h>
#include <tvm/runtime/base.h>
#include <tvm/tirx/fwd.h>

#endif  // TVM_TIRX_BUFFER_H_
