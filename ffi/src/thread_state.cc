// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include <tvm/ffi/thread_state.h>

#if !defined(_MSC_VER)
tvm::ffi::detail::ThreadState* TVMFFIThreadState() {
  static thread_local tvm::ffi::detail::ThreadState state{};
  return &state;
}
#endif
