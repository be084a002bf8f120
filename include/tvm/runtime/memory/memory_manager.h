// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file memory_manager.h
/// Allocators of device memory, kept per (device, allocator type), and the VM's Storage.
#ifndef TVM_RUNTIME_MEMORY_MEMORY_MANAGER_H_
#define TVM_RUNTIME_MEMORY_MEMORY_MANAGER_H_

#include <tvm/ffi/container/shape.h>
#include <tvm/ffi/memory.h>
#include <tvm/ffi/object.h>
#include <tvm/ffi/optional.h>
#include <tvm/ffi/string.h>
#include <tvm/runtime/base.h>
#include <tvm/runtime/tensor.h>

#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace tvm {
namespace runtime {
namespace memory {

enum AllocatorType { kNaive = 1, kPooled = 2 };

/// A region of device memory with the facts needed to free it.
struct Buffer {
  void* data{nullptr};
  size_t size{0};
  Device device{kDLCPU, 0};
  AllocatorType alloc_type{kNaive};
};

/// Source of buffers. The device is an argument, not state; all methods are thread-safe.
class TVM_RUNTIME_DLL Allocator {
 public:
  explicit Allocator(AllocatorType type) : type_(type) {}
  virtual ~Allocator() = default;
  Allocator(const Allocator&) = delete;
  Allocator& operator=(const Allocator&) = delete;

  /// New tensor backed by this allocator, which must outlive it.
  virtual Tensor Empty(ffi::Shape shape, DLDataType dtype, Device dev,
                       ffi::Optional<ffi::String> mem_scope = std::nullopt);
  virtual Buffer Alloc(Device dev, size_t nbytes, size_t alignment, DLDataType type_hint) = 0;
  virtual Buffer Alloc(Device dev, ffi::Shape shape, DLDataType type_hint,
                       const std::string& mem_scope = "");
  /// Pointer to use for a tensor of that shape and scope over the buffer.
  virtual void* CreateView(const Buffer& buffer, ffi::Shape shape, DLDataType type_hint,
                           const std::string& mem_scope = "global");
  virtual void FreeView(Device dev, void* data);
  virtual void Free(const Buffer& buffer) = 0;
  /// Gives cached memory back to the device.
  virtual void Clear() {}
  /// Bytes in buffers handed out or cached.
  virtual size_t UsedMemory() const = 0;
  virtual bool AllowMemoryScope(const std::string& mem_scope) const;

  AllocatorType type() const { return type_; }

 private:
  AllocatorType type_;
};

/// Owns every allocator of the process.
class TVM_RUNTIME_DLL MemoryManager {
 public:
  static MemoryManager* Global();
  static Allocator* GetOrCreateAllocator(Device dev, AllocatorType type);
  /// Raises InternalError if there is none.
  static Allocator* GetAllocator(Device dev, AllocatorType type);
  /// Empties the caches of all allocators; buffers in use stay valid.
  static void Clear();

 private:
  MemoryManager() = default;
  struct Entry {
    Device dev;
    AllocatorType type;
    std::unique_ptr<Allocator> allocator;
  };
  Allocator* Find(Device dev, AllocatorType type);

  std::mutex mu_;
  std::vector<Entry> entries_;
};

/// A region from which tensors are cut; freed when the last of them is gone.
class StorageObj : public ffi::Object {
 public:
  Buffer buffer;
  Allocator* allocator = nullptr;

  ~StorageObj() {
    if (allocator != nullptr) allocator->Free(buffer);
  }
  /// Tensor over [offset, offset + size); the storage stays alive as long as it.
  TVM_RUNTIME_DLL Tensor AllocTensor(int64_t offset, ffi::Shape shape, DLDataType dtype);
  TVM_RUNTIME_DLL Tensor AllocTensorScoped(int64_t offset, ffi::Shape shape, DLDataType dtype,
                                           ffi::String scope = "global");

  static constexpr bool _type_mutable = true;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("vm.Storage", StorageObj, ffi::Object);
};

class Storage : public ffi::ObjectRef {
 public:
  TVM_RUNTIME_DLL explicit Storage(Buffer buffer, Allocator* allocator);
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(Storage, ffi::ObjectRef, StorageObj);
};

}  // namespace memory

using memory::Allocator;
using memory::AllocatorType;
using memory::MemoryManager;
using memory::StorageObj;

}  // namespace runtime
}  // namespace tvm

#endif  // TVM_RUNTIME_MEMORY_MEMORY_MANAGER_H_
