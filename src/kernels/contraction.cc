// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Rule `contraction`: matrix products, batched ones, and convolutions as implicit products.
///
///   C[b, m, n] = sum_k A[b, m, k] * B[b, k, n]
///
/// Narrow operands are multiplied as dot_step.h says; k then counts words of a few elements.
///
/// A task owns a block of rows and some panels of columns. If rows of A are not plain runs of
/// memory (a convolution with its border, a transposed operand), the task first copies its rows
/// into a scratch block; likewise B, unless it was packed while compiling or its rows are plain.
/// Windows of an image are rows of A that need no copy of their own (contraction_image.h).
/// The register tile keeps rows x panel sums in registers over all of k and applies the epilogue to
/// them before the one store. Columns that fill no panel are in registers as narrow as they are,
/// and go with the panel before when they need only one; one or two are multiplied along k where
/// that is long:
///
///   parallel task: copy rows of A
///     for panel: [copy panel of B]
///       for tile of rows: acc = 0; for k: acc[i, :] += A[i, k] * B[k, :]; D[i, :] = epilogue(acc)
#include <tvm/kernels/low_bit.h>
#include <tvm/kernels/rule.h>
#include <tvm/target/cpu_features.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "kernels/contraction_emitter.h"
#include "kernels/dot_step.h"

namespace tvm {
namespace kernels {
namespace {

constexpr const char* kRuleName = "contraction";

/// Columns of the panels of a convolution in groups, each of which has few channels: registers of
/// 128 bits and more come in powers of two.
int64_t GroupColumns(int64_t n) {
  constexpr uint64_t kLeast = 4;
  return static_cast<int64_t>(std::max(kLeast, std::bit_ceil(static_cast<uint64_t>(n))));
}

/// A weight of a few bits needs registers to take words apart in, and several columns.
std::optional<KernelPlan> QueryLowBits(const KernelQuery& query, const Target& target) {
  const bool vectors = CpuFeaturesOf(target).vector_bits >= 128;
  if (!vectors || query.tile_op != "gemm" || query.n == 1 || !query.constant_b) return std::nullopt;
  KernelPlan plan;
  plan.rule = kRuleName;
  plan.panel = LowBitPanel(query.m, query.n, query.weight_bits, target);
  plan.k_group = kWordBytes;
  plan.cost = 2.0 * query.m * query.n * query.k / 1e11;
  return plan;
}

std::optional<KernelPlan> QueryContraction(const KernelQuery& query, const Target& target) {
  if (query.weight_bits > 0) return QueryLowBits(query, target);
  if (query.tile_op != "gemm" && query.tile_op != "conv2d") return std::nullopt;
  if (query.groups > 1 && query.n == 1) return std::nullopt;  // no columns to tile
  const DataType dtype = SumType(query.out_dtype);
  auto step = ChooseDotStep(query.a_dtype, query.b_dtype, dtype, target);
  if (!step) return std::nullopt;
  KernelPlan plan;
  plan.rule = kRuleName;
  if (query.tile_op == "conv2d") plan.data_layout = "NHWC";
  if (query.constant_b) {
    // In words both have one width.
    const int64_t narrower = step->group > 1 ? 1 : dtype.bits() / query.b_dtype.bits();
    plan.panel = PanelColumns(query.m, query.n, dtype, target, narrower);
    if (query.groups > 1) plan.panel = std::min(plan.panel, GroupColumns(query.n));
    plan.k_group = step->group;
    plan.column_sums = step->shifts_a;
  }
  const double flops = 2.0 * query.batch * query.groups * query.m * query.n * query.k;
  plan.cost = flops / 1e11 / static_cast<double>(step->group);
  return plan;
}

/// Gives the emitter of a group to `use`; false with a reason when this rule has none.
template <typename F>
bool WithEmitter(const tirx::PrimFunc& func, const Target& target, const KernelKnobs& knobs,
                 std::string* why, F use) {
  auto group = ParseGroup(func, why);
  if (!group) return false;
  if (group->anchor < 0) {
    *why = "no anchor";
    return false;
  }
  auto contraction = ReadContraction(*group, target, why);
  if (!contraction) return false;
  auto epilogue = ReadEpilogue(*group, why);
  if (!epilogue) return false;
  ContractionEmitter emitter(*group, *std::move(contraction), *std::move(epilogue), target, knobs);
  use(&emitter);
  return true;
}

std::optional<tirx::PrimFunc> EmitContraction(const tirx::PrimFunc& func, const Target& target,
                                              const KernelKnobs& knobs, std::string* why) {
  std::optional<tirx::PrimFunc> result;
  WithEmitter(func, target, knobs, why,
              [&](ContractionEmitter* emitter) { result = ScheduledFunc(func, emitter->Emit()); });
  return result;
}

std::vector<KernelCandidate> ContractionCandidates(const tirx::PrimFunc& func,
                                                   const Target& target) {
  std::vector<KernelCandidate> list;
  std::string why;
  WithEmitter(func, target, {}, &why,
              [&](ContractionEmitter* emitter) { list = emitter->Candidates(); });
  return list;
}

const bool kRegistered =
    RegisterRule({kRuleName, 100, QueryContraction, EmitContraction, ContractionCandidates});

}  // namespace
}  // namespace kernels
}  // namespace tvm
