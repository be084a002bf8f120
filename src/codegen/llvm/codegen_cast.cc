// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
// Conversions between data types, lane by lane.
#include <llvm/IR/Intrinsics.h>
#include <tvm/ffi/error.h>

#include "codegen/llvm/codegen_llvm.h"

namespace tvm {
namespace codegen {

/// Rounds to nearest, ties to even, in integer arithmetic: exact also where the processor's own
/// conversion would flush subnormals. NaN keeps its sign and turns quiet.
llvm::Value* CodeGenLLVM::FloatToBFloat(llvm::Value* value, DataType from) {
  llvm::Type* bits32 = TypeOf(from.with_code(DataType::kUInt));
  llvm::Type* bits16 = TypeOf(from.with_code(DataType::kUInt).with_bits(16));
  llvm::Type* bfloat = TypeOf(from.with_code(DataType::kBFloat).with_bits(16));
  auto literal = [&](uint64_t bits) { return llvm::ConstantInt::get(bits32, bits); };
  llvm::Value* bits = builder_->CreateBitCast(value, bits32);
  llvm::Value* upper = builder_->CreateLShr(bits, literal(16));
  llvm::Value* odd = builder_->CreateAnd(upper, literal(1));
  llvm::Value* rounded = builder_->CreateAdd(builder_->CreateAdd(bits, literal(0x7fff)), odd);
  rounded = builder_->CreateLShr(rounded, literal(16));
  llvm::Value* quiet = builder_->CreateOr(upper, literal(0x40));
  llvm::Value* is_nan = builder_->CreateFCmpUNO(value, value);
  llvm::Value* result = builder_->CreateSelect(is_nan, quiet, rounded);
  return builder_->CreateBitCast(builder_->CreateTrunc(result, bits16), bfloat);
}

llvm::Value* CodeGenLLVM::BFloatToFloat(llvm::Value* value, DataType from) {
  llvm::Type* bits16 = TypeOf(from.with_code(DataType::kUInt));
  llvm::Type* bits32 = TypeOf(from.with_code(DataType::kUInt).with_bits(32));
  llvm::Type* float32 = TypeOf(from.with_code(DataType::kFloat).with_bits(32));
  llvm::Value* bits = builder_->CreateZExt(builder_->CreateBitCast(value, bits16), bits32);
  return builder_->CreateBitCast(builder_->CreateShl(bits, llvm::ConstantInt::get(bits32, 16)),
                                 float32);
}

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
  return EmitCast(op->value.dtype(), op->dtype(), Emit(op->value));
}

}  // namespace codegen
}  // namespace tvm
