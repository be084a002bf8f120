// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Types and literals of the base IR.
#include <tvm/ir/expr.h>
#include <tvm/ir/function.h>
#include <tvm/script/printer/type_doc.h>

namespace tvm::script::printer {

using ffi::Array;
using ffi::String;

ExprDoc DTypeDoc(DataType dtype, IRDocsifier& d) {
  if (dtype.is_void()) return d.Dialect("tirx", "void");
  if (dtype.is_handle()) return d.Dialect("tirx", "handle");
  std::string text(dtype.ToString());
  if (IsIdentifier(text)) return d.Dialect("tirx", text);
  return d.Dialect("ir", "PrimType").Call({LiteralDoc::Str(text)});
}

namespace {

bool IsVoidPointer(const PointerTypeNode* type) {
  const auto* prim = type->element_type.as<PrimTypeNode>();
  return prim != nullptr && prim->dtype.is_void() && type->storage_scope == "global";
}

/// `T.handle("float32", "global")`
ExprDoc PointerDoc(const PointerTypeNode* type, const AccessPath& path, IRDocsifier& d) {
  ExprDoc element;
  AccessPath element_path = path->Attr("element_type");
  if (const auto* prim = type->element_type.as<PrimTypeNode>()) {
    element = LiteralDoc::DType(prim->dtype, element_path);
  } else {
    element = d.AsExpr(type->element_type, element_path);
  }
  return d.Dialect("tirx", "handle")
      .Call({element, LiteralDoc::Str(type->storage_scope, path->Attr("storage_scope"))});
}

Doc PrintPrimType(const PrimTypeNode* type, const AccessPath& path, IRDocsifier& d) {
  return DTypeDoc(type->dtype, d);
}

Doc PrintPointerType(const PointerTypeNode* type, const AccessPath& path, IRDocsifier& d) {
  if (IsVoidPointer(type)) return d.Dialect("tirx", "handle");
  return PointerDoc(type, path, d);
}

Doc PrintTupleType(const TupleTypeNode* type, const AccessPath& path, IRDocsifier& d) {
  return d.Dialect("tirx", "Tuple").Call(d.AsExprs(type->fields, path->Attr("fields")));
}

Doc PrintFuncType(const FuncTypeNode* type, const AccessPath& path, IRDocsifier& d) {
  ExprDoc args = ListDoc(d.AsExprs(type->arg_types, path->Attr("arg_types")));
  return d.Dialect("ir", "FuncType").Call({args, d.AsExpr(type->ret_type, path->Attr("ret_type"))});
}

Doc PrintTensorMapType(const TensorMapTypeNode*, const AccessPath&, IRDocsifier& d) {
  return d.Dialect("tirx", "TensorMap").Call({});
}

Doc PrintMissingType(const TypeNode*, const AccessPath&, IRDocsifier& d) {
  return d.Dialect("ir", "TypeMissing").Call({});
}

Doc PrintIntImm(const IntImmNode* node, const AccessPath& path, IRDocsifier& d) {
  AccessPath value_path = path->Attr("value");
  DataType dtype = node->dtype();
  if (dtype.is_bool() && (node->value == 0 || node->value == 1)) {
    return DTypeDoc(dtype, d).Call({LiteralDoc::Boolean(node->value != 0, value_path)});
  }
  if (dtype == d.cfg->int_dtype && !d.in_any) return LiteralDoc::Int(node->value, value_path);
  return DTypeDoc(dtype, d).Call({LiteralDoc::Int(node->value, value_path)});
}

Doc PrintFloatImm(const FloatImmNode* node, const AccessPath& path, IRDocsifier& d) {
  ExprDoc value = LiteralDoc::Float(node->value, path->Attr("value"));
  bool finite = node->value - node->value == 0;
  if (node->dtype() == d.cfg->float_dtype && !d.in_any && finite) return value;
  return DTypeDoc(node->dtype(), d).Call({value});
}

}  // namespace

ExprDoc TypeArgDoc(const Type& type, const AccessPath& path, IRDocsifier& d) {
  if (const auto* prim = type.as<PrimTypeNode>()) return LiteralDoc::DType(prim->dtype, path);
  if (const auto* pointer = type.as<PointerTypeNode>()) {
    if (IsVoidPointer(pointer)) return LiteralDoc::Str("handle", path);
    return PointerDoc(pointer, path, d).Attr("ty");
  }
  return d.AsExpr(type, path);
}

ExprDoc TypeDeclDoc(const Type& type, const AccessPath& path, IRDocsifier& d) {
  if (const auto* prim = type.as<PrimTypeNode>()) return DTypeDoc(prim->dtype, d).Call({});
  if (const auto* pointer = type.as<PointerTypeNode>()) {
    if (IsVoidPointer(pointer)) return d.Dialect("tirx", "handle").Call({});
    return PointerDoc(pointer, path, d);
  }
  if (type->IsInstance<TensorMapTypeNode>()) return d.Dialect("tirx", "TensorMap").Call({});
  return ExprDoc();
}

ExprDoc IntDoc(int64_t value, DataType dtype, IRDocsifier& d) {
  if (dtype == d.cfg->int_dtype) return LiteralDoc::Int(value);
  return DTypeDoc(dtype, d).Call({LiteralDoc::Int(value)});
}

TVM_FFI_STATIC_INIT_BLOCK() {
  RegisterPrinterAndRepr<PrimTypeNode, PrintPrimType>("");
  RegisterPrinterAndRepr<PointerTypeNode, PrintPointerType>("");
  RegisterPrinterAndRepr<TupleTypeNode, PrintTupleType>("");
  RegisterPrinterAndRepr<FuncTypeNode, PrintFuncType>("");
  RegisterPrinter<TensorMapTypeNode, PrintTensorMapType>("");
  RegisterPrinter<TypeNode, PrintMissingType>("");
  RegisterPrinterAndRepr<IntImmNode, PrintIntImm>("");
  RegisterPrinterAndRepr<FloatImmNode, PrintFloatImm>("");
}

}  // namespace tvm::script::printer
