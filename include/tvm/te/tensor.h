// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Tensors of the compute language: the output of an operation, readable by index.
#ifndef TVM_TE_TENSOR_H_
#define TVM_TE_TENSOR_H_

#include <tvm/runtime/base.h>
#include <tvm/tirx/expr.h>
#include <tvm/tirx/op.h>

#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace tvm {
namespace te {

using tirx::IterVar;
using tirx::Var;

class Tensor;

class OperationNode;

/// A computation with one or more output tensors of equal shape rules.
class Operation : public ffi::ObjectRef {
 public:
  Operation() = default;
  explicit Operation(ffi::UnsafeInit tag) : ffi::ObjectRef(tag) {}
  explicit Operation(ffi::ObjectPtr<OperationNode> node);
  Operation(const Operation&) = default;
  Operation(Operation&&) = default;
  Operation& operator=(const Operation&) = default;
  Operation& operator=(Operation&&) = default;

  const OperationNode* operator->() const;
  const OperationNode* get() const;
  /// The i-th output.
  TVM_DLL Tensor output(size_t i) const;

  // Written out because the node refers to Tensor, which refers to this class.
  static constexpr bool _type_is_nullable = true;
  using ContainerType = OperationNode;
};

class TensorNode : public tirx::DataProducerNode {
 public:
  /// The operation that produces the tensor, and which of its outputs this is.
  Operation op;
  int value_index = 0;

  /// Name of the operation, with the output's number when it has several.
  TVM_DLL ffi::String GetNameHint() const;

  static void RegisterReflection();
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("te.Tensor", TensorNode, tirx::DataProducerNode);
};

class Tensor : public tirx::DataProducer {
 public:
  TVM_DLL Tensor(ffi::Array<PrimExpr> shape, DataType dtype, Operation op, int value_index);

  /// Element at `indices`; as many as dimensions.
  TVM_DLL PrimExpr operator()(ffi::Array<PrimExpr> indices) const;
  PrimExpr operator()(const ffi::Array<Var>& indices) const {
    return (*this)(ffi::Array<PrimExpr>(indices.begin(), indices.end()));
  }
  template <typename First, typename... Rest,
            typename = std::enable_if_t<std::is_convertible_v<First, PrimExpr>>>
  PrimExpr operator()(First&& first, Rest&&... rest) const {
    return (*this)(ffi::Array<PrimExpr>{PrimExpr(std::forward<First>(first)),
                                        PrimExpr(std::forward<Rest>(rest))...});
  }
  /// Like operator(), negative constant or symbolic indices counted from the end.
  TVM_DLL PrimExpr IndexWithNegativeIndices(ffi::Array<PrimExpr> indices) const;

  size_t ndim() const { return (*this)->shape.size(); }
  const ffi::Array<PrimExpr>& shape() const { return (*this)->shape; }
  DataType dtype() const { return (*this)->dtype; }
  const Operation& op() const { return (*this)->op; }
  /// Same operation and output.
  TVM_DLL bool operator==(const Tensor& other) const;
  bool operator!=(const Tensor& other) const { return !(*this == other); }

  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(Tensor, tirx::DataProducer, TensorNode);
};

class OperationNode : public ffi::Object {
 public:
  ffi::String name;
  /// Kind of the operation, by which schedules recognise it ("broadcast", "comm_reduce", ...).
  ffi::String tag;
  /// Carried over to the annotations of the block that computes the operation.
  ffi::Map<ffi::String, ffi::Any> attrs;

  virtual ~OperationNode() = default;
  virtual int num_outputs() const = 0;
  virtual DataType output_dtype(size_t i) const = 0;
  virtual ffi::Array<PrimExpr> output_shape(size_t i) const = 0;
  /// Tensors read, each once, in order of first use.
  virtual ffi::Array<Tensor> InputTensors() const = 0;

  static void RegisterReflection();
  static constexpr uint32_t _type_child_slots = 8;
  TVM_FFI_DECLARE_OBJECT_INFO("te.Operation", OperationNode, ffi::Object);
};

inline Operation::Operation(ffi::ObjectPtr<OperationNode> node)
    : ffi::ObjectRef(ffi::ObjectPtr<ffi::Object>(std::move(node))) {}

inline const OperationNode* Operation::operator->() const { return ffi::detail::NotNull(get()); }
inline const OperationNode* Operation::get() const {
  return static_cast<const OperationNode*>(data_.get());
}

}  // namespace te
}  // namespace tvm

namespace std {
template <>
struct hash<::tvm::te::Tensor> {
  std::size_t operator()(const ::tvm::te::Tensor& tensor) const {
    return hash<const void*>()(tensor->op.get()) * 31 + static_cast<size_t>(tensor->value_index);
  }
};
}  // namespace std

#endif  // TVM_TE_TENSOR_H_
