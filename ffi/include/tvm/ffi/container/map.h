// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors

/// `Map<K, V>`: immutable table in insertion order with copy-on-write updates.
#ifndef TVM_FFI_CONTAINER_MAP_H_
#define TVM_FFI_CONTAINER_MAP_H_

#include <tvm/ffi/any.h>
#include <tvm/ffi/container/container_detail.h>
#include <tvm/ffi/container/map_base.h>
#include <tvm/ffi/object.h>

#include <initializer_list>
#include <iterator>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

namespace tvm {
namespace ffi {

class MapObj : public MapBaseObj {
 public:
  /// New table with the same entries.
  static ObjectPtr<Object> ShallowCopy(const MapObj* src) { return CreateCopy(_type_index, src); }

  static constexpr int32_t _type_index = TypeIndex::kTVMFFIMap;
  static constexpr bool _type_final = true;
  TVM_FFI_DECLARE_OBJECT_INFO_STATIC(StaticTypeKey::kTVMFFIMap, MapObj, Object);

 private:
  MapObj() = default;
};

/// Table of K to V. Copies share storage; an update works in place only when the storage is
/// unique. Entries are returned by value.
template <typename K, typename V,
          typename = std::enable_if_t<detail::storage_enabled_v<K> && detail::storage_enabled_v<V>>>
class Map : public ObjectRef {
 public:
  using key_type = K;
  using mapped_type = V;
  using ContainerType = MapObj;
  using iterator = detail::MapIterator<K, V>;
  using const_iterator = iterator;
  static constexpr bool _type_container_is_exact = std::is_same_v<K, Any> && std::is_same_v<V, Any>;
  static constexpr bool _type_is_nullable = false;

  explicit Map(UnsafeInit tag) : ObjectRef(tag) {}
  Map() { data_ = MapBaseObj::CreateEmpty(MapObj::_type_index); }
  Map(const Map&) = default;
  Map(Map&&) noexcept = default;
  Map& operator=(const Map&) = default;
  Map& operator=(Map&&) noexcept = default;
  /// Upcast, shares storage.
  template <typename KU, typename VU,
            typename = std::enable_if_t<detail::is_map_upcast_v<K, V, KU, VU>>>
  Map(const Map<KU, VU>& other) : ObjectRef(other) {}  // NOLINT(google-explicit-constructor)
  template <typename KU, typename VU,
            typename = std::enable_if_t<detail::is_map_upcast_v<K, V, KU, VU>>>
  Map(Map<KU, VU>&& other) : ObjectRef(std::move(other)) {}  // NOLINT
  template <typename KU, typename VU,
            typename = std::enable_if_t<detail::is_map_upcast_v<K, V, KU, VU>>>
  Map& operator=(const Map<KU, VU>& other) {
    ObjectRef::operator=(other);
    return *this;
  }
  template <typename KU, typename VU,
            typename = std::enable_if_t<detail::is_map_upcast_v<K, V, KU, VU>>>
  Map& operator=(Map<KU, VU>&& other) {
    ObjectRef::operator=(std::move(other));
    return *this;
  }
  explicit Map(ObjectPtr<Object> n) : ObjectRef(std::move(n)) {
    TVM_FFI_ICHECK(data_ != nullptr) << "a Map is never null";
  }
  /// Later entries win.
  template <typename IterType,
            typename = typename std::iterator_traits<IterType>::iterator_category>
  Map(IterType begin, IterType end) : Map() {
    MapBaseObj* table = GetTable();
    if constexpr (detail::is_forward_iterator_v<IterType>) {
      table->Reserve(static_cast<uint64_t>(std::distance(begin, end)));
    }
    for (; begin != end; ++begin) {
      const auto& entry = *begin;
      table->InsertOrAssign(Any(K(entry.first)), Any(V(entry.second)));
    }
  }
  Map(std::initializer_list<std::pair<K, V>> init) : Map(init.begin(), init.end()) {}  // NOLINT
  /// From std::unordered_map<K, V, ..>, recognised by its members to save the include.
  template <typename Table, typename = std::enable_if_t<detail::is_hash_table_v<Table, K, V>>>
  Map(const Table& init)  // NOLINT(google-explicit-constructor)
      : Map(init.begin(), init.end()) {}

  /// KeyError when missing.
  const V at(const K& key) const {
    return detail::AnyUnsafe::CopyFromAnyViewAfterCheck<V>(Checked()->at(Any(key)));
  }
  const V operator[](const K& key) const { return at(key); }
  size_t size() const { return data_ == nullptr ? 0 : GetTable()->size(); }
  size_t count(const K& key) const { return data_ == nullptr ? 0 : GetTable()->count(Any(key)); }
  bool empty() const { return size() == 0; }
  iterator begin() const { return data_ == nullptr ? iterator() : iterator(GetTable()->begin()); }
  iterator end() const { return data_ == nullptr ? iterator() : iterator(GetTable()->end()); }
  iterator find(const K& key) const {
    return data_ == nullptr ? iterator() : iterator(GetTable()->find(Any(key)));
  }
  /// The value, or nullopt when missing.
  std::optional<V> Get(const K& key) const {
    if (data_ == nullptr) return std::nullopt;
    const MapBaseObj::iterator position = GetTable()->find(Any(key));
    if (position == GetTable()->end()) return std::nullopt;
    return detail::AnyUnsafe::CopyFromAnyViewAfterCheck<V>(position->second);
  }
  void Set(const K& key, const V& value) {
    Any new_key(key), new_value(value);
    CopyOnWrite()->InsertOrAssign(std::move(new_key), std::move(new_value));
  }
  void erase(const K& key) {
    Any old_key(key);
    if (count(key) != 0) CopyOnWrite()->erase(old_key);
  }
  void clear() {
    if (!empty()) data_ = MapBaseObj::CreateEmpty(MapObj::_type_index);
  }

  /// Makes the storage unique.
  MapObj* CopyOnWrite() {
    if (data_ == nullptr) {
      data_ = MapBaseObj::CreateEmpty(MapObj::_type_index);
    } else if (!data_.unique()) {
      data_ = MapBaseObj::CreateCopy(MapObj::_type_index, GetTable());
    }
    return static_cast<MapObj*>(data_.get());
  }

 private:
  MapBaseObj* GetTable() const { return static_cast<MapObj*>(data_.get()); }
  MapBaseObj* Checked() const {
    if (TVM_FFI_PREDICT_FALSE(data_ == nullptr)) {
      TVM_FFI_THROW(KeyError) << "cannot use a moved-from Map";
    }
    return GetTable();
  }
};

/// Entries of `lhs`, overridden by those of `rhs`.
template <typename K, typename V,
          typename = std::enable_if_t<detail::storage_enabled_v<K> && detail::storage_enabled_v<V>>>
inline Map<K, V> Merge(Map<K, V> lhs, const Map<K, V>& rhs) {
  for (const auto& [key, value] : rhs) lhs.Set(key, value);
  return lhs;
}

template <typename K, typename V>
inline constexpr bool use_default_type_traits_v<Map<K, V>> = false;

template <typename K, typename V>
struct TypeTraits<Map<K, V>>
    : public detail::MapTypeTraitsBase<TypeTraits<Map<K, V>>, Map<K, V>, K, V> {
  static constexpr int32_t kPrimaryTypeIndex = TypeIndex::kTVMFFIMap;
  static constexpr int32_t kOtherTypeIndex = TypeIndex::kTVMFFIDict;
  static constexpr const char* kTypeName = "Map";

  static std::string TypeSchema() {
    return detail::CompoundTypeSchema<K, V>(StaticTypeKey::kTVMFFIMap);
  }
};

template <typename K, typename V, typename KU, typename VU>
inline constexpr bool type_subsumes_v<
    Map<K, V>, Map<KU, VU>, std::enable_if_t<!(std::is_same_v<K, Any> && std::is_same_v<V, Any>)>> =
    type_subsumes_v<K, KU> && type_subsumes_v<V, VU>;

}  // namespace ffi
}  // namespace tvm
#endif  // TVM_FFI_CONTAINER_MAP_H_
