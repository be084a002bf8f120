// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors

/// `AnyView`, a borrowed 16-byte value of any ffi type, and `Any`, its owning form.
#ifndef TVM_FFI_ANY_H_
#define TVM_FFI_ANY_H_

#include <tvm/ffi/c_api.h>
#include <tvm/ffi/error.h>
#include <tvm/ffi/object.h>
#include <tvm/ffi/type_traits.h>

#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace tvm {
namespace ffi {

class Any;
class AnyView;

namespace detail {
struct AnyUnsafe;

template <typename T>
using RemoveCvRef = std::remove_cv_t<std::remove_reference_t<T>>;

/// Whether T may be stored in containers, fields and Any.
template <typename T>
inline constexpr bool storage_enabled_v = std::is_same_v<T, Any> || TypeTraits<T>::storage_enabled;

template <typename T, typename = void>
inline constexpr bool has_strict_check_v = false;
template <typename T>
inline constexpr bool
    has_strict_check_v<T, std::void_t<decltype(TypeTraits<T>::CheckAnyStrict(nullptr))>> = true;

/// Name of a type in messages and signatures; references and const do not show.
template <typename Type>
struct Type2Str {
  static std::string v() {
    using T = RemoveCvRef<Type>;
    if constexpr (std::is_void_v<T>) {
      return "void";
    } else if constexpr (std::is_same_v<T, Any>) {
      return StaticTypeKey::kTVMFFIAny;
    } else if constexpr (std::is_same_v<T, AnyView>) {
      return "AnyView";
    } else {
      return TypeTraitsNoCR<Type>::TypeStr();
    }
  }
};

/// JSON schema of a type, see TypeTraits.
template <typename Type>
struct TypeSchemaImpl {
  static std::string v() {
    using T = RemoveCvRef<Type>;
    if constexpr (std::is_void_v<T>) {
      return SimpleTypeSchema(StaticTypeKey::kTVMFFINone);
    } else if constexpr (std::is_same_v<T, Any> || std::is_same_v<T, AnyView>) {
      return SimpleTypeSchema(StaticTypeKey::kTVMFFIAny);
    } else {
      return TypeTraits<T>::TypeSchema();
    }
  }
};
template <typename T>
using TypeSchema = TypeSchemaImpl<T>;

/// `Name<A, B>`.
template <typename... Args>
std::string CompoundTypeStr(const char* name) {
  std::string text = name;
  [[maybe_unused]] const char* separator = "<";
  ((text.append(separator).append(Type2Str<Args>::v()), separator = ", "), ...);
  if constexpr (sizeof...(Args) == 0) text.push_back('<');
  return text + ">";
}

/// `{"type":"<key>","args":[..]}`.
template <typename... Args>
std::string CompoundTypeSchema(const char* key) {
  std::string text = std::string("{\"type\":\"") + key + "\",\"args\":[";
  [[maybe_unused]] const char* separator = "";
  ((text.append(separator).append(TypeSchemaImpl<Args>::v()), separator = ","), ...);
  return text + "]}";
}

[[noreturn]] TVM_FFI_COLD_CODE TVM_FFI_NO_INLINE inline void ThrowCannotConvert(
    const std::string& from, const std::string& to) {
  TVM_FFI_THROW(TypeError) << "Cannot convert from type `" << from << "` to `" << to << "`";
  TVM_FFI_UNREACHABLE();
}
[[noreturn]] TVM_FFI_COLD_CODE TVM_FFI_NO_INLINE inline void ThrowCannotTreat(
    const std::string& from, const std::string& to) {
  TVM_FFI_THROW(TypeError) << "Cannot treat type `" << from << "` as type `" << to << "`";
  TVM_FFI_UNREACHABLE();
}

/// Strict read: exact type or nothing.
template <typename T>
TVM_FFI_INLINE std::optional<T> StrictAs(const TVMFFIAny* data) {
  if constexpr (has_strict_check_v<T>) {
    if (TypeTraits<T>::CheckAnyStrict(data)) return TypeTraits<T>::CopyFromAnyViewAfterCheck(data);
    return std::nullopt;
  } else {
    return TypeTraits<T>::TryCastFromAnyView(data);
  }
}
template <typename T>
TVM_FFI_INLINE T StrictAsOrThrow(const TVMFFIAny* data) {
  if (std::optional<T> value = StrictAs<T>(data)) return *std::move(value);
  ThrowCannotTreat(TypeTraits<T>::GetMismatchTypeInfo(data), Type2Str<T>::v());
}
template <typename T>
TVM_FFI_INLINE T CastOrThrow(const TVMFFIAny* data) {
  if (std::optional<T> value = TypeTraits<T>::TryCastFromAnyView(data)) return *std::move(value);
  ThrowCannotConvert(TypeTraits<T>::GetMismatchTypeInfo(data), Type2Str<T>::v());
}

/// The node pointer if the cell holds a T node.
template <typename T>
TVM_FFI_INLINE const T* AsObjectPtr(const TVMFFIAny* data) {
  if (IsObjectIndex(data->type_index) && IsObjectInstance<T>(data->type_index)) {
    return ObjectUnsafe::RawObjectPtrFromUnowned<T>(data->v_obj);
  }
  return nullptr;
}

TVM_FFI_INLINE void SetNone(TVMFFIAny* data) {
  data->type_index = TypeIndex::kTVMFFINone;
  data->zero_padding = 0;
  data->v_int64 = 0;
}
TVM_FFI_INLINE bool SameBits(const TVMFFIAny& lhs, const TVMFFIAny& rhs) {
  return lhs.type_index == rhs.type_index && lhs.zero_padding == rhs.zero_padding &&
         lhs.v_int64 == rhs.v_int64;
}

/// Turns a view in place into an owned value.
TVM_FFI_INLINE void InplaceConvertAnyViewToAny(TVMFFIAny* data) {
  if (IsObjectIndex(data->type_index)) {
    ObjectUnsafe::IncRefObjectHandle(data->v_obj);
  } else if (TVM_FFI_PREDICT_FALSE(data->type_index >= TypeIndex::kTVMFFIRawStr &&
                                   data->type_index <= TypeIndex::kTVMFFIObjectRValueRef)) {
    const TVMFFIAny view = *data;
    SetNone(data);
    TVM_FFI_CHECK_SAFE_CALL(TVMFFIAnyViewToOwnedAny(&view, data));
  }
}

}  // namespace detail

/// Borrowed value: valid only as long as what it was made from.
class AnyView {
 protected:
  TVMFFIAny data_;

 public:
  AnyView() { detail::SetNone(&data_); }
  // Trivially copyable: native hooks take it by value, in registers, as other languages do.
  ~AnyView() = default;
  AnyView(const AnyView&) = default;
  AnyView& operator=(const AnyView&) = default;
  template <typename T, typename = std::enable_if_t<TypeTraits<T>::convert_enabled>>
  AnyView(const T& other) {  // NOLINT(google-explicit-constructor)
    TypeTraits<T>::CopyToAnyView(other, &data_);
  }
  template <typename T, typename = std::enable_if_t<TypeTraits<T>::convert_enabled>>
  AnyView& operator=(const T& other) {
    TypeTraits<T>::CopyToAnyView(other, &data_);
    return *this;
  }

  void reset() { detail::SetNone(&data_); }
  void swap(AnyView& other) noexcept { std::swap(data_, other.data_); }
  TVM_FFI_INLINE int32_t type_index() const noexcept { return data_.type_index; }
  /// Same bits: the same plain value or the same object.
  bool same_as(const AnyView& other) const noexcept { return detail::SameBits(data_, other.data_); }

  /// The value if its type is exactly T.
  template <typename T, typename = std::enable_if_t<TypeTraits<T>::convert_enabled>>
  TVM_FFI_INLINE std::optional<T> as() const {
    return detail::StrictAs<T>(&data_);
  }
  /// The node if the value is a T node, else nullptr.
  template <typename T, typename = std::enable_if_t<std::is_base_of_v<Object, T>>, int = 0>
  TVM_FFI_INLINE const T* as() const {
    return detail::AsObjectPtr<T>(&data_);
  }
  template <typename T, typename = std::enable_if_t<TypeTraits<T>::convert_enabled>>
  TVM_FFI_INLINE T as_or_throw() const {
    return detail::StrictAsOrThrow<T>(&data_);
  }
  /// Converts to T or throws TypeError.
  template <typename T,
            typename = std::enable_if_t<TypeTraits<T>::convert_enabled || std::is_same_v<T, Any>>>
  TVM_FFI_INLINE T cast() const;
  template <typename T,
            typename = std::enable_if_t<TypeTraits<T>::convert_enabled || std::is_same_v<T, Any>>>
  TVM_FFI_INLINE std::optional<T> try_cast() const;

  bool operator==(std::nullptr_t) const noexcept {
    return data_.type_index == TypeIndex::kTVMFFINone;
  }
  bool operator!=(std::nullptr_t) const noexcept { return !operator==(nullptr); }

  std::string GetTypeKey() const { return TypeIndexToTypeKey(data_.type_index); }

  /// Raw access for code that implements the C boundary.
  TVMFFIAny CopyToTVMFFIAny() const { return data_; }
  static AnyView CopyFromTVMFFIAny(TVMFFIAny data) {
    AnyView view;
    view.data_ = data;
    return view;
  }

  friend struct detail::AnyUnsafe;
  friend class Any;
};

static_assert(sizeof(AnyView) == sizeof(TVMFFIAny), "argument arrays are ABI");

/// Owned value.
class Any {
 protected:
  TVMFFIAny data_;

 public:
  Any() { detail::SetNone(&data_); }
  TVM_FFI_INLINE ~Any() {
    if (detail::IsObjectIndex(data_.type_index)) {
      detail::ObjectUnsafe::DecRefObjectHandle(data_.v_obj);
    }
  }
  TVM_FFI_INLINE Any(const Any& other) : data_(other.data_) {
    if (detail::IsObjectIndex(data_.type_index)) {
      detail::ObjectUnsafe::IncRefObjectHandle(data_.v_obj);
    }
  }
  TVM_FFI_INLINE Any(Any&& other) noexcept : data_(other.data_) { detail::SetNone(&other.data_); }
  Any& operator=(const Any& other) {
    Any(other).swap(*this);
    return *this;
  }
  Any& operator=(Any&& other) noexcept {
    Any(std::move(other)).swap(*this);
    return *this;
  }
  Any(const AnyView& other) : data_(other.data_) {  // NOLINT(google-explicit-constructor)
    detail::InplaceConvertAnyViewToAny(&data_);
  }
  Any& operator=(const AnyView& other) {
    Any(other).swap(*this);
    return *this;
  }
  operator AnyView() const {  // NOLINT(google-explicit-constructor)
    return AnyView::CopyFromTVMFFIAny(data_);
  }
  template <typename T, typename = std::enable_if_t<TypeTraits<T>::convert_enabled>>
  Any(T other) {  // NOLINT(google-explicit-constructor)
    TypeTraits<T>::MoveToAny(std::move(other), &data_);
  }
  template <typename T, typename = std::enable_if_t<TypeTraits<T>::convert_enabled>>
  Any& operator=(T other) {
    Any(std::move(other)).swap(*this);
    return *this;
  }

  void reset() { Any().swap(*this); }
  void swap(Any& other) noexcept { std::swap(data_, other.data_); }
  TVM_FFI_INLINE int32_t type_index() const noexcept { return data_.type_index; }

  /// The value if its type is exactly T.
  template <typename T, typename = std::enable_if_t<detail::storage_enabled_v<T> ||
                                                    TypeTraits<T>::convert_enabled>>
  TVM_FFI_INLINE std::optional<T> as() const& {
    if constexpr (std::is_same_v<T, Any>) {
      return *this;
    } else {
      return detail::StrictAs<T>(&data_);
    }
  }
  template <typename T, typename = std::enable_if_t<detail::storage_enabled_v<T> ||
                                                    TypeTraits<T>::convert_enabled>>
  TVM_FFI_INLINE std::optional<T> as() && {
    if constexpr (std::is_same_v<T, Any>) {
      return std::move(*this);
    } else if constexpr (detail::has_strict_check_v<T> && TypeTraits<T>::storage_enabled) {
      if (!TypeTraits<T>::CheckAnyStrict(&data_)) return std::nullopt;
      return MoveAfterCheck<T>();
    } else {
      return detail::StrictAs<T>(&data_);
    }
  }
  /// The node if the value is a T node, else nullptr.
  template <typename T, typename = std::enable_if_t<std::is_base_of_v<Object, T>>, int = 0>
  TVM_FFI_INLINE const T* as() const& {
    return detail::AsObjectPtr<T>(&data_);
  }
  template <typename T, typename = std::enable_if_t<detail::storage_enabled_v<T>>>
  TVM_FFI_INLINE T as_or_throw() const& {
    if constexpr (std::is_same_v<T, Any>) {
      return *this;
    } else {
      return detail::StrictAsOrThrow<T>(&data_);
    }
  }
  template <typename T, typename = std::enable_if_t<detail::storage_enabled_v<T>>>
  TVM_FFI_INLINE T as_or_throw() && {
    if constexpr (std::is_same_v<T, Any>) {
      return std::move(*this);
    } else {
      if (TypeTraits<T>::CheckAnyStrict(&data_)) return MoveAfterCheck<T>();
      detail::ThrowCannotTreat(TypeTraits<T>::GetMismatchTypeInfo(&data_),
                               detail::Type2Str<T>::v());
    }
  }

  /// Converts to T or throws TypeError.
  template <typename T,
            typename = std::enable_if_t<TypeTraits<T>::convert_enabled || std::is_same_v<T, Any>>>
  TVM_FFI_INLINE T cast() const& {
    if constexpr (std::is_same_v<T, Any>) {
      return *this;
    } else {
      return detail::CastOrThrow<T>(&data_);
    }
  }
  template <typename T,
            typename = std::enable_if_t<TypeTraits<T>::convert_enabled || std::is_same_v<T, Any>>>
  TVM_FFI_INLINE T cast() && {
    if constexpr (std::is_same_v<T, Any>) {
      return std::move(*this);
    } else {
      if constexpr (detail::has_strict_check_v<T> && TypeTraits<T>::storage_enabled) {
        if (TypeTraits<T>::CheckAnyStrict(&data_)) return MoveAfterCheck<T>();
      }
      return detail::CastOrThrow<T>(&data_);
    }
  }
  template <typename T,
            typename = std::enable_if_t<TypeTraits<T>::convert_enabled || std::is_same_v<T, Any>>>
  TVM_FFI_INLINE std::optional<T> try_cast() const {
    if constexpr (std::is_same_v<T, Any>) {
      return *this;
    } else {
      return TypeTraits<T>::TryCastFromAnyView(&data_);
    }
  }

  /// Same bits: the same plain value or the same object.
  bool same_as(const Any& other) const noexcept { return detail::SameBits(data_, other.data_); }
  bool same_as(const ObjectRef& other) const noexcept {
    if (detail::IsObjectIndex(data_.type_index)) {
      return data_.v_obj == detail::ObjectUnsafe::TVMFFIObjectPtrFromObjectRef(other);
    }
    return data_.type_index == TypeIndex::kTVMFFINone && !other.defined();
  }
  bool operator==(std::nullptr_t) const noexcept {
    return data_.type_index == TypeIndex::kTVMFFINone;
  }
  bool operator!=(std::nullptr_t) const noexcept { return !operator==(nullptr); }

  std::string GetTypeKey() const { return TypeIndexToTypeKey(data_.type_index); }

 private:
  template <typename T>
  TVM_FFI_INLINE T MoveAfterCheck() {
    if constexpr (std::is_pointer_v<T>) {
      return TypeTraits<T>::CopyFromAnyViewAfterCheck(&data_);
    } else {
      return TypeTraits<T>::MoveFromAnyAfterCheck(&data_);
    }
  }

  friend struct detail::AnyUnsafe;
  friend struct AnyHash;
  friend struct AnyEqual;
};

static_assert(sizeof(Any) == sizeof(TVMFFIAny), "containers of Any are ABI");

template <typename T, typename>
TVM_FFI_INLINE T AnyView::cast() const {
  if constexpr (std::is_same_v<T, Any>) {
    return Any(*this);
  } else {
    return detail::CastOrThrow<T>(&data_);
  }
}

template <typename T, typename>
TVM_FFI_INLINE std::optional<T> AnyView::try_cast() const {
  if constexpr (std::is_same_v<T, Any>) {
    return Any(*this);
  } else {
    return TypeTraits<T>::TryCastFromAnyView(&data_);
  }
}

template <typename SourceType>
inline constexpr bool
    type_subsumes_v<Any, SourceType, std::enable_if_t<detail::storage_enabled_v<SourceType>>> =
        true;

namespace detail {

/// Raw access for the ffi layer itself and for language bindings.
struct AnyUnsafe : public ObjectUnsafe {
  TVM_FFI_INLINE static TVMFFIAny MoveAnyToTVMFFIAny(Any&& any) {
    TVMFFIAny raw = any.data_;
    SetNone(&any.data_);
    return raw;
  }
  TVM_FFI_INLINE static Any MoveTVMFFIAnyToAny(TVMFFIAny* data) {
    Any any;
    any.data_ = *data;
    SetNone(data);
    return any;
  }
  TVM_FFI_INLINE static Any MoveTVMFFIAnyRawToAny(TVMFFIAny raw) {
    return MoveTVMFFIAnyToAny(&raw);
  }
  template <typename T>
  TVM_FFI_INLINE static bool CheckAnyStrict(const Any& ref) {
    if constexpr (std::is_same_v<T, Any>) {
      return true;
    } else {
      return TypeTraits<T>::CheckAnyStrict(&ref.data_);
    }
  }
  template <typename T>
  TVM_FFI_INLINE static bool CheckAnyViewStrict(const AnyView& ref) {
    return TypeTraits<T>::CheckAnyStrict(&ref.data_);
  }
  template <typename T>
  TVM_FFI_INLINE static T CopyFromAnyViewAfterCheck(const Any& ref) {
    if constexpr (std::is_same_v<T, Any>) {
      return ref;
    } else {
      return TypeTraits<T>::CopyFromAnyViewAfterCheck(&ref.data_);
    }
  }
  template <typename T>
  TVM_FFI_INLINE static T MoveFromAnyAfterCheck(Any&& ref) {
    if constexpr (std::is_same_v<T, Any>) {
      return std::move(ref);
    } else {
      return TypeTraits<T>::MoveFromAnyAfterCheck(&ref.data_);
    }
  }
  template <typename TObject>
  TVM_FFI_INLINE static TObject* RawObjectPtrFromAnyAfterCheck(const Any& ref) {
    return RawObjectPtrFromUnowned<TObject>(ref.data_.v_obj);
  }
  template <typename TObject>
  TVM_FFI_INLINE static TObject* RawObjectPtrFromAnyViewAfterCheck(const AnyView& ref) {
    return RawObjectPtrFromUnowned<TObject>(ref.data_.v_obj);
  }
  TVM_FFI_INLINE static const TVMFFIAny* TVMFFIAnyPtrFromAny(const Any& ref) { return &ref.data_; }
  template <typename T>
  static std::string GetMismatchTypeInfo(const Any& ref) {
    if constexpr (std::is_same_v<T, Any>) {
      return ref.GetTypeKey();
    } else {
      return TypeTraits<T>::GetMismatchTypeInfo(&ref.data_);
    }
  }
};

inline bool IsStringIndex(int32_t type_index) {
  return type_index == TypeIndex::kTVMFFISmallStr || type_index == TypeIndex::kTVMFFIStr;
}
inline bool IsBytesIndex(int32_t type_index) {
  return type_index == TypeIndex::kTVMFFISmallBytes || type_index == TypeIndex::kTVMFFIBytes;
}
/// Content of a string or bytes cell in either form.
inline std::string_view BytesContent(const TVMFFIAny* data) {
  if (data->type_index < TypeIndex::kTVMFFIStaticObjectBegin) {
    return std::string_view(data->v_bytes, data->small_str_len);
  }
  const TVMFFIByteArray* cell = TVMFFIBytesGetByteArrayPtr(data->v_obj);
  return std::string_view(cell->data, cell->size);
}

/// Calls a `__any_hash__` or `__any_equal__` attribute: a Function, or a native pointer that
/// takes `const Any&` arguments and returns its result or an Error.
template <typename... Args>
TVM_FFI_NO_INLINE Any CallAnyHook(const TVMFFIAny& hook, const Args&... args) {
  Any result;
  if (hook.type_index == TypeIndex::kTVMFFIOpaquePtr) {
    using Native = TVMFFIAny (*)(const Args&...) noexcept;
    result = AnyUnsafe::MoveTVMFFIAnyRawToAny(reinterpret_cast<Native>(hook.v_ptr)(args...));
  } else if (hook.type_index == TypeIndex::kTVMFFIFunction) {
    TVMFFIAny packed[] = {AnyView(args).CopyToTVMFFIAny()...};
    TVMFFIAny raw;
    SetNone(&raw);
    TVM_FFI_CHECK_SAFE_CALL(
        TVMFFIFunctionCall(hook.v_obj, packed, static_cast<int32_t>(sizeof...(Args)), &raw));
    result = AnyUnsafe::MoveTVMFFIAnyRawToAny(raw);
  } else {
    TVM_FFI_THROW(TypeError) << "`__any_hash__` and `__any_equal__` must be a Function or a native "
                                "pointer, got `"
                             << TypeIndexToTypeKey(hook.type_index) << "`";
  }
  if (std::optional<Error> error = result.as<Error>()) throw *error;
  return result;
}

/// Entry of a type attribute column, or nullptr when absent.
TVM_FFI_INLINE const TVMFFIAny* FindTypeAttr(const TVMFFITypeAttrColumn* column,
                                             int32_t type_index) {
  if (column == nullptr) return nullptr;
  const int32_t offset = type_index - column->begin_index;
  if (offset < 0 || offset >= __atomic_load_n(&column->size, __ATOMIC_ACQUIRE)) return nullptr;
  const TVMFFIAny* entry = column->data + offset;
  return entry->type_index == TypeIndex::kTVMFFINone ? nullptr : entry;
}

// The core library creates these two columns before anyone can ask.
inline const TVMFFITypeAttrColumn* AnyHashColumn() {
  static const TVMFFIByteArray name{"__any_hash__", 12};
  static const TVMFFITypeAttrColumn* column = TVMFFIGetTypeAttrColumn(&name);
  return column;
}
inline const TVMFFITypeAttrColumn* AnyEqualColumn() {
  static const TVMFFIByteArray name{"__any_equal__", 13};
  static const TVMFFITypeAttrColumn* column = TVMFFIGetTypeAttrColumn(&name);
  return column;
}

}  // namespace detail

/// Key hash of Map and Dict; part of the ABI.
struct AnyHash {
  uint64_t operator()(const Any& src) const {
    const int32_t index = src.data_.type_index;
    if (index == TypeIndex::kTVMFFISmallStr) {
      return detail::StableHashCombine(TypeIndex::kTVMFFIStr,
                                       detail::StableHashSmallStrBytes(&src.data_));
    }
    if (detail::IsStringIndex(index) || detail::IsBytesIndex(index)) {
      const std::string_view content = detail::BytesContent(&src.data_);
      const int32_t family =
          detail::IsStringIndex(index) ? TypeIndex::kTVMFFIStr : TypeIndex::kTVMFFIBytes;
      return detail::StableHashCombine(static_cast<uint64_t>(family),
                                       detail::StableHashBytes(content.data(), content.size()));
    }
    if (detail::IsObjectIndex(index)) {
      if (const TVMFFIAny* hook = detail::FindTypeAttr(detail::AnyHashColumn(), index)) {
        const int64_t custom = detail::CallAnyHook(*hook, src).cast<int64_t>();
        return detail::StableHashCombine(static_cast<uint64_t>(index), custom);
      }
    }
    return detail::StableHashCombine(static_cast<uint64_t>(index), src.data_.v_uint64);
  }
};

/// Key equality of Map and Dict: same bits, same text, or the type's own rule.
struct AnyEqual {
  bool operator()(const Any& lhs, const Any& rhs) const {
    if (detail::SameBits(lhs.data_, rhs.data_)) return true;
    const int32_t index = lhs.data_.type_index;
    const int32_t other = rhs.data_.type_index;
    if ((detail::IsStringIndex(index) && detail::IsStringIndex(other)) ||
        (detail::IsBytesIndex(index) && detail::IsBytesIndex(other))) {
      return detail::BytesContent(&lhs.data_) == detail::BytesContent(&rhs.data_);
    }
    if (index != other || !detail::IsObjectIndex(index)) return false;
    if (const TVMFFIAny* hook = detail::FindTypeAttr(detail::AnyEqualColumn(), index)) {
      return detail::CallAnyHook(*hook, lhs, rhs).cast<bool>();
    }
    return false;
  }
};

template <typename ObjectRefType, typename>
ObjectRefType ObjectRef::as_or_throw() const& {
  return AnyView(*this).as_or_throw<ObjectRefType>();
}

template <typename ObjectRefType, typename>
ObjectRefType ObjectRef::as_or_throw() && {
  return Any(std::move(*this)).template as_or_throw<ObjectRefType>();
}

namespace detail {

/// 64-bit unsigned integers: the cell is signed, so large values cannot enter it.
template <typename UInt64>
struct UInt64Traits : public TypeTraitsIntBase<UInt64> {
  TVM_FFI_INLINE static void CopyToAnyView(const UInt64& src, TVMFFIAny* result) {
    if (TVM_FFI_PREDICT_FALSE(src > static_cast<UInt64>(INT64_MAX))) ThrowTooLarge(src);
    TypeTraitsIntBase<UInt64>::CopyInt64ToAnyView(static_cast<int64_t>(src), result);
  }
  TVM_FFI_INLINE static void MoveToAny(UInt64 src, TVMFFIAny* result) {
    CopyToAnyView(src, result);
  }

 private:
  [[noreturn]] TVM_FFI_COLD_CODE TVM_FFI_NO_INLINE static void ThrowTooLarge(UInt64 value) {
    TVM_FFI_THROW(OverflowError) << "Integer value " << value << " is too large to fit in int64_t.";
    TVM_FFI_UNREACHABLE();
  }
};

}  // namespace detail

template <>
struct TypeTraits<unsigned long> : public detail::UInt64Traits<unsigned long> {};  // NOLINT
template <>
struct TypeTraits<unsigned long long>                      // NOLINT
    : public detail::UInt64Traits<unsigned long long> {};  // NOLINT

}  // namespace ffi
}  // namespace tvm
#endif  // TVM_FFI_ANY_H_
