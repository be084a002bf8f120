// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file
/// \brief StaticPlanBlockMemory and LowerAllocTensor: where intermediate tensors live.
///
/// Tensors of static shape that do not leave the function get an offset in one storage: an interval
/// of bytes over the span of bindings in which they, or views of them, are used. Tensors of the two
/// branches of a condition never live at the same time. Larger ones are placed first, each at the
/// lowest offset that no tensor alive at the same time takes.
///
///   alloc = R.builtin.alloc_tensor((64,), "float32", 0)
///     =>  storage = R.memory.alloc_storage((65536,), 0, "global", "uint8")   (once)
///         alloc = R.memory.alloc_tensor(storage, 1024, (64,), "float32")
#include <tvm/relax/analysis.h>
#include <tvm/relax/expr_functor.h>

#include <algorithm>
#include <set>
#include <unordered_map>

#include "relax/ir/utils.h"
#include "relax/op/call_like.h"
#include "relax/transform/utils.h"

namespace tvm {
namespace relax {
namespace transform {

namespace {

constexpr int64_t kAlign = 64;

struct PlannedTensor {
  const VarNode* var;
  int64_t bytes;
  /// First and last binding of each stretch in which it is in use.
  std::vector<std::pair<int, int>> spans;
  bool escapes = false;
  int64_t offset = 0;
};

bool LiveTogether(const PlannedTensor& a, const PlannedTensor& b) {
  for (const auto& [a_first, a_last] : a.spans) {
    for (const auto& [b_first, b_last] : b.spans) {
      if (a_first <= b_last && b_first <= a_last) return true;
    }
  }
  return false;
}

/// Uses of every planned tensor along the bindings of a function, those of branches in their place.
/// Branches of one condition come one after the other, so that their tensors share memory.
class LifetimeAnalysis {
 public:
  std::vector<PlannedTensor> tensors;

  void Run(const Function& func) {
    for (int t : VisitSequence(func->body)) tensors[t].escapes = true;
  }

 private:
  using Tokens = std::set<int>;

  /// Returns what the result may be, or hold.
  Tokens VisitSequence(const SeqExpr& seq) {
    for (const BindingBlock& block : seq->blocks) {
      for (const Binding& b : block->bindings) VisitBinding(b);
    }
    return Use(seq->body);
  }

  /// What an expression mentions, which is in use now.
  Tokens Use(const Expr& e) {
    Tokens used = TokensIn(e);
    for (int t : used) tensors[t].spans.back().second = index_;
    return used;
  }

  void VisitBinding(const Binding& binding) {
    Expr value = binding.as<VarBindingNode>() ? binding.as<VarBindingNode>()->value
                                              : binding.as<MatchCastNode>()->value;
    const VarNode* var = binding->var.get();
    ++index_;
    if (const auto* branches = value.as<IfNode>()) {
      Use(branches->cond);
      const int before = static_cast<int>(tensors.size());
      Tokens result = VisitSequence(branches->true_branch);
      const int after = static_cast<int>(tensors.size());
      ++index_;
      Tokens otherwise = VisitSequence(branches->false_branch);
      ++index_;
      result.insert(otherwise.begin(), otherwise.end());
      for (int t : result) {
        // What one branch makes is not there in the other.
        const bool first_branch = t >= before && t < after;
        if (first_branch) tensors[t].spans.emplace_back(index_, index_);
        tensors[t].spans.back().second = index_;
      }
      if (!result.empty()) tokens_[var] = std::move(result);
      return;
    }
    Tokens used = Use(value);
    if (IsCallTo(value, TVM_RX_OP("builtin.alloc_tensor"))) {
      if (auto bytes = StaticBytes(value.as<CallNode>())) {
        tokens_[var] = {static_cast<int>(tensors.size())};
        tensors.push_back({var, *bytes, {{index_, index_}}});
      }
      return;
    }
    if (used.empty()) return;
    if (value.as<FunctionNode>()) {
      // When a closure runs is not followed.
      for (int t : used) tensors[t].escapes = true;
      return;
    }
    const auto* call = value.as<CallNode>();
    if (call == nullptr || !tvm::IsVoidType(value->ty)) {
      // The result may be, or hold, any of the operands.
      bool keeps = call != nullptr && !call->op.as<OpNode>() && !ResultIsTensor(value->ty);
      for (int t : used) tensors[t].escapes = tensors[t].escapes || keeps;
      tokens_[var] = used;
    }
  }

  static bool ResultIsTensor(const Type& ty) {
    if (const auto* tuple = ty.as<TupleTypeNode>()) {
      for (const Type& f : tuple->fields) {
        if (!ResultIsTensor(f)) return false;
      }
      return true;
    }
    return ty.as<TensorTypeNode>() || ty.as<ShapeTypeNode>() || ty.as<PrimTypeNode>();
  }

  Tokens TokensIn(const Expr& e) {
    struct Visitor : public ExprVisitor {
      LifetimeAnalysis* self;
      Tokens found;
      void VisitExpr_(const VarNode* op) override {
        auto it = self->tokens_.find(op);
        if (it != self->tokens_.end()) found.insert(it->second.begin(), it->second.end());
      }
    };
    Visitor v;
    v.self = this;
    v.VisitExpr(e);
    return v.found;
  }

  static std::optional<int64_t> StaticBytes(const CallNode* call) {
    const auto* shape = call->args[0].as<ShapeExprNode>();
    const auto* device = call->args[2].as<IntImmNode>();
    const auto* scope = call->args.size() > 3 ? call->args[3].as<StringImmNode>() : nullptr;
    if (shape == nullptr || device == nullptr || device->value != 0) return std::nullopt;
    if (scope != nullptr && scope->value != "global") return std::nullopt;
    auto n = NumElements(shape->values);
    if (!n) return std::nullopt;
    DataType dtype = call->args[1].as<DataTypeImmNode>()->value;
    int64_t bits = static_cast<int64_t>(dtype.bits()) * dtype.lanes(), total;
    if (__builtin_mul_overflow(*n, bits, &total) || total > (int64_t{1} << 60)) return std::nullopt;
    return (total + 7) / 8;
  }

  std::unordered_map<const VarNode*, Tokens> tokens_;
  int index_ = 0;
};

/// Offsets for all tensors; returns the size of the storage.
int64_t Pack(std::vector<PlannedTensor*> tensors) {
  std::sort(tensors.begin(), tensors.end(), [](const auto* a, const auto* b) {
    return a->bytes != b->bytes ? a->bytes > b->bytes : a->spans[0].first < b->spans[0].first;
  });
  std::vector<const PlannedTensor*> placed;  // by offset
  int64_t total = 0;
  for (PlannedTensor* t : tensors) {
    int64_t size = (t->bytes + kAlign - 1) / kAlign * kAlign;
    int64_t at = 0;
    for (const PlannedTensor* o : placed) {
      if (!LiveTogether(*o, *t)) continue;
      if (at + size <= o->offset) break;
      int64_t end = o->offset + (o->bytes + kAlign - 1) / kAlign * kAlign;
      at = std::max(at, end);
    }
    t->offset = at;
    total = std::max(total, at + size);
    auto pos = std::upper_bound(placed.begin(), placed.end(), t,
                                [](const auto* a, const auto* b) { return a->offset < b->offset; });
    placed.insert(pos, t);
  }
  return total;
}

using Plan = std::unordered_map<const VarNode*, const PlannedTensor*>;

/// Puts the planned tensors at their offsets in the storage.
class Placement : public ExprMutatorBase {
 public:
  Placement(const Plan& plan, Var storage) : plan_(plan), storage_(std::move(storage)) {}

  SeqExpr Rewrite(const SeqExpr& seq) {
    Array<BindingBlock> blocks;
    bool same = true;
    for (const BindingBlock& block : seq->blocks) {
      blocks.push_back(VisitBindingBlock(block));
      same = same && blocks.back().same_as(block);
    }
    return same ? seq : SeqExpr(blocks, seq->body, seq->span);
  }

  BindingBlock VisitBindingBlock(const BindingBlock& block) override {
    Array<Binding> bindings;
    bool same = true;
    for (const Binding& b : block->bindings) {
      bindings.push_back(Rewrite(b));
      same = same && bindings.back().same_as(b);
    }
    return same ? block : BindingBlock(bindings, block->span);
  }

 private:
  Binding Rewrite(const Binding& binding) {
    const auto* node = binding.as<VarBindingNode>();
    if (node == nullptr) return binding;
    if (auto it = plan_.find(node->var.get()); it != plan_.end()) {
      const auto* alloc = node->value.as<CallNode>();
      Call tensor(alloc->ty, TVM_RX_OP("memory.alloc_tensor"),
                  {storage_, Int64(it->second->offset), alloc->args[0], alloc->args[1]});
      return VarBinding(node->var, tensor, node->span);
    }
    const auto* branches = node->value.as<IfNode>();
    if (branches == nullptr) return binding;
    SeqExpr on_true = Rewrite(branches->true_branch);
    SeqExpr on_false = Rewrite(branches->false_branch);
    if (on_true.same_as(branches->true_branch) && on_false.same_as(branches->false_branch)) {
      return binding;
    }
    UpdateType(on_true, branches->true_branch->ty);
    UpdateType(on_false, branches->false_branch->ty);
    If value(branches->cond, on_true, on_false, branches->span);
    UpdateType(value, branches->ty);
    return VarBinding(node->var, value, node->span);
  }

  const Plan& plan_;
  Var storage_;
};

Function PlanFunction(Function func, const IRModule&, const PassContext&) {
  LifetimeAnalysis life;
  life.Run(func);
  std::vector<PlannedTensor*> inside;
  Plan plan;
  for (PlannedTensor& t : life.tensors) {
    if (t.escapes) continue;
    inside.push_back(&t);
    plan[t.var] = &t;
  }
  if (inside.empty()) return func;
  int64_t total = std::max<int64_t>(Pack(inside), kAlign);

  Call storage(
      AnyType(), TVM_RX_OP("memory.alloc_storage"),
      {ShapeExpr({Int64(total)}), Int64(0), StringImm("global"), DataTypeImm(DataType::UInt(8))});
  Var storage_var("storage", AnyType());
  Array<BindingBlock> blocks{BindingBlock({VarBinding(storage_var, storage)})};
  SeqExpr body = Placement(plan, storage_var).Rewrite(func->body);
  for (const BindingBlock& block : body->blocks) blocks.push_back(block);
  return Function(func->params, SeqExpr(blocks, body->body), func->ret_ty, func->is_pure,
                  func->attrs, func->span);
}
const FunctionPassRegistration kPlan({"relax.StaticPlanBlockMemory",
                                      "Intermediate tensors share one storage.", PlanFunction});

/// What was not planned gets a storage of its own.
class AllocLowering : public ExprMutator {
 public:
  using ExprMutator::ExprMutator;
  using ExprMutator::VisitExpr_;
  Expr VisitExpr_(const CallNode* op) override {
    Call call = Downcast<Call>(VisitExprPostOrder(op));
    if (!call->op.same_as(TVM_RX_OP("builtin.alloc_tensor"))) return call;
    Expr scope = call->args.size() > 3 ? call->args[3] : Expr(StringImm("global"));
    Call storage(AnyType(), TVM_RX_OP("memory.alloc_storage"),
                 {call->args[0], call->args[2], scope, call->args[1]});
    Var s = builder_->Emit(storage, "storage");
    return Call(call->ty, TVM_RX_OP("memory.alloc_tensor"),
                {s, Int64(0), call->args[0], call->args[1]});
  }
};
Function LowerAllocs(Function func, const IRModule& mod, const PassContext&) {
  return Downcast<Function>(AllocLowering(mod).VisitExpr(func));
}
const FunctionPassRegistration kLowerAlloc({"relax.LowerAllocTensor",
                                            "Remaining allocations get a storage each.",
                                            LowerAllocs});

/// Registers that hold large objects are cleared after their last use.
///
/// Storages of the static plan stay: the virtual machine keeps them from call to call.
Function KillFunction(Function func, const IRModule&, const PassContext&) {
  std::unordered_map<const VarNode*, int> last;
  std::unordered_map<const VarNode*, Var> killable;
  struct Uses : public ExprVisitor {
    std::unordered_map<const VarNode*, int>* last;
    int index = 0;
    void VisitExpr_(const VarNode* op) override { (*last)[op] = index; }
  };
  Uses uses;
  uses.last = &last;
  for (const BindingBlock& block : func->body->blocks) {
    for (const Binding& b : block->bindings) {
      if (const auto* vb = b.as<VarBindingNode>()) {
        uses.VisitExpr(vb->value);
        bool dynamic =
            IsCallTo(vb->value, TVM_RX_OP("memory.alloc_storage")) &&
            !(vb->value.as<CallNode>()->args[0].as<ShapeExprNode>() &&
              NumElements(vb->value.as<CallNode>()->args[0].as<ShapeExprNode>()->values));
        bool packed = vb->value.as<CallNode>() &&
                      vb->value.as<CallNode>()->op.as<ExternFuncNode>() &&
                      vb->var->ty.as<AnyTypeNode>();
        if (dynamic || packed) killable.emplace(vb->var.get(), vb->var);
      } else {
        uses.VisitExpr(b.as<MatchCastNode>()->value);
      }
      ++uses.index;
    }
  }
  if (killable.empty()) return func;
  uses.VisitExpr(func->body->body);  // results are used at the very end
  std::unordered_map<int, std::vector<Var>> kill_at;
  for (const auto& [node, var] : killable) {
    auto it = last.find(node);
    if (it != last.end() && it->second < uses.index) kill_at[it->second].push_back(var);
  }
  Array<BindingBlock> blocks;
  int index = 0;
  for (const BindingBlock& block : func->body->blocks) {
    Array<Binding> bindings;
    for (const Binding& b : block->bindings) {
      bindings.push_back(b);
      for (const Var& v : kill_at[index]) {
        Type none = TupleType(Array<Type>());
        bindings.push_back(
            VarBinding(Var("_", none), Call(none, TVM_RX_OP("vm.kill_object"), {v})));
      }
      ++index;
    }
    blocks.push_back(block.as<DataflowBlockNode>() ? BindingBlock(DataflowBlock(bindings))
                                                   : BindingBlock(bindings));
  }
  return Function(func->params, SeqExpr(blocks, func->body->body), func->ret_ty, func->is_pure,
                  func->attrs, func->span);
}
const FunctionPassRegistration kKill({"relax.KillAfterLastUse",
                                      "Registers of dynamic storages are cleared after their last "
                                      "use.",
                                      KillFunction});

}  // namespace

Pass StaticPlanBlockMemory() { return kPlan(); }
Pass LowerAllocTensor() { return kLowerAlloc(); }
Pass KillAfterLastUse() { return kKill(); }

}  // namespace transform
}  // namespace relax
}  // namespace tvm
