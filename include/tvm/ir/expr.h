// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Expressions that every dialect shares: variables, literals, calls, functions by name.
#ifndef TVM_IR_EXPR_H_
#define TVM_IR_EXPR_H_

#include <tvm/ffi/container/array.h>
#include <tvm/ffi/container/map.h>
#include <tvm/ffi/object.h>
#include <tvm/ffi/optional.h>
#include <tvm/ffi/string.h>
#include <tvm/ir/attrs.h>
#include <tvm/ir/cow.h>
#include <tvm/ir/fwd.h>
#include <tvm/ir/source_map.h>
#include <tvm/ir/type.h>

#include <optional>
#include <ostream>
#include <type_traits>
#include <utility>

/// Members of a reference class below PrimExpr whose node type alone decides membership.
#define TVM_IR_DEFINE_PRIM_REF_METHODS(Ref, Parent, Node)        \
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(Ref, Parent, Node); \
  static constexpr bool _type_container_is_exact = true

namespace tvm {

namespace detail {
TVM_DLL void ReleaseDeepSlow(ffi::ObjectRef* ref) noexcept;
}  // namespace detail
/// Drops a reference held by a node that is being destroyed. Chains of nodes are released in a
/// loop instead of recursively once they get long, so that no depth of nesting exhausts the stack.
inline void ReleaseDeep(ffi::ObjectRef* ref) noexcept {
  if (ref->unique()) detail::ReleaseDeepSlow(ref);
}

/// Base of every expression.
class ExprNode : public ffi::Object {
 public:
  mutable Span span;
  /// Type of the value; Type::Missing() until it is known. Never null.
  mutable Type ty = Type::Missing();

  /// dtype of the value: see DataTypeOf.
  DataType dtype() const {
    const auto* prim = ty.as<PrimTypeNode>();
    return prim != nullptr ? prim->dtype : DataTypeOf(ty);
  }

  static void RegisterReflection();
  static constexpr TVMFFISEqHashKind _type_s_eq_hash_kind = kTVMFFISEqHashKindTreeNode;
  static constexpr uint32_t _type_child_slots = 96;
  TVM_FFI_DECLARE_OBJECT_INFO("ir.Expr", ExprNode, ffi::Object);
};

class Expr : public ffi::ObjectRef {
 public:
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(Expr, ffi::ObjectRef, ExprNode);

  DataType dtype() const { return (*this)->dtype(); }
  const Type& ty() const { return (*this)->ty; }
};

/// True for an expression whose type is a PrimType, and for a string literal.
TVM_DLL bool IsPrimExpr(const ExprNode* expr);
inline bool IsPrimExpr(const Expr& expr) { return IsPrimExpr(expr.get()); }

/// Lets objects of a type outside this layer (a tensor element, an iteration variable) be used
/// where a PrimExpr is expected.
using PrimExprConversion = PrimExpr (*)(const ffi::Object* obj);
TVM_DLL void RegisterPrimExprConversion(int32_t type_index, PrimExprConversion convert);

/// A scalar (or vector) expression: any expression node whose type is a PrimType. This is a
/// category, not a node class: `expr.as<PrimExpr>()` tests the type of the expression.
class PrimExpr : public Expr {
 public:
  PrimExpr() = default;
  explicit PrimExpr(ffi::UnsafeInit tag) : Expr(tag) {}
  explicit PrimExpr(ffi::ObjectPtr<ExprNode> node) : Expr(std::move(node)) {}
  PrimExpr(const PrimExpr&) = default;
  PrimExpr(PrimExpr&&) = default;
  PrimExpr& operator=(const PrimExpr&) = default;
  PrimExpr& operator=(PrimExpr&&) = default;

  /// Checked: TypeError when the expression is not of PrimType. Null stays null.
  PrimExpr(Expr expr) : Expr(std::move(expr)) { CheckPrim(); }  // NOLINT(*)
  /// Literal: bool gives a bool, an integer int32, or int64 when it does not fit.
  template <typename T, typename = std::enable_if_t<std::is_integral_v<T>>>
  PrimExpr(T value) : Expr(FromInt(value)) {}  // NOLINT(*)
  /// Literal of dtype float32.
  PrimExpr(float value) : Expr(FromFloat(value)) {}   // NOLINT(*)
  PrimExpr(double value) : Expr(FromFloat(value)) {}  // NOLINT(*)

  /// dtype of the value.
  DataType dtype() const { return (*this)->dtype(); }

  static constexpr bool _type_is_nullable = true;
  static constexpr bool _type_container_is_exact = false;
  using ContainerType = ExprNode;

 private:
  template <typename T>
  static Expr FromInt(T value) {
    if constexpr (std::is_same_v<T, bool>) {
      return MakeBool(value);
    } else if constexpr (std::is_unsigned_v<T> && sizeof(T) == 8) {
      return MakeUInt64(value);
    } else {
      return MakeInt(static_cast<int64_t>(value));
    }
  }
  TVM_DLL static Expr MakeBool(bool value);
  TVM_DLL static Expr MakeInt(int64_t value);
  TVM_DLL static Expr MakeUInt64(uint64_t value);
  TVM_DLL static Expr FromFloat(double value);
  TVM_DLL void CheckPrim() const;
};

/// Converts a registered object (see RegisterPrimExprConversion); nullopt if its type has none.
TVM_DLL std::optional<PrimExpr> TryConvertToPrimExpr(const TVMFFIAny* src);

}  // namespace tvm

namespace tvm::ffi {
/// Values that convert to an expression: bool, int, float, str, registered objects.
template <typename Ref>
struct ExprLikeTraits : public ObjectRefTypeTraitsBase<Ref> {
  using Base = ObjectRefTypeTraitsBase<Ref>;
  TVM_FFI_INLINE static std::optional<Ref> TryCastFromAnyView(const TVMFFIAny* src) {
    if (TypeTraits<Ref>::CheckAnyStrict(src)) return Base::CopyFromAnyViewAfterCheck(src);
    if (auto converted = TryConvertToPrimExpr(src)) return Ref(*std::move(converted));
    return std::nullopt;
  }
};

template <>
inline constexpr bool use_default_type_traits_v<Expr> = false;
template <>
struct TypeTraits<Expr> : public ExprLikeTraits<Expr> {};

template <>
inline constexpr bool use_default_type_traits_v<PrimExpr> = false;
/// References to prim nodes share their storage as arrays of PrimExpr.
template <typename Source>
inline constexpr bool
    type_subsumes_v<PrimExpr, Source, std::enable_if_t<std::is_base_of_v<PrimExpr, Source>>> = true;
template <>
struct TypeTraits<PrimExpr> : public ExprLikeTraits<PrimExpr> {
  TVM_FFI_INLINE static bool CheckAnyStrict(const TVMFFIAny* src) {
    if (src->type_index == TypeIndex::kTVMFFINone) return true;
    return ObjectRefTypeTraitsBase<Expr>::CheckAnyStrict(src) &&
           IsPrimExpr(static_cast<const ExprNode*>(reinterpret_cast<const Object*>(src->v_obj)));
  }
  TVM_FFI_INLINE static std::string TypeStr() { return "ir.PrimExpr"; }
  TVM_FFI_INLINE static std::string TypeSchema() { return R"({"type":"ir.Expr"})"; }
};
}  // namespace tvm::ffi

namespace tvm {

/// Integer, unsigned or bool literal. An unsigned value above 2^63-1 is not representable.
class IntImmNode : public ExprNode {
 public:
  int64_t value = 0;

  static void RegisterReflection();
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("ir.IntImm", IntImmNode, ExprNode);
};

class IntImm : public PrimExpr {
 public:
  /// ValueError when dtype is no scalar integer type or value does not fit in it.
  TVM_DLL IntImm(DataType dtype, int64_t value, Span span = Span());
  TVM_IR_DEFINE_PRIM_REF_METHODS(IntImm, PrimExpr, IntImmNode);
  TVM_DEFINE_OBJECT_REF_COW_METHOD(IntImmNode);
  static IntImm Bool(bool value, Span span = Span()) {
    return IntImm(DataType::Bool(), value, std::move(span));
  }
  static IntImm Int32(int64_t value, Span span = Span()) {
    return IntImm(DataType::Int(32), value, std::move(span));
  }
  static IntImm Int64(int64_t value, Span span = Span()) {
    return IntImm(DataType::Int(64), value, std::move(span));
  }
};

/// Bool literal.
inline IntImm Bool(bool value, Span span = Span()) { return IntImm::Bool(value, std::move(span)); }

class FloatImmNode : public ExprNode {
 public:
  double value = 0;

  static void RegisterReflection();
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("ir.FloatImm", FloatImmNode, ExprNode);
};

class FloatImm : public PrimExpr {
 public:
  /// ValueError when value is finite and beyond the range of dtype.
  TVM_DLL FloatImm(DataType dtype, double value, Span span = Span());
  TVM_IR_DEFINE_PRIM_REF_METHODS(FloatImm, PrimExpr, FloatImmNode);
  TVM_DEFINE_OBJECT_REF_COW_METHOD(FloatImmNode);
};

/// A variable of any type; identity, not name, tells variables apart.
class VarNode : public ExprNode {
 public:
  ffi::String name;

  static void RegisterReflection();
  static constexpr TVMFFISEqHashKind _type_s_eq_hash_kind = kTVMFFISEqHashKindFreeVar;
  static constexpr uint32_t _type_child_slots = 1;
  TVM_FFI_DECLARE_OBJECT_INFO("ir.Var", VarNode, ExprNode);
};

class Var : public Expr {
 public:
  TVM_DLL explicit Var(ffi::String name, Type ty, Span span = Span());
  /// Scalar variable; the handle dtype gives a void pointer.
  TVM_DLL explicit Var(ffi::String name, DataType dtype = DataType::Int(32), Span span = Span());
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(Var, Expr, VarNode);
  TVM_DEFINE_OBJECT_REF_COW_METHOD(VarNode);

  const ffi::String& name() const { return (*this)->name; }
  /// A new variable of the same type.
  TVM_DLL Var copy_with_name(ffi::String name) const;
  TVM_DLL Var copy_with_suffix(const ffi::String& suffix) const;
  TVM_DLL Var copy_with_dtype(DataType dtype) const;
};

/// A function of the enclosing module, by name.
class GlobalVarNode : public ExprNode {
 public:
  ffi::String name_hint;

  static void RegisterReflection();
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("ir.GlobalVar", GlobalVarNode, ExprNode);
};

class GlobalVar : public Expr {
 public:
  TVM_DLL explicit GlobalVar(ffi::String name_hint, Type ty = Type(), Span span = Span());
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(GlobalVar, Expr, GlobalVarNode);
  TVM_DEFINE_OBJECT_REF_COW_METHOD(GlobalVarNode);
};

/// Call of an Op, a GlobalVar, or any expression of function type.
class CallNode : public ExprNode {
 public:
  Expr op;
  ffi::Array<Expr> args;
  Attrs attrs;
  ffi::Array<Type> ty_args;

  ~CallNode() { ReleaseDeep(&args); }
  static void RegisterReflection();
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("ir.Call", CallNode, ExprNode);
};

class Call : public Expr {
 public:
  /// A call whose type is inferred later.
  TVM_DLL Call(Expr op, ffi::Array<Expr> args, Attrs attrs = Attrs(),
               ffi::Array<Type> ty_args = ffi::Array<Type>(), Span span = Span());
  /// A call of known type.
  TVM_DLL Call(Type ret_ty, Expr op, ffi::Array<Expr> args, Attrs attrs = Attrs(),
               ffi::Array<Type> ty_args = ffi::Array<Type>(), Span span = Span());
  /// Same, the type given as dtype; handle stands for a void pointer.
  TVM_DLL Call(DataType ret_dtype, Expr op, ffi::Array<Expr> args, Attrs attrs = Attrs(),
               ffi::Array<Type> ty_args = ffi::Array<Type>(), Span span = Span());
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(Call, Expr, CallNode);
  TVM_DEFINE_OBJECT_REF_COW_METHOD(CallNode);
};

/// Half-open interval [min, min + extent).
class RangeNode : public ffi::Object {
 public:
  PrimExpr min;
  PrimExpr extent;
  mutable Span span;

  static void RegisterReflection();
  static constexpr TVMFFISEqHashKind _type_s_eq_hash_kind = kTVMFFISEqHashKindTreeNode;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("ir.Range", RangeNode, ffi::Object);
};

class Range : public ffi::ObjectRef {
 public:
  /// [begin, end).
  TVM_DLL Range(PrimExpr begin, PrimExpr end, Span span = Span());
  TVM_DLL static Range FromMinExtent(PrimExpr min, PrimExpr extent, Span span = Span());
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(Range, ffi::ObjectRef, RangeNode);
  TVM_DEFINE_OBJECT_REF_COW_METHOD(RangeNode);
};

/// Text of an expression, statement or any IR object: TVMScript when a printer is linked in, else
/// the generic field listing.
TVM_DLL ffi::String DebugText(const ffi::Any& value);
/// Installed by the printer.
using TextPrinter = ffi::String (*)(const ffi::Any& value);
TVM_DLL void SetTextPrinter(TextPrinter printer);

/// Writes the text of an expression, so that messages can stream it.
TVM_DLL std::ostream& operator<<(std::ostream& os, const Expr& expr);
TVM_DLL std::ostream& operator<<(std::ostream& os, const Type& type);
TVM_DLL std::ostream& operator<<(std::ostream& os, const Range& range);

}  // namespace tvm
#endif  // TVM_IR_EXPR_H_
