// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Feeds arbitrary bytes to the loader of VM executables: it must load or raise, and what it loads
/// must survive being printed and saved.
#include <tvm/runtime/vm/executable.h>

#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using tvm::runtime::vm::VMExecutable;
  try {
    auto mod =
        VMExecutable::LoadFromBytes(tvm::ffi::Bytes(reinterpret_cast<const char*>(data), size));
    const auto* exec = static_cast<const VMExecutable*>(mod.get());
    (void)exec->AsText();
    (void)exec->AsPython();
    (void)exec->Stats();
    (void)exec->SaveToBytes();
  } catch (const tvm::ffi::Error&) {
  }
  return 0;
}
