// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
// Loads and stores: scalar, contiguous, reversed, strided, gathered, each with or without
// predicate.
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/MDBuilder.h>
#include <tvm/ffi/error.h>
#include <tvm/ir/scalar_op.h>

#include <numeric>

#include "codegen/llvm/codegen_llvm.h"

namespace tvm {
namespace codegen {
namespace {

/// Known factor of an index expression, so that vector accesses learn their alignment.
int64_t KnownFactor(const PrimExpr& expr, int depth = 0) {
  if (const int64_t* value = as_const_int(expr)) return *value;  // 0: multiple of everything
  if (depth > 8) return 1;
  if (const auto* add = expr.as<tirx::AddNode>()) {
    return std::gcd(KnownFactor(add->a, depth + 1), KnownFactor(add->b, depth + 1));
  }
  if (const auto* sub = expr.as<tirx::SubNode>()) {
    return std::gcd(KnownFactor(sub->a, depth + 1), KnownFactor(sub->b, depth + 1));
  }
  if (const auto* mul = expr.as<tirx::MulNode>()) {
    const int64_t a = KnownFactor(mul->a, depth + 1), b = KnownFactor(mul->b, depth + 1);
    return a > (int64_t{1} << 30) || b > (int64_t{1} << 30) ? 1 : a * b;
  }
  if (const auto* cast = expr.as<tirx::CastNode>()) return KnownFactor(cast->value, depth + 1);
  return 1;
}

bool IsVector(DataType dtype) { return dtype.is_scalable_or_fixed_length_vector(); }

}  // namespace

CodeGenLLVM::Storage& CodeGenLLVM::StorageOf(const VarNode* buffer) {
  auto it = storage_.find(buffer);
  if (it != storage_.end()) return it->second;
  auto value = values_.find(buffer);
  TVM_FFI_CHECK(value != values_.end(), InternalError)
      << "buffer `" << buffer->name << "` is used without being declared";
  // A pointer variable used as a buffer.
  const auto* type = buffer->ty.as<tirx::BufferTypeNode>();
  Storage storage{value->second, noalias_ ? NewAlias(buffer->name) : shared_alias_,
                  type ? type->dtype.element_of().bytes() : 1, false, depths_[buffer]};
  return storage_[buffer] = storage;
}

llvm::Instruction* CodeGenLLVM::Annotate(llvm::Instruction* access, const Storage& storage) {
  if (storage.alias != nullptr) access->setMetadata(llvm::LLVMContext::MD_tbaa, storage.alias);
  return access;
}

PrimExpr CodeGenLLVM::FlatIndex(const tirx::Buffer& buffer, const ffi::Array<PrimExpr>& indices) {
  if (indices.empty()) return IntImm::Int64(0);
  const int64_t* offset = as_const_int(buffer.elem_offset());
  if (indices.size() == 1 && buffer.strides().empty() && offset && *offset == 0) return indices[0];
  // Only the last index of an access that is not yet flat may be a vector.
  const auto* ramp = indices.back().as<tirx::RampNode>();
  const auto* broadcast = indices.back().as<tirx::BroadcastNode>();
  if (ramp == nullptr && broadcast == nullptr) return buffer.ElemOffset(indices);
  ffi::Array<PrimExpr> first = indices;
  first.Set(static_cast<int64_t>(indices.size()) - 1, ramp ? ramp->base : broadcast->value);
  const PrimExpr base = buffer.ElemOffset(first);
  if (broadcast != nullptr) return tirx::Broadcast(base, broadcast->lanes);
  PrimExpr stride = cast(base.dtype(), ramp->stride);
  if (!buffer.strides().empty()) stride = stride * cast(base.dtype(), buffer.strides().back());
  return tirx::Ramp(base, stride, ramp->lanes);
}

llvm::Value* CodeGenLLVM::LoadAt(const Storage& storage, DataType dtype, llvm::Value* address,
                                 int64_t align) {
  llvm::LoadInst* load = builder_->CreateAlignedLoad(
      MemoryTypeOf(dtype), address, llvm::Align(static_cast<uint64_t>(align)), storage.is_volatile);
  Annotate(load, storage);
  if (!dtype.is_predicate_dtype()) return load;
  return builder_->CreateICmpNE(load, llvm::Constant::getNullValue(load->getType()));
}

void CodeGenLLVM::StoreAt(const Storage& storage, DataType dtype, llvm::Value* value,
                          llvm::Value* address, int64_t align) {
  if (dtype.is_predicate_dtype()) value = builder_->CreateZExt(value, MemoryTypeOf(dtype));
  Annotate(builder_->CreateAlignedStore(value, address, llvm::Align(static_cast<uint64_t>(align)),
                                        storage.is_volatile),
           storage);
}

llvm::Value* CodeGenLLVM::AddressVector(const Storage& storage, DataType element,
                                        const PrimExpr& index) {
  llvm::Value* lanes = Emit(index);
  llvm::Type* wide = VectorOf(builder_->getInt64Ty(), index.dtype());
  lanes = builder_->CreateIntCast(lanes, wide, index.dtype().is_int());
  return builder_->CreateInBoundsGEP(MemoryTypeOf(element), storage.base, lanes);
}

// --- loads -------------------------------------------------------------------------------------

llvm::Value* CodeGenLLVM::VisitExpr_(const tirx::BufferLoadNode* op) {
  const Storage storage = StorageOf(op->buffer.get());
  const PrimExpr index = FlatIndex(op->buffer, op->indices);
  const DataType element = op->buffer.dtype();
  if (IsVector(index.dtype())) {
    return LoadVector(storage, element, index, op->dtype(), op->predicate);
  }
  if (op->predicate.has_value()) {
    llvm::Type* type = TypeOf(op->dtype());
    return EmitConditional(
        Emit(*op->predicate), type,
        [&] {
          int64_t align;
          llvm::Value* address = ElementAddress(storage, element, index, &align);
          return LoadAt(storage, op->dtype(), address, align);
        },
        [&]() -> llvm::Value* { return llvm::Constant::getNullValue(type); });
  }
  int64_t align;
  llvm::Value* address = ElementAddress(storage, element, index, &align);
  if (element.lanes() > 1) {
    const int64_t bytes = runtime::GetVectorBytes(element);
    if ((bytes & (bytes - 1)) == 0) align = std::min<int64_t>(storage.align, bytes);
  }
  return LoadAt(storage, op->dtype(), address, align);
}

namespace {

/// Alignment of `base + factor * bytes`, as a power of two.
int64_t VectorAlign(int64_t base_align, const PrimExpr& index, int64_t element_bytes) {
  const int64_t factor = KnownFactor(index);
  if (factor == 0) return base_align;
  const int64_t bytes = (factor < 0 ? -factor : factor) * element_bytes;
  return std::min(base_align, bytes & -bytes);
}

}  // namespace

llvm::Value* CodeGenLLVM::LoadVector(const Storage& storage, DataType element,
                                     const PrimExpr& index, DataType result,
                                     const ffi::Optional<PrimExpr>& predicate) {
  llvm::Value* mask = predicate.has_value() ? Emit(*predicate) : nullptr;
  const auto* ramp = index.as<tirx::RampNode>();
  const int64_t* stride = ramp ? as_const_int(ramp->stride) : nullptr;
  if (const auto* broadcast = index.as<tirx::BroadcastNode>(); broadcast && !mask) {
    int64_t align;
    llvm::Value* address = ElementAddress(storage, element, broadcast->value, &align);
    llvm::Value* value = LoadAt(storage, element, address, align);
    if (element.lanes() == 1) return Splat(value, result);
    std::vector<int> lanes;
    for (int i = 0; i < result.lanes(); ++i) lanes.push_back(i % element.lanes());
    return builder_->CreateShuffleVector(value, lanes);
  }
  if (stride && *stride == 1) {
    int64_t align;
    llvm::Value* address = ElementAddress(storage, element, ramp->base, &align);
    align =
        std::max(align, VectorAlign(storage.align, ramp->base, element.bytes() * element.lanes()));
    if (!mask) return LoadAt(storage, result, address, align);
    llvm::Type* memory = MemoryTypeOf(result);
    llvm::Instruction* load = builder_->CreateMaskedLoad(memory, address, llvm::Align(align), mask,
                                                         llvm::Constant::getNullValue(memory));
    Annotate(load, storage);
    if (!result.is_predicate_dtype()) return load;
    return builder_->CreateICmpNE(load, llvm::Constant::getNullValue(memory));
  }
  TVM_FFI_CHECK(element.lanes() == 1, ValueError)
      << "a strided vector access of a buffer of " << element.ToString() << " is not supported";
  if (stride && *stride == -1 && !mask && !result.is_scalable_vector()) {
    // Contiguous, backwards: one load from the lowest address, lanes reversed.
    const int lanes = result.lanes();
    int64_t align;
    llvm::Value* address = ElementAddress(storage, element, ramp->base, &align, 1 - lanes);
    return builder_->CreateVectorReverse(LoadAt(storage, result, address, align));
  }
  if (mask || result.is_scalable_vector()) {
    llvm::Type* memory = MemoryTypeOf(result);
    llvm::Value* addresses = AddressVector(storage, element, index);
    const auto count = llvm::cast<llvm::VectorType>(memory)->getElementCount();
    if (!mask) mask = builder_->CreateVectorSplat(count, builder_->getTrue());
    llvm::Instruction* load =
        builder_->CreateMaskedGather(memory, addresses, llvm::Align(std::max(1, element.bytes())),
                                     mask, llvm::Constant::getNullValue(memory));
    Annotate(load, storage);
    if (!result.is_predicate_dtype()) return load;
    return builder_->CreateICmpNE(load, llvm::Constant::getNullValue(memory));
  }
  // Lane by lane: gathers are no faster for the few lanes of a register.
  llvm::Value* indices = ramp ? nullptr : Emit(index);
  llvm::Value* vector = llvm::PoisonValue::get(TypeOf(result));
  for (int i = 0; i < result.lanes(); ++i) {
    int64_t align;
    llvm::Value* address = LaneAddress(storage, element, index, indices, i, &align);
    vector = builder_->CreateInsertElement(
        vector, LoadAt(storage, result.element_of(), address, align), Int32(i));
  }
  return vector;
}

// --- stores ------------------------------------------------------------------------------------

void CodeGenLLVM::VisitStmt_(const tirx::BufferStoreNode* op) {
  const PrimExpr index = FlatIndex(op->buffer, op->indices);
  const DataType element = op->buffer.dtype();
  const DataType dtype = op->value.dtype();
  llvm::Value* value = Emit(op->value);
  const Storage storage = StorageOf(op->buffer.get());
  if (IsVector(index.dtype())) {
    StoreVector(storage, element, index, value, dtype, op->predicate);
    return;
  }
  llvm::BasicBlock* join = nullptr;
  if (op->predicate.has_value()) {
    llvm::BasicBlock* then_block = NewBlock("then");
    join = NewBlock("join");
    builder_->CreateCondBr(Emit(*op->predicate), then_block, join);
    builder_->SetInsertPoint(then_block);
  }
  int64_t align;
  llvm::Value* address = ElementAddress(storage, element, index, &align);
  if (element.lanes() > 1) {
    const int64_t bytes = runtime::GetVectorBytes(element);
    if ((bytes & (bytes - 1)) == 0) align = std::min<int64_t>(storage.align, bytes);
  }
  StoreAt(storage, dtype, value, address, align);
  if (join != nullptr) {
    builder_->CreateBr(join);
    builder_->SetInsertPoint(join);
  }
}

void CodeGenLLVM::StoreVector(const Storage& storage, DataType element, const PrimExpr& index,
                              llvm::Value* value, DataType dtype,
                              const ffi::Optional<PrimExpr>& predicate) {
  llvm::Value* mask = predicate.has_value() ? Emit(*predicate) : nullptr;
  const auto* ramp = index.as<tirx::RampNode>();
  const int64_t* stride = ramp ? as_const_int(ramp->stride) : nullptr;
  if (stride && *stride == 1) {
    int64_t align;
    llvm::Value* address = ElementAddress(storage, element, ramp->base, &align);
    align =
        std::max(align, VectorAlign(storage.align, ramp->base, element.bytes() * element.lanes()));
    if (!mask) {
      StoreAt(storage, dtype, value, address, align);
      return;
    }
    if (dtype.is_predicate_dtype()) value = builder_->CreateZExt(value, MemoryTypeOf(dtype));
    Annotate(builder_->CreateMaskedStore(value, address, llvm::Align(align), mask), storage);
    return;
  }
  TVM_FFI_CHECK(element.lanes() == 1, ValueError)
      << "a strided vector access of a buffer of " << element.ToString() << " is not supported";
  if (stride && *stride == -1 && !mask && !dtype.is_scalable_vector()) {
    int64_t align;
    llvm::Value* address = ElementAddress(storage, element, ramp->base, &align, 1 - dtype.lanes());
    StoreAt(storage, dtype, builder_->CreateVectorReverse(value), address, align);
    return;
  }
  if (mask || dtype.is_scalable_vector()) {
    if (dtype.is_predicate_dtype()) value = builder_->CreateZExt(value, MemoryTypeOf(dtype));
    llvm::Value* addresses = AddressVector(storage, element, index);
    const auto count = llvm::cast<llvm::VectorType>(value->getType())->getElementCount();
    if (!mask) mask = builder_->CreateVectorSplat(count, builder_->getTrue());
    Annotate(builder_->CreateMaskedScatter(value, addresses,
                                           llvm::Align(std::max(1, element.bytes())), mask),
             storage);
    return;
  }
  // In lane order: where two lanes name one element, the last one wins.
  llvm::Value* indices = ramp ? nullptr : Emit(index);
  for (int i = 0; i < dtype.lanes(); ++i) {
    int64_t align;
    llvm::Value* address = LaneAddress(storage, element, index, indices, i, &align);
    StoreAt(storage, dtype.element_of(), Lane(value, i), address, align);
  }
}

}  // namespace codegen
}  // namespace tvm
