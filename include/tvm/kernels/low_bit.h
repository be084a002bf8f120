// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Weights of 4 or 8 bits that are dequantized while they are multiplied.
///
///   B[k, n] = (q[k, n] - zero[k // block, n]) * scale[k // block, n]
///
/// q is unsigned and lies in a matrix of bytes, whose rows come in fours: four rows of a column are
/// one word of 32 bits. With 8 bits row r holds element r; with 4 bits, word w holds the elements
/// 8 w .. 8 w + 7, four in the lower halves of its bytes, then four in the upper ones, so that an
/// instruction that multiplies the bytes of a word takes neighbours.
///
///   row of word w |  4 bits: low, high half  |  8 bits
///              0  |        8 w, 8 w + 4      |   4 w
///              1  |    8 w + 1, 8 w + 5      |  4 w + 1        ...
///
/// A packed weight is P[n // panel, row // 4, n % panel, row % 4], its scales and zero points
/// S[n // panel, k // block, n % panel], so that all that a panel needs is read in order. What has
/// one value for all of the weight is a scalar.
#ifndef TVM_KERNELS_LOW_BIT_H_
#define TVM_KERNELS_LOW_BIT_H_

#include <tvm/ir/expr.h>

#include <cstdint>
#include <functional>

namespace tvm {
namespace kernels {

/// Rows of bytes in a word.
inline constexpr int64_t kWordBytes = 4;
/// Elements of one column in a word; `bits` is 4 or 8.
inline int64_t WordElements(int bits) { return 32 / bits; }
/// Rows of bytes that k elements of a column take.
inline int64_t LowBitRows(int64_t k, int bits) {
  return bits == 8 ? k : (k + WordElements(bits) - 1) / WordElements(bits) * kWordBytes;
}
/// Row of bytes that holds element k, and the position of its lowest bit there.
inline int64_t LowBitRow(int64_t k, int bits) { return bits == 8 ? k : k / 8 * 4 + k % 4; }
inline int LowBitShift(int64_t k, int bits) {
  return bits == 8 ? 0 : static_cast<int>(k % 8 / 4 * 4);
}

/// Element k as uint8, where `byte` reads a row of bytes.
TVM_DLL PrimExpr LowBitElement(const PrimExpr& k, int bits,
                               const std::function<PrimExpr(const PrimExpr& row)>& byte);

}  // namespace kernels
}  // namespace tvm

#endif  // TVM_KERNELS_LOW_BIT_H_
