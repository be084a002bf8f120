// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file
/// \brief VMShapeLower: symbolic shapes as cells of a heap; checks of arguments at run time.
///
/// Every symbolic value has a cell in an int64 tensor. Arguments and casts fill the cells of bare
/// variables, a host function computes compound values, and shapes are made from cells:
///
///   heap = alloc_shape_heap(2)
///   check_tensor_info(x, 2, "float32", ctx); match_shape(x, heap, 2, STORE, 0, IMM, 4, ctx)
///   shape_func(heap)            # heap[1] = heap[0] * 2
///   s = make_shape(heap, 1, LOAD, 1)
#include <tvm/ffi/reflection/registry.h>
#include <tvm/ir/expr_functor.h>
#include <tvm/relax/analysis.h>
#include <tvm/relax/expr_functor.h>
#include <tvm/tirx/function.h>
#include <tvm/tirx/stmt.h>

#include <unordered_map>
#include <unordered_set>

#include "relax/analysis/type_rewrite.h"
#include "relax/ir/utils.h"
#include "relax/op/call_like.h"
#include "relax/transform/utils.h"

namespace tvm {
namespace relax {
namespace transform {

namespace {

enum MatchCode : int64_t { kImm = 0, kStore = 1, kSkip = 2, kLoad = 3 };

struct CellMap {
  std::unordered_map<PrimExpr, int, ExprDeepHash, ExprDeepEqual> cells;
  std::vector<PrimExpr> order;
  int Of(const PrimExpr& e) {
    auto [it, fresh] = cells.emplace(e, static_cast<int>(order.size()));
    if (fresh) order.push_back(e);
    return it->second;
  }
};

class ShapeLowering : public ExprMutator {
 public:
  ShapeLowering(const IRModule& mod, bool emit_err_ctx)
      : ExprMutator(mod), mod_(mod), emit_err_ctx_(emit_err_ctx) {}

  IRModule Run() {
    for (const auto& [gv, base] : mod_->SortedFunctions()) {
      auto func = base.as<Function>();
      if (!func.has_value()) continue;
      Function lowered = LowerFunction(gv, func.value());
      if (!lowered.same_as(func.value())) builder_->UpdateFunction(gv, lowered);
    }
    return builder_->GetModule();
  }

  using ExprMutator::VisitExpr_;

  Expr VisitExpr_(const ShapeExprNode* op) override {
    if (AsInts(op->values).has_value()) return GetRef<Expr>(op);
    Array<Expr> args{heap_, Int64(static_cast<int64_t>(op->values.size()))};
    EnsureComputed(op->values);
    for (const PrimExpr& v : op->values) {
      if (auto imm = AsInt(v)) {
        args.push_back(Int64(0));
        args.push_back(Int64(*imm));
      } else {
        args.push_back(Int64(1));
        args.push_back(Int64(cells_.Of(v)));
      }
    }
    return MakePackedCall("vm.builtin.make_shape", args,
                          ShapeType(static_cast<int>(op->values.size())));
  }

  Expr VisitPrim(const Expr& e) override {
    if (!e->ty.as<PrimTypeNode>() || e.as<IntImmNode>() || e.as<FloatImmNode>()) return e;
    return LoadPrim(Downcast<PrimExpr>(e));
  }
  Expr VisitExpr_(const VarNode* op) override {
    // Parameters of scalar type are values of their own; other scalars are symbols.
    if (op->ty.as<PrimTypeNode>() && !values_.count(op)) {
      return LoadPrim(Downcast<PrimExpr>(GetRef<Var>(op)));
    }
    return ExprMutator::VisitExpr_(op);
  }
  Expr VisitExpr_(const IfNode* op) override {
    Expr cond = builder_->NormalizeArgument(VisitExpr(op->cond));
    auto saved = ready_;
    SeqExpr t = VisitWithNewScope(op->true_branch);
    ready_ = saved;
    SeqExpr f = VisitWithNewScope(op->false_branch);
    ready_ = saved;
    If result(cond, t, f, op->span);
    UpdateType(result, op->ty);
    return result;
  }
  Type VisitType(const Type& ty) override { return ty; }
  void VisitVarBinding(const VarBindingNode* b) override {
    Expr value = VisitExpr(b->value);
    values_.insert(b->var.get());
    if (value.same_as(b->value)) return builder_->EmitNormalized(GetRef<VarBinding>(b));
    builder_->EmitNormalized(VarBinding(b->var, value, b->span));
  }
  void VisitMatchCast(const MatchCastNode* b) override {
    Expr value = builder_->NormalizeArgument(VisitExpr(b->value));
    std::string ctx = "ErrorContext(match_cast, ty=" + Text(b->ty) + ")";
    std::vector<Pending> later;
    CheckValue(value, b->ty, ctx, true, &later);
    Finish(later);
    values_.insert(b->var.get());
    builder_->EmitNormalized(VarBinding(b->var, value, b->span));
  }

 private:
  struct Pending {
    Expr value;
    Array<PrimExpr> dims;
    std::string ctx;
  };

  static std::string Text(const Type& ty) {
    String s = DebugText(ty);
    std::string r(s.data(), s.size());
    while (!r.empty() && r.back() == '\n') r.pop_back();
    return r;
  }
  Expr Context(const std::string& ctx) const { return StringImm(emit_err_ctx_ ? ctx : ""); }

  Function LowerFunction(const GlobalVar& gv, const Function& func) {
    cells_ = CellMap();
    ready_.clear();
    values_.clear();
    pending_funcs_.clear();
    heap_ = Var("shape_heap", TensorType(DataType::Int(64), 1));
    int64_t num_input = static_cast<int64_t>(func->params.size());
    if (auto n = func->GetAttr<int64_t>(attr::kNumInput)) num_input = n.value();

    builder_->BeginScope(func->params);
    builder_->BeginBindingBlock();
    std::vector<Pending> later;
    for (size_t i = 0; i < func->params.size(); ++i) {
      const Var& p = func->params[i];
      values_.insert(p.get());
      bool always = static_cast<int64_t>(i) < num_input;
      std::string ctx =
          "ErrorContext(fn=" + std::string(gv->name_hint.data(), gv->name_hint.size()) +
          ", loc=param[" + std::to_string(i) +
          "], param=" + std::string(p->name.data(), p->name.size()) +
          ", annotation=" + Text(p->ty) + ")";
      CheckValue(p, p->ty, ctx, always, &later);
    }
    Finish(later);
    BindingBlock checks = builder_->EndBlock();
    SeqExpr body = VisitWithNewScope(func->body);
    builder_->EndScope();

    Array<BindingBlock> blocks;
    if (!cells_.order.empty()) {
      Call alloc(heap_->ty, TVM_RX_OP("call_builtin_with_ctx"),
                 {ExternFunc("vm.builtin.alloc_shape_heap"),
                  Tuple({Int64(static_cast<int64_t>(cells_.order.size()))})},
                 Attrs(), {heap_->ty});
      blocks.push_back(BindingBlock({VarBinding(heap_, alloc)}));
      EmitShapeFuncs();
    }
    if (!checks->bindings.empty()) blocks.push_back(checks);
    for (const BindingBlock& b : body->blocks) blocks.push_back(b);
    Map<GlobalVar, GlobalVar> none;
    return Function(func->params, SeqExpr(blocks, body->body), func->ret_ty, func->is_pure,
                    func->attrs, func->span);
  }

  /// Checks kind, rank and element type, and fills or compares cells. Compound dimensions wait in
  /// `later` until all variables are known.
  void CheckValue(const Expr& value, const Type& ty, const std::string& ctx, bool always,
                  std::vector<Pending>* later) {
    if (const auto* t = ty.as<TensorTypeNode>()) {
      Optional<Array<PrimExpr>> dims = t->GetShape();
      bool dynamic = !dims.has_value() || !AsInts(dims.value()).has_value();
      if (!always && !dynamic) return;
      if (t->IsUnknownNdim() && t->IsUnknownDtype()) {
        EmitCheck("vm.builtin.check_tensor_info", {value, Int64(-1), Context(ctx)});
      } else {
        EmitCheck("vm.builtin.check_tensor_info",
                  {value, Int64(t->ndim), DataTypeImm(t->ElementType()), Context(ctx)});
      }
      bool literal = t->shape.has_value() && t->shape.value().as<ShapeExprNode>();
      if (literal) Match(value, dims.value(), ctx, later);
    } else if (const auto* s = ty.as<ShapeTypeNode>()) {
      EmitCheck("vm.builtin.check_shape_info", {value, Int64(s->ndim), Context(ctx)});
      if (s->values.has_value()) Match(value, s->values.value(), ctx, later);
    } else if (const auto* p = ty.as<PrimTypeNode>()) {
      EmitCheck("vm.builtin.check_prim_value_info", {value, DataTypeImm(p->dtype), Context(ctx)});
      if (auto v = value.as<Var>(); v.has_value() && p->dtype == DataType::Int(64)) {
        PrimExpr sym = Downcast<PrimExpr>(v.value());
        int cell = cells_.Of(sym);
        ready_.insert(cell);
        EmitCheck("vm.builtin.match_prim_value",
                  {value, heap_, Int64(kStore), Int64(cell), Context(ctx)});
      }
    } else if (const auto* tuple = ty.as<TupleTypeNode>()) {
      EmitCheck("vm.builtin.check_tuple_info",
                {value, Int64(static_cast<int64_t>(tuple->fields.size())), Context(ctx)});
      for (size_t i = 0; i < tuple->fields.size(); ++i) {
        if (tuple->fields[i].as<AnyTypeNode>()) continue;
        Expr field = builder_->Emit(
            Call(tuple->fields[i], ExternFunc("vm.builtin.tuple_getitem"),
                 {value, Int64(static_cast<int64_t>(i))}, Attrs(), {tuple->fields[i]}),
            "field");
        CheckValue(field, tuple->fields[i], ctx, always, later);
      }
    } else if (ty.as<FuncTypeNode>()) {
      EmitCheck("vm.builtin.check_func_info", {value, Context(ctx)});
    }
  }

  void EmitCheck(const char* name, const Array<Expr>& args) {
    Type none = TupleType(Array<Type>());
    builder_->EmitNormalized(VarBinding(Var("_", none), MakePackedCall(name, args, none)));
  }

  void Match(const Expr& value, const Array<PrimExpr>& dims, const std::string& ctx,
             std::vector<Pending>* later) {
    Array<Expr> args;
    bool compound = false, uses_heap = false;
    for (const PrimExpr& d : dims) {
      int64_t code, v = 0;
      if (auto imm = AsInt(d)) {
        code = kImm;
        v = *imm;
      } else if (d.as<VarNode>()) {
        int cell = cells_.Of(d);
        code = ready_.insert(cell).second ? kStore : kLoad;
        v = cell;
        uses_heap = true;
      } else {
        code = kSkip;
        compound = true;
      }
      args.push_back(Int64(code));
      args.push_back(Int64(v));
    }
    if (compound) later->push_back({value, dims, ctx});
    EmitMatch(value, uses_heap, dims.size(), args, ctx);
  }

  void EmitMatch(const Expr& value, bool uses_heap, size_t n, const Array<Expr>& codes,
                 const std::string& ctx) {
    Expr heap = uses_heap ? Expr(heap_) : Expr(NullValue());
    Array<Expr> args{value, heap, Int64(static_cast<int64_t>(n))};
    for (const Expr& c : codes) args.push_back(c);
    args.push_back(Context(ctx));
    EmitCheck("vm.builtin.match_shape", args);
  }

  /// The heap operand of checks that need no cell.
  static Expr NullValue() { return Tuple(Array<Expr>()); }

  void Finish(const std::vector<Pending>& later) {
    for (const Pending& p : later) {
      EnsureComputed(p.dims);
      Array<Expr> codes;
      for (const PrimExpr& d : p.dims) {
        bool compound = !d.as<IntImmNode>() && !d.as<VarNode>();
        codes.push_back(Int64(compound ? kLoad : kSkip));
        codes.push_back(Int64(compound ? cells_.Of(d) : 0));
      }
      EmitMatch(p.value, true, p.dims.size(), codes, p.ctx);
    }
  }

  /// Emits the computation of compound values that have no cell filled yet.
  void EnsureComputed(const Array<PrimExpr>& values) {
    Array<PrimExpr> missing;
    for (const PrimExpr& v : values) {
      if (v.as<IntImmNode>()) continue;
      int cell = cells_.Of(v);
      if (ready_.count(cell)) continue;
      TVM_FFI_CHECK(!v.as<VarNode>(), ValueError)
          << "symbolic variable " << v << " is used before a parameter or match_cast defines it";
      ready_.insert(cell);
      missing.push_back(v);
    }
    if (missing.empty()) return;
    String name = builder_->GetUniqueName("shape_func");
    GlobalVar gv(name, FuncType({heap_->ty}, TupleType(Array<Type>()), false));
    pending_funcs_.push_back({gv, missing});
    Type none = TupleType(Array<Type>());
    builder_->EmitNormalized(VarBinding(Var("_", none), Call(none, gv, {heap_})));
  }

  Expr LoadPrim(const PrimExpr& e) {
    TVM_FFI_CHECK(e.dtype() == DataType::Int(64) || e.dtype().is_bool(), ValueError)
        << "a scalar value computed at run time must be int64, but " << e << " is " << e.dtype();
    EnsureComputed({e});
    return MakePackedCall("vm.builtin.make_prim_value", {heap_, Int64(1), Int64(cells_.Of(e))},
                          e->ty);
  }

  /// The host functions that compute cells, once the size of the heap is known.
  void EmitShapeFuncs() {
    int64_t size = static_cast<int64_t>(cells_.order.size());
    for (const auto& [gv, values] : pending_funcs_) {
      tirx::Buffer heap = tirx::decl_buffer({Int64(size)}, DataType::Int(64), "heap");
      Array<tirx::Stmt> seq;
      for (const PrimExpr& v : values) {
        PrimExpr value = tvm::Substitute(
            v, std::function<Optional<Expr>(const Var&)>([&](const Var& s) -> Optional<Expr> {
              int cell = cells_.Of(Downcast<PrimExpr>(s));
              return Expr(tirx::BufferLoad(heap, {Int64(cell)}));
            }));
        seq.push_back(
            tirx::BufferStore(heap, tvm::cast(DataType::Int(64), value), {Int64(cells_.Of(v))}));
      }
      tirx::Stmt body = seq.size() == 1 ? seq[0] : tirx::Stmt(tirx::SeqStmt(seq));
      tirx::PrimFunc func({heap}, body);
      func = tvm::WithAttr(func, tvm::attr::kGlobalSymbol, gv->name_hint);
      func = tvm::WithAttr(func, tirx::attr::kIsHostFunc, ffi::Any(int64_t{1}));
      func = tvm::WithAttr(func, tirx::attr::kIsScheduled, ffi::Any(true));
      builder_->UpdateFunction(gv, func);
    }
  }

  IRModule mod_;
  bool emit_err_ctx_;
  CellMap cells_;
  std::unordered_set<int> ready_;
  std::unordered_set<const VarNode*> values_;
  std::vector<std::pair<GlobalVar, Array<PrimExpr>>> pending_funcs_;
  Var heap_;
};

}  // namespace

Pass VMShapeLower(bool emit_err_ctx) {
  return tvm::transform::CreateModulePass(
      [emit_err_ctx](IRModule mod, const PassContext&) {
        return ShapeLowering(mod, emit_err_ctx).Run();
      },
      0, "VMShapeLower");
}
/// Scalar expressions in calls are computed by VMShapeLower itself.
Pass ComputePrimValue() {
  return tvm::transform::CreateModulePass([](IRModule mod, const PassContext&) { return mod; }, 0,
                                          "ComputePrimValue");
}

TVM_FFI_STATIC_INIT_BLOCK() {
  namespace refl = tvm::ffi::reflection;
  refl::GlobalDef().def("relax.transform.VMShapeLower", VMShapeLower);
  refl::GlobalDef().def("relax.transform.ComputePrimValue", ComputePrimValue);
}

}  // namespace transform
}  // namespace relax
}  // namespace tvm
