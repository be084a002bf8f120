// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file
/// \brief Constructors and reflection of the graph-level types.
#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/ir/scalar_op.h>
#include <tvm/relax/expr.h>
#include <tvm/relax/type.h>

namespace tvm {
namespace relax {

namespace refl = tvm::ffi::reflection;
using refl::AttachFieldFlag;

namespace {

/// Dimensions as int64: literals are converted, anything else must already be int64.
Array<PrimExpr> AsInt64Dims(const Array<PrimExpr>& values, const char* what) {
  bool all_ok = true;
  for (const PrimExpr& v : values) {
    TVM_FFI_CHECK(v.defined(), TypeError) << "a dimension in " << what << " must not be None";
  }
  for (const PrimExpr& v : values) all_ok = all_ok && v.dtype() == DataType::Int(64);
  if (all_ok) return values;
  Array<PrimExpr> result;
  result.reserve(values.size());
  for (const PrimExpr& v : values) {
    if (v.dtype() == DataType::Int(64)) {
      result.push_back(v);
      continue;
    }
    const auto* imm = v.as<IntImmNode>();
    TVM_FFI_ICHECK(imm != nullptr)
        << "the value in " << what << " can only have dtype of int64, but got " << v.dtype();
    result.push_back(IntImm(DataType::Int(64), imm->value));
  }
  return result;
}

}  // namespace

void AnyTypeNode::RegisterReflection() { refl::ObjectDef<AnyTypeNode>(); }
void PackedFuncTypeNode::RegisterReflection() { refl::ObjectDef<PackedFuncTypeNode>(); }
void ShapeTypeNode::RegisterReflection() {
  refl::ObjectDef<ShapeTypeNode>()
      .def_ro("values", &ShapeTypeNode::values)
      .def_ro("ndim", &ShapeTypeNode::ndim);
}
void TensorTypeNode::RegisterReflection() {
  refl::ObjectDef<TensorTypeNode>()
      .def_ro("shape", &TensorTypeNode::shape)
      .def_ro("dtype", &TensorTypeNode::dtype)
      .def_ro("vdevice", &TensorTypeNode::vdevice)
      .def_ro("ndim", &TensorTypeNode::ndim);
}
void FuncTypeNode::RegisterReflection() {
  refl::ObjectDef<FuncTypeNode>()
      .def_ro("params", &FuncTypeNode::params, AttachFieldFlag::SEqHashDefPattern())
      .def_ro("ret", &FuncTypeNode::ret)
      .def_ro("derive_func", &FuncTypeNode::derive_func)
      .def_ro("purity", &FuncTypeNode::purity);
}

AnyType::AnyType(Span span) {
  auto node = ffi::make_object<AnyTypeNode>();
  node->span = std::move(span);
  data_ = std::move(node);
}

PackedFuncType::PackedFuncType(Span span) {
  auto node = ffi::make_object<PackedFuncTypeNode>();
  node->span = std::move(span);
  data_ = std::move(node);
}

ShapeType::ShapeType(Array<PrimExpr> values, Span span) {
  auto node = ffi::make_object<ShapeTypeNode>();
  node->ndim = static_cast<int>(values.size());
  node->values = AsInt64Dims(values, "ShapeType");
  node->span = std::move(span);
  data_ = std::move(node);
}

ShapeType::ShapeType(int ndim, Span span) {
  TVM_FFI_CHECK(ndim >= kUnknownNDim, ValueError)
      << "ndim of ShapeType must be >= -1, but got " << ndim;
  auto node = ffi::make_object<ShapeTypeNode>();
  node->ndim = ndim;
  node->span = std::move(span);
  data_ = std::move(node);
}

TensorType::TensorType(Expr shape, DataType dtype, Optional<VDevice> vdevice, Span span) {
  const auto* shape_ty = shape->ty.as<ShapeTypeNode>();
  TVM_FFI_CHECK(shape_ty != nullptr, ValueError)
      << "the shape of a TensorType must be of ShapeType, but got " << shape->ty;
  TVM_FFI_CHECK(shape.as<ShapeExprNode>() != nullptr || shape.as<VarNode>() != nullptr, ValueError)
      << "the shape of a TensorType must be a ShapeExpr or a variable";
  auto node = ffi::make_object<TensorTypeNode>();
  node->ndim = shape_ty->ndim;
  node->shape = std::move(shape);
  if (!dtype.is_void()) node->dtype = PrimType(dtype);
  node->vdevice = std::move(vdevice);
  node->span = std::move(span);
  data_ = std::move(node);
}

TensorType::TensorType(DataType dtype, int ndim, Optional<VDevice> vdevice, Span span) {
  TVM_FFI_CHECK(ndim >= kUnknownNDim, ValueError)
      << "ndim of TensorType must be >= -1, but got " << ndim;
  auto node = ffi::make_object<TensorTypeNode>();
  node->ndim = ndim;
  if (!dtype.is_void()) node->dtype = PrimType(dtype);
  node->vdevice = std::move(vdevice);
  node->span = std::move(span);
  data_ = std::move(node);
}

TensorType::TensorType(Array<PrimExpr> shape, DataType dtype, Optional<VDevice> vdevice)
    : TensorType(ShapeExpr(std::move(shape)), dtype, std::move(vdevice)) {}

DataType TensorTypeNode::ElementType() const {
  return dtype.has_value() ? dtype.value()->dtype : DataType::Void();
}

Optional<Array<PrimExpr>> TensorTypeNode::GetShape() const {
  if (!shape.has_value()) return std::nullopt;
  Expr s = shape.value();
  if (const auto* literal = s.as<ShapeExprNode>()) return literal->values;
  if (const auto* ty = s->ty.as<ShapeTypeNode>()) return ty->values;
  return std::nullopt;
}

Optional<Array<int64_t>> TensorTypeNode::GetStaticShape() const {
  Optional<Array<PrimExpr>> dims = GetShape();
  if (!dims.has_value()) return std::nullopt;
  Array<int64_t> result;
  result.reserve(dims.value().size());
  for (const PrimExpr& d : dims.value()) {
    const auto* imm = d.as<IntImmNode>();
    if (imm == nullptr) return std::nullopt;
    result.push_back(imm->value);
  }
  return result;
}

FuncType::FuncType(Array<Type> params, Type ret, bool purity, Span span) {
  auto node = ffi::make_object<FuncTypeNode>();
  node->params = std::move(params);
  node->ret = std::move(ret);
  node->purity = purity;
  node->span = std::move(span);
  data_ = std::move(node);
}

FuncType FuncType::OpaqueFunc(EnvFunc derive_func, bool purity, Span span) {
  auto node = ffi::make_object<FuncTypeNode>();
  node->ret = AnyType();
  node->derive_func = std::move(derive_func);
  node->purity = purity;
  node->span = std::move(span);
  return FuncType(ffi::ObjectPtr<FuncTypeNode>(std::move(node)));
}

FuncType FuncType::OpaqueFunc(Type ret, bool purity, Span span) {
  auto node = ffi::make_object<FuncTypeNode>();
  node->ret = std::move(ret);
  node->purity = purity;
  node->span = std::move(span);
  return FuncType(ffi::ObjectPtr<FuncTypeNode>(std::move(node)));
}

bool IsTypeMissing(const Expr& expr) { return expr->ty.IsMissing(); }

void UpdateType(const Expr& expr, const Type& ty) {
  TVM_FFI_ICHECK(expr->ty.IsMissing() || expr->ty.same_as(ty))
      << "the type of an expression can be set only once; it is " << expr->ty
      << " already, the new one is " << ty;
  const_cast<ExprNode*>(expr.get())->ty = ty;
}

TVM_FFI_STATIC_INIT_BLOCK() {
  AnyTypeNode::RegisterReflection();
  PackedFuncTypeNode::RegisterReflection();
  ShapeTypeNode::RegisterReflection();
  TensorTypeNode::RegisterReflection();
  FuncTypeNode::RegisterReflection();
  refl::GlobalDef()
      .def("relax.AnyType", [](Span span) { return AnyType(span); })
      .def("relax.PackedFuncType", [](Span span) { return PackedFuncType(span); })
      .def("relax.ShapeType",
           [](Optional<Array<PrimExpr>> values, int ndim, Span span) {
             if (!values.has_value()) return ShapeType(ndim, span);
             TVM_FFI_CHECK(ndim == kUnknownNDim, ValueError)
                 << "Cannot both specify values and ndim";
             return ShapeType(values.value(), span);
           })
      .def("relax.TensorType",
           [](Optional<Expr> shape, Optional<DataType> dtype, int ndim, Optional<VDevice> vdevice,
              Span span) {
             DataType elem = dtype.value_or(DataType::Void());
             if (!shape.has_value()) return TensorType(elem, ndim, vdevice, span);
             TVM_FFI_CHECK(ndim == kUnknownNDim, ValueError)
                 << "Cannot both specify shape and ndim";
             return TensorType(shape.value(), elem, vdevice, span);
           })
      .def("relax.FuncType", [](Array<Type> params, Type ret, bool purity,
                                Span span) { return FuncType(params, ret, purity, span); })
      .def("relax.FuncTypeOpaqueFunc",
           [](Optional<Type> ret, Optional<EnvFunc> derive_func, bool purity, Span span) {
             if (derive_func.has_value()) {
               TVM_FFI_CHECK(!ret.has_value(), ValueError)
                   << "Cannot specify both ret and derive_func";
               return FuncType::OpaqueFunc(derive_func.value(), purity, span);
             }
             return FuncType::OpaqueFunc(ret.value_or(AnyType()), purity, span);
           })
      .def("relax.UpdateType", [](Expr expr, Type ty) { UpdateType(expr, ty); });
}

}  // namespace relax
}  // namespace tvm
