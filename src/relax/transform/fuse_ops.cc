// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file
/// \brief FuseOps: groups of kernel calls of a dataflow block become functions that are one kernel.
///
///   lv = call_tir(add, (x, y)); gv = call_tir(exp, (lv,))  =>  gv = fused_add_exp(x, y)
///
/// A call may join the one that all its readers lead to, its post-dominator, if what lies between
/// depends element by element on it. Three rounds: products and element-wise calls first, so that
/// a product takes what follows it; then calls that move elements; then tuples of them.
#include <tvm/ffi/reflection/registry.h>
#include <tvm/relax/analysis.h>
#include <tvm/relax/expr_functor.h>
#include <tvm/relax/op_row.h>

#include <algorithm>
#include <functional>
#include <unordered_map>

#include "relax/op/call_like.h"
#include "relax/transform/fused_function.h"
#include "relax/transform/utils.h"

namespace tvm {
namespace relax {
namespace transform {

namespace {

TVM_REGISTER_PASS_CONFIG_OPTION("relax.FuseOps.max_depth", int64_t);
constexpr int64_t kDefaultMaxDepth = 256;

/// A binding of the block. Its place in the list is its place in the program.
struct Node {
  Binding binding;
  OpPattern pattern = OpPattern::kOpaque;
  std::vector<int> readers;
  bool escapes = false;  // read outside of the block
  // The node that every path from here to a use outside leads through, or -1.
  int dominator = -1;
  OpPattern path = OpPattern::kOpaque;  // the worst dependence on the way to it
  int depth = 1;
};

class Planner {
 public:
  Planner(const IRModule& mod, const DataflowBlock& block, int64_t max_size)
      : mod_(mod), max_size_(max_size) {
    Collect(block);
    FindDominators();
    parent_.resize(nodes_.size());
    for (size_t i = 0; i < nodes_.size(); ++i) parent_[i] = static_cast<int>(i);
    for (const Node& n : nodes_) {
      size_.push_back(1);
      kind_.push_back(n.pattern);
    }
  }

  /// Group of each binding.
  std::vector<int> Run() {
    for (int round = 0; round < 3; ++round) {
      for (size_t i = 0; i < nodes_.size(); ++i) Consider(static_cast<int>(i), round);
    }
    std::vector<int> groups;
    for (size_t i = 0; i < nodes_.size(); ++i) groups.push_back(Root(static_cast<int>(i)));
    return groups;
  }

 private:
  // ---- the graph ----

  OpPattern PatternOf(const Expr& value) const {
    if (value.as<TupleNode>()) return OpPattern::kTuple;
    if (value.as<TupleGetItemNode>()) return OpPattern::kInjective;
    const auto* call = value.as<CallNode>();
    if (call == nullptr || !call->op.same_as(TVM_RX_OP("call_tir"))) return OpPattern::kOpaque;
    auto gv = call->args[0].as<GlobalVar>();
    if (!gv.has_value()) return OpPattern::kOpaque;
    auto pattern = mod_->Lookup(gv.value())->GetAttr<int64_t>("op_pattern");
    return static_cast<OpPattern>(pattern.value_or(static_cast<int64_t>(OpPattern::kOpaque)));
  }

  void Collect(const DataflowBlock& block) {
    std::unordered_map<const VarNode*, int> index;
    struct Reads : public ExprVisitor {
      std::vector<const VarNode*> vars;
      using ExprVisitor::VisitExpr_;
      void VisitExpr_(const VarNode* op) override { vars.push_back(op); }
    };
    for (const Binding& b : block->bindings) {
      const int self = static_cast<int>(nodes_.size());
      Node node;
      node.binding = b;
      node.escapes = b->var.as<DataflowVarNode>() == nullptr;
      const auto* vb = b.as<VarBindingNode>();
      if (vb != nullptr) node.pattern = PatternOf(vb->value);
      Reads reads;
      reads.VisitExpr(vb != nullptr ? vb->value : b.as<MatchCastNode>()->value);
      for (const VarNode* v : reads.vars) {
        auto it = index.find(v);
        if (it == index.end()) continue;
        std::vector<int>& readers = nodes_[it->second].readers;
        if (readers.empty() || readers.back() != self) readers.push_back(self);
      }
      index[b->var.get()] = self;
      nodes_.push_back(std::move(node));
    }
  }

  static OpPattern Worse(OpPattern a, OpPattern b) { return std::max(a, b); }

  /// The first node that the paths from a and from b share; -1 if they leave the block apart.
  int Meet(int a, int b, OpPattern* path) const {
    while (a != b) {
      if (a < 0 || b < 0) return -1;
      int& deeper = nodes_[a].depth >= nodes_[b].depth ? a : b;
      *path = Worse(*path, nodes_[deeper].path);
      deeper = nodes_[deeper].dominator;
    }
    return a;
  }

  void FindDominators() {
    for (int i = static_cast<int>(nodes_.size()) - 1; i >= 0; --i) {
      Node& n = nodes_[i];
      if (n.escapes || n.readers.empty()) continue;
      OpPattern path = OpPattern::kElemWise;
      int target = n.readers[0];
      path = Worse(path, nodes_[target].pattern);
      for (size_t k = 1; k < n.readers.size() && target >= 0; ++k) {
        path = Worse(path, nodes_[n.readers[k]].pattern);
        target = Meet(target, n.readers[k], &path);
      }
      n.dominator = target;
      n.path = path;
      n.depth = target < 0 ? 1 : nodes_[target].depth + 1;
    }
  }

  // ---- groups ----

  int Root(int i) {
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  }
  OpPattern Kind(int i) { return kind_[Root(i)]; }

  using Condition = std::function<bool(OpPattern kind, bool is_sink)>;

  /// Whether everything between src and sink, sink included, meets the condition.
  bool PathHolds(int src, int sink, const Condition& holds) {
    std::vector<bool> seen(nodes_.size(), false);
    std::vector<int> work = nodes_[src].readers;
    while (!work.empty()) {
      int at = work.back();
      work.pop_back();
      if (seen[at]) continue;
      seen[at] = true;
      if (!holds(Kind(at), at == sink)) return false;
      if (at == sink) continue;
      for (int r : nodes_[at].readers) work.push_back(r);
    }
    return true;
  }

  std::vector<int> Between(int src, int sink) const {
    std::vector<bool> seen(nodes_.size(), false);
    std::vector<int> work{src}, found;
    while (!work.empty()) {
      int at = work.back();
      work.pop_back();
      if (at == sink || seen[at]) continue;
      seen[at] = true;
      found.push_back(at);
      for (int r : nodes_[at].readers) work.push_back(r);
    }
    return found;
  }

  void Join(int src, int sink) {
    for (int i : Between(src, sink)) {
      int from = Root(i), into = Root(sink);
      if (from == into) continue;
      parent_[from] = into;
      size_[into] += size_[from];
      // A group is what its product is, otherwise what its sink is.
      if (kind_[from] == OpPattern::kOutEWiseFusable) kind_[into] = kind_[from];
    }
  }

  int64_t SizeAfter(int src, int sink) {
    std::unordered_map<int, int64_t> parts;
    for (int i : Between(src, sink)) parts[Root(i)] = size_[Root(i)];
    parts[Root(sink)] = size_[Root(sink)];
    int64_t total = 0;
    for (const auto& [root, n] : parts) total += n;
    return total;
  }

  void TryJoin(int src, int sink, const Condition& holds) {
    if (PathHolds(src, sink, holds)) Join(src, sink);
  }

  void Consider(int i, int round) {
    const Node& n = nodes_[i];
    const OpPattern own = Kind(i);
    if (own == OpPattern::kOpaque || n.dominator < 0) return;
    const int sink = n.dominator;
    if (SizeAfter(i, sink) > max_size_) return;
    const OpPattern sink_own = nodes_[sink].pattern;
    auto movable = [](OpPattern kind, bool) { return kind <= OpPattern::kInjective; };
    if (round == 2) {
      // Into tuples that a later call has taken in.
      if (own <= OpPattern::kInjective && sink_own == OpPattern::kTuple &&
          Kind(sink) <= OpPattern::kInjective) {
        TryJoin(i, sink, movable);
      }
      return;
    }
    if (Root(i) == Root(sink) || sink_own == OpPattern::kTuple) return;
    if (own == OpPattern::kOutEWiseFusable) {
      if (round == 0 && n.path == OpPattern::kElemWise) {
        TryJoin(i, sink, [](OpPattern kind, bool) { return kind <= OpPattern::kBroadcast; });
      }
    } else if (own <= OpPattern::kBroadcast) {
      if (n.path > OpPattern::kInjective && n.path != OpPattern::kCommReduce) return;
      TryJoin(i, sink, [](OpPattern kind, bool is_sink) {
        if (!is_sink) return kind <= OpPattern::kInjective;
        return kind <= OpPattern::kCommReduce || kind == OpPattern::kOutEWiseFusable;
      });
    } else if (own == OpPattern::kInjective || own == OpPattern::kTuple) {
      if (round == 1) TryJoin(i, sink, movable);
    }
  }

  const IRModule& mod_;
  int64_t max_size_;
  std::vector<Node> nodes_;
  std::vector<int> parent_;
  std::vector<int64_t> size_;
  std::vector<OpPattern> kind_;
};

class Fuser : public ExprMutator {
 public:
  Fuser(const IRModule& mod, int64_t max_size) : ExprMutator(mod), mod_(mod), max_size_(max_size) {}

  IRModule Run() { return VisitFunctions(mod_); }

  BindingBlock VisitBindingBlock(const BindingBlock& block) override {
    auto dataflow = block.as<DataflowBlock>();
    if (!dataflow.has_value()) return ExprMutator::VisitBindingBlock(block);
    std::vector<int> group_of = Planner(mod_, dataflow.value(), max_size_).Run();
    std::unordered_map<int, std::vector<VarBinding>> members;
    std::unordered_map<int, size_t> last;
    for (size_t i = 0; i < group_of.size(); ++i) {
      last[group_of[i]] = i;
      if (auto vb = block->bindings[i].as<VarBinding>()) members[group_of[i]].push_back(vb.value());
    }
    builder_->BeginDataflowBlock();
    for (size_t i = 0; i < group_of.size(); ++i) {
      const int g = group_of[i];
      if (members[g].size() < 2) {
        VisitBinding(block->bindings[i]);
      } else if (last[g] == i) {
        EmitGroup(members[g], OutputsOf(block, group_of, g));
      }
    }
    return builder_->EndBlock();
  }

 private:
  /// Variables of a group that something else reads.
  static std::unordered_set<const VarNode*> OutputsOf(const BindingBlock& block,
                                                      const std::vector<int>& group_of, int g) {
    struct Reads : public ExprVisitor {
      std::unordered_set<const VarNode*> vars;
      using ExprVisitor::VisitExpr_;
      void VisitExpr_(const VarNode* op) override { vars.insert(op); }
    } outside;
    std::unordered_set<const VarNode*> outputs;
    for (size_t i = 0; i < group_of.size(); ++i) {
      if (group_of[i] != g) outside.VisitBinding(block->bindings[i]);
    }
    for (size_t i = 0; i < group_of.size(); ++i) {
      const VarNode* v = block->bindings[i]->var.get();
      if (group_of[i] != g) continue;
      if (!block->bindings[i]->var.as<DataflowVarNode>() || outside.vars.count(v)) {
        outputs.insert(v);
      }
    }
    return outputs;
  }

  void EmitGroup(const std::vector<VarBinding>& bindings,
                 const std::unordered_set<const VarNode*>& outputs) {
    FusedFunction fused = MakeFusedFunction(bindings, outputs, /*lift_constants=*/true,
                                            {{attr::kPrimitive, ffi::Any(true)}});
    GlobalVar gv = builder_->AddFunction(fused.func, FusedName(bindings, "fused"));
    Array<Expr> args = fused.args.Map([this](const Expr& e) { return VisitExpr(e); });
    Expr call = builder_->Normalize(Call(fused.call_type, gv, args));
    if (fused.outputs.size() == 1) return ReEmit(OriginalOf(bindings, fused.outputs[0]), call);
    Var all = builder_->Emit(call);
    for (size_t i = 0; i < fused.outputs.size(); ++i) {
      ReEmit(OriginalOf(bindings, fused.outputs[i]),
             builder_->Normalize(TupleGetItem(all, static_cast<int>(i))));
    }
  }
  static const VarBindingNode* OriginalOf(const std::vector<VarBinding>& bindings, const Var& var) {
    for (const VarBinding& b : bindings) {
      if (b->var.same_as(var)) return b.get();
    }
    TVM_FFI_THROW(InternalError) << "output " << var->name << " has no binding";
  }

  IRModule mod_;
  int64_t max_size_;
};

}  // namespace

Pass FuseOps(int fuse_opt_level) {
  return tvm::transform::CreateModulePass(
      [fuse_opt_level](IRModule mod, const PassContext& ctx) {
        const int level = fuse_opt_level == -1 ? ctx->opt_level : fuse_opt_level;
        if (level < 1) return mod;
        auto limit = ctx->GetConfig<int64_t>("relax.FuseOps.max_depth", kDefaultMaxDepth);
        return Fuser(mod, limit.value()).Run();
      },
      0, "FuseOps", {});
}

TVM_FFI_STATIC_INIT_BLOCK() {
  namespace refl = tvm::ffi::reflection;
  refl::GlobalDef().def("relax.transform.FuseOps", FuseOps);
}

}  // namespace transform
}  // namespace relax
}  // namespace tvm
