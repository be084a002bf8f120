// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file
/// \brief Constant weights in the panels that kernel rules want.
#ifndef TVM_SRC_RELAX_TRANSFORM_WEIGHT_PACKING_H_
#define TVM_SRC_RELAX_TRANSFORM_WEIGHT_PACKING_H_

#include <tvm/kernels/rule.h>
#include <tvm/relax/expr.h>

#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "relax/transform/late_constants.h"

namespace tvm {
namespace relax {

/// A weight, and what belongs to it, replaced by packed forms; what the anchor block must say.
struct PackedWeight {
  /// Operands of the anchor, and what is read in their place.
  std::vector<std::pair<Expr, Expr>> operands;
  Map<String, ffi::Any> anchor_attrs;
  std::string key;
};

class WeightPacking {
 public:
  /// Weights may be variables of `late`, which must outlive this and the functions they stand in.
  WeightPacking(Target target, const LateConstants* late)
      : target_(std::move(target)), late_(late) {}
  /// What to do with the weight of a product or convolution; annotations only when there is nothing
  /// to pack.
  PackedWeight Plan(const Call& anchor);

 private:
  /// Whether it is a weight that can be packed, made already or not.
  bool IsConstant(const Expr& e) const;
  /// Its elements.
  ffi::Tensor DataOf(const Expr& weight) const;
  PackedWeight PlanMatmul(const Call& call);
  PackedWeight PlanConv2d(const Call& call);
  PackedWeight PlanLowBitMatmul(const Call& call);
  /// The plan of a convolution with a weight that can be packed: of several that may be good, the
  /// one that was measured to be best.
  std::optional<kernels::KernelPlan> PlanOf(const Call& call, const kernels::KernelQuery& query);
  /// Fills `result` with a weight of k rows and n columns for each of some groups, row-major, as
  /// the plan wants it.
  void Pack(const Expr& weight, int64_t k, int64_t n, int64_t groups,
            const kernels::KernelPlan& plan, PackedWeight* result);
  /// A 3x3 weight in HWIO, transformed.
  Expr PackWinograd(const Expr& weight, int64_t ic, int64_t oc, int64_t panel);

  Target target_;
  const LateConstants* late_;
  /// The weight, rows, columns, and the form.
  using Key = std::tuple<const ffi::Object*, int64_t, int64_t, std::string>;
  std::map<Key, Expr> packed_;
};

/// What the planner tells the kernel layer about a convolution with static shapes; nullopt else.
std::optional<kernels::KernelQuery> QueryOfConv2d(const Call& call);

}  // namespace relax
}  // namespace tvm

#endif  // TVM_SRC_RELAX_TRANSFORM_WEIGHT_PACKING_H_
