// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Adds the place in the program to an error that a pass threw.
#ifndef TVM_IR_ERROR_CONTEXT_H_
#define TVM_IR_ERROR_CONTEXT_H_

#include <tvm/ffi/error.h>
#include <tvm/ir/module.h>

namespace tvm {

/// Renders the program with the offending objects underlined; installed by the script printer.
/// `paths` is an Array of ffi.reflection.AccessPath.
using ErrorLocationRenderer = ffi::String (*)(const IRModule& mod, const ffi::Any& paths);
TVM_DLL void SetErrorLocationRenderer(ErrorLocationRenderer renderer);

/// When `error` carries a visit context (nodes walked when it was thrown), returns an error of the
/// same kind and backtrace whose message also names the pass and shows the program there;
/// otherwise the error itself.
TVM_DLL ffi::Error EnrichPassErrorWithContext(const ffi::Error& error, const IRModule& mod,
                                              const ffi::String& pass_name);

/// Visitors add the place with the macros of <tvm/ffi/extra/visit_error_context.h>.
}  // namespace tvm
#endif  // TVM_IR_ERROR_CONTEXT_H_
