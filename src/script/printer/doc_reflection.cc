// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Fields of the docs, and the globals through which other languages build them.
#include <tvm/ffi/error.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/script/printer/doc.h>

#include <string>

namespace tvm::script::printer {

using ffi::Array;
using ffi::Optional;
using ffi::String;
namespace refl = ffi::reflection;

void DocNode::RegisterReflection() {
  refl::ObjectDef<DocNode>().def_rw("source_paths", &DocNode::source_paths,
                                    refl::default_factory([] { return Array<AccessPath>(); }));
}
void ExprDocNode::RegisterReflection() { refl::ObjectDef<ExprDocNode>(); }
void StmtDocNode::RegisterReflection() {
  refl::ObjectDef<StmtDocNode>().def_rw("comment", &StmtDocNode::comment,
                                        refl::default_value(nullptr));
}
void StmtBlockDocNode::RegisterReflection() {
  refl::ObjectDef<StmtBlockDocNode>().def_ro("stmts", &StmtBlockDocNode::stmts);
}
void LiteralDocNode::RegisterReflection() {
  refl::ObjectDef<LiteralDocNode>().def_ro("value", &LiteralDocNode::value);
}
void IdDocNode::RegisterReflection() {
  refl::ObjectDef<IdDocNode>().def_ro("name", &IdDocNode::name);
}
void ExprStringDocNode::RegisterReflection() {
  refl::ObjectDef<ExprStringDocNode>().def_ro("text", &ExprStringDocNode::text);
}
void AttrAccessDocNode::RegisterReflection() {
  refl::ObjectDef<AttrAccessDocNode>()
      .def_ro("value", &AttrAccessDocNode::value)
      .def_ro("name", &AttrAccessDocNode::name);
}
void IndexDocNode::RegisterReflection() {
  refl::ObjectDef<IndexDocNode>()
      .def_ro("value", &IndexDocNode::value)
      .def_ro("indices", &IndexDocNode::indices);
}
void CallDocNode::RegisterReflection() {
  refl::ObjectDef<CallDocNode>()
      .def_ro("callee", &CallDocNode::callee)
      .def_ro("args", &CallDocNode::args)
      .def_ro("kwargs_keys", &CallDocNode::kwargs_keys)
      .def_ro("kwargs_values", &CallDocNode::kwargs_values);
}
void OperationDocNode::RegisterReflection() {
  refl::ObjectDef<OperationDocNode>()
      .def_ro("kind", &OperationDocNode::kind)
      .def_ro("operands", &OperationDocNode::operands);
}
void LambdaDocNode::RegisterReflection() {
  refl::ObjectDef<LambdaDocNode>()
      .def_ro("args", &LambdaDocNode::args)
      .def_ro("body", &LambdaDocNode::body);
}
void TupleDocNode::RegisterReflection() {
  refl::ObjectDef<TupleDocNode>().def_ro("elements", &TupleDocNode::elements);
}
void ListDocNode::RegisterReflection() {
  refl::ObjectDef<ListDocNode>().def_ro("elements", &ListDocNode::elements);
}
void DictDocNode::RegisterReflection() {
  refl::ObjectDef<DictDocNode>()
      .def_ro("keys", &DictDocNode::keys)
      .def_ro("values", &DictDocNode::values);
}
void SliceDocNode::RegisterReflection() {
  refl::ObjectDef<SliceDocNode>()
      .def_ro("start", &SliceDocNode::start)
      .def_ro("stop", &SliceDocNode::stop)
      .def_ro("step", &SliceDocNode::step);
}
void AssignDocNode::RegisterReflection() {
  refl::ObjectDef<AssignDocNode>()
      .def_ro("lhs", &AssignDocNode::lhs)
      .def_ro("rhs", &AssignDocNode::rhs)
      .def_ro("annotation", &AssignDocNode::annotation);
}
void IfDocNode::RegisterReflection() {
  refl::ObjectDef<IfDocNode>()
      .def_ro("predicate", &IfDocNode::predicate)
      .def_ro("then_branch", &IfDocNode::then_branch)
      .def_ro("else_branch", &IfDocNode::else_branch);
}
void WhileDocNode::RegisterReflection() {
  refl::ObjectDef<WhileDocNode>()
      .def_ro("predicate", &WhileDocNode::predicate)
      .def_ro("body", &WhileDocNode::body);
}
void ForDocNode::RegisterReflection() {
  refl::ObjectDef<ForDocNode>()
      .def_ro("lhs", &ForDocNode::lhs)
      .def_ro("rhs", &ForDocNode::rhs)
      .def_ro("body", &ForDocNode::body);
}
void ScopeDocNode::RegisterReflection() {
  refl::ObjectDef<ScopeDocNode>()
      .def_ro("lhs", &ScopeDocNode::lhs)
      .def_ro("rhs", &ScopeDocNode::rhs)
      .def_ro("body", &ScopeDocNode::body);
}
void ExprStmtDocNode::RegisterReflection() {
  refl::ObjectDef<ExprStmtDocNode>().def_ro("expr", &ExprStmtDocNode::expr);
}
void AssertDocNode::RegisterReflection() {
  refl::ObjectDef<AssertDocNode>()
      .def_ro("test", &AssertDocNode::test)
      .def_ro("msg", &AssertDocNode::msg);
}
void ReturnDocNode::RegisterReflection() {
  refl::ObjectDef<ReturnDocNode>().def_ro("value", &ReturnDocNode::value);
}
void BreakDocNode::RegisterReflection() { refl::ObjectDef<BreakDocNode>(); }
void ContinueDocNode::RegisterReflection() { refl::ObjectDef<ContinueDocNode>(); }
void FunctionDocNode::RegisterReflection() {
  refl::ObjectDef<FunctionDocNode>()
      .def_ro("name", &FunctionDocNode::name)
      .def_ro("args", &FunctionDocNode::args)
      .def_ro("decorators", &FunctionDocNode::decorators)
      .def_ro("return_type", &FunctionDocNode::return_type)
      .def_ro("body", &FunctionDocNode::body)
      .def_ro("type_params", &FunctionDocNode::type_params);
}
void ClassDocNode::RegisterReflection() {
  refl::ObjectDef<ClassDocNode>()
      .def_ro("name", &ClassDocNode::name)
      .def_ro("decorators", &ClassDocNode::decorators)
      .def_ro("body", &ClassDocNode::body);
}
void CommentDocNode::RegisterReflection() { refl::ObjectDef<CommentDocNode>(); }
void DocStringDocNode::RegisterReflection() { refl::ObjectDef<DocStringDocNode>(); }
void OpCallDocNode::RegisterReflection() {
  refl::ObjectDef<OpCallDocNode>()
      .def_ro("callee", &OpCallDocNode::callee)
      .def_ro("args", &OpCallDocNode::args)
      .def_ro("workspace", &OpCallDocNode::workspace)
      .def_ro("config", &OpCallDocNode::config)
      .def_ro("dispatch", &OpCallDocNode::dispatch);
}

namespace {

template <typename... Nodes>
void RegisterAll() {
  (Nodes::RegisterReflection(), ...);
}

void RegisterExprGlobals() {
  refl::GlobalDef()
      .def("script.printer.LiteralDocNone",
           [](Optional<AccessPath> path) { return LiteralDoc::None(path); })
      .def("script.printer.LiteralDocInt", LiteralDoc::Int)
      .def("script.printer.LiteralDocBoolean", LiteralDoc::Boolean)
      .def("script.printer.LiteralDocFloat", LiteralDoc::Float)
      .def("script.printer.LiteralDocStr", LiteralDoc::Str)
      .def("script.printer.IdDoc", [](String name) { return IdDoc(name); })
      .def("script.printer.ExprStringDoc", [](String text) { return ExprStringDoc(text); })
      .def("script.printer.AttrAccessDoc",
           [](ExprDoc value, String name) { return AttrAccessDoc(value, name); })
      .def("script.printer.IndexDoc",
           [](ExprDoc value, Array<Doc> indices) { return IndexDoc(value, indices); })
      .def("script.printer.CallDoc",
           [](ExprDoc callee, Array<ExprDoc> args, Array<String> keys, Array<ExprDoc> values) {
             return CallDoc(callee, args, keys, values);
           })
      .def("script.printer.OperationDoc",
           [](int32_t kind, Array<ExprDoc> operands) {
             return OperationDoc(static_cast<OperationKind>(kind), operands);
           })
      .def("script.printer.LambdaDoc",
           [](Array<IdDoc> args, ExprDoc body) { return LambdaDoc(args, body); })
      .def("script.printer.TupleDoc", [](Array<ExprDoc> elements) { return TupleDoc(elements); })
      .def("script.printer.ListDoc", [](Array<ExprDoc> elements) { return ListDoc(elements); })
      .def("script.printer.DictDoc",
           [](Array<ExprDoc> keys, Array<ExprDoc> values) { return DictDoc(keys, values); })
      .def("script.printer.SliceDoc",
           [](Optional<ExprDoc> start, Optional<ExprDoc> stop, Optional<ExprDoc> step) {
             return SliceDoc(start, stop, step);
           })
      .def("script.printer.ExprDocAttr",
           [](ExprDoc value, String name) { return value.Attr(name); })
      .def("script.printer.ExprDocIndex",
           [](ExprDoc value, Array<Doc> indices) { return value[indices]; })
      .def("script.printer.ExprDocCall",
           [](ExprDoc callee, Array<ExprDoc> args, Array<String> keys, Array<ExprDoc> values) {
             return callee.Call(args, keys, values);
           })
      .def("script.printer.DocSourcePaths", [](Doc doc) { return doc->source_paths; })
      .def("script.printer.DocSetSourcePaths",
           [](Doc doc, Array<AccessPath> paths) { doc->source_paths = paths; });
}

void SetComment(const StmtDoc& doc, const Optional<String>& comment) {
  const bool any_lines = doc->IsInstance<CommentDocNode>() || doc->IsInstance<DocStringDocNode>() ||
                         doc->IsInstance<FunctionDocNode>() || doc->IsInstance<ClassDocNode>();
  if (comment.has_value() && !any_lines) {
    std::string text(comment.value());
    TVM_FFI_CHECK(text.find('\n') == std::string::npos, ValueError)
        << "the comment of a statement must be one line, found a line break";
  }
  doc->comment = comment;
}

void RegisterStmtGlobals() {
  refl::GlobalDef()
      .def("script.printer.StmtDocSetComment", SetComment)
      .def("script.printer.StmtDocComment", [](StmtDoc doc) { return doc->comment; })
      .def("script.printer.StmtBlockDoc", [](Array<StmtDoc> s) { return StmtBlockDoc(s); })
      .def("script.printer.AssignDoc",
           [](ExprDoc lhs, Optional<ExprDoc> rhs, Optional<ExprDoc> annotation) {
             return AssignDoc(lhs, rhs, annotation);
           })
      .def("script.printer.IfDoc",
           [](ExprDoc predicate, Array<StmtDoc> then_branch, Array<StmtDoc> else_branch) {
             return IfDoc(predicate, then_branch, else_branch);
           })
      .def("script.printer.WhileDoc",
           [](ExprDoc predicate, Array<StmtDoc> body) { return WhileDoc(predicate, body); })
      .def("script.printer.ForDoc",
           [](ExprDoc lhs, ExprDoc rhs, Array<StmtDoc> body) { return ForDoc(lhs, rhs, body); })
      .def("script.printer.ScopeDoc", [](Optional<ExprDoc> lhs, ExprDoc rhs,
                                         Array<StmtDoc> body) { return ScopeDoc(lhs, rhs, body); })
      .def("script.printer.ExprStmtDoc", [](ExprDoc expr) { return ExprStmtDoc(expr); })
      .def("script.printer.AssertDoc",
           [](ExprDoc test, Optional<ExprDoc> msg) { return AssertDoc(test, msg); })
      .def("script.printer.ReturnDoc", [](ExprDoc value) { return ReturnDoc(value); })
      .def("script.printer.BreakDoc", BreakDoc::Make)
      .def("script.printer.ContinueDoc", ContinueDoc::Make)
      .def(
          "script.printer.FunctionDoc",
          [](IdDoc name, Array<AssignDoc> args, Array<ExprDoc> decorators,
             Optional<ExprDoc> return_type, Array<StmtDoc> body, Optional<Array<Doc>> type_params) {
            return FunctionDoc(name, args, decorators, return_type, body,
                               type_params.value_or(Array<Doc>()));
          })
      .def("script.printer.ClassDoc",
           [](IdDoc name, Array<ExprDoc> decorators, Array<StmtDoc> body) {
             return ClassDoc(name, decorators, body);
           })
      .def("script.printer.CommentDoc", [](String text) { return CommentDoc(text); })
      .def("script.printer.DocStringDoc", [](String text) { return DocStringDoc(text); })
      .def("script.printer.OpCallDoc",
           [](ExprDoc callee, Array<ExprDoc> args, Optional<ExprDoc> workspace,
              Optional<ExprDoc> config, Optional<ExprDoc> dispatch) {
             return OpCallDoc(callee, args, workspace, config, dispatch);
           });
}

}  // namespace

TVM_FFI_STATIC_INIT_BLOCK() {
  RegisterAll<DocNode, ExprDocNode, StmtDocNode, StmtBlockDocNode, LiteralDocNode, IdDocNode,
              ExprStringDocNode, AttrAccessDocNode, IndexDocNode, CallDocNode, OperationDocNode,
              LambdaDocNode, TupleDocNode, ListDocNode, DictDocNode, SliceDocNode, AssignDocNode,
              IfDocNode, WhileDocNode, ForDocNode, ScopeDocNode, ExprStmtDocNode, AssertDocNode,
              ReturnDocNode, BreakDocNode, ContinueDocNode, FunctionDocNode, ClassDocNode,
              CommentDocNode, DocStringDocNode, OpCallDocNode>();
  RegisterExprGlobals();
  RegisterStmtGlobals();
}

}  // namespace tvm::script::printer
