// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include <tvm/ffi/error.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/ir/type.h>

#include <atomic>
#include <mutex>
#include <unordered_map>

namespace tvm {

void TypeNode::RegisterReflection() {
  namespace refl = ffi::reflection;
  refl::ObjectDef<TypeNode>().def_ro("span", &TypeNode::span, refl::default_value(nullptr),
                                     refl::AttachFieldFlag::SEqHashIgnore());
}

void PrimTypeNode::RegisterReflection() {
  namespace refl = ffi::reflection;
  refl::ObjectDef<PrimTypeNode>().def_ro("dtype", &PrimTypeNode::dtype);
}

void PointerTypeNode::RegisterReflection() {
  namespace refl = ffi::reflection;
  refl::ObjectDef<PointerTypeNode>()
      .def_ro("element_type", &PointerTypeNode::element_type)
      .def_ro("storage_scope", &PointerTypeNode::storage_scope,
              refl::default_value(ffi::String("global")));
}

void TupleTypeNode::RegisterReflection() {
  namespace refl = ffi::reflection;
  refl::ObjectDef<TupleTypeNode>().def_ro("fields", &TupleTypeNode::fields);
}

void FuncTypeNode::RegisterReflection() {
  namespace refl = ffi::reflection;
  refl::ObjectDef<FuncTypeNode>()
      .def_ro("arg_types", &FuncTypeNode::arg_types)
      .def_ro("ret_type", &FuncTypeNode::ret_type);
}

void TensorMapTypeNode::RegisterReflection() {
  namespace refl = ffi::reflection;
  refl::ObjectDef<TensorMapTypeNode>();
}

Type Type::Missing() {
  static auto* missing = new Type(ffi::make_object<TypeNode>());
  return *missing;
}

namespace {

PrimType NewPrimType(DataType dtype) {
  auto node = ffi::make_object<PrimTypeNode>();
  node->dtype = dtype;
  return PrimType(std::move(node));
}

/// One object per dtype. The common scalars sit in a table that is read without a lock.
class PrimTypeCache {
 public:
  static PrimTypeCache& Global() {
    static auto* cache = new PrimTypeCache;
    return *cache;
  }

  PrimType Get(DataType dtype) {
    // Widths 1..64 of int, uint, float, handle(void), bfloat, complex, bool as powers of two.
    std::atomic<const PrimTypeNode*>* slot = FastSlot(dtype);
    if (slot != nullptr) {
      const PrimTypeNode* node = slot->load(std::memory_order_acquire);
      if (node != nullptr) return ffi::GetRef<PrimType>(node);
    }
    std::lock_guard<std::mutex> lock(mutex_);
    PrimType& entry = types_[Key(dtype)];
    if (!entry.defined()) {
      entry = NewPrimType(dtype);
      if (slot != nullptr) slot->store(entry.get(), std::memory_order_release);
    }
    return entry;
  }

 private:
  static constexpr int kCodes = 8, kWidths = 8;

  static uint32_t Key(DataType dtype) {
    DLDataType raw = dtype;
    return (uint32_t{raw.code} << 24) | (uint32_t{raw.bits} << 16) | raw.lanes;
  }

  std::atomic<const PrimTypeNode*>* FastSlot(DataType dtype) {
    if (!dtype.is_scalar() || dtype.code() >= kCodes) return nullptr;
    int bits = dtype.bits();
    if (bits <= 0 || bits > 64 || (bits & (bits - 1)) != 0) return nullptr;
    return &fast_[dtype.code()][__builtin_ctz(static_cast<unsigned>(bits))];
  }

  std::atomic<const PrimTypeNode*> fast_[kCodes][kWidths] = {};
  std::mutex mutex_;
  std::unordered_map<uint32_t, PrimType> types_;
};

}  // namespace

PrimType::PrimType(DataType dtype) {
  TVM_FFI_CHECK(!dtype.is_handle(), TypeError)
      << "PrimType cannot represent an opaque pointer; use PointerType::VoidPointerTy()";
  *this = PrimTypeCache::Global().Get(dtype);
}

PointerType::PointerType(Type element_type, ffi::String storage_scope) {
  TVM_FFI_CHECK(element_type.defined(), ValueError) << "PointerType needs an element type";
  auto node = ffi::make_object<PointerTypeNode>();
  node->element_type = std::move(element_type);
  node->storage_scope = storage_scope.empty() ? ffi::String("global") : std::move(storage_scope);
  data_ = std::move(node);
}

PointerType PointerType::VoidPointerTy() {
  static auto* type = new PointerType(PrimType::Void());
  return *type;
}

TupleType::TupleType(ffi::Array<Type> fields, Span span) {
  auto node = ffi::make_object<TupleTypeNode>();
  node->fields = std::move(fields);
  node->span = std::move(span);
  data_ = std::move(node);
}

TupleType TupleType::Empty() {
  static auto* type = new TupleType(ffi::Array<Type>());
  return *type;
}

FuncType::FuncType(ffi::Array<Type> arg_types, Type ret_type, Span span) {
  auto node = ffi::make_object<FuncTypeNode>();
  node->arg_types = std::move(arg_types);
  node->ret_type = ret_type.defined() ? std::move(ret_type) : Type::Missing();
  node->span = std::move(span);
  data_ = std::move(node);
}

TensorMapType::TensorMapType(Span span) {
  auto node = ffi::make_object<TensorMapTypeNode>();
  node->span = std::move(span);
  data_ = std::move(node);
}

Type TypeFromDataType(DataType dtype) {
  if (dtype.is_handle()) {
    TVM_FFI_CHECK(dtype.is_scalar(), TypeError)
        << "a vector of opaque pointers has no type, got " << dtype;
    return PointerType::VoidPointerTy();
  }
  return PrimType(dtype);
}

DataType DataTypeOf(const Type& type) {
  if (const auto* prim = type.as<PrimTypeNode>()) return prim->dtype;
  if (type.as<PointerTypeNode>() != nullptr || type.as<TensorMapTypeNode>() != nullptr) {
    return DataType::Handle();
  }
  if (const auto* tuple = type.as<TupleTypeNode>(); tuple != nullptr && tuple->fields.empty()) {
    return DataType::Void();
  }
  TVM_FFI_THROW(TypeError) << "expected a value of scalar, vector or pointer type, found type "
                           << (type.IsMissing() ? std::string("<not set>") : type.GetTypeKey());
  TVM_FFI_UNREACHABLE();
}

bool IsVoidType(const Type& type) {
  if (const auto* prim = type.as<PrimTypeNode>()) return prim->dtype.is_void();
  const auto* tuple = type.as<TupleTypeNode>();
  return tuple != nullptr && tuple->fields.empty();
}

TVM_FFI_STATIC_INIT_BLOCK() {
  namespace refl = ffi::reflection;
  TypeNode::RegisterReflection();
  PrimTypeNode::RegisterReflection();
  PointerTypeNode::RegisterReflection();
  TupleTypeNode::RegisterReflection();
  FuncTypeNode::RegisterReflection();
  TensorMapTypeNode::RegisterReflection();
  refl::GlobalDef()
      .def("ir.TypeMissing", []() { return Type::Missing(); })
      .def("ir.TypeIsMissing", [](const Type& type) { return type.IsMissing(); })
      .def("ir.PrimType", [](DLDataType dtype) { return PrimType(DataType(dtype)); })
      .def("ir.PointerType",
           [](Type element_type, ffi::String scope) { return PointerType(element_type, scope); })
      .def("ir.TupleType",
           [](ffi::Array<Type> fields, Span span) { return TupleType(fields, span); })
      .def("ir.FuncType", [](ffi::Array<Type> arg_types, Type ret_type,
                             Span span) { return FuncType(arg_types, ret_type, span); })
      .def("ir.TensorMapType", [](Span span) { return TensorMapType(span); });
}

}  // namespace tvm
