// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file
/// \brief Constant weights of integers, made ready for products of integers.
#ifndef TVM_SRC_RELAX_TRANSFORM_QUANTIZED_WEIGHT_H_
#define TVM_SRC_RELAX_TRANSFORM_QUANTIZED_WEIGHT_H_

#include <tvm/relax/expr.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace tvm {
namespace relax {

/// Weight - zero point as int8, and what is left of the zero point when that does not fit.
struct IntegerWeight {
  Expr value;                  ///< int8 constant
  std::vector<int64_t> sums;   ///< of `value`, one for each channel
  std::vector<int64_t> zeros;  ///< still to subtract, one for each channel; empty: nothing
};

/// \param q Constant of int8 or uint8.
/// \param zeros Zero points, one or one for each channel.
/// \param axis Dimension of the channels.
/// \param may_leave_zeros Whether the caller can subtract zero points itself.
/// \return nullopt when the difference does not fit and may not be left.
std::optional<IntegerWeight> PrepareWeight(const Expr& q, const std::vector<int64_t>& zeros,
                                           int axis, bool may_leave_zeros);

/// Weight - zero point, as int8 where it fits and as int16 where it does not.
std::optional<Expr> CenterWeight(const Expr& q, const std::vector<int64_t>& zeros, int axis);

/// Operands of nn.low_bit_matmul.
struct LowBitWeight {
  Expr weight, scale, zero;
  int64_t bits, block;
};
/// \param q Constant [k, n] of int8 or uint8; where its numbers span no more than 16, they take 4
/// bits.
/// \param scales Scales, and likewise zero points: one, one for each column, or [ceil(k / block),
/// n].
/// \param block Rows that share them, 0 for all.
/// \return nullopt when a word of the weight would have several scales.
std::optional<LowBitWeight> PackLowBits(const Expr& q, const std::vector<double>& scales,
                                        const std::vector<int64_t>& zeros, int64_t block);

/// The numbers of a constant in host memory; nullopt for anything else.
std::optional<std::vector<double>> NumbersOf(const Expr& e);
std::optional<std::vector<int64_t>> IntegersOf(const Expr& e);

/// Constant of int32 or float32 that varies along dimension `axis` of `rank` only; a scalar when
/// all values are the same.
Expr ChannelConstant(const std::vector<int64_t>& values, int rank, int axis);
Expr ChannelConstant(const std::vector<float>& values, int rank, int axis);
inline Expr ScalarConstant(double value) {
  return ChannelConstant(std::vector<float>{static_cast<float>(value)}, 0, 0);
}

/// Where a padded image [N, C, H, W] of static extents holds the image: bool [1, 1, rows, columns].
Expr InsideOf(const Expr& image, const ffi::Array<int64_t>& padding);

}  // namespace relax
}  // namespace tvm

#endif  // TVM_SRC_RELAX_TRANSFORM_QUANTIZED_WEIGHT_H_
