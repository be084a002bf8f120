// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file
/// \brief Functions that add to the graph-level function being built.
#include <tvm/ffi/reflection/registry.h>
#include <tvm/relax/analysis.h>
#include <tvm/relax/ir_builder.h>

#include <algorithm>

#include "relax/script/ir_builder/utils.h"
#include "script/ir_builder/api.h"

namespace tvm::script::ir_builder::relax {

namespace rx = tvm::relax;

FunctionFrame Function(bool is_pure, bool is_private) {
  auto node = ffi::make_object<FunctionFrameNode>();
  node->is_pure = is_pure;
  node->is_private = is_private;
  return FunctionFrame(std::move(node));
}

Var Arg(const String& name, const Type& ty) {
  Var var(name, ty, IRBuilder::CurrentSpan());
  AddParam(var);
  return var;
}

void AddParam(const Var& var) {
  FunctionFrame frame = CurrentFunction("R.arg");
  frame->params.push_back(var);
  if (var->ty.as<PrimTypeNode>()) frame->block_builder->AddDefinition(var);
  for (const Var& symbol : rx::DefinableSymbolicVarsInType(var->ty)) {
    frame->block_builder->AddDefinition(symbol);
  }
}

void FuncName(const String& name) {
  FunctionFrame frame = CurrentFunction("R.func_name");
  TVM_FFI_CHECK(!frame->name.has_value(), ValueError)
      << "Duplicate function name, previous one is: \"" << frame->name.value() << "\"";
  frame->name = name;
}

void FuncAttrs(const Map<String, ffi::Any>& attrs) {
  FunctionFrame frame = CurrentFunction("R.func_attr");
  for (const auto& [key, value] : attrs) {
    if (key == tvm::attr::kGlobalSymbol && value != nullptr) {
      TVM_FFI_CHECK(!frame->is_private, ValueError)
          << "A private function may not have a global symbol.";
      auto symbol = value.try_cast<String>();
      TVM_FFI_CHECK(!frame->name.has_value() || (symbol && *symbol == frame->name.value()),
                    ValueError)
          << "the attribute global_symbol must be the function's name " << frame->name.value();
    }
    frame->attrs.Set(key, value);
  }
}

void FuncRetType(const Type& ty) {
  FunctionFrame frame = CurrentFunction("R.func_ret_ty");
  TVM_FFI_CHECK(!frame->ret_ty.has_value(), ValueError)
      << "Duplicate function return type, previous one is:\n"
      << frame->ret_ty.value();
  frame->ret_ty = ty;
}

void FuncRetValue(const Expr& value) {
  IRBuilder builder = IRBuilder::Current();
  FunctionFrame frame = CurrentFunction("R.func_ret_value");
  TVM_FFI_CHECK(!frame->output.has_value(), ValueError)
      << "Relax functions do not support multiple return statements: a return occurred after "
         "another one. A function has a single return, as its last statement";
  BindingBlockFrame open = builder->LastFrame<BindingBlockFrame>();
  TVM_FFI_CHECK(!open.defined() || !open->is_dataflow, ValueError)
      << "a return must not be inside of a dataflow block";
  TVM_FFI_CHECK(open.defined() ? builder->frames.size() >= 2 &&
                                     builder->frames[builder->frames.size() - 2].same_as(frame)
                               : builder->LastFrame<FunctionFrame>().defined(),
                ValueError)
      << "Relax functions do not support a return inside of a branch: a function has a single "
         "return, as its last statement";
  CurrentBlock("return");
  Expr output = frame->block_builder->NormalizeArgument(value);
  // The block must end before the result is set: nothing may be bound after that.
  builder->LastFrame<BindingBlockFrame>()->ExitWithScope();
  frame->output = output;
}

namespace {

BindingBlockFrame MakeBlockFrame(bool is_dataflow) {
  auto node = ffi::make_object<BindingBlockFrameNode>();
  node->is_dataflow = is_dataflow;
  return BindingBlockFrame(std::move(node));
}

bool Contains(const Array<Var>& vars, const Var& var) {
  return std::any_of(vars.begin(), vars.end(), [&](const Var& v) { return v.same_as(var); });
}

}  // namespace

BindingBlockFrame BindingBlock() { return MakeBlockFrame(false); }
BindingBlockFrame Dataflow() { return MakeBlockFrame(true); }

void DataflowBlockOutput(const Array<Var>& vars) {
  BindingBlockFrame block = IRBuilder::Current()->LastFrame<BindingBlockFrame>();
  TVM_FFI_CHECK(block.defined() && block->is_dataflow, ValueError)
      << "`R.output` should appear inside a dataflow block.";
  TVM_FFI_CHECK(!block->block_ended, ValueError)
      << "a dataflow block names its outputs only once, but R.output is called again";
  block->block_ended = true;
  for (const Var& var : vars) {
    TVM_FFI_CHECK(Contains(block->emitted_vars, var), ValueError)
        << "An output variable is not emitted by this dataflow block: " << var->name;
    TVM_FFI_CHECK(!Contains(block->inner_outputs, var), ValueError)
        << "variable " << var->name << " is an output of the dataflow block twice";
    block->inner_outputs.push_back(var);
    block->output_vars.push_back(Var(var->name, var->ty, var->span));
  }
}

Var Emit(const Expr& value, const Optional<Type>& annotate_ty) {
  BindingBlockFrame block = CurrentBlock("R.emit");
  rx::BlockBuilder builder = CurrentFunction("R.emit")->block_builder;
  Var var;
  if (annotate_ty.has_value()) {
    Expr normal = builder->Normalize(value);
    if (normal.as<rx::SeqExprNode>()) normal = builder->Emit(normal);
    Span span = IRBuilder::CurrentSpan();
    if (block->is_dataflow) {
      var = rx::DataflowVar("lv", annotate_ty.value(), span);
    } else {
      var = Var("gv", annotate_ty.value(), span);
    }
    builder->EmitNormalized(rx::VarBinding(var, normal, span));
  } else {
    var = builder->Emit(value);
    if (!var->span.defined()) var->span = IRBuilder::CurrentSpan();
  }
  block->emitted_vars.push_back(var);
  return var;
}

Var EmitMatchCast(const Expr& value, const Type& ty) {
  BindingBlockFrame block = CurrentBlock("R.match_cast");
  Var var = CurrentFunction("R.match_cast")->block_builder->EmitMatchCast(value, ty);
  block->emitted_vars.push_back(var);
  return var;
}

Var EmitVarBinding(const rx::VarBinding& binding) {
  BindingBlockFrame block = CurrentBlock("R.emit_var_binding");
  rx::BlockBuilder builder = CurrentFunction("R.emit_var_binding")->block_builder;
  Expr value = builder->Normalize(binding->value);
  if (binding->var->ty.IsMissing()) rx::UpdateType(binding->var, value->ty);
  builder->EmitNormalized(value.same_as(binding->value)
                              ? rx::Binding(binding)
                              : rx::VarBinding(binding->var, value, binding->span));
  block->emitted_vars.push_back(binding->var);
  return binding->var;
}

SeqExprFrame SeqExpr() { return SeqExprFrame(ffi::make_object<SeqExprFrameNode>()); }

IfFrame If(const Expr& condition) {
  FunctionFrame function = CurrentFunction("R.If");
  BindingBlockFrame block = CurrentBlock("R.If");
  TVM_FFI_CHECK(!block->is_dataflow, ValueError) << "an If must not be inside of a dataflow block";
  auto node = ffi::make_object<IfFrameNode>();
  node->condition = function->block_builder->NormalizeArgument(condition);
  return IfFrame(std::move(node));
}

ThenFrame Then() { return ThenFrame(ffi::make_object<ThenFrameNode>()); }
ElseFrame Else() { return ElseFrame(ffi::make_object<ElseFrameNode>()); }

TVM_FFI_STATIC_INIT_BLOCK() {
  BuilderApi()
      .def("script.ir_builder.relax.Function", Function)
      .def("script.ir_builder.relax.Arg", Arg)
      .def("script.ir_builder.relax.AddParam", AddParam)
      .def("script.ir_builder.relax.FuncName", FuncName)
      .def("script.ir_builder.relax.FuncAttrs", FuncAttrs)
      .def("script.ir_builder.relax.FuncRetType", FuncRetType)
      .def("script.ir_builder.relax.FuncRetValue", FuncRetValue)
      .def("script.ir_builder.relax.BindingBlock", BindingBlock)
      .def("script.ir_builder.relax.Dataflow", Dataflow)
      .def("script.ir_builder.relax.DataflowBlockOutput", DataflowBlockOutput)
      .def("script.ir_builder.relax.Emit", Emit)
      .def("script.ir_builder.relax.EmitMatchCast", EmitMatchCast)
      .def("script.ir_builder.relax.EmitVarBinding", EmitVarBinding)
      .def("script.ir_builder.relax.SeqExpr", SeqExpr)
      .def("script.ir_builder.relax.If", If)
      .def("script.ir_builder.relax.Then", Then)
      .def("script.ir_builder.relax.Else", Else);
}

}  // namespace tvm::script::ir_builder::relax
