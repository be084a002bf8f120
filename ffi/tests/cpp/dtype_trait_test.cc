// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include <gtest/gtest.h>
#include <tvm/ffi/dtype.h>
#include <tvm/ffi/extra/dtype.h>

#include <string>

namespace tvm {
namespace ffi {
namespace {

template <typename T>
std::string Name() {
  return std::string(DLDataTypeToString(dtype_trait<T>::value));
}

TEST(DTypeTrait, NamesOfCxxTypes) {
  EXPECT_EQ(Name<int8_t>(), "int8");
  EXPECT_EQ(Name<uint16_t>(), "uint16");
  EXPECT_EQ(Name<long long>(), "int64");  // NOLINT(google-runtime-int): not int64_t everywhere
  EXPECT_EQ(Name<float>(), "float32");
  EXPECT_EQ(Name<double>(), "float64");
  EXPECT_EQ(Name<bool>(), "bool");
  EXPECT_EQ(Name<void*>(), "handle");
}

TEST(DTypeTrait, NamesOfStorageTypes) {
  EXPECT_EQ(Name<dtypes::float16>(), "float16");
  EXPECT_EQ(Name<dtypes::bfloat16>(), "bfloat16");
  EXPECT_EQ(Name<dtypes::float8_e4m3fn>(), "float8_e4m3fn");
  EXPECT_EQ(Name<dtypes::float8_e3m4>(), "float8_e3m4");
  EXPECT_EQ(Name<dtypes::float8_e4m3b11fnuz>(), "float8_e4m3b11fnuz");
  EXPECT_EQ(Name<dtypes::float8_e8m0fnu>(), "float8_e8m0fnu");
  EXPECT_EQ(Name<dtypes::float4_e2m1fnx2>(), "float4_e2m1fnx2");
  EXPECT_EQ(sizeof(dtypes::float16), 2U);
  EXPECT_EQ(sizeof(dtypes::float4_e2m1fnx2), 1U);
}

TEST(DTypeTrait, NamesOfGpuTypes) {
  EXPECT_EQ(Name<__half>(), "float16");
  EXPECT_EQ(Name<__nv_bfloat16>(), "bfloat16");
  EXPECT_EQ(Name<__hip_fp8_e5m2_fnuz>(), "float8_e5m2fnuz");
  EXPECT_EQ(Name<__nv_fp4_e2m1>(), "float4_e2m1fn");
  EXPECT_EQ(Name<__hip_fp4x2_e2m1>(), Name<__nv_fp4x2_e2m1>());
}

template <typename T, typename = void>
struct HasTrait : std::false_type {};
template <typename T>
struct HasTrait<T, std::void_t<decltype(dtype_trait<T>::value)>> : std::true_type {};

TEST(DTypeTrait, OtherTypesHaveNone) {
  EXPECT_TRUE(HasTrait<int>::value);
  EXPECT_FALSE(HasTrait<std::string>::value);
  EXPECT_FALSE(HasTrait<long double>::value);
  EXPECT_TRUE((std::is_same_v<::tvm_ffi::dtype_trait<int>, dtype_trait<int>>));
}

}  // namespace
}  // namespace ffi
}  // namespace tvm
