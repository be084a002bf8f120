// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include <gtest/gtest.h>
#include <tvm/ffi/container/map.h>
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/device.h>
#include <tvm/ffi/dtype.h>
#include <tvm/ffi/extra/c_env_api.h>
#include <tvm/ffi/function.h>

#include <cstdlib>

#include "testing_object.h"

namespace tvm {
namespace ffi {
namespace {

using testing::ErrorOf;

int live_buffers = 0;

struct HostAlloc {
  void AllocData(DLTensor* tensor, size_t extra = 0) {
    tensor->data = std::malloc(GetDataSize(*tensor) + extra + 1);
    ++live_buffers;
  }
  void FreeData(DLTensor* tensor) {
    std::free(tensor->data);
    --live_buffers;
  }
};

constexpr DLDataType kFloat32{kDLFloat, 32, 1};
constexpr DLDevice kCPU{kDLCPU, 0};

Tensor Make(ShapeView shape) { return Tensor::FromNDAlloc(HostAlloc(), shape, kFloat32, kCPU); }

TEST(Tensor, AccessorsAndLifetime) {
  {
    Tensor t = Make({2, 3, 4});
    EXPECT_EQ(t.ndim(), 3);
    EXPECT_EQ(t.size(1), 3);
    EXPECT_EQ(t.size(-1), 4);
    EXPECT_EQ(t.stride(0), 12);
    EXPECT_EQ(t.numel(), 24);
    EXPECT_EQ(GetDataSize(t), 96u);
    EXPECT_TRUE(t.IsContiguous());
    EXPECT_EQ(t.dtype(), kFloat32);
    EXPECT_EQ(ErrorOf([&] { t.size(3); }).substr(0, 11), "IndexError:");
    EXPECT_EQ(ErrorOf([&] { t.stride(-4); }).substr(0, 11), "IndexError:");
    TensorView view = t;
    EXPECT_EQ(view.data_ptr(), t.data_ptr());
    EXPECT_EQ(t.use_count(), 1);
    Any any = t;
    EXPECT_EQ(any.cast<TensorView>().dim(), 3);
    EXPECT_EQ(any.cast<DLTensor*>(), t.GetDLTensorPtr());
    EXPECT_EQ(live_buffers, 1);
  }
  EXPECT_EQ(live_buffers, 0);
}

TEST(Tensor, EmptyIsContiguous) {
  int64_t shape[2] = {0, 2};
  int64_t strides[2] = {4, 2};
  DLTensor view{};
  view.ndim = 2;
  view.shape = shape;
  view.strides = strides;
  EXPECT_TRUE(IsContiguous(view)) << "there is no element to misplace";
  shape[0] = 1;
  EXPECT_FALSE(IsContiguous(view));
}

TEST(Tensor, NullHandle) {
  const Tensor null;
  EXPECT_EQ(ErrorOf([&] { null.ndim(); }),
            "TypeError: expected an object of type `ffi.Tensor`, got None");
  EXPECT_EQ(null.GetDLTensorPtr(), nullptr);
}

TEST(Tensor, StridedViewsKeepTheSource) {
  Tensor view;
  {
    Tensor t = Make({4, 4});
    static_cast<float*>(t.data_ptr())[6] = 2.5f;
    view = t.as_strided({2}, {4}, 2);
  }
  EXPECT_EQ(live_buffers, 1);
  EXPECT_EQ(static_cast<float*>(view.data_ptr())[4], 2.5f);
  EXPECT_FALSE(view.IsContiguous());
  EXPECT_EQ(ErrorOf([&] { view.as_strided({2, 2}, {1}); }).substr(0, 11), "ValueError:");
  view = Tensor();
  EXPECT_EQ(live_buffers, 0);
  Tensor strided = Tensor::FromNDAllocStrided(HostAlloc(), {2, 2}, {1, 2}, kFloat32, kCPU, 64);
  EXPECT_EQ(strided.stride(1), 2);
}

int AllocateManaged(DLTensor* prototype, DLManagedTensorVersioned** out, void*,
                    void (*)(void*, const char*, const char*)) {
  *out =
      Make(ShapeView(prototype->shape, static_cast<size_t>(prototype->ndim))).ToDLPackVersioned();
  return 0;
}

TEST(Tensor, EnvironmentAllocates) {
  EXPECT_NE(ErrorOf([] { Tensor::FromEnvAlloc(TVMFFIEnvTensorAlloc, {2}, kFloat32, kCPU); }),
            "no error")
      << "no allocator is set";
  ASSERT_EQ(TVMFFIEnvSetDLPackManagedTensorAllocator(AllocateManaged, 0, nullptr), 0);
  {
    Tensor t = Tensor::FromEnvAlloc(TVMFFIEnvTensorAlloc, {2, 3}, kFloat32, kCPU);
    EXPECT_EQ(t.numel(), 6);
    EXPECT_EQ(t.stride(0), 3);
    EXPECT_EQ(live_buffers, 1);
  }
  EXPECT_EQ(live_buffers, 0);
  TVMFFIEnvSetDLPackManagedTensorAllocator(nullptr, 0, nullptr);
}

TEST(Tensor, UnsafeViewsNeedStrides) {
  Tensor t = Make({4});
  int64_t shape[1] = {2};
  int64_t strides[1] = {2};
  DLTensor prototype = *t.GetDLTensorPtr();
  prototype.shape = shape;
  prototype.strides = strides;
  TVMFFIObjectHandle view = nullptr;
  ASSERT_EQ(TVMFFITensorCreateUnsafeView(const_cast<TensorObj*>(t.get()), &prototype, &view), 0);
  EXPECT_EQ(t.use_count(), 2);
  EXPECT_EQ(TVMFFITensorGetDLTensorPtr(view)->strides[0], 2);
  EXPECT_NE(TVMFFITensorGetDLTensorPtr(view)->shape, shape) << "extents are copied";
  TVMFFIObjectDecRef(view);
  EXPECT_EQ(t.use_count(), 1);
  prototype.strides = nullptr;
  EXPECT_EQ(TVMFFITensorCreateUnsafeView(const_cast<TensorObj*>(t.get()), &prototype, &view), -1);
  EXPECT_NE(detail::MoveFromSafeCallRaised().message(), "");
}

TEST(Tensor, DLPackRoundTrip) {
  Tensor t = Make({2, 2});
  DLManagedTensorVersioned* exported = t.ToDLPackVersioned();
  EXPECT_EQ(exported->version.major, 1u);
  EXPECT_EQ(t.use_count(), 2);
  {
    Tensor back = Tensor::FromDLPackVersioned(exported, 4, true);
    EXPECT_EQ(back.data_ptr(), t.data_ptr());
    EXPECT_FALSE(back.same_as(t));
  }
  EXPECT_EQ(t.use_count(), 1);
  DLManagedTensor* old = t.ToDLPack();
  old->deleter(old);
  EXPECT_EQ(t.use_count(), 1);
}

TEST(Tensor, DLPackImportChecks) {
  alignas(64) float data[8] = {};
  int64_t shape[2] = {2, 3};
  int64_t strides[2] = {1, 2};
  static int deleted = 0;
  auto make = [&](int64_t* strides_or_null, char* where) {
    auto* managed = new DLManagedTensorVersioned{};
    managed->dl_tensor = DLTensor{where, kCPU, 2, kFloat32, shape, strides_or_null, 0};
    managed->deleter = [](DLManagedTensorVersioned* self) {
      ++deleted;
      delete self;
    };
    return managed;
  };
  auto* base = reinterpret_cast<char*>(data);
  {
    Tensor t = Tensor::FromDLPackVersioned(make(nullptr, base));
    EXPECT_EQ(t.strides()[0], 3) << "missing strides are filled in";
  }
  EXPECT_EQ(deleted, 1);
  DLManagedTensorVersioned* bad = make(strides, base);
  EXPECT_EQ(ErrorOf([&] { Tensor::FromDLPackVersioned(bad, 0, true); }),
            "RuntimeError: FromDLPack: Tensor is not contiguous.");
  bad->dl_tensor.data = base + 4;
  EXPECT_EQ(ErrorOf([&] { Tensor::FromDLPackVersioned(bad, 8); }),
            "RuntimeError: FromDLPack: Data is not aligned to 8 bytes.");
  bad->dl_tensor.dtype = DLDataType{kDLFloat4_e2m1fn, 4, 1};
  bad->flags = DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED;
  EXPECT_EQ(ErrorOf([&] { Tensor::FromDLPackVersioned(bad); }).substr(0, 13), "RuntimeError:");
  EXPECT_EQ(deleted, 1) << "a rejected tensor stays with the caller";
  bad->deleter(bad);
}

TEST(Tensor, BorrowedPointersCannotBeOwned) {
  int64_t shape[1] = {1};
  float value = 0;
  DLTensor raw{&value, kCPU, 1, kFloat32, shape, nullptr, 0};
  DLTensor* pointer = &raw;
  AnyView view = pointer;
  EXPECT_EQ(view.cast<TensorView>().numel(), 1);
  EXPECT_FALSE(view.try_cast<Tensor>().has_value());
  EXPECT_EQ(ErrorOf([&] { Any owned(pointer); }).substr(0, 13), "RuntimeError:");
  EXPECT_TRUE(IsContiguous(raw));
  EXPECT_TRUE(IsAligned(raw, 4));
}

TEST(DType, ParseAndPrint) {
  struct Case {
    const char* text;
    DLDataType dtype;
    const char* printed;
    const char* abbreviation;
  };
  const Case cases[] = {
      {"float32", {2, 32, 1}, "float32", "f32"},
      {"float", {2, 32, 1}, "float32", "f32"},
      {"i32", {0, 32, 1}, "int32", "i32"},
      {"u8x4", {1, 8, 4}, "uint8x4", "u8x4"},
      {"bool", {6, 8, 1}, "bool", "bool"},
      {"bool1", {6, 1, 1}, "bool1", "bool1"},
      {"handle", {3, 64, 1}, "handle", "handle"},
      {"void", {3, 0, 0}, "", "void"},
      {"", {3, 0, 0}, "", "void"},
      {"bf16", {4, 16, 1}, "bfloat16", "bf16"},
      {"int8xvscalex4", {0, 8, static_cast<uint16_t>(-4)}, "int8xvscalex4", "i8xvscalex4"},
      {"int8xvscalex1", {0, 8, static_cast<uint16_t>(-1)}, "int8xvscalex1", "i8xvscalex1"},
      {"fp8_e4m3", {8, 8, 1}, "float8_e4m3", "f8_e4m3"},
      {"float8_e4m3fnx4", {10, 8, 4}, "float8_e4m3fnx4", "f8_e4m3fnx4"},
      {"float8_e5m2fnuz", {13, 8, 1}, "float8_e5m2fnuz", "f8_e5m2fnuz"},
      {"float6_e2m3fn", {15, 6, 1}, "float6_e2m3fn", "f6_e2m3fn"},
      {"float4_e2m1fn_x2", {17, 4, 2}, "float4_e2m1fnx2", "f4_e2m1fnx2"},
      {"float4_e2m1fnx2", {17, 4, 2}, "float4_e2m1fnx2", "f4_e2m1fnx2"},
  };
  for (const Case& c : cases) {
    const DLDataType dtype = StringToDLDataType(c.text);
    EXPECT_EQ(dtype, c.dtype) << c.text;
    EXPECT_EQ(DLDataTypeToString(dtype), c.printed) << c.text;
    EXPECT_EQ(DTypeAbbrev(dtype), c.abbreviation) << c.text;
  }
  for (const char* bad : {"foo", "complex64", "int0", "int300", "32", "float32 ", "float16_e3",
                          "booll", "float32x4x2", "u", "f128x", "float32x65536"}) {
    EXPECT_EQ(ErrorOf([&] { StringToDLDataType(bad); }).substr(0, 11), "ValueError:") << bad;
  }
  EXPECT_EQ(ErrorOf([] { StringToDLDataType("float16x0"); }),
            "ValueError: Invalid lanes specification in dtype 'float16x0'. Lanes must be a "
            "positive integer.");
  EXPECT_EQ(ErrorOf([] { Any("foo").cast<DLDataType>(); }), "ValueError: unknown dtype `foo`");
  EXPECT_TRUE(DTypeIsFloat(StringToDLDataType("float4_e2m1fn")));
  EXPECT_TRUE(DTypeIsInt(StringToDLDataType("u8")) && !DTypeIsInt(StringToDLDataType("bool")));
}

TEST(DType, CustomTypesThroughHostHooks) {
  Function::SetGlobal("dtype.get_custom_type_code",
                      Function::FromTyped([](String name) { return name == "posit" ? 131 : 0; }));
  Function::SetGlobal("dtype.get_custom_type_name", Function::FromTyped([](int code) {
                        return String(code == 131 ? "posit" : "?");
                      }));
  const DLDataType dtype = StringToDLDataType("custom[posit]16x2");
  EXPECT_EQ(dtype, (DLDataType{131, 16, 2}));
  EXPECT_EQ(DLDataTypeToString(dtype), "custom[posit]16x2");
}

TEST(Device, Text) {
  EXPECT_EQ(Any("cuda:1").cast<DLDevice>(), (DLDevice{kDLCUDA, 1}));
  EXPECT_EQ(Any("mps").cast<DLDevice>(), (DLDevice{kDLMetal, 0}));
  EXPECT_EQ(Any("webgpu:02").cast<DLDevice>(), (DLDevice{kDLWebGPU, 2}));
  for (const char* bad : {"cuda:", "cuda:-1", "cuda:1a", "CPU", "cuda:2147483648", ":1", ""}) {
    EXPECT_FALSE(Any(bad).try_cast<DLDevice>().has_value()) << bad;
  }
  Map<String, Any> map{{"device", DLDevice{kDLROCM, 3}}};
  EXPECT_EQ(map["device"].cast<DLDevice>().device_id, 3);
}

}  // namespace
}  // namespace ffi
}  // namespace tvm
