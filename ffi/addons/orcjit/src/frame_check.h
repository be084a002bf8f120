// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Checks of unwind tables (.eh_frame) before the linker and the unwinder trust them.
#ifndef TVM_FFI_ORCJIT_FRAME_CHECK_H_
#define TVM_FFI_ORCJIT_FRAME_CHECK_H_

#include <llvm/ADT/ArrayRef.h>

#include <cstdint>
#include <string>

namespace tvm {
namespace ffi {
namespace orcjit {

/// What is wrong with the records of a table; empty if nothing is. Relocated fields are not read.
std::string CheckFrames(llvm::ArrayRef<uint8_t> table);

}  // namespace orcjit
}  // namespace ffi
}  // namespace tvm
#endif  // TVM_FFI_ORCJIT_FRAME_CHECK_H_
