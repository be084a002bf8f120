// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors

/// `Tuple<Types...>`: fixed-length heterogeneous sequence, an Array to other languages.
#ifndef TVM_FFI_CONTAINER_TUPLE_H_
#define TVM_FFI_CONTAINER_TUPLE_H_

#include <tvm/ffi/any.h>
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/container/container_detail.h>
#include <tvm/ffi/object.h>

#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

namespace tvm {
namespace ffi {

template <typename... Types>
class Tuple;

namespace detail {

template <typename... Types, typename... UTypes>
constexpr bool TupleSubsumes(const Tuple<Types...>*, const Tuple<UTypes...>*) {
  if constexpr (sizeof...(Types) == sizeof...(UTypes)) {
    return (type_subsumes_v<Types, UTypes> && ...);
  } else {
    return false;
  }
}

template <typename Target, typename Source>
inline constexpr bool is_tuple_upcast_v =
    !std::is_same_v<Target, Source> &&
    TupleSubsumes(static_cast<const Target*>(nullptr), static_cast<const Source*>(nullptr));

/// Values that build Types... element by element, and are not one tuple to copy.
template <typename Target, typename... UTypes>
inline constexpr bool is_tuple_init_v = sizeof...(UTypes) != 0;
template <typename Target, typename UType>
inline constexpr bool is_tuple_init_v<Target, UType> =
    !std::is_base_of_v<Target, RemoveCvRef<UType>> &&
    !std::is_same_v<RemoveCvRef<UType>, UnsafeInit>;

}  // namespace detail

/// Copy-on-write like Array. Elements are returned by value.
template <typename... Types>
class Tuple : public ObjectRef {
  static_assert(detail::all_storage_enabled_v<Types...>, "every element type must be storable");

 public:
  using ContainerType = ArrayObj;
  static constexpr bool _type_container_is_exact = false;
  static constexpr bool _type_is_nullable = false;
  static constexpr size_t kSize = sizeof...(Types);

  /// Elements are default constructed.
  Tuple() { Fill(Types()...); }
  explicit Tuple(UnsafeInit tag) : ObjectRef(tag) {}
  /// Takes an array whose elements are of the right types already.
  explicit Tuple(ObjectPtr<Object> n) : ObjectRef(std::move(n)) {
    TVM_FFI_ICHECK(data_ != nullptr) << "a Tuple is never null";
  }
  Tuple(const Tuple&) = default;
  Tuple(Tuple&&) noexcept = default;
  Tuple& operator=(const Tuple&) = default;
  Tuple& operator=(Tuple&&) noexcept = default;
  /// Upcast, shares storage.
  template <typename... UTypes, typename = std::enable_if_t<
                                    detail::is_tuple_upcast_v<Tuple<Types...>, Tuple<UTypes...>>>>
  Tuple(const Tuple<UTypes...>& other) : ObjectRef(other) {}  // NOLINT
  template <typename... UTypes, typename = std::enable_if_t<
                                    detail::is_tuple_upcast_v<Tuple<Types...>, Tuple<UTypes...>>>>
  Tuple(Tuple<UTypes...>&& other) : ObjectRef(std::move(other)) {}  // NOLINT
  template <typename... UTypes,
            typename = std::enable_if_t<sizeof...(UTypes) == sizeof...(Types) &&
                                        detail::is_tuple_init_v<Tuple<Types...>, UTypes...>>,
            typename = std::enable_if_t<(std::is_convertible_v<UTypes&&, Types> && ...)>>
  Tuple(UTypes&&... args) {  // NOLINT(google-explicit-constructor)
    Fill(Types(std::forward<UTypes>(args))...);
  }
  template <typename... UTypes, typename = std::enable_if_t<
                                    detail::is_tuple_upcast_v<Tuple<Types...>, Tuple<UTypes...>>>>
  Tuple& operator=(const Tuple<UTypes...>& other) {
    ObjectRef::operator=(other);
    return *this;
  }
  template <typename... UTypes, typename = std::enable_if_t<
                                    detail::is_tuple_upcast_v<Tuple<Types...>, Tuple<UTypes...>>>>
  Tuple& operator=(Tuple<UTypes...>&& other) {
    ObjectRef::operator=(std::move(other));
    return *this;
  }

  template <size_t I>
  auto get() const& {
    static_assert(I < kSize, "no such element");
    using T = std::tuple_element_t<I, std::tuple<Types...>>;
    return detail::AnyUnsafe::CopyFromAnyViewAfterCheck<T>(Cells()->begin()[I]);
  }
  /// Takes the element out when the tuple is unique.
  template <size_t I>
  auto get() && {
    static_assert(I < kSize, "no such element");
    using T = std::tuple_element_t<I, std::tuple<Types...>>;
    if (!this->unique()) {
      return detail::AnyUnsafe::CopyFromAnyViewAfterCheck<T>(Cells()->begin()[I]);
    }
    return detail::AnyUnsafe::MoveFromAnyAfterCheck<T>(std::move(Cells()->MutableBegin()[I]));
  }
  /// Replaces an element, copying the tuple first when it is shared.
  template <size_t I, typename U>
  void Set(U&& item) {
    static_assert(I < kSize, "no such element");
    using T = std::tuple_element_t<I, std::tuple<Types...>>;
    Any cell(T(std::forward<U>(item)));
    if (!this->unique()) {
      data_ = ArrayObj::CopyFrom(static_cast<int64_t>(kSize), Cells());
    }
    Cells()->SetItemAfterCheck(static_cast<int64_t>(I), std::move(cell));
  }

 private:
  ArrayObj* Cells() const { return static_cast<ArrayObj*>(data_.get()); }
  void Fill(Types... values) {
    ObjectPtr<ArrayObj> cells = ArrayObj::Empty(static_cast<int64_t>(kSize));
    (cells->PushUnchecked(Any(std::move(values))), ...);
    data_ = std::move(cells);
  }
};

template <typename... Types>
inline constexpr bool use_default_type_traits_v<Tuple<Types...>> = false;

template <typename... Types>
struct TypeTraits<Tuple<Types...>> : public ObjectRefTypeTraitsBase<Tuple<Types...>> {
  using Base = ObjectRefTypeTraitsBase<Tuple<Types...>>;

  static bool CheckAnyStrict(const TVMFFIAny* src) {
    if (src->type_index != TypeIndex::kTVMFFIArray) return false;
    const SeqBaseObj* cells = Cells(src);
    if (cells->size() != sizeof...(Types)) return false;
    [[maybe_unused]] const Any* cell = cells->begin();
    return (detail::AnyUnsafe::CheckAnyStrict<Types>(*cell++) && ...);
  }
  static std::optional<Tuple<Types...>> TryCastFromAnyView(const TVMFFIAny* src) {
    if (CheckAnyStrict(src)) return Base::CopyFromAnyViewAfterCheck(src);
    if (!IsSequence(src) || Cells(src)->size() != sizeof...(Types)) return std::nullopt;
    ObjectPtr<ArrayObj> copy = ArrayObj::Empty(static_cast<int64_t>(sizeof...(Types)));
    int64_t i = 0;
    if (!(ConvertInto<Types>(Cells(src), &i, copy.get()) && ...)) return std::nullopt;
    return detail::ObjectUnsafe::ObjectRefFromObjectPtr<Tuple<Types...>>(
        ObjectPtr<Object>(std::move(copy)));
  }
  static std::string GetMismatchTypeInfo(const TVMFFIAny* src) {
    if (src->type_index != TypeIndex::kTVMFFIArray) return TypeTraitsBase::GetMismatchTypeInfo(src);
    const SeqBaseObj* cells = Cells(src);
    const std::string name = "Array";
    if (cells->size() != sizeof...(Types)) {
      return name + "[size=" + std::to_string(cells->size()) + "]";
    }
    std::string text;
    [[maybe_unused]] size_t i = 0;
    (void)(DescribeMismatch<Types>(name, cells, &i, &text) || ...);
    return text.empty() ? TypeTraitsBase::GetMismatchTypeInfo(src) : text;
  }
  static std::string TypeStr() { return detail::ContainerTypeStr<Types...>("Tuple"); }
  static std::string TypeSchema() { return detail::CompoundTypeSchema<Types...>("Tuple"); }

 private:
  static bool IsSequence(const TVMFFIAny* src) {
    return src->type_index == TypeIndex::kTVMFFIArray || src->type_index == TypeIndex::kTVMFFIList;
  }
  static const SeqBaseObj* Cells(const TVMFFIAny* src) {
    return detail::ObjectUnsafe::RawObjectPtrFromUnowned<SeqBaseObj>(src->v_obj);
  }
  template <typename T>
  static bool ConvertInto(const SeqBaseObj* source, int64_t* i, ArrayObj* target) {
    std::optional<T> element = detail::TryCastElement<T>(source->at((*i)++));
    if (!element.has_value()) return false;
    target->PushUnchecked(Any(*std::move(element)));
    return true;
  }
  template <typename T>
  static bool DescribeMismatch(const std::string& name, const SeqBaseObj* cells, size_t* i,
                               std::string* text) {
    const size_t index = (*i)++;
    const Any& cell = cells->begin()[index];
    if (detail::AnyUnsafe::CheckAnyStrict<T>(cell) || detail::TryCastElement<T>(cell).has_value()) {
      return false;
    }
    *text = name + "[index " + std::to_string(index) + ": " +
            detail::AnyUnsafe::GetMismatchTypeInfo<T>(cell) + "]";
    return true;
  }
};

template <typename... T, typename... U>
inline constexpr bool type_subsumes_v<Tuple<T...>, Tuple<U...>, void> =
    std::is_same_v<Tuple<T...>, Tuple<U...>> || detail::is_tuple_upcast_v<Tuple<T...>, Tuple<U...>>;

template <std::size_t I, typename... Types>
inline std::tuple_element_t<I, std::tuple<Types...>> get(const Tuple<Types...>& t) {
  return t.template get<I>();
}
template <std::size_t I, typename... Types>
inline std::tuple_element_t<I, std::tuple<Types...>> get(Tuple<Types...>&& t) {
  return std::move(t).template get<I>();
}

template <typename... UTypes>
Tuple(UTypes&&...) -> Tuple<std::remove_cv_t<std::remove_reference_t<UTypes>>...>;

}  // namespace ffi
}  // namespace tvm

// Structured bindings.
template <typename... Types>
struct std::tuple_size<::tvm::ffi::Tuple<Types...>>
    : std::integral_constant<std::size_t, sizeof...(Types)> {};
template <std::size_t I, typename... Types>
struct std::tuple_element<I, ::tvm::ffi::Tuple<Types...>> {
  using type = std::tuple_element_t<I, std::tuple<Types...>>;
};

#endif  // TVM_FFI_CONTAINER_TUPLE_H_
