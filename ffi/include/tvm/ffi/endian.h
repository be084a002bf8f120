// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors

/// Byte order of the host and of serialized data.
#ifndef TVM_FFI_ENDIAN_H_
#define TVM_FFI_ENDIAN_H_

#include <cstddef>
#include <cstdint>
#include <utility>

#ifndef TVM_FFI_IO_USE_LITTLE_ENDIAN
#define TVM_FFI_IO_USE_LITTLE_ENDIAN 1
#endif

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define TVM_FFI_LITTLE_ENDIAN 0
#else
#define TVM_FFI_LITTLE_ENDIAN 1
#endif

/// True when host memory can be written to files as it is.
#define TVM_FFI_IO_NO_ENDIAN_SWAP (TVM_FFI_LITTLE_ENDIAN == TVM_FFI_IO_USE_LITTLE_ENDIAN)

namespace tvm {
namespace ffi {

/// Reverses the bytes of each of `num_elems` elements in place.
inline void ByteSwap(void* data, size_t elem_bytes, size_t num_elems) {
  uint8_t* element = static_cast<uint8_t*>(data);
  for (size_t i = 0; i < num_elems; ++i, element += elem_bytes) {
    for (size_t low = 0, high = elem_bytes; low + 1 < high; ++low) {
      --high;
      std::swap(element[low], element[high]);
    }
  }
}

}  // namespace ffi
}  // namespace tvm
#endif  // TVM_FFI_ENDIAN_H_
