// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Shared parts of the TIRx printer.
#ifndef TVM_TIRX_SCRIPT_PRINTER_UTILS_H_
#define TVM_TIRX_SCRIPT_PRINTER_UTILS_H_

#include <tvm/script/printer/type_doc.h>
#include <tvm/tirx/function.h>
#include <tvm/tirx/sblock.h>
#include <tvm/tirx/stmt.h>

#include <functional>

namespace tvm::script::printer {

using ffi::Array;
using ffi::Map;
using ffi::Optional;
using ffi::String;
using tirx::Buffer;
using tirx::BufferTypeNode;
using tirx::Stmt;

/// `T.name`
inline ExprDoc T(IRDocsifier& d, std::string_view name) { return d.Dialect("tirx", name); }

/// How the description of a buffer is written.
struct BufferStyle {
  /// Print the element type even if it is the default one.
  bool always_dtype = false;
  /// Leave the scope out; the callee says it.
  bool scope_in_name = false;
  /// `data=`, for a view of given memory.
  Optional<ExprDoc> data = std::nullopt;
  /// Prints a dimension, stride or offset; by default as an expression.
  std::function<ExprDoc(const PrimExpr&, const AccessPath&)> index = nullptr;
};

/// callee(leading..., shape, dtype, ...) with the arguments that differ from their defaults.
ExprDoc BufferCall(const ExprDoc& callee, Array<ExprDoc> leading, const BufferTypeNode* type,
                   const AccessPath& type_path, const BufferStyle& style, IRDocsifier& d,
                   Kwargs extra = {});

/// Whether a buffer has nothing but an element type, a scope and a shape.
bool IsPlainBuffer(const BufferTypeNode* type, IRDocsifier& d);
/// Whether the layout is the one a buffer gets when none is written.
bool HasDefaultLayout(const BufferTypeNode* type, IRDocsifier& d);
/// Whether the function being printed is written with `s_tir=True`; false outside functions.
bool InSTir(IRDocsifier& d);

/// The name of a scalar variable (a buffer of one element printed like one); null for others.
Optional<ExprDoc> ScalarDoc(const Buffer& buffer, IRDocsifier& d);
/// Defines the buffer in the current frame and returns its name.
IdDoc DefineBuffer(const Buffer& buffer, IRDocsifier& d);
/// Defines the buffer as a scalar: loads and stores print `name`, the buffer `name.buffer`.
IdDoc DefineScalar(const Buffer& buffer, IRDocsifier& d);

/// Indices of an access; a vector index with constant lanes is a slice.
Array<Doc> IndicesDoc(const Array<PrimExpr>& indices, const AccessPath& path, IRDocsifier& d);
/// `A[0:4, i]`
ExprDoc RegionDoc(const tirx::BufferRegion& region, const AccessPath& path, IRDocsifier& d);

/// A free variable, declared in the frame that takes it.
ExprDoc FreeVarDoc(const VarNode* var, const AccessPath& path, IRDocsifier& d);

/// An iteration range as the arguments of a loop: `[stop]` or `[start, stop]`; adds `extent=` to
/// `kwargs` when the extent cannot be computed back from the two.
Array<ExprDoc> LoopRange(const PrimExpr& min, const PrimExpr& extent, const AccessPath& path,
                         bool always_start, Kwargs* kwargs, IRDocsifier& d);

/// Emits a statement that ends its block.
void EmitFunctionBody(const Stmt& body, const AccessPath& path, IRDocsifier& d);

/// Whether a call prints as an operator of Python or as `buffer.data`.
bool PrintsAsOperator(const CallNode* call);

}  // namespace tvm::script::printer
#endif  // TVM_TIRX_SCRIPT_PRINTER_UTILS_H_
