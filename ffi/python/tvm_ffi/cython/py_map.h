// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors

/// Elements of sequences and tables for the binding. All layouts here are part of the ABI.
#ifndef TVM_FFI_PYTHON_PY_MAP_H_
#define TVM_FFI_PYTHON_PY_MAP_H_

#include <tvm/ffi/container/map.h>

#include <cstddef>
#include <cstdint>

#include "py_construct.h"

namespace tvm_ffi_py {

/// Object header and table header.
struct MapTable {
  TVMFFIObject header;
  char* data;
  uint64_t size;
  uint64_t slots;
  void (*data_deleter)(void*);
  uint32_t fib_shift;
  uint64_t head;
  uint64_t tail;

  static constexpr uint64_t kSmallTag = uint64_t{1} << 63;
  bool IsSmall() const { return (slots & kSmallTag) != 0; }
};
static_assert(sizeof(MapTable) == 80, "the dense header is ABI");

inline int64_t MapSize(void* handle) {
  return static_cast<int64_t>(static_cast<MapTable*>(handle)->size);
}

/// Walks the entries in insertion order. Does not own the table.
class MapCursor {
 public:
  MapCursor() = default;
  explicit MapCursor(void* handle)
      : table_(static_cast<MapTable*>(handle)),
        data_(table_->data),
        size_(table_->size),
        slots_(table_->slots) {
    index_ = table_->IsSmall() ? 0 : table_->head;
  }
  bool Done() const { return table_->IsSmall() ? index_ >= table_->size : index_ == kEnd; }
  /// No entry came or went since the start, and the current one is still there.
  bool Valid() const {
    if (table_->data != data_ || table_->size != size_ || table_->slots != slots_) return false;
    return table_->IsSmall() || index_ == kEnd || Meta() < kProtected;
  }
  const TVMFFIAny* Key() const { return reinterpret_cast<const TVMFFIAny*>(Entry()); }
  const TVMFFIAny* Value() const { return Key() + 1; }
  void Next() {
    if (table_->IsSmall()) {
      ++index_;
      return;
    }
    constexpr size_t kNextOffset = 2 * sizeof(TVMFFIAny) + sizeof(uint64_t);
    index_ = *reinterpret_cast<const uint64_t*>(Entry() + kNextOffset);
  }

 private:
  static constexpr uint64_t kEnd = ~uint64_t{0};
  static constexpr uint64_t kBlockSlots = 16;
  static constexpr size_t kItemBytes = 48;
  static constexpr size_t kBlockBytes = kBlockSlots * (1 + kItemBytes);
  static constexpr uint8_t kProtected = 0xFE;  // this and 0xFF: no entry in the slot

  const char* Block() const { return table_->data + (index_ / kBlockSlots) * kBlockBytes; }
  uint8_t Meta() const { return static_cast<uint8_t>(Block()[index_ % kBlockSlots]); }
  const char* Entry() const {
    if (table_->IsSmall()) return table_->data + index_ * 2 * sizeof(TVMFFIAny);
    return Block() + kBlockSlots + (index_ % kBlockSlots) * kItemBytes;
  }

  MapTable* table_ = nullptr;
  char* data_ = nullptr;
  uint64_t size_ = 0;
  uint64_t slots_ = 0;
  uint64_t index_ = 0;
};

/// Value of a packed key: 1 and `*out`, 0 if missing, or the status of a failed comparison.
inline int FindPacked(void* handle, const TVMFFIAny* key, const TVMFFIAny** out) {
  const auto* table =
      static_cast<const tvm::ffi::MapBaseObj*>(reinterpret_cast<const tvm::ffi::Object*>(handle));
  TVM_FFI_SAFE_CALL_BEGIN();
  const auto position = table->find(*reinterpret_cast<const tvm::ffi::Any*>(key));
  if (position == table->end()) return 0;
  *out = reinterpret_cast<const TVMFFIAny*>(&position->second);
  return 1;
  TVM_FFI_SAFE_CALL_END();
}

/// Value of a Python key: 1 and `*out`, 0 if missing, -1 with a Python exception set. The value
/// belongs to the table.
inline int FindKey(void* handle, PyObject* key, const TVMFFIAny** out) {
  CallFrame frame;
  if (PackItem(key, &frame) != 0) return -1;
  const int found = FindPacked(handle, &frame.args[0], out);
  if (found >= 0) return found;
  hooks().raise_ffi_error(found);
  return -1;
}

}  // namespace tvm_ffi_py
#endif  // TVM_FFI_PYTHON_PY_MAP_H_
