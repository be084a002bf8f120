// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file
/// \brief Weights that stay in their file until they are packed.
///
/// A model file is mapped once; each weight is a view of its bytes, at whatever offset the file has
/// them. The passes that move weights (packing, transposing, reshaping) read such views where they
/// lie and then give the pages back, so that a model's weights are in memory once, in the form in
/// which the kernels want them. Everything else asks for an aligned copy first.
#ifndef TVM_SRC_RELAX_IR_MAPPED_TENSOR_H_
#define TVM_SRC_RELAX_IR_MAPPED_TENSOR_H_

#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/string.h>
#include <tvm/runtime/base.h>

namespace tvm {
namespace relax {

/// A file as a uint8 tensor of its size. It must not be cut while the tensor or a view of it lives.
/// RuntimeError with the path when it cannot be mapped.
TVM_DLL ffi::Tensor MapFile(const ffi::String& path);
/// Elements at a byte offset of a mapped file, which need not be aligned. ValueError when they lie
/// outside of it.
TVM_DLL ffi::Tensor MapView(const ffi::Tensor& file, int64_t offset, DLDataType dtype,
                            const ffi::Shape& shape);
/// Lets go of the memory behind a view; it is read from the file again when needed. Nothing happens
/// to other tensors.
TVM_DLL void ReleasePages(const ffi::Tensor& tensor);
/// The tensor itself when it is aligned to 64 bytes or not in host memory, else a copy that is.
TVM_DLL ffi::Tensor AlignedTensor(const ffi::Tensor& tensor);

}  // namespace relax
}  // namespace tvm

#endif  // TVM_SRC_RELAX_IR_MAPPED_TENSOR_H_
