// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file
/// \brief FoldConstant: calls on constants become constants.
///
/// Moves and element-wise maths are done by the host directly. What else has constant operands (a
/// product of weights, a call_tir) is compiled, all such calls of a round in one module, and run;
/// rounds repeat while they find something. Weights may be left to be made later, see
/// LateConstants.
#include <tvm/relax/analysis.h>
#include <tvm/relax/build.h>
#include <tvm/relax/expr_functor.h>
#include <tvm/tirx/function.h>

#include <unordered_map>

#include "relax/ir/mapped_tensor.h"
#include "relax/ir/utils.h"
#include "relax/op/call_like.h"
#include "relax/transform/const_eval.h"
#include "relax/transform/kernel_builder.h"
#include "relax/transform/late_constants.h"
#include "relax/transform/utils.h"

namespace tvm {
namespace relax {
namespace transform {

namespace {

constexpr int64_t kMaxCreated = 1024;
constexpr int kMaxRounds = 8;

bool IsConstant(const Expr& e) {
  if (e.as<ConstantNode>() || e.as<ShapeExprNode>() || e.as<IntImmNode>() || e.as<FloatImmNode>() ||
      e.as<GlobalVarNode>() || e.as<StringImmNode>() || e.as<DataTypeImmNode>()) {
    return true;
  }
  const auto* t = e.as<TupleNode>();
  if (t == nullptr) return false;
  for (const Expr& f : t->fields) {
    if (!IsConstant(f)) return false;
  }
  return true;
}
bool HasTensor(const Expr& e) {
  if (e.as<ConstantNode>()) return true;
  const auto* t = e.as<TupleNode>();
  if (t == nullptr) return false;
  for (const Expr& f : t->fields) {
    if (HasTensor(f)) return true;
  }
  return false;
}

struct Job {
  const CallNode* call;
  Kernel kernel;
  std::string symbol;
};

class Folder : public ExprMutatorBase {
 public:
  Folder(const IRModule& mod, bool weights_later) : mod_(mod), weights_later_(weights_later) {}

  using ExprMutatorBase::VisitExpr_;
  Expr VisitExpr_(const VarNode* op) override {
    auto it = known_.find(op);
    return it == known_.end() ? GetRef<Expr>(op) : it->second;
  }
  Expr VisitExpr_(const DataflowVarNode* op) override {
    return Folder::VisitExpr_(static_cast<const VarNode*>(op));
  }
  Expr VisitExpr_(const TupleGetItemNode* op) override {
    Expr tuple = VisitExpr(op->tuple);
    if (const auto* t = tuple.as<TupleNode>()) return t->fields[op->index];
    return ExprMutatorBase::VisitExpr_(op);
  }
  Expr VisitExpr_(const CallNode* op) override {
    Expr e = ExprMutatorBase::VisitExpr_(op);
    if (e->ty.IsMissing()) UpdateType(e, op->ty);
    Call call = Downcast<Call>(e);
    auto done = results_.find(op);
    if (done != results_.end()) return done->second;
    if (IsImpureCall(call)) return call;
    if (weights_later_ && late_.Accepts(call)) return call;
    for (const Expr& a : call->args) {
      if (!IsConstant(a) && !late_.Has(a)) return call;
    }
    call = WithArgsMade(call);
    if (auto value = EvalOnHost(call)) {
      changed_ = true;
      return value.value();
    }
    Plan(op, call);
    return call;
  }
  BindingBlock VisitBindingBlock(const BindingBlock& block) override {
    bool dataflow = block.as<DataflowBlockNode>() != nullptr;
    Array<Binding> out;
    bool same = true;
    for (const Binding& b : block->bindings) {
      const auto* vb = b.as<VarBindingNode>();
      if (vb == nullptr) {
        const auto* mc = b.as<MatchCastNode>();
        Expr value = VisitExpr(mc->value);
        same = same && value.same_as(mc->value);
        out.push_back(value.same_as(mc->value) ? b : Binding(MatchCast(mc->var, value, mc->ty)));
        continue;
      }
      Expr value = VisitExpr(vb->value);
      if (value->ty.IsMissing()) UpdateType(value, vb->value->ty);
      bool fits = IsBaseOf(vb->var->ty, value->ty);
      if ((value.as<ConstantNode>() || (value.as<TupleNode>() && IsConstant(value))) && fits) {
        known_[vb->var.get()] = value;
      }
      auto step = value.as<Call>();
      if (weights_later_ && step.has_value() && late_.Accepts(step.value())) {
        late_.Add(vb->var, step.value());
      }
      same = same && value.same_as(vb->value);
      out.push_back(value.same_as(vb->value) ? b : Binding(VarBinding(vb->var, value, vb->span)));
    }
    if (same) return block;
    if (dataflow) return DataflowBlock(out, block->span);
    return BindingBlock(out, block->span);
  }

  Function Run(Function func) {
    for (int round = 0; round < kMaxRounds; ++round) {
      known_.clear();
      late_.Clear();
      jobs_.clear();
      func = Downcast<Function>(VisitExpr(func));
      results_.clear();
      if (jobs_.empty()) break;
      // A round of compiled calls; the next visit of the same call nodes picks up the results.
      if (!RunJobs()) break;
    }
    return func;
  }

 private:
  /// The call on constants, in place of variables whose constants were to be made later.
  Call WithArgsMade(const Call& call) {
    bool any = false;
    for (const Expr& a : call->args) any = any || late_.Has(a);
    if (!any) return call;
    Array<Expr> args = call->args.Map([this](const Expr& a) { return late_.Make(a); });
    return CallWithSameTypes(call.get(), std::move(args));
  }

  /// Remembers a call that needs a compiled kernel.
  void Plan(const CallNode* original, const Call& call) {
    if (!enabled_) return;
    const auto* ty = call->ty.as<TensorTypeNode>();
    auto shape = ty == nullptr ? std::nullopt : ty->GetStaticShape();
    if (!shape.has_value() || ty->IsUnknownDtype()) return;
    bool reads = false;
    for (const Expr& a : call->args) reads = reads || HasTensor(a);
    int64_t n = 1;
    for (int64_t d : shape.value()) n *= d;
    if (!reads && n > kMaxCreated) return;
    Job job;
    job.call = call.get();
    keep_.push_back(call);
    if (call->op.same_as(TVM_RX_OP("call_tir"))) {
      auto func = mod_->Lookup(Downcast<GlobalVar>(call->args[0])).as<tirx::PrimFunc>();
      const auto* args = call->args[1].as<TupleNode>();
      if (!func.has_value() || args == nullptr || call->args.size() > 2) return;
      job.kernel.func = func.value();
      job.kernel.args = args->fields;
    } else if (CanLower(call)) {
      Target host("llvm");
      KernelBuilder builder(host);
      Var out(String("out"), call->ty);
      builder.Add(out, call);
      job.kernel = builder.Finish({out});
      if (job.kernel.symbols.has_value()) return;
    } else {
      return;
    }
    job.symbol = "fold_" + std::to_string(jobs_.size());
    jobs_.push_back(std::move(job));
  }

  bool RunJobs() {
    IRModule mod;
    auto* node = mod.CopyOnWrite();
    for (Job& j : jobs_) {
      tirx::PrimFunc f = tvm::WithAttr(j.kernel.func, tvm::attr::kGlobalSymbol, String(j.symbol));
      node->Add(GlobalVar(j.symbol), f);
    }
    ffi::Module lib{ffi::UnsafeInit{}};
    try {
      lib = GetPrimFuncBuilder()(mod, Target("llvm"), "default");
    } catch (const ffi::Error&) {
      enabled_ = false;  // kernels that cannot be built here stay calls
      return false;
    }
    for (const Job& j : jobs_) {
      auto f = lib->GetFunction(j.symbol, true);
      TVM_FFI_ICHECK(f.has_value()) << "the built module has no function " << j.symbol;
      const auto* ty = j.call->ty.as<TensorTypeNode>();
      Array<int64_t> dims = ty->GetStaticShape().value();
      ffi::Tensor out =
          NewHostTensor(std::vector<int64_t>(dims.begin(), dims.end()), ty->ElementType());
      std::vector<ffi::AnyView> args;
      std::vector<ffi::Tensor> operands;  // compiled code needs aligned ones
      operands.reserve(j.kernel.args.size());
      for (const Expr& a : j.kernel.args) {
        const auto* c = a.as<ConstantNode>();
        TVM_FFI_ICHECK(c != nullptr) << "an operand of a folded call is no constant";
        operands.push_back(AlignedTensor(c->data));
        args.push_back(operands.back());
      }
      args.push_back(out);
      ffi::Any ret;
      f.value().CallPacked(args.data(), static_cast<int>(args.size()), &ret);
      results_[j.call] = Constant(out);
    }
    return true;
  }

  IRModule mod_;
  bool weights_later_;
  LateConstants late_;
  std::unordered_map<const VarNode*, Expr> known_;
  std::unordered_map<const CallNode*, Expr> results_;
  std::vector<Call> keep_;
  std::vector<Job> jobs_;
  bool changed_ = false;
  bool enabled_ = true;
};

Function Run(Function func, const IRModule& mod, const PassContext&) {
  return Folder(mod, /*weights_later=*/false).Run(func);
}
const FunctionPassRegistration kPass({"relax.FoldConstant", "Calls on constants become constants.",
                                      Run});

}  // namespace

Pass FoldConstant(bool weights_later) {
  Pass fold = kPass();
  if (weights_later) {
    fold = CreateFunctionPass(
        [](Function func, IRModule mod, PassContext) { return Folder(mod, true).Run(func); }, 0,
        "FoldConstant", {});
  }
  return tvm::transform::Sequential({fold, CanonicalizeBindings(), DeadCodeElimination({})},
                                    "FoldConstant");
}

}  // namespace transform
}  // namespace relax
}  // namespace tvm
