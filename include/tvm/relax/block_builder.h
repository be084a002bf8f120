// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file
/// \brief Builds functions in normal form: every operand a leaf, every expression typed.
#ifndef TVM_RELAX_BLOCK_BUILDER_H_
#define TVM_RELAX_BLOCK_BUILDER_H_

#include <tvm/arith/analyzer.h>
#include <tvm/relax/expr.h>

namespace tvm {
namespace relax {

class BlockBuilderNode : public ffi::Object {
 public:
  virtual ~BlockBuilderNode() = default;

  /// The module under construction.
  virtual IRModule GetModule() const = 0;
  /// The module with function names normalised (public name == global_symbol).
  virtual IRModule Finalize() = 0;
  /// Add `func`; a structurally equal function already present is reused.
  virtual GlobalVar AddFunction(const BaseFunc& func, String name_hint) = 0;
  virtual void UpdateFunction(const GlobalVar& gv, const BaseFunc& func) = 0;

  /// Start a function scope; symbolic variables of `params` become defined.
  virtual void BeginScope(Optional<Array<Var>> params) = 0;
  /// Start a scope that sees the current one.
  virtual void BeginInnerScope() = 0;
  virtual void EndScope() = 0;
  /// Note that a symbolic variable is defined in the current scope.
  virtual void AddDefinition(const Var& symbolic) = 0;

  virtual void BeginDataflowBlock() = 0;
  virtual void BeginBindingBlock() = 0;
  virtual BindingBlock EndBlock() = 0;
  virtual bool CurrentBlockIsDataflow() const = 0;

  /// Bind the normalised expression to a new variable of the current block.
  virtual Var Emit(const Expr& expr, String name_hint = "") = 0;
  virtual Var EmitMatchCast(const Expr& value, const Type& ty, String name_hint = "") = 0;
  /// Bind a value visible after the current dataflow block.
  virtual Var EmitOutput(const Expr& expr, String name_hint = "") = 0;
  /// Append a binding whose value is already in normal form.
  virtual void EmitNormalized(const Binding& binding) = 0;

  /// Normal form and type of `expr`; nested operands are emitted into the current block.
  virtual Expr Normalize(const Expr& expr) = 0;
  /// Like Normalize, but the result is a leaf (a variable is emitted when needed).
  virtual Expr NormalizeArgument(const Expr& expr) = 0;
  /// What the current blocks bind `var` to.
  virtual Optional<Expr> LookupBinding(const Var& var) const = 0;
  virtual String GetUniqueName(const String& hint) = 0;
  virtual arith::Analyzer& GetAnalyzer() = 0;

  static constexpr bool _type_mutable = true;
  TVM_FFI_DECLARE_OBJECT_INFO("relax.BlockBuilder", BlockBuilderNode, ffi::Object);
};

class BlockBuilder : public ffi::ObjectRef {
 public:
  TVM_DLL static BlockBuilder Create(Optional<IRModule> mod = std::nullopt);
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(BlockBuilder, ffi::ObjectRef, BlockBuilderNode);
};

/// Type of a call from the operator's rule or the callee's function type.
TVM_DLL Type InferCallType(const Call& call, const BlockBuilder& ctx);

}  // namespace relax
}  // namespace tvm

#endif  // TVM_RELAX_BLOCK_BUILDER_H_
