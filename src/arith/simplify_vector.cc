// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Ramps and broadcasts: arithmetic on vectors becomes arithmetic on their base and stride.
#include <algorithm>

#include "arith/analyzer_impl.h"

namespace tvm::arith {

using namespace tirx;  // NOLINT(build/namespaces): the scalar nodes
using Impl = AnalyzerObj::Impl;

namespace {

/// base + i * stride for lane i; a broadcast has stride 0.
struct Pattern {
  PrimExpr base, stride, lanes;
  bool is_ramp = false;
  bool valid = false;
};

Pattern Match(const PrimExpr& expr) {
  Pattern p;
  if (const auto* ramp = expr.as<RampNode>()) {
    p.base = ramp->base;
    p.stride = ramp->stride;
    p.lanes = ramp->lanes;
    p.is_ramp = p.valid = true;
  } else if (const auto* broadcast = expr.as<BroadcastNode>()) {
    p.base = broadcast->value;
    p.stride = make_zero(p.base.dtype().is_any_float() ? DataType::Int(32) : p.base.dtype());
    p.lanes = broadcast->lanes;
    p.valid = true;
  }
  return p;
}

template <typename Node>
PrimExpr MakeNode(const PrimExpr& a, const PrimExpr& b) {
  return Node(a, b);
}

PrimExpr MakeBinary(BinaryKind kind, const PrimExpr& a, const PrimExpr& b) {
  using Maker = PrimExpr (*)(const PrimExpr&, const PrimExpr&);
  static constexpr Maker kMakers[] = {
      MakeNode<Add>,      MakeNode<Sub>,      MakeNode<Mul>, MakeNode<Div>, MakeNode<Mod>,
      MakeNode<FloorDiv>, MakeNode<FloorMod>, MakeNode<Min>, MakeNode<Max>, MakeNode<EQ>,
      MakeNode<NE>,       MakeNode<LT>,       MakeNode<LE>,  MakeNode<GT>,  MakeNode<GE>,
      MakeNode<And>,      MakeNode<Or>};
  return kMakers[static_cast<int>(kind)](a, b);
}

}  // namespace

PrimExpr Impl::SimpVectorBinary(BinaryKind kind, const PrimExpr& a, const PrimExpr& b) {
  CheckDivisor(kind, a, b);
  Pattern pa = Match(a), pb = Match(b);
  if (!pa.valid || !pb.valid) {
    // 0 + x and the like on broadcasts of integers.
    const auto* bb = b.as<BroadcastNode>();
    const auto* ba = a.as<BroadcastNode>();
    const bool is_int = a.dtype().is_int() || a.dtype().is_uint();
    if (is_int && bb != nullptr && is_zero(bb->value) &&
        (kind == BinaryKind::kAdd || kind == BinaryKind::kSub)) {
      return a;
    }
    if (is_int && ba != nullptr && is_zero(ba->value) && kind == BinaryKind::kAdd) return b;
    if (bb != nullptr && is_one(bb->value) && is_int &&
        (kind == BinaryKind::kMul || kind == BinaryKind::kFloorDiv || kind == BinaryKind::kDiv)) {
      return a;
    }
    if (kind == BinaryKind::kAnd || kind == BinaryKind::kOr) {
      const bool absorbing = kind == BinaryKind::kOr;
      if (bb != nullptr && is_const_int(bb->value)) {
        return is_zero(bb->value) == absorbing ? a : b;
      }
      if (ba != nullptr && is_const_int(ba->value)) {
        return is_zero(ba->value) == absorbing ? b : a;
      }
    }
    return MakeBinary(kind, a, b);
  }
  const PrimExpr lanes = pa.lanes;
  if (!pa.is_ramp && !pb.is_ramp) {
    return Broadcast(Simp(MakeBinary(kind, pa.base, pb.base)), lanes);
  }
  const DataType element = a.dtype().element_of();
  auto vector = [&](const PrimExpr& base, const PrimExpr& stride) -> PrimExpr {
    PrimExpr sb = Simp(base), ss = Simp(stride);
    if (is_zero(ss)) return Broadcast(sb, lanes);
    return Ramp(sb, ss, lanes);
  };
  switch (kind) {
    case BinaryKind::kAdd:
      return vector(Add(pa.base, pb.base), Add(pa.stride, pb.stride));
    case BinaryKind::kSub:
      return vector(Sub(pa.base, pb.base), Sub(pa.stride, pb.stride));
    case BinaryKind::kMul:
      if (!pb.is_ramp) return vector(Mul(pa.base, pb.base), Mul(pa.stride, pb.base));
      if (!pa.is_ramp) return vector(Mul(pa.base, pb.base), Mul(pa.base, pb.stride));
      break;
    case BinaryKind::kFloorDiv:
    case BinaryKind::kFloorMod: {
      const int64_t* c = as_const_int(pb.base);
      const int64_t* stride = as_const_int(pa.stride);
      const int64_t* count = as_const_int(lanes);
      if (pb.is_ramp || c == nullptr || *c <= 0 || stride == nullptr || !UsesLinear(element)) {
        break;
      }
      const bool is_div = kind == BinaryKind::kFloorDiv;
      if (*stride % *c == 0) {
        if (is_div) {
          return vector(FloorDiv(pa.base, pb.base), IntImm(element, *stride / *c));
        }
        return Broadcast(Simp(FloorMod(pa.base, pb.base)), lanes);
      }
      if (count == nullptr || *stride < 0) break;
      // All lanes lie in one block of c: what the last lane adds stays below c.
      Interval base = Bound(Simp(FloorMod(pa.base, pb.base)));
      Residue residue = ResidueOf(pa.base);
      if (residue.coeff % *c == 0) base = Interval::Point(FloorModInt(residue.base, *c));
      // The residue modulo g bounds base % c by c - g + base % g.
      int64_t g = std::gcd(residue.coeff, *c);
      base.hi = std::min(base.hi, *c - g + FloorModInt(residue.base, g));
      int128 reach = static_cast<int128>(*stride) * (*count - 1);
      if (base.has_hi() && base.lo >= 0 && base.hi + reach < *c) {
        if (is_div) return Broadcast(Simp(FloorDiv(pa.base, pb.base)), lanes);
        return vector(FloorMod(pa.base, pb.base), pa.stride);
      }
      break;
    }
    case BinaryKind::kLT:
    case BinaryKind::kLE:
    case BinaryKind::kGT:
    case BinaryKind::kGE:
    case BinaryKind::kEQ:
    case BinaryKind::kNE: {
      if (!UsesLinear(element)) break;
      const int64_t* count = as_const_int(lanes);
      if (count == nullptr) break;
      // Difference of lane i is base + i * stride: decided if its interval is.
      auto la = Lin(Sub(pa.base, pb.base)), ls = Lin(Sub(pa.stride, pb.stride));
      if (!la->valid || !ls->valid) break;
      Interval base = BoundOf(*la, element);
      Interval all =
          FitToType(element, AddWide(base, MulWide(BoundOf(*ls, element), {0, *count - 1})));
      bool yes = false, no = false;
      if (kind == BinaryKind::kLT) yes = all.hi < 0, no = all.lo >= 0;
      if (kind == BinaryKind::kLE) yes = all.hi <= 0, no = all.lo > 0;
      if (kind == BinaryKind::kGT) yes = all.lo > 0, no = all.hi <= 0;
      if (kind == BinaryKind::kGE) yes = all.lo >= 0, no = all.hi < 0;
      const bool apart = all.lo > 0 || all.hi < 0, same = all.lo == 0 && all.hi == 0;
      if (kind == BinaryKind::kEQ) yes = same, no = apart;
      if (kind == BinaryKind::kNE) yes = apart, no = same;
      if (yes || no) return Broadcast(IntImm::Bool(yes), lanes);
      break;
    }
    default:
      break;
  }
  return MakeBinary(kind, a, b);
}

}  // namespace tvm::arith
