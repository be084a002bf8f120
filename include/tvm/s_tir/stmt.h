// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Block statements under the names of the s_tir dialect.
#ifndef TVM_S_TIR_STMT_H_
#define TVM_S_TIR_STMT_H_

#include <tvm/tirx/function.h>
#include <tvm/tirx/sblock.h>
#include <tvm/tirx/stmt_functor.h>

namespace tvm {
namespace s_tir {

using tirx::MatchBufferRegion;
using tirx::MatchBufferRegionNode;
using tirx::SBlock;
using tirx::SBlockNode;
using tirx::SBlockRealize;
using tirx::SBlockRealizeNode;
using tirx::TensorIntrin;
using tirx::TensorIntrinNode;

}  // namespace s_tir
}  // namespace tvm

#endif  // TVM_S_TIR_STMT_H_
