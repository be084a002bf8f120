// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file naive_allocator.h
/// Allocator that asks the device each time and keeps nothing.
#ifndef TVM_RUNTIME_MEMORY_NAIVE_ALLOCATOR_H_
#define TVM_RUNTIME_MEMORY_NAIVE_ALLOCATOR_H_

#include <tvm/runtime/device_api.h>
#include <tvm/runtime/memory/memory_manager.h>

#include <atomic>
#include <string>

namespace tvm {
namespace runtime {
namespace memory {

class NaiveAllocator final : public Allocator {
 public:
  NaiveAllocator() : Allocator(kNaive) {}

  Buffer Alloc(Device dev, size_t nbytes, size_t alignment, DLDataType type_hint) final {
    Buffer buf{nullptr, nbytes, dev, kNaive};
    buf.data = DeviceAPI::Get(dev)->AllocDataSpace(dev, nbytes, alignment, type_hint);
    used_.fetch_add(nbytes, std::memory_order_relaxed);
    return buf;
  }

  Buffer Alloc(Device dev, ffi::Shape shape, DLDataType type_hint,
               const std::string& mem_scope) final {
    if (mem_scope.empty() || mem_scope == "global") {
      return Allocator::Alloc(dev, std::move(shape), type_hint, mem_scope);
    }
    DLTensor proto{};
    proto.device = dev;
    proto.ndim = static_cast<int32_t>(shape.size());
    proto.shape = const_cast<int64_t*>(shape.data());
    proto.dtype = type_hint;
    DeviceAPI* api = DeviceAPI::Get(dev);
    Buffer buf{nullptr, api->GetDataSize(proto, ffi::String(mem_scope)), dev, kNaive};
    buf.data =
        api->AllocDataSpace(dev, proto.ndim, shape.data(), type_hint, ffi::String(mem_scope));
    used_.fetch_add(buf.size, std::memory_order_relaxed);
    return buf;
  }

  void Free(const Buffer& buffer) final {
    DeviceAPI::Get(buffer.device)->FreeDataSpace(buffer.device, buffer.data);
    used_.fetch_sub(buffer.size, std::memory_order_relaxed);
  }

  size_t UsedMemory() const final { return used_.load(std::memory_order_relaxed); }

  bool AllowMemoryScope(const std::string& mem_scope) const final { return true; }

 private:
  std::atomic<size_t> used_{0};
};

}  // namespace memory
}  // namespace runtime
}  // namespace tvm

#endif  // TVM_RUNTIME_MEMORY_NAIVE_ALLOCATOR_H_
