// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Reads what types have registered: fields, methods and per-type attributes.
#ifndef TVM_FFI_REFLECTION_ACCESSOR_H_
#define TVM_FFI_REFLECTION_ACCESSOR_H_

#include <tvm/ffi/any.h>
#include <tvm/ffi/c_api.h>
#include <tvm/ffi/error.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/object.h>
#include <tvm/ffi/reflection/native_function.h>
#include <tvm/ffi/string.h>

#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace tvm {
namespace ffi {
namespace reflection {

/// Name of a type attribute together with the type its values must have.
template <typename T>
struct AttrKey {
  using value_type = T;

  const char* name;

  /// nullopt for None (attribute absent); TypeError when a value of another type is stored.
  static std::optional<T> ValueFrom(AnyView value) {
    if (value.type_index() == kTVMFFINone) return std::nullopt;
    if constexpr (std::is_same_v<T, Any>) {
      return Any(value);
    } else {
      return value.template as_or_throw<T>();
    }
  }
};

namespace internal {

inline TVMFFIByteArray ToByteArray(std::string_view text) {
  return TVMFFIByteArray{text.data(), text.size()};
}

inline std::string_view ToStringView(const TVMFFIByteArray& text) {
  return text.size == 0 ? std::string_view() : std::string_view(text.data, text.size);
}

/// Plain strings are accepted wherever an AttrKey is.
inline std::string_view AttrName(std::string_view name) { return name; }
template <typename T>
std::string_view AttrName(const AttrKey<T>& key) {
  return key.name;
}

}  // namespace internal

/// One attribute for all types. Looking a type up is an array access.
class TypeAttrColumn {
 public:
  /// Throws RuntimeError when no type has registered the attribute.
  template <typename Key>
  explicit TypeAttrColumn(const Key& key) {
    const std::string_view name = internal::AttrName(key);
    TVMFFIByteArray bytes = internal::ToByteArray(name);
    column_ = TVMFFIGetTypeAttrColumn(&bytes);
    if (column_ == nullptr) {
      TVM_FFI_THROW(RuntimeError) << "Cannot find type attribute column `" << std::string(name)
                                  << "`";
    }
  }

  /// Value for `type_index`; None when the type has none.
  AnyView operator[](int32_t type_index) const {
    const int64_t offset = static_cast<int64_t>(type_index) - column_->begin_index;
    if (offset < 0 || offset >= column_->size) return AnyView();
    return AnyView::CopyFromTVMFFIAny(column_->data[offset]);
  }

 private:
  const TVMFFITypeAttrColumn* column_;
};

/// Visits the fields of `type_info`, ancestors' first, until `callback` returns true.
/// Returns whether it stopped early.
template <typename Callback>
inline bool ForEachFieldInfoWithEarlyStop(const TVMFFITypeInfo* type_info, Callback callback) {
  for (int32_t depth = 0; depth <= type_info->type_depth; ++depth) {
    const TVMFFITypeInfo* level =
        depth == type_info->type_depth ? type_info : type_info->type_ancestors[depth];
    for (int32_t i = 0; i < level->num_fields; ++i) {
      if (callback(level->fields + i)) return true;
    }
  }
  return false;
}

/// Visits every field of `type_info`, ancestors' first.
template <typename Callback>
inline void ForEachFieldInfo(const TVMFFITypeInfo* type_info, Callback callback) {
  ForEachFieldInfoWithEarlyStop(type_info, [&](const TVMFFIFieldInfo* field) {
    callback(field);
    return false;
  });
}

namespace internal {

inline const TVMFFITypeInfo* TypeInfoFromKey(std::string_view type_key) {
  TVMFFIByteArray bytes = ToByteArray(type_key);
  int32_t type_index = 0;
  TVM_FFI_CHECK_SAFE_CALL(TVMFFITypeKeyToIndex(&bytes, &type_index));
  return TVMFFIGetTypeInfo(type_index);
}

/// The most derived field of that name, or NULL.
inline const TVMFFIFieldInfo* FindFieldInfo(const TVMFFITypeInfo* info, std::string_view name) {
  for (int32_t depth = info->type_depth; depth >= 0; --depth) {
    const TVMFFITypeInfo* level = depth == info->type_depth ? info : info->type_ancestors[depth];
    for (int32_t i = 0; i < level->num_fields; ++i) {
      if (ToStringView(level->fields[i].name) == name) return level->fields + i;
    }
  }
  return nullptr;
}

/// The most derived method of that name, or NULL.
inline const TVMFFIMethodInfo* FindMethodInfo(const TVMFFITypeInfo* info, std::string_view name) {
  for (int32_t depth = info->type_depth; depth >= 0; --depth) {
    const TVMFFITypeInfo* level = depth == info->type_depth ? info : info->type_ancestors[depth];
    for (int32_t i = 0; i < level->num_methods; ++i) {
      if (ToStringView(level->methods[i].name) == name) return level->methods + i;
    }
  }
  return nullptr;
}

inline void* FieldAddress(const void* object, const TVMFFIFieldInfo* field) {
  return const_cast<char*>(static_cast<const char*>(object)) + field->offset;
}

inline const void* HeaderOf(const Object* object) { return object; }
inline const void* HeaderOf(const ObjectRef& ref) { return ref.get(); }
template <typename T>
const void* HeaderOf(const ObjectPtr<T>& ptr) {
  return static_cast<const Object*>(ptr.get());
}

}  // namespace internal

/// Field `field_name` of `type_key` or of an ancestor; RuntimeError when there is none.
inline const TVMFFIFieldInfo* GetFieldInfo(std::string_view type_key, const char* field_name) {
  const auto* field = internal::FindFieldInfo(internal::TypeInfoFromKey(type_key), field_name);
  if (field == nullptr) {
    TVM_FFI_THROW(RuntimeError) << "Cannot find field `" << field_name << "` in type `"
                                << std::string(type_key) << "`";
  }
  return field;
}

/// Method `method_name` of `type_key` or of an ancestor; RuntimeError when there is none.
inline const TVMFFIMethodInfo* GetMethodInfo(std::string_view type_key, const char* method_name) {
  const auto* method = internal::FindMethodInfo(internal::TypeInfoFromKey(type_key), method_name);
  if (method == nullptr) {
    TVM_FFI_THROW(RuntimeError) << "Cannot find method `" << method_name << "` in type `"
                                << std::string(type_key) << "`";
  }
  return method;
}

inline Function GetMethod(std::string_view type_key, const char* method_name) {
  const TVMFFIMethodInfo* info = GetMethodInfo(type_key, method_name);
  return AnyView::CopyFromTVMFFIAny(info->method).cast<Function>();
}

/// Writes a field through its registered setter. Returns the C status; the error is raised.
inline int CallFieldSetter(const TVMFFIFieldInfo* field, void* field_addr, const TVMFFIAny* value) {
  if (field->setter == nullptr) {
    TVMFFIErrorSetRaisedFromCStr("TypeError", "the field has no setter");
    return -1;
  }
  if ((field->flags & kTVMFFIFieldFlagBitSetterIsFunctionObj) == 0) {
    return reinterpret_cast<TVMFFIFieldSetter>(field->setter)(field_addr, value);
  }
  TVMFFIAny args[2] = {};
  args[0].type_index = kTVMFFIOpaquePtr;
  args[0].v_ptr = field_addr;
  args[1] = *value;
  Any ignored;
  return TVMFFIFunctionCall(reinterpret_cast<TVMFFIObjectHandle>(field->setter), args, 2,
                            reinterpret_cast<TVMFFIAny*>(&ignored));
}

/// Stores the default value, or a fresh result of the default factory. Returns the C status.
inline int CallFieldSetterToDefault(const TVMFFIFieldInfo* field, void* field_addr) {
  if ((field->flags & kTVMFFIFieldFlagBitMaskDefaultFromFactory) == 0) {
    return CallFieldSetter(field, field_addr, &field->default_value_or_factory);
  }
  Any value;
  const int status = TVMFFIFunctionCall(
      reinterpret_cast<TVMFFIObjectHandle>(field->default_value_or_factory.v_obj), nullptr, 0,
      reinterpret_cast<TVMFFIAny*>(&value));
  if (status != 0) return status;
  return CallFieldSetter(field, field_addr, reinterpret_cast<const TVMFFIAny*>(&value));
}

/// Like CallFieldSetterToDefault, but throws on failure.
inline void SetFieldToDefault(const TVMFFIFieldInfo* field, void* field_addr) {
  TVM_FFI_CHECK_SAFE_CALL(CallFieldSetterToDefault(field, field_addr));
}

/// Reads one field of any object of the type it was looked up in.
class FieldGetter {
 public:
  explicit FieldGetter(const TVMFFIFieldInfo* field) : field_(field) {}
  FieldGetter(std::string_view type_key, const char* field_name)
      : field_(GetFieldInfo(type_key, field_name)) {}

  template <typename T>
  Any operator()(const T& object) const {
    return Read(internal::HeaderOf(object));
  }

 private:
  Any Read(const void* header) const {
    Any value;
    TVM_FFI_CHECK_SAFE_CALL(field_->getter(internal::FieldAddress(header, field_),
                                           reinterpret_cast<TVMFFIAny*>(&value)));
    return value;
  }

  const TVMFFIFieldInfo* field_;
};

/// Writes one field, read-only ones included: it is the caller who grants the right.
class FieldSetter {
 public:
  explicit FieldSetter(const TVMFFIFieldInfo* field) : field_(field) {}
  FieldSetter(std::string_view type_key, const char* field_name)
      : field_(GetFieldInfo(type_key, field_name)) {}

  template <typename T>
  void operator()(const T& object, AnyView value) const {
    TVM_FFI_CHECK_SAFE_CALL(
        CallFieldSetter(field_, internal::FieldAddress(internal::HeaderOf(object), field_),
                        reinterpret_cast<const TVMFFIAny*>(&value)));
  }

 private:
  const TVMFFIFieldInfo* field_;
};

}  // namespace reflection

namespace type_attr {

/// () -> object with value-initialised fields.
inline constexpr reflection::AttrKey<Function> kNew{"__ffi_new__"};
/// (packed arguments) -> constructed object.
inline constexpr reflection::AttrKey<Function> kInit{"__ffi_init__"};
/// (value) -> object of the type, converting where a rule exists.
inline constexpr reflection::AttrKey<Function> kConvert{"__ffi_convert__"};
/// JSON schema of what kConvert accepts.
inline constexpr reflection::AttrKey<String> kConvertTypeSchema{"__ffi_convert_type_schema__"};
/// (object) -> copy that shares the fields.
inline constexpr reflection::AttrKey<Function> kShallowCopy{"__ffi_shallow_copy__"};
inline constexpr reflection::AttrKey<bool> kTypeFinal{"__ffi_type_final__"};
inline constexpr reflection::AttrKey<reflection::NativeFunctionView<int64_t(const Any&)>> kAnyHash{
    "__any_hash__"};
inline constexpr reflection::AttrKey<reflection::NativeFunctionView<bool(const Any&, const Any&)>>
    kAnyEqual{"__any_equal__"};

}  // namespace type_attr

namespace reflection {
namespace type_attr = ::tvm::ffi::type_attr;
}  // namespace reflection

}  // namespace ffi
}  // namespace tvm
#endif  // TVM_FFI_REFLECTION_ACCESSOR_H_
