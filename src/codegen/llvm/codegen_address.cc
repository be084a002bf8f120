// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
// Addresses of elements.
//
// An index is taken apart into a sum, whose terms are added to the address of the buffer one by
// one: those of outer loops first, so that LLVM moves what is left in a loop out of it, the
// constant last, as a part of the instruction that reads memory. In an innermost loop that does
// enough to be worth it, the address is computed before the loop and steps along with the counter.
// This takes the place of LLVM's strength reduction, which finds the same form by search.
#include <tvm/ir/scalar_op.h>

#include <algorithm>

#include "codegen/llvm/codegen_llvm.h"

namespace tvm {
namespace codegen {
namespace {

/// Addresses that step along in one loop: each takes a register.
constexpr size_t kMostPointers = 6;

/// Wraps around, as the constant of an index outside of every buffer may.
int64_t Times(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}
int64_t Plus(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}

}  // namespace

int CodeGenLLVM::DepthOf(const PrimExpr& expr) {
  auto known = [&](const VarNode* var) {
    auto it = depths_.find(var);
    return it == depths_.end() ? 0 : it->second;
  };
  if (const auto* var = expr.as<VarNode>()) return known(var);
  int depth = 0;
  tirx::PostOrderVisit(expr, [&](const ffi::ObjectRef& node) {
    if (const auto* var = node.as<VarNode>()) {
      depth = std::max(depth, known(var));
    } else if (node.as<tirx::BufferLoadNode>() || node.as<CallNode>()) {
      depth = std::max(depth, static_cast<int>(loops_.size()));
    }
  });
  return depth;
}

void CodeGenLLVM::AddTerms(const PrimExpr& expr, int64_t factor, IndexSum* sum) {
  if (expr.dtype().is_int()) {
    if (const auto* add = expr.as<tirx::AddNode>()) {
      AddTerms(add->a, factor, sum);
      AddTerms(add->b, factor, sum);
      return;
    }
    if (const auto* sub = expr.as<tirx::SubNode>()) {
      AddTerms(sub->a, factor, sum);
      AddTerms(sub->b, Times(factor, -1), sum);
      return;
    }
    if (const auto* mul = expr.as<tirx::MulNode>()) {
      const int64_t* times = as_const_int(mul->b);
      if (times != nullptr) return AddTerms(mul->a, Times(factor, *times), sum);
    }
    if (const auto* cast = expr.as<tirx::CastNode>()) {
      const DataType from = cast->value.dtype();
      if (from.is_int() && expr.dtype().bits() >= from.bits()) {
        return AddTerms(cast->value, factor, sum);
      }
    }
  }
  llvm::Value* value = EmitIndex(expr);
  if (const auto* known = llvm::dyn_cast<llvm::ConstantInt>(value)) {
    sum->constant = Plus(sum->constant, Times(factor, known->getSExtValue()));
    return;
  }
  for (IndexSum::Term& term : sum->terms) {
    if (term.value != value) continue;
    term.factor = Plus(term.factor, factor);
    return;
  }
  const int depth = DepthOf(expr);
  auto place = std::find_if(sum->terms.begin(), sum->terms.end(),
                            [&](const IndexSum::Term& term) { return term.depth > depth; });
  const auto* var = expr.as<VarNode>();
  auto is_known = [&](const auto& values) {
    auto it = values.find(var);
    return it != values.end() && it->second == value;
  };
  const bool is_here = var == nullptr || !(is_known(wide_values_) || is_known(values_));
  sum->terms.insert(place, {value, factor, depth, is_here});
}

llvm::Value* CodeGenLLVM::AddToAddress(AddressTable* table, llvm::Value* base, llvm::Type* scalar,
                                       int64_t bytes, const IndexSum::Term& term, bool inbounds) {
  const int64_t step = Times(term.factor, bytes);
  llvm::Value*& known = (*table)[{base, term.value, step}];
  if (known != nullptr) return known;
  const auto flags = inbounds ? llvm::GEPNoWrapFlags::inBounds() : llvm::GEPNoWrapFlags::none();
  if (term.factor == 1) return known = builder_->CreateGEP(scalar, base, term.value, "", flags);
  llvm::Value* offset = builder_->CreateNSWMul(term.value, Int64(step));
  return known = builder_->CreateGEP(builder_->getInt8Ty(), base, offset, "", flags);
}

llvm::Value* CodeGenLLVM::StepAlong(const Storage& storage, llvm::Type* scalar, int64_t bytes,
                                    IndexSum* sum) {
  OpenLoop* loop = loops_.empty() ? nullptr : &loops_.back();
  const int depth = static_cast<int>(loops_.size());
  if (loop == nullptr || loop->counter == nullptr || storage.depth >= depth) return storage.base;
  llvm::Value* address = storage.base;
  std::vector<IndexSum::Term> left;
  Builder::InsertPointGuard guard(*builder_);
  builder_->SetInsertPoint(loop->before->getTerminator());
  int64_t along = 0;
  for (const IndexSum::Term& term : sum->terms) {
    if (term.value == loop->counter) along = Times(Times(term.factor, bytes), loop->step);
    if (term.depth < depth && !term.is_here) {
      address = AddToAddress(&loop->outer, address, scalar, bytes, term, /*inbounds=*/false);
    } else {
      left.push_back(term);
    }
  }
  sum->terms = std::move(left);
  llvm::Value* pointer = along == 0 ? nullptr : SteppingPointer(loop, address, along);
  if (pointer == nullptr) return address;
  std::erase_if(sum->terms, [&](const auto& term) { return term.value == loop->counter; });
  return pointer;
}

llvm::Value* CodeGenLLVM::SteppingPointer(OpenLoop* loop, llvm::Value* first, int64_t bytes) {
  for (const OpenLoop::Pointer& known : loop->pointers) {
    if (known.first == first && known.bytes == bytes) return known.value;
  }
  if (loop->pointers.size() == kMostPointers) return nullptr;
  auto* phi =
      llvm::PHINode::Create(pointer_, 2, "at", loop->counter->getParent()->getFirstNonPHIIt());
  phi->addIncoming(first, loop->before);
  loop->pointers.push_back({first, bytes, phi});
  return phi;
}

llvm::Value* CodeGenLLVM::ElementAddress(const Storage& storage, DataType element,
                                         const PrimExpr& index, int64_t* align, int64_t plus) {
  llvm::Type* scalar = MemoryTypeOf(element.element_of());
  const auto bytes = static_cast<int64_t>(target_.data_layout().getTypeAllocSize(scalar));
  *align = std::min<int64_t>(storage.align, std::max(1, element.element_of().bytes()));
  IndexSum sum;
  AddTerms(index, element.lanes(), &sum);
  sum.constant = Plus(sum.constant, Times(plus, element.lanes()));
  // A part of the sum may lie outside of the buffer.
  const bool single = sum.terms.size() + (sum.constant != 0 ? 1 : 0) <= 1;
  // Unrolled bodies read many elements that differ in the constant only.
  if (builder_->GetInsertBlock() != addresses_block_) {
    addresses_.clear();
    addresses_block_ = builder_->GetInsertBlock();
  }
  llvm::Value* address = StepAlong(storage, scalar, bytes, &sum);
  for (const IndexSum::Term& term : sum.terms) {
    if (term.factor == 0) continue;
    address = AddToAddress(&addresses_, address, scalar, bytes, term, single);
  }
  if (sum.constant == 0) return address;
  llvm::Value* last = Int64(Times(sum.constant, bytes));
  return single ? builder_->CreateInBoundsGEP(builder_->getInt8Ty(), address, last)
                : builder_->CreateGEP(builder_->getInt8Ty(), address, last);
}

llvm::Value* CodeGenLLVM::LaneAddress(const Storage& storage, DataType element,
                                      const PrimExpr& index, llvm::Value* indices, int lane,
                                      int64_t* align) {
  if (const auto* ramp = index.as<tirx::RampNode>()) {
    const DataType wide = DataType::Int(64);
    const PrimExpr at = cast(wide, ramp->base) + cast(wide, ramp->stride) * IntImm::Int64(lane);
    return ElementAddress(storage, element, at, align);
  }
  *align = std::min<int64_t>(storage.align, std::max(1, element.bytes()));
  llvm::Value* at =
      builder_->CreateIntCast(Lane(indices, lane), builder_->getInt64Ty(), index.dtype().is_int());
  return builder_->CreateInBoundsGEP(MemoryTypeOf(element), storage.base, at);
}

}  // namespace codegen
}  // namespace tvm
