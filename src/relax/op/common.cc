// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include "relax/op/common.h"

#include <algorithm>

namespace tvm {
namespace relax {

std::string OpName(const Call& call) {
  const auto* op = call->op.as<OpNode>();
  if (op == nullptr) return "call";
  return std::string(op->name.data(), op->name.size());
}

namespace {
String ArgName(const Call& call, int i) {
  const auto* op = call->op.as<OpNode>();
  if (op != nullptr && i < static_cast<int>(op->arguments.size())) return op->arguments[i]->name;
  return String("#" + std::to_string(i));
}
}  // namespace

const TensorTypeNode* TensorArg(const Call& call, int i) {
  const auto* ty = call->args[i]->ty.as<TensorTypeNode>();
  TVM_FFI_CHECK(ty != nullptr, TypeError)
      << OpName(call) << " requires the input " << ArgName(call, i)
      << " to be a Tensor, but the given one has type " << call->args[i]->ty;
  return ty;
}

std::vector<const TensorTypeNode*> TupleArg(const Call& call, int i) {
  std::vector<const TensorTypeNode*> result;
  const auto* tuple = call->args[i]->ty.as<TupleTypeNode>();
  TVM_FFI_CHECK(tuple != nullptr, TypeError)
      << OpName(call) << " requires the input " << ArgName(call, i)
      << " to be a Tuple of Tensors, but the given one has type " << call->args[i]->ty;
  for (const Type& f : tuple->fields) {
    const auto* ty = f.as<TensorTypeNode>();
    TVM_FFI_CHECK(ty != nullptr, TypeError)
        << OpName(call) << " requires the input " << ArgName(call, i)
        << " to be a Tuple of Tensors, but it has a field of type " << f;
    result.push_back(ty);
  }
  return result;
}

PrimExpr PrimArg(const Call& call, int i) {
  TVM_FFI_CHECK(IsPrim(call->args[i]), TypeError)
      << OpName(call) << " requires the input " << ArgName(call, i)
      << " to be a scalar, but the given one has type " << call->args[i]->ty;
  return Downcast<PrimExpr>(call->args[i]);
}

Optional<Array<PrimExpr>> ShapeArg(const Call& call, int i) {
  const Expr& arg = call->args[i];
  if (const auto* literal = arg.as<ShapeExprNode>()) return literal->values;
  const auto* ty = arg->ty.as<ShapeTypeNode>();
  TVM_FFI_CHECK(ty != nullptr, TypeError)
      << OpName(call) << " requires the input " << ArgName(call, i)
      << " to be a Shape, but the given one has type " << arg->ty;
  return ty->values;
}

void CheckFloat(const Call& call, const TensorTypeNode* ty) {
  if (ty->IsUnknownDtype()) return;
  TVM_FFI_CHECK(ty->ElementType().is_any_float(), TypeError)
      << OpName(call) << " requires the input tensor to have float dtype, but the given dtype is "
      << ty->ElementType();
}

int NormalizeAxis(const Call& call, int64_t axis, int ndim) {
  int64_t a = axis < 0 ? axis + ndim : axis;
  TVM_FFI_CHECK(a >= 0 && a < ndim, ValueError)
      << "In " << OpName(call) << ", the input axis " << axis << " is out of range: the tensor has "
      << ndim << " dimensions";
  return static_cast<int>(a);
}

std::vector<int> NormalizeAxes(const Call& call, const Array<int64_t>& axes, int ndim) {
  std::vector<int> result;
  std::vector<bool> seen(ndim, false);
  for (int64_t axis : axes) {
    int a = NormalizeAxis(call, axis, ndim);
    TVM_FFI_CHECK(!seen[a], ValueError)
        << "In " << OpName(call) << ", the input axes must be unique, but axis " << a
        << " is given more than once";
    seen[a] = true;
    result.push_back(a);
  }
  return result;
}

void CheckRank(const Call& call, int arg, const TensorTypeNode* ty, int ndim) {
  TVM_FFI_CHECK(ty->IsUnknownNdim() || ty->ndim == ndim, ValueError)
      << OpName(call) << " requires the input " << ArgName(call, arg) << " to have " << ndim
      << " dimensions, but the given one has " << ty->ndim;
}

std::optional<bool> DimsEqual(const BlockBuilder& ctx, const PrimExpr& a, const PrimExpr& b) {
  if (a.same_as(b)) return true;
  auto x = AsInt(a);
  auto y = AsInt(b);
  if (x && y) return *x == *y;
  if (ctx->GetAnalyzer()->CanProveEqual(a, b)) return true;
  if (ctx->GetAnalyzer()->CanProve(tvm::not_equal(a, b))) return false;
  return std::nullopt;
}

Optional<Array<PrimExpr>> BroadcastDims(const Call& call, const BlockBuilder& ctx,
                                        const Array<PrimExpr>& a, const Array<PrimExpr>& b) {
  size_t na = a.size(), nb = b.size();
  size_t n = std::max(na, nb);
  std::vector<PrimExpr> out(n);
  for (size_t i = 1; i <= n; ++i) {
    if (i > na) {
      out[n - i] = b[nb - i];
      continue;
    }
    if (i > nb) {
      out[n - i] = a[na - i];
      continue;
    }
    const PrimExpr& x = a[na - i];
    const PrimExpr& y = b[nb - i];
    if (IsConstInt(x, 1)) {
      out[n - i] = y;
    } else if (IsConstInt(y, 1)) {
      out[n - i] = x;
    } else {
      std::optional<bool> equal = DimsEqual(ctx, x, y);
      if (equal.value_or(false)) {
        out[n - i] = AsInt(y) ? y : x;
      } else if (AsInt(x) && AsInt(y)) {
        TVM_FFI_THROW(ValueError) << "In " << OpName(call) << ", the first input shape at dim "
                                  << na - i << " is " << x << " and the second input shape at dim "
                                  << nb - i << " is " << y << ", which are not broadcastable.";
      } else {
        return std::nullopt;
      }
    }
  }
  return Array<PrimExpr>(out.begin(), out.end());
}

Type MakeTensorType(const Optional<Array<PrimExpr>>& dims, DataType dtype, int ndim,
                    const Optional<VDevice>& vdevice) {
  if (dims.has_value()) return TensorType(ShapeExpr(dims.value()), dtype, vdevice);
  return TensorType(dtype, ndim, vdevice);
}

Type WithDtype(const TensorTypeNode* ty, DataType dtype) {
  if (ty->ElementType() == dtype && !ty->IsUnknownDtype()) return GetRef<Type>(ty);
  if (ty->shape.has_value()) return TensorType(ty->shape.value(), dtype, ty->vdevice);
  return TensorType(dtype, ty->ndim, ty->vdevice);
}

Type InferBroadcast(const Call& call, const BlockBuilder& ctx,
                    DataType (*out_dtype)(const Call&, DataType, DataType)) {
  const auto* lhs = call->args[0]->ty.as<TensorTypeNode>();
  const auto* rhs = call->args[1]->ty.as<TensorTypeNode>();
  auto check = [&](int i, const TensorTypeNode* t) {
    TVM_FFI_CHECK(t != nullptr || IsPrim(call->args[i]), TypeError)
        << OpName(call) << " requires its operands to be Tensors or scalars, but operand " << i
        << " has type " << call->args[i]->ty;
  };
  check(0, lhs);
  check(1, rhs);
  auto dtype_of = [&](int i, const TensorTypeNode* t) {
    return t != nullptr ? t->ElementType() : call->args[i].dtype();
  };
  DataType a = dtype_of(0, lhs), b = dtype_of(1, rhs);
  DataType dtype = out_dtype(call, a, b);
  if (lhs == nullptr && rhs == nullptr) return PrimType(dtype);
  Optional<VDevice> vdevice = lhs != nullptr ? lhs->vdevice : rhs->vdevice;
  if (lhs == nullptr || rhs == nullptr) {
    const TensorTypeNode* t = lhs != nullptr ? lhs : rhs;
    return WithDtype(t, dtype);
  }
  if (rhs->vdevice.has_value()) {
    if (!vdevice.has_value()) {
      vdevice = rhs->vdevice;
    } else {
      TVM_FFI_CHECK(IsBaseOf(TensorType(DataType::Void(), -1, vdevice),
                             TensorType(DataType::Void(), -1, rhs->vdevice)),
                    ValueError)
          << "In " << OpName(call) << ", the operands are on different virtual devices";
    }
  }
  // The very same shape needs no comparison of dimensions.
  if (lhs->shape.has_value() && lhs->shape.same_as(rhs->shape)) return WithDtype(lhs, dtype);
  auto ld = lhs->GetShape();
  auto rd = rhs->GetShape();
  if (ld.has_value() && rd.has_value()) {
    auto dims = BroadcastDims(call, ctx, ld.value(), rd.value());
    int ndim = static_cast<int>(std::max(ld.value().size(), rd.value().size()));
    return MakeTensorType(dims, dtype, ndim, vdevice);
  }
  int ndim =
      lhs->IsUnknownNdim() || rhs->IsUnknownNdim() ? kUnknownNDim : std::max(lhs->ndim, rhs->ndim);
  return TensorType(dtype, ndim, vdevice);
}

PrimExpr Simplify(const BlockBuilder& ctx, const PrimExpr& e) {
  return e.as<IntImmNode>() ? e : ctx->GetAnalyzer()->Simplify(e);
}

PrimExpr Product(const Array<PrimExpr>& dims) {
  PrimExpr p = Int64(1);
  for (const PrimExpr& d : dims) p = p * d;
  return p;
}

int LayoutAxis(const String& layout, char axis) {
  std::string_view s(layout.data(), layout.size());
  size_t pos = s.find(axis);
  return pos == std::string_view::npos ? -1 : static_cast<int>(pos);
}

void CheckSameDim(const Call& call, const char* what, const PrimExpr& a, const PrimExpr& b, int i) {
  auto m = AsInt(a), n = AsInt(b);
  TVM_FFI_CHECK(!m || !n || *m == *n, ValueError)
      << OpName(call) << " requires " << what << " to have equal extents in dimension " << i
      << ", but they have " << *m << " and " << *n;
}

void CheckReadable(const Call& call, const PrimExpr& extent, const Array<PrimExpr>& indices) {
  if (AsInt(extent).value_or(1) != 0) return;
  for (const PrimExpr& n : indices) {
    if (AsInt(n).value_or(0) == 0) return;
  }
  TVM_FFI_THROW(ValueError) << OpName(call)
                            << " reads elements along an axis of extent 0, which has none";
}

}  // namespace relax
}  // namespace tvm
