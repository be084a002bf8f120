// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file
/// \brief What lowering rules get, and the rules shared between rows.
#ifndef TVM_SRC_RELAX_OP_LOWER_H_
#define TVM_SRC_RELAX_OP_LOWER_H_

#include <tvm/relax/op_row.h>
#include <tvm/target/target.h>
#include <tvm/te/operation.h>

#include <string>
#include <vector>

#include "relax/op/scalar_fns.h"

namespace tvm {
namespace relax {

/// Key of `anchor_attrs`: what the border of a convolution holds, a double; 0 without it.
inline constexpr const char* kBorder = "border";

/// The operands of a call as tensors of the compute language, and where its results go.
struct LowerArgs {
  const CallNode* call = nullptr;
  const OpRow* row = nullptr;
  /// Tensors of operand i: one, the fields of a tuple, or none for shapes and scalars.
  std::vector<std::vector<te::Tensor>> tensors;
  Target target;
  /// Annotations for the anchor block (kernel rule, packing), set by the planner.
  Map<String, ffi::Any> anchor_attrs;
  /// Results, one per output.
  Array<te::Tensor> out;

  /// The tensor of operand i.
  const te::Tensor& operator[](int i) const {
    TVM_FFI_ICHECK(static_cast<size_t>(i) < tensors.size() && tensors[i].size() == 1)
        << "operand " << i << " of relax." << row->name << " is no tensor";
    return tensors[i][0];
  }
  Array<te::Tensor> Tuple(int i) const {
    return Array<te::Tensor>(tensors[i].begin(), tensors[i].end());
  }
  bool HasTensor(int i) const {
    return static_cast<size_t>(i) < tensors.size() && tensors[i].size() == 1;
  }
  size_t size() const { return call->args.size(); }
  /// Operand i as a scalar expression, or undefined when it is a tensor.
  PrimExpr Prim(int i) const {
    if (call->args[i]->ty.as<PrimTypeNode>()) return Downcast<PrimExpr>(call->args[i]);
    return PrimExpr();
  }
  template <typename T>
  const T& Attrs() const {
    return *call->attrs.as<T>();
  }
  /// Type of output i.
  TVM_DLL const TensorTypeNode* OutType(int i = 0) const;
  Array<PrimExpr> OutShape(int i = 0) const { return OutType(i)->GetShape().value(); }
  DataType OutDtype(int i = 0) const { return OutType(i)->ElementType(); }
  /// Name for the computed block, from the operator's.
  String BlockName() const;
};

/// An element-wise result of operand 0 and of type `dtype`.
te::Tensor MapElements(const te::Tensor& x, const LowerArgs& a, const char* tag,
                       const std::function<PrimExpr(PrimExpr)>& f);
/// The element of `t` at the broadcast position `i` of an output with `out_ndim` dimensions.
PrimExpr BroadcastRead(const te::Tensor& t, const Array<Var>& i);

void LowerUnaryWith(LowerArgs& a, PrimExpr (*f)(PrimExpr));
void LowerBinaryWith(LowerArgs& a, PrimExpr (*f)(PrimExpr, PrimExpr));

template <PrimExpr (*F)(PrimExpr)>
void LowerUnary(LowerArgs& a) {
  LowerUnaryWith(a, F);
}
template <PrimExpr (*F)(PrimExpr, PrimExpr)>
void LowerBinary(LowerArgs& a) {
  LowerBinaryWith(a, F);
}
void LowerClip(LowerArgs& a);
void LowerFma(LowerArgs& a);
void LowerAstype(LowerArgs& a);
void LowerWhere(LowerArgs& a);

}  // namespace relax
}  // namespace tvm

#endif  // TVM_SRC_RELAX_OP_LOWER_H_
