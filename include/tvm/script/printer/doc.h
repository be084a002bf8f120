// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Docs: the syntax tree of Python that IR is translated to before it becomes text.
#ifndef TVM_SCRIPT_PRINTER_DOC_H_
#define TVM_SCRIPT_PRINTER_DOC_H_

#include <tvm/ffi/any.h>
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/container/map.h>
#include <tvm/ffi/memory.h>
#include <tvm/ffi/object.h>
#include <tvm/ffi/optional.h>
#include <tvm/ffi/reflection/access_path.h>
#include <tvm/ffi/string.h>
#include <tvm/runtime/base.h>
#include <tvm/runtime/data_type.h>

#include <type_traits>
#include <utility>

namespace tvm::script::printer {

using ffi::reflection::AccessPath;

/// Base of all docs. `source_paths` are the places in the printed object that the doc shows.
class DocNode : public ffi::Object {
 public:
  mutable ffi::Array<AccessPath> source_paths;

  static void RegisterReflection();
  static constexpr bool _type_mutable = true;
  static constexpr uint32_t _type_child_slots = 40;
  TVM_FFI_DECLARE_OBJECT_INFO("script.printer.Doc", DocNode, ffi::Object);
};

class Doc : public ffi::ObjectRef {
 public:
  /// Adds a source path and returns the same doc.
  template <typename DocRef>
  static DocRef At(DocRef doc, const AccessPath& path) {
    doc->source_paths.push_back(path);
    return doc;
  }
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(Doc, ffi::ObjectRef, DocNode);
};

class ExprDocNode : public DocNode {
 public:
  static void RegisterReflection();
  static constexpr uint32_t _type_child_slots = 20;
  TVM_FFI_DECLARE_OBJECT_INFO("script.printer.ExprDoc", ExprDocNode, DocNode);
};

class ExprDoc : public Doc {
 public:
  /// doc.name
  TVM_DLL ExprDoc Attr(ffi::String name) const;
  /// doc[indices]
  TVM_DLL ExprDoc operator[](ffi::Array<Doc> indices) const;
  /// doc(args..., keys[i]=values[i]...). (A template because Array needs the complete class.)
  template <typename E = ExprDoc>
  E Call(std::type_identity_t<ffi::Array<E>> args,
         std::type_identity_t<ffi::Array<ffi::String>> kwargs_keys = {},
         std::type_identity_t<ffi::Array<E>> kwargs_values = {}) const {
    return MakeCall(*this, std::move(args), std::move(kwargs_keys), std::move(kwargs_values));
  }
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(ExprDoc, Doc, ExprDocNode);

 private:
  template <typename Args>
  static ExprDoc MakeCall(ExprDoc callee, Args args, ffi::Array<ffi::String> keys, Args values);
};

class StmtDocNode : public DocNode {
 public:
  /// One line, printed behind (or above, for a block) the statement.
  mutable ffi::Optional<ffi::String> comment;

  static void RegisterReflection();
  static constexpr uint32_t _type_child_slots = 20;
  TVM_FFI_DECLARE_OBJECT_INFO("script.printer.StmtDoc", StmtDocNode, DocNode);
};

class StmtDoc : public Doc {
 public:
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(StmtDoc, Doc, StmtDocNode);
};

/// Members that every concrete doc has.
#define TVM_SCRIPT_DOC_NODE(Name, Parent) \
  static void RegisterReflection();       \
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("script.printer." #Name, Name##Node, Parent##Node)
#define TVM_SCRIPT_DOC_REF(Name, Parent) \
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(Name, Parent, Name##Node)

/// Several statements in a row, without a line of its own.
class StmtBlockDocNode : public StmtDocNode {
 public:
  ffi::Array<StmtDoc> stmts;
  TVM_SCRIPT_DOC_NODE(StmtBlockDoc, StmtDoc);
};

class StmtBlockDoc : public StmtDoc {
 public:
  TVM_DLL explicit StmtBlockDoc(ffi::Array<StmtDoc> stmts);
  TVM_SCRIPT_DOC_REF(StmtBlockDoc, StmtDoc);
};

/// None, bool, int, float or str.
class LiteralDocNode : public ExprDocNode {
 public:
  ffi::Any value;
  TVM_SCRIPT_DOC_NODE(LiteralDoc, ExprDoc);
};

class LiteralDoc : public ExprDoc {
 public:
  TVM_DLL explicit LiteralDoc(ffi::Any value, const ffi::Optional<AccessPath>& path = std::nullopt);
  static LiteralDoc None(const ffi::Optional<AccessPath>& path = std::nullopt) {
    return LiteralDoc(ffi::Any(nullptr), path);
  }
  static LiteralDoc Int(int64_t value, const ffi::Optional<AccessPath>& path = std::nullopt) {
    return LiteralDoc(ffi::Any(value), path);
  }
  static LiteralDoc Boolean(bool value, const ffi::Optional<AccessPath>& path = std::nullopt) {
    return LiteralDoc(ffi::Any(value), path);
  }
  static LiteralDoc Float(double value, const ffi::Optional<AccessPath>& path = std::nullopt) {
    return LiteralDoc(ffi::Any(value), path);
  }
  static LiteralDoc Str(ffi::String value, const ffi::Optional<AccessPath>& path = std::nullopt) {
    return LiteralDoc(ffi::Any(std::move(value)), path);
  }
  /// The text of a dtype, "void" for void.
  TVM_DLL static LiteralDoc DType(DataType dtype,
                                  const ffi::Optional<AccessPath>& path = std::nullopt);
  TVM_SCRIPT_DOC_REF(LiteralDoc, ExprDoc);
};

class IdDocNode : public ExprDocNode {
 public:
  ffi::String name;
  TVM_SCRIPT_DOC_NODE(IdDoc, ExprDoc);
};

class IdDoc : public ExprDoc {
 public:
  TVM_DLL explicit IdDoc(ffi::String name);
  TVM_SCRIPT_DOC_REF(IdDoc, ExprDoc);
};

/// Text that is printed as it stands and binds like an atom.
class ExprStringDocNode : public ExprDocNode {
 public:
  ffi::String text;
  TVM_SCRIPT_DOC_NODE(ExprStringDoc, ExprDoc);
};

class ExprStringDoc : public ExprDoc {
 public:
  TVM_DLL explicit ExprStringDoc(ffi::String text);
  TVM_SCRIPT_DOC_REF(ExprStringDoc, ExprDoc);
};

class AttrAccessDocNode : public ExprDocNode {
 public:
  ExprDoc value;
  ffi::String name;
  TVM_SCRIPT_DOC_NODE(AttrAccessDoc, ExprDoc);
};

class AttrAccessDoc : public ExprDoc {
 public:
  TVM_DLL AttrAccessDoc(ExprDoc value, ffi::String name);
  TVM_SCRIPT_DOC_REF(AttrAccessDoc, ExprDoc);
};

/// value[indices]; an index is an ExprDoc or a SliceDoc.
class IndexDocNode : public ExprDocNode {
 public:
  ExprDoc value;
  ffi::Array<Doc> indices;
  TVM_SCRIPT_DOC_NODE(IndexDoc, ExprDoc);
};

class IndexDoc : public ExprDoc {
 public:
  TVM_DLL IndexDoc(ExprDoc value, ffi::Array<Doc> indices);
  TVM_SCRIPT_DOC_REF(IndexDoc, ExprDoc);
};

class CallDocNode : public ExprDocNode {
 public:
  ExprDoc callee;
  ffi::Array<ExprDoc> args;
  ffi::Array<ffi::String> kwargs_keys;
  ffi::Array<ExprDoc> kwargs_values;
  TVM_SCRIPT_DOC_NODE(CallDoc, ExprDoc);
};

class CallDoc : public ExprDoc {
 public:
  TVM_DLL CallDoc(ExprDoc callee, ffi::Array<ExprDoc> args,
                  ffi::Array<ffi::String> kwargs_keys = {}, ffi::Array<ExprDoc> kwargs_values = {});
  TVM_SCRIPT_DOC_REF(CallDoc, ExprDoc);
};

template <typename Args>
ExprDoc ExprDoc::MakeCall(ExprDoc callee, Args args, ffi::Array<ffi::String> keys, Args values) {
  return CallDoc(std::move(callee), std::move(args), std::move(keys), std::move(values));
}

/// Operators of Python. The values are part of the public interface.
enum class OperationKind : int32_t {
  kUnaryStart = 0,
  kUSub = 1,
  kInvert = 2,
  kNot = 3,
  kUnaryEnd = 4,
  kBinaryStart = 5,
  kAdd = 6,
  kSub = 7,
  kMult = 8,
  kDiv = 9,
  kFloorDiv = 10,
  kMod = 11,
  kPow = 12,
  kLShift = 13,
  kRShift = 14,
  kBitAnd = 15,
  kBitOr = 16,
  kBitXor = 17,
  kLt = 18,
  kLtE = 19,
  kEq = 20,
  kNotEq = 21,
  kGt = 22,
  kGtE = 23,
  kAnd = 24,
  kOr = 25,
  kMatMul = 26,
  kBinaryEnd = 27,
  kSpecialStart = 28,
  /// Operands: condition, then, else.
  kIfThenElse = 29,
  kSpecialEnd = 30,
};

class OperationDocNode : public ExprDocNode {
 public:
  using Kind = OperationKind;
  OperationKind kind = OperationKind::kAdd;
  ffi::Array<ExprDoc> operands;
  TVM_SCRIPT_DOC_NODE(OperationDoc, ExprDoc);
};

class OperationDoc : public ExprDoc {
 public:
  TVM_DLL OperationDoc(OperationKind kind, ffi::Array<ExprDoc> operands);
  TVM_SCRIPT_DOC_REF(OperationDoc, ExprDoc);
};

class LambdaDocNode : public ExprDocNode {
 public:
  ffi::Array<IdDoc> args;
  ExprDoc body;
  TVM_SCRIPT_DOC_NODE(LambdaDoc, ExprDoc);
};

class LambdaDoc : public ExprDoc {
 public:
  TVM_DLL LambdaDoc(ffi::Array<IdDoc> args, ExprDoc body);
  TVM_SCRIPT_DOC_REF(LambdaDoc, ExprDoc);
};

class TupleDocNode : public ExprDocNode {
 public:
  ffi::Array<ExprDoc> elements;
  TVM_SCRIPT_DOC_NODE(TupleDoc, ExprDoc);
};

class TupleDoc : public ExprDoc {
 public:
  TVM_DLL explicit TupleDoc(ffi::Array<ExprDoc> elements);
  TVM_SCRIPT_DOC_REF(TupleDoc, ExprDoc);
};

class ListDocNode : public ExprDocNode {
 public:
  ffi::Array<ExprDoc> elements;
  TVM_SCRIPT_DOC_NODE(ListDoc, ExprDoc);
};

class ListDoc : public ExprDoc {
 public:
  TVM_DLL explicit ListDoc(ffi::Array<ExprDoc> elements);
  TVM_SCRIPT_DOC_REF(ListDoc, ExprDoc);
};

class DictDocNode : public ExprDocNode {
 public:
  ffi::Array<ExprDoc> keys;
  ffi::Array<ExprDoc> values;
  TVM_SCRIPT_DOC_NODE(DictDoc, ExprDoc);
};

class DictDoc : public ExprDoc {
 public:
  TVM_DLL DictDoc(ffi::Array<ExprDoc> keys, ffi::Array<ExprDoc> values);
  TVM_SCRIPT_DOC_REF(DictDoc, ExprDoc);
};

/// start:stop:step inside an index.
class SliceDocNode : public DocNode {
 public:
  ffi::Optional<ExprDoc> start;
  ffi::Optional<ExprDoc> stop;
  ffi::Optional<ExprDoc> step;
  TVM_SCRIPT_DOC_NODE(SliceDoc, Doc);
};

class SliceDoc : public Doc {
 public:
  TVM_DLL SliceDoc(ffi::Optional<ExprDoc> start, ffi::Optional<ExprDoc> stop,
                   ffi::Optional<ExprDoc> step = std::nullopt);
  TVM_SCRIPT_DOC_REF(SliceDoc, Doc);
};

/// lhs: annotation = rhs; at least one of the two is given.
class AssignDocNode : public StmtDocNode {
 public:
  ExprDoc lhs;
  ffi::Optional<ExprDoc> rhs;
  ffi::Optional<ExprDoc> annotation;
  TVM_SCRIPT_DOC_NODE(AssignDoc, StmtDoc);
};

class AssignDoc : public StmtDoc {
 public:
  TVM_DLL AssignDoc(ExprDoc lhs, ffi::Optional<ExprDoc> rhs,
                    ffi::Optional<ExprDoc> annotation = std::nullopt);
  TVM_SCRIPT_DOC_REF(AssignDoc, StmtDoc);
};

class IfDocNode : public StmtDocNode {
 public:
  ExprDoc predicate;
  ffi::Array<StmtDoc> then_branch;
  ffi::Array<StmtDoc> else_branch;
  TVM_SCRIPT_DOC_NODE(IfDoc, StmtDoc);
};

class IfDoc : public StmtDoc {
 public:
  TVM_DLL IfDoc(ExprDoc predicate, ffi::Array<StmtDoc> then_branch,
                ffi::Array<StmtDoc> else_branch);
  TVM_SCRIPT_DOC_REF(IfDoc, StmtDoc);
};

class WhileDocNode : public StmtDocNode {
 public:
  ExprDoc predicate;
  ffi::Array<StmtDoc> body;
  TVM_SCRIPT_DOC_NODE(WhileDoc, StmtDoc);
};

class WhileDoc : public StmtDoc {
 public:
  TVM_DLL WhileDoc(ExprDoc predicate, ffi::Array<StmtDoc> body);
  TVM_SCRIPT_DOC_REF(WhileDoc, StmtDoc);
};

/// for lhs in rhs: body
class ForDocNode : public StmtDocNode {
 public:
  ExprDoc lhs;
  ExprDoc rhs;
  ffi::Array<StmtDoc> body;
  TVM_SCRIPT_DOC_NODE(ForDoc, StmtDoc);
};

class ForDoc : public StmtDoc {
 public:
  TVM_DLL ForDoc(ExprDoc lhs, ExprDoc rhs, ffi::Array<StmtDoc> body);
  TVM_SCRIPT_DOC_REF(ForDoc, StmtDoc);
};

/// with rhs as lhs: body
class ScopeDocNode : public StmtDocNode {
 public:
  ffi::Optional<ExprDoc> lhs;
  ExprDoc rhs;
  ffi::Array<StmtDoc> body;
  TVM_SCRIPT_DOC_NODE(ScopeDoc, StmtDoc);
};

class ScopeDoc : public StmtDoc {
 public:
  TVM_DLL ScopeDoc(ffi::Optional<ExprDoc> lhs, ExprDoc rhs, ffi::Array<StmtDoc> body);
  ScopeDoc(ExprDoc rhs, ffi::Array<StmtDoc> body)
      : ScopeDoc(std::nullopt, std::move(rhs), std::move(body)) {}
  TVM_SCRIPT_DOC_REF(ScopeDoc, StmtDoc);
};

class ExprStmtDocNode : public StmtDocNode {
 public:
  ExprDoc expr;
  TVM_SCRIPT_DOC_NODE(ExprStmtDoc, StmtDoc);
};

class ExprStmtDoc : public StmtDoc {
 public:
  TVM_DLL explicit ExprStmtDoc(ExprDoc expr);
  TVM_SCRIPT_DOC_REF(ExprStmtDoc, StmtDoc);
};

class AssertDocNode : public StmtDocNode {
 public:
  ExprDoc test;
  ffi::Optional<ExprDoc> msg;
  TVM_SCRIPT_DOC_NODE(AssertDoc, StmtDoc);
};

class AssertDoc : public StmtDoc {
 public:
  TVM_DLL explicit AssertDoc(ExprDoc test, ffi::Optional<ExprDoc> msg = std::nullopt);
  TVM_SCRIPT_DOC_REF(AssertDoc, StmtDoc);
};

class ReturnDocNode : public StmtDocNode {
 public:
  ExprDoc value;
  TVM_SCRIPT_DOC_NODE(ReturnDoc, StmtDoc);
};

class ReturnDoc : public StmtDoc {
 public:
  TVM_DLL explicit ReturnDoc(ExprDoc value);
  TVM_SCRIPT_DOC_REF(ReturnDoc, StmtDoc);
};

class BreakDocNode : public StmtDocNode {
 public:
  TVM_SCRIPT_DOC_NODE(BreakDoc, StmtDoc);
};

class BreakDoc : public StmtDoc {
 public:
  TVM_DLL static BreakDoc Make();
  TVM_SCRIPT_DOC_REF(BreakDoc, StmtDoc);
};

class ContinueDocNode : public StmtDocNode {
 public:
  TVM_SCRIPT_DOC_NODE(ContinueDoc, StmtDoc);
};

class ContinueDoc : public StmtDoc {
 public:
  TVM_DLL static ContinueDoc Make();
  TVM_SCRIPT_DOC_REF(ContinueDoc, StmtDoc);
};

class FunctionDocNode : public StmtDocNode {
 public:
  IdDoc name;
  ffi::Array<AssignDoc> args;
  ffi::Array<ExprDoc> decorators;
  ffi::Optional<ExprDoc> return_type;
  ffi::Array<StmtDoc> body;
  /// PEP 695 type parameters, `def f[n, m](...)`.
  ffi::Array<Doc> type_params;
  TVM_SCRIPT_DOC_NODE(FunctionDoc, StmtDoc);
};

class FunctionDoc : public StmtDoc {
 public:
  TVM_DLL FunctionDoc(IdDoc name, ffi::Array<AssignDoc> args, ffi::Array<ExprDoc> decorators,
                      ffi::Optional<ExprDoc> return_type, ffi::Array<StmtDoc> body,
                      ffi::Array<Doc> type_params = {});
  TVM_SCRIPT_DOC_REF(FunctionDoc, StmtDoc);
};

class ClassDocNode : public StmtDocNode {
 public:
  IdDoc name;
  ffi::Array<ExprDoc> decorators;
  ffi::Array<StmtDoc> body;
  TVM_SCRIPT_DOC_NODE(ClassDoc, StmtDoc);
};

class ClassDoc : public StmtDoc {
 public:
  TVM_DLL ClassDoc(IdDoc name, ffi::Array<ExprDoc> decorators, ffi::Array<StmtDoc> body);
  TVM_SCRIPT_DOC_REF(ClassDoc, StmtDoc);
};

/// A line (or lines) of comment; the text is `comment` of the base.
class CommentDocNode : public StmtDocNode {
 public:
  TVM_SCRIPT_DOC_NODE(CommentDoc, StmtDoc);
};

class CommentDoc : public StmtDoc {
 public:
  TVM_DLL explicit CommentDoc(ffi::String comment);
  TVM_SCRIPT_DOC_REF(CommentDoc, StmtDoc);
};

/// """text"""; the text is `comment` of the base.
class DocStringDocNode : public StmtDocNode {
 public:
  TVM_SCRIPT_DOC_NODE(DocStringDoc, StmtDoc);
};

class DocStringDoc : public StmtDoc {
 public:
  TVM_DLL explicit DocStringDoc(ffi::String docs);
  TVM_SCRIPT_DOC_REF(DocStringDoc, StmtDoc);
};

/// A tile primitive: callee(args..., workspace={..}, dispatch=.., config...). Each part may be
/// empty.
class OpCallDocNode : public StmtDocNode {
 public:
  ExprDoc callee;
  ffi::Array<ExprDoc> args;
  ffi::Optional<ExprDoc> workspace;
  /// A DictDoc whose string keys become keywords.
  ffi::Optional<ExprDoc> config;
  ffi::Optional<ExprDoc> dispatch;
  TVM_SCRIPT_DOC_NODE(OpCallDoc, StmtDoc);
};

class OpCallDoc : public StmtDoc {
 public:
  TVM_DLL OpCallDoc(ExprDoc callee, ffi::Array<ExprDoc> args, ffi::Optional<ExprDoc> workspace,
                    ffi::Optional<ExprDoc> config, ffi::Optional<ExprDoc> dispatch);
  TVM_SCRIPT_DOC_REF(OpCallDoc, StmtDoc);
};

#undef TVM_SCRIPT_DOC_NODE
#undef TVM_SCRIPT_DOC_REF

}  // namespace tvm::script::printer
#endif  // TVM_SCRIPT_PRINTER_DOC_H_
