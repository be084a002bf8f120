// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Rule `attention`: softmax(Q K^T ..) V without the matrix of scores.
///
/// A task owns some panels of queries of one head and walks over the keys block by block. Of each
/// query it keeps the largest score so far, the sum of exponentials, and the sum of rows of V that
/// they weigh; a new maximum scales both sums down (online softmax):
///
///   parallel task: pack Q of its panels
///     for block of keys: for panel:
///       s = score(Q K^T); m' = max(m, s); w = exp(m - m'); e = exp(s - m')
///       l = l * w + sum(e); O = O * w + e V; m = m'
///     out = O / l
///
/// With many queries vectors run along them: K and V are read in place, element by element, and
/// only Q is transposed. With few queries (decoding) they run along the head size, and products of
/// a register's worth of keys are added up by a tree of shuffles.
///
/// Where a program rounds Q and K to bfloat16, or the softmax and V, and the processor multiplies
/// such pairs, many queries use them: pairs of the head size in Q K^T, of keys in e V, either alone
/// or both. The exponentials are rounded before the division, their sum is of what they are then.
/// Otherwise all is in float32.
///
/// Special values: a NaN or +inf among the scores of a row, or a row hidden from all keys, gives
/// NaN, as softmax does by itself. Keys that a causal mask hides from a whole panel are not read.
/// Rows of V are added up before the division: magnitudes near the largest float can overflow.
#include <tvm/ir/transform.h>
#include <tvm/kernels/rule.h>

#include <utility>

#include "kernels/attention_emitter.h"

namespace tvm {
namespace kernels {
namespace {

constexpr const char* kRuleName = "attention";
constexpr const char* kOption = "kernels.attention";

/// All shapes: with one query it reads keys and values once, with many it spares the scores' way
/// through memory and the copies of K.
std::optional<KernelPlan> QueryAttention(const KernelQuery& query, const Target&) {
  if (query.tile_op != kRuleName) return std::nullopt;
  if (!transform::PassContext::Current()->GetConfig<bool>(kOption, true).value()) {
    return std::nullopt;
  }
  auto accepts = [](DataType t) { return t == DataType::Float(32) || t == DataType::BFloat(16); };
  if (!accepts(query.a_dtype) || !accepts(query.b_dtype)) return std::nullopt;
  if (query.out_dtype != DataType::Float(32)) return std::nullopt;
  if (query.batch * query.m * query.n * query.k == 0) return std::nullopt;
  KernelPlan plan;
  plan.rule = kRuleName;
  plan.cost = 4.0 * query.batch * query.m * query.n * query.k / 1e11;
  return plan;
}

/// The attention that a group computes; nullopt with a reason when it is something else.
std::optional<Attention> ReadGroup(const Group& group, std::string* why) {
  if (group.Anchor(kRuleName) == nullptr) return Decliner(why)("no attention");
  return MatchAttention(group, why);
}

std::optional<tirx::PrimFunc> EmitAttention(const tirx::PrimFunc& func, const Target& target,
                                            const KernelKnobs& knobs, std::string* why) {
  auto group = ParseGroup(func, why);
  if (!group) return std::nullopt;
  auto attention = ReadGroup(*group, why);
  if (!attention) return std::nullopt;
  auto epilogue = ReadEpilogue(*group, why);
  if (!epilogue) return std::nullopt;
  AttentionEmitter emitter(*group, *std::move(attention), *std::move(epilogue), target, knobs);
  if (!emitter.CanEmit()) {
    *why = "columns of V are not evenly spaced";
    return std::nullopt;
  }
  return ScheduledFunc(func, emitter.Emit());
}

std::vector<KernelCandidate> AttentionCandidates(const tirx::PrimFunc& func, const Target& target) {
  std::string why;
  auto group = ParseGroup(func, &why);
  auto attention = group ? ReadGroup(*group, &why) : std::nullopt;
  if (!attention) return {};
  return AttentionCuts(ShapeOf(*attention), target);
}

TVM_REGISTER_PASS_CONFIG_OPTION(kOption, bool);
const bool kRegistered =
    RegisterRule({kRuleName, 110, QueryAttention, EmitAttention, AttentionCandidates});

}  // namespace
}  // namespace kernels
}  // namespace tvm
