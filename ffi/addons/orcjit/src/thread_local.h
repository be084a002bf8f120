// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Thread-local variables of JIT code. The dynamic loader knows nothing of them: each access goes
/// through `__tls_get_addr`, which JIT code finds here.
#ifndef TVM_FFI_ORCJIT_THREAD_LOCAL_H_
#define TVM_FFI_ORCJIT_THREAD_LOCAL_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace tvm {
namespace ffi {
namespace orcjit {

/// What the linker makes for each thread-local variable that an object uses.
struct ThreadLocalEntry {
  uint64_t id;        ///< from RegisterThreadLocal
  uintptr_t address;  ///< of the initial value
};

/// Initial values of some variables, and their place in the copy that each thread gets.
struct ThreadLocalSegment {
  uintptr_t begin;
  size_t size;
  size_t offset;
};

/// Announces the initial values of one object; a thread gets a copy at its first access.
void RegisterThreadLocalImage(std::vector<ThreadLocalSegment> segments, size_t size,
                              size_t alignment);

/// Ends the images in [begin, end): frees the copies of all threads.
void DropThreadLocalImages(uintptr_t begin, uintptr_t end);

/// Id for an entry. `name` finds the variable when no image holds it: it then belongs to a shared
/// library of the process.
uint64_t RegisterThreadLocal(std::string name);

/// Address of the variable in the calling thread; `__tls_get_addr` of JIT code.
void* ThreadLocalAddress(const ThreadLocalEntry* entry);

/// Makes destructors of thread-local objects wanted for a library, known by its `__dso_handle`.
void AddThreadLocalOwner(void* dso_handle);

/// Runs what the calling thread has registered for the library. Objects of other threads are
/// given up: their destructors are about to vanish.
void RemoveThreadLocalOwner(void* dso_handle);

/// Registers a destructor of the calling thread; `__cxa_thread_atexit` of JIT code.
int ThreadAtExit(void (*destructor)(void*), void* object, void* dso_handle);

}  // namespace orcjit
}  // namespace ffi
}  // namespace tvm
#endif  // TVM_FFI_ORCJIT_THREAD_LOCAL_H_
