// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file pooled_allocator.h
/// Allocator that keeps freed buffers, and whole tensors, for the next request of their size.
#ifndef TVM_RUNTIME_MEMORY_POOLED_ALLOCATOR_H_
#define TVM_RUNTIME_MEMORY_POOLED_ALLOCATOR_H_

#include <tvm/runtime/memory/memory_manager.h>

#include <atomic>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

namespace tvm {
namespace runtime {
namespace memory {

class PooledTensorObj;

/// Sizes are rounded to pages and reused only exactly. What is cached stays below the larger of
/// kMinCacheLimit and the peak in use, so that ever new shapes do not make memory grow.
class TVM_RUNTIME_DLL PooledAllocator final : public Allocator {
 public:
  static constexpr size_t kPageSize = 4096;
  static constexpr size_t kMinCacheLimit = size_t{256} << 20;

  PooledAllocator() : Allocator(kPooled) {}
  ~PooledAllocator() final { ReleaseAll(); }

  /// The tensor returns with its buffer to this pool, so a repeated call allocates nothing.
  Tensor Empty(ffi::Shape shape, DLDataType dtype, Device dev,
               ffi::Optional<ffi::String> mem_scope = std::nullopt) final;
  using Allocator::Alloc;
  Buffer Alloc(Device dev, size_t nbytes, size_t alignment, DLDataType type_hint) final;
  void Free(const Buffer& buffer) final;
  void Clear() final { ReleaseAll(); }
  size_t UsedMemory() const final {
    return in_use_.load(std::memory_order_relaxed) + cached_.load(std::memory_order_relaxed);
  }
  /// Bytes kept for reuse.
  size_t CachedMemory() const { return cached_.load(std::memory_order_relaxed); }

 private:
  friend class PooledTensorObj;

  struct Key {
    Device dev;
    size_t size;
    bool operator==(const Key& o) const {
      return dev.device_type == o.dev.device_type && dev.device_id == o.dev.device_id &&
             size == o.size;
    }
  };
  struct KeyHash {
    size_t operator()(const Key& k) const {
      return k.size / kPageSize * 0x9E3779B97F4A7C15ULL +
             static_cast<size_t>(k.dev.device_id) * 31 + static_cast<size_t>(k.dev.device_type);
    }
  };
  /// Threads spread over the shards; a tensor returns to the shard it came from, so a lock is
  /// shared only with whoever frees this shard's tensors.
  struct alignas(64) Shard {
    std::mutex mu;
    std::unordered_map<Key, PooledTensorObj*, KeyHash> tensors;
  };
  static constexpr size_t kNumShards = 16;

  static size_t RoundUp(size_t nbytes);
  Shard* ThisThreadShard();
  void* DeviceAlloc(Device dev, size_t size, size_t alignment, DLDataType hint);
  void PutTensor(PooledTensorObj* tensor);
  void TakeFromCache(size_t size);
  /// Counts size bytes as cached; empties the cache first if it would pass the limit.
  void AddToCache(size_t size);
  void CountInUse(size_t size);
  void ReleaseAll();

  std::mutex mu_;
  std::unordered_map<Key, std::vector<Buffer>, KeyHash> free_;
  Shard shards_[kNumShards];
  std::atomic<size_t> in_use_{0};
  std::atomic<size_t> peak_{0};
  std::atomic<size_t> cached_{0};
};

}  // namespace memory
}  // namespace runtime
}  // namespace tvm

#endif  // TVM_RUNTIME_MEMORY_POOLED_ALLOCATOR_H_
