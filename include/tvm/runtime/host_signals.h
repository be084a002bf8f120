// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file host_signals.h
/// Ctrl-C during long work in native code.
#ifndef TVM_RUNTIME_HOST_SIGNALS_H_
#define TVM_RUNTIME_HOST_SIGNALS_H_

#include <tvm/runtime/base.h>

namespace tvm {
namespace runtime {

/// Raises what a signal handler of the host language raised, e.g. KeyboardInterrupt. To be called
/// now and then by work that takes long.
///
/// Does nothing in threads besides the one that loaded this library: hosts run handlers in their
/// main thread only, and that one may be waiting, with the host's lock held, for the caller.
TVM_RUNTIME_DLL void CheckHostSignals();

}  // namespace runtime
}  // namespace tvm
#endif  // TVM_RUNTIME_HOST_SIGNALS_H_
