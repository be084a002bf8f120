// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file
/// \brief The order of types: base checks and least common ancestors.
#include <tvm/ffi/extra/structural_equal.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/relax/analysis.h>

#include <algorithm>

#include "relax/ir/utils.h"

namespace tvm {
namespace relax {

namespace {

using R = BaseCheckResult;

R Worse(R a, R b) { return std::min(a, b); }

/// Relation of two dimensions: equal, never equal, or unproved.
R CompareDim(const PrimExpr& lhs, const PrimExpr& rhs, arith::Analyzer* ana) {
  auto a = AsInt(lhs);
  auto b = AsInt(rhs);
  if (a && b) return *a == *b ? R::kPass : R::kFailL0;
  if (lhs.same_as(rhs)) return R::kPass;
  if (ana != nullptr && (*ana)->CanProveEqual(lhs, rhs)) return R::kPass;
  if (ana == nullptr && ffi::StructuralEqual::Equal(lhs, rhs)) return R::kPass;
  return R::kFailL2;
}

R CompareDims(const Array<PrimExpr>& lhs, const Array<PrimExpr>& rhs, arith::Analyzer* ana) {
  if (lhs.size() != rhs.size()) return R::kFailL0;
  R result = R::kPass;
  for (size_t i = 0; i < lhs.size(); ++i) {
    result = Worse(result, CompareDim(lhs[i], rhs[i], ana));
    if (result == R::kFailL0) break;
  }
  return result;
}

R CompareShapes(const Expr& lhs, const Expr& rhs, arith::Analyzer* ana) {
  if (lhs.same_as(rhs)) return R::kPass;
  const auto* l = lhs.as<ShapeExprNode>();
  const auto* r = rhs.as<ShapeExprNode>();
  if (l != nullptr && r != nullptr) return CompareDims(l->values, r->values, ana);
  const auto* lt = lhs->ty.as<ShapeTypeNode>();
  const auto* rt = rhs->ty.as<ShapeTypeNode>();
  if (lt && rt && lt->values.has_value() && rt->values.has_value()) {
    return CompareDims(lt->values.value(), rt->values.value(), ana);
  }
  if (lt && rt && lt->ndim != kUnknownNDim && rt->ndim != kUnknownNDim && lt->ndim != rt->ndim) {
    return R::kFailL0;
  }
  return R::kFailL2;
}

R CompareVDevice(const Optional<VDevice>& base, const Optional<VDevice>& derived) {
  if (!base.has_value()) return R::kPass;
  if (!derived.has_value()) return R::kFailL1;
  const VDevice& a = base.value();
  const VDevice& b = derived.value();
  if (a.same_as(b)) return R::kPass;
  bool same = a->vdevice_id == b->vdevice_id && a->memory_scope == b->memory_scope &&
              ffi::StructuralEqual::Equal(a->target, b->target);
  return same ? R::kPass : R::kFailL0;
}

R CheckRank(int base, int derived) {
  if (base == kUnknownNDim) return R::kPass;
  if (derived == kUnknownNDim) return R::kFailL1;
  return base == derived ? R::kPass : R::kFailL0;
}

R CheckTensor(const TensorTypeNode* base, const TensorTypeNode* derived, arith::Analyzer* ana) {
  R result = R::kPass;
  if (!base->IsUnknownDtype()) {
    if (derived->IsUnknownDtype()) {
      result = R::kFailL1;
    } else if (base->ElementType() != derived->ElementType()) {
      return R::kFailL0;
    }
  }
  R rank = CheckRank(base->ndim, derived->ndim);
  if (rank == R::kFailL0) return rank;
  result = Worse(result, rank);
  result = Worse(result, CompareVDevice(base->vdevice, derived->vdevice));
  if (result == R::kFailL0) return result;
  if (base->shape.has_value()) {
    R shape = derived->shape.has_value()
                  ? CompareShapes(base->shape.value(), derived->shape.value(), ana)
                  : R::kFailL2;
    result = Worse(result, shape);
  }
  return result;
}

R CheckShape(const ShapeTypeNode* base, const ShapeTypeNode* derived, arith::Analyzer* ana) {
  R rank = CheckRank(base->ndim, derived->ndim);
  if (rank != R::kPass) return rank;
  if (!base->values.has_value()) return R::kPass;
  if (!derived->values.has_value()) return R::kFailL2;
  return CompareDims(base->values.value(), derived->values.value(), ana);
}

R CheckFunc(const FuncTypeNode* base, const FuncTypeNode* derived, arith::Analyzer* ana) {
  if (base->purity && !derived->purity) return R::kFailL0;
  if (base->IsOpaque()) {
    if (base->derive_func.has_value()) {
      return base->derive_func.same_as(derived->derive_func) ? R::kPass : R::kFailL2;
    }
    return TypeBaseCheck(base->ret, derived->ret, ana);
  }
  if (derived->IsOpaque()) return R::kFailL2;
  const Array<Type>& lhs = base->params.value();
  const Array<Type>& rhs = derived->params.value();
  if (lhs.size() != rhs.size()) return R::kFailL0;
  if (ffi::StructuralEqual::Equal(GetRef<Type>(base), GetRef<Type>(derived), true)) return R::kPass;
  R result = R::kPass;
  for (size_t i = 0; i < lhs.size(); ++i) {
    // Parameters vary against the function: the derived one must accept what the base accepts.
    R param = TypeBaseCheck(rhs[i], lhs[i], ana);
    if (param == R::kFailL0) return param;
    if (param != R::kPass) result = R::kFailL2;
  }
  R ret = TypeBaseCheck(base->ret, derived->ret, ana);
  if (ret == R::kFailL1) ret = R::kFailL2;
  return Worse(result, ret);
}

bool IsGraphType(const Type& ty) {
  return ty.as<ShapeTypeNode>() || ty.as<TensorTypeNode>() || ty.as<TupleTypeNode>() ||
         ty.as<FuncTypeNode>() || ty.as<PrimTypeNode>();
}

}  // namespace

BaseCheckResult TypeBaseCheck(const Type& base, const Type& derived, arith::Analyzer* ana) {
  if (base.same_as(derived)) return R::kPass;
  if (base.as<AnyTypeNode>()) return R::kPass;
  if (derived.as<AnyTypeNode>() || derived.IsMissing()) return R::kFailL1;
  if (const auto* b = base.as<TensorTypeNode>()) {
    const auto* d = derived.as<TensorTypeNode>();
    return d == nullptr ? R::kFailL0 : CheckTensor(b, d, ana);
  }
  if (const auto* b = base.as<ShapeTypeNode>()) {
    const auto* d = derived.as<ShapeTypeNode>();
    return d == nullptr ? R::kFailL0 : CheckShape(b, d, ana);
  }
  if (const auto* b = base.as<PrimTypeNode>()) {
    const auto* d = derived.as<PrimTypeNode>();
    return d != nullptr && b->dtype == d->dtype ? R::kPass : R::kFailL0;
  }
  if (const auto* b = base.as<TupleTypeNode>()) {
    const auto* d = derived.as<TupleTypeNode>();
    if (d == nullptr || b->fields.size() != d->fields.size()) return R::kFailL0;
    R result = R::kPass;
    for (size_t i = 0; i < b->fields.size(); ++i) {
      result = Worse(result, TypeBaseCheck(b->fields[i], d->fields[i], ana));
      if (result == R::kFailL0) break;
    }
    return result;
  }
  if (const auto* b = base.as<FuncTypeNode>()) {
    if (derived.as<PackedFuncTypeNode>()) return R::kFailL1;
    const auto* d = derived.as<FuncTypeNode>();
    return d == nullptr ? R::kFailL0 : CheckFunc(b, d, ana);
  }
  return ffi::StructuralEqual::Equal(base, derived) ? R::kPass : R::kFailL0;
}

namespace {

Type LcaTensor(const TensorTypeNode* l, const TensorTypeNode* r, arith::Analyzer* ana) {
  DataType dtype = l->ElementType() == r->ElementType() ? l->ElementType() : DataType::Void();
  int ndim = l->ndim == r->ndim ? l->ndim : kUnknownNDim;
  Optional<VDevice> vdevice;
  if (l->vdevice.has_value() && r->vdevice.has_value() &&
      CompareVDevice(l->vdevice, r->vdevice) == R::kPass) {
    vdevice = l->vdevice;
  }
  if (ndim != kUnknownNDim && l->shape.has_value() && r->shape.has_value() &&
      CompareShapes(l->shape.value(), r->shape.value(), ana) == R::kPass) {
    if (dtype == l->ElementType() && vdevice.same_as(l->vdevice)) return GetRef<Type>(l);
    return TensorType(l->shape.value(), dtype, vdevice);
  }
  return TensorType(dtype, ndim, vdevice);
}

Type LcaFunc(const FuncTypeNode* l, const FuncTypeNode* r, arith::Analyzer* ana) {
  bool purity = l->purity && r->purity;
  if (!l->IsOpaque() && !r->IsOpaque() && l->params.value().size() == r->params.value().size()) {
    if (ffi::StructuralEqual::Equal(l->params, r->params)) {
      return FuncType(l->params.value(), TypeLCA(l->ret, r->ret, ana), purity);
    }
    return FuncType::OpaqueFunc(TypeLCA(l->ret, r->ret, ana), purity);
  }
  if (l->IsOpaque() && r->IsOpaque() && l->derive_func.has_value() &&
      l->derive_func.same_as(r->derive_func)) {
    return FuncType::OpaqueFunc(l->derive_func.value(), purity);
  }
  if (l->derive_func.has_value() || r->derive_func.has_value()) {
    return FuncType::OpaqueFunc(AnyType(), purity);
  }
  return FuncType::OpaqueFunc(TypeLCA(l->ret, r->ret, ana), purity);
}

}  // namespace

Type TypeLCA(const Type& lhs, const Type& rhs, arith::Analyzer* ana) {
  if (lhs.same_as(rhs)) return lhs;
  if (!IsGraphType(lhs) || !IsGraphType(rhs)) return AnyType();
  if (const auto* l = lhs.as<TensorTypeNode>()) {
    const auto* r = rhs.as<TensorTypeNode>();
    return r == nullptr ? Type(AnyType()) : LcaTensor(l, r, ana);
  }
  if (const auto* l = lhs.as<ShapeTypeNode>()) {
    const auto* r = rhs.as<ShapeTypeNode>();
    if (r == nullptr) return AnyType();
    int ndim = l->ndim == r->ndim ? l->ndim : kUnknownNDim;
    if (ndim != kUnknownNDim && l->values.has_value() && r->values.has_value() &&
        CompareDims(l->values.value(), r->values.value(), ana) == R::kPass) {
      return lhs;
    }
    return ShapeType(ndim);
  }
  if (const auto* l = lhs.as<PrimTypeNode>()) {
    const auto* r = rhs.as<PrimTypeNode>();
    return r != nullptr && l->dtype == r->dtype ? lhs : Type(AnyType());
  }
  if (const auto* l = lhs.as<TupleTypeNode>()) {
    const auto* r = rhs.as<TupleTypeNode>();
    if (r == nullptr || l->fields.size() != r->fields.size()) return AnyType();
    Array<Type> fields;
    for (size_t i = 0; i < l->fields.size(); ++i) {
      fields.push_back(TypeLCA(l->fields[i], r->fields[i], ana));
    }
    return TupleType(fields);
  }
  const auto* l = lhs.as<FuncTypeNode>();
  const auto* r = rhs.as<FuncTypeNode>();
  if (l != nullptr && r != nullptr) return LcaFunc(l, r, ana);
  return AnyType();
}

TVM_FFI_STATIC_INIT_BLOCK() {
  namespace refl = tvm::ffi::reflection;
  refl::GlobalDef()
      .def("relax.analysis.TypeBaseCheck",
           [](const Type& base, const Type& derived) {
             arith::Analyzer ana;
             return static_cast<int>(TypeBaseCheck(base, derived, &ana));
           })
      .def("relax.analysis.TypeIsBaseOf",
           [](const Type& base, const Type& derived) {
             arith::Analyzer ana;
             return IsBaseOf(base, derived, &ana);
           })
      .def("relax.analysis.TypeLCA", [](const Type& lhs, const Type& rhs) {
        arith::Analyzer ana;
        return TypeLCA(lhs, rhs, &ana);
      });
}

}  // namespace relax
}  // namespace tvm
