// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// What follows an anchor: the elementwise stages that a rule applies to its results in registers.
#ifndef TVM_KERNELS_EPILOGUE_H_
#define TVM_KERNELS_EPILOGUE_H_

#include <optional>
#include <string>
#include <vector>

#include "kernels/group.h"

namespace tvm {
namespace kernels {

/// The one output that consumes the anchor, with all stages in between inlined.
struct Epilogue {
  const Stage* stage;
  /// Null when the anchor itself is the output. Written in the iterations of the anchor; it reads
  /// the anchor's output at these iterations only.
  PrimExpr value;
  /// Where the output is stored, in the iterations of the anchor.
  ffi::Array<PrimExpr> indices;
};

/// nullopt with a reason when the stages after the anchor are more than that.
TVM_DLL std::optional<Epilogue> ReadEpilogue(const Group& group, std::string* why);

/// A term that the epilogue adds to every read of `sum`, and that no iteration of `rows` changes:
///
///   f(sum + bias[col])  =>  f(sum), and the sums start from bias[col]
///
/// Undefined, and the epilogue as it was, when there is none.
TVM_DLL PrimExpr TakeStart(const tirx::Buffer& sum, const std::vector<Iter>& rows,
                           Epilogue* epilogue);

/// About how many instructions an epilogue takes for one vector; 0 for none.
TVM_DLL int64_t EpilogueSteps(const PrimExpr& value);

}  // namespace kernels
}  // namespace tvm

#endif  // TVM_KERNELS_EPILOGUE_H_
