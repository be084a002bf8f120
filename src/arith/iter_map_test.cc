// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include <gtest/gtest.h>
#include <tvm/arith/iter_affine_map.h>

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "arith/test_util.h"

namespace tvm::arith {
namespace {

using namespace tirx;  // NOLINT(build/namespaces): the scalar nodes
using testing::Assignment;
using testing::Evaluator;

class IterMap : public ::testing::Test {
 protected:
  Var x{"x"}, y{"y"}, z{"z"};
  Analyzer analyzer;

  static PrimExpr C(int64_t value) { return IntImm::Int32(value); }

  static ffi::Map<Var, Range> Iters(std::vector<std::pair<Var, int64_t>> extents) {
    ffi::Map<Var, Range> iters;
    for (const auto& [var, extent] : extents) iters.Set(var, Range::FromMinExtent(C(0), C(extent)));
    return iters;
  }

  static void ForEach(const ffi::Map<Var, Range>& iters,
                      const std::function<void(const Assignment&)>& visit) {
    std::vector<std::pair<Var, Range>> list;
    for (const auto& [var, range] : iters) list.emplace_back(var, range);
    Assignment values;
    std::function<void(size_t)> walk = [&](size_t i) {
      if (i == list.size()) return visit(values);
      int64_t min = *as_const_int(list[i].second->min);
      for (int64_t k = 0; k < *as_const_int(list[i].second->extent); ++k) {
        values[list[i].first.get()] = min + k;
        walk(i + 1);
      }
    };
    walk(0);
  }

  /// The detected sums mean the same as the indices, and the level holds by enumeration.
  void Valid(const ffi::Array<PrimExpr>& indices, const ffi::Map<Var, Range>& iters,
             PrimExpr predicate = PrimExpr(), IterMapLevel level = kSurjective) {
    if (!predicate.defined()) predicate = const_true();
    IterMapResult result = DetectIterMap(indices, iters, predicate, level, analyzer);
    std::string why;
    for (const ffi::String& error : result->errors) why += std::string(error) + "; ";
    ASSERT_EQ(result->indices.size(), indices.size()) << why;
    std::set<std::vector<int64_t>> seen;
    size_t points = 0;
    ForEach(iters, [&](const Assignment& values) {
      if (*Evaluator(values)(predicate) == 0) return;
      ++points;
      std::vector<int64_t> at;
      for (size_t i = 0; i < indices.size(); ++i) {
        PrimExpr normal = NormalizeIterMapToExpr(result->indices[i]);
        auto expected = Evaluator(values)(indices[i]);
        ASSERT_EQ(Evaluator(values)(normal), expected)
            << Expr(indices[i]) << " became " << Expr(normal);
        at.push_back(*expected);
      }
      seen.insert(at);
      EXPECT_EQ(*Evaluator(values)(result->padding_predicate), 0);
    });
    size_t size = 1;
    for (const IterSumExpr& sum : result->indices) {
      for (const IterSplitExpr& arg : sum->args) size *= *as_const_int(arg->extent);
    }
    if (is_const_int(result->padding_predicate, 0)) EXPECT_EQ(seen.size(), size);
    if (level == kBijective) EXPECT_EQ(points, seen.size());
  }

  void Invalid(const ffi::Array<PrimExpr>& indices, const ffi::Map<Var, Range>& iters,
               PrimExpr predicate = PrimExpr(), IterMapLevel level = kSurjective) {
    if (!predicate.defined()) predicate = const_true();
    IterMapResult result = DetectIterMap(indices, iters, predicate, level, analyzer);
    EXPECT_TRUE(result->indices.empty());
    EXPECT_FALSE(result->errors.empty());
  }
};

TEST_F(IterMap, Fuse) {
  Valid({y * 3 + x}, Iters({{x, 3}, {y, 4}}), {}, kBijective);
  Valid({y * 3 + x + 5}, Iters({{x, 3}, {y, 4}}), {}, kBijective);
  Invalid({y * 2 + x}, Iters({{x, 3}, {y, 4}}));
  Invalid({y * 4 + x}, Iters({{x, 3}, {y, 4}}));
  Invalid({x * y}, Iters({{x, 3}, {y, 4}}));
  Valid({x * 4}, Iters({{x, 3}}), {}, kBijective);
}

TEST_F(IterMap, Split) {
  Valid({floordiv(x, 4), floormod(x, 4)}, Iters({{x, 24}}), {}, kBijective);
  Valid({floordiv(x, 8), floormod(floordiv(x, 4), 2), floormod(x, 4)}, Iters({{x, 24}}), {},
        kBijective);
  Valid({floormod(x, 4)}, Iters({{x, 24}}));
  Invalid({floormod(x, 4)}, Iters({{x, 24}}), {}, kBijective);
  Invalid({floormod(x, 4), floormod(x, 8)}, Iters({{x, 24}}));
  Invalid({x, x}, Iters({{x, 24}}));
  Valid({floordiv(y * 6 + x, 4), floormod(y * 6 + x, 4)}, Iters({{x, 6}, {y, 4}}), {}, kBijective);
}

TEST_F(IterMap, Predicates) {
  ffi::Map<Var, Range> iters = Iters({{x, 4}, {y, 4}});
  Valid({x * 4 + y}, iters, x * 4 + y < 13);
  Valid({x}, Iters({{x, 10}}), x < 7);
  Valid({x}, Iters({{x, 10}}), x >= 3 && x < 7);
  Invalid({x, y}, iters, x * 4 + y < 13);
  Invalid({x}, Iters({{x, 10}}), x != 5);
}

TEST_F(IterMap, Padding) {
  IterMapResult result = DetectIterMap({floordiv(x, 4), floormod(x, 4)}, Iters({{x, 10}}),
                                       const_true(), kSurjective, analyzer);
  EXPECT_EQ(result->indices.size(), 2u);
  EXPECT_FALSE(is_const_int(result->padding_predicate, 0));
  Valid({floordiv(x, 4), floormod(x, 4)}, Iters({{x, 10}}));
  Valid({floordiv(x + 3, 4), floormod(x + 3, 4)}, Iters({{x, 10}}));
  Invalid({floordiv(x, 4), floormod(x, 4)}, Iters({{x, 10}}), {}, kBijective);
}

TEST_F(IterMap, ShiftedDomain) {
  ffi::Map<Var, Range> iters;
  iters.Set(x, Range::FromMinExtent(C(4), C(8)));
  Valid({floordiv(x, 4), floormod(x, 4)}, iters, {}, kBijective);
}

TEST_F(IterMap, SymbolicExtent) {
  Var n("n");
  ffi::Map<Var, Range> iters;
  iters.Set(x, Range::FromMinExtent(C(0), n));
  iters.Set(y, Range::FromMinExtent(C(0), C(4)));
  IterMapResult result = DetectIterMap({x * 4 + y}, iters, const_true(), kBijective, analyzer);
  ASSERT_EQ(result->indices.size(), 1u);
  EXPECT_TRUE(analyzer->CanProveEqual(result->indices[0]->args[0]->extent, n * 4));
  iters.Set(y, Range::FromMinExtent(C(0), n));
  iters.Set(x, Range::FromMinExtent(C(0), C(4)));
  EXPECT_EQ(DetectIterMap({x * n + y}, iters, const_true(), kBijective, analyzer)->indices.size(),
            1u);
}

TEST_F(IterMap, InverseGivesTheIteratorsBack) {
  std::vector<std::pair<ffi::Array<PrimExpr>, ffi::Map<Var, Range>>> cases = {
      {{y * 3 + x}, Iters({{x, 3}, {y, 4}})},
      {{floordiv(x, 4), floormod(x, 4) + 2}, Iters({{x, 24}})},
      {{floordiv(y * 6 + x, 4), floormod(y * 6 + x, 4)}, Iters({{x, 6}, {y, 4}})},
      {{z, floormod(x, 2) * 5 + y, floordiv(x, 2)}, Iters({{x, 6}, {y, 5}, {z, 3}})},
  };
  for (const auto& [indices, iters] : cases) {
    IterMapResult result = DetectIterMap(indices, iters, const_true(), kBijective, analyzer);
    ASSERT_EQ(result->indices.size(), indices.size());
    ffi::Array<PrimExpr> outputs;
    std::vector<Var> output_vars;
    for (size_t i = 0; i < indices.size(); ++i) {
      output_vars.emplace_back("o" + std::to_string(i));
      outputs.push_back(output_vars.back());
    }
    ffi::Map<Var, PrimExpr> inverse = InverseAffineIterMap(result->indices, outputs);
    ForEach(iters, [&](const Assignment& values) {
      Assignment at = values;
      for (size_t i = 0; i < indices.size(); ++i) {
        at[output_vars[i].get()] = *Evaluator(values)(indices[i]);
      }
      for (const auto& [var, expr] : inverse) {
        EXPECT_EQ(*Evaluator(at)(expr), values.at(var.get())) << Expr(expr);
      }
    });
    EXPECT_EQ(inverse.size(), iters.size());
  }
}

TEST_F(IterMap, Subspaces) {
  auto parts = SubspaceDivide({y * 3 + x, z}, Iters({{x, 3}, {y, 4}, {z, 5}}), {x}, const_true(),
                              kSurjective, analyzer);
  ASSERT_EQ(parts.size(), 3u);
  EXPECT_EQ(*as_const_int(parts[0][0]->extent), 4);
  EXPECT_EQ(*as_const_int(parts[0][1]->extent), 3);
  EXPECT_EQ(*as_const_int(parts[1][0]->extent), 5);
  EXPECT_EQ(*as_const_int(parts[1][1]->extent), 1);
  EXPECT_TRUE(
      SubspaceDivide({y * 3 + x}, Iters({{x, 3}, {y, 4}}), {y}, const_true(), kSurjective, analyzer)
          .empty());
}

TEST_F(IterMap, Regions) {
  ffi::Map<Var, Range> dom = Iters({{x, 4}, {y, 3}});
  auto range = [](PrimExpr min, int64_t extent) { return Range::FromMinExtent(min, C(extent)); };
  auto exact =
      EstimateRegionStrictBound({range(x * 2, 2), range(y, 1)}, dom, const_true(), analyzer);
  ASSERT_TRUE(exact.has_value());
  EXPECT_EQ(*as_const_int(exact.value()[0].max()), 7);
  EXPECT_EQ(*as_const_int(exact.value()[1].max()), 2);
  // A gap between the pieces is no interval.
  EXPECT_FALSE(
      EstimateRegionStrictBound({range(x * 3, 2)}, dom, const_true(), analyzer).has_value());
  EXPECT_FALSE(EstimateRegionLowerBound({range(x, 1), range(x, 1)}, dom, const_true(), analyzer)
                   .has_value());
  auto upper = EstimateRegionUpperBound({range(x * 3, 2), range(x, 1)}, dom, x < 2, analyzer);
  EXPECT_EQ(*as_const_int(upper[0].max()), 4);
  EXPECT_EQ(*as_const_int(upper[1].max()), 1);
}

TEST_F(IterMap, Simplify) {
  ffi::Map<Var, Range> iters = Iters({{x, 3}, {y, 4}});
  ffi::Array<PrimExpr> simple = IterMapSimplify({floordiv(y * 3 + x, 3), floormod(y * 3 + x, 3)},
                                                iters, const_true(), kBijective, analyzer);
  EXPECT_TRUE(ExprDeepEqual()(simple[0], y)) << Expr(simple[0]);
  EXPECT_TRUE(ExprDeepEqual()(simple[1], x)) << Expr(simple[1]);
}

}  // namespace
}  // namespace tvm::arith
