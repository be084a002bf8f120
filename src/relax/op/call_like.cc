// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file
/// \brief Calls of kernels, packed functions and closures; shapes; memory and virtual machine.
#include "relax/op/call_like.h"

#include <tvm/ffi/reflection/registry.h>
#include <tvm/relax/analysis.h>
#include <tvm/tirx/function.h>

#include "relax/op/common.h"
#include "relax/op/lower_rules.h"

namespace tvm {
namespace relax {

namespace {

Type FromTyArgs(const Call& call) {
  if (call->ty_args.empty()) return AnyType();
  if (call->ty_args.size() == 1) return call->ty_args[0];
  return TupleType(call->ty_args);
}
void CheckOutTy(const Call& call, const Type& ty) {
  auto check = [&](const Type& t) {
    const auto* tensor = t.as<TensorTypeNode>();
    TVM_FFI_CHECK(
        tensor != nullptr && tensor->shape.has_value() && tensor->shape.value().as<ShapeExprNode>(),
        ValueError)
        << "out_ty of call_tir should have defined ShapeExpr as shape. However, one given is " << t;
  };
  if (const auto* tuple = ty.as<TupleTypeNode>()) {
    for (const Type& f : tuple->fields) check(f);
  } else {
    check(ty);
  }
}
Type InferCallTIR(const Call& call, const BlockBuilder&) {
  TVM_FFI_CHECK(call->args[0].as<GlobalVarNode>(), TypeError)
      << OpName(call) << " expects its first argument to be a GlobalVar, but got " << call->args[0];
  TVM_FFI_CHECK(call->ty_args.size() == 1, ValueError)
      << OpName(call) << " should have exactly one output type, but got " << call->ty_args.size();
  CheckOutTy(call, call->ty_args[0]);
  return call->ty_args[0];
}
Type InferCallDPS(const Call& call, const BlockBuilder&) {
  TVM_FFI_CHECK(call->ty_args.size() == 1, ValueError)
      << OpName(call) << " should have exactly one output type, but got " << call->ty_args.size();
  return call->ty_args[0];
}
Type InferTyArgs(const Call& call, const BlockBuilder&) { return FromTyArgs(call); }
Type InferCallPacked(const Call& call, const BlockBuilder& ctx) {
  TVM_FFI_CHECK(!call->args.empty(), ValueError) << OpName(call) << " needs a callee";
  const auto* func = call->args[0]->ty.as<FuncTypeNode>();
  TVM_FFI_CHECK(func != nullptr && func->IsOpaque(), TypeError)
      << OpName(call) << " expects an opaque function as the callee, but got type "
      << call->args[0]->ty;
  if (!call->ty_args.empty()) return FromTyArgs(call);
  Array<Expr> rest(call->args.begin() + 1, call->args.end());
  Call inner(call->args[0], rest, Attrs(), call->ty_args);
  return DeriveCallRetType(GetRef<FuncType>(func), inner, ctx);
}
Type InferAny(const Call&, const BlockBuilder&) { return AnyType(); }
Type InferVoid(const Call&, const BlockBuilder&) { return TupleType(Array<Type>()); }
Type InferAssert(const Call& call, const BlockBuilder&) {
  const Type& ty = call->args[0]->ty;
  bool ok = false;
  if (const auto* p = ty.as<PrimTypeNode>()) ok = p->dtype.is_bool();
  if (const auto* t = ty.as<TensorTypeNode>()) {
    ok =
        (t->IsUnknownDtype() || t->ElementType().is_bool()) && (t->IsUnknownNdim() || t->ndim == 0);
  }
  TVM_FFI_CHECK(ok, TypeError)
      << "The argument to assert_op must be a boolean scalar, but its type is " << ty;
  return TupleType(Array<Type>());
}

Type InferShapeOf(const Call& call, const BlockBuilder&) {
  const auto* x = TensorArg(call, 0);
  auto dims = x->GetShape();
  return dims.has_value() ? ShapeType(dims.value()) : ShapeType(x->ndim);
}
Type InferTensorToShape(const Call& call, const BlockBuilder&) {
  const auto* x = TensorArg(call, 0);
  CheckRank(call, 0, x, 1);
  auto dims = x->GetShape();
  if (dims.has_value()) {
    if (auto n = AsInt(dims.value()[0])) return ShapeType(static_cast<int>(*n));
  }
  return ShapeType(kUnknownNDim);
}
Type InferShapeToTensor(const Call& call, const BlockBuilder&) {
  const auto* s = call->args[0]->ty.as<ShapeTypeNode>();
  TVM_FFI_CHECK(s != nullptr, TypeError)
      << "relax.shape_to_tensor requires a Shape, but got " << call->args[0]->ty;
  if (s->IsUnknownNdim()) return TensorType(DataType::Int(64), 1);
  return TensorType(Array<PrimExpr>{Int64(s->ndim)}, DataType::Int(64));
}
Type InferSize(const Call& call, const BlockBuilder&) {
  TensorArg(call, 0);
  return TensorType(Array<PrimExpr>(), DataType::Int(64));
}
Type InferSameAs0(const Call& call, const BlockBuilder&) { return call->args[0]->ty; }
Type InferToVDevice(const Call& call, const BlockBuilder&) {
  const auto* x = TensorArg(call, 0);
  const auto* attrs = AttrsOf<ToVDeviceAttrs>(call.get());
  VDevice vdevice = Downcast<VDevice>(attrs->dst_vdevice);
  if (x->shape.has_value()) return TensorType(x->shape.value(), x->ElementType(), vdevice);
  return TensorType(x->ElementType(), x->ndim, vdevice);
}

DataType DtypeOperand(const Expr& e) {
  const auto* imm = e.as<DataTypeImmNode>();
  TVM_FFI_CHECK(imm != nullptr, TypeError) << "expected a DataTypeImm, but got " << e;
  return imm->value;
}
Type TensorOf(const Expr& shape, DataType dtype) {
  if (shape.as<ShapeExprNode>() || shape.as<VarNode>()) return TensorType(shape, dtype);
  const auto* ty = shape->ty.as<ShapeTypeNode>();
  return TensorType(dtype, ty == nullptr ? kUnknownNDim : ty->ndim);
}
/// alloc_tensor(shape, dtype, device index, scope)
Type InferAllocTensor(const Call& call, const BlockBuilder&) {
  return TensorOf(call->args[0], DtypeOperand(call->args[1]));
}
/// {memory,vm}.alloc_tensor(storage, offset, shape, dtype, ..)
Type InferStorageTensor(const Call& call, const BlockBuilder&) {
  return TensorOf(call->args[2], DtypeOperand(call->args[3]));
}
Type InferCallTIRDyn(const Call&, const BlockBuilder&) { return TupleType(Array<Type>()); }

/// An argument tuple given as a variable is written out.
Expr NormalizeCallTIR(const BlockBuilder& ctx, const Call& call) {
  if (call->args.size() < 2 || call->args[1].as<TupleNode>()) return call;
  const auto* ty = call->args[1]->ty.as<TupleTypeNode>();
  TVM_FFI_CHECK(ty != nullptr, TypeError)
      << OpName(call) << " expects its arguments as a Tuple, but got type " << call->args[1]->ty;
  Array<Expr> fields;
  auto var = call->args[1].as<Var>();
  Optional<Expr> bound = var.has_value() ? ctx->LookupBinding(var.value()) : Optional<Expr>();
  if (bound.has_value() && bound.value().as<TupleNode>()) {
    fields = bound.value().as<TupleNode>()->fields;
  } else {
    for (size_t i = 0; i < ty->fields.size(); ++i) {
      fields.push_back(TupleGetItem(call->args[1], static_cast<int>(i)));
    }
  }
  Array<Expr> args = call->args;
  args.Set(1, Tuple(fields));
  return Call(call->op, args, call->attrs, call->ty_args, call->span);
}

}  // namespace

static const OpRow kCallLikeRows[] = {
    {.name = "call_tir",
     .args = "func:any, args:any, packed_ints:any?",
     .infer = InferCallTIR,
     .doc = "A kernel of this module, outputs allocated for it."},
    {.name = "call_tir_with_grad",
     .args = "func:any, args:any, packed_ints:any?",
     .attrs = "te_grad_name='', te_grad_kwargs=None",
     .attrs_key = "relax.attrs.CallTIRWithGradAttrs",
     .infer = InferCallTIR,
     .doc = "call_tir that names its gradient."},
    {.name = "call_tir_inplace",
     .args = "func:any, args:any, packed_ints:any?",
     .attrs = "inplace_indices",
     .attrs_key = "relax.attrs.CallTIRInplaceAttrs",
     .infer = InferCallTIR,
     .doc = "call_tir whose outputs may be its inputs."},
    {.name = "call_dps_packed",
     .args = "func:any, args:any",
     .infer = InferCallDPS,
     .doc = "A packed function that writes into outputs allocated for it."},
    {.name = "call_builtin_with_ctx",
     .args = "func:any, args:any",
     .infer = InferTyArgs,
     .pure = false,
     .doc = "A builtin that also gets the virtual machine."},
    {.name = "call_py_func",
     .args = "name:any, args:any",
     .infer = InferTyArgs,
     .doc = "A Python function of the runtime registry."},
    {.name = "make_closure",
     .args = "func:any, args:any",
     .infer = InferAny,
     .doc = "A function with captured values."},
    {.name = "invoke_closure",
     .args = "closure:any, args:any",
     .infer = InferTyArgs,
     .pure = false,
     .doc = "Call of a closure."},
    {.name = "invoke_pure_closure",
     .args = "closure:any, args:any",
     .infer = InferTyArgs,
     .doc = "Call of a closure without effects."},
    {.name = "shape_of", .args = "x", .infer = InferShapeOf, .doc = "Shape of a tensor."},
    {.name = "tensor_to_shape",
     .args = "x",
     .infer = InferTensorToShape,
     .doc = "A 1-D integer tensor as a shape."},
    {.name = "shape_to_tensor",
     .args = "x:any",
     .infer = InferShapeToTensor,
     .lower = LowerShapeToTensor,
     .packed = "relax.run.shape_to_tensor",
     .doc = "A shape as a 1-D int64 tensor."},
    {.name = "size",
     .args = "x",
     .infer = InferSize,
     .pattern = OpPattern::kInjective,
     .lower = LowerSize,
     .doc = "Number of elements."},
    {.name = "null_value", .args = "", .infer = InferAny, .doc = "The empty value."},
    {.name = "to_vdevice",
     .args = "data",
     .attrs = "dst_vdevice",
     .attrs_key = "relax.attrs.ToVDeviceAttrs",
     .infer = InferToVDevice,
     .doc = "Copy to a virtual device."},
    {.name = "hint_on_device",
     .args = "data",
     .attrs = "device_type, index=0, memory_scope='global'",
     .attrs_key = "relax.attrs.HintOnDeviceAttrs",
     .infer = InferSameAs0,
     .doc = "States the device where a tensor should be."},
    {.name = "builtin.stop_lift_params",
     .args = "x",
     .infer = InferSameAs0,
     .doc = "Barrier for lifting parameter transforms."},
    {.name = "builtin.alloc_tensor",
     .args = "shape:any, dtype:any, device_index:any, scope:any?",
     .infer = InferAllocTensor,
     .pure = false,
     .doc = "A new tensor."},
    {.name = "memory.alloc_storage",
     .args = "size:any, device_index:any, scope:any, dtype:any",
     .infer = InferAny,
     .pure = false,
     .doc = "A block of memory of a planned function."},
    {.name = "memory.alloc_tensor",
     .args = "storage:any, offset:any, shape:any, dtype:any, device_index:any?",
     .infer = InferStorageTensor,
     .pure = false,
     .doc = "A tensor inside of a storage."},
    {.name = "memory.kill_storage",
     .args = "storage:any",
     .infer = InferVoid,
     .pure = false,
     .doc = "End of a storage's life."},
    {.name = "memory.kill_tensor",
     .args = "tensor:any",
     .infer = InferVoid,
     .pure = false,
     .doc = "End of a tensor's life."},
    {.name = "vm.alloc_storage",
     .args = "size:any, device_index:any, dtype:any, scope:any?",
     .infer = InferAny,
     .pure = false,
     .doc = "alloc_storage of the virtual machine."},
    {.name = "vm.alloc_tensor",
     .args = "storage:any, offset:any, shape:any, dtype:any, device_index:any?",
     .infer = InferStorageTensor,
     .pure = false,
     .doc = "alloc_tensor of the virtual machine."},
    {.name = "vm.kill_object",
     .args = "object:any",
     .infer = InferVoid,
     .pure = false,
     .doc = "Clears a register."},
    {.name = "vm.call_tir_dyn",
     .args = "func:any, args:any",
     .infer = InferCallTIRDyn,
     .pure = false,
     .doc = "Kernel call with shape values unpacked."},
};
TVM_RELAX_REGISTER_OPS(kCallLikeRows)

Call MakeCallTIR(const GlobalVar& gv, const Array<Expr>& args, const Type& out_ty,
                 Optional<Expr> extra_shape) {
  Array<Expr> operands{gv, Tuple(args)};
  if (extra_shape.has_value()) operands.push_back(extra_shape.value());
  return Call(out_ty, TVM_RX_OP("call_tir"), operands, Attrs(), {out_ty});
}

Call MakeAllocTensor(const Type& tensor_ty, int64_t device_index, const String& scope) {
  const auto* ty = tensor_ty.as<TensorTypeNode>();
  TVM_FFI_ICHECK(ty != nullptr && ty->shape.has_value())
      << "cannot allocate an output of type " << tensor_ty;
  return Call(
      TensorType(ty->shape.value(), ty->ElementType()), TVM_RX_OP("builtin.alloc_tensor"),
      {ty->shape.value(), DataTypeImm(ty->ElementType()), Int64(device_index), StringImm(scope)});
}

Call MakePackedCall(const String& symbol, const Array<Expr>& args, const Type& ret) {
  return Call(ret, ExternFunc(symbol), args, Attrs(), {ret});
}

namespace {
/// Operators without a fixed number of operands.
void RegisterVariadic(const char* name, FInferType infer, bool pure, const char* doc) {
  OpRegEntry& reg = OpRegEntry::RegisterOrGet(name);
  reg.describe(doc).set_num_inputs(-1);
  reg.set_attr<ffi::Function>(
      "FInferType", ffi::Function::FromTyped([infer](const Call& call, const BlockBuilder& ctx) {
        return infer(call, ctx);
      }));
  reg.set_attr<bool>("FPurity", pure);
}
}  // namespace

TVM_FFI_STATIC_INIT_BLOCK() {
  RegisterVariadic("relax.call_pure_packed", InferCallPacked, true,
                   "A packed function that the program knows to be pure.");
  RegisterVariadic("relax.call_inplace_packed", InferCallPacked, true,
                   "A packed function that overwrites some of its arguments.");
  OpRegEntry::RegisterOrGet("relax.call_inplace_packed")
      .set_attrs_type_key("relax.attrs.CallInplacePackedAttrs");
  RegisterVariadic("relax.print", InferVoid, false, "Writes values by a format.");
  RegisterVariadic("relax.assert_op", InferAssert, false, "Stops when a condition is false.");
  OpRegEntry::RegisterOrGet("relax.print").set_attr<String>("FCallPacked", "relax.run.print");
  OpRegEntry::RegisterOrGet("relax.assert_op")
      .set_attr<String>("FCallPacked", "relax.run.assert_op");
  for (const char* name :
       {"relax.call_tir", "relax.call_tir_with_grad", "relax.call_tir_inplace"}) {
    OpRegEntry::RegisterOrGet(name).set_attr<ffi::Function>(
        "FNormalize", ffi::Function::FromTyped(NormalizeCallTIR));
  }
  namespace refl = tvm::ffi::reflection;
  refl::GlobalDef()
      .def("relax.MakeCallTIR",
           [](Expr gv, Expr args, Type out, Optional<Expr> packed_ints) {
             Array<Expr> operands{gv, args};
             if (packed_ints.has_value()) operands.push_back(packed_ints.value());
             return Call(TVM_RX_OP("call_tir"), operands, Attrs(), {out});
           })
      .def("relax.MakePackedCall", [](String symbol, Array<Expr> args, Type ret) {
        return MakePackedCall(symbol, args, ret);
      });
}

}  // namespace relax
}  // namespace tvm
