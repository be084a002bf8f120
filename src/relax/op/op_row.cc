// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file
/// \brief Registry of operator rows; calls made from operands and attribute values.
#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/accessor.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/ir/attrs.h>
#include <tvm/relax/analysis.h>
#include <tvm/relax/op_row.h>

#include <algorithm>
#include <string>
#include <unordered_map>

#include "relax/ir/infer.h"
#include "relax/ir/utils.h"
#include "relax/op/signature.h"

namespace tvm {
namespace relax {

namespace {

namespace refl = tvm::ffi::reflection;

/// A row with its parsed signature.
struct OpEntry {
  const OpRow* row;
  Op op;
  OpSignature signature;
};

struct OpTable {
  std::vector<const OpRow*> rows;
  std::unordered_map<std::string_view, OpEntry*> by_name;
  /// Indexed by Op::index.
  std::vector<OpEntry*> by_index;

  static OpTable& Global() {
    static OpTable& table = *new OpTable();
    return table;
  }
};

const OpEntry* EntryOf(const Op& op) {
  const OpTable& t = OpTable::Global();
  return op->index < t.by_index.size() ? t.by_index[op->index] : nullptr;
}

const OpEntry& EntryByName(std::string_view name) {
  const OpTable& t = OpTable::Global();
  auto it = t.by_name.find(name);
  TVM_FFI_CHECK(it != t.by_name.end(), AttributeError)
      << "Operator relax." << std::string(name) << " is not registered";
  return *it->second;
}

void CheckArity(const OpEntry& e, size_t given) {
  size_t most = e.signature.args.size();
  size_t least = e.signature.num_required_args;
  if (given >= least && given <= most) return;
  TVM_FFI_THROW(ValueError) << "Operator " << e.op->name << " expects "
                            << (least == most
                                    ? std::to_string(most)
                                    : std::to_string(least) + " to " + std::to_string(most))
                            << " arguments, but was called with " << given << " arguments";
}

/// A value as the field of an attribute structure takes it.
ffi::Any CoerceAttr(const ffi::Any& value, int32_t static_type) {
  if (const auto* imm = value.as<IntImmNode>()) return CoerceAttr(imm->value, static_type);
  if (const auto* imm = value.as<FloatImmNode>()) return CoerceAttr(imm->value, static_type);
  if (auto list = value.as<Array<ffi::Any>>()) {
    return list.value().Map([](const ffi::Any& v) -> ffi::Any {
      if (const auto* imm = v.as<IntImmNode>()) return imm->value;
      if (const auto* imm = v.as<FloatImmNode>()) return imm->value;
      return v;
    });
  }
  if ((static_type == ffi::TypeIndex::kTVMFFIArray || static_type == kOptionalArray) &&
      (value.type_index() == ffi::TypeIndex::kTVMFFIInt ||
       value.type_index() == ffi::TypeIndex::kTVMFFIFloat)) {
    return Array<ffi::Any>{value};
  }
  if (value == nullptr) {
    // None means "not given" for fields that have an empty value.
    if (static_type == ffi::TypeIndex::kTVMFFIDataType) return DataType::Void();
    if (static_type == ffi::TypeIndex::kTVMFFIArray) return Array<ffi::Any>();
    if (static_type == ffi::TypeIndex::kTVMFFIStr) return String();
  }
  return value;
}

/// Builds the attribute structure; `given[i]` belongs to attribute i, missing ones take defaults.
Attrs BuildAttrs(const OpEntry& e, const std::vector<const ffi::Any*>& given) {
  if (e.row->attrs_key == nullptr) return Attrs();
  Map<String, ffi::Any> fields;
  const std::vector<int32_t>& types = e.signature.FieldTypes(e.row->attrs_key);
  for (size_t i = 0; i < e.signature.attrs.size(); ++i) {
    const AttrSpec& spec = e.signature.attrs[i];
    if (given[i] != nullptr) {
      fields.Set(spec.name, CoerceAttr(*given[i], types[i]));
    } else {
      TVM_FFI_CHECK(!spec.required, TypeError)
          << "Operator " << e.op->name << " misses the required attribute " << spec.name;
      fields.Set(spec.name, CoerceAttr(spec.default_value, types[i]));
    }
  }
  return MakeAttrs(e.row->attrs_key, fields);
}

Expr Finish(const OpEntry& e, Array<Expr> args, Attrs attrs) {
  if (e.row->prepare != nullptr) return e.row->prepare(std::move(args), attrs, *e.row);
  return Call(e.op, std::move(args), attrs);
}

[[noreturn]] void BadOperand(const OpEntry& e, const ArgSpec& spec, const ffi::AnyView& value) {
  TVM_FFI_THROW(TypeError) << "Operator " << e.op->name << " expects argument " << spec.name
                           << " to be a " << spec.KindName() << ", but got " << value.GetTypeKey();
}

PrimExpr Int64Dim(const ffi::AnyView& v) {
  if (auto i = v.as<int64_t>()) return Int64(*i);
  PrimExpr e = v.cast<PrimExpr>();
  if (const auto* imm = e.as<IntImmNode>()) return Int64(imm->value);
  return e;
}

/// An operand given from outside (Python values included).
Expr ToOperand(const OpEntry& e, const ArgSpec& spec, const ffi::AnyView& value) {
  switch (spec.kind) {
    case ArgKind::kShape: {
      if (auto list = value.as<Array<ffi::Any>>()) {
        Array<PrimExpr> dims;
        for (const ffi::Any& d : list.value()) dims.push_back(Int64Dim(d));
        return ShapeExpr(dims);
      }
      if (auto shape = value.as<ffi::Shape>()) {
        Array<PrimExpr> dims;
        for (int64_t d : shape.value()) dims.push_back(Int64(d));
        return ShapeExpr(dims);
      }
      if (value.as<int64_t>()) return ShapeExpr({Int64Dim(value)});
      break;
    }
    case ArgKind::kTuple:
      if (auto list = value.as<Array<ffi::Any>>()) {
        Array<Expr> fields;
        for (const ffi::Any& f : list.value()) fields.push_back(f.cast<Expr>());
        return Tuple(fields);
      }
      break;
    case ArgKind::kPrim:
      if (auto b = value.as<bool>()) return IntImm(DataType::Bool(), *b);
      if (auto i = value.as<int64_t>()) return IntImm(DataType::Int(64), *i);
      if (auto f = value.as<double>()) return FloatImm(DataType::Float(64), *f);
      break;
    case ArgKind::kAny:
      if (auto list = value.as<Array<ffi::Any>>()) {
        Array<Expr> fields;
        for (const ffi::Any& f : list.value()) {
          auto number = f.as<int64_t>();
          fields.push_back(number ? Expr(Int64(*number)) : f.cast<Expr>());
        }
        return Tuple(fields);
      }
      break;
    case ArgKind::kTensor:
      break;
  }
  if (value.as<ExprNode>() == nullptr && spec.kind == ArgKind::kTensor) BadOperand(e, spec, value);
  auto expr = value.try_cast<Expr>();
  if (!expr.has_value() || !expr->defined()) BadOperand(e, spec, value);
  return *expr;
}

/// The global maker: operands first, attributes after them, both positional.
void MakeFromPacked(const OpEntry* e, ffi::PackedArgs args, ffi::Any* ret) {
  const OpSignature& sig = e->signature;
  int num_args = static_cast<int>(sig.args.size());
  Array<Expr> operands;
  for (int i = 0; i < num_args && i < args.size(); ++i) {
    if (args[i] == nullptr && sig.args[i].optional) continue;
    operands.push_back(ToOperand(*e, sig.args[i], args[i]));
  }
  CheckArity(*e, operands.size());
  std::vector<ffi::Any> values;
  std::vector<const ffi::Any*> given(sig.attrs.size(), nullptr);
  TVM_FFI_CHECK(args.size() <= num_args + static_cast<int>(sig.attrs.size()), TypeError)
      << "Operator " << e->op->name << " takes at most " << num_args + sig.attrs.size()
      << " values, but got " << args.size();
  values.reserve(sig.attrs.size());
  for (int i = num_args; i < args.size(); ++i) {
    values.push_back(ffi::Any(args[i]));
    given[i - num_args] = &values.back();
  }
  *ret = Finish(*e, operands, BuildAttrs(*e, given));
}

Type InferByRow(const OpEntry* e, const Call& call, const BlockBuilder& ctx) {
  CheckArity(*e, call->args.size());
  return e->row->infer(call, ctx);
}

void RegisterRow(const OpRow& row) {
  OpTable& table = OpTable::Global();
  std::string name = std::string("relax.") + row.name;
  OpRegEntry& reg = OpRegEntry::RegisterOrGet(name);
  auto* e = new OpEntry{&row, reg.op(), OpSignature::Parse(row.args, row.attrs)};
  table.rows.push_back(&row);
  table.by_name.emplace(row.name, e);
  if (table.by_index.size() <= e->op->index) table.by_index.resize(e->op->index + 1, nullptr);
  table.by_index[e->op->index] = e;

  reg.describe(row.doc);
  for (const ArgSpec& a : e->signature.args) reg.add_argument(a.name, a.KindName(), "");
  bool variadic = e->signature.num_required_args != e->signature.args.size();
  reg.set_num_inputs(variadic ? -1 : static_cast<int>(e->signature.args.size()));
  if (row.attrs_key != nullptr) reg.set_attrs_type_key(row.attrs_key);
  if (row.infer != nullptr) {
    reg.set_attr<ffi::Function>(
        "FInferType", ffi::Function::FromTyped([e](const Call& call, const BlockBuilder& ctx) {
          return InferByRow(e, call, ctx);
        }));
  }
  reg.set_attr<bool>("FPurity", row.pure);
  reg.set_attr<int>("TOpPattern", static_cast<int>(row.pattern));
  if (row.data_dependent) reg.set_attr<bool>("FDataDependent", true);
  if (row.packed != nullptr) reg.set_attr<String>("FCallPacked", row.packed);
  refl::GlobalDef().def_packed(
      (std::string("relax.op.") + row.name).c_str(),
      [e](ffi::PackedArgs args, ffi::Any* ret) { MakeFromPacked(e, args, ret); });
}

}  // namespace

void RegisterOpRows(std::span<const OpRow> rows) {
  for (const OpRow& row : rows) RegisterRow(row);
}

const OpRow* FindOpRow(const Op& op) {
  const OpEntry* e = EntryOf(op);
  return e == nullptr ? nullptr : e->row;
}

const OpRow* FindOpRow(std::string_view name) {
  const OpTable& t = OpTable::Global();
  auto it = t.by_name.find(name);
  return it == t.by_name.end() ? nullptr : it->second->row;
}

const OpRow* RowOfCall(const Expr& expr) {
  const auto* call = expr.as<CallNode>();
  if (call == nullptr) return nullptr;
  const auto* op = call->op.as<OpNode>();
  return op == nullptr ? nullptr : FindOpRow(GetRef<Op>(op));
}

const std::vector<const OpRow*>& AllOpRows() { return OpTable::Global().rows; }

Expr MakeOp(std::string_view name, Array<Expr> args,
            std::initializer_list<std::pair<const char*, ffi::Any>> attrs) {
  const OpEntry& e = EntryByName(name);
  CheckArity(e, args.size());
  std::vector<const ffi::Any*> given(e.signature.attrs.size(), nullptr);
  for (const auto& [key, value] : attrs) {
    size_t i = 0;
    while (i < given.size() && e.signature.attrs[i].name != key) ++i;
    TVM_FFI_ICHECK(i < given.size()) << "operator " << e.op->name << " has no attribute " << key;
    given[i] = &value;
  }
  return Finish(e, std::move(args), BuildAttrs(e, given));
}

Call CallWithArgs(const CallNode* call, Array<Expr> args) {
  return Call(call->op, std::move(args), call->attrs, call->ty_args, call->span);
}

Call CallWithSameTypes(const CallNode* call, Array<Expr> args) {
  return Call(call->ty, call->op, std::move(args), call->attrs, call->ty_args, call->span);
}

namespace {

/// Function in an attribute table for the operator of a call; `keep` holds the result.
const ffi::Function* HookOf(const Call& call, const OpAttrTable* table, ffi::Function* keep) {
  const auto* op = call->op.as<OpNode>();
  if (op == nullptr) return nullptr;
  const ffi::Any* value = table->Find(op->index);
  if (value == nullptr) return nullptr;
  *keep = value->cast<ffi::Function>();
  return keep;
}

}  // namespace

const ffi::Function* FNormalizeOf(const Call& call) {
  static const OpAttrTable* table = Op::GetAttrTable("FNormalize");
  static thread_local ffi::Function keep;
  return HookOf(call, table, &keep);
}

const ffi::Function* FValidateOf(const Call& call) {
  static const OpAttrTable* table = Op::GetAttrTable("FValidate");
  static thread_local ffi::Function keep;
  return HookOf(call, table, &keep);
}

bool IsPureOp(const Op& op) {
  static auto purity = Op::GetAttrMap<bool>("FPurity");
  return purity.get(op, false);
}

Type InferCallType(const Call& call, const BlockBuilder& ctx) {
  if (const auto* op_node = call->op.as<OpNode>()) {
    Op op = GetRef<Op>(op_node);
    if (const OpEntry* e = EntryOf(op)) {
      if (e->row->infer != nullptr) return InferByRow(e, call, ctx);
    }
    static auto infer = Op::GetAttrMap<ffi::Function>("FInferType");
    TVM_FFI_CHECK(infer.count(op), TypeError)
        << "Cannot infer the type of a call: operator " << op->name << " has no FInferType";
    return infer[op](call, ctx).cast<Type>();
  }
  Type callee = call->op->ty;
  if (const auto* gv = call->op.as<GlobalVarNode>()) {
    if (callee.as<FuncTypeNode>() == nullptr && ctx.defined()) {
      // The variable of a function added without a type; a kernel returns nothing.
      IRModule mod = ctx->GetModule();
      if (mod->ContainGlobalVar(gv->name_hint)) {
        BaseFunc func = mod->Lookup(gv->name_hint);
        if (func->ty.as<FuncTypeNode>()) callee = func->ty;
        if (!func->IsInstance<FunctionNode>()) return TupleType(Array<Type>());
      }
    }
  }
  if (callee.as<PackedFuncTypeNode>()) return AnyType();
  const auto* func_ty = callee.as<FuncTypeNode>();
  TVM_FFI_CHECK(func_ty != nullptr, TypeError)
      << "The callee of a call must be a function, but " << call->op << " has type " << callee;
  return DeriveCallRetType(GetRef<FuncType>(func_ty), call, ctx);
}

TVM_FFI_STATIC_INIT_BLOCK() {
  refl::GlobalDef()
      .def("relax.op_table.ListRows",
           [] {
             // name, args, attrs, attrs_key, pattern, doc, samples, has a kernel
             Array<Array<ffi::Any>> rows;
             for (const OpRow* r : AllOpRows()) {
               rows.push_back({String(r->name), String(r->args), String(r->attrs),
                               String(r->attrs_key == nullptr ? "" : r->attrs_key),
                               static_cast<int64_t>(r->pattern), String(r->doc), String(r->samples),
                               r->lower != nullptr});
             }
             return rows;
           })
      .def("relax.op_table.InferCallType",
           [](const Call& call, const BlockBuilder& ctx) { return InferCallType(call, ctx); });
}

}  // namespace relax
}  // namespace tvm
