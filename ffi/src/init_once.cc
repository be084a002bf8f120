// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors

/// One-time handles shared by generated code, and the custom allocator slot.
#include <tvm/ffi/c_api.h>
#include <tvm/ffi/error.h>

#include <cstdlib>
#include <mutex>
#include <new>

namespace {

/// One lock for all slots: initialisation is rare and a per-slot lock would need storage.
/// Recursive, because an initialiser may itself need another handle.
std::recursive_mutex& HandleMutex() {
  static auto* mutex = new std::recursive_mutex();
  return *mutex;
}

/// Default allocator: the object follows a header that knows how to free it.
void DeleteDefaultSpace(void* ptr) {
  // The start of the allocation is kept right below the header.
  void** start = reinterpret_cast<void**>(static_cast<char*>(ptr) -
                                          sizeof(TVMFFIObjectAllocHeader) - sizeof(void*));
  std::free(*start);
}

void* AllocateDefault(size_t size, size_t alignment, int32_t, void*) {
  constexpr size_t kPrefix = sizeof(TVMFFIObjectAllocHeader) + sizeof(void*);
  const size_t align = alignment < alignof(void*) ? alignof(void*) : alignment;
  char* start = static_cast<char*>(std::malloc(size + kPrefix + align));
  if (start == nullptr) return nullptr;
  const auto first = reinterpret_cast<size_t>(start) + kPrefix;
  char* object = start + kPrefix + (align - first % align) % align;
  *reinterpret_cast<void**>(object - kPrefix) = start;
  reinterpret_cast<TVMFFIObjectAllocHeader*>(object - sizeof(TVMFFIObjectAllocHeader))
      ->delete_space = DeleteDefaultSpace;
  return object;
}

TVMFFICustomAllocator default_allocator{AllocateDefault, nullptr};
TVMFFICustomAllocator* current_allocator = &default_allocator;

}  // namespace

int TVMFFIHandleInitOnce(void** handle_addr, int (*init_func)(void** result)) {
  TVM_FFI_SAFE_CALL_BEGIN();
  if (__atomic_load_n(handle_addr, __ATOMIC_ACQUIRE) != nullptr) return 0;
  std::lock_guard<std::recursive_mutex> lock(HandleMutex());
  if (*handle_addr != nullptr) return 0;
  void* handle = nullptr;
  const int status = init_func(&handle);
  if (status != 0) return status;
  if (handle == nullptr) {
    TVM_FFI_THROW(RuntimeError) << "the init function of a handle must set a non-NULL result";
  }
  __atomic_store_n(handle_addr, handle, __ATOMIC_RELEASE);
  TVM_FFI_SAFE_CALL_END();
}

int TVMFFIHandleDeinitOnce(void** handle_addr, int (*deinit_func)(void* handle)) {
  TVM_FFI_SAFE_CALL_BEGIN();
  std::lock_guard<std::recursive_mutex> lock(HandleMutex());
  void* handle = __atomic_exchange_n(handle_addr, nullptr, __ATOMIC_ACQ_REL);
  return handle == nullptr ? 0 : deinit_func(handle);
  TVM_FFI_SAFE_CALL_END();
}

TVMFFICustomAllocator* TVMFFIGetCustomAllocator(void) {
  return __atomic_load_n(&current_allocator, __ATOMIC_ACQUIRE);
}

int TVMFFISetCustomAllocator(TVMFFICustomAllocator* allocator) {
  __atomic_store_n(&current_allocator, allocator == nullptr ? &default_allocator : allocator,
                   __ATOMIC_RELEASE);
  return 0;
}
