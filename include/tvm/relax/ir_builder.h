// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file
/// \brief Frames and functions that build graph-level functions statement by statement.
///
/// A function frame holds blocks; bindings go to the innermost open block, which opens by itself
/// where none is open. Everything is normalised and typed as it is added.
#ifndef TVM_RELAX_IR_BUILDER_H_
#define TVM_RELAX_IR_BUILDER_H_

#include <tvm/relax/block_builder.h>
#include <tvm/relax/expr.h>
#include <tvm/script/ir_builder/base.h>

namespace tvm::script::ir_builder::relax {

using ffi::Array;
using ffi::Map;
using ffi::Optional;
using ffi::String;

/// Base of the frames of this dialect.
class RelaxFrameNode : public IRBuilderFrameNode {
 public:
  static void RegisterReflection();
  static constexpr uint32_t _type_child_slots = 8;
  TVM_FFI_DECLARE_OBJECT_INFO("script.ir_builder.relax.RelaxFrame", RelaxFrameNode,
                              IRBuilderFrameNode);
};
class RelaxFrame : public IRBuilderFrame {
 public:
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(RelaxFrame, IRBuilderFrame, RelaxFrameNode);
};

/// Blocks followed by a result.
class SeqExprFrameNode : public RelaxFrameNode {
 public:
  Array<tvm::relax::BindingBlock> binding_blocks;
  /// The result; without one, the variable bound last.
  Optional<Expr> output;
  /// What leaving the frame made (a SeqExpr or a Function).
  Optional<Expr> result;

  void EnterWithScope() override;
  void ExitWithScope() override;
  static void RegisterReflection();
  static constexpr uint32_t _type_child_slots = 4;
  TVM_FFI_DECLARE_OBJECT_INFO("script.ir_builder.relax.SeqExprFrame", SeqExprFrameNode,
                              RelaxFrameNode);

 protected:
  /// Ends the block left open by bindings outside of a dataflow block.
  void CloseOpenBlock();
};
class SeqExprFrame : public RelaxFrame {
 public:
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(SeqExprFrame, RelaxFrame, SeqExprFrameNode);
};

/// A function. Leaving the frame hands it to the module frame, or to the builder when there is no
/// frame around it; a function inside of another one is only kept in `result`.
class FunctionFrameNode : public SeqExprFrameNode {
 public:
  Optional<String> name;
  Array<Var> params;
  Optional<Type> ret_ty;
  bool is_pure = true;
  bool is_private = false;
  Map<String, ffi::Any> attrs;
  tvm::relax::BlockBuilder block_builder;

  void EnterWithScope() final;
  void ExitWithScope() final;
  static void RegisterReflection();
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("script.ir_builder.relax.FunctionFrame", FunctionFrameNode,
                                    SeqExprFrameNode);
};
class FunctionFrame : public SeqExprFrame {
 public:
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(FunctionFrame, SeqExprFrame, FunctionFrameNode);
};

/// A block of bindings. Outputs of a dataflow block get variables that live on after it.
class BindingBlockFrameNode : public RelaxFrameNode {
 public:
  bool is_dataflow = false;
  Array<Var> emitted_vars;
  /// The variables that stand for the outputs outside of the block; set by DataflowBlockOutput.
  Array<Var> output_vars;
  /// Outputs were named: no binding may follow.
  bool block_ended = false;
  /// The block's own variables of the outputs, in the order of `output_vars`.
  Array<Var> inner_outputs;

  void EnterWithScope() final;
  void ExitWithScope() final;
  static void RegisterReflection();
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("script.ir_builder.relax.BindingBlockFrame",
                                    BindingBlockFrameNode, RelaxFrameNode);
};
class BindingBlockFrame : public RelaxFrame {
 public:
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(BindingBlockFrame, RelaxFrame, BindingBlockFrameNode);
};

/// A choice; both branches bind the same name last.
class IfFrameNode : public RelaxFrameNode {
 public:
  Expr condition;
  Optional<Expr> then_expr;
  Optional<Expr> else_expr;
  /// The variable bound to the choice.
  Optional<Var> var;
  String var_name;

  void ExitWithScope() final;
  static void RegisterReflection();
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("script.ir_builder.relax.IfFrame", IfFrameNode, RelaxFrameNode);
};
class IfFrame : public RelaxFrame {
 public:
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(IfFrame, RelaxFrame, IfFrameNode);
};

class ThenFrameNode : public SeqExprFrameNode {
 public:
  void EnterWithScope() final;
  void ExitWithScope() final;
  static void RegisterReflection();
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("script.ir_builder.relax.ThenFrame", ThenFrameNode,
                                    SeqExprFrameNode);
};
class ThenFrame : public SeqExprFrame {
 public:
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(ThenFrame, SeqExprFrame, ThenFrameNode);
};

class ElseFrameNode : public SeqExprFrameNode {
 public:
  void EnterWithScope() final;
  void ExitWithScope() final;
  static void RegisterReflection();
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("script.ir_builder.relax.ElseFrame", ElseFrameNode,
                                    SeqExprFrameNode);
};
class ElseFrame : public SeqExprFrame {
 public:
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(ElseFrame, SeqExprFrame, ElseFrameNode);
};

TVM_DLL FunctionFrame Function(bool is_pure, bool is_private);
/// Adds a parameter to the function.
TVM_DLL Var Arg(const String& name, const Type& ty);
/// Adds a variable that exists already as a parameter.
TVM_DLL void AddParam(const Var& var);
TVM_DLL void FuncName(const String& name);
TVM_DLL void FuncAttrs(const Map<String, ffi::Any>& attrs);
TVM_DLL void FuncRetType(const Type& ty);
/// Sets the result; it may be a nested expression. ValueError when there is one already.
TVM_DLL void FuncRetValue(const Expr& value);

TVM_DLL BindingBlockFrame BindingBlock();
TVM_DLL BindingBlockFrame Dataflow();
/// Names the variables that live on after the dataflow block. ValueError for variables of other
/// blocks.
TVM_DLL void DataflowBlockOutput(const Array<Var>& vars);

/// Binds a value to a new variable, of the given type if there is one.
TVM_DLL Var Emit(const Expr& value, const Optional<Type>& annotate_ty = std::nullopt);
TVM_DLL Var EmitMatchCast(const Expr& value, const Type& ty);
TVM_DLL Var EmitVarBinding(const tvm::relax::VarBinding& binding);

TVM_DLL SeqExprFrame SeqExpr();
TVM_DLL IfFrame If(const Expr& condition);
TVM_DLL ThenFrame Then();
TVM_DLL ElseFrame Else();

}  // namespace tvm::script::ir_builder::relax

#endif  // TVM_RELAX_IR_BUILDER_H_
