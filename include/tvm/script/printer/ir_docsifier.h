// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Translates IR to docs. Each dialect registers one function per node type; this class holds what
/// they share: scopes and names of variables, the statements built so far, metadata, prefixes.
///
///   Doc PrintWhile(const WhileNode* node, const AccessPath& p, IRDocsifier& d) {
///     ExprDoc cond = d.AsExpr(node->condition, p->Attr("condition"));
///     return WhileDoc(cond, d.AsBody("tirx", node->body, p->Attr("body")));
///   }
///   TVM_FFI_STATIC_INIT_BLOCK() { RegisterPrinter<WhileNode, PrintWhile>("tirx"); }
///
/// The doc returned for (object, path) gets `path` as a source path by itself.
#ifndef TVM_SCRIPT_PRINTER_IR_DOCSIFIER_H_
#define TVM_SCRIPT_PRINTER_IR_DOCSIFIER_H_

#include <tvm/ffi/any.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/ir/expr.h>
#include <tvm/ir/module.h>
#include <tvm/script/printer/config.h>
#include <tvm/script/printer/doc.h>

#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace tvm::script::printer {

class IRDocsifier;

/// One lexical scope: the names defined in it and the statements of its body.
struct Frame {
  /// Dialect in force; nodes are looked up under it first, then under "".
  std::string token;
  ffi::Array<StmtDoc> stmts;
  /// Declarations of free variables go to the innermost frame that takes them.
  bool takes_free_vars = false;
  /// For the frame of a PrimFunc: it is written as a function of schedulable blocks.
  bool s_tir = false;
  /// The node the frame was opened for (a function, a block, ...); may be null.
  ffi::ObjectRef owner;

  std::vector<ffi::ObjectRef> defined;
  std::vector<std::string> names;
};

class IRDocsifier {
 public:
  using PrintFn = Doc (*)(const ffi::Object* node, const AccessPath& path, IRDocsifier& d);

  TVM_DLL explicit IRDocsifier(PrinterConfig config);
  IRDocsifier(const IRDocsifier&) = delete;
  IRDocsifier& operator=(const IRDocsifier&) = delete;

  const PrinterConfig cfg;

  // --- Dispatch ---------------------------------------------------------------------------------

  /// Registers the function for a node type in a dialect; "" is for all dialects.
  TVM_DLL static void Register(std::string_view token, int32_t type_index, PrintFn print);
  /// Whether a function is registered for the exact type, in the dialect or for all.
  TVM_DLL static bool CanPrint(std::string_view token, int32_t type_index);

  /// Doc of any value: None, numbers, strings, dtypes, arrays, maps, objects. Objects without a
  /// registered function become their repr as a comment-safe string literal.
  TVM_DLL Doc AsDoc(const ffi::Any& value, const AccessPath& path);
  /// The same, for what must be an expression.
  TVM_DLL ExprDoc AsExpr(const ffi::Any& value, const AccessPath& path);
  /// Docs of all elements.
  template <typename Array>
  ffi::Array<ExprDoc> AsExprs(const Array& values, const AccessPath& path) {
    ffi::Array<ExprDoc> docs;
    int64_t i = 0;
    for (const auto& value : values) docs.push_back(AsExpr(value, path->ArrayItem(i++)));
    return docs;
  }
  /// Appends the statements of a node to the current frame: a StmtDoc as it is, a StmtBlockDoc's
  /// statements one by one, an ExprDoc as an expression statement.
  TVM_DLL void Emit(const ffi::Any& value, const AccessPath& path);
  /// The statements of a node in a frame of its own.
  TVM_DLL ffi::Array<StmtDoc> AsBody(std::string_view token, const ffi::Any& value,
                                     const AccessPath& path);

  // --- Scopes -----------------------------------------------------------------------------------

  Frame& top() { return *frames_.back(); }
  /// Innermost frame opened for a node of that type; null if there is none.
  template <typename NodeType>
  Frame* FindFrame() {
    for (auto it = frames_.rbegin(); it != frames_.rend(); ++it) {
      const ffi::ObjectRef& owner = (*it)->owner;
      if (owner.defined() && owner->IsInstance<NodeType>()) return *it;
    }
    return nullptr;
  }
  const std::vector<Frame*>& frames() const { return frames_; }
  void Push(StmtDoc stmt) { top().stmts.push_back(std::move(stmt)); }

  // --- Names ------------------------------------------------------------------------------------

  /// A valid identifier not in use, like `hint`; it stays in use until `frame` (default: the
  /// current one) ends.
  TVM_DLL std::string FreshName(std::string_view hint, Frame* frame = nullptr);
  /// Gives a variable a fresh name in `frame` (default: the current one). Defining twice is fine:
  /// the first name is kept.
  TVM_DLL IdDoc Define(const ffi::ObjectRef& var, std::string_view hint, Frame* frame = nullptr);
  /// Uses of `var` print as what `make` returns; no name is taken.
  TVM_DLL void DefineAs(const ffi::ObjectRef& var, std::function<ExprDoc()> make,
                        Frame* frame = nullptr);
  bool IsDefined(const ffi::ObjectRef& var) const { return vars_.count(var.get()) != 0; }
  /// The doc of a defined variable.
  TVM_DLL ffi::Optional<ExprDoc> VarDoc(const ffi::ObjectRef& var) const;
  /// The frame that takes declarations of free variables.
  TVM_DLL Frame* FreeVarFrame();
  /// Defines `var` in FreeVarFrame() and declares it there as `name = value`.
  TVM_DLL ExprDoc DeclareFree(const ffi::ObjectRef& var, std::string_view hint,
                              const std::function<ExprDoc()>& value);

  // --- Header and metadata ----------------------------------------------------------------------

  /// `T.name` for dialect "tirx", `R.name` for "relax", `I.name` for "ir": notes that the text
  /// needs the import.
  TVM_DLL ExprDoc Dialect(std::string_view dialect, std::string_view name);
  /// Notes a header line by its rank; one line per rank.
  void NeedHeader(int rank, std::string line) { header_[rank] = std::move(line); }
  /// `metadata["type.key"][i]`
  TVM_DLL ExprDoc AddMetadata(const ffi::Any& value);
  const std::map<int, std::string>& header() const { return header_; }
  const std::map<std::string, std::vector<ffi::Any>>& metadata() const { return metadata_; }
  /// `name = TypeVar("name")` above the function or module, once per name.
  TVM_DLL void DeclareTypeVar(const ffi::String& name);
  /// Lines printed above the function or module, sorted by name.
  const std::map<std::string, StmtDoc>& preamble() const { return preamble_; }

  // --- Module -----------------------------------------------------------------------------------

  /// Name under which a function of the module being printed is defined.
  std::unordered_map<const ffi::Object*, ffi::String> global_names;
  /// The module being printed; null outside. `module_name` is the name of its class.
  const IRModuleNode* module = nullptr;
  ffi::String module_name = "Module";
  /// Name of the function printed next; null unless it belongs to `module`. Read it at once.
  GlobalVar function_var;

  // --- Context ----------------------------------------------------------------------------------

  /// The value being printed stands where anything may stand (an attribute, an annotation): a
  /// constant expression must then differ from the plain number.
  bool in_any = false;
  /// Indices are those of a region, where a slice is a range and not a vector.
  bool in_region = false;
  /// Ranges of the loop variables in scope.
  std::unordered_map<const ffi::Object*, Range> loop_ranges;
  /// Paths of the objects in cfg->obj_to_underline, as far as they were met.
  const std::vector<AccessPath>& found_paths() const { return found_paths_; }

 private:
  friend class FrameScope;
  struct VarInfo {
    std::function<ExprDoc()> make;
    std::string name;
  };

  struct DialectId {
    ExprDoc prefix;
    std::unordered_map<std::string, ExprDoc> names;
  };

  Doc AnyToDoc(const ffi::Any& value, const AccessPath& path);
  ExprDoc MapToDoc(const ffi::Map<ffi::Any, ffi::Any>& map, const AccessPath& path);
  Doc ObjectToDoc(const ffi::Object* object, const AccessPath& path);
  ExprDoc Unknown(const ffi::Object* object);
  void Annotate(const StmtDocNode* stmt, const ffi::Object* object, const AccessPath& path);
  void EndFrame(Frame* frame);

  std::vector<Frame*> frames_;
  std::unordered_map<const ffi::Object*, VarInfo> vars_;
  std::unordered_set<std::string> names_;
  /// Last suffix tried per name.
  std::unordered_map<std::string, int> suffixes_;
  std::unordered_map<std::string, DialectId> dialects_;
  std::vector<AccessPath> found_paths_;
  std::map<int, std::string> header_;
  std::map<std::string, std::vector<ffi::Any>> metadata_;
  std::map<std::string, StmtDoc> preamble_;
};

/// Script of a node, or just the name of its type if it cannot be printed.
TVM_DLL ffi::String ReprText(const ffi::ObjectRef& node);

/// Opens a frame for the life of this object. Move the statements out before it ends.
class FrameScope {
 public:
  TVM_DLL FrameScope(IRDocsifier& d, std::string_view token, ffi::ObjectRef owner = {},
                     bool takes_free_vars = false);
  TVM_DLL ~FrameScope();
  FrameScope(const FrameScope&) = delete;
  FrameScope& operator=(const FrameScope&) = delete;
  Frame* operator->() { return &frame_; }
  Frame* get() { return &frame_; }

 private:
  IRDocsifier& d_;
  Frame frame_;
};

/// Registers `Doc fn(const NodeType*, const AccessPath&, IRDocsifier&)` for a node type.
template <typename NodeType, auto fn>
void RegisterPrinter(std::string_view token) {
  IRDocsifier::Register(token, NodeType::RuntimeTypeIndex(),
                        [](const ffi::Object* node, const AccessPath& path, IRDocsifier& d) -> Doc {
                          return fn(static_cast<const NodeType*>(node), path, d);
                        });
}

/// The same, and nodes of the type show as their script in the repr of containers.
template <typename NodeType, auto fn>
void RegisterPrinterAndRepr(std::string_view token) {
  RegisterPrinter<NodeType, fn>(token);
  ffi::reflection::TypeAttrDef<NodeType>().def(
      "__ffi_repr__", [](const ffi::ObjectRef& node, const ffi::Function&) -> ffi::String {
        return ReprText(node);
      });
}

/// Keyword arguments in order, for CallDoc.
struct Kwargs {
  ffi::Array<ffi::String> keys;
  ffi::Array<ExprDoc> values;
  void Add(const char* key, ExprDoc value) {
    keys.push_back(key);
    values.push_back(std::move(value));
  }
};

/// Makes a function's or module's printed name: `cfg->binding_names` for the outermost object.
TVM_DLL ffi::String BindingName(const IRDocsifier& d, const ffi::String& fallback);
/// Entries of a dictionary sorted by key, each key a string literal.
TVM_DLL ExprDoc DictOf(const ffi::Map<ffi::String, ffi::Any>& dict, const AccessPath& path,
                       IRDocsifier& d);
/// Whether text can be used as a name of Python.
TVM_DLL bool IsIdentifier(std::string_view text);

}  // namespace tvm::script::printer
#endif  // TVM_SCRIPT_PRINTER_IR_DOCSIFIER_H_
