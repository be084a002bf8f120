// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors

/// Process-wide table of types, their reflected members and their attributes.
///
/// Readers never lock: type records and columns are published once and live forever. Writers
/// (registration at library load) take a mutex.
#ifndef TVM_FFI_SRC_TYPE_TABLE_H_
#define TVM_FFI_SRC_TYPE_TABLE_H_

#include <tvm/ffi/any.h>
#include <tvm/ffi/c_api.h>
#include <tvm/ffi/error.h>

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace tvm {
namespace ffi {

/// Arguments of a type registration, see TVMFFITypeGetOrAllocIndex.
struct TypeRequest {
  int32_t static_index;
  int32_t depth;
  int32_t num_child_slots;
  bool child_slots_can_overflow;
  int32_t parent_index;
};

class TypeTable {
 public:
  static TypeTable* Global();

  /// Index of `key`, or -2.
  int32_t Find(std::string_view key) const;
  int32_t GetOrAllocate(std::string_view key, const TypeRequest& request);
  /// Null for an index nobody registered. Lock free.
  const TVMFFITypeInfo* TryGet(int32_t index) const;
  /// As above, for an index that a caller gave: InternalError when nobody registered it.
  const TVMFFITypeInfo* Get(int64_t index) const;
  void ForEachKey(const std::function<void(std::string_view)>& visit) const;

  void RegisterField(int32_t index, const TVMFFIFieldInfo& info);
  void RegisterMethod(int32_t index, const TVMFFIMethodInfo& info);
  void RegisterMetadata(int32_t index, const TVMFFITypeMetadata& metadata);
  /// Index 0 only creates the column.
  void RegisterAttr(int32_t index, std::string_view name, Any value);
  const TVMFFITypeAttrColumn* FindColumn(std::string_view name) const;

 private:
  /// A type record; `TVMFFITypeInfo` comes first and is what clients see.
  struct Entry : public TVMFFITypeInfo {
    std::string key;
    std::vector<const TVMFFITypeInfo*> ancestors;
    int32_t next_child_slot;  ///< first reserved index not handed out yet
    int32_t last_child_slot;  ///< one past the reserved range
    bool children_can_overflow;
    TVMFFITypeMetadata own_metadata{};
    int32_t field_capacity{0};
    int32_t method_capacity{0};
  };
  struct Column {
    TVMFFITypeAttrColumn view{nullptr, 0, 0};
    int32_t capacity{0};
  };

  // Records are reached through fixed-size pages, so that the address of a slot never changes.
  static constexpr int32_t kPageSize = 1024;
  static constexpr int32_t kMaxPages = 1024;
  using Page = std::atomic<Entry*>[kPageSize];

  TypeTable();
  Entry* Checked(int32_t index) const {
    return const_cast<Entry*>(static_cast<const Entry*>(Get(index)));
  }
  void Publish(int32_t index, Entry* entry);
  int32_t ChooseIndex(std::string_view key, const TypeRequest& request, Entry* parent);
  /// Text that lives as long as the process.
  TVMFFIByteArray Keep(const TVMFFIByteArray& text);

  std::atomic<Page*> pages_[kMaxPages] = {};
  mutable std::shared_mutex mutex_;
  std::unordered_map<std::string_view, int32_t> key_to_index_;
  std::unordered_map<std::string_view, std::unique_ptr<Column>> columns_;
  std::deque<std::string> texts_;
  std::vector<Any> kept_values_;
  std::vector<int32_t> registration_order_;
  int32_t next_dynamic_index_{TypeIndex::kTVMFFIDynObjectBegin};
};

/// For C functions without a status code.
[[noreturn]] void ExitOnError(const char* function, const std::exception& error);

}  // namespace ffi
}  // namespace tvm
#endif  // TVM_FFI_SRC_TYPE_TABLE_H_
