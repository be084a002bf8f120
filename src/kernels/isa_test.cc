// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Every rule on other instruction sets: SSE, AVX2 and AVX-512 on this machine, NEON under
/// qemu-aarch64; results against plain loops, and the instructions that carry the work.
#include <gtest/gtest.h>
#include <tvm/kernels/rule.h>
#include <tvm/target/cpu_features.h>
#include <tvm/tirx/op.h>

#include <map>
#include <regex>

#include "kernels/contraction_plan.h"
#include "kernels/cross_testing.h"
#include "kernels/names.h"
#include "kernels/rule_groups.h"
#include "kernels/rule_testing.h"

namespace tvm {
namespace kernels {
namespace {

using namespace testing;  // NOLINT(build/namespaces)
using te::Tensor;

const DataType kFloat = DataType::Float(32);

/// A group, and whether its loops are multiply-adds.
struct Sample {
  const char* rule;
  Array<Tensor> args;
  bool multiplies = true;
  Prepare prepare;
  double tolerance = 2e-5;
};

Tensor Relu(const Tensor& x) {
  return te::compute(
      x->shape, te::FCompute([&](const Array<Var>& i) { return max(x(i), make_zero(kFloat)); }),
      "relu");
}

Sample WinogradSample(int64_t panel) {
  const int64_t ic = 20, oc = 40;
  Tensor x = Input({1, 13, 14, ic}, "X"), u = Input({(oc + panel - 1) / panel, 36, ic, panel}, "U");
  Prepare prepare = [=](size_t argument, Data* data) {
    if (argument != 1) return;
    std::mt19937 rng(7);
    std::uniform_real_distribution<float> uniform(-1, 1);
    std::vector<float> weight(static_cast<size_t>(9 * ic * oc));
    for (float& value : weight) value = uniform(rng);
    WinogradPack(weight.data(), ic, oc, panel, data->data);
  };
  Tensor y = WinogradConv(x, u, 1, 13, 14, ic, oc, 1, panel);
  return {"winograd", {x, u, Relu(y)}, true, prepare, 1e-4};
}

Sample WindowSample() {
  const int64_t size = 21, channels = 40;
  Tensor x = Input({1, size, size, channels}, "X"), w = Input({3, 3, channels}, "W");
  IterVar kh = Axis(3, "kh"), kw = Axis(3, "kw");
  Tensor y = te::compute(Shape({1, size, size, channels}), te::FCompute([&](const Array<Var>& i) {
                           PrimExpr r = i[1] + kh->var - I(1), c = i[2] + kw->var - I(1);
                           PrimExpr inside = r >= I(0) && r < I(size) && c >= I(0) && c < I(size);
                           PrimExpr value =
                               if_then_else(inside, x(i[0], r, c, i[3]), make_zero(kFloat));
                           return te::sum(value * w(kh->var, kw->var, i[3]), {kh, kw});
                         }),
                         "C", "", WindowAttrs(size, 1, 1));
  return {"window", {x, w, Relu(y)}};
}

Sample AttentionSample(int64_t queries, int64_t keys) {
  const AttentionSizes z{3, queries, keys, 40, 24};
  Tensor q = Input({3, queries, 40}, "Q"), k = Input({3, keys, 40}, "K"),
         v = Input({3, keys, 24}, "V");
  auto score = [](const PrimExpr& x, const Array<PrimExpr>&) {
    return x * make_const(kFloat, 0.3);
  };
  return {"attention", {q, k, v, AttentionOf(z, Plain(q), Plain(k), Plain(v), score)}};
}

/// exp(x) / sum of a row: needs vector math and a reduction.
Sample RowSample() {
  Tensor x = Input({70, 301}, "X");
  IterVar k = Axis(301, "k");
  Tensor e =
      te::compute(x->shape, te::FCompute([&](const Array<Var>& i) { return exp(x(i)); }), "e");
  Tensor sum = te::compute(
      Shape({70}), te::FCompute([&](const Array<Var>& i) { return te::sum(e(i[0], k->var), {k}); }),
      "sum");
  Tensor y = te::compute(x->shape,
                         te::FCompute([&](const Array<Var>& i) { return e(i) / sum(i[0]); }), "y");
  return {"row", {x, y}, false};
}

Sample ColumnSample() {
  Tensor x = Input({2, 235, 45}, "X");
  IterVar k = Axis(235, "k");
  Tensor y = te::compute(
      Shape({2, 45}),
      te::FCompute([&](const Array<Var>& i) { return te::sum(x(i[0], k->var, i[1]), {k}); }), "y");
  return {"column", {x, y}, false};
}

/// The same over the middle dimension.
Sample CrossRowSample() {
  Tensor x = Input({3, 21, 77}, "X");
  IterVar k = Axis(21, "k");
  Tensor e =
      te::compute(x->shape, te::FCompute([&](const Array<Var>& i) { return exp(x(i)); }), "e");
  Tensor sum = te::compute(Shape({3, 77}), te::FCompute([&](const Array<Var>& i) {
                             return te::sum(e(i[0], k->var, i[1]), {k});
                           }),
                           "sum");
  Tensor y = te::compute(
      x->shape, te::FCompute([&](const Array<Var>& i) { return e(i) / sum(i[0], i[2]); }), "y");
  return {"cross_row", {x, y}, false};
}

/// 35 groups, two channels of the picture to three of the result.
Sample GroupedSample() {
  Tensor x = Input({1, 11, 12, 70}, "X"), w = Input({3, 3, 2, 105}, "W");
  IterVar kh = Axis(3, "kh"), kw = Axis(3, "kw"), ic = Axis(2, "ic");
  Tensor y = te::compute(
      Shape({1, 9, 10, 35, 3}), te::FCompute([&](const Array<Var>& i) {
        PrimExpr value = x(i[0], i[1] + kh->var, i[2] + kw->var, i[3] * I(2) + ic->var);
        return te::sum(value * w(kh->var, kw->var, ic->var, i[3] * I(3) + i[4]), {kh, kw, ic});
      }),
      "C", "", Attrs{{kTileOp, ffi::String("conv2d")}});
  return {"grouped", {x, w, y}};
}

/// Turned in squares; with three columns, taken apart and interleaved.
Sample TransposeSample(int64_t rows, int64_t columns) {
  Tensor x = Input({rows, columns}, "X"), bias = Input({rows}, "B");
  Tensor y = te::compute(
      Shape({columns, rows}),
      te::FCompute([&](const Array<Var>& i) { return x(i[1], i[0]) + bias(i[1]); }), "y");
  return {"map", {x, bias, y}, false};
}

std::vector<Sample> Samples(const Target& target) {
  std::vector<Sample> list;
  {
    const int64_t m = 145, n = 70, k = 37, panel = PanelColumns(m, n, kFloat, target);
    Tensor a = Input({m, k}, "A"), b = Input({k, n}, "B"),
           p = Input({(n + panel - 1) / panel, k, panel}, "P");
    list.push_back({"contraction", {a, b, Matmul(a, b, m, n, k)}});
    list.push_back({"contraction", {a, p, Relu(PackedMatmul(a, p, m, n, k, panel))}});
    Tensor row = Input({1, k}, "A");
    list.push_back({"contraction", {row, b, Matmul(row, b, 1, n, k)}});
  }
  {
    const int64_t panel = PanelColumns(121, 40, kFloat, target);
    Tensor x = Input({1, 11, 11, 20}, "X"), p = Input({(40 + panel - 1) / panel, 180, panel}, "P");
    list.push_back({"contraction", {x, p, Relu(Conv(x, p, 11, 20, 40, 3, 1, 1, panel))}});
  }
  list.push_back(WinogradSample(2 * CpuFeaturesOf(target).Lanes(32)));
  list.push_back(WindowSample());
  list.push_back(AttentionSample(35, 150));
  list.push_back(AttentionSample(1, 150));
  list.push_back(RowSample());
  list.push_back(ColumnSample());
  list.push_back(CrossRowSample());
  list.push_back(GroupedSample());
  list.push_back(TransposeSample(71, 53));
  list.push_back(TransposeSample(3, 85));
  list.push_back(TransposeSample(85, 3));
  Tensor x = Input({600, 67}, "X"), bias = Input({67}, "B");
  Tensor y = te::compute(
      x->shape, te::FCompute([&](const Array<Var>& i) { return tanh(x(i) + bias(i[1])); }), "y");
  list.push_back({"map", {x, bias, y}, false});
  return list;
}

int64_t CountOf(const std::string& text, const char* pattern) {
  const std::regex expression(pattern);
  return std::distance(std::sregex_iterator(text.begin(), text.end(), expression),
                       std::sregex_iterator());
}

/// The instructions of one set: multiply-adds of whole vectors, any of them, of single floats.
struct Instructions {
  const char *vector_fma, *vector, *scalar_fma;
};

/// Multiplying kernels spend their multiply-adds on vectors; others work on vectors at all.
void ExpectVectors(const Sample& sample, const ffi::Module& module, const Instructions& set) {
  const std::string text(module->InspectSource("asm"));
  EXPECT_GT(CountOf(text, set.vector), 4) << sample.rule;
  if (!sample.multiplies) return;
  const int64_t vectors = CountOf(text, set.vector_fma), scalars = CountOf(text, set.scalar_fma);
  EXPECT_GT(vectors, 8) << sample.rule;
  EXPECT_GT(vectors, 2 * scalars) << sample.rule;
}

void CheckOnThisMachine(const Target& target, const Instructions& set) {
  for (const Sample& sample : Samples(target)) {
    SCOPED_TRACE(::testing::Message() << sample.rule << ", " << sample.args.size() << " arguments");
    Check(sample.args, sample.rule,
          {.tolerance = sample.tolerance, .prepare = sample.prepare, .target = target});
    auto fast = EmitBy(sample.rule, te::CreatePrimFunc(sample.args), target);
    if (fast) ExpectVectors(sample, BuildModule(*fast, target), set);
  }
}

TEST(OtherProcessors, Sse) {
  // No fused multiply-add there: products and sums of whole registers.
  CheckOnThisMachine(Cpu("x86-64"), {"mulps", "ps\\b", "mulss"});
}

TEST(OtherProcessors, Avx2) {
  if (!HostCpuFeatures().avx2 || !HostCpuFeatures().fma) GTEST_SKIP() << "no AVX2 here";
  CheckOnThisMachine(Cpu("x86-64-v3"),
                     {"vfn?m(add|sub)[0-9]+ps\\s.*%ymm", "%ymm", "vfn?m(add|sub)[0-9]+ss"});
}

TEST(OtherProcessors, Avx512) {
  if (!HostCpuFeatures().avx512f) GTEST_SKIP() << "no AVX-512 here";
  CheckOnThisMachine(Cpu("x86-64-v4"),
                     {"vfn?m(add|sub)[0-9]+ps\\s.*%zmm", "%zmm", "vfn?m(add|sub)[0-9]+ss"});
}

// --- this processor -----------------------------------------------------------------------------

TEST(EveryRule, SameBitsInTwentyRunsWithOneAndTwoThreads) {
  for (const Sample& sample : Samples(Target("llvm"))) {
    SCOPED_TRACE(::testing::Message() << sample.rule << ", " << sample.args.size() << " arguments");
    Check(
        sample.args, sample.rule,
        {.tolerance = sample.tolerance, .prepare = sample.prepare, .threads = {1, 2}, .runs = 20});
  }
}

/// What a special value touches is what it touches in plain loops. Winograd spreads NaN and
/// infinities over a tile, and is left out.
TEST(EveryRule, SpecialValues) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  for (const std::vector<float>& special : {std::vector<float>{NAN}, {kInf, 1e-40f, -0.0f}}) {
    const Prepare prepare = [=](size_t argument, Data* data) {
      if (argument != 0) return;
      for (size_t i = 0; i < special.size(); ++i) {
        data->data[data->count / 2 + static_cast<int64_t>(i)] = special[i];
      }
    };
    for (const Sample& sample : Samples(Target("llvm"))) {
      if (std::string(sample.rule) == "winograd") continue;
      SCOPED_TRACE(::testing::Message() << sample.rule << ", " << special[0]);
      Check(sample.args, sample.rule, {.prepare = prepare});
    }
  }
}

/// Tensors that begin anywhere, e.g. in the middle of another one.
TEST(EveryRule, UnalignedTensors) {
  for (const Sample& sample : Samples(Target("llvm"))) {
    SCOPED_TRACE(sample.rule);
    Check(sample.args, sample.rule,
          {.tolerance = sample.tolerance, .prepare = sample.prepare, .offset = 1});
  }
}

/// Kernels take compact tensors, and say so.
TEST(EveryRule, StridedTensorsAreRefused) {
  Tensor x = Input({20, 67}, "X");
  tirx::PrimFunc group = te::CreatePrimFunc({x, Relu(x)});
  ffi::Function f = Build(*EmitBy("map", group, Target("llvm")), Target("llvm"));
  auto refused = [&](const std::function<void(DLTensor*)>& change, const char* message) {
    DataList args = MakeData({x, Relu(x)}, nullptr);
    change(&args[0]->view);
    try {
      Call(f, args);
      ADD_FAILURE() << "taken without: " << message;
    } catch (const ffi::Error& error) {
      EXPECT_NE(std::string(error.what()).find(message), std::string::npos) << error.what();
    }
  };
  refused([](DLTensor* t) { t->byte_offset = 4; }, "byte_offset");
  int64_t strides[] = {1, 20};
  refused([&](DLTensor* t) { t->strides = strides; }, "compact");
}

// --- NEON ---------------------------------------------------------------------------------------

TEST(OtherProcessors, Neon) {
  const Target target(ffi::Map<ffi::String, ffi::Any>{{"kind", ffi::String("llvm")},
                                                      {"mtriple", ffi::String("aarch64-linux-gnu")},
                                                      {"mcpu", ffi::String("cortex-a72")}});
  CrossRunner runner;
  const std::string missing = runner.Missing();
  for (const Sample& sample : Samples(target)) {
    SCOPED_TRACE(::testing::Message() << sample.rule << ", " << sample.args.size() << " arguments");
    tirx::PrimFunc group = te::CreatePrimFunc(sample.args);
    auto fast = EmitBy(sample.rule, group, target);
    if (!fast) continue;
    ffi::Module module = BuildModule(*fast, target);
    ExpectVectors(sample, module,
                  {"fml[as]\\s+v[0-9]+\\.4s", "v[0-9]+\\.4s", "fn?m(add|sub)\\s+s[0-9]"});
    if (!missing.empty()) continue;
    DataList want = MakeData(sample.args, sample.prepare),
             got = MakeData(sample.args, sample.prepare);
    Call(Build(group, Target("llvm")), want);
    std::vector<DLTensor*> views;
    for (const auto& arg : got) views.push_back(&arg->view);
    runner.Run(module, views);
    for (size_t i = 0; i < got.size(); ++i) {
      ExpectClose(*want[i], *got[i], sample.tolerance, sample.rule);
    }
  }
  if (!missing.empty()) GTEST_SKIP() << "not run, only compiled: there is no " << missing;
}

}  // namespace
}  // namespace kernels
}  // namespace tvm
