// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file host_tensor.h
/// Element access for builtins whose results depend on data: one key or text an element.
#ifndef TVM_RUNTIME_VM_HOST_TENSOR_H_
#define TVM_RUNTIME_VM_HOST_TENSOR_H_

#include <tvm/runtime/tensor.h>

#include <cstdint>
#include <string>

namespace tvm {
namespace runtime {
namespace vm {

/// The tensor in compact form on the CPU: itself if it is so already.
Tensor ToCompactHost(const Tensor& tensor);

/// Element i as an integer whose order is the order of the values: equal values have equal keys,
/// -0 is 0, every NaN is the largest. TypeError for types without an order.
class ElementKeys {
 public:
  explicit ElementKeys(const Tensor& compact);
  int64_t operator[](int64_t i) const { return read_(data_, i); }
  /// Key of 0.
  int64_t zero() const { return zero_; }

 private:
  using Reader = int64_t (*)(const char* data, int64_t i);
  const char* data_;
  Reader read_;
  int64_t zero_ = 0;
};

/// Nested brackets; long axes of large tensors are abridged.
std::string TensorToText(const Tensor& tensor);
/// One element, floats in the shortest form that reads back the same.
std::string ElementToText(const char* data, int64_t i, DLDataType dtype);

}  // namespace vm
}  // namespace runtime
}  // namespace tvm

#endif  // TVM_RUNTIME_VM_HOST_TENSOR_H_
