// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Parts of registry.h that users do not name: builders of the C structs, signatures, adapters.
#ifndef TVM_FFI_REFLECTION_REGISTRY_DETAIL_H_
#define TVM_FFI_REFLECTION_REGISTRY_DETAIL_H_

#include <tvm/ffi/any.h>
#include <tvm/ffi/c_api.h>
#include <tvm/ffi/error.h>
#include <tvm/ffi/extra/base.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/memory.h>
#include <tvm/ffi/object.h>
#include <tvm/ffi/reflection/accessor.h>
#include <tvm/ffi/string.h>
#include <tvm/ffi/type_traits.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace tvm {
namespace ffi {
namespace reflection {
namespace internal {

#ifdef TVM_FFI_EXPORTS
// The core registers types of its own before its global functions are all there.
void RegisterAutoInitDirect(int32_t type_index);
#endif

/// Installs the constructor that fills fields from positional and keyword arguments.
inline void RegisterAutoInit(int32_t type_index) {
#ifdef TVM_FFI_EXPORTS
  RegisterAutoInitDirect(type_index);
#else
  static const Function install = Function::GetGlobalRequired("ffi._RegisterFFIInit");
  install(type_index);
#endif
}

/// Body of the standard conversion rule of a type.
template <typename T>
Any ConvertTo(AnyView value) {
  std::optional<T> converted = value.try_cast<T>();
  if (!converted.has_value()) {
    TVM_FFI_THROW(TypeError) << "Cannot cast from `" << value.GetTypeKey() << "` to `"
                             << TypeTraits<T>::TypeStr() << "`";
  }
  return *std::move(converted);
}

// ------------------------------------------------------------------------------------------
// Schemas
// ------------------------------------------------------------------------------------------

/// JSON schema of a field, argument or result type.
template <typename T>
std::string SchemaOf() {
  return detail::TypeSchemaImpl<T>::v();
}

inline std::string UntypedFunctionSchema() { return R"({"type":"ffi.Function"})"; }

/// JSON schema of a callable type.
template <typename F>
std::string SignatureSchema() {
  if constexpr (std::is_base_of_v<Function, F>) {
    return UntypedFunctionSchema();
  } else {
    return detail::FunctionInfo<F>::TypeSchema();
  }
}

/// Typed callables are wrapped, existing Functions are used as they are.
template <typename F>
Function MakeFunction(F&& function, std::string name) {
  if constexpr (std::is_base_of_v<Function, std::decay_t<F>>) {
    return std::forward<F>(function);
  } else {
    return Function::FromTyped(std::forward<F>(function), std::move(name));
  }
}

// ------------------------------------------------------------------------------------------
// Methods as functions
// ------------------------------------------------------------------------------------------

/// How a method receives its object: object classes by pointer, reference classes by value.
template <typename Class, typename Pointer>
using SelfType = std::conditional_t<std::is_base_of_v<ObjectRef, Class>, Class, Pointer>;

template <typename Class>
Class* SelfPointer(Class* self) {
  return self;
}
template <typename Class>
Class* SelfPointer(Class& self) {
  return &self;
}

template <typename Class, typename R, typename... A>
auto MethodAsFunction(R (Class::*method)(A...)) {
  return [method](SelfType<Class, Class*> self, A... args) -> R {
    return (SelfPointer(self)->*method)(std::forward<A>(args)...);
  };
}

template <typename Class, typename R, typename... A>
auto MethodAsFunction(R (Class::*method)(A...) const) {
  return [method](SelfType<Class, const Class*> self, A... args) -> R {
    return (SelfPointer(self)->*method)(std::forward<A>(args)...);
  };
}

/// Already a free function.
template <typename F, typename = std::enable_if_t<!std::is_member_function_pointer_v<F>>>
F MethodAsFunction(F function) {
  return function;
}

template <typename F, typename = void>
struct HasCallOperator : std::false_type {};
template <typename F>
struct HasCallOperator<F, std::void_t<decltype(&F::operator())>> : std::true_type {};

/// Callables that def_type_attr turns into Functions; Function objects are values already.
template <typename F>
inline constexpr bool kIsAttrCallable =
    !std::is_base_of_v<ObjectRef, F> &&
    (std::is_member_function_pointer_v<F> ||
     (std::is_pointer_v<F> && std::is_function_v<std::remove_pointer_t<F>>) ||
     HasCallOperator<F>::value);

// ------------------------------------------------------------------------------------------
// Types
// ------------------------------------------------------------------------------------------

template <typename T>
int32_t TypeIndexOf() {
  if constexpr (std::is_base_of_v<Object, T>) {
    return T::RuntimeTypeIndex();
  } else if constexpr (std::is_base_of_v<ObjectRef, T>) {
    return T::ContainerType::RuntimeTypeIndex();
  } else {
    return TypeTraits<T>::field_static_type_index;
  }
}

inline std::string TypeKeyText(int32_t type_index) {
  return std::string(ToStringView(TVMFFIGetTypeInfo(type_index)->type_key));
}

/// Distance from the start of T to its object header: not 0 when T has a vtable.
template <typename T>
int64_t HeaderOffset() {
  // Any suitably aligned non-null address: only the adjustment of the cast matters.
  T* object = reinterpret_cast<T*>(uintptr_t{4096});
  return reinterpret_cast<char*>(static_cast<Object*>(object)) - reinterpret_cast<char*>(object);
}

template <typename T, typename Class, typename Field>
int64_t MemberOffset(Field Class::* member) {
  T* object = reinterpret_cast<T*>(uintptr_t{4096});
  const auto* field =
      reinterpret_cast<const volatile char*>(&(static_cast<Class*>(object)->*member));
  return field - reinterpret_cast<const volatile char*>(object) - HeaderOffset<T>();
}

template <typename T>
inline constexpr bool kIsUnsafeInit = std::is_constructible_v<T, UnsafeInit>;

/// Types that can be made empty and then filled field by field.
template <typename T>
inline constexpr bool kIsCreatable =
    !std::is_abstract_v<T> && (std::is_default_constructible_v<T> || kIsUnsafeInit<T>);

template <typename T>
inline constexpr bool kIsCopyable = !std::is_abstract_v<T> && std::is_copy_constructible_v<T>;

template <typename T>
ObjectRef NewObject() {
  if constexpr (std::is_default_constructible_v<T>) {
    return ObjectRef(make_object<T>());
  } else {
    return ObjectRef(make_object<T>(UnsafeInit{}));
  }
}

template <typename T>
ObjectRef ShallowCopyObject(const T* object) {
  return ObjectRef(make_object<T>(*object));
}

template <typename T, typename... Args>
ObjectRef ConstructObject(Args... args) {
  return ObjectRef(make_object<T>(std::forward<Args>(args)...));
}

template <typename T>
int CreateObject(TVMFFIObjectHandle* result) {
  TVM_FFI_SAFE_CALL_BEGIN();
  Any created(NewObject<T>());
  *result = ReleaseAny(std::move(created)).v_obj;
  TVM_FFI_SAFE_CALL_END();
}

template <typename T>
constexpr TVMFFIObjectCreator CreatorOf() {
  if constexpr (kIsCreatable<T>) {
    return &CreateObject<T>;
  } else {
    return nullptr;
  }
}

// ------------------------------------------------------------------------------------------
// Fields
// ------------------------------------------------------------------------------------------

template <typename Field>
int GetField(void* field, TVMFFIAny* result) {
  TVM_FFI_SAFE_CALL_BEGIN();
  *result = ReleaseAny(Any(*static_cast<Field*>(field)));
  TVM_FFI_SAFE_CALL_END();
}

template <typename Field>
int SetField(void* field, const TVMFFIAny* value) {
  TVM_FFI_SAFE_CALL_BEGIN();
  if constexpr (std::is_same_v<Field, Any>) {
    *static_cast<Any*>(field) = AnyView::CopyFromTVMFFIAny(*value);
  } else {
    *static_cast<Field*>(field) = AnyView::CopyFromTVMFFIAny(*value).template cast<Field>();
  }
  TVM_FFI_SAFE_CALL_END();
}

template <typename Field>
constexpr int32_t FieldStaticTypeIndex() {
  if constexpr (std::is_same_v<Field, Any>) {
    return kTVMFFIAny;
  } else {
    return TypeTraits<Field>::field_static_type_index;
  }
}

/// JSON object text that grows member by member.
class MetadataText {
 public:
  explicit MetadataText(const std::string& schema) { text_ = "{\"type_schema\":" + Quote(schema); }

  void Add(const String& key, const Any& value) {
    text_ += "," + Quote(std::string_view(key.data(), key.size())) + ":";
    switch (value.type_index()) {
      case kTVMFFINone:
        text_ += "null";
        break;
      case kTVMFFIBool:
        text_ += value.cast<bool>() ? "true" : "false";
        break;
      case kTVMFFIInt:
        text_ += std::to_string(value.cast<int64_t>());
        break;
      case kTVMFFIFloat:
        text_ += std::to_string(value.cast<double>());
        break;
      default: {
        String text = value.cast<String>();
        text_ += Quote(std::string_view(text.data(), text.size()));
      }
    }
  }

  std::string Finish() const { return text_ + "}"; }

 private:
  static std::string Quote(std::string_view text) {
    String quoted = EscapeStringJSON(String(std::string(text)));
    return std::string(quoted.data(), quoted.size());
  }

  std::string text_;
};

/// Collects one TVMFFIFieldInfo. The registry copies all texts.
struct FieldBuilder {
  FieldBuilder(const char* name, const std::string& schema) : metadata(schema), info{} {
    info.name = ToByteArray(name);
    info.field_static_type_index = kTVMFFIAny;
  }

  template <typename Field>
  void Describe(int64_t offset) {
    info.size = sizeof(Field);
    info.alignment = alignof(Field);
    info.offset = offset;
    info.getter = &GetField<Field>;
    info.setter = reinterpret_cast<void*>(&SetField<Field>);
    info.field_static_type_index = FieldStaticTypeIndex<Field>();
  }

  void SetDoc(std::string_view text) { doc = std::string(text); }

  void SetFlag(int64_t flag, bool on) {
    info.flags = on ? (info.flags | flag) : (info.flags & ~flag);
  }

  void SetDefault(Any value, bool is_factory) {
    default_value = std::move(value);
    SetFlag(kTVMFFIFieldFlagBitMaskHasDefault, true);
    SetFlag(kTVMFFIFieldFlagBitMaskDefaultFromFactory, is_factory);
  }

  void Register(int32_t type_index) {
    const std::string metadata_text = metadata.Finish();
    info.doc = ToByteArray(doc);
    info.metadata = ToByteArray(metadata_text);
    info.default_value_or_factory = *reinterpret_cast<const TVMFFIAny*>(&default_value);
    TVM_FFI_CHECK_SAFE_CALL(TVMFFITypeRegisterField(type_index, &info));
  }

  MetadataText metadata;
  TVMFFIFieldInfo info;
  std::string doc;
  Any default_value;
};

/// Collects one TVMFFIMethodInfo of a type or of a global function.
struct MethodBuilder {
  MethodBuilder(const char* name, const std::string& schema) : metadata(schema), info{} {
    info.name = ToByteArray(name);
  }

  void SetDoc(std::string_view text) { doc = std::string(text); }

  void RegisterMethod(int32_t type_index, Function function) {
    Finish(std::move(function), [&](const TVMFFIMethodInfo* method) {
      TVM_FFI_CHECK_SAFE_CALL(TVMFFITypeRegisterMethod(type_index, method));
    });
  }

  void RegisterGlobal(Function function) {
    Finish(std::move(function), [](const TVMFFIMethodInfo* method) {
      TVM_FFI_CHECK_SAFE_CALL(TVMFFIFunctionSetGlobalFromMethodInfo(method, 0));
    });
  }

  MetadataText metadata;
  TVMFFIMethodInfo info;
  std::string doc;

 private:
  template <typename Register>
  void Finish(Function function, Register do_register) {
    const Any method(std::move(function));
    const std::string metadata_text = metadata.Finish();
    info.doc = ToByteArray(doc);
    info.metadata = ToByteArray(metadata_text);
    info.method = *reinterpret_cast<const TVMFFIAny*>(&method);
    do_register(&info);
  }
};

/// Collects what ObjectDef's own extras say.
struct TypeBuilder {
  void SetDoc(std::string_view text) { doc = std::string(text); }

  std::string doc;
  bool auto_init = true;
};

}  // namespace internal
}  // namespace reflection
}  // namespace ffi
}  // namespace tvm
#endif  // TVM_FFI_REFLECTION_REGISTRY_DETAIL_H_
