// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file
/// \brief Which products are worth an operand of bfloat16: for NarrowProducts.
#ifndef TVM_SRC_RELAX_TRANSFORM_PRODUCT_KINDS_H_
#define TVM_SRC_RELAX_TRANSFORM_PRODUCT_KINDS_H_

#include <tvm/relax/expr.h>

#include <optional>
#include <string_view>
#include <unordered_set>

namespace tvm {
namespace relax {
namespace transform {

/// Name of the operator that a call is of, without "relax."; empty for anything else.
std::string_view OpNameOf(const CallNode* call);

/// Whether a value is a tensor of that data type.
bool HasType(const Type& ty, DataType dtype);

/// A product or convolution of two float32 operands.
bool IsProduct(const CallNode* call);

/// A convolution with one channel of weights for each channel of data.
bool IsDepthwise(const CallNode* call);

/// A product of one row with a constant matrix: its time is that of reading the matrix.
bool IsOneRow(const CallNode* call);

/// Multiply-adds of a product; nullopt where shapes are not constant.
std::optional<double> MultiplyAdds(const CallNode* call);

/// The products that stay in float32, as what they gain is not worth their share of the error: a
/// product adds about as much to the error as any other, however small it is. They are
/// - products with constants that are small beside all others, up to some thousandths of the time;
/// - products of two activations, up to a few hundredths: scores of attention, whose error goes
///   through exponentials. Not those of a softmax: its values are at most 1, their errors average;
/// - those of one row that are too small to gain by fewer bytes;
/// - all but rows in a function that takes tens of microseconds anyway.
/// Where a shape is not constant only rows are.
std::unordered_set<const CallNode*> WideProducts(const Function& func);

}  // namespace transform
}  // namespace relax
}  // namespace tvm

#endif  // TVM_SRC_RELAX_TRANSFORM_PRODUCT_KINDS_H_
