// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Buffers: variables of BufferType, their element loads and regions.
#ifndef TVM_IR_BUFFER_H_
#define TVM_IR_BUFFER_H_

#include <tvm/ir/scalar.h>

namespace tvm::tirx {

/// Type of a buffer variable: element type, shape and placement.
class BufferTypeNode : public TypeNode {
 public:
  DataType dtype;
  ffi::String storage_scope;
  ffi::Array<PrimExpr> shape;
  /// Empty = compact row-major.
  ffi::Array<PrimExpr> strides;
  /// Offset of the first element, in elements.
  PrimExpr elem_offset;
  /// Alignment of the data pointer in bytes.
  int data_alignment = 64;
  /// elem_offset is a multiple of it (when known).
  int offset_factor = 1;
  /// A tirx.Layout, when the element order is not given by strides.
  ffi::Optional<ffi::ObjectRef> layout;
  ffi::Array<PrimExpr> allocated_addr;

  static void RegisterReflection();
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("tirx.BufferType", BufferTypeNode, TypeNode);
};

class BufferType : public Type {
 public:
  /// data_alignment <= 0 takes the default of 64 bytes, offset_factor <= 0 takes 1; a null
  /// elem_offset is 0 in the index dtype of the shape.
  TVM_DLL BufferType(DataType dtype, ffi::Array<PrimExpr> shape, ffi::Array<PrimExpr> strides = {},
                     PrimExpr elem_offset = PrimExpr(), ffi::String storage_scope = "global",
                     int data_alignment = 0, int offset_factor = 0,
                     ffi::Optional<ffi::ObjectRef> layout = std::nullopt,
                     ffi::Array<PrimExpr> allocated_addr = {}, Span span = Span());
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(BufferType, Type, BufferTypeNode);
  TVM_DEFINE_OBJECT_REF_COW_METHOD(BufferTypeNode);
};

/// A variable whose type is a BufferType. Like PrimExpr this is a category over VarNode.
class Buffer : public Var {
 public:
  Buffer() = default;
  explicit Buffer(ffi::UnsafeInit tag) : Var(tag) {}
  explicit Buffer(ffi::ObjectPtr<VarNode> node) : Var(std::move(node)) { CheckBuffer(); }
  /// Checked: TypeError when the variable is no buffer. Null stays null.
  explicit Buffer(Var var) : Var(std::move(var)) { CheckBuffer(); }
  TVM_DLL Buffer(ffi::String name, BufferType type, Span span = Span());
  Buffer(const Buffer&) = default;
  Buffer(Buffer&&) = default;
  Buffer& operator=(const Buffer&) = default;
  Buffer& operator=(Buffer&&) = default;

  const BufferTypeNode* type() const {
    return static_cast<const BufferTypeNode*>((*this)->ty.get());
  }
  BufferType buffer_type() const { return ffi::GetRef<BufferType>(type()); }
  DataType dtype() const { return type()->dtype; }
  const ffi::Array<PrimExpr>& shape() const { return type()->shape; }
  const ffi::Array<PrimExpr>& strides() const { return type()->strides; }
  const PrimExpr& elem_offset() const { return type()->elem_offset; }
  const ffi::String& scope() const { return type()->storage_scope; }
  int data_alignment() const { return type()->data_alignment; }
  int offset_factor() const { return type()->offset_factor; }
  const ffi::Optional<ffi::ObjectRef>& layout() const { return type()->layout; }
  const ffi::Array<PrimExpr>& allocated_addr() const { return type()->allocated_addr; }
  size_t ndim() const { return type()->shape.size(); }
  /// dtype that index arithmetic of this buffer uses.
  TVM_DLL DataType DefaultIndexType() const;

  /// Offset of an element in elements, from strides or row-major order, elem_offset included.
  TVM_DLL PrimExpr ElemOffset(const ffi::Array<PrimExpr>& indices) const;
  /// Strides, computed from the shape when the type holds none.
  TVM_DLL ffi::Array<PrimExpr> ComputedStrides() const;
  /// A new buffer variable of that type.
  TVM_DLL Buffer WithType(BufferType type) const;

  static constexpr bool _type_is_nullable = true;
  static constexpr bool _type_container_is_exact = false;
  using ContainerType = VarNode;

 private:
  TVM_DLL void CheckBuffer() const;
};

/// True if the expression is a variable of BufferType.
TVM_DLL bool IsBuffer(const ffi::Object* obj);

/// A new buffer in row-major order.
TVM_DLL Buffer decl_buffer(ffi::Array<PrimExpr> shape, DataType dtype = DataType::Float(32),
                           ffi::String name = "buffer", ffi::String storage_scope = "global",
                           Span span = Span());

/// The data pointer of a buffer: a call of tirx.buffer_data.
TVM_DLL Call buffer_data(const Buffer& buffer);

}  // namespace tvm::tirx

namespace tvm::ffi {
template <>
inline constexpr bool use_default_type_traits_v<tirx::Buffer> = false;
template <>
struct TypeTraits<tirx::Buffer> : public ObjectRefTypeTraitsBase<tirx::Buffer> {
  using Base = ObjectRefTypeTraitsBase<tirx::Buffer>;
  TVM_FFI_INLINE static bool CheckAnyStrict(const TVMFFIAny* src) {
    if (src->type_index == TypeIndex::kTVMFFINone) return true;
    return Base::CheckAnyStrict(src) && tirx::IsBuffer(reinterpret_cast<const Object*>(src->v_obj));
  }
  TVM_FFI_INLINE static std::optional<tirx::Buffer> TryCastFromAnyView(const TVMFFIAny* src) {
    if (CheckAnyStrict(src)) return Base::CopyFromAnyViewAfterCheck(src);
    return std::nullopt;
  }
  TVM_FFI_INLINE static std::string TypeStr() { return "tirx.Buffer"; }
  TVM_FFI_INLINE static std::string TypeSchema() { return R"({"type":"ir.Var"})"; }
};
}  // namespace tvm::ffi

namespace tvm::tirx {

/// Element (or vector, when the last index is one) of a buffer.
class BufferLoadNode : public ExprNode {
 public:
  Buffer buffer;
  ffi::Array<PrimExpr> indices;
  /// Lanes to read; lanes that are off have an undefined value.
  ffi::Optional<PrimExpr> predicate;

  ~BufferLoadNode() { ReleaseDeep(&indices); }
  static void RegisterReflection();
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("tirx.BufferLoad", BufferLoadNode, ExprNode);
};

class BufferLoad : public PrimExpr {
 public:
  TVM_DLL BufferLoad(Buffer buffer, ffi::Array<PrimExpr> indices,
                     ffi::Optional<PrimExpr> predicate = std::nullopt, Span span = Span());
  TVM_IR_DEFINE_PRIM_REF_METHODS(BufferLoad, PrimExpr, BufferLoadNode);
  TVM_DEFINE_OBJECT_REF_COW_METHOD(BufferLoadNode);
};

/// A box of a buffer, one range per dimension.
class BufferRegionNode : public ffi::Object {
 public:
  Buffer buffer;
  ffi::Array<Range> region;

  static void RegisterReflection();
  static constexpr TVMFFISEqHashKind _type_s_eq_hash_kind = kTVMFFISEqHashKindTreeNode;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("tirx.BufferRegion", BufferRegionNode, ffi::Object);
};

class BufferRegion : public ffi::ObjectRef {
 public:
  TVM_DLL BufferRegion(Buffer buffer, ffi::Array<Range> region);
  TVM_DLL static BufferRegion FullRegion(Buffer buffer);
  TVM_DLL static BufferRegion FromPoint(Buffer buffer, ffi::Array<PrimExpr> indices);
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(BufferRegion, ffi::ObjectRef, BufferRegionNode);
  TVM_DEFINE_OBJECT_REF_COW_METHOD(BufferRegionNode);
};

}  // namespace tvm::tirx
#endif  // TVM_IR_BUFFER_H_
