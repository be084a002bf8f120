// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// How a contraction multiplies: the data types, and how many steps of the reduction one
/// instruction takes.
///
///   u8 x s8 -> s32, VNNI    acc[lane] += sum_{j<4} a[j] * b[lane, j]      (vpdpbusd)
///   bf16 x bf16 -> f32      acc[lane] += sum_{j<2} a[j] * b[lane, j]      (vdpbf16ps, where fast)
///   everything else         acc[lane] += a * b[lane], operands widened first
#ifndef TVM_KERNELS_DOT_STEP_H_
#define TVM_KERNELS_DOT_STEP_H_

#include <tvm/runtime/data_type.h>
#include <tvm/target/target.h>

#include <cstdint>
#include <optional>

namespace tvm {
namespace kernels {

struct DotStep {
  /// Of the sums, and of the operands as they are multiplied.
  DataType acc, a, b;
  /// Steps of k in one multiplication. `group` neighbouring elements of A, or of a column of B, are
  /// one word, as wide as a sum.
  int64_t group = 1;
  /// A is signed but multiplied as unsigned, 128 larger; so each sum starts at -128 times the sum
  /// of its column of B.
  bool shifts_a = false;
};

/// The best way to multiply elements of `a` and `b` into sums of `acc` on the target; nullopt when
/// there is none (sums narrower than 32 bits, floats into integers).
TVM_DLL std::optional<DotStep> ChooseDotStep(DataType a, DataType b, DataType acc,
                                             const Target& target);

/// Type in which products are summed for results of `out`: narrow floats in float32.
DataType SumType(DataType out);

}  // namespace kernels
}  // namespace tvm

#endif  // TVM_KERNELS_DOT_STEP_H_
