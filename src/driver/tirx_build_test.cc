// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
// Functions as a user writes them, through every pass to running code.
#include <gtest/gtest.h>
#include <tvm/driver/driver.h>
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/error.h>
#include <tvm/ir/scalar_op.h>
#include <tvm/tirx/builtin.h>
#include <tvm/tirx/function.h>
#include <tvm/tirx/stmt.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "driver/subprocess.h"

namespace tvm {
namespace driver {
namespace {

using namespace tirx;  // NOLINT

const DataType kFloat = DataType::Float(32), kInt = DataType::Int(32);

PrimFunc Named(PrimFunc func, const char* name) {
  func = WithAttr(std::move(func), tvm::attr::kGlobalSymbol, ffi::String(name));
  return WithAttr(std::move(func), tirx::attr::kNoAlias, true);
}

IRModule Module(const std::vector<std::pair<const char*, PrimFunc>>& funcs) {
  IRModule mod;
  for (const auto& [name, func] : funcs) mod.CopyOnWrite()->Add(GlobalVar(name), func);
  return mod;
}

/// B[i, j] = exp(A[i, j]) * k + i, rows in parallel, columns as vectors.
PrimFunc RowScale(ForKind rows, ForKind columns) {
  Var n("n", kInt), k("k", kFloat), i("i", kInt), j("j", kInt);
  Buffer A = decl_buffer({PrimExpr(n), PrimExpr(16)}, kFloat, "A");
  Buffer B = decl_buffer({PrimExpr(n), PrimExpr(16)}, kFloat, "B");
  ffi::Array<PrimExpr> at{PrimExpr(i), PrimExpr(j)};
  PrimExpr value = tvm::exp(BufferLoad(A, at)) * PrimExpr(k) + cast(kFloat, PrimExpr(i));
  Stmt inner = For(j, PrimExpr(0), PrimExpr(16), columns, BufferStore(B, value, at));
  Stmt body = For(i, PrimExpr(0), PrimExpr(n), rows, inner);
  return Named(PrimFunc({A, B, k}, body), "row_scale");
}

struct CPUAlloc {
  void AllocData(DLTensor* tensor) { tensor->data = aligned_alloc(64, 64 * 1024); }
  void FreeData(DLTensor* tensor) { free(tensor->data); }
};

ffi::Tensor MakeTensor(std::vector<int64_t> shape, DLDataType dtype = kFloat) {
  return ffi::Tensor::FromNDAlloc(CPUAlloc(), ffi::Shape(shape), dtype, DLDevice{kDLCPU, 0});
}

void CheckRowScale(const ffi::Function& f) {
  ffi::Tensor a = MakeTensor({5, 16}), b = MakeTensor({5, 16});
  float* x = static_cast<float*>(a.data_ptr());
  for (int e = 0; e < 80; ++e) x[e] = 0.05f * e - 2;
  f(a, b, 2.5);
  const float* y = static_cast<const float*>(b.data_ptr());
  for (int e = 0; e < 80; ++e) {
    const float want = std::exp(x[e]) * 2.5f + e / 16;
    ASSERT_NEAR(y[e], want, 2e-6f * std::fabs(want)) << e;
  }
}

TEST(TirxBuild, LoopsOfEveryKindOnLLVMAndC) {
  for (const char* target : {"llvm", "c"}) {
    for (ForKind rows : {ForKind::kSerial, ForKind::kParallel}) {
      for (ForKind columns : {ForKind::kSerial, ForKind::kVectorized, ForKind::kUnrolled}) {
        if (std::string(target) == "c" && columns == ForKind::kVectorized) continue;
        ffi::Module built =
            TirxBuild(Module({{"row_scale", RowScale(rows, columns)}}), Target(target));
        if (std::string(target) == "c") {
          TemporaryFolder folder;
          ExportLibrary(built, folder.path() + "/c.so");
          CheckRowScale(
              *ffi::Module::LoadFromFile(folder.path() + "/c.so")->GetFunction("row_scale"));
        } else {
          CheckRowScale(*built->GetFunction("row_scale"));
        }
      }
    }
  }
}

TEST(TirxBuild, SoleFunctionIsTheEntry) {
  ffi::Module built = TirxBuild(
      Module({{"row_scale", RowScale(ForKind::kSerial, ForKind::kVectorized)}}), Target("llvm"));
  CheckRowScale(*built->GetFunction("main"));
}

TEST(TirxBuild, ArgumentErrorsHaveTheirKindAndText) {
  ffi::Module built = TirxBuild(
      Module({{"row_scale", RowScale(ForKind::kSerial, ForKind::kSerial)}}), Target("llvm"));
  ffi::Function f = *built->GetFunction("row_scale");
  auto message = [&](auto... args) {
    try {
      f(args...);
      return std::string("no error");
    } catch (const ffi::Error& error) {
      return std::string(error.kind()) + ": " + std::string(error.message());
    }
  };
  const std::string tail =
      " when calling:\n  `row_scale(A: Tensor([n, 16], float32), B: Tensor([n, 16], float32), k: "
      "float32)`";
  ffi::Tensor a = MakeTensor({5, 16}), b = MakeTensor({5, 16});
  EXPECT_EQ(message(a, b, 1), "no error");
  EXPECT_EQ(message(a, b), "TypeError: Expected 3 arguments" + tail);
  EXPECT_EQ(message(a, 7, 1.0),
            "TypeError: Mismatched type on argument #1" + tail + ",\n  expected Tensor");
  EXPECT_EQ(message(a, MakeTensor({4, 16}), 1.0),
            "ValueError: Mismatched B.shape[0]" + tail + ",\n  expected to match A.shape[0]");
  EXPECT_EQ(message(MakeTensor({80}), b, 1.0),
            "ValueError: Mismatched A.ndim" + tail + ",\n  expected 2");
  EXPECT_EQ(message(MakeTensor({5, 16}, kInt), b, 1.0),
            "TypeError: Mismatched A.dtype on argument #0" + tail + ",\n  expected float32");
}

TEST(TirxBuild, LargeTemporaryComesFromTheWorkspaceAndCallsNest) {
  // T[i] = A[i] + 1 in a buffer too large for the stack; B[i] = T[999 - i]; and main calls it
  // twice.
  Var i("i", kInt), j("j", kInt);
  Buffer A = decl_buffer({PrimExpr(1000)}, kFloat, "A"),
         B = decl_buffer({PrimExpr(1000)}, kFloat, "B");
  Buffer T = decl_buffer({PrimExpr(1000)}, kFloat, "T");
  Stmt fill =
      For(i, PrimExpr(0), PrimExpr(1000), ForKind::kSerial,
          BufferStore(T, BufferLoad(A, {PrimExpr(i)}) + FloatImm(kFloat, 1), {PrimExpr(i)}));
  Stmt read = For(j, PrimExpr(0), PrimExpr(1000), ForKind::kParallel,
                  BufferStore(B, BufferLoad(T, {PrimExpr(999) - j}), {PrimExpr(j)}));
  PrimFunc reverse =
      Named(PrimFunc({A, B}, SeqStmt::Flatten(AllocBuffer(T), fill, read)), "reverse");
  ffi::Module built = TirxBuild(Module({{"reverse", reverse}}), Target("llvm"));
  ffi::Tensor a = MakeTensor({1000}), b = MakeTensor({1000});
  for (int e = 0; e < 1000; ++e) static_cast<float*>(a.data_ptr())[e] = static_cast<float>(e);
  (*built->GetFunction("reverse"))(a, b);
  for (int e = 0; e < 1000; ++e) ASSERT_EQ(static_cast<float*>(b.data_ptr())[e], 1000.f - e);
}

TEST(TirxBuild, ReturnsAValueAndRejectsUnknownPipeline) {
  Var n("n", kInt);
  PrimFunc twice = Named(PrimFunc({n}, Return(PrimExpr(n) * 2), PrimType(kInt)), "twice");
  ffi::Module built = TirxBuild(Module({{"twice", twice}}), Target("llvm"));
  EXPECT_EQ((*built->GetFunction("twice"))(21).cast<int64_t>(), 42);
  EXPECT_THROW(TirxBuild(Module({{"twice", twice}}), Target("llvm"), "no_such_pipeline"),
               ffi::Error);
}

/// A[i] = A[i] + by, as the graph compiler marks its kernels.
PrimFunc Kernel(float by, const char* name) {
  Var i("i", kInt);
  Buffer A = decl_buffer({PrimExpr(64)}, kFloat, "A");
  Stmt body =
      For(i, PrimExpr(0), PrimExpr(64), ForKind::kVectorized,
          BufferStore(A, BufferLoad(A, {PrimExpr(i)}) + FloatImm(kFloat, by), {PrimExpr(i)}));
  return WithAttr(Named(PrimFunc({A}, body), name), tirx::attr::kNoArgCheck, true);
}

TEST(TirxBuild, KernelsLoweredApartAreAllThere) {
  constexpr int kCount = 23;
  std::vector<std::string> names;
  for (int k = 0; k < kCount; ++k) names.push_back("kernel" + std::to_string(k));
  std::vector<std::pair<const char*, PrimFunc>> functions;
  for (int k = 0; k < kCount; ++k) {
    const char* name = names[static_cast<size_t>(k)].c_str();
    functions.emplace_back(name, Kernel(static_cast<float>(k) + 0.5f, name));
  }
  ffi::Module built = TirxBuild(Module(functions), Target("llvm"));
  ffi::Tensor a = MakeTensor({64});
  float want = 1;
  for (int e = 0; e < 64; ++e) static_cast<float*>(a.data_ptr())[e] = want;
  for (int k = 0; k < kCount; ++k) {
    (*built->GetFunction(names[static_cast<size_t>(k)]))(a);
    want += static_cast<float>(k) + 0.5f;
    ASSERT_EQ(static_cast<float*>(a.data_ptr())[63], want) << k;
  }
  // No function of several is the entry.
  EXPECT_FALSE(built->GetFunction("main").has_value());
}

TEST(TirxBuild, AnErrorInOneOfManyKernelsNamesIt) {
  std::vector<std::pair<const char*, PrimFunc>> functions;
  const char* names[] = {"k0", "k1", "k2", "k3", "k4", "k5"};
  for (const char* name : names) functions.emplace_back(name, Kernel(1, name));
  Var i("i", kInt);
  Buffer A = decl_buffer({PrimExpr(64)}, kFloat, "A");
  // No vector has a length that is known at run time only.
  Var n("n", kInt);
  Stmt body = For(i, PrimExpr(0), PrimExpr(n), ForKind::kVectorized,
                  BufferStore(A, FloatImm(kFloat, 1), {PrimExpr(i)}));
  functions.emplace_back(
      "bad", WithAttr(Named(PrimFunc({A, n}, body), "bad"), tirx::attr::kNoArgCheck, true));
  try {
    TirxBuild(Module(functions), Target("llvm"));
    FAIL() << "no error";
  } catch (const ffi::Error& error) {
    EXPECT_NE(std::string(error.what()).find("vector"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace driver
}  // namespace tvm
