// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Creates objects from field values by name.
#ifndef TVM_FFI_REFLECTION_CREATOR_H_
#define TVM_FFI_REFLECTION_CREATOR_H_

#include <tvm/ffi/any.h>
#include <tvm/ffi/container/map.h>
#include <tvm/ffi/extra/base.h>
#include <tvm/ffi/object.h>
#include <tvm/ffi/reflection/accessor.h>
#include <tvm/ffi/reflection/native_function.h>
#include <tvm/ffi/string.h>

#include <string>
#include <string_view>

namespace tvm {
namespace ffi {
namespace reflection {

namespace internal {

/// New object of the type with no field set: native creator, else the `__ffi_new__` attribute.
/// RuntimeError when the type has neither.
inline ObjectRef CreateEmptyObject(const TVMFFITypeInfo* type_info) {
  if (type_info->metadata != nullptr && type_info->metadata->creator != nullptr) {
    TVMFFIAny raw{};
    TVMFFIObjectHandle handle = nullptr;
    TVM_FFI_CHECK_SAFE_CALL(type_info->metadata->creator(&handle));
    raw.type_index = static_cast<TVMFFIObject*>(handle)->type_index;
    raw.v_obj = static_cast<TVMFFIObject*>(handle);
    return AdoptAny(raw).cast<ObjectRef>();
  }
  TVMFFIByteArray name = ToByteArray(type_attr::kNew.name);
  AnyView factory;
  if (TVMFFIGetTypeAttrColumn(&name) != nullptr) {
    factory = TypeAttrColumn(type_attr::kNew)[type_info->type_index];
  }
  if (factory.type_index() == kTVMFFINone) {
    TVM_FFI_THROW(RuntimeError) << "Type `" << std::string(ToStringView(type_info->type_key))
                                << "` does not support reflection creation";
  }
  return factory.cast<Function>()().cast<ObjectRef>();
}

}  // namespace internal

/// Makes objects of one type. Fields that are not given take their default.
class ObjectCreator {
 public:
  explicit ObjectCreator(std::string_view type_key)
      : ObjectCreator(internal::TypeInfoFromKey(type_key)) {}
  explicit ObjectCreator(const TVMFFITypeInfo* type_info) : type_info_(type_info) {
    if (!HasCreator()) {
      TVM_FFI_THROW(RuntimeError) << "Type `" << KeyText()
                                  << "` does not support reflection creation";
    }
  }

  /// TypeError for a required field that is missing or a name that is no field.
  Any operator()(const Map<String, Any>& fields) const {
    ObjectRef object = internal::CreateEmptyObject(type_info_);
    void* header = const_cast<Object*>(object.get());
    size_t used = 0;
    ForEachFieldInfo(type_info_, [&](const TVMFFIFieldInfo* field) {
      String name(std::string(internal::ToStringView(field->name)));
      void* address = internal::FieldAddress(header, field);
      if (auto given = fields.Get(name); given.has_value()) {
        const Any value = *given;
        TVM_FFI_CHECK_SAFE_CALL(
            CallFieldSetter(field, address, reinterpret_cast<const TVMFFIAny*>(&value)));
        ++used;
      } else if ((field->flags & kTVMFFIFieldFlagBitMaskHasDefault) != 0) {
        SetFieldToDefault(field, address);
      } else {
        TVM_FFI_THROW(TypeError) << "Required field `" << std::string(name.data(), name.size())
                                 << "` not set in type `" << KeyText() << "`";
      }
    });
    if (used != fields.size()) RejectUnknown(fields);
    return Any(object);
  }

 private:
  bool HasCreator() const {
    if (type_info_->metadata != nullptr && type_info_->metadata->creator != nullptr) return true;
    TVMFFIByteArray name = internal::ToByteArray(type_attr::kNew.name);
    const TVMFFITypeAttrColumn* column = TVMFFIGetTypeAttrColumn(&name);
    const int64_t offset = column == nullptr ? -1 : type_info_->type_index - column->begin_index;
    return offset >= 0 && offset < column->size && column->data[offset].type_index != kTVMFFINone;
  }

  void RejectUnknown(const Map<String, Any>& fields) const {
    for (const auto& entry : fields) {
      const std::string name(entry.first.data(), entry.first.size());
      if (internal::FindFieldInfo(type_info_, name) == nullptr) {
        TVM_FFI_THROW(TypeError) << "Type `" << KeyText() << "` does not have field `" << name
                                 << "`";
      }
    }
  }

  std::string KeyText() const { return std::string(internal::ToStringView(type_info_->type_key)); }

  const TVMFFITypeInfo* type_info_;
};

}  // namespace reflection
}  // namespace ffi
}  // namespace tvm
#endif  // TVM_FFI_REFLECTION_CREATOR_H_
