// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// The programs that tests of schedules work on.
#include <tvm/te/create_prim_func.h>
#include <tvm/tirx/op.h>

#include "s_tir/schedule/testing.h"

namespace tvm {
namespace s_tir {
namespace testing {

Program Matmul(int n, int m, int depth) {
  te::Tensor a = te::placeholder({n, depth}, DataType::Float(32), "A");
  te::Tensor b = te::placeholder({depth, m}, DataType::Float(32), "B");
  tirx::IterVar k = te::reduce_axis(Range::FromMinExtent(0, depth), "k");
  te::Tensor c =
      te::compute({n, m}, [&](Var i, Var j) { return te::sum(a(i, k) * b(k, j), {k}); }, "C");
  te::Tensor d = te::compute({n, m}, [&](Var i, Var j) { return c(i, j) + 1.0f; }, "D");
  auto size = [](int x, int y) { return static_cast<size_t>(x) * static_cast<size_t>(y); };
  return {
      "matmul", te::CreatePrimFunc({a, b, d}), {size(n, depth), size(depth, m), size(n, m)}, {}};
}

Program SymbolicMatmul(int64_t n) {
  Var rows("n");
  te::Tensor a = te::placeholder({rows, 6}, DataType::Float(32), "A");
  te::Tensor b = te::placeholder({6, 8}, DataType::Float(32), "B");
  tirx::IterVar k = te::reduce_axis(Range::FromMinExtent(0, 6), "k");
  te::Tensor c =
      te::compute({rows, 8}, [&](Var i, Var j) { return te::sum(a(i, k) * b(k, j), {k}); }, "C");
  te::Tensor d = te::compute({rows, 8}, [&](Var i, Var j) { return c(i, j) + 1.0f; }, "D");
  auto un = static_cast<size_t>(n);
  return {"symbolic", te::CreatePrimFuncFromArgs({a, b, d, rows}), {un * 6, 48, un * 8}, {n}};
}

Program Stencil(int n) {
  te::Tensor a = te::placeholder({n + 4, 5}, DataType::Float(32), "A");
  te::Tensor p = te::compute(
      {n + 2, 5}, [&](Var i, Var j) { return a(i, j) + a(i + 1, j) + a(i + 2, j); }, "P");
  te::Tensor q =
      te::compute({n, 5}, [&](Var i, Var j) { return p(i, j) * 2.0f - p(i + 2, j); }, "Q");
  tirx::IterVar k = te::reduce_axis(Range::FromMinExtent(0, 5), "k");
  te::Tensor r =
      te::compute({n}, [&](Var i) { return te::max(q(i, k), ffi::Array<tirx::IterVar>{k}); }, "R");
  return {"stencil",
          te::CreatePrimFunc({a, r}),
          {static_cast<size_t>(n + 4) * 5, static_cast<size_t>(n)},
          {}};
}

Program Chain(int n, int m) {
  te::Tensor a = te::placeholder({n, m}, DataType::Float(32), "A");
  te::Tensor b = te::compute({n, m}, [&](Var i, Var j) { return a(i, j) + 2.0f; }, "B");
  te::Tensor c = te::compute({m, n}, [&](Var i, Var j) { return b(j, i) * 3.0f; }, "C");
  te::Tensor d = te::compute({m, n}, [&](Var i, Var j) { return c(i, j) - 1.0f; }, "D");
  size_t size = static_cast<size_t>(n) * static_cast<size_t>(m);
  return {"chain", te::CreatePrimFunc({a, d}), {size, size}, {}};
}

Program PaddedConv(int n) {
  te::Tensor a = te::placeholder({n}, DataType::Float(32), "A");
  te::Tensor w = te::placeholder({3}, DataType::Float(32), "W");
  te::Tensor p = te::compute(
      {n + 2},
      [&](Var i) {
        return if_then_else(i >= 1 && i < n + 1, a(i - 1), make_zero(DataType::Float(32)));
      },
      "P");
  tirx::IterVar k = te::reduce_axis(Range::FromMinExtent(0, 3), "k");
  te::Tensor c = te::compute({n}, [&](Var i) { return te::sum(p(i + k) * w(k), {k}); }, "C");
  return {"conv",
          te::CreatePrimFunc({a, w, c}),
          {static_cast<size_t>(n), 3, static_cast<size_t>(n)},
          {}};
}

}  // namespace testing
}  // namespace s_tir
}  // namespace tvm
