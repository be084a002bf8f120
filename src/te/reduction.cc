// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Reductions whose combiner is given by functions.
#include <tvm/te/operation.h>

#include <string>

namespace tvm {
namespace te {

using tirx::CommReducer;
using tirx::Reduce;

ffi::Array<PrimExpr> comm_reduce(FCombine combine, FIdentity identity, ffi::Array<PrimExpr> sources,
                                 ffi::Array<IterVar> axis, PrimExpr condition) {
  if (axis.empty()) return sources;
  ffi::Array<Var> lhs, rhs;
  ffi::Array<DataType> dtypes;
  for (size_t i = 0; i < sources.size(); ++i) {
    std::string suffix = sources.size() == 1 ? "" : "_" + std::to_string(i);
    DataType dtype = sources[i].dtype();
    lhs.push_back(Var("x" + suffix, dtype));
    rhs.push_back(Var("y" + suffix, dtype));
    dtypes.push_back(dtype);
  }
  CommReducer reducer(lhs, rhs, combine(lhs, rhs), identity(dtypes));
  ffi::Array<PrimExpr> results;
  for (size_t i = 0; i < sources.size(); ++i) {
    results.push_back(Reduce(reducer, sources, axis, condition, static_cast<int>(i), {}));
  }
  return results;
}

}  // namespace te
}  // namespace tvm
