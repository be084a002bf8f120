// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file
/// \brief Lowering of element-wise operators.
#include "relax/op/lower.h"

#include <tvm/relax/attrs.h>

#include "relax/ir/utils.h"

namespace tvm {
namespace relax {

const TensorTypeNode* LowerArgs::OutType(int i) const {
  const auto* ty = call->ty.as<TensorTypeNode>();
  if (ty == nullptr) {
    const auto* tuple = call->ty.as<TupleTypeNode>();
    TVM_FFI_ICHECK(tuple != nullptr && i < static_cast<int>(tuple->fields.size()))
        << "relax." << row->name << " has no output " << i;
    ty = tuple->fields[i].as<TensorTypeNode>();
  }
  TVM_FFI_CHECK(ty != nullptr && ty->GetShape().has_value(), ValueError)
      << "relax." << row->name << " cannot be compiled: the shape of its result is unknown (type "
      << call->ty << ")";
  return ty;
}

String LowerArgs::BlockName() const {
  std::string name(row->name);
  size_t dot = name.rfind('.');
  return dot == std::string::npos ? name : name.substr(dot + 1);
}

PrimExpr BroadcastRead(const te::Tensor& t, const Array<Var>& i) {
  size_t n = t.ndim();
  TVM_FFI_ICHECK(n <= i.size()) << "a tensor of rank " << n << " read at " << i.size()
                                << " indices";
  Array<PrimExpr> at;
  for (size_t d = 0; d < n; ++d) {
    const Var& v = i[i.size() - n + d];
    if (IsConstInt(t.shape()[d], 1)) {
      at.push_back(make_zero(v.dtype()));
    } else {
      at.push_back(PrimExpr(v));
    }
  }
  return t(at);
}

te::Tensor MapElements(const te::Tensor& x, const LowerArgs& a, const char* tag,
                       const std::function<PrimExpr(PrimExpr)>& f) {
  return te::compute(x.shape(), te::FCompute([&](const Array<Var>& i) { return f(x(i)); }),
                     a.BlockName(), tag);
}

void LowerUnaryWith(LowerArgs& a, PrimExpr (*f)(PrimExpr)) {
  a.out = {MapElements(a[0], a, "elemwise", f)};
}

namespace {
/// Operand k of an element-wise operator at the output position.
PrimExpr ReadOperand(const LowerArgs& a, int k, const Array<Var>& i) {
  return a.HasTensor(k) ? BroadcastRead(a[k], i) : a.Prim(k);
}
}  // namespace

void LowerBinaryWith(LowerArgs& a, PrimExpr (*f)(PrimExpr, PrimExpr)) {
  a.out = {te::compute(a.OutShape(), te::FCompute([&](const Array<Var>& i) {
                         PrimExpr x = ReadOperand(a, 0, i), y = ReadOperand(a, 1, i);
                         // A truth value, or a scalar, takes the type of the other operand.
                         if (x.dtype() != y.dtype()) {
                           bool adapt_x =
                               x.dtype().is_bool() || (!a.HasTensor(0) && a.HasTensor(1));
                           if (adapt_x) {
                             x = tvm::cast(y.dtype(), x);
                           } else {
                             y = tvm::cast(x.dtype(), y);
                           }
                         }
                         PrimExpr r = f(x, y);
                         DataType out = a.OutDtype();
                         return r.dtype() == out ? r : tvm::cast(out, r);
                       }),
                       a.BlockName(), "broadcast")};
}

void LowerClip(LowerArgs& a) {
  DataType dtype = a[0].dtype();
  auto limit = [&](int k, bool upper) -> PrimExpr {
    PrimExpr v = a.Prim(k);
    const auto* f = v.as<FloatImmNode>();
    // An infinite bound of an integer tensor does not limit it.
    if (f != nullptr && !dtype.is_any_float()) {
      if (!(f->value < 1e18)) return upper ? max_value(dtype) : PrimExpr();
      if (!(f->value > -1e18)) return upper ? PrimExpr() : min_value(dtype);
    }
    return tvm::cast(dtype, v);
  };
  PrimExpr lo = limit(1, false), hi = limit(2, true);
  TVM_FFI_CHECK(lo.defined() && hi.defined(), ValueError)
      << "relax.clip: the bounds exclude every " << dtype;
  a.out = {
      MapElements(a[0], a, "elemwise", [&](PrimExpr x) { return tvm::min(tvm::max(x, lo), hi); })};
}

void LowerFma(LowerArgs& a) {
  a.out = {te::compute(
      a.OutShape(), te::FCompute([&](const Array<Var>& i) { return a[0](i) * a[1](i) + a[2](i); }),
      a.BlockName(), "elemwise")};
}

void LowerAstype(LowerArgs& a) {
  DataType to = a.OutDtype();
  a.out = {MapElements(a[0], a, "elemwise", [to](PrimExpr x) -> PrimExpr {
    if (x.dtype() == to) return x;
    if (to.is_bool()) return tvm::not_equal(x, make_zero(x.dtype()));
    return tvm::cast(to, x);
  })};
}

void LowerWhere(LowerArgs& a) {
  a.out = {te::compute(a.OutShape(), te::FCompute([&](const Array<Var>& i) {
                         return tvm::select(BroadcastRead(a[0], i), BroadcastRead(a[1], i),
                                            BroadcastRead(a[2], i));
                       }),
                       a.BlockName(), "broadcast")};
}

}  // namespace relax
}  // namespace tvm
