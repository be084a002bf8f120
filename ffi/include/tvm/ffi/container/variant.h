// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors

/// `Variant<V...>`: one of several types, stored as an Any.
#ifndef TVM_FFI_CONTAINER_VARIANT_H_
#define TVM_FFI_CONTAINER_VARIANT_H_

#include <tvm/ffi/any.h>
#include <tvm/ffi/container/container_detail.h>
#include <tvm/ffi/object.h>
#include <tvm/ffi/optional.h>

#include <optional>
#include <string>
#include <type_traits>
#include <utility>

namespace tvm {
namespace ffi {

/// Holds exactly one alternative; never empty unless an alternative accepts None.
template <typename... V>
class Variant {
  static_assert(detail::all_storage_enabled_v<V...>, "every alternative must be storable");

 public:
  static constexpr bool _type_container_is_exact = false;
  template <typename T>
  static constexpr bool variant_contains_v = (type_subsumes_v<V, T> || ...);
  template <typename T>
  using enable_if_variant_contains_t = std::enable_if_t<variant_contains_v<T>>;

  Variant(const Variant&) = default;
  Variant(Variant&&) noexcept = default;
  Variant& operator=(const Variant&) = default;
  Variant& operator=(Variant&&) noexcept = default;
  template <typename T, typename = enable_if_variant_contains_t<T>>
  Variant(T other) : data_(std::move(other)) {}  // NOLINT(google-explicit-constructor)
  template <typename T, typename = enable_if_variant_contains_t<T>>
  Variant& operator=(T other) {
    data_ = std::move(other);
    return *this;
  }

  /// The value if it is a T, else nullopt.
  template <typename T, typename = std::enable_if_t<detail::storage_enabled_v<T>>>
  std::optional<T> as() const {
    return data_.template as<T>();
  }
  /// The node if the value is a T node, else nullptr.
  template <typename T, typename = std::enable_if_t<std::is_base_of_v<Object, T>>, int = 0>
  const T* as() const {
    return data_.template as<T>();
  }
  /// The value, converted if needed; TypeError when impossible.
  template <typename T, typename = std::enable_if_t<detail::storage_enabled_v<T>>>
  T get() const& {
    return data_.template cast<T>();
  }
  template <typename T, typename = std::enable_if_t<detail::storage_enabled_v<T>>>
  T get() && {
    return std::move(data_).template cast<T>();
  }

  std::string GetTypeKey() const { return data_.GetTypeKey(); }
  bool same_as(const Variant& other) const { return data_.same_as(other.data_); }

 private:
  explicit Variant(Any data, UnsafeInit) : data_(std::move(data)) {}

  Any data_;

  friend struct TypeTraits<Variant<V...>>;
  friend struct ObjectPtrHash;
  friend struct ObjectPtrEqual;
};

template <typename... V>
inline constexpr bool use_default_type_traits_v<Variant<V...>> = false;

template <typename... V>
struct TypeTraits<Variant<V...>> : public TypeTraitsBase {
  TVM_FFI_INLINE static void CopyToAnyView(const Variant<V...>& src, TVMFFIAny* result) {
    *result = AnyView(src.data_).CopyToTVMFFIAny();
  }
  TVM_FFI_INLINE static void MoveToAny(Variant<V...> src, TVMFFIAny* result) {
    *result = detail::AnyUnsafe::MoveAnyToTVMFFIAny(std::move(src.data_));
  }
  TVM_FFI_INLINE static bool CheckAnyStrict(const TVMFFIAny* src) {
    return (CheckOne<V>(src) || ...);
  }
  TVM_FFI_INLINE static Variant<V...> CopyFromAnyViewAfterCheck(const TVMFFIAny* src) {
    return Variant<V...>(Any(AnyView::CopyFromTVMFFIAny(*src)), UnsafeInit{});
  }
  TVM_FFI_INLINE static Variant<V...> MoveFromAnyAfterCheck(TVMFFIAny* src) {
    return Variant<V...>(detail::AnyUnsafe::MoveTVMFFIAnyToAny(src), UnsafeInit{});
  }
  TVM_FFI_INLINE static std::optional<Variant<V...>> TryCastFromAnyView(const TVMFFIAny* src) {
    if (CheckAnyStrict(src)) return CopyFromAnyViewAfterCheck(src);
    std::optional<Variant<V...>> result;
    (void)((TryOne<V>(src, &result)) || ...);
    return result;
  }
  TVM_FFI_INLINE static std::string GetMismatchTypeInfo(const TVMFFIAny* src) {
    return TypeTraitsBase::GetMismatchTypeInfo(src);
  }
  TVM_FFI_INLINE static std::string TypeStr() { return detail::ContainerTypeStr<V...>("Variant"); }
  TVM_FFI_INLINE static std::string TypeSchema() {
    return detail::CompoundTypeSchema<V...>("Variant");
  }

 private:
  template <typename T>
  TVM_FFI_INLINE static bool CheckOne(const TVMFFIAny* src) {
    if constexpr (std::is_same_v<T, Any>) {
      return true;
    } else {
      return TypeTraits<T>::CheckAnyStrict(src);
    }
  }
  template <typename T>
  TVM_FFI_INLINE static bool TryOne(const TVMFFIAny* src, std::optional<Variant<V...>>* result) {
    if constexpr (!std::is_same_v<T, Any>) {
      if (std::optional<T> value = TypeTraits<T>::TryCastFromAnyView(src)) {
        *result = Variant<V...>(*std::move(value));
        return true;
      }
    }
    return false;
  }
};

template <typename... V>
size_t ObjectPtrHash::operator()(const Variant<V...>& a) const {
  static_assert(detail::all_object_ref_v<V...>, "identity needs object alternatives");
  return static_cast<size_t>(detail::AnyUnsafe::TVMFFIAnyPtrFromAny(a.data_)->v_uint64 >> 4);
}

template <typename... V>
bool ObjectPtrEqual::operator()(const Variant<V...>& a, const Variant<V...>& b) const {
  return a.same_as(b);
}

template <typename... V, typename U>
inline constexpr bool type_subsumes_v<Variant<V...>, U, void> = (type_subsumes_v<V, U> || ...);

}  // namespace ffi
}  // namespace tvm
#endif  // TVM_FFI_CONTAINER_VARIANT_H_
