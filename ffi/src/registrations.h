// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Whether a library left something behind in a process-wide table while it was loaded.
#ifndef TVM_FFI_SRC_REGISTRATIONS_H_
#define TVM_FFI_SRC_REGISTRATIONS_H_

#include <cstdint>

namespace tvm {
namespace ffi {

/// Number of types, members, attributes, functions and symbols that this thread has registered.
/// The initialisers of a library run on the thread that loads it, so a change during the load
/// means that its code may be called by anybody and must stay.
inline thread_local uint64_t thread_registrations = 0;

}  // namespace ffi
}  // namespace tvm
#endif  // TVM_FFI_SRC_REGISTRATIONS_H_
