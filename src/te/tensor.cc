// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/te/operation.h>
#include <tvm/te/tensor.h>

#include <string>

namespace tvm {
namespace te {

ffi::String TensorNode::GetNameHint() const {
  if (!op.defined()) return "tensor";
  if (op->num_outputs() == 1) return op->name;
  return std::string(op->name) + ".v" + std::to_string(value_index);
}

void TensorNode::RegisterReflection() {
  namespace refl = ffi::reflection;
  refl::ObjectDef<TensorNode>()
      .def_ro("op", &TensorNode::op)
      .def_ro("value_index", &TensorNode::value_index);
}

Tensor::Tensor(ffi::Array<PrimExpr> shape, DataType dtype, Operation op, int value_index) {
  auto node = ffi::make_object<TensorNode>();
  node->shape = std::move(shape);
  node->dtype = dtype;
  node->op = std::move(op);
  node->value_index = value_index;
  data_ = std::move(node);
}

PrimExpr Tensor::operator()(ffi::Array<PrimExpr> indices) const {
  const TensorNode* node = get();
  if (indices.size() != node->shape.size()) {
    TVM_FFI_THROW(ValueError) << "tensor " << node->GetNameHint() << " has " << node->shape.size()
                              << " dimensions, but " << indices.size() << " indices were given";
  }
  return tirx::ProducerLoad(*this, std::move(indices));
}

PrimExpr Tensor::IndexWithNegativeIndices(ffi::Array<PrimExpr> indices) const {
  ffi::Array<PrimExpr> wrapped;
  for (size_t i = 0; i < indices.size() && i < ndim(); ++i) {
    const PrimExpr& index = indices[i];
    wrapped.push_back(tirx::Select(index < make_zero(index.dtype()),
                                   index + cast(index.dtype(), shape()[i]), index));
  }
  return (*this)(wrapped);
}

bool Tensor::operator==(const Tensor& other) const {
  if (get() == other.get()) return true;
  if (!defined() || !other.defined()) return false;
  return get()->op.defined() && get()->op.same_as(other->op) &&
         get()->value_index == other->value_index;
}

Tensor Operation::output(size_t i) const {
  const OperationNode* node = get();
  TVM_FFI_CHECK(i < static_cast<size_t>(node->num_outputs()), IndexError)
      << "operation " << node->name << " has " << node->num_outputs() << " outputs, asked for "
      << i;
  return Tensor(node->output_shape(i), node->output_dtype(i), *this, static_cast<int>(i));
}

TVM_FFI_STATIC_INIT_BLOCK() {
  TensorNode::RegisterReflection();
  namespace refl = ffi::reflection;
  refl::GlobalDef()
      .def("te.Tensor",
           [](ffi::Array<PrimExpr> shape, DLDataType dtype, Operation op, int value_index) {
             return Tensor(shape, DataType(dtype), op, value_index);
           })
      .def("te.TensorEqual", [](Tensor lhs, Tensor rhs) { return lhs == rhs; })
      .def("te.TensorHash",
           [](Tensor tensor) { return static_cast<int64_t>(std::hash<Tensor>()(tensor)); })
      .def("te.TensorLoad",
           [](Tensor tensor, ffi::Array<PrimExpr> indices) { return tensor(indices); })
      .def("te.OpGetOutput",
           [](Operation op, int64_t i) { return op.output(static_cast<size_t>(i)); })
      .def("te.OpNumOutputs", [](Operation op) { return op->num_outputs(); })
      .def("te.OpInputTensors", [](Operation op) { return op->InputTensors(); });
}

}  // namespace te
}  // namespace tvm
