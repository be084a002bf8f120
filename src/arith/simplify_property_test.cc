// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Random expressions: what is simplified, bounded or proved must agree with evaluation.
#include <gtest/gtest.h>
#include <tvm/arith/analyzer.h>
#include <tvm/arith/bound.h>
#include <tvm/arith/pattern.h>
#include <tvm/support/test_rounds.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "arith/test_util.h"

namespace tvm::arith {
namespace {

using testing::Assignment;
using testing::Evaluator;
using testing::Generator;

/// Variables with small domains, and every assignment of them.
struct World {
  std::vector<Var> vars;
  std::vector<std::pair<int64_t, int64_t>> domains;  // min, extent

  explicit World(DataType dtype) {
    domains = {{0, 8}, {-3, 7}, {0, 5}};
    for (const char* name : {"x", "y", "z"}) vars.emplace_back(name, dtype);
  }

  void Bind(const Analyzer& analyzer) const {
    for (size_t i = 0; i < vars.size(); ++i) {
      DataType dtype = vars[i].dtype();
      analyzer->Bind(vars[i], Range::FromMinExtent(IntImm(dtype, domains[i].first),
                                                   IntImm(dtype, domains[i].second)));
    }
  }

  template <typename F>
  void ForEach(F visit) const {
    Assignment values;
    for (int64_t a = 0; a < domains[0].second; ++a) {
      for (int64_t b = 0; b < domains[1].second; ++b) {
        for (int64_t c = 0; c < domains[2].second; ++c) {
          values[vars[0].get()] = domains[0].first + a;
          values[vars[1].get()] = domains[1].first + b;
          values[vars[2].get()] = domains[2].first + c;
          visit(values);
        }
      }
    }
  }
};

uint64_t Seed() {
  const char* text = std::getenv("TVM_TEST_SEED");
  return text == nullptr ? 20240611 : std::strtoull(text, nullptr, 10);
}

std::string Show(const Assignment& values) {
  std::string text;
  for (const auto& [var, value] : values) {
    text += " " + std::string(var->name) + "=" + std::to_string(value);
  }
  return text;
}

void CheckSimplify(DataType dtype, bool bind, uint64_t seed) {
  World world(dtype);
  Generator generate(seed, world.vars);
  const int rounds = TestRounds(1500);
  for (int round = 0; round < rounds; ++round) {
    PrimExpr expr = round % 3 == 0 ? generate.Bool(3) : generate.Int(4);
    Analyzer analyzer;
    if (bind) world.Bind(analyzer);
    PrimExpr simple;
    try {
      simple = analyzer->Simplify(expr);
    } catch (const ffi::Error& error) {
      // A literal zero divisor may appear by folding.
      ASSERT_NE(std::string(error.message()).find("Divide by zero"), std::string::npos)
          << error.message() << "\n"
          << Expr(expr);
      continue;
    }
    ConstIntBound bound = analyzer->GetConstIntBound(expr);
    ModularSet residue = analyzer->GetModularSet(expr);
    IntSet set = analyzer->GetIntSet(expr);
    bool ok = true;
    world.ForEach([&](const Assignment& values) {
      if (!ok) return;
      auto expected = Evaluator(values)(expr);
      if (!expected) return;
      auto actual = Evaluator(values)(simple);
      EXPECT_TRUE(actual.has_value() && *actual == *expected)
          << Expr(expr) << "\n  simplified to " << Expr(simple) << "\n  at" << Show(values)
          << "\n  expected " << *expected << ", found "
          << (actual ? std::to_string(*actual) : "nothing") << ", round " << round;
      EXPECT_LE(bound->min_value, *expected) << Expr(expr) << Show(values);
      EXPECT_GE(bound->max_value, *expected) << Expr(expr) << Show(values);
      if (residue->coeff == 0) {
        EXPECT_EQ(residue->base, *expected) << Expr(expr) << Show(values);
      } else {
        EXPECT_EQ((*expected - residue->base) % residue->coeff, 0) << Expr(expr) << Show(values);
      }
      if (set.HasLowerBound()) {
        auto low = Evaluator(values)(set.min());
        if (low) EXPECT_LE(*low, *expected) << Expr(expr) << Show(values);
      }
      if (set.HasUpperBound()) {
        auto high = Evaluator(values)(set.max());
        if (high) EXPECT_GE(*high, *expected) << Expr(expr) << Show(values);
      }
      ok = !::testing::Test::HasFailure();
    });
    if (!ok) return;
  }
}

TEST(SimplifyProperty, Int32Bound) { CheckSimplify(DataType::Int(32), true, Seed()); }
TEST(SimplifyProperty, Int64Bound) { CheckSimplify(DataType::Int(64), true, Seed() + 1); }
TEST(SimplifyProperty, Int32Free) { CheckSimplify(DataType::Int(32), false, Seed() + 2); }
TEST(SimplifyProperty, Int8Bound) { CheckSimplify(DataType::Int(8), true, Seed() + 3); }

TEST(SimplifyProperty, UnderConstraints) {
  World world(DataType::Int(32));
  Generator generate(Seed() + 4, world.vars);
  for (int round = 0; round < TestRounds(1500); ++round) {
    PrimExpr condition = generate.Bool(2), expr = generate.Int(3), question = generate.Bool(2);
    Analyzer analyzer;
    world.Bind(analyzer);
    PrimExpr simple, outside;
    bool proved;
    try {
      {
        ConstraintScope scope(analyzer, condition);
        simple = analyzer->Simplify(expr);
        proved = analyzer->CanProve(question);
      }
      outside = analyzer->Simplify(expr);
    } catch (const ffi::Error&) {
      continue;
    }
    world.ForEach([&](const Assignment& values) {
      if (::testing::Test::HasFailure()) return;
      auto expected = Evaluator(values)(expr);
      if (expected) {
        EXPECT_EQ(Evaluator(values)(outside), expected)
            << Expr(expr) << " became " << Expr(outside) << " after " << Expr(condition);
      }
      auto holds = Evaluator(values)(condition);
      if (!holds || *holds == 0) return;
      if (expected) {
        EXPECT_EQ(Evaluator(values)(simple), expected)
            << Expr(expr) << " became " << Expr(simple) << " under " << Expr(condition)
            << Show(values) << " round " << round;
      }
      auto answer = Evaluator(values)(question);
      if (proved && answer) {
        EXPECT_EQ(*answer, 1) << Expr(question) << " proved under " << Expr(condition)
                              << Show(values) << " round " << round;
      }
    });
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(SimplifyProperty, IsIdempotent) {
  World world(DataType::Int(32));
  Generator generate(Seed() + 5, world.vars);
  int different = 0;
  const int rounds = TestRounds(500);
  for (int round = 0; round < rounds; ++round) {
    PrimExpr expr = generate.Int(4);
    Analyzer analyzer;
    world.Bind(analyzer);
    try {
      PrimExpr once = analyzer->Simplify(expr);
      PrimExpr twice = Analyzer()->Simplify(once);
      Analyzer fresh;
      world.Bind(fresh);
      if (!ExprDeepEqual()(fresh->Simplify(once), once)) ++different;
    } catch (const ffi::Error&) {
    }
  }
  // Rules may enable each other across one pass over nested divisions, but rarely.
  EXPECT_LE(different, rounds / 20);
}

TEST(SimplifyProperty, LinearEquation) {
  World world(DataType::Int(32));
  Generator generate(Seed() + 6, world.vars);
  for (int round = 0; round < TestRounds(500); ++round) {
    PrimExpr expr = generate.Int(3);
    ffi::Array<Var> vars{world.vars[0], world.vars[1]};
    ffi::Array<PrimExpr> form;
    try {
      form = DetectLinearEquation(expr, vars);
    } catch (const ffi::Error&) {
      continue;
    }
    if (form.empty()) continue;
    PrimExpr rebuilt = form[0] * vars[0] + form[1] * vars[1] + form[2];
    world.ForEach([&](const Assignment& values) {
      auto expected = Evaluator(values)(expr);
      if (expected) EXPECT_EQ(Evaluator(values)(rebuilt), expected) << Expr(expr);
    });
  }
}

TEST(SimplifyProperty, DeducedBoundImpliesCondition) {
  World world(DataType::Int(32));
  Generator generate(Seed() + 7, world.vars);
  const Var &x = world.vars[0], &y = world.vars[1], &z = world.vars[2];
  for (int round = 0; round < TestRounds(800); ++round) {
    PrimExpr condition = generate.Bool(1 + round % 3);
    ffi::Map<Var, IntSet> relax, hints;
    for (const Var& var : {y, z}) {
      size_t i = var.same_as(y) ? 1 : 2;
      IntSet set = IntSet::FromMinExtent(IntImm::Int32(world.domains[i].first),
                                         IntImm::Int32(world.domains[i].second));
      hints.Set(var, set);
      relax.Set(var, set);
    }
    IntSet bound;
    try {
      bound = DeduceBound(x, condition, hints, relax);
    } catch (const ffi::Error&) {
      continue;
    }
    if (bound.IsNothing()) continue;
    world.ForEach([&](const Assignment& values) {
      int64_t value = values.at(x.get());
      if (bound.HasLowerBound()) {
        auto low = Evaluator(values)(bound.min());
        if (!low || value < *low) return;
      }
      if (bound.HasUpperBound()) {
        auto high = Evaluator(values)(bound.max());
        if (!high || value > *high) return;
      }
      auto holds = Evaluator(values)(condition);
      if (holds) EXPECT_EQ(*holds, 1) << Expr(condition) << Show(values);
    });
    if (::testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace tvm::arith
