// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include "relax/transform/attention_pattern.h"

#include <tvm/kernels/rule.h>

#include <algorithm>

#include "relax/op/call_like.h"
#include "relax/op/common.h"

namespace tvm {
namespace relax {

namespace {

constexpr const char* kAttention = "attention";
constexpr int kMostSteps = 8;  // elementwise operators on the way from the product to the softmax

bool IsNumber(const Type& type, DataType dtype) {
  const auto* t = type.as<TensorTypeNode>();
  return t != nullptr && !t->IsUnknownDtype() && t->ElementType() == dtype;
}

bool IsFloat(const Expr& e) { return IsNumber(e->ty, DataType::Float(32)); }
bool IsNarrow(const Expr& e) { return IsNumber(e->ty, DataType::BFloat(16)); }

/// Dimensions of an operand of a product: float32, or rounded to bfloat16.
std::optional<std::vector<int64_t>> StaticDims(const Expr& e) {
  if (!IsFloat(e) && !IsNarrow(e)) return std::nullopt;
  auto shape = e->ty.as<TensorTypeNode>()->GetStaticShape();
  if (!shape.has_value()) return std::nullopt;
  return std::vector<int64_t>(shape.value().begin(), shape.value().end());
}

std::optional<std::vector<int64_t>> StaticFloatDims(const Expr& e) {
  return IsFloat(e) ? StaticDims(e) : std::nullopt;
}

/// Whether it only rounds float32 to bfloat16, as operands of products in bfloat16 are.
bool IsRounding(const CallNode* call) {
  return call->op.same_as(TVM_RX_OP("astype")) && IsFloat(call->args[0]) &&
         IsNumber(call->ty, DataType::BFloat(16));
}

struct AttentionSizes {
  int64_t batch, rows, keys, depth;
};

bool HasRule(const AttentionSizes& sizes, const Expr& k, const Expr& v, const Target& target) {
  kernels::KernelQuery query;
  query.tile_op = kAttention;
  query.a_dtype = k->ty.as<TensorTypeNode>()->ElementType();
  query.b_dtype = v->ty.as<TensorTypeNode>()->ElementType();
  query.out_dtype = DataType::Float(32);
  query.batch = sizes.batch;
  query.m = sizes.rows;
  query.n = sizes.keys;
  query.k = sizes.depth;
  return kernels::Query(query, target).has_value();
}

class AttentionFinder {
 public:
  AttentionFinder(const Partition& p, const Target& target) : p_(p), target_(target) {}

  std::optional<std::vector<int>> Find(int last) {
    const CallNode* product = p_.nodes[last].call;
    members_ = {last};
    int softmax = ProducerOf(last, product->args[0]);
    if (Inner(softmax) && IsRounding(p_.nodes[softmax].call)) {
      members_.push_back(softmax);
      softmax = ProducerOf(softmax, p_.nodes[softmax].call->args[0]);
    }
    if (!Inner(softmax) || !IsRowSoftmax(p_.nodes[softmax].call)) return std::nullopt;
    members_.push_back(softmax);
    const CallNode* scores = FindScores(softmax, p_.nodes[softmax].call->args[0], 0);
    if (scores == nullptr || !Accepts(scores, product)) return std::nullopt;
    const int first = members_.back();
    AddMoves(first, scores->args[0]);
    AddMoves(first, scores->args[1]);
    AddMoves(last, product->args[1]);
    return members_;
  }

 private:
  /// The binding of this block that `reader` gets an operand from, or -1.
  int ProducerOf(int reader, const Expr& operand) const {
    for (int q : p_.nodes[reader].producers) {
      if (p_.nodes[q].binding->var.same_as(operand)) return q;
    }
    return -1;
  }

  /// Whether a binding can be a member: free, and read by members only.
  bool Inner(int i) const {
    if (i < 0) return false;
    const OpNodeInfo& node = p_.nodes[i];
    if (node.call == nullptr || node.view || node.escapes || p_.group_of[i] >= 0) return false;
    return std::all_of(node.consumers.begin(), node.consumers.end(), [&](int c) {
      return std::find(members_.begin(), members_.end(), c) != members_.end();
    });
  }

  static bool IsRowSoftmax(const CallNode* call) {
    if (!call->op.same_as(TVM_RX_OP("nn.softmax"))) return false;
    const int64_t axis = AttrsOf<SoftmaxAttrs>(call)->axis;
    const auto* type = call->ty.as<TensorTypeNode>();
    return type != nullptr && (axis == -1 || axis == type->ndim - 1);
  }

  /// The product that `operand` of `reader` is made of by elementwise operators of its shape; adds
  /// them and then the product to the members.
  const CallNode* FindScores(int reader, const Expr& operand, int steps) {
    const int i = ProducerOf(reader, operand);
    if (!Inner(i)) return nullptr;
    const OpNodeInfo& node = p_.nodes[i];
    members_.push_back(i);
    if (node.call->op.same_as(TVM_RX_OP("matmul"))) return node.call;
    const bool elementwise =
        node.row->pattern == OpPattern::kElemWise || node.row->pattern == OpPattern::kBroadcast;
    if (elementwise && steps < kMostSteps) {
      for (const Expr& arg : node.call->args) {
        if (StaticFloatDims(arg) != StaticFloatDims(node.binding->var)) continue;
        if (const CallNode* found = FindScores(i, arg, steps + 1)) return found;
      }
    }
    members_.pop_back();
    return nullptr;
  }

  /// Both products over the same batch dimensions, nothing packed.
  bool Accepts(const CallNode* scores, const CallNode* product) const {
    auto q = StaticDims(scores->args[0]), k = StaticDims(scores->args[1]),
         s = StaticFloatDims(GetRef<Call>(scores)), v = StaticDims(product->args[1]),
         out = StaticFloatDims(GetRef<Call>(product));
    if (!q || !k || !s || !v || !out || q->size() < 2) return false;
    for (const auto* dims : {&*k, &*s, &*v, &*out}) {
      if (dims->size() != q->size()) return false;
      if (!std::equal(q->begin(), q->end() - 2, dims->begin())) return false;
    }
    for (const Expr& operand : {scores->args[0], scores->args[1], product->args[1]}) {
      if (operand.as<ConstantNode>()) return false;
    }
    int64_t batch = 1;
    for (size_t d = 0; d + 2 < q->size(); ++d) batch *= (*q)[d];
    const size_t n = q->size();
    const AttentionSizes sizes{batch, (*s)[n - 2], (*s)[n - 1], q->back()};
    return out->back() > 0 && HasRule(sizes, scores->args[1], product->args[1], target_);
  }

  /// Transposes, and the rounding of what others read in float32. A rounding that is all that reads
  /// a value belongs to the kernel that makes it: it then has half the bytes.
  void AddMoves(int reader, const Expr& operand) {
    const int i = ProducerOf(reader, operand);
    if (!Inner(i)) return;
    const CallNode* call = p_.nodes[i].call;
    if (IsRounding(call)) {
      const int source = ProducerOf(i, call->args[0]);
      const bool shared =
          source < 0 || p_.nodes[source].escapes || p_.nodes[source].consumers.size() > 1;
      if (!shared) return;
    } else if (!call->op.same_as(TVM_RX_OP("permute_dims"))) {
      return;
    }
    members_.push_back(i);
    AddMoves(i, call->args[0]);
  }

  const Partition& p_;
  const Target& target_;
  std::vector<int> members_;
};

}  // namespace

std::optional<std::vector<int>> AttentionMembers(const Partition& partition, int last,
                                                 const Target& target) {
  return AttentionFinder(partition, target).Find(last);
}

bool StreamsAttention(const Call& call, const Target& target) {
  const bool plain = call->op.same_as(TVM_RX_OP("nn.attention"));
  if (!plain && !call->op.same_as(TVM_RX_OP("nn.attention_bias"))) return false;
  for (const Expr& operand : call->args) {
    if (!StaticFloatDims(operand)) return false;
  }
  auto q = StaticFloatDims(call->args[0]), k = StaticFloatDims(call->args[1]);
  const AttentionSizes sizes{(*q)[0] * (*q)[2], (*q)[1], (*k)[1], (*q)[3]};
  return HasRule(sizes, call->args[1], call->args[2], target);
}

Map<String, ffi::Any> AttentionAnnotations() {
  return {{kernels::kTileOp, String(kAttention)}, {kernels::kKernelRule, String(kAttention)}};
}

}  // namespace relax
}  // namespace tvm
