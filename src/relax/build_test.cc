// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
// End to end: functions are compiled and run; fused against one kernel per operator.
#include <gtest/gtest.h>
#include <tvm/relax/analysis.h>
#include <tvm/relax/build.h>
#include <tvm/runtime/vm/executable.h>

#include <cmath>
#include <random>

#include "relax/ir/utils.h"
#include "relax/op/common.h"
#include "relax/op/samples.h"

namespace tvm {
namespace relax {
namespace {

ffi::Tensor RandomTensor(const Type& ty, std::mt19937* rng, bool positive = false) {
  const auto* t = ty.as<TensorTypeNode>();
  Array<int64_t> dims = t->GetStaticShape().value();
  DataType dtype = t->ElementType();
  ffi::Tensor x = NewHostTensor(std::vector<int64_t>(dims.begin(), dims.end()), dtype);
  std::uniform_real_distribution<double> real(positive ? 0.5 : -2.0, 2.0);
  for (int64_t i = 0; i < x.numel(); ++i) {
    char* p = TensorBytes(x) + i * dtype.bytes();
    if (dtype.is_any_float()) {
      StoreScalar(p, dtype, real(*rng));
    } else if (dtype.is_bool()) {
      StoreScalar(p, dtype, static_cast<int64_t>((*rng)() & 1));
    } else {
      StoreScalar(p, dtype, static_cast<int64_t>((*rng)() % 7) + 1);
    }
  }
  return x;
}

IRModule ModuleOf(const Array<Var>& params, const Expr& body) {
  BlockBuilder bb = BlockBuilder::Create();
  bb->BeginScope(params);
  bb->BeginDataflowBlock();
  Var out = bb->EmitOutput(body);
  BindingBlock block = bb->EndBlock();
  Function f(params, SeqExpr({block}, out));
  f = Function(params, f->body, std::nullopt, true,
               DictAttrs({{tvm::attr::kGlobalSymbol, String("main")}}));
  bb->EndScope();
  return IRModule(Map<GlobalVar, BaseFunc>{{GlobalVar("main", f->ty), f}});
}

ffi::Any RunModule(const IRModule& mod, const std::vector<ffi::Tensor>& inputs,
                   const char* pipeline) {
  BuildOptions options;
  options.relax_pipeline = pipeline;
  ffi::Module exec = Build(mod, Target("llvm"), options);
  ffi::Module vm = exec->GetFunction("vm_load_executable", true).value()().cast<ffi::Module>();
  vm->GetFunction("vm_initialization", true).value()(static_cast<int>(kDLCPU), 0, 2);
  std::vector<ffi::AnyView> args(inputs.begin(), inputs.end());
  ffi::Any ret;
  vm->GetFunction("main", true)
      .value()
      .CallPacked(args.data(), static_cast<int>(args.size()), &ret);
  return ret;
}

std::vector<ffi::Tensor> Flatten(const ffi::Any& v) {
  if (auto t = v.as<ffi::Tensor>()) return {t.value()};
  std::vector<ffi::Tensor> r;
  for (const ffi::Any& f : v.cast<Array<ffi::Any>>()) r.push_back(f.cast<ffi::Tensor>());
  return r;
}

void ExpectClose(const ffi::Any& a, const ffi::Any& b, const std::string& what) {
  std::vector<ffi::Tensor> x = Flatten(a), y = Flatten(b);
  ASSERT_EQ(x.size(), y.size()) << what;
  for (size_t k = 0; k < x.size(); ++k) {
    ASSERT_EQ(x[k].numel(), y[k].numel()) << what;
    DataType t(x[k].dtype());
    for (int64_t i = 0; i < x[k].numel(); ++i) {
      double u = LoadScalarAsDouble(TensorBytes(x[k]) + i * t.bytes(), t);
      double v = LoadScalarAsDouble(TensorBytes(y[k]) + i * t.bytes(), t);
      if (std::isnan(u) && std::isnan(v)) continue;
      ASSERT_NEAR(u, v, 1e-4 * (1 + std::fabs(u))) << what << " element " << i;
    }
  }
}

TEST(Build, AddsTensors) {
  Type t = TensorType(Dims({2, 3}), DataType::Float(32));
  Var x("x", t), y("y", t);
  IRModule mod = ModuleOf({x, y}, MakeOp("add", {x, y}));
  ASSERT_NO_THROW(WellFormed(mod));
  std::mt19937 rng(1);
  ffi::Tensor a = RandomTensor(t, &rng), b = RandomTensor(t, &rng);
  for (const char* pipeline : {"plain", "default"}) {
    ffi::Tensor c = RunModule(mod, {a, b}, pipeline).cast<ffi::Tensor>();
    for (int i = 0; i < 6; ++i) {
      auto at = [i](const ffi::Tensor& v) { return reinterpret_cast<float*>(TensorBytes(v))[i]; };
      EXPECT_EQ(at(c), at(a) + at(b)) << pipeline;
    }
  }
}

/// Every sample of the table gives the same through the fused and the plain pipeline.
TEST(Build, SamplesFusedAgainstPlain) {
  std::mt19937 rng(7);
  for (const OpRow* row : AllOpRows()) {
    if (row->lower == nullptr) continue;
    for (const Sample& sample : SamplesOf(*row)) {
      Array<Var> vars;
      Expr call = MakeSampleCall(*row, sample, &vars);
      IRModule mod = ModuleOf(vars, call);
      std::vector<ffi::Tensor> inputs;
      bool positive = sample.text.find("pos[") != std::string::npos;
      for (const Var& v : vars) inputs.push_back(RandomTensor(v->ty, &rng, positive));
      std::string what = std::string(row->name) + ": " + sample.text;
      ffi::Any plain, fused;
      ASSERT_NO_THROW(plain = RunModule(mod, inputs, "plain")) << what;
      ASSERT_NO_THROW(fused = RunModule(mod, inputs, "default")) << what;
      ExpectClose(plain, fused, what);
    }
  }
}

TEST(Build, ReportsWrongArguments) {
  Type t = TensorType(Dims({2, 3}), DataType::Float(32));
  Var x("x", t);
  IRModule mod = ModuleOf({x}, MakeOp("exp", {x}));
  std::mt19937 rng(1);
  ffi::Tensor bad = RandomTensor(TensorType(Dims({2, 4}), DataType::Float(32)), &rng);
  EXPECT_THROW(RunModule(mod, {bad}, "default"), ffi::Error);
  ffi::Tensor ints = RandomTensor(TensorType(Dims({2, 3}), DataType::Int(32)), &rng);
  EXPECT_THROW(RunModule(mod, {ints}, "default"), ffi::Error);
}

TEST(Build, SymbolicBatch) {
  Var n("n", DataType::Int(64));
  PrimExpr pn = Downcast<PrimExpr>(n);
  Type t = TensorType({pn, Int64(3)}, DataType::Float(32));
  Var x("x", t);
  BlockBuilder bb = BlockBuilder::Create();
  bb->BeginScope(Array<Var>{x});
  bb->BeginDataflowBlock();
  Expr y = bb->Emit(MakeOp("exp", {x}));
  Var out = bb->EmitOutput(MakeOp("reshape", {y, ShapeExpr({pn * Int64(3)})}));
  BindingBlock block = bb->EndBlock();
  bb->EndScope();
  Function f({x}, SeqExpr({block}, out), std::nullopt, true,
             DictAttrs({{tvm::attr::kGlobalSymbol, String("main")}}));
  IRModule mod(Map<GlobalVar, BaseFunc>{{GlobalVar("main", f->ty), f}});
  std::mt19937 rng(3);
  for (int64_t rows : {1, 4}) {
    ffi::Tensor a = RandomTensor(TensorType(Dims({rows, 3}), DataType::Float(32)), &rng);
    ffi::Tensor r = RunModule(mod, {a}, "default").cast<ffi::Tensor>();
    ASSERT_EQ(r.ndim(), 1);
    ASSERT_EQ(r.numel(), rows * 3);
    auto* p = reinterpret_cast<float*>(TensorBytes(r));
    auto* q = reinterpret_cast<float*>(TensorBytes(a));
    for (int i = 0; i < rows * 3; ++i) EXPECT_NEAR(p[i], std::exp(q[i]), 1e-4);
  }
}

}  // namespace
}  // namespace relax
}  // namespace tvm
