// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Streams, tensor allocators, host signals, init-once slots and backtraces.
#include <gtest/gtest.h>
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/error.h>
#include <tvm/ffi/extra/c_env_api.h>

#include <atomic>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace tvm::ffi;

std::string RaisedMessage() {
  TVMFFIObjectHandle handle = nullptr;
  TVMFFIErrorMoveFromRaised(&handle);
  if (handle == nullptr) return "nothing raised";
  const TVMFFIErrorCell* cell = TVMFFIErrorGetCellPtr(handle);
  std::string text = std::string(cell->kind.data, cell->kind.size) + ": " +
                     std::string(cell->message.data, cell->message.size);
  TVMFFIObjectDecRef(handle);
  return text;
}

TEST(Env, StreamsBelongToThreadAndDevice) {
  int a = 0;
  void* old = &a;
  ASSERT_EQ(TVMFFIEnvSetStream(2, 0, &a, &old), 0);
  EXPECT_EQ(old, nullptr);
  EXPECT_EQ(TVMFFIEnvGetStream(2, 0), &a);
  EXPECT_EQ(TVMFFIEnvGetStream(2, 1), nullptr);
  std::thread([] { EXPECT_EQ(TVMFFIEnvGetStream(2, 0), nullptr); }).join();
  ASSERT_EQ(TVMFFIEnvSetStream(2, 0, nullptr, &old), 0);
  EXPECT_EQ(old, &a);
}

void DeleteManaged(DLManagedTensorVersioned* self) {
  std::free(self->dl_tensor.data);
  delete[] self->dl_tensor.shape;
  delete self;
}

int Allocate(DLTensor* prototype, DLManagedTensorVersioned** out, void*,
             void (*)(void*, const char*, const char*)) {
  auto* managed = new DLManagedTensorVersioned{};
  managed->version = {DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION};
  managed->deleter = DeleteManaged;
  managed->dl_tensor = *prototype;
  managed->dl_tensor.shape = new int64_t[static_cast<size_t>(prototype->ndim)];
  size_t size = prototype->dtype.bits / 8;
  for (int i = 0; i < prototype->ndim; ++i) {
    managed->dl_tensor.shape[i] = prototype->shape[i];
    size *= static_cast<size_t>(prototype->shape[i]);
  }
  managed->dl_tensor.strides = nullptr;
  managed->dl_tensor.data = std::malloc(size);
  *out = managed;
  return 0;
}

int FailToAllocate(DLTensor*, DLManagedTensorVersioned**, void* context,
                   void (*set_error)(void*, const char*, const char*)) {
  set_error(context, "MemoryError", "no memory today");
  return -1;
}

TEST(Env, TensorAllocator) {
  int64_t shape[] = {2, 3};
  DLTensor prototype{};
  prototype.ndim = 2;
  prototype.dtype = {kDLFloat, 32, 1};
  prototype.device = {kDLCPU, 0};
  prototype.shape = shape;
  TVMFFIObjectHandle tensor = nullptr;
  EXPECT_EQ(TVMFFIEnvTensorAlloc(&prototype, &tensor), -1);
  EXPECT_NE(RaisedMessage().find("no allocator"), std::string::npos);

  DLPackManagedTensorAllocator old = nullptr;
  ASSERT_EQ(TVMFFIEnvSetDLPackManagedTensorAllocator(Allocate, 1, &old), 0);
  EXPECT_EQ(old, nullptr);
  ASSERT_EQ(TVMFFIEnvTensorAlloc(&prototype, &tensor), 0);
  EXPECT_EQ(TVMFFITensorGetDLTensorPtr(tensor)->shape[1], 3);
  TVMFFIObjectDecRef(tensor);

  ASSERT_EQ(TVMFFIEnvSetDLPackManagedTensorAllocator(FailToAllocate, 0, nullptr), 0);
  EXPECT_EQ(TVMFFIEnvGetDLPackManagedTensorAllocator(), &FailToAllocate);  // thread wins
  EXPECT_EQ(TVMFFIEnvTensorAlloc(&prototype, &tensor), -1);
  EXPECT_EQ(RaisedMessage(), "MemoryError: no memory today");
  TVMFFIEnvSetDLPackManagedTensorAllocator(nullptr, 0, nullptr);
  TVMFFIEnvSetDLPackManagedTensorAllocator(nullptr, 1, nullptr);
}

TEST(Env, UnknownHostApiIsAValueError) {
  EXPECT_EQ(TVMFFIEnvRegisterCAPI("PyNoSuch", nullptr), -1);
  EXPECT_EQ(RaisedMessage().find("ValueError"), 0U);
}

int pending_signals = 0;
std::vector<int> released;

TEST(Env, SignalsAreCheckedUnderTheHostLock) {
  TVMFFIEnvRegisterCAPI("PyErr_CheckSignals",
                        reinterpret_cast<void*>(+[]() -> int { return pending_signals; }));
  TVMFFIEnvRegisterCAPI("PyGILState_Ensure", reinterpret_cast<void*>(+[]() -> int { return 0; }));
  TVMFFIEnvRegisterCAPI("PyGILState_Release",
                        reinterpret_cast<void*>(+[](int state) { released.push_back(state); }));
  EXPECT_EQ(TVMFFIEnvCheckSignals(), 0);
  pending_signals = -1;
  EXPECT_NE(TVMFFIEnvCheckSignals(), 0);
  EXPECT_EQ(released, (std::vector<int>{0, 0}));
  TVMFFIEnvRegisterCAPI("PyErr_CheckSignals", nullptr);
  RaisedMessage();
}

std::atomic<int> init_calls{0};

TEST(Env, InitOnceRunsOnce) {
  static void* slot = nullptr;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([] {
      EXPECT_EQ(TVMFFIHandleInitOnce(&slot,
                                     [](void** result) -> int {
                                       *result = new int(++init_calls);
                                       return 0;
                                     }),
                0);
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(init_calls, 1);
  auto deinit = [](void* handle) -> int {
    delete static_cast<int*>(handle);
    return 0;
  };
  EXPECT_EQ(TVMFFIHandleDeinitOnce(&slot, deinit), 0);
  EXPECT_EQ(slot, nullptr);
  EXPECT_EQ(TVMFFIHandleDeinitOnce(&slot, deinit), 0);
  EXPECT_EQ(TVMFFIHandleInitOnce(&slot, [](void**) -> int { return 0; }), -1);
  EXPECT_EQ(RaisedMessage().find("RuntimeError"), 0U);
}

TEST(Backtrace, StartsWithTheGivenFrame) {
  const TVMFFIByteArray* text = TVMFFIBacktrace("file.cc", 12, "Function", 0);
  const std::string trace(text->data, text->size);
  EXPECT_EQ(trace.find("  File \"file.cc\", line 12, in Function\n"), 0U);
}

}  // namespace
