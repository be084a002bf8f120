// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// The table of scalar ops, and the globals through which other languages build expressions.
#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/ir/scalar_op.h>

#include <string>

namespace tvm {

namespace {

struct ScalarOpRow {
  const char* name;  // after "tirx."
  int num_inputs;
  CallEffectKind effect;
  bool vectorizable;
  const char* doc;
};

constexpr CallEffectKind kPure = CallEffectKind::kPure;

const ScalarOpRow kScalarOps[] = {
    {"exp", 1, kPure, true, "e to the power x"},
    {"exp2", 1, kPure, true, "2 to the power x"},
    {"exp10", 1, kPure, true, "10 to the power x"},
    {"erf", 1, kPure, true, "Error function"},
    {"tanh", 1, kPure, true, "Hyperbolic tangent"},
    {"sigmoid", 1, kPure, true, "1 / (1 + exp(-x))"},
    {"sqrt", 1, kPure, true, "Square root"},
    {"rsqrt", 1, kPure, true, "1 / sqrt(x)"},
    {"log", 1, kPure, true, "Natural logarithm"},
    {"log2", 1, kPure, true, "Logarithm to base 2"},
    {"log10", 1, kPure, true, "Logarithm to base 10"},
    {"log1p", 1, kPure, true, "log(1 + x), exact for small x"},
    {"tan", 1, kPure, true, "Tangent"},
    {"cos", 1, kPure, true, "Cosine"},
    {"cosh", 1, kPure, true, "Hyperbolic cosine"},
    {"sin", 1, kPure, true, "Sine"},
    {"sinh", 1, kPure, true, "Hyperbolic sine"},
    {"asin", 1, kPure, true, "Inverse sine"},
    {"acos", 1, kPure, true, "Inverse cosine"},
    {"atan", 1, kPure, true, "Inverse tangent"},
    {"acosh", 1, kPure, true, "Inverse hyperbolic cosine"},
    {"asinh", 1, kPure, true, "Inverse hyperbolic sine"},
    {"atanh", 1, kPure, true, "Inverse hyperbolic tangent"},
    {"fabs", 1, kPure, true, "Absolute value of a float"},
    {"floor", 1, kPure, true, "Largest integer not above x"},
    {"ceil", 1, kPure, true, "Smallest integer not below x"},
    {"round", 1, kPure, true, "Nearest integer, ties to even"},
    {"nearbyint", 1, kPure, true, "Nearest integer, ties to even"},
    {"trunc", 1, kPure, true, "Integer part"},
    {"isnan", 1, kPure, true, "True for NaN"},
    {"isfinite", 1, kPure, true, "True for neither infinity nor NaN"},
    {"isinf", 1, kPure, true, "True for an infinity"},
    {"popcount", 1, kPure, true, "Number of bits set"},
    {"clz", 1, kPure, true, "Number of leading zero bits"},
    {"pow", 2, kPure, true, "x to the power y"},
    {"fmod", 2, kPure, true, "Remainder of x / y with the sign of x"},
    {"atan2", 2, kPure, true, "Angle of the point (y, x)"},
    {"nextafter", 2, kPure, true, "Next float after x toward y"},
    {"copysign", 2, kPure, true, "Magnitude of x with the sign of y"},
    {"hypot", 2, kPure, true, "sqrt(x * x + y * y)"},
    {"ldexp", 2, kPure, true, "x times 2 to the power y"},
    {"fma", 3, kPure, true, "x * y + z with one rounding"},
    {"q_multiply_shift", 4, kPure, true, "Rounded fixed point product"},
    {"q_multiply_shift_per_axis", 7, kPure, true, "Fixed point product with shifts per axis"},
    {"if_then_else", 3, kPure, false, "Choice that evaluates only the chosen value"},
    {"likely", 1, CallEffectKind::kExprAnnotation, true, "Marks a condition as mostly true"},
    {"bitwise_and", 2, kPure, true, "Bitwise and"},
    {"bitwise_or", 2, kPure, true, "Bitwise or"},
    {"bitwise_xor", 2, kPure, true, "Bitwise exclusive or"},
    {"bitwise_not", 1, kPure, true, "Bitwise complement"},
    {"shift_left", 2, kPure, true, "x << y"},
    {"shift_right", 2, kPure, true, "x >> y, arithmetic for signed types"},
    {"reinterpret", 1, kPure, true, "Same bits, other type"},
    {"large_uint_imm", 2, kPure, true, "uint64 literal from its low and high half"},
    {"vscale", 0, kPure, false, "Run-time multiple of a scalable vector"},
    {"buffer_data", 1, kPure, false, "Data pointer of a buffer"},
};

TVM_FFI_STATIC_INIT_BLOCK() {
  for (const ScalarOpRow& row : kScalarOps) {
    OpRegEntry& entry = OpRegEntry::RegisterOrGet("tirx." + std::string(row.name));
    entry.describe(row.doc)
        .set_num_inputs(row.num_inputs)
        .set_attr<TCallEffectKind>("TCallEffectKind", static_cast<int>(row.effect))
        .set_attr<TScriptPrinterName>("TScriptPrinterName", ffi::String(row.name))
        .set_attr<ffi::String>("TIRxOpCategory", ffi::String("builtin"));
    if (row.vectorizable) entry.set_attr<TVectorizable>("TVectorizable", true);
  }
}

}  // namespace

namespace builtin_scalar {
#define TVM_DEFINE_OP_GETTER(Name)               \
  const Op& Name() {                             \
    static const Op op = Op::Get("tirx." #Name); \
    return op;                                   \
  }
TVM_DEFINE_OP_GETTER(if_then_else)
TVM_DEFINE_OP_GETTER(likely)
TVM_DEFINE_OP_GETTER(shift_left)
TVM_DEFINE_OP_GETTER(shift_right)
TVM_DEFINE_OP_GETTER(bitwise_and)
TVM_DEFINE_OP_GETTER(bitwise_or)
TVM_DEFINE_OP_GETTER(bitwise_xor)
TVM_DEFINE_OP_GETTER(bitwise_not)
TVM_DEFINE_OP_GETTER(reinterpret)
TVM_DEFINE_OP_GETTER(buffer_data)
TVM_DEFINE_OP_GETTER(vscale)
TVM_DEFINE_OP_GETTER(clz)
TVM_DEFINE_OP_GETTER(popcount)
TVM_DEFINE_OP_GETTER(log2)
TVM_DEFINE_OP_GETTER(ceil)
TVM_DEFINE_OP_GETTER(isnan)
#undef TVM_DEFINE_OP_GETTER
}  // namespace builtin_scalar

namespace {

using Binary = PrimExpr (*)(PrimExpr, PrimExpr, Span);
using Unary = PrimExpr (*)(PrimExpr, Span);

void RequireOperand(const PrimExpr& value, const char* name) {
  TVM_FFI_CHECK(value.defined(), TypeError) << name << " expected an expression, found None";
}

void DefBinary(const char* name, Binary build) {
  ffi::reflection::GlobalDef().def(name, [name, build](PrimExpr a, PrimExpr b, Span span) {
    RequireOperand(a, name);
    RequireOperand(b, name);
    return build(a, b, span);
  });
}

void DefUnary(const char* name, Unary build) {
  ffi::reflection::GlobalDef().def(name, [name, build](PrimExpr x, Span span) {
    RequireOperand(x, name);
    return build(x, span);
  });
}

}  // namespace

TVM_FFI_STATIC_INIT_BLOCK() {
  namespace refl = ffi::reflection;
  DefBinary("tirx._OpAdd", add);
  DefBinary("tirx._OpSub", sub);
  DefBinary("tirx._OpMul", mul);
  DefBinary("tirx._OpDiv", div);
  DefBinary("tirx._OpMod", truncmod);
  DefBinary("tirx._OpIndexDiv", indexdiv);
  DefBinary("tirx._OpIndexMod", indexmod);
  DefBinary("tirx._OpFloorDiv", floordiv);
  DefBinary("tirx._OpFloorMod", floormod);
  DefBinary("tirx._OpTruncDiv", truncdiv);
  DefBinary("tirx._OpTruncMod", truncmod);
  DefBinary("tirx._OpCeilDiv", ceildiv);
  DefBinary("tirx._OpLogAddExp", logaddexp);
  DefBinary("tirx._OpPow", pow);
  DefBinary("tirx._OpMin", static_cast<Binary>(min));
  DefBinary("tirx._OpMax", static_cast<Binary>(max));
  DefBinary("tirx._OpEQ", equal);
  DefBinary("tirx._OpNE", not_equal);
  DefBinary("tirx._OpLT", less);
  DefBinary("tirx._OpLE", less_equal);
  DefBinary("tirx._OpGT", greater);
  DefBinary("tirx._OpGE", greater_equal);
  DefBinary("tirx._OpAnd", logical_and);
  DefBinary("tirx._OpOr", logical_or);
  DefBinary("tirx.left_shift", left_shift);
  DefBinary("tirx.right_shift", right_shift);
  DefBinary("tirx.bitwise_and", bitwise_and);
  DefBinary("tirx.bitwise_or", bitwise_or);
  DefBinary("tirx.bitwise_xor", bitwise_xor);
  DefBinary("tirx.fmod", fmod);
  DefBinary("tirx.atan2", atan2);
  DefBinary("tirx.nextafter", nextafter);
  DefBinary("tirx.copysign", copysign);
  DefBinary("tirx.hypot", hypot);
  DefBinary("tirx.ldexp", ldexp);
  DefUnary("tirx.bitwise_not", bitwise_neg);
  DefUnary("tirx._OpNot", logical_not);
  DefUnary("tirx._OpNeg", neg);
  DefUnary("tirx.likely", likely);
  DefUnary("tirx.abs", abs);
  DefUnary("tirx.floor", floor);
  DefUnary("tirx.ceil", ceil);
  DefUnary("tirx.round", round);
  DefUnary("tirx.nearbyint", nearbyint);
  DefUnary("tirx.trunc", trunc);
  DefUnary("tirx.isnan", isnan);
  DefUnary("tirx.isinf", isinf);
  DefUnary("tirx.isfinite", isfinite);
#define TVM_DEF_UNARY_MATH(Name) DefUnary("tirx." #Name, Name);
  TVM_IR_FOR_EACH_UNARY_MATH(TVM_DEF_UNARY_MATH)
#undef TVM_DEF_UNARY_MATH
  refl::GlobalDef()
      .def("tirx._OpIfThenElse", [](PrimExpr cond, PrimExpr t, PrimExpr f,
                                    Span span) { return if_then_else(cond, t, f, span); })
      .def("tirx.fma",
           [](PrimExpr x, PrimExpr y, PrimExpr z, Span span) { return fma(x, y, z, span); })
      .def("tirx._const",
           [](ffi::Any value, DLDataType dtype, Span span) -> PrimExpr {
             if (value.type_index() == ffi::TypeIndex::kTVMFFIFloat) {
               return MakeConstFloat(DataType(dtype), value.cast<double>(), span);
             }
             if (auto expr = value.as<Expr>()) return cast(DataType(dtype), PrimExpr(*expr), span);
             return MakeConstInt(DataType(dtype), value.cast<int64_t>(), span);
           })
      .def("tirx._cast", [](DLDataType dtype, PrimExpr value,
                            Span span) { return cast(DataType(dtype), value, span); })
      .def("tirx.reinterpret", [](DLDataType dtype, Expr value,
                                  Span span) { return reinterpret(DataType(dtype), value, span); })
      .def("tirx.max_value",
           [](DLDataType dtype, Span span) { return max_value(DataType(dtype), span); })
      .def("tirx.min_value",
           [](DLDataType dtype, Span span) { return min_value(DataType(dtype), span); })
      .def("tirx.infinity",
           [](DLDataType dtype, Span span) { return infinity(DataType(dtype), span); })
      .def("tirx.BinaryOpMatchTypes",
           [](PrimExpr a, PrimExpr b) {
             BinaryOpMatchTypes(a, b);
             return ffi::Array<PrimExpr>({a, b});
           })
      .def("tirx._sum", [](PrimExpr source, ffi::Array<tirx::IterVar> axis,
                           ffi::Array<PrimExpr> init) { return sum(source, axis, init); })
      .def("tirx._max", [](PrimExpr source, ffi::Array<tirx::IterVar> axis,
                           ffi::Array<PrimExpr> init) { return max(source, axis, init); })
      .def("tirx._min", [](PrimExpr source, ffi::Array<tirx::IterVar> axis,
                           ffi::Array<PrimExpr> init) { return min(source, axis, init); })
      .def("ir.SideEffect", [](const Expr& expr) { return static_cast<int>(SideEffect(expr)); });
}

}  // namespace tvm
