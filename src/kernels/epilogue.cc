// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include "kernels/epilogue.h"

#include <tvm/ir/expr_functor.h>
#include <tvm/tirx/op.h>

namespace tvm {
namespace kernels {

using ffi::Map;
using tirx::BufferLoadNode;

std::optional<Epilogue> ReadEpilogue(const Group& group, std::string* why) {
  const Stage& anchor = group.stages[group.anchor];
  const Stage& last = group.stages.back();
  auto decline = [&](const char* reason) {
    *why = reason;
    return std::nullopt;
  };
  if (&anchor == &last) return Epilogue{&last, PrimExpr(), anchor.indices};
  for (size_t i = group.anchor + 1; i < group.stages.size(); ++i) {
    if (!group.stages[i].reduce.empty()) return decline("a reduction after the anchor");
    if (i + 1 < group.stages.size() && group.IsParam(group.stages[i].output)) {
      return decline("several outputs");
    }
  }
  if (group.IsParam(anchor.output)) return decline("the anchor is an output and is read again");
  PrimExpr value =
      InlineProducers(group, last.value, static_cast<int>(group.stages.size()), {anchor.output});
  Map<Var, PrimExpr> iters;  // iterations of the output in terms of the anchor's
  const BufferLoadNode* first = nullptr;
  bool same = true;
  PostOrderVisitExpr(value, [&](const Expr& node) {
    const auto* load = node.as<BufferLoadNode>();
    if (load == nullptr || !load->buffer.same_as(anchor.output)) return;
    if (first == nullptr) first = load;
    for (size_t i = 0; i < load->indices.size(); ++i) {
      same = same && ExprDeepEqual()(load->indices[i], first->indices[i]);
    }
  });
  if (first == nullptr || !same) return decline("the epilogue reads the anchor at several places");
  for (size_t i = 0; i < first->indices.size(); ++i) {
    const auto* position = anchor.indices[i].as<VarNode>();
    if (is_zero(first->indices[i])) continue;
    const auto* var = first->indices[i].as<VarNode>();
    if (var == nullptr || position == nullptr || iters.count(ffi::GetRef<Var>(var))) {
      return decline("the epilogue permutes the anchor in another way");
    }
    iters.Set(ffi::GetRef<Var>(var), ffi::GetRef<Var>(position));
  }
  for (const Iter& iter : last.spatial) {
    if (iters.count(iter.var)) continue;
    if (iter.extent != 1) return decline("the epilogue broadcasts the anchor");
    iters.Set(iter.var, Index(0));
  }
  return Epilogue{&last, Substitute(value, iters), last.indices.Map([&](const PrimExpr& index) {
                    return Substitute(index, iters);
                  })};
}

}  // namespace kernels
}  // namespace tvm
