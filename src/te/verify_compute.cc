// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include "te/verify_compute.h"

#include <tvm/ir/expr_functor.h>

namespace tvm {
namespace te {

using tirx::ReduceNode;

namespace {

void RejectReduceBelow(const ffi::String& name, const PrimExpr& expr) {
  PostOrderVisitExpr(expr, [&](const Expr& e) {
    if (e.as<ReduceNode>() == nullptr) return;
    TVM_FFI_THROW(ValueError) << "compute " << name << ": reductions are only allowed at the top "
                              << "level of the body, but one is nested in " << expr;
  });
}

bool SameReduction(const ReduceNode* a, const ReduceNode* b) {
  auto same = [](const auto& x, const auto& y) {
    if (x.same_as(y)) return true;
    if (x.size() != y.size()) return false;
    for (size_t i = 0; i < x.size(); ++i) {
      if (!x[i].same_as(y[i])) return false;
    }
    return true;
  };
  return a->combiner.same_as(b->combiner) && same(a->source, b->source) && same(a->axis, b->axis) &&
         same(a->init, b->init) && ExprDeepEqual()(a->condition, b->condition);
}

}  // namespace

void VerifyComputeBody(const ffi::String& name, const ffi::Array<PrimExpr>& body) {
  if (body.empty()) TVM_FFI_THROW(ValueError) << "compute " << name << " has no output";
  const auto* first = body[0].as<ReduceNode>();
  for (const PrimExpr& expr : body) {
    const auto* reduce = expr.as<ReduceNode>();
    if ((reduce == nullptr) != (first == nullptr)) {
      TVM_FFI_THROW(ValueError) << "compute " << name << ": either all outputs are reductions, or "
                                << "none is";
    }
    if (reduce == nullptr) {
      RejectReduceBelow(name, expr);
      continue;
    }
    for (const PrimExpr& source : reduce->source) RejectReduceBelow(name, source);
    RejectReduceBelow(name, reduce->condition);
    if (!SameReduction(first, reduce)) {
      TVM_FFI_THROW(ValueError) << "compute " << name << ": outputs of one reduction must share "
                                << "its combiner, sources, axes, condition and init";
    }
  }
}

}  // namespace te
}  // namespace tvm
