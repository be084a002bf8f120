// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file
/// \brief The block builder: scopes, blocks, names, normal form.
#include <tvm/ffi/extra/structural_equal.h>
#include <tvm/ffi/extra/structural_hash.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/ir/module.h>
#include <tvm/relax/analysis.h>
#include <tvm/relax/block_builder.h>
#include <tvm/relax/expr_functor.h>
#include <tvm/relax/transform.h>

#include <cctype>
#include <string>
#include <unordered_set>
#include <vector>

#include "relax/ir/infer.h"

namespace tvm {
namespace relax {

namespace {

/// Names already used, and the next number for each stem.
class NameTable {
 public:
  String Unique(const String& hint) {
    std::string name(hint.data(), hint.size());
    for (char& c : name) {
      if (!std::isalnum(static_cast<unsigned char>(c)) && c != '_') c = '_';
    }
    if (name.empty()) name = "v";
    auto [it, fresh] = next_.emplace(name, 0);
    if (fresh) return name;
    // `it` may be invalidated below, so the number is worked on by value.
    int n = it->second;
    std::string candidate;
    do {
      candidate = name + std::to_string(++n);
    } while (next_.count(candidate));
    next_[name] = n;
    next_.emplace(candidate, 0);
    return candidate;
  }
  void Reserve(const String& name) { next_.emplace(std::string(name.data(), name.size()), 0); }
  bool Knows(const String& name) const { return next_.count(std::string(name)) != 0; }

 private:
  std::unordered_map<std::string, int> next_;
};

struct BlockFrame {
  Array<Binding> bindings;
  bool dataflow;
  /// Blocks that had to be closed because a value brought blocks of its own.
  Array<BindingBlock> closed;
};

struct ScopeFrame {
  std::unordered_set<const VarNode*> symbols;
  /// Function scopes do not see symbols of outer functions.
  bool inherits;
};

class BlockBuilderImpl : public BlockBuilderNode {
 public:
  explicit BlockBuilderImpl(Optional<IRModule> mod) : mod_(mod.value_or(IRModule())) {
    for (const auto& [gv, func] : mod_->functions) function_names_.Reserve(gv->name_hint);
  }

  IRModule GetModule() const final { return mod_; }
  IRModule Finalize() final { return transform::NormalizeGlobalVar()(mod_); }

  GlobalVar AddFunction(const BaseFunc& func, String hint) final {
    EnsureDedupTable();
    uint64_t hash = DedupHash(func);
    std::vector<GlobalVar>& same = dedup_[hash];
    Optional<GlobalVar> best;
    for (const GlobalVar& gv : same) {
      if (!mod_->ContainGlobalVar(gv->name_hint)) continue;
      if (!ffi::StructuralEqual::Equal(mod_->Lookup(gv), func)) continue;
      if (!best.has_value() || gv->name_hint < best.value()->name_hint) best = gv;
    }
    if (best.has_value()) return best.value();
    GlobalVar gv(function_names_.Unique(hint), func->ty);
    mod_.CopyOnWrite()->Add(gv, func);
    same.push_back(gv);
    return gv;
  }

  void UpdateFunction(const GlobalVar& gv, const BaseFunc& func) final {
    mod_.CopyOnWrite()->Update(gv, func);
    if (dedup_ready_) dedup_[DedupHash(func)].push_back(gv);
  }

  void BeginScope(Optional<Array<Var>> params) final {
    scopes_.push_back(ScopeFrame{{}, false});
    if (!params.has_value()) return;
    for (const Var& p : params.value()) {
      if (p->ty.as<PrimTypeNode>()) AddDefinition(p);
      for (const Var& v : DefinableSymbolicVarsInType(p->ty)) AddDefinition(v);
    }
  }
  void BeginInnerScope() final { scopes_.push_back(ScopeFrame{{}, true}); }
  void EndScope() final {
    TVM_FFI_ICHECK(!scopes_.empty()) << "EndScope without a matching BeginScope";
    scopes_.pop_back();
  }
  void AddDefinition(const Var& symbolic) final {
    if (scopes_.empty()) return;
    if (scopes_.back().symbols.insert(symbolic.get()).second) {
      // Dimensions are never negative.
      analyzer_->MarkGlobalNonNegValue(Downcast<PrimExpr>(symbolic));
      keep_alive_.push_back(symbolic);
    }
  }

  void BeginDataflowBlock() final { blocks_.push_back(BlockFrame{{}, true, {}}); }
  void BeginBindingBlock() final { blocks_.push_back(BlockFrame{{}, false, {}}); }
  BindingBlock EndBlock() final {
    TVM_FFI_ICHECK(!blocks_.empty()) << "EndBlock without an open block";
    BlockFrame frame = std::move(blocks_.back());
    blocks_.pop_back();
    TVM_FFI_ICHECK(frame.closed.empty()) << "a block was split where one block is expected";
    return MakeBlock(frame);
  }
  bool CurrentBlockIsDataflow() const final {
    TVM_FFI_ICHECK(!blocks_.empty()) << "no block is open";
    return blocks_.back().dataflow;
  }

  Var Emit(const Expr& expr, String hint) final {
    return EmitAs(expr, hint, CurrentBlockIsDataflow());
  }
  Var EmitOutput(const Expr& expr, String hint) final {
    TVM_FFI_ICHECK(!blocks_.empty() && blocks_.back().dataflow)
        << "emit_output has to be called inside a dataflow block";
    return EmitAs(expr, hint, false);
  }
  Var EmitMatchCast(const Expr& value, const Type& ty, String hint) final {
    Expr v = NormalizeArgument(value);
    TVM_FFI_ICHECK(TypeBaseCheck(ty, v->ty) != BaseCheckResult::kFailL0)
        << "It is impossible to match cast any value into the target ty: the value has type "
        << v->ty << ", the target is " << ty;
    for (const Var& s : DefinableSymbolicVarsInType(ty)) AddDefinition(s);
    Var var = MakeVar(hint, ty, blocks_.back().dataflow);
    EmitNormalized(MatchCast(var, v, ty));
    return var;
  }
  void EmitNormalized(const Binding& binding) final {
    TVM_FFI_ICHECK(!blocks_.empty()) << "no block is open";
    if (const auto* vb = binding.as<VarBindingNode>()) {
      TVM_FFI_ICHECK(!vb->var->ty.IsMissing()) << "variable " << vb->var->name << " has no type";
      values_[vb->var.get()] = vb->value;
    } else {
      const auto* mc = binding.as<MatchCastNode>();
      for (const Var& s : DefinableSymbolicVarsInType(mc->ty)) AddDefinition(s);
      values_[mc->var.get()] = mc->value;
    }
    blocks_.back().bindings.push_back(binding);
  }

  Optional<Expr> LookupBinding(const Var& var) const final {
    auto it = values_.find(var.get());
    if (it == values_.end()) return std::nullopt;
    return it->second;
  }
  String GetUniqueName(const String& hint) final {
    String name = names_.Unique(hint);
    while (function_names_.Knows(name)) name = names_.Unique(hint);
    return name;
  }
  arith::Analyzer& GetAnalyzer() final { return analyzer_; }

  Expr NormalizeArgument(const Expr& expr) final {
    Expr e = Normalize(expr);
    if (IsLeafOrTuple(e)) return e;
    TVM_FFI_ICHECK(!blocks_.empty()) << "cannot bind a nested expression: no binding block is open";
    bool dataflow = blocks_.back().dataflow;
    Var var = MakeVar("", e->ty, dataflow);
    EmitNormalized(VarBinding(var, e));
    return var;
  }

  Expr Normalize(const Expr& e) final {
    CheckStackDepth();
    switch (KindOf(e)) {
      case ExprKind::kTuple:
        return NormalizeTuple(static_cast<const TupleNode*>(e.get()));
      case ExprKind::kTupleGetItem:
        return NormalizeGetItem(static_cast<const TupleGetItemNode*>(e.get()));
      case ExprKind::kCall:
        return NormalizeCall(static_cast<const CallNode*>(e.get()));
      case ExprKind::kIf:
        return NormalizeIf(static_cast<const IfNode*>(e.get()));
      case ExprKind::kSeqExpr:
        return NormalizeSeq(static_cast<const SeqExprNode*>(e.get()));
      case ExprKind::kFunction:
        return NormalizeFunction(static_cast<const FunctionNode*>(e.get()));
      default:
        return e;
    }
  }

 private:
  /// Weights do not tell functions apart often enough to be worth reading them all.
  static uint64_t DedupHash(const BaseFunc& func) {
    return ffi::StructuralHash::Hash(func, /*map_free_vars=*/false, /*skip_tensor_content=*/true);
  }
  void EnsureDedupTable() {
    if (dedup_ready_) return;
    dedup_ready_ = true;
    for (const auto& [gv, func] : mod_->functions) {
      dedup_[DedupHash(func)].push_back(gv);
    }
  }

  static BindingBlock MakeBlock(const BlockFrame& frame) {
    if (frame.dataflow) return DataflowBlock(frame.bindings);
    return BindingBlock(frame.bindings);
  }

  Var MakeVar(const String& hint, const Type& ty, bool dataflow) {
    String name = names_.Unique(hint.empty() ? String(dataflow ? "lv" : "gv") : hint);
    if (dataflow) return DataflowVar(name, ty);
    return Var(name, ty);
  }

  Var EmitAs(const Expr& expr, const String& hint, bool dataflow) {
    Expr value = Normalize(expr);
    // A sequence contributes its bindings to the current block.
    if (const auto* seq = value.as<SeqExprNode>()) value = Splice(seq);
    Var var = MakeVar(hint, value->ty, dataflow);
    EmitNormalized(VarBinding(var, value));
    return var;
  }

  /// Move the bindings of a sequence into the current block; returns its result.
  Expr Splice(const SeqExprNode* seq) {
    for (const BindingBlock& b : seq->blocks) {
      bool dataflow = b.as<DataflowBlockNode>() != nullptr;
      if (dataflow == blocks_.back().dataflow) {
        for (const Binding& binding : b->bindings) EmitNormalized(binding);
        continue;
      }
      TVM_FFI_CHECK(!blocks_.back().dataflow, ValueError)
          << "a value inside a dataflow block contains bindings outside of a dataflow block";
      BlockFrame& frame = blocks_.back();
      if (!frame.bindings.empty()) frame.closed.push_back(MakeBlock(frame));
      frame.bindings = {};
      frame.closed.push_back(b);
      for (const Binding& binding : b->bindings) {
        if (const auto* vb = binding.as<VarBindingNode>()) values_[vb->var.get()] = vb->value;
      }
    }
    return seq->body;
  }

  Expr NormalizeTuple(const TupleNode* op) {
    Array<Expr> fields = op->fields.Map([this](const Expr& f) { return NormalizeArgument(f); });
    if (fields.same_as(op->fields)) {
      if (op->ty.IsMissing()) {
        Array<Type> types;
        for (const Expr& f : fields) types.push_back(f->ty);
        UpdateType(GetRef<Expr>(op), TupleType(types));
      }
      return GetRef<Expr>(op);
    }
    return Tuple(fields, op->span);
  }

  Expr NormalizeGetItem(const TupleGetItemNode* op) {
    Expr tuple = NormalizeArgument(op->tuple);
    if (tuple.same_as(op->tuple) && !op->ty.IsMissing()) return GetRef<Expr>(op);
    TupleGetItem result(tuple, op->index, op->span);
    if (result->ty.IsMissing()) {
      TVM_FFI_CHECK(tuple->ty.as<AnyTypeNode>(), TypeError)
          << "the operand of TupleGetItem must be a tuple, but its type is " << tuple->ty;
      UpdateType(result, AnyType());
    }
    return result;
  }

  Expr NormalizeCall(const CallNode* op) {
    Expr callee = op->op;
    ExprKind kind = KindOf(callee);
    if (kind == ExprKind::kCall || kind == ExprKind::kIf || kind == ExprKind::kSeqExpr ||
        kind == ExprKind::kTupleGetItem || kind == ExprKind::kFunction) {
      callee = NormalizeArgument(callee);
      if (KindOf(callee) == ExprKind::kFunction) callee = Emit(callee, "");
    }
    Array<Expr> args = op->args.Map([this](const Expr& a) { return NormalizeArgument(a); });
    Call call = GetRef<Call>(op);
    if (!callee.same_as(op->op) || !args.same_as(op->args)) {
      call = Call(callee, args, op->attrs, op->ty_args, op->span);
    }
    if (call->ty.IsMissing()) UpdateType(call, InferCallType(call, GetRef<BlockBuilder>(this)));
    if (const ffi::Function* fnormalize = FNormalizeOf(call)) {
      Expr changed = (*fnormalize)(GetRef<BlockBuilder>(this), call).template cast<Expr>();
      if (!changed.same_as(call)) return Normalize(changed);
    }
    return call;
  }

  Expr NormalizeIf(const IfNode* op) {
    Expr cond = NormalizeArgument(op->cond);
    SeqExpr t = NormalizeBranch(op->true_branch);
    SeqExpr f = NormalizeBranch(op->false_branch);
    If result = GetRef<If>(op);
    if (!cond.same_as(op->cond) || !t.same_as(op->true_branch) || !f.same_as(op->false_branch)) {
      result = If(cond, t, f, op->span);
    }
    if (result->ty.IsMissing()) {
      UpdateType(result, TypeLCA(EraseToScope(t->ty), EraseToScope(f->ty), &analyzer_));
    }
    return result;
  }

  SeqExpr NormalizeBranch(const SeqExpr& branch) {
    BeginInnerScope();
    SeqExpr result = Downcast<SeqExpr>(NormalizeSeq(branch.get()));
    EndScope();
    return result;
  }

  Type EraseToScope(const Type& ty) {
    return EraseToWellDefined(
        ty,
        [this](const Var& v) -> Optional<PrimExpr> {
          if (IsDefined(v)) return Downcast<PrimExpr>(v);
          return std::nullopt;
        },
        [](const Var& v) -> Optional<Expr> { return Expr(v); });
  }

  bool IsDefined(const Var& v) const {
    for (auto it = scopes_.rbegin(); it != scopes_.rend(); ++it) {
      if (it->symbols.count(v.get())) return true;
      if (!it->inherits) return false;
    }
    return scopes_.empty();
  }

  Expr NormalizeSeq(const SeqExprNode* op) {
    Array<BindingBlock> out;
    bool same = true;
    for (const BindingBlock& block : op->blocks) {
      blocks_.push_back(BlockFrame{{}, block.as<DataflowBlockNode>() != nullptr, {}});
      for (const Binding& b : block->bindings) NormalizeBinding(b);
      same = Close(block, &out) && same;
    }
    BeginBindingBlock();
    Expr body = Normalize(op->body);
    if (const auto* inner = body.as<SeqExprNode>()) body = Splice(inner);
    if (!IsLeafOrTuple(body)) body = NormalizeArgument(body);
    same = Close(Optional<BindingBlock>(), &out) && same;
    out = MergeAdjacent(out, &same);
    if (same && body.same_as(op->body)) {
      if (op->ty.IsMissing()) UpdateType(GetRef<Expr>(op), body->ty);
      return GetRef<Expr>(op);
    }
    return SeqExpr(out, body, op->span);
  }

  /// Close the innermost block into `out`; true when it equals `original`.
  bool Close(const Optional<BindingBlock>& original, Array<BindingBlock>* out) {
    BlockFrame frame = std::move(blocks_.back());
    blocks_.pop_back();
    for (const BindingBlock& b : frame.closed) out->push_back(b);
    if (original.has_value() && frame.closed.empty()) {
      const Array<Binding>& old = original.value()->bindings;
      bool same = old.size() == frame.bindings.size() && !old.empty();
      for (size_t i = 0; same && i < old.size(); ++i) same = old[i].same_as(frame.bindings[i]);
      if (same) {
        out->push_back(original.value());
        return true;
      }
    }
    if (frame.bindings.empty()) return !original.has_value() && frame.closed.empty();
    out->push_back(MakeBlock(frame));
    return false;
  }

  static Array<BindingBlock> MergeAdjacent(const Array<BindingBlock>& blocks, bool* same) {
    Array<BindingBlock> out;
    for (const BindingBlock& b : blocks) {
      if (b->bindings.empty()) {
        *same = false;
        continue;
      }
      if (!out.empty() && out.back()->type_index() == b->type_index()) {
        Array<Binding> joined = out.back()->bindings;
        for (const Binding& x : b->bindings) joined.push_back(x);
        BindingBlock merged =
            b.as<DataflowBlockNode>() ? BindingBlock(DataflowBlock(joined)) : BindingBlock(joined);
        out.Set(out.size() - 1, merged);
        *same = false;
      } else {
        out.push_back(b);
      }
    }
    return out;
  }

  void NormalizeBinding(const Binding& b) {
    if (const auto* vb = b.as<VarBindingNode>()) {
      Expr value = Normalize(vb->value);
      if (const auto* seq = value.as<SeqExprNode>()) value = Splice(seq);
      if (vb->var->ty.IsMissing()) UpdateType(vb->var, value->ty);
      EmitNormalized(value.same_as(vb->value) ? b : Binding(VarBinding(vb->var, value, vb->span)));
      return;
    }
    const auto* mc = b.as<MatchCastNode>();
    Expr value = NormalizeArgument(mc->value);
    if (mc->var->ty.IsMissing()) UpdateType(mc->var, mc->ty);
    EmitNormalized(value.same_as(mc->value) ? b
                                            : Binding(MatchCast(mc->var, value, mc->ty, mc->span)));
  }

  Expr NormalizeFunction(const FunctionNode* op) {
    BeginScope(op->params);
    Expr body = NormalizeSeq(op->body.get());
    EndScope();
    if (body.same_as(op->body)) return GetRef<Expr>(op);
    return Function(op->params, body, op->ret_ty, op->is_pure, op->attrs, op->span);
  }

  IRModule mod_;
  /// Variables. They share no names with functions: a function keeps the name that it asks for,
  /// which a public one must, whatever its variables are called.
  NameTable names_;
  NameTable function_names_;
  std::vector<ScopeFrame> scopes_;
  std::vector<BlockFrame> blocks_;
  std::unordered_map<const VarNode*, Expr> values_;
  std::vector<Var> keep_alive_;
  arith::Analyzer analyzer_;
  std::unordered_map<uint64_t, std::vector<GlobalVar>> dedup_;
  bool dedup_ready_ = false;

 public:
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("relax.BlockBuilderImpl", BlockBuilderImpl, BlockBuilderNode);
};

}  // namespace

BlockBuilder BlockBuilder::Create(Optional<IRModule> mod) {
  return BlockBuilder(ffi::ObjectPtr<BlockBuilderNode>(ffi::make_object<BlockBuilderImpl>(mod)));
}

TVM_FFI_STATIC_INIT_BLOCK() {
  namespace refl = tvm::ffi::reflection;
  refl::GlobalDef()
      .def("relax.BlockBuilderCreate",
           [](Optional<IRModule> mod) { return BlockBuilder::Create(mod); })
      .def("relax.BlockBuilderGetContextIRModule", [](BlockBuilder b) { return b->GetModule(); })
      .def("relax.BlockBuilderFinalize", [](BlockBuilder b) { return b->Finalize(); })
      .def("relax.BlockBuilderAddFunction",
           [](BlockBuilder b, BaseFunc f, String hint) { return b->AddFunction(f, hint); })
      .def("relax.BlockBuilderUpdateFunction",
           [](BlockBuilder b, GlobalVar gv, BaseFunc f) { b->UpdateFunction(gv, f); })
      .def("relax.BlockBuilderBeginScope",
           [](BlockBuilder b, Optional<Array<Var>> params) { b->BeginScope(params); })
      .def("relax.BlockBuilderBeginInnerScope", [](BlockBuilder b) { b->BeginInnerScope(); })
      .def("relax.BlockBuilderEndScope", [](BlockBuilder b) { b->EndScope(); })
      .def("relax.BlockBuilderAddDefinition", [](BlockBuilder b, Var v) { b->AddDefinition(v); })
      .def("relax.BlockBuilderBeginDataflowBlock", [](BlockBuilder b) { b->BeginDataflowBlock(); })
      .def("relax.BlockBuilderBeginBindingBlock", [](BlockBuilder b) { b->BeginBindingBlock(); })
      .def("relax.BlockBuilderEndBlock", [](BlockBuilder b) { return b->EndBlock(); })
      .def("relax.BlockBuilderCurrentBlockIsDataFlow",
           [](BlockBuilder b) { return b->CurrentBlockIsDataflow(); })
      .def("relax.BlockBuilderEmit",
           [](BlockBuilder b, Expr e, String hint) { return b->Emit(e, hint); })
      .def("relax.BlockBuilderEmitMatchCast",
           [](BlockBuilder b, Expr e, Type ty, String hint) {
             return b->EmitMatchCast(e, ty, hint);
           })
      .def("relax.BlockBuilderEmitOutput",
           [](BlockBuilder b, Expr e, String hint) { return b->EmitOutput(e, hint); })
      .def("relax.BlockBuilderEmitNormalized",
           [](BlockBuilder b, Binding binding) { b->EmitNormalized(binding); })
      .def("relax.BlockBuilderNormalize", [](BlockBuilder b, Expr e) { return b->Normalize(e); })
      .def("relax.BlockBuilderNormalizeArgument",
           [](BlockBuilder b, Expr e) { return b->NormalizeArgument(e); })
      .def("relax.BlockBuilderLookupBinding",
           [](BlockBuilder b, Var v) { return b->LookupBinding(v); })
      .def("relax.BlockBuilderGetUniqueName",
           [](BlockBuilder b, String hint) { return b->GetUniqueName(hint); });
}

}  // namespace relax
}  // namespace tvm
