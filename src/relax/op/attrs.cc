// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file
/// \brief Reflection of the attribute structures.
#include <tvm/relax/attrs.h>

namespace tvm {
namespace relax {

TVM_FFI_STATIC_INIT_BLOCK() {
  CallTIRWithGradAttrs::RegisterReflection();
  CallTIRInplaceAttrs::RegisterReflection();
  CallInplacePackedAttrs::RegisterReflection();
  ToVDeviceAttrs::RegisterReflection();
  HintOnDeviceAttrs::RegisterReflection();
  InitAttrs::RegisterReflection();
  TriluAttrs::RegisterReflection();
  AstypeAttrs::RegisterReflection();
  WindowAttrs::RegisterReflection();
  TakeAttrs::RegisterReflection();
  StridedSliceAttrs::RegisterReflection();
  MatmulAttrs::RegisterReflection();
  EinsumAttrs::RegisterReflection();
  ConcatAttrs::RegisterReflection();
  ExpandDimsAttrs::RegisterReflection();
  PermuteDimsAttrs::RegisterReflection();
  SplitAttrs::RegisterReflection();
  SqueezeAttrs::RegisterReflection();
  StackAttrs::RegisterReflection();
  RepeatAttrs::RegisterReflection();
  TileAttrs::RegisterReflection();
  FlipAttrs::RegisterReflection();
  ReverseSequenceAttrs::RegisterReflection();
  GatherElementsAttrs::RegisterReflection();
  GatherNDAttrs::RegisterReflection();
  IndexPutAttrs::RegisterReflection();
  MeshgridAttrs::RegisterReflection();
  ScatterElementsAttrs::RegisterReflection();
  ScatterNDAttrs::RegisterReflection();
  SliceScatterAttrs::RegisterReflection();
  OneHotAttrs::RegisterReflection();
  StatisticalAttrs::RegisterReflection();
  MedianAttrs::RegisterReflection();
  ScanopAttrs::RegisterReflection();
  ArgmaxArgminAttrs::RegisterReflection();
  BucketizeAttrs::RegisterReflection();
  SortAttrs::RegisterReflection();
  ArgsortAttrs::RegisterReflection();
  TopKAttrs::RegisterReflection();
  MultinomialFromUniformAttrs::RegisterReflection();
  Conv1DAttrs::RegisterReflection();
  Conv2DAttrs::RegisterReflection();
  Conv3DAttrs::RegisterReflection();
  Conv1DTransposeAttrs::RegisterReflection();
  Conv2DTransposeAttrs::RegisterReflection();
  Conv3DTransposeAttrs::RegisterReflection();
  Pool1DAttrs::RegisterReflection();
  Pool2DAttrs::RegisterReflection();
  Pool3DAttrs::RegisterReflection();
  AdaptivePool1DAttrs::RegisterReflection();
  AdaptivePool2DAttrs::RegisterReflection();
  AdaptivePool3DAttrs::RegisterReflection();
  LeakyReluAttrs::RegisterReflection();
  PReluAttrs::RegisterReflection();
  SoftplusAttrs::RegisterReflection();
  SoftmaxAttrs::RegisterReflection();
  BatchNormAttrs::RegisterReflection();
  LayerNormAttrs::RegisterReflection();
  GroupNormAttrs::RegisterReflection();
  InstanceNormAttrs::RegisterReflection();
  RMSNormAttrs::RegisterReflection();
  NLLLossAttrs::RegisterReflection();
  DropoutAttrs::RegisterReflection();
  AttentionAttrs::RegisterReflection();
  PadAttrs::RegisterReflection();
  PixelShuffleAttrs::RegisterReflection();
  LSTMAttrs::RegisterReflection();
  Resize2DAttrs::RegisterReflection();
  Resize3DAttrs::RegisterReflection();
  GridSampleAttrs::RegisterReflection();
  QuantizeAttrs::RegisterReflection();
  LowBitMatmulAttrs::RegisterReflection();
}

}  // namespace relax
}  // namespace tvm
