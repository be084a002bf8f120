// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
// C sources are compiled by the system's compiler, loaded and run.
#include <gtest/gtest.h>
#include <tvm/ffi/error.h>
#include <tvm/support/argcheck.h>

#include <cmath>
#include <cstdlib>
#include <limits>

#include "codegen/testing.h"

namespace tvm {
namespace codegen {
namespace testing {
namespace {

ffi::Module CompileAndLoad(const std::vector<PrimFunc>& funcs, const std::string& name) {
  ffi::Module source = BuildFor(funcs, "c");
  EXPECT_STREQ(source->kind(), "c");
  EXPECT_EQ(source->GetPropertyMask(), 5);
  const std::string base = ::testing::TempDir() + "/codegen_c_" + name;
  source->WriteToFile(base + ".c", "c");
  // Needs no headers of ours.
  const std::string command =
      "cc -std=gnu11 -O2 -fPIC -shared -Wall -Werror=implicit-function-declaration -o " + base +
      ".so " + base + ".c -lm";
  EXPECT_EQ(std::system(command.c_str()), 0) << command;
  return ffi::Module::LoadFromFile(base + ".so");
}

TEST(CodeGenC, IntegersFloatsAndControl) {
  const DataType i32 = DataType::Int(32), f32 = DataType::Float(32);
  Buffer A = Vector("A", i32, 16), F = Vector("F", f32, 16), C = Vector("C", i32, 16),
         G = Vector("G", f32, 16);
  Buffer acc = Vector("acc", i32, 1, "local");
  Var i("i", i32), k("k", i32);
  PrimExpr at(i), a = BufferLoad(A, {at}), f = BufferLoad(F, {at});
  PrimExpr sum = BufferLoad(acc, {PrimExpr(0)});
  Stmt body = SeqStmt::Flatten(
      AllocBuffer(acc), BufferStore(acc, PrimExpr(0), {PrimExpr(0)}),
      Loop(k, 4,
           IfThenElse(NE(PrimExpr(k), PrimExpr(2)),
                      BufferStore(acc, Add(sum, PrimExpr(k)), {PrimExpr(0)}))),
      BufferStore(C, Add(Add(FloorDiv(a, PrimExpr(3)), FloorMod(a, PrimExpr(0))), sum), {at}),
      BufferStore(G,
                  Max(Mul(f, FloatImm(f32, 0.5)),
                      tvm::exp(Select(LT(f, FloatImm(f32, 0)), f, FloatImm(f32, -1)))),
                  {at}));
  ffi::Module library =
      CompileAndLoad({Packed("f", {A, F, C, G}, Loop(i, 16, body, ForKind::kParallel))}, "basic");
  std::vector<int32_t> in(16), c(16);
  std::vector<float> x(16), g(16);
  for (int n = 0; n < 16; ++n) {
    in[n] = n * 1000003 - 8000000;
    x[n] = n * 0.75f - 4;
  }
  x[5] = std::numeric_limits<float>::quiet_NaN();
  (*library->GetFunction("f"))(static_cast<DLTensor*>(Tensor1D<int32_t>(&in, i32)),
                               static_cast<DLTensor*>(Tensor1D<float>(&x, f32)),
                               static_cast<DLTensor*>(Tensor1D<int32_t>(&c, i32)),
                               static_cast<DLTensor*>(Tensor1D<float>(&g, f32)));
  for (int n = 0; n < 16; ++n) {
    EXPECT_EQ(c[n], static_cast<int32_t>(std::floor(in[n] / 3.0)) + 4);
    const float want = std::max(x[n] * 0.5f, std::exp(x[n] < 0 ? x[n] : -1.f));
    if (n == 5) {
      EXPECT_TRUE(std::isnan(g[n]));
    } else {
      EXPECT_NEAR(g[n], want, 1e-6f);
    }
  }
}

TEST(CodeGenC, ArgumentCheckAndAssert) {
  const DataType i32 = DataType::Int(32), i64 = DataType::Int(64);
  Var self("self", HandleType()), args("args", HandleType()), result("result", HandleType());
  Var num_args("num_args", i32);
  Buffer slots = Vector("slots", i64, 1, "local");
  ffi::Array<Expr> call = {args, num_args, buffer_data(slots), StringImm("f(n: int64)"),
                           StringImm("n")};
  for (int64_t word : {int64_t{kArgCheckCount}, int64_t{1}, int64_t{kArgCheckInt}, int64_t{0},
                       int64_t{0}, int64_t{1}, int64_t{64}, int64_t{0}, int64_t{kArgCheckEnd}}) {
    call.push_back(IntImm::Int64(word));
  }
  Stmt body = SeqStmt::Flatten(
      AllocBuffer(slots), Evaluate(Call(PrimType(i32), builtin::check_args(), call)),
      AssertStmt(LT(BufferLoad(slots, {PrimExpr(0)}), IntImm::Int64(10)), StringImm("ValueError"),
                 {StringImm("n is not \"small\"")}),
      Return(PrimExpr(0)));
  PrimFunc func({self, args, num_args, result}, body, PrimType(i32));
  func = WithAttr(std::move(func), tvm::attr::kGlobalSymbol, ffi::String("__tvm_ffi_f"));
  func = WithAttr(std::move(func), tvm::attr::kCallingConv, static_cast<int64_t>(1));
  ffi::Module library = CompileAndLoad({func}, "check");
  ffi::Function f = *library->GetFunction("f");
  f(3);
  auto message = [&](auto... values) {
    try {
      f(values...);
      return std::string("no error");
    } catch (const ffi::Error& error) {
      return std::string(error.kind()) + ": " + std::string(error.message());
    }
  };
  EXPECT_EQ(message(30), "ValueError: n is not \"small\"");
  EXPECT_EQ(message(), "TypeError: Expected 1 arguments when calling:\n  `f(n: int64)`");
  EXPECT_EQ(
      message(2.5),
      "TypeError: Mismatched type on argument #0 when calling:\n  `f(n: int64)`,\n  expected int");
}

TEST(CodeGenC, VectorsAreRefused) {
  const DataType f32 = DataType::Float(32);
  Buffer A = Vector("A", f32, 8);
  PrimExpr ramp = Ramp(PrimExpr(0), PrimExpr(1), 8);
  EXPECT_THROW(BuildFor({Packed("f", {A}, BufferStore(A, BufferLoad(A, {ramp}), {ramp}))}, "c"),
               ffi::Error);
}

}  // namespace
}  // namespace testing
}  // namespace codegen
}  // namespace tvm
