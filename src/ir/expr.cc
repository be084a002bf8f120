// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include <tvm/ffi/error.h>
#include <tvm/ffi/extra/dataclass.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/ir/expr.h>
#include <tvm/ir/function.h>
#include <tvm/ir/scalar.h>
#include <tvm/ir/scalar_op.h>

#include <atomic>
#include <cmath>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "ir/dtype_range.h"
#include "ir/expr_text.h"

namespace tvm {

// ---------------------------------------------------------------------------------------------
// Reflection

void ExprNode::RegisterReflection() {
  namespace refl = ffi::reflection;
  refl::ObjectDef<ExprNode>()
      .def_ro("span", &ExprNode::span, refl::default_value(nullptr),
              refl::AttachFieldFlag::SEqHashIgnore())
      .def_ro("ty", &ExprNode::ty, refl::default_factory([] { return Type::Missing(); }));
}

void IntImmNode::RegisterReflection() {
  namespace refl = ffi::reflection;
  refl::ObjectDef<IntImmNode>().def_ro("value", &IntImmNode::value);
}

void FloatImmNode::RegisterReflection() {
  namespace refl = ffi::reflection;
  refl::ObjectDef<FloatImmNode>().def_ro("value", &FloatImmNode::value);
}

void VarNode::RegisterReflection() {
  namespace refl = ffi::reflection;
  refl::ObjectDef<VarNode>().def_ro("name", &VarNode::name, refl::AttachFieldFlag::SEqHashIgnore());
}

void GlobalVarNode::RegisterReflection() {
  namespace refl = ffi::reflection;
  refl::ObjectDef<GlobalVarNode>().def_ro("name_hint", &GlobalVarNode::name_hint);
}

void CallNode::RegisterReflection() {
  namespace refl = ffi::reflection;
  refl::ObjectDef<CallNode>()
      .def_ro("op", &CallNode::op)
      .def_ro("args", &CallNode::args)
      .def_ro("attrs", &CallNode::attrs, refl::default_value(nullptr))
      .def_ro("ty_args", &CallNode::ty_args,
              refl::default_factory([] { return ffi::Array<Type>(); }));
}

void RangeNode::RegisterReflection() {
  namespace refl = ffi::reflection;
  refl::ObjectDef<RangeNode>()
      .def_ro("min", &RangeNode::min)
      .def_ro("extent", &RangeNode::extent)
      .def_ro("span", &RangeNode::span, refl::default_value(nullptr),
              refl::AttachFieldFlag::SEqHashIgnore());
}

// ---------------------------------------------------------------------------------------------
// The PrimExpr category

namespace {

struct PrimExprConversionTable {
  std::mutex mutex;
  std::unordered_map<int32_t, PrimExprConversion> by_type;
};

PrimExprConversionTable* ConversionTable() {
  static auto* table = new PrimExprConversionTable;
  return table;
}

}  // namespace

bool IsPrimExpr(const ExprNode* expr) {
  if (expr == nullptr) return false;
  return expr->ty->type_index() == PrimTypeNode::RuntimeTypeIndex() ||
         expr->type_index() == tirx::StringImmNode::RuntimeTypeIndex();
}

void RegisterPrimExprConversion(int32_t type_index, PrimExprConversion convert) {
  auto* table = ConversionTable();
  std::lock_guard<std::mutex> lock(table->mutex);
  table->by_type[type_index] = convert;
}

std::optional<PrimExpr> TryConvertToPrimExpr(const TVMFFIAny* src) {
  switch (src->type_index) {
    case TVMFFITypeIndex::kTVMFFIBool:
      return PrimExpr(src->v_int64 != 0);
    case TVMFFITypeIndex::kTVMFFIInt:
      return PrimExpr(src->v_int64);
    case TVMFFITypeIndex::kTVMFFIFloat:
      return PrimExpr(src->v_float64);
    default:
      break;
  }
  if (auto text = ffi::TypeTraits<ffi::String>::TryCastFromAnyView(src)) {
    return tirx::StringImm(*std::move(text));
  }
  if (src->type_index < TVMFFITypeIndex::kTVMFFIStaticObjectBegin) return std::nullopt;
  PrimExprConversion convert = nullptr;
  {
    auto* table = ConversionTable();
    std::lock_guard<std::mutex> lock(table->mutex);
    auto it = table->by_type.find(src->type_index);
    if (it != table->by_type.end()) convert = it->second;
  }
  if (convert == nullptr) return std::nullopt;
  return convert(reinterpret_cast<const ffi::Object*>(src->v_obj));
}

Expr PrimExpr::MakeBool(bool value) { return IntImm::Bool(value); }

Expr PrimExpr::MakeInt(int64_t value) {
  bool fits =
      value >= std::numeric_limits<int32_t>::min() && value <= std::numeric_limits<int32_t>::max();
  return IntImm(DataType::Int(fits ? 32 : 64), value);
}

Expr PrimExpr::MakeUInt64(uint64_t value) {
  TVM_FFI_CHECK(value <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max()), OverflowError)
      << "integer literal " << value << " does not fit in int64; give it dtype uint64";
  return MakeInt(static_cast<int64_t>(value));
}

Expr PrimExpr::FromFloat(double value) { return FloatImm(DataType::Float(32), value); }

void PrimExpr::CheckPrim() const {
  if (data_ == nullptr || IsPrimExpr(get())) return;
  TVM_FFI_THROW(TypeError) << "expected an expression of scalar or vector type, found a "
                           << get()->GetTypeKey() << " of type "
                           << (get()->ty.IsMissing() ? std::string("<not set>")
                                                     : get()->ty.GetTypeKey());
}

// ---------------------------------------------------------------------------------------------
// Literals

namespace {

void CheckIntImmRange(DataType dtype, int64_t value) {
  TVM_FFI_CHECK(dtype.is_scalar(), ValueError)
      << "IntImm can only take scalar, but " << dtype << " was supplied.";
  TVM_FFI_CHECK(dtype.is_int() || dtype.is_uint() || dtype.is_bool(), ValueError)
      << "IntImm supports only int or uint or bool type, but " << dtype << " was supplied.";
  if (dtype.is_bool() || (dtype.is_uint() && dtype.bits() == 1)) {
    TVM_FFI_CHECK(value == 0 || value == 1, ValueError) << value << " exceeds range of " << dtype;
    return;
  }
  if (dtype.is_uint()) {
    TVM_FFI_CHECK(value >= 0, ValueError)
        << "Literal value " << value << " is negative for unsigned integer type " << dtype;
    TVM_FFI_CHECK(value <= MaxIntOf(dtype), ValueError)
        << "Literal value " << value << " exceeds maximum of " << dtype;
    return;
  }
  TVM_FFI_CHECK(value >= MinIntOf(dtype), ValueError)
      << "Literal value " << value << " exceeds minimum of " << dtype;
  TVM_FFI_CHECK(value <= MaxIntOf(dtype), ValueError)
      << "Literal value " << value << " exceeds maximum of " << dtype;
}

void CheckFloatImmRange(DataType dtype, double value) {
  TVM_FFI_CHECK(dtype.is_scalar(), ValueError)
      << "FloatImm can only take scalar, but " << dtype << " was supplied.";
  bool supported = dtype.is_any_float() || dtype.code() >= DataType::kCustomBegin;
  TVM_FFI_CHECK(supported, ValueError)
      << "FloatImm supports only float, but " << dtype << " was supplied.";
  if (!std::isfinite(value) || dtype.code() >= DataType::kCustomBegin) return;
  if (dtype.is_float() && dtype.bits() >= 32) return;
  if (IsUnsignedFloat(dtype)) {
    TVM_FFI_CHECK(value >= 0, ValueError)
        << "Literal value " << value << " below zero for unsigned " << dtype;
  } else {
    TVM_FFI_CHECK(value >= MinFiniteOf(dtype), ValueError)
        << "Literal value " << value << " below minimum of " << dtype;
  }
  TVM_FFI_CHECK(value <= MaxFiniteOf(dtype), ValueError)
      << "Literal value " << value << " exceeds maximum of " << dtype;
}

}  // namespace

IntImm::IntImm(DataType dtype, int64_t value, Span span) {
  CheckIntImmRange(dtype, value);
  auto node = ffi::make_object<IntImmNode>();
  node->ty = PrimType(dtype);
  node->value = value;
  node->span = std::move(span);
  data_ = std::move(node);
}

FloatImm::FloatImm(DataType dtype, double value, Span span) {
  CheckFloatImmRange(dtype, value);
  auto node = ffi::make_object<FloatImmNode>();
  node->ty = PrimType(dtype);
  node->value = value;
  node->span = std::move(span);
  data_ = std::move(node);
}

// ---------------------------------------------------------------------------------------------
// Variables, calls, ranges

Var::Var(ffi::String name, Type ty, Span span) {
  auto node = ffi::make_object<VarNode>();
  node->name = std::move(name);
  node->ty = ty.defined() ? std::move(ty) : Type::Missing();
  node->span = std::move(span);
  data_ = std::move(node);
}

Var::Var(ffi::String name, DataType dtype, Span span)
    : Var(std::move(name), TypeFromDataType(dtype), std::move(span)) {}

namespace {

/// Clones the node by reflection so that a subclass of Var keeps its class.
Var CloneVar(const Var& var, ffi::String name, Type ty) {
  if (var->type_index() == VarNode::RuntimeTypeIndex()) {
    return Var(std::move(name), std::move(ty), var->span);
  }
  static const ffi::reflection::TypeAttrColumn shallow_copy("__ffi_shallow_copy__");
  ffi::AnyView copy = shallow_copy[var->type_index()];
  TVM_FFI_CHECK(copy.type_index() == ffi::TypeIndex::kTVMFFIFunction, TypeError)
      << "variable class " << var->GetTypeKey() << " cannot be copied";
  Var result = copy.cast<ffi::Function>()(var).cast<Var>();
  auto* node = const_cast<VarNode*>(result.get());
  node->name = std::move(name);
  node->ty = std::move(ty);
  return result;
}

}  // namespace

Var Var::copy_with_name(ffi::String name) const { return CloneVar(*this, name, get()->ty); }

Var Var::copy_with_suffix(const ffi::String& suffix) const {
  return CloneVar(*this, std::string(get()->name) + std::string(suffix), get()->ty);
}

Var Var::copy_with_dtype(DataType dtype) const {
  return CloneVar(*this, get()->name, TypeFromDataType(dtype));
}

GlobalVar::GlobalVar(ffi::String name_hint, Type ty, Span span) {
  auto node = ffi::make_object<GlobalVarNode>();
  node->name_hint = std::move(name_hint);
  node->ty = ty.defined() ? std::move(ty) : Type::Missing();
  node->span = std::move(span);
  data_ = std::move(node);
}

Call::Call(Expr op, ffi::Array<Expr> args, Attrs attrs, ffi::Array<Type> ty_args, Span span)
    : Call(Type::Missing(), std::move(op), std::move(args), std::move(attrs), std::move(ty_args),
           std::move(span)) {}

Call::Call(Type ret_ty, Expr op, ffi::Array<Expr> args, Attrs attrs, ffi::Array<Type> ty_args,
           Span span) {
  TVM_FFI_CHECK(op.defined(), ValueError) << "Call needs a callee, found none";
  for (size_t i = 0; i < args.size(); ++i) {
    TVM_FFI_CHECK(args[i].defined(), ValueError) << "Call argument " << i << " is not defined";
  }
  auto node = ffi::make_object<CallNode>();
  node->ty = ret_ty.defined() ? std::move(ret_ty) : Type::Missing();
  node->op = std::move(op);
  node->args = std::move(args);
  node->attrs = std::move(attrs);
  node->ty_args = std::move(ty_args);
  node->span = std::move(span);
  data_ = std::move(node);
}

Call::Call(DataType ret_dtype, Expr op, ffi::Array<Expr> args, Attrs attrs,
           ffi::Array<Type> ty_args, Span span)
    : Call(TypeFromDataType(ret_dtype), std::move(op), std::move(args), std::move(attrs),
           std::move(ty_args), std::move(span)) {}

Range::Range(PrimExpr begin, PrimExpr end, Span span) {
  TVM_FFI_CHECK(begin.defined() && end.defined(), ValueError) << "Range needs begin and end";
  PrimExpr extent = is_zero(begin) && begin.dtype() == end.dtype() ? end : end - begin;
  if (begin.dtype() != extent.dtype()) BinaryOpMatchTypes(begin, extent, span);
  *this = FromMinExtent(std::move(begin), std::move(extent), std::move(span));
}

Range Range::FromMinExtent(PrimExpr min, PrimExpr extent, Span span) {
  TVM_FFI_CHECK(min.defined() && extent.defined(), ValueError) << "Range needs min and extent";
  auto node = ffi::make_object<RangeNode>();
  node->min = std::move(min);
  node->extent = std::move(extent);
  node->span = std::move(span);
  return Range(std::move(node));
}

// ---------------------------------------------------------------------------------------------
// Release of deep chains

namespace detail {

void ReleaseDeepSlow(ffi::ObjectRef* ref) noexcept {
  // Nodes destroyed below this depth hand their operands to the outermost call.
  constexpr int kMaxDepth = 256;
  static thread_local int depth = 0;
  static thread_local std::vector<ffi::ObjectRef>* pending = nullptr;
  if (depth >= kMaxDepth && pending != nullptr) {
    pending->push_back(std::move(*ref));
    return;
  }
  ++depth;
  if (depth == 1) {
    std::vector<ffi::ObjectRef> local;
    pending = &local;
    *ref = ffi::ObjectRef();
    while (!local.empty()) {
      ffi::ObjectRef next = std::move(local.back());
      local.pop_back();
      next = ffi::ObjectRef();
    }
    pending = nullptr;
  } else {
    *ref = ffi::ObjectRef();
  }
  --depth;
}

}  // namespace detail

// ---------------------------------------------------------------------------------------------
// Text

namespace {

std::atomic<TextPrinter> text_printer{nullptr};

}  // namespace

void SetTextPrinter(TextPrinter printer) { text_printer.store(printer); }

ffi::String DebugText(const ffi::Any& value) {
  TextPrinter printer = text_printer.load();
  if (printer != nullptr) return printer(value);
  if (auto expr = value.as<Expr>(); expr && expr->as<BaseFuncNode>() == nullptr) {
    return ExprText(*expr);
  }
  if (auto type = value.as<Type>()) return TypeText(*type);
  if (auto range = value.as<Range>(); range && range->defined()) {
    return "I.Range(" + ExprText((*range)->min) + ", extent=" + ExprText((*range)->extent) + ")";
  }
  return ffi::ReprPrint(value);
}

std::ostream& operator<<(std::ostream& os, const Expr& expr) { return os << DebugText(expr); }
std::ostream& operator<<(std::ostream& os, const Type& type) { return os << DebugText(type); }
std::ostream& operator<<(std::ostream& os, const Range& range) { return os << DebugText(range); }

TVM_FFI_STATIC_INIT_BLOCK() {
  namespace refl = ffi::reflection;
  ExprNode::RegisterReflection();
  IntImmNode::RegisterReflection();
  FloatImmNode::RegisterReflection();
  VarNode::RegisterReflection();
  GlobalVarNode::RegisterReflection();
  CallNode::RegisterReflection();
  RangeNode::RegisterReflection();
  // A function of a module is its name; the type is only known in the module.
  refl::TypeAttrDef<GlobalVarNode>()
      .def("__s_equal__",
           [](const GlobalVar& a, const GlobalVar& b, const ffi::Function& equal) {
             return equal(a->name_hint, b->name_hint, 0, ffi::String("name_hint")).cast<bool>();
           })
      .def("__s_hash__", [](const GlobalVar& var, int64_t init, const ffi::Function& hash) {
        return hash(var->name_hint, init, 0).cast<int64_t>();
      });
  refl::GlobalDef()
      .def("ir.IntImm", [](DLDataType dtype, int64_t value,
                           Span span) { return IntImm(DataType(dtype), value, span); })
      .def("ir.FloatImm", [](DLDataType dtype, double value,
                             Span span) { return FloatImm(DataType(dtype), value, span); })
      .def("ir.Var", [](ffi::String name, Type ty, Span span) { return Var(name, ty, span); })
      .def("ir.GlobalVar", [](ffi::String name) { return GlobalVar(name); })
      .def("ir.Call",
           [](Type ret_ty, Expr op, ffi::Array<Expr> args, Attrs attrs,
              ffi::Optional<ffi::Array<Type>> ty_args, Span span) {
             return Call(ret_ty, op, args, attrs, ty_args.value_or(ffi::Array<Type>()), span);
           })
      .def("ir.Range",
           [](PrimExpr begin, ffi::Optional<PrimExpr> end, Span span) {
             TVM_FFI_CHECK(begin.defined(), TypeError)
                 << "Range expected an expression, found None";
             if (end.has_value()) return Range(begin, end.value(), span);
             return Range(make_zero(begin.dtype()), begin, span);
           })
      .def("ir.Range_from_min_extent",
           [](PrimExpr min, PrimExpr extent, Span span) {
             return Range::FromMinExtent(min, extent, span);
           })
      .def("ir.IsPrimExpr", [](const Expr& expr) { return IsPrimExpr(expr); })
      .def("ir.DebugPrint", [](const ffi::Any& value) { return DebugText(value); })
      .def("ir.VarCopyWithName",
           [](const Var& var, ffi::String name) { return var.copy_with_name(std::move(name)); });
}

}  // namespace tvm
