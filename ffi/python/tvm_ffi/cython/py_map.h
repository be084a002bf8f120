// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors

/// Entries of Map and Dict for the binding. The layout of both tables is part of the ABI.
#ifndef TVM_FFI_PYTHON_PY_MAP_H_
#define TVM_FFI_PYTHON_PY_MAP_H_

#include <tvm/ffi/c_api.h>

#include <cstddef>
#include <cstdint>

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

/// Walks the entries in insertion order. The table must not change meanwhile.
class MapCursor {
 public:
  explicit MapCursor(void* handle) : table_(static_cast<MapTable*>(handle)) {
    index_ = table_->IsSmall() ? 0 : table_->head;
  }
  bool Done() const { return table_->IsSmall() ? index_ >= table_->size : index_ == kEnd; }
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

  const char* Entry() const {
    if (table_->IsSmall()) return table_->data + index_ * 2 * sizeof(TVMFFIAny);
    return table_->data + (index_ / kBlockSlots) * kBlockBytes + kBlockSlots +
           (index_ % kBlockSlots) * kItemBytes;
  }

  MapTable* table_;
  uint64_t index_;
};

}  // namespace tvm_ffi_py
#endif  // TVM_FFI_PYTHON_PY_MAP_H_
