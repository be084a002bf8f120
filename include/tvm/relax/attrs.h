// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file
/// \brief Attribute structures of the operators. Defaults are in the operator table.
#ifndef TVM_RELAX_ATTRS_H_
#define TVM_RELAX_ATTRS_H_

#include <tvm/ffi/reflection/registry.h>
#include <tvm/ir/attrs.h>
#include <tvm/ir/expr.h>

namespace tvm {
namespace relax {

// Applies `m` to each parenthesised (type, name) pair.
#define TVM_RX_PARENS ()
#define TVM_RX_EXPAND(...) TVM_RX_EXPAND2(TVM_RX_EXPAND2(TVM_RX_EXPAND2(__VA_ARGS__)))
#define TVM_RX_EXPAND2(...) TVM_RX_EXPAND1(TVM_RX_EXPAND1(TVM_RX_EXPAND1(__VA_ARGS__)))
#define TVM_RX_EXPAND1(...) __VA_ARGS__
#define TVM_RX_FOR_EACH(m, ...) __VA_OPT__(TVM_RX_EXPAND(TVM_RX_FOR_EACH_H(m, __VA_ARGS__)))
#define TVM_RX_FOR_EACH_H(m, pair, ...) \
  m pair __VA_OPT__(TVM_RX_FOR_EACH_AGAIN TVM_RX_PARENS(m, __VA_ARGS__))
#define TVM_RX_FOR_EACH_AGAIN() TVM_RX_FOR_EACH_H
#define TVM_RX_DECLARE(type, name) type name{};
#define TVM_RX_REFLECT(type, name) def.def_ro(#name, &Self::name);

/// Declares attribute structure `Name` with the given fields, key `relax.attrs.Name`.
#define TVM_RELAX_ATTRS(Name, ...)                                                \
  struct Name : public BaseAttrsNode {                                            \
    using Self = Name;                                                            \
    TVM_RX_FOR_EACH(TVM_RX_DECLARE, __VA_ARGS__)                                  \
    static void RegisterReflection() {                                            \
      ::tvm::ffi::reflection::ObjectDef<Name> def;                                \
      TVM_RX_FOR_EACH(TVM_RX_REFLECT, __VA_ARGS__)                                \
    }                                                                             \
    TVM_FFI_DECLARE_OBJECT_INFO_FINAL("relax.attrs." #Name, Name, BaseAttrsNode); \
  }

using Ints = ffi::Array<int64_t>;
using OptInt = ffi::Optional<int64_t>;
using OptInts = ffi::Optional<ffi::Array<int64_t>>;
using OptFloat = ffi::Optional<double>;
using StrAnyMap = ffi::Map<ffi::String, ffi::Any>;
using OptString = ffi::Optional<ffi::String>;

// call-like
TVM_RELAX_ATTRS(CallTIRWithGradAttrs, (ffi::String, te_grad_name), (StrAnyMap, te_grad_kwargs));
TVM_RELAX_ATTRS(CallTIRInplaceAttrs, (Ints, inplace_indices));
TVM_RELAX_ATTRS(CallInplacePackedAttrs, (Ints, inplace_indices));
TVM_RELAX_ATTRS(ToVDeviceAttrs, (ffi::ObjectRef, dst_vdevice));
TVM_RELAX_ATTRS(HintOnDeviceAttrs, (int64_t, device_type), (int64_t, index),
                (ffi::String, memory_scope));

// create, cast
TVM_RELAX_ATTRS(InitAttrs, (DataType, dtype));
TVM_RELAX_ATTRS(TriluAttrs, (int64_t, k));
TVM_RELAX_ATTRS(AstypeAttrs, (DataType, dtype));
TVM_RELAX_ATTRS(WindowAttrs, (int64_t, window_size), (bool, periodic), (double, alpha),
                (double, beta), (DataType, dtype));

// index
TVM_RELAX_ATTRS(TakeAttrs, (OptInt, axis), (ffi::String, mode));
TVM_RELAX_ATTRS(StridedSliceAttrs, (bool, assume_inbound));

// linear algebra
TVM_RELAX_ATTRS(MatmulAttrs, (DataType, out_dtype));
TVM_RELAX_ATTRS(EinsumAttrs, (ffi::String, subscripts));

// manipulation
TVM_RELAX_ATTRS(ConcatAttrs, (OptInt, axis));
TVM_RELAX_ATTRS(ExpandDimsAttrs, (Ints, axis));
TVM_RELAX_ATTRS(PermuteDimsAttrs, (OptInts, axes));
TVM_RELAX_ATTRS(SplitAttrs, (ffi::Any, indices_or_sections), (int64_t, axis));
TVM_RELAX_ATTRS(SqueezeAttrs, (OptInts, axis));
TVM_RELAX_ATTRS(StackAttrs, (int64_t, axis));
TVM_RELAX_ATTRS(RepeatAttrs, (int64_t, repeats), (OptInt, axis));
TVM_RELAX_ATTRS(TileAttrs, (Ints, repeats));
TVM_RELAX_ATTRS(FlipAttrs, (int64_t, axis));
TVM_RELAX_ATTRS(ReverseSequenceAttrs, (int64_t, seq_axis), (int64_t, batch_axis));
TVM_RELAX_ATTRS(GatherElementsAttrs, (int64_t, axis));
TVM_RELAX_ATTRS(GatherNDAttrs, (int64_t, batch_dims));
TVM_RELAX_ATTRS(IndexPutAttrs, (bool, accumulate));
TVM_RELAX_ATTRS(MeshgridAttrs, (OptString, indexing));
TVM_RELAX_ATTRS(ScatterElementsAttrs, (int64_t, axis), (ffi::String, reduction));
TVM_RELAX_ATTRS(ScatterNDAttrs, (ffi::String, reduction));
TVM_RELAX_ATTRS(SliceScatterAttrs, (int64_t, axis));
TVM_RELAX_ATTRS(OneHotAttrs, (int64_t, depth), (int64_t, axis));

// statistics, search, order
TVM_RELAX_ATTRS(StatisticalAttrs, (OptInts, axis), (bool, keepdims));
TVM_RELAX_ATTRS(MedianAttrs, (OptInts, axis), (bool, keepdims));
TVM_RELAX_ATTRS(ScanopAttrs, (OptInt, axis), (DataType, dtype), (bool, exclusive));
TVM_RELAX_ATTRS(ArgmaxArgminAttrs, (OptInt, axis), (bool, keepdims));
TVM_RELAX_ATTRS(BucketizeAttrs, (bool, out_int32), (bool, right));
TVM_RELAX_ATTRS(SortAttrs, (int64_t, axis), (bool, descending));
TVM_RELAX_ATTRS(ArgsortAttrs, (int64_t, axis), (bool, descending), (DataType, dtype));
TVM_RELAX_ATTRS(TopKAttrs, (int64_t, k), (int64_t, axis), (ffi::String, ret_type), (bool, largest),
                (DataType, dtype));
TVM_RELAX_ATTRS(MultinomialFromUniformAttrs, (DataType, dtype));

// nn
#define TVM_RX_CONV_FIELDS                                                                 \
  (Ints, strides), (Ints, padding), (Ints, dilation), (int64_t, groups),                   \
      (ffi::String, data_layout), (ffi::String, kernel_layout), (ffi::String, out_layout), \
      (DataType, out_dtype)
#define TVM_RX_CONVT_FIELDS                                                                      \
  (Ints, strides), (Ints, padding), (Ints, output_padding), (Ints, dilation), (int64_t, groups), \
      (ffi::String, data_layout), (ffi::String, kernel_layout), (ffi::String, out_layout),       \
      (DataType, out_dtype)
TVM_RELAX_ATTRS(Conv1DAttrs, TVM_RX_CONV_FIELDS);
TVM_RELAX_ATTRS(Conv2DAttrs, TVM_RX_CONV_FIELDS);
TVM_RELAX_ATTRS(Conv3DAttrs, TVM_RX_CONV_FIELDS);
TVM_RELAX_ATTRS(Conv1DTransposeAttrs, TVM_RX_CONVT_FIELDS);
TVM_RELAX_ATTRS(Conv2DTransposeAttrs, TVM_RX_CONVT_FIELDS);
TVM_RELAX_ATTRS(Conv3DTransposeAttrs, TVM_RX_CONVT_FIELDS);
#define TVM_RX_POOL_FIELDS                                                                  \
  (Ints, pool_size), (Ints, strides), (Ints, padding), (Ints, dilation), (bool, ceil_mode), \
      (bool, count_include_pad), (ffi::String, layout), (ffi::String, out_layout)
TVM_RELAX_ATTRS(Pool1DAttrs, TVM_RX_POOL_FIELDS);
TVM_RELAX_ATTRS(Pool2DAttrs, TVM_RX_POOL_FIELDS);
TVM_RELAX_ATTRS(Pool3DAttrs, TVM_RX_POOL_FIELDS);
TVM_RELAX_ATTRS(AdaptivePool1DAttrs, (OptInts, output_size), (ffi::String, layout),
                (ffi::String, out_layout));
TVM_RELAX_ATTRS(AdaptivePool2DAttrs, (OptInts, output_size), (ffi::String, layout),
                (ffi::String, out_layout));
TVM_RELAX_ATTRS(AdaptivePool3DAttrs, (OptInts, output_size), (ffi::String, layout),
                (ffi::String, out_layout));
TVM_RELAX_ATTRS(LeakyReluAttrs, (double, alpha));
TVM_RELAX_ATTRS(PReluAttrs, (int64_t, axis));
TVM_RELAX_ATTRS(SoftplusAttrs, (double, beta), (double, threshold));
TVM_RELAX_ATTRS(SoftmaxAttrs, (int64_t, axis));
TVM_RELAX_ATTRS(BatchNormAttrs, (int64_t, axis), (double, epsilon), (bool, center), (bool, scale),
                (double, momentum), (bool, training));
TVM_RELAX_ATTRS(LayerNormAttrs, (Ints, axes), (double, epsilon), (bool, center), (bool, scale));
TVM_RELAX_ATTRS(GroupNormAttrs, (int64_t, num_groups), (int64_t, channel_axis), (Ints, axes),
                (double, epsilon), (bool, center), (bool, scale));
TVM_RELAX_ATTRS(InstanceNormAttrs, (int64_t, channel_axis), (Ints, axes), (double, epsilon),
                (bool, center), (bool, scale));
TVM_RELAX_ATTRS(RMSNormAttrs, (Ints, axes), (double, epsilon));
TVM_RELAX_ATTRS(NLLLossAttrs, (ffi::String, reduction), (int64_t, ignore_index));
TVM_RELAX_ATTRS(DropoutAttrs, (double, rate));
TVM_RELAX_ATTRS(AttentionAttrs, (OptFloat, scale), (OptString, causal_mask), (OptInt, window_size));
TVM_RELAX_ATTRS(PadAttrs, (Ints, pad_width), (double, pad_value), (ffi::String, pad_mode));
TVM_RELAX_ATTRS(PixelShuffleAttrs, (int64_t, upscale_factor));
TVM_RELAX_ATTRS(LSTMAttrs, (ffi::String, direction), (bool, linear_before_reset));

// image, quantisation
TVM_RELAX_ATTRS(Resize2DAttrs, (ffi::Array<double>, roi), (ffi::String, layout),
                (ffi::String, method), (ffi::String, coordinate_transformation_mode),
                (ffi::String, rounding_method), (double, cubic_alpha), (int64_t, cubic_exclude),
                (double, extrapolation_value), (DataType, out_dtype));
TVM_RELAX_ATTRS(Resize3DAttrs, (ffi::Array<double>, roi), (ffi::String, layout),
                (ffi::String, method), (ffi::String, coordinate_transformation_mode),
                (ffi::String, rounding_method), (double, cubic_alpha), (int64_t, cubic_exclude),
                (double, extrapolation_value), (DataType, out_dtype));
TVM_RELAX_ATTRS(GridSampleAttrs, (ffi::String, method), (ffi::String, layout),
                (ffi::String, padding_mode), (bool, align_corners));
TVM_RELAX_ATTRS(QuantizeAttrs, (DataType, out_dtype), (int64_t, axis), (int64_t, block_size));
TVM_RELAX_ATTRS(LowBitMatmulAttrs, (int64_t, bits), (int64_t, block_size));

}  // namespace relax
}  // namespace tvm

#endif  // TVM_RELAX_ATTRS_H_
