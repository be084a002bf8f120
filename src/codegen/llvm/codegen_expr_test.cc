// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
// Every arithmetic node, scalar and vector, against plain C++.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>

#include "codegen/testing.h"

namespace tvm {
namespace codegen {
namespace testing {
namespace {

constexpr int kLanes = 8;

template <typename T>
DataType TypeOfCpp() {
  if constexpr (std::is_same_v<T, bool>) return DataType::Bool();
  if constexpr (std::is_floating_point_v<T>) return DataType::Float(sizeof(T) * 8);
  if constexpr (std::is_signed_v<T>) return DataType::Int(sizeof(T) * 8);
  return DataType::UInt(sizeof(T) * 8);
}

template <typename T>
bool Same(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
    return a == b || std::abs(a - b) <= 4 * std::numeric_limits<T>::epsilon() * std::abs(b);
  }
  return a == b;
}

using Build2 = std::function<PrimExpr(PrimExpr, PrimExpr)>;

/// out[i] = build(a[i], b[i]) for all pairs of the values, with and without vectors.
template <typename T, typename R>
void CheckBinary(const char* what, const std::vector<T>& values, const Build2& build,
                 const std::function<R(T, T)>& oracle, const char* target = "llvm",
                 int lanes = kLanes) {
  std::vector<T> a, b;
  for (T x : values) {
    for (T y : values) {
      a.push_back(x);
      b.push_back(y);
    }
  }
  while (a.size() % lanes != 0) {
    a.push_back(values[0]);
    b.push_back(values[0]);
  }
  const int64_t n = static_cast<int64_t>(a.size());
  for (bool vector : {false, true}) {
    const DataType in = TypeOfCpp<T>(), out = TypeOfCpp<R>();
    Buffer A = Vector("A", in, n), B = Vector("B", in, n), C = Vector("C", out, n);
    Var i("i", DataType::Int(32));
    PrimExpr index = vector ? PrimExpr(Ramp(PrimExpr(i) * lanes, 1, lanes)) : PrimExpr(i);
    Stmt store = BufferStore(C, build(BufferLoad(A, {index}), BufferLoad(B, {index})), {index});
    PrimFunc func = Packed("f", {A, B, C}, Loop(i, vector ? n / lanes : n, store));
    ffi::Module module = BuildFor({func}, target);
    std::vector<T> in_a = a, in_b = b;
    std::vector<R> got(a.size());
    (*module->GetFunction("f"))(static_cast<DLTensor*>(Tensor1D<T>(&in_a, in)),
                                static_cast<DLTensor*>(Tensor1D<T>(&in_b, in)),
                                static_cast<DLTensor*>(Tensor1D<R>(&got, out)));
    for (int64_t k = 0; k < n; ++k) {
      const R want = oracle(a[k], b[k]);
      ASSERT_TRUE(Same<R>(got[k], want))
          << what << (vector ? " vector" : " scalar") << " of " << +a[k] << " and " << +b[k]
          << ": got " << +got[k] << ", expected " << +want;
    }
  }
}

// std::vector<bool> has no data(); bool results are read as bytes.
using Byte = uint8_t;

template <typename T>
void CheckCompare(const char* what, const std::vector<T>& values, const Build2& build,
                  const std::function<bool(T, T)>& oracle) {
  CheckBinary<T, Byte>(
      what, values,
      [&](PrimExpr a, PrimExpr b) {
        PrimExpr condition = build(a, b);
        return PrimExpr(Cast(DataType::UInt(8, condition.dtype().lanes()), condition));
      },
      [&](T a, T b) { return static_cast<Byte>(oracle(a, b)); });
}

template <typename T>
std::vector<T> IntValues() {
  std::vector<T> values = {0, 1, 2, 3, 7, 16, 100};
  values.push_back(std::numeric_limits<T>::max());
  values.push_back(std::numeric_limits<T>::min());
  if (std::is_signed_v<T>) {
    for (int v : {-1, -2, -3, -7, -100}) values.push_back(static_cast<T>(v));
  }
  return values;
}

template <typename T>
std::vector<T> FloatValues() {
  const T inf = std::numeric_limits<T>::infinity(), nan = std::numeric_limits<T>::quiet_NaN();
  return {0, -T(0), 1, -1, T(0.5), T(-2.25), T(3.75), T(1e20), T(-1e-20), inf, -inf, nan};
}

template <typename T>
class IntExpr : public ::testing::Test {};
using IntTypes =
    ::testing::Types<int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t>;
TYPED_TEST_SUITE(IntExpr, IntTypes);

TYPED_TEST(IntExpr, ArithmeticWraps) {
  using T = TypeParam;
  using U = std::make_unsigned_t<T>;
  const auto values = IntValues<T>();
  CheckBinary<T, T>(
      "add", values, [](auto a, auto b) { return Add(a, b); },
      [](T a, T b) { return static_cast<T>(static_cast<U>(a) + static_cast<U>(b)); });
  CheckBinary<T, T>(
      "sub", values, [](auto a, auto b) { return Sub(a, b); },
      [](T a, T b) { return static_cast<T>(static_cast<U>(a) - static_cast<U>(b)); });
  CheckBinary<T, T>(
      "mul", values, [](auto a, auto b) { return Mul(a, b); },
      [](T a, T b) { return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b)); });
}

template <typename T>
T OracleDiv(T a, T b) {
  if (b == 0) return 0;
  if (std::is_signed_v<T> && b == static_cast<T>(-1))
    return static_cast<T>(0 - static_cast<uint64_t>(a));
  return static_cast<T>(a / b);
}
template <typename T>
T OracleMod(T a, T b) {
  if (b == 0 || (std::is_signed_v<T> && b == static_cast<T>(-1))) return 0;
  return static_cast<T>(a % b);
}
template <typename T>
bool Adjust(T a, T b) {
  const T rest = OracleMod(a, b);
  return rest != 0 && std::is_signed_v<T> && ((rest < 0) != (b < 0));
}

TYPED_TEST(IntExpr, DivisionsAreDefinedEverywhere) {
  using T = TypeParam;
  const auto values = IntValues<T>();
  CheckBinary<T, T>("div", values, [](auto a, auto b) { return Div(a, b); }, OracleDiv<T>);
  CheckBinary<T, T>("mod", values, [](auto a, auto b) { return Mod(a, b); }, OracleMod<T>);
  CheckBinary<T, T>(
      "floordiv", values, [](auto a, auto b) { return FloorDiv(a, b); },
      [](T a, T b) { return static_cast<T>(OracleDiv(a, b) - (Adjust(a, b) ? 1 : 0)); });
  CheckBinary<T, T>(
      "floormod", values, [](auto a, auto b) { return FloorMod(a, b); },
      [](T a, T b) { return static_cast<T>(OracleMod(a, b) + (Adjust(a, b) ? b : 0)); });
}

TYPED_TEST(IntExpr, MinMaxCompareSelect) {
  using T = TypeParam;
  const auto values = IntValues<T>();
  CheckBinary<T, T>(
      "min", values, [](auto a, auto b) { return Min(a, b); },
      [](T a, T b) { return std::min(a, b); });
  CheckBinary<T, T>(
      "max", values, [](auto a, auto b) { return Max(a, b); },
      [](T a, T b) { return std::max(a, b); });
  CheckCompare<T>(
      "lt", values, [](auto a, auto b) { return LT(a, b); }, [](T a, T b) { return a < b; });
  CheckCompare<T>(
      "le", values, [](auto a, auto b) { return LE(a, b); }, [](T a, T b) { return a <= b; });
  CheckCompare<T>(
      "gt", values, [](auto a, auto b) { return GT(a, b); }, [](T a, T b) { return a > b; });
  CheckCompare<T>(
      "ge", values, [](auto a, auto b) { return GE(a, b); }, [](T a, T b) { return a >= b; });
  CheckCompare<T>(
      "eq", values, [](auto a, auto b) { return EQ(a, b); }, [](T a, T b) { return a == b; });
  CheckCompare<T>(
      "ne", values, [](auto a, auto b) { return NE(a, b); }, [](T a, T b) { return a != b; });
  CheckBinary<T, T>(
      "select", values, [](auto a, auto b) { return Select(GT(a, b), a, b); },
      [](T a, T b) { return a > b ? a : b; });
}

TYPED_TEST(IntExpr, BitsAndShifts) {
  using T = TypeParam;
  using U = std::make_unsigned_t<T>;
  const auto values = IntValues<T>();
  auto call = [](const Op& op) {
    return [op](PrimExpr a, PrimExpr b) { return CallBuiltin(a.dtype(), op, {a, b}); };
  };
  CheckBinary<T, T>("and", values, call(builtin::bitwise_and()), [](T a, T b) { return T(a & b); });
  CheckBinary<T, T>("or", values, call(builtin::bitwise_or()), [](T a, T b) { return T(a | b); });
  CheckBinary<T, T>("xor", values, call(builtin::bitwise_xor()), [](T a, T b) { return T(a ^ b); });
  constexpr U kBits = sizeof(T) * 8;
  CheckBinary<T, T>("shl", values, call(builtin::shift_left()), [](T a, T b) {
    return static_cast<U>(b) < kBits ? static_cast<T>(static_cast<uint64_t>(a) << static_cast<U>(b))
                                     : T(0);
  });
  CheckBinary<T, T>("shr", values, call(builtin::shift_right()), [](T a, T b) {
    return static_cast<U>(b) < kBits ? static_cast<T>(a >> static_cast<U>(b))
                                     : static_cast<T>(a < 0 ? -1 : 0);
  });
}

template <typename T>
class FloatExpr : public ::testing::Test {};
using FloatTypes = ::testing::Types<float, double>;
TYPED_TEST_SUITE(FloatExpr, FloatTypes);

TYPED_TEST(FloatExpr, Arithmetic) {
  using T = TypeParam;
  const auto values = FloatValues<T>();
  CheckBinary<T, T>(
      "add", values, [](auto a, auto b) { return Add(a, b); }, [](T a, T b) { return a + b; });
  CheckBinary<T, T>(
      "sub", values, [](auto a, auto b) { return Sub(a, b); }, [](T a, T b) { return a - b; });
  CheckBinary<T, T>(
      "mul", values, [](auto a, auto b) { return Mul(a, b); }, [](T a, T b) { return a * b; });
  CheckBinary<T, T>(
      "div", values, [](auto a, auto b) { return Div(a, b); }, [](T a, T b) { return a / b; });
  CheckBinary<T, T>(
      "mod", values, [](auto a, auto b) { return Mod(a, b); },
      [](T a, T b) { return std::fmod(a, b); });
  CheckBinary<T, T>(
      "floordiv", values, [](auto a, auto b) { return FloorDiv(a, b); },
      [](T a, T b) { return std::floor(a / b); });
  CheckBinary<T, T>(
      "floormod", values, [](auto a, auto b) { return FloorMod(a, b); },
      [](T a, T b) {
        volatile T product = b * std::floor(a / b);
        return a - product;
      });
}

TYPED_TEST(FloatExpr, MinMaxKeepNaN) {
  using T = TypeParam;
  const auto values = FloatValues<T>();
  const T nan = std::numeric_limits<T>::quiet_NaN();
  auto min = [=](T a, T b) { return a != a || b != b ? nan : std::min(a, b); };
  auto max = [=](T a, T b) { return a != a || b != b ? nan : std::max(a, b); };
  CheckBinary<T, T>("min", values, [](auto a, auto b) { return Min(a, b); }, min);
  CheckBinary<T, T>("max", values, [](auto a, auto b) { return Max(a, b); }, max);
  // Literals on either side take a shorter form.
  auto one = [](PrimExpr like) { return make_const(like.dtype(), 1.0); };
  CheckBinary<T, T>(
      "max literal", values, [&](auto a, auto) { return Max(a, one(a)); },
      [&](T a, T) { return max(a, 1); });
  CheckBinary<T, T>(
      "literal min", values, [&](auto a, auto) { return Min(one(a), a); },
      [&](T a, T) { return min(1, a); });
}

TYPED_TEST(FloatExpr, Comparisons) {
  using T = TypeParam;
  const auto values = FloatValues<T>();
  CheckCompare<T>(
      "lt", values, [](auto a, auto b) { return LT(a, b); }, [](T a, T b) { return a < b; });
  CheckCompare<T>(
      "le", values, [](auto a, auto b) { return LE(a, b); }, [](T a, T b) { return a <= b; });
  CheckCompare<T>(
      "gt", values, [](auto a, auto b) { return GT(a, b); }, [](T a, T b) { return a > b; });
  CheckCompare<T>(
      "ge", values, [](auto a, auto b) { return GE(a, b); }, [](T a, T b) { return a >= b; });
  CheckCompare<T>(
      "eq", values, [](auto a, auto b) { return EQ(a, b); }, [](T a, T b) { return a == b; });
  CheckCompare<T>(
      "ne", values, [](auto a, auto b) { return NE(a, b); }, [](T a, T b) { return a != b; });
  CheckCompare<T>(
      "logic", values, [](auto a, auto b) { return Or(And(LT(a, b), Not(EQ(a, a))), GT(a, b)); },
      [](T a, T b) { return (a < b && !(a == a)) || a > b; });
  CheckCompare<T>(
      "isnan", values, [](auto a, auto) { return isnan(a); }, [](T a, T) { return a != a; });
  CheckCompare<T>(
      "isinf", values, [](auto a, auto) { return isinf(a); }, [](T a, T) { return std::isinf(a); });
  CheckCompare<T>(
      "isfinite", values, [](auto a, auto) { return isfinite(a); },
      [](T a, T) { return std::isfinite(a); });
}

TYPED_TEST(FloatExpr, Functions) {
  using T = TypeParam;
  const auto values = FloatValues<T>();
  struct Row {
    const char* name;
    PrimExpr (*build)(PrimExpr, Span);
    T (*oracle)(T);
  };
  const Row rows[] = {
      {"floor", tvm::floor, std::floor}, {"ceil", tvm::ceil, std::ceil},
      {"trunc", tvm::trunc, std::trunc}, {"nearbyint", tvm::nearbyint, std::nearbyint},
      {"sqrt", tvm::sqrt, std::sqrt},    {"exp", tvm::exp, std::exp},
      {"log", tvm::log, std::log},       {"tanh", tvm::tanh, std::tanh},
      {"sin", tvm::sin, std::sin},       {"cos", tvm::cos, std::cos},
      {"erf", tvm::erf, std::erf},       {"log1p", tvm::log1p, std::log1p},
      {"atan", tvm::atan, std::atan},    {"cosh", tvm::cosh, std::cosh},
  };
  for (const Row& row : rows) {
    CheckBinary<T, T>(
        row.name, values, [&](auto a, auto) { return row.build(a, Span()); },
        [&](T a, T) { return row.oracle(a); });
  }
  CheckBinary<T, T>(
      "abs", values, [](auto a, auto) { return tvm::abs(a); }, [](T a, T) { return std::fabs(a); });
  CheckBinary<T, T>(
      "fma", values, [](auto a, auto b) { return fma(a, b, a); },
      [](T a, T b) { return std::fma(a, b, a); });
  CheckBinary<T, T>(
      "pow", values, [](auto a, auto b) { return tvm::pow(a, b); },
      [](T a, T b) { return std::pow(a, b); });
  CheckBinary<T, T>(
      "copysign", values, [](auto a, auto b) { return tvm::copysign(a, b); },
      [](T a, T b) { return std::copysign(a, b); });
  CheckBinary<T, T>(
      "let", values,
      [](PrimExpr a, PrimExpr b) {
        Var x("x", a.dtype());
        return PrimExpr(Let(x, Add(a, b), Mul(PrimExpr(x), PrimExpr(x))));
      },
      [](T a, T b) { return (a + b) * (a + b); });
  CheckBinary<T, T>(
      "if_then_else", values,
      [](PrimExpr a, PrimExpr b) {
        return CallBuiltin(a.dtype(), builtin::if_then_else(), {LT(a, b), a, b});
      },
      [](T a, T b) { return a < b ? a : b; });
}

template <typename T, typename R>
void CheckCast(const std::vector<T>& values) {
  CheckBinary<T, R>(
      "cast", values,
      [](PrimExpr a, PrimExpr) { return Cast(TypeOfCpp<R>().with_lanes(a.dtype().lanes()), a); },
      [](T a, T) { return static_cast<R>(a); });
}

TEST(CastExpr, BetweenIntegersAndFloats) {
  CheckCast<int8_t, int32_t>(IntValues<int8_t>());
  CheckCast<uint8_t, int32_t>(IntValues<uint8_t>());
  CheckCast<int32_t, int8_t>(IntValues<int32_t>());
  CheckCast<int64_t, uint16_t>(IntValues<int64_t>());
  CheckCast<int32_t, float>(IntValues<int32_t>());
  CheckCast<uint32_t, double>(IntValues<uint32_t>());
  CheckCast<uint64_t, float>(IntValues<uint64_t>());
  CheckCast<float, double>(FloatValues<float>());
  CheckCast<double, float>({0.0, 1.1, -2.5, 1e30, -1e-30});
  CheckCast<float, int32_t>({0.f, 1.9f, -1.9f, 100000.5f});
  CheckCast<float, uint8_t>({0.f, 1.9f, 200.f, 255.f});
  // Out of range saturates, NaN gives 0.
  const float nan = std::numeric_limits<float>::quiet_NaN();
  CheckBinary<float, int32_t>(
      "saturating cast", {3e9f, -3e9f, nan, 1.5f, -1.5f},
      [](PrimExpr a, PrimExpr) { return Cast(DataType::Int(32, a.dtype().lanes()), a); },
      [](float a, float) {
        if (a != a) return 0;
        return a > 2e9f ? INT32_MAX : a < -2e9f ? INT32_MIN : static_cast<int32_t>(a);
      });
}

/// cast(clamp(nearbyint(x))) in one of its forms, which x86 has shorter ways for.
template <typename R>
void CheckQuantize(float zero, float low, float high, bool min_first, const char* target,
                   int lanes) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = INFINITY;
  std::vector<float> values{zero,    -zero,     nan,    inf,      -inf,       -0.f,       0.49f,
                            0.5f,    0.51f,     1.5f,   2.5f,     -0.5f,      -0.51f,     -1.5f,
                            3e9f,    -3e9f,     2.2e9f, 5e9f,     1e30f,      -1e30f,     low,
                            low - 1, low - .4f, high,   high + 1, high + .5f, high - .5f, 77.3f};
  auto build = [&](PrimExpr a, PrimExpr) {
    auto bound = [&](float x) {
      PrimExpr imm = make_const(DataType::Float(32), x);
      return a.dtype().lanes() == 1 ? imm : PrimExpr(Broadcast(imm, a.dtype().lanes()));
    };
    PrimExpr rounded = tvm::nearbyint(a);
    if (zero != 0) rounded = rounded + bound(zero);
    PrimExpr clamped = min_first ? tvm::max(tvm::min(rounded, bound(high)), bound(low))
                                 : tvm::min(tvm::max(rounded, bound(low)), bound(high));
    return PrimExpr(Cast(TypeOfCpp<R>().with_lanes(a.dtype().lanes()), clamped));
  };
  auto oracle = [&](float a, float) {
    return std::isnan(a) ? R{0} : static_cast<R>(std::clamp(std::nearbyint(a) + zero, low, high));
  };
  CheckBinary<float, R>("quantize", values, build, oracle, target, lanes);
}

TEST(CastExpr, RoundedAndClampedFloatsToBytes) {
  for (const char* target : {"llvm", R"({"kind": "llvm", "mcpu": "native"})"}) {
    for (int lanes : {4, 8, 16, 32}) {
      for (float zero : {0.f, 117.f, -3.f}) {
        const bool min_first = lanes != 8;
        CheckQuantize<uint8_t>(zero, 0, 255, min_first, target, lanes);
        CheckQuantize<uint8_t>(zero, 0, 200, min_first, target, lanes);
        CheckQuantize<uint8_t>(zero, 3, 254, min_first, target, lanes);
        CheckQuantize<int8_t>(zero, -128, 127, min_first, target, lanes);
        CheckQuantize<int8_t>(zero, -5, 6, min_first, target, lanes);
      }
    }
  }
}

float HalfRoundTrip(float x) { return static_cast<float>(static_cast<_Float16>(x)); }
float BFloatRoundTrip(float x) {
  uint32_t bits;
  memcpy(&bits, &x, 4);
  if (std::isnan(x)) return x;
  // Nearest, ties to even, written as a comparison of the two neighbours.
  const uint32_t low = bits & 0xffff0000u, rest = bits & 0xffffu;
  uint32_t rounded = low;
  if (rest > 0x8000u || (rest == 0x8000u && (low & 0x10000u))) rounded = low + 0x10000u;
  float value;
  memcpy(&value, &rounded, 4);
  return value;
}

TEST(CastExpr, HalfAndBrainFloat) {
  std::vector<float> values = FloatValues<float>();
  for (float v : {1.00390625f, 1.01171875f, 65504.f, 65536.f, 1e-5f, 5.96e-8f, 3.14159f, 1e-40f}) {
    values.push_back(v);
  }
  for (DataType narrow : {DataType::Float(16), DataType::BFloat(16)}) {
    CheckBinary<float, float>(
        "round trip", values,
        [&](PrimExpr a, PrimExpr) {
          return Cast(a.dtype(), Cast(narrow.with_lanes(a.dtype().lanes()), a));
        },
        [&](float a, float) {
          return narrow.is_float16() ? HalfRoundTrip(a) : BFloatRoundTrip(a);
        });
  }
  // The same without conversion instructions.
  for (float v :
       {5.9604645e-8f, 2.9802322e-8f, 2.98023224e-8f * 1.0001f, 6.1e-5f, 65519.f, 65520.f}) {
    values.push_back(v);
  }
  CheckBinary<float, float>(
      "portable half", values,
      [&](PrimExpr a, PrimExpr) {
        return Cast(a.dtype(), Cast(DataType::Float(16, a.dtype().lanes()), a));
      },
      [&](float a, float) { return HalfRoundTrip(a); },
      "{\"kind\": \"llvm\", \"mcpu\": \"x86-64\"}");
  CheckBinary<double, double>(
      "portable half of double",
      {1.0, 1.00048828125000001, 65519.99999, 1e-9, 2.9802322387695312e-8},
      [&](PrimExpr a, PrimExpr) {
        return Cast(a.dtype(), Cast(DataType::Float(16, a.dtype().lanes()), a));
      },
      [&](double a, double) { return static_cast<double>(static_cast<_Float16>(a)); },
      "{\"kind\": \"llvm\", \"mcpu\": \"x86-64\"}");
  // Arithmetic in brain float is computed in float and rounded once.
  CheckBinary<float, float>(
      "bfloat add", values,
      [](PrimExpr a, PrimExpr b) {
        const DataType narrow = DataType::BFloat(16, a.dtype().lanes());
        return Cast(a.dtype(), Add(Cast(narrow, a), Cast(narrow, b)));
      },
      [](float a, float b) { return BFloatRoundTrip(BFloatRoundTrip(a) + BFloatRoundTrip(b)); });
}

TEST(CastExpr, ReinterpretKeepsBits) {
  CheckBinary<float, int32_t>(
      "reinterpret", FloatValues<float>(),
      [](PrimExpr a, PrimExpr) { return reinterpret(DataType::Int(32, a.dtype().lanes()), a); },
      [](float a, float) {
        int32_t bits;
        memcpy(&bits, &a, 4);
        return bits;
      });
}

TEST(IntFunctions, CountsAndFixedPoint) {
  CheckBinary<uint32_t, uint32_t>(
      "popcount", IntValues<uint32_t>(), [](auto a, auto) { return tvm::popcount(a); },
      [](uint32_t a, uint32_t) { return uint32_t(__builtin_popcount(a)); });
  CheckBinary<int32_t, int32_t>(
      "abs", IntValues<int32_t>(), [](auto a, auto) { return tvm::abs(a); },
      [](int32_t a, int32_t) { return a < 0 ? int32_t(0u - uint32_t(a)) : a; });
  CheckBinary<int32_t, int32_t>(
      "q_multiply_shift", {1000, -1000, 123456, 1 << 30, -(1 << 30)},
      [](PrimExpr a, PrimExpr b) {
        const DataType type = a.dtype();
        return CallBuiltin(type, builtin::q_multiply_shift(),
                           {a, b, make_const(type, 31), make_const(type, 2)});
      },
      [](int32_t a, int32_t b) { return int32_t((int64_t(a) * b + (int64_t(1) << 32)) >> 33); });
}

TEST(VectorExpr, RampBroadcastShuffle) {
  Buffer A = Vector("A", DataType::Int(32), 8), C = Vector("C", DataType::Int(32), 8);
  PrimExpr ramp = Ramp(PrimExpr(5), PrimExpr(-3), 8);
  PrimExpr load = BufferLoad(A, {Ramp(PrimExpr(0), PrimExpr(1), 8)});
  ffi::Array<PrimExpr> reversed;
  for (int i = 7; i >= 0; --i) reversed.push_back(PrimExpr(i));
  PrimExpr value = Add(Mul(ramp, Broadcast(PrimExpr(10), 8)), Shuffle({load}, reversed));
  ffi::Module module =
      BuildFor({Packed("f", {A, C}, BufferStore(C, value, {Ramp(PrimExpr(0), 1, 8)}))});
  std::vector<int32_t> a = {1, 2, 3, 4, 5, 6, 7, 8}, c(8);
  (*module->GetFunction("f"))(static_cast<DLTensor*>(Tensor1D<int32_t>(&a, DataType::Int(32))),
                              static_cast<DLTensor*>(Tensor1D<int32_t>(&c, DataType::Int(32))));
  for (int i = 0; i < 8; ++i) EXPECT_EQ(c[i], (5 - 3 * i) * 10 + a[7 - i]);
}

}  // namespace
}  // namespace testing
}  // namespace codegen
}  // namespace tvm
