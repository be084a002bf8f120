// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Nodes of operations and the functions that build them.
#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/te/operation.h>

#include <string>
#include <unordered_set>
#include <utility>

#include "te/verify_compute.h"

namespace tvm {
namespace te {

using tirx::IterVarType;

void OperationNode::RegisterReflection() {
  namespace refl = ffi::reflection;
  refl::ObjectDef<OperationNode>()
      .def_ro("name", &OperationNode::name)
      .def_ro("tag", &OperationNode::tag)
      .def_ro("attrs", &OperationNode::attrs);
}

// ---- placeholder
// ---------------------------------------------------------------------------------

PlaceholderOp::PlaceholderOp(ffi::String name, ffi::Array<PrimExpr> shape, DataType dtype) {
  auto node = ffi::make_object<PlaceholderOpNode>();
  node->name = std::move(name);
  node->shape = std::move(shape);
  node->dtype = dtype;
  data_ = std::move(node);
}

void PlaceholderOpNode::RegisterReflection() {
  namespace refl = ffi::reflection;
  refl::ObjectDef<PlaceholderOpNode>()
      .def_ro("shape", &PlaceholderOpNode::shape)
      .def_ro("dtype", &PlaceholderOpNode::dtype);
}

Tensor placeholder(ffi::Array<PrimExpr> shape, DataType dtype, ffi::String name) {
  return PlaceholderOp(std::move(name), std::move(shape), dtype).output(0);
}

// ---- compute
// -------------------------------------------------------------------------------------

ffi::Array<PrimExpr> BaseComputeOpNode::output_shape(size_t) const {
  ffi::Array<PrimExpr> shape;
  for (const IterVar& iter : axis) shape.push_back(iter->dom->extent);
  return shape;
}

void BaseComputeOpNode::RegisterReflection() {
  namespace refl = ffi::reflection;
  refl::ObjectDef<BaseComputeOpNode>()
      .def_ro("axis", &BaseComputeOpNode::axis)
      .def_ro("reduce_axis", &BaseComputeOpNode::reduce_axis);
}

DataType ComputeOpNode::output_dtype(size_t i) const { return body[i].dtype(); }

ffi::Array<Tensor> ComputeOpNode::InputTensors() const {
  ffi::Array<Tensor> inputs;
  std::unordered_set<Tensor> seen;
  for (const PrimExpr& expr : body) {
    PostOrderVisitExpr(expr, [&](const Expr& e) {
      const auto* load = e.as<tirx::ProducerLoadNode>();
      if (load == nullptr) return;
      Tensor tensor = Downcast<Tensor>(load->producer);
      if (seen.insert(tensor).second) inputs.push_back(tensor);
    });
  }
  return inputs;
}

ComputeOp::ComputeOp(ffi::String name, ffi::String tag, ffi::Map<ffi::String, ffi::Any> attrs,
                     ffi::Array<IterVar> axis, ffi::Array<PrimExpr> body) {
  VerifyComputeBody(name, body);
  auto node = ffi::make_object<ComputeOpNode>();
  node->name = std::move(name);
  node->tag = std::move(tag);
  node->attrs = std::move(attrs);
  node->axis = std::move(axis);
  if (const auto* reduce = body[0].as<tirx::ReduceNode>()) node->reduce_axis = reduce->axis;
  node->body = std::move(body);
  data_ = std::move(node);
}

void ComputeOpNode::RegisterReflection() {
  namespace refl = ffi::reflection;
  refl::ObjectDef<ComputeOpNode>().def_ro("body", &ComputeOpNode::body);
}

namespace {

/// Names of compute axes: i, j, k, l, then ax4, ax5, ...
std::string AxisName(size_t i) {
  static const char* const kNames[] = {"i", "j", "k", "l"};
  return i < 4 ? std::string(kNames[i]) : "ax" + std::to_string(i);
}

struct ComputeAxes {
  ffi::Array<IterVar> iters;
  ffi::Array<Var> vars;
};

ComputeAxes MakeAxes(const ffi::Array<PrimExpr>& shape) {
  ComputeAxes axes;
  for (size_t i = 0; i < shape.size(); ++i) {
    DataType dtype = shape[i].dtype();
    Var v(AxisName(i), dtype);
    axes.vars.push_back(v);
    axes.iters.push_back(
        IterVar(Range::FromMinExtent(make_zero(dtype), shape[i]), v, IterVarType::kDataPar));
  }
  return axes;
}

}  // namespace

Tensor compute(ffi::Array<PrimExpr> shape, FCompute fcompute, ffi::String name, ffi::String tag,
               ffi::Map<ffi::String, ffi::Any> attrs) {
  ComputeAxes axes = MakeAxes(shape);
  return ComputeOp(std::move(name), std::move(tag), std::move(attrs), axes.iters,
                   {fcompute(axes.vars)})
      .output(0);
}

ffi::Array<Tensor> compute(ffi::Array<PrimExpr> shape, FBatchCompute fcompute, ffi::String name,
                           ffi::String tag, ffi::Map<ffi::String, ffi::Any> attrs) {
  ComputeAxes axes = MakeAxes(shape);
  ComputeOp op(std::move(name), std::move(tag), std::move(attrs), axes.iters, fcompute(axes.vars));
  ffi::Array<Tensor> outputs;
  for (int i = 0; i < op->num_outputs(); ++i) outputs.push_back(op.output(i));
  return outputs;
}

// ---- scan
// ----------------------------------------------------------------------------------------

DataType ScanOpNode::output_dtype(size_t i) const { return update[i]->dtype; }
ffi::Array<PrimExpr> ScanOpNode::output_shape(size_t i) const {
  return state_placeholder[i]->shape;
}
ffi::Array<Tensor> ScanOpNode::InputTensors() const {
  ffi::Array<Tensor> result;
  for (const Tensor& t : init) result.push_back(t);
  for (const Tensor& t : update) result.push_back(t);
  return result;
}

ScanOp::ScanOp(ffi::String name, ffi::String tag, ffi::Map<ffi::String, ffi::Any> attrs,
               IterVar axis, ffi::Array<Tensor> init, ffi::Array<Tensor> update,
               ffi::Array<Tensor> state_placeholder, ffi::Array<Tensor> inputs) {
  if (init.size() != update.size() || init.size() != state_placeholder.size()) {
    TVM_FFI_THROW(ValueError) << "scan " << name << ": init, update and state_placeholder must "
                              << "have the same length, got " << init.size() << ", "
                              << update.size() << " and " << state_placeholder.size();
  }
  auto node = ffi::make_object<ScanOpNode>();
  for (size_t i = 0; i < init.size(); ++i) {
    const Tensor& state = state_placeholder[i];
    if (init[i]->dtype != state->dtype || update[i]->dtype != state->dtype) {
      TVM_FFI_THROW(TypeError) << "scan " << name << ": state " << i << " has dtype "
                               << state->dtype << ", init " << init[i]->dtype << " and update "
                               << update[i]->dtype;
    }
    if (init[i].ndim() != state.ndim() || update[i].ndim() != state.ndim()) {
      TVM_FFI_THROW(ValueError) << "scan " << name << ": state " << i << " has " << state.ndim()
                                << " dimensions, init " << init[i].ndim() << " and update "
                                << update[i].ndim();
    }
    for (size_t k = 1; k < state.ndim(); ++k) {
      std::string axis_name =
          std::string(name) + ".out" + std::to_string(i) + ".i" + std::to_string(k);
      DataType dtype = state->shape[k].dtype();
      node->spatial_axis_.push_back(IterVar(Range::FromMinExtent(make_zero(dtype), state->shape[k]),
                                            Var(axis_name, dtype), IterVarType::kOpaque));
    }
  }
  node->name = std::move(name);
  node->tag = std::move(tag);
  node->attrs = std::move(attrs);
  node->scan_axis = std::move(axis);
  node->init = std::move(init);
  node->update = std::move(update);
  node->state_placeholder = std::move(state_placeholder);
  node->inputs = std::move(inputs);
  data_ = std::move(node);
}

void ScanOpNode::RegisterReflection() {
  namespace refl = ffi::reflection;
  refl::ObjectDef<ScanOpNode>()
      .def_ro("scan_axis", &ScanOpNode::scan_axis)
      .def_ro("init", &ScanOpNode::init)
      .def_ro("update", &ScanOpNode::update)
      .def_ro("state_placeholder", &ScanOpNode::state_placeholder)
      .def_ro("inputs", &ScanOpNode::inputs)
      .def_ro("spatial_axis_", &ScanOpNode::spatial_axis_);
}

ffi::Array<Tensor> scan(ffi::Array<Tensor> init, ffi::Array<Tensor> update,
                        ffi::Array<Tensor> state_placeholder, ffi::Array<Tensor> inputs,
                        ffi::String name, ffi::String tag, ffi::Map<ffi::String, ffi::Any> attrs) {
  TVM_FFI_CHECK(!init.empty(), ValueError) << "scan " << name << " has no state";
  PrimExpr begin = init[0]->shape[0];
  Var iter(std::string(name) + ".idx", begin.dtype());
  IterVar axis(Range(begin, update[0]->shape[0]), iter, IterVarType::kOrdered);
  ScanOp op(name, tag, attrs, axis, init, update, state_placeholder, inputs);
  ffi::Array<Tensor> outputs;
  for (int i = 0; i < op->num_outputs(); ++i) outputs.push_back(op.output(i));
  return outputs;
}

// ---- extern
// --------------------------------------------------------------------------------------

DataType ExternOpNode::output_dtype(size_t i) const { return output_placeholders[i].dtype(); }
ffi::Array<PrimExpr> ExternOpNode::output_shape(size_t i) const {
  return output_placeholders[i].shape();
}

ExternOp::ExternOp(ffi::String name, ffi::String tag, ffi::Map<ffi::String, ffi::Any> attrs,
                   ffi::Array<Tensor> inputs, ffi::Array<tirx::Buffer> input_placeholders,
                   ffi::Array<tirx::Buffer> output_placeholders, tirx::Stmt body) {
  if (inputs.size() != input_placeholders.size()) {
    TVM_FFI_THROW(ValueError) << "extern " << name << ": " << inputs.size() << " inputs but "
                              << input_placeholders.size() << " input placeholders";
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    const tirx::Buffer& buffer = input_placeholders[i];
    if (inputs[i]->dtype != buffer.dtype()) {
      TVM_FFI_THROW(TypeError) << "extern " << name << ": input " << i << " has dtype "
                               << inputs[i]->dtype << ", its placeholder " << buffer.dtype();
    }
    if (inputs[i].ndim() != buffer.ndim()) {
      TVM_FFI_THROW(ValueError) << "extern " << name << ": input " << i << " has "
                                << inputs[i].ndim() << " dimensions, its placeholder "
                                << buffer.ndim();
    }
  }
  auto node = ffi::make_object<ExternOpNode>();
  node->name = std::move(name);
  node->tag = std::move(tag);
  node->attrs = std::move(attrs);
  node->inputs = std::move(inputs);
  node->input_placeholders = std::move(input_placeholders);
  node->output_placeholders = std::move(output_placeholders);
  node->body = std::move(body);
  data_ = std::move(node);
}

void ExternOpNode::RegisterReflection() {
  namespace refl = ffi::reflection;
  refl::ObjectDef<ExternOpNode>()
      .def_ro("inputs", &ExternOpNode::inputs)
      .def_ro("input_placeholders", &ExternOpNode::input_placeholders)
      .def_ro("output_placeholders", &ExternOpNode::output_placeholders)
      .def_ro("body", &ExternOpNode::body);
}

// ---- variables
// -----------------------------------------------------------------------------------

Var var(ffi::String name, DataType dtype) { return Var(std::move(name), dtype); }

IterVar thread_axis(Range dom, ffi::String tag) {
  DataType dtype = dom.defined() ? dom->extent.dtype() : DataType::Int(32);
  return IterVar(std::move(dom), Var(tag, dtype), IterVarType::kThreadIndex, tag);
}

IterVar reduce_axis(Range dom, ffi::String name) {
  DataType dtype = dom->extent.dtype();
  return IterVar(std::move(dom), Var(std::move(name), dtype), IterVarType::kCommReduce);
}

TVM_FFI_STATIC_INIT_BLOCK() {
  OperationNode::RegisterReflection();
  PlaceholderOpNode::RegisterReflection();
  BaseComputeOpNode::RegisterReflection();
  ComputeOpNode::RegisterReflection();
  ScanOpNode::RegisterReflection();
  ExternOpNode::RegisterReflection();

  using Attrs = ffi::Optional<ffi::Map<ffi::String, ffi::Any>>;
  using AttrMap = ffi::Map<ffi::String, ffi::Any>;
  namespace refl = ffi::reflection;
  refl::GlobalDef()
      .def("te.Placeholder",
           [](ffi::Array<PrimExpr> shape, DLDataType dtype, ffi::String name) {
             return placeholder(shape, DataType(dtype), name);
           })
      .def("te.ComputeOp",
           [](ffi::String name, ffi::String tag, Attrs attrs, ffi::Array<IterVar> axis,
              ffi::Array<PrimExpr> body) {
             return ComputeOp(name, tag, attrs.value_or(AttrMap()), axis, body);
           })
      .def("te.ScanOp",
           [](ffi::String name, ffi::String tag, Attrs attrs, IterVar axis, ffi::Array<Tensor> init,
              ffi::Array<Tensor> update, ffi::Array<Tensor> state, ffi::Array<Tensor> inputs) {
             return ScanOp(name, tag, attrs.value_or(AttrMap()), axis, init, update, state, inputs);
           })
      .def("te.ExternOp", [](ffi::String name, ffi::String tag, Attrs attrs,
                             ffi::Array<Tensor> inputs, ffi::Array<tirx::Buffer> input_placeholders,
                             ffi::Array<tirx::Buffer> output_placeholders, tirx::Stmt body) {
        return ExternOp(name, tag, attrs.value_or(AttrMap()), inputs, input_placeholders,
                        output_placeholders, body);
      });
}

}  // namespace te
}  // namespace tvm
