// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#ifndef TVM_SRC_S_TIR_TRANSFORM_BLOCKS_H_
#define TVM_SRC_S_TIR_TRANSFORM_BLOCKS_H_

#include <tvm/tirx/function.h>
#include <tvm/tirx/sblock.h>

#include "tirx/transform/with_body.h"

namespace tvm {
namespace s_tir {

/// Whether `func` is written in blocks: its root statement is then a block. Passes that lower
/// blocks leave other functions alone without walking them.
inline bool HasBlocks(const tirx::PrimFunc& func) {
  return func->body.as<tirx::SBlockRealizeNode>() != nullptr;
}

using tirx::WithBody;

}  // namespace s_tir
}  // namespace tvm

#endif  // TVM_SRC_S_TIR_TRANSFORM_BLOCKS_H_
