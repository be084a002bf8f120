// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// What the library registers when it is loaded.
#ifndef TVM_FFI_SRC_LIBRARY_INIT_H_
#define TVM_FFI_SRC_LIBRARY_INIT_H_

#include <tvm/ffi/base_detail.h>

namespace tvm {
namespace ffi {

/// True in a copy of the library that was loaded while another one serves the process. Its calls of
/// the C functions reach that other copy, which knows all that this one would register; registering
/// it again would fail and end the process. The first call reports the two files on stderr.
bool IsSecondCopy();

}  // namespace ffi
}  // namespace tvm

#define TVM_FFI_LIBRARY_INIT_BLOCK_DEF_(FnName) \
  static void FnName();                         \
  TVM_FFI_STATIC_INIT_BLOCK() {                 \
    if (!::tvm::ffi::IsSecondCopy()) FnName();  \
  }                                             \
  static void FnName()

/// As TVM_FFI_STATIC_INIT_BLOCK, for sources of this library: does nothing in a second copy of it.
#define TVM_FFI_LIBRARY_INIT_BLOCK() \
  TVM_FFI_LIBRARY_INIT_BLOCK_DEF_(TVM_FFI_STR_CONCAT(LibraryInit, __COUNTER__))

#endif  // TVM_FFI_SRC_LIBRARY_INIT_H_
