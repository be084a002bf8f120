// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Kernel rules: how an anchor operator becomes a fast loop nest.
///
/// The graph planner calls Query before lowering and learns the layouts and packing that the best
/// rule of the target wants. The group is then lowered to one PrimFunc of SBlocks whose anchor
/// block carries the annotations of the plan, and Emit lets that rule turn it into loops, prologue
/// and epilogue included. Emit repeats no decision of Query: everything it needs is in the
/// annotations. The plain-loop rule accepts every group, comes last, and is the oracle of all
/// others.
///
/// Form of the anchors (te::compute with these attrs; all index variables int64; elementwise stages
/// before and after are inlined by the rules):
///
///   gemm, conv2d   attrs tile_op, kernel_rule, panel, k_group, column_sums
///     C[.., n] = sum(A(..) * B(..)) over the reduction axes; A and B any reads, or narrow ones
///     cast to the type of C. With panel > 0: B = P[n // panel, k, n % panel], with k_group = g > 1
///     B = P[n // panel, k // g, n % panel, k % g] (k // g + 1 with column_sums); for float sums B
///     may also be elementwise maths on such a read with k_group = 1, e.g. a dequantization. A
///     convolution is in NHWC, its reduction axes are (kh, kw, ic), A = if_then_else(inside, X[n,
///     ih, iw, ic], 0), k = (kh * KW + kw) * IC + ic. With groups, P has a leading group dimension
///     and C the dimensions (n, oh, ow, g, oc) before a reshape. With annotation winograd = 1, B is
///     WinogradTap of P[n // panel, point, ic, n % panel]. With attrs weight_bits > 0 and
///     scale_block (a gemm, C float32), B = (q - zero[k // scale_block, n]) * scale[k //
///     scale_block, n], and q lies as low_bit.h says.
///   window         attrs tile_op="window", kernel_rule, {in,stride,pad,dilation}_{h,w}
///     depthwise convolution and pooling in NHWC: axes (n, oh, ow, c), reduction axes (kh, kw), sum
///     or max of if_then_else(inside, X[n, ih, iw, c], neutral) [* W[kh, kw, c]]; pad_h is the top,
///     pad_w the left border. Query it as depthwise_conv2d or pool.
///   attention      attrs tile_op="attention", kernel_rule
///     C[b.., i, c] = sum over j of softmax over j of (score(S[b.., i, j])) * V(b.., j, c) with S =
///     sum over d of Q(b.., i, d) * K(b.., j, d); all of it float32, softmax as max, exp, sum,
///     division; Q, K, V and the softmax may be rounded to bfloat16 by casts. The stages of S carry
///     no tile_op. Query: batch heads, m queries, n keys, k head size.
///   everything else needs no anchor: reductions over the innermost or over outer dimensions with
///   elementwise stages around them (softmax, layer norm), elementwise chains, transposes, concat.
#ifndef TVM_KERNELS_RULE_H_
#define TVM_KERNELS_RULE_H_

#include <tvm/ffi/container/map.h>
#include <tvm/ffi/string.h>
#include <tvm/ir/module.h>
#include <tvm/target/target.h>
#include <tvm/tirx/function.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace tvm {
namespace kernels {

/// What the planner knows of an anchor. Extents are static; a field that an operator lacks is 1.
struct KernelQuery {
  /// `gemm`, `conv2d`, `depthwise_conv2d`, `conv2d_transpose`, `pool`, `attention`, `reduction`,
  /// `map`.
  std::string tile_op;
  DataType a_dtype, b_dtype, out_dtype;
  int64_t batch = 1;
  /// Rows, columns and reduction length of the (implicit) matrix product of one group.
  int64_t m = 1, n = 1, k = 1;
  int64_t groups = 1;
  std::vector<int64_t> kernel, strides, padding, dilation;
  /// Height and width of a convolution's output.
  std::vector<int64_t> out;
  /// Whether B (the weight) is a constant that can be packed while compiling.
  bool constant_b = false;
  /// The rules that answer will be measured: a rule also accepts where it may well lose.
  bool measured = false;
  /// Above 0, B is a constant of so many bits an element with scales: low_bit.h. `b_dtype` is that
  /// of its bytes.
  int weight_bits = 0;
};

/// What the chosen rule wants.
struct KernelPlan {
  /// Name of the rule; goes into the block annotation `kernel_rule`.
  std::string rule;
  /// Layout of image operands: `NHWC`, or empty when the rule has no preference.
  std::string data_layout;
  /// Columns of one packed panel of B, or 0 for B as it is. Packed B is the row-major tensor
  /// [groups *] [ceil(n / panel), k, panel]; columns past n hold zero. For convolutions the rows
  /// k run over (kh, kw, ic) in this order.
  int64_t panel = 0;
  /// Rows of k that lie side by side in packed B, as instructions for narrow types want them. Above
  /// 1, packed B is [groups *] [ceil(n / panel), ceil(k / k_group), panel, k_group]; rows past k
  /// hold zero.
  int64_t k_group = 1;
  /// Whether each panel starts with one more row, whose k_group bytes of a column are the int32 of
  /// -128 times the sum of the column: A is then multiplied as unsigned, 128 larger.
  bool column_sums = false;
  /// Empty, or the other form in which the rule wants a constant B: `winograd` (winograd.h), which
  /// then also is an annotation of the anchor, 1.
  std::string weight_form;
  /// Bytes of scratch memory a call needs beyond its buffers, and the estimated seconds it takes.
  int64_t workspace = 0;
  double cost = 0;
};

/// The plan of the first rule, by priority, that accepts the anchor; nullopt: only plain loops do.
TVM_DLL std::optional<KernelPlan> Query(const KernelQuery& query, const Target& target);

/// What Query gives, then the plans of other rules in the same layout that may be as good. Which is
/// best only a measurement can tell, before a weight is packed: see ChooseForm.
TVM_DLL std::vector<KernelPlan> QueryAll(const KernelQuery& query, const Target& target);

/// Turns a group (a PrimFunc of SBlocks made by te::CreatePrimFunc) into the loops of its rule.
/// A rule that finds the group not to be what its annotations promise declines, and the next one
/// that accepts takes it; with `TVM_KERNELS=plain` in the environment only plain loops are used.
TVM_DLL tirx::PrimFunc Emit(const tirx::PrimFunc& group, const Target& target);

/// Named integers that a rule takes in place of what it would choose itself: see
/// src/kernels/README. Empty: the rule's own choice.
using KernelKnobs = ffi::Map<ffi::String, int64_t>;

/// `knobs[name]`, or `otherwise` when it is left to the rule.
TVM_DLL int64_t Knob(const KernelKnobs& knobs, const char* name, int64_t otherwise);
/// "name=value name=value", sorted by name: equal texts, equal knobs.
TVM_DLL std::string KnobsText(const KernelKnobs& knobs);

/// One way to emit a group, worth measuring.
struct KernelCandidate {
  KernelKnobs knobs;
  /// Estimated; only the order counts.
  double cost = 0;
};

/// The rule that Emit takes for a group, and what it offers.
struct KernelCandidates {
  std::string rule;
  /// The rule's own choice, with no knobs, then the others from the cheapest on.
  std::vector<KernelCandidate> list;
};
TVM_DLL KernelCandidates Candidates(const tirx::PrimFunc& group, const Target& target);

/// Emits the group with knobs of its rule. ValueError when the rule is another one by now, or the
/// knobs are not among its candidates: they may come from a file.
TVM_DLL tirx::PrimFunc EmitWith(const tirx::PrimFunc& group, const Target& target,
                                const std::string& rule, const KernelKnobs& knobs);

/// A group of a module, and how often the module calls it.
struct KernelGroup {
  std::string name;
  tirx::PrimFunc func;
  int64_t calls = 1;
};
/// What to emit it with: empty `knobs` for Emit.
struct KernelChoice {
  std::string rule;
  KernelKnobs knobs;
};
/// As EmitWith. Knobs that are no candidate, as they come from another version, are left out with a
/// warning.
TVM_DLL tirx::PrimFunc EmitChosen(const tirx::PrimFunc& group, const Target& target,
                                  const KernelChoice& choice);
/// Hook of the tuner, a higher layer: the choice for each group.
using KnobChooser = std::vector<KernelChoice> (*)(const std::vector<KernelGroup>& groups,
                                                  const Target& target);
TVM_DLL void SetKnobChooser(KnobChooser chooser);
/// Asks the hook; without one, or when only plain loops are wanted, nothing is chosen.
TVM_DLL std::vector<KernelChoice> ChooseKnobs(const std::vector<KernelGroup>& groups,
                                              const Target& target);

/// One way to compute an anchor, with its weight in the form that way wants.
struct AnchorForm {
  std::string rule;
  /// The anchor alone, annotated as planned.
  tirx::PrimFunc func;
};
using FormMaker = std::function<std::vector<AnchorForm>()>;
/// Hook of the tuner: position of the form to use; the first one is what Query chose.
using FormChooser = size_t (*)(const FormMaker& make, const Target& target);
TVM_DLL void SetFormChooser(FormChooser chooser);
/// Asks the hook, which may do without the forms; 0 without a hook.
TVM_DLL size_t ChooseForm(const FormMaker& make, const Target& target);

/// One rule. `query` may be null for rules that only look at the group itself.
struct KernelRule {
  std::string name;
  /// Higher is tried first.
  int priority = 0;
  std::optional<KernelPlan> (*query)(const KernelQuery&, const Target&) = nullptr;
  /// The scheduled function, or nullopt to decline; `why` then says the reason. Without knobs all
  /// is the rule's own choice, with those of a candidate what they name is taken as they say.
  std::optional<tirx::PrimFunc> (*emit)(const tirx::PrimFunc& group, const Target& target,
                                        const KernelKnobs& knobs, std::string* why) = nullptr;
  /// What may be measured besides the rule's own choice, in any order; null: nothing. Asked only
  /// for groups that `emit` accepts.
  std::vector<KernelCandidate> (*candidates)(const tirx::PrimFunc& group,
                                             const Target& target) = nullptr;
};

/// Registers a rule; called from a static initialiser of the rule's file.
TVM_DLL bool RegisterRule(KernelRule rule);
/// All rules, best first.
TVM_DLL const std::vector<KernelRule>& AllRules();

/// Keys of block annotations.
inline constexpr const char* kTileOp = "tile_op";
inline constexpr const char* kKernelRule = "kernel_rule";
inline constexpr const char* kPanel = "panel";
inline constexpr const char* kKGroup = "k_group";
inline constexpr const char* kColumnSums = "column_sums";
inline constexpr const char* kWeightBits = "weight_bits";
inline constexpr const char* kScaleBlock = "scale_block";

}  // namespace kernels
}  // namespace tvm

#endif  // TVM_KERNELS_RULE_H_
