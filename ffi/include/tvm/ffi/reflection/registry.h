// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Registers global functions and describes object types to every language binding.
///
///   TVM_FFI_STATIC_INIT_BLOCK() {
///     namespace refl = tvm::ffi::reflection;
///     refl::ObjectDef<PointObj>().def_ro("x", &PointObj::x, "Abscissa.", refl::default_value(0));
///     refl::GlobalDef().def("geometry.Norm", Norm);
///   }
#ifndef TVM_FFI_REFLECTION_REGISTRY_H_
#define TVM_FFI_REFLECTION_REGISTRY_H_

#include <tvm/ffi/any.h>
#include <tvm/ffi/c_api.h>
#include <tvm/ffi/cast.h>
#include <tvm/ffi/extra/base.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/memory.h>
#include <tvm/ffi/object.h>
#include <tvm/ffi/reflection/accessor.h>
#include <tvm/ffi/reflection/registry_detail.h>
#include <tvm/ffi/string.h>
#include <tvm/ffi/type_traits.h>

#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace tvm {
namespace ffi {
namespace reflection {

/// Base of every extra argument of `def*`. Derived classes provide Apply on the builders they fit.
struct InfoTrait {};

/// Extra JSON members next to the type schema: `Metadata{{"unit", "m"}, {"level", 2}}`.
class Metadata : public InfoTrait {
 public:
  Metadata(std::initializer_list<std::pair<String, Any>> entries)
      : entries_(entries.begin(), entries.end()) {}

  void Apply(internal::FieldBuilder* builder) const { Append(&builder->metadata); }
  void Apply(internal::MethodBuilder* builder) const { Append(&builder->metadata); }

 private:
  void Append(internal::MetadataText* text) const {
    for (const auto& [key, value] : entries_) text->Add(key, value);
  }

  std::vector<std::pair<String, Any>> entries_;
};

/// Value a constructor uses when the field is not given.
class default_value : public InfoTrait {  // NOLINT(readability-identifier-naming): public name
 public:
  explicit default_value(Any value) : value_(std::move(value)) {}
  void Apply(internal::FieldBuilder* builder) const { builder->SetDefault(value_, false); }

 private:
  Any value_;
};

/// Function without arguments that makes a fresh default per object.
class default_factory : public InfoTrait {  // NOLINT(readability-identifier-naming)
 public:
  explicit default_factory(Function factory) : factory_(std::move(factory)) {}
  template <typename F, typename = std::enable_if_t<std::is_invocable_v<F> &&
                                                    !std::is_convertible_v<F, Function>>>
  explicit default_factory(F factory) : factory_(Function::FromTyped(std::move(factory))) {}
  void Apply(internal::FieldBuilder* builder) const { builder->SetDefault(Any(factory_), true); }

 private:
  Function factory_;
};

/// Sets field flags, e.g. `AttachFieldFlag::SEqHashIgnore()`.
class AttachFieldFlag : public InfoTrait {
 public:
  explicit constexpr AttachFieldFlag(int64_t flag) : set_(flag), clear_(0) {}
  constexpr AttachFieldFlag(int64_t set, int64_t clear) : set_(set), clear_(clear) {}

  /// Structural equality and hash skip the field.
  static constexpr AttachFieldFlag SEqHashIgnore() {
    return AttachFieldFlag(kTVMFFIFieldFlagBitMaskSEqHashIgnore);
  }
  /// Every variable below the field is defined there.
  static constexpr AttachFieldFlag SEqHashDefPattern() {
    return AttachFieldFlag(kTVMFFIFieldFlagBitMaskSEqHashDefPattern);
  }
  /// Only the variable held directly is defined; its own fields are uses.
  static constexpr AttachFieldFlag SEqHashDefSimple() {
    return AttachFieldFlag(kTVMFFIFieldFlagBitMaskSEqHashDefSimple);
  }
  static constexpr AttachFieldFlag SEqHashDefRecursive() { return SEqHashDefPattern(); }
  static constexpr AttachFieldFlag SEqHashDefNonRecursive() { return SEqHashDefSimple(); }
  static constexpr AttachFieldFlag SEqHashDef() { return SEqHashDefPattern(); }

  void Apply(internal::FieldBuilder* builder) const {
    builder->info.flags = (builder->info.flags & ~clear_) | set_;
  }

 private:
  int64_t set_;
  int64_t clear_;
};

/// Constructor signature for `def(init<A...>())`; `init(bool)` includes or excludes a field from
/// the automatic constructor, or, given to ObjectDef, allows or suppresses that constructor.
template <typename... Args>
struct init : public InfoTrait {  // NOLINT(readability-identifier-naming)
  constexpr init() = default;
  explicit constexpr init(bool enabled) : enabled(enabled) {}

  void Apply(internal::FieldBuilder* builder) const {
    builder->SetFlag(kTVMFFIFieldFlagBitMaskInitOff, !enabled);
  }
  void Apply(internal::TypeBuilder* builder) const { builder->auto_init = enabled; }

  bool enabled = true;
};
init(bool) -> init<>;

/// Shows or hides the field in ReprPrint.
struct repr : public InfoTrait {  // NOLINT(readability-identifier-naming)
  explicit constexpr repr(bool enabled) : enabled(enabled) {}
  void Apply(internal::FieldBuilder* builder) const {
    builder->SetFlag(kTVMFFIFieldFlagBitMaskReprOff, !enabled);
  }
  bool enabled;
};

/// Includes the field in RecursiveEq and ordering, or leaves it out.
struct compare : public InfoTrait {  // NOLINT(readability-identifier-naming)
  explicit constexpr compare(bool enabled) : enabled(enabled) {}
  void Apply(internal::FieldBuilder* builder) const {
    builder->SetFlag(kTVMFFIFieldFlagBitMaskCompareOff, !enabled);
  }
  bool enabled;
};

/// Includes the field in RecursiveHash, or leaves it out.
struct hash : public InfoTrait {  // NOLINT(readability-identifier-naming)
  explicit constexpr hash(bool enabled) : enabled(enabled) {}
  void Apply(internal::FieldBuilder* builder) const {
    builder->SetFlag(kTVMFFIFieldFlagBitMaskHashOff, !enabled);
  }
  bool enabled;
};

/// The automatic constructor takes the field by name only.
struct kw_only : public InfoTrait {  // NOLINT(readability-identifier-naming)
  explicit constexpr kw_only(bool enabled) : enabled(enabled) {}
  void Apply(internal::FieldBuilder* builder) const {
    builder->SetFlag(kTVMFFIFieldFlagBitMaskKwOnly, enabled);
  }
  bool enabled;
};

using Default = default_value;
using DefaultValue = default_value;
using DefaultFactory = default_factory;

/// Picks one overload of a function: `overload_cast<int, float>(&T::f)`.
template <typename... Args>
struct OverloadCast {
  template <typename R>
  constexpr auto operator()(R (*fn)(Args...)) const noexcept {
    return fn;
  }
  template <typename R, typename C>
  constexpr auto operator()(R (C::*fn)(Args...), std::false_type = {}) const noexcept {
    return fn;
  }
  template <typename R, typename C>
  constexpr auto operator()(R (C::*fn)(Args...) const, std::true_type) const noexcept {
    return fn;
  }
};
template <typename... Args>
inline constexpr OverloadCast<Args...> overload_cast{};
/// Second argument of overload_cast that selects the const overload.
inline constexpr std::true_type const_{};

namespace internal {

/// Applies one extra argument: a doc string or an InfoTrait.
template <typename Builder, typename Extra>
void ApplyExtra(Builder* builder, const Extra& extra) {
  if constexpr (std::is_base_of_v<InfoTrait, Extra>) {
    extra.Apply(builder);
  } else {
    static_assert(std::is_convertible_v<const Extra&, std::string_view>,
                  "extra arguments are a doc string or an InfoTrait");
    builder->SetDoc(std::string_view(extra));
  }
}

}  // namespace internal

/// Registers global functions. Registering a name twice is a RuntimeError.
class GlobalDef {
 public:
  /// Registers a typed function; argument conversion and the schema come from its signature.
  template <typename F, typename... Extra>
  GlobalDef& def(const char* name, F&& function, Extra&&... extra) {
    using Callable = std::decay_t<F>;
    return Register(name, internal::MakeFunction(std::forward<F>(function), std::string(name)),
                    internal::SignatureSchema<Callable>(), extra...);
  }

  /// Registers `void(PackedArgs, Any*)`, or an existing Function.
  template <typename F, typename... Extra>
  GlobalDef& def_packed(const char* name, F function, Extra&&... extra) {
    return Register(name, Function::FromPacked(std::move(function)),
                    internal::UntypedFunctionSchema(), extra...);
  }
  template <typename... Extra>
  GlobalDef& def_packed(const char* name, Function function, Extra&&... extra) {
    return Register(name, std::move(function), internal::UntypedFunctionSchema(), extra...);
  }

  /// Registers a member function; the object becomes the first argument.
  template <typename F, typename... Extra>
  GlobalDef& def_method(const char* name, F method, Extra&&... extra) {
    return def(name, internal::MethodAsFunction(method), std::forward<Extra>(extra)...);
  }

 private:
  template <typename... Extra>
  GlobalDef& Register(const char* name, Function function, std::string schema,
                      const Extra&... extra) {
    internal::MethodBuilder builder(name, std::move(schema));
    (internal::ApplyExtra(&builder, extra), ...);
    builder.RegisterGlobal(std::move(function));
    return *this;
  }
};

/// Creates an attribute column so that lookups succeed before any type has a value.
template <typename Key>
inline void EnsureTypeAttrColumn(const Key& key) {
  TVMFFIByteArray name = internal::ToByteArray(internal::AttrName(key));
  Any none;
  TVM_FFI_CHECK_SAFE_CALL(
      TVMFFITypeRegisterAttr(0, &name, reinterpret_cast<const TVMFFIAny*>(&none)));
}

namespace internal {

template <typename Key>
void RegisterTypeAttr(int32_t type_index, const Key& key, const Any& value) {
  TVMFFIByteArray name = ToByteArray(AttrName(key));
  TVM_FFI_CHECK_SAFE_CALL(
      TVMFFITypeRegisterAttr(type_index, &name, reinterpret_cast<const TVMFFIAny*>(&value)));
}

/// Value of attribute `key` as it is stored.
template <typename Value>
Any AttrValue(Value&& value) {
  return Any(std::forward<Value>(value));
}

/// Value type of an AttrKey is a NativeFunctionView: store the address of the native adapter.
template <auto Fn, typename Signature>
Any NativeAttrValue(const AttrKey<NativeFunctionView<Signature>>&) {
  auto view = NativeFunctionView<Signature>::template FromNative<Fn>();
  return AdoptAny(view.raw());
}

}  // namespace internal

/// Sets attributes of a type without describing its fields.
template <typename T>
class TypeAttrDef {
 public:
  TypeAttrDef() : type_index_(internal::TypeIndexOf<T>()) {}

  /// Stores a plain value.
  template <typename Key, typename Value>
  TypeAttrDef& attr(const Key& key, Value&& value) {
    internal::RegisterTypeAttr(type_index_, key, Any(std::forward<Value>(value)));
    return *this;
  }

  /// Stores a callable as an ffi.Function.
  template <typename Key, typename F>
  TypeAttrDef& def(const Key& key, F&& function) {
    using Callable = std::decay_t<F>;
    if constexpr (std::is_member_function_pointer_v<Callable>) {
      return def(key, internal::MethodAsFunction(function));
    } else {
      std::string name =
          internal::TypeKeyText(type_index_) + "." + std::string(internal::AttrName(key));
      return attr(key, internal::MakeFunction(std::forward<F>(function), std::move(name)));
    }
  }

  /// Stores the address of a native adapter around `Fn`.
  template <auto Fn, typename Key>
  TypeAttrDef& native_fn_attr(const Key& key) {
    internal::RegisterTypeAttr(type_index_, key, internal::NativeAttrValue<Fn>(key));
    return *this;
  }

 private:
  int32_t type_index_;
};

/// Describes an object type: fields, methods, constructor, attributes.
///
/// The destructor completes the registration: it stores whether the type is final, how to create
/// and copy it, and, unless a constructor was given or suppressed, the automatic `__ffi_init__`.
template <typename T>
class ObjectDef {
  static_assert(std::is_base_of_v<Object, T>, "ObjectDef describes subclasses of ffi::Object");

 public:
  template <typename... Extra>
  explicit ObjectDef(Extra&&... extra)
      : type_index_(T::_GetOrAllocRuntimeTypeIndex()), type_key_(T::_type_key) {
    internal::TypeBuilder builder;
    (internal::ApplyExtra(&builder, extra), ...);
    auto_init_ = builder.auto_init;
    TVMFFITypeMetadata metadata{};
    metadata.doc = internal::ToByteArray(builder.doc);
    // The root type only describes the header; nothing but subclasses is ever created.
    if constexpr (!std::is_same_v<T, Object>) metadata.creator = internal::CreatorOf<T>();
    metadata.total_size = static_cast<int32_t>(sizeof(T));
    metadata.structural_eq_hash_kind = T::_type_s_eq_hash_kind;
    TVM_FFI_CHECK_SAFE_CALL(TVMFFITypeRegisterMetadata(type_index_, &metadata));
  }

  ObjectDef(const ObjectDef&) = delete;
  ObjectDef& operator=(const ObjectDef&) = delete;

  ~ObjectDef() noexcept(false) {
    if constexpr (std::is_same_v<T, Object>) return;
    internal::RegisterTypeAttr(type_index_, type_attr::kTypeFinal, Any(bool(T::_type_final)));
    if constexpr (internal::kIsCreatable<T>) {
      internal::RegisterTypeAttr(type_index_, type_attr::kNew,
                                 Any(Function::FromTyped(&internal::NewObject<T>, Name("new"))));
    }
    if constexpr (internal::kIsCopyable<T>) {
      internal::RegisterTypeAttr(
          type_index_, type_attr::kShallowCopy,
          Any(Function::FromTyped(&internal::ShallowCopyObject<T>, Name("shallow_copy"))));
    }
    if constexpr (internal::kIsCreatable<T>) {
      if (auto_init_ && !has_init_) internal::RegisterAutoInit(type_index_);
    }
  }

  /// Field that bindings may read.
  template <typename Class, typename Field, typename... Extra>
  ObjectDef& def_ro(const char* name, Field Class::* member, Extra&&... extra) {
    return DefField(name, member, false, extra...);
  }

  /// Field that bindings may also assign; the type must be declared mutable.
  template <typename Class, typename Field, typename... Extra>
  ObjectDef& def_rw(const char* name, Field Class::* member, Extra&&... extra) {
    static_assert(Class::_type_mutable || T::_type_mutable,
                  "def_rw needs `static constexpr bool _type_mutable = true`");
    return DefField(name, member, true, extra...);
  }

  /// Method: a member function of the object or its reference, or a callable whose first argument
  /// is the object.
  template <typename F, typename... Extra,
            typename = std::enable_if_t<!std::is_base_of_v<InfoTrait, std::decay_t<F>>>>
  ObjectDef& def(const char* name, F&& function, Extra&&... extra) {
    if constexpr (std::is_member_function_pointer_v<std::decay_t<F>>) {
      return DefMethod(name, internal::MethodAsFunction(function), false, extra...);
    } else {
      return DefMethod(name, std::forward<F>(function), false, extra...);
    }
  }

  /// Function in the scope of the type, without object argument.
  template <typename F, typename... Extra>
  ObjectDef& def_static(const char* name, F&& function, Extra&&... extra) {
    return DefMethod(name, std::forward<F>(function), true, extra...);
  }

  /// Constructor `T(Args...)`, callable as `__ffi_init__`.
  template <typename... Args, typename... Extra>
  ObjectDef& def(init<Args...>, Extra&&... extra) {
    has_init_ = true;
    Function constructor =
        Function::FromTyped(&internal::ConstructObject<T, Args...>, Name("__ffi_init__"));
    internal::MethodBuilder builder("__ffi_init__",
                                    internal::SignatureSchema<ObjectRef(Args...)>());
    builder.info.flags |= kTVMFFIFieldFlagBitMaskIsStaticMethod;
    (internal::ApplyExtra(&builder, extra), ...);
    internal::RegisterTypeAttr(type_index_, type_attr::kInit, Any(constructor));
    builder.RegisterMethod(type_index_, std::move(constructor));
    return *this;
  }

  /// Says that `__ffi_init__` was registered by other means.
  void MarkConstructor() { has_init_ = true; }

  /// Attribute of this type: a callable is stored as a Function, anything else as it is.
  template <typename Key, typename Value>
  ObjectDef& def_type_attr(const Key& key, Value&& value) {
    using V = std::decay_t<Value>;
    if constexpr (internal::kIsAttrCallable<V>) {
      TypeAttrDef<T>().def(key, std::forward<Value>(value));
    } else {
      internal::RegisterTypeAttr(type_index_, key, Any(std::forward<Value>(value)));
    }
    return *this;
  }

  /// Lets bindings convert any value that `Ref` can be converted from.
  template <typename Ref>
  ObjectDef& def_convert() {
    return def_convert([](AnyView value) -> Any { return internal::ConvertTo<Ref>(value); });
  }

  /// Conversion rule: value -> object of this type.
  template <typename F>
  ObjectDef& def_convert(F&& function) {
    TypeAttrDef<T>().def(type_attr::kConvert, std::forward<F>(function));
    return *this;
  }

  /// Conversion rule whose accepted types are those of `Accepts`.
  template <typename Accepts, typename F>
  ObjectDef& def_convert(F&& function) {
    internal::RegisterTypeAttr(type_index_, type_attr::kConvertTypeSchema,
                               Any(String(internal::SchemaOf<Accepts>())));
    return def_convert(std::forward<F>(function));
  }

 private:
  std::string Name(const char* member) const { return std::string(type_key_) + "." + member; }

  template <typename Class, typename Field, typename... Extra>
  ObjectDef& DefField(const char* name, Field Class::* member, bool writable,
                      const Extra&... extra) {
    static_assert(std::is_base_of_v<Class, T>, "the member must belong to the type or a base");
    internal::FieldBuilder builder(name, internal::SchemaOf<Field>());
    builder.template Describe<Field>(internal::MemberOffset<T>(member));
    if (writable) builder.info.flags |= kTVMFFIFieldFlagBitMaskWritable;
    (internal::ApplyExtra(&builder, extra), ...);
    builder.Register(type_index_);
    return *this;
  }

  template <typename F, typename... Extra>
  ObjectDef& DefMethod(const char* name, F&& function, bool is_static, const Extra&... extra) {
    using Callable = std::decay_t<F>;
    internal::MethodBuilder builder(name, internal::SignatureSchema<Callable>());
    if (is_static) builder.info.flags |= kTVMFFIFieldFlagBitMaskIsStaticMethod;
    (internal::ApplyExtra(&builder, extra), ...);
    builder.RegisterMethod(type_index_,
                           internal::MakeFunction(std::forward<F>(function), Name(name)));
    return *this;
  }

  int32_t type_index_;
  const char* type_key_;
  bool auto_init_ = true;
  bool has_init_ = false;
};

}  // namespace reflection
}  // namespace ffi
}  // namespace tvm
#endif  // TVM_FFI_REFLECTION_REGISTRY_H_
