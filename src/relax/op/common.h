// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file
/// \brief What type inference rules share: checked operands, broadcasting, axes.
#ifndef TVM_SRC_RELAX_OP_COMMON_H_
#define TVM_SRC_RELAX_OP_COMMON_H_

#include <tvm/ir/scalar_op.h>
#include <tvm/relax/analysis.h>
#include <tvm/relax/attrs.h>
#include <tvm/relax/op_row.h>

#include <optional>
#include <string>
#include <vector>

#include "relax/ir/utils.h"

namespace tvm {
namespace relax {

/// Operator name of a call, for messages.
std::string OpName(const Call& call);
/// Operand `i` as a tensor; TypeError when it is something else.
const TensorTypeNode* TensorArg(const Call& call, int i);
/// Tensor types of a tuple operand; TypeError when a field is no tensor.
std::vector<const TensorTypeNode*> TupleArg(const Call& call, int i);
/// Operand `i` as a scalar expression; TypeError otherwise.
PrimExpr PrimArg(const Call& call, int i);
/// Dimensions of a shape operand, or nullopt when they are unknown.
Optional<Array<PrimExpr>> ShapeArg(const Call& call, int i);
/// Whether operand `i` was given.
inline bool HasArg(const Call& call, int i) { return i < static_cast<int>(call->args.size()); }

/// TypeError unless the element type is floating point (or unknown).
void CheckFloat(const Call& call, const TensorTypeNode* ty);
/// `axis` in [0, ndim); ValueError when out of range.
int NormalizeAxis(const Call& call, int64_t axis, int ndim);
std::vector<int> NormalizeAxes(const Call& call, const Array<int64_t>& axes, int ndim);
/// ValueError unless the rank is `ndim` or unknown.
void CheckRank(const Call& call, int arg, const TensorTypeNode* ty, int ndim);

/// numpy broadcasting; nullopt when a symbolic pair cannot be decided.
Optional<Array<PrimExpr>> BroadcastDims(const Call& call, const BlockBuilder& ctx,
                                        const Array<PrimExpr>& a, const Array<PrimExpr>& b);
/// Type of an element-wise combination of tensors and scalars.
Type InferBroadcast(const Call& call, const BlockBuilder& ctx,
                    DataType (*out_dtype)(const Call&, DataType, DataType));
/// Tensor type with the dimensions if known, else the rank.
Type MakeTensorType(const Optional<Array<PrimExpr>>& dims, DataType dtype, int ndim,
                    const Optional<VDevice>& vdevice = std::nullopt);
/// Same shape, other element type.
Type WithDtype(const TensorTypeNode* ty, DataType dtype);

PrimExpr Simplify(const BlockBuilder& ctx, const PrimExpr& e);
PrimExpr Product(const Array<PrimExpr>& dims);
/// True when both are provably equal, false when provably different, else nullopt.
std::optional<bool> DimsEqual(const BlockBuilder& ctx, const PrimExpr& a, const PrimExpr& b);

/// ValueError when dimension `i` of both tensors is known and differs; `what` names the operands.
void CheckSameDim(const Call& call, const char* what, const PrimExpr& a, const PrimExpr& b, int i);
/// ValueError when elements are read from an axis that is known to have none.
void CheckReadable(const Call& call, const PrimExpr& extent, const Array<PrimExpr>& indices);

/// Position of each axis letter of a layout such as `NCHW`; -1 when absent.
int LayoutAxis(const String& layout, char axis);

}  // namespace relax
}  // namespace tvm

#endif  // TVM_SRC_RELAX_OP_COMMON_H_
