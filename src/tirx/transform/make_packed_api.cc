// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Gives exported functions the packed calling convention.
///
///   def f(A: Buffer((n,)), k: int32)    ==>    def __tvm_ffi_f(self, args, num_args, result):
///     body                                       check_args(args, num_args, slots, ...)
///                                                k = bind(slots[1])
///                                                n = bind(slots[2])
///                                                A = decl_buffer((n,), data=slots[3])
///                                                attr compute_scope "f_compute_": body
///                                                return 0
///
/// With attribute tirx.no_arg_check the caller guarantees its arguments and they are read directly.
/// A value the function returns is stored in `result`.
#include <tvm/ffi/c_api.h>
#include <tvm/target/target.h>
#include <tvm/tirx/builtin.h>
#include <tvm/tirx/op.h>
#include <tvm/tirx/stmt_functor.h>
#include <tvm/tirx/transform.h>

#include <string>
#include <unordered_map>
#include <vector>

#include "tirx/transform/arg_check_program.h"

namespace tvm {
namespace tirx {

namespace {

/// Bytes from a Tensor object to the DLTensor inside of it.
constexpr int kTensorHeaderBytes = sizeof(TVMFFIObject);

/// Stores returned values in the result slot.
class ReturnLowerer final : public StmtMutator {
 public:
  explicit ReturnLowerer(Var result) : result_(std::move(result)) {}

 private:
  Stmt VisitStmt_(const ForNode* op) final {
    if (op->kind != ForKind::kParallel) return StmtMutator::VisitStmt_(op);
    ++parallel_depth_;
    Stmt visited = StmtMutator::VisitStmt_(op);
    --parallel_depth_;
    return visited;
  }

  Stmt VisitStmt_(const ReturnNode* op) final { return StoreAndReturn(op->value); }

  Stmt VisitStmt_(const EvaluateNode* op) final {
    const auto* call = op->value.as<CallNode>();
    if (call == nullptr || !call->op.same_as(builtin::ret())) return ffi::GetRef<Stmt>(op);
    return StoreAndReturn(call->args[0]);
  }

  Stmt StoreAndReturn(const Expr& value) {
    TVM_FFI_CHECK(parallel_depth_ == 0, ValueError)
        << "MakePackedAPI: a return statement inside of a parallel loop is not supported";
    auto store = [&](int type_index, Type type, Expr stored) {
      return SeqStmt::Flatten(
          Evaluate(StructSet(result_, 0, builtin::kTVMFFIAnyTypeIndex, IntImm::Int32(type_index))),
          Evaluate(StructSet(result_, 0, builtin::kTVMFFIAnyZeroPadding, IntImm::Int32(0))),
          Evaluate(StructSet(result_, 0, builtin::kTVMFFIAnyUnionValue, std::move(stored))),
          Return(IntImm::Int32(0)));
    };
    if (IsVoidType(value->ty)) return Return(IntImm::Int32(0));
    DataType dtype = value->dtype();
    if (!dtype.is_scalar()) {
      TVM_FFI_THROW(TypeError) << "MakePackedAPI: cannot return a value of dtype " << dtype;
    }
    if (dtype.is_bool()) {
      return store(kTVMFFIBool, value->ty, cast(DataType::Int(64), PrimExpr(value)));
    }
    if (dtype.is_int() || dtype.is_uint()) {
      return store(kTVMFFIInt, value->ty, cast(DataType::Int(64), PrimExpr(value)));
    }
    if (dtype.is_any_float()) {
      return store(kTVMFFIFloat, value->ty, cast(DataType::Float(64), PrimExpr(value)));
    }
    if (dtype.is_handle()) return store(kTVMFFIOpaquePtr, value->ty, value);
    TVM_FFI_THROW(TypeError) << "MakePackedAPI: cannot return a value of dtype " << dtype;
    TVM_FFI_UNREACHABLE();
  }

  Var result_;
  int parallel_depth_ = 0;
};

/// Calls of functions that get the packed convention become packed calls.
class CallLowerer final : public StmtExprMutator {
 public:
  explicit CallLowerer(const std::unordered_map<const ffi::Object*, std::string>& packed)
      : packed_(packed) {}

 private:
  Expr VisitExpr_(const CallNode* op) final {
    Expr visited = StmtExprMutator::VisitExpr_(op);
    auto it = packed_.find(op->op.get());
    if (it == packed_.end()) return visited;
    ffi::Array<Expr> args{StringImm(it->second)};
    for (const Expr& arg : visited.as<CallNode>()->args) args.push_back(arg);
    // The last argument is the resource handle of the callee, which has none.
    args.push_back(Call(HandleType(), builtin::reinterpret(), {IntImm::Int64(0)}));
    return Call(op->ty, builtin::tvm_call_cpacked(), args);
  }

  const std::unordered_map<const ffi::Object*, std::string>& packed_;
};

/// Statements in front of the body that define the parameters.
class ParamUnpacker {
 public:
  ParamUnpacker(const PrimFunc& func, const ffi::String& symbol, Var args, Var num_args)
      : func_(func), symbol_(symbol), args_(std::move(args)), num_args_(std::move(num_args)) {}

  ffi::Array<Stmt> Checked(int device_type) {
    ArgCheckProgram program(func_, symbol_, device_type);
    ffi::Array<Stmt> seq;
    int count = std::max(program.num_slots(), 1);
    Buffer slots = decl_buffer({IntImm::Int32(count)}, DataType::Int(64), "arg_slots", "local");
    seq.push_back(AllocBuffer(slots, {{attr::disable_lower_builtin, true}}));
    ffi::Array<Expr> call_args{args_, num_args_, tirx::buffer_data(slots)};
    for (const Expr& arg : program.CallArgs()) call_args.push_back(arg);
    seq.push_back(Evaluate(Call(DataType::Int(32), builtin::check_args(), call_args)));
    auto load = [&](int slot) { return BufferLoad(slots, {IntImm::Int32(slot)}); };
    for (size_t i = 0; i < func_->params.size(); ++i) {
      const Var& param = func_->params[i];
      if (!IsBuffer(param.get())) {
        seq.push_back(Bind(param, FromBits(load(program.params()[i].value), param)));
      }
    }
    for (const auto& [var, slot] : program.symbols()) {
      seq.push_back(Bind(var, cast(var->dtype(), load(slot))));
    }
    for (size_t i = 0; i < func_->params.size(); ++i) {
      const Var& param = func_->params[i];
      if (!IsBuffer(param.get())) continue;
      Buffer buffer(param);
      seq.push_back(DeclBuffer(buffer, Call(DataPointerType(buffer), builtin::reinterpret(),
                                            {load(program.params()[i].data)})));
    }
    return seq;
  }

  ffi::Array<Stmt> Unchecked() {
    ffi::Array<Stmt> seq;
    std::vector<std::pair<Buffer, Var>> tensors;
    for (size_t i = 0; i < func_->params.size(); ++i) {
      const Var& param = func_->params[i];
      int index = static_cast<int>(i);
      if (IsBuffer(param.get())) {
        Var handle(std::string(param->name) + "_handle", HandleType());
        seq.push_back(Bind(handle, TensorHandle(index)));
        tensors.emplace_back(Buffer(param), handle);
      } else {
        seq.push_back(Bind(param, ReadScalar(index, param)));
        defined_[param.get()] = true;
      }
    }
    for (const auto& [buffer, handle] : tensors) BindSymbols(buffer, handle, &seq);
    for (const auto& [buffer, handle] : tensors) {
      Expr data = StructGet(DataPointerType(buffer), handle, 0, builtin::kDLTensorData);
      if (!buffer.elem_offset().defined() || is_zero(buffer.elem_offset())) {
        Expr offset =
            StructGet(PrimType(DataType::UInt(64)), handle, 0, builtin::kDLTensorByteOffset);
        data = Call(DataPointerType(buffer), builtin::handle_add_byte_offset(),
                    {data, cast(DataType::Int(64), PrimExpr(offset))});
      }
      seq.push_back(DeclBuffer(buffer, data));
    }
    return seq;
  }

 private:
  static Type DataPointerType(const Buffer& buffer) {
    return PointerType(PrimType(buffer.dtype()), buffer.scope());
  }

  /// Value of a scalar or pointer parameter from the 64 bits the check left in its slot.
  static Expr FromBits(const PrimExpr& bits, const Var& param) {
    DataType dtype = param->dtype();
    if (dtype.is_handle()) return Call(param->ty, builtin::reinterpret(), {bits});
    if (dtype.is_any_float()) {
      return cast(dtype, tvm::reinterpret(DataType::Float(64), bits));
    }
    if (dtype.is_bool()) return not_equal(bits, IntImm::Int64(0));
    return cast(dtype, bits);
  }

  Expr TypeIndex(int index) {
    return StructGet(PrimType(DataType::Int(32)), args_, index, builtin::kTVMFFIAnyTypeIndex);
  }

  /// DLTensor* of an argument that is a Tensor object or a DLTensor*.
  Expr TensorHandle(int index) {
    Expr value = StructGet(HandleType(), args_, index, builtin::kTVMFFIAnyUnionValue);
    PrimExpr is_object = equal(PrimExpr(TypeIndex(index)), IntImm::Int32(kTVMFFITensor));
    return Call(HandleType(), builtin::handle_add_byte_offset(),
                {value, Select(is_object, IntImm::Int64(kTensorHeaderBytes), IntImm::Int64(0))});
  }

  Expr ReadScalar(int index, const Var& param) {
    DataType dtype = param->dtype();
    if (dtype.is_handle()) {
      Expr value = StructGet(param->ty, args_, index, builtin::kTVMFFIAnyUnionValue);
      PrimExpr is_object = equal(PrimExpr(TypeIndex(index)), IntImm::Int32(kTVMFFITensor));
      return Call(param->ty, builtin::handle_add_byte_offset(),
                  {value, Select(is_object, IntImm::Int64(kTensorHeaderBytes), IntImm::Int64(0))});
    }
    PrimExpr bits(
        StructGet(PrimType(DataType::Int(64)), args_, index, builtin::kTVMFFIAnyUnionValue));
    if (dtype.is_any_float()) {
      // An integer is accepted for a float.
      PrimExpr is_float = equal(PrimExpr(TypeIndex(index)), IntImm::Int32(kTVMFFIFloat));
      return cast(dtype, Select(is_float, tvm::reinterpret(DataType::Float(64), bits),
                                cast(DataType::Float(64), bits)));
    }
    return FromBits(bits, param);
  }

  void BindSymbols(const Buffer& buffer, const Var& handle, ffi::Array<Stmt>* seq) {
    auto bind = [&](const PrimExpr& expr, builtin::TVMStructFieldKind array, size_t k) {
      const auto* var = expr.as<VarNode>();
      if (var == nullptr || !defined_.emplace(var, true).second) return;
      Expr base = StructGet(HandleType(), handle, 0, array);
      PrimExpr value(StructGet(PrimType(DataType::Int(64)), base, static_cast<int>(k),
                               builtin::kInt64ArrayElem));
      seq->push_back(Bind(ffi::GetRef<Var>(var), cast(var->dtype(), value)));
    };
    for (size_t k = 0; k < buffer.ndim(); ++k) {
      bind(buffer.shape()[k], builtin::kDLTensorShape, k);
    }
    for (size_t k = 0; k < buffer.strides().size(); ++k) {
      bind(buffer.strides()[k], builtin::kDLTensorStrides, k);
    }
    const auto* offset = buffer.elem_offset().as<VarNode>();
    if (offset != nullptr && defined_.emplace(offset, true).second) {
      int64_t bytes = (buffer.dtype().bits() * buffer.dtype().lanes() + 7) / 8;
      PrimExpr value(
          StructGet(PrimType(DataType::UInt(64)), handle, 0, builtin::kDLTensorByteOffset));
      value = floordiv(cast(DataType::Int(64), value), IntImm::Int64(bytes));
      seq->push_back(Bind(ffi::GetRef<Var>(offset), cast(offset->dtype(), value)));
    }
  }

  const PrimFunc& func_;
  const ffi::String& symbol_;
  Var args_, num_args_;
  std::unordered_map<const VarNode*, bool> defined_;
};

/// The target whose host runs the packed function; null if the function is not for a host.
Target HostOf(const PrimFunc& func) {
  auto target = func->GetAttr<Target>(attr::kTarget);
  TVM_FFI_CHECK(target.has_value(), ValueError)
      << "MakePackedAPI: function " << func->GetAttr<ffi::String>(attr::kGlobalSymbol).value()
      << " has no attribute `target`; run BindTarget first";
  auto host = target.value()->GetHost();
  if (host.has_value()) return host.value();
  const ffi::String& kind = target.value()->kind->name;
  if (kind == "llvm" || kind == "c") return target.value();
  return Target(ffi::UnsafeInit{});
}

bool IsExported(const PrimFunc& func) {
  return func->GetAttr<ffi::String>(attr::kGlobalSymbol).has_value() &&
         func->GetAttr<int64_t>(attr::kCallingConv, static_cast<int64_t>(0)).value() == 0;
}

PrimFunc ToPacked(PrimFunc func,
                  const std::unordered_map<const ffi::Object*, std::string>& packed) {
  ffi::String symbol = func->GetAttr<ffi::String>(attr::kGlobalSymbol).value();
  Target target = func->GetAttr<Target>(attr::kTarget).value();
  Var self("self_handle", HandleType());
  Var args("args", HandleType());
  Var num_args("num_args", DataType::Int(32));
  Var result("result", PointerType(PrimType::Void()));

  ParamUnpacker unpacker(func, symbol, args, num_args);
  ffi::Array<Stmt> seq = func->HasNonzeroAttr(attr::kNoArgCheck)
                             ? unpacker.Unchecked()
                             : unpacker.Checked(target->GetTargetDeviceType());
  Stmt body = packed.empty() ? func->body : CallLowerer(packed)(func->body);
  body = ReturnLowerer(result)(body);
  seq.push_back(AttrStmt(IntImm::Int32(0), attr::compute_scope,
                         StringImm(std::string(symbol) + "_compute_"), body));
  seq.push_back(Return(IntImm::Int32(0)));

  ffi::Map<ffi::String, ffi::Any> attrs = func->attrs->dict;
  attrs.Set(attr::kGlobalSymbol, ffi::String("__tvm_ffi_" + std::string(symbol)));
  attrs.Set(attr::kCallingConv, static_cast<int64_t>(CallingConv::kCPackedFunc));
  attrs.Set(attr::kTarget, HostOf(func));
  return PrimFunc({self, args, num_args, result}, SeqStmt(seq), PrimType(DataType::Int(32)),
                  DictAttrs(attrs), func->span);
}

IRModule Run(IRModule mod, const tvm::transform::PassContext&) {
  std::unordered_map<const ffi::Object*, std::string> packed;
  for (const auto& [var, base] : mod->functions) {
    auto func = base.as<PrimFunc>();
    if (func.has_value() && IsExported(*func) && HostOf(*func).defined()) {
      packed.emplace(
          var.get(),
          "__tvm_ffi_" + std::string((*func)->GetAttr<ffi::String>(attr::kGlobalSymbol).value()));
    }
  }
  if (packed.empty()) return mod;
  return tvm::transform::MapFunctions<PrimFunc>(
      std::move(mod), [&](const IRModule&, const GlobalVar& var, PrimFunc func) {
        if (packed.count(var.get()) != 0) return ToPacked(std::move(func), packed);
        // An internal function may call an exported one.
        Stmt body = CallLowerer(packed)(func->body);
        if (!body.same_as(func->body)) func.CopyOnWrite()->body = body;
        return func;
      });
}

const tvm::transform::ModulePassRegistration kPass{{
    .name = "tirx.MakePackedAPI",
    .summary = "Give exported functions the packed calling convention",
    .run = Run,
}};

}  // namespace

namespace transform {
Pass MakePackedAPI() { return CreateModulePass(Run, 0, "tirx.MakePackedAPI"); }
}  // namespace transform

}  // namespace tirx
}  // namespace tvm
