// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Standard library types as arguments and results. They are copied to and from ffi containers:
/// array, vector, tuple <-> Array; map, unordered_map <-> Map (Dict is read too);
/// optional <-> None or value; variant <-> value; function <-> Function.
#ifndef TVM_FFI_EXTRA_STL_H_
#define TVM_FFI_EXTRA_STL_H_

#include <tvm/ffi/any.h>
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/container/dict.h>
#include <tvm/ffi/container/list.h>
#include <tvm/ffi/container/map.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/type_traits.h>

#include <array>
#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

namespace tvm {
namespace ffi {
namespace stl_detail {

/// These types have no form of their own inside an Any, so nothing is ever exactly one of them.
template <typename T>
struct CopiedTraits : public TypeTraitsBase {
  static constexpr bool storage_enabled = false;
  static bool CheckAnyStrict(const TVMFFIAny*) { return false; }
  static T CopyFromAnyViewAfterCheck(const TVMFFIAny* src) {
    return *TypeTraits<T>::TryCastFromAnyView(src);
  }
  static T MoveFromAnyAfterCheck(TVMFFIAny* src) { return CopyFromAnyViewAfterCheck(src); }
};

inline void Release(Any&& value, TVMFFIAny* result) {
  *result = detail::AnyUnsafe::MoveAnyToTVMFFIAny(std::move(value));
}

template <typename T>
std::string TypeText() {
  return detail::Type2Str<T>::v();
}
template <typename T>
std::string SchemaText() {
  return detail::TypeSchemaImpl<T>::v();
}

template <typename... T>
std::string TypeTexts() {
  std::string text;
  const char* separator = "";
  ((text += separator, text += TypeText<T>(), separator = ", "), ...);
  static_cast<void>(separator);
  return text;
}
template <typename... T>
std::string Schema(const char* name) {
  std::string text = std::string("{\"type\":\"") + name + "\",\"args\":[";
  const char* separator = "";
  ((text += separator, text += SchemaText<T>(), separator = ","), ...);
  static_cast<void>(separator);
  return text + "]}";
}

/// Elements of an Array or List value; nullopt for other values.
inline std::optional<std::vector<AnyView>> ElementsOf(const TVMFFIAny* src) {
  if (src->type_index != kTVMFFIArray && src->type_index != kTVMFFIList) return std::nullopt;
  const TVMFFISeqCell* cell = TVMFFISeqGetCellPtr(src->v_obj);
  std::vector<AnyView> elements;
  elements.reserve(static_cast<size_t>(cell->size));
  for (int64_t i = 0; i < cell->size; ++i) {
    elements.push_back(AnyView::CopyFromTVMFFIAny(static_cast<const TVMFFIAny*>(cell->data)[i]));
  }
  return elements;
}

template <typename MapType>
Any ToMap(const MapType& src) {
  Map<Any, Any> map;
  for (const auto& [key, value] : src) map.Set(Any(key), Any(value));
  return Any(map);
}

template <typename MapType>
std::optional<MapType> FromMap(const TVMFFIAny* src) {
  MapType result;
  auto collect = [&result](const auto& map) {
    for (const auto& entry : map) {
      auto key = entry.first.template try_cast<typename MapType::key_type>();
      auto value = entry.second.template try_cast<typename MapType::mapped_type>();
      if (!key.has_value() || !value.has_value()) return false;
      result.emplace(*std::move(key), *std::move(value));
    }
    return true;
  };
  const AnyView view = AnyView::CopyFromTVMFFIAny(*src);
  if (src->type_index == kTVMFFIMap) {
    if (!collect(view.cast<Map<Any, Any>>())) return std::nullopt;
  } else if (src->type_index == kTVMFFIDict) {
    if (!collect(view.cast<Dict<Any, Any>>())) return std::nullopt;
  } else {
    return std::nullopt;
  }
  return result;
}

template <typename MapType>
struct MapTraits : public CopiedTraits<MapType> {
  static constexpr int32_t field_static_type_index = kTVMFFIMap;
  static void MoveToAny(MapType src, TVMFFIAny* result) { Release(ToMap(src), result); }
  static std::optional<MapType> TryCastFromAnyView(const TVMFFIAny* src) {
    return FromMap<MapType>(src);
  }
};

}  // namespace stl_detail

template <typename T>
struct TypeTraits<std::vector<T>> : public stl_detail::CopiedTraits<std::vector<T>> {
  static constexpr int32_t field_static_type_index = kTVMFFIArray;
  static void MoveToAny(std::vector<T> src, TVMFFIAny* result) {
    Array<Any> array;
    array.reserve(static_cast<int64_t>(src.size()));
    for (auto&& element : src) array.push_back(Any(T(std::forward<decltype(element)>(element))));
    stl_detail::Release(Any(std::move(array)), result);
  }
  static std::optional<std::vector<T>> TryCastFromAnyView(const TVMFFIAny* src) {
    auto elements = stl_detail::ElementsOf(src);
    if (!elements.has_value()) return std::nullopt;
    std::vector<T> result;
    result.reserve(elements->size());
    for (const AnyView& element : *elements) {
      std::optional<T> value = element.template try_cast<T>();
      if (!value.has_value()) return std::nullopt;
      result.push_back(*std::move(value));
    }
    return result;
  }
  static std::string TypeStr() { return "std::vector<" + stl_detail::TypeText<T>() + ">"; }
  static std::string TypeSchema() { return stl_detail::Schema<T>("std::vector"); }
};

template <typename T, std::size_t N>
struct TypeTraits<std::array<T, N>> : public stl_detail::CopiedTraits<std::array<T, N>> {
  static constexpr int32_t field_static_type_index = kTVMFFIArray;
  static void MoveToAny(std::array<T, N> src, TVMFFIAny* result) {
    Array<Any> array;
    for (auto& element : src) array.push_back(Any(std::move(element)));
    stl_detail::Release(Any(std::move(array)), result);
  }
  static std::optional<std::array<T, N>> TryCastFromAnyView(const TVMFFIAny* src) {
    auto elements = stl_detail::ElementsOf(src);
    if (!elements.has_value() || elements->size() != N) return std::nullopt;
    std::array<T, N> result;
    for (std::size_t i = 0; i < N; ++i) {
      std::optional<T> value = (*elements)[i].template try_cast<T>();
      if (!value.has_value()) return std::nullopt;
      result[i] = *std::move(value);
    }
    return result;
  }
  static std::string TypeStr() {
    return "std::array<" + stl_detail::TypeText<T>() + ", " + std::to_string(N) + ">";
  }
  static std::string TypeSchema() { return stl_detail::Schema<T>("std::array"); }
};

template <typename... T>
struct TypeTraits<std::tuple<T...>> : public stl_detail::CopiedTraits<std::tuple<T...>> {
  using Self = std::tuple<T...>;
  static constexpr int32_t field_static_type_index = kTVMFFIArray;
  static void MoveToAny(Self src, TVMFFIAny* result) {
    Array<Any> array;
    std::apply([&array](auto&... element) { (array.push_back(Any(std::move(element))), ...); },
               src);
    stl_detail::Release(Any(std::move(array)), result);
  }
  static std::optional<Self> TryCastFromAnyView(const TVMFFIAny* src) {
    auto elements = stl_detail::ElementsOf(src);
    if (!elements.has_value() || elements->size() != sizeof...(T)) return std::nullopt;
    return Convert(*elements, std::index_sequence_for<T...>{});
  }
  static std::string TypeStr() { return "std::tuple<" + stl_detail::TypeTexts<T...>() + ">"; }
  static std::string TypeSchema() { return stl_detail::Schema<T...>("std::tuple"); }

 private:
  template <std::size_t... I>
  static std::optional<Self> Convert(const std::vector<AnyView>& elements,
                                     std::index_sequence<I...>) {
    std::tuple<std::optional<T>...> parts{elements[I].template try_cast<T>()...};
    if (!(std::get<I>(parts).has_value() && ...)) return std::nullopt;
    return Self(*std::move(std::get<I>(parts))...);
  }
};

template <typename T>
struct TypeTraits<std::optional<T>> : public stl_detail::CopiedTraits<std::optional<T>> {
  static void MoveToAny(std::optional<T> src, TVMFFIAny* result) {
    stl_detail::Release(src.has_value() ? Any(*std::move(src)) : Any(nullptr), result);
  }
  static std::optional<std::optional<T>> TryCastFromAnyView(const TVMFFIAny* src) {
    if (src->type_index == kTVMFFINone) return std::optional<T>();
    std::optional<T> value = AnyView::CopyFromTVMFFIAny(*src).template try_cast<T>();
    if (!value.has_value()) return std::nullopt;
    return value;
  }
  static std::string TypeStr() { return "std::optional<" + stl_detail::TypeText<T>() + ">"; }
  static std::string TypeSchema() { return stl_detail::Schema<T>("Optional"); }
};

template <typename... T>
struct TypeTraits<std::variant<T...>> : public stl_detail::CopiedTraits<std::variant<T...>> {
  using Self = std::variant<T...>;
  static void MoveToAny(Self src, TVMFFIAny* result) {
    stl_detail::Release(std::visit([](auto&& value) { return Any(std::move(value)); }, src),
                        result);
  }
  /// An alternative that the value is, else the first it converts to.
  static std::optional<Self> TryCastFromAnyView(const TVMFFIAny* src) {
    std::optional<Self> result;
    static_cast<void>((TryStrict<T>(src, &result) || ...) || (TryConvert<T>(src, &result) || ...));
    return result;
  }
  static std::string TypeStr() { return "std::variant<" + stl_detail::TypeTexts<T...>() + ">"; }
  static std::string TypeSchema() { return stl_detail::Schema<T...>("Variant"); }

 private:
  template <typename U>
  static bool TryStrict(const TVMFFIAny* src, std::optional<Self>* result) {
    if constexpr (detail::has_strict_check_v<U>) {
      return TypeTraits<U>::CheckAnyStrict(src) && TryConvert<U>(src, result);
    } else {
      return false;  // has no form of its own
    }
  }
  template <typename U>
  static bool TryConvert(const TVMFFIAny* src, std::optional<Self>* result) {
    std::optional<U> value = AnyView::CopyFromTVMFFIAny(*src).template try_cast<U>();
    if (value.has_value()) result->emplace(*std::move(value));
    return value.has_value();
  }
};

template <typename K, typename V>
struct TypeTraits<std::map<K, V>> : public stl_detail::MapTraits<std::map<K, V>> {
  static std::string TypeStr() { return "std::map<" + stl_detail::TypeTexts<K, V>() + ">"; }
  static std::string TypeSchema() { return stl_detail::Schema<K, V>("std::map"); }
};

template <typename K, typename V>
struct TypeTraits<std::unordered_map<K, V>>
    : public stl_detail::MapTraits<std::unordered_map<K, V>> {
  static std::string TypeStr() {
    return "std::unordered_map<" + stl_detail::TypeTexts<K, V>() + ">";
  }
  static std::string TypeSchema() { return stl_detail::Schema<K, V>("std::unordered_map"); }
};

template <typename R, typename... A>
struct TypeTraits<std::function<R(A...)>>
    : public stl_detail::CopiedTraits<std::function<R(A...)>> {
  using Self = std::function<R(A...)>;
  static constexpr int32_t field_static_type_index = kTVMFFIFunction;
  static void MoveToAny(Self src, TVMFFIAny* result) {
    stl_detail::Release(src == nullptr ? Any(nullptr) : Any(Function::FromTyped(std::move(src))),
                        result);
  }
  static std::optional<Self> TryCastFromAnyView(const TVMFFIAny* src) {
    if (src->type_index != kTVMFFIFunction) return std::nullopt;
    TypedFunction<R(A...)> function(AnyView::CopyFromTVMFFIAny(*src).template cast<Function>());
    return Self([function](A... args) -> R { return function(std::forward<A>(args)...); });
  }
  static std::string TypeStr() {
    return "std::function<" + detail::FunctionInfo<R(A...)>::Sig() + ">";
  }
  static std::string TypeSchema() { return detail::FunctionInfo<R(A...)>::TypeSchema(); }
};

}  // namespace ffi
}  // namespace tvm
#endif  // TVM_FFI_EXTRA_STL_H_
