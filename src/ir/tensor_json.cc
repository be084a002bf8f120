// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Tensors inside JSON graphs: the file form of the tensor in base64.
#include <tvm/ffi/extra/base64.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/runtime/tensor.h>
#include <tvm/support/byte_io.h>

#include <string>

namespace tvm {

namespace {

ffi::String TensorToText(const ffi::Tensor& tensor) {
  std::string bytes;
  runtime::SaveDLTensor(&bytes, tensor.GetDLTensorPtr());
  return ffi::Base64Encode(TVMFFIByteArray{bytes.data(), bytes.size()});
}

ffi::Tensor TensorFromText(const ffi::String& text) {
  ffi::Bytes bytes = ffi::Base64Decode(text);
  support::ByteReader reader(bytes.data(), bytes.size());
  runtime::Tensor tensor = runtime::Tensor::Load(&reader);
  TVM_FFI_CHECK(reader.AtEnd(), ValueError) << "the text of a tensor has bytes after the tensor";
  return tensor;
}

}  // namespace

TVM_FFI_STATIC_INIT_BLOCK() {
  ffi::reflection::TypeAttrDef<ffi::TensorObj>()
      .def("__data_to_json__", TensorToText)
      .def("__data_from_json__", TensorFromText);
}

}  // namespace tvm
