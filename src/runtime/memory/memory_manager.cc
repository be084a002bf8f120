// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file memory_manager.cc
/// Allocator defaults, the manager and Storage.
#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/runtime/device_api.h>
#include <tvm/runtime/logging.h>
#include <tvm/runtime/memory/memory_manager.h>

#include <utility>

#include "runtime/memory/naive_allocator.h"
#include "runtime/memory/pooled_allocator.h"
#include "runtime/memory/view_tensor.h"

namespace tvm {
namespace runtime {
namespace memory {

namespace {

bool IsGlobalScope(const std::string& scope) { return scope.empty() || scope == "global"; }

size_t SizeOf(const ffi::Shape& shape, DLDataType dtype) {
  int64_t n = 1;
  for (int64_t d : shape) {
    TVM_REQUIRE(d >= 0 && !__builtin_mul_overflow(n, d, &n), ValueError)
        << "cannot allocate a buffer of shape " << shape;
  }
  return ffi::GetDataSize(static_cast<size_t>(n), dtype);
}

/// Buffer of an allocator as the memory of one tensor.
struct BufferAlloc {
  Allocator* allocator;
  Buffer buffer;
  void AllocData(DLTensor* t) { t->data = buffer.data; }
  void FreeData(DLTensor* t) { allocator->Free(buffer); }
};

/// Scoped view of a storage as the memory of one tensor.
struct StorageAlloc {
  ffi::ObjectPtr<StorageObj> storage;
  void* data;
  void AllocData(DLTensor* t) { t->data = data; }
  void FreeData(DLTensor* t) { storage->allocator->FreeView(t->device, t->data); }
};

const char* TypeName(AllocatorType type) { return type == kNaive ? "naive" : "pooled"; }

}  // namespace

bool Allocator::AllowMemoryScope(const std::string& mem_scope) const {
  return IsGlobalScope(mem_scope);
}

Buffer Allocator::Alloc(Device dev, ffi::Shape shape, DLDataType type_hint,
                        const std::string& mem_scope) {
  TVM_REQUIRE(IsGlobalScope(mem_scope), InternalError)
      << "This allocator cannot allocate data space with specified memory scope: " << mem_scope;
  return Alloc(dev, SizeOf(shape, type_hint), kAllocAlignment, type_hint);
}

Tensor Allocator::Empty(ffi::Shape shape, DLDataType dtype, Device dev,
                        ffi::Optional<ffi::String> mem_scope) {
  std::string scope = mem_scope.has_value()
                          ? std::string(mem_scope.value().data(), mem_scope.value().size())
                          : std::string();
  Buffer buffer = Alloc(dev, shape, dtype, scope);
  return ffi::Tensor::FromNDAlloc(BufferAlloc{this, buffer}, std::move(shape), dtype, dev);
}

void* Allocator::CreateView(const Buffer& buffer, ffi::Shape shape, DLDataType type_hint,
                            const std::string& mem_scope) {
  return DeviceAPI::Get(buffer.device)
      ->AllocDataSpaceView(buffer.device, buffer.data, std::move(shape), type_hint,
                           ffi::String(mem_scope));
}

void Allocator::FreeView(Device dev, void* data) {
  DeviceAPI::Get(dev)->FreeDataSpaceView(dev, data);
}

MemoryManager* MemoryManager::Global() {
  // Never destroyed: tensors that outlive static destructors return here.
  static auto* inst = new MemoryManager();
  return inst;
}

Allocator* MemoryManager::Find(Device dev, AllocatorType type) {
  for (Entry& e : entries_) {
    if (e.dev.device_type == dev.device_type && e.dev.device_id == dev.device_id &&
        e.type == type) {
      return e.allocator.get();
    }
  }
  return nullptr;
}

Allocator* MemoryManager::GetOrCreateAllocator(Device dev, AllocatorType type) {
  MemoryManager* self = Global();
  std::lock_guard<std::mutex> lock(self->mu_);
  if (Allocator* found = self->Find(dev, type)) return found;
  std::unique_ptr<Allocator> allocator;
  auto hook = ffi::Function::GetGlobal("DeviceAllocator." + DeviceTypeName(dev.device_type));
  if (hook.has_value()) {
    allocator.reset(static_cast<Allocator*>((*hook)(dev, static_cast<int>(type)).cast<void*>()));
  } else if (type == kNaive) {
    allocator = std::make_unique<NaiveAllocator>();
  } else if (type == kPooled) {
    allocator = std::make_unique<PooledAllocator>();
  } else {
    TVM_FFI_THROW(InternalError) << "Unknown allocator type " << static_cast<int>(type)
                                 << ", expected 1 (naive) or 2 (pooled)";
  }
  self->entries_.push_back(Entry{dev, type, std::move(allocator)});
  return self->entries_.back().allocator.get();
}

Allocator* MemoryManager::GetAllocator(Device dev, AllocatorType type) {
  MemoryManager* self = Global();
  std::lock_guard<std::mutex> lock(self->mu_);
  if (Allocator* found = self->Find(dev, type)) return found;
  bool any = false;
  for (const Entry& e : self->entries_) {
    any |= e.dev.device_type == dev.device_type && e.dev.device_id == dev.device_id;
  }
  TVM_FFI_THROW(InternalError) << "Allocator for " << DeviceToString(dev)
                               << (any ? std::string(" of type ") + TypeName(type) : "")
                               << " has not been created yet.";
  __builtin_unreachable();
}

void MemoryManager::Clear() {
  MemoryManager* self = Global();
  std::lock_guard<std::mutex> lock(self->mu_);
  for (Entry& e : self->entries_) e.allocator->Clear();
}

Storage::Storage(Buffer buffer, Allocator* allocator) {
  auto n = ffi::make_object<StorageObj>();
  n->buffer = buffer;
  n->allocator = allocator;
  data_ = std::move(n);
}

static void CheckFits(const StorageObj* storage, int64_t offset, size_t needed) {
  size_t size = storage->buffer.size;
  if (offset < 0 || static_cast<size_t>(offset) > size ||
      needed > size - static_cast<size_t>(offset)) {
    TVM_FFI_THROW(InternalError) << "storage allocation failure, attempted to allocate " << needed
                                 << " at offset " << offset << " in region that is " << size
                                 << " bytes";
  }
}

Tensor StorageObj::AllocTensor(int64_t offset, ffi::Shape shape, DLDataType dtype) {
  CheckFits(this, offset, SizeOf(shape, dtype));
  bool fold = buffer.device.device_type == kDLHexagon ||
              DeviceAPI::Get(buffer.device)->SupportsDevicePointerArithmeticsOnHost();
  void* data = fold ? static_cast<char*>(buffer.data) + offset : buffer.data;
  return MakeViewTensor(ffi::GetObjectPtr<ffi::Object>(this), data,
                        fold ? 0 : static_cast<uint64_t>(offset), static_cast<int>(shape.size()),
                        shape.data(), dtype, buffer.device);
}

Tensor StorageObj::AllocTensorScoped(int64_t offset, ffi::Shape shape, DLDataType dtype,
                                     ffi::String scope) {
  std::string name(scope.data(), scope.size());
  if (IsGlobalScope(name)) return AllocTensor(offset, std::move(shape), dtype);
  CheckFits(this, offset, SizeOf(shape, dtype));
  void* data = allocator->CreateView(buffer, shape, dtype, name);
  Tensor out = ffi::Tensor::FromNDAlloc(StorageAlloc{ffi::GetObjectPtr<StorageObj>(this), data},
                                        std::move(shape), dtype, buffer.device);
  out->byte_offset = static_cast<uint64_t>(offset);
  return out;
}

TVM_FFI_STATIC_INIT_BLOCK() {
  namespace refl = tvm::ffi::reflection;
  refl::ObjectDef<StorageObj>(refl::init(false));
  refl::GlobalDef().def("vm.builtin.memory_manager.clear", MemoryManager::Clear);
}

}  // namespace memory
}  // namespace runtime
}  // namespace tvm
