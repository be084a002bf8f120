// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// The blob in which a library carries the modules it imports.
#ifndef TVM_FFI_SRC_EXTRA_LIBRARY_BIN_H_
#define TVM_FFI_SRC_EXTRA_LIBRARY_BIN_H_

#include <tvm/ffi/extra/base.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tvm {
namespace ffi {

/// One module of the blob; the views borrow from it.
struct LibraryBinModule {
  std::string_view kind;  ///< `_lib` stands for the library that carries the blob
  std::string_view body;
};

/// Modules and, in compressed row form, which modules each of them imports. Module 0 is the root.
struct LibraryBin {
  std::vector<LibraryBinModule> modules;
  std::vector<uint64_t> import_indptr;
  std::vector<uint64_t> import_indices;
};

inline constexpr std::string_view kLibraryBinSelf = "_lib";

/// Decodes the bytes behind the length word:
///   u64 count + u64s indptr, u64 count + u64s indices,
///   then per module u64 length + kind and, unless the kind is `_lib`, u64 length + body.
/// All integers are little endian. Every length is checked; on failure the result is false and
/// `error` says what was expected and found at which offset.
TVM_FFI_EXTRA_CXX_API bool ParseLibraryBin(std::string_view bytes, LibraryBin* bin,
                                           std::string* error);

}  // namespace ffi
}  // namespace tvm
#endif  // TVM_FFI_SRC_EXTRA_LIBRARY_BIN_H_
