// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// For tests: groups written with te, run by a rule and by plain loops on the same data.
#ifndef TVM_KERNELS_RULE_TESTING_H_
#define TVM_KERNELS_RULE_TESTING_H_

#include <gtest/gtest.h>
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/extra/module.h>
#include <tvm/ffi/function.h>
#include <tvm/kernels/rule.h>
#include <tvm/runtime/threading_backend.h>
#include <tvm/te/create_prim_func.h>
#include <tvm/tirx/stmt_functor.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "kernels/group.h"

namespace tvm {
namespace kernels {
namespace testing {

using Attrs = ffi::Map<ffi::String, ffi::Any>;

inline PrimExpr I(int64_t value) { return Index(value); }
inline ffi::Array<PrimExpr> Shape(std::initializer_list<int64_t> extents) {
  ffi::Array<PrimExpr> shape;
  for (int64_t e : extents) shape.push_back(I(e));
  return shape;
}
inline tirx::IterVar Axis(int64_t extent, const char* name) {
  return te::reduce_axis(Range::FromMinExtent(I(0), I(extent)), name);
}
inline te::Tensor Input(std::initializer_list<int64_t> extents, const char* name,
                        DataType dtype = DataType::Float(32)) {
  return te::placeholder(Shape(extents), dtype, name);
}

/// A float32 array that begins `offset` elements behind a multiple of 64 bytes. Of a bfloat16
/// tensor it has the values, and `narrow` what kernels read.
struct Data {
  std::vector<int64_t> shape;
  float *storage, *data;
  std::vector<uint16_t> narrow;
  DLTensor view;
  int64_t count = 1;

  /// Uniform in [-1, 1] from a seed; seed 0: NaN everywhere, for outputs.
  Data(const ffi::Array<PrimExpr>& extents, uint32_t seed, int64_t offset = 0) {
    for (const PrimExpr& e : extents) {
      shape.push_back(*as_const_int(e));
      count *= shape.back();
    }
    const size_t bytes = (static_cast<size_t>(count + offset) * sizeof(float) + 127) / 64 * 64;
    storage = static_cast<float*>(std::aligned_alloc(64, bytes));
    data = storage + offset;
    std::mt19937 rng(seed);
    std::uniform_real_distribution<float> uniform(-1, 1);
    for (int64_t i = 0; i < count; ++i) data[i] = seed == 0 ? NAN : uniform(rng);
    view = DLTensor{data,
                    DLDevice{kDLCPU, 0},
                    static_cast<int>(shape.size()),
                    DLDataType{kDLFloat, 32, 1},
                    shape.data(),
                    nullptr,
                    0};
  }
  ~Data() { std::free(storage); }
  Data(const Data&) = delete;

  /// Gives kernels bfloat16, from now on: the upper halves of the values, which lose the rest.
  void Narrow() {
    narrow.resize(static_cast<size_t>(count));
    for (int64_t i = 0; i < count; ++i) {
      uint32_t bits;
      std::memcpy(&bits, &data[i], sizeof(bits));
      narrow[static_cast<size_t>(i)] = static_cast<uint16_t>(bits >> 16);
      bits &= 0xffff0000u;
      std::memcpy(&data[i], &bits, sizeof(bits));
    }
    view.data = narrow.data();
    view.dtype = DLDataType{kDLBfloat, 16, 1};
  }
};
using DataList = std::vector<std::unique_ptr<Data>>;
using Prepare = std::function<void(size_t argument, Data* data)>;

/// Inputs are random, outputs NaN; `prepare` may then change an argument.
inline DataList MakeData(const ffi::Array<te::Tensor>& args, const Prepare& prepare,
                         int64_t offset = 0) {
  DataList list;
  for (size_t i = 0; i < args.size(); ++i) {
    const bool output = args[i]->op.as<te::PlaceholderOpNode>() == nullptr;
    const uint32_t seed = output ? 0 : static_cast<uint32_t>(i + 1);
    list.push_back(std::make_unique<Data>(args[i]->shape, seed, offset));
    if (prepare) prepare(i, list.back().get());
    if (args[i]->dtype.is_bfloat16()) list.back()->Narrow();
  }
  return list;
}

/// A library of the function, named main.
inline ffi::Module BuildModule(const tirx::PrimFunc& func, const Target& target) {
  tirx::PrimFunc named = WithAttr(func, "global_symbol", ffi::String("main"));
  IRModule mod(ffi::Map<GlobalVar, BaseFunc>{{GlobalVar("main"), named}});
  return ffi::Function::GetGlobalRequired("driver.TirxBuild")(mod, target, nullptr)
      .cast<ffi::Module>();
}
inline ffi::Function Build(const tirx::PrimFunc& func, const Target& target) {
  return BuildModule(func, target)->GetFunction("main").value();
}

inline void Call(const ffi::Function& f, const DataList& args) {
  std::vector<ffi::AnyView> views;
  for (const auto& arg : args) views.emplace_back(&arg->view);
  ffi::Any result;
  f.CallPacked(views.data(), static_cast<int32_t>(views.size()), &result);
}

/// This machine's kind of code for another processor of it.
inline Target Cpu(const std::string& name) {
  return Target(R"({"kind": "llvm", "mcpu": ")" + name + R"("})");
}

/// Names of the arrays that a function allocates.
inline std::set<std::string> Scratch(const tirx::PrimFunc& func) {
  std::set<std::string> names;
  tirx::PostOrderVisit(func->body, [&](const ffi::ObjectRef& node) {
    const auto* alloc = node.as<tirx::AllocBufferNode>();
    if (alloc != nullptr) names.emplace(alloc->buffer.name());
  });
  return names;
}

/// The group as the rule of that name emits it; nullopt with a failed expectation if it declines.
inline std::optional<tirx::PrimFunc> EmitBy(const char* rule, const tirx::PrimFunc& group,
                                            const Target& target) {
  std::string why = "there is no such rule";
  for (const KernelRule& each : AllRules()) {
    if (each.name != rule) continue;
    if (auto func = each.emit(group, target, {}, &why)) return func;
  }
  ADD_FAILURE() << rule << " declines: " << why;
  return std::nullopt;
}

struct CheckOptions {
  double tolerance = 2e-5;  ///< relative to the largest finite value of the argument
  Prepare prepare;
  Target target = Target("llvm");
  /// Runs with each of these thread limits; results must be the same bit by bit run by run.
  std::vector<int> threads = {0};
  int runs = 1;
  int64_t offset = 0;  ///< of the data of all tensors from aligned memory, in elements
  /// How many of the rule's candidates run as well: other ones at each call.
  size_t candidates = 1;
};

/// NaN equals NaN, infinities equal themselves.
inline void ExpectClose(const Data& want, const Data& got, double tolerance, const char* what) {
  float scale = 1e-6f;
  for (int64_t j = 0; j < want.count; ++j) {
    if (std::isfinite(want.data[j])) scale = std::max(scale, std::fabs(want.data[j]));
  }
  for (int64_t j = 0; j < want.count; ++j) {
    const float a = want.data[j], b = got.data[j];
    if (std::isnan(a) && std::isnan(b)) continue;
    if (std::isinf(a) && a == b) continue;
    ASSERT_NEAR(a, b, tolerance * scale) << what << ", element " << j;
  }
}

/// The same with the knobs of the rule's candidates.
inline void CheckCandidates(const ffi::Array<te::Tensor>& args, const tirx::PrimFunc& group,
                            const DataList& want, const CheckOptions& options) {
  static size_t turn = 0;
  const KernelCandidates all = Candidates(group, options.target);
  const size_t others = all.list.size() - 1;  // the first one is the rule's own choice
  for (size_t c = 0; c < std::min(others, options.candidates); ++c) {
    const KernelKnobs& knobs = all.list[1 + turn++ % others].knobs;
    DataList got = MakeData(args, options.prepare);
    Call(Build(EmitWith(group, options.target, all.rule, knobs), options.target), got);
    for (size_t i = 0; i < args.size(); ++i) {
      ExpectClose(*want[i], *got[i], options.tolerance, KnobsText(knobs).c_str());
    }
  }
}

/// Emits the group with `rule`, runs it and the plain loops on the same data, and compares.
inline void Check(const ffi::Array<te::Tensor>& args, const char* rule,
                  const CheckOptions& options = {}) {
  tirx::PrimFunc group = te::CreatePrimFunc(args);
  auto fast = EmitBy(rule, group, options.target);
  if (!fast) return;
  DataList want = MakeData(args, options.prepare);
  Call(Build(group, options.target), want);
  if (options.candidates > 0) CheckCandidates(args, group, want, options);
  ffi::Function f = Build(*fast, options.target);
  for (int threads : options.threads) {
    if (threads > 0) runtime::threading::SetMaxConcurrency(threads);
    if (threads > 0) runtime::threading::ResetThreadPool();
    DataList first;
    for (int run = 0; run < options.runs; ++run) {
      DataList got = MakeData(args, options.prepare, options.offset);
      Call(f, got);
      for (size_t i = 0; i < args.size(); ++i) {
        const std::string what = std::string(rule) + ", " + std::to_string(threads) +
                                 " threads, argument " + std::to_string(i);
        if (run == 0) {
          ExpectClose(*want[i], *got[i], options.tolerance, what.c_str());
          if (::testing::Test::HasFatalFailure()) break;
        } else {
          const size_t bytes = static_cast<size_t>(got[i]->count) * sizeof(float);
          EXPECT_EQ(std::memcmp(first[i]->data, got[i]->data, bytes), 0)
              << what << ": run " << run << " differs";
        }
      }
      if (run == 0) first = std::move(got);
    }
    if (threads > 0) runtime::threading::SetMaxConcurrency(0);
    if (threads > 0) runtime::threading::ResetThreadPool();
  }
}

}  // namespace testing
}  // namespace kernels
}  // namespace tvm

#endif  // TVM_KERNELS_RULE_TESTING_H_
