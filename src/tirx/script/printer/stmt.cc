// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Statements other than loops and blocks.
#include <tvm/ir/expr_functor.h>
#include <tvm/ir/scalar_op.h>

#include <string>

#include "tirx/script/printer/utils.h"

namespace tvm::script::printer {

using namespace tirx;  // NOLINT(build/namespaces): the nodes

namespace {

/// `T.let[T.int32]`
ExprDoc LetAnnotation(const Type& type, const AccessPath& path, IRDocsifier& d) {
  ExprDoc doc;
  if (const auto* pointer = type.as<PointerTypeNode>()) {
    // The bare T.handle is no type but a function.
    doc = TypeDeclDoc(ffi::GetRef<Type>(pointer), path, d);
  } else {
    doc = d.AsExpr(type, path);
  }
  return T(d, "let")[{doc}];
}

Doc PrintBind(const BindNode* node, const AccessPath& path, IRDocsifier& d) {
  ExprDoc value = d.AsExpr(node->value, path->Attr("value"));
  AccessPath var_path = path->Attr("var");
  ExprDoc annotation = LetAnnotation(node->var->ty, var_path->Attr("ty"), d);
  IdDoc name = d.Define(node->var, std::string_view(node->var->name));
  return AssignDoc(Doc::At(name, var_path), value, annotation);
}

// ---------------------------------------------------------------------------------------------
// Buffers

bool IsScalarAlloc(const AllocBufferNode* node, IRDocsifier& d) {
  const BufferTypeNode* type = node->buffer.type();
  if (type->storage_scope != "local" || type->shape.size() != 1 || !node->annotations.empty()) {
    return false;
  }
  const auto* extent = type->shape[0].as<IntImmNode>();
  return extent != nullptr && extent->value == 1 && extent->dtype() == DataType::Int(32) &&
         type->dtype.is_scalar() && !type->dtype.is_handle() && IsPlainBuffer(type, d);
}

/// `x: T.float32 = value`, or without sugar `x = T.local_scalar(T.float32)`.
StmtDoc ScalarAlloc(const AllocBufferNode* node, const AccessPath& path, Optional<ExprDoc> value,
                    IRDocsifier& d) {
  ExprDoc dtype = DTypeDoc(node->buffer.dtype(), d);
  IdDoc name = Doc::At(DefineScalar(node->buffer, d), path->Attr("buffer"));
  if (!d.cfg->syntax_sugar) {
    return AssignDoc(name, T(d, "local_scalar").Call({dtype}));
  }
  return AssignDoc(name, value, dtype);
}

Doc PrintAllocBuffer(const AllocBufferNode* node, const AccessPath& path, IRDocsifier& d) {
  if (IsScalarAlloc(node, d)) return ScalarAlloc(node, path, std::nullopt, d);
  AccessPath buffer_path = path->Attr("buffer");
  const BufferTypeNode* type = node->buffer.type();
  BufferStyle style;
  const char* callee = "alloc_buffer";
  Kwargs extra;
  if (!node->annotations.empty()) {
    extra.Add("annotations", DictOf(node->annotations, path->Attr("annotations"), d));
  }
  if (IsPlainBuffer(type, d) && node->annotations.empty()) {
    style.scope_in_name = true;
    if (type->storage_scope == "shared") {
      callee = "alloc_shared";
    } else if (type->storage_scope == "local") {
      callee = "alloc_local";
    } else {
      style.scope_in_name = false;
    }
  }
  ExprDoc call =
      BufferCall(T(d, callee), {}, type, buffer_path->Attr("ty"), style, d, std::move(extra));
  return AssignDoc(Doc::At(DefineBuffer(node->buffer, d), buffer_path), call);
}

Doc PrintDeclBuffer(const DeclBufferNode* node, const AccessPath& path, IRDocsifier& d) {
  AccessPath buffer_path = path->Attr("buffer");
  BufferStyle style;
  style.data = d.AsExpr(node->data, path->Attr("data"));
  ExprDoc call =
      BufferCall(T(d, "decl_buffer"), {}, node->buffer.type(), buffer_path->Attr("ty"), style, d);
  return AssignDoc(Doc::At(DefineBuffer(node->buffer, d), buffer_path), call);
}

// ---------------------------------------------------------------------------------------------
// Attributes

bool IsPlainZero(const ffi::Any& node) {
  return node.type_index() == ffi::TypeIndex::kTVMFFIInt && node.cast<int64_t>() == 0;
}

ExprDoc AttrCall(const AttrStmtNode* node, const AccessPath& path, IRDocsifier& d) {
  ExprDoc key = LiteralDoc::Str(node->attr_key, path->Attr("attr_key"));
  ExprDoc value = d.AsExpr(node->value, path->Attr("value"));
  if (IsPlainZero(node->node)) {
    return T(d, "attr").Call({DictDoc({key}, {value})});
  }
  const bool was_any = std::exchange(d.in_any, true);
  ExprDoc owner = d.AsExpr(node->node, path->Attr("node"));
  d.in_any = was_any;
  return T(d, "attr").Call({owner, key, value});
}

/// `T.launch_thread("threadIdx.x", 32) as tx`: an axis of threads with its extent.
const IterVarNode* LaunchedAxis(const AttrStmtNode* node) {
  if (node->attr_key != tirx::attr::thread_extent && node->attr_key != tirx::attr::virtual_thread) {
    return nullptr;
  }
  const auto* axis = node->node.as<IterVarNode>();
  if (axis == nullptr || axis->iter_type != kThreadIndex || axis->thread_tag.empty()) {
    return nullptr;
  }
  bool is_virtual = std::string_view(axis->thread_tag).substr(0, 7) == "vthread";
  if (is_virtual != (node->attr_key == tirx::attr::virtual_thread)) return nullptr;
  if (!axis->dom.defined() || !is_zero(axis->dom->min)) return nullptr;
  static const ExprDeepEqual same;
  return same(axis->dom->extent, node->value) ? axis : nullptr;
}

Doc PrintLaunch(const AttrStmtNode* node, const IterVarNode* axis, const AccessPath& path,
                IRDocsifier& d) {
  ExprDoc extent = d.AsExpr(node->value, path->Attr("value"));
  AccessPath node_path = path->Attr("node");
  if (auto known = d.VarDoc(axis->var)) {
    ExprDoc launch = T(d, "launch_thread").Call({*known, extent});
    return ScopeDoc(launch, d.AsBody(d.top().token, node->body, path->Attr("body")));
  }
  ExprDoc tag = LiteralDoc::Str(axis->thread_tag, node_path->Attr("thread_tag"));
  ExprDoc launch = T(d, "launch_thread").Call({tag, extent});
  FrameScope frame(d, d.top().token);
  IdDoc name = d.Define(axis->var, std::string_view(axis->var->name));
  d.Emit(node->body, path->Attr("body"));
  return ScopeDoc(Doc::At(name, node_path->Attr("var")), launch, frame->stmts);
}

Doc PrintAttrStmt(const AttrStmtNode* node, const AccessPath& path, IRDocsifier& d) {
  if (const IterVarNode* axis = LaunchedAxis(node)) return PrintLaunch(node, axis, path, d);
  ExprDoc call = AttrCall(node, path, d);
  return ScopeDoc(call, d.AsBody(d.top().token, node->body, path->Attr("body")));
}

/// The entry of device code has no block of its own: it reaches to the end of the enclosing one.
bool IsDeviceEntry(const Stmt& stmt) {
  const auto* node = stmt.as<AttrStmtNode>();
  return node != nullptr && node->attr_key == tirx::attr::device_entry && IsPlainZero(node->node);
}

void EmitLast(const Stmt& stmt, const AccessPath& path, IRDocsifier& d) {
  const auto* node = stmt.as<AttrStmtNode>();
  if (!IsDeviceEntry(stmt) || !d.cfg->syntax_sugar) return d.Emit(stmt, path);
  ExprStmtDoc mark(AttrCall(node, path, d));
  d.Push(Doc::At(mark, path));
  EmitLast(node->body, path->Attr("body"), d);
}

// ---------------------------------------------------------------------------------------------
// Sequences

/// The store that directly follows an allocated scalar and does not read it.
const BufferStoreNode* InitialStore(const AllocBufferNode* alloc, const Stmt& next) {
  const auto* store = next.as<BufferStoreNode>();
  if (store == nullptr || !store->buffer.same_as(alloc->buffer)) return nullptr;
  if (store->predicate.has_value() || store->indices.size() != 1 || !is_zero(store->indices[0])) {
    return nullptr;
  }
  bool reads = false;
  PostOrderVisitExpr(store->value, [&](const Expr& expr) {
    const auto* load = expr.as<BufferLoadNode>();
    reads = reads || expr.same_as(alloc->buffer) ||
            (load != nullptr && load->buffer.same_as(alloc->buffer));
  });
  return reads ? nullptr : store;
}

Doc PrintSeqStmt(const SeqStmtNode* node, const AccessPath& path, IRDocsifier& d) {
  AccessPath seq_path = path->Attr("seq");
  Array<StmtDoc> outer = std::exchange(d.top().stmts, {});
  for (size_t i = 0; i < node->seq.size(); ++i) {
    const Stmt& stmt = node->seq[i];
    AccessPath p = seq_path->ArrayItem(static_cast<int64_t>(i));
    const auto* alloc = stmt.as<AllocBufferNode>();
    if (i + 1 == node->seq.size()) {
      EmitLast(stmt, p, d);
      continue;
    }
    if (alloc != nullptr && d.cfg->syntax_sugar && IsScalarAlloc(alloc, d)) {
      if (const BufferStoreNode* store = InitialStore(alloc, node->seq[i + 1])) {
        AccessPath store_path = seq_path->ArrayItem(static_cast<int64_t>(i) + 1);
        ExprDoc value = d.AsExpr(store->value, store_path->Attr("value"));
        StmtDoc doc = ScalarAlloc(alloc, p, value, d);
        d.Push(Doc::At(Doc::At(doc, p), store_path));
        ++i;
        continue;
      }
    }
    d.Emit(stmt, p);
  }
  Array<StmtDoc> stmts = std::exchange(d.top().stmts, std::move(outer));
  return StmtBlockDoc(stmts);
}

// ---------------------------------------------------------------------------------------------
// The rest

Doc PrintEvaluate(const EvaluateNode* node, const AccessPath& path, IRDocsifier& d) {
  ExprDoc value = d.AsExpr(node->value, path->Attr("value"));
  const auto* call = node->value.as<CallNode>();
  if (call != nullptr && !PrintsAsOperator(call)) return ExprStmtDoc(value);
  return ExprStmtDoc(T(d, "evaluate").Call({value}));
}

Doc PrintIfThenElse(const IfThenElseNode* node, const AccessPath& path, IRDocsifier& d) {
  ExprDoc condition = d.AsExpr(node->condition, path->Attr("condition"));
  Array<StmtDoc> then_branch = d.AsBody(d.top().token, node->then_case, path->Attr("then_case"));
  Array<StmtDoc> else_branch;
  if (node->else_case.has_value()) {
    else_branch = d.AsBody(d.top().token, *node->else_case, path->Attr("else_case"));
  }
  return IfDoc(condition, then_branch, else_branch);
}

Doc PrintWhile(const WhileNode* node, const AccessPath& path, IRDocsifier& d) {
  ExprDoc condition = d.AsExpr(node->condition, path->Attr("condition"));
  return WhileDoc(condition, d.AsBody(d.top().token, node->body, path->Attr("body")));
}

Doc PrintAssert(const AssertStmtNode* node, const AccessPath& path, IRDocsifier& d) {
  ExprDoc condition = d.AsExpr(node->condition, path->Attr("condition"));
  ExprDoc kind = d.AsExpr(node->error_kind, path->Attr("error_kind"));
  ExprDoc parts = ListDoc(d.AsExprs(node->message_parts, path->Attr("message_parts")));
  return AssertDoc(condition, TupleDoc({kind, parts}));
}

Doc PrintReturn(const ReturnNode* node, const AccessPath& path, IRDocsifier& d) {
  return ReturnDoc(d.AsExpr(node->value, path->Attr("value")));
}

Doc PrintBreak(const BreakNode*, const AccessPath&, IRDocsifier&) { return BreakDoc::Make(); }
Doc PrintContinue(const ContinueNode*, const AccessPath&, IRDocsifier&) {
  return ContinueDoc::Make();
}

}  // namespace

void EmitFunctionBody(const Stmt& body, const AccessPath& path, IRDocsifier& d) {
  EmitLast(body, path, d);
}

TVM_FFI_STATIC_INIT_BLOCK() {
  RegisterPrinter<BindNode, PrintBind>("");
  RegisterPrinter<AllocBufferNode, PrintAllocBuffer>("");
  RegisterPrinter<DeclBufferNode, PrintDeclBuffer>("");
  RegisterPrinter<AttrStmtNode, PrintAttrStmt>("");
  RegisterPrinter<SeqStmtNode, PrintSeqStmt>("");
  RegisterPrinter<EvaluateNode, PrintEvaluate>("");
  RegisterPrinter<IfThenElseNode, PrintIfThenElse>("");
  RegisterPrinter<WhileNode, PrintWhile>("");
  RegisterPrinter<AssertStmtNode, PrintAssert>("");
  RegisterPrinter<ReturnNode, PrintReturn>("");
  RegisterPrinter<BreakNode, PrintBreak>("");
  RegisterPrinter<ContinueNode, PrintContinue>("");
}

}  // namespace tvm::script::printer
