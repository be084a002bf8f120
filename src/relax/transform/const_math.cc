// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file
/// \brief Element-wise evaluation of constants.
///
/// float32 arithmetic is done in double and rounded once, which gives the float32 result for
/// + - * / and sqrt. Integers wrap at their width when stored.
#include "relax/transform/const_math.h"

#include <bit>
#include <cmath>
#include <limits>
#include <unordered_map>
#include <vector>

#include "relax/ir/mapped_tensor.h"
#include "relax/ir/utils.h"
#include "relax/op/common.h"

namespace tvm {
namespace relax {

namespace {

using Shape = std::vector<int64_t>;

double MaxF(double a, double b) { return std::isnan(a) || std::isnan(b) ? NAN : std::max(a, b); }
double MinF(double a, double b) { return std::isnan(a) || std::isnan(b) ? NAN : std::min(a, b); }
uint64_t U(int64_t v) { return static_cast<uint64_t>(v); }
int64_t S(uint64_t v) { return static_cast<int64_t>(v); }
int64_t FloorDivI(int64_t a, int64_t b) {
  int64_t q = a / b;
  return q - ((a % b != 0) && ((a < 0) != (b < 0)));
}

using F1 = double (*)(double);
using I1 = int64_t (*)(int64_t);
using F2 = double (*)(double, double);
using I2 = int64_t (*)(int64_t, int64_t);
struct Unary {
  F1 f;
  I1 i;
};
struct Binary {
  F2 f;
  I2 i;
  bool compares = false;
  bool divides = false;
};

const std::unordered_map<std::string_view, Unary>& Unaries() {
  static const auto& table = *new std::unordered_map<std::string_view, Unary>{
      {"relax.exp", {[](double x) { return std::exp(x); }, nullptr}},
      {"relax.log", {[](double x) { return std::log(x); }, nullptr}},
      {"relax.sqrt", {[](double x) { return std::sqrt(x); }, nullptr}},
      {"relax.rsqrt", {[](double x) { return 1.0 / std::sqrt(x); }, nullptr}},
      {"relax.sin", {[](double x) { return std::sin(x); }, nullptr}},
      {"relax.cos", {[](double x) { return std::cos(x); }, nullptr}},
      {"relax.tanh", {[](double x) { return std::tanh(x); }, nullptr}},
      {"relax.erf", {[](double x) { return std::erf(x); }, nullptr}},
      {"relax.floor", {[](double x) { return std::floor(x); }, [](int64_t x) { return x; }}},
      {"relax.ceil", {[](double x) { return std::ceil(x); }, [](int64_t x) { return x; }}},
      {"relax.round", {[](double x) { return std::nearbyint(x); }, [](int64_t x) { return x; }}},
      {"relax.abs",
       {[](double x) { return std::fabs(x); }, [](int64_t x) { return x < 0 ? S(0 - U(x)) : x; }}},
      {"relax.negative", {[](double x) { return -x; }, [](int64_t x) { return S(0 - U(x)); }}},
      {"relax.square", {[](double x) { return x * x; }, [](int64_t x) { return S(U(x) * U(x)); }}},
      {"relax.logical_not", {nullptr, [](int64_t x) { return int64_t{x == 0}; }}},
  };
  return table;
}

const std::unordered_map<std::string_view, Binary>& Binaries() {
  static const auto& table = *new std::unordered_map<std::string_view, Binary>{
      {"relax.add",
       {[](double a, double b) { return a + b; },
        [](int64_t a, int64_t b) { return S(U(a) + U(b)); }}},
      {"relax.subtract",
       {[](double a, double b) { return a - b; },
        [](int64_t a, int64_t b) { return S(U(a) - U(b)); }}},
      {"relax.multiply",
       {[](double a, double b) { return a * b; },
        [](int64_t a, int64_t b) { return S(U(a) * U(b)); }}},
      {"relax.divide",
       {[](double a, double b) { return a / b; }, [](int64_t a, int64_t b) { return a / b; }, false,
        true}},
      {"relax.floor_divide",
       {[](double a, double b) { return std::floor(a / b); }, FloorDivI, false, true}},
      {"relax.mod",
       {[](double a, double b) { return std::fmod(a, b); },
        [](int64_t a, int64_t b) { return a % b; }, false, true}},
      {"relax.floor_mod",
       {[](double a, double b) { return a - std::floor(a / b) * b; },
        [](int64_t a, int64_t b) { return a - FloorDivI(a, b) * b; }, false, true}},
      {"relax.power", {[](double a, double b) { return std::pow(a, b); }, nullptr}},
      {"relax.maximum", {MaxF, [](int64_t a, int64_t b) { return std::max(a, b); }}},
      {"relax.minimum", {MinF, [](int64_t a, int64_t b) { return std::min(a, b); }}},
      {"relax.equal",
       {[](double a, double b) { return static_cast<double>(a == b); },
        [](int64_t a, int64_t b) { return int64_t{a == b}; }, true}},
      {"relax.not_equal",
       {[](double a, double b) { return static_cast<double>(a != b); },
        [](int64_t a, int64_t b) { return int64_t{a != b}; }, true}},
      {"relax.less",
       {[](double a, double b) { return static_cast<double>(a < b); },
        [](int64_t a, int64_t b) { return int64_t{a < b}; }, true}},
      {"relax.less_equal",
       {[](double a, double b) { return static_cast<double>(a <= b); },
        [](int64_t a, int64_t b) { return int64_t{a <= b}; }, true}},
      {"relax.greater",
       {[](double a, double b) { return static_cast<double>(a > b); },
        [](int64_t a, int64_t b) { return int64_t{a > b}; }, true}},
      {"relax.greater_equal",
       {[](double a, double b) { return static_cast<double>(a >= b); },
        [](int64_t a, int64_t b) { return int64_t{a >= b}; }, true}},
      {"relax.logical_and", {nullptr, [](int64_t a, int64_t b) { return int64_t{a && b}; }}},
      {"relax.logical_or", {nullptr, [](int64_t a, int64_t b) { return int64_t{a || b}; }}},
  };
  return table;
}

bool Covered(DataType t) {
  if (t.lanes() != 1) return false;
  if (t.is_bool() || t.is_bfloat16()) return true;
  if (t.is_float()) return t.bits() >= 16 && t.bits() <= 64;
  // uint64 does not fit the signed arithmetic used here.
  return (t.is_int() && t.bits() >= 8) || (t.is_uint() && t.bits() >= 8 && t.bits() <= 32);
}

/// A constant or scalar operand, read at broadcast positions.
struct Operand {
  const char* data = nullptr;
  std::optional<ffi::Tensor> tensor;  // owns the data
  DataType dtype;
  Shape strides;  // per output dimension, in elements
  double f = 0;
  int64_t i = 0;

  double F(int64_t at) const {
    return data == nullptr ? f : LoadScalarAsDouble(data + at * dtype.bytes(), dtype);
  }
  int64_t I(int64_t at) const {
    return data == nullptr ? i : LoadScalarAsInt(data + at * dtype.bytes(), dtype);
  }
};

bool MakeOperand(const Expr& e, const Shape& out, Operand* r) {
  r->strides.assign(out.size(), 0);
  if (const auto* imm = e.as<IntImmNode>()) {
    r->i = imm->value;
    r->f = static_cast<double>(imm->value);
    r->dtype = imm->dtype();
    return true;
  }
  if (const auto* imm = e.as<FloatImmNode>()) {
    r->f = imm->value;
    r->i = static_cast<int64_t>(imm->value);
    r->dtype = imm->dtype();
    return true;
  }
  const auto* c = e.as<ConstantNode>();
  if (c == nullptr || c->data.device().device_type != kDLCPU || !c->data.IsContiguous())
    return false;
  r->dtype = DataType(c->data.dtype());
  if (!Covered(r->dtype)) return false;
  r->tensor = AlignedTensor(c->data);
  r->data = TensorBytes(*r->tensor);
  int64_t stride = 1;
  size_t n = c->data.ndim();
  for (size_t d = n; d-- > 0;) {
    int64_t extent = c->data.shape()[d];
    if (extent != 1) r->strides[out.size() - n + d] = stride;
    stride *= extent;
  }
  return true;
}

/// Calls f(output index, operand offsets) for every element.
template <size_t N, typename Fn>
void ForEach(const Shape& shape, const Operand* (&ops)[N], const Fn& f) {
  int64_t total = 1;
  for (int64_t d : shape) total *= d;
  Shape index(shape.size(), 0);
  int64_t at[N] = {};
  for (int64_t o = 0; o < total; ++o) {
    f(o, at);
    for (size_t d = shape.size(); d-- > 0;) {
      for (size_t k = 0; k < N; ++k) at[k] += ops[k]->strides[d];
      if (++index[d] < shape[d]) break;
      for (size_t k = 0; k < N; ++k) at[k] -= ops[k]->strides[d] * shape[d];
      index[d] = 0;
    }
  }
}

Shape ShapeOfConstant(const ConstantNode* c) {
  return Shape(c->data.shape().begin(), c->data.shape().end());
}

std::optional<Shape> StaticShape(const Call& call) {
  const auto* t = call->ty.as<TensorTypeNode>();
  if (t == nullptr || t->IsUnknownDtype() || !Covered(t->ElementType())) return std::nullopt;
  auto s = t->GetStaticShape();
  if (!s.has_value()) return std::nullopt;
  return Shape(s.value().begin(), s.value().end());
}

/// The common case: float32, both operands tensors or scalars.
bool FastFloat(const Binary& op, const Operand& a, const Operand& b, const Shape& shape,
               const ffi::Tensor& out) {
  bool f32 = a.data && b.data && a.dtype == DataType::Float(32) && b.dtype == a.dtype;
  if (!f32 || op.compares || op.f == nullptr) return false;
  const auto* x = reinterpret_cast<const float*>(a.data);
  const auto* y = reinterpret_cast<const float*>(b.data);
  auto* z = reinterpret_cast<float*>(TensorBytes(out));
  const Operand* ops[2] = {&a, &b};
  ForEach(shape, ops, [&](int64_t o, const int64_t* at) {
    z[o] = static_cast<float>(op.f(x[at[0]], y[at[1]]));
  });
  return true;
}

Optional<Expr> EvalBinary(const Call& call, const Binary& op) {
  auto shape = StaticShape(call);
  if (!shape) return std::nullopt;
  Operand a, b;
  if (!MakeOperand(call->args[0], *shape, &a) || !MakeOperand(call->args[1], *shape, &b)) {
    return std::nullopt;
  }
  if (a.data == nullptr && b.data == nullptr) return std::nullopt;
  DataType out_t = call->ty.as<TensorTypeNode>()->ElementType();
  const Operand& typed = a.data ? a : b;
  DataType work = op.compares ? typed.dtype : out_t;
  ffi::Tensor out = NewHostTensor(*shape, out_t);
  if (FastFloat(op, a, b, *shape, out)) return Constant(out);
  const Operand* ops[2] = {&a, &b};
  bool floats = work.is_any_float();
  if (floats ? op.f == nullptr : op.i == nullptr) return std::nullopt;
  bool bad = false;
  ForEach(*shape, ops, [&](int64_t o, const int64_t* at) {
    char* dst = TensorBytes(out) + o * out_t.bytes();
    if (floats) {
      StoreScalar(dst, out_t, op.f(a.F(at[0]), b.F(at[1])));
      return;
    }
    int64_t x = a.I(at[0]), y = b.I(at[1]);
    if (op.divides && (y == 0 || y == -1)) {
      // Division by 0 is left to run time; by -1 it may overflow.
      if (y == 0 || x == std::numeric_limits<int64_t>::min()) {
        bad = true;
        return;
      }
    }
    StoreScalar(dst, out_t, op.i(x, y));
  });
  if (bad) return std::nullopt;
  return Constant(out);
}

Optional<Expr> EvalUnary(const Call& call, const Unary& op) {
  auto shape = StaticShape(call);
  Operand a;
  if (!shape || !MakeOperand(call->args[0], *shape, &a) || a.data == nullptr) return std::nullopt;
  DataType out_t = call->ty.as<TensorTypeNode>()->ElementType();
  bool floats = a.dtype.is_any_float();
  if (floats ? op.f == nullptr : op.i == nullptr) return std::nullopt;
  ffi::Tensor out = NewHostTensor(*shape, out_t);
  const Operand* ops[1] = {&a};
  ForEach(*shape, ops, [&](int64_t o, const int64_t* at) {
    char* dst = TensorBytes(out) + o * out_t.bytes();
    if (floats) {
      StoreScalar(dst, out_t, op.f(a.F(at[0])));
    } else {
      StoreScalar(dst, out_t, op.i(a.I(at[0])));
    }
  });
  return Constant(out);
}

/// The upper half of a float32, rounded to even; NaN stays NaN. Weights are many: inline.
uint16_t RoundToBfloat16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffffU) > 0x7f800000U) return static_cast<uint16_t>(bits >> 16 | 0x40U);
  return static_cast<uint16_t>((bits + 0x7fffU + (bits >> 16 & 1U)) >> 16);
}

Optional<Expr> EvalCast(const Call& call) {
  auto shape = StaticShape(call);
  Operand a;
  if (!shape || !MakeOperand(call->args[0], *shape, &a) || a.data == nullptr) return std::nullopt;
  DataType to = call->ty.as<TensorTypeNode>()->ElementType();
  ffi::Tensor out = NewHostTensor(*shape, to);
  bool from_float = a.dtype.is_any_float(), bad = false;
  if (a.dtype == DataType::Float(32) && to.is_bfloat16()) {
    const auto* from = reinterpret_cast<const float*>(a.data);
    auto* at = reinterpret_cast<uint16_t*>(TensorBytes(out));
    for (int64_t i = 0; i < out.numel(); ++i) at[i] = RoundToBfloat16(from[i]);
    return Constant(out);
  }
  const Operand* ops[1] = {&a};
  ForEach(*shape, ops, [&](int64_t o, const int64_t* at) {
    char* dst = TensorBytes(out) + o * to.bytes();
    if (!from_float) {
      StoreScalar(dst, to, a.I(at[0]));
      return;
    }
    double v = a.F(at[0]);
    // Out-of-range conversions to integers are left to the machine.
    if (!to.is_any_float() && !to.is_bool() && !(std::fabs(v) < 9.2e18)) bad = true;
    if (!bad) StoreScalar(dst, to, v);
  });
  if (bad) return std::nullopt;
  return Constant(out);
}

/// (q - zero) * scale in float32, as kernels compute it.
Optional<Expr> EvalDequantize(const Call& call) {
  auto shape = StaticShape(call);
  if (!shape) return std::nullopt;
  if (AttrsOf<QuantizeAttrs>(call.get())->block_size > 0) return std::nullopt;
  const DataType to = call->ty.as<TensorTypeNode>()->ElementType();
  Operand ops[3];
  for (int k = 0; k < 3; ++k) {
    // Scales and zero points are no broadcast operands: they lie along the axis.
    const auto* c = call->args[k].as<ConstantNode>();
    if (c == nullptr || (k > 0 && c->data.ndim() > 1)) return std::nullopt;
    if (!MakeOperand(call->args[k], k == 0 ? *shape : ShapeOfConstant(c), &ops[k])) {
      return std::nullopt;
    }
    if (k == 0) continue;
    ops[k].strides.assign(shape->size(), 0);
    if (c->data.numel() == 1) continue;
    const int64_t axis = AttrsOf<QuantizeAttrs>(call.get())->axis;
    ops[k].strides[axis < 0 ? axis + static_cast<int64_t>(shape->size()) : axis] = 1;
  }
  if (!to.is_any_float() || ops[0].dtype.is_any_float() || !ops[1].dtype.is_any_float()) {
    return std::nullopt;
  }
  ffi::Tensor out = NewHostTensor(*shape, to);
  const Operand* all[3] = {&ops[0], &ops[1], &ops[2]};
  ForEach(*shape, all, [&](int64_t o, const int64_t* at) {
    const auto difference = static_cast<float>(ops[0].I(at[0]) - ops[2].I(at[2]));
    const float value = difference * static_cast<float>(ops[1].F(at[1]));
    StoreScalar(TensorBytes(out) + o * to.bytes(), to, static_cast<double>(value));
  });
  return Constant(out);
}

Optional<Expr> EvalWhere(const Call& call) {
  auto shape = StaticShape(call);
  Operand c, x, y;
  if (!shape || !MakeOperand(call->args[0], *shape, &c) ||
      !MakeOperand(call->args[1], *shape, &x) || !MakeOperand(call->args[2], *shape, &y)) {
    return std::nullopt;
  }
  DataType t = call->ty.as<TensorTypeNode>()->ElementType();
  ffi::Tensor out = NewHostTensor(*shape, t);
  const Operand* ops[3] = {&c, &x, &y};
  ForEach(*shape, ops, [&](int64_t o, const int64_t* at) {
    char* dst = TensorBytes(out) + o * t.bytes();
    const Operand& from = c.I(at[0]) != 0 ? x : y;
    int64_t pos = c.I(at[0]) != 0 ? at[1] : at[2];
    if (t.is_any_float()) {
      StoreScalar(dst, t, from.F(pos));
    } else {
      StoreScalar(dst, t, from.I(pos));
    }
  });
  return Constant(out);
}

}  // namespace

Optional<Expr> EvalElementwise(const Call& call, std::string_view name) {
  if (name == "relax.astype" || name == "relax.wrap_param") return EvalCast(call);
  if (name == "relax.where") return EvalWhere(call);
  if (name == "relax.dequantize") return EvalDequantize(call);
  if (auto it = Unaries().find(name); it != Unaries().end()) return EvalUnary(call, it->second);
  if (auto it = Binaries().find(name); it != Binaries().end()) return EvalBinary(call, it->second);
  return std::nullopt;
}

}  // namespace relax
}  // namespace tvm
