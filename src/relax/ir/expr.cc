// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file
/// \brief Constructors and reflection of graph-level expressions and bindings.
#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/ir/scalar_op.h>
#include <tvm/relax/expr.h>

#include <cstring>

#include "relax/ir/utils.h"

namespace tvm {
namespace relax {

namespace refl = tvm::ffi::reflection;
using refl::AttachFieldFlag;

void ConstantNode::RegisterReflection() {
  refl::ObjectDef<ConstantNode>().def_ro("data", &ConstantNode::data);
}
void ShapeExprNode::RegisterReflection() {
  refl::ObjectDef<ShapeExprNode>().def_ro("values", &ShapeExprNode::values);
}
void StringImmNode::RegisterReflection() {
  refl::ObjectDef<StringImmNode>().def_ro("value", &StringImmNode::value);
}
void DataTypeImmNode::RegisterReflection() {
  refl::ObjectDef<DataTypeImmNode>().def_ro("value", &DataTypeImmNode::value);
}
void TupleNode::RegisterReflection() {
  refl::ObjectDef<TupleNode>().def_ro("fields", &TupleNode::fields);
}
void TupleGetItemNode::RegisterReflection() {
  refl::ObjectDef<TupleGetItemNode>()
      .def_ro("tuple_value", &TupleGetItemNode::tuple)
      .def_ro("index", &TupleGetItemNode::index);
}
void DataflowVarNode::RegisterReflection() { refl::ObjectDef<DataflowVarNode>(); }
void BindingNode::RegisterReflection() {
  refl::ObjectDef<BindingNode>()
      .def_ro("span", &BindingNode::span, AttachFieldFlag::SEqHashIgnore())
      .def_ro("var", &BindingNode::var, AttachFieldFlag::SEqHashDefPattern());
}
void VarBindingNode::RegisterReflection() {
  refl::ObjectDef<VarBindingNode>().def_ro("value", &VarBindingNode::value);
}
void MatchCastNode::RegisterReflection() {
  refl::ObjectDef<MatchCastNode>()
      .def_ro("value", &MatchCastNode::value)
      .def_ro("ty", &MatchCastNode::ty, AttachFieldFlag::SEqHashDefPattern());
}
void BindingBlockNode::RegisterReflection() {
  refl::ObjectDef<BindingBlockNode>()
      .def_ro("bindings", &BindingBlockNode::bindings)
      .def_ro("span", &BindingBlockNode::span, AttachFieldFlag::SEqHashIgnore());
}
void DataflowBlockNode::RegisterReflection() { refl::ObjectDef<DataflowBlockNode>(); }
void SeqExprNode::RegisterReflection() {
  refl::ObjectDef<SeqExprNode>()
      .def_ro("blocks", &SeqExprNode::blocks)
      .def_ro("body", &SeqExprNode::body);
}
void IfNode::RegisterReflection() {
  refl::ObjectDef<IfNode>()
      .def_ro("cond", &IfNode::cond)
      .def_ro("true_branch", &IfNode::true_branch)
      .def_ro("false_branch", &IfNode::false_branch);
}

Constant::Constant(ffi::Tensor data, Optional<Type> ty, Span span) {
  TVM_FFI_CHECK(data.defined(), TypeError) << "a Constant needs a tensor, found None";
  auto node = ffi::make_object<ConstantNode>();
  if (ty.has_value()) {
    const auto* tensor_ty = ty.value().as<TensorTypeNode>();
    TVM_FFI_CHECK(tensor_ty != nullptr, TypeError)
        << "the type of a Constant must be a TensorType, but got " << ty.value();
    node->ty = ty.value();
  } else {
    Array<PrimExpr> dims;
    for (int64_t d : data.shape()) dims.push_back(IntImm(DataType::Int(64), d));
    node->ty = TensorType(dims, DataType(data.dtype()));
  }
  node->data = std::move(data);
  node->span = std::move(span);
  data_ = std::move(node);
}

ShapeExpr::ShapeExpr(Array<PrimExpr> values, Span span) {
  ShapeType ty(values);
  auto node = ffi::make_object<ShapeExprNode>();
  node->values = ty->values.value();
  node->ty = ty;
  node->span = std::move(span);
  data_ = std::move(node);
}

StringImm::StringImm(String value, Span span) {
  auto node = ffi::make_object<StringImmNode>();
  node->value = std::move(value);
  node->ty = AnyType();
  node->span = std::move(span);
  data_ = std::move(node);
}

DataTypeImm::DataTypeImm(DataType value, Span span) {
  auto node = ffi::make_object<DataTypeImmNode>();
  node->value = value;
  node->ty = AnyType();
  node->span = std::move(span);
  data_ = std::move(node);
}

Tuple::Tuple(Array<Expr> fields, Span span) {
  auto node = ffi::make_object<TupleNode>();
  bool typed = true;
  Array<Type> types;
  for (const Expr& f : fields) {
    TVM_FFI_CHECK(f.defined(), TypeError) << "a field of a Tuple must be an expression, found None";
    typed = typed && !f->ty.IsMissing();
    types.push_back(f->ty);
  }
  if (typed) node->ty = TupleType(types);
  node->fields = std::move(fields);
  node->span = std::move(span);
  data_ = std::move(node);
}

TupleGetItem::TupleGetItem(Expr tuple, int index, Span span) {
  TVM_FFI_CHECK(tuple.defined(), TypeError) << "TupleGetItem needs a tuple, found None";
  TVM_FFI_CHECK(index >= 0, ValueError)
      << "Index out of bounds: a tuple index must not be negative, but got " << index;
  auto node = ffi::make_object<TupleGetItemNode>();
  if (const auto* ty = tuple->ty.as<TupleTypeNode>()) {
    TVM_FFI_CHECK(index < static_cast<int>(ty->fields.size()), ValueError)
        << "Index out of bounds: the tuple has " << ty->fields.size()
        << " fields, but the index is " << index;
    node->ty = ty->fields[index];
  }
  node->tuple = std::move(tuple);
  node->index = index;
  node->span = std::move(span);
  data_ = std::move(node);
}

DataflowVar::DataflowVar(String name, Optional<Type> ty, Span span) {
  auto node = ffi::make_object<DataflowVarNode>();
  node->name = std::move(name);
  if (ty.has_value()) node->ty = ty.value();
  node->span = std::move(span);
  data_ = std::move(node);
}

VarBinding::VarBinding(Var var, Expr value, Span span) {
  auto node = ffi::make_object<VarBindingNode>();
  node->var = std::move(var);
  node->value = std::move(value);
  node->span = std::move(span);
  data_ = std::move(node);
}

MatchCast::MatchCast(Var var, Expr value, Type ty, Span span) {
  TVM_FFI_CHECK(!ty.IsMissing(), TypeError) << "MatchCast needs a type to cast to";
  auto node = ffi::make_object<MatchCastNode>();
  node->var = std::move(var);
  node->value = std::move(value);
  node->ty = std::move(ty);
  node->span = std::move(span);
  data_ = std::move(node);
}

BindingBlock::BindingBlock(Array<Binding> bindings, Span span) {
  auto node = ffi::make_object<BindingBlockNode>();
  node->bindings = std::move(bindings);
  node->span = std::move(span);
  data_ = std::move(node);
}

DataflowBlock::DataflowBlock(Array<Binding> bindings, Span span) {
  auto node = ffi::make_object<DataflowBlockNode>();
  node->bindings = std::move(bindings);
  node->span = std::move(span);
  data_ = std::move(node);
}

SeqExpr::SeqExpr(Array<BindingBlock> blocks, Expr body, Span span) {
  auto node = ffi::make_object<SeqExprNode>();
  node->ty = body->ty;
  node->blocks = std::move(blocks);
  node->body = std::move(body);
  node->span = std::move(span);
  data_ = std::move(node);
}

SeqExpr SeqExpr::Wrap(Expr body) {
  if (auto seq = body.as<SeqExpr>()) return seq.value();
  return SeqExpr({}, body);
}

If::If(Expr cond, Expr true_branch, Expr false_branch, Span span) {
  auto node = ffi::make_object<IfNode>();
  node->cond = std::move(cond);
  node->true_branch = SeqExpr::Wrap(std::move(true_branch));
  node->false_branch = SeqExpr::Wrap(std::move(false_branch));
  node->span = std::move(span);
  data_ = std::move(node);
}

Expr GetShapeOf(const Expr& expr) {
  if (const auto* ty = expr->ty.as<TensorTypeNode>()) {
    if (ty->shape.has_value()) return ty->shape.value();
  }
  static const Op& op = Op::Get("relax.shape_of");
  Call call(op, {expr});
  if (const auto* ty = expr->ty.as<TensorTypeNode>()) UpdateType(call, ShapeType(ty->ndim));
  return call;
}

bool IsPrim(const Expr& expr) { return expr->ty.as<PrimTypeNode>() != nullptr; }

namespace {

template <typename T>
Constant MakeScalar(T value, DataType dtype) {
  ffi::Tensor data = NewHostTensor({}, dtype);
  StoreScalar(data.data_ptr(), dtype, value);
  return Constant(data);
}

}  // namespace

Constant ScalarConst(double value, DataType dtype) { return MakeScalar(value, dtype); }
Constant ScalarConst(int64_t value, DataType dtype) { return MakeScalar(value, dtype); }

TVM_FFI_STATIC_INIT_BLOCK() {
  ConstantNode::RegisterReflection();
  ShapeExprNode::RegisterReflection();
  StringImmNode::RegisterReflection();
  DataTypeImmNode::RegisterReflection();
  TupleNode::RegisterReflection();
  TupleGetItemNode::RegisterReflection();
  DataflowVarNode::RegisterReflection();
  BindingNode::RegisterReflection();
  VarBindingNode::RegisterReflection();
  MatchCastNode::RegisterReflection();
  BindingBlockNode::RegisterReflection();
  DataflowBlockNode::RegisterReflection();
  SeqExprNode::RegisterReflection();
  IfNode::RegisterReflection();
  refl::GlobalDef()
      .def("relax.Constant",
           [](ffi::Tensor data, Optional<Type> ty, Span span) { return Constant(data, ty, span); })
      .def("relax.ShapeExpr",
           [](Array<PrimExpr> values, Span span) { return ShapeExpr(values, span); })
      .def("relax.StringImm", [](String value, Span span) { return StringImm(value, span); })
      .def("relax.DataTypeImm", [](DataType value, Span span) { return DataTypeImm(value, span); })
      .def("relax.Tuple", [](Array<Expr> fields, Span span) { return Tuple(fields, span); })
      .def("relax.TupleGetItem",
           [](Expr tuple, int index, Span span) { return TupleGetItem(tuple, index, span); })
      .def("relax.DataflowVar",
           [](String name, Optional<Type> ty, Span span) { return DataflowVar(name, ty, span); })
      .def("relax.VarBinding",
           [](Var var, Expr value, Span span) { return VarBinding(var, value, span); })
      .def("relax.MatchCast",
           [](Var var, Expr value, Type ty, Span span) { return MatchCast(var, value, ty, span); })
      .def("relax.BindingBlock",
           [](Array<Binding> bindings, Span span) { return BindingBlock(bindings, span); })
      .def("relax.DataflowBlock",
           [](Array<Binding> bindings, Span span) { return DataflowBlock(bindings, span); })
      .def("relax.SeqExpr", [](Array<BindingBlock> blocks, Expr body,
                               Span span) { return SeqExpr(blocks, body, span); })
      .def("relax.If", [](Expr cond, Expr true_branch, Expr false_branch,
                          Span span) { return If(cond, true_branch, false_branch, span); })
      .def("relax.GetShapeOf",
           [](Expr expr) {
             if (!expr.defined()) {
               TVM_FFI_THROW(TypeError) << "relax.get_shape_of: argument `expr` must be an "
                                           "expression, got None";
             }
             return GetShapeOf(expr);
           })
      .def("relax.ScalarConstFloat", [](double v, DataType dtype) { return ScalarConst(v, dtype); })
      .def("relax.ScalarConstInt", [](int64_t v, DataType dtype) { return ScalarConst(v, dtype); });
}

}  // namespace relax
}  // namespace tvm
