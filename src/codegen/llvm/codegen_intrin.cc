// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
// Arithmetic, memory and vector operators behind calls. LowerIntrin has already expanded vector
// transcendentals into polynomials; what is left here is called lane by lane.
#include <llvm/IR/Intrinsics.h>
#include <tvm/ffi/error.h>
#include <tvm/ir/scalar_op.h>

#include <cstring>

#include "codegen/llvm/codegen_llvm.h"

namespace tvm {
namespace codegen {
namespace {

/// Operators that are one LLVM intrinsic on floats of every width and lane count.
struct DirectRow {
  const char* name;
  llvm::Intrinsic::ID id;
};
constexpr DirectRow kDirect[] = {
    {"tirx.floor", llvm::Intrinsic::floor},       {"tirx.ceil", llvm::Intrinsic::ceil},
    {"tirx.trunc", llvm::Intrinsic::trunc},       {"tirx.sqrt", llvm::Intrinsic::sqrt},
    {"tirx.round", llvm::Intrinsic::nearbyint},   {"tirx.nearbyint", llvm::Intrinsic::nearbyint},
    {"tirx.copysign", llvm::Intrinsic::copysign},
};

/// Operators that are a function of libm.
struct MathRow {
  const char* name;
  const char* function;
};
constexpr MathRow kMath[] = {
    {"tirx.exp", "exp"},     {"tirx.exp2", "exp2"},
    {"tirx.exp10", "exp10"}, {"tirx.log", "log"},
    {"tirx.log2", "log2"},   {"tirx.log10", "log10"},
    {"tirx.log1p", "log1p"}, {"tirx.pow", "pow"},
    {"tirx.sin", "sin"},     {"tirx.cos", "cos"},
    {"tirx.tan", "tan"},     {"tirx.sinh", "sinh"},
    {"tirx.cosh", "cosh"},   {"tirx.tanh", "tanh"},
    {"tirx.asin", "asin"},   {"tirx.acos", "acos"},
    {"tirx.atan", "atan"},   {"tirx.asinh", "asinh"},
    {"tirx.acosh", "acosh"}, {"tirx.atanh", "atanh"},
    {"tirx.atan2", "atan2"}, {"tirx.erf", "erf"},
    {"tirx.erfc", "erfc"},   {"tirx.hypot", "hypot"},
    {"tirx.fmod", "fmod"},   {"tirx.nextafter", "nextafter"},
};

llvm::Value* FirstOperand(llvm::Value* value) { return value; }

}  // namespace

llvm::Value* CodeGenLLVM::LanewiseCall(llvm::Function* callee,
                                       const std::vector<llvm::Value*>& args, llvm::Type* result) {
  auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(result);
  if (vector == nullptr) return builder_->CreateCall(callee, args);
  llvm::Value* joined = llvm::PoisonValue::get(result);
  for (unsigned i = 0; i < vector->getNumElements(); ++i) {
    std::vector<llvm::Value*> lane;
    for (llvm::Value* arg : args) lane.push_back(Lane(arg, static_cast<int>(i)));
    joined = builder_->CreateInsertElement(joined, builder_->CreateCall(callee, lane), Int32(i));
  }
  return joined;
}

llvm::Value* CodeGenLLVM::CallMath(const std::string& name, DataType dtype,
                                   const std::vector<llvm::Value*>& args) {
  // Half precision is computed in single precision.
  DataType compute = dtype;
  if (dtype.bits() < 32) compute = dtype.with_code(DataType::kFloat).with_bits(32);
  std::vector<llvm::Value*> wide;
  std::vector<llvm::Type*> types;
  for (llvm::Value* arg : args) {
    const bool is_float = arg->getType() == TypeOf(dtype);  // the exponent of ldexp is not
    wide.push_back(is_float ? EmitCast(dtype, compute, arg) : arg);
    types.push_back(wide.back()->getType()->getScalarType());
  }
  llvm::Type* scalar = TypeOf(compute.element_of());
  llvm::Function* callee = ExternFunction(compute.bits() == 32 ? name + "f" : name,
                                          llvm::FunctionType::get(scalar, types, false));
  callee->setDoesNotAccessMemory();
  return EmitCast(compute, dtype, LanewiseCall(callee, wide, TypeOf(compute)));
}

llvm::Value* CodeGenLLVM::Intrinsic(const CallNode* op) {
  const ffi::String& name = static_cast<const OpNode*>(op->op.get())->name;
  const DataType dtype = op->dtype();
  std::vector<llvm::Value*> args;
  for (const Expr& arg : op->args) args.push_back(Emit(arg));
  if (!dtype.is_any_float()) {
    // Rounding an integer changes nothing.
    if (args.size() == 1 && dtype == op->args[0].dtype()) return FirstOperand(args[0]);
    TVM_FFI_THROW(TypeError) << "operator `" << name << "` has no integer form ("
                             << dtype.ToString() << ")";
  }
  for (const DirectRow& row : kDirect) {
    if (name != row.name) continue;
    DataType compute = dtype;
    for (llvm::Value*& arg : args) arg = ComputeValue(arg, dtype, &compute);
    llvm::Value* value = args.size() == 1
                             ? builder_->CreateUnaryIntrinsic(row.id, args[0])
                             : builder_->CreateBinaryIntrinsic(row.id, args[0], args[1]);
    return EmitCast(compute, dtype, value);
  }
  for (const MathRow& row : kMath) {
    if (name == row.name) return CallMath(row.function, dtype, args);
  }
  DataType compute = dtype;
  llvm::Value* x = ComputeValue(args[0], dtype, &compute);
  llvm::Constant* one = llvm::ConstantFP::get(x->getType(), 1.0);
  if (name == "tirx.rsqrt") {
    x = builder_->CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, x);
    return EmitCast(compute, dtype, builder_->CreateFDiv(one, x));
  }
  if (name == "tirx.sigmoid") {
    x = CallMath("exp", compute, {builder_->CreateFNeg(x)});
    return EmitCast(compute, dtype, builder_->CreateFDiv(one, builder_->CreateFAdd(one, x)));
  }
  if (name == "tirx.ldexp") {
    llvm::Value* exponent =
        EmitCast(op->args[1].dtype(),
                 op->args[1].dtype().is_any_float()
                     ? DataType::Int(32, dtype.lanes())
                     : op->args[1].dtype().with_code(DataType::kInt).with_bits(32),
                 args[1]);
    return CallMath("ldexp", dtype, {args[0], exponent});
  }
  TVM_FFI_THROW(InternalError) << "no intrinsic row for " << name;
  TVM_FFI_UNREACHABLE();
}

// --- pointers ----------------------------------------------------------------------------------

llvm::Value* CodeGenLLVM::BufferData(const CallNode* op) {
  return StorageOf(op->args[0].as<VarNode>()).base;
}

llvm::Value* CodeGenLLVM::AddressOf(const CallNode* op) {
  const auto* load = op->args[0].as<tirx::BufferLoadNode>();
  if (load == nullptr) return Emit(op->args[0]);
  PrimExpr index = FlatIndex(load->buffer, load->indices);
  if (const auto* ramp = index.as<tirx::RampNode>()) index = ramp->base;
  int64_t align;
  return ElementAddress(StorageOf(load->buffer.get()), load->buffer.dtype(), index, &align);
}

llvm::Value* CodeGenLLVM::AccessPtr(const CallNode* op) {
  // (type annotation, pointer, offset in elements, extent, access mask)
  const DataType element = op->args[0].dtype();
  llvm::Value* index = EmitIndex(PrimExpr(op->args[2]));
  return builder_->CreateInBoundsGEP(
      builder_->getInt8Ty(), Emit(op->args[1]),
      builder_->CreateNSWMul(index, Int64(runtime::GetVectorBytes(element))));
}

llvm::Value* CodeGenLLVM::IsNull(const CallNode* op) {
  return builder_->CreateIsNull(Emit(op->args[0]));
}

llvm::Value* CodeGenLLVM::AddByteOffset(const CallNode* op) {
  return builder_->CreateGEP(builder_->getInt8Ty(), Emit(op->args[0]),
                             EmitIndex(PrimExpr(op->args[1])));
}

llvm::Value* CodeGenLLVM::Prefetch(const CallNode* op) {
  auto level = [&](size_t i, int64_t otherwise) {
    const int64_t* value = op->args.size() > i ? as_const_int(op->args[i]) : nullptr;
    return Int32(value != nullptr ? *value : otherwise);
  };
  llvm::Value* address = Emit(op->args[0]);
  llvm::Function* callee = DeclareIntrinsic(module_.get(), llvm::Intrinsic::prefetch, {pointer_});
  return builder_->CreateCall(callee, {address, level(1, 0), level(2, 3), level(3, 1)});
}

llvm::Value* CodeGenLLVM::MemCopy(const CallNode* op) {
  return builder_->CreateMemCpy(Emit(op->args[0]), llvm::Align(1), Emit(op->args[1]),
                                llvm::Align(1), EmitIndex(PrimExpr(op->args[2])));
}

llvm::Value* CodeGenLLVM::AtomicAdd(const CallNode* op) {
  const DataType dtype = op->args[1].dtype();
  llvm::Value* value = Emit(op->args[1]);
  if (dtype.is_bfloat16()) value = builder_->CreateBitCast(value, builder_->getBFloatTy());
  const auto kind = dtype.is_any_float() ? llvm::AtomicRMWInst::FAdd : llvm::AtomicRMWInst::Add;
  llvm::Value* before = builder_->CreateAtomicRMW(
      kind, Emit(op->args[0]), value, llvm::MaybeAlign(), llvm::AtomicOrdering::Monotonic);
  return builder_->CreateBitCast(before, TypeOf(dtype));
}

// --- choice, bits, literals --------------------------------------------------------------------

llvm::Value* CodeGenLLVM::IfThenElse(const CallNode* op) {
  llvm::Value* condition = Emit(op->args[0]);
  if (condition->getType()->isVectorTy()) {
    llvm::Value* on_true = Emit(op->args[1]);
    return builder_->CreateSelect(condition, on_true, Emit(op->args[2]));
  }
  return EmitConditional(
      condition, TypeOf(op->ty), [&] { return Emit(op->args[1]); },
      [&] { return Emit(op->args[2]); });
}

llvm::Value* CodeGenLLVM::Reinterpret(const CallNode* op) {
  llvm::Value* value = Emit(op->args[0]);
  llvm::Type* type = TypeOf(op->ty);
  if (value->getType() == type) return value;
  if (type->isPointerTy()) {
    return builder_->CreateIntToPtr(builder_->CreateIntCast(value, builder_->getInt64Ty(), false),
                                    type);
  }
  if (value->getType()->isPointerTy()) {
    value = builder_->CreatePtrToInt(value, builder_->getInt64Ty());
  }
  TVM_FFI_CHECK(value->getType()->getPrimitiveSizeInBits() == type->getPrimitiveSizeInBits(),
                TypeError)
      << "reinterpret from " << op->args[0].dtype().ToString() << " to " << op->dtype().ToString()
      << " changes the number of bits";
  return builder_->CreateBitCast(value, type);
}

llvm::Value* CodeGenLLVM::Bitwise(const CallNode* op) {
  const ffi::String& name = static_cast<const OpNode*>(op->op.get())->name;
  llvm::Value* a = Emit(op->args[0]);
  if (name == "tirx.bitwise_not") return builder_->CreateNot(a);
  llvm::Value* b = Emit(op->args[1]);
  if (name == "tirx.bitwise_and") return builder_->CreateAnd(a, b);
  if (name == "tirx.bitwise_or") return builder_->CreateOr(a, b);
  return builder_->CreateXor(a, b);
}

llvm::Value* CodeGenLLVM::Shift(const CallNode* op) {
  const ffi::String& name = static_cast<const OpNode*>(op->op.get())->name;
  const DataType dtype = op->args[0].dtype();
  const bool left = name == "tirx.shift_left";
  llvm::Value* a = Emit(op->args[0]);
  llvm::Value* by = EmitCast(op->args[1].dtype(), dtype, Emit(op->args[1]));
  llvm::Constant* width = llvm::ConstantInt::get(a->getType(), dtype.bits());
  llvm::Constant* last = llvm::ConstantInt::get(a->getType(), dtype.bits() - 1);
  // Counts beyond the width (or negative) shift everything out; the processor would wrap them.
  llvm::Value* inside = builder_->CreateICmpULT(by, width);
  if (!left && dtype.is_int()) {
    return builder_->CreateAShr(a, builder_->CreateSelect(inside, by, last));
  }
  llvm::Value* safe = builder_->CreateSelect(inside, by, last);
  llvm::Value* shifted = left ? builder_->CreateShl(a, safe) : builder_->CreateLShr(a, safe);
  return builder_->CreateSelect(inside, shifted, llvm::Constant::getNullValue(a->getType()));
}

llvm::Value* CodeGenLLVM::LargeUInt(const CallNode* op) {
  const uint64_t low = static_cast<uint64_t>(*as_const_int(op->args[0])) & 0xffffffffu;
  const uint64_t high = static_cast<uint64_t>(*as_const_int(op->args[1]));
  return llvm::ConstantInt::get(TypeOf(op->ty), high << 32 | low);
}

llvm::Value* CodeGenLLVM::MultiplyShift(const CallNode* op) {
  const ffi::String& name = static_cast<const OpNode*>(op->op.get())->name;
  const DataType dtype = op->dtype();
  const DataType wide = dtype.with_bits(64);
  auto arg = [&](size_t i) {
    llvm::Value* value =
        EmitCast(op->args[i].dtype(), op->args[i].dtype().with_code(DataType::kInt).with_bits(64),
                 Emit(op->args[i]));
    return value->getType()->isVectorTy() ? value : Splat(value, wide);
  };
  llvm::Value* x = arg(0);
  llvm::Value* y = arg(1);
  llvm::Constant* one = llvm::ConstantInt::get(x->getType(), 1);
  llvm::Value* total = nullptr;
  llvm::Value* negative_shift = nullptr;
  if (name == "tirx.q_multiply_shift") {  // (x, y, q, s)
    // A negative s shifts left before the multiplication.
    llvm::Value* s = arg(3);
    llvm::Constant* zero = llvm::Constant::getNullValue(s->getType());
    negative_shift =
        builder_->CreateSelect(builder_->CreateICmpSLT(s, zero), builder_->CreateNeg(s), zero);
    total = builder_->CreateAdd(arg(2),
                                builder_->CreateSelect(builder_->CreateICmpSGT(s, zero), s, zero));
  } else {  // (x, y, left shift, right shift, q, has left, has right)
    llvm::Constant* zero = llvm::Constant::getNullValue(x->getType());
    llvm::Value* has_left = builder_->CreateICmpNE(arg(5), zero);
    llvm::Value* has_right = builder_->CreateICmpNE(arg(6), zero);
    negative_shift = builder_->CreateSelect(has_left, arg(2), zero);
    total = builder_->CreateAdd(arg(4), builder_->CreateSelect(has_right, arg(3), zero));
  }
  llvm::Value* product = builder_->CreateMul(builder_->CreateShl(x, negative_shift), y);
  llvm::Value* half = builder_->CreateShl(one, builder_->CreateSub(total, one));
  product = builder_->CreateAShr(builder_->CreateAdd(product, half), total);
  return EmitCast(wide, dtype, product);
}

llvm::Value* CodeGenLLVM::FloatClass(const CallNode* op) {
  const ffi::String& name = static_cast<const OpNode*>(op->op.get())->name;
  const DataType dtype = op->args[0].dtype();
  llvm::Value* x = Emit(op->args[0]);
  if (!dtype.is_any_float()) {
    llvm::Type* type = TypeOf(op->ty);
    return name == "tirx.isfinite" ? llvm::Constant::getAllOnesValue(type)
                                   : llvm::Constant::getNullValue(type);
  }
  DataType compute;
  x = ComputeValue(x, dtype, &compute);
  // Written with integer-free comparisons; fast-math flags must not fold them away.
  llvm::IRBuilderBase::FastMathFlagGuard guard(*builder_);
  builder_->setFastMathFlags(llvm::FastMathFlags());
  if (name == "tirx.isnan") return builder_->CreateFCmpUNO(x, x);
  llvm::Value* magnitude = builder_->CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x);
  llvm::Constant* infinity = llvm::ConstantFP::getInfinity(x->getType());
  if (name == "tirx.isinf") return builder_->CreateFCmpOEQ(magnitude, infinity);
  return builder_->CreateFCmpOLT(magnitude, infinity);
}

llvm::Value* CodeGenLLVM::PopCount(const CallNode* op) {
  const ffi::String& name = static_cast<const OpNode*>(op->op.get())->name;
  llvm::Value* x = Emit(op->args[0]);
  llvm::Value* count =
      name == "tirx.clz"
          ? builder_->CreateBinaryIntrinsic(llvm::Intrinsic::ctlz, x, builder_->getFalse())
          : builder_->CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, x);
  return EmitCast(op->args[0].dtype().with_code(DataType::kUInt), op->dtype(), count);
}

llvm::Value* CodeGenLLVM::FusedMultiplyAdd(const CallNode* op) {
  const DataType dtype = op->dtype();
  DataType compute = dtype;
  std::vector<llvm::Value*> args;
  for (const Expr& arg : op->args) args.push_back(ComputeValue(Emit(arg), dtype, &compute));
  if (!dtype.is_any_float()) {
    return builder_->CreateAdd(builder_->CreateMul(args[0], args[1]), args[2]);
  }
  return EmitCast(compute, dtype,
                  builder_->CreateIntrinsic(llvm::Intrinsic::fma, {args[0]->getType()}, args));
}

llvm::Value* CodeGenLLVM::Absolute(const CallNode* op) {
  const DataType dtype = op->dtype();
  llvm::Value* x = Emit(op->args[0]);
  if (dtype.is_int()) {
    return builder_->CreateBinaryIntrinsic(llvm::Intrinsic::abs, x, builder_->getFalse());
  }
  if (!dtype.is_any_float()) return x;
  DataType compute;
  x = ComputeValue(x, dtype, &compute);
  return EmitCast(compute, dtype, builder_->CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x));
}

// --- vectors -----------------------------------------------------------------------------------

llvm::Value* CodeGenLLVM::ActiveLaneMask(const CallNode* op) {
  // base + lane < limit, without overflow: lane < limit - base.
  const DataType dtype = op->dtype();
  if (dtype.is_scalable_vector()) {
    llvm::Value* base = EmitIndex(PrimExpr(op->args[0]));
    llvm::Value* limit = EmitIndex(PrimExpr(op->args[1]));
    return builder_->CreateIntrinsic(llvm::Intrinsic::get_active_lane_mask,
                                     {TypeOf(dtype), base->getType()}, {base, limit});
  }
  llvm::Value* left =
      builder_->CreateNSWSub(EmitIndex(PrimExpr(op->args[1])), EmitIndex(PrimExpr(op->args[0])));
  // Clamped to what a lane number can be, so that 32-bit lanes suffice.
  left = builder_->CreateBinaryIntrinsic(llvm::Intrinsic::smin, left, Int64(dtype.lanes()));
  left = builder_->CreateBinaryIntrinsic(llvm::Intrinsic::smax, left, Int64(0));
  left = builder_->CreateTrunc(left, builder_->getInt32Ty());
  const DataType lanes = DataType::Int(32, dtype.lanes());
  return builder_->CreateICmpSLT(Step(lanes), Splat(left, lanes));
}

llvm::Value* CodeGenLLVM::VScale(const CallNode* op) {
  return builder_->CreateIntrinsic(llvm::Intrinsic::vscale, {TypeOf(op->ty)}, {});
}

llvm::Value* CodeGenLLVM::VectorHalf(const CallNode* op) {
  const ffi::String& name = static_cast<const OpNode*>(op->op.get())->name;
  llvm::Value* vector = Emit(op->args[0]);
  const int half = op->args[0].dtype().lanes() / 2;
  std::vector<int> lanes;
  for (int i = 0; i < half; ++i) lanes.push_back(name == "tirx.vectorhigh" ? half + i : i);
  return builder_->CreateShuffleVector(vector, lanes);
}

llvm::Value* CodeGenLLVM::VectorCombine(const CallNode* op) {
  std::vector<int> lanes;
  for (int i = 0; i < op->dtype().lanes(); ++i) lanes.push_back(i);
  llvm::Value* low = Emit(op->args[0]);
  return builder_->CreateShuffleVector(low, Emit(op->args[1]), lanes);
}

llvm::Value* CodeGenLLVM::Assume(const CallNode*) { return Int32(0); }
llvm::Value* CodeGenLLVM::StorageSync(const CallNode*) { return Int32(0); }
llvm::Value* CodeGenLLVM::FirstArgument(const CallNode* op) { return Emit(op->args[0]); }
llvm::Value* CodeGenLLVM::Undefined(const CallNode* op) {
  return llvm::Constant::getNullValue(TypeOf(op->ty));
}

llvm::Value* CodeGenLLVM::CallLLVMIntrinsic(const CallNode* op) {
  llvm::Intrinsic::ID id = llvm::Intrinsic::not_intrinsic;
  std::string name;
  if (const auto* text = op->args[0].as<tirx::StringImmNode>()) {
    name = text->value;
    id = LookupIntrinsic(name);
  } else if (const int64_t* number = as_const_int(op->args[0])) {
    id = static_cast<llvm::Intrinsic::ID>(*number);
    name = std::to_string(*number);
  }
  TVM_FFI_CHECK(id != llvm::Intrinsic::not_intrinsic, ValueError)
      << "LLVM has no intrinsic `" << name << "`";
  std::vector<llvm::Value*> args;
  std::vector<llvm::Type*> types;
  for (size_t i = 1; i < op->args.size(); ++i) {
    args.push_back(Emit(op->args[i]));
    types.push_back(args.back()->getType());
  }
  llvm::Type* result = TypeOf(op->ty);
  llvm::FunctionType* wanted = llvm::FunctionType::get(result, types, false);
  llvm::SmallVector<llvm::Intrinsic::IITDescriptor, 8> table;
  llvm::Intrinsic::getIntrinsicInfoTableEntries(id, table);
  llvm::ArrayRef<llvm::Intrinsic::IITDescriptor> rest(table);
  llvm::SmallVector<llvm::Type*, 4> overloads;
  const bool overloaded = llvm::Intrinsic::isOverloaded(id);
  if (overloaded) {
    const auto match = llvm::Intrinsic::matchIntrinsicSignature(wanted, rest, overloads);
    TVM_FFI_CHECK(match == llvm::Intrinsic::MatchIntrinsicTypes_Match, TypeError)
        << "arguments or result do not fit LLVM intrinsic `" << name << "`";
  }
  llvm::Function* callee = DeclareIntrinsic(module_.get(), id, overloads);
  llvm::FunctionType* type = callee->getFunctionType();
  TVM_FFI_CHECK(type->getNumParams() == args.size(), TypeError)
      << "LLVM intrinsic `" << callee->getName().str() << "` takes " << type->getNumParams()
      << " arguments, got " << args.size();
  // Element types of target intrinsics differ between LLVM versions; only the bits matter.
  for (size_t i = 0; i < args.size(); ++i) {
    if (args[i]->getType() == type->getParamType(i)) continue;
    TVM_FFI_CHECK(llvm::CastInst::isBitCastable(args[i]->getType(), type->getParamType(i)),
                  TypeError)
        << "argument " << i << " does not fit LLVM intrinsic `" << callee->getName().str() << "`";
    args[i] = builder_->CreateBitCast(args[i], type->getParamType(i));
  }
  llvm::Value* call = builder_->CreateCall(callee, args);
  if (call->getType() == result) return call;
  TVM_FFI_CHECK(llvm::CastInst::isBitCastable(call->getType(), result), TypeError)
      << "result does not fit LLVM intrinsic `" << callee->getName().str() << "`";
  return builder_->CreateBitCast(call, result);
}

// --- dispatch ----------------------------------------------------------------------------------

CodeGenLLVM::CallHandler CodeGenLLVM::FindHandler(const OpNode* op) {
  using Self = CodeGenLLVM;
  static const std::unordered_map<std::string, CallHandler> table = [] {
    std::unordered_map<std::string, CallHandler> t = {
        {"tirx.call_extern", &Self::CallExtern},
        {"tirx.call_pure_extern", &Self::CallExtern},
        {"tirx.call_llvm_intrin", &Self::CallLLVMIntrinsic},
        {"tirx.call_llvm_pure_intrin", &Self::CallLLVMIntrinsic},
        {"tirx.tvm_call_packed_lowered", &Self::CallPackedLowered},
        {"tirx.tvm_call_cpacked_lowered", &Self::CallCPackedLowered},
        {"tirx.tvm_call_trace_packed_lowered", &Self::CallTracePackedLowered},
        {"tirx.anylist_move", &Self::AnyListMove},
        {"tirx.anylist_resetitem", &Self::AnyListReset},
        {"tirx.check_args", &Self::CheckArgs},
        {"tirx.tvm_check_return", &Self::CheckReturn},
        {"tirx.tvm_stack_alloca", &Self::StackAlloca},
        {"tirx.tvm_struct_get", &Self::StructGet},
        {"tirx.tvm_struct_set", &Self::StructSet},
        {"tirx.TVMBackendAllocWorkspace", &Self::AllocWorkspace},
        {"tirx.TVMBackendFreeWorkspace", &Self::FreeWorkspace},
        {"tirx.tvm_throw_last_error", &Self::ThrowLastError},
        {"tirx.ret", &Self::Ret},
        {"tirx.break_loop", &Self::BreakLoop},
        {"tirx.continue_loop", &Self::ContinueLoop},
        {"tirx.tvm_static_handle", &Self::StaticHandle},
        {"tirx.tvm_context_id", &Self::ContextId},
        {"tirx.buffer_data", &Self::BufferData},
        {"tirx.address_of", &Self::AddressOf},
        {"tirx.tvm_access_ptr", &Self::AccessPtr},
        {"tirx.isnullptr", &Self::IsNull},
        {"tirx.ptr_byte_offset", &Self::AddByteOffset},
        {"tirx.handle_add_byte_offset", &Self::AddByteOffset},
        {"tirx.prefetch", &Self::Prefetch},
        {"tirx.mem_copy", &Self::MemCopy},
        {"tirx.atomic_add", &Self::AtomicAdd},
        {"tirx.if_then_else", &Self::IfThenElse},
        {"tirx.reinterpret", &Self::Reinterpret},
        {"tirx.bitwise_and", &Self::Bitwise},
        {"tirx.bitwise_or", &Self::Bitwise},
        {"tirx.bitwise_xor", &Self::Bitwise},
        {"tirx.bitwise_not", &Self::Bitwise},
        {"tirx.shift_left", &Self::Shift},
        {"tirx.shift_right", &Self::Shift},
        {"tirx.large_uint_imm", &Self::LargeUInt},
        {"tirx.q_multiply_shift", &Self::MultiplyShift},
        {"tirx.q_multiply_shift_per_axis", &Self::MultiplyShift},
        {"tirx.isnan", &Self::FloatClass},
        {"tirx.isinf", &Self::FloatClass},
        {"tirx.isfinite", &Self::FloatClass},
        {"tirx.popcount", &Self::PopCount},
        {"tirx.clz", &Self::PopCount},
        {"tirx.fma", &Self::FusedMultiplyAdd},
        {"tirx.dot_lanes", &Self::DotLanes},
        {"tirx.fabs", &Self::Absolute},
        {"tirx.abs", &Self::Absolute},
        {"tirx.get_active_lane_mask", &Self::ActiveLaneMask},
        {"tirx.vscale", &Self::VScale},
        {"tirx.vectorhigh", &Self::VectorHalf},
        {"tirx.vectorlow", &Self::VectorHalf},
        {"tirx.vectorcombine", &Self::VectorCombine},
        {"tirx.assume", &Self::Assume},
        {"tirx.start_profile_intrinsic", &Self::Assume},
        {"tirx.end_profile_intrinsic", &Self::Assume},
        {"tirx.tvm_storage_sync", &Self::StorageSync},
        {"tirx.likely", &Self::FirstArgument},
        {"tirx.ignore_loop_partition", &Self::FirstArgument},
        {"tirx.tvm_thread_invariant", &Self::FirstArgument},
        {"tirx.undef", &Self::Undefined},
        {"tirx.rsqrt", &Self::Intrinsic},
        {"tirx.sigmoid", &Self::Intrinsic},
        {"tirx.ldexp", &Self::Intrinsic},
    };
    for (const DirectRow& row : kDirect) t[row.name] = &Self::Intrinsic;
    for (const MathRow& row : kMath) t[row.name] = &Self::Intrinsic;
    return t;
  }();
  auto it = table.find(std::string(op->name));
  return it == table.end() ? nullptr : it->second;
}

}  // namespace codegen
}  // namespace tvm
