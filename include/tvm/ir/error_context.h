// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Adds the place in the program to an error that a pass threw.
#ifndef TVM_IR_ERROR_CONTEXT_H_
#define TVM_IR_ERROR_CONTEXT_H_

#include <tvm/ffi/error.h>
#include <tvm/ir/module.h>

namespace tvm {

/// Renders the program `root`, an IRModule, a function or a statement, with the offending objects
/// underlined; installed by the script printer. `paths` is an Array of ffi.reflection.AccessPath.
using ErrorLocationRenderer = ffi::String (*)(const ffi::ObjectRef& root, const ffi::Any& paths);
TVM_DLL void SetErrorLocationRenderer(ErrorLocationRenderer renderer);

/// When `error` carries a visit context (nodes walked when it was thrown), returns an error of the
/// same kind and backtrace whose message also names the pass and the function and shows the program
/// there; otherwise the error itself, as also for one that holds the exception of another language.
///
/// The functors of ir, tirx and relax and MapFunctions add to the context; a walk of another kind
/// does it with the macros of <tvm/ffi/extra/visit_error_context.h>.
TVM_DLL ffi::Error EnrichPassErrorWithContext(const ffi::Error& error, const IRModule& mod,
                                              const ffi::String& pass_name);

/// The same for a step that works on one function and is no pass, e.g. "code generation: llvm".
TVM_DLL ffi::Error EnrichFunctionErrorWithContext(const ffi::Error& error, const GlobalVar& var,
                                                  const BaseFunc& func, const ffi::String& step);

}  // namespace tvm
#endif  // TVM_IR_ERROR_CONTEXT_H_
