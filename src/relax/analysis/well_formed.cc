// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file
/// \brief Checks that a program keeps the rules of the graph level.
#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/ir/transform.h>
#include <tvm/relax/analysis.h>
#include <tvm/relax/expr_functor.h>
#include <tvm/tirx/function.h>

#include <unordered_set>

#include "relax/ir/infer.h"

namespace tvm {
namespace relax {

namespace {

#define RX_WF_CHECK(cond, Kind) TVM_FFI_CHECK(cond, Kind) << "This IR is not well-formed: "

class WellFormedChecker : public ExprVisitor {
 public:
  WellFormedChecker(Optional<IRModule> mod, bool check_ty)
      : mod_(std::move(mod)), check_ty_(check_ty), builder_(BlockBuilder::Create(mod_)) {}

  void CheckFunction(const Function& func) { VisitExpr(func); }

  void VisitExpr(const Expr& e) override {
    // The variable of a kernel need not have a type.
    bool untyped = e.as<OpNode>() || e.as<GlobalVarNode>();
    RX_WF_CHECK(!e->ty.IsMissing() || untyped, TypeError)
        << "the type of expression " << e << " is missing";
    ExprVisitor::VisitExpr(e);
  }

  void VisitExpr_(const GlobalVarNode* op) override {
    if (mod_.has_value()) {
      RX_WF_CHECK(mod_.value()->ContainGlobalVar(op->name_hint) &&
                      mod_.value()->GetGlobalVar(op->name_hint).same_as(GetRef<GlobalVar>(op)),
                  ValueError)
          << "GlobalVar " << op->name_hint << " is not defined.";
    }
    RX_WF_CHECK(op->ty.IsMissing() || op->ty.as<FuncTypeNode>() ||
                    op->ty.as<PackedFuncTypeNode>() || op->ty->IsInstance<tvm::FuncTypeNode>() ||
                    op->ty.as<AnyTypeNode>(),
                TypeError)
        << "the type of GlobalVar " << op->name_hint << " is no function type but " << op->ty;
  }
  void VisitExpr_(const VarNode* op) override {
    if (op->ty.as<PrimTypeNode>()) return CheckSymbol(op);
    RX_WF_CHECK(vars_.count(op), ValueError) << "Var " << op->name << " is not defined.";
  }
  void VisitExpr_(const DataflowVarNode* op) override {
    RX_WF_CHECK(in_dataflow_, ValueError)
        << "DataflowVar " << op->name << " is used outside of a DataflowBlock.";
    RX_WF_CHECK(dataflow_vars_.count(op), ValueError)
        << "DataflowVar " << op->name << " is not defined.";
  }
  void VisitExpr_(const TupleNode* op) override {
    for (size_t i = 0; i < op->fields.size(); ++i) {
      RX_WF_CHECK(IsLeafOrTuple(op->fields[i]), ValueError)
          << "Tuple is not in ANF form, field " << i << " gets " << op->fields[i]->GetTypeKey();
      VisitExpr(op->fields[i]);
    }
  }
  void VisitExpr_(const TupleGetItemNode* op) override {
    RX_WF_CHECK(IsLeafOrTuple(op->tuple), TypeError)
        << "the operand of TupleGetItem is no leaf expression but " << op->tuple->GetTypeKey();
    VisitExpr(op->tuple);
  }
  void VisitExpr_(const ShapeExprNode* op) override {
    for (const PrimExpr& v : op->values) {
      RX_WF_CHECK(v.dtype().is_int() || v.dtype().is_uint(), TypeError)
          << "ShapeExpr has a dimension " << v << " of type " << v.dtype();
      VisitExpr(v);
    }
  }
  void VisitPrim(const Expr& e) override {
    RX_WF_CHECK(!e->IsInstance<tirx::PrimFuncNode>(), ValueError)
        << "Inline PrimFunc is disallowed in Relax IR.";
    ExprVisitor::VisitPrim(e);
  }

  void VisitExpr_(const FunctionNode* op) override {
    RX_WF_CHECK(!op->ret_ty.IsMissing(), TypeError) << "the return type of a function is missing";
    bool force_pure =
        op->GetAttr<ffi::Any>(attr::kForcePure).has_value() && op->HasNonzeroAttr(attr::kForcePure);
    RX_WF_CHECK(!force_pure || op->is_pure, ValueError)
        << "a function with attribute relax.force_pure must be pure";
    auto saved_pure = must_be_pure_;
    must_be_pure_ = op->is_pure && !force_pure;
    auto saved_vars = vars_;
    auto saved_symbols = symbols_;
    bool saved_dataflow = in_dataflow_;
    in_dataflow_ = false;
    for (const Var& p : op->params) {
      RX_WF_CHECK(!p.as<DataflowVarNode>(), ValueError)
          << "DataflowVar " << p->name << " is used as a function parameter.";
      RX_WF_CHECK(!p->ty.IsMissing(), TypeError) << "parameter " << p->name << " has no type";
      RX_WF_CHECK(owner_.emplace(p.get(), op).second, ValueError)
          << "Relax variable " << p->name << " is present in more than one function, "
          << "or is defined more than once.";
      Define(p);
      if (p->ty.as<PrimTypeNode>()) symbols_.insert(p.get());
      for (const Var& v : DefinableSymbolicVarsInType(p->ty)) {
        auto [it, fresh] = owner_.emplace(v.get(), op);
        RX_WF_CHECK(fresh || it->second == op, ValueError)
            << "Symbolic variable " << v->name << " is present in more than one function.";
        symbols_.insert(v.get());
      }
    }
    for (const Var& p : op->params) {
      for (const Var& v : SymbolicVarsInType(p->ty)) CheckSymbol(v.get());
    }
    VisitSeq(op->body.get());
    for (const Var& v : SymbolicVarsInType(op->ret_ty)) CheckSymbol(v.get());
    vars_ = std::move(saved_vars);
    symbols_ = std::move(saved_symbols);
    in_dataflow_ = saved_dataflow;
    must_be_pure_ = saved_pure;
  }

  void VisitExpr_(const SeqExprNode*) override {
    RX_WF_CHECK(false, ValueError)
        << "SeqExpr may only be the body of a function or the branch of an If";
  }

  void VisitExpr_(const IfNode* op) override {
    RX_WF_CHECK(!in_dataflow_, ValueError) << "If nodes are not allowed in a DataflowBlock";
    RX_WF_CHECK(IsLeafOrTuple(op->cond), TypeError)
        << "the condition of an If is no leaf expression";
    VisitExpr(op->cond);
    for (const SeqExpr& branch : {op->true_branch, op->false_branch}) {
      auto vars = vars_;
      auto symbols = symbols_;
      VisitSeq(branch.get());
      vars_ = std::move(vars);
      symbols_ = std::move(symbols);
    }
  }

  void VisitExpr_(const CallNode* op) override {
    RX_WF_CHECK(IsLeafOrTuple(op->op), TypeError)
        << "the callee of a call is no leaf expression but " << op->op->GetTypeKey();
    VisitExpr(op->op);
    for (size_t i = 0; i < op->args.size(); ++i) {
      RX_WF_CHECK(IsLeafOrTuple(op->args[i]), ValueError)
          << "Call is not in ANF form, arg " << i << " gets " << op->args[i]->GetTypeKey();
      VisitExpr(op->args[i]);
    }
    Call call = GetRef<Call>(op);
    if (IsImpureCall(call)) {
      RX_WF_CHECK(!in_dataflow_, ValueError)
          << "impure call of " << op->op << " in a DataflowBlock";
      RX_WF_CHECK(!must_be_pure_, ValueError)
          << "impure call of " << op->op << " in a function marked pure";
    }
    if (!check_ty_) return;
    if (const ffi::Function* fnormalize = FNormalizeOf(call)) {
      Expr same = (*fnormalize)(builder_, call).template cast<Expr>();
      RX_WF_CHECK(same.same_as(call), ValueError)
          << "the call of " << op->op << " is not in the normal form of its operator";
    }
    Call fresh(op->op, op->args, op->attrs, op->ty_args);
    Type inferred;
    try {
      inferred = InferCallType(fresh, builder_);
    } catch (const ffi::Error& err) {
      TVM_FFI_THROW(TypeError) << "This IR is not well-formed: the type of the call of " << op->op
                               << " cannot be inferred: " << err.what();
    }
    if (const ffi::Function* fvalidate = FValidateOf(call)) (*fvalidate)(builder_, call);
    RX_WF_CHECK(TypeBaseCheck(inferred, op->ty) >= BaseCheckResult::kFailL1, TypeError)
        << "the call of " << op->op << " is annotated with type " << op->ty
        << ", but its inferred type is " << inferred;
  }

  void VisitBindingBlock(const BindingBlock& block) override {
    bool dataflow = block.as<DataflowBlockNode>() != nullptr;
    bool saved = in_dataflow_;
    in_dataflow_ = dataflow;
    ExprVisitor::VisitBindingBlock(block);
    in_dataflow_ = saved;
    if (dataflow) dataflow_vars_.clear();
  }
  void VisitVarBinding(const VarBindingNode* b) override {
    if (const auto* fn = b->value.as<FunctionNode>()) {
      // A local function may call itself.
      Define(b->var);
      VisitExpr(GetRef<Function>(fn));
    } else {
      VisitExpr(b->value);
      Define(b->var);
    }
    if (check_ty_ && !b->value->ty.IsMissing()) {
      // The annotation of a call may know more than inference does; of other values it may not.
      BaseCheckResult least =
          b->value.as<CallNode>() ? BaseCheckResult::kFailL1 : BaseCheckResult::kPass;
      RX_WF_CHECK(TypeBaseCheck(b->var->ty, b->value->ty) >= least, TypeError)
          << "variable " << b->var->name << " has type " << b->var->ty
          << ", but is bound to a value of type " << b->value->ty;
    }
    CheckVarType(b->var);
  }
  void VisitMatchCast(const MatchCastNode* b) override {
    VisitExpr(b->value);
    for (const Var& v : DefinableSymbolicVarsInType(b->ty)) {
      symbols_.insert(v.get());
    }
    for (const Var& v : SymbolicVarsInType(b->ty)) CheckSymbol(v.get());
    Define(b->var);
    CheckVarType(b->var);
  }

 private:
  void VisitSeq(const SeqExprNode* seq) {
    for (const BindingBlock& b : seq->blocks) VisitBindingBlock(b);
    RX_WF_CHECK(IsLeafOrTuple(seq->body), TypeError)
        << "the body of a SeqExpr is no leaf expression but " << seq->body->GetTypeKey();
    VisitExpr(seq->body);
  }
  void Define(const Var& v) {
    if (v.as<DataflowVarNode>()) {
      RX_WF_CHECK(in_dataflow_, ValueError)
          << "DataflowVar " << v->name << " is defined outside of a DataflowBlock.";
      RX_WF_CHECK(dataflow_vars_.insert(v.get()).second && ever_.insert(v.get()).second, ValueError)
          << "DataflowVar " << v->name << " is defined more than once.";
      return;
    }
    RX_WF_CHECK(ever_.insert(v.get()).second, ValueError)
        << "Var " << v->name << " is defined more than once.";
    vars_.insert(v.get());
  }
  void CheckVarType(const Var& v) {
    RX_WF_CHECK(!v->ty.IsMissing(), TypeError) << "variable " << v->name << " has no type";
    for (const Var& s : SymbolicVarsInType(v->ty)) CheckSymbol(s.get());
    CheckNoDataflowVar(v, v->ty);
  }
  /// The variable may outlive the block, the types of which it may not use.
  void CheckNoDataflowVar(const Var& v, const Type& ty) {
    Optional<Expr> shape;
    if (const auto* tuple = ty.as<TupleTypeNode>()) {
      for (const Type& field : tuple->fields) CheckNoDataflowVar(v, field);
    } else if (const auto* tensor = ty.as<TensorTypeNode>()) {
      shape = tensor->shape;
    }
    bool found = shape.has_value() && shape.value().as<DataflowVarNode>();
    const auto* shape_var = shape.has_value() && !found ? shape.value().as<VarNode>() : nullptr;
    if (shape_var != nullptr) VisitExpr_(shape_var);
    for (const Var& s : SymbolicVarsInType(ty)) found = found || s.as<DataflowVarNode>();
    RX_WF_CHECK(!found, ValueError) << "a DataflowVar is used inside the type of " << v->name;
  }
  void CheckSymbol(const VarNode* v) {
    RX_WF_CHECK(symbols_.count(v) || vars_.count(v) || dataflow_vars_.count(v), ValueError)
        << "Symbolic Var " << v->name << " is not defined.";
  }

  Optional<IRModule> mod_;
  bool check_ty_;
  BlockBuilder builder_;
  bool in_dataflow_ = false;
  bool must_be_pure_ = false;
  std::unordered_set<const VarNode*> vars_, dataflow_vars_, symbols_, ever_;
  std::unordered_map<const VarNode*, const FunctionNode*> owner_;
};

#undef RX_WF_CHECK

void VerifyModule(const IRModule& mod) { WellFormed(mod, true); }

}  // namespace

void WellFormed(const ffi::ObjectRef& obj, bool check_ty) {
  TVM_FFI_CHECK(obj.defined(), TypeError) << "expected a module or a function, got None";
  if (auto mod = obj.as<IRModule>()) {
    WellFormedChecker checker(mod, check_ty);
    for (const auto& [gv, base] : mod.value()->SortedFunctions()) {
      auto func = base.as<Function>();
      if (!func.has_value()) continue;
      auto symbol = func.value()->GetAttr<String>(tvm::attr::kGlobalSymbol);
      TVM_FFI_CHECK(!symbol.has_value() || symbol.value() == gv->name_hint, ValueError)
          << "This IR is not well-formed: Name in GlobalVar is not equal to name in gsymbol: "
          << gv->name_hint << " != " << symbol.value();
      checker.CheckFunction(func.value());
    }
    return;
  }
  WellFormedChecker checker(std::nullopt, check_ty);
  checker.CheckFunction(Downcast<Function>(obj));
}

bool CheckWellFormed(const ffi::ObjectRef& obj, bool check_ty) {
  TVM_FFI_CHECK(obj.defined(), TypeError) << "expected a module or a function, got None";
  try {
    WellFormed(obj, check_ty);
    return true;
  } catch (const ffi::Error&) {
    return false;
  }
}

TVM_FFI_STATIC_INIT_BLOCK() {
  tvm::transform::AddModuleVerifier(VerifyModule);
  namespace refl = tvm::ffi::reflection;
  refl::GlobalDef()
      .def("relax.analysis.well_formed", WellFormed)
      .def("relax.analysis.check_well_formed", CheckWellFormed);
}

}  // namespace relax
}  // namespace tvm
