// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// From tensors of the compute language to a function of blocks.
#ifndef TVM_TE_CREATE_PRIM_FUNC_H_
#define TVM_TE_CREATE_PRIM_FUNC_H_

#include <tvm/te/operation.h>
#include <tvm/tirx/function.h>

#include <optional>

namespace tvm {
namespace te {

/// Builds the function whose parameters are `args`: placeholders are inputs, other tensors outputs.
/// Tensors in between become allocations of the root block; each operation is one block, with an
/// init statement if it reduces, and the operation's attrs as its annotations.
///
/// Index variables keep the type their operation gave them unless `index_dtype_override` is set.
/// The function has the attributes global_symbol "main", tirx.noalias and s_tir.
TVM_DLL tirx::PrimFunc CreatePrimFunc(const ffi::Array<Tensor>& args,
                                      std::optional<DataType> index_dtype_override = std::nullopt);

/// Like CreatePrimFunc; arguments may also be scalar variables (symbolic dimensions, say), which
/// become scalar parameters at their place.
TVM_DLL tirx::PrimFunc CreatePrimFuncFromArgs(
    const ffi::Array<ffi::ObjectRef>& args,
    std::optional<DataType> index_dtype_override = std::nullopt);

}  // namespace te
}  // namespace tvm

#endif  // TVM_TE_CREATE_PRIM_FUNC_H_
