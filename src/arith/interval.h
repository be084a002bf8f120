// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Intervals and residues of integers. All arithmetic is done in 128 bits; a result that leaves the
/// range of its dtype says nothing, because the machine may have wrapped around.
#ifndef TVM_SRC_ARITH_INTERVAL_H_
#define TVM_SRC_ARITH_INTERVAL_H_

#include <tvm/arith/const_int_bound.h>
#include <tvm/runtime/data_type.h>

#include <algorithm>
#include <cstdint>
#include <numeric>

#include "ir/const_fold.h"
#include "ir/dtype_range.h"

namespace tvm::arith {

using int128 = __int128;

/// lo <= x <= hi; kNegInf and kPosInf are open ends.
struct Interval {
  static constexpr int64_t kPosInf = ConstIntBound::kPosInf;
  static constexpr int64_t kNegInf = ConstIntBound::kNegInf;

  int64_t lo = kNegInf;
  int64_t hi = kPosInf;

  static Interval Everything() { return {}; }
  static Interval Point(int64_t value) {
    // The two int64 values that stand for an open end, and the one below them.
    if (value == kPosInf) return {kPosInf - 1, kPosInf};
    if (value <= kNegInf) return {kNegInf, kNegInf + 1};
    return {value, value};
  }

  bool has_lo() const { return lo != kNegInf; }
  bool has_hi() const { return hi != kPosInf; }
  bool is_point() const { return lo == hi; }
  bool is_empty() const { return lo > hi; }
  bool is_everything() const { return !has_lo() && !has_hi(); }
  bool Contains(int64_t value) const { return lo <= value && value <= hi; }
  bool operator==(const Interval& other) const { return lo == other.lo && hi == other.hi; }
};

inline Interval Intersect(const Interval& a, const Interval& b) {
  return {std::max(a.lo, b.lo), std::min(a.hi, b.hi)};
}
inline Interval Hull(const Interval& a, const Interval& b) {
  return {std::min(a.lo, b.lo), std::max(a.hi, b.hi)};
}

/// Interval whose ends may be beyond int64 before they are fitted to a dtype.
struct WideInterval {
  bool has_lo = false, has_hi = false;
  int128 lo = 0, hi = 0;

  WideInterval() = default;
  WideInterval(const Interval& x)  // NOLINT(runtime/explicit): widening loses nothing
      : has_lo(x.has_lo()), has_hi(x.has_hi()), lo(x.lo), hi(x.hi) {}
};

/// Beyond it 128-bit products could overflow; nothing below it can.
inline constexpr int128 kWideLimit = int128{1} << 100;

inline WideInterval AddWide(const WideInterval& a, const WideInterval& b) {
  WideInterval r;
  r.has_lo = a.has_lo && b.has_lo;
  r.has_hi = a.has_hi && b.has_hi;
  if (r.has_lo) r.lo = a.lo + b.lo;
  if (r.has_hi) r.hi = a.hi + b.hi;
  if (r.has_lo && (r.lo > kWideLimit || r.lo < -kWideLimit)) r.has_lo = false;
  if (r.has_hi && (r.hi > kWideLimit || r.hi < -kWideLimit)) r.has_hi = false;
  return r;
}

inline WideInterval ScaleWide(const Interval& x, int64_t factor) {
  WideInterval r;
  if (factor == 0) {
    r.has_lo = r.has_hi = true;
    return r;
  }
  if (factor > 0) {
    r.has_lo = x.has_lo();
    r.has_hi = x.has_hi();
    r.lo = int128{x.lo} * factor;
    r.hi = int128{x.hi} * factor;
  } else {
    r.has_lo = x.has_hi();
    r.has_hi = x.has_lo();
    r.lo = int128{x.hi} * factor;
    r.hi = int128{x.lo} * factor;
  }
  return r;
}

inline WideInterval MulWide(const Interval& a, const Interval& b) {
  WideInterval r;
  // An open end times something: decided by signs; the finite case by the four corners.
  const bool finite = a.has_lo() && a.has_hi() && b.has_lo() && b.has_hi();
  if (finite) {
    int128 c[4] = {int128{a.lo} * b.lo, int128{a.lo} * b.hi, int128{a.hi} * b.lo,
                   int128{a.hi} * b.hi};
    r.has_lo = r.has_hi = true;
    r.lo = *std::min_element(c, c + 4);
    r.hi = *std::max_element(c, c + 4);
    return r;
  }
  if (a == Interval::Point(0) || b == Interval::Point(0)) {
    r.has_lo = r.has_hi = true;
    return r;
  }
  const bool a_pos = a.lo >= 0, b_pos = b.lo >= 0, a_neg = a.hi <= 0, b_neg = b.hi <= 0;
  if (a_pos && b_pos) {
    r.has_lo = true;
    r.lo = int128{a.lo} * b.lo;
  } else if (a_neg && b_neg) {
    r.has_lo = true;
    r.lo = int128{a.hi} * b.hi;
  } else if (a_pos && b_neg) {
    r.has_hi = true;
    r.hi = int128{a.lo} * b.hi;
  } else if (a_neg && b_pos) {
    r.has_hi = true;
    r.hi = int128{a.hi} * b.lo;
  }
  return r;
}

/// What a value of that dtype can be when nothing is known. Signed 32 and 64-bit values are index
/// values: their ends are open, so that n + 1 of an unknown n keeps its lower end.
inline Interval TypeInterval(DataType dtype) {
  if (dtype.is_bool()) return {0, 1};
  if (dtype.is_uint()) {
    return {0, dtype.bits() >= 63 ? Interval::kPosInf : MaxIntOf(dtype.element_of())};
  }
  if (dtype.is_int() && dtype.bits() < 32) {
    return {MinIntOf(dtype.element_of()), MaxIntOf(dtype.element_of())};
  }
  return {};
}

/// All values that the dtype has, both ends closed where int64 allows.
inline Interval ClosedTypeInterval(DataType dtype) {
  if (dtype.is_int() && dtype.bits() < 64) {
    return {MinIntOf(dtype.element_of()), MaxIntOf(dtype.element_of())};
  }
  return TypeInterval(dtype);
}

/// The machine value of a computation whose exact result lies in `x`.
inline Interval FitToType(DataType dtype, const WideInterval& x) {
  const Interval all = TypeInterval(dtype);
  if (!dtype.is_int() && !dtype.is_uint() && !dtype.is_bool()) return all;
  const int128 min = MinIntOf(dtype.element_of());
  const int128 max = dtype.is_uint() && dtype.bits() == 64 ? (int128{1} << 64) - 1
                                                           : int128{MaxIntOf(dtype.element_of())};
  if (x.has_lo && (x.lo < min || x.lo > max)) return all;
  if (x.has_hi && (x.hi < min || x.hi > max)) return all;
  if (dtype.is_uint() || dtype.is_bool() || dtype.bits() < 32) {
    // These types wrap around by definition: one open end means that anything may come out.
    if (!x.has_lo || !x.has_hi) return all;
  }
  Interval r;
  if (x.has_lo) r.lo = x.lo <= Interval::kNegInf ? Interval::kNegInf : static_cast<int64_t>(x.lo);
  if (x.has_hi) r.hi = x.hi >= Interval::kPosInf ? Interval::kPosInf : static_cast<int64_t>(x.hi);
  return r;
}

inline Interval NegInterval(const Interval& x) {
  return {x.has_hi() ? -x.hi : Interval::kNegInf, x.has_lo() ? -x.lo : Interval::kPosInf};
}

/// floor(a / b) for b without 0.
inline Interval FloorDivInterval(const Interval& a, const Interval& b) {
  if (b.lo <= 0 && b.hi >= 0) {
    // The divisor is not 0; its magnitude is at least 1.
    if (b.lo == 0) return FloorDivInterval(a, {1, b.hi});
    if (b.hi == 0) return FloorDivInterval(a, {b.lo, -1});
    int64_t low = a.has_lo() && a.has_hi() ? std::min(a.lo, -a.hi) : Interval::kNegInf;
    int64_t high = a.has_lo() && a.has_hi() ? std::max(a.hi, -a.lo) : Interval::kPosInf;
    return {low, high};
  }
  if (b.hi < 0) return FloorDivInterval(NegInterval(a), NegInterval(b));
  Interval r;
  if (a.has_lo()) {
    if (a.lo >= 0) {
      r.lo = b.has_hi() ? FloorDivInt(a.lo, b.hi) : 0;
    } else {
      r.lo = FloorDivInt(a.lo, b.lo);
    }
  }
  if (a.has_hi()) {
    if (a.hi >= 0) {
      r.hi = FloorDivInt(a.hi, b.lo);
    } else {
      r.hi = b.has_hi() ? FloorDivInt(a.hi, b.hi) : -1;
    }
  }
  return r;
}

/// a / b toward zero for b without 0: by the signs of the two, on magnitudes.
inline Interval TruncDivInterval(const Interval& a, const Interval& b) {
  Interval result{1, 0};
  for (int sign_a : {1, -1}) {
    for (int sign_b : {1, -1}) {
      Interval x = Intersect(sign_a > 0 ? a : NegInterval(a), {0, Interval::kPosInf});
      Interval y = Intersect(sign_b > 0 ? b : NegInterval(b), {1, Interval::kPosInf});
      if (x.is_empty() || y.is_empty()) continue;
      Interval q = FloorDivInterval(x, y);
      if (sign_a != sign_b) q = NegInterval(q);
      result = result.is_empty() ? q : Hull(result, q);
    }
  }
  return result.is_empty() ? Interval() : result;
}

/// a - b * floor(a / b) for b without 0.
inline Interval FloorModInterval(const Interval& a, const Interval& b) {
  if (b.lo > 0) {
    if (a.lo >= 0 && a.has_hi() && a.hi < b.lo) return a;
    if (b.is_point() && a.has_lo() && a.has_hi() &&
        FloorDivInt(a.lo, b.lo) == FloorDivInt(a.hi, b.lo)) {
      return {FloorModInt(a.lo, b.lo), FloorModInt(a.hi, b.lo)};
    }
    Interval r{0, b.has_hi() ? b.hi - 1 : Interval::kPosInf};
    if (a.lo >= 0 && a.has_hi()) r.hi = std::min(r.hi, a.hi);
    return r;
  }
  if (b.hi < 0) return NegInterval(FloorModInterval(NegInterval(a), NegInterval(b)));
  Interval r{b.has_lo() ? std::min<int64_t>(b.lo + 1, 0) : Interval::kNegInf,
             b.has_hi() ? std::max<int64_t>(b.hi - 1, 0) : Interval::kPosInf};
  if (b.lo >= 0) r.lo = 0;
  return r;
}

/// x = coeff * k + base; coeff 0 is the constant base.
struct Residue {
  int64_t coeff = 1;
  int64_t base = 0;

  static Residue Anything() { return {1, 0}; }
  static Residue Point(int64_t value) { return {0, value}; }
  static Residue Make(int64_t coeff, int64_t base) {
    if (coeff < 0) coeff = -coeff;
    if (coeff != 0) base = FloorModInt(base, coeff);
    return {coeff, base};
  }
};

inline int64_t Gcd(int64_t a, int64_t b) { return std::gcd(a, b); }

inline Residue JoinResidue(const Residue& a, const Residue& b) {
  int64_t difference;
  if (__builtin_sub_overflow(a.base, b.base, &difference)) return Residue::Anything();
  int64_t g = Gcd(Gcd(a.coeff, b.coeff), difference);
  return g == 0 ? a : Residue::Make(g, a.base);
}

inline Residue AddResidue(const Residue& a, const Residue& b) {
  int64_t base;
  if (__builtin_add_overflow(a.base, b.base, &base)) return Residue::Anything();
  return Residue::Make(Gcd(a.coeff, b.coeff), base);
}

inline Residue MulResidue(const Residue& a, const Residue& b) {
  // (pk + r)(ql + s) = pq kl + ps k + rq l + rs
  int64_t pq, ps, rq, rs;
  if (__builtin_mul_overflow(a.coeff, b.coeff, &pq) ||
      __builtin_mul_overflow(a.coeff, b.base, &ps) ||
      __builtin_mul_overflow(a.base, b.coeff, &rq) || __builtin_mul_overflow(a.base, b.base, &rs)) {
    return Residue::Anything();
  }
  return Residue::Make(Gcd(Gcd(pq, ps), rq), rs);
}

}  // namespace tvm::arith
#endif  // TVM_SRC_ARITH_INTERVAL_H_
