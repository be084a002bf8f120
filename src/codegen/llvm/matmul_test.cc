// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
// A register-tiled matrix product as the kernels emit it: the stack tile must live in registers.
// The micro-benchmark prints its rate; set CODEGEN_BENCH_MIN_GFLOPS to make it a check.
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include "codegen/testing.h"

namespace tvm {
namespace codegen {
namespace testing {
namespace {

constexpr int kRows = 12, kCols = 32;

/// C[n,n] = A[n,n] * B, B packed as [n/32][n][32].
PrimFunc TiledMatmul(int64_t n, ForKind outer) {
  const DataType f32 = DataType::Float(32), i32 = DataType::Int(32);
  Buffer A = Vector("A", f32, n * n), B = Vector("B", f32, n * n), C = Vector("C", f32, n * n);
  Buffer acc = Vector("acc", f32, kRows * kCols, "local");
  Var jo("jo", i32), io("io", i32), k("k", i32), r("r", i32), r0("r0", i32), r1("r1", i32);
  auto ramp = [](PrimExpr base) { return PrimExpr(Ramp(std::move(base), PrimExpr(1), kCols)); };
  const PrimExpr N(n);
  PrimExpr zero = Broadcast(FloatImm(f32, 0), kCols);
  Stmt init = Loop(r0, kRows, BufferStore(acc, zero, {ramp(r0 * kCols)}), ForKind::kUnrolled);
  PrimExpr row = PrimExpr(io) * kRows + r;
  PrimExpr a = Broadcast(BufferLoad(A, {row * N + k}), kCols);
  PrimExpr b = BufferLoad(B, {ramp(PrimExpr(jo) * (N * kCols) + PrimExpr(k) * kCols)});
  PrimExpr sum = Add(BufferLoad(acc, {ramp(r * kCols)}), Mul(a, b));
  Stmt update =
      Loop(k, n, Loop(r, kRows, BufferStore(acc, sum, {ramp(r * kCols)}), ForKind::kUnrolled));
  PrimExpr out = (PrimExpr(io) * kRows + r1) * N + PrimExpr(jo) * kCols;
  Stmt write = Loop(r1, kRows, BufferStore(C, BufferLoad(acc, {ramp(r1 * kCols)}), {ramp(out)}),
                    ForKind::kUnrolled);
  Stmt tile = SeqStmt::Flatten(AllocBuffer(acc), init, update, write);
  Stmt body = Loop(jo, n / kCols, Loop(io, n / kRows, tile), outer);
  return Packed("matmul", {A, B, C}, body);
}

struct Problem {
  std::vector<float> a, b, packed, c;
};

Problem MakeProblem(int64_t n) {
  Problem p;
  for (int64_t i = 0; i < n * n; ++i) {
    p.a.push_back(static_cast<float>((i * 7) % 13) - 6.f);
    p.b.push_back(static_cast<float>((i * 5) % 11) - 5.f);
  }
  p.c.assign(n * n, -1.f);
  p.packed.resize(n * n);
  for (int64_t k = 0; k < n; ++k) {
    for (int64_t j = 0; j < n; ++j)
      p.packed[(j / kCols * n + k) * kCols + j % kCols] = p.b[k * n + j];
  }
  return p;
}

void RunMatmul(const ffi::Function& f, Problem* p) {
  const DataType f32 = DataType::Float(32);
  f(static_cast<DLTensor*>(Tensor1D<float>(&p->a, f32)),
    static_cast<DLTensor*>(Tensor1D<float>(&p->packed, f32)),
    static_cast<DLTensor*>(Tensor1D<float>(&p->c, f32)));
}

TEST(Matmul, TiledEqualsPlainLoops) {
  constexpr int64_t kN = 96;
  for (ForKind outer : {ForKind::kSerial, ForKind::kParallel}) {
    ffi::Module module = BuildFor({TiledMatmul(kN, outer)});
    Problem p = MakeProblem(kN);
    RunMatmul(*module->GetFunction("matmul"), &p);
    for (int64_t i = 0; i < kN; ++i) {
      for (int64_t j = 0; j < kN; ++j) {
        float want = 0;
        for (int64_t k = 0; k < kN; ++k) want += p.a[i * kN + k] * p.b[k * kN + j];
        ASSERT_EQ(p.c[i * kN + j], want) << i << ", " << j;  // small integers: exact in any order
      }
    }
  }
}

TEST(Matmul, RegisterTileBenchmark) {
  constexpr int64_t kN = 768;
  const auto start = std::chrono::steady_clock::now();
  ffi::Module module = BuildFor({TiledMatmul(kN, ForKind::kSerial)});
  ffi::Function f = *module->GetFunction("matmul");
  const double compile =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (const char* path = std::getenv("CODEGEN_BENCH_ASM")) module->WriteToFile(path, "s");
  Problem p = MakeProblem(kN);
  // Time of this thread: other processes on the machine do not count.
  auto seconds = [] {
    timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
  };
  double best = 1e9;
  for (int repeat = 0; repeat < 15; ++repeat) {
    const double begin = seconds();
    RunMatmul(f, &p);
    best = std::min(best, seconds() - begin);
  }
  const double rate = 2.0 * kN * kN * kN / best * 1e-9;
  std::printf("matmul %lld^3, one thread: %.1f GFLOP/s, compiled in %.1f ms\n",
              static_cast<long long>(kN), rate, compile * 1e3);
  if (const char* minimum = std::getenv("CODEGEN_BENCH_MIN_GFLOPS")) {
    EXPECT_GE(rate, std::atof(minimum));
  }
}

}  // namespace
}  // namespace testing
}  // namespace codegen
}  // namespace tvm
