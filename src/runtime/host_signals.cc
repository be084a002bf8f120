// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include <tvm/ffi/error.h>
#include <tvm/ffi/extra/c_env_api.h>
#include <tvm/runtime/host_signals.h>

#include <thread>

namespace tvm {
namespace runtime {
namespace {

const std::thread::id kMainThread = std::this_thread::get_id();

}  // namespace

void CheckHostSignals() {
  if (std::this_thread::get_id() != kMainThread) return;
  TVM_FFI_CHECK_SAFE_CALL(TVMFFIEnvCheckSignals());
}

}  // namespace runtime
}  // namespace tvm
