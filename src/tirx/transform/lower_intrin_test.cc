// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include <gtest/gtest.h>
#include <tvm/target/target.h>
#include <tvm/tirx/transform.h>

#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "tirx/testing/interpreter.h"
#include "tirx/testing/run_pass.h"
#include "tirx/transform/math_lowering.h"

namespace tvm {
namespace tirx {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
const double kNaN = std::nan("");

/// Distance of `got` from the true value in units of the last place of float32.
double UlpError(float got, double want) {
  if (std::isnan(want)) return std::isnan(got) ? 0 : kInf;
  if (std::isnan(got)) return kInf;
  float rounded = static_cast<float>(want);
  if (std::isinf(rounded) || std::isinf(got)) return got == rounded ? 0 : kInf;
  if (got == 0 && rounded == 0 && std::signbit(want)) return std::signbit(got) ? 0 : kInf;
  double unit =
      std::max(std::ldexp(1.0, std::ilogb(want == 0 ? 1e-45 : want) - 23), std::ldexp(1.0, -149));
  return std::abs(got - want) / unit;
}

class MathFunction {
 public:
  MathFunction(PrimExpr (*lower)(const PrimExpr&, const MathOptions&), bool has_fma)
      : x_("x", DataType::Float(32)), body_(lower(x_, MathOptions{has_fma})) {}

  float operator()(float x) {
    testing::Interpreter interpreter;
    interpreter.Set(x_, testing::Interpreter::Float(DataType::Float(32), x));
    return static_cast<float>(interpreter.Eval(body_).f[0]);
  }

 private:
  Var x_;
  PrimExpr body_;
};

struct Case {
  const char* name;
  PrimExpr (*lower)(const PrimExpr&, const MathOptions&);
  double (*want)(double);
  double lo, hi;
};

const double kBorders[] = {0.0,    -0.0,   1.0,        -1.0,   kInf,     -kInf,  kNaN,
                           1e-45,  -1e-45, 1e-40,      -1e-40, 1.2e-38,  3.4e38, -3.4e38,
                           88.72,  88.73,  -87.33,     -103.9, -104.0,   -150.0, 128.0,
                           127.99, 1e-10,  0.625,      0.6249, 0.921875, 0.9218, 9.02,
                           4.0,    3.9,    16777216.0, 38.53,  38.54,    -44.8,  -45.2};

class MathLowering : public ::testing::TestWithParam<Case> {};

TEST_P(MathLowering, StaysWithinTwoUlp) {
  const Case& c = GetParam();
  for (bool has_fma : {true, false}) {
    MathFunction f(c.lower, has_fma);
    double worst = 0;
    float worst_x = 0;
    auto check = [&](float x) {
      double error = UlpError(f(x), c.want(static_cast<double>(x)));
      if (error > worst) {
        worst = error;
        worst_x = x;
      }
    };
    for (double x : kBorders) check(static_cast<float>(x));
    const int n = 6000;
    for (int i = 0; i <= n; ++i) check(static_cast<float>(c.lo + (c.hi - c.lo) * i / n));
    // The same over magnitudes, both signs.
    for (int e = -148; e < 127; e += 1) {
      for (double m : {1.0, 1.2345678, 1.4142135, 1.9999999}) {
        check(static_cast<float>(std::ldexp(m, e)));
        check(static_cast<float>(-std::ldexp(m, e)));
      }
    }
    EXPECT_LE(worst, 2.0) << c.name << " at " << worst_x << (has_fma ? " with fma" : "");
  }
}

double Sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double Exp10(double x) { return std::pow(10.0, x); }
double Rsqrt(double x) { return 1 / std::sqrt(x); }

INSTANTIATE_TEST_SUITE_P(Functions, MathLowering,
                         ::testing::Values(Case{"exp", LowerExp, std::exp, -105, 90},
                                           Case{"exp2", LowerExp2, std::exp2, -151, 129},
                                           Case{"exp10", LowerExp10, Exp10, -46, 39},
                                           Case{"log", LowerLog, std::log, 0, 4},
                                           Case{"log2", LowerLog2, std::log2, 0, 4},
                                           Case{"log10", LowerLog10, std::log10, 0, 4},
                                           Case{"log1p", LowerLog1p, std::log1p, -1.01, 3},
                                           Case{"tanh", LowerTanh, std::tanh, -10, 10},
                                           Case{"sigmoid", LowerSigmoid, Sigmoid, -105, 30},
                                           Case{"erf", LowerErf, std::erf, -4.5, 4.5},
                                           Case{"rsqrt", LowerRsqrt, Rsqrt, 0, 10}),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(MathLowering, PowMatchesC) {
  Var x("x", DataType::Float(32)), y("y", DataType::Float(32));
  PrimExpr body = LowerPow(x, y, MathOptions{true});
  double worst = 0;
  auto check = [&](float a, float b) {
    testing::Interpreter interpreter;
    interpreter.Set(x, testing::Interpreter::Float(DataType::Float(32), a));
    interpreter.Set(y, testing::Interpreter::Float(DataType::Float(32), b));
    float got = static_cast<float>(interpreter.Eval(body).f[0]);
    double error = UlpError(got, std::pow(static_cast<double>(a), static_cast<double>(b)));
    EXPECT_LE(error, 2.0) << a << " ^ " << b << " gave " << got;
    worst = std::max(worst, error);
  };
  const double values[] = {0.0,  -0.0, 1,    -1,       2,    -2,    0.5,    -0.5,
                           3,    -3,   kInf, -kInf,    kNaN, 1e-45, 3.4e38, 1.5,
                           -1.5, 100,  -101, 16777217, 1e10, 0.999, 1.001,  2.5};
  for (double a : values) {
    for (double b : values) check(static_cast<float>(a), static_cast<float>(b));
  }
  for (int i = 1; i < 400; ++i) check(0.01f * i, 7.3f - 0.04f * i);
}

TEST(MathLowering, ShortErfHasTheBitsOfBfloat16AndNeverPassesOne) {
  for (bool has_fma : {true, false}) {
    MathFunction f(LowerShortErf, has_fma);
    double worst = 0, relative = 0;
    for (int i = -40000; i <= 40000; ++i) {
      const auto x = static_cast<float>(i * 1e-4);
      const double want = std::erf(static_cast<double>(x)), error = std::abs(f(x) - want);
      EXPECT_LE(std::abs(f(x)), 1.0f) << x;
      worst = std::max(worst, error);
      if (i != 0) relative = std::max(relative, error / std::abs(want));
    }
    EXPECT_LT(worst, 1.1e-5);
    EXPECT_LT(relative, 1e-4);
    for (double x : {3.125, 4.0, 1e30, kInf}) {
      EXPECT_EQ(f(static_cast<float>(x)), 1.0f);
      EXPECT_EQ(f(static_cast<float>(-x)), -1.0f);
    }
    EXPECT_TRUE(std::isnan(f(static_cast<float>(kNaN))));
    EXPECT_TRUE(std::signbit(f(-0.0f)) && !std::signbit(f(0.0f)));
  }
}

PrimFunc Lowered(PrimExpr value, const Var& i, int extent, DataType dtype, bool rounds = false) {
  Buffer out = decl_buffer({IntImm::Int32(extent)}, dtype, "out");
  Stmt body = For(i, 0, extent, ForKind::kSerial, BufferStore(out, value, {i}));
  PrimFunc func({out}, body);
  func = WithAttr(func, "target", Target("llvm"));
  if (rounds) func = WithAttr(func, attr::kFlushSubnormals, ffi::Any(true));
  return testing::RunPass(transform::LowerIntrin(), func);
}

bool HasNode(const PrimFunc& func, const std::function<bool(const ffi::ObjectRef&)>& test) {
  bool found = false;
  PostOrderVisit(func->body, [&](const ffi::ObjectRef& node) { found = found || test(node); });
  return found;
}

TEST(LowerIntrin, FloorDivAndModOfAllSigns) {
  for (int64_t divisor : {1, 2, 8, 3, -3, 7, -8}) {
    Var i("i");
    PrimExpr a = i - 20;
    PrimExpr q = FloorDiv(a, IntImm::Int32(divisor)), r = FloorMod(a, IntImm::Int32(divisor));
    PrimFunc func = Lowered(q * 1000 + r, i, 41, DataType::Int(32));
    EXPECT_FALSE(HasNode(func, [](const ffi::ObjectRef& n) {
      return n.as<FloorDivNode>() != nullptr || n.as<FloorModNode>() != nullptr;
    }));
    auto out = testing::Ints(DataType::Int(32), std::vector<int64_t>(41));
    testing::Interpreter().Run(func, {out});
    for (int64_t k = 0; k < 41; ++k) {
      int64_t v = k - 20;
      int64_t quotient =
          static_cast<int64_t>(std::floor(static_cast<double>(v) / static_cast<double>(divisor)));
      EXPECT_EQ(out->i[k], quotient * 1000 + (v - quotient * divisor)) << v << " / " << divisor;
    }
  }
}

TEST(LowerIntrin, NonNegativeIndexNeedsNoFix) {
  Var i("i");
  PrimFunc func = Lowered(FloorDiv(i, IntImm::Int32(3)), i, 10, DataType::Int(32));
  EXPECT_FALSE(
      HasNode(func, [](const ffi::ObjectRef& n) { return n.as<SelectNode>() != nullptr; }));
  EXPECT_TRUE(HasNode(func, [](const ffi::ObjectRef& n) { return n.as<DivNode>() != nullptr; }));
}

/// Only what is rounded right away, and only where a program asked for rounded operands.
TEST(LowerIntrin, ErfIsShortWhereItsResultIsRounded) {
  auto size = [](const PrimFunc& func) {
    int nodes = 0;
    PostOrderVisit(func->body, [&](const ffi::ObjectRef&) { ++nodes; });
    return nodes;
  };
  const DataType wide = DataType::Float(32), narrow = DataType::BFloat(16);
  Var i("i");
  PrimExpr one = make_const(wide, 1.0), value = one + erf(cast(wide, i));
  const int whole = size(Lowered(value, i, 4, wide));
  EXPECT_EQ(size(Lowered(value, i, 4, wide, true)), whole);
  EXPECT_GE(size(Lowered(cast(narrow, value), i, 4, narrow)), whole);
  EXPECT_LT(size(Lowered(cast(narrow, value), i, 4, narrow, true)), whole * 2 / 3);
  // The operand of a sum beside what is rounded is not.
  PrimExpr both = cast(wide, cast(narrow, one)) + value;
  EXPECT_GE(size(Lowered(both, i, 4, wide, true)), whole);
}

TEST(LowerIntrin, VectorsStayVectorsAndDoublesStayCalls) {
  auto is_exp = [](const ffi::ObjectRef& n) {
    const auto* call = n.as<CallNode>();
    return call != nullptr && call->op.same_as(Op::Get("tirx.exp"));
  };
  Var i("i");
  EXPECT_FALSE(
      HasNode(Lowered(exp(cast(DataType::Float(32), i)), i, 4, DataType::Float(32)), is_exp));
  EXPECT_TRUE(
      HasNode(Lowered(exp(cast(DataType::Float(64), i)), i, 4, DataType::Float(64)), is_exp));
}

}  // namespace
}  // namespace tirx
}  // namespace tvm
