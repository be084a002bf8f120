// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
// Scalar and vector expressions. Each operation follows the table of float and integer semantics
// in src/ir/const_fold.h, so that a folded and a computed value agree.
#include <llvm/IR/Intrinsics.h>
#include <tvm/ffi/error.h>
#include <tvm/ir/scalar_op.h>

#include <numeric>

#include "codegen/llvm/codegen_llvm.h"

namespace tvm {
namespace codegen {
namespace {

/// Whether evaluating the expression needlessly could fault or cost much.
bool MustGuard(const PrimExpr& expr) {
  bool guard = false;
  PostOrderVisitExpr(expr, [&](const Expr& part) {
    if (part.as<tirx::BufferLoadNode>() || part.as<CallNode>()) guard = true;
  });
  return guard;
}

bool IsVector(DataType dtype) { return dtype.is_scalable_or_fixed_length_vector(); }

}  // namespace

// --- leaves ------------------------------------------------------------------------------------

llvm::Value* CodeGenLLVM::VisitExpr_(const VarNode* op) {
  auto it = values_.find(op);
  TVM_FFI_CHECK(it != values_.end(), InternalError)
      << "variable `" << op->name << "` has no value here";
  return it->second;
}

llvm::Value* CodeGenLLVM::VisitExpr_(const IntImmNode* op) {
  llvm::Type* type = TypeOf(op->dtype());
  const llvm::APInt wide(64, static_cast<uint64_t>(op->value));
  return llvm::ConstantInt::get(*context_, wide.sextOrTrunc(type->getIntegerBitWidth()));
}

llvm::Value* CodeGenLLVM::VisitExpr_(const FloatImmNode* op) {
  llvm::Type* type = TypeOf(op->dtype());
  if (!op->dtype().is_bfloat16()) return llvm::ConstantFP::get(type, op->value);
  llvm::APFloat value(op->value);
  bool is_inexact = false;
  value.convert(llvm::APFloat::BFloat(), llvm::APFloat::rmNearestTiesToEven, &is_inexact);
  return llvm::ConstantInt::get(type, value.bitcastToAPInt());
}

llvm::Value* CodeGenLLVM::VisitExpr_(const tirx::StringImmNode* op) { return String(op->value); }

// --- arithmetic --------------------------------------------------------------------------------

llvm::Value* CodeGenLLVM::ComputeValue(llvm::Value* value, DataType dtype, DataType* compute) {
  *compute = dtype;
  if (!dtype.is_bfloat16()) return value;
  *compute = dtype.with_code(DataType::kFloat).with_bits(32);
  return EmitCast(dtype, *compute, value);
}

llvm::Value* CodeGenLLVM::Arithmetic(const tirx::BinaryOpNode* op,
                                     llvm::Instruction::BinaryOps int_op,
                                     llvm::Instruction::BinaryOps float_op) {
  const DataType dtype = op->a->dtype();
  llvm::Value* a = Emit(op->a);
  llvm::Value* b = Emit(op->b);
  if (!dtype.is_any_float()) return builder_->CreateBinOp(int_op, a, b);
  DataType compute;
  a = ComputeValue(a, dtype, &compute);
  b = ComputeValue(b, dtype, &compute);
  return EmitCast(compute, dtype, builder_->CreateBinOp(float_op, a, b));
}

llvm::Value* CodeGenLLVM::VisitExpr_(const tirx::AddNode* op) {
  return Arithmetic(op, llvm::Instruction::Add, llvm::Instruction::FAdd);
}
llvm::Value* CodeGenLLVM::VisitExpr_(const tirx::SubNode* op) {
  return Arithmetic(op, llvm::Instruction::Sub, llvm::Instruction::FSub);
}
llvm::Value* CodeGenLLVM::VisitExpr_(const tirx::MulNode* op) {
  return Arithmetic(op, llvm::Instruction::Mul, llvm::Instruction::FMul);
}

llvm::Value* CodeGenLLVM::IntDivide(llvm::Value* a, llvm::Value* b, bool is_signed,
                                    bool remainder) {
  llvm::Type* type = a->getType();
  llvm::Constant* zero = llvm::Constant::getNullValue(type);
  llvm::Constant* one = llvm::ConstantInt::get(type, 1);
  llvm::Constant* minus_one = llvm::Constant::getAllOnesValue(type);
  auto divide = [&](llvm::Value* by) {
    if (remainder) return is_signed ? builder_->CreateSRem(a, by) : builder_->CreateURem(a, by);
    return is_signed ? builder_->CreateSDiv(a, by) : builder_->CreateUDiv(a, by);
  };
  auto* constant = llvm::dyn_cast<llvm::Constant>(b);
  if (constant != nullptr && constant->getType()->isVectorTy()) {
    constant = constant->getSplatValue();
  }
  if (auto* literal = llvm::dyn_cast_or_null<llvm::ConstantInt>(constant)) {
    if (literal->isZero()) return zero;
    if (is_signed && literal->isMinusOne()) return remainder ? zero : builder_->CreateNeg(a);
    return divide(b);
  }
  // The processor traps on 0 and on INT_MIN / -1: those lanes divide by 1 instead.
  llvm::Value* is_zero = builder_->CreateICmpEQ(b, zero);
  llvm::Value* special = is_zero;
  llvm::Value* is_minus_one = nullptr;
  if (is_signed) {
    is_minus_one = builder_->CreateICmpEQ(b, minus_one);
    special = builder_->CreateOr(is_zero, is_minus_one);
  }
  llvm::Value* result = divide(builder_->CreateSelect(special, one, b));
  // x % 1 is the 0 that both special cases want.
  if (remainder) return result;
  if (is_signed) result = builder_->CreateSelect(is_minus_one, builder_->CreateNeg(a), result);
  return builder_->CreateSelect(is_zero, zero, result);
}

llvm::Value* CodeGenLLVM::IntFloorDivide(llvm::Value* a, llvm::Value* b, bool remainder) {
  llvm::Constant* zero = llvm::Constant::getNullValue(a->getType());
  llvm::Value* rest = IntDivide(a, b, /*is_signed=*/true, /*remainder=*/true);
  // Truncation and floor differ where a remainder is left and the signs differ.
  llvm::Value* inexact = builder_->CreateICmpNE(rest, zero);
  llvm::Value* signs_differ = builder_->CreateICmpSLT(builder_->CreateXor(a, b), zero);
  llvm::Value* adjust = builder_->CreateAnd(inexact, signs_differ);
  if (remainder) return builder_->CreateSelect(adjust, builder_->CreateAdd(rest, b), rest);
  llvm::Value* quotient = IntDivide(a, b, /*is_signed=*/true, /*remainder=*/false);
  return builder_->CreateAdd(quotient, builder_->CreateSExt(adjust, a->getType()));
}

llvm::Value* CodeGenLLVM::VisitExpr_(const tirx::DivNode* op) {
  const DataType dtype = op->dtype();
  if (dtype.is_any_float()) {
    return Arithmetic(op, llvm::Instruction::FDiv, llvm::Instruction::FDiv);
  }
  return IntDivide(Emit(op->a), Emit(op->b), dtype.is_int(), /*remainder=*/false);
}

llvm::Value* CodeGenLLVM::VisitExpr_(const tirx::ModNode* op) {
  const DataType dtype = op->dtype();
  if (dtype.is_any_float()) {
    return Arithmetic(op, llvm::Instruction::FRem, llvm::Instruction::FRem);
  }
  return IntDivide(Emit(op->a), Emit(op->b), dtype.is_int(), /*remainder=*/true);
}

llvm::Value* CodeGenLLVM::VisitExpr_(const tirx::FloorDivNode* op) {
  const DataType dtype = op->dtype();
  llvm::Value* a = Emit(op->a);
  llvm::Value* b = Emit(op->b);
  if (dtype.is_uint() || dtype.is_bool()) return IntDivide(a, b, false, false);
  if (dtype.is_int()) return IntFloorDivide(a, b, /*remainder=*/false);
  DataType compute;
  a = ComputeValue(a, dtype, &compute);
  b = ComputeValue(b, dtype, &compute);
  llvm::Value* quotient = builder_->CreateFDiv(a, b);
  return EmitCast(compute, dtype, builder_->CreateUnaryIntrinsic(llvm::Intrinsic::floor, quotient));
}

llvm::Value* CodeGenLLVM::VisitExpr_(const tirx::FloorModNode* op) {
  const DataType dtype = op->dtype();
  llvm::Value* a = Emit(op->a);
  llvm::Value* b = Emit(op->b);
  if (dtype.is_uint() || dtype.is_bool()) return IntDivide(a, b, false, true);
  if (dtype.is_int()) return IntFloorDivide(a, b, /*remainder=*/true);
  // a - b * floor(a / b), each step rounded: the table knows no fused form.
  DataType compute;
  a = ComputeValue(a, dtype, &compute);
  b = ComputeValue(b, dtype, &compute);
  llvm::IRBuilderBase::FastMathFlagGuard guard(*builder_);
  builder_->setFastMathFlags(llvm::FastMathFlags());
  llvm::Value* quotient =
      builder_->CreateUnaryIntrinsic(llvm::Intrinsic::floor, builder_->CreateFDiv(a, b));
  llvm::Value* result = builder_->CreateFSub(a, builder_->CreateFMul(b, quotient));
  return EmitCast(compute, dtype, result);
}

// --- minimum and maximum -----------------------------------------------------------------------

llvm::Value* CodeGenLLVM::IntMinMax(llvm::Value* a, llvm::Value* b, bool is_signed, bool is_max) {
  const auto id = is_signed ? (is_max ? llvm::Intrinsic::smax : llvm::Intrinsic::smin)
                            : (is_max ? llvm::Intrinsic::umax : llvm::Intrinsic::umin);
  return builder_->CreateBinaryIntrinsic(id, a, b);
}

llvm::Value* CodeGenLLVM::FloatMinMax(llvm::Value* a, llvm::Value* b, bool is_max) {
  if (target_.triple().isAArch64()) {
    return builder_->CreateBinaryIntrinsic(
        is_max ? llvm::Intrinsic::maximum : llvm::Intrinsic::minimum, a, b);
  }
  // `a better b ? a : b` gives b when either is NaN (one x86 instruction), so only a NaN in a needs
  // another select; none does when a is a literal.
  if (llvm::isa<llvm::Constant>(b) && !llvm::isa<llvm::Constant>(a)) std::swap(a, b);
  auto choose = [&](llvm::Value* x, llvm::Value* y) {
    llvm::Value* better = is_max ? builder_->CreateFCmpOGT(x, y) : builder_->CreateFCmpOLT(x, y);
    return builder_->CreateSelect(better, x, y);
  };
  llvm::Value* chosen = choose(a, b);
  auto* constant = llvm::dyn_cast<llvm::Constant>(a);
  if (constant != nullptr) {
    if (constant->getType()->isVectorTy()) constant = constant->getSplatValue();
    auto* literal = llvm::dyn_cast_or_null<llvm::ConstantFP>(constant);
    if (literal != nullptr && !literal->isNaN()) return chosen;
  }
  if (builder_->getFastMathFlags().noNaNs()) return chosen;
  return builder_->CreateSelect(builder_->CreateFCmpUNO(a, a), a, chosen);
}

llvm::Value* CodeGenLLVM::MinMax(const tirx::BinaryOpNode* op, bool is_max) {
  const DataType dtype = op->a->dtype();
  llvm::Value* a = Emit(op->a);
  llvm::Value* b = Emit(op->b);
  if (!dtype.is_any_float()) return IntMinMax(a, b, dtype.is_int(), is_max);
  DataType compute;
  a = ComputeValue(a, dtype, &compute);
  b = ComputeValue(b, dtype, &compute);
  return EmitCast(compute, dtype, FloatMinMax(a, b, is_max));
}

llvm::Value* CodeGenLLVM::VisitExpr_(const tirx::MinNode* op) { return MinMax(op, false); }
llvm::Value* CodeGenLLVM::VisitExpr_(const tirx::MaxNode* op) { return MinMax(op, true); }

// --- comparison and logic ----------------------------------------------------------------------

llvm::Value* CodeGenLLVM::Compare(const tirx::BinaryOpNode* op, llvm::CmpInst::Predicate is_signed,
                                  llvm::CmpInst::Predicate is_unsigned,
                                  llvm::CmpInst::Predicate is_float) {
  const DataType dtype = op->a->dtype();
  llvm::Value* a = Emit(op->a);
  llvm::Value* b = Emit(op->b);
  if (dtype.is_any_float()) {
    DataType compute;
    a = ComputeValue(a, dtype, &compute);
    b = ComputeValue(b, dtype, &compute);
    return builder_->CreateFCmp(is_float, a, b);
  }
  return builder_->CreateICmp(dtype.is_int() ? is_signed : is_unsigned, a, b);
}

using Cmp = llvm::CmpInst;
llvm::Value* CodeGenLLVM::VisitExpr_(const tirx::EQNode* op) {
  return Compare(op, Cmp::ICMP_EQ, Cmp::ICMP_EQ, Cmp::FCMP_OEQ);
}
llvm::Value* CodeGenLLVM::VisitExpr_(const tirx::NENode* op) {
  return Compare(op, Cmp::ICMP_NE, Cmp::ICMP_NE, Cmp::FCMP_UNE);
}
llvm::Value* CodeGenLLVM::VisitExpr_(const tirx::LTNode* op) {
  return Compare(op, Cmp::ICMP_SLT, Cmp::ICMP_ULT, Cmp::FCMP_OLT);
}
llvm::Value* CodeGenLLVM::VisitExpr_(const tirx::LENode* op) {
  return Compare(op, Cmp::ICMP_SLE, Cmp::ICMP_ULE, Cmp::FCMP_OLE);
}
llvm::Value* CodeGenLLVM::VisitExpr_(const tirx::GTNode* op) {
  return Compare(op, Cmp::ICMP_SGT, Cmp::ICMP_UGT, Cmp::FCMP_OGT);
}
llvm::Value* CodeGenLLVM::VisitExpr_(const tirx::GENode* op) {
  return Compare(op, Cmp::ICMP_SGE, Cmp::ICMP_UGE, Cmp::FCMP_OGE);
}

llvm::Value* CodeGenLLVM::ShortCircuit(const tirx::BinaryOpNode* op, bool is_and) {
  // The right side may rely on the left one, e.g. an index check before a load.
  if (IsVector(op->a->dtype()) || !MustGuard(op->b)) {
    llvm::Value* a = Emit(op->a);
    llvm::Value* b = Emit(op->b);
    return is_and ? builder_->CreateAnd(a, b) : builder_->CreateOr(a, b);
  }
  auto right = [&] { return Emit(op->b); };
  auto known = [&]() -> llvm::Value* { return builder_->getInt1(!is_and); };
  llvm::Value* a = Emit(op->a);
  llvm::Type* type = builder_->getInt1Ty();
  return is_and ? EmitConditional(a, type, right, known) : EmitConditional(a, type, known, right);
}

llvm::Value* CodeGenLLVM::VisitExpr_(const tirx::AndNode* op) { return ShortCircuit(op, true); }
llvm::Value* CodeGenLLVM::VisitExpr_(const tirx::OrNode* op) { return ShortCircuit(op, false); }
llvm::Value* CodeGenLLVM::VisitExpr_(const tirx::NotNode* op) {
  return builder_->CreateNot(Emit(op->a));
}

llvm::Value* CodeGenLLVM::VisitExpr_(const tirx::SelectNode* op) {
  llvm::Value* condition = Emit(op->condition);
  llvm::Value* on_true = Emit(op->true_value);
  return builder_->CreateSelect(condition, on_true, Emit(op->false_value));
}

llvm::Value* CodeGenLLVM::EmitConditional(llvm::Value* condition, llvm::Type* type,
                                          const std::function<llvm::Value*()>& on_true,
                                          const std::function<llvm::Value*()>& on_false) {
  llvm::BasicBlock* blocks[2] = {NewBlock("if_true"), NewBlock("if_false")};
  llvm::BasicBlock* join = NewBlock("joined");
  builder_->CreateCondBr(condition, blocks[0], blocks[1]);
  llvm::Value* values[2];
  for (int i = 0; i < 2; ++i) {
    builder_->SetInsertPoint(blocks[i]);
    values[i] = i == 0 ? on_true() : on_false();
    blocks[i] = builder_->GetInsertBlock();
    builder_->CreateBr(join);
  }
  builder_->SetInsertPoint(join);
  if (type->isVoidTy()) return values[0];
  llvm::PHINode* phi = builder_->CreatePHI(type, 2);
  for (int i = 0; i < 2; ++i) phi->addIncoming(values[i], blocks[i]);
  return phi;
}

// --- vectors -----------------------------------------------------------------------------------

llvm::Value* CodeGenLLVM::Step(DataType dtype) {
  llvm::Type* element = TypeOf(dtype.element_of());
  if (dtype.is_scalable_vector()) return builder_->CreateStepVector(VectorOf(element, dtype));
  std::vector<llvm::Constant*> lanes;
  for (int i = 0; i < dtype.lanes(); ++i) lanes.push_back(llvm::ConstantInt::get(element, i));
  return llvm::ConstantVector::get(lanes);
}

llvm::Value* CodeGenLLVM::VisitExpr_(const tirx::RampNode* op) {
  const DataType dtype = op->dtype();
  TVM_FFI_CHECK(dtype.is_int() || dtype.is_uint(), TypeError)
      << "a ramp counts in integers, not in " << dtype.ToString();
  llvm::Value* base = Splat(Emit(op->base), dtype);
  llvm::Value* stride = Splat(Emit(op->stride), dtype);
  return builder_->CreateAdd(base, builder_->CreateMul(Step(dtype), stride));
}

llvm::Value* CodeGenLLVM::VisitExpr_(const tirx::BroadcastNode* op) {
  llvm::Value* value = Emit(op->value);
  const int inner = op->value->dtype().lanes();
  if (inner == 1) return Splat(value, op->dtype());
  // A broadcast vector repeats as a whole.
  std::vector<int> lanes;
  for (int i = 0; i < op->dtype().lanes(); ++i) lanes.push_back(i % inner);
  return builder_->CreateShuffleVector(value, lanes);
}

llvm::Value* CodeGenLLVM::VisitExpr_(const tirx::LetNode* op) {
  values_[op->var.get()] = Emit(op->value);
  depths_[op->var.get()] = static_cast<int>(loops_.size());
  return Emit(op->body);
}

llvm::Value* CodeGenLLVM::Lane(llvm::Value* vector, int lane) {
  if (!vector->getType()->isVectorTy()) return vector;
  return builder_->CreateExtractElement(vector, Int32(lane));
}

llvm::Value* CodeGenLLVM::VisitExpr_(const tirx::ShuffleNode* op) {
  if (llvm::Value* value = ShuffleVectors(op)) return value;
  std::vector<llvm::Value*> lanes;
  for (const PrimExpr& vector : op->vectors) {
    llvm::Value* value = Emit(vector);
    for (int i = 0; i < vector.dtype().lanes(); ++i) {
      lanes.push_back(vector.dtype().lanes() == 1 ? value : nullptr);
      if (lanes.back() == nullptr) lanes.back() = Lane(value, i);
    }
  }
  auto pick = [&](const PrimExpr& index) {
    const int64_t* lane = as_const_int(index);
    TVM_FFI_CHECK(lane && *lane >= 0 && *lane < static_cast<int64_t>(lanes.size()), ValueError)
        << "shuffle index must be a constant lane below " << lanes.size();
    return lanes[*lane];
  };
  if (op->indices.size() == 1) return pick(op->indices[0]);
  llvm::Value* result = llvm::PoisonValue::get(TypeOf(op->dtype()));
  for (size_t i = 0; i < op->indices.size(); ++i) {
    result = builder_->CreateInsertElement(result, pick(op->indices[i]), Int32(i));
  }
  return result;
}

/// The shuffle of fixed vectors of one length as one instruction on all of them joined, which LLVM
/// understands at once; null for other operands.
llvm::Value* CodeGenLLVM::ShuffleVectors(const tirx::ShuffleNode* op) {
  const int width = op->vectors[0].dtype().lanes();
  std::vector<int> picks;
  for (const PrimExpr& index : op->indices) {
    const int64_t* lane = as_const_int(index);
    if (lane == nullptr || *lane < 0 || *lane >= width * static_cast<int64_t>(op->vectors.size())) {
      return nullptr;
    }
    picks.push_back(static_cast<int>(*lane));
  }
  if (width == 1 || picks.size() < 2) return nullptr;
  std::vector<llvm::Value*> parts;
  for (const PrimExpr& vector : op->vectors) {
    if (vector.dtype() != op->vectors[0].dtype()) return nullptr;
    parts.push_back(Emit(vector));
  }
  while (parts.size() > 1) {
    std::vector<llvm::Value*> joined;
    if (parts.size() % 2 != 0) parts.push_back(llvm::PoisonValue::get(parts[0]->getType()));
    const auto* type = llvm::cast<llvm::FixedVectorType>(parts[0]->getType());
    std::vector<int> all(2 * type->getNumElements());
    std::iota(all.begin(), all.end(), 0);
    for (size_t i = 0; i < parts.size(); i += 2) {
      joined.push_back(builder_->CreateShuffleVector(parts[i], parts[i + 1], all));
    }
    parts = std::move(joined);
  }
  return builder_->CreateShuffleVector(parts[0], picks);
}

// --- index arithmetic --------------------------------------------------------------------------

llvm::Value* CodeGenLLVM::EmitIndex(const PrimExpr& expr) {
  // An index that overflows its own type is outside of every buffer, so the linear part may be
  // computed in 64 bits; LLVM then needs no sign extensions inside loops.
  if (expr.dtype().is_int()) {
    if (const auto* var = expr.as<VarNode>()) {
      auto it = wide_values_.find(var);
      if (it != wide_values_.end()) return it->second;
    } else if (const auto* add = expr.as<tirx::AddNode>()) {
      return builder_->CreateNSWAdd(EmitIndex(add->a), EmitIndex(add->b));
    } else if (const auto* sub = expr.as<tirx::SubNode>()) {
      return builder_->CreateNSWSub(EmitIndex(sub->a), EmitIndex(sub->b));
    } else if (const auto* mul = expr.as<tirx::MulNode>()) {
      return builder_->CreateNSWMul(EmitIndex(mul->a), EmitIndex(mul->b));
    } else if (const auto* cast = expr.as<tirx::CastNode>()) {
      if (cast->value.dtype().is_int() && expr.dtype().bits() >= cast->value.dtype().bits()) {
        return EmitIndex(cast->value);
      }
    } else if (const auto* literal = expr.as<IntImmNode>()) {
      return Int64(literal->value);
    }
  }
  llvm::Value* value = Emit(expr);
  return expr.dtype().is_int() ? builder_->CreateSExt(value, builder_->getInt64Ty())
                               : builder_->CreateZExt(value, builder_->getInt64Ty());
}

llvm::Value* CodeGenLLVM::VisitExprDefault_(const ffi::Object* op) {
  TVM_FFI_THROW(ValueError) << "expression " << op->GetTypeKey()
                            << " must be lowered before LLVM code generation";
  TVM_FFI_UNREACHABLE();
}

}  // namespace codegen
}  // namespace tvm
