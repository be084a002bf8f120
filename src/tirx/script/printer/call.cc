// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Calls of operators and functions.
///
/// `T.name(args)` is printed only if a script function of that name gives the same result type: the
/// table below says which type each gives. Every other call is written out as
/// `T.Call("tirx.name", [args], ret_ty=...)`, which builds exactly what it says.
#include <tvm/ir/op.h>
#include <tvm/ir/scalar_op.h>
#include <tvm/tirx/builtin.h>

#include <string>
#include <string_view>
#include <unordered_map>

#include "tirx/script/printer/utils.h"

namespace tvm::script::printer {

using namespace tirx;  // NOLINT(build/namespaces): the scalar nodes

namespace {

/// Result type of a script function.
enum class ResultRule {
  kArg0,
  kArg1,
  kBoolLikeArg0,
  kBool,
  kInt32,
  kVoid,
  kHandle,
  /// Pointer to the element that the load in argument 0 names.
  kAddress,
  /// Written as the first or last argument.
  kFirst,
  kLast,
};

struct CallRow {
  const char* name;  // after "tirx."
  ResultRule rule;
};

using enum ResultRule;

constexpr CallRow kCalls[] = {
    {"exp", kArg0},
    {"exp2", kArg0},
    {"exp10", kArg0},
    {"erf", kArg0},
    {"tanh", kArg0},
    {"sigmoid", kArg0},
    {"sqrt", kArg0},
    {"rsqrt", kArg0},
    {"log", kArg0},
    {"log2", kArg0},
    {"log10", kArg0},
    {"log1p", kArg0},
    {"tan", kArg0},
    {"cos", kArg0},
    {"cosh", kArg0},
    {"sin", kArg0},
    {"sinh", kArg0},
    {"asin", kArg0},
    {"acos", kArg0},
    {"atan", kArg0},
    {"acosh", kArg0},
    {"asinh", kArg0},
    {"atanh", kArg0},
    {"fabs", kArg0},
    {"floor", kArg0},
    {"ceil", kArg0},
    {"round", kArg0},
    {"nearbyint", kArg0},
    {"trunc", kArg0},
    {"isnan", kBoolLikeArg0},
    {"popcount", kArg0},
    {"clz", kInt32},
    {"pow", kArg0},
    {"fmod", kArg0},
    {"atan2", kArg0},
    {"nextafter", kArg0},
    {"copysign", kArg0},
    {"hypot", kArg0},
    {"ldexp", kArg0},
    {"fma", kArg0},
    {"q_multiply_shift", kInt32},
    {"q_multiply_shift_per_axis", kInt32},
    {"if_then_else", kArg1},
    {"likely", kArg0},
    {"reinterpret", kFirst},
    {"large_uint_imm", kFirst},
    {"vscale", kInt32},
    {"ret", kArg0},
    {"continue_loop", kVoid},
    {"break_loop", kVoid},
    {"thread_return", kVoid},
    {"assume", kBool},
    {"undef", kInt32},
    {"ignore_loop_partition", kArg0},
    {"address_of", kAddress},
    {"isnullptr", kBool},
    {"handle_add_byte_offset", kHandle},
    {"tvm_access_ptr", kHandle},
    {"atomic_add", kArg1},
    {"lookup_param", kHandle},
    {"tvm_tuple", kHandle},
    {"tvm_struct_get", kLast},
    {"tvm_struct_set", kInt32},
    {"tvm_throw_last_error", kHandle},
    {"tvm_stack_alloca", kHandle},
    {"tvm_stack_make_shape", kHandle},
    {"tvm_stack_make_array", kHandle},
    {"tvm_call_packed", kInt32},
    {"tvm_call_cpacked", kInt32},
    {"tvm_call_packed_lowered", kInt32},
    {"tvm_call_cpacked_lowered", kInt32},
    {"TVMBackendAllocWorkspace", kHandle},
    {"TVMBackendFreeWorkspace", kHandle},
    {"anylist_getitem", kHandle},
    {"anylist_resetitem", kInt32},
    {"anylist_setitem_call_packed", kInt32},
    {"anylist_setitem_call_cpacked", kInt32},
    {"call_extern", kFirst},
    {"call_pure_extern", kFirst},
    {"call_llvm_intrin", kFirst},
    {"call_llvm_pure_intrin", kFirst},
    {"call_spirv_pure_glsl450", kFirst},
    {"vectorhigh", kFirst},
    {"vectorlow", kFirst},
    {"vectorcombine", kFirst},
    {"dp4a", kFirst},
    {"get_active_lane_mask", kFirst},
    {"tvm_storage_sync", kInt32},
    {"tvm_thread_allreduce", kHandle},
    {"tvm_thread_invariant", kArg0},
    {"tvm_warp_shuffle", kHandle},
    {"tvm_warp_shuffle_up", kHandle},
    {"tvm_warp_shuffle_down", kHandle},
    {"tvm_warp_shuffle_xor", kHandle},
    {"tvm_warp_activemask", kHandle},
    {"tvm_fill_fragment", kHandle},
    {"tvm_load_matrix_sync", kHandle},
    {"tvm_store_matrix_sync", kHandle},
    {"tvm_mma_sync", kHandle},
    {"tvm_bmma_sync", kHandle},
    {"tvm_call_trace_packed_lowered", kInt32},
    {"tvm_check_return", kInt32},
    {"check_args", kInt32},
    {"texture2d_store", kInt32},
    {"prefetch", kInt32},
    {"mem_copy", kInt32},
    {"filter", kArg0},
    {"selector", kBool},
};

const std::unordered_map<const ffi::Object*, const CallRow*>& CallTable() {
  static const auto table = [] {
    std::unordered_map<const ffi::Object*, const CallRow*> rows;
    for (const CallRow& row : kCalls) {
      Op op = Op::TryGet(String("tirx." + std::string(row.name)));
      if (op.defined()) rows[op.get()] = &row;
    }
    return rows;
  }();
  return table;
}

bool IsVoidPtr(const Type& type) {
  const auto* pointer = type.as<PointerTypeNode>();
  if (pointer == nullptr || pointer->storage_scope != "global") return false;
  const auto* element = pointer->element_type.as<PrimTypeNode>();
  return element != nullptr && element->dtype.is_void();
}

bool IsPrim(const Type& type, DataType dtype) {
  const auto* prim = type.as<PrimTypeNode>();
  return prim != nullptr && prim->dtype == dtype;
}

bool SameType(const Type& a, const Type& b) {
  if (a.same_as(b)) return true;
  const auto* x = a.as<PrimTypeNode>();
  const auto* y = b.as<PrimTypeNode>();
  if (x != nullptr || y != nullptr) return x != nullptr && y != nullptr && x->dtype == y->dtype;
  const auto* p = a.as<PointerTypeNode>();
  const auto* q = b.as<PointerTypeNode>();
  return p != nullptr && q != nullptr && p->storage_scope == q->storage_scope &&
         SameType(p->element_type, q->element_type);
}

/// Whether the script function gives the type that the call has.
bool RuleHolds(const CallNode* call, ResultRule rule) {
  const Type& type = call->ty;
  auto arg_type = [&](size_t i) { return i < call->args.size() && call->args[i].defined(); };
  switch (rule) {
    case kArg0:
      return arg_type(0) && SameType(type, call->args[0]->ty);
    case kArg1:
      return arg_type(1) && SameType(type, call->args[1]->ty);
    case kBoolLikeArg0: {
      if (!arg_type(0)) return false;
      const auto* prim = call->args[0]->ty.as<PrimTypeNode>();
      if (prim == nullptr || prim->dtype.is_scalable_vector()) return false;
      return IsPrim(type, DataType::Bool(prim->dtype.lanes()));
    }
    case kBool:
      return IsPrim(type, DataType::Bool());
    case kInt32:
      return IsPrim(type, DataType::Int(32));
    case kVoid:
      return IsPrim(type, DataType::Void());
    case kHandle:
      return IsVoidPtr(type);
    case kAddress: {
      const auto* load = arg_type(0) ? call->args[0].as<BufferLoadNode>() : nullptr;
      const auto* pointer = type.as<PointerTypeNode>();
      return load != nullptr && pointer != nullptr &&
             pointer->storage_scope == load->buffer.scope() &&
             IsPrim(pointer->element_type, load->dtype());
    }
    case kFirst:
      // A pointer has no text that could stand for a dtype.
      return type.as<PrimTypeNode>() != nullptr || IsVoidPtr(type);
    case kLast:
      return true;
  }
  return false;
}

/// Python operators of calls; the builder tells whether the operator folds.
struct OperatorRow {
  const char* name;
  OperationKind kind;
  PrimExpr (*build)(PrimExpr, PrimExpr, Span);
};

constexpr OperatorRow kOperators[] = {
    {"tirx.bitwise_and", OperationKind::kBitAnd, tvm::bitwise_and},
    {"tirx.bitwise_or", OperationKind::kBitOr, tvm::bitwise_or},
    {"tirx.bitwise_xor", OperationKind::kBitXor, tvm::bitwise_xor},
    {"tirx.shift_left", OperationKind::kLShift, tvm::left_shift},
    {"tirx.shift_right", OperationKind::kRShift, tvm::right_shift},
};

const OperatorRow* FindOperator(const CallNode* call) {
  static const auto table = [] {
    std::unordered_map<const ffi::Object*, const OperatorRow*> rows;
    for (const OperatorRow& row : kOperators) rows[Op::Get(row.name).get()] = &row;
    return rows;
  }();
  auto it = table.find(call->op.get());
  if (it == table.end() || call->args.size() != 2 || call->attrs.defined()) return nullptr;
  if (!IsPrimExpr(call->args[0]) || !IsPrimExpr(call->args[1])) return nullptr;
  try {
    PrimExpr built = it->second->build(PrimExpr(call->args[0]), PrimExpr(call->args[1]), Span());
    const auto* same = built.as<CallNode>();
    bool exact = same != nullptr && same->op.same_as(call->op) && SameType(same->ty, call->ty) &&
                 same->args[0].same_as(call->args[0]) && same->args[1].same_as(call->args[1]);
    return exact ? it->second : nullptr;
  } catch (const ffi::Error&) {
    return nullptr;
  }
}

bool IsInvert(const CallNode* call) {
  return call->op.same_as(builtin::bitwise_not()) && call->args.size() == 1 &&
         !call->attrs.defined() && call->args[0].as<IntImmNode>() == nullptr &&
         IsPrimExpr(call->args[0]) && SameType(call->ty, call->args[0]->ty);
}

bool IsBufferData(const CallNode* call) {
  if (!call->op.same_as(builtin::buffer_data()) || call->args.size() != 1) return false;
  if (call->attrs.defined() || !IsBuffer(call->args[0].get())) return false;
  Call want = buffer_data(Buffer(Downcast<Var>(call->args[0])));
  return SameType(want->ty, call->ty);
}

/// Everything of the call, as it is.
ExprDoc ExplicitCall(const CallNode* call, const AccessPath& path, IRDocsifier& d) {
  Kwargs kwargs;
  ExprDoc callee;
  if (const auto* op = call->op.as<OpNode>()) {
    callee = LiteralDoc::Str(op->name, path->Attr("op"));
  } else {
    callee = d.AsExpr(call->op, path->Attr("op"));
  }
  ExprDoc args = ListDoc(d.AsExprs(call->args, path->Attr("args")));
  if (call->attrs.defined()) kwargs.Add("attrs", d.AsExpr(call->attrs, path->Attr("attrs")));
  if (!call->ty_args.empty()) {
    kwargs.Add("ty_args", ListDoc(d.AsExprs(call->ty_args, path->Attr("ty_args"))));
  }
  if (!call->ty.IsMissing()) kwargs.Add("ret_ty", TypeArgDoc(call->ty, path->Attr("ty"), d));
  return T(d, "Call").Call({callee, args}, kwargs.keys, kwargs.values);
}

/// An LLVM intrinsic is known by name if the code generator can be loaded.
ExprDoc IntrinsicDoc(const Expr& id, const AccessPath& path, IRDocsifier& d) {
  const auto* imm = id.as<IntImmNode>();
  if (imm != nullptr && imm->dtype() == DataType::UInt(32)) {
    static const auto name_of = ffi::Function::GetGlobal("target.llvm_get_intrinsic_name");
    static const auto id_of = ffi::Function::GetGlobal("target.llvm_lookup_intrinsic_id");
    if (name_of.has_value() && id_of.has_value()) {
      try {
        String name = (*name_of)(imm->value).cast<String>();
        if (!name.empty() && (*id_of)(name).cast<int64_t>() == imm->value) {
          return LiteralDoc::Str(name, path);
        }
      } catch (const ffi::Error&) {
        // Without the code generator's library the number has to do.
      }
    }
  }
  return d.AsExpr(id, path);
}

std::string_view PrintedName(const CallRow* row) {
  std::string_view name(row->name);
  constexpr std::string_view kPacked[] = {"tvm_call_packed", "tvm_call_cpacked",
                                          "tvm_call_packed_lowered", "tvm_call_cpacked_lowered"};
  for (std::string_view packed : kPacked) {
    if (name == packed) return name.substr(4);
  }
  return name;
}

ExprDoc ShortCall(const CallNode* call, const CallRow* row, const AccessPath& path,
                  IRDocsifier& d) {
  Array<ExprDoc> args;
  AccessPath args_path = path->Attr("args");
  const bool intrinsic = call->op.same_as(builtin::call_llvm_intrin()) ||
                         call->op.same_as(builtin::call_llvm_pure_intrin());
  if (row->rule == kFirst) args.push_back(TypeArgDoc(call->ty, path->Attr("ty"), d));
  for (size_t i = 0; i < call->args.size(); ++i) {
    AccessPath p = args_path->ArrayItem(static_cast<int64_t>(i));
    args.push_back(intrinsic && i == 0 ? IntrinsicDoc(call->args[i], p, d)
                                       : d.AsExpr(call->args[i], p));
  }
  if (row->rule == kLast) {
    args.push_back(IsVoidPtr(call->ty) ? T(d, "handle").Call({}).Attr("ty")
                                       : TypeArgDoc(call->ty, path->Attr("ty"), d));
  }
  return T(d, PrintedName(row)).Call(args);
}

/// `T.type_annotation("float32")`; a call without arguments that only carries its type.
bool IsTypeAnnotation(const CallNode* call) {
  const auto* op = call->op.as<OpNode>();
  return op != nullptr && op->name == "tirx.type_annotation" && call->args.empty() &&
         !call->attrs.defined();
}

/// Whether the builder behind the script function may return something simpler.
bool MayFold(const CallNode* call, ResultRule rule) {
  if (call->args.empty() || rule == kFirst || rule == kLast) return false;
  bool all_constant = true;
  for (const Expr& arg : call->args) {
    bool constant = arg.as<IntImmNode>() != nullptr || arg.as<FloatImmNode>() != nullptr;
    all_constant = all_constant && constant;
  }
  bool choice = call->op.same_as(builtin::if_then_else()) || call->op.same_as(builtin::likely());
  if (choice) return call->args[0].as<IntImmNode>() != nullptr;
  return all_constant && (rule == kArg0 || rule == kBoolLikeArg0 || rule == kInt32) &&
         SideEffect(ffi::GetRef<Call>(call)) <= CallEffectKind::kPure;
}

/// Math functions of integers are something else in Python (`floor(i)` is `i`).
bool IsMathOnIntegers(const CallNode* call, ResultRule rule) {
  if (rule != kArg0 && rule != kBoolLikeArg0) return false;
  static const auto vectorizable = Op::GetAttrMap<bool>("TVectorizable");
  if (!vectorizable.get(call->op, false)) return false;
  if (call->op.same_as(builtin::likely()) || call->op.same_as(builtin::popcount())) return false;
  const auto* prim = call->args[0]->ty.as<PrimTypeNode>();
  return prim == nullptr || !prim->dtype.is_any_float();
}

/// Dialect of a callee that is not of this one: the prefix of its operator's name or type key.
std::string ForeignDialect(const Expr& callee, const IRDocsifier& d) {
  const auto* op = callee.as<OpNode>();
  std::string name = op != nullptr ? std::string(op->name) : callee->GetTypeKey();
  std::string dialect = name.substr(0, name.find('.'));
  return dialect == "relax" && d.frames().back()->token != dialect ? dialect : "";
}

DataType DTypeOfArg(const CallNode* call, size_t i) {
  const auto* prim = i < call->args.size() ? call->args[i]->ty.as<PrimTypeNode>() : nullptr;
  return prim == nullptr ? DataType::Void() : prim->dtype;
}

bool IsIntLiteral(const CallNode* call, size_t i, DataType dtype) {
  return i < call->args.size() && call->args[i].as<IntImmNode>() != nullptr &&
         DTypeOfArg(call, i) == dtype;
}

/// Script functions that demand more of their arguments than the operator, or change them.
bool ChangesArguments(const CallNode* call) {
  auto is = [call](const Op& op) { return call->op.same_as(op); };
  if (is(builtin::call_llvm_intrin()) || is(builtin::call_llvm_pure_intrin())) {
    return !IsIntLiteral(call, 0, DataType::UInt(32));
  }
  if (is(builtin::reinterpret())) {
    DataType from = DTypeOfArg(call, 0);
    const auto* to = call->ty.as<PrimTypeNode>();
    return to == nullptr || from.is_void() || from == to->dtype || from.is_scalable_vector() ||
           to->dtype.is_scalable_vector() ||
           from.bits() * from.lanes() != to->dtype.bits() * to->dtype.lanes();
  }
  if (is(builtin::if_then_else())) {
    return call->args.size() != 3 || DTypeOfArg(call, 0) != DataType::Bool() ||
           !SameType(call->args[1]->ty, call->args[2]->ty);
  }
  if (is(builtin::tvm_struct_set())) return !IsIntLiteral(call, 2, DataType::Int(32));
  if (is(builtin::tvm_access_ptr())) {
    const auto* annotation = call->args.empty() ? nullptr : call->args[0].as<CallNode>();
    return annotation == nullptr || !IsTypeAnnotation(annotation);
  }
  if (is(builtin::tvm_storage_sync())) return call->args.size() != 1;
  if (is(builtin::tvm_call_packed()) || is(builtin::tvm_call_cpacked())) {
    for (const Expr& arg : call->args) {
      if (IsBuffer(arg.get())) return true;  // would become a DLTensor on the stack
    }
  }
  return false;
}

/// `Module.f(x)`: a function of the module, whose declared result is the type of the call.
bool IsPlainFunctionCall(const CallNode* call, const IRDocsifier& d) {
  const auto* callee = call->op.as<GlobalVarNode>();
  if (callee == nullptr || d.module == nullptr || call->attrs.defined() || !call->ty_args.empty() ||
      !d.module->ContainGlobalVar(callee->name_hint)) {
    return false;
  }
  BaseFunc function = d.module->Lookup(callee->name_hint);
  const auto* prim_func = function.as<PrimFuncNode>();
  if (prim_func == nullptr) return false;
  const auto* nothing = call->ty.as<TupleTypeNode>();
  if (nothing != nullptr && nothing->fields.empty()) {
    const auto* result = prim_func->ret_type.as<TupleTypeNode>();
    return result != nullptr && result->fields.empty();
  }
  return SameType(call->ty, prim_func->ret_type);
}

Doc PrintCall(const CallNode* call, const AccessPath& path, IRDocsifier& d) {
  if (std::string dialect = ForeignDialect(call->op, d); !dialect.empty()) {
    FrameScope frame(d, dialect);
    return d.AsExpr(ffi::GetRef<Call>(call), path);
  }
  AccessPath args_path = path->Attr("args");
  if (call->op.as<OpNode>() == nullptr) {
    if (!IsPlainFunctionCall(call, d)) return ExplicitCall(call, path, d);
    return d.AsExpr(call->op, path->Attr("op")).Call(d.AsExprs(call->args, args_path));
  }
  if (const OperatorRow* row = FindOperator(call)) {
    ExprDoc a = d.AsExpr(call->args[0], args_path->ArrayItem(0));
    ExprDoc b = d.AsExpr(call->args[1], args_path->ArrayItem(1));
    return OperationDoc(row->kind, {a, b});
  }
  if (IsInvert(call)) {
    return OperationDoc(OperationKind::kInvert, {d.AsExpr(call->args[0], args_path->ArrayItem(0))});
  }
  if (IsBufferData(call)) {
    return d.AsExpr(call->args[0], args_path->ArrayItem(0)).Attr("data");
  }
  if (IsTypeAnnotation(call)) {
    return T(d, "type_annotation").Call({TypeArgDoc(call->ty, path->Attr("ty"), d)});
  }
  auto it = CallTable().find(call->op.get());
  bool is_short = it != CallTable().end() && !call->attrs.defined() && call->ty_args.empty() &&
                  RuleHolds(call, it->second->rule) && !MayFold(call, it->second->rule) &&
                  !IsMathOnIntegers(call, it->second->rule) && !ChangesArguments(call);
  return is_short ? ShortCall(call, it->second, path, d) : ExplicitCall(call, path, d);
}

}  // namespace

bool PrintsAsOperator(const CallNode* call) {
  return FindOperator(call) != nullptr || IsInvert(call) || IsBufferData(call);
}

TVM_FFI_STATIC_INIT_BLOCK() { RegisterPrinterAndRepr<CallNode, PrintCall>(""); }

}  // namespace tvm::script::printer
