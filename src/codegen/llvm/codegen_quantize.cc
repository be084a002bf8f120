// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
// Floats that are rounded, clamped and converted to 8 bits, as quantisation does it.
//
//   cast(u8, max(min(nearbyint(x), 255), 0))  =>  maxps, cvtps2dq, pmovusdb
//
// The processor's own conversion rounds as nearbyint does, and its answer to what is too large can
// be told apart, so neither needs an instruction of its own.
#include <llvm/IR/Intrinsics.h>
#include <tvm/ffi/error.h>

#include <cmath>
#include <optional>

#include "codegen/llvm/codegen_llvm.h"

namespace tvm {
namespace codegen {
namespace {

/// clamp(nearbyint(value) + zero, low, high)
struct Clamped {
  PrimExpr value;
  double zero = 0, low = -INFINITY, high = INFINITY;
};

std::optional<double> Literal(const PrimExpr& expr) {
  if (const auto* splat = expr.as<tirx::BroadcastNode>()) return Literal(splat->value);
  if (const auto* cast = expr.as<tirx::CastNode>()) {
    const auto* integer = cast->value.as<IntImmNode>();
    return integer == nullptr ? std::nullopt : std::optional(static_cast<double>(integer->value));
  }
  const auto* imm = expr.as<FloatImmNode>();
  return imm == nullptr ? std::nullopt : std::optional(imm->value);
}

std::optional<Clamped> MatchClamped(PrimExpr expr) {
  Clamped result;
  auto peel = [&](const auto* node, double* bound) {
    const PrimExpr a = node->a, b = node->b;
    const std::optional<double> left = Literal(a), right = Literal(b);
    // Twice the same bound is no quantisation.
    if ((!left && !right) || !std::isinf(*bound)) return false;
    *bound = left ? *left : *right;
    expr = left ? b : a;
    return true;
  };
  while (true) {
    if (const auto* least = expr.as<tirx::MinNode>()) {
      if (!peel(least, &result.high)) return std::nullopt;
    } else if (const auto* most = expr.as<tirx::MaxNode>()) {
      if (!peel(most, &result.low)) return std::nullopt;
    } else {
      break;
    }
  }
  if (const auto* add = expr.as<tirx::AddNode>()) {
    const std::optional<double> zero = Literal(add->b);
    if (!zero) return std::nullopt;
    result.zero = *zero;
    expr = add->a;
  }
  const auto* call = expr.as<CallNode>();
  const auto* op = call == nullptr ? nullptr : call->op.as<OpNode>();
  if (op == nullptr || (op->name != "tirx.nearbyint" && op->name != "tirx.round")) {
    return std::nullopt;
  }
  result.value = Downcast<PrimExpr>(call->args[0]);
  return result;
}

/// Whether a bound is an integer in [low, high].
bool IsIn(double bound, double low, double high) {
  return std::trunc(bound) == bound && low <= bound && bound <= high;
}

/// How a vector of so many float32 is rounded to int32.
struct RoundRow {
  int lanes;
  const char* feature;
  const char* intrinsic;
};
// What follows the conversion takes SSE4.1 for 4 lanes, and AVX2 for 8.
constexpr RoundRow kRows[] = {
    {16, "avx512f", "llvm.x86.avx512.mask.cvtps2dq.512"},
    {8, "avx2", "llvm.x86.avx.cvt.ps2dq.256"},
    {4, "sse4.1", "llvm.x86.sse2.cvtps2dq"},
};

}  // namespace

const char* CodeGenLLVM::RoundIntrinsic(int lanes) {
  for (const RoundRow& row : kRows) {
    if (row.lanes == lanes && target_.triple().isX86() && TargetHas(row.feature)) {
      return row.intrinsic;
    }
  }
  return nullptr;
}

llvm::Value* CodeGenLLVM::RoundToInt32(llvm::Value* value, const char* intrinsic) {
  const llvm::Intrinsic::ID id = LookupIntrinsic(intrinsic);
  TVM_FFI_CHECK(id != llvm::Intrinsic::not_intrinsic, InternalError)
      << "no intrinsic " << intrinsic;
  llvm::Function* callee = DeclareIntrinsic(module_.get(), id, {});
  llvm::FunctionType* type = callee->getFunctionType();
  if (type->getNumParams() == 1) return builder_->CreateCall(callee, {value});
  constexpr int kCurrentRounding = 4;
  llvm::Value* otherwise = llvm::Constant::getNullValue(type->getReturnType());
  llvm::Value* all = llvm::Constant::getAllOnesValue(type->getParamType(2));
  return builder_->CreateCall(callee,
                              {value, otherwise, all, builder_->getInt32(kCurrentRounding)});
}

llvm::Value* CodeGenLLVM::Quantize(const tirx::CastNode* op) {
  const DataType from = op->value.dtype(), to = op->dtype();
  const bool narrows = from.is_float() && from.bits() == 32 && from.is_fixed_length_vector() &&
                       to.bits() == 8 && (to.is_int() || to.is_uint());
  if (!narrows) return nullptr;
  const auto clamped = MatchClamped(op->value);
  const double least = to.is_int() ? -128 : 0, most = least + 255;
  if (!clamped || !IsIn(clamped->low, least, most) || !IsIn(clamped->high, clamped->low, most) ||
      !IsIn(clamped->zero, -255, 255)) {
    return nullptr;
  }
  // NaN gives 0, which clamping unsigned numbers to [0, ..] does by itself.
  const bool from_zero = to.is_uint() && clamped->low == 0;
  const char* intrinsic = RoundIntrinsic(from.lanes());
  if (intrinsic == nullptr) return nullptr;
  llvm::Value* x = Emit(clamped->value);
  // One bound in float keeps the conversion in range on that side; what lies beyond the other one
  // becomes INT32_MIN. `a better b ? a : b` gives b when either is NaN.
  const double bound = (from_zero ? clamped->low : clamped->high) - clamped->zero;
  llvm::Value* limit = llvm::ConstantFP::get(x->getType(), bound);
  llvm::Value* bounded = from_zero
                             ? builder_->CreateSelect(builder_->CreateFCmpOGT(x, limit), x, limit)
                             : builder_->CreateSelect(builder_->CreateFCmpOLT(limit, x), limit, x);
  llvm::Value* rounded = RoundToInt32(bounded, intrinsic);
  auto integer = [&](double number) {
    return llvm::ConstantInt::get(rounded->getType(), static_cast<int64_t>(number), true);
  };
  auto clamp = [&](llvm::Intrinsic::ID id, double number) {
    rounded = builder_->CreateBinaryIntrinsic(id, rounded, integer(number));
  };
  if (from_zero) {
    if (clamped->zero != 0) rounded = builder_->CreateAdd(rounded, integer(clamped->zero));
    // Far above is 0x80000000 and a little more: among unsigned numbers still large.
    clamp(llvm::Intrinsic::umin, clamped->high);
  } else {
    // Far below and NaN are INT32_MIN, from which nothing may be taken before it is clamped.
    clamp(llvm::Intrinsic::smax, clamped->low - clamped->zero);
    if (clamped->zero != 0) rounded = builder_->CreateAdd(rounded, integer(clamped->zero));
    rounded = builder_->CreateSelect(builder_->CreateFCmpORD(x, x), rounded, integer(0));
    clamp(llvm::Intrinsic::smax, least);
    clamp(llvm::Intrinsic::smin, most);
  }
  return builder_->CreateTrunc(rounded, TypeOf(to));
}

}  // namespace codegen
}  // namespace tvm
