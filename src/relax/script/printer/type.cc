// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file
/// \brief Text of graph-level types.
#include "relax/script/printer/utils.h"

namespace tvm::script::printer {

namespace {

Doc PrintAnyType(const rx::AnyTypeNode*, const AccessPath&, IRDocsifier& d) {
  return RelaxName(d, "Any");
}

Doc PrintPackedFuncType(const rx::PackedFuncTypeNode*, const AccessPath&, IRDocsifier& d) {
  return RelaxName(d, "PackedFunc");
}

Doc PrintTensorType(const rx::TensorTypeNode* ty, const AccessPath& p, IRDocsifier& d) {
  Array<ExprDoc> args;
  Kwargs kwargs;
  if (ty->shape.has_value()) {
    AccessPath path = p->Attr("shape");
    if (const auto* shape = ty->shape.value().as<rx::ShapeExprNode>()) {
      args.push_back(Doc::At(TupleDoc(DimDocs(shape->values, path->Attr("values"), d)), path));
    } else {
      args.push_back(d.AsExpr(ty->shape.value(), path));
    }
  }
  if (ty->dtype.has_value()) {
    kwargs.Add("dtype", LiteralDoc::DType(ty->dtype.value()->dtype, p->Attr("dtype")));
  }
  if (ty->vdevice.has_value()) {
    kwargs.Add("vdevice", VDeviceDoc(ty->vdevice.value(), p->Attr("vdevice"), d));
  }
  if (!ty->shape.has_value() && !ty->IsUnknownNdim()) {
    kwargs.Add("ndim", LiteralDoc::Int(ty->ndim, p->Attr("ndim")));
  }
  ExprDoc name = RelaxName(d, "Tensor");
  if (args.empty() && kwargs.keys.empty()) return name;
  return name.Call(args, kwargs.keys, kwargs.values);
}

Doc PrintShapeType(const rx::ShapeTypeNode* ty, const AccessPath& p, IRDocsifier& d) {
  ExprDoc name = RelaxName(d, "Shape");
  if (ty->values.has_value()) {
    AccessPath path = p->Attr("values");
    return name.Call({Doc::At(ListDoc(DimDocs(ty->values.value(), path, d)), path)});
  }
  return name.Call({}, {"ndim"}, {LiteralDoc::Int(ty->ndim, p->Attr("ndim"))});
}

Doc PrintTupleType(const TupleTypeNode* ty, const AccessPath& p, IRDocsifier& d) {
  ExprDoc name = RelaxName(d, "Tuple");
  if (ty->fields.empty()) return name;
  return name.Call(d.AsExprs(ty->fields, p->Attr("fields")));
}

Doc PrintFuncType(const rx::FuncTypeNode* ty, const AccessPath& p, IRDocsifier& d) {
  ExprDoc name = RelaxName(d, "Callable");
  if (!ty->IsOpaque()) {
    AccessPath path = p->Attr("params");
    ExprDoc params = Doc::At(TupleDoc(d.AsExprs(ty->params.value(), path)), path);
    ExprDoc ret = d.AsExpr(ty->ret, p->Attr("ret"));
    return name.Call({params, ret, LiteralDoc::Boolean(ty->purity, p->Attr("purity"))});
  }
  Kwargs kwargs;
  if (ty->derive_func.has_value()) {
    kwargs.Add("derive_func",
               LiteralDoc::Str(ty->derive_func.value()->name, p->Attr("derive_func")));
  } else if (!ty->ret.as<rx::AnyTypeNode>()) {
    kwargs.Add("ret", d.AsExpr(ty->ret, p->Attr("ret")));
  }
  if (ty->purity) kwargs.Add("purity", LiteralDoc::Boolean(true, p->Attr("purity")));
  if (kwargs.keys.empty()) return name;
  return name.Call({}, kwargs.keys, kwargs.values);
}

}  // namespace

TVM_FFI_STATIC_INIT_BLOCK() {
  RegisterRelaxPrinter<rx::AnyTypeNode, PrintAnyType>();
  RegisterRelaxPrinter<rx::PackedFuncTypeNode, PrintPackedFuncType>();
  RegisterRelaxPrinter<rx::TensorTypeNode, PrintTensorType>();
  RegisterRelaxPrinter<rx::ShapeTypeNode, PrintShapeType>();
  RegisterRelaxPrinter<rx::FuncTypeNode, PrintFuncType>();
  RegisterPrinter<TupleTypeNode, PrintTupleType>(kRelax);
}

}  // namespace tvm::script::printer
