// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include <gtest/gtest.h>
#include <tvm/ffi/container/shape.h>
#include <tvm/ffi/function.h>
#include <tvm/runtime/c_backend_api.h>
#include <tvm/runtime/device_api.h>
#include <tvm/runtime/memory/memory_manager.h>

#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/memory/naive_allocator.h"
#include "runtime/memory/pooled_allocator.h"

namespace tvm {
namespace runtime {
namespace memory {
namespace {

constexpr Device kCPU{kDLCPU, 0};
constexpr DLDataType kF32{kDLFloat, 32, 1};

TEST(NaiveAllocatorTest, AccountsExactly) {
  NaiveAllocator alloc;
  EXPECT_EQ(alloc.UsedMemory(), 0u);
  Buffer a = alloc.Alloc(kCPU, 100, 64, kF32);
  Buffer b = alloc.Alloc(kCPU, 1000, 64, kF32);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(a.data) % 64, 0u);
  EXPECT_EQ(alloc.UsedMemory(), 1100u);
  alloc.Free(a);
  EXPECT_EQ(alloc.UsedMemory(), 1000u);
  {
    Tensor t = alloc.Empty(ffi::Shape{25}, kF32, kCPU);
    EXPECT_EQ(alloc.UsedMemory(), 1100u);
  }
  alloc.Free(b);
  EXPECT_EQ(alloc.UsedMemory(), 0u);
}

TEST(PooledAllocatorTest, RoundsReusesAndClears) {
  PooledAllocator alloc;
  Buffer a = alloc.Alloc(kCPU, 5000, 64, kF32);
  EXPECT_EQ(a.size, 8192u);
  EXPECT_EQ(alloc.UsedMemory(), 8192u);
  void* data = a.data;
  alloc.Free(a);
  EXPECT_EQ(alloc.CachedMemory(), 8192u);
  EXPECT_EQ(alloc.UsedMemory(), 8192u);
  // Only the exact rounded size is reused.
  Buffer other = alloc.Alloc(kCPU, 4096, 64, kF32);
  EXPECT_NE(other.data, data);
  Buffer same = alloc.Alloc(kCPU, 8000, 64, kF32);
  EXPECT_EQ(same.data, data);
  EXPECT_EQ(alloc.CachedMemory(), 0u);
  alloc.Free(other);
  alloc.Clear();
  EXPECT_EQ(alloc.UsedMemory(), 8192u);
  alloc.Free(same);
  alloc.Clear();
  EXPECT_EQ(alloc.UsedMemory(), 0u);
}

TEST(PooledAllocatorTest, TensorsReturnWithTheirObjects) {
  PooledAllocator alloc;
  const void* object;
  void* data;
  {
    Tensor t = alloc.Empty(ffi::Shape{2, 3}, kF32, kCPU);
    object = t.get();
    data = t->data;
    EXPECT_EQ(t->ndim, 2);
    EXPECT_EQ(t->strides[0], 3);
    EXPECT_EQ(t.use_count(), 1);
  }
  EXPECT_EQ(alloc.CachedMemory(), 4096u);
  Tensor t = alloc.Empty(ffi::Shape{3, 2, 1}, kF32, kCPU);
  EXPECT_EQ(t.get(), object);
  EXPECT_EQ(t->data, data);
  EXPECT_EQ(t->ndim, 3);
  EXPECT_EQ(t->shape[0], 3);
  EXPECT_EQ(t->strides[0], 2);
  Tensor copy = t;
  t = Tensor();
  EXPECT_EQ(copy->shape[1], 2);
  // A weak pointer keeps the object from being reused.
  ffi::WeakObjectPtr<ffi::TensorObj> weak(
      ffi::GetObjectPtr<ffi::TensorObj>(const_cast<ffi::TensorObj*>(copy.get())));
  copy = Tensor();
  EXPECT_EQ(weak.lock(), nullptr);
  Tensor fresh = alloc.Empty(ffi::Shape{6}, kF32, kCPU);
  EXPECT_NE(fresh.get(), object);
  weak.reset();
  Tensor again = alloc.Empty(ffi::Shape{6}, kF32, kCPU);
  EXPECT_EQ(again.get(), object);
}

TEST(PooledAllocatorTest, EverNewShapesStayBounded) {
  PooledAllocator alloc;
  size_t limit = PooledAllocator::kMinCacheLimit;
  for (int64_t i = 0; i < 400; ++i) {
    Tensor t = alloc.Empty(ffi::Shape{(i + 1) * 4096}, kF32, kCPU);
    EXPECT_LE(alloc.UsedMemory(), 2 * limit);
  }
  EXPECT_LE(alloc.CachedMemory(), limit);
  alloc.Clear();
  EXPECT_EQ(alloc.UsedMemory(), 0u);
}

TEST(PooledAllocatorTest, ThreadsAllocateAndFreeEachOthersTensors) {
  PooledAllocator alloc;
  std::vector<std::thread> threads;
  std::mutex mu;
  std::vector<Tensor> shared;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int64_t i = 0; i < 2000; ++i) {
        Tensor mine = alloc.Empty(ffi::Shape{i % 7 + 1, 1000}, kF32, kCPU);
        static_cast<float*>(mine->data)[0] = static_cast<float>(t);
        std::lock_guard<std::mutex> lock(mu);
        shared.push_back(mine);
        if (shared.size() > 16) shared.erase(shared.begin());
      }
    });
  }
  for (auto& th : threads) th.join();
  shared.clear();
  EXPECT_EQ(alloc.UsedMemory(), alloc.CachedMemory());
  alloc.Clear();
  EXPECT_EQ(alloc.UsedMemory(), 0u);
}

TEST(PooledAllocatorTest, ScopeIsAnError) {
  PooledAllocator alloc;
  EXPECT_THROW(alloc.Empty(ffi::Shape{1}, kF32, kCPU, ffi::String("shared")), ffi::Error);
  EXPECT_NO_THROW(alloc.Empty(ffi::Shape{1}, kF32, kCPU, ffi::String("global")));
}

TEST(MemoryManagerTest, TypesCoexist) {
  Allocator* naive = MemoryManager::GetOrCreateAllocator(kCPU, kNaive);
  Allocator* pooled = MemoryManager::GetOrCreateAllocator(kCPU, kPooled);
  EXPECT_NE(naive, pooled);
  EXPECT_EQ(naive->type(), kNaive);
  EXPECT_EQ(MemoryManager::GetAllocator(kCPU, kPooled), pooled);
  EXPECT_EQ(MemoryManager::GetOrCreateAllocator(kCPU, kNaive), naive);
  try {
    MemoryManager::GetAllocator(Device{kDLCPU, 7}, kPooled);
    FAIL() << "no error";
  } catch (const ffi::Error& e) {
    EXPECT_STREQ(e.what(), "Allocator for cpu:7 has not been created yet.");
  }
}

TEST(StorageTest, TensorsKeepItAliveAndFit) {
  NaiveAllocator alloc;
  Tensor t;
  {
    Storage storage(alloc.Alloc(kCPU, 256, 64, kF32), &alloc);
    t = storage->AllocTensor(64, ffi::Shape{4, 4}, kF32);
    EXPECT_EQ(static_cast<char*>(t->data) - static_cast<char*>(storage->buffer.data), 64);
    try {
      storage->AllocTensor(200, ffi::Shape{4, 4}, kF32);
      FAIL() << "no error";
    } catch (const ffi::Error& e) {
      EXPECT_STREQ(e.what(),
                   "storage allocation failure, attempted to allocate 64 at offset 200 in region "
                   "that is 256 bytes");
    }
    EXPECT_THROW(storage->AllocTensor(-4, ffi::Shape{1}, kF32), ffi::Error);
    EXPECT_THROW(storage->AllocTensor(0, ffi::Shape{int64_t{1} << 62, 8}, kF32), ffi::Error);
  }
  EXPECT_EQ(alloc.UsedMemory(), 256u);
  static_cast<float*>(t->data)[15] = 1;
  t = Tensor();
  EXPECT_EQ(alloc.UsedMemory(), 0u);
}

TEST(WorkspaceTest, ReusesAndRejects) {
  void* a = TVMBackendAllocWorkspace(kDLCPU, 0, 100, kDLFloat, 32);
  ASSERT_NE(a, nullptr);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(a) % 64, 0u);
  void* b = TVMBackendAllocWorkspace(kDLCPU, 0, 100, kDLFloat, 32);
  EXPECT_NE(a, b);
  EXPECT_EQ(TVMBackendFreeWorkspace(kDLCPU, 0, b), 0);
  EXPECT_EQ(TVMBackendAllocWorkspace(kDLCPU, 0, 50, kDLFloat, 32), b);
  EXPECT_EQ(TVMBackendFreeWorkspace(kDLCPU, 0, b), 0);
  EXPECT_EQ(TVMBackendFreeWorkspace(kDLCPU, 0, a), 0);
  EXPECT_EQ(TVMBackendFreeWorkspace(kDLCPU, 0, a), -1);
  TVMFFIObjectHandle error = nullptr;
  TVMFFIErrorMoveFromRaised(&error);
  ASSERT_NE(error, nullptr);
  TVMFFIErrorCell* cell = TVMFFIErrorGetCellPtr(error);
  EXPECT_NE(std::string(cell->message.data, cell->message.size)
                .find("trying to free things that has not been allocated"),
            std::string::npos);
  TVMFFIObjectDecRef(error);
}

}  // namespace
}  // namespace memory
}  // namespace runtime
}  // namespace tvm
