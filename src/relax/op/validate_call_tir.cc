// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file
/// \brief Calls of kernels against the parameters of the kernel: FValidate of call_tir.
#include <tvm/ffi/function.h>
#include <tvm/ir/buffer.h>
#include <tvm/relax/attrs.h>
#include <tvm/relax/block_builder.h>
#include <tvm/relax/expr.h>
#include <tvm/relax/op_row.h>
#include <tvm/tirx/function.h>

#include <algorithm>
#include <string>
#include <vector>

namespace tvm {
namespace relax {

namespace {

/// Whether a tensor of type `given` can never be a buffer of type `expected`. What is not known
/// until run time is checked there.
bool IsProvablyDifferent(const tirx::BufferTypeNode* expected, const TensorTypeNode* given) {
  if (given->dtype.has_value() && given->ElementType() != expected->dtype) return true;
  if (given->ndim >= 0 && static_cast<size_t>(given->ndim) != expected->shape.size()) return true;
  const auto* shape = given->shape.has_value() ? given->shape.value().as<ShapeExprNode>() : nullptr;
  if (shape == nullptr) return false;
  for (size_t i = 0; i < expected->shape.size(); ++i) {
    const auto* a = expected->shape[i].as<IntImmNode>();
    const auto* b = shape->values[i].as<IntImmNode>();
    if (a != nullptr && b != nullptr && a->value != b->value) return true;
  }
  return false;
}

bool Accepts(const Type& param, const Type& given) {
  if (given.IsMissing() || given.as<AnyTypeNode>()) return true;
  if (const auto* buffer = param.as<tirx::BufferTypeNode>()) {
    const auto* tensor = given.as<TensorTypeNode>();
    return tensor != nullptr && !IsProvablyDifferent(buffer, tensor);
  }
  if (const auto* prim = param.as<PrimTypeNode>()) {
    const auto* value = given.as<PrimTypeNode>();
    return value != nullptr && value->dtype == prim->dtype;
  }
  return given.as<PrimTypeNode>() == nullptr;  // a pointer: the kernel looks into the tensor itself
}

/// Types of the outputs for which the kernel has a parameter; those of an in-place call that are
/// inputs have none of their own.
std::vector<Type> FreshOutputs(const Call& call, const Type& out_ty) {
  std::vector<Type> outputs;
  const auto* tuple = out_ty.as<TupleTypeNode>();
  const auto* inplace = call->attrs.as<CallTIRInplaceAttrs>();
  size_t count = tuple == nullptr ? 1 : tuple->fields.size();
  for (size_t i = 0; i < count; ++i) {
    bool reused = inplace != nullptr && i < inplace->inplace_indices.size() &&
                  inplace->inplace_indices[i] >= 0;
    if (!reused) outputs.push_back(tuple == nullptr ? out_ty : tuple->fields[i]);
  }
  return outputs;
}

/// Number of scalars that a third operand appends, or -1 if it is not known.
int64_t NumPackedInts(const Call& call) {
  if (call->args.size() < 3) return 0;
  if (const auto* shape = call->args[2].as<ShapeExprNode>()) return shape->values.size();
  const auto* ty = call->args[2]->ty.as<ShapeTypeNode>();
  return ty == nullptr ? -1 : ty->ndim;
}

/// Throws unless the kernel accepts the inputs, then the outputs, then the packed integers.
void ValidateCallTIR(const BlockBuilder& ctx, const Call& call) {
  const auto* gv = call->args[0].as<GlobalVarNode>();
  const auto* args = call->args.size() > 1 ? call->args[1].as<TupleNode>() : nullptr;
  if (gv == nullptr || args == nullptr || call->ty_args.size() != 1) return;
  IRModule mod = ctx->GetModule();
  if (!mod->ContainGlobalVar(gv->name_hint)) return;
  auto func = mod->Lookup(gv->name_hint).as<tirx::PrimFunc>();
  if (!func.has_value()) return;
  const ffi::Array<Var>& params = func.value()->params;
  std::vector<Type> outputs = FreshOutputs(call, call->ty_args[0]);
  const size_t num_inputs = args->fields.size();
  const int64_t packed = NumPackedInts(call);
  const size_t least =
      num_inputs + outputs.size() + static_cast<size_t>(std::max<int64_t>(packed, 0));
  TVM_FFI_CHECK(packed < 0 ? least <= params.size() : least == params.size(), ValueError)
      << "R.call_tir passes " << num_inputs << " inputs and " << outputs.size() << " outputs"
      << (packed > 0 ? " and " + std::to_string(packed) + " integers" : "") << " to the PrimFunc "
      << gv->name_hint << ", which has " << params.size() << " parameters";
  for (size_t i = 0; i < num_inputs; ++i) {
    TVM_FFI_CHECK(Accepts(params[i]->ty, args->fields[i]->ty), TypeError)
        << "The arguments for R.call_tir must be compatible with the PrimFunc " << gv->name_hint
        << ": its parameter " << params[i]->name << " has type " << params[i]->ty
        << ", but argument " << i << " has type " << args->fields[i]->ty;
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Var& param = params[num_inputs + i];
    TVM_FFI_CHECK(Accepts(param->ty, outputs[i]), TypeError)
        << "The `out_ty` argument for R.call_tir must be compatible with the PrimFunc "
        << gv->name_hint << ": its parameter " << param->name << " has type " << param->ty
        << ", but output " << i << " has type " << outputs[i];
  }
}

}  // namespace

TVM_FFI_STATIC_INIT_BLOCK() {
  for (const char* name :
       {"relax.call_tir", "relax.call_tir_with_grad", "relax.call_tir_inplace"}) {
    OpRegEntry::RegisterOrGet(name).set_attr<ffi::Function>(
        "FValidate", ffi::Function::FromTyped(ValidateCallTIR));
  }
}

}  // namespace relax
}  // namespace tvm
