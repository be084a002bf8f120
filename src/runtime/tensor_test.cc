// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include <gtest/gtest.h>
#include <tvm/ffi/container/map.h>
#include <tvm/ffi/container/shape.h>
#include <tvm/ffi/function.h>
#include <tvm/runtime/device_api.h>
#include <tvm/runtime/tensor.h>
#include <tvm/runtime/timer.h>
#include <tvm/support/byte_io.h>

#include <cstring>
#include <string>
#include <thread>
#include <vector>

namespace tvm {
namespace runtime {
namespace {

constexpr Device kCPU{kDLCPU, 0};
constexpr DLDataType kF32{kDLFloat, 32, 1};

Tensor Iota(std::vector<int64_t> shape) {
  Tensor t = Tensor::Empty(ffi::Shape(shape.begin(), shape.end()), kF32, kCPU);
  int64_t n = 1;
  for (int64_t d : shape) n *= d;
  for (int64_t i = 0; i < n; ++i) static_cast<float*>(t->data)[i] = static_cast<float>(i);
  return t;
}
template <typename F>
std::string MessageOf(F f) {
  try {
    f();
  } catch (const ffi::Error& e) {
    return std::string(e.kind().data(), e.kind().size()) + ": " + e.what();
  }
  return "";
}

TEST(TensorTest, ViewsShareAndAreChecked) {
  Tensor t = Iota({4, 4});
  Tensor v = t.CreateView(ffi::Shape{2, 2}, kF32, 8);
  EXPECT_EQ(static_cast<float*>(v->data)[0], 2.0f);
  EXPECT_EQ(v->byte_offset, 0u);
  EXPECT_EQ(t.use_count(), 2);
  Tensor w = v.CreateView(ffi::Shape{1}, kF32, 4);
  EXPECT_EQ(static_cast<float*>(w->data)[0], 3.0f);
  EXPECT_TRUE(MessageOf([&] {
                t.CreateView(ffi::Shape{4, 4}, kF32, 4);
              }).find("ValueError: View with shape") == 0);
  EXPECT_NE(MessageOf([&] { t.CreateView(ffi::Shape{-1}, kF32); }), "");
  EXPECT_NE(MessageOf([&] { t.CreateView(ffi::Shape{int64_t{1} << 61, 4}, kF32); }), "");
  EXPECT_EQ(MessageOf([&] { t.CreateView(ffi::Shape{0}, kF32, 64); }), "");
  t = Tensor();
  v = Tensor();
  EXPECT_EQ(static_cast<float*>(w->data)[0], 3.0f);
}

TEST(TensorTest, BytesMustMatchExactly) {
  Tensor t = Iota({3});
  float out[4] = {};
  EXPECT_NE(MessageOf([&] { t.CopyToBytes(out, 16); }).find("expects exactly 12 bytes, got 16"),
            std::string::npos);
  t.CopyToBytes(out, 12);
  EXPECT_EQ(out[2], 2.0f);
  float in[3] = {5, 6, 7};
  t.CopyFromBytes(in, 12);
  EXPECT_EQ(static_cast<float*>(t->data)[1], 6.0f);
  EXPECT_NE(MessageOf([&] { Iota({2}).CopyFrom(t); }), "");
}

TEST(TensorTest, StridedAndOffsetCopies) {
  float backing[12];
  for (int i = 0; i < 12; ++i) backing[i] = static_cast<float>(i);
  int64_t shape[2] = {2, 3}, strides[2] = {1, 4};
  DLTensor src{};
  src.data = backing;
  src.device = kCPU;
  src.ndim = 2;
  src.dtype = kF32;
  src.shape = shape;
  src.strides = strides;
  src.byte_offset = 4;
  Tensor dst = Tensor::Empty(ffi::Shape{2, 3}, kF32, kCPU);
  dst.CopyFrom(&src);
  const float expected[6] = {1, 5, 9, 2, 6, 10};
  EXPECT_EQ(std::memcmp(dst->data, expected, sizeof(expected)), 0);
  // Back through the strides.
  for (float& v : backing) v = -1;
  dst.CopyTo(&src);
  EXPECT_EQ(backing[1], 1.0f);
  EXPECT_EQ(backing[10], 10.0f);
  EXPECT_EQ(backing[0], -1.0f);
}

TEST(TensorTest, SaveLoadAndEveryTruncation) {
  for (const Tensor& t : {Iota({2, 3}), Iota({}), Iota({0, 5})}) {
    std::string bytes;
    t.Save(&bytes);
    support::ByteReader r(bytes);
    Tensor back = Tensor::Load(&r);
    EXPECT_TRUE(r.AtEnd());
    ASSERT_EQ(back->ndim, t->ndim);
    size_t size = ffi::GetDataSize(*t.GetDLTensorPtr());
    if (size != 0) EXPECT_EQ(std::memcmp(back->data, t->data, size), 0);
    for (size_t n = 0; n < bytes.size(); ++n) {
      support::ByteReader cut(bytes.data(), n);
      EXPECT_NE(MessageOf([&] {
                  Tensor::Load(&cut);
                }).find("InternalError: Invalid DLTensor file format"),
                std::string::npos)
          << n;
    }
  }
  std::string bytes;
  Iota({2}).Save(&bytes);
  // Sizes that overflow or do not match must not allocate.
  int64_t huge = int64_t{1} << 62;
  std::memcpy(&bytes[32], &huge, 8);
  support::ByteReader r(bytes);
  EXPECT_NE(MessageOf([&] { Tensor::Load(&r); }), "");
}

TEST(TensorTest, ParamsAreExact) {
  auto save = ffi::Function::GetGlobalRequired("runtime.SaveParams");
  auto load = ffi::Function::GetGlobalRequired("runtime.LoadParams");
  ffi::Map<ffi::String, ffi::Tensor> params;
  params.Set("weight", Iota({4}));
  params.Set("a", Iota({1}));
  auto bytes = save(params).cast<ffi::Bytes>();
  auto back = load(bytes).cast<ffi::Map<ffi::String, ffi::Tensor>>();
  EXPECT_EQ(back.size(), 2u);
  EXPECT_EQ(static_cast<float*>(Tensor(back["weight"])->data)[3], 3.0f);
  std::string raw(bytes.data(), bytes.size());
  EXPECT_NE(MessageOf([&] { load(ffi::Bytes(raw + '\0')); }), "");
  for (size_t n = 0; n < raw.size(); ++n) {
    EXPECT_NE(MessageOf([&] { load(ffi::Bytes(raw.substr(0, n))); }), "") << n;
  }
  // A count of names that the file cannot hold.
  uint64_t many = uint64_t{1} << 60;
  std::memcpy(&raw[16], &many, 8);
  EXPECT_NE(MessageOf([&] { load(ffi::Bytes(raw)); }), "");
}

TEST(DeviceTest, NamesAndErrors) {
  EXPECT_EQ(DeviceToString(kCPU), "cpu:0");
  EXPECT_EQ(DeviceToString(AddRPCSessionMask(Device{kDLCUDA, 2}, 1)), "remote[1]-cuda:2");
  EXPECT_EQ(GetRPCSessionIndex(AddRPCSessionMask(kCPU, 3)), 3);
  EXPECT_NE(MessageOf([] {
              DeviceAPI::Get(Device{kDLMetal, 0});
            }).find("Device API metal is not enabled."),
            std::string::npos);
  // Types past the table are an error, not a read out of bounds.
  for (int type : {36, 100, 127, -5}) {
    EXPECT_NE(MessageOf([&] { DeviceAPI::Get(Device{static_cast<DLDeviceType>(type), 0}); }), "");
    EXPECT_EQ(DeviceAPI::Get(Device{static_cast<DLDeviceType>(type), 0}, true), nullptr);
  }
  auto attr = ffi::Function::GetGlobalRequired("runtime.GetDeviceAttr");
  EXPECT_EQ(attr(1, 0, 0).cast<int>(), 1);
  EXPECT_EQ(attr(8, 0, 0).cast<int>(), 0);
  EXPECT_GT(attr(1, 0, 14).cast<int64_t>(), 0);
  EXPECT_TRUE(attr(1, 0, 8) == nullptr);
  EXPECT_TRUE(RuntimeEnabled("cpu"));
  EXPECT_NE(MessageOf([] { RuntimeEnabled("nonsense"); }).find("Unknown optional runtime nonsense"),
            std::string::npos);
}

TEST(TimerTest, EvaluatorRepeatsUntilLongEnough) {
  int calls = 0;
  ffi::Function f = ffi::Function::FromTyped([&calls]() {
    ++calls;
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  });
  auto run = WrapTimeEvaluator(f, kCPU, 1, 3, 2, 100, 0, 1);
  auto bytes = run().cast<ffi::Bytes>();
  ASSERT_EQ(bytes.size(), 3 * sizeof(double));
  double first;
  std::memcpy(&first, bytes.data(), sizeof(first));
  EXPECT_GE(first, 200e-6);
  EXPECT_LT(first, 50e-3);
  EXPECT_GT(calls, 1 + 3 * 2);
  EXPECT_THROW(WrapTimeEvaluator(f, kCPU, 0, 1, 0, 1, 0, 1), ffi::Error);
}

}  // namespace
}  // namespace runtime
}  // namespace tvm
