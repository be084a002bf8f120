// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Constructors of statements: every rule that makes a statement legal on its own is checked here.
#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/tirx/stmt.h>

#include "tirx/ir/check.h"

namespace tvm {
namespace tirx {

namespace {

/// `value` as an expression of `dtype`; literals are converted, other types must agree.
PrimExpr MatchIndexType(PrimExpr value, DataType dtype, const char* what, const Var& var) {
  if (value.dtype() == dtype) return value;
  if (const auto* imm = value.as<IntImmNode>()) return IntImm(dtype, imm->value, imm->span);
  TVM_FFI_THROW(TypeError) << "For: " << what << " of loop variable " << var->name
                           << " must have its dtype " << dtype << ", but has " << value.dtype();
  TVM_FFI_UNREACHABLE();
}

}  // namespace

void StmtNode::RegisterReflection() {
  namespace refl = ffi::reflection;
  refl::ObjectDef<StmtNode>().def_ro("span", &StmtNode::span,
                                     refl::AttachFieldFlag::SEqHashIgnore());
}

Bind::Bind(Var var, Expr value, Span span) {
  RequireDefined(var, "Bind", "var");
  RequireDefined(value, "Bind", "value");
  const auto* prim = var->ty.as<PrimTypeNode>();
  if (prim != nullptr && value->dtype() != prim->dtype) {
    TVM_FFI_THROW(TypeError) << "Bind: value of dtype " << value->dtype()
                             << " cannot be bound to variable " << var->name << " of dtype "
                             << prim->dtype;
  }
  auto node = ffi::make_object<BindNode>();
  node->var = std::move(var);
  node->value = std::move(value);
  node->span = std::move(span);
  data_ = std::move(node);
}

void BindNode::RegisterReflection() {
  namespace refl = ffi::reflection;
  refl::ObjectDef<BindNode>()
      .def_ro("var", &BindNode::var, refl::AttachFieldFlag::SEqHashDefSimple())
      .def_ro("value", &BindNode::value);
}

AttrStmt::AttrStmt(ffi::Any node, ffi::String attr_key, Expr value, Stmt body, Span span) {
  RequireDefined(value, "AttrStmt", "value");
  RequireDefined(body, "AttrStmt", "body");
  auto n = ffi::make_object<AttrStmtNode>();
  n->node = std::move(node);
  n->attr_key = std::move(attr_key);
  n->value = std::move(value);
  n->body = std::move(body);
  n->span = std::move(span);
  data_ = std::move(n);
}

void AttrStmtNode::RegisterReflection() {
  namespace refl = ffi::reflection;
  refl::ObjectDef<AttrStmtNode>()
      .def_ro("node", &AttrStmtNode::node)
      .def_ro("attr_key", &AttrStmtNode::attr_key)
      .def_ro("value", &AttrStmtNode::value)
      .def_ro("body", &AttrStmtNode::body);
}

AssertStmt::AssertStmt(PrimExpr condition, StringImm error_kind,
                       ffi::Array<StringImm> message_parts, Span span) {
  RequireBool(condition, "AssertStmt");
  RequireDefined(error_kind, "AssertStmt", "error_kind");
  auto node = ffi::make_object<AssertStmtNode>();
  node->condition = std::move(condition);
  node->error_kind = std::move(error_kind);
  node->message_parts = std::move(message_parts);
  node->span = std::move(span);
  data_ = std::move(node);
}

void AssertStmtNode::RegisterReflection() {
  namespace refl = ffi::reflection;
  refl::ObjectDef<AssertStmtNode>()
      .def_ro("condition", &AssertStmtNode::condition)
      .def_ro("error_kind", &AssertStmtNode::error_kind)
      .def_ro("message_parts", &AssertStmtNode::message_parts);
}

BufferStore::BufferStore(Buffer buffer, PrimExpr value, ffi::Array<PrimExpr> indices,
                         ffi::Optional<PrimExpr> predicate, Span span) {
  RequireDefined(buffer, "BufferStore", "buffer");
  RequireDefined(value, "BufferStore", "value");
  DataType expected = AccessedType(buffer, indices, "BufferStore");
  if (value.dtype() != expected) {
    TVM_FFI_THROW(TypeError) << "BufferStore: buffer " << buffer->name << " of dtype "
                             << buffer.dtype() << " takes " << expected
                             << " at these indices, but the value has dtype " << value.dtype();
  }
  if (predicate.has_value()) RequirePredicate(*predicate, buffer, indices, "BufferStore");
  auto node = ffi::make_object<BufferStoreNode>();
  node->buffer = std::move(buffer);
  node->value = std::move(value);
  node->indices = std::move(indices);
  node->predicate = std::move(predicate);
  node->span = std::move(span);
  data_ = std::move(node);
}

void BufferStoreNode::RegisterReflection() {
  namespace refl = ffi::reflection;
  refl::ObjectDef<BufferStoreNode>()
      .def_ro("buffer", &BufferStoreNode::buffer)
      .def_ro("value", &BufferStoreNode::value)
      .def_ro("indices", &BufferStoreNode::indices)
      .def_ro("predicate", &BufferStoreNode::predicate);
}

AllocBuffer::AllocBuffer(Buffer buffer, ffi::Map<ffi::String, ffi::Any> annotations, Span span) {
  RequireDefined(buffer, "AllocBuffer", "buffer");
  auto node = ffi::make_object<AllocBufferNode>();
  node->buffer = std::move(buffer);
  node->annotations = std::move(annotations);
  node->span = std::move(span);
  data_ = std::move(node);
}

void AllocBufferNode::RegisterReflection() {
  namespace refl = ffi::reflection;
  refl::ObjectDef<AllocBufferNode>()
      .def_ro("buffer", &AllocBufferNode::buffer, refl::AttachFieldFlag::SEqHashDefSimple())
      .def_ro("annotations", &AllocBufferNode::annotations);
}

DeclBuffer::DeclBuffer(Buffer buffer, Expr data, Span span) {
  RequireDefined(buffer, "DeclBuffer", "buffer");
  RequireDefined(data, "DeclBuffer", "data");
  if (!data->ty.IsMissing() && data->ty.as<PointerTypeNode>() == nullptr) {
    TVM_FFI_THROW(TypeError) << "DeclBuffer: data of buffer " << buffer->name
                             << " must be a pointer, but has type " << data->ty;
  }
  auto node = ffi::make_object<DeclBufferNode>();
  node->buffer = std::move(buffer);
  node->data = std::move(data);
  node->span = std::move(span);
  data_ = std::move(node);
}

void DeclBufferNode::RegisterReflection() {
  namespace refl = ffi::reflection;
  refl::ObjectDef<DeclBufferNode>()
      .def_ro("buffer", &DeclBufferNode::buffer, refl::AttachFieldFlag::SEqHashDefSimple())
      .def_ro("data", &DeclBufferNode::data);
}

SeqStmt::SeqStmt(ffi::Array<Stmt> seq, Span span) {
  bool nested = false;
  for (const Stmt& stmt : seq) {
    RequireDefined(stmt, "SeqStmt", "element");
    nested = nested || stmt.as<SeqStmtNode>() != nullptr;
  }
  if (nested) {
    ffi::Array<Stmt> flat;
    for (const Stmt& stmt : seq) Append(&flat, stmt);
    seq = std::move(flat);
  }
  auto node = ffi::make_object<SeqStmtNode>();
  node->seq = std::move(seq);
  node->span = std::move(span);
  data_ = std::move(node);
}

void SeqStmt::Append(ffi::Array<Stmt>* seq, const Stmt& stmt) {
  if (!stmt.defined()) return;
  if (const auto* nested = stmt.as<SeqStmtNode>()) {
    for (const Stmt& inner : nested->seq) Append(seq, inner);
    return;
  }
  if (const auto* eval = stmt.as<EvaluateNode>()) {
    if (eval->value.as<IntImmNode>() != nullptr) return;
  }
  seq->push_back(stmt);
}

Stmt SeqStmt::FromFlat(ffi::Array<Stmt> seq) {
  if (seq.empty()) return Evaluate(0);
  if (seq.size() == 1) return seq[0];
  return SeqStmt(std::move(seq));
}

void SeqStmtNode::RegisterReflection() {
  namespace refl = ffi::reflection;
  refl::ObjectDef<SeqStmtNode>().def_ro("seq", &SeqStmtNode::seq);
}

Evaluate::Evaluate(Expr value, Span span) {
  RequireDefined(value, "Evaluate", "value");
  auto node = ffi::make_object<EvaluateNode>();
  node->value = std::move(value);
  node->span = std::move(span);
  data_ = std::move(node);
}

void EvaluateNode::RegisterReflection() {
  namespace refl = ffi::reflection;
  refl::ObjectDef<EvaluateNode>().def_ro("value", &EvaluateNode::value);
}

IfThenElse::IfThenElse(PrimExpr condition, Stmt then_case, ffi::Optional<Stmt> else_case,
                       Span span) {
  RequireBool(condition, "IfThenElse");
  RequireDefined(then_case, "IfThenElse", "then_case");
  auto node = ffi::make_object<IfThenElseNode>();
  node->condition = std::move(condition);
  node->then_case = std::move(then_case);
  node->else_case = std::move(else_case);
  node->span = std::move(span);
  data_ = std::move(node);
}

void IfThenElseNode::RegisterReflection() {
  namespace refl = ffi::reflection;
  refl::ObjectDef<IfThenElseNode>()
      .def_ro("condition", &IfThenElseNode::condition)
      .def_ro("then_case", &IfThenElseNode::then_case)
      .def_ro("else_case", &IfThenElseNode::else_case);
}

const char* ForKind2String(ForKind kind) {
  switch (kind) {
    case ForKind::kSerial:
      return "serial";
    case ForKind::kParallel:
      return "parallel";
    case ForKind::kVectorized:
      return "vectorized";
    case ForKind::kUnrolled:
      return "unroll";
    case ForKind::kThreadBinding:
      return "thread_binding";
  }
  TVM_FFI_THROW(ValueError) << "unknown kind of loop " << static_cast<int>(kind);
  TVM_FFI_UNREACHABLE();
}

For::For(Var loop_var, PrimExpr min, PrimExpr extent, ForKind kind, Stmt body,
         ffi::Optional<IterVar> thread_binding, ffi::Map<ffi::String, ffi::Any> annotations,
         ffi::Optional<PrimExpr> step, Span span) {
  RequireDefined(loop_var, "For", "loop_var");
  RequireDefined(min, "For", "min");
  RequireDefined(extent, "For", "extent");
  RequireDefined(body, "For", "body");
  ForKind2String(kind);  // rejects numbers outside the enumeration
  DataType dtype = loop_var->dtype();
  if (!dtype.is_scalar() || !(dtype.is_int() || dtype.is_uint())) {
    TVM_FFI_THROW(TypeError) << "For: loop variable " << loop_var->name
                             << " must be a scalar integer, but has dtype " << dtype;
  }
  if (kind == ForKind::kThreadBinding && !thread_binding.has_value()) {
    TVM_FFI_THROW(ValueError) << "For: thread-bound loop " << loop_var->name
                              << " needs a thread_binding";
  }
  auto node = ffi::make_object<ForNode>();
  node->min = MatchIndexType(std::move(min), dtype, "min", loop_var);
  node->extent = MatchIndexType(std::move(extent), dtype, "extent", loop_var);
  if (step.has_value()) node->step = MatchIndexType(*step, dtype, "step", loop_var);
  node->loop_var = std::move(loop_var);
  node->kind = kind;
  node->body = std::move(body);
  node->thread_binding = std::move(thread_binding);
  node->annotations = std::move(annotations);
  node->span = std::move(span);
  data_ = std::move(node);
}

bool ForNode::HasTrivialStep() const {
  if (!step.has_value()) return true;
  const auto* imm = step.value().as<IntImmNode>();
  return imm != nullptr && imm->value == 1;
}

void ForNode::RegisterReflection() {
  namespace refl = ffi::reflection;
  refl::ObjectDef<ForNode>()
      .def_ro("loop_var", &ForNode::loop_var, refl::AttachFieldFlag::SEqHashDefSimple())
      .def_ro("min", &ForNode::min)
      .def_ro("extent", &ForNode::extent)
      .def_ro("kind", &ForNode::kind)
      .def_ro("body", &ForNode::body)
      .def_ro("thread_binding", &ForNode::thread_binding)
      .def_ro("annotations", &ForNode::annotations)
      .def_ro("step", &ForNode::step);
}

While::While(PrimExpr condition, Stmt body, Span span) {
  RequireBool(condition, "While");
  RequireDefined(body, "While", "body");
  auto node = ffi::make_object<WhileNode>();
  node->condition = std::move(condition);
  node->body = std::move(body);
  node->span = std::move(span);
  data_ = std::move(node);
}

void WhileNode::RegisterReflection() {
  namespace refl = ffi::reflection;
  refl::ObjectDef<WhileNode>()
      .def_ro("condition", &WhileNode::condition)
      .def_ro("body", &WhileNode::body);
}

Return::Return(Expr value, Span span) {
  RequireDefined(value, "Return", "value");
  auto node = ffi::make_object<ReturnNode>();
  node->value = std::move(value);
  node->span = std::move(span);
  data_ = std::move(node);
}

void ReturnNode::RegisterReflection() {
  namespace refl = ffi::reflection;
  refl::ObjectDef<ReturnNode>().def_ro("value", &ReturnNode::value);
}

Break::Break(Span span) {
  auto node = ffi::make_object<BreakNode>();
  node->span = std::move(span);
  data_ = std::move(node);
}

void BreakNode::RegisterReflection() { ffi::reflection::ObjectDef<BreakNode>(); }

Continue::Continue(Span span) {
  auto node = ffi::make_object<ContinueNode>();
  node->span = std::move(span);
  data_ = std::move(node);
}

void ContinueNode::RegisterReflection() { ffi::reflection::ObjectDef<ContinueNode>(); }

Expr ConvertAttrValue(const ffi::Any& value) {
  if (value == nullptr) return Expr();
  if (auto expr = value.try_cast<Expr>()) return *expr;
  if (auto text = value.try_cast<ffi::String>()) return StringImm(*text);
  TVM_FFI_THROW(TypeError) << "an attribute value must be an expression, number or string, got "
                           << value.GetTypeKey();
  TVM_FFI_UNREACHABLE();
}

TVM_FFI_STATIC_INIT_BLOCK() {
  StmtNode::RegisterReflection();
  BindNode::RegisterReflection();
  AttrStmtNode::RegisterReflection();
  AssertStmtNode::RegisterReflection();
  BufferStoreNode::RegisterReflection();
  AllocBufferNode::RegisterReflection();
  DeclBufferNode::RegisterReflection();
  SeqStmtNode::RegisterReflection();
  EvaluateNode::RegisterReflection();
  IfThenElseNode::RegisterReflection();
  ForNode::RegisterReflection();
  WhileNode::RegisterReflection();
  ReturnNode::RegisterReflection();
  BreakNode::RegisterReflection();
  ContinueNode::RegisterReflection();

  namespace refl = ffi::reflection;
  refl::GlobalDef()
      .def("tirx.Bind", [](Var var, Expr value, Span span) { return Bind(var, value, span); })
      .def("tirx.AttrStmt", [](ffi::Any node, ffi::String key, Expr value, Stmt body,
                               Span span) { return AttrStmt(node, key, value, body, span); })
      .def("tirx.AssertStmt", [](PrimExpr condition, StringImm kind, ffi::Array<StringImm> parts,
                                 Span span) { return AssertStmt(condition, kind, parts, span); })
      .def("tirx.BufferStore",
           [](Buffer buffer, PrimExpr value, ffi::Array<PrimExpr> indices,
              ffi::Optional<PrimExpr> predicate,
              Span span) { return BufferStore(buffer, value, indices, predicate, span); })
      .def(
          "tirx.AllocBuffer",
          [](Buffer buffer, ffi::Optional<ffi::Map<ffi::String, ffi::Any>> annotations, Span span) {
            return AllocBuffer(buffer, annotations.value_or(ffi::Map<ffi::String, ffi::Any>()),
                               span);
          })
      .def("tirx.DeclBuffer",
           [](Buffer buffer, Expr data, Span span) { return DeclBuffer(buffer, data, span); })
      .def("tirx.SeqStmt", [](ffi::Array<Stmt> seq, Span span) { return SeqStmt(seq, span); })
      .def("tirx.Evaluate", [](Expr value, Span span) { return Evaluate(value, span); })
      .def("tirx.IfThenElse",
           [](PrimExpr condition, Stmt then_case, ffi::Optional<Stmt> else_case, Span span) {
             return IfThenElse(condition, then_case, else_case, span);
           })
      .def("tirx.For",
           [](Var loop_var, PrimExpr min, PrimExpr extent, int kind, Stmt body,
              ffi::Optional<IterVar> thread_binding,
              ffi::Optional<ffi::Map<ffi::String, ffi::Any>> annotations,
              ffi::Optional<PrimExpr> step, Span span) {
             return For(loop_var, min, extent, static_cast<ForKind>(kind), body, thread_binding,
                        annotations.value_or(ffi::Map<ffi::String, ffi::Any>()), step, span);
           })
      .def("tirx.While",
           [](PrimExpr condition, Stmt body, Span span) { return While(condition, body, span); })
      .def("tirx.Return", [](Expr value, Span span) { return Return(value, span); })
      .def("tirx.Break", [](Span span) { return Break(span); })
      .def("tirx.Continue", [](Span span) { return Continue(span); });
}

}  // namespace tirx
}  // namespace tvm
