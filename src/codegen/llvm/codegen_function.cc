// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
// Functions, types, constants and failure paths.
#include <llvm/IR/Constants.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/Support/raw_ostream.h>
#include <tvm/ffi/error.h>

#include "codegen/llvm/codegen_llvm.h"

namespace tvm {
namespace codegen {

CodeGenLLVM::CodeGenLLVM(const LLVMTarget& target, llvm::LLVMContext* context,
                         const std::string& name, const std::unordered_set<std::string>& siblings)
    : target_(target),
      siblings_(siblings),
      context_(context),
      module_(std::make_unique<llvm::Module>(name, *context)),
      builder_(std::make_unique<Builder>(*context)),
      pointer_(llvm::PointerType::get(*context, 0)) {
  SetTriple(module_.get(), target.triple());
  module_->setDataLayout(target.data_layout());
  module_->setPICLevel(llvm::PICLevel::BigPIC);
  builder_->setFastMathFlags(target.fast_math());
  alias_root_ = llvm::MDBuilder(*context).createTBAARoot("opentvm");
  abi_alias_ = NewAlias("abi");
  shared_alias_ = NewAlias("shared");
}

std::unique_ptr<llvm::Module> CodeGenLLVM::Finish() {
  builder_.reset();
  return std::move(module_);
}

// --- types and constants -----------------------------------------------------------------------

llvm::VectorType* CodeGenLLVM::VectorOf(llvm::Type* element, DataType like) const {
  if (like.is_scalable_vector())
    return llvm::ScalableVectorType::get(element, like.vscale_factor());
  return llvm::FixedVectorType::get(element, like.lanes());
}

llvm::Type* CodeGenLLVM::TypeOf(DataType dtype) const {
  if (dtype.is_void()) return llvm::Type::getVoidTy(*context_);
  llvm::Type* element = nullptr;
  if (dtype.is_predicate_dtype()) {
    element = llvm::Type::getInt1Ty(*context_);
  } else if (dtype.is_int() || dtype.is_uint()) {
    element = llvm::Type::getIntNTy(*context_, dtype.bits());
  } else if (dtype.is_handle()) {
    element = pointer_;
  } else if (dtype.is_bfloat16()) {
    // Its bits: LLVM ends the process on vectors of bfloat of odd lengths. Arithmetic is in
    // float32.
    element = llvm::Type::getInt16Ty(*context_);
  } else if (dtype.is_float() && dtype.bits() == 16) {
    element = llvm::Type::getHalfTy(*context_);
  } else if (dtype.is_float() && dtype.bits() == 32) {
    element = llvm::Type::getFloatTy(*context_);
  } else if (dtype.is_float() && dtype.bits() == 64) {
    element = llvm::Type::getDoubleTy(*context_);
  } else {
    TVM_FFI_THROW(ValueError) << "LLVM code generation has no type for " << dtype.ToString()
                              << "; legalize it before code generation";
  }
  return dtype.is_scalable_or_fixed_length_vector() ? VectorOf(element, dtype) : element;
}

llvm::Type* CodeGenLLVM::MemoryTypeOf(DataType dtype) const {
  if (dtype.is_predicate_dtype()) {
    llvm::Type* byte = llvm::Type::getInt8Ty(*context_);
    return dtype.is_scalable_or_fixed_length_vector() ? VectorOf(byte, dtype) : byte;
  }
  if ((dtype.is_int() || dtype.is_uint()) && dtype.bits() % 8 != 0) {
    TVM_FFI_THROW(ValueError) << "a buffer of " << dtype.ToString()
                              << " cannot be addressed element by element; store its elements in "
                                 "int8 and cast";
  }
  return TypeOf(dtype);
}

llvm::Type* CodeGenLLVM::TypeOf(const Type& type) const {
  if (IsVoidType(type)) return llvm::Type::getVoidTy(*context_);
  return type.as<PrimTypeNode>() ? TypeOf(DataTypeOf(type)) : pointer_;
}

llvm::Constant* CodeGenLLVM::String(const std::string& text) {
  llvm::Constant*& known = strings_[text];
  if (known == nullptr) {
    llvm::Constant* bytes = llvm::ConstantDataArray::getString(*context_, text, /*AddNull=*/true);
    auto* global = new llvm::GlobalVariable(*module_, bytes->getType(), /*isConstant=*/true,
                                            llvm::GlobalValue::PrivateLinkage, bytes, "str");
    global->setUnnamedAddr(llvm::GlobalValue::UnnamedAddr::Global);
    global->setAlignment(llvm::Align(1));
    known = global;
  }
  return known;
}

llvm::Value* CodeGenLLVM::Splat(llvm::Value* scalar, DataType like) {
  if (!like.is_scalable_or_fixed_length_vector()) return scalar;
  const auto count = like.is_scalable_vector()
                         ? llvm::ElementCount::getScalable(like.vscale_factor())
                         : llvm::ElementCount::getFixed(like.lanes());
  return builder_->CreateVectorSplat(count, scalar);
}

llvm::MDNode* CodeGenLLVM::NewAlias(const std::string& name) {
  // Siblings below one root do not alias each other.
  llvm::MDBuilder builder(*context_);
  llvm::MDNode* type =
      builder.createTBAAScalarTypeNode(name + "#" + std::to_string(alias_count_++), alias_root_);
  return builder.createTBAAStructTagNode(type, type, 0);
}

// --- functions ---------------------------------------------------------------------------------

llvm::FunctionType* CodeGenLLVM::SignatureOf(const tirx::PrimFunc& func) const {
  std::vector<llvm::Type*> params;
  for (const Var& param : func->params) params.push_back(TypeOf(param->ty));
  // A function without a value returns a status: 0, or -1 when an error is set.
  llvm::Type* result = llvm::Type::getInt32Ty(*context_);
  if (tirx::ReturnsValue(func.get())) result = TypeOf(func->ret_type);
  return llvm::FunctionType::get(result, params, /*isVarArg=*/false);
}

void CodeGenLLVM::SetFunctionAttributes(llvm::Function* function) const {
  function->addFnAttr(llvm::Attribute::NoUnwind);
  function->addFnAttr("target-cpu", target_.cpu());
  if (!target_.features().empty()) function->addFnAttr("target-features", target_.features());
  if (target_.vector_bits() > 256 && target_.triple().isX86()) {
    function->addFnAttr("prefer-vector-width", std::to_string(target_.vector_bits()));
  }
  function->addFnAttr("no-trapping-math", "true");
}

void CodeGenLLVM::Declare(const FunctionUnit& unit) {
  const auto linkage =
      unit.exported ? llvm::GlobalValue::ExternalLinkage : llvm::GlobalValue::InternalLinkage;
  llvm::Function* function =
      llvm::Function::Create(SignatureOf(unit.func), linkage, unit.symbol, module_.get());
  SetFunctionAttributes(function);
  if (unit.exported) function->setVisibility(llvm::GlobalValue::DefaultVisibility);
  for (const std::string& alias : unit.aliases) {
    llvm::GlobalAlias::create(function->getValueType(), 0, llvm::GlobalValue::ExternalLinkage,
                              alias, function, module_.get());
  }
  declared_[unit.var.get()] = function;
}

void CodeGenLLVM::Define(const FunctionUnit& unit) {
  BeginFunction(declared_.at(unit.var.get()));
  noalias_ = unit.func->HasNonzeroAttr(tirx::attr::kNoAlias);
  flushes_subnormals_ = unit.func->HasNonzeroAttr(tirx::attr::kFlushSubnormals);
  size_t index = 0;
  for (const Var& param : unit.func->params) {
    llvm::Argument* argument = function_->getArg(index++);
    argument->setName(std::string(param->name));
    values_[param.get()] = argument;
    if (const auto* type = param->ty.as<tirx::BufferTypeNode>()) {
      if (noalias_) argument->addAttr(llvm::Attribute::NoAlias);
      BindStorage(param.get(), {argument, noalias_ ? NewAlias(param->name) : shared_alias_,
                                type->dtype.bytes(), false});
    }
  }
  EmitStmt(unit.func->body);
  if (BlockIsOpen()) {
    if (tirx::ReturnsValue(unit.func.get())) {
      builder_->CreateRet(llvm::Constant::getNullValue(function_->getReturnType()));
    } else {
      EmitReturn(nullptr);
    }
  }
  function_ = nullptr;
}

void CodeGenLLVM::BeginFunction(llvm::Function* function) {
  function_ = function;
  values_.clear();
  wide_values_.clear();
  storage_.clear();
  depths_.clear();
  addresses_block_ = nullptr;
  loops_.clear();
  llvm::BasicBlock* entry = llvm::BasicBlock::Create(*context_, "entry", function);
  llvm::BasicBlock* body = llvm::BasicBlock::Create(*context_, "body", function);
  builder_->SetInsertPoint(entry);
  builder_->CreateBr(body);
  builder_->SetInsertPoint(body);
}

llvm::BasicBlock* CodeGenLLVM::NewBlock(const char* name) {
  return llvm::BasicBlock::Create(*context_, name, function_);
}

llvm::AllocaInst* CodeGenLLVM::EntryAlloca(llvm::Type* type, uint64_t count, uint64_t align,
                                           const std::string& name) {
  llvm::BasicBlock& entry = function_->getEntryBlock();
  Builder at(&entry, entry.begin());
  llvm::Type* storage = count == 1 ? type : llvm::ArrayType::get(type, count);
  llvm::AllocaInst* slot = at.CreateAlloca(storage, nullptr, name);
  if (align > 1) slot->setAlignment(llvm::Align(align));
  return slot;
}

llvm::Function* CodeGenLLVM::ExternFunction(const std::string& name, llvm::FunctionType* type) {
  if (llvm::Function* known = module_->getFunction(name)) {
    TVM_FFI_CHECK(known->getFunctionType() == type, ValueError)
        << "C function `" << name << "` is called with two different signatures";
    return known;
  }
  llvm::Function* function =
      llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, name, module_.get());
  function->addFnAttr(llvm::Attribute::NoUnwind);
  return function;
}

namespace {

struct GlueRow {
  const char* name;
  const char* result;  // one letter a type: i int32, l int64, p pointer, v void
  const char* params;
};
// The C functions of src/codegen/argcheck, and those of libtvm_ffi.
constexpr GlueRow kGlue[] = {
    {"__tvm_check_args", "i", "pippp"},    {"__tvm_parallel_launch", "i", "ppi"},
    {"__tvm_parallel_barrier", "i", "ip"}, {"__tvm_alloc_workspace", "p", "iilii"},
    {"__tvm_free_workspace", "i", "iip"},  {"__tvm_lookup_function", "p", "pp"},
    {"TVMFFIFunctionCall", "i", "ppip"},   {"TVMFFIErrorSetRaisedFromCStrParts", "v", "ppi"},
    {"TVMFFIObjectDecRef", "i", "p"},      {"TVMFFIAnyViewToOwnedAny", "i", "pp"},
    {"__tvm_anylist_move", "i", "plp"},
};

}  // namespace

llvm::Function* CodeGenLLVM::GlueFunction(const char* name) {
  if (llvm::Function* known = module_->getFunction(name)) return known;
  auto decode = [&](char letter) -> llvm::Type* {
    switch (letter) {
      case 'i':
        return builder_->getInt32Ty();
      case 'l':
        return builder_->getInt64Ty();
      case 'p':
        return pointer_;
      default:
        return builder_->getVoidTy();
    }
  };
  for (const GlueRow& row : kGlue) {
    if (std::string_view(row.name) != name) continue;
    std::vector<llvm::Type*> params;
    for (const char* at = row.params; *at != 0; ++at) params.push_back(decode(*at));
    llvm::Function* function =
        ExternFunction(name, llvm::FunctionType::get(decode(row.result[0]), params, false));
    // Glue lies in the same library; libtvm_ffi does not.
    if (name[0] == '_') function->setVisibility(llvm::GlobalValue::HiddenVisibility);
    return function;
  }
  TVM_FFI_THROW(InternalError) << "no glue function " << name;
  TVM_FFI_UNREACHABLE();
}

// --- failure -----------------------------------------------------------------------------------

void CodeGenLLVM::EmitReturn(llvm::Value* value) {
  llvm::Type* type = function_->getReturnType();
  if (value == nullptr) {
    TVM_FFI_CHECK(type->isIntegerTy(32), ValueError)
        << "function `" << function_->getName().str() << "` must return a value";
    value = Int32(0);
  }
  TVM_FFI_CHECK(value->getType() == type, TypeError)
      << "function `" << function_->getName().str() << "` returns a value of another type than its "
      << "ret_type";
  builder_->CreateRet(value);
}

void CodeGenLLVM::EmitFailure() {
  TVM_FFI_CHECK(function_->getReturnType()->isIntegerTy(32), ValueError)
      << "function `" << function_->getName().str()
      << "` returns a value, so it cannot report an error: it may hold no assertion, argument "
         "check "
         "or packed call";
  builder_->CreateRet(Int32(-1));
}

void CodeGenLLVM::CheckStatus(llvm::Value* status) {
  llvm::BasicBlock* failed = NewBlock("failed");
  llvm::BasicBlock* good = NewBlock("good");
  llvm::Value* is_good = builder_->CreateICmpEQ(status, Int32(0));
  builder_->CreateCondBr(is_good, good, failed,
                         llvm::MDBuilder(*context_).createBranchWeights(1 << 20, 1));
  builder_->SetInsertPoint(failed);
  EmitFailure();
  builder_->SetInsertPoint(good);
}

void CodeGenLLVM::RaiseUnless(llvm::Value* condition, const std::string& kind,
                              const std::vector<std::string>& parts) {
  llvm::BasicBlock* failed = NewBlock("raise");
  llvm::BasicBlock* good = NewBlock("good");
  builder_->CreateCondBr(condition, good, failed,
                         llvm::MDBuilder(*context_).createBranchWeights(1 << 20, 1));
  builder_->SetInsertPoint(failed);
  std::vector<llvm::Constant*> texts;
  for (const std::string& part : parts) texts.push_back(String(part));
  auto* table_type = llvm::ArrayType::get(pointer_, texts.size());
  auto* table =
      new llvm::GlobalVariable(*module_, table_type, true, llvm::GlobalValue::PrivateLinkage,
                               llvm::ConstantArray::get(table_type, texts), "parts");
  builder_->CreateCall(GlueFunction("TVMFFIErrorSetRaisedFromCStrParts"),
                       {String(kind), table, Int32(static_cast<int64_t>(texts.size()))});
  EmitFailure();
  builder_->SetInsertPoint(good);
}

}  // namespace codegen
}  // namespace tvm
