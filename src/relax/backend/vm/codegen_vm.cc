// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file
/// \brief Steps of lowered functions: one register a value, aliases share theirs.
#include "relax/backend/vm/codegen_vm.h"

#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/ir/error_context.h>
#include <tvm/relax/analysis.h>
#include <tvm/relax/expr_functor.h>
#include <tvm/runtime/logging.h>

#include "relax/backend/vm/function_sink.h"
#include "relax/ir/utils.h"
#include "relax/op/call_like.h"

namespace tvm {
namespace relax {

namespace {

using Arg = Instruction::Arg;

std::string Std(const String& s) { return std::string(s.data(), s.size()); }

class FunctionCodeGen : public ExprDispatch<Arg> {
 public:
  FunctionCodeGen(const ExecBuilder& builder, const IRModule& mod, FunctionSink* sink)
      : b_(builder), mod_(mod), sink_(sink) {}

  void Generate(const Function& func) {
    RegName next = 0;
    for (const Var& p : func->params) values_[p.get()] = Arg::Register(next++);
    sink_->Return(Sequence(func->body.get()));
  }

  using ExprDispatch<Arg>::VisitExpr_;
  Arg VisitExpr_(const ConstantNode* op) override {
    Arg c = b_->ConvertConstant(op->data);
    const auto* ty = op->ty.as<TensorTypeNode>();
    if (ty != nullptr && ty->vdevice.has_value()) {
      std::string scope = Std(ty->vdevice.value()->memory_scope);
      if (!scope.empty() && scope != "global") b_->SetMemoryScope(c, scope);
    }
    return c;
  }
  Arg VisitExpr_(const ShapeExprNode* op) override {
    auto dims = AsInts(op->values);
    TVM_FFI_ICHECK(dims.has_value())
        << "a symbolic shape reached code generation; VMShapeLower must run before";
    return b_->ConvertConstant(ffi::Shape(dims->begin(), dims->end()));
  }
  Arg VisitExpr_(const StringImmNode* op) override { return b_->ConvertConstant(op->value); }
  Arg VisitExpr_(const DataTypeImmNode* op) override { return b_->ConvertConstant(op->value); }
  Arg VisitExpr_(const TupleNode* op) override {
    if (op->fields.empty()) return b_->ConvertConstant(ffi::Any());
    std::vector<Arg> args;
    for (const Expr& f : op->fields) args.push_back(VisitExpr(f));
    return Emit("vm.builtin.make_tuple", args);
  }
  Arg VisitExpr_(const TupleGetItemNode* op) override {
    return Emit("vm.builtin.tuple_getitem", {VisitExpr(op->tuple), Arg::Immediate(op->index)});
  }
  Arg VisitExpr_(const VarNode* op) override {
    auto it = values_.find(op);
    TVM_FFI_ICHECK(it != values_.end()) << "variable " << op->name << " has no register";
    return it->second;
  }
  Arg VisitExpr_(const DataflowVarNode* op) override {
    return VisitExpr_(static_cast<const VarNode*>(op));
  }
  Arg VisitExpr_(const GlobalVarNode* op) override {
    return b_->FunctionArg(Symbol(GetRef<GlobalVar>(op)));
  }
  Arg VisitExpr_(const OpNode* op) override { Leftover(GetRef<Op>(op)); }
  Arg VisitExpr_(const ExternFuncNode* op) override {
    return b_->FunctionArg(Std(op->global_symbol));
  }
  Arg VisitExpr_(const FunctionNode*) override {
    TVM_FFI_THROW(InternalError) << "a local function reached code generation; LambdaLift must run "
                                    "before";
  }
  Arg VisitExpr_(const SeqExprNode* op) override { return Sequence(op); }
  Arg VisitExpr_(const IfNode* op) override {
    Arg cond = VisitExpr(op->cond);
    RegName merged = sink_->NewRegister();
    auto branch = [this, merged](const SeqExpr& body) {
      return
          [this, merged, body] { sink_->Call("vm.builtin.copy", {Sequence(body.get())}, merged); };
    };
    sink_->If(cond, branch(op->true_branch), branch(op->false_branch));
    return Arg::Register(merged);
  }
  Arg VisitPrim(const Expr& e) override {
    if (const auto* imm = e.as<IntImmNode>()) {
      if (imm->dtype().is_bool()) return b_->ConvertConstant(imm->value != 0);
      return b_->ConvertConstant(imm->value);
    }
    if (const auto* imm = e.as<FloatImmNode>()) return b_->ConvertConstant(imm->value);
    TVM_FFI_THROW(InternalError) << "scalar expression " << e
                                 << " reached code generation; VMShapeLower must run before";
  }

  Arg VisitExpr_(const CallNode* op) override {
    if (op->op.as<OpNode>()) return OpCall(op);
    std::vector<Arg> args;
    for (const Expr& a : op->args) args.push_back(VisitExpr(a));
    if (const auto* gv = op->op.as<GlobalVarNode>()) {
      return Emit(Symbol(GetRef<GlobalVar>(gv)), args, op->ty);
    }
    if (const auto* f = op->op.as<ExternFuncNode>())
      return Emit(Std(f->global_symbol), args, op->ty);
    // A function value: the machine invokes it.
    args.insert(args.begin(), {Arg::Register(Instruction::kVMRegister), VisitExpr(op->op)});
    return Emit("vm.builtin.invoke_closure", args, op->ty);
  }

 private:
  [[noreturn]] static void Leftover(const Expr& op) {
    TVM_FFI_THROW(InternalError) << "CodeGenVM cannot handle this intrinsic now:\n" << op;
  }
  Arg Emit(const std::string& func, const std::vector<Arg>& args) {
    RegName dst = sink_->NewRegister();
    sink_->Call(func, args, dst);
    return Arg::Register(dst);
  }
  Arg Emit(const std::string& func, const std::vector<Arg>& args, const Type& ty) {
    if (!tvm::IsVoidType(ty)) return Emit(func, args);
    sink_->Call(func, args, Instruction::kVoidRegister);
    return b_->ConvertConstant(ffi::Any());
  }
  std::string Symbol(const GlobalVar& gv) {
    if (!mod_->ContainGlobalVar(gv->name_hint)) return Std(gv->name_hint);
    auto symbol = mod_->Lookup(gv)->GetAttr<String>(tvm::attr::kGlobalSymbol);
    return Std(symbol.value_or(gv->name_hint));
  }

  Arg Sequence(const SeqExprNode* seq) {
    for (const BindingBlock& block : seq->blocks) {
      for (const Binding& b : block->bindings) {
        Expr value =
            b.as<VarBindingNode>() ? b.as<VarBindingNode>()->value : b.as<MatchCastNode>()->value;
        values_[b->var.get()] = VisitExpr(value);
      }
    }
    return VisitExpr(seq->body);
  }

  Arg OpCall(const CallNode* op) {
    if (op->op.same_as(TVM_RX_OP("call_builtin_with_ctx"))) {
      std::vector<Arg> args{Arg::Register(Instruction::kVMRegister)};
      if (const auto* tuple = op->args[1].as<TupleNode>()) {
        for (const Expr& f : tuple->fields) args.push_back(VisitExpr(f));
      } else {
        args.push_back(VisitExpr(op->args[1]));
      }
      const auto* func = op->args[0].as<ExternFuncNode>();
      TVM_FFI_CHECK(func != nullptr, TypeError)
          << "call_builtin_with_ctx expects an ExternFunc, but got " << op->args[0];
      return Emit(Std(func->global_symbol), args, op->ty);
    }
    if (op->op.same_as(TVM_RX_OP("vm.alloc_storage"))) {
      std::vector<Arg> args{Arg::Register(Instruction::kVMRegister)};
      for (const Expr& a : op->args) args.push_back(VisitExpr(a));
      return Emit("vm.builtin.alloc_storage", args);
    }
    if (op->op.same_as(TVM_RX_OP("vm.alloc_tensor"))) {
      std::vector<Arg> args;
      for (size_t i = 0; i < 4; ++i) args.push_back(VisitExpr(op->args[i]));
      return Emit("vm.builtin.alloc_tensor", args);
    }
    if (op->op.same_as(TVM_RX_OP("vm.kill_object"))) {
      Arg r = VisitExpr(op->args[0]);
      if (r.kind() == Instruction::ArgKind::kRegister) sink_->Reset(r.value());
      return b_->ConvertConstant(ffi::Any());
    }
    if (op->op.same_as(TVM_RX_OP("null_value"))) return b_->ConvertConstant(ffi::Any());
    static const Op& pure_packed = *new Op(Op::Get("relax.call_pure_packed"));
    if (op->op.same_as(pure_packed)) {
      std::vector<Arg> args;
      for (size_t i = 1; i < op->args.size(); ++i) args.push_back(VisitExpr(op->args[i]));
      const auto* func = op->args[0].as<ExternFuncNode>();
      if (func != nullptr) return Emit(Std(func->global_symbol), args, op->ty);
    }
    Leftover(op->op);
  }

  ExecBuilder b_;
  IRModule mod_;
  FunctionSink* sink_;
  std::unordered_map<const VarNode*, Arg> values_;
};

std::string SymbolOf(const GlobalVar& gv, const BaseFunc& func) {
  return Std(func->GetAttr<String>(tvm::attr::kGlobalSymbol).value_or(gv->name_hint));
}

}  // namespace

IRModule VMCodeGen(const ExecBuilder& builder, const IRModule& mod, ExecMode mode) {
  const bool native = mode == ExecMode::kNative;
  std::vector<std::pair<GlobalVar, Function>> functions;
  KernelSymbols kernels;
  for (const auto& [gv, base] : mod->SortedFunctions()) {
    if (base.as<tirx::PrimFuncNode>()) kernels.emplace(SymbolOf(gv, base), true);
    auto func = base.as<Function>();
    if (!func.has_value()) continue;
    builder->DeclareFunction(SymbolOf(gv, base), native ? VMFuncInfo::FuncKind::kVMTIRFunc
                                                        : VMFuncInfo::FuncKind::kVMFunc);
    functions.emplace_back(gv, func.value());
  }
  if (functions.empty()) return mod;
  IRModule rest = mod;
  auto* node = rest.CopyOnWrite();
  for (const auto& [gv, func] : functions) {
    const std::string name = SymbolOf(gv, func);
    std::vector<std::string> params;
    for (const Var& p : func->params) params.push_back(Std(p->name));
    auto add = [&](tirx::PrimFunc code) { node->Add(GlobalVar("__vmtir__" + name), code); };
    auto sink = native ? MakeNativeSink(builder, name, params, kernels, add)
                       : MakeBytecodeSink(builder, name, params);
    try {
      FunctionCodeGen(builder, mod, sink.get()).Generate(func);
    } catch (const ffi::Error& error) {
      throw EnrichFunctionErrorWithContext(error, gv, func, "code generation: virtual machine");
    }
  }
  for (const auto& [gv, func] : functions) node->Remove(gv);
  return rest;
}

ExecMode ParseExecMode(const String& mode) {
  if (mode == "bytecode") return ExecMode::kBytecode;
  TVM_FFI_CHECK(mode == "compiled", ValueError)
      << "exec_mode must be 'bytecode' or 'compiled', but got '" << mode << "'";
  return ExecMode::kNative;
}

TVM_FFI_STATIC_INIT_BLOCK() {
  namespace refl = tvm::ffi::reflection;
  refl::GlobalDef()
      .def("relax.VMCodeGen",
           [](ExecBuilder builder, IRModule mod) {
             return VMCodeGen(builder, mod, ExecMode::kBytecode);
           })
      .def("relax.VMTIRCodeGen", [](ExecBuilder builder, IRModule mod) {
        return VMCodeGen(builder, mod, ExecMode::kNative);
      });
}

}  // namespace relax
}  // namespace tvm
