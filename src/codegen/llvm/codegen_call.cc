// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
// Calls between functions, the packed ABI, structs of the C API, argument checks.
#include <llvm/IR/MDBuilder.h>
#include <tvm/ffi/error.h>
#include <tvm/ir/scalar_op.h>
#include <tvm/support/argcheck.h>

#include "codegen/llvm/codegen_llvm.h"

namespace tvm {
namespace codegen {
namespace {

constexpr int64_t kAnyBytes = 16;
constexpr int64_t kTensorBytes = 48;

/// Place of a field in its struct; `letter` is its type: b uint8, h uint16, i int32, l int64, p
/// pointer, a the address of the struct itself.
struct FieldRow {
  int kind;
  int64_t struct_bytes;
  int64_t offset;
  char letter;
};
constexpr FieldRow kFields[] = {
    {tirx::builtin::kDLTensorAddr, kTensorBytes, 0, 'a'},
    {tirx::builtin::kDLTensorData, kTensorBytes, 0, 'p'},
    {tirx::builtin::kDLTensorDeviceType, kTensorBytes, 8, 'i'},
    {tirx::builtin::kDLTensorDeviceId, kTensorBytes, 12, 'i'},
    {tirx::builtin::kDLTensorNDim, kTensorBytes, 16, 'i'},
    {tirx::builtin::kDLTensorTypeCode, kTensorBytes, 20, 'b'},
    {tirx::builtin::kDLTensorTypeBits, kTensorBytes, 21, 'b'},
    {tirx::builtin::kDLTensorTypeLanes, kTensorBytes, 22, 'h'},
    {tirx::builtin::kDLTensorShape, kTensorBytes, 24, 'p'},
    {tirx::builtin::kDLTensorStrides, kTensorBytes, 32, 'p'},
    {tirx::builtin::kDLTensorByteOffset, kTensorBytes, 40, 'l'},
    {tirx::builtin::kTVMFFIAnyTypeIndex, kAnyBytes, 0, 'i'},
    {tirx::builtin::kTVMFFIAnyZeroPadding, kAnyBytes, 4, 'i'},
    {tirx::builtin::kTVMFFIAnyUnionValue, kAnyBytes, 8, 'v'},
    {tirx::builtin::kInt64ArrayElem, 8, 0, 'l'},
};

std::string NameArgument(const CallNode* op) {
  const auto* name = op->args[0].as<tirx::StringImmNode>();
  TVM_FFI_CHECK(name != nullptr, TypeError)
      << "a call by name needs a string as its first argument";
  return name->value;
}

int64_t ConstantArgument(const CallNode* op, size_t index, const char* what) {
  const int64_t* value = as_const_int(op->args[index]);
  TVM_FFI_CHECK(value != nullptr, ValueError) << what << " must be an integer constant";
  return *value;
}

}  // namespace

llvm::Value* CodeGenLLVM::VisitExpr_(const CallNode* op) {
  if (const auto* callee = op->op.as<GlobalVarNode>()) return EmitDirectCall(op, callee);
  const auto* builtin = op->op.as<OpNode>();
  TVM_FFI_CHECK(builtin != nullptr, ValueError)
      << "compiled code can only call operators and functions";
  CallHandler handler = FindHandler(builtin);
  if (handler == nullptr) {
    TVM_FFI_THROW(ValueError) << "operator `" << builtin->name
                              << "` has no lowering for the LLVM CPU target";
  }
  return (this->*handler)(op);
}

llvm::Value* CodeGenLLVM::EmitDirectCall(const CallNode* op, const GlobalVarNode* callee) {
  auto it = declared_.find(callee);
  TVM_FFI_CHECK(it != declared_.end(), ValueError)
      << "call of `" << callee->name_hint << "`, which this module does not define";
  llvm::FunctionType* type = it->second->getFunctionType();
  TVM_FFI_CHECK(type->getNumParams() == op->args.size(), TypeError)
      << "`" << callee->name_hint << "` takes " << type->getNumParams() << " arguments, got "
      << op->args.size();
  std::vector<llvm::Value*> args;
  for (const Expr& arg : op->args) args.push_back(Emit(arg));
  llvm::CallInst* call = builder_->CreateCall(it->second, args);
  if (!IsVoidType(op->ty)) return call;
  CheckStatus(call);
  return call;
}

llvm::Value* CodeGenLLVM::CallExtern(const CallNode* op) {
  std::vector<llvm::Value*> args;
  std::vector<llvm::Type*> types;
  for (size_t i = 1; i < op->args.size(); ++i) {
    args.push_back(Emit(op->args[i]));
    // C passes bfloat16 as a floating-point number; here it is its bits.
    if (args.back()->getType()->isIntegerTy(16) && op->args[i].dtype().is_bfloat16()) {
      args.back() = builder_->CreateBitCast(args.back(), builder_->getBFloatTy());
    }
    types.push_back(args.back()->getType());
  }
  llvm::Type* have = TypeOf(op->ty);
  const bool is_bfloat = have->isIntegerTy(16) && op->dtype().is_bfloat16();
  llvm::Type* result = is_bfloat ? builder_->getBFloatTy() : have;
  llvm::Function* callee =
      ExternFunction(NameArgument(op), llvm::FunctionType::get(result, types, /*isVarArg=*/false));
  llvm::CallInst* call = builder_->CreateCall(callee, args);
  // C passes small integers widened to int.
  for (size_t i = 0; i < types.size(); ++i) {
    if (!types[i]->isIntegerTy() || types[i]->getIntegerBitWidth() >= 32) continue;
    const bool is_signed = op->args[i + 1].dtype().is_int();
    const auto attribute = is_signed ? llvm::Attribute::SExt : llvm::Attribute::ZExt;
    call->addParamAttr(i, attribute);
    callee->addParamAttr(i, attribute);
  }
  return is_bfloat ? builder_->CreateBitCast(call, have) : call;
}

// --- structs -----------------------------------------------------------------------------------

llvm::Value* CodeGenLLVM::StackAlloca(const CallNode* op) {
  const std::string kind = NameArgument(op);
  const int64_t count = std::max<int64_t>(ConstantArgument(op, 1, "size of tvm_stack_alloca"), 1);
  int64_t words = 0;  // of 8 bytes
  if (kind == "shape") {
    words = 1;
  } else if (kind == "array") {
    words = kTensorBytes / 8;
  } else if (kind == "tvm_ffi_any" || kind == "arg_value") {
    words = kAnyBytes / 8;
  } else if (kind == "tensormap") {
    words = 16;
  } else {
    TVM_FFI_THROW(ValueError) << "tvm_stack_alloca of unknown kind `" << kind << "`";
  }
  return EntryAlloca(builder_->getInt64Ty(), count * words, kind == "tensormap" ? 64 : 8, kind);
}

llvm::Value* CodeGenLLVM::StructField(llvm::Value* base, int64_t index, int kind,
                                      llvm::Type** type) {
  for (const FieldRow& row : kFields) {
    if (row.kind != kind) continue;
    switch (row.letter) {
      case 'b':
        *type = builder_->getInt8Ty();
        break;
      case 'h':
        *type = builder_->getInt16Ty();
        break;
      case 'i':
        *type = builder_->getInt32Ty();
        break;
      case 'p':
        *type = pointer_;
        break;
      case 'a':
        *type = nullptr;
        break;
      default:
        *type = builder_->getInt64Ty();
        break;
    }
    const int64_t offset = index * row.struct_bytes + row.offset;
    return offset == 0 ? base
                       : builder_->CreateInBoundsGEP(builder_->getInt8Ty(), base, Int64(offset));
  }
  TVM_FFI_THROW(ValueError) << "unknown struct field " << kind;
  TVM_FFI_UNREACHABLE();
}

llvm::Value* CodeGenLLVM::StructGet(const CallNode* op) {
  llvm::Type* type = nullptr;
  const int kind = static_cast<int>(ConstantArgument(op, 2, "field of tvm_struct_get"));
  llvm::Value* address = nullptr;
  if (const int64_t* index = as_const_int(op->args[1])) {
    address = StructField(Emit(op->args[0]), *index, kind, &type);
  } else {
    TVM_FFI_CHECK(kind == tirx::builtin::kInt64ArrayElem, ValueError)
        << "the index of tvm_struct_get must be constant, except of an int64 array";
    type = builder_->getInt64Ty();
    address =
        builder_->CreateInBoundsGEP(type, Emit(op->args[0]), EmitIndex(PrimExpr(op->args[1])));
  }
  if (type == nullptr) return address;
  const DataType want = op->dtype();
  if (kind == tirx::builtin::kTVMFFIAnyUnionValue) {
    // The union is read as what the program expects it to hold.
    if (want.is_handle()) type = pointer_;
    if (want.is_float()) type = builder_->getDoubleTy();
  }
  llvm::LoadInst* load = builder_->CreateLoad(type, address);
  load->setMetadata(llvm::LLVMContext::MD_tbaa, abi_alias_);
  if (type == pointer_) return EmitCast(DataType::Handle(), want, load);
  if (type->isDoubleTy()) return EmitCast(DataType::Float(64), want, load);
  const int bits = type->getIntegerBitWidth();
  return EmitCast(bits < 32 ? DataType::UInt(bits) : DataType::Int(bits), want, load);
}

llvm::Value* CodeGenLLVM::StructSet(const CallNode* op) {
  llvm::Type* type = nullptr;
  const int kind = static_cast<int>(ConstantArgument(op, 2, "field of tvm_struct_set"));
  llvm::Value* value = Emit(op->args[3]);
  llvm::Value* address = StructField(
      Emit(op->args[0]), ConstantArgument(op, 1, "index of tvm_struct_set"), kind, &type);
  const DataType have =
      op->args[3].as<tirx::StringImmNode>() ? DataType::Handle() : op->args[3].dtype();
  if (kind == tirx::builtin::kTVMFFIAnyUnionValue) {
    if (value->getType()->isPointerTy()) {
      type = pointer_;
    } else if (have.is_any_float()) {
      type = builder_->getDoubleTy();
      value = EmitCast(have, DataType::Float(64), value);
    } else {
      value = EmitCast(have, DataType::Int(64), value);
    }
  } else if (type == pointer_) {
    if (!value->getType()->isPointerTy()) value = builder_->CreateIntToPtr(value, pointer_);
  } else {
    value = EmitCast(have, DataType::Int(type->getIntegerBitWidth()), value);
  }
  builder_->CreateStore(value, address);
  return Int32(0);
}

// --- packed calls ------------------------------------------------------------------------------

llvm::Value* CodeGenLLVM::CallPackedLowered(const CallNode* op) {
  llvm::Value* handle = nullptr;
  if (op->args[0].as<tirx::StringImmNode>()) {
    const std::string name = NameArgument(op);
    llvm::GlobalVariable*& slot = handles_[name];
    if (slot == nullptr) {
      slot = new llvm::GlobalVariable(*module_, pointer_, /*isConstant=*/false,
                                      llvm::GlobalValue::InternalLinkage,
                                      llvm::ConstantPointerNull::get(pointer_), "handle." + name);
    }
    handle = builder_->CreateCall(GlueFunction("__tvm_lookup_function"), {slot, String(name)});
    llvm::Value* missing = builder_->CreateIsNull(handle);
    CheckStatus(builder_->CreateSExt(missing, builder_->getInt32Ty()));
  } else {
    handle = Emit(op->args[0]);  // the function itself
  }
  return FinishPackedCall(op, [&](llvm::Value* args, llvm::Value* count, llvm::Value* result) {
    return builder_->CreateCall(GlueFunction("TVMFFIFunctionCall"), {handle, args, count, result});
  });
}

llvm::Value* CodeGenLLVM::CallCPackedLowered(const CallNode* op) {
  std::string symbol = NameArgument(op);
  if (!siblings_.count(symbol) && siblings_.count("__tvm_ffi_" + symbol)) {
    symbol = "__tvm_ffi_" + symbol;
  }
  llvm::FunctionType* type = llvm::FunctionType::get(
      builder_->getInt32Ty(), {pointer_, pointer_, builder_->getInt32Ty(), pointer_}, false);
  // A function that equals another one is an alias, which the same module may hold.
  llvm::Value* alias = module_->getNamedAlias(symbol);
  llvm::FunctionCallee callee(type, alias != nullptr ? alias : ExternFunction(symbol, type));
  llvm::Value* context = llvm::ConstantPointerNull::get(pointer_);
  if (op->args.size() > 4 && op->args[4].dtype().is_handle()) context = Emit(op->args[4]);
  return FinishPackedCall(op, [&](llvm::Value* args, llvm::Value* count, llvm::Value* result) {
    return builder_->CreateCall(callee, {context, args, count, result});
  });
}

llvm::Value* CodeGenLLVM::FinishPackedCall(
    const CallNode* op,
    const std::function<llvm::Value*(llvm::Value*, llvm::Value*, llvm::Value*)>& call) {
  llvm::Value* stack = Emit(op->args[1]);
  const int64_t begin = ConstantArgument(op, 2, "first argument slot");
  const int64_t end = ConstantArgument(op, 3, "result slot");
  auto slot = [&](int64_t index, int64_t offset) {
    return builder_->CreateInBoundsGEP(builder_->getInt8Ty(), stack,
                                       Int64(index * kAnyBytes + offset));
  };
  llvm::Value* result = slot(end, 0);
  builder_->CreateStore(Int64(0), result);  // None, padding 0
  builder_->CreateStore(Int64(0), slot(end, 8));
  CheckStatus(call(slot(begin, 0), Int32(end - begin), result));
  if (!IsVoidType(op->ty)) {
    llvm::Type* type = builder_->getInt64Ty();
    const DataType want = op->dtype();
    if (want.is_handle()) return builder_->CreateLoad(pointer_, slot(end, 8));
    if (want.is_float()) {
      return EmitCast(DataType::Float(64), want,
                      builder_->CreateLoad(builder_->getDoubleTy(), slot(end, 8)));
    }
    return EmitCast(DataType::Int(64), want, builder_->CreateLoad(type, slot(end, 8)));
  }
  // Nobody takes the result: an object in it is released here.
  llvm::Value* index = builder_->CreateLoad(builder_->getInt32Ty(), result);
  llvm::BasicBlock* release = NewBlock("release");
  llvm::BasicBlock* done = NewBlock("done");
  builder_->CreateCondBr(builder_->CreateICmpSGE(index, Int32(kTVMFFIStaticObjectBegin)), release,
                         done, llvm::MDBuilder(*context_).createBranchWeights(1, 1 << 20));
  builder_->SetInsertPoint(release);
  builder_->CreateCall(GlueFunction("TVMFFIObjectDecRef"),
                       {builder_->CreateLoad(pointer_, slot(end, 8))});
  builder_->CreateBr(done);
  builder_->SetInsertPoint(done);
  return Int32(0);
}

llvm::Value* CodeGenLLVM::CallTracePackedLowered(const CallNode* op) {
  // The callee may return a value that replaces the traced one.
  llvm::Value* traced = Emit(op->args[4]);
  llvm::Value* value = CallPackedLowered(op);
  llvm::Value* stack = Emit(op->args[1]);
  const int64_t end = ConstantArgument(op, 3, "result slot");
  llvm::Value* index = builder_->CreateLoad(
      builder_->getInt32Ty(),
      builder_->CreateInBoundsGEP(builder_->getInt8Ty(), stack, Int64(end * kAnyBytes)));
  return builder_->CreateSelect(builder_->CreateICmpEQ(index, Int32(kTVMFFINone)), traced, value);
}

llvm::Value* CodeGenLLVM::AnyListMove(const CallNode* op) {
  const int64_t index = ConstantArgument(op, 1, "index of anylist_move");
  const int64_t slot = ConstantArgument(op, 3, "slot of anylist_move");
  llvm::Value* value = builder_->CreateInBoundsGEP(builder_->getInt8Ty(), Emit(op->args[2]),
                                                   Int64(slot * kAnyBytes));
  return builder_->CreateCall(GlueFunction("__tvm_anylist_move"),
                              {Emit(op->args[0]), Int64(index), value});
}

llvm::Value* CodeGenLLVM::AnyListReset(const CallNode* op) {
  const int64_t index = ConstantArgument(op, 1, "index of anylist_resetitem");
  return builder_->CreateCall(
      GlueFunction("__tvm_anylist_move"),
      {Emit(op->args[0]), Int64(index), llvm::ConstantPointerNull::get(pointer_)});
}

llvm::Value* CodeGenLLVM::CheckArgs(const CallNode* op) {
  std::vector<llvm::Constant*> words, texts;
  for (size_t i = 3; i < op->args.size(); ++i) {
    if (const auto* text = op->args[i].as<tirx::StringImmNode>()) {
      texts.push_back(String(text->value));
    } else {
      words.push_back(Int64(ConstantArgument(op, i, "a word of check_args")));
    }
  }
  auto table = [&](llvm::Type* element, llvm::ArrayRef<llvm::Constant*> values, const char* name) {
    auto* type = llvm::ArrayType::get(element, values.size());
    return new llvm::GlobalVariable(*module_, type, /*isConstant=*/true,
                                    llvm::GlobalValue::PrivateLinkage,
                                    llvm::ConstantArray::get(type, values), name);
  };
  llvm::Value* status = builder_->CreateCall(
      GlueFunction("__tvm_check_args"),
      {Emit(op->args[0]), Emit(op->args[1]), Emit(op->args[2]),
       table(builder_->getInt64Ty(), words, "check"), table(pointer_, texts, "check_text")});
  CheckStatus(status);
  return Int32(0);
}

llvm::Value* CodeGenLLVM::CheckReturn(const CallNode* op) {
  llvm::Value* expected = Emit(op->args[0]);
  llvm::Value* otherwise = Emit(op->args[1]);
  llvm::Value* result = Emit(op->args[2]);
  llvm::BasicBlock* failed = NewBlock("failed");
  llvm::BasicBlock* good = NewBlock("good");
  builder_->CreateCondBr(builder_->CreateICmpEQ(result, expected), good, failed);
  builder_->SetInsertPoint(failed);
  EmitReturn(otherwise);
  builder_->SetInsertPoint(good);
  return result;
}

llvm::Value* CodeGenLLVM::AllocWorkspace(const CallNode* op) {
  std::vector<llvm::Value*> args;
  for (size_t i = 0; i < 5; ++i) {
    const DataType type = i == 2 ? DataType::Int(64) : DataType::Int(32);
    args.push_back(EmitCast(op->args[i].dtype(), type, Emit(op->args[i])));
  }
  llvm::CallInst* call = builder_->CreateCall(GlueFunction("__tvm_alloc_workspace"), args);
  call->addRetAttr(llvm::Attribute::NoAlias);
  return call;
}

llvm::Value* CodeGenLLVM::FreeWorkspace(const CallNode* op) {
  return builder_->CreateCall(
      GlueFunction("__tvm_free_workspace"),
      {EmitCast(op->args[0].dtype(), DataType::Int(32), Emit(op->args[0])),
       EmitCast(op->args[1].dtype(), DataType::Int(32), Emit(op->args[1])), Emit(op->args[2])});
}

// --- control behind calls ----------------------------------------------------------------------

llvm::Value* CodeGenLLVM::ThrowLastError(const CallNode*) {
  EmitFailure();
  builder_->SetInsertPoint(NewBlock("dead"));
  return Int32(0);
}

llvm::Value* CodeGenLLVM::Ret(const CallNode* op) {
  TVM_FFI_CHECK(parallel_.task_id == nullptr, ValueError) << "return inside a parallel loop";
  llvm::Value* value = op->args.empty() ? nullptr : Emit(op->args[0]);
  EmitReturn(value != nullptr && value->getType()->isVoidTy() ? nullptr : value);
  builder_->SetInsertPoint(NewBlock("dead"));
  return Int32(0);
}

llvm::Value* CodeGenLLVM::BreakLoop(const CallNode*) {
  TVM_FFI_CHECK(!loops_.empty(), ValueError) << "break outside of a serial loop";
  builder_->CreateBr(loops_.back().on_break);
  builder_->SetInsertPoint(NewBlock("dead"));
  return Int32(0);
}

llvm::Value* CodeGenLLVM::ContinueLoop(const CallNode*) {
  TVM_FFI_CHECK(!loops_.empty(), ValueError) << "continue outside of a serial loop";
  builder_->CreateBr(loops_.back().on_continue);
  builder_->SetInsertPoint(NewBlock("dead"));
  return Int32(0);
}

llvm::Value* CodeGenLLVM::StaticHandle(const CallNode*) {
  return new llvm::GlobalVariable(*module_, pointer_, /*isConstant=*/false,
                                  llvm::GlobalValue::InternalLinkage,
                                  llvm::ConstantPointerNull::get(pointer_), "static_handle");
}

llvm::Value* CodeGenLLVM::ContextId(const CallNode*) {
  return llvm::ConstantPointerNull::get(pointer_);
}

}  // namespace codegen
}  // namespace tvm
