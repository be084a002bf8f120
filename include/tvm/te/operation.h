// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Operations of the compute language: placeholders, element-wise and reducing computations,
/// foreign code.
#ifndef TVM_TE_OPERATION_H_
#define TVM_TE_OPERATION_H_

#include <tvm/ir/expr_functor.h>
#include <tvm/te/tensor.h>
#include <tvm/tirx/stmt.h>

#include <functional>
#include <string>
#include <vector>

namespace tvm {
namespace te {

class PlaceholderOpNode : public OperationNode {
 public:
  ffi::Array<PrimExpr> shape;
  DataType dtype;

  int num_outputs() const final { return 1; }
  DataType output_dtype(size_t) const final { return dtype; }
  ffi::Array<PrimExpr> output_shape(size_t) const final { return shape; }
  ffi::Array<Tensor> InputTensors() const final { return {}; }

  static void RegisterReflection();
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("te.PlaceholderOp", PlaceholderOpNode, OperationNode);
};

class PlaceholderOp : public Operation {
 public:
  TVM_DLL PlaceholderOp(ffi::String name, ffi::Array<PrimExpr> shape, DataType dtype);
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(PlaceholderOp, Operation, PlaceholderOpNode);
};

/// Common part of computations over a box of iterations.
class BaseComputeOpNode : public OperationNode {
 public:
  ffi::Array<IterVar> axis;
  ffi::Array<IterVar> reduce_axis;

  ffi::Array<PrimExpr> output_shape(size_t i) const final;

  static void RegisterReflection();
  static constexpr uint32_t _type_child_slots = 2;
  TVM_FFI_DECLARE_OBJECT_INFO("te.BaseComputeOp", BaseComputeOpNode, OperationNode);
};

class ComputeOpNode : public BaseComputeOpNode {
 public:
  /// One expression per output; either none is a Reduce, or all are and share combiner and source.
  ffi::Array<PrimExpr> body;

  int num_outputs() const final { return static_cast<int>(body.size()); }
  DataType output_dtype(size_t i) const final;
  ffi::Array<Tensor> InputTensors() const final;

  static void RegisterReflection();
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("te.ComputeOp", ComputeOpNode, BaseComputeOpNode);
};

class ComputeOp : public Operation {
 public:
  TVM_DLL ComputeOp(ffi::String name, ffi::String tag, ffi::Map<ffi::String, ffi::Any> attrs,
                    ffi::Array<IterVar> axis, ffi::Array<PrimExpr> body);
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(ComputeOp, Operation, ComputeOpNode);
};

/// First-order recurrence along the leading axis.
class ScanOpNode : public OperationNode {
 public:
  IterVar scan_axis;
  ffi::Array<Tensor> init;
  ffi::Array<Tensor> update;
  ffi::Array<Tensor> state_placeholder;
  ffi::Array<Tensor> inputs;
  ffi::Array<IterVar> spatial_axis_;

  int num_outputs() const final { return static_cast<int>(update.size()); }
  DataType output_dtype(size_t i) const final;
  ffi::Array<PrimExpr> output_shape(size_t i) const final;
  ffi::Array<Tensor> InputTensors() const final;

  static void RegisterReflection();
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("te.ScanOp", ScanOpNode, OperationNode);
};

class ScanOp : public Operation {
 public:
  TVM_DLL ScanOp(ffi::String name, ffi::String tag, ffi::Map<ffi::String, ffi::Any> attrs,
                 IterVar axis, ffi::Array<Tensor> init, ffi::Array<Tensor> update,
                 ffi::Array<Tensor> state_placeholder, ffi::Array<Tensor> inputs);
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(ScanOp, Operation, ScanOpNode);
};

/// A computation written as a statement over buffers.
class ExternOpNode : public OperationNode {
 public:
  ffi::Array<Tensor> inputs;
  ffi::Array<tirx::Buffer> input_placeholders;
  ffi::Array<tirx::Buffer> output_placeholders;
  tirx::Stmt body;

  int num_outputs() const final { return static_cast<int>(output_placeholders.size()); }
  DataType output_dtype(size_t i) const final;
  ffi::Array<PrimExpr> output_shape(size_t i) const final;
  ffi::Array<Tensor> InputTensors() const final { return inputs; }

  static void RegisterReflection();
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("te.ExternOp", ExternOpNode, OperationNode);
};

class ExternOp : public Operation {
 public:
  TVM_DLL ExternOp(ffi::String name, ffi::String tag, ffi::Map<ffi::String, ffi::Any> attrs,
                   ffi::Array<Tensor> inputs, ffi::Array<tirx::Buffer> input_placeholders,
                   ffi::Array<tirx::Buffer> output_placeholders, tirx::Stmt body);
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(ExternOp, Operation, ExternOpNode);
};

/// Computes one element from its indices.
using FCompute = std::function<PrimExpr(const ffi::Array<Var>& indices)>;
/// Computes one element of each output.
using FBatchCompute = std::function<ffi::Array<PrimExpr>(const ffi::Array<Var>& indices)>;

TVM_DLL Var var(ffi::String name, DataType dtype = DataType::Int(32));
TVM_DLL IterVar thread_axis(Range dom, ffi::String tag);
TVM_DLL IterVar reduce_axis(Range dom, ffi::String name = "rv");

TVM_DLL Tensor placeholder(ffi::Array<PrimExpr> shape, DataType dtype = DataType::Float(32),
                           ffi::String name = "placeholder");
TVM_DLL Tensor compute(ffi::Array<PrimExpr> shape, FCompute fcompute, ffi::String name = "tensor",
                       ffi::String tag = "", ffi::Map<ffi::String, ffi::Any> attrs = {});
TVM_DLL ffi::Array<Tensor> compute(ffi::Array<PrimExpr> shape, FBatchCompute fcompute,
                                   ffi::String name = "tensor", ffi::String tag = "",
                                   ffi::Map<ffi::String, ffi::Any> attrs = {});
TVM_DLL ffi::Array<Tensor> scan(ffi::Array<Tensor> init, ffi::Array<Tensor> update,
                                ffi::Array<Tensor> state_placeholder,
                                ffi::Array<Tensor> inputs = {}, ffi::String name = "scan",
                                ffi::String tag = "", ffi::Map<ffi::String, ffi::Any> attrs = {});

/// Compute functions that take each index as an argument of its own.
template <typename F, typename = std::enable_if_t<std::is_invocable_v<F, Var>>>
Tensor compute(ffi::Array<PrimExpr> shape, F f, ffi::String name = "tensor", ffi::String tag = "",
               ffi::Map<ffi::String, ffi::Any> attrs = {}) {
  return compute(shape, FCompute([f](const ffi::Array<Var>& i) { return PrimExpr(f(i[0])); }), name,
                 tag, attrs);
}
template <typename F, typename = std::enable_if_t<std::is_invocable_v<F, Var, Var>>, int = 2>
Tensor compute(ffi::Array<PrimExpr> shape, F f, ffi::String name = "tensor", ffi::String tag = "",
               ffi::Map<ffi::String, ffi::Any> attrs = {}) {
  return compute(shape, FCompute([f](const ffi::Array<Var>& i) { return PrimExpr(f(i[0], i[1])); }),
                 name, tag, attrs);
}

// Reductions, for the body of a compute. An empty `axis` yields the source itself.
using tvm::all;
using tvm::any;
using tvm::max;
using tvm::min;
using tvm::prod;
using tvm::sum;

/// Combines pairs of accumulated and new values; as many results as operands on each side.
using FCombine =
    std::function<ffi::Array<PrimExpr>(const ffi::Array<Var>& lhs, const ffi::Array<Var>& rhs)>;
/// Identity elements for the given element types.
using FIdentity = std::function<ffi::Array<PrimExpr>(const ffi::Array<DataType>& dtypes)>;

/// One Reduce per source, over a combiner of several accumulators (argmax, mean and variance, ...).
TVM_DLL ffi::Array<PrimExpr> comm_reduce(FCombine combine, FIdentity identity,
                                         ffi::Array<PrimExpr> sources, ffi::Array<IterVar> axis,
                                         PrimExpr condition = Bool(true));

/// Every operation that `outputs` depend on, producers first.
TVM_DLL ffi::Array<Operation> PostDFSOrder(const ffi::Array<Tensor>& outputs);

/// A copy of `op` whose reads of the keys of `replace` are reads of the values; `op` itself when it
/// reads none of them.
TVM_DLL Operation ReplaceInputs(const Operation& op, const ffi::Map<Tensor, Tensor>& replace);

/// `expr` with each read of an output of `op` (a ComputeOp without reduction) replaced by that
/// output's body at the read's indices.
TVM_DLL PrimExpr InlineInto(const PrimExpr& expr, const Operation& op);

}  // namespace te
}  // namespace tvm

#endif  // TVM_TE_OPERATION_H_
