// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Types of the base IR: scalars and vectors, pointers, tuples, functions.
#ifndef TVM_IR_TYPE_H_
#define TVM_IR_TYPE_H_

#include <tvm/ffi/container/array.h>
#include <tvm/ffi/object.h>
#include <tvm/ffi/string.h>
#include <tvm/ir/cow.h>
#include <tvm/ir/source_map.h>
#include <tvm/runtime/base.h>
#include <tvm/runtime/data_type.h>

namespace tvm {

/// Base of every type. A plain TypeNode (no derived class) is the "missing" type.
class TypeNode : public ffi::Object {
 public:
  mutable Span span;

  static void RegisterReflection();
  static constexpr TVMFFISEqHashKind _type_s_eq_hash_kind = kTVMFFISEqHashKindTreeNode;
  static constexpr uint32_t _type_child_slots = 24;
  TVM_FFI_DECLARE_OBJECT_INFO("ir.Type", TypeNode, ffi::Object);
};

class Type : public ffi::ObjectRef {
 public:
  /// The type of an expression whose type has not been set yet; one shared object.
  TVM_DLL static Type Missing();
  /// True for a null reference and for the missing type.
  bool IsMissing() const {
    return data_ == nullptr || data_->type_index() == TypeNode::RuntimeTypeIndex();
  }
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(Type, ffi::ObjectRef, TypeNode);
};

/// PrimType of `dtype`, or the void pointer type when `dtype` is the opaque handle.
TVM_DLL Type TypeFromDataType(DataType dtype);

}  // namespace tvm

namespace tvm::ffi {
/// A dtype (or its text) is accepted where a Type is expected.
template <>
inline constexpr bool use_default_type_traits_v<Type> = false;
template <>
struct TypeTraits<Type> : public ObjectRefWithFallbackTraitsBase<Type, DLDataType> {
  TVM_FFI_INLINE static Type ConvertFallbackValue(DLDataType dtype) {
    return TypeFromDataType(DataType(dtype));
  }
};
}  // namespace tvm::ffi

namespace tvm {

/// Scalar or vector of a machine data type. Void is a PrimType, an opaque handle is not.
class PrimTypeNode : public TypeNode {
 public:
  DataType dtype;

  static void RegisterReflection();
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("ir.PrimType", PrimTypeNode, TypeNode);
};

class PrimType : public Type {
 public:
  /// Returns the shared object of that dtype; TypeError for the opaque handle dtype.
  TVM_DLL explicit PrimType(DataType dtype);
  static PrimType Void() { return PrimType(DataType::Void()); }
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(PrimType, Type, PrimTypeNode);
};

class PointerTypeNode : public TypeNode {
 public:
  Type element_type;
  ffi::String storage_scope;

  static void RegisterReflection();
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("ir.PointerType", PointerTypeNode, TypeNode);
};

class PointerType : public Type {
 public:
  TVM_DLL explicit PointerType(Type element_type, ffi::String storage_scope = "global");
  /// Pointer to void, what the dtype text "handle" stands for; one shared object.
  TVM_DLL static PointerType VoidPointerTy();
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(PointerType, Type, PointerTypeNode);
};

class TupleTypeNode : public TypeNode {
 public:
  ffi::Array<Type> fields;

  static void RegisterReflection();
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("ir.TupleType", TupleTypeNode, TypeNode);
};

class TupleType : public Type {
 public:
  TVM_DLL explicit TupleType(ffi::Array<Type> fields, Span span = Span());
  /// The tuple without fields, i.e. no value.
  TVM_DLL static TupleType Empty();
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(TupleType, Type, TupleTypeNode);
};

class FuncTypeNode : public TypeNode {
 public:
  ffi::Array<Type> arg_types;
  Type ret_type;

  static void RegisterReflection();
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("ir.FuncType", FuncTypeNode, TypeNode);
};

class FuncType : public Type {
 public:
  TVM_DLL FuncType(ffi::Array<Type> arg_types, Type ret_type, Span span = Span());
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(FuncType, Type, FuncTypeNode);
};

/// Opaque descriptor of a CUDA tensor map.
class TensorMapTypeNode : public TypeNode {
 public:
  static void RegisterReflection();
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("ir.TensorMapType", TensorMapTypeNode, TypeNode);
};

class TensorMapType : public Type {
 public:
  TVM_DLL explicit TensorMapType(Span span);
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(TensorMapType, Type, TensorMapTypeNode);
};

/// dtype of a value of that type: the PrimType's own, handle for pointers and tensor maps, void
/// for the empty tuple; TypeError otherwise.
TVM_DLL DataType DataTypeOf(const Type& type);
/// True if a call of that result type returns nothing: PrimType void or the empty tuple.
TVM_DLL bool IsVoidType(const Type& type);

}  // namespace tvm
#endif  // TVM_IR_TYPE_H_
