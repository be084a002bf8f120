// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include "kernels/map_transpose.h"

#include <tvm/te/operation.h>
#include <tvm/tirx/builtin.h>
#include <tvm/tirx/op.h>

#include "kernels/names.h"
#include "kernels/narrow_testing.h"
#include "kernels/rule_testing.h"

namespace tvm {
namespace kernels {
namespace {

using namespace testing;  // NOLINT(build/namespaces): what these tests are written in
using te::Tensor;

/// Y[n, h, w, c] = f(X[n, c, h, w]).
Tensor ToChannelsLast(const Tensor& x, const std::function<PrimExpr(PrimExpr)>& f) {
  const auto s = x->shape;
  return te::compute(
      {s[0], s[2], s[3], s[1]},
      te::FCompute([&](const Array<Var>& i) { return f(x(i[0], i[3], i[1], i[2])); }), "Y");
}

/// Y[n, c, h, w] = f(X[n, h, w, c]).
Tensor ToChannelsFirst(const Tensor& x, const std::function<PrimExpr(PrimExpr)>& f) {
  const auto s = x->shape;
  return te::compute(
      {s[0], s[3], s[1], s[2]},
      te::FCompute([&](const Array<Var>& i) { return f(x(i[0], i[2], i[3], i[1])); }), "Y");
}

PrimExpr Same(PrimExpr x) { return x; }

struct Picture {
  int64_t n, c, h, w;
};
const Picture kPictures[] = {{1, 2, 5, 13},  {1, 3, 16, 16},  {2, 3, 7, 9},   {1, 4, 4, 4},
                             {2, 5, 3, 7},   {1, 16, 4, 4},   {1, 17, 8, 33}, {3, 31, 1, 31},
                             {1, 64, 56, 9}, {1, 130, 9, 70}, {1, 2, 1, 3},   {1, 67, 1, 3}};

TEST(MapTranspose, PicturesBothWaysWithOneAndTwoThreads) {
  for (const Picture& p : kPictures) {
    SCOPED_TRACE(::testing::Message() << p.n << "x" << p.c << "x" << p.h << "x" << p.w);
    Tensor x = Input({p.n, p.c, p.h, p.w}, "X");
    Check({x, ToChannelsLast(x, Same)}, "map", {.threads = {1, 2}, .runs = 2, .offset = 1});
    Tensor y = Input({p.n, p.h, p.w, p.c}, "X");
    Check({y, ToChannelsFirst(y, Same)}, "map", {.threads = {1, 2}, .runs = 2, .offset = 1});
  }
}

TEST(MapTranspose, EveryWidthOfElementOnEveryVectorWidth) {
  using narrow::kBF16, narrow::kF32, narrow::kS32, narrow::kU8;
  auto widened = [](PrimExpr x) { return cast(kF32, x) * make_const(kF32, 0.25); };
  for (const Target& target : narrow::Targets()) {
    for (const Picture& p : kPictures) {
      if (p.n > 1 || p.c > 70) continue;
      for (DataType dtype : {kU8, kBF16, kS32}) {
        SCOPED_TRACE(::testing::Message() << target->str() << " " << dtype.ToString() << " " << p.c
                                          << " of " << p.h << "x" << p.w);
        Tensor x = narrow::Input({p.n, p.c, p.h, p.w}, dtype, "X");
        Tensor y = narrow::Input({p.n, p.h, p.w, p.c}, dtype, "X");
        narrow::Check({x, ToChannelsLast(x, Same)}, target, 0, nullptr, "map");
        narrow::Check({y, ToChannelsFirst(y, Same)}, target, 0, nullptr, "map");
        if (dtype != kU8) continue;
        narrow::Check({x, ToChannelsLast(x, widened)}, target, 0, nullptr, "map");
        narrow::Check({y, ToChannelsFirst(y, widened)}, target, 0, nullptr, "map");
      }
    }
  }
}

/// Operands that are contiguous, turned, or the same everywhere along either side.
TEST(MapTranspose, OtherOperandsOfAllKinds) {
  for (int64_t m : {3, 4, 21, 64}) {
    for (int64_t n : {2, 3, 16, 45}) {
      SCOPED_TRACE(::testing::Message() << m << "x" << n);
      Tensor x = Input({n, m}, "X"), z = Input({n, m}, "Z"), plain = Input({m, n}, "plain");
      Tensor row = Input({m}, "row"), column = Input({n}, "column");
      Tensor y = te::compute(Shape({m, n}), te::FCompute([&](const Array<Var>& i) {
                               PrimExpr place = cast(DataType::Float(32), i[0] * I(3) + i[1]);
                               return x(i[1], i[0]) * row(i[0]) + z(i[1], i[0]) * column(i[1]) +
                                      plain(i[0], i[1]) + x(i[1], i[0]) + place;
                             }),
                             "Y");
      Check({x, z, plain, row, column, y}, "map", {.threads = {1, 2}});
    }
  }
}

/// Head dimensions stay innermost, other dimensions trade places; a turned read in each part of a
/// concatenation; one that is under a condition nobody can decide stays where it is.
TEST(MapTranspose, OtherPermutationsAndConditions) {
  Tensor x = Input({5, 6, 7, 24}, "X");
  for (const std::vector<size_t>& order :
       {std::vector<size_t>{0, 2, 1, 3}, {3, 2, 1, 0}, {2, 3, 0, 1}, {3, 0, 1, 2}, {1, 0, 3, 2}}) {
    Array<PrimExpr> shape;
    for (size_t d : order) shape.push_back(x->shape[d]);
    Tensor y = te::compute(shape, te::FCompute([&](const Array<Var>& i) {
                             std::vector<PrimExpr> at(4);
                             for (size_t d = 0; d < 4; ++d) at[order[d]] = i[d];
                             return x(Array<PrimExpr>(at.begin(), at.end()));
                           }),
                           "Y");
    Check({x, y}, "map");
  }
  Tensor a = Input({20, 33}, "A"), b = Input({20, 18}, "B");
  Tensor joined = te::compute(Shape({51, 20}), te::FCompute([&](const Array<Var>& i) {
                                return if_then_else(PrimExpr(i[0]) < I(33), a(i[1], i[0]),
                                                    b(i[1], i[0] - I(33)));
                              }),
                              "J");
  Check({a, b, joined}, "map");
  Tensor guarded =
      te::compute(Shape({33, 20}), te::FCompute([&](const Array<Var>& i) {
                    PrimExpr even = floormod(i[0] + i[1], I(2)) < I(1);
                    return if_then_else(even, a(i[1], i[0]), make_zero(DataType::Float(32)));
                  }),
                  "G");
  Check({a, guarded}, "map");
}

/// The loops read and write vectors only: no other form would pass all tests above so.
TEST(MapTranspose, NoElementIsMovedAlone) {
  const Target target = Cpu("x86-64-v4");
  Tensor x = Input({1, 64, 32, 32}, "X");
  const tirx::PrimFunc func =
      *EmitBy("map", te::CreatePrimFunc({x, ToChannelsLast(x, Same)}), target);
  EXPECT_EQ(narrow::Occurrences("vmovss", func, target), 0);
  EXPECT_GE(narrow::Occurrences("zmm", func, target), 32);
}

}  // namespace
}  // namespace kernels
}  // namespace tvm
