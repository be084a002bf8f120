// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors

/// `Dict<K, V>`: table in insertion order whose updates are seen through every handle.
#ifndef TVM_FFI_CONTAINER_DICT_H_
#define TVM_FFI_CONTAINER_DICT_H_

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

class DictObj : public MapBaseObj {
 public:
  /// New table with the same entries.
  static ObjectPtr<Object> ShallowCopy(const DictObj* src) { return CreateCopy(_type_index, src); }

  static constexpr int32_t _type_index = TypeIndex::kTVMFFIDict;
  static constexpr bool _type_final = true;
  static constexpr bool _type_mutable = true;
  TVM_FFI_DECLARE_OBJECT_INFO_STATIC(StaticTypeKey::kTVMFFIDict, DictObj, Object);

 private:
  DictObj() = default;
};

/// Shared table of K to V. Entries are returned by value.
template <typename K, typename V,
          typename = std::enable_if_t<detail::storage_enabled_v<K> && detail::storage_enabled_v<V>>>
class Dict : public ObjectRef {
 public:
  using key_type = K;
  using mapped_type = V;
  using ContainerType = DictObj;
  using iterator = detail::MapIterator<K, V>;
  using const_iterator = iterator;
  static constexpr bool _type_container_is_exact = std::is_same_v<K, Any> && std::is_same_v<V, Any>;
  static constexpr bool _type_is_nullable = false;

  explicit Dict(UnsafeInit tag) : ObjectRef(tag) {}
  Dict() { data_ = MapBaseObj::CreateEmpty(DictObj::_type_index); }
  Dict(const Dict&) = default;
  Dict(Dict&&) noexcept = default;
  Dict& operator=(const Dict&) = default;
  Dict& operator=(Dict&&) noexcept = default;
  /// Upcast, shares storage.
  template <typename KU, typename VU,
            typename = std::enable_if_t<detail::is_map_upcast_v<K, V, KU, VU>>>
  Dict(const Dict<KU, VU>& other) : ObjectRef(other) {}  // NOLINT(google-explicit-constructor)
  template <typename KU, typename VU,
            typename = std::enable_if_t<detail::is_map_upcast_v<K, V, KU, VU>>>
  Dict(Dict<KU, VU>&& other) : ObjectRef(std::move(other)) {}  // NOLINT
  template <typename KU, typename VU,
            typename = std::enable_if_t<detail::is_map_upcast_v<K, V, KU, VU>>>
  Dict& operator=(const Dict<KU, VU>& other) {
    ObjectRef::operator=(other);
    return *this;
  }
  template <typename KU, typename VU,
            typename = std::enable_if_t<detail::is_map_upcast_v<K, V, KU, VU>>>
  Dict& operator=(Dict<KU, VU>&& other) {
    ObjectRef::operator=(std::move(other));
    return *this;
  }
  explicit Dict(ObjectPtr<Object> n) : ObjectRef(std::move(n)) {
    TVM_FFI_ICHECK(data_ != nullptr) << "a Dict is never null";
  }
  /// Later entries win.
  template <typename IterType,
            typename = typename std::iterator_traits<IterType>::iterator_category>
  Dict(IterType begin, IterType end) : Dict() {
    MapBaseObj* table = GetTable();
    if constexpr (detail::is_forward_iterator_v<IterType>) {
      table->Reserve(static_cast<uint64_t>(std::distance(begin, end)));
    }
    for (; begin != end; ++begin) {
      const auto& entry = *begin;
      table->InsertOrAssign(Any(K(entry.first)), Any(V(entry.second)));
    }
  }
  Dict(std::initializer_list<std::pair<K, V>> init) : Dict(init.begin(), init.end()) {}  // NOLINT
  /// From std::unordered_map<K, V, ..>, recognised by its members to save the include.
  template <typename Table, typename = std::enable_if_t<detail::is_hash_table_v<Table, K, V>>>
  Dict(const Table& init)  // NOLINT(google-explicit-constructor)
      : Dict(init.begin(), init.end()) {}

  /// KeyError when missing.
  V at(const K& key) const {
    return detail::AnyUnsafe::CopyFromAnyViewAfterCheck<V>(Checked()->at(Any(key)));
  }
  V operator[](const K& key) const { return at(key); }
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
    Checked()->InsertOrAssign(std::move(new_key), std::move(new_value));
  }
  void erase(const K& key) {
    Any old_key(key);
    Checked()->erase(old_key);
  }
  void clear() { Checked()->clear(); }

 private:
  MapBaseObj* GetTable() const { return static_cast<DictObj*>(data_.get()); }
  MapBaseObj* Checked() const {
    if (TVM_FFI_PREDICT_FALSE(data_ == nullptr)) {
      TVM_FFI_THROW(KeyError) << "cannot use a moved-from Dict";
    }
    return GetTable();
  }
};

template <typename K, typename V>
inline constexpr bool use_default_type_traits_v<Dict<K, V>> = false;

template <typename K, typename V>
struct TypeTraits<Dict<K, V>>
    : public detail::MapTypeTraitsBase<TypeTraits<Dict<K, V>>, Dict<K, V>, K, V> {
  static constexpr int32_t kPrimaryTypeIndex = TypeIndex::kTVMFFIDict;
  static constexpr int32_t kOtherTypeIndex = TypeIndex::kTVMFFIMap;
  static constexpr const char* kTypeName = "Dict";

  static std::string TypeSchema() {
    return detail::CompoundTypeSchema<K, V>(StaticTypeKey::kTVMFFIDict);
  }
};

template <typename K, typename V, typename KU, typename VU>
inline constexpr bool
    type_subsumes_v<Dict<K, V>, Dict<KU, VU>,
                    std::enable_if_t<!(std::is_same_v<K, Any> && std::is_same_v<V, Any>)>> =
        type_subsumes_v<K, KU> && type_subsumes_v<V, VU>;

}  // namespace ffi
}  // namespace tvm
#endif  // TVM_FFI_CONTAINER_DICT_H_
