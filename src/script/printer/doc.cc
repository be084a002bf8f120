// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include <tvm/ffi/error.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/script/printer/doc.h>

#include <string_view>

namespace tvm::script::printer {

using ffi::Array;
using ffi::Optional;
using ffi::String;
namespace refl = ffi::reflection;

namespace {

/// A doc that must be there; the message says where it is missing.
template <typename DocRef>
void Require(const DocRef& doc, const char* where) {
  TVM_FFI_CHECK(doc.defined(), ValueError) << where << " must be a doc, found None";
}

}  // namespace

StmtBlockDoc::StmtBlockDoc(Array<StmtDoc> stmts) {
  auto node = ffi::make_object<StmtBlockDocNode>();
  node->stmts = std::move(stmts);
  data_ = std::move(node);
}

LiteralDoc::LiteralDoc(ffi::Any value, const Optional<AccessPath>& path) {
  auto node = ffi::make_object<LiteralDocNode>();
  node->value = std::move(value);
  if (path.has_value()) node->source_paths.push_back(*path);
  data_ = std::move(node);
}

LiteralDoc LiteralDoc::DType(DataType dtype, const Optional<AccessPath>& path) {
  return LiteralDoc::Str(dtype.is_void() ? String("void") : String(dtype.ToString()), path);
}

IdDoc::IdDoc(String name) {
  auto node = ffi::make_object<IdDocNode>();
  node->name = std::move(name);
  data_ = std::move(node);
}

ExprStringDoc::ExprStringDoc(String text) {
  auto node = ffi::make_object<ExprStringDocNode>();
  node->text = std::move(text);
  data_ = std::move(node);
}

AttrAccessDoc::AttrAccessDoc(ExprDoc value, String name) {
  Require(value, "AttrAccessDoc.value");
  auto node = ffi::make_object<AttrAccessDocNode>();
  node->value = std::move(value);
  node->name = std::move(name);
  data_ = std::move(node);
}

IndexDoc::IndexDoc(ExprDoc value, Array<Doc> indices) {
  Require(value, "IndexDoc.value");
  auto node = ffi::make_object<IndexDocNode>();
  node->value = std::move(value);
  node->indices = std::move(indices);
  data_ = std::move(node);
}

CallDoc::CallDoc(ExprDoc callee, Array<ExprDoc> args, Array<String> kwargs_keys,
                 Array<ExprDoc> kwargs_values) {
  Require(callee, "CallDoc.callee");
  TVM_FFI_CHECK(kwargs_keys.size() == kwargs_values.size(), ValueError)
      << "CallDoc has " << kwargs_keys.size() << " keywords but " << kwargs_values.size()
      << " keyword values";
  auto node = ffi::make_object<CallDocNode>();
  node->callee = std::move(callee);
  node->args = std::move(args);
  node->kwargs_keys = std::move(kwargs_keys);
  node->kwargs_values = std::move(kwargs_values);
  data_ = std::move(node);
}

OperationDoc::OperationDoc(OperationKind kind, Array<ExprDoc> operands) {
  size_t want = 0;
  if (kind > OperationKind::kUnaryStart && kind < OperationKind::kUnaryEnd) want = 1;
  if (kind > OperationKind::kBinaryStart && kind < OperationKind::kBinaryEnd) want = 2;
  if (kind == OperationKind::kIfThenElse) want = 3;
  TVM_FFI_CHECK(want != 0, ValueError)
      << "OperationDoc: unknown operation kind " << static_cast<int>(kind);
  TVM_FFI_CHECK(operands.size() == want, ValueError)
      << "OperationDoc of kind " << static_cast<int>(kind) << " takes " << want
      << " operands, found " << operands.size();
  auto node = ffi::make_object<OperationDocNode>();
  node->kind = kind;
  node->operands = std::move(operands);
  data_ = std::move(node);
}

LambdaDoc::LambdaDoc(Array<IdDoc> args, ExprDoc body) {
  Require(body, "LambdaDoc.body");
  auto node = ffi::make_object<LambdaDocNode>();
  node->args = std::move(args);
  node->body = std::move(body);
  data_ = std::move(node);
}

TupleDoc::TupleDoc(Array<ExprDoc> elements) {
  auto node = ffi::make_object<TupleDocNode>();
  node->elements = std::move(elements);
  data_ = std::move(node);
}

ListDoc::ListDoc(Array<ExprDoc> elements) {
  auto node = ffi::make_object<ListDocNode>();
  node->elements = std::move(elements);
  data_ = std::move(node);
}

DictDoc::DictDoc(Array<ExprDoc> keys, Array<ExprDoc> values) {
  TVM_FFI_CHECK(keys.size() == values.size(), ValueError)
      << "DictDoc has " << keys.size() << " keys but " << values.size() << " values";
  auto node = ffi::make_object<DictDocNode>();
  node->keys = std::move(keys);
  node->values = std::move(values);
  data_ = std::move(node);
}

SliceDoc::SliceDoc(Optional<ExprDoc> start, Optional<ExprDoc> stop, Optional<ExprDoc> step) {
  auto node = ffi::make_object<SliceDocNode>();
  node->start = std::move(start);
  node->stop = std::move(stop);
  node->step = std::move(step);
  data_ = std::move(node);
}

AssignDoc::AssignDoc(ExprDoc lhs, Optional<ExprDoc> rhs, Optional<ExprDoc> annotation) {
  Require(lhs, "AssignDoc.lhs");
  TVM_FFI_CHECK(rhs.has_value() || annotation.has_value(), ValueError)
      << "AssignDoc needs a value or an annotation";
  TVM_FFI_CHECK(!annotation.has_value() || !lhs->IsInstance<TupleDocNode>(), ValueError)
      << "AssignDoc: a tuple on the left side cannot be annotated";
  auto node = ffi::make_object<AssignDocNode>();
  node->lhs = std::move(lhs);
  node->rhs = std::move(rhs);
  node->annotation = std::move(annotation);
  data_ = std::move(node);
}

IfDoc::IfDoc(ExprDoc predicate, Array<StmtDoc> then_branch, Array<StmtDoc> else_branch) {
  Require(predicate, "IfDoc.predicate");
  TVM_FFI_CHECK(!then_branch.empty() || !else_branch.empty(), ValueError)
      << "IfDoc: both branches are empty";
  auto node = ffi::make_object<IfDocNode>();
  node->predicate = std::move(predicate);
  node->then_branch = std::move(then_branch);
  node->else_branch = std::move(else_branch);
  data_ = std::move(node);
}

WhileDoc::WhileDoc(ExprDoc predicate, Array<StmtDoc> body) {
  Require(predicate, "WhileDoc.predicate");
  auto node = ffi::make_object<WhileDocNode>();
  node->predicate = std::move(predicate);
  node->body = std::move(body);
  data_ = std::move(node);
}

ForDoc::ForDoc(ExprDoc lhs, ExprDoc rhs, Array<StmtDoc> body) {
  Require(lhs, "ForDoc.lhs");
  Require(rhs, "ForDoc.rhs");
  auto node = ffi::make_object<ForDocNode>();
  node->lhs = std::move(lhs);
  node->rhs = std::move(rhs);
  node->body = std::move(body);
  data_ = std::move(node);
}

ScopeDoc::ScopeDoc(Optional<ExprDoc> lhs, ExprDoc rhs, Array<StmtDoc> body) {
  Require(rhs, "ScopeDoc.rhs");
  auto node = ffi::make_object<ScopeDocNode>();
  node->lhs = std::move(lhs);
  node->rhs = std::move(rhs);
  node->body = std::move(body);
  data_ = std::move(node);
}

ExprStmtDoc::ExprStmtDoc(ExprDoc expr) {
  Require(expr, "ExprStmtDoc.expr");
  auto node = ffi::make_object<ExprStmtDocNode>();
  node->expr = std::move(expr);
  data_ = std::move(node);
}

AssertDoc::AssertDoc(ExprDoc test, Optional<ExprDoc> msg) {
  Require(test, "AssertDoc.test");
  auto node = ffi::make_object<AssertDocNode>();
  node->test = std::move(test);
  node->msg = std::move(msg);
  data_ = std::move(node);
}

ReturnDoc::ReturnDoc(ExprDoc value) {
  Require(value, "ReturnDoc.value");
  auto node = ffi::make_object<ReturnDocNode>();
  node->value = std::move(value);
  data_ = std::move(node);
}

BreakDoc BreakDoc::Make() { return BreakDoc(ffi::make_object<BreakDocNode>()); }
ContinueDoc ContinueDoc::Make() { return ContinueDoc(ffi::make_object<ContinueDocNode>()); }

FunctionDoc::FunctionDoc(IdDoc name, Array<AssignDoc> args, Array<ExprDoc> decorators,
                         Optional<ExprDoc> return_type, Array<StmtDoc> body,
                         Array<Doc> type_params) {
  Require(name, "FunctionDoc.name");
  auto node = ffi::make_object<FunctionDocNode>();
  node->name = std::move(name);
  node->args = std::move(args);
  node->decorators = std::move(decorators);
  node->return_type = std::move(return_type);
  node->body = std::move(body);
  node->type_params = std::move(type_params);
  data_ = std::move(node);
}

ClassDoc::ClassDoc(IdDoc name, Array<ExprDoc> decorators, Array<StmtDoc> body) {
  Require(name, "ClassDoc.name");
  auto node = ffi::make_object<ClassDocNode>();
  node->name = std::move(name);
  node->decorators = std::move(decorators);
  node->body = std::move(body);
  data_ = std::move(node);
}

CommentDoc::CommentDoc(String comment) {
  auto node = ffi::make_object<CommentDocNode>();
  node->comment = std::move(comment);
  data_ = std::move(node);
}

DocStringDoc::DocStringDoc(String docs) {
  auto node = ffi::make_object<DocStringDocNode>();
  node->comment = std::move(docs);
  data_ = std::move(node);
}

OpCallDoc::OpCallDoc(ExprDoc callee, Array<ExprDoc> args, Optional<ExprDoc> workspace,
                     Optional<ExprDoc> config, Optional<ExprDoc> dispatch) {
  Require(callee, "OpCallDoc.callee");
  auto node = ffi::make_object<OpCallDocNode>();
  node->callee = std::move(callee);
  node->args = std::move(args);
  node->workspace = std::move(workspace);
  node->config = std::move(config);
  node->dispatch = std::move(dispatch);
  data_ = std::move(node);
}

ExprDoc ExprDoc::Attr(String name) const { return AttrAccessDoc(*this, std::move(name)); }
ExprDoc ExprDoc::operator[](Array<Doc> indices) const {
  return IndexDoc(*this, std::move(indices));
}

}  // namespace tvm::script::printer
