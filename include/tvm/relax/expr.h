// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file
/// \brief Expression nodes, bindings and functions of the graph level.
///
/// Scalars are ordinary primitive expressions of the ir layer; calls are ir Calls.
#ifndef TVM_RELAX_EXPR_H_
#define TVM_RELAX_EXPR_H_

#include <tvm/ffi/container/tensor.h>
#include <tvm/ir/function.h>
#include <tvm/ir/module.h>
#include <tvm/ir/op.h>
#include <tvm/relax/type.h>

namespace tvm {
namespace relax {

using tvm::Call;
using tvm::CallNode;
using tvm::Var;
using tvm::VarNode;

/// A constant tensor; a scalar is a tensor of rank 0.
class ConstantNode : public ExprNode {
 public:
  ffi::Tensor data;

  bool is_scalar() const { return data.ndim() == 0; }
  static void RegisterReflection();
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("relax.expr.Constant", ConstantNode, ExprNode);
};
class Constant : public Expr {
 public:
  /// The type defaults to the tensor's own shape and element type.
  TVM_DLL explicit Constant(ffi::Tensor data, Optional<Type> ty = std::nullopt, Span span = Span());
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(Constant, Expr, ConstantNode);
};

/// A shape value with the given int64 dimensions.
class ShapeExprNode : public ExprNode {
 public:
  Array<PrimExpr> values;
  static void RegisterReflection();
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("relax.expr.ShapeExpr", ShapeExprNode, ExprNode);
};
class ShapeExpr : public Expr {
 public:
  TVM_DLL explicit ShapeExpr(Array<PrimExpr> values, Span span = Span());
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(ShapeExpr, Expr, ShapeExprNode);
};

class StringImmNode : public ExprNode {
 public:
  String value;
  static void RegisterReflection();
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("relax.expr.StringImm", StringImmNode, ExprNode);
};
class StringImm : public Expr {
 public:
  TVM_DLL explicit StringImm(String value, Span span = Span());
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(StringImm, Expr, StringImmNode);
};

class DataTypeImmNode : public ExprNode {
 public:
  DLDataType value;
  static void RegisterReflection();
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("relax.expr.DataTypeImm", DataTypeImmNode, ExprNode);
};
class DataTypeImm : public Expr {
 public:
  TVM_DLL explicit DataTypeImm(DataType value, Span span = Span());
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(DataTypeImm, Expr, DataTypeImmNode);
};

class TupleNode : public ExprNode {
 public:
  Array<Expr> fields;

  ~TupleNode() { ReleaseDeep(&fields); }
  static void RegisterReflection();
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("relax.expr.Tuple", TupleNode, ExprNode);
};
class Tuple : public Expr {
 public:
  TVM_DLL explicit Tuple(Array<Expr> fields, Span span = Span());
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(Tuple, Expr, TupleNode);
};

class TupleGetItemNode : public ExprNode {
 public:
  Expr tuple;
  int index = 0;

  ~TupleGetItemNode() { ReleaseDeep(&tuple); }
  static void RegisterReflection();
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("relax.expr.TupleGetItem", TupleGetItemNode, ExprNode);
};
class TupleGetItem : public Expr {
 public:
  /// ValueError when the index is negative or, for a known tuple type, too large.
  TVM_DLL TupleGetItem(Expr tuple, int index, Span span = Span());
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(TupleGetItem, Expr, TupleGetItemNode);
};

/// A variable visible only in its dataflow block.
class DataflowVarNode : public VarNode {
 public:
  static void RegisterReflection();
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("relax.expr.DataflowVar", DataflowVarNode, VarNode);
};
class DataflowVar : public Var {
 public:
  TVM_DLL explicit DataflowVar(String name, Optional<Type> ty = std::nullopt, Span span = Span());
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(DataflowVar, Var, DataflowVarNode);
};

class BindingNode : public ffi::Object {
 public:
  mutable Span span;
  Var var;
  static void RegisterReflection();
  static constexpr TVMFFISEqHashKind _type_s_eq_hash_kind = kTVMFFISEqHashKindTreeNode;
  static constexpr uint32_t _type_child_slots = 4;
  TVM_FFI_DECLARE_OBJECT_INFO("relax.expr.Binding", BindingNode, ffi::Object);
};
class Binding : public ffi::ObjectRef {
 public:
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(Binding, ffi::ObjectRef, BindingNode);
};

class VarBindingNode : public BindingNode {
 public:
  Expr value;

  ~VarBindingNode() { ReleaseDeep(&value); }
  static void RegisterReflection();
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("relax.expr.VarBinding", VarBindingNode, BindingNode);
};
class VarBinding : public Binding {
 public:
  TVM_DLL VarBinding(Var var, Expr value, Span span = Span());
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(VarBinding, Binding, VarBindingNode);
};

/// Checks at run time that `value` is of type `ty`, defining the bare symbolic variables in it.
class MatchCastNode : public BindingNode {
 public:
  Expr value;
  Type ty;
  static void RegisterReflection();
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("relax.expr.MatchCast", MatchCastNode, BindingNode);
};
class MatchCast : public Binding {
 public:
  TVM_DLL MatchCast(Var var, Expr value, Type ty, Span span = Span());
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(MatchCast, Binding, MatchCastNode);
};

class BindingBlockNode : public ffi::Object {
 public:
  Array<Binding> bindings;
  mutable Span span;
  static void RegisterReflection();
  static constexpr TVMFFISEqHashKind _type_s_eq_hash_kind = kTVMFFISEqHashKindTreeNode;
  static constexpr uint32_t _type_child_slots = 2;
  TVM_FFI_DECLARE_OBJECT_INFO("relax.expr.BindingBlock", BindingBlockNode, ffi::Object);
};
class BindingBlock : public ffi::ObjectRef {
 public:
  TVM_DLL explicit BindingBlock(Array<Binding> bindings, Span span = Span());
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(BindingBlock, ffi::ObjectRef, BindingBlockNode);
};

/// Bindings without control flow or side effects.
class DataflowBlockNode : public BindingBlockNode {
 public:
  static void RegisterReflection();
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("relax.expr.DataflowBlock", DataflowBlockNode,
                                    BindingBlockNode);
};
class DataflowBlock : public BindingBlock {
 public:
  TVM_DLL explicit DataflowBlock(Array<Binding> bindings, Span span = Span());
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(DataflowBlock, BindingBlock, DataflowBlockNode);
};

/// Blocks in order, then a result that may use what they bound.
class SeqExprNode : public ExprNode {
 public:
  Array<BindingBlock> blocks;
  Expr body;

  ~SeqExprNode() {
    ReleaseDeep(&blocks);
    ReleaseDeep(&body);
  }
  static void RegisterReflection();
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("relax.expr.SeqExpr", SeqExprNode, ExprNode);
};
class SeqExpr : public Expr {
 public:
  TVM_DLL SeqExpr(Array<BindingBlock> blocks, Expr body, Span span = Span());
  /// Any expression as a SeqExpr: itself, or a sequence without bindings.
  TVM_DLL static SeqExpr Wrap(Expr body);
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(SeqExpr, Expr, SeqExprNode);
};

class IfNode : public ExprNode {
 public:
  Expr cond;
  SeqExpr true_branch;
  SeqExpr false_branch;

  ~IfNode() {
    ReleaseDeep(&true_branch);
    ReleaseDeep(&false_branch);
  }
  static void RegisterReflection();
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("relax.expr.If", IfNode, ExprNode);
};
class If : public Expr {
 public:
  TVM_DLL If(Expr cond, Expr true_branch, Expr false_branch, Span span = Span());
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(If, Expr, IfNode);
};

class FunctionNode : public BaseFuncNode {
 public:
  Array<Var> params;
  SeqExpr body;
  Type ret_ty;
  bool is_pure = true;

  ~FunctionNode() { ReleaseDeep(&body); }
  static void RegisterReflection();
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("relax.expr.Function", FunctionNode, BaseFuncNode);
};
class Function : public BaseFunc {
 public:
  /// The return type comes from the body when absent or when the body's type is narrower;
  /// variables that the parameters do not define are erased from it.
  TVM_DLL Function(Array<Var> params, Expr body, Optional<Type> ret_ty = std::nullopt,
                   bool is_pure = true, DictAttrs attrs = DictAttrs(), Span span = Span());
  /// Declaration without a body, for GlobalVar types and recursion.
  TVM_DLL static Function CreateEmpty(Array<Var> params, Type ret_ty, bool is_pure = true,
                                      DictAttrs attrs = DictAttrs(), Span span = Span());
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(Function, BaseFunc, FunctionNode);
};

class ExternFuncNode : public BaseFuncNode {
 public:
  String global_symbol;
  static void RegisterReflection();
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("relax.expr.ExternFunc", ExternFuncNode, BaseFuncNode);
};
class ExternFunc : public BaseFunc {
 public:
  /// The default type is opaque and impure, its result taken from the call's `ty_args`.
  TVM_DLL explicit ExternFunc(String global_symbol, Optional<Type> ty = std::nullopt,
                              Span span = Span());
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(ExternFunc, BaseFunc, ExternFuncNode);
};

/// Function attributes of the graph level.
namespace attr {
constexpr const char* kPrimitive = "Primitive";
constexpr const char* kCodegen = "Codegen";
constexpr const char* kComposite = "Composite";
constexpr const char* kForcePure = "relax.force_pure";
constexpr const char* kNumInput = "num_input";
constexpr const char* kParams = "params";
}  // namespace attr

/// The known shape of a tensor expression, else a call of `relax.shape_of`.
TVM_DLL Expr GetShapeOf(const Expr& expr);
/// Whether an expression may be an operand in normal form.
TVM_DLL bool IsLeafOrTuple(const Expr& expr);
/// Whether `expr` is a primitive (scalar) expression.
TVM_DLL bool IsPrim(const Expr& expr);
/// Rank-0 constant of the given type holding `value`.
TVM_DLL Constant ScalarConst(double value, DataType dtype);
TVM_DLL Constant ScalarConst(int64_t value, DataType dtype);

}  // namespace relax
}  // namespace tvm

#endif  // TVM_RELAX_EXPR_H_
