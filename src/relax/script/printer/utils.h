// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file
/// \brief What the printers of graph-level nodes share.
#ifndef TVM_SRC_RELAX_SCRIPT_PRINTER_UTILS_H_
#define TVM_SRC_RELAX_SCRIPT_PRINTER_UTILS_H_

#include <tvm/relax/expr.h>
#include <tvm/script/printer/ir_docsifier.h>

#include <string_view>
#include <unordered_set>

namespace tvm::script::printer {

namespace rx = tvm::relax;
using ffi::Array;
using ffi::GetRef;
using ffi::Map;
using ffi::Optional;
using ffi::String;

/// Ranks of header lines that dialects share: `__future__` annotations, type variables.
constexpr int kFutureHeaderRank = 0;
constexpr int kTypeVarHeaderRank = 10;
/// Dialect of the frames that graph-level nodes print in.
constexpr const char* kRelax = "relax";

/// The graph-level function being printed by this thread.
struct RelaxFunctionScope {
  explicit RelaxFunctionScope(IRDocsifier& d, Frame* frame);
  ~RelaxFunctionScope();
  RelaxFunctionScope(const RelaxFunctionScope&) = delete;
  RelaxFunctionScope& operator=(const RelaxFunctionScope&) = delete;

  IRDocsifier& d;
  Frame* frame;
  RelaxFunctionScope* outer;
  /// Printing a signature: dimensions other than a type variable or a number are text there.
  bool in_signature = false;
  /// Variables whose value is used somewhere in the function.
  std::unordered_set<const ffi::Object*> used;
  /// Type variables of the function, in the order of their declaration.
  Array<Var> type_vars;
  std::unordered_set<const ffi::Object*> type_var_set;
  /// Text through which the function names its module; undefined when it does not.
  Optional<ExprDoc> module_doc;

  /// Innermost scope of this docsifier, or nullptr.
  static RelaxFunctionScope* Current(const IRDocsifier& d);
};

/// R.<name>, where the name may have dots.
ExprDoc RelaxName(IRDocsifier& d, std::string_view name);
/// Whether annotations are printed that the values imply.
bool ShowAllTypes(const IRDocsifier& d);
bool UsePep695(const IRDocsifier& d);
/// Names a symbolic variable as a type variable of the function: above it, or in its brackets.
ExprDoc DeclareTypeVar(const Var& var, RelaxFunctionScope* scope);
/// A dimension of a shape in a type.
ExprDoc DimDoc(const PrimExpr& dim, const AccessPath& path, IRDocsifier& d);
/// A list of them.
Array<ExprDoc> DimDocs(const Array<PrimExpr>& dims, const AccessPath& path, IRDocsifier& d);
/// A type annotation.
ExprDoc TypeDoc(const Type& ty, const AccessPath& path, IRDocsifier& d);
/// A virtual device: "kind:index:scope" where that reads back as the same device, else `I.vdevice`.
ExprDoc VDeviceDoc(const VDevice& device, const AccessPath& path, IRDocsifier& d);
/// Value of an attribute of a call.
ExprDoc AttrDoc(const ffi::Any& value, const AccessPath& path, IRDocsifier& d);

/// Registers the function for a node type; it runs in a frame of this dialect.
template <typename NodeType, auto fn>
void RegisterRelaxPrinter() {
  RegisterPrinter<NodeType, fn>(kRelax);
  IRDocsifier::Register("", NodeType::RuntimeTypeIndex(),
                        [](const ffi::Object* node, const AccessPath& path, IRDocsifier& d) -> Doc {
                          FrameScope frame(d, kRelax);
                          return fn(static_cast<const NodeType*>(node), path, d);
                        });
}

/// A value as an expression; functions, choices and sequences in it become statements before it.
ExprDoc ValueDoc(const Expr& value, const AccessPath& path, IRDocsifier& d);
Array<ExprDoc> ValueDocs(const Array<Expr>& values, const AccessPath& path, IRDocsifier& d);
/// A call of a graph-level operator or function.
ExprDoc RelaxCallDoc(const CallNode* call, const AccessPath& path, IRDocsifier& d);
/// Whether a call is printed by this dialect.
bool IsRelaxCall(const CallNode* call);

/// Adds the statements of a binding to the current frame.
void PushBinding(const rx::Binding& binding, const AccessPath& path, IRDocsifier& d);
/// Adds the statements of all blocks to the current frame.
void PushBlocks(const Array<rx::BindingBlock>& blocks, const AccessPath& path, IRDocsifier& d);
/// The definition of a function under a name.
FunctionDoc RelaxFunctionDoc(const rx::FunctionNode* func, const String& name, bool nested,
                             const AccessPath& path, IRDocsifier& d);

}  // namespace tvm::script::printer

#endif  // TVM_SRC_RELAX_SCRIPT_PRINTER_UTILS_H_
