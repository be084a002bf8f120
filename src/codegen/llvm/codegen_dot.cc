// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
// tirx.dot_lanes: one instruction where the target has it, else widened products.
#include <llvm/IR/Intrinsics.h>
#include <tvm/ffi/error.h>

#include <vector>

#include "codegen/llvm/codegen_llvm.h"

namespace tvm {
namespace codegen {
namespace {

enum class Element { kU8, kS8, kS16, kBF16, kOther };

Element ElementOf(DataType dtype) {
  if (dtype.is_uint() && dtype.bits() == 8) return Element::kU8;
  if (dtype.is_int() && dtype.bits() == 8) return Element::kS8;
  if (dtype.is_int() && dtype.bits() == 16) return Element::kS16;
  return dtype.is_bfloat16() ? Element::kBF16 : Element::kOther;
}

/// c[i] + the products of `group` neighbouring lanes of a and b, for `lanes` sums of 32 bits.
struct DotRow {
  Element a, b;
  int group, lanes;
  const char* feature;
  const char* intrinsic;
};

// None of them saturates: vpdpbusd adds the four products in 32 bits.
constexpr DotRow kRows[] = {
    {Element::kU8, Element::kS8, 4, 16, "avx512vnni", "llvm.x86.avx512.vpdpbusd.512"},
    {Element::kU8, Element::kS8, 4, 8, "avx512vnni", "llvm.x86.avx512.vpdpbusd.256"},
    {Element::kU8, Element::kS8, 4, 8, "avxvnni", "llvm.x86.avx512.vpdpbusd.256"},
    {Element::kU8, Element::kS8, 4, 4, "avx512vnni", "llvm.x86.avx512.vpdpbusd.128"},
    {Element::kU8, Element::kS8, 4, 4, "avxvnni", "llvm.x86.avx512.vpdpbusd.128"},
    {Element::kS16, Element::kS16, 2, 16, "avx512bw", "llvm.x86.avx512.pmaddw.d.512"},
    {Element::kS16, Element::kS16, 2, 8, "avx2", "llvm.x86.avx2.pmadd.wd"},
    {Element::kS16, Element::kS16, 2, 4, "sse2", "llvm.x86.sse2.pmadd.wd"},
    {Element::kBF16, Element::kBF16, 2, 16, "avx512bf16", "llvm.x86.avx512bf16.dpbf16ps.512"},
    {Element::kBF16, Element::kBF16, 2, 8, "avx512bf16", "llvm.x86.avx512bf16.dpbf16ps.256"},
    {Element::kBF16, Element::kBF16, 2, 4, "avx512bf16", "llvm.x86.avx512bf16.dpbf16ps.128"},
    {Element::kS8, Element::kS8, 4, 4, "dotprod", "llvm.aarch64.neon.sdot"},
    {Element::kU8, Element::kU8, 4, 4, "dotprod", "llvm.aarch64.neon.udot"},
    {Element::kU8, Element::kS8, 4, 4, "i8mm", "llvm.aarch64.neon.usdot"},
};

}  // namespace

bool CodeGenLLVM::TargetHas(const char* feature) {
  auto [it, is_new] = features_.try_emplace(feature, false);
  if (is_new) it->second = target_.HasFeature(feature);
  return it->second;
}

const char* CodeGenLLVM::DotIntrinsic(DataType a, DataType b, DataType c) {
  const bool is_float = a.is_bfloat16();
  if (c.bits() != 32 || !(is_float ? c.is_float() : c.is_int())) return nullptr;
  for (const DotRow& row : kRows) {
    if (row.a == ElementOf(a) && row.b == ElementOf(b) && row.lanes == c.lanes() &&
        row.group * c.lanes() == a.lanes() && TargetHas(row.feature)) {
      return row.intrinsic;
    }
  }
  return nullptr;
}

llvm::Value* CodeGenLLVM::DotLanes(const CallNode* op) {
  const DataType a = op->args[0].dtype(), b = op->args[1].dtype(), c = op->dtype();
  TVM_FFI_CHECK(a.lanes() == b.lanes() && a.lanes() % c.lanes() == 0 && op->args[2].dtype() == c,
                TypeError)
      << "dot_lanes of " << a.ToString() << ", " << b.ToString() << " and "
      << op->args[2].dtype().ToString() << " gives no " << c.ToString();
  llvm::Value* x = Emit(op->args[0]);
  llvm::Value* y = Emit(op->args[1]);
  llvm::Value* sum = Emit(op->args[2]);
  if (const char* name = DotIntrinsic(a, b, c)) {
    const llvm::Intrinsic::ID id = LookupIntrinsic(name);
    TVM_FFI_CHECK(id != llvm::Intrinsic::not_intrinsic, InternalError) << "no intrinsic " << name;
    std::vector<llvm::Type*> overloads;
    if (a.is_bfloat16()) {
      llvm::Type* bfloats = llvm::FixedVectorType::get(builder_->getBFloatTy(), a.lanes());
      x = builder_->CreateBitCast(x, bfloats);
      y = builder_->CreateBitCast(y, bfloats);
    }
    if (llvm::Intrinsic::isOverloaded(id)) overloads = {sum->getType(), x->getType()};
    llvm::Function* callee = DeclareIntrinsic(module_.get(), id, overloads);
    llvm::FunctionType* type = callee->getFunctionType();
    // pmadd has no sum to add to. Element types differ between LLVM versions; only bits matter.
    const bool adds = type->getNumParams() == 3;
    std::vector<llvm::Value*> args = {x, y};
    if (adds) args.insert(args.begin(), sum);
    for (unsigned i = 0; i < args.size(); ++i) {
      args[i] = builder_->CreateBitCast(args[i], type->getParamType(i));
    }
    llvm::Value* dot = builder_->CreateCall(callee, args);
    return adds ? dot : builder_->CreateAdd(sum, dot);
  }
  const int group = a.lanes() / c.lanes();
  auto part = [&](llvm::Value* vector, DataType dtype, int j) {
    std::vector<int> lanes;
    for (int i = 0; i < c.lanes(); ++i) lanes.push_back(i * group + j);
    llvm::Value* picked =
        c.lanes() == 1 ? Lane(vector, j) : builder_->CreateShuffleVector(vector, lanes);
    return EmitCast(dtype.with_lanes(c.lanes()), c, picked);
  };
  for (int j = 0; j < group; ++j) {
    llvm::Value* left = group * c.lanes() == 1 ? EmitCast(a, c, x) : part(x, a, j);
    llvm::Value* right = group * c.lanes() == 1 ? EmitCast(b, c, y) : part(y, b, j);
    sum = c.is_any_float() ? builder_->CreateFAdd(builder_->CreateFMul(left, right), sum)
                           : builder_->CreateAdd(builder_->CreateMul(left, right), sum);
  }
  return sum;
}

}  // namespace codegen
}  // namespace tvm
