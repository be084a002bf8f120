// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file
/// \brief Text of calls: operators with their attributes, kernels, packed functions, closures.
#include <tvm/ffi/reflection/accessor.h>
#include <tvm/ir/attrs.h>
#include <tvm/ir/op.h>
#include <tvm/relax/attrs.h>
#include <tvm/relax/op_row.h>

#include <cmath>
#include <string>
#include <string_view>

#include "relax/script/printer/utils.h"

namespace tvm::script::printer {

namespace {

/// How a call of an operator differs from operands followed by attributes.
enum class CallForm {
  kPlain,
  /// f(callee, args, out_ty=.., attributes, tir_vars=..)
  kOutType,
  /// f(callee, args.., attributes, ty_args=..)
  kTypeArgs,
  /// f(values.., format=..), the format being the first operand
  kPrint,
  /// f(condition, values.., format=..), the format being the second operand
  kAssert,
};

CallForm FormOf(std::string_view op) {
  if (op == "call_tir" || op == "call_tir_with_grad" || op == "call_tir_inplace" ||
      op == "call_dps_packed") {
    return CallForm::kOutType;
  }
  if (op == "call_pure_packed" || op == "call_inplace_packed" || op == "call_builtin_with_ctx" ||
      op == "call_py_func" || op == "invoke_closure" || op == "invoke_pure_closure") {
    return CallForm::kTypeArgs;
  }
  if (op == "print") return CallForm::kPrint;
  if (op == "assert_op") return CallForm::kAssert;
  return CallForm::kPlain;
}

bool IsOutType(std::string_view op) { return FormOf(op) == CallForm::kOutType; }

/// An external function as the operand of a call is its name, when that says all.
ExprDoc CalleeDoc(const Expr& callee, const AccessPath& p, IRDocsifier& d) {
  ExprDoc doc = ValueDoc(callee, p, d);
  if (callee.as<rx::ExternFuncNode>()) {
    const auto* call = doc.as<CallDocNode>();
    if (call != nullptr && call->args.size() == 1) return call->args[0];
  }
  return doc;
}

ExprDoc TyArgsDoc(const CallNode* call, const AccessPath& p, IRDocsifier& d) {
  Array<ExprDoc> docs;
  AccessPath path = p->Attr("ty_args");
  for (size_t i = 0; i < call->ty_args.size(); ++i) {
    docs.push_back(TypeDoc(call->ty_args[i], path->ArrayItem(static_cast<int64_t>(i)), d));
  }
  return TupleDoc(docs);
}

/// Output type of a kernel call; several outputs are a list.
ExprDoc OutTypeDoc(const Type& ty, const AccessPath& p, IRDocsifier& d) {
  const auto* tuple = ty.as<TupleTypeNode>();
  // A list of one type stands for that type.
  if (tuple == nullptr || tuple->fields.size() == 1) return TypeDoc(ty, p, d);
  Array<ExprDoc> docs;
  for (size_t i = 0; i < tuple->fields.size(); ++i) {
    docs.push_back(
        TypeDoc(tuple->fields[i], p->Attr("fields")->ArrayItem(static_cast<int64_t>(i)), d));
  }
  return Doc::At(ListDoc(docs), p);
}

/// Attributes as keywords: fields in order, entries of a dictionary by name.
void AddAttrs(const Attrs& attrs, const AccessPath& p, IRDocsifier& d, Kwargs* kwargs) {
  if (!attrs.defined()) return;
  AccessPath path = p->Attr("attrs");
  if (const auto* dict = attrs.as<DictAttrsNode>()) {
    std::vector<String> keys;
    for (const auto& [key, value] : dict->dict) keys.push_back(key);
    std::sort(keys.begin(), keys.end());
    for (const String& key : keys) {
      kwargs->keys.push_back(key);
      kwargs->values.push_back(AttrDoc(dict->dict.at(key), path->Attr(key), d));
    }
    return;
  }
  const TVMFFITypeInfo* info = TVMFFIGetTypeInfo(attrs->type_index());
  ffi::reflection::ForEachFieldInfo(info, [&](const TVMFFIFieldInfo* field) {
    String name(std::string(field->name.data, field->name.size));
    ffi::Any value = ffi::reflection::FieldGetter(field)(attrs);
    kwargs->keys.push_back(name);
    kwargs->values.push_back(AttrDoc(value, path->Attr(name), d));
  });
}

ExprDoc MakeCall(ExprDoc callee, const Array<ExprDoc>& args, const Kwargs& kwargs) {
  return callee.Call(args, kwargs.keys, kwargs.values);
}

ExprDoc PackedCallDoc(const CallNode* call, const AccessPath& p, IRDocsifier& d) {
  Array<ExprDoc> args{CalleeDoc(call->op, p->Attr("op"), d)};
  for (const ExprDoc& arg : ValueDocs(call->args, p->Attr("args"), d)) args.push_back(arg);
  Kwargs kwargs;
  if (call->attrs.defined()) {
    kwargs.Add("attrs_type_key", LiteralDoc::Str(call->attrs->GetTypeKey(), p->Attr("attrs")));
    AddAttrs(call->attrs, p, d, &kwargs);
  }
  if (!call->ty_args.empty()) kwargs.Add("ty_args", TyArgsDoc(call, p, d));
  return MakeCall(RelaxName(d, "call_packed"), args, kwargs);
}

/// Call of a function of the program, or of a value of function type.
ExprDoc FunctionCallDoc(const CallNode* call, const AccessPath& p, IRDocsifier& d) {
  ExprDoc callee = ValueDoc(call->op, p->Attr("op"), d);
  Kwargs kwargs;
  if (call->attrs.defined()) kwargs.Add("attrs", d.AsExpr(call->attrs, p->Attr("attrs")));
  if (!call->ty_args.empty()) kwargs.Add("ty_args", TyArgsDoc(call, p, d));
  return MakeCall(callee, ValueDocs(call->args, p->Attr("args"), d), kwargs);
}

ExprDoc PlainOpDoc(std::string_view op, const CallNode* call, const AccessPath& p, IRDocsifier& d) {
  Array<ExprDoc> args = ValueDocs(call->args, p->Attr("args"), d);
  Kwargs kwargs;
  if (!call->ty_args.empty()) {
    // The makers of operators take no types.
    kwargs.Add("ty_args", TyArgsDoc(call, p, d));
    return MakeCall(RelaxName(d, "emit_with_ty"),
                    {LiteralDoc::Str("relax." + std::string(op)), TupleDoc(args)}, kwargs);
  }
  AddAttrs(call->attrs, p, d, &kwargs);
  return MakeCall(RelaxName(d, op), args, kwargs);
}

ExprDoc OutTypeCallDoc(std::string_view op, const CallNode* call, const AccessPath& p,
                       IRDocsifier& d) {
  AccessPath path = p->Attr("args");
  Array<ExprDoc> args{CalleeDoc(call->args[0], path->ArrayItem(0), d),
                      ValueDoc(call->args[1], path->ArrayItem(1), d)};
  Kwargs kwargs;
  kwargs.Add("out_ty", OutTypeDoc(call->ty_args[0], p->Attr("ty_args")->ArrayItem(0), d));
  AddAttrs(call->attrs, p, d, &kwargs);
  if (call->args.size() > 2) {
    kwargs.Add("tir_vars", ValueDoc(call->args[2], path->ArrayItem(2), d));
  }
  return MakeCall(RelaxName(d, op), args, kwargs);
}

ExprDoc TypeArgsCallDoc(std::string_view op, const CallNode* call, const AccessPath& p,
                        IRDocsifier& d) {
  AccessPath path = p->Attr("args");
  Array<ExprDoc> args{CalleeDoc(call->args[0], path->ArrayItem(0), d)};
  for (size_t i = 1; i < call->args.size(); ++i) {
    args.push_back(ValueDoc(call->args[i], path->ArrayItem(static_cast<int64_t>(i)), d));
  }
  Kwargs kwargs;
  AddAttrs(call->attrs, p, d, &kwargs);
  if (!call->ty_args.empty() || op == "invoke_closure" || op == "invoke_pure_closure") {
    kwargs.Add("ty_args", TyArgsDoc(call, p, d));
  }
  return MakeCall(RelaxName(d, op), args, kwargs);
}

/// print and assert_op: the text they write is the operand at `format_index`.
ExprDoc FormatCallDoc(std::string_view op, size_t format_index, const CallNode* call,
                      const AccessPath& p, IRDocsifier& d) {
  Array<ExprDoc> all = ValueDocs(call->args, p->Attr("args"), d);
  Array<ExprDoc> args;
  for (size_t i = 0; i < all.size(); ++i) {
    if (i != format_index) args.push_back(all[i]);
  }
  return RelaxName(d, op).Call(args, {"format"}, {all[format_index]});
}

ExprDoc OpCallText(std::string_view op, const CallNode* call, const AccessPath& p, IRDocsifier& d) {
  size_t given = call->args.size();
  switch (FormOf(op)) {
    case CallForm::kOutType:
      if (given >= 2 && given <= 3 && call->ty_args.size() == 1) {
        return OutTypeCallDoc(op, call, p, d);
      }
      break;
    case CallForm::kTypeArgs:
      if (given >= 1) return TypeArgsCallDoc(op, call, p, d);
      break;
    case CallForm::kPrint:
      if (given >= 1) return FormatCallDoc(op, 0, call, p, d);
      break;
    case CallForm::kAssert:
      if (given >= 2) return FormatCallDoc(op, 1, call, p, d);
      break;
    case CallForm::kPlain:
      break;
  }
  return PlainOpDoc(op, call, p, d);
}

constexpr std::string_view kOpPrefix = "relax.";

/// Calls in graph-level text: those of scalars print as kernels print them.
Doc PrintCall(const CallNode* call, const AccessPath& p, IRDocsifier& d) {
  if (IsRelaxCall(call)) {
    if (d.top().token == kRelax) return RelaxCallDoc(call, p, d);
    FrameScope frame(d, kRelax);
    return RelaxCallDoc(call, p, d);
  }
  FrameScope frame(d, "tirx");
  return d.AsExpr(GetRef<Call>(call), p);
}

}  // namespace

bool IsRelaxCall(const CallNode* call) {
  if (const auto* op = call->op.as<OpNode>()) {
    return std::string_view(op->name).substr(0, kOpPrefix.size()) == kOpPrefix;
  }
  if (call->op.as<rx::ExternFuncNode>()) return true;
  // A kernel calls another one with scalars, and gives a scalar or nothing.
  return call->ty.as<PrimTypeNode>() == nullptr;
}

ExprDoc AttrDoc(const ffi::Any& value, const AccessPath& p, IRDocsifier& d) {
  if (value == nullptr) return LiteralDoc::None(p);
  if (const auto* device = value.as<VDeviceNode>()) {
    return VDeviceDoc(GetRef<VDevice>(device), p, d);
  }
  if (auto dtype = value.as<DLDataType>()) {
    DataType t(*dtype);
    return t.is_void() ? ExprDoc(LiteralDoc::None(p)) : ExprDoc(LiteralDoc::DType(t, p));
  }
  if (const auto* ty = value.as<TypeNode>()) return TypeDoc(GetRef<Type>(ty), p, d);
  if (auto list = value.as<Array<ffi::Any>>()) {
    Array<ExprDoc> docs;
    for (size_t i = 0; i < list->size(); ++i) {
      docs.push_back(AttrDoc((*list)[i], p->ArrayItem(static_cast<int64_t>(i)), d));
    }
    return Doc::At(ListDoc(docs), p);
  }
  return d.AsExpr(value, p);
}

ExprDoc RelaxCallDoc(const CallNode* call, const AccessPath& p, IRDocsifier& d) {
  if (const auto* op = call->op.as<OpNode>()) {
    return OpCallText(std::string_view(op->name).substr(kOpPrefix.size()), call, p, d);
  }
  if (call->op.as<rx::ExternFuncNode>()) return PackedCallDoc(call, p, d);
  return FunctionCallDoc(call, p, d);
}

TVM_FFI_STATIC_INIT_BLOCK() { RegisterPrinter<CallNode, PrintCall>(kRelax); }

}  // namespace tvm::script::printer
