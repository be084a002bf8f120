// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file
/// \brief What entering and leaving the frames of graph-level functions does.
#include <tvm/ffi/reflection/registry.h>
#include <tvm/relax/analysis.h>
#include <tvm/relax/expr_functor.h>
#include <tvm/relax/ir_builder.h>
#include <tvm/script/ir_builder/ir.h>

#include <string>
#include <unordered_map>

#include "relax/script/ir_builder/utils.h"

namespace tvm::script::ir_builder::relax {

namespace rx = tvm::relax;

FunctionFrame CurrentFunction(const char* who) {
  FunctionFrame frame = IRBuilder::Current()->FindFrame<FunctionFrame>();
  TVM_FFI_CHECK(frame.defined(), ValueError) << who << " is used outside of a relax function";
  return frame;
}

BindingBlockFrame CurrentBlock(const char* who) {
  IRBuilder builder = IRBuilder::Current();
  BindingBlockFrame block = builder->LastFrame<BindingBlockFrame>();
  if (!block.defined()) {
    FunctionFrame function = CurrentFunction(who);
    TVM_FFI_CHECK(builder->LastFrame<SeqExprFrame>().defined(), ValueError)
        << who << " adds a binding between the branches of an If";
    TVM_FFI_CHECK(!builder->LastFrame<FunctionFrame>().defined() || !function->output.has_value(),
                  ValueError)
        << "no statement may follow the return of a relax function";
    block = BindingBlock();
    block->EnterWithScope();
  }
  TVM_FFI_CHECK(!block->block_ended, ValueError)
      << "New binding is not allowed after dataflow block output.";
  return block;
}

namespace {

/// Replaces the block's variables of its outputs by those that live on.
class OutputSubstituter : public rx::ExprMutatorBase {
 public:
  OutputSubstituter(const Array<Var>& inner, const Array<Var>& outer) {
    for (size_t i = 0; i < inner.size(); ++i) {
      map_.emplace(inner[i].get(), outer[i]);
      if (rx::IsPrim(inner[i])) symbols_.Set(inner[i], Downcast<PrimExpr>(outer[i]));
    }
  }

  rx::Binding Rewrite(const rx::Binding& binding) {
    Var var = Mapped(binding->var);
    if (const auto* b = binding.as<rx::VarBindingNode>()) {
      Expr value = VisitExpr(b->value);
      if (var.same_as(b->var) && value.same_as(b->value)) return binding;
      return rx::VarBinding(var, value, b->span);
    }
    const auto* b = binding.as<rx::MatchCastNode>();
    Expr value = VisitExpr(b->value);
    if (var.same_as(b->var) && value.same_as(b->value)) return binding;
    return rx::MatchCast(var, value, VisitType(b->ty), b->span);
  }

  using ExprMutatorBase::VisitExpr_;
  Expr VisitExpr_(const VarNode* op) final { return Mapped(ffi::GetRef<Var>(op)); }
  Expr VisitExpr_(const rx::DataflowVarNode* op) final { return Mapped(ffi::GetRef<Var>(op)); }
  Type VisitType(const Type& ty) final {
    return symbols_.empty() ? ty : rx::SubstituteType(ty, symbols_);
  }

 private:
  Var Mapped(const Var& var) const {
    auto it = map_.find(var.get());
    return it == map_.end() ? var : it->second;
  }
  std::unordered_map<const VarNode*, Var> map_;
  Map<Var, PrimExpr> symbols_;
};

/// A value that may stand as the result of a sequence without a binding.
bool IsResult(const Expr& value) { return rx::IsLeafOrTuple(value); }

/// The sequence of a branch, and the name its last statement binds.
rx::SeqExpr BranchBody(const SeqExprFrameNode* frame, const char* branch, const char* suffix,
                       String* name) {
  Array<rx::BindingBlock> blocks = frame->binding_blocks;
  TVM_FFI_CHECK(!blocks.empty(), ValueError)
      << "Empty body is not allowed for '" << branch << "' statements.";
  rx::BindingBlock last = blocks.back();
  rx::Binding binding = last->bindings.back();
  Var var = binding->var;
  *name = var->name;
  bool dataflow = last.as<rx::DataflowBlockNode>() != nullptr;
  TVM_FFI_CHECK(!var.as<rx::DataflowVarNode>(), ValueError)
      << "The last variable of the dataflow block that ends a branch, " << var->name
      << ", must be an output of the block";
  const auto* bound = binding.as<rx::VarBindingNode>();
  if (bound != nullptr && !dataflow && IsResult(bound->value)) {
    // `y = x` as the last statement names the result of the branch.
    Array<rx::Binding> rest(last->bindings.begin(), last->bindings.end() - 1);
    blocks.pop_back();
    if (!rest.empty()) blocks.push_back(rx::BindingBlock(rest, last->span));
    return rx::SeqExpr(blocks, bound->value);
  }
  IRBuilder::NameObject(std::string(var->name) + suffix, var);
  return rx::SeqExpr(blocks, var);
}

IfFrame EnclosingIf(const char* branch) {
  IRBuilder builder = IRBuilder::Current();
  IfFrame frame = builder->LastFrame<IfFrame>();
  TVM_FFI_CHECK(frame.defined(), ValueError) << branch << " must be directly inside of an R.If";
  return frame;
}

}  // namespace

void SeqExprFrameNode::CloseOpenBlock() {
  BindingBlockFrame block = IRBuilder::Current()->LastFrame<BindingBlockFrame>();
  if (block.defined() && !block->is_dataflow) block->ExitWithScope();
}

void SeqExprFrameNode::EnterWithScope() {
  CurrentFunction("R.SeqExpr")->block_builder->BeginInnerScope();
  IRBuilderFrameNode::EnterWithScope();
}

void SeqExprFrameNode::ExitWithScope() {
  CloseOpenBlock();
  IRBuilderFrameNode::ExitWithScope();
  CurrentFunction("R.SeqExpr")->block_builder->EndScope();
  if (!output.has_value()) {
    TVM_FFI_CHECK(!binding_blocks.empty(), ValueError)
        << "Empty body is not allowed for 'R.SeqExpr' statements.";
    output = binding_blocks.back()->bindings.back()->var;
  }
  result = rx::SeqExpr(binding_blocks, output.value());
}

void FunctionFrameNode::EnterWithScope() {
  IRBuilder builder = IRBuilder::Current();
  Optional<tvm::IRModule> context;
  if (IRModuleFrame module = builder->FindFrame<IRModuleFrame>(); module.defined()) {
    context = tvm::IRModule(module->functions);
  }
  block_builder = rx::BlockBuilder::Create(context);
  block_builder->BeginScope(std::nullopt);
  IRBuilderFrameNode::EnterWithScope();
}

void FunctionFrameNode::ExitWithScope() {
  CloseOpenBlock();
  IRBuilderFrameNode::ExitWithScope();
  TVM_FFI_CHECK(output.has_value(), ValueError)
      << "A Relax function must have a return value. Please use `return` to return an Expr";
  block_builder->EndScope();
  IRBuilder builder = IRBuilder::Current();
  bool nested = builder->FindFrame<FunctionFrame>().defined();
  Map<String, ffi::Any> all = attrs;
  if (!is_private && !nested && name.has_value() && all.count(tvm::attr::kGlobalSymbol) == 0) {
    all.Set(tvm::attr::kGlobalSymbol, name.value());
  }
  DictAttrs dict = all.empty() ? DictAttrs() : DictAttrs(all);
  rx::Function func(params, rx::SeqExpr(binding_blocks, output.value()), ret_ty, is_pure, dict,
                    span);
  rx::Function normal = Downcast<rx::Function>(block_builder->Normalize(func));
  result = normal;
  if (nested) return;
  IRModuleFrame module = builder->FindFrame<IRModuleFrame>();
  if (!module.defined()) {
    builder->SetResult(normal);
    return;
  }
  TVM_FFI_CHECK(name.has_value(), ValueError)
      << "a relax function of a module needs a name; call R.func_name";
  if (module->global_var_map.count(name.value()) == 0) DeclFunction(name.value(), normal);
  DefFunction(name.value(), normal);
}

void BindingBlockFrameNode::EnterWithScope() {
  IRBuilder builder = IRBuilder::Current();
  FunctionFrame function = CurrentFunction(is_dataflow ? "R.dataflow" : "a binding block");
  if (BindingBlockFrame open = builder->LastFrame<BindingBlockFrame>(); open.defined()) {
    TVM_FFI_CHECK(!open->is_dataflow, ValueError)
        << "a dataflow block must not be inside of another one";
    open->ExitWithScope();
  }
  TVM_FFI_CHECK(builder->LastFrame<SeqExprFrame>().defined(), ValueError)
      << "a block of bindings must be inside of a function or a branch";
  if (is_dataflow) {
    function->block_builder->BeginDataflowBlock();
  } else {
    function->block_builder->BeginBindingBlock();
  }
  IRBuilderFrameNode::EnterWithScope();
}

void BindingBlockFrameNode::ExitWithScope() {
  IRBuilderFrameNode::ExitWithScope();
  IRBuilder builder = IRBuilder::Current();
  rx::BindingBlock block = CurrentFunction("a block")->block_builder->EndBlock();
  if (!inner_outputs.empty()) {
    OutputSubstituter substitute(inner_outputs, output_vars);
    Array<rx::Binding> bindings =
        block->bindings.Map([&](const rx::Binding& b) { return substitute.Rewrite(b); });
    block = rx::DataflowBlock(bindings, block->span);
  }
  if (block->bindings.empty()) return;
  SeqExprFrame seq = builder->LastFrame<SeqExprFrame>();
  seq->binding_blocks.push_back(block);
}

void IfFrameNode::ExitWithScope() {
  IRBuilderFrameNode::ExitWithScope();
  TVM_FFI_CHECK(then_expr.has_value(), ValueError)
      << "The body of then part is expected to be defined before exiting.";
  TVM_FFI_CHECK(else_expr.has_value(), ValueError)
      << "The body of else part is expected to be defined before exiting.";
  var = Emit(rx::If(condition, then_expr.value(), else_expr.value(), span));
  IRBuilder::NameObject(var_name, var.value());
}

void ThenFrameNode::EnterWithScope() {
  IfFrame frame = EnclosingIf("R.Then");
  TVM_FFI_CHECK(!frame->then_expr.has_value(), ValueError)
      << "Duplicate then branch declaration, previous one is:\n"
      << frame->then_expr.value();
  SeqExprFrameNode::EnterWithScope();
}

void ThenFrameNode::ExitWithScope() {
  CloseOpenBlock();
  IRBuilderFrameNode::ExitWithScope();
  CurrentFunction("R.Then")->block_builder->EndScope();
  IfFrame frame = EnclosingIf("R.Then");
  String name;
  result = BranchBody(this, "R.Then", "_then", &name);
  frame->then_expr = result;
  frame->var_name = name;
}

void ElseFrameNode::EnterWithScope() {
  IfFrame frame = EnclosingIf("R.Else");
  TVM_FFI_CHECK(frame->then_expr.has_value(), ValueError)
      << "The else branch should follow then branch";
  TVM_FFI_CHECK(!frame->else_expr.has_value(), ValueError)
      << "Duplicate else branch declaration, previous one is:\n"
      << frame->else_expr.value();
  SeqExprFrameNode::EnterWithScope();
}

void ElseFrameNode::ExitWithScope() {
  CloseOpenBlock();
  IRBuilderFrameNode::ExitWithScope();
  CurrentFunction("R.Else")->block_builder->EndScope();
  IfFrame frame = EnclosingIf("R.Else");
  String name;
  result = BranchBody(this, "R.Else", "_else", &name);
  frame->else_expr = result;
  TVM_FFI_CHECK(name == frame->var_name, ValueError)
      << "This last binding of both branches must provide the same variable.  However, the R.Then "
         "branch provides variable "
      << frame->var_name << ", while the R.Else branch provides variable " << name;
}

void RelaxFrameNode::RegisterReflection() { ffi::reflection::ObjectDef<RelaxFrameNode>(); }
void SeqExprFrameNode::RegisterReflection() {
  ffi::reflection::ObjectDef<SeqExprFrameNode>()
      .def_ro("binding_blocks", &SeqExprFrameNode::binding_blocks)
      .def_ro("output", &SeqExprFrameNode::output)
      .def_ro("result", &SeqExprFrameNode::result);
}
void FunctionFrameNode::RegisterReflection() {
  ffi::reflection::ObjectDef<FunctionFrameNode>()
      .def_ro("name", &FunctionFrameNode::name)
      .def_ro("params", &FunctionFrameNode::params)
      .def_ro("ret_ty", &FunctionFrameNode::ret_ty)
      .def_ro("is_pure", &FunctionFrameNode::is_pure)
      .def_ro("is_private", &FunctionFrameNode::is_private)
      .def_ro("attrs", &FunctionFrameNode::attrs)
      .def_ro("block_builder", &FunctionFrameNode::block_builder);
}
void BindingBlockFrameNode::RegisterReflection() {
  ffi::reflection::ObjectDef<BindingBlockFrameNode>()
      .def_ro("is_dataflow", &BindingBlockFrameNode::is_dataflow)
      .def_ro("emitted_vars", &BindingBlockFrameNode::emitted_vars)
      .def_ro("output_vars", &BindingBlockFrameNode::output_vars)
      .def_ro("inner_outputs", &BindingBlockFrameNode::inner_outputs)
      .def_ro("block_ended", &BindingBlockFrameNode::block_ended);
}
void IfFrameNode::RegisterReflection() {
  ffi::reflection::ObjectDef<IfFrameNode>()
      .def_ro("condition", &IfFrameNode::condition)
      .def_ro("then_expr", &IfFrameNode::then_expr)
      .def_ro("else_expr", &IfFrameNode::else_expr)
      .def_ro("var", &IfFrameNode::var)
      .def_ro("var_name", &IfFrameNode::var_name);
}
void ThenFrameNode::RegisterReflection() { ffi::reflection::ObjectDef<ThenFrameNode>(); }
void ElseFrameNode::RegisterReflection() { ffi::reflection::ObjectDef<ElseFrameNode>(); }

TVM_FFI_STATIC_INIT_BLOCK() {
  RelaxFrameNode::RegisterReflection();
  SeqExprFrameNode::RegisterReflection();
  FunctionFrameNode::RegisterReflection();
  BindingBlockFrameNode::RegisterReflection();
  IfFrameNode::RegisterReflection();
  ThenFrameNode::RegisterReflection();
  ElseFrameNode::RegisterReflection();
}

}  // namespace tvm::script::ir_builder::relax
