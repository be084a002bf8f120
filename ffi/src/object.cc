// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors

/// C functions on objects and the reflection entry points of the type table.
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/registry.h>

#include "src/library_init.h"
#include "src/type_table.h"

namespace tvm {
namespace ffi {
namespace {

/// Foreign object of a host language.
class OpaqueObject : public Object, public TVMFFIOpaqueObjectCell {
 public:
  OpaqueObject(void* handle, void (*deleter)(void*)) : deleter_(deleter) { this->handle = handle; }
  ~OpaqueObject() {
    if (deleter_ != nullptr) deleter_(handle);
  }

  static constexpr int32_t _type_index = TypeIndex::kTVMFFIOpaquePyObject;
  TVM_FFI_DECLARE_OBJECT_INFO_STATIC(StaticTypeKey::kTVMFFIOpaquePyObject, OpaqueObject, Object);

 private:
  void (*deleter_)(void*);
};

/// Identity that stands for "no such entry", distinct from None.
const ObjectRef& MissingObject() {
  static const ObjectRef missing{make_object<Object>()};
  return missing;
}

Array<String> RegisteredTypeKeys() {
  Array<String> keys;
  TypeTable::Global()->ForEachKey([&](std::string_view key) { keys.push_back(String(key)); });
  return keys;
}

TVM_FFI_LIBRARY_INIT_BLOCK() {
  namespace refl = tvm::ffi::reflection;
  refl::GlobalDef()
      .def("ffi.GetRegisteredTypeKeys", RegisteredTypeKeys)
      .def("ffi._CheckTypeIndex", [](int64_t index) { TypeTable::Global()->Get(index); })
      .def("ffi.GetInvalidObject", []() -> ObjectRef { return MissingObject(); });
}

}  // namespace
}  // namespace ffi
}  // namespace tvm

using tvm::ffi::Any;
using tvm::ffi::TypeTable;

void TVMFFIGetVersion(TVMFFIVersion* out_version) {
  out_version->major = TVM_FFI_VERSION_MAJOR;
  out_version->minor = TVM_FFI_VERSION_MINOR;
  out_version->patch = TVM_FFI_VERSION_PATCH;
}

int TVMFFIObjectIncRef(TVMFFIObjectHandle obj) {
  TVM_FFI_SAFE_CALL_BEGIN();
  tvm::ffi::detail::ObjectUnsafe::IncRefObjectHandle(obj);
  TVM_FFI_SAFE_CALL_END();
}

int TVMFFIObjectDecRef(TVMFFIObjectHandle obj) {
  TVM_FFI_SAFE_CALL_BEGIN();
  tvm::ffi::detail::ObjectUnsafe::DecRefObjectHandle(obj);
  TVM_FFI_SAFE_CALL_END();
}

int TVMFFIObjectCreateOpaque(void* handle, int32_t type_index, void (*deleter)(void* handle),
                             TVMFFIObjectHandle* out) {
  TVM_FFI_SAFE_CALL_BEGIN();
  if (type_index != kTVMFFIOpaquePyObject) {
    TVM_FFI_THROW(RuntimeError) << "Only the opaque host object type (index "
                                << static_cast<int>(kTVMFFIOpaquePyObject)
                                << ") can be created, got type index " << type_index;
  }
  *out = tvm::ffi::detail::ObjectUnsafe::MoveObjectPtrToTVMFFIObjectPtr(
      tvm::ffi::make_object<tvm::ffi::OpaqueObject>(handle, deleter));
  TVM_FFI_SAFE_CALL_END();
}

int TVMFFITypeKeyToIndex(const TVMFFIByteArray* type_key, int32_t* out_tindex) {
  TVM_FFI_SAFE_CALL_BEGIN();
  const std::string_view key(type_key->data, type_key->size);
  const int32_t index = TypeTable::Global()->Find(key);
  if (index < 0) TVM_FFI_THROW(InternalError) << "Cannot find type `" << key << "`";
  *out_tindex = index;
  TVM_FFI_SAFE_CALL_END();
}

int TVMFFITypeRegisterField(int32_t type_index, const TVMFFIFieldInfo* info) {
  TVM_FFI_SAFE_CALL_BEGIN();
  TypeTable::Global()->RegisterField(type_index, *info);
  TVM_FFI_SAFE_CALL_END();
}

int TVMFFITypeRegisterMethod(int32_t type_index, const TVMFFIMethodInfo* info) {
  TVM_FFI_SAFE_CALL_BEGIN();
  TypeTable::Global()->RegisterMethod(type_index, *info);
  TVM_FFI_SAFE_CALL_END();
}

int TVMFFITypeRegisterMetadata(int32_t type_index, const TVMFFITypeMetadata* metadata) {
  TVM_FFI_SAFE_CALL_BEGIN();
  TypeTable::Global()->RegisterMetadata(type_index, *metadata);
  TVM_FFI_SAFE_CALL_END();
}

int TVMFFITypeRegisterAttr(int32_t type_index, const TVMFFIByteArray* attr_name,
                           const TVMFFIAny* attr_value) {
  TVM_FFI_SAFE_CALL_BEGIN();
  TypeTable::Global()->RegisterAttr(
      type_index, std::string_view(attr_name->data, attr_name->size),
      attr_value == nullptr ? Any() : Any(tvm::ffi::AnyView::CopyFromTVMFFIAny(*attr_value)));
  TVM_FFI_SAFE_CALL_END();
}

const TVMFFITypeAttrColumn* TVMFFIGetTypeAttrColumn(const TVMFFIByteArray* attr_name) {
  return TypeTable::Global()->FindColumn(std::string_view(attr_name->data, attr_name->size));
}

int32_t TVMFFITypeGetOrAllocIndex(const TVMFFIByteArray* type_key, int32_t static_type_index,
                                  int32_t type_depth, int32_t num_child_slots,
                                  int32_t child_slots_can_overflow, int32_t parent_type_index) {
  try {
    return TypeTable::Global()->GetOrAllocate(
        std::string_view(type_key->data, type_key->size),
        tvm::ffi::TypeRequest{static_type_index, type_depth, num_child_slots,
                              child_slots_can_overflow != 0, parent_type_index});
  } catch (const std::exception& error) {
    tvm::ffi::ExitOnError("TVMFFITypeGetOrAllocIndex", error);
  }
}

const TVMFFITypeInfo* TVMFFIGetTypeInfo(int32_t type_index) {
  const TVMFFITypeInfo* info = TypeTable::Global()->TryGet(type_index);
  if (info != nullptr) return info;
  try {
    return TypeTable::Global()->Get(type_index);
  } catch (const std::exception& error) {
    tvm::ffi::ExitOnError("TVMFFIGetTypeInfo", error);
  }
}
