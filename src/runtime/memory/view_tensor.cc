// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file view_tensor.cc
/// Free lists of tensor objects, one a group of threads.
#include "runtime/memory/view_tensor.h"

#include <tvm/ffi/memory.h>

#include <atomic>
#include <utility>

namespace tvm {
namespace runtime {
namespace memory {

namespace {

using ffi::detail::ObjectUnsafe;

class ViewTensorObj;

/// A lock held for a few instructions only.
class SpinLock {
 public:
  void lock() {
    while (flag_.exchange(true, std::memory_order_acquire)) {
      while (flag_.load(std::memory_order_relaxed)) {
      }
    }
  }
  void unlock() { flag_.store(false, std::memory_order_release); }

 private:
  std::atomic<bool> flag_{false};
};

struct alignas(64) Shard {
  SpinLock lock;
  ViewTensorObj* head = nullptr;
};

constexpr size_t kNumShards = 16;

/// Objects may come back after static destructors ran, so the lists are never destroyed.
Shard* Shards() {
  static Shard* shards = new Shard[kNumShards];
  return shards;
}

Shard* ThisThreadShard() {
  static std::atomic<size_t> next{0};
  static thread_local Shard* shard =
      &Shards()[next.fetch_add(1, std::memory_order_relaxed) % kNumShards];
  return shard;
}

class ViewTensorObj final : public ffi::TensorObj {
 public:
  static constexpr int kMaxRank = 8;

  static ViewTensorObj* Get() {
    Shard* shard = ThisThreadShard();
    shard->lock.lock();
    ViewTensorObj* self = shard->head;
    if (self != nullptr) shard->head = self->next_;
    shard->lock.unlock();
    if (self != nullptr) return self;
    ffi::ObjectPtr<ViewTensorObj> ptr = ffi::make_object<ViewTensorObj>();
    self = ptr.get();
    self->home_ = shard;
    self->header_.deleter = &Recycle;
    ObjectUnsafe::MoveObjectPtrToTVMFFIObjectPtr(std::move(ptr));
    return self;
  }

  Tensor Revive(ffi::ObjectPtr<ffi::Object> owner, void* data, uint64_t byte_offset, int ndim,
                const int64_t* shape, DLDataType dtype, Device dev) {
    owner_ = std::move(owner);
    this->data = data;
    this->device = dev;
    this->ndim = ndim;
    this->dtype = dtype;
    this->byte_offset = byte_offset;
    this->shape = dims_;
    this->strides = dims_ + kMaxRank;
    int64_t stride = 1;
    for (int i = ndim - 1; i >= 0; --i) {
      dims_[i] = shape[i];
      dims_[kMaxRank + i] = stride;
      stride =
          static_cast<int64_t>(static_cast<uint64_t>(stride) * static_cast<uint64_t>(shape[i]));
    }
    header_.combined_ref_count = ffi::detail::kCombinedRefCountBothOne;
    return Tensor(ObjectUnsafe::ObjectPtrFromOwned<ffi::TensorObj>(&header_));
  }

 private:
  static void Recycle(void* handle, int flags) {
    auto* self = static_cast<ViewTensorObj*>(
        ObjectUnsafe::RawObjectPtrFromUnowned<ffi::TensorObj>(static_cast<TVMFFIObject*>(handle)));
    if ((flags & kTVMFFIObjectDeleterFlagBitMaskStrong) != 0) self->owner_.reset();
    if ((flags & kTVMFFIObjectDeleterFlagBitMaskWeak) == 0) return;
    Shard* home = self->home_;
    home->lock.lock();
    self->next_ = home->head;
    home->head = self;
    home->lock.unlock();
  }

  ffi::ObjectPtr<ffi::Object> owner_;
  Shard* home_ = nullptr;
  ViewTensorObj* next_ = nullptr;
  int64_t dims_[2 * kMaxRank];
};

/// For ranks that the recycled objects have no room for.
struct OwnerAlloc {
  ffi::ObjectPtr<ffi::Object> owner;
  void* data;
  void AllocData(DLTensor* t) { t->data = data; }
  void FreeData(DLTensor* t) {}
};

}  // namespace

Tensor MakeViewTensor(ffi::ObjectPtr<ffi::Object> owner, void* data, uint64_t byte_offset, int ndim,
                      const int64_t* shape, DLDataType dtype, Device dev) {
  if (ndim > ViewTensorObj::kMaxRank) {
    Tensor out = ffi::Tensor::FromNDAlloc(OwnerAlloc{std::move(owner), data},
                                          ffi::Shape(shape, shape + ndim), dtype, dev);
    out->byte_offset = byte_offset;
    return out;
  }
  return ViewTensorObj::Get()->Revive(std::move(owner), data, byte_offset, ndim, shape, dtype, dev);
}

}  // namespace memory
}  // namespace runtime
}  // namespace tvm
