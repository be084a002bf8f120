// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file
/// \brief Types of the graph level: tensors, shapes, functions and the top type.
#ifndef TVM_RELAX_TYPE_H_
#define TVM_RELAX_TYPE_H_

#include <tvm/ffi/container/array.h>
#include <tvm/ffi/optional.h>
#include <tvm/ir/env_func.h>
#include <tvm/ir/expr.h>
#include <tvm/ir/global_info.h>
#include <tvm/ir/type.h>
#include <tvm/relax/fwd.h>

namespace tvm {
namespace relax {

using ffi::Array;
using ffi::Map;
using ffi::Optional;
using ffi::String;

/// Rank of a tensor or shape whose rank is not known.
constexpr int kUnknownNDim = -1;

/// The type of every value; base of all other types. Printed `R.Any`.
class AnyTypeNode : public TypeNode {
 public:
  static void RegisterReflection();
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("relax.AnyType", AnyTypeNode, TypeNode);
};
class AnyType : public Type {
 public:
  TVM_DLL explicit AnyType(Span span = Span());
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NOTNULLABLE(AnyType, Type, AnyTypeNode);
};

/// A shape value: its int64 dimensions if known, else only its rank (or not even that).
class ShapeTypeNode : public TypeNode {
 public:
  Optional<Array<PrimExpr>> values;
  int ndim = kUnknownNDim;

  bool IsUnknownNdim() const { return ndim == kUnknownNDim; }
  static void RegisterReflection();
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("relax.ShapeType", ShapeTypeNode, TypeNode);
};
class ShapeType : public Type {
 public:
  /// Known dimensions; integer literals become int64. InternalError for other dtypes.
  TVM_DLL explicit ShapeType(Array<PrimExpr> values, Span span = Span());
  TVM_DLL explicit ShapeType(int ndim, Span span = Span());
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(ShapeType, Type, ShapeTypeNode);
};

/// A tensor: shape (a ShapeExpr or a variable of ShapeType), element type, virtual device, rank.
class TensorTypeNode : public TypeNode {
 public:
  Optional<Expr> shape;
  Optional<PrimType> dtype;
  Optional<VDevice> vdevice;
  int ndim = kUnknownNDim;

  bool IsUnknownNdim() const { return ndim == kUnknownNDim; }
  bool IsUnknownDtype() const { return !dtype.has_value(); }
  /// Element type, void when unknown.
  TVM_DLL DataType ElementType() const;
  /// The dimensions when the shape is a ShapeExpr or a variable of a known ShapeType.
  TVM_DLL Optional<Array<PrimExpr>> GetShape() const;
  /// The dimensions when all are literals.
  TVM_DLL Optional<Array<int64_t>> GetStaticShape() const;

  static void RegisterReflection();
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("relax.TensorType", TensorTypeNode, TypeNode);
};
class TensorType : public Type {
 public:
  /// \param shape ShapeExpr or Var of ShapeType. \param dtype void means unknown.
  TVM_DLL TensorType(Expr shape, DataType dtype, Optional<VDevice> vdevice = std::nullopt,
                     Span span = Span());
  TVM_DLL TensorType(DataType dtype, int ndim, Optional<VDevice> vdevice = std::nullopt,
                     Span span = Span());
  /// Tensor with the given dimensions (they become a ShapeExpr).
  TVM_DLL TensorType(Array<PrimExpr> shape, DataType dtype,
                     Optional<VDevice> vdevice = std::nullopt);
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(TensorType, Type, TensorTypeNode);
};

/// Computes the return type of an opaque function from the call.
using FDeriveRetType = ffi::TypedFunction<Type(const Call& call, const BlockBuilder& ctx)>;

/// A graph-level function. `params` is absent for an opaque (packed) function.
class FuncTypeNode : public TypeNode {
 public:
  Optional<Array<Type>> params;
  Type ret;
  Optional<EnvFunc> derive_func;
  bool purity = true;

  bool IsOpaque() const { return !params.has_value(); }
  static void RegisterReflection();
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("relax.FuncType", FuncTypeNode, TypeNode);
};
class FuncType : public Type {
 public:
  TVM_DLL FuncType(Array<Type> params, Type ret, bool purity = true, Span span = Span());
  /// Function about whose parameters nothing is known; result from `derive_func`.
  TVM_DLL static FuncType OpaqueFunc(EnvFunc derive_func, bool purity = false, Span span = Span());
  /// Function about whose parameters nothing is known; result of type `ret` (default Any).
  TVM_DLL static FuncType OpaqueFunc(Type ret, bool purity = false, Span span = Span());
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(FuncType, Type, FuncTypeNode);
};

/// The type of a packed runtime function.
class PackedFuncTypeNode : public TypeNode {
 public:
  static void RegisterReflection();
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("relax.PackedFuncType", PackedFuncTypeNode, TypeNode);
};
class PackedFuncType : public Type {
 public:
  TVM_DLL explicit PackedFuncType(Span span = Span());
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NOTNULLABLE(PackedFuncType, Type, PackedFuncTypeNode);
};

/// Type of `expr` as node T, or nullptr when it is missing or of another kind.
template <typename T>
const T* GetTypeAs(const Expr& expr) {
  return expr->ty.as<T>();
}
/// Whether the type of `expr` has not been set.
TVM_DLL bool IsTypeMissing(const Expr& expr);
/// Set the type of an expression that has none yet; an error if it has another one.
TVM_DLL void UpdateType(const Expr& expr, const Type& ty);

}  // namespace relax
}  // namespace tvm

#endif  // TVM_RELAX_TYPE_H_
