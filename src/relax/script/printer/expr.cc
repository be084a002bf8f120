// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file
/// \brief Text of graph-level expressions other than calls.
#include <tvm/ffi/extra/structural_equal.h>
#include <tvm/ir/scalar.h>
#include <tvm/relax/analysis.h>
#include <tvm/relax/expr_functor.h>
#include <tvm/script/printer/type_doc.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

#include "relax/ir/utils.h"
#include "relax/script/printer/utils.h"

namespace tvm::script::printer {

namespace {

/// In this dialect plain integers are int64.
Doc PrintIntImm(const IntImmNode* imm, const AccessPath& p, IRDocsifier& d) {
  DataType dtype = imm->dtype();
  if (dtype.is_bool() && !d.in_any) return LiteralDoc::Boolean(imm->value != 0, p);
  if (dtype == DataType::Int(64) && !d.in_any) return LiteralDoc::Int(imm->value, p);
  ExprDoc value = LiteralDoc::Int(imm->value, p);
  if (dtype == DataType::UInt(64) && imm->value < 0) {
    value = ExprStringDoc(std::to_string(static_cast<uint64_t>(imm->value)));
  }
  return DTypeDoc(dtype, d).Call({value});
}

Doc PrintStringImm(const rx::StringImmNode* imm, const AccessPath& p, IRDocsifier& d) {
  return RelaxName(d, "str").Call({d.AsExpr(imm->value, p->Attr("value"))});
}

Doc PrintDataTypeImm(const rx::DataTypeImmNode* imm, const AccessPath& p, IRDocsifier& d) {
  return RelaxName(d, "dtype").Call({LiteralDoc::DType(DataType(imm->value), p->Attr("value"))});
}

Doc PrintShapeExpr(const rx::ShapeExprNode* shape, const AccessPath& p, IRDocsifier& d) {
  Array<ExprDoc> dims;
  for (size_t i = 0; i < shape->values.size(); ++i) {
    dims.push_back(
        d.AsExpr(shape->values[i], p->Attr("values")->ArrayItem(static_cast<int64_t>(i))));
  }
  return RelaxName(d, "shape").Call({ListDoc(dims)});
}

Doc PrintTuple(const rx::TupleNode* tuple, const AccessPath& p, IRDocsifier& d) {
  if (tuple->fields.empty()) return RelaxName(d, "tuple").Call({});
  return TupleDoc(ValueDocs(tuple->fields, p->Attr("fields"), d));
}

Doc PrintTupleGetItem(const rx::TupleGetItemNode* get, const AccessPath& p, IRDocsifier& d) {
  ExprDoc tuple = ValueDoc(get->tuple, p->Attr("tuple_value"), d);
  return tuple[{LiteralDoc::Int(get->index, p->Attr("index"))}];
}

Doc PrintExternFunc(const rx::ExternFuncNode* func, const AccessPath& p, IRDocsifier& d) {
  GlobalVar member = std::exchange(d.function_var, GlobalVar());
  Array<ExprDoc> args{LiteralDoc::Str(func->global_symbol, p->Attr("global_symbol"))};
  static const Type& default_ty = *new Type(rx::ExternFunc("")->ty);
  if (!ffi::StructuralEqual::Equal(func->ty, default_ty)) {
    args.push_back(TypeDoc(func->ty, p->Attr("ty"), d));
  }
  ExprDoc doc = RelaxName(d, "ExternFunc").Call(args);
  if (!member.defined()) return doc;
  return AssignDoc(IdDoc(d.global_names.at(member.get())), doc);
}

/// Value of a scalar constant as text, or nothing when no literal gives the same bytes back.
Optional<ExprDoc> ScalarText(const ffi::Tensor& data, const AccessPath& p) {
  DataType dtype(data.dtype());
  if (dtype.lanes() != 1 || data.ndim() != 0 || data.device().device_type != kDLCPU) {
    return std::nullopt;
  }
  if (dtype.is_bool()) {
    return LiteralDoc::Boolean(*static_cast<const uint8_t*>(data.data_ptr()) != 0, p);
  }
  if (dtype.is_int() || dtype.is_uint()) {
    if (dtype.bits() < 8) return std::nullopt;
    int64_t value = rx::LoadScalarAsInt(data.data_ptr(), dtype);
    if (dtype == DataType::UInt(64) && value < 0) {
      return ExprStringDoc(std::to_string(static_cast<uint64_t>(value)));
    }
    return LiteralDoc::Int(value, p);
  }
  bool plain = dtype.is_float() && (dtype.bits() == 16 || dtype.bits() == 32 || dtype.bits() == 64);
  if (!plain && !dtype.is_bfloat16()) return std::nullopt;
  double value = rx::LoadScalarAsDouble(data.data_ptr(), dtype);
  if (std::isnan(value)) {
    // Only the NaN that the parser makes has a literal.
    ffi::Tensor made = rx::ScalarConst(std::nan(""), dtype)->data;
    size_t bytes = static_cast<size_t>(dtype.bits()) / 8;
    if (std::memcmp(made.data_ptr(), data.data_ptr(), bytes) != 0) return std::nullopt;
    return LiteralDoc::Str("nan", p);
  }
  if (std::isinf(value)) return LiteralDoc::Str(value < 0 ? "-inf" : "inf", p);
  return LiteralDoc::Float(value, p);
}

Doc PrintConstant(const rx::ConstantNode* constant, const AccessPath& p, IRDocsifier& d) {
  // A type that says more than the tensor (a device, say) has no short form.
  const auto* ty = constant->ty.as<rx::TensorTypeNode>();
  bool plain = ty != nullptr && !ty->vdevice.has_value() && ty->shape.has_value() &&
               ty->ElementType() == DataType(constant->data.dtype());
  if (plain && constant->is_scalar()) {
    if (Optional<ExprDoc> value = ScalarText(constant->data, p->Attr("data"))) {
      return RelaxName(d, "const")
          .Call({*value, LiteralDoc::DType(DataType(constant->data.dtype()), p->Attr("data"))});
    }
  }
  // Where the constant was written is no part of the program.
  if (constant->span.defined()) return d.AddMetadata(rx::Constant(constant->data, constant->ty));
  return d.AddMetadata(GetRef<rx::Constant>(constant));
}

/// A variable: symbolic dimensions are declared where they are first used, others by their type.
Doc PrintVar(const Var& var, const AccessPath& p, IRDocsifier& d) {
  if (Optional<ExprDoc> doc = d.VarDoc(var)) return *doc;
  RelaxFunctionScope* scope = RelaxFunctionScope::Current(d);
  const auto* prim = var->ty.as<PrimTypeNode>();
  if (scope != nullptr && prim != nullptr && !var.as<rx::DataflowVarNode>()) {
    DataType dtype = prim->dtype;
    IdDoc name = d.Define(var, std::string(var->name), scope->frame);
    scope->frame->stmts.push_back(AssignDoc(name, DTypeDoc(dtype, d).Call({})));
    return name;
  }
  Frame* frame = scope != nullptr ? scope->frame : d.FreeVarFrame();
  IdDoc name = d.Define(var, std::string(var->name), frame);
  if (prim == nullptr && !var->ty.IsMissing()) {
    frame->stmts.push_back(AssignDoc(name, std::nullopt, TypeDoc(var->ty, p->Attr("ty"), d)));
  }
  return name;
}
Doc PrintPlainVar(const VarNode* var, const AccessPath& p, IRDocsifier& d) {
  return PrintVar(GetRef<Var>(var), p, d);
}
Doc PrintDataflowVar(const rx::DataflowVarNode* var, const AccessPath& p, IRDocsifier& d) {
  return PrintVar(GetRef<Var>(var), p, d);
}

Doc PrintGlobalVar(const GlobalVarNode* gv, const AccessPath&, IRDocsifier& d) {
  String name = gv->name_hint;
  if (auto it = d.global_names.find(gv); it != d.global_names.end()) name = it->second;
  RelaxFunctionScope* scope = RelaxFunctionScope::Current(d);
  if (scope != nullptr && scope->module_doc.has_value())
    return scope->module_doc.value().Attr(name);
  return IdDoc(name);
}

/// A choice or a sequence outside of a binding: its statements, then its value.
Doc PrintAsStatements(const Expr& value, const AccessPath& p, IRDocsifier& d) {
  FrameScope frame(d, kRelax, {}, true);
  Optional<ExprDoc> result;
  if (const auto* seq = value.as<rx::SeqExprNode>()) {
    PushBlocks(seq->blocks, p->Attr("blocks"), d);
    result = ValueDoc(seq->body, p->Attr("body"), d);
  } else {
    result = ValueDoc(value, p, d);
  }
  frame->stmts.push_back(ExprStmtDoc(*result));
  return StmtBlockDoc(frame->stmts);
}
Doc PrintSeqExpr(const rx::SeqExprNode* seq, const AccessPath& p, IRDocsifier& d) {
  return PrintAsStatements(GetRef<Expr>(seq), p, d);
}
Doc PrintIf(const rx::IfNode* choice, const AccessPath& p, IRDocsifier& d) {
  return PrintAsStatements(GetRef<Expr>(choice), p, d);
}

}  // namespace

ExprDoc ValueDoc(const Expr& value, const AccessPath& path, IRDocsifier& d) {
  CheckStackDepth();
  if (const auto* func = value.as<rx::FunctionNode>()) {
    String name = d.FreshName("func");
    d.Push(RelaxFunctionDoc(func, name, true, path, d));
    return IdDoc(name);
  }
  if (value.as<rx::IfNode>()) {
    Var var("gv", value->ty);
    PushBinding(rx::VarBinding(var, value), path, d);
    return d.VarDoc(var).value();
  }
  if (const auto* seq = value.as<rx::SeqExprNode>()) {
    PushBlocks(seq->blocks, path->Attr("blocks"), d);
    return ValueDoc(seq->body, path->Attr("body"), d);
  }
  return d.AsExpr(value, path);
}

Array<ExprDoc> ValueDocs(const Array<Expr>& values, const AccessPath& path, IRDocsifier& d) {
  Array<ExprDoc> docs;
  for (size_t i = 0; i < values.size(); ++i) {
    docs.push_back(ValueDoc(values[i], path->ArrayItem(static_cast<int64_t>(i)), d));
  }
  return docs;
}

TVM_FFI_STATIC_INIT_BLOCK() {
  RegisterPrinter<IntImmNode, PrintIntImm>(kRelax);
  RegisterRelaxPrinter<rx::StringImmNode, PrintStringImm>();
  RegisterRelaxPrinter<rx::DataTypeImmNode, PrintDataTypeImm>();
  RegisterRelaxPrinter<rx::ShapeExprNode, PrintShapeExpr>();
  RegisterRelaxPrinter<rx::TupleNode, PrintTuple>();
  RegisterRelaxPrinter<rx::TupleGetItemNode, PrintTupleGetItem>();
  RegisterRelaxPrinter<rx::ExternFuncNode, PrintExternFunc>();
  RegisterRelaxPrinter<rx::ConstantNode, PrintConstant>();
  RegisterPrinter<VarNode, PrintPlainVar>(kRelax);
  RegisterRelaxPrinter<rx::DataflowVarNode, PrintDataflowVar>();
  RegisterPrinter<GlobalVarNode, PrintGlobalVar>(kRelax);
  RegisterRelaxPrinter<rx::SeqExprNode, PrintSeqExpr>();
  RegisterRelaxPrinter<rx::IfNode, PrintIf>();
}

}  // namespace tvm::script::printer
