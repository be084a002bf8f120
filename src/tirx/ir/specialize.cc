// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Replaces parameters of a function by values and by buffers of more specific type.
#include <tvm/tirx/function.h>
#include <tvm/tirx/op.h>
#include <tvm/tirx/stmt_functor.h>

namespace tvm {
namespace tirx {

namespace {

/// Unifies the dimensions of a parameter with those of its replacement.
void MatchBuffer(const Buffer& param, const Buffer& given, ffi::Map<Var, Expr>* values) {
  auto fail = [&](const char* what, const auto& expected, const auto& found) {
    TVM_FFI_THROW(ValueError) << "specialize: " << what << " of buffer " << param->name << " is "
                              << expected << ", but the given buffer has " << found;
  };
  if (param.dtype() != given.dtype()) fail("the dtype", param.dtype(), given.dtype());
  if (param.ndim() != given.ndim()) fail("the number of dimensions", param.ndim(), given.ndim());
  if (param.strides().size() != given.strides().size()) {
    fail("the number of strides", param.strides().size(), given.strides().size());
  }
  auto match = [&](const PrimExpr& expected, const PrimExpr& found, const char* what) {
    const auto* var = expected.as<VarNode>();
    if (var == nullptr) {
      if (!ExprDeepEqual()(expected, found)) fail(what, expected, found);
      return;
    }
    Var symbol = ffi::GetRef<Var>(var);
    PrimExpr value = found.dtype() == symbol->dtype() ? found : tvm::cast(symbol->dtype(), found);
    auto it = values->find(symbol);
    if (it == values->end()) {
      if (!value.same_as(symbol)) values->Set(symbol, value);
    } else if (!ExprDeepEqual()((*it).second, value)) {
      fail(what, (*it).second, value);
    }
  };
  for (size_t i = 0; i < param.ndim(); ++i) {
    match(param.shape()[i], given.shape()[i], "an extent");
  }
  for (size_t i = 0; i < param.strides().size(); ++i) {
    match(param.strides()[i], given.strides()[i], "a stride");
  }
  if (param.elem_offset().defined() && given.elem_offset().defined()) {
    match(param.elem_offset(), given.elem_offset(), "the element offset");
  }
}

class ParamMutator final : public StmtExprMutator {
 public:
  explicit ParamMutator(const ffi::Map<Var, Expr>& values) : values_(values) {}

  Buffer Redefine(const Buffer& buffer) { return VisitBufferDef(buffer); }
  using StmtExprMutator::VisitStmt;

 private:
  Expr VisitExpr_(const VarNode* op) final {
    auto it = values_.find(ffi::GetRef<Var>(op));
    if (it != values_.end()) return (*it).second;
    return StmtExprMutator::VisitExpr_(op);
  }
  Buffer VisitBufferUse(const Buffer& buffer) final {
    auto it = values_.find(buffer);
    if (it != values_.end()) return Downcast<Buffer>((*it).second);
    return StmtExprMutator::VisitBufferUse(buffer);
  }

  const ffi::Map<Var, Expr>& values_;
};

}  // namespace

PrimFunc Specialize(PrimFunc func, const ffi::Map<Var, ffi::Any>& param_map) {
  ffi::Map<Var, Expr> values;
  for (const auto& [param, value] : param_map) {
    bool known = false;
    for (const Var& p : func->params) known = known || p.same_as(param);
    TVM_FFI_CHECK(known, ValueError)
        << "specialize: " << param->name << " is not a parameter of the function";
    if (IsBuffer(param.get())) {
      auto buffer = value.as<Buffer>();
      TVM_FFI_CHECK(buffer.has_value(), TypeError)
          << "specialize: parameter " << param->name << " is a buffer and needs one";
      MatchBuffer(Buffer(param), *buffer, &values);
      values.Set(param, *buffer);
    } else {
      PrimExpr expr = value.cast<PrimExpr>();
      if (expr.dtype() != param->dtype()) expr = tvm::cast(param->dtype(), expr);
      values.Set(param, expr);
    }
  }
  ParamMutator mutator(values);
  ffi::Array<Var> params;
  for (const Var& param : func->params) {
    auto it = values.find(param);
    if (it == values.end()) {
      params.push_back(IsBuffer(param.get()) ? Var(mutator.Redefine(Buffer(param))) : param);
    } else if (IsBuffer(param.get())) {
      params.push_back(Downcast<Var>((*it).second));
    }
  }
  Stmt body = mutator.VisitStmt(func->body);
  return PrimFunc(params, body, func->ret_type, func->attrs, func->span);
}

}  // namespace tirx
}  // namespace tvm
