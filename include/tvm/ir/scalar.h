// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Scalar expression nodes. They belong to this layer (the arithmetic layer needs them), carry
/// `tirx.*` type keys and live in namespace tvm::tirx.
#ifndef TVM_IR_SCALAR_H_
#define TVM_IR_SCALAR_H_

#include <tvm/ir/expr.h>

namespace tvm::tirx {

using tvm::Call;
using tvm::CallNode;
using tvm::Expr;
using tvm::ExprNode;
using tvm::FloatImm;
using tvm::FloatImmNode;
using tvm::GlobalVar;
using tvm::IntImm;
using tvm::IntImmNode;
using tvm::PrimExpr;
using tvm::Range;
using tvm::Type;
using tvm::Var;
using tvm::VarNode;

class StringImmNode : public ExprNode {
 public:
  ffi::String value;

  static void RegisterReflection();
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("tirx.StringImm", StringImmNode, ExprNode);
};

class StringImm : public PrimExpr {
 public:
  TVM_DLL explicit StringImm(ffi::String value, Span span = Span());
  TVM_IR_DEFINE_PRIM_REF_METHODS(StringImm, PrimExpr, StringImmNode);
};

/// Conversion of a value to the dtype in `ty`.
class CastNode : public ExprNode {
 public:
  PrimExpr value;

  ~CastNode() { ReleaseDeep(&value); }
  static void RegisterReflection();
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("tirx.Cast", CastNode, ExprNode);
};

class Cast : public PrimExpr {
 public:
  TVM_DLL Cast(DataType dtype, PrimExpr value, Span span = Span());
  TVM_IR_DEFINE_PRIM_REF_METHODS(Cast, PrimExpr, CastNode);
  TVM_DEFINE_OBJECT_REF_COW_METHOD(CastNode);
};

/// Common layout of the nodes with two operands; not a registered type.
class BinaryOpNode : public ExprNode {
 public:
  PrimExpr a;
  PrimExpr b;

  ~BinaryOpNode() {
    ReleaseDeep(&a);
    ReleaseDeep(&b);
  }
};

#define TVM_IR_DECLARE_BINARY(Name)                                         \
  class Name##Node : public BinaryOpNode {                                  \
   public:                                                                  \
    static void RegisterReflection();                                       \
    TVM_FFI_DECLARE_OBJECT_INFO_FINAL("tirx." #Name, Name##Node, ExprNode); \
  };                                                                        \
  class Name : public PrimExpr {                                            \
   public:                                                                  \
    /** Both operands must have the same dtype (TypeError). */              \
    TVM_DLL Name(PrimExpr a, PrimExpr b, Span span = Span());               \
    TVM_IR_DEFINE_PRIM_REF_METHODS(Name, PrimExpr, Name##Node);             \
    TVM_DEFINE_OBJECT_REF_COW_METHOD(Name##Node);                           \
  }

TVM_IR_DECLARE_BINARY(Add);
TVM_IR_DECLARE_BINARY(Sub);
TVM_IR_DECLARE_BINARY(Mul);
/// Quotient rounded toward zero (integers) or exact division (floats).
TVM_IR_DECLARE_BINARY(Div);
/// Remainder of Div, with the sign of the dividend.
TVM_IR_DECLARE_BINARY(Mod);
TVM_IR_DECLARE_BINARY(FloorDiv);
/// Remainder of FloorDiv, with the sign of the divisor.
TVM_IR_DECLARE_BINARY(FloorMod);
/// NaN if either operand is NaN; see const_fold.h for the table of float semantics.
TVM_IR_DECLARE_BINARY(Min);
TVM_IR_DECLARE_BINARY(Max);
TVM_IR_DECLARE_BINARY(EQ);
TVM_IR_DECLARE_BINARY(NE);
TVM_IR_DECLARE_BINARY(LT);
TVM_IR_DECLARE_BINARY(LE);
TVM_IR_DECLARE_BINARY(GT);
TVM_IR_DECLARE_BINARY(GE);
TVM_IR_DECLARE_BINARY(And);
TVM_IR_DECLARE_BINARY(Or);
#undef TVM_IR_DECLARE_BINARY

class NotNode : public ExprNode {
 public:
  PrimExpr a;

  ~NotNode() { ReleaseDeep(&a); }
  static void RegisterReflection();
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("tirx.Not", NotNode, ExprNode);
};

class Not : public PrimExpr {
 public:
  TVM_DLL explicit Not(PrimExpr a, Span span = Span());
  TVM_IR_DEFINE_PRIM_REF_METHODS(Not, PrimExpr, NotNode);
  TVM_DEFINE_OBJECT_REF_COW_METHOD(NotNode);
};

/// Lane-wise choice; both values are evaluated (unlike the op tirx.if_then_else).
class SelectNode : public ExprNode {
 public:
  PrimExpr condition;
  PrimExpr true_value;
  PrimExpr false_value;

  ~SelectNode() {
    ReleaseDeep(&condition);
    ReleaseDeep(&true_value);
    ReleaseDeep(&false_value);
  }
  static void RegisterReflection();
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("tirx.Select", SelectNode, ExprNode);
};

class Select : public PrimExpr {
 public:
  TVM_DLL Select(PrimExpr condition, PrimExpr true_value, PrimExpr false_value, Span span = Span());
  TVM_IR_DEFINE_PRIM_REF_METHODS(Select, PrimExpr, SelectNode);
  TVM_DEFINE_OBJECT_REF_COW_METHOD(SelectNode);
};

/// Vector base, base + stride, ... of `lanes` elements (a constant, or k * vscale()).
class RampNode : public ExprNode {
 public:
  PrimExpr base;
  PrimExpr stride;
  PrimExpr lanes;

  ~RampNode() {
    ReleaseDeep(&base);
    ReleaseDeep(&stride);
  }
  static void RegisterReflection();
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("tirx.Ramp", RampNode, ExprNode);
};

class Ramp : public PrimExpr {
 public:
  TVM_DLL Ramp(PrimExpr base, PrimExpr stride, PrimExpr lanes, Span span = Span());
  TVM_IR_DEFINE_PRIM_REF_METHODS(Ramp, PrimExpr, RampNode);
  TVM_DEFINE_OBJECT_REF_COW_METHOD(RampNode);
};

class BroadcastNode : public ExprNode {
 public:
  PrimExpr value;
  PrimExpr lanes;

  ~BroadcastNode() { ReleaseDeep(&value); }
  static void RegisterReflection();
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("tirx.Broadcast", BroadcastNode, ExprNode);
};

class Broadcast : public PrimExpr {
 public:
  TVM_DLL Broadcast(PrimExpr value, PrimExpr lanes, Span span = Span());
  TVM_IR_DEFINE_PRIM_REF_METHODS(Broadcast, PrimExpr, BroadcastNode);
  TVM_DEFINE_OBJECT_REF_COW_METHOD(BroadcastNode);
};

/// `body` with `var` bound to `value`. The value may be a pointer.
class LetNode : public ExprNode {
 public:
  Var var;
  Expr value;
  Expr body;

  ~LetNode() {
    ReleaseDeep(&value);
    ReleaseDeep(&body);
  }
  static void RegisterReflection();
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("tirx.Let", LetNode, ExprNode);
};

class Let : public Expr {
 public:
  TVM_DLL Let(Var var, Expr value, Expr body, Span span = Span());
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(Let, Expr, LetNode);
  TVM_DEFINE_OBJECT_REF_COW_METHOD(LetNode);
};

/// Lanes `indices` of the concatenation of `vectors`.
class ShuffleNode : public ExprNode {
 public:
  ffi::Array<PrimExpr> vectors;
  ffi::Array<PrimExpr> indices;

  static void RegisterReflection();
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("tirx.Shuffle", ShuffleNode, ExprNode);
};

class Shuffle : public PrimExpr {
 public:
  TVM_DLL Shuffle(ffi::Array<PrimExpr> vectors, ffi::Array<PrimExpr> indices, Span span = Span());
  TVM_DLL static PrimExpr Concat(ffi::Array<PrimExpr> vectors, Span span = Span());
  TVM_DLL static PrimExpr ExtractElement(PrimExpr vector, int index, Span span = Span());
  TVM_IR_DEFINE_PRIM_REF_METHODS(Shuffle, PrimExpr, ShuffleNode);
  TVM_DEFINE_OBJECT_REF_COW_METHOD(ShuffleNode);
};

/// Role of an iteration variable.
enum IterVarType : int {
  kDataPar = 0,
  kThreadIndex = 1,
  kCommReduce = 2,
  kOrdered = 3,
  kOpaque = 4,
  kUnrolled = 5,
  kVectorized = 6,
  kParallelized = 7,
  kTensorized = 8,
};
TVM_DLL const char* IterVarTypeToString(IterVarType type);

class IterVarNode : public ffi::Object {
 public:
  /// May be null, e.g. for a thread axis whose extent is set later.
  Range dom;
  Var var;
  IterVarType iter_type = kDataPar;
  ffi::String thread_tag;
  mutable Span span;

  static void RegisterReflection();
  static constexpr TVMFFISEqHashKind _type_s_eq_hash_kind = kTVMFFISEqHashKindTreeNode;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("tirx.IterVar", IterVarNode, ffi::Object);
};

class IterVar : public ffi::ObjectRef {
 public:
  TVM_DLL IterVar(Range dom, Var var, IterVarType iter_type, ffi::String thread_tag = "",
                  Span span = Span());
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(IterVar, ffi::ObjectRef, IterVarNode);
  TVM_DEFINE_OBJECT_REF_COW_METHOD(IterVarNode);
  operator PrimExpr() const { return PrimExpr((*this)->var); }  // NOLINT(*)
};

/// Associative, commutative combiner with identity, over one or more values.
class CommReducerNode : public ffi::Object {
 public:
  ffi::Array<Var> lhs;
  ffi::Array<Var> rhs;
  ffi::Array<PrimExpr> result;
  ffi::Array<PrimExpr> identity_element;
  mutable Span span;

  /// `result` with lhs and rhs replaced by a and b.
  TVM_DLL ffi::Array<PrimExpr> operator()(ffi::Array<PrimExpr> a, ffi::Array<PrimExpr> b) const;

  static void RegisterReflection();
  static constexpr TVMFFISEqHashKind _type_s_eq_hash_kind = kTVMFFISEqHashKindTreeNode;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("tirx.CommReducer", CommReducerNode, ffi::Object);
};

class CommReducer : public ffi::ObjectRef {
 public:
  TVM_DLL CommReducer(ffi::Array<Var> lhs, ffi::Array<Var> rhs, ffi::Array<PrimExpr> result,
                      ffi::Array<PrimExpr> identity_element, Span span = Span());
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(CommReducer, ffi::ObjectRef, CommReducerNode);
};

/// Value `value_index` of the reduction of `source` over `axis` where `condition` holds.
class ReduceNode : public ExprNode {
 public:
  CommReducer combiner;
  ffi::Array<PrimExpr> source;
  ffi::Array<PrimExpr> init;
  ffi::Array<IterVar> axis;
  PrimExpr condition;
  int value_index = 0;

  static void RegisterReflection();
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("tirx.Reduce", ReduceNode, ExprNode);
};

class Reduce : public PrimExpr {
 public:
  TVM_DLL Reduce(CommReducer combiner, ffi::Array<PrimExpr> source, ffi::Array<IterVar> axis,
                 PrimExpr condition, int value_index, ffi::Array<PrimExpr> init,
                 Span span = Span());
  TVM_IR_DEFINE_PRIM_REF_METHODS(Reduce, PrimExpr, ReduceNode);
  TVM_DEFINE_OBJECT_REF_COW_METHOD(ReduceNode);
};

/// Base of what can be read element-wise before buffers exist, e.g. te.Tensor.
class DataProducerNode : public ffi::Object {
 public:
  ffi::Array<PrimExpr> shape;
  DataType dtype;

  static void RegisterReflection();
  static constexpr TVMFFISEqHashKind _type_s_eq_hash_kind = kTVMFFISEqHashKindTreeNode;
  static constexpr uint32_t _type_child_slots = 4;
  TVM_FFI_DECLARE_OBJECT_INFO("tirx.DataProducer", DataProducerNode, ffi::Object);
};

class DataProducer : public ffi::ObjectRef {
 public:
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(DataProducer, ffi::ObjectRef, DataProducerNode);
};

class ProducerLoadNode : public ExprNode {
 public:
  DataProducer producer;
  ffi::Array<PrimExpr> indices;

  static void RegisterReflection();
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("tirx.ProducerLoad", ProducerLoadNode, ExprNode);
};

class ProducerLoad : public PrimExpr {
 public:
  TVM_DLL ProducerLoad(DataProducer producer, ffi::Array<PrimExpr> indices, Span span = Span());
  TVM_IR_DEFINE_PRIM_REF_METHODS(ProducerLoad, PrimExpr, ProducerLoadNode);
  TVM_DEFINE_OBJECT_REF_COW_METHOD(ProducerLoadNode);
};

}  // namespace tvm::tirx
#endif  // TVM_IR_SCALAR_H_
