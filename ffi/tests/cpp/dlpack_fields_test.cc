// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Managed tensors with fields that no tensor can have are refused and stay with their owner.
#include <gtest/gtest.h>
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/extra/structural_equal.h>
#include <tvm/ffi/extra/structural_hash.h>

#include <string>

#include "testing_object.h"

namespace tvm {
namespace ffi {
namespace {

using testing::ErrorOf;

bool EndsWith(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

class DLPackFields : public ::testing::Test {
 protected:
  DLPackFields() {
    managed_.version = {DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION};
    managed_.manager_ctx = this;
    managed_.deleter = [](DLManagedTensorVersioned* self) {
      ++static_cast<DLPackFields*>(self->manager_ctx)->deleted_;
    };
    managed_.dl_tensor = DLTensor{data_, {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, shape_, nullptr, 0};
  }

  /// Error of an import that must fail.
  std::string Refusal(size_t alignment = 0) {
    const int before = deleted_;
    std::string text = ErrorOf([&] { Tensor::FromDLPackVersioned(&managed_, alignment); });
    EXPECT_EQ(deleted_, before) << "a refused tensor stays with its owner";
    return text;
  }

  float data_[6] = {};
  int64_t shape_[2] = {2, 3};
  int deleted_ = 0;
  DLManagedTensorVersioned managed_{};
};

TEST_F(DLPackFields, Dimensions) {
  managed_.dl_tensor.ndim = -1;
  EXPECT_EQ(Refusal(), "ValueError: FromDLPack: ndim is -1, expected 0 or more");
  managed_.dl_tensor.ndim = INT32_MAX;
  managed_.dl_tensor.shape = nullptr;
  EXPECT_EQ(Refusal(), "ValueError: FromDLPack: shape is NULL, but ndim is 2147483647");
  managed_.dl_tensor.ndim = 0;
  EXPECT_EQ(Tensor::FromDLPackVersioned(&managed_).numel(), 1);
  EXPECT_EQ(deleted_, 1);
}

TEST_F(DLPackFields, Extents) {
  shape_[1] = -3;
  EXPECT_EQ(Refusal(), "ValueError: FromDLPack: extent of axis 1 is -3, expected 0 or more");
  shape_[1] = int64_t{1} << 60;
  EXPECT_EQ(Refusal(), "ValueError: FromDLPack: the extents up to axis 1 need more than 2^63 bits");
  shape_[0] = 0;  // strides are products of the other extents
  EXPECT_NE(Refusal(), "no error");
}

TEST_F(DLPackFields, VersionAndAlignment) {
  managed_.version.major = DLPACK_MAJOR_VERSION + 1;
  EXPECT_EQ(Refusal().substr(0, 39), "RuntimeError: FromDLPack: DLPack versio");
  managed_.version.major = DLPACK_MAJOR_VERSION;
  EXPECT_EQ(Refusal(static_cast<size_t>(-8)),
            "ValueError: FromDLPack: required alignment is -8, expected 0 or more");
  EXPECT_TRUE(EndsWith(ErrorOf([] { Tensor::FromDLPack(nullptr); }), "managed tensor is NULL"));
}

TEST_F(DLPackFields, MissingDataIsNotRead) {
  managed_.dl_tensor.data = nullptr;
  {
    const Tensor tensor = Tensor::FromDLPackVersioned(&managed_);
    EXPECT_TRUE(tensor.IsAligned(64));
    const std::string error = ErrorOf([&] { StructuralHash::Hash(tensor); });
    EXPECT_NE(error.find("24 bytes, but its data pointer is NULL"), std::string::npos) << error;
    const Tensor twin = tensor.as_strided(tensor.shape(), tensor.strides());
    EXPECT_EQ(ErrorOf([&] { StructuralEqual::Equal(tensor, twin); }).substr(0, 11), "ValueError:");
  }
  EXPECT_EQ(deleted_, 1);
}

TEST_F(DLPackFields, ViewsNeedAShape) {
  const Tensor tensor = Tensor::FromDLPackVersioned(&managed_);
  DLTensor prototype = *tensor.GetDLTensorPtr();
  prototype.ndim = -2;
  auto view = [&] {
    TVMFFIObjectHandle out;
    TVM_FFI_CHECK_SAFE_CALL(
        TVMFFITensorCreateUnsafeView(const_cast<TensorObj*>(tensor.get()), &prototype, &out));
    TVMFFIObjectDecRef(out);
  };
  EXPECT_TRUE(EndsWith(ErrorOf(view), "a tensor view cannot have -2 dimensions"));
  prototype.ndim = 2;
  prototype.shape = nullptr;
  EXPECT_TRUE(EndsWith(ErrorOf(view), "a tensor view needs a shape"));
}

}  // namespace
}  // namespace ffi
}  // namespace tvm
