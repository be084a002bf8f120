// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors

/// What code compiled from these headers remembers of the thread it runs on.
#ifndef TVM_FFI_THREAD_STATE_H_
#define TVM_FFI_THREAD_STATE_H_

#include <tvm/ffi/c_api.h>

namespace tvm {
namespace ffi {
namespace detail {

struct DeferredDestroy;

/// Zero at the start of a thread; without a destructor, so that it serves until the thread is gone.
struct ThreadState {
  /// Destructors of objects that run inside each other, and those that wait for the outermost one.
  int32_t destroy_depth;
  int32_t draining;
  DeferredDestroy* pending;
  /// Frame in which the outermost structural traversal began; 0 outside of traversals.
  uintptr_t traversal_stack_base;
};

}  // namespace detail
}  // namespace ffi
}  // namespace tvm

#if !defined(_MSC_VER)
/// The state of the calling thread. A weak import: released libraries lack it, and the memory that
/// a `thread_local` of an inline function needs is more than JIT linkers of extensions may have.
extern "C" TVM_FFI_DLL __attribute__((weak)) tvm::ffi::detail::ThreadState* TVMFFIThreadState();
#endif

namespace tvm {
namespace ffi {
namespace detail {

/// The state of the calling thread, or null where the loaded libtvm_ffi keeps none.
inline ThreadState* CurrentThreadState() {
#if defined(_MSC_VER)
  static thread_local ThreadState state{};
  return &state;
#else
  return TVMFFIThreadState != nullptr ? TVMFFIThreadState() : nullptr;
#endif
}

}  // namespace detail
}  // namespace ffi
}  // namespace tvm
#endif  // TVM_FFI_THREAD_STATE_H_
