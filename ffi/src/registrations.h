// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Whether a library left something behind in a process-wide table while it was loaded or called.
#ifndef TVM_FFI_SRC_REGISTRATIONS_H_
#define TVM_FFI_SRC_REGISTRATIONS_H_

#include <atomic>
#include <cstdint>

namespace tvm {
namespace ffi {

/// Number of types, members, attributes, functions and symbols that were registered. A change while
/// a library is loaded or called means that its code may be called by anybody and must stay; that
/// another thread registered something meanwhile only makes it stay needlessly.
inline std::atomic<uint64_t> num_registrations{0};

inline void CountRegistration() { num_registrations.fetch_add(1, std::memory_order_relaxed); }

}  // namespace ffi
}  // namespace tvm
#endif  // TVM_FFI_SRC_REGISTRATIONS_H_
