// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file
/// \brief Lowering rules of the operator families.
#ifndef TVM_SRC_RELAX_OP_LOWER_RULES_H_
#define TVM_SRC_RELAX_OP_LOWER_RULES_H_

#include <tvm/ffi/any.h>
#include <tvm/runtime/base.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tvm {
namespace relax {

struct LowerArgs;

/// A slice of one dimension after numpy's clamping.
struct SliceBounds {
  int64_t begin;
  int64_t stride;
  int64_t length;
};
TVM_DLL SliceBounds ResolveSlice(int64_t dim, int64_t begin, int64_t end, int64_t stride);

/// Labels of the operands and the result of an einsum; an ellipsis becomes labels 1, 2, ...
struct EinsumSpec {
  std::vector<std::string> inputs;
  std::string output;
};
EinsumSpec ParseEinsum(std::string_view text, const std::vector<int>& ndims);
/// One entry of split's `indices_or_sections`.
int64_t SplitIndex(const ffi::Any& v);

#define TVM_RX_LOWER(Name) void Lower##Name(LowerArgs& a);
// create, index
TVM_RX_LOWER(Full)
TVM_RX_LOWER(FullLike)
TVM_RX_LOWER(Ones)
TVM_RX_LOWER(Zeros)
TVM_RX_LOWER(Eye)
TVM_RX_LOWER(Arange)
TVM_RX_LOWER(HammingWindow)
TVM_RX_LOWER(Tril)
TVM_RX_LOWER(Triu)
TVM_RX_LOWER(Take)
TVM_RX_LOWER(StridedSlice)
TVM_RX_LOWER(ShapeToTensor)
TVM_RX_LOWER(Size)
// linear algebra
TVM_RX_LOWER(Matmul)
TVM_RX_LOWER(Einsum)
TVM_RX_LOWER(Outer)
// manipulation
TVM_RX_LOWER(BroadcastTo)
TVM_RX_LOWER(Reshape)
TVM_RX_LOWER(PermuteDims)
TVM_RX_LOWER(Concat)
TVM_RX_LOWER(Split)
TVM_RX_LOWER(Stack)
TVM_RX_LOWER(Repeat)
TVM_RX_LOWER(Tile)
TVM_RX_LOWER(Flip)
TVM_RX_LOWER(ReverseSequence)
TVM_RX_LOWER(CollapseSum)
TVM_RX_LOWER(PixelShuffle)
// reductions, search
TVM_RX_LOWER(Sum)
TVM_RX_LOWER(Prod)
TVM_RX_LOWER(Max)
TVM_RX_LOWER(Min)
TVM_RX_LOWER(Mean)
TVM_RX_LOWER(Variance)
TVM_RX_LOWER(Std)
TVM_RX_LOWER(Cumsum)
TVM_RX_LOWER(Cumprod)
TVM_RX_LOWER(Argmax)
TVM_RX_LOWER(Argmin)
TVM_RX_LOWER(Bucketize)
TVM_RX_LOWER(Sort)
TVM_RX_LOWER(Argsort)
TVM_RX_LOWER(TopK)
// nn
TVM_RX_LOWER(Conv)
TVM_RX_LOWER(ConvTranspose)
TVM_RX_LOWER(MaxPool)
TVM_RX_LOWER(AvgPool)
TVM_RX_LOWER(AdaptiveAvgPool)
TVM_RX_LOWER(LeakyRelu)
TVM_RX_LOWER(Softplus)
TVM_RX_LOWER(PRelu)
TVM_RX_LOWER(Softmax)
TVM_RX_LOWER(LogSoftmax)
TVM_RX_LOWER(BatchNorm)
TVM_RX_LOWER(LayerNorm)
TVM_RX_LOWER(GroupNorm)
TVM_RX_LOWER(InstanceNorm)
TVM_RX_LOWER(RMSNorm)
TVM_RX_LOWER(Dropout)
TVM_RX_LOWER(Attention)
TVM_RX_LOWER(Pad)
TVM_RX_LOWER(CrossEntropy)
TVM_RX_LOWER(LSTM)
// gather, image
TVM_RX_LOWER(GatherElements)
TVM_RX_LOWER(GatherND)
TVM_RX_LOWER(IndexTensor)
TVM_RX_LOWER(IndexPut)
TVM_RX_LOWER(Meshgrid)
TVM_RX_LOWER(ScatterElements)
TVM_RX_LOWER(ScatterND)
TVM_RX_LOWER(SliceScatter)
TVM_RX_LOWER(OneHot)
TVM_RX_LOWER(Resize)
TVM_RX_LOWER(GridSample)
#undef TVM_RX_LOWER

}  // namespace relax
}  // namespace tvm

#endif  // TVM_SRC_RELAX_OP_LOWER_RULES_H_
