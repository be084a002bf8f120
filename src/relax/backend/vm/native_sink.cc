// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file
/// \brief Steps as a PrimFunc that works on the machine's lists of registers, constants, functions.
///
///   def __vmtir__main(vm, r, c, f):
///     anylist_setitem_call_packed(r, 3, anylist_getitem(f, 7), anylist_getitem(r, 0), 4)
///     anylist_setitem_call_cpacked(r, 4, "matmul", anylist_getitem(r, 0), anylist_getitem(c, 2))
///     if tvm_call_packed(anylist_getitem(f, 1), anylist_getitem(r, 4)): ...
///
/// Packed functions come from the machine's list, which it filled and checked when it was made, so
/// that a name means the same as it does in bytecode.
#include <tvm/relax/expr.h>
#include <tvm/tirx/builtin.h>
#include <tvm/tirx/op.h>
#include <tvm/tirx/stmt.h>

#include <string_view>

#include "relax/backend/vm/function_sink.h"

namespace tvm {
namespace relax {

namespace {

/// Builtins that keep what they made at a call site for the next call: a register holds it.
constexpr std::string_view kSiteBuiltins[] = {"alloc_storage", "alloc_shape_heap", "make_tuple",
                                              "make_shape", "shape_of"};

class NativeSink final : public FunctionSink {
 public:
  NativeSink(ExecBuilder builder, const std::string& name, const std::vector<std::string>& params,
             const KernelSymbols& kernels, std::function<void(tirx::PrimFunc)> done)
      : builder_(std::move(builder)),
        name_(name),
        params_(params),
        kernels_(kernels),
        done_(std::move(done)),
        result_(static_cast<RegName>(params.size())),
        next_(result_ + 1) {}

  RegName NewRegister() final { return next_++; }

  void Call(const std::string& func, const std::vector<Arg>& args, RegName dst) final {
    if (func == "vm.builtin.null_value" && dst != Instruction::kVoidRegister) return Reset(dst);
    if (kernels_.count(func)) {
      Array<Expr> list{tirx::StringImm("__tvm_ffi_" + func)};
      for (const Arg& a : args) list.push_back(Value(a));
      list.push_back(Null());  // a kernel has no handle of its own
      return Emit(list, dst, tirx::builtin::anylist_setitem_call_cpacked(),
                  tirx::builtin::tvm_call_cpacked());
    }
    if (IsVMFunction(func)) {
      Array<Expr> list{Callee("vm.builtin.invoke_closure"), vm_, FunctionValue(func)};
      for (const Arg& a : args) list.push_back(Value(a));
      return EmitPacked(list, dst);
    }
    for (std::string_view site : kSiteBuiltins) {
      if (func == "vm.builtin." + std::string(site))
        return CallAtSite(std::string(site), args, dst);
    }
    Array<Expr> list{Callee(func)};
    for (const Arg& a : args) list.push_back(Value(a));
    EmitPacked(list, dst);
  }

  void Reset(RegName reg) final {
    Push(tirx::Evaluate(tirx::CallBuiltinTyped(tirx::VoidTy(), tirx::builtin::anylist_resetitem(),
                                               {r_, Int32(reg)})));
  }

  void If(Arg cond, const std::function<void()>& on_true,
          const std::function<void()>& on_false) final {
    PrimExpr truth = tirx::CallBuiltin(DataType::Bool(), tirx::builtin::tvm_call_packed(),
                                       {Callee("vm.builtin.read_if_cond"), Value(cond)});
    tirx::Stmt then_case = Branch(on_true);
    tirx::Stmt else_case = Branch(on_false);
    Push(tirx::IfThenElse(truth, then_case, else_case));
  }

  void Return(Arg value) final {
    Call("vm.builtin.copy", {value}, result_);
    tirx::PrimFunc func({vm_, r_, c_, f_}, tirx::SeqStmt::Flatten(stmts_));
    func = tvm::WithAttr(func, tvm::attr::kGlobalSymbol, String("__vmtir__" + name_));
    func = tvm::WithAttr(func, tirx::attr::kIsHostFunc, ffi::Any(int64_t{1}));
    func = tvm::WithAttr(func, tirx::attr::kIsScheduled, ffi::Any(true));
    // The machine alone calls it.
    func = tvm::WithAttr(func, tirx::attr::kNoArgCheck, ffi::Any(true));
    builder_->BeginFunction(name_, result_, params_, VMFuncInfo::FuncKind::kVMTIRFunc, next_);
    builder_->EndFunction(name_);
    done_(std::move(func));
  }

 private:
  static PrimExpr Int32(int64_t v) { return IntImm(DataType::Int(32), v); }
  static Expr Null() {
    return tirx::CallBuiltinTyped(tirx::HandleType(), tirx::builtin::reinterpret(),
                                  {IntImm(DataType::Int(64), 0)});
  }
  static Expr Item(const Var& list, int64_t index) {
    return tirx::CallBuiltinTyped(tirx::HandleType(), tirx::builtin::anylist_getitem(),
                                  {list, Int32(index)});
  }

  void Push(tirx::Stmt stmt) { stmts_.push_back(std::move(stmt)); }

  tirx::Stmt Branch(const std::function<void()>& emit) {
    Array<tirx::Stmt> outer = std::move(stmts_);
    stmts_ = Array<tirx::Stmt>();
    emit();
    tirx::Stmt body = stmts_.empty() ? tirx::Stmt(tirx::Evaluate(Int32(0)))
                                     : tirx::Stmt(tirx::SeqStmt::Flatten(stmts_));
    stmts_ = std::move(outer);
    return body;
  }

  bool IsVMFunction(const std::string& func) const {
    return builder_->KindOf(func) == VMFuncInfo::FuncKind::kVMTIRFunc ||
           builder_->KindOf(func) == VMFuncInfo::FuncKind::kVMFunc;
  }
  Expr FunctionValue(const std::string& func) {
    return Item(f_, builder_->FunctionArg(func).value());
  }
  Expr Callee(const std::string& func) { return FunctionValue(func); }

  Expr Value(const Arg& a) {
    switch (a.kind()) {
      case Instruction::ArgKind::kRegister:
        if (a.value() == Instruction::kVMRegister) return vm_;
        if (a.value() == Instruction::kVoidRegister) return Null();
        return Item(r_, a.value());
      case Instruction::ArgKind::kImmediate:
        return IntImm(DataType::Int(64), a.value());
      case Instruction::ArgKind::kConstIdx:
        return Item(c_, a.value());
      case Instruction::ArgKind::kFuncIdx:
        return Item(f_, a.value());
    }
    TVM_FFI_THROW(InternalError) << "unknown kind of operand";
  }

  /// vm.native.<name>(vm, address of the site's register, arguments but for the machine...)
  void CallAtSite(const std::string& name, const std::vector<Arg>& args, RegName dst) {
    Expr site = tirx::CallBuiltinTyped(
        tirx::HandleType(), tirx::builtin::handle_add_byte_offset(),
        {r_, IntImm(DataType::Int(64), NewRegister() * int64_t{sizeof(TVMFFIAny)})});
    Array<Expr> list{Callee("vm.native." + name), vm_, site};
    for (const Arg& a : args) {
      const bool machine =
          a.kind() == Instruction::ArgKind::kRegister && a.value() == Instruction::kVMRegister;
      if (!machine) list.push_back(Value(a));
    }
    EmitPacked(list, dst);
  }

  void EmitPacked(const Array<Expr>& list, RegName dst) {
    Emit(list, dst, tirx::builtin::anylist_setitem_call_packed(), tirx::builtin::tvm_call_packed());
  }
  void Emit(const Array<Expr>& list, RegName dst, const Op& into_register, const Op& drop) {
    if (dst == Instruction::kVoidRegister) {
      return Push(tirx::Evaluate(tirx::CallBuiltinTyped(tirx::VoidTy(), drop, list)));
    }
    Array<Expr> args{r_, Int32(dst)};
    for (const Expr& e : list) args.push_back(e);
    Push(tirx::Evaluate(tirx::CallBuiltinTyped(tirx::VoidTy(), into_register, args)));
  }

  ExecBuilder builder_;
  std::string name_;
  std::vector<std::string> params_;
  const KernelSymbols& kernels_;
  std::function<void(tirx::PrimFunc)> done_;
  RegName result_;
  RegName next_;
  Array<tirx::Stmt> stmts_;
  Var vm_{"vm", tirx::HandleType()};
  Var r_{"r", tirx::HandleType()};
  Var c_{"c", tirx::HandleType()};
  Var f_{"f", tirx::HandleType()};
};

}  // namespace

std::unique_ptr<FunctionSink> MakeNativeSink(ExecBuilder builder, const std::string& name,
                                             const std::vector<std::string>& params,
                                             const KernelSymbols& kernels,
                                             std::function<void(tirx::PrimFunc)> done) {
  return std::make_unique<NativeSink>(std::move(builder), name, params, kernels, std::move(done));
}

}  // namespace relax
}  // namespace tvm
