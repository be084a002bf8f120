// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Questions about statements and functions that change nothing.
#ifndef TVM_TIRX_ANALYSIS_H_
#define TVM_TIRX_ANALYSIS_H_

#include <tvm/ir/module.h>
#include <tvm/tirx/function.h>
#include <tvm/tirx/sblock.h>
#include <tvm/tirx/stmt_functor.h>

#include <functional>

namespace tvm {
namespace tirx {

/// Checks definitions, scopes and block rules. With `assert_mode` the first violation is raised as
/// a ValueError that names its access path, otherwise it makes the result false.
TVM_DLL bool VerifyWellFormed(const PrimFunc& func, bool assert_mode = true);
TVM_DLL bool VerifyWellFormed(const IRModule& mod, bool assert_mode = true);

/// Whether every variable has one definition.
TVM_DLL bool VerifySSA(const PrimFunc& func);

/// Variables used in `stmt` (or `expr`) but defined neither there nor in `defs`, by first use.
TVM_DLL ffi::Array<Var> UndefinedVars(const Stmt& stmt, const ffi::Array<Var>& defs);
TVM_DLL ffi::Array<Var> UndefinedVars(const Expr& expr, const ffi::Array<Var>& defs = {});

/// Whether `stmt` mentions a variable for which `pred` holds (buffers count as variables).
TVM_DLL bool StmtUsesVar(const Stmt& stmt, const std::function<bool(const VarNode*)>& pred);

/// Violations of host/device memory rules; empty when there is none.
TVM_DLL ffi::Array<ffi::String> VerifyMemoryErrors(const PrimFunc& func);

/// Regions that `block` reads, writes, and accesses opaquely, relaxed over its inner loops.
TVM_DLL ffi::Array<ffi::Array<BufferRegion>> GetSBlockAccessRegion(
    const SBlock& block, const ffi::Map<Var, Buffer>& buffer_var_map = {});
/// Like the above, opaque accesses counted as both read and write.
TVM_DLL ffi::Array<ffi::Array<BufferRegion>> GetSBlockReadWriteRegion(
    const SBlock& block, const ffi::Map<Var, Buffer>& buffer_var_map = {});

/// `block` with reads and writes as detected; a reduction's reads of its own accumulators are left
/// out.
TVM_DLL SBlock WithDetectedRegions(SBlock block);

/// For each buffer accessed in `func`, the innermost loop or block holding all its accesses; null
/// when that is the function.
TVM_DLL ffi::Map<Buffer, ffi::Optional<Stmt>> DetectBufferAccessLCA(const PrimFunc& func);

}  // namespace tirx
}  // namespace tvm

#endif  // TVM_TIRX_ANALYSIS_H_
