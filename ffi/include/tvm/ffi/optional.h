// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors

/// `Optional<T>` whose layout needs no flag: a nullable pointer for handles (8 bytes), an Any
/// with None for other storable types (16 bytes), std::optional for argument-only types.
#ifndef TVM_FFI_OPTIONAL_H_
#define TVM_FFI_OPTIONAL_H_

#include <tvm/ffi/any.h>
#include <tvm/ffi/error.h>
#include <tvm/ffi/object.h>

#include <optional>
#include <string>
#include <type_traits>
#include <utility>

namespace tvm {
namespace ffi {

template <typename T, typename = void>
class Optional;

template <typename T>
inline constexpr bool is_optional_type_v = false;
template <typename T>
inline constexpr bool is_optional_type_v<Optional<T>> = true;

template <typename T>
inline constexpr bool use_object_ref_optional_v = std::is_base_of_v<ObjectRef, T>;
template <typename T>
inline constexpr bool is_object_ptr_type_v = false;
template <typename T>
inline constexpr bool is_object_ptr_type_v<ObjectPtr<T>> = true;
template <typename T>
inline constexpr bool is_arc_type_v = false;
template <typename T>
inline constexpr bool is_arc_type_v<Arc<T>> = true;
/// Stored as one nullable pointer.
template <typename T>
inline constexpr bool use_object_ptr_optional_v =
    use_object_ref_optional_v<T> || is_object_ptr_type_v<T> || is_arc_type_v<T>;

namespace detail {

[[noreturn]] TVM_FFI_COLD_CODE TVM_FFI_NO_INLINE inline void ThrowBadOptionalAccess() {
  TVM_FFI_THROW(RuntimeError) << "Back optional access";
  TVM_FFI_UNREACHABLE();
}

enum class OptionalLayout { kPointer, kAny, kStdOptional };

/// Asks about pointers first: a node class may hold Optional<ObjectPtr<itself>> while it is
/// still incomplete. An Any that is None differs from no value, so it needs a flag.
template <typename T>
constexpr OptionalLayout GetOptionalLayout() {
  if constexpr (use_object_ptr_optional_v<T>) {
    return OptionalLayout::kPointer;
  } else if constexpr (storage_enabled_v<T> && !std::is_same_v<T, Any>) {
    return OptionalLayout::kAny;
  } else {
    return OptionalLayout::kStdOptional;
  }
}

/// Converts the stored pointer of an optional from and to its value type.
template <typename T>
struct OptionalPtrAccess {  // ObjectRef subclass
  using ContainerType = typename T::ContainerType;
  static T Copy(const ObjectPtr<Object>& ptr) {
    return ObjectUnsafe::ObjectRefFromObjectPtr<T>(ptr);
  }
  static T Move(ObjectPtr<Object>&& ptr) {
    return ObjectUnsafe::ObjectRefFromObjectPtr<T>(std::move(ptr));
  }
  static ObjectPtr<Object> Store(T&& value) {
    return ObjectUnsafe::ObjectPtrFromObjectRef<Object>(std::move(value));
  }
};

template <typename TObject>
struct OptionalPtrAccess<ObjectPtr<TObject>> {
  using ContainerType = TObject;
  static ObjectPtr<TObject> Copy(const ObjectPtr<Object>& ptr) {
    return Move(ObjectPtr<Object>(ptr));
  }
  static ObjectPtr<TObject> Move(ObjectPtr<Object>&& ptr) {
    return ObjectUnsafe::ObjectPtrFromOwned<TObject>(
        ObjectUnsafe::MoveObjectPtrToTVMFFIObjectPtr<Object>(std::move(ptr)));
  }
  static ObjectPtr<Object> Store(ObjectPtr<TObject>&& value) { return std::move(value); }
};

template <typename TObject>
struct OptionalPtrAccess<Arc<TObject>> {
  using ContainerType = TObject;
  static Arc<TObject> Copy(const ObjectPtr<Object>& ptr) { return Move(ObjectPtr<Object>(ptr)); }
  static Arc<TObject> Move(ObjectPtr<Object>&& ptr) {
    return ObjectUnsafe::ArcFromObjectPtr<TObject>(
        OptionalPtrAccess<ObjectPtr<TObject>>::Move(std::move(ptr)));
  }
  static ObjectPtr<Object> Store(Arc<TObject>&& value) {
    return static_cast<ObjectPtr<TObject>&&>(value);
  }
};

}  // namespace detail

/// Argument-only types: a std::optional in our clothes.
template <typename T>
class Optional<
    T, std::enable_if_t<detail::GetOptionalLayout<T>() == detail::OptionalLayout::kStdOptional>> {
 public:
  using value_type = T;
  Optional() = default;
  Optional(std::nullopt_t) {}  // NOLINT
  template <typename U, typename = std::enable_if_t<std::is_same_v<U, std::optional<T>>>>
  Optional(U other) : data_(std::move(other)) {}  // NOLINT
  Optional(T other) : data_(std::move(other)) {}  // NOLINT
  Optional& operator=(T other) {
    data_ = std::move(other);
    return *this;
  }
  Optional& operator=(std::nullopt_t) {
    data_ = std::nullopt;
    return *this;
  }

  const T& value() const& {
    if (!data_.has_value()) detail::ThrowBadOptionalAccess();
    return *data_;
  }
  T&& value() && {
    if (!data_.has_value()) detail::ThrowBadOptionalAccess();
    return *std::move(data_);
  }
  template <typename U = T>
  T value_or(U&& default_value) const {
    return data_.has_value() ? *data_ : static_cast<T>(std::forward<U>(default_value));
  }
  explicit operator bool() const noexcept { return data_.has_value(); }
  bool has_value() const noexcept { return data_.has_value(); }
  const T& operator*() const& noexcept { return *data_; }
  T&& operator*() && noexcept { return *std::move(data_); }
  const T* operator->() const noexcept { return &*data_; }

  bool operator==(const Optional& other) const { return data_ == other.data_; }
  bool operator!=(const Optional& other) const { return data_ != other.data_; }
  template <typename U>
  bool operator==(const U& other) const {
    return data_ == other;
  }
  template <typename U>
  bool operator!=(const U& other) const {
    return data_ != other;
  }

 private:
  std::optional<T> data_;
};

/// Storable plain types: the value's own Any form, or None.
template <typename T>
class Optional<T,
               std::enable_if_t<detail::GetOptionalLayout<T>() == detail::OptionalLayout::kAny>> {
 public:
  using value_type = T;
  Optional() = default;
  Optional(std::nullopt_t) {}                       // NOLINT
  Optional(std::nullptr_t) {}                       // NOLINT
  Optional(const T& value) : data_(value) {}        // NOLINT
  Optional(T&& value) : data_(std::move(value)) {}  // NOLINT
  // A template so that only std::optional<T> itself matches and "abc" stays unambiguous.
  template <typename U, typename = std::enable_if_t<std::is_same_v<U, std::optional<T>>>>
  Optional(U other) {  // NOLINT
    if (other.has_value()) data_ = *std::move(other);
  }
  Optional& operator=(T other) {
    data_ = std::move(other);
    return *this;
  }
  Optional& operator=(std::nullopt_t) {
    data_.reset();
    return *this;
  }
  Optional& operator=(std::nullptr_t) {
    data_.reset();
    return *this;
  }

  T value() const& {
    if (!has_value()) detail::ThrowBadOptionalAccess();
    return **this;
  }
  T value() && {
    if (!has_value()) detail::ThrowBadOptionalAccess();
    return *std::move(*this);
  }
  template <typename U = T>
  T value_or(U&& default_value) const {
    return has_value() ? **this : static_cast<T>(std::forward<U>(default_value));
  }
  explicit operator bool() const noexcept { return has_value(); }
  bool has_value() const noexcept { return data_ != nullptr; }
  T operator*() const& { return detail::AnyUnsafe::CopyFromAnyViewAfterCheck<T>(data_); }
  T operator*() && { return detail::AnyUnsafe::MoveFromAnyAfterCheck<T>(std::move(data_)); }

  template <typename U>
  auto as() const {
    return data_.template as<U>();
  }
  template <typename U>
  auto as_or_throw() const& {
    return data_.template as_or_throw<U>();
  }
  template <typename U>
  auto as_or_throw() && {
    return std::move(data_).template as_or_throw<U>();
  }

  bool operator==(std::nullopt_t) const noexcept { return !has_value(); }
  bool operator!=(std::nullopt_t) const noexcept { return has_value(); }
  bool operator==(std::nullptr_t) const noexcept { return !has_value(); }
  bool operator!=(std::nullptr_t) const noexcept { return has_value(); }
  auto operator==(const Optional& other) const {
    using Ret = decltype(std::declval<T>() == std::declval<T>());
    if (has_value() && other.has_value()) return **this == *other;
    return Ret(has_value() == other.has_value());
  }
  auto operator!=(const Optional& other) const { return !(*this == other); }
  auto operator==(const std::optional<T>& other) const { return *this == Optional(other); }
  auto operator!=(const std::optional<T>& other) const { return !(*this == other); }
  template <typename U, typename = std::enable_if_t<!is_optional_type_v<U>>>
  auto operator==(const U& other) const {
    using Ret = decltype(std::declval<T>() == other);
    if (has_value()) return **this == other;
    return Ret(false);
  }
  template <typename U, typename = std::enable_if_t<!is_optional_type_v<U>>>
  auto operator!=(const U& other) const {
    return !(*this == other);
  }

  bool same_as(const Optional& other) const { return data_.same_as(other.data_); }
  template <typename U, typename = std::enable_if_t<std::is_convertible_v<const U&, Any>>>
  bool same_as(const U& other) const {
    return data_.same_as(Any(other));
  }

 private:
  Any data_;
  friend struct TypeTraits<Optional<T>>;
};

/// Handles and smart pointers: one nullable pointer.
template <typename T>
class Optional<
    T, std::enable_if_t<detail::GetOptionalLayout<T>() == detail::OptionalLayout::kPointer>> {
  using Access = detail::OptionalPtrAccess<T>;

 public:
  using value_type = T;
  using ContainerType = typename Access::ContainerType;
  Optional() = default;
  explicit Optional(UnsafeInit) {}
  Optional(std::nullopt_t) {}                                    // NOLINT
  Optional(std::nullptr_t) {}                                    // NOLINT
  Optional(T value) : data_(Access::Store(std::move(value))) {}  // NOLINT
  template <typename U, typename = std::enable_if_t<std::is_same_v<U, std::optional<T>>>>
  Optional(U other) {  // NOLINT
    if (other.has_value()) data_ = Access::Store(*std::move(other));
  }
  Optional& operator=(T other) {
    data_ = Access::Store(std::move(other));
    return *this;
  }
  Optional& operator=(std::nullopt_t) {
    data_.reset();
    return *this;
  }
  Optional& operator=(std::nullptr_t) {
    data_.reset();
    return *this;
  }

  T value() const& {
    if (!has_value()) detail::ThrowBadOptionalAccess();
    return Access::Copy(data_);
  }
  T value() && {
    if (!has_value()) detail::ThrowBadOptionalAccess();
    return Access::Move(std::move(data_));
  }
  template <typename U = std::remove_cv_t<T>>
  T value_or(U&& default_value) const {
    return has_value() ? Access::Copy(data_) : static_cast<T>(std::forward<U>(default_value));
  }
  explicit operator bool() const noexcept { return has_value(); }
  bool has_value() const noexcept { return data_ != nullptr; }
  bool defined() const noexcept { return has_value(); }
  T operator*() const& noexcept { return Access::Copy(data_); }
  T operator*() && noexcept { return Access::Move(std::move(data_)); }

  /// Null when empty.
  const ContainerType* get() const { return static_cast<const ContainerType*>(data_.get()); }
  const ContainerType* operator->() const { return get(); }
  template <typename U>
  auto as() const {
    return ObjectRef(data_).template as<U>();
  }
  template <typename U>
  U as_or_throw() const& {
    return ObjectRef(data_).template as_or_throw<U>();
  }
  template <typename U>
  U as_or_throw() && {
    return ObjectRef(std::move(data_)).template as_or_throw<U>();
  }

  bool operator==(std::nullopt_t) const noexcept { return !has_value(); }
  bool operator!=(std::nullopt_t) const noexcept { return has_value(); }
  bool operator==(std::nullptr_t) const noexcept { return !has_value(); }
  bool operator!=(std::nullptr_t) const noexcept { return has_value(); }
  // The value type may define == with a richer result (symbolic comparison).
  auto operator==(const Optional& other) const { return CompareEqual(other); }
  auto operator!=(const Optional& other) const { return CompareNotEqual(other); }
  auto operator==(const std::optional<T>& other) const { return CompareEqual(Optional(other)); }
  auto operator!=(const std::optional<T>& other) const { return CompareNotEqual(Optional(other)); }
  auto operator==(const T& other) const { return CompareEqual(Optional(other)); }
  auto operator!=(const T& other) const { return CompareNotEqual(Optional(other)); }
  template <typename U, typename = std::enable_if_t<!is_optional_type_v<U> &&
                                                    !std::is_same_v<U, std::optional<T>>>>
  auto operator==(const U& other) const {
    using Ret = decltype(std::declval<T>() == other);
    if (has_value()) return **this == other;
    return Ret(false);
  }
  template <typename U, typename = std::enable_if_t<!is_optional_type_v<U> &&
                                                    !std::is_same_v<U, std::optional<T>>>>
  auto operator!=(const U& other) const {
    using Ret = decltype(std::declval<T>() != other);
    if (has_value()) return **this != other;
    return Ret(true);
  }

  bool same_as(const Optional& other) const { return data_ == other.data_; }
  bool same_as(const ObjectRef& other) const { return data_.get() == other.get(); }
  template <typename U>
  bool same_as(const ObjectPtr<U>& other) const {
    return data_.get() == other.get();
  }
  bool unique() const { return data_.unique(); }
  int use_count() const { return data_.use_count(); }

 private:
  auto CompareEqual(const Optional& other) const {
    using Ret = decltype(std::declval<T>() == std::declval<T>());
    if (same_as(other)) return Ret(true);
    if (has_value() && other.has_value()) return **this == *other;
    return Ret(false);
  }
  auto CompareNotEqual(const Optional& other) const {
    using Ret = decltype(std::declval<T>() != std::declval<T>());
    if (same_as(other)) return Ret(false);
    if (has_value() && other.has_value()) return **this != *other;
    return Ret(true);
  }

  ObjectPtr<Object> data_;
  friend struct TypeTraits<Optional<T>>;
};

template <typename T>
inline constexpr bool use_default_type_traits_v<Optional<T>> = false;

template <typename T>
struct TypeTraits<Optional<T>> : public TypeTraitsBase {
  static constexpr bool storage_enabled =
      detail::storage_enabled_v<T> || use_object_ptr_optional_v<T>;

  TVM_FFI_INLINE static void CopyToAnyView(const Optional<T>& src, TVMFFIAny* result) {
    if constexpr (use_object_ptr_optional_v<T>) {
      detail::StoreObject(detail::ObjectUnsafe::TVMFFIObjectPtrFromObjectPtr<Object>(src.data_),
                          result);
    } else if constexpr (detail::GetOptionalLayout<T>() == detail::OptionalLayout::kAny) {
      *result = AnyView(src.data_).CopyToTVMFFIAny();
    } else if (src.has_value()) {
      *result = AnyView(*src).CopyToTVMFFIAny();
    } else {
      detail::SetNone(result);
    }
  }
  TVM_FFI_INLINE static void MoveToAny(Optional<T> src, TVMFFIAny* result) {
    if constexpr (use_object_ptr_optional_v<T>) {
      detail::StoreObject(
          detail::ObjectUnsafe::MoveObjectPtrToTVMFFIObjectPtr<Object>(std::move(src.data_)),
          result);
    } else if constexpr (detail::GetOptionalLayout<T>() == detail::OptionalLayout::kAny) {
      *result = detail::AnyUnsafe::MoveAnyToTVMFFIAny(std::move(src.data_));
    } else if (src.has_value()) {
      *result = detail::AnyUnsafe::MoveAnyToTVMFFIAny(Any(*std::move(src)));
    } else {
      detail::SetNone(result);
    }
  }
  TVM_FFI_INLINE static bool CheckAnyStrict(const TVMFFIAny* src) {
    if (src->type_index == TypeIndex::kTVMFFINone) return true;
    if constexpr (std::is_same_v<T, Any>) {
      return true;
    } else {
      return TypeTraits<T>::CheckAnyStrict(src);
    }
  }
  TVM_FFI_INLINE static Optional<T> CopyFromAnyViewAfterCheck(const TVMFFIAny* src) {
    if (src->type_index == TypeIndex::kTVMFFINone) return Optional<T>(std::nullopt);
    if constexpr (std::is_same_v<T, Any>) {
      return Optional<T>(Any(AnyView::CopyFromTVMFFIAny(*src)));
    } else {
      return Optional<T>(TypeTraits<T>::CopyFromAnyViewAfterCheck(src));
    }
  }
  TVM_FFI_INLINE static Optional<T> MoveFromAnyAfterCheck(TVMFFIAny* src) {
    if (src->type_index == TypeIndex::kTVMFFINone) return Optional<T>(std::nullopt);
    if constexpr (std::is_same_v<T, Any>) {
      return Optional<T>(detail::AnyUnsafe::MoveTVMFFIAnyToAny(src));
    } else {
      return Optional<T>(TypeTraits<T>::MoveFromAnyAfterCheck(src));
    }
  }
  TVM_FFI_INLINE static std::optional<Optional<T>> TryCastFromAnyView(const TVMFFIAny* src) {
    if (src->type_index == TypeIndex::kTVMFFINone) return Optional<T>(std::nullopt);
    if constexpr (std::is_same_v<T, Any>) {
      return Optional<T>(Any(AnyView::CopyFromTVMFFIAny(*src)));
    } else {
      if (std::optional<T> value = TypeTraits<T>::TryCastFromAnyView(src)) {
        return Optional<T>(*std::move(value));
      }
      return std::nullopt;
    }
  }
  TVM_FFI_INLINE static std::string GetMismatchTypeInfo(const TVMFFIAny* src) {
    if constexpr (std::is_same_v<T, Any>) {
      return TypeTraitsBase::GetMismatchTypeInfo(src);
    } else {
      return TypeTraits<T>::GetMismatchTypeInfo(src);
    }
  }
  TVM_FFI_INLINE static std::string TypeStr() {
    return "Optional<" + detail::Type2Str<T>::v() + ">";
  }
  TVM_FFI_INLINE static std::string TypeSchema() {
    return detail::CompoundTypeSchema<T>("Optional");
  }
};

template <typename T, typename U>
inline constexpr bool type_subsumes_v<Optional<T>, Optional<U>, void> = type_subsumes_v<T, U>;
template <typename T, typename U>
inline constexpr bool type_subsumes_v<Optional<T>, U, std::enable_if_t<!is_optional_type_v<U>>> =
    type_subsumes_v<T, U>;

}  // namespace ffi
}  // namespace tvm
#endif  // TVM_FFI_OPTIONAL_H_
