// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
// Conversions between data types, lane by lane.
#include <llvm/IR/Intrinsics.h>
#include <tvm/ffi/error.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "codegen/llvm/codegen_llvm.h"

namespace tvm {
namespace codegen {

llvm::Value* CodeGenLLVM::NativeBFloat(llvm::Value* value, int lanes) {
  int whole = 4;
  while (whole < lanes) whole *= 2;
  auto resized = [&](llvm::Value* vector, int have, int want) {
    if (have == want) return vector;
    std::vector<int> picks(static_cast<size_t>(want), -1);
    for (int i = 0; i < std::min(have, want); ++i) picks[static_cast<size_t>(i)] = i;
    return builder_->CreateShuffleVector(vector, picks);
  };
  llvm::Type* type = llvm::FixedVectorType::get(llvm::Type::getBFloatTy(*context_), whole);
  llvm::Value* narrow = builder_->CreateFPTrunc(resized(value, lanes, whole), type);
  llvm::Type* bits = llvm::FixedVectorType::get(builder_->getInt16Ty(), whole);
  return resized(builder_->CreateBitCast(narrow, bits), whole, lanes);
}

/// Rounds to nearest, ties to even, in integer arithmetic: exact also where the processor's own
/// conversion would flush subnormals. NaN keeps its sign and turns quiet.
llvm::Value* CodeGenLLVM::FloatToBFloat(llvm::Value* value, DataType from) {
  if (flushes_subnormals_ && from.is_fixed_length_vector() && TargetHas("avx512bf16") &&
      TargetHas("avx512vl")) {
    return NativeBFloat(value, from.lanes());
  }
  llvm::Type* bits32 = TypeOf(from.with_code(DataType::kUInt));
  llvm::Type* bits16 = TypeOf(from.with_code(DataType::kUInt).with_bits(16));
  auto literal = [&](uint64_t bits) { return llvm::ConstantInt::get(bits32, bits); };
  llvm::Value* bits = builder_->CreateBitCast(value, bits32);
  llvm::Value* upper = builder_->CreateLShr(bits, literal(16));
  llvm::Value* odd = builder_->CreateAnd(upper, literal(1));
  llvm::Value* rounded = builder_->CreateAdd(builder_->CreateAdd(bits, literal(0x7fff)), odd);
  rounded = builder_->CreateLShr(rounded, literal(16));
  llvm::Value* quiet = builder_->CreateOr(upper, literal(0x40));
  llvm::Value* is_nan = builder_->CreateFCmpUNO(value, value);
  llvm::Value* result = builder_->CreateSelect(is_nan, quiet, rounded);
  return builder_->CreateTrunc(result, bits16);
}

llvm::Value* CodeGenLLVM::BFloatToFloat(llvm::Value* value, DataType from) {
  llvm::Type* bits32 = TypeOf(from.with_code(DataType::kUInt).with_bits(32));
  llvm::Type* float32 = TypeOf(from.with_code(DataType::kFloat).with_bits(32));
  llvm::Value* bits = builder_->CreateZExt(value, bits32);
  return builder_->CreateBitCast(builder_->CreateShl(bits, llvm::ConstantInt::get(bits32, 16)),
                                 float32);
}

namespace {

/// Saturating conversion of a float32 vector to integers of up to 32 bits, NaN to 0. It is written
/// out because vector units convert to int32 only, for which LLVM takes the intrinsics apart.
llvm::Value* FloatsToInts(llvm::IRBuilderBase* builder, llvm::Value* value, bool is_signed,
                          int bits, llvm::Type* type) {
  llvm::Type* floats = value->getType();
  const int magnitude = is_signed ? bits - 1 : bits;
  const double bound = std::ldexp(1.0, magnitude);  // 2^31 is no int32, and float32 skips below it
  auto constant = [&](double x) { return llvm::ConstantFP::get(floats, x); };
  llvm::Value* low = constant(is_signed ? -bound : 0);
  llvm::Value* high = constant(bits == 32 ? bound : bound - 1);
  llvm::Value* ordered = builder->CreateFCmpORD(value, value);
  value = builder->CreateSelect(ordered, value, constant(0));
  value = builder->CreateSelect(builder->CreateFCmpOLT(value, low), low, value);
  llvm::Type* ints = llvm::VectorType::get(builder->getInt32Ty(),
                                           llvm::cast<llvm::VectorType>(floats)->getElementCount());
  llvm::Value* above = builder->CreateFCmpOGE(value, high);
  if (bits < 32) {
    value = builder->CreateSelect(above, high, value);
    return builder->CreateTrunc(builder->CreateFPToSI(value, ints), type);
  }
  value = builder->CreateSelect(above, constant(0), value);
  llvm::Value* largest = llvm::ConstantInt::get(ints, INT32_MAX);
  return builder->CreateSelect(above, largest, builder->CreateFPToSI(value, ints));
}

}  // namespace

llvm::Value* CodeGenLLVM::EmitCast(DataType from, DataType to, llvm::Value* value) {
  if (from == to) return value;
  TVM_FFI_CHECK(from.get_lanes_or_vscale_factor() == to.get_lanes_or_vscale_factor() &&
                    from.is_scalable_vector() == to.is_scalable_vector(),
                TypeError)
      << "cannot cast " << from.ToString() << " to " << to.ToString() << ": lanes differ";
  const DataType float32 = to.with_code(DataType::kFloat).with_bits(32);
  llvm::Type* type = TypeOf(to);
  if (from.is_handle() || to.is_handle()) {
    if (from.is_handle() && to.is_handle()) return value;
    return from.is_handle() ? builder_->CreatePtrToInt(value, type)
                            : builder_->CreateIntToPtr(value, type);
  }
  if (from.is_bfloat16()) return EmitCast(float32, to, BFloatToFloat(value, from));
  if (to.is_bfloat16()) return FloatToBFloat(EmitCast(from, float32, value), float32);
  if (to.is_predicate_dtype()) {
    llvm::Constant* zero = llvm::Constant::getNullValue(value->getType());
    return from.is_float() ? builder_->CreateFCmpUNE(value, zero)
                           : builder_->CreateICmpNE(value, zero);
  }
  if (from.is_float() && to.is_float()) return builder_->CreateFPCast(value, type);
  if (from.is_float()) {
    const bool short_int = to.bits() < 32 || (to.is_int() && to.bits() == 32);
    if (from.is_fixed_length_vector() && from.bits() == 32 && short_int) {
      return FloatsToInts(builder_.get(), value, to.is_int(), to.bits(), type);
    }
    // Saturating, NaN gives 0; the plain conversion would be undefined out of range.
    const auto id = to.is_int() ? llvm::Intrinsic::fptosi_sat : llvm::Intrinsic::fptoui_sat;
    return builder_->CreateIntrinsic(id, {type, value->getType()}, {value});
  }
  if (to.is_float()) {
    return from.is_int() ? builder_->CreateSIToFP(value, type)
                         : builder_->CreateUIToFP(value, type);
  }
  return builder_->CreateIntCast(value, type, from.is_int());
}

llvm::Value* CodeGenLLVM::VisitExpr_(const tirx::CastNode* op) {
  if (llvm::Value* quantized = Quantize(op)) return quantized;
  return EmitCast(op->value.dtype(), op->dtype(), Emit(op->value));
}

}  // namespace codegen
}  // namespace tvm
