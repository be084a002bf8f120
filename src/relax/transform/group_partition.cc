// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include "relax/transform/group_partition.h"

#include <tvm/relax/analysis.h>
#include <tvm/relax/expr_functor.h>

#include <algorithm>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "relax/ir/utils.h"
#include "relax/op/call_like.h"
#include "relax/op/common.h"
#include "relax/transform/attention_pattern.h"
#include "relax/transform/kernel_builder.h"

namespace tvm {
namespace relax {

namespace {

constexpr size_t kMaxMembers = 48;
/// Members are written into the expressions that read them. This bounds how many operators that
/// makes, which doubles with each step of `x = x + x`.
constexpr int64_t kMaxCopies = 192;

/// How often the expression of an operator reads an operand, or more.
int64_t ReadsOfOperand(const CallNode* call) {
  static const std::unordered_set<std::string> kOnce{
      "add",      "subtract",  "multiply",      "divide",      "maximum",     "minimum",
      "negative", "abs",       "exp",           "log",         "sqrt",        "rsqrt",
      "tanh",     "sigmoid",   "erf",           "nn.relu",     "astype",      "floor",
      "ceil",     "round",     "trunc",         "sin",         "cos",         "clip",
      "where",    "equal",     "not_equal",     "less",        "less_equal",  "greater",
      "isnan",    "isinf",     "greater_equal", "logical_and", "logical_not", "logical_or",
      "quantize", "dequantize"};
  const auto* op = call->op.as<OpNode>();
  if (op == nullptr) return 1;
  const std::string name(op->name);
  return kOnce.count(name.substr(name.find('.') + 1)) != 0 ? 1 : 4;
}

bool IsViewOp(const CallNode* call) {
  const Expr& op = call->op;
  if (op.same_as(TVM_RX_OP("reshape")) || op.same_as(TVM_RX_OP("expand_dims")) ||
      op.same_as(TVM_RX_OP("squeeze")) || op.same_as(TVM_RX_OP("flatten")) ||
      op.same_as(TVM_RX_OP("nn.batch_flatten"))) {
    return true;
  }
  if (!op.same_as(TVM_RX_OP("permute_dims"))) return false;
  // A transpose that only moves dimensions of extent 1 keeps the order of elements.
  const auto* ty = call->args[0]->ty.as<TensorTypeNode>();
  auto dims = ty == nullptr ? std::nullopt : ty->GetShape();
  const OptInts& axes = AttrsOf<PermuteDimsAttrs>(call)->axes;
  if (!dims.has_value()) return false;
  int n = static_cast<int>(dims.value().size()), last = -1;
  for (int d = 0; d < n; ++d) {
    int a = axes.has_value()
                ? static_cast<int>(axes.value()[d] < 0 ? axes.value()[d] + n : axes.value()[d])
                : n - 1 - d;
    if (IsConstInt(dims.value()[a], 1)) continue;
    if (a < last) return false;
    last = a;
  }
  return true;
}

bool SameShape(const Type& a, const Type& b) {
  const auto* x = a.as<TensorTypeNode>();
  const auto* y = b.as<TensorTypeNode>();
  if (x == nullptr || y == nullptr) return false;
  auto xs = x->GetShape(), ys = y->GetShape();
  if (!xs.has_value() || !ys.has_value() || xs.value().size() != ys.value().size()) return false;
  if (xs.value().same_as(ys.value())) return true;
  for (size_t i = 0; i < xs.value().size(); ++i) {
    const PrimExpr &p = xs.value()[i], &q = ys.value()[i];
    if (p.same_as(q)) continue;
    auto u = AsInt(p), v = AsInt(q);
    if (!u || !v || *u != *v) return false;
  }
  return true;
}

/// nn.pad that puts a constant around an image, and is read by a convolution without a border.
bool IsBorderOf(const CallNode* pad, const CallNode* conv, const Var& padded) {
  if (!pad->op.same_as(TVM_RX_OP("nn.pad")) || !conv->op.same_as(TVM_RX_OP("nn.conv2d"))) {
    return false;
  }
  const auto* p = AttrsOf<PadAttrs>(pad);
  const auto* c = AttrsOf<Conv2DAttrs>(conv);
  if (p->pad_mode != "constant" || !conv->args[0].same_as(padded)) return false;
  if (p->pad_width.size() != 8) return false;
  // Rules for float32 (Winograd) take a border to be zero; those for 8 bits do not.
  const auto* image = pad->args[0]->ty.as<TensorTypeNode>();
  if (p->pad_value != 0 && (image == nullptr || image->ElementType().bits() != 8)) return false;
  for (int64_t width : c->padding) {
    if (width != 0) return false;
  }
  for (int64_t width : p->pad_width) {
    if (width < 0) return false;
  }
  for (char axis : {'N', 'C'}) {
    const int at = 2 * LayoutAxis(c->data_layout, axis);
    if (p->pad_width[at] != 0 || p->pad_width[at + 1] != 0) return false;
  }
  return true;
}

bool IsEwise(const OpRow* row) {
  return row->pattern == OpPattern::kElemWise || row->pattern == OpPattern::kBroadcast;
}

class Partitioner {
 public:
  explicit Partitioner(const Target& target) : target_(target) {}

  Partition Run(const BindingBlock& block, const std::unordered_set<const VarNode*>& outside) {
    Index(block, outside);
    p_.group_of.assign(p_.nodes.size(), -1);
    for (size_t i = 0; i < p_.nodes.size(); ++i) GrowAttention(static_cast<int>(i));
    for (size_t i = 0; i < p_.nodes.size(); ++i) {
      if (IsAnchor(static_cast<int>(i))) GrowAnchor(static_cast<int>(i));
    }
    for (size_t i = 0; i < p_.nodes.size(); ++i) {
      if (Free(static_cast<int>(i))) GrowMap(static_cast<int>(i));
    }
    return std::move(p_);
  }

 private:
  OpNodeInfo& N(int i) { return p_.nodes[i]; }
  Type TypeOf(int i) { return N(i).binding->var->ty; }
  bool Free(int i) { return N(i).call != nullptr && !N(i).view && p_.group_of[i] < 0; }
  bool IsAnchor(int i) {
    if (!Free(i)) return false;
    OpPattern pattern = N(i).row->pattern;
    return pattern == OpPattern::kOutEWiseFusable || pattern == OpPattern::kCommReduce ||
           pattern == OpPattern::kOpaque;
  }

  void Index(const BindingBlock& block, const std::unordered_set<const VarNode*>& outside) {
    std::unordered_map<const VarNode*, int> at;
    struct Reads : public ExprVisitor {
      std::vector<const VarNode*> vars;
      void VisitExpr_(const VarNode* op) override { vars.push_back(op); }
    };
    for (const Binding& b : block->bindings) {
      OpNodeInfo info;
      info.binding = b;
      Reads reads;
      if (const auto* vb = b.as<VarBindingNode>()) {
        reads.VisitExpr(vb->value);
        if (auto call = vb->value.as<Call>()) {
          if (CanLower(call.value())) {
            info.call = call.value().get();
            info.row = RowOfCall(vb->value);
            info.view = IsViewOp(info.call);
          }
        }
      } else {
        reads.VisitExpr(b.as<MatchCastNode>()->value);
      }
      int self = static_cast<int>(p_.nodes.size());
      for (const VarNode* v : reads.vars) {
        auto it = at.find(v);
        if (it == at.end()) continue;
        info.producers.push_back(it->second);
      }
      info.reads = info.producers;
      std::sort(info.producers.begin(), info.producers.end());
      info.producers.erase(std::unique(info.producers.begin(), info.producers.end()),
                           info.producers.end());
      for (int q : info.producers) N(q).consumers.push_back(self);
      info.escapes = outside.count(b->var.get()) != 0;
      at[b->var.get()] = self;
      p_.nodes.push_back(std::move(info));
    }
  }

  /// Whether the group stays small when its members are written into each other.
  bool Fits(std::vector<int> members, int next) {
    members.push_back(next);
    std::sort(members.rbegin(), members.rend());
    std::unordered_map<int, int64_t> uses;
    int64_t total = 0;
    for (int m : members) {
      const int64_t copies = std::max<int64_t>(uses[m], 1);
      total += copies;
      if (total > kMaxCopies) return false;
      for (int q : N(m).reads) uses[q] += copies * ReadsOfOperand(N(m).call);
    }
    return true;
  }

  bool LeavesGroup(int i, const std::vector<int>& members) {
    if (N(i).escapes) return true;
    for (int c : N(i).consumers) {
      if (std::find(members.begin(), members.end(), c) == members.end()) return true;
    }
    return false;
  }

  /// Adds consumers as long as the group can be closed with one value leaving it. All members of a
  /// closed group flow into that value, so groups cannot wait for each other in a circle.
  std::vector<int> GrowForward(std::vector<int> members, const std::function<bool(int)>& allowed) {
    std::vector<int> best = members;
    while (members.size() < kMaxMembers) {
      int next = -1;
      for (int m : members) {
        // A value needed elsewhere cannot stay inside, except as the one that leaves.
        for (int c : N(m).consumers) {
          bool in = std::find(members.begin(), members.end(), c) != members.end();
          if (!in && (next < 0 || c < next)) next = c;
        }
        if (N(m).escapes && m != members.back()) return best;
      }
      if (next < 0 || !Free(next) || !allowed(next) || !Fits(members, next)) break;
      members.push_back(next);
      int leaving = 0;
      for (int m : members) leaving += LeavesGroup(m, members);
      if (leaving == 1 && LeavesGroup(members.back(), members)) best = members;
      if (N(next).escapes) break;
    }
    return best;
  }

  void Commit(std::vector<int> members, int anchor) {
    int id = static_cast<int>(p_.groups.size());
    std::sort(members.begin(), members.end());
    for (int m : members) p_.group_of[m] = id;
    p_.groups.push_back({members, anchor});
  }

  void GrowAnchor(int a) {
    bool fuses = N(a).row->pattern != OpPattern::kOpaque && TypeOf(a).as<TensorTypeNode>();
    std::vector<int> members{a};
    if (fuses) {
      members = GrowEpilogue(a);
      AddProducers(a, &members);
    }
    Commit(members, a);
  }

  /// An anchor and what is done to its result.
  std::vector<int> GrowEpilogue(int a) {
    Type shape = TypeOf(a);
    bool permuted = false;
    return GrowForward({a}, [&](int c) {
      if (permuted) return false;
      if (N(c).call->op.same_as(TVM_RX_OP("permute_dims")) && IsContraction(a)) {
        permuted = true;  // the store goes elsewhere, and ends the group
        return true;
      }
      return IsEwise(N(c).row) && SameShape(TypeOf(c), shape);
    });
  }

  void GrowAttention(int i) {
    if (!Free(i)) return;
    std::vector<int> members{i};
    if (IsContraction(i)) {
      auto before = AttentionMembers(p_, i, target_);
      if (!before) return;
      members = GrowEpilogue(i);
      members.insert(members.end(), before->begin() + 1, before->end());  // the first one is `i`
    } else if (!StreamsAttention(GetRef<Call>(N(i).call), target_)) {
      return;
    }
    Commit(members, i);
    p_.groups.back().attention = true;
  }

  bool IsContraction(int a) {
    const Expr& op = N(a).call->op;
    return op.same_as(TVM_RX_OP("matmul"));
  }

  /// Producers that nothing else reads: transposes in front of a product, the border of a
  /// convolution, element-wise maths in front of a reduction over rows, and what the element-wise
  /// members read besides.
  void AddProducers(int a, std::vector<int>* members) {
    bool product = IsContraction(a);
    const Expr& op = N(a).call->op;
    bool row = op.same_as(TVM_RX_OP("nn.softmax")) || op.same_as(TVM_RX_OP("nn.log_softmax")) ||
               op.same_as(TVM_RX_OP("nn.layer_norm")) || op.same_as(TVM_RX_OP("nn.rms_norm")) ||
               N(a).row->pattern == OpPattern::kCommReduce;
    Type in = N(a).call->args.empty() ? Type() : N(a).call->args[0]->ty;
    std::vector<bool> before(members->size(),
                             false);  // whether a member is computed for the anchor
    for (size_t k = 0; k < members->size() && members->size() < kMaxMembers; ++k) {
      int m = (*members)[k];
      bool for_anchor = m == a || before[k];
      for (int q : N(m).producers) {
        if (!Free(q) || N(q).escapes || LeavesWith(q, *members)) continue;
        bool take = false;
        if (for_anchor) {
          bool transpose = product && m == a && N(q).call->op.same_as(TVM_RX_OP("permute_dims"));
          take = transpose || (row && IsEwise(N(q).row) && SameShape(TypeOf(q), in)) ||
                 (m == a && IsBorderOf(N(q).call, N(a).call, N(q).binding->var));
        } else {
          // Integers that another anchor computes are read as such, and become floats here.
          const bool widens = N(q).call->op.same_as(TVM_RX_OP("dequantize"));
          take =
              IsEwise(N(q).row) && SameShape(TypeOf(q), TypeOf(m)) && (widens || !FollowsAnchor(q));
        }
        if (!take || std::find(members->begin(), members->end(), q) != members->end()) continue;
        if (!Fits(*members, q)) continue;
        members->push_back(q);
        before.push_back(for_anchor);
      }
    }
  }

  /// Whether an anchor whose group is still to be made computes `q`, which that group should end
  /// with.
  bool FollowsAnchor(int q) {
    for (int p : N(q).producers) {
      if (IsAnchor(p)) return true;
      if (Free(p) && IsEwise(N(p).row) && FollowsAnchor(p)) return true;
    }
    return false;
  }

  /// Whether something outside of the group reads `q`.
  bool LeavesWith(int q, const std::vector<int>& members) {
    for (int c : N(q).consumers) {
      if (std::find(members.begin(), members.end(), c) == members.end()) return true;
    }
    return false;
  }

  void GrowMap(int i) {
    OpPattern pattern = N(i).row->pattern;
    std::vector<int> members{i};
    if (pattern <= OpPattern::kInjective && TypeOf(i).as<TensorTypeNode>()) {
      members = GrowForward(members, [&](int c) {
        // After something that moves elements only maths of the same shape follows.
        return IsEwise(N(c).row) && SameShape(TypeOf(c), TypeOf(i));
      });
      for (size_t k = 0; k < members.size() && members.size() < kMaxMembers; ++k) {
        int m = members[k];
        if (!IsEwise(N(m).row)) continue;
        for (int q : N(m).producers) {
          bool take = Free(q) && !N(q).escapes && IsEwise(N(q).row) &&
                      SameShape(TypeOf(q), TypeOf(m)) && !LeavesWith(q, members);
          if (take && std::find(members.begin(), members.end(), q) == members.end() &&
              Fits(members, q)) {
            members.push_back(q);
          }
        }
      }
    }
    Commit(members, -1);
  }

  const Target& target_;
  Partition p_;
};

}  // namespace

Partition PartitionBlock(const BindingBlock& block,
                         const std::unordered_set<const VarNode*>& used_outside,
                         const Target& target) {
  return Partitioner(target).Run(block, used_outside);
}

}  // namespace relax
}  // namespace tvm
