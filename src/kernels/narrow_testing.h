// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// For tests: contractions of elements of 8 and 16 bits, by the rule and by plain loops.
#ifndef TVM_KERNELS_NARROW_TESTING_H_
#define TVM_KERNELS_NARROW_TESTING_H_

#include <gtest/gtest.h>
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/extra/module.h>
#include <tvm/ffi/function.h>
#include <tvm/kernels/rule.h>
#include <tvm/target/cpu_features.h>
#include <tvm/te/create_prim_func.h>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "kernels/rule_testing.h"

namespace tvm {
namespace kernels {
namespace testing {
namespace narrow {

const DataType kU8 = DataType::UInt(8), kS8 = DataType::Int(8), kS32 = DataType::Int(32);
const DataType kBF16 = DataType::BFloat(16), kF32 = DataType::Float(32);

inline ffi::Array<PrimExpr> Shape(const std::vector<int64_t>& extents) {
  ffi::Array<PrimExpr> shape;
  for (int64_t e : extents) shape.push_back(I(e));
  return shape;
}
inline te::Tensor Input(const std::vector<int64_t>& extents, DataType dtype, const char* name) {
  return te::placeholder(Shape(extents), dtype, name);
}

/// An argument: its bytes, 64-byte aligned.
struct Data {
  std::vector<int64_t> shape;
  DataType dtype;
  int64_t count = 1;
  char* bytes;
  DLTensor view;

  Data(const te::Tensor& tensor, uint32_t seed) : dtype(tensor.dtype()) {
    for (const PrimExpr& e : tensor.shape()) {
      shape.push_back(*as_const_int(e));
      count *= shape.back();
    }
    const size_t size = static_cast<size_t>(count * dtype.bytes());
    bytes = static_cast<char*>(std::aligned_alloc(64, (size + 127) / 64 * 64));
    std::mt19937 rng(seed);
    for (int64_t i = 0; i < count; ++i) SetRandom(i, &rng);
    view = DLTensor{
        bytes, {kDLCPU, 0}, static_cast<int>(shape.size()), dtype, shape.data(), nullptr, 0};
  }
  ~Data() { std::free(bytes); }
  Data(const Data&) = delete;

  template <typename T>
  T* As() {
    return reinterpret_cast<T*>(bytes);
  }
  void SetRandom(int64_t i, std::mt19937* rng) {
    if (dtype.bits() == 8) {
      // The extremes come often: they are what saturating arithmetic would get wrong.
      const uint32_t roll = (*rng)() % 8;
      const uint8_t extreme = dtype.is_int() ? 0x80 : 0xff;
      As<uint8_t>()[i] = roll < 2 ? extreme : static_cast<uint8_t>((*rng)());
      return;
    }
    const float value = std::uniform_real_distribution<float>(-1, 1)(*rng);
    if (dtype == kF32) As<float>()[i] = value;
    if (dtype == kS32) As<int32_t>()[i] = static_cast<int32_t>((*rng)() % 2000) - 1000;
    if (dtype == kBF16) {
      As<uint16_t>()[i] = static_cast<uint16_t>(std::bit_cast<uint32_t>(value) >> 16);
    }
  }
  double At(int64_t i) {
    if (dtype == kU8) return As<uint8_t>()[i];
    if (dtype == kS8) return As<int8_t>()[i];
    if (dtype == kS32) return As<int32_t>()[i];
    if (dtype == kF32) return As<float>()[i];
    return std::bit_cast<float>(static_cast<uint32_t>(As<uint16_t>()[i]) << 16);
  }
};

using Prepare = std::function<void(size_t, Data*)>;

inline void Run(const tirx::PrimFunc& func, const Target& target,
                const std::vector<std::unique_ptr<Data>>& args) {
  ffi::Function f = Build(func, target);
  std::vector<ffi::AnyView> views;
  for (const auto& arg : args) views.emplace_back(&arg->view);
  ffi::Any result;
  f.CallPacked(views.data(), static_cast<int32_t>(views.size()), &result);
}

/// The rule's loops against plain ones. `tolerance` is relative to the largest result; 0: equal.
inline void Check(const ffi::Array<te::Tensor>& args, const Target& target, double tolerance,
                  const Prepare& prepare = nullptr, const char* rule_name = "contraction") {
  tirx::PrimFunc group = te::CreatePrimFunc(args);
  auto fast = EmitBy(rule_name, group, target);
  ASSERT_TRUE(fast.has_value());
  std::vector<std::unique_ptr<Data>> want, got;
  for (auto* list : {&want, &got}) {
    for (size_t i = 0; i < args.size(); ++i) {
      list->push_back(std::make_unique<Data>(args[i], static_cast<uint32_t>(i + 1)));
      if (prepare) prepare(i, list->back().get());
    }
  }
  Run(group, target, want);
  Run(*fast, target, got);
  Data &w = *want.back(), &g = *got.back();
  double scale = 1e-6;
  for (int64_t j = 0; j < w.count; ++j) scale = std::max(scale, std::fabs(w.At(j)));
  for (int64_t j = 0; j < w.count; ++j) {
    ASSERT_NEAR(w.At(j), g.At(j), tolerance * scale) << "element " << j << " of " << w.count;
  }
}

/// How often the assembly of a function names an instruction.
inline int64_t Occurrences(const char* instruction, const tirx::PrimFunc& func,
                           const Target& target) {
  const std::string text(BuildModule(func, target)->InspectSource("asm"));
  int64_t count = 0;
  for (size_t at = 0; (at = text.find(instruction, at)) != std::string::npos; ++at) ++count;
  return count;
}

/// This machine, VNNI without BF16, AVX2 and the oldest x86-64; only what runs here.
inline std::vector<Target> Targets() {
  std::vector<Target> targets{Target("llvm")};
  if (HostCpuFeatures().arch != "x86_64") return targets;
  targets.push_back(Cpu("x86-64"));
  if (HostCpuFeatures().avx2) targets.push_back(Cpu("x86-64-v3"));
  if (HostCpuFeatures().avx512vnni) targets.push_back(Cpu("cascadelake"));
  return targets;
}
}  // namespace narrow
}  // namespace testing
}  // namespace kernels
}  // namespace tvm

#endif  // TVM_KERNELS_NARROW_TESTING_H_
