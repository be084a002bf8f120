// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Coefficients were fitted by iteratively reweighted least squares against the weight that makes
/// the error relative to the result (near-minimax); the bound stands beside each of them, in units
/// of 2^-24 (half an ulp is at most 1). Argument reductions are the textbook ones (Cody and Waite).
#include "tirx/transform/math_lowering.h"

#include <tvm/tirx/builtin.h>
#include <tvm/tirx/op.h>

#include <initializer_list>
#include <limits>
#include <utility>
#include <vector>

namespace tvm {
namespace tirx {

namespace {

/// Builds one expression out of named steps: a value used twice is computed once.
class Steps {
 public:
  Steps(int lanes, const MathOptions& options) : lanes_(lanes), options_(options) {}

  PrimExpr Name(const char* name, PrimExpr value) {
    if (value.as<VarNode>() != nullptr) return value;
    Var var(name, value.dtype());
    steps_.emplace_back(var, std::move(value));
    return var;
  }

  PrimExpr Finish(PrimExpr result) {
    Expr value = std::move(result);
    for (size_t i = steps_.size(); i-- > 0;) {
      value = Let(steps_[i].first, steps_[i].second, std::move(value));
    }
    return PrimExpr(value);
  }

  DataType F32() const { return DataType::Float(32, lanes_); }
  DataType F64() const { return DataType::Float(64, lanes_); }
  DataType I32() const { return DataType::Int(32, lanes_); }
  DataType I64() const { return DataType::Int(64, lanes_); }

  PrimExpr K(double value) const { return make_const(F32(), value); }
  PrimExpr KD(double value) const { return make_const(F64(), value); }
  PrimExpr KI(int64_t value) const { return make_const(I32(), value); }
  PrimExpr KI64(int64_t value) const { return make_const(I64(), value); }
  PrimExpr Inf() const { return K(std::numeric_limits<double>::infinity()); }
  PrimExpr NaN() const { return K(std::numeric_limits<double>::quiet_NaN()); }

  PrimExpr MulAdd(const PrimExpr& a, const PrimExpr& b, const PrimExpr& c) const {
    if (!options_.has_fma) return Add(Mul(a, b), c);
    return CallBuiltin(a.dtype(), builtin::fma(), {a, b, c});
  }

  /// c[0] + x * (c[1] + x * ...)
  PrimExpr Horner(const PrimExpr& x, std::initializer_list<double> coefficients) {
    std::vector<double> c(coefficients);
    PrimExpr value = make_const(x.dtype(), c.back());
    for (size_t i = c.size() - 1; i-- > 0;) value = MulAdd(value, x, make_const(x.dtype(), c[i]));
    return value;
  }

  PrimExpr Bits(const PrimExpr& x) const { return tvm::reinterpret(I32(), x); }
  PrimExpr FromBits(const PrimExpr& bits) const { return tvm::reinterpret(F32(), bits); }
  PrimExpr Shl(const PrimExpr& x, int n) const {
    return CallBuiltin(x.dtype(), builtin::shift_left(), {x, make_const(x.dtype(), n)});
  }
  /// Arithmetic shift.
  PrimExpr Shr(const PrimExpr& x, int n) const {
    return CallBuiltin(x.dtype(), builtin::shift_right(), {x, make_const(x.dtype(), n)});
  }
  PrimExpr And(const PrimExpr& x, int64_t mask) const {
    return CallBuiltin(x.dtype(), builtin::bitwise_and(), {x, make_const(x.dtype(), mask)});
  }
  PrimExpr Abs(const PrimExpr& x) const { return FromBits(And(Bits(x), 0x7fffffff)); }

  /// Limits that let NaN pass: a comparison with NaN is false.
  PrimExpr AtMost(const PrimExpr& x, double hi) const {
    PrimExpr bound = make_const(x.dtype(), hi);
    return Select(GT(x, bound), bound, x);
  }
  PrimExpr AtLeast(const PrimExpr& x, double lo) const {
    PrimExpr bound = make_const(x.dtype(), lo);
    return Select(LT(x, bound), bound, x);
  }

 private:
  int lanes_;
  MathOptions options_;
  std::vector<std::pair<Var, PrimExpr>> steps_;
};

constexpr double kLog2E = 1.4426950408889634;
/// ln 2 in two parts; the first has few enough bits that its product with an exponent is exact.
constexpr double kLn2Hi = 0.693359375;
constexpr double kLn2Lo = -2.1219444005469057e-4;
/// Adding 1.5 * 2^23 rounds a small float to an integer, which then stands in the low bits.
constexpr double kRoundMagic = 12582912.0;
constexpr int64_t kRoundMagicBits = 0x4B400000;

/// p * 2^k for -150 <= k <= 128, in two steps, so that denormal results round once.
PrimExpr ScaleByPowerOfTwo(Steps* s, const PrimExpr& p, const PrimExpr& k) {
  PrimExpr half = s->Name("half", s->Shr(k, 1));
  PrimExpr rest = Sub(k, half);
  auto power = [&](const PrimExpr& e) { return s->FromBits(s->Shl(Add(e, s->KI(127)), 23)); };
  return Mul(Mul(p, power(half)), power(rest));
}

/// e^x for x inside [-104.5, 89] or NaN; `normal`: e^x is neither subnormal nor infinite, which
/// takes a single step.
PrimExpr ExpInRange(Steps* s, const PrimExpr& x, bool normal = false) {
  PrimExpr t = s->Name("t", s->MulAdd(x, s->K(kLog2E), s->K(kRoundMagic)));
  PrimExpr n = s->Name("n", Sub(t, s->K(kRoundMagic)));
  PrimExpr k = s->Name("k", Sub(s->Bits(t), s->KI(kRoundMagicBits)));
  PrimExpr r = s->MulAdd(n, s->K(-kLn2Hi), x);
  r = s->Name("r", s->MulAdd(n, s->K(-kLn2Lo), r));
  // e^r = 1 + r + r^2 P(r), |r| <= ln(2) / 2; error 0.05.
  PrimExpr p = s->Horner(r, {0.4999999403953552, 0.1666652113199234, 0.04166838899254799,
                             0.00836874544620514, 0.001381453825160861});
  p = Add(s->MulAdd(Mul(r, r), p, r), s->K(1.0));
  if (normal) return Mul(p, s->FromBits(s->Shl(Add(k, s->KI(127)), 23)));
  return ScaleByPowerOfTwo(s, p, k);
}

PrimExpr ExpSteps(Steps* s, const PrimExpr& x) {
  // Above 89 the result overflows, below -104.5 it is less than half the smallest denormal.
  PrimExpr bounded = s->Name("bounded", s->AtMost(s->AtLeast(x, -104.5), 89.0));
  return ExpInRange(s, bounded);
}

/// Exponent and offset of the mantissa: x = 2^e * (1 + f), 1 + f in [2/3, 4/3), for x > 0.
struct Decomposed {
  PrimExpr e;  ///< as float
  PrimExpr f;
};

Decomposed DecomposeFloat(Steps* s, const PrimExpr& x) {
  constexpr double kSmallestNormal = 1.1754943508222875e-38;
  PrimExpr is_small = s->Name("is_small", LT(x, s->K(kSmallestNormal)));
  PrimExpr scaled = Select(is_small, Mul(x, s->K(8388608.0)), x);
  // Subtracting the bits of 2/3 makes the exponent field change where the mantissa crosses it.
  constexpr int64_t kTwoThirds = 0x3f2aaaab;
  PrimExpr bits = s->Name("bits", Sub(s->Bits(scaled), s->KI(kTwoThirds)));
  PrimExpr e = Cast(s->F32(), s->Shr(bits, 23));
  e = s->Name("e", Sub(e, Select(is_small, s->K(23.0), s->K(0.0))));
  PrimExpr m = s->FromBits(Add(s->And(bits, 0x007fffff), s->KI(kTwoThirds)));
  return {e, s->Name("f", Sub(m, s->K(1.0)))};
}

/// Values of a logarithm outside of the positive finite numbers.
PrimExpr LogBorders(Steps* s, const PrimExpr& x, PrimExpr result) {
  result = Select(EQ(x, s->Inf()), s->Inf(), std::move(result));
  PrimExpr outside =
      Select(EQ(x, s->K(0.0)), s->K(-std::numeric_limits<double>::infinity()), s->NaN());
  return Select(GT(x, s->K(0.0)), std::move(result), outside);
}

PrimExpr LogSteps(Steps* s, const PrimExpr& x) {
  Decomposed d = DecomposeFloat(s, x);
  // ln(1 + f) = f - f^2 / 2 + f^3 P(f), |f| <= 1/3; error 0.014.
  PrimExpr p = s->Horner(d.f, {0.3333333432674408, -0.24999819695949554, 0.1999959796667099,
                               -0.1667957901954651, 0.14304454624652863, -0.12195774167776108,
                               0.10754260420799255, -0.12845076620578766, 0.12007052451372147});
  PrimExpr square = s->Name("square", Mul(d.f, d.f));
  PrimExpr tail = s->MulAdd(Mul(d.f, square), p, Mul(d.e, s->K(kLn2Lo)));
  tail = s->MulAdd(s->K(-0.5), square, tail);
  PrimExpr result = s->MulAdd(d.e, s->K(kLn2Hi), Add(d.f, tail));
  return LogBorders(s, x, result);
}

PrimExpr Log2Steps(Steps* s, const PrimExpr& x) {
  Decomposed d = DecomposeFloat(s, x);
  // log2(1 + f) = f log2(e) + f^2 Q(f); error 0.015. log2(e) has two parts.
  PrimExpr q = s->Horner(
      d.f, {-0.7213475704193115, 0.4808984100818634, -0.36066868901252747, 0.2885306179523468,
            -0.24070364236831665, 0.20643341541290283, -0.17521043121814728, 0.1545155942440033,
            -0.18805576860904694, 0.17545086145401});
  constexpr double kLog2EHi = 1.4423828125;
  constexpr double kLog2ELo = kLog2E - kLog2EHi;
  PrimExpr tail = s->MulAdd(d.f, s->K(kLog2ELo), Mul(Mul(d.f, d.f), q));
  PrimExpr result = Add(s->MulAdd(d.f, s->K(kLog2EHi), tail), d.e);
  return LogBorders(s, x, result);
}

/// A value that takes the sign of `x`: both hold it in the top bit.
PrimExpr WithSignOf(Steps* s, const PrimExpr& magnitude, const PrimExpr& x) {
  constexpr int64_t kSignBit = std::numeric_limits<int32_t>::min();
  return s->FromBits(CallBuiltin(s->I32(), builtin::bitwise_or(),
                                 {s->Bits(magnitude), s->And(s->Bits(x), kSignBit)}));
}

Steps StepsFor(const PrimExpr& x, const MathOptions& options) {
  TVM_FFI_ICHECK(x.dtype().is_float() && x.dtype().bits() == 32) << x.dtype();
  return Steps(x.dtype().lanes(), options);
}

}  // namespace

PrimExpr LowerExp(const PrimExpr& arg, const MathOptions& options) {
  Steps s = StepsFor(arg, options);
  PrimExpr x = s.Name("x", arg);
  return s.Finish(ExpSteps(&s, x));
}

PrimExpr LowerExp2(const PrimExpr& arg, const MathOptions& options) {
  Steps s = StepsFor(arg, options);
  PrimExpr x = s.Name("x", arg);
  PrimExpr bounded = s.Name("bounded", s.AtMost(s.AtLeast(x, -150.5), 128.0));
  PrimExpr t = s.Name("t", Add(bounded, s.K(kRoundMagic)));
  PrimExpr k = s.Name("k", Sub(s.Bits(t), s.KI(kRoundMagicBits)));
  PrimExpr r = s.Name("r", Sub(bounded, Sub(t, s.K(kRoundMagic))));
  // 2^r = 1 + r Q(r), |r| <= 1/2; error 0.033.
  PrimExpr q = s.Horner(r, {0.6931471824645996, 0.24022647738456726, 0.055503323674201965,
                            0.00961843691766262, 0.0013398875016719103, 0.00015353360504377633});
  return s.Finish(ScaleByPowerOfTwo(&s, s.MulAdd(r, q, s.K(1.0)), k));
}

PrimExpr LowerExp10(const PrimExpr& arg, const MathOptions& options) {
  Steps s = StepsFor(arg, options);
  PrimExpr x = s.Name("x", arg);
  constexpr double kLog2Of10 = 3.321928094887362;
  constexpr double kLn10 = 2.302585092994046;
  // log10(2) in two parts, as ln 2 above.
  constexpr double kLog10Of2Hi = 0.301025390625;
  constexpr double kLog10Of2Lo = 0.30102999566398120 - kLog10Of2Hi;
  PrimExpr bounded = s.Name("bounded", s.AtMost(s.AtLeast(x, -45.5), 38.6));
  PrimExpr t = s.Name("t", s.MulAdd(bounded, s.K(kLog2Of10), s.K(kRoundMagic)));
  PrimExpr n = s.Name("n", Sub(t, s.K(kRoundMagic)));
  PrimExpr k = s.Name("k", Sub(s.Bits(t), s.KI(kRoundMagicBits)));
  PrimExpr r = s.MulAdd(n, s.K(-kLog10Of2Hi), bounded);
  r = s.Name("r", Mul(s.MulAdd(n, s.K(-kLog10Of2Lo), r), s.K(kLn10)));
  PrimExpr p = s.Horner(r, {0.4999999403953552, 0.1666652113199234, 0.04166838899254799,
                            0.00836874544620514, 0.001381453825160861});
  p = Add(s.MulAdd(Mul(r, r), p, r), s.K(1.0));
  return s.Finish(ScaleByPowerOfTwo(&s, p, k));
}

PrimExpr LowerLog(const PrimExpr& arg, const MathOptions& options) {
  Steps s = StepsFor(arg, options);
  PrimExpr x = s.Name("x", arg);
  return s.Finish(LogSteps(&s, x));
}

PrimExpr LowerLog2(const PrimExpr& arg, const MathOptions& options) {
  Steps s = StepsFor(arg, options);
  PrimExpr x = s.Name("x", arg);
  return s.Finish(Log2Steps(&s, x));
}

PrimExpr LowerLog10(const PrimExpr& arg, const MathOptions& options) {
  Steps s = StepsFor(arg, options);
  PrimExpr x = s.Name("x", arg);
  Decomposed d = DecomposeFloat(&s, x);
  PrimExpr p = s.Horner(d.f, {0.3333333432674408, -0.24999819695949554, 0.1999959796667099,
                              -0.1667957901954651, 0.14304454624652863, -0.12195774167776108,
                              0.10754260420799255, -0.12845076620578766, 0.12007052451372147});
  PrimExpr square = s.Name("square", Mul(d.f, d.f));
  // ln(1 + f) as f + tail; the products with log10(e) and log10(2) in two parts each.
  PrimExpr tail = s.Name("tail", s.MulAdd(Mul(d.f, square), p, Mul(s.K(-0.5), square)));
  constexpr double kLog10EHi = 0.43359375, kLog10ELo = 0.4342944819032518 - kLog10EHi;
  constexpr double kLog10Of2Hi = 0.301025390625;
  constexpr double kLog10Of2Lo = 0.30102999566398120 - kLog10Of2Hi;
  PrimExpr low = s.MulAdd(d.f, s.K(kLog10ELo), Mul(tail, s.K(kLog10EHi + kLog10ELo)));
  low = s.MulAdd(d.e, s.K(kLog10Of2Lo), low);
  PrimExpr result = s.MulAdd(d.e, s.K(kLog10Of2Hi), s.MulAdd(d.f, s.K(kLog10EHi), low));
  return s.Finish(LogBorders(&s, x, result));
}

PrimExpr LowerLog1p(const PrimExpr& arg, const MathOptions& options) {
  Steps s = StepsFor(arg, options);
  PrimExpr x = s.Name("x", arg);
  // ln(1 + x) = ln(u) * x / (u - 1) with u = 1 + x rounded: the errors of both factors cancel.
  PrimExpr u = s.Name("u", Add(x, s.K(1.0)));
  PrimExpr log_u = LogSteps(&s, u);
  PrimExpr result = Mul(log_u, Div(x, Sub(u, s.K(1.0))));
  result = Select(EQ(u, s.K(1.0)), x, result);
  return s.Finish(Select(EQ(x, s.Inf()), x, result));
}

PrimExpr LowerTanh(const PrimExpr& arg, const MathOptions& options) {
  Steps s = StepsFor(arg, options);
  PrimExpr x = s.Name("x", arg);
  PrimExpr a = s.Name("a", s.Abs(x));
  // tanh x = x + x^3 P(x^2), |x| <= 0.625; error 0.003.
  PrimExpr square = s.Name("square", Mul(x, x));
  PrimExpr p =
      s.Horner(square, {-0.3333333134651184, 0.1333320587873459, -0.05394676327705383,
                        0.021700704470276833, -0.008177400566637516, 0.0021429636981338263});
  PrimExpr small = s.MulAdd(Mul(x, square), p, x);
  // Elsewhere 1 - 2 / (e^2x + 1), which is 1 from 9.02 on.
  PrimExpr doubled = s.Name("doubled", s.AtMost(Add(a, a), 20.0));
  PrimExpr e = ExpInRange(&s, doubled, true);
  PrimExpr large = Sub(s.K(1.0), Div(s.K(2.0), Add(e, s.K(1.0))));
  // The sign also makes the +0 of the small case the -0 of the argument.
  return s.Finish(WithSignOf(&s, Select(LT(a, s.K(0.625)), small, large), x));
}

PrimExpr LowerSigmoid(const PrimExpr& arg, const MathOptions& options) {
  Steps s = StepsFor(arg, options);
  PrimExpr x = s.Name("x", arg);
  // With e = e^-|x| <= 1 nothing overflows: 1 / (1 + e) or e / (1 + e).
  PrimExpr negative = s.AtLeast(Sub(s.K(0.0), s.Abs(x)), -104.5);
  PrimExpr e = s.Name("e", ExpInRange(&s, s.Name("bounded", negative)));
  return s.Finish(Div(Select(GE(x, s.K(0.0)), s.K(1.0), e), Add(e, s.K(1.0))));
}

PrimExpr LowerErf(const PrimExpr& arg, const MathOptions& options) {
  Steps s = StepsFor(arg, options);
  PrimExpr x = s.Name("x", arg);
  PrimExpr a = s.Name("a", s.AtMost(s.Abs(x), 4.0));
  // erf x = x + x P(x^2), |x| <= 0.95; error 0.0003.
  PrimExpr square = s.Name("square", Mul(x, x));
  PrimExpr p =
      s.Horner(square, {0.12837916612625122, -0.37612637877464294, 0.11283786594867706,
                        -0.026865694671869278, 0.005221899598836899, -0.0008498653187416494,
                        0.00011386579717509449, -1.0057255167339463e-05});
  PrimExpr small = s.MulAdd(x, p, x);
  // Elsewhere 1 - e^g, g = ln erfc(a) as a polynomial on [0.9, 4]; error 0.001. From 4 on it is 1.
  PrimExpr g = s.Horner(a, {0.0001692051300778985, -1.1294883489608765, -0.6334008574485779,
                            -0.10822038352489471, 0.025080615654587746, -0.004156254697591066,
                            0.0004313935642130673, -2.0828618289669976e-05});
  PrimExpr large = Sub(s.K(1.0), ExpInRange(&s, s.Name("g", g), true));
  return s.Finish(Select(LT(a, s.K(0.921875)), small, WithSignOf(&s, large, x)));
}

PrimExpr LowerShortErf(const PrimExpr& arg, const MathOptions& options) {
  Steps s = StepsFor(arg, options);
  PrimExpr whole = s.Name("whole", arg);
  PrimExpr above = s.Name("above", s.AtLeast(whole, -3.125));
  PrimExpr x = s.Name("x", s.AtMost(above, 3.125));
  // erf x = x (1 / c + u Q(u)) with u = x^2 - c^2, |x| <= c = 3.125; absolute error 1.03e-5.
  // Exactly 1 at c and nowhere above: 1 + erf x must not be negative.
  PrimExpr u = s.Name("u", s.MulAdd(x, x, s.K(-9.765625)));
  PrimExpr q =
      s.Horner(u, {0.32, -0.016342462971806526, 0.0013256767997518182, -7.229326729429886e-05,
                   3.9215788092406e-06, -1.107685238821432e-05, -3.634537733887555e-06,
                   -6.458409984588798e-07, -5.508209710569645e-08, -2.0719799209700795e-09});
  return s.Finish(Mul(x, q));
}

PrimExpr LowerRsqrt(const PrimExpr& arg, const MathOptions& options) {
  Steps s = StepsFor(arg, options);
  return Div(s.K(1.0), tvm::sqrt(arg));
}

PrimExpr LowerPow(const PrimExpr& base, const PrimExpr& exponent, const MathOptions& options) {
  Steps s = StepsFor(base, options);
  PrimExpr x = s.Name("x", base);
  PrimExpr y = s.Name("y", exponent);
  PrimExpr a = s.Name("a", s.Abs(x));
  // log2 |x| in double: an error of the logarithm counts |y log2 x| times in the result.
  PrimExpr wide = s.Name("wide", Cast(s.F64(), a));
  constexpr int64_t kTwoThirds = 0x3FE5555555555555;
  PrimExpr bits = s.Name("bits", Sub(tvm::reinterpret(s.I64(), wide), s.KI64(kTwoThirds)));
  PrimExpr e = Cast(s.F64(), Cast(s.I32(), s.Shr(bits, 52)));
  PrimExpr m = s.Name(
      "m", tvm::reinterpret(s.F64(), Add(s.And(bits, 0x000FFFFFFFFFFFFF), s.KI64(kTwoThirds))));
  PrimExpr f = s.Name("f", Div(Sub(m, s.KD(1.0)), Add(m, s.KD(1.0))));
  PrimExpr f2 = s.Name("f2", Mul(f, f));
  // log2 m = 2 log2(e) artanh f; relative error 2^-40.
  PrimExpr p = s.Horner(f2, {2 * kLog2E, 0.9617966945526101, 0.5770777953700288, 0.4122238385349654,
                             0.3193446305210786, 0.29028005593008527});
  PrimExpr log2 = s.MulAdd(f, p, e);
  PrimExpr inf64 = s.KD(std::numeric_limits<double>::infinity());
  log2 = Select(GT(wide, s.KD(0.0)), log2, s.KD(-std::numeric_limits<double>::infinity()));
  log2 = Select(LT(wide, inf64), log2, wide);  // infinity and NaN stay themselves
  PrimExpr is_unit = s.Name("is_unit", EQ(a, s.K(1.0)));
  PrimExpr product = Mul(Cast(s.F64(), y), log2);
  PrimExpr t = s.Name("t", Select(is_unit, s.KD(0.0), product));
  // 2^t in double, then one rounding to float32. |r| <= 1/2; relative error 2^-40.
  PrimExpr bounded = s.Name("bounded", s.AtMost(s.AtLeast(t, -400.0), 400.0));
  constexpr double kMagic64 = 6755399441055744.0;  // 1.5 * 2^52
  PrimExpr moved = s.Name("moved", Add(bounded, s.KD(kMagic64)));
  PrimExpr r = s.Name("r", Sub(bounded, Sub(moved, s.KD(kMagic64))));
  PrimExpr q = s.Horner(r, {1.0, 0.6931471805482116, 0.24022650698110684, 0.05550410935268593,
                            0.009618128616114718, 0.0013333454858696372, 0.00015403825462874542,
                            1.530915659447989e-05, 1.3178934279411357e-06});
  PrimExpr k = tvm::reinterpret(s.I64(), moved);
  PrimExpr power = tvm::reinterpret(s.F64(), s.Shl(Add(k, s.KI64(1023)), 52));
  PrimExpr magnitude = s.Name("magnitude", Cast(s.F32(), Mul(q, power)));
  // Signs: a negative base needs an integer exponent; an odd one keeps the sign.
  PrimExpr half_y = s.Name("half_y", Mul(y, s.K(0.5)));
  PrimExpr is_int = s.Name("is_int", EQ(tvm::floor(y), y));
  PrimExpr is_odd = tirx::And(is_int, NE(tvm::floor(half_y), half_y));
  PrimExpr has_sign = LT(s.Bits(x), s.KI(0));
  PrimExpr is_bad = tirx::And(LT(x, s.K(0.0)), Not(is_int));
  is_bad = tirx::And(is_bad, LT(a, s.Inf()));
  PrimExpr result = Select(tirx::And(has_sign, is_odd), Sub(s.K(0.0), magnitude), magnitude);
  // 0 - 0 is +0, but an odd power of -0 is -0.
  result =
      Select(tirx::And(tirx::And(has_sign, is_odd), EQ(magnitude, s.K(0.0))), s.K(-0.0), result);
  result = Select(is_bad, s.NaN(), result);
  PrimExpr is_one = Or(EQ(y, s.K(0.0)), EQ(x, s.K(1.0)));
  // 1^y = 1 even for NaN; |x| = 1 with a NaN exponent and x = -1 is NaN.
  result = Select(tirx::And(is_unit, NE(y, y)), y, result);
  return s.Finish(Select(is_one, s.K(1.0), result));
}

}  // namespace tirx
}  // namespace tvm
