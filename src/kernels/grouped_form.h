// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// A convolution in many groups as the rule `grouped` sees it, see grouped.cc.
#ifndef TVM_KERNELS_GROUPED_FORM_H_
#define TVM_KERNELS_GROUPED_FORM_H_

#include <tvm/tirx/buffer.h>

#include <cstdint>
#include <optional>
#include <string>

#include "kernels/group.h"

namespace tvm {
namespace kernels {

/// One direction of the picture.
struct Direction {
  int64_t in, out, kernel, stride, dilation, pad;
  /// Positions that `outputs` results in a row read.
  int64_t Reads(int64_t outputs) const {
    return (outputs - 1) * stride + (kernel - 1) * dilation + 1;
  }
};

/// The anchor as read from its block.
struct GroupedForm {
  Direction h, w;
  int64_t batch, groups, in = 1, out = 1;  ///< channels of a group, read and computed
  PrimExpr value;                          ///< the summand, which holds what the next two point to
  const tirx::BufferLoadNode *x, *weight;
  PrimExpr border;
};

/// Reads the anchor, whose axes are (n, oh, ow, g, j); nullopt with a reason when it is anything
/// else than such a convolution.
std::optional<GroupedForm> ReadGroupedForm(const Group& group, std::string* why);

}  // namespace kernels
}  // namespace tvm

#endif  // TVM_KERNELS_GROUPED_FORM_H_
