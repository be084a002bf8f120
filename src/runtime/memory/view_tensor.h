// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file view_tensor.h
/// Compact tensors over memory that another object owns. Their objects are recycled, so that making
/// one costs no heap call once as many have lived before.
#ifndef TVM_RUNTIME_MEMORY_VIEW_TENSOR_H_
#define TVM_RUNTIME_MEMORY_VIEW_TENSOR_H_

#include <tvm/ffi/object.h>
#include <tvm/runtime/tensor.h>

namespace tvm {
namespace runtime {
namespace memory {

/// The tensor keeps owner alive. Its strides are the compact ones.
Tensor MakeViewTensor(ffi::ObjectPtr<ffi::Object> owner, void* data, uint64_t byte_offset, int ndim,
                      const int64_t* shape, DLDataType dtype, Device dev);

}  // namespace memory
}  // namespace runtime
}  // namespace tvm

#endif  // TVM_RUNTIME_MEMORY_VIEW_TENSOR_H_
