// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Recognition of reductions: which associative, commutative combiner an update applies.
#ifndef TVM_SRC_S_TIR_SCHEDULE_REDUCER_H_
#define TVM_SRC_S_TIR_SCHEDULE_REDUCER_H_

#include <tvm/s_tir/stmt.h>

#include <functional>
#include <optional>
#include <vector>

namespace tvm {
namespace s_tir {

/// One reduction step: accumulators[i] = combiner(accumulators, sources)[i].
struct ReductionStep {
  std::vector<tirx::Buffer> buffers;
  ffi::Array<PrimExpr> indices;
  ffi::Array<PrimExpr> init;
  ffi::Array<PrimExpr> sources;
  tirx::CommReducer combiner;
};

/// The step that the body of a reduction block performs, after an init; nothing if its form or its
/// combiner is not known.
std::optional<ReductionStep> MatchReduction(const tirx::Stmt& init, const tirx::Stmt& body);

/// Makes a combiner known. `make` gets the types of n values.
using ReducerFactory =
    std::function<std::optional<tirx::CommReducer>(const std::vector<DataType>& dtypes)>;
void RegisterReducer(size_t num_values, ReducerFactory make);

}  // namespace s_tir
}  // namespace tvm

#endif  // TVM_SRC_S_TIR_SCHEDULE_REDUCER_H_
