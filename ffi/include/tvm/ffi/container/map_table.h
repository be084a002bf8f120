// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors

/// Algorithms of the hash table behind Map and Dict. Layout and probe sequence are ABI, see
/// map_base.h; they are compiled into every client, so that tables pass between libraries.
///
/// Dense tables: a key's home slot is (factor * hash) >> fib_shift. All keys of one home form a
/// chain that starts there; a slot's meta byte says whether it heads a chain (bit 7 clear) and
/// how far the next link is (index into the jump table, 0 ends the chain). A slot in the middle
/// of a foreign chain is evicted when its home owner arrives.
#ifndef TVM_FFI_CONTAINER_MAP_TABLE_H_
#define TVM_FFI_CONTAINER_MAP_TABLE_H_

#include <tvm/ffi/container/map_base.h>
#include <tvm/ffi/memory.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <new>

namespace tvm {
namespace ffi {
namespace detail {
namespace map_table {

inline constexpr uint64_t kFibonacciFactor = 11400714819323198485ULL;
inline constexpr uint64_t kMaxSmallSlots = 4;
inline constexpr uint64_t kInitSmallSlots = 2;
inline constexpr uint64_t kInitDenseSlots = 8;
inline constexpr double kMaxLoad = 0.99;

inline constexpr uint8_t kEmpty = 0xFF;
inline constexpr uint8_t kProtected = 0xFE;  ///< reserved while the former content moves away
inline constexpr uint8_t kTailBit = 0x80;
inline constexpr uint8_t kJumpMask = 0x7F;

inline constexpr size_t kNumJumps = 126;

inline constexpr uint64_t Triangular(uint64_t n) {
  return n % 2 == 0 ? n / 2 * (n + 1) : (n + 1) / 2 * n;
}

/// Distances between chain links: 0..15, then triangular numbers, which modulo a power of two
/// reach every slot; the steep end serves huge tables.
inline constexpr std::array<uint64_t, kNumJumps> MakeJumpTable() {
  constexpr uint64_t kSteep[] = {
      130,        195,        292,       438,       657,       986,       1478,      2217,
      3326,       4988,       7482,      11223,     16835,     25252,     37877,     56816,
      85223,      127835,     191752,    287627,    431440,    647160,    970740,    1456110,
      2184165,    3276247,    4914370,   7371555,   11057333,  16585999,  24878998,  37318497,
      55977745,   83966618,   125949926, 188924889, 283387334, 425081001, 637621501, 956432251,
      1434648376, 2151972564, 3227958845};
  std::array<uint64_t, kNumJumps> jumps{};
  size_t i = 0;
  for (; i < 16; ++i) jumps[i] = i;
  for (uint64_t n = 6; n <= 72; ++n) jumps[i++] = Triangular(n);
  for (uint64_t n : kSteep) jumps[i++] = Triangular(n);
  return jumps;
}

inline constexpr std::array<uint64_t, kNumJumps> kJumps = MakeJumpTable();
static_assert(kJumps[kNumJumps - 1] == Triangular(3227958845), "the jump table must be full");

}  // namespace map_table

/// Operations on the private fields of a table.
struct MapTable {
  using KVType = MapBaseObj::KVType;
  using DenseItem = MapBaseObj::DenseItem;
  using DenseBlock = MapBaseObj::DenseBlock;
  static constexpr uint64_t kInvalid = MapBaseObj::kInvalidIndex;
  static constexpr uint64_t kBlockSlots = MapBaseObj::kBlockSlots;
  /// Pairs of a fresh table follow the common header and overlap the dense one.
  static constexpr size_t kInlineOffset = 56;

  // -- memory --------------------------------------------------------------------------------

  static void FreeSpace(void* data) { ::operator delete(data); }

  /// Table node with room for `slots` inline pairs, at least the dense header.
  static MapBaseObj* NewNode(int32_t type_index, uint64_t slots) {
    const size_t bytes =
        std::max(sizeof(MapBaseObj), kInlineOffset + static_cast<size_t>(slots) * sizeof(KVType));
    auto* table = ::new (::operator new(bytes)) MapBaseObj();
    TVMFFIObject* header = detail::ObjectUnsafe::GetHeader(table);
    header->combined_ref_count = detail::kCombinedRefCountBothOne;
    header->type_index = type_index;
    header->__padding = 0;
    header->deleter = DeleteNode;
    table->data_ = reinterpret_cast<char*>(table) + kInlineOffset;
    table->size_ = 0;
    table->slots_ = MapBaseObj::kSmallTagMask | slots;
    table->data_deleter_ = nullptr;
    return table;
  }
  static void DeleteNode(void* self, int flags) {
    auto* table = static_cast<MapBaseObj*>(static_cast<Object*>(self));
    DestroyBounded(
        self, flags, DeleteNode, [table] { table->~MapBaseObj(); },
        [self] { ::operator delete(self); });
  }

  static uint64_t NumBlocks(uint64_t slots) { return (slots + kBlockSlots - 1) / kBlockSlots; }
  static void* NewBlocks(uint64_t slots) {
    auto* blocks = static_cast<DenseBlock*>(::operator new(NumBlocks(slots) * sizeof(DenseBlock)));
    for (uint64_t i = 0; i < NumBlocks(slots); ++i) {
      std::memset(blocks[i].meta, map_table::kEmpty, sizeof(blocks[i].meta));
    }
    return blocks;
  }

  static void DestroyEntries(MapBaseObj* table) {
    // Clients that rehash into a new node leave the old one without storage.
    if (table->data_ == nullptr || table->size_ == 0) return;
    if (table->IsSmallMap()) {
      auto* pairs = static_cast<KVType*>(table->data_);
      for (uint64_t i = 0; i < table->size_; ++i) pairs[i].~KVType();
      return;
    }
    for (uint64_t slot = table->iter_list_head_; slot != kInvalid;) {
      DenseItem* item = table->ItemAt(slot);
      slot = item->next;
      item->pair.~KVType();
    }
  }

  // -- dense basics --------------------------------------------------------------------------

  static uint8_t& Meta(const MapBaseObj* table, uint64_t slot) {
    return static_cast<DenseBlock*>(table->data_)[slot / kBlockSlots].meta[slot % kBlockSlots];
  }
  static bool IsHead(uint8_t meta) { return (meta & map_table::kTailBit) == 0; }
  static uint64_t Jump(const MapBaseObj* table, uint64_t slot, uint8_t jump_index) {
    return (slot + map_table::kJumps[jump_index]) & (table->slots_ - 1);
  }
  static uint64_t HomeOf(const MapBaseObj* table, const Any& key) {
    return (map_table::kFibonacciFactor * AnyHash()(key)) >> table->fib_shift_;
  }
  static void SetJump(const MapBaseObj* table, uint64_t slot, uint8_t jump_index) {
    uint8_t& meta = Meta(table, slot);
    meta = static_cast<uint8_t>((meta & map_table::kTailBit) | jump_index);
  }

  /// Slot of `key`, or kInvalid.
  static uint64_t FindDense(const MapBaseObj* table, const Any& key) {
    uint64_t slot = HomeOf(table, key);
    if (!IsHead(Meta(table, slot))) return kInvalid;
    const AnyEqual equal;
    while (true) {
      if (equal(table->ItemAt(slot)->pair.first, key)) return slot;
      const uint8_t jump_index = Meta(table, slot) & map_table::kJumpMask;
      if (jump_index == 0) return kInvalid;
      slot = Jump(table, slot, jump_index);
    }
  }
  static uint64_t FindSmall(const MapBaseObj* table, const Any& key) {
    const auto* pairs = static_cast<const KVType*>(table->data_);
    const AnyEqual equal;
    for (uint64_t i = 0; i < table->size_; ++i) {
      if (equal(pairs[i].first, key)) return i;
    }
    return kInvalid;
  }

  // -- insertion order -----------------------------------------------------------------------

  static void LinkAtEnd(MapBaseObj* table, uint64_t slot) {
    DenseItem* item = table->ItemAt(slot);
    item->prev = table->iter_list_tail_;
    item->next = kInvalid;
    if (table->iter_list_tail_ == kInvalid) {
      table->iter_list_head_ = slot;
    } else {
      table->ItemAt(table->iter_list_tail_)->next = slot;
    }
    table->iter_list_tail_ = slot;
  }
  static void Unlink(MapBaseObj* table, uint64_t slot) {
    const DenseItem* item = table->ItemAt(slot);
    PointNeighboursAt(table, item, item->next, item->prev);
  }
  /// Makes the predecessor of `item` continue at `from_prev` and its successor come from
  /// `from_next`.
  static void PointNeighboursAt(MapBaseObj* table, const DenseItem* item, uint64_t from_prev,
                                uint64_t from_next) {
    (item->prev == kInvalid ? table->iter_list_head_ : table->ItemAt(item->prev)->next) = from_prev;
    (item->next == kInvalid ? table->iter_list_tail_ : table->ItemAt(item->next)->prev) = from_next;
  }
  /// Moves the content of a slot to free memory at another; meta bytes are the caller's.
  static void MoveItem(MapBaseObj* table, uint64_t from, uint64_t to) {
    std::memcpy(static_cast<void*>(table->ItemAt(to)), table->ItemAt(from), sizeof(DenseItem));
    PointNeighboursAt(table, table->ItemAt(to), to, to);
  }

  // -- dense insertion -----------------------------------------------------------------------

  /// Jump index from `slot` to an empty slot; 0 when none is in reach.
  static uint8_t FindEmpty(const MapBaseObj* table, uint64_t slot) {
    for (size_t i = 1; i < map_table::kNumJumps; ++i) {
      const auto jump_index = static_cast<uint8_t>(i);
      if (Meta(table, Jump(table, slot, jump_index)) == map_table::kEmpty) return jump_index;
    }
    return 0;
  }

  /// Frees `slot`, which belongs to a foreign chain, by moving it and all later links of that
  /// chain. False when room ran out: the entries are all alive and linked in insertion order,
  /// but the table must be rebuilt.
  static bool Evict(MapBaseObj* table, uint64_t slot) {
    uint64_t before = HomeOf(table, table->ItemAt(slot)->pair.first);
    while (true) {
      const uint64_t next = Jump(table, before, Meta(table, before) & map_table::kJumpMask);
      if (next == slot) break;
      before = next;
    }
    for (uint64_t moving = slot;;) {
      const uint8_t next_jump = Meta(table, moving) & map_table::kJumpMask;
      const uint64_t next = Jump(table, moving, next_jump);
      const uint8_t jump_index = FindEmpty(table, before);
      if (jump_index == 0) return false;
      const uint64_t target = Jump(table, before, jump_index);
      MoveItem(table, moving, target);
      SetJump(table, before, jump_index);
      Meta(table, target) = map_table::kTailBit;
      // The freed home stays taken until the owner arrives; other slots may serve the chain.
      Meta(table, moving) = moving == slot ? map_table::kProtected : map_table::kEmpty;
      if (next_jump == 0) return true;
      before = target;
      moving = next;
    }
  }

  /// Slot prepared for a new key (meta set, content raw), or kInvalid when the table must grow.
  static uint64_t ClaimSlot(MapBaseObj* table, const Any& key) {
    if (static_cast<double>(table->size_ + 1) >
        static_cast<double>(table->slots_) * map_table::kMaxLoad) {
      return kInvalid;
    }
    const uint64_t home = HomeOf(table, key);
    if (Meta(table, home) != map_table::kEmpty) {
      if (IsHead(Meta(table, home))) {
        uint64_t tail = home;
        while (uint8_t jump_index = Meta(table, tail) & map_table::kJumpMask) {
          tail = Jump(table, tail, jump_index);
        }
        const uint8_t jump_index = FindEmpty(table, tail);
        if (jump_index == 0) return kInvalid;
        const uint64_t slot = Jump(table, tail, jump_index);
        SetJump(table, tail, jump_index);
        Meta(table, slot) = map_table::kTailBit;
        return slot;
      }
      if (!Evict(table, home)) return kInvalid;
    }
    Meta(table, home) = 0;
    return home;
  }

  static void PlaceAt(MapBaseObj* table, uint64_t slot, KVType&& pair) {
    ::new (&table->ItemAt(slot)->pair) KVType(std::move(pair));
    LinkAtEnd(table, slot);
    ++table->size_;
  }

  /// Points `table` at fresh, empty dense storage. The old entries are the caller's.
  static void ResetDense(MapBaseObj* table, uint64_t slots) {
    uint32_t shift = 64;
    for (uint64_t n = slots; n > 1; n >>= 1) --shift;
    table->data_ = NewBlocks(slots);
    table->data_deleter_ = FreeSpace;
    table->size_ = 0;
    table->slots_ = slots;
    table->fib_shift_ = shift;
    table->iter_list_head_ = kInvalid;
    table->iter_list_tail_ = kInvalid;
  }

  /// Moves all entries, in order, into dense storage with at least `slots` slots.
  static void Rebuild(MapBaseObj* table, uint64_t slots) {
    const bool was_small = table->IsSmallMap();
    void* old_data = table->data_;
    void (*old_deleter)(void*) = table->data_deleter_;
    const uint64_t old_size = table->size_;
    const uint64_t old_head = was_small ? 0 : table->iter_list_head_;
    // Inline pairs lie where the dense header goes: take them out first.
    alignas(KVType) unsigned char inline_copy[map_table::kMaxSmallSlots * sizeof(KVType)];
    const void* small_pairs = nullptr;
    if (was_small) {
      std::memcpy(inline_copy, old_data, old_size * sizeof(KVType));
      small_pairs = inline_copy;
    }
    auto old_item = [&](uint64_t slot) {
      auto* block = static_cast<DenseBlock*>(old_data) + slot / kBlockSlots;
      return reinterpret_cast<DenseItem*>(block->items) + slot % kBlockSlots;
    };
    for (;; slots *= 2) {
      ResetDense(table, slots);
      bool fits = true;
      uint64_t position = old_head;
      for (uint64_t i = 0; i < old_size && fits; ++i) {
        const void* pair = was_small ? static_cast<const char*>(small_pairs) + i * sizeof(KVType)
                                     : static_cast<const void*>(&old_item(position)->pair);
        if (!was_small) position = old_item(position)->next;
        const auto* key = static_cast<const Any*>(pair);
        const uint64_t slot = ClaimSlot(table, *key);
        if (slot == kInvalid) {
          fits = false;
          break;
        }
        // Bits move; a retry simply drops the half-built copy without destructors.
        std::memcpy(static_cast<void*>(&table->ItemAt(slot)->pair), pair, sizeof(KVType));
        LinkAtEnd(table, slot);
        ++table->size_;
      }
      if (fits) break;
      FreeSpace(table->data_);
    }
    if (old_deleter != nullptr) old_deleter(old_data);
  }

  static void InsertDense(MapBaseObj* table, KVType&& pair) {
    uint64_t slot;
    while ((slot = ClaimSlot(table, pair.first)) == kInvalid) Rebuild(table, table->slots_ * 2);
    PlaceAt(table, slot, std::move(pair));
  }

  static void InsertSmall(MapBaseObj* table, KVType&& pair) {
    const uint64_t slots = table->NumSlots();
    if (table->size_ == slots) {
      if (slots >= map_table::kMaxSmallSlots) {
        Rebuild(table, map_table::kInitDenseSlots);
        InsertDense(table, std::move(pair));
        return;
      }
      GrowSmall(table, map_table::kMaxSmallSlots);
    }
    ::new (static_cast<KVType*>(table->data_) + table->size_) KVType(std::move(pair));
    ++table->size_;
  }
  static void GrowSmall(MapBaseObj* table, uint64_t slots) {
    void* pairs = ::operator new(slots * sizeof(KVType));
    std::memcpy(pairs, table->data_, table->size_ * sizeof(KVType));
    if (table->data_deleter_ != nullptr) table->data_deleter_(table->data_);
    table->data_ = pairs;
    table->data_deleter_ = FreeSpace;
    table->slots_ = MapBaseObj::kSmallTagMask | slots;
  }

  // -- removal -------------------------------------------------------------------------------

  static void EraseSmall(MapBaseObj* table, uint64_t index) {
    auto* pairs = static_cast<KVType*>(table->data_);
    KVType removed = std::move(pairs[index]);  // destroyed last: that may run user code
    pairs[index].~KVType();
    std::memmove(static_cast<void*>(pairs + index), pairs + index + 1,
                 (table->size_ - index - 1) * sizeof(KVType));
    --table->size_;
  }

  static void EraseDense(MapBaseObj* table, uint64_t slot) {
    KVType removed = std::move(table->ItemAt(slot)->pair);  // destroyed last, as above
    Unlink(table, slot);
    table->ItemAt(slot)->pair.~KVType();
    --table->size_;
    if ((Meta(table, slot) & map_table::kJumpMask) == 0) {
      if (!IsHead(Meta(table, slot))) {
        uint64_t before = HomeOf(table, removed.first);
        while (true) {
          const uint64_t next = Jump(table, before, Meta(table, before) & map_table::kJumpMask);
          if (next == slot) break;
          before = next;
        }
        SetJump(table, before, 0);
      }
      Meta(table, slot) = map_table::kEmpty;
      return;
    }
    // The last link fills the hole, so that the rest of the chain keeps its jumps.
    uint64_t before = slot, last = slot;
    while (uint8_t jump_index = Meta(table, last) & map_table::kJumpMask) {
      before = last;
      last = Jump(table, last, jump_index);
    }
    MoveItem(table, last, slot);
    SetJump(table, before, 0);
    Meta(table, last) = map_table::kEmpty;
  }

  // -- copying -------------------------------------------------------------------------------

  static MapBaseObj* Copy(int32_t type_index, const MapBaseObj* from) {
    if (from->IsSmallMap()) {
      MapBaseObj* copy =
          NewNode(type_index, std::max(map_table::kInitSmallSlots, from->NumSlots()));
      const auto* pairs = static_cast<const KVType*>(from->data_);
      for (uint64_t i = 0; i < from->size_; ++i) {
        ::new (static_cast<KVType*>(copy->data_) + i) KVType(pairs[i]);
        ++copy->size_;
      }
      return copy;
    }
    MapBaseObj* copy = NewNode(type_index, 0);
    ResetDense(copy, from->slots_);
    // Same layout, bit by bit; then each live pair gets its own references.
    std::memcpy(copy->data_, from->data_, NumBlocks(from->slots_) * sizeof(DenseBlock));
    copy->size_ = from->size_;
    copy->fib_shift_ = from->fib_shift_;
    copy->iter_list_head_ = from->iter_list_head_;
    copy->iter_list_tail_ = from->iter_list_tail_;
    for (uint64_t slot = from->iter_list_head_; slot != kInvalid; slot = from->ItemAt(slot)->next) {
      ::new (&copy->ItemAt(slot)->pair) KVType(from->ItemAt(slot)->pair);
    }
    return copy;
  }

  static ObjectPtr<Object> Own(MapBaseObj* table) {
    return detail::ObjectUnsafe::ObjectPtrFromOwned<Object>(static_cast<Object*>(table));
  }
};

}  // namespace detail

inline MapBaseObj::~MapBaseObj() noexcept {
  detail::MapTable::DestroyEntries(this);
  if (data_deleter_ != nullptr) data_deleter_(data_);
}

inline ObjectPtr<Object> MapBaseObj::CreateEmpty(int32_t type_index) {
  return detail::MapTable::Own(
      detail::MapTable::NewNode(type_index, detail::map_table::kInitSmallSlots));
}

inline ObjectPtr<Object> MapBaseObj::CreateCopy(int32_t type_index, const MapBaseObj* from) {
  return detail::MapTable::Own(detail::MapTable::Copy(type_index, from));
}

inline MapBaseObj::iterator MapBaseObj::find(const key_type& key) const {
  const uint64_t index = IsSmallMap() ? detail::MapTable::FindSmall(this, key)
                                      : detail::MapTable::FindDense(this, key);
  return index == kInvalidIndex ? end() : iterator(index, this);
}

inline const Any& MapBaseObj::at(const key_type& key) const {
  const iterator position = find(key);
  if (position == end()) TVM_FFI_THROW(KeyError) << "key is not in Map";
  return position->second;
}

inline void MapBaseObj::erase(const iterator& position) {
  if (position == end()) return;
  if (IsSmallMap()) {
    detail::MapTable::EraseSmall(this, position.index);
  } else {
    detail::MapTable::EraseDense(this, position.index);
  }
}

inline void MapBaseObj::clear() {
  // Taken out first: destructors of entries may look at this table.
  MapBaseObj* content = detail::MapTable::NewNode(type_index(), detail::map_table::kInitSmallSlots);
  ObjectPtr<Object> holder = detail::MapTable::Own(content);
  if (IsSmallMap()) {
    detail::MapTable::GrowSmall(content, NumSlots());
    std::memcpy(content->data_, data_, size_ * sizeof(KVType));
    content->size_ = size_;
    size_ = 0;
    return;
  }
  detail::MapTable::ResetDense(content, slots_);
  std::swap(content->data_, data_);
  std::swap(content->data_deleter_, data_deleter_);
  std::swap(content->size_, size_);
  std::swap(content->iter_list_head_, iter_list_head_);
  std::swap(content->iter_list_tail_, iter_list_tail_);
}

inline void MapBaseObj::InsertOrAssign(Any key, Any value) {
  const iterator position = find(key);
  if (position != end()) {
    std::swap(position->second, value);  // the old value dies at the end
    if (!IsSmallMap()) {
      detail::MapTable::Unlink(this, position.index);
      detail::MapTable::LinkAtEnd(this, position.index);
    }
    return;
  }
  KVType pair(std::move(key), std::move(value));
  if (IsSmallMap()) {
    detail::MapTable::InsertSmall(this, std::move(pair));
  } else {
    detail::MapTable::InsertDense(this, std::move(pair));
  }
}

inline void MapBaseObj::Reserve(uint64_t count) {
  if (IsSmallMap() && count <= detail::map_table::kMaxSmallSlots) {
    if (count > NumSlots()) detail::MapTable::GrowSmall(this, detail::map_table::kMaxSmallSlots);
    return;
  }
  uint64_t slots = detail::map_table::kInitDenseSlots;
  while (slots < count + count / 3) slots *= 2;
  if (IsSmallMap() || slots > slots_) detail::MapTable::Rebuild(this, slots);
}

}  // namespace ffi
}  // namespace tvm
#endif  // TVM_FFI_CONTAINER_MAP_TABLE_H_
