// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors

/// Hash table node and conversion rules common to Map and Dict.
///
/// The memory layout is ABI: code compiled elsewhere probes and updates these tables.
///   small: up to 4 {key, value} pairs, scanned in order
///   dense: blocks of 16 slots = 16 meta bytes + 16 x {key, value, prev, next}; chains of slots
///          linked by jump indices, insertion order linked by prev/next
/// See map_table.h for the algorithms.
#ifndef TVM_FFI_CONTAINER_MAP_BASE_H_
#define TVM_FFI_CONTAINER_MAP_BASE_H_

#include <tvm/ffi/any.h>
#include <tvm/ffi/container/container_detail.h>
#include <tvm/ffi/error.h>
#include <tvm/ffi/memory.h>
#include <tvm/ffi/object.h>

#include <iterator>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

namespace tvm {
namespace ffi {

namespace detail {
struct MapTable;
}  // namespace detail

class MapBaseObj : public Object {
 public:
  using key_type = Any;
  using mapped_type = Any;
  using KVType = std::pair<Any, Any>;
  static_assert(sizeof(KVType) == 2 * sizeof(TVMFFIAny), "pairs are ABI");

  inline ~MapBaseObj() noexcept;

  size_t size() const { return size_; }
  size_t count(const key_type& key) const { return find(key) != end() ? 1 : 0; }
  /// KeyError when missing.
  inline const mapped_type& at(const key_type& key) const;
  mapped_type& at(const key_type& key) {
    return const_cast<mapped_type&>(static_cast<const MapBaseObj*>(this)->at(key));
  }

  /// Position in insertion order. Any update of the table may invalidate it.
  class iterator {
   public:
    using iterator_category = std::bidirectional_iterator_tag;
    using difference_type = int64_t;
    using value_type = KVType;
    using pointer = KVType*;
    using reference = KVType&;

    iterator() = default;
    bool operator==(const iterator& other) const { return index == other.index; }
    bool operator!=(const iterator& other) const { return index != other.index; }
    pointer operator->() const { return self->PairAt(index); }
    reference operator*() const { return *self->PairAt(index); }
    iterator& operator++() {
      index = self->NextIndex(index);
      return *this;
    }
    iterator& operator--() {
      index = self->PrevIndex(index);
      return *this;
    }
    iterator operator++(int) {
      iterator copy = *this;
      ++*this;
      return copy;
    }
    iterator operator--(int) {
      iterator copy = *this;
      --*this;
      return copy;
    }

   protected:
    iterator(uint64_t index, const MapBaseObj* self) : index(index), self(self) {}
    uint64_t index{0};
    const MapBaseObj* self{nullptr};
    friend class MapBaseObj;
  };

  iterator begin() const { return iterator(IsSmallMap() ? 0 : iter_list_head_, this); }
  iterator end() const { return iterator(IsSmallMap() ? size_ : kInvalidIndex, this); }
  inline iterator find(const key_type& key) const;
  inline void erase(const iterator& position);
  void erase(const key_type& key) {
    const iterator position = find(key);
    if (position != end()) erase(position);
  }
  inline void clear();
  /// Inserts or replaces. The object keeps its address; iterators become invalid.
  inline void InsertOrAssign(Any key, Any value);
  /// Makes room so that `count` entries fit without growing again.
  inline void Reserve(uint64_t count);

 protected:
  static constexpr uint64_t kSmallTagMask = uint64_t{1} << 63;
  static constexpr uint64_t kInvalidIndex = ~uint64_t{0};
  static constexpr uint64_t kBlockSlots = 16;

  struct DenseItem {
    KVType pair;
    uint64_t prev;
    uint64_t next;
  };
  struct DenseBlock {
    uint8_t meta[kBlockSlots];
    alignas(Any) unsigned char items[kBlockSlots * sizeof(DenseItem)];
  };
  static_assert(sizeof(DenseItem) == 48 && sizeof(DenseBlock) == 784, "blocks are ABI");

  MapBaseObj() = default;

  bool IsSmallMap() const { return (slots_ & kSmallTagMask) != 0; }
  uint64_t NumSlots() const { return slots_ & ~kSmallTagMask; }
  DenseItem* ItemAt(uint64_t slot) const {
    DenseBlock* block = static_cast<DenseBlock*>(data_) + slot / kBlockSlots;
    return reinterpret_cast<DenseItem*>(block->items) + slot % kBlockSlots;
  }
  KVType* PairAt(uint64_t index) const {
    return IsSmallMap() ? static_cast<KVType*>(data_) + index : &ItemAt(index)->pair;
  }
  uint64_t NextIndex(uint64_t index) const {
    return IsSmallMap() ? index + 1 : ItemAt(index)->next;
  }
  uint64_t PrevIndex(uint64_t index) const {
    if (IsSmallMap()) return index - 1;
    return index == kInvalidIndex ? iter_list_tail_ : ItemAt(index)->prev;
  }

  /// Fresh table of the given node type (Map or Dict) with one strong reference.
  static inline ObjectPtr<Object> CreateEmpty(int32_t type_index);
  static inline ObjectPtr<Object> CreateCopy(int32_t type_index, const MapBaseObj* from);

  // Fields of both layouts, at their ABI offsets; the last three are used by the dense one only
  // and overlap the inline pairs of the small one.
  void* data_;
  uint64_t size_;
  uint64_t slots_;
  void (*data_deleter_)(void*);
  uint32_t fib_shift_;
  uint64_t iter_list_head_;
  uint64_t iter_list_tail_;

  template <typename, typename, typename>
  friend class Map;
  template <typename, typename, typename>
  friend class Dict;
  friend struct detail::MapTable;
};

static_assert(sizeof(MapBaseObj) == 80, "the dense header is ABI");

/// Tables have inline room that only their own factories provide.
template <>
ObjectPtr<MapBaseObj> make_object() = delete;

namespace detail {

/// Iterator of Map<K, V> and Dict<K, V>: yields pairs by value.
template <typename K, typename V>
class MapIterator {
 public:
  using iterator_category = std::bidirectional_iterator_tag;
  using difference_type = int64_t;
  using value_type = const std::pair<K, V>;
  using pointer = value_type*;
  using reference = value_type;

  MapIterator() = default;
  explicit MapIterator(const MapBaseObj::iterator& itr) : itr_(itr) {}
  bool operator==(const MapIterator& other) const { return itr_ == other.itr_; }
  bool operator!=(const MapIterator& other) const { return itr_ != other.itr_; }
  /// Pairs are temporaries: use `(*it).first`.
  pointer operator->() const = delete;
  reference operator*() const {
    const MapBaseObj::KVType& pair = *itr_;
    return std::pair<K, V>(AnyUnsafe::CopyFromAnyViewAfterCheck<K>(pair.first),
                           AnyUnsafe::CopyFromAnyViewAfterCheck<V>(pair.second));
  }
  MapIterator& operator++() {
    ++itr_;
    return *this;
  }
  MapIterator& operator--() {
    --itr_;
    return *this;
  }
  MapIterator operator++(int) {
    MapIterator copy = *this;
    ++itr_;
    return copy;
  }
  MapIterator operator--(int) {
    MapIterator copy = *this;
    --itr_;
    return copy;
  }

 private:
  MapBaseObj::iterator itr_;
};

/// Whether a table of KU to VU may be viewed as a different table type of K to V.
template <typename K, typename V, typename KU, typename VU>
inline constexpr bool is_map_upcast_v = !(std::is_same_v<K, KU> && std::is_same_v<V, VU>) &&
                                        type_subsumes_v<K, KU> && type_subsumes_v<V, VU>;

template <typename Table, typename K, typename V, typename = void>
inline constexpr bool is_hash_table_v = false;
template <typename Table, typename K, typename V>
inline constexpr bool is_hash_table_v<Table, K, V, std::void_t<typename Table::hasher>> =
    std::is_same_v<typename Table::key_type, K> && std::is_same_v<typename Table::mapped_type, V>;

template <typename T>
TVM_FFI_INLINE bool ElementMatches(const Any& cell) {
  return AnyUnsafe::CheckAnyStrict<T>(cell);
}

/// Conversion rules of Map<K, V> and Dict<K, V>: own kind shared when every entry matches, else
/// a converted copy from either kind. Derived offers kPrimaryTypeIndex, kOtherTypeIndex,
/// kTypeName.
template <typename Derived, typename MapRef, typename K, typename V>
struct MapTypeTraitsBase : public ObjectRefTypeTraitsBase<MapRef> {
  using Base = ObjectRefTypeTraitsBase<MapRef>;
  static constexpr bool kAnyEntry = std::is_same_v<K, Any> && std::is_same_v<V, Any>;

  static bool CheckAnyStrict(const TVMFFIAny* src) {
    if (src->type_index != Derived::kPrimaryTypeIndex) return false;
    if constexpr (!kAnyEntry) {
      for (const auto& [key, value] : *Table(src)) {
        if (!ElementMatches<K>(key) || !ElementMatches<V>(value)) return false;
      }
    }
    return true;
  }
  static std::string GetMismatchTypeInfo(const TVMFFIAny* src) {
    if (!IsTable(src)) return TypeTraitsBase::GetMismatchTypeInfo(src);
    if constexpr (!kAnyEntry) {
      const std::string name = Derived::kTypeName;
      for (const auto& [key, value] : *Table(src)) {
        if (!ElementMatches<K>(key) && !TryCastElement<K>(key).has_value()) {
          return name + "[some key is " + AnyUnsafe::GetMismatchTypeInfo<K>(key) + ", V]";
        }
        if (!ElementMatches<V>(value) && !TryCastElement<V>(value).has_value()) {
          return name + "[K, some value is " + AnyUnsafe::GetMismatchTypeInfo<V>(value) + "]";
        }
      }
    }
    return TypeTraitsBase::GetMismatchTypeInfo(src);
  }
  static std::optional<MapRef> TryCastFromAnyView(const TVMFFIAny* src) {
    if (CheckAnyStrict(src)) return Base::CopyFromAnyViewAfterCheck(src);
    if (!IsTable(src)) return std::nullopt;
    MapRef result;
    for (const auto& [raw_key, raw_value] : *Table(src)) {
      std::optional<K> key = TryCastElement<K>(raw_key);
      if (!key.has_value()) return std::nullopt;
      std::optional<V> value = TryCastElement<V>(raw_value);
      if (!value.has_value()) return std::nullopt;
      result.Set(*std::move(key), *std::move(value));
    }
    return result;
  }
  static std::string TypeStr() { return CompoundTypeStr<K, V>(Derived::kTypeName); }

 private:
  static bool IsTable(const TVMFFIAny* src) {
    return src->type_index == Derived::kPrimaryTypeIndex ||
           src->type_index == Derived::kOtherTypeIndex;
  }
  static const MapBaseObj* Table(const TVMFFIAny* src) {
    return ObjectUnsafe::RawObjectPtrFromUnowned<MapBaseObj>(src->v_obj);
  }
};

}  // namespace detail
}  // namespace ffi
}  // namespace tvm

#include <tvm/ffi/container/map_table.h>

#endif  // TVM_FFI_CONTAINER_MAP_BASE_H_
