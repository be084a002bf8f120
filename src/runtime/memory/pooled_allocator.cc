// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file pooled_allocator.cc
/// The pool, and tensors that return to it instead of being destroyed.
#include "runtime/memory/pooled_allocator.h"

#include <tvm/runtime/device_api.h>
#include <tvm/runtime/logging.h>

#include <algorithm>
#include <utility>

namespace tvm {
namespace runtime {
namespace memory {

using ffi::detail::ObjectUnsafe;

/// Tensor with room for its own shape. Its deleter puts it back into the pool it came from.
class PooledTensorObj final : public ffi::TensorObj {
 public:
  static constexpr int kMaxRank = 8;

  static PooledTensorObj* Create(PooledAllocator* pool, Buffer buffer, size_t shard) {
    ffi::ObjectPtr<PooledTensorObj> ptr = ffi::make_object<PooledTensorObj>();
    auto* self = ptr.get();
    self->pool_ = pool;
    self->buffer_ = buffer;
    self->shard_ = shard;
    TVMFFIObject* header = ObjectUnsafe::TVMFFIObjectPtrFromObjectPtr(ptr);
    self->destroy_ = header->deleter;
    header->deleter = &Recycle;
    // The one reference now belongs to the caller.
    ObjectUnsafe::MoveObjectPtrToTVMFFIObjectPtr(std::move(ptr));
    return self;
  }

  /// Makes a cached or new object a live tensor with one reference.
  Tensor Revive(const ffi::Shape& shape, DLDataType dtype) {
    this->data = buffer_.data;
    this->device = buffer_.device;
    this->ndim = static_cast<int32_t>(shape.size());
    this->dtype = dtype;
    this->byte_offset = 0;
    this->shape = dims_;
    this->strides = dims_ + kMaxRank;
    int64_t stride = 1;
    for (int i = this->ndim - 1; i >= 0; --i) {
      dims_[i] = shape[static_cast<size_t>(i)];
      dims_[kMaxRank + i] = stride;
      stride =
          static_cast<int64_t>(static_cast<uint64_t>(stride) * static_cast<uint64_t>(dims_[i]));
    }
    header_.combined_ref_count = ffi::detail::kCombinedRefCountBothOne;
    return Tensor(ObjectUnsafe::ObjectPtrFromOwned<ffi::TensorObj>(&header_));
  }

  /// Ends the object for good; its buffer is the caller's.
  void Destroy() { destroy_(&header_, kTVMFFIObjectDeleterFlagBitMaskBoth); }

  const Buffer& buffer() const { return buffer_; }
  size_t shard() const { return shard_; }
  PooledTensorObj* next = nullptr;

 private:
  static void Recycle(void* handle, int flags) {
    // Weak pointers keep the object, and with it the buffer.
    if ((flags & kTVMFFIObjectDeleterFlagBitMaskWeak) == 0) return;
    auto* self = static_cast<PooledTensorObj*>(
        ObjectUnsafe::RawObjectPtrFromUnowned<ffi::TensorObj>(static_cast<TVMFFIObject*>(handle)));
    self->pool_->PutTensor(self);
  }

  PooledAllocator* pool_ = nullptr;
  Buffer buffer_;
  size_t shard_ = 0;
  decltype(TVMFFIObject::deleter) destroy_ = nullptr;
  int64_t dims_[2 * kMaxRank];
};

size_t PooledAllocator::RoundUp(size_t nbytes) {
  TVM_REQUIRE(nbytes <= SIZE_MAX - kPageSize, ValueError)
      << "cannot allocate " << nbytes << " bytes";
  return std::max((nbytes + kPageSize - 1) / kPageSize * kPageSize, kPageSize);
}

PooledAllocator::Shard* PooledAllocator::ThisThreadShard() {
  static std::atomic<size_t> next{0};
  static thread_local size_t index = next.fetch_add(1, std::memory_order_relaxed) % kNumShards;
  return &shards_[index];
}

void PooledAllocator::CountInUse(size_t size) {
  size_t now = in_use_.fetch_add(size, std::memory_order_relaxed) + size;
  size_t peak = peak_.load(std::memory_order_relaxed);
  while (now > peak && !peak_.compare_exchange_weak(peak, now, std::memory_order_relaxed)) {
  }
}

void PooledAllocator::TakeFromCache(size_t size) {
  cached_.fetch_sub(size, std::memory_order_relaxed);
  CountInUse(size);
}

void PooledAllocator::AddToCache(size_t size) {
  in_use_.fetch_sub(size, std::memory_order_relaxed);
  size_t limit = std::max(kMinCacheLimit, peak_.load(std::memory_order_relaxed));
  if (cached_.load(std::memory_order_relaxed) + size > limit) ReleaseAll();
  cached_.fetch_add(size, std::memory_order_relaxed);
}

void* PooledAllocator::DeviceAlloc(Device dev, size_t size, size_t alignment, DLDataType hint) {
  DeviceAPI* api = DeviceAPI::Get(dev);
  try {
    return api->AllocDataSpace(dev, size, alignment, hint);
  } catch (const ffi::Error& e) {
    LOG(WARNING) << "PooledAllocator got an error while allocating " << size << " bytes on "
                 << DeviceToString(dev) << ": " << e.what();
    LOG(WARNING) << "Releasing " << CachedMemory() << " cached bytes and trying again.";
    ReleaseAll();
    return api->AllocDataSpace(dev, size, alignment, hint);
  }
}

Buffer PooledAllocator::Alloc(Device dev, size_t nbytes, size_t alignment, DLDataType type_hint) {
  size_t size = RoundUp(nbytes);
  {
    std::lock_guard<std::mutex> lock(mu_);
    auto it = free_.find(Key{dev, size});
    if (it != free_.end() && !it->second.empty() &&
        reinterpret_cast<uintptr_t>(it->second.back().data) % alignment == 0) {
      Buffer buf = it->second.back();
      it->second.pop_back();
      TakeFromCache(size);
      return buf;
    }
  }
  Buffer buf{nullptr, size, dev, kPooled};
  buf.data = DeviceAlloc(dev, size, alignment, type_hint);
  CountInUse(size);
  return buf;
}

void PooledAllocator::Free(const Buffer& buffer) {
  AddToCache(buffer.size);
  std::lock_guard<std::mutex> lock(mu_);
  free_[Key{buffer.device, buffer.size}].push_back(buffer);
}

Tensor PooledAllocator::Empty(ffi::Shape shape, DLDataType dtype, Device dev,
                              ffi::Optional<ffi::String> mem_scope) {
  if (shape.size() > PooledTensorObj::kMaxRank ||
      (mem_scope.has_value() && !mem_scope.value().empty() && mem_scope.value() != "global")) {
    return Allocator::Empty(std::move(shape), dtype, dev, std::move(mem_scope));
  }
  size_t size = RoundUp(ffi::GetDataSize(static_cast<size_t>(shape.Product()), dtype));
  Shard* shard = ThisThreadShard();
  {
    std::lock_guard<std::mutex> lock(shard->mu);
    auto it = shard->tensors.find(Key{dev, size});
    if (it != shard->tensors.end() && it->second != nullptr) {
      PooledTensorObj* tensor = it->second;
      it->second = tensor->next;
      TakeFromCache(size);
      return tensor->Revive(shape, dtype);
    }
  }
  Buffer buf = Alloc(dev, size, kAllocAlignment, dtype);
  return PooledTensorObj::Create(this, buf, static_cast<size_t>(shard - shards_))
      ->Revive(shape, dtype);
}

void PooledAllocator::PutTensor(PooledTensorObj* tensor) {
  AddToCache(tensor->buffer().size);
  Shard& shard = shards_[tensor->shard()];
  std::lock_guard<std::mutex> lock(shard.mu);
  PooledTensorObj*& head = shard.tensors[Key{tensor->buffer().device, tensor->buffer().size}];
  tensor->next = head;
  head = tensor;
}

void PooledAllocator::ReleaseAll() {
  std::vector<Buffer> buffers;
  {
    std::lock_guard<std::mutex> lock(mu_);
    for (auto& [key, list] : free_) buffers.insert(buffers.end(), list.begin(), list.end());
    free_.clear();
  }
  for (Shard& shard : shards_) {
    std::lock_guard<std::mutex> lock(shard.mu);
    for (auto& [key, head] : shard.tensors) {
      while (head != nullptr) {
        PooledTensorObj* tensor = head;
        head = tensor->next;
        buffers.push_back(tensor->buffer());
        tensor->Destroy();
      }
    }
    shard.tensors.clear();
  }
  for (const Buffer& buf : buffers) {
    DeviceAPI::Get(buf.device)->FreeDataSpace(buf.device, buf.data);
    cached_.fetch_sub(buf.size, std::memory_order_relaxed);
  }
}

}  // namespace memory
}  // namespace runtime
}  // namespace tvm
