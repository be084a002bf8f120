// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Support for types that a host language defines at run time: their objects are laid out by the
/// binding and described only by reflection.
#include <tvm/ffi/any.h>
#include <tvm/ffi/error.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/memory.h>
#include <tvm/ffi/object.h>
#include <tvm/ffi/reflection/accessor.h>
#include <tvm/ffi/reflection/registry.h>

#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#include "reflection_util.h"
#include "src/library_init.h"
#include "src/type_table.h"
#include "value_util.h"

namespace tvm {
namespace ffi {
namespace {

using reflection::internal::AdoptAny;
using reflection::internal::FieldAddress;
using reflection::internal::ReleaseAny;

/// How a field of a static type is stored.
enum class Storage { kAny, kInt, kBool, kFloat, kPointer, kDataType, kDevice, kObject };

Storage StorageOf(int64_t static_type_index, const char* purpose) {
  switch (static_type_index) {
    case kTVMFFIAny:
    case kTVMFFINone:
      return Storage::kAny;
    case kTVMFFIInt:
      return Storage::kInt;
    case kTVMFFIBool:
      return Storage::kBool;
    case kTVMFFIFloat:
      return Storage::kFloat;
    case kTVMFFIOpaquePtr:
      return Storage::kPointer;
    case kTVMFFIDataType:
      return Storage::kDataType;
    case kTVMFFIDevice:
      return Storage::kDevice;
    default:
      break;
  }
  if (static_type_index < kTVMFFIStaticObjectBegin) {
    TVM_FFI_THROW(ValueError) << "Unsupported field type index for " << purpose << ": "
                              << static_type_index;
  }
  return Storage::kObject;
}

template <Storage kStorage>
int GetStored(void* field, TVMFFIAny* result) {
  TVM_FFI_SAFE_CALL_BEGIN();
  TVMFFIAny raw{};
  if constexpr (kStorage == Storage::kAny) {
    raw = ReleaseAny(Any(*static_cast<const Any*>(field)));
  } else if constexpr (kStorage == Storage::kInt) {
    raw.type_index = kTVMFFIInt;
    raw.v_int64 = *static_cast<const int64_t*>(field);
  } else if constexpr (kStorage == Storage::kBool) {
    raw.type_index = kTVMFFIBool;
    raw.v_int64 = *static_cast<const bool*>(field) ? 1 : 0;
  } else if constexpr (kStorage == Storage::kFloat) {
    raw.type_index = kTVMFFIFloat;
    raw.v_float64 = *static_cast<const double*>(field);
  } else if constexpr (kStorage == Storage::kPointer) {
    raw.v_ptr = *static_cast<void* const*>(field);
    raw.type_index = kTVMFFIOpaquePtr;
  } else if constexpr (kStorage == Storage::kDataType) {
    raw.type_index = kTVMFFIDataType;
    raw.v_dtype = *static_cast<const DLDataType*>(field);
  } else if constexpr (kStorage == Storage::kDevice) {
    raw.type_index = kTVMFFIDevice;
    raw.v_device = *static_cast<const DLDevice*>(field);
  } else {
    TVMFFIObject* object = *static_cast<TVMFFIObject* const*>(field);
    if (object != nullptr) {
      TVMFFIObjectIncRef(object);
      raw.type_index = object->type_index;
      raw.v_obj = object;
    }
  }
  *result = raw;
  TVM_FFI_SAFE_CALL_END();
}

TVMFFIFieldGetter GetterOf(Storage storage) {
  switch (storage) {
    case Storage::kAny:
      return &GetStored<Storage::kAny>;
    case Storage::kInt:
      return &GetStored<Storage::kInt>;
    case Storage::kBool:
      return &GetStored<Storage::kBool>;
    case Storage::kFloat:
      return &GetStored<Storage::kFloat>;
    case Storage::kPointer:
      return &GetStored<Storage::kPointer>;
    case Storage::kDataType:
      return &GetStored<Storage::kDataType>;
    case Storage::kDevice:
      return &GetStored<Storage::kDevice>;
    case Storage::kObject:
      return &GetStored<Storage::kObject>;
  }
  return nullptr;
}

void Store(Storage storage, void* field, Any value) {
  switch (storage) {
    case Storage::kAny:
      *static_cast<Any*>(field) = std::move(value);
      return;
    case Storage::kInt:
      *static_cast<int64_t*>(field) = value.cast<int64_t>();
      return;
    case Storage::kBool:
      *static_cast<bool*>(field) = value.cast<bool>();
      return;
    case Storage::kFloat:
      *static_cast<double*>(field) = value.cast<double>();
      return;
    case Storage::kPointer:
      *static_cast<void**>(field) = value.cast<void*>();
      return;
    case Storage::kDataType:
      *static_cast<DLDataType*>(field) = value.cast<DLDataType>();
      return;
    case Storage::kDevice:
      *static_cast<DLDevice*>(field) = value.cast<DLDevice>();
      return;
    case Storage::kObject:
      break;
  }
  TVMFFIObject* object = nullptr;
  if (value.type_index() != kTVMFFINone) {
    if (!IsObject(RawAny(value))) {
      TVM_FFI_THROW(TypeError) << "Cannot store a value of type `" << value.GetTypeKey()
                               << "` in an object field";
    }
    object = ReleaseAny(std::move(value)).v_obj;
  }
  TVMFFIObject* old = std::exchange(*static_cast<TVMFFIObject**>(field), object);
  if (old != nullptr) TVMFFIObjectDecRef(old);
}

/// Converts a value for a field: `converter` is the binding's own.
using ConvertFunction = int (*)(void* converter, const TVMFFIAny* value, TVMFFIAny* result);

Function MakeFieldSetter(int64_t static_type_index, int64_t converter, int64_t convert) {
  const Storage storage = StorageOf(static_type_index, "setter");
  auto* convert_function = reinterpret_cast<ConvertFunction>(convert);
  return Function::FromPacked([storage, converter, convert_function](PackedArgs args, Any* result) {
    if (args.size() != 2) {
      TVM_FFI_THROW(TypeError) << "a field setter takes the field address and a value, got "
                               << args.size() << " arguments";
    }
    Any value(args[1]);
    if (convert_function != nullptr) {
      Any converted;
      const AnyView source = args[1];
      TVM_FFI_CHECK_SAFE_CALL(convert_function(reinterpret_cast<void*>(converter), &RawAny(source),
                                               reinterpret_cast<TVMFFIAny*>(&converted)));
      value = std::move(converted);
    }
    Store(storage, args[0].cast<void*>(), std::move(value));
    *result = nullptr;
  });
}

int64_t MakeFieldGetter(int64_t static_type_index) {
  return reinterpret_cast<int64_t>(GetterOf(StorageOf(static_type_index, "getter")));
}

// ------------------------------------------------------------------------------------------
// Objects of host-defined types
// ------------------------------------------------------------------------------------------

/// Fields that own something: 16-byte values, and object pointers.
bool OwnsAny(const TVMFFIFieldInfo* field) {
  return field->field_static_type_index <= kTVMFFINone && field->size == sizeof(TVMFFIAny);
}
bool OwnsObject(const TVMFFIFieldInfo* field) {
  if (field->size != sizeof(void*)) return false;
  return field->field_static_type_index >= kTVMFFIStaticObjectBegin ||
         field->field_static_type_index == kTVMFFIAny;
}

void DestroyHostFields(void* self) {
  auto* header = static_cast<TVMFFIObject*>(self);
  reflection::ForEachFieldInfo(TVMFFIGetTypeInfo(header->type_index),
                               [self](const TVMFFIFieldInfo* field) {
                                 void* address = FieldAddress(self, field);
                                 if (OwnsAny(field)) {
                                   static_cast<Any*>(address)->~Any();
                                 } else if (OwnsObject(field)) {
                                   if (auto* object = *static_cast<TVMFFIObject**>(address))
                                     TVMFFIObjectDecRef(object);
                                 }
                               });
}

void DeleteHostObject(void* self, int flags) {
  detail::DestroyBounded(
      self, flags, DeleteHostObject, [self] { DestroyHostFields(self); },
      [self] { std::free(self); });
}

/// Object of `size` zero bytes behind the header: zero is None, null, 0 or false.
ObjectRef AllocateHostObject(int32_t type_index, size_t size) {
  void* memory = std::calloc(1, size);
  if (memory == nullptr) {
    TVM_FFI_THROW(MemoryError) << "cannot allocate an object of " << size << " bytes";
  }
  auto* header = static_cast<TVMFFIObject*>(memory);
  header->combined_ref_count = detail::kCombinedRefCountBothOne;
  header->type_index = type_index;
  header->deleter = DeleteHostObject;
  TVMFFIAny raw{};
  raw.type_index = type_index;
  raw.v_obj = header;
  return AdoptAny(raw).cast<ObjectRef>();
}

ObjectRef ShallowCopyHostObject(const ObjectRef& source, size_t size) {
  ObjectRef copy = AllocateHostObject(source->type_index(), size);
  const void* from = source.get();
  void* to = const_cast<Object*>(copy.get());
  std::memcpy(static_cast<char*>(to) + sizeof(TVMFFIObject),
              static_cast<const char*>(from) + sizeof(TVMFFIObject), size - sizeof(TVMFFIObject));
  reflection::ForEachFieldInfo(
      TVMFFIGetTypeInfo(source->type_index()), [from, to](const TVMFFIFieldInfo* field) {
        void* address = FieldAddress(to, field);
        if (OwnsAny(field)) {
          new (address) Any(*static_cast<const Any*>(FieldAddress(from, field)));
        } else if (OwnsObject(field)) {
          if (auto* object = *static_cast<TVMFFIObject**>(address)) TVMFFIObjectIncRef(object);
        }
      });
  return copy;
}

/// Installs creation, copy and the automatic constructor once all fields are registered.
void RegisterHostClass(int64_t type_index, int64_t total_size) {
  if (total_size < static_cast<int64_t>(sizeof(TVMFFIObject))) {
    TVM_FFI_THROW(ValueError) << "an object needs at least " << sizeof(TVMFFIObject)
                              << " bytes, got " << total_size;
  }
  const int32_t index = TypeTable::Global()->Get(type_index)->type_index;
  const auto size = static_cast<size_t>(total_size);
  reflection::internal::RegisterTypeAttr(
      index, type_attr::kNew,
      Any(Function::FromTyped([index, size] { return AllocateHostObject(index, size); })));
  reflection::internal::RegisterTypeAttr(index, type_attr::kShallowCopy,
                                         Any(Function::FromTyped([size](const ObjectRef& source) {
                                           return ShallowCopyHostObject(source, size);
                                         })));
  reflection::internal::RegisterAutoInit(index);
}

}  // namespace

TVM_FFI_LIBRARY_INIT_BLOCK() {
  namespace refl = tvm::ffi::reflection;
  refl::GlobalDef()
      .def("ffi.MakeFieldSetter", MakeFieldSetter)
      .def("ffi.MakeFieldGetter", MakeFieldGetter)
      .def("ffi._PyClassRegisterTypeAttrColumns", RegisterHostClass);
}

}  // namespace ffi
}  // namespace tvm
