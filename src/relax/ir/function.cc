// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file
/// \brief Functions of the graph level and external functions.
#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/relax/analysis.h>
#include <tvm/relax/expr.h>

#include <unordered_set>

namespace tvm {
namespace relax {

namespace refl = tvm::ffi::reflection;
using refl::AttachFieldFlag;

void FunctionNode::RegisterReflection() {
  refl::ObjectDef<FunctionNode>()
      .def_ro("params", &FunctionNode::params, AttachFieldFlag::SEqHashDefPattern())
      .def_ro("body", &FunctionNode::body)
      .def_ro("ret_ty", &FunctionNode::ret_ty)
      .def_ro("is_pure", &FunctionNode::is_pure);
}
void ExternFuncNode::RegisterReflection() {
  refl::ObjectDef<ExternFuncNode>().def_ro("global_symbol", &ExternFuncNode::global_symbol);
}

namespace {

Array<Type> ParamTypes(const Array<Var>& params) {
  Array<Type> types;
  for (const Var& p : params) {
    TVM_FFI_CHECK(!p->ty.IsMissing(), TypeError)
        << "parameter " << p->name << " of a relax function has no type";
    types.push_back(p->ty);
  }
  return types;
}

/// `ty` without the symbolic variables that the parameters do not define.
Type EraseUndefined(const Type& ty, const Array<Var>& params) {
  std::unordered_set<const VarNode*> symbols;
  std::unordered_set<const VarNode*> values;
  for (const Var& p : params) {
    values.insert(p.get());
    if (p->ty.as<PrimTypeNode>() != nullptr) symbols.insert(p.get());
    for (const Var& v : DefinableSymbolicVarsInType(p->ty)) symbols.insert(v.get());
  }
  return EraseToWellDefined(
      ty,
      [&](const Var& v) -> Optional<PrimExpr> {
        if (symbols.count(v.get())) return Downcast<PrimExpr>(v);
        return std::nullopt;
      },
      [&](const Var& v) -> Optional<Expr> {
        if (values.count(v.get())) return Expr(v);
        return std::nullopt;
      });
}

ffi::ObjectPtr<FunctionNode> MakeFunctionNode(Array<Var> params, SeqExpr body, Type ret_ty,
                                              bool is_pure, DictAttrs attrs, Span span) {
  auto node = ffi::make_object<FunctionNode>();
  node->ty = FuncType(ParamTypes(params), ret_ty, is_pure);
  node->params = std::move(params);
  node->body = std::move(body);
  node->ret_ty = std::move(ret_ty);
  node->is_pure = is_pure;
  node->attrs = std::move(attrs);
  node->span = std::move(span);
  return node;
}

}  // namespace

Function::Function(Array<Var> params, Expr body, Optional<Type> ret_ty, bool is_pure,
                   DictAttrs attrs, Span span) {
  Optional<Type> body_ty;
  if (!body->ty.IsMissing()) body_ty = EraseUndefined(body->ty, params);
  TVM_FFI_CHECK(body_ty.has_value() || ret_ty.has_value(), TypeError)
      << "Function must be constructed with either an explicit return type or a body whose type "
         "is known";
  Type result = ret_ty.has_value() ? ret_ty.value() : body_ty.value();
  if (ret_ty.has_value() && body_ty.has_value() && IsBaseOf(result, body_ty.value())) {
    // The body knows more than the annotation (or as much).
    if (!IsBaseOf(body_ty.value(), result)) result = body_ty.value();
  }
  data_ = MakeFunctionNode(std::move(params), SeqExpr::Wrap(body), result, is_pure,
                           std::move(attrs), std::move(span));
}

Function Function::CreateEmpty(Array<Var> params, Type ret_ty, bool is_pure, DictAttrs attrs,
                               Span span) {
  // A function without a body holds a call of null_value typed as the result.
  static const Op& op = Op::Get("relax.null_value");
  Call body(op, {});
  UpdateType(body, ret_ty);
  return Function(MakeFunctionNode(std::move(params), SeqExpr({}, body), ret_ty, is_pure,
                                   std::move(attrs), std::move(span)));
}

ExternFunc::ExternFunc(String global_symbol, Optional<Type> ty, Span span) {
  auto node = ffi::make_object<ExternFuncNode>();
  if (ty.has_value()) {
    TVM_FFI_CHECK(ty.value().as<FuncTypeNode>() != nullptr, TypeError)
        << "the type of an ExternFunc must be a FuncType, but got " << ty.value();
    node->ty = ty.value();
  } else {
    static const EnvFunc& derive = *new EnvFunc(EnvFunc::Get("tvm.relax.type.infer_by_ty_args"));
    static const FuncType& shared = *new FuncType(FuncType::OpaqueFunc(derive, false));
    node->ty = shared;
  }
  node->global_symbol = std::move(global_symbol);
  node->span = std::move(span);
  data_ = std::move(node);
}

TVM_FFI_STATIC_INIT_BLOCK() {
  FunctionNode::RegisterReflection();
  ExternFuncNode::RegisterReflection();
  refl::GlobalDef()
      .def("relax.Function",
           [](Array<Var> params, Expr body, Optional<Type> ret_ty, bool is_pure,
              Optional<DictAttrs> attrs, Span span) {
             return Function(params, body, ret_ty, is_pure, attrs.value_or(DictAttrs()), span);
           })
      .def("relax.FunctionCreateEmpty",
           [](Array<Var> params, Type ret_ty, bool is_pure, Optional<DictAttrs> attrs, Span span) {
             return Function::CreateEmpty(params, ret_ty, is_pure, attrs.value_or(DictAttrs()),
                                          span);
           })
      .def("relax.ExternFunc",
           [](String symbol, Optional<Type> ty, Span span) { return ExternFunc(symbol, ty, span); })
      .def("tvm.relax.type.infer_by_ty_args", [](const Call& call, const BlockBuilder&) -> Type {
        if (call->ty_args.empty()) return AnyType();
        if (call->ty_args.size() == 1) return call->ty_args[0];
        return TupleType(call->ty_args);
      });
}

}  // namespace relax
}  // namespace tvm
