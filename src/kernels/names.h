// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file names.h
/// Names of other layers that every rule uses.
#ifndef TVM_KERNELS_NAMES_H_
#define TVM_KERNELS_NAMES_H_

#include <tvm/ffi/container/array.h>
#include <tvm/ffi/container/map.h>
#include <tvm/tirx/stmt.h>

namespace tvm {
namespace kernels {

using ffi::Array;
using ffi::Map;
using tirx::Bind;
using tirx::Buffer;
using tirx::BufferLoad;
using tirx::BufferLoadNode;
using tirx::BufferStore;
using tirx::For;
using tirx::ForKind;
using tirx::IfThenElse;
using tirx::IterVar;
using tirx::SeqStmt;
using tirx::Stmt;
using tirx::Var;

}  // namespace kernels
}  // namespace tvm

#endif  // TVM_KERNELS_NAMES_H_
