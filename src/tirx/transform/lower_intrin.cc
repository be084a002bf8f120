// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Lowers operators that the code generators lack, or that it would turn into one library call per
/// vector lane.
///
///   floordiv(i, 8)    ==>    i >> 3
///   exp(v)            ==>    a polynomial on the whole vector (float32)
///   bfloat16(1 + erf(v)) ==>  a shorter one, where operands are rounded on request
///   fma(a, b, c)      ==>    a * b + c   (vectors, where the processor has no such instruction)
///   dot_lanes(a, b, c) ==>   c + a[0::2] * b[0::2] + a[1::2] * b[1::2]   (llvm has it itself)
///
/// Registered rules come first: `<kind>.FLowerIntrinsic`, `<kind>.FLegalize`, `default.FLower...`.
/// Float64 functions stay for the code generator, which calls the C library.
#include <tvm/arith/analyzer.h>
#include <tvm/ffi/function.h>
#include <tvm/target/cpu_features.h>
#include <tvm/target/target.h>
#include <tvm/tirx/builtin.h>
#include <tvm/tirx/op.h>
#include <tvm/tirx/stmt_functor.h>
#include <tvm/tirx/transform.h>

#include <string>
#include <unordered_map>
#include <vector>

#include "tirx/transform/math_lowering.h"
#include "tirx/transform/with_body.h"

namespace tvm {
namespace tirx {

namespace {

using UnaryLowering = PrimExpr (*)(const PrimExpr&, const MathOptions&);

/// Operators with a float32 polynomial.
const std::unordered_map<const ffi::Object*, UnaryLowering>& UnaryTable() {
  static const auto* table = [] {
    auto* t = new std::unordered_map<const ffi::Object*, UnaryLowering>();
    struct Row {
      const char* name;
      UnaryLowering lower;
    };
    for (Row row :
         {Row{"tirx.exp", LowerExp}, Row{"tirx.exp2", LowerExp2}, Row{"tirx.exp10", LowerExp10},
          Row{"tirx.log", LowerLog}, Row{"tirx.log2", LowerLog2}, Row{"tirx.log10", LowerLog10},
          Row{"tirx.log1p", LowerLog1p}, Row{"tirx.tanh", LowerTanh},
          Row{"tirx.sigmoid", LowerSigmoid}, Row{"tirx.erf", LowerErf},
          Row{"tirx.rsqrt", LowerRsqrt}}) {
      Op op = Op::TryGet(row.name);
      if (op.defined()) t->emplace(op.get(), row.lower);
    }
    return t;
  }();
  return *table;
}

/// dot_lanes as strided lanes, widened, multiplied and added: for generators that do not know it.
PrimExpr DotAsArithmetic(const CallNode* op) {
  PrimExpr sum(op->args[2]);
  const int lanes = sum.dtype().lanes(), group = op->args[0].dtype().lanes() / lanes;
  auto part = [&](const Expr& vector, int j) {
    ffi::Array<PrimExpr> picks;
    for (int i = 0; i < lanes; ++i) picks.push_back(IntImm::Int32(i * group + j));
    return cast(sum.dtype(), group * lanes == 1 ? PrimExpr(vector)
                                                : PrimExpr(Shuffle({PrimExpr(vector)}, picks)));
  };
  for (int j = 0; j < group; ++j) sum = sum + part(op->args[0], j) * part(op->args[1], j);
  return sum;
}

class IntrinLowerer final : public StmtExprMutator {
 public:
  /// `rounds`: operands of products are rounded to bfloat16 on request.
  IntrinLowerer(const Target& target, bool rounds) : rounds_(rounds) {
    std::string kind(target->kind->name);
    std::vector<std::string> prefixes;
    auto context = tvm::transform::PassContext::Current();
    if (context->GetConfig<bool>("tirx.enable_fast_math", false).value()) {
      prefixes.push_back(kind + ".fastmath");
    }
    prefixes.push_back(kind);
    prefixes.push_back("default");
    for (const std::string& prefix : prefixes) {
      for (const char* suffix : {".FLowerIntrinsic", ".FLegalize"}) {
        std::string key = prefix + suffix;
        if (Op::HasAttrMap(key)) rules_.push_back(Op::GetAttrMap<ffi::Function>(key));
      }
    }
    use_polynomials_ = kind == "llvm";
    if (use_polynomials_) {
      CpuFeatures features = CpuFeaturesOf(target);
      math_.has_fma = features.fma || features.neon || features.rvv;
    }
  }

 private:
  Stmt VisitStmt_(const ForNode* op) final {
    analyzer_->Bind(op->loop_var, Range::FromMinExtent(op->min, op->extent),
                    /*allow_override=*/true);
    return StmtExprMutator::VisitStmt_(op);
  }

  Expr VisitExpr_(const CallNode* op) final {
    if (const auto* callee = op->op.as<OpNode>()) {
      Op op_ref = ffi::GetRef<Op>(callee);
      for (const auto& rule : rules_) {
        if (!rule.count(op_ref)) continue;
        auto lowered = rule[op_ref](ffi::GetRef<Expr>(op)).cast<ffi::Optional<Expr>>();
        if (!lowered.has_value() || lowered.value().get() == op) continue;
        return VisitExpr(lowered.value());
      }
      if (!use_polynomials_ && op->op.same_as(builtin::dot_lanes())) {
        return VisitExpr(DotAsArithmetic(op));
      }
      // One library call per lane costs more than the single rounding is worth.
      const bool unfused = use_polynomials_ && !math_.has_fma && op->op.same_as(builtin::fma());
      if (unfused && op->dtype().is_fixed_length_vector()) {
        return Add(Mul(VisitPrimExpr(PrimExpr(op->args[0])), VisitPrimExpr(PrimExpr(op->args[1]))),
                   VisitPrimExpr(PrimExpr(op->args[2])));
      }
      if (use_polynomials_) {
        Expr lowered = LowerMath(op);
        if (lowered.defined()) return lowered;
      }
    }
    return StmtExprMutator::VisitExpr_(op);
  }

  /// What is rounded to bfloat16 needs no more than its bits, and some to spare.
  Expr VisitExpr_(const CastNode* op) final {
    const bool before = short_;
    short_ = short_ || (rounds_ && op->dtype().is_bfloat16());
    Expr result = StmtExprMutator::VisitExpr_(op);
    short_ = before;
    return result;
  }

  Expr LowerMath(const CallNode* op) {
    static const Op pow_op = Op::Get("tirx.pow"), erf_op = Op::Get("tirx.erf");
    auto it = UnaryTable().find(op->op.get());
    bool is_pow = op->op.same_as(pow_op);
    if (it == UnaryTable().end() && !is_pow) return Expr();
    DataType dtype = op->dtype();
    if (dtype.is_scalable_vector()) return Expr();
    bool narrow = dtype.is_float16() || dtype.is_bfloat16();
    if (!(dtype.is_float() && dtype.bits() == 32) && !narrow) return Expr();
    DataType f32 = DataType::Float(32, dtype.lanes());
    auto arg = [&](size_t i) {
      PrimExpr visited = VisitPrimExpr(PrimExpr(op->args[i]));
      return narrow ? PrimExpr(Cast(f32, visited)) : visited;
    };
    PrimExpr result;
    if (is_pow) {
      PrimExpr x = arg(0), y = arg(1);
      result = PowOfConstant(x, y);
      if (!result.defined()) result = LowerPow(x, y, math_);
    } else if (op->op.same_as(erf_op) && (short_ || dtype.is_bfloat16())) {
      result = LowerShortErf(arg(0), math_);
    } else {
      result = it->second(arg(0), math_);
    }
    return narrow ? PrimExpr(Cast(dtype, result)) : result;
  }

  /// x^2, x^3, x^-1, x^1: one or two correctly rounded operations.
  static PrimExpr PowOfConstant(const PrimExpr& x, const PrimExpr& y) {
    PrimExpr value = y;
    if (const auto* broadcast = y.as<BroadcastNode>()) value = broadcast->value;
    const auto* imm = value.as<FloatImmNode>();
    if (imm == nullptr) return PrimExpr();
    if (imm->value == 1) return x;
    if (imm->value == -1) return Div(make_const(x.dtype(), 1.0), x);
    if (imm->value != 2 && imm->value != 3) return PrimExpr();
    Var base("x", x.dtype());
    PrimExpr power = Mul(base, base);
    if (imm->value == 3) power = Mul(power, base);
    return PrimExpr(Let(base, x, power));
  }

  // ---- division with the rounding of Python -----------------------------------------------------

  Expr VisitExpr_(const FloorDivNode* op) final {
    PrimExpr a = VisitPrimExpr(op->a);
    PrimExpr b = VisitPrimExpr(op->b);
    DataType dtype = op->dtype();
    if (dtype.is_any_float()) return tvm::floor(Div(a, b));
    int shift = 0;
    if (is_const_power_of_two_integer(Scalar(b), &shift)) {
      return CallBuiltin(dtype, builtin::shift_right(), {a, make_const(dtype, shift)});
    }
    if (dtype.is_uint() || BothNonNegative(op)) return Div(a, b);
    Named x("a", &a), y("b", &b);
    PrimExpr q = Div(a, b);
    // The quotient toward zero is one too large where the remainder has the sign that the divisor
    // has not.
    PrimExpr inexact = WrongRemainder(Mod(a, b), b);
    PrimExpr result = Select(inexact, Sub(q, make_const(dtype, 1)), q);
    return x.Close(y.Close(result));
  }

  Expr VisitExpr_(const FloorModNode* op) final {
    PrimExpr a = VisitPrimExpr(op->a);
    PrimExpr b = VisitPrimExpr(op->b);
    DataType dtype = op->dtype();
    int shift = 0;
    if (dtype.is_any_float()) {
      Named x("a", &a), y("b", &b);
      PrimExpr result = Sub(a, Mul(tvm::floor(Div(a, b)), b));
      return x.Close(y.Close(result));
    }
    if (is_const_power_of_two_integer(Scalar(b), &shift)) {
      PrimExpr mask = Sub(b, make_const(dtype, 1));
      if (const int64_t* value = as_const_int(Scalar(b))) mask = make_const(dtype, *value - 1);
      return CallBuiltin(dtype, builtin::bitwise_and(), {a, mask});
    }
    if (dtype.is_uint() || BothNonNegative(op)) return Mod(a, b);
    Named x("a", &a), y("b", &b);
    PrimExpr remainder = Mod(a, b);
    Named r("r", &remainder);
    PrimExpr result = Select(WrongRemainder(remainder, b), Add(remainder, b), remainder);
    return x.Close(y.Close(r.Close(result)));
  }

  /// Gives an operand a name for the time it is used more than once; leaves need none.
  class Named {
   public:
    Named(const char* name, PrimExpr* value) {
      if (value->as<VarNode>() != nullptr || is_const_int(*value)) return;
      var_ = Var(name, value->dtype());
      value_ = *value;
      *value = var_;
    }
    PrimExpr Close(const PrimExpr& body) const {
      return var_.defined() ? PrimExpr(Let(var_, value_, body)) : body;
    }

   private:
    Var var_{ffi::UnsafeInit{}};
    PrimExpr value_;
  };

  static PrimExpr Scalar(const PrimExpr& value) {
    const auto* broadcast = value.as<BroadcastNode>();
    return broadcast != nullptr ? broadcast->value : value;
  }

  static PrimExpr WrongRemainder(const PrimExpr& remainder, const PrimExpr& divisor) {
    PrimExpr zero = make_zero(remainder.dtype());
    PrimExpr scalar = Scalar(divisor);
    if (is_positive_const(scalar)) return LT(remainder, zero);
    if (is_negative_const(scalar)) return GT(remainder, zero);
    return Or(And(GT(divisor, zero), LT(remainder, zero)),
              And(LT(divisor, zero), GT(remainder, zero)));
  }

  template <typename Node>
  bool BothNonNegative(const Node* op) {
    if (!op->dtype().is_scalar()) {
      // Lanes of a ramp with non-negative base and stride.
      const auto* ramp = op->a.template as<RampNode>();
      if (ramp == nullptr) return false;
      return analyzer_->CanProveGreaterEqual(ramp->base, 0) &&
             analyzer_->CanProveGreaterEqual(ramp->stride, 0) &&
             analyzer_->CanProveGreaterEqual(Scalar(op->b), 0);
    }
    return analyzer_->CanProveGreaterEqual(op->a, 0) && analyzer_->CanProveGreaterEqual(op->b, 0);
  }

  arith::Analyzer analyzer_;
  MathOptions math_;
  bool use_polynomials_ = false;
  bool rounds_, short_ = false;
  std::vector<OpAttrMap<ffi::Function>> rules_;
};

const transform::PrimFuncPassRegistration kPass{{
    .name = "tirx.LowerIntrin",
    .summary = "Lower operators that code generators lack",
    .run =
        [](PrimFunc func, const transform::PassContext&) {
          auto target = func->GetAttr<Target>(attr::kTarget);
          TVM_FFI_CHECK(target.has_value(), ValueError)
              << "LowerIntrin: the function has no attribute `target`; run BindTarget first";
          Stmt body = IntrinLowerer(target.value(),
                                    func->HasNonzeroAttr(attr::kFlushSubnormals))(func->body);
          return WithBody(std::move(func), std::move(body));
        },
}};

}  // namespace

namespace transform {
Pass LowerIntrin() { return kPass.Create(); }
}  // namespace transform

}  // namespace tirx
}  // namespace tvm
