// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include "kernels/vector_transpose.h"

#include <tvm/tirx/op.h>

#include <utility>

#include "kernels/names.h"
#include "kernels/vector_exprs.h"

namespace tvm {
namespace kernels {

PrimExpr ShuffleTwo(const PrimExpr& a, const PrimExpr& b, int64_t lanes,
                    const std::function<int64_t(int64_t)>& pick) {
  Array<PrimExpr> indices;
  for (int64_t i = 0; i < lanes; ++i) indices.push_back(IntImm::Int32(pick(i)));
  return tirx::Shuffle({a, b}, indices);
}

void TransposeVectors(std::vector<Var>* rows, Array<Stmt>* seq) {
  const int64_t lanes = static_cast<int64_t>(rows->size());
  for (int64_t round = 1; round < lanes; round *= 2) {
    std::vector<Var> next;
    for (int64_t i = 0; i < lanes / 2; ++i) {
      PrimExpr a = rows->at(static_cast<size_t>(i)),
               b = rows->at(static_cast<size_t>(i + lanes / 2));
      for (int64_t half : {int64_t{0}, lanes / 2}) {
        next.emplace_back("t", a.dtype());
        seq->push_back(Bind(next.back(), ShuffleTwo(a, b, lanes, [&](int64_t lane) {
                              return lane / 2 + half + (lane % 2) * lanes;
                            })));
      }
    }
    *rows = std::move(next);
  }
}

PrimExpr SumsOfLanes(std::vector<PrimExpr> vectors, Array<Stmt>* seq) {
  const DataType type = vectors[0].dtype();
  const int64_t lanes = type.lanes();
  vectors.resize(static_cast<size_t>(lanes), Splat(make_zero(type.element_of()), lanes));
  while (vectors.size() > 1) {
    std::vector<PrimExpr> next;
    for (size_t i = 0; i < vectors.size(); i += 2) {
      const PrimExpr a = Named("a", vectors[i], seq), b = Named("b", vectors[i + 1], seq);
      auto every_other = [&](int64_t first) {
        return ShuffleTwo(a, b, lanes, [&](int64_t lane) { return 2 * lane + first; });
      };
      next.push_back(Named("sum", every_other(0) + every_other(1), seq));
    }
    vectors = std::move(next);
  }
  return vectors[0];
}

}  // namespace kernels
}  // namespace tvm
