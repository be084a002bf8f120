// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file
/// \brief Operators of a group as one function of blocks.
#ifndef TVM_SRC_RELAX_TRANSFORM_KERNEL_BUILDER_H_
#define TVM_SRC_RELAX_TRANSFORM_KERNEL_BUILDER_H_

#include <tvm/relax/op_row.h>
#include <tvm/target/target.h>
#include <tvm/te/operation.h>
#include <tvm/tirx/function.h>

#include <string>
#include <unordered_map>
#include <vector>

namespace tvm {
namespace relax {

/// A kernel and how to call it.
struct Kernel {
  tirx::PrimFunc func;
  /// Tensor operands in the order of the function's parameters; fields of tuple variables appear
  /// as TupleGetItem.
  Array<Expr> args;
  /// Symbolic values that no buffer shape gives, as a ShapeExpr.
  Optional<Expr> symbols;
  /// One tensor type, or a tuple of them.
  Type out_ty;
  std::string name;
};

class KernelBuilder {
 public:
  explicit KernelBuilder(Target target) : target_(std::move(target)) {}

  /// Add an operator call; its result is known as `var` to later calls.
  void Add(const Var& var, const Call& call, Map<String, ffi::Any> anchor_attrs = {});
  /// `var` stands for field `index` of an earlier tuple result.
  void AddGetItem(const Var& var, const TupleGetItemNode* item);
  /// Read `expr` through `tensor` instead of a parameter of its own shape (packed weights).
  void BindInput(const Expr& expr, const Expr& actual, const te::Tensor& tensor);
  /// Whether an operand was produced inside the group.
  bool IsInternal(const Expr& expr) const;
  /// The function computing `outputs`; tensors are flattened over tuples.
  Kernel Finish(const std::vector<Var>& outputs);

  /// Results in outputs are counted by tensors: 1, or the tuple's fields.
  static int NumTensors(const Type& ty);

 private:
  std::vector<te::Tensor> TensorsOf(const Expr& expr);
  te::Tensor Input(const Expr& expr, const TensorTypeNode* ty);

  Target target_;
  std::unordered_map<const ffi::Object*, std::vector<te::Tensor>> values_;
  std::vector<te::Tensor> inputs_;
  Array<Expr> args_;
  std::vector<PrimExpr> scalars_;
  std::string name_;
  int num_ops_ = 0;
};

/// Whether the operator's rule can compute this call: it has one and all shapes are known.
bool CanLower(const Call& call);
/// The call of a kernel; adds the function to the builder's module.
Expr CallKernel(const BlockBuilder& builder, const Kernel& kernel);

}  // namespace relax
}  // namespace tvm

#endif  // TVM_SRC_RELAX_TRANSFORM_KERNEL_BUILDER_H_
