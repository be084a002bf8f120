// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include <tvm/ffi/error.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/ir/buffer.h>
#include <tvm/ir/scalar_op.h>

#include <string>

namespace tvm::tirx {

void BufferTypeNode::RegisterReflection() {
  namespace refl = ffi::reflection;
  refl::ObjectDef<BufferTypeNode>()
      .def_ro("dtype", &BufferTypeNode::dtype)
      .def_ro("storage_scope", &BufferTypeNode::storage_scope)
      .def_ro("shape", &BufferTypeNode::shape)
      .def_ro("strides", &BufferTypeNode::strides)
      .def_ro("elem_offset", &BufferTypeNode::elem_offset)
      .def_ro("data_alignment", &BufferTypeNode::data_alignment)
      .def_ro("offset_factor", &BufferTypeNode::offset_factor)
      .def_ro("layout", &BufferTypeNode::layout)
      .def_ro("allocated_addr", &BufferTypeNode::allocated_addr);
}

void BufferLoadNode::RegisterReflection() {
  namespace refl = ffi::reflection;
  refl::ObjectDef<BufferLoadNode>()
      .def_ro("buffer", &BufferLoadNode::buffer)
      .def_ro("indices", &BufferLoadNode::indices)
      .def_ro("predicate", &BufferLoadNode::predicate, refl::default_value(nullptr));
}

void BufferRegionNode::RegisterReflection() {
  namespace refl = ffi::reflection;
  refl::ObjectDef<BufferRegionNode>()
      .def_ro("buffer", &BufferRegionNode::buffer)
      .def_ro("region", &BufferRegionNode::region);
}

namespace {

/// int32 only if the shape says so; an empty or constant-free shape is indexed with int64.
DataType IndexTypeOf(const ffi::Array<PrimExpr>& shape) {
  DataType dtype = DataType::Int(64);
  for (size_t i = 0; i < shape.size(); ++i) {
    DataType dim = shape[i].dtype();
    if (i == 0 || dim.bits() > dtype.bits()) dtype = dim;
  }
  return dtype;
}

}  // namespace

BufferType::BufferType(DataType dtype, ffi::Array<PrimExpr> shape, ffi::Array<PrimExpr> strides,
                       PrimExpr elem_offset, ffi::String storage_scope, int data_alignment,
                       int offset_factor, ffi::Optional<ffi::ObjectRef> layout,
                       ffi::Array<PrimExpr> allocated_addr, Span span) {
  for (size_t i = 0; i < shape.size(); ++i) {
    TVM_FFI_CHECK(shape[i].defined(), ValueError) << "buffer dimension " << i << " is not defined";
    TVM_FFI_CHECK(
        shape[i].dtype().is_scalar() && (shape[i].dtype().is_int() || shape[i].dtype().is_uint()),
        TypeError)
        << "buffer dimension " << i << " must be an integer, found dtype " << shape[i].dtype();
  }
  TVM_FFI_CHECK(strides.empty() || strides.size() == shape.size(), ValueError)
      << "buffer of " << shape.size() << " dimensions has " << strides.size() << " strides";
  auto node = ffi::make_object<BufferTypeNode>();
  node->dtype = dtype;
  node->storage_scope = storage_scope.empty() ? ffi::String("global") : std::move(storage_scope);
  node->elem_offset =
      elem_offset.defined() ? std::move(elem_offset) : make_zero(IndexTypeOf(shape));
  node->shape = std::move(shape);
  node->strides = std::move(strides);
  node->data_alignment = data_alignment <= 0 ? 64 : data_alignment;
  node->offset_factor = offset_factor <= 0 ? 1 : offset_factor;
  node->layout = std::move(layout);
  node->allocated_addr = std::move(allocated_addr);
  node->span = std::move(span);
  data_ = std::move(node);
}

bool IsBuffer(const ffi::Object* obj) {
  return obj != nullptr && obj->IsInstance<VarNode>() &&
         static_cast<const VarNode*>(obj)->ty->type_index() == BufferTypeNode::RuntimeTypeIndex();
}

void Buffer::CheckBuffer() const {
  if (data_ == nullptr || IsBuffer(data_.get())) return;
  TVM_FFI_THROW(TypeError) << "expected a variable of buffer type, found " << get()->name
                           << " of type " << get()->ty.GetTypeKey();
}

Buffer::Buffer(ffi::String name, BufferType type, Span span)
    : Var(std::move(name), static_cast<Type>(std::move(type)), std::move(span)) {
  CheckBuffer();
}

DataType Buffer::DefaultIndexType() const { return IndexTypeOf(shape()); }

ffi::Array<PrimExpr> Buffer::ComputedStrides() const {
  if (!strides().empty() || ndim() == 0) return strides();
  std::vector<PrimExpr> result(ndim());
  PrimExpr stride = make_const(DefaultIndexType(), 1);
  for (size_t i = ndim(); i-- > 0;) {
    result[i] = stride;
    if (i != 0) stride = stride * shape()[i];
  }
  return ffi::Array<PrimExpr>(result.begin(), result.end());
}

PrimExpr Buffer::ElemOffset(const ffi::Array<PrimExpr>& indices) const {
  TVM_FFI_CHECK(indices.size() == ndim(), IndexError)
      << "buffer " << name() << " has " << ndim() << " dimensions, found " << indices.size()
      << " indices";
  PrimExpr offset;
  if (strides().empty()) {
    for (size_t i = 0; i < indices.size(); ++i) {
      offset = i == 0 ? indices[0] : offset * shape()[i] + indices[i];
    }
  } else {
    for (size_t i = 0; i < indices.size(); ++i) {
      PrimExpr term = indices[i] * strides()[i];
      offset = i == 0 ? term : offset + term;
    }
  }
  if (!offset.defined()) return elem_offset();
  return is_zero(elem_offset()) ? offset : offset + elem_offset();
}

Buffer Buffer::WithType(BufferType type) const {
  return Buffer(name(), std::move(type), get()->span);
}

Buffer decl_buffer(ffi::Array<PrimExpr> shape, DataType dtype, ffi::String name,
                   ffi::String storage_scope, Span span) {
  return Buffer(std::move(name),
                BufferType(dtype, std::move(shape), {}, PrimExpr(), std::move(storage_scope)),
                std::move(span));
}

Call buffer_data(const Buffer& buffer) {
  TVM_FFI_CHECK(buffer.defined(), ValueError) << "buffer_data of an undefined buffer";
  Type element = buffer.dtype().is_handle() ? Type(PointerType::VoidPointerTy())
                                            : Type(PrimType(buffer.dtype()));
  return Call(PointerType(element, buffer.scope()), builtin_scalar::buffer_data(), {buffer});
}

BufferLoad::BufferLoad(Buffer buffer, ffi::Array<PrimExpr> indices,
                       ffi::Optional<PrimExpr> predicate, Span span) {
  TVM_FFI_CHECK(buffer.defined(), ValueError) << "BufferLoad.buffer is not defined";
  TVM_FFI_CHECK(indices.size() == buffer.ndim(), ValueError)
      << "Buffer " << buffer.name() << " is " << buffer.ndim()
      << "-dimensional, cannot be indexed with the " << indices.size()
      << "-dimensional indices provided.";
  DataType dtype = buffer.dtype();
  for (size_t i = 0; i < indices.size(); ++i) {
    TVM_FFI_CHECK(indices[i].defined(), ValueError)
        << "BufferLoad index " << i << " is not defined";
    DataType index = indices[i].dtype();
    if (index.is_scalar()) continue;
    TVM_FFI_CHECK(i + 1 == indices.size(), ValueError)
        << "Only the last index of a buffer access may be a vector type.";
    TVM_FFI_CHECK(!dtype.is_scalable_vector() && !(index.is_scalable_vector() && dtype.lanes() > 1),
                  ValueError)
        << "index and buffer element cannot both be scalable vectors";
    dtype = index.is_scalable_vector()
                ? dtype.with_scalable_vscale_factor(index.vscale_factor() * dtype.lanes())
                : dtype.with_lanes(index.lanes() * dtype.lanes());
  }
  if (predicate.has_value()) {
    DataType mask = predicate.value().dtype();
    TVM_FFI_CHECK(mask.is_predicate_dtype() &&
                      mask.get_lanes_or_vscale_factor() == dtype.get_lanes_or_vscale_factor(),
                  TypeError)
        << "predicate of dtype " << mask << " does not match the " << dtype << " it masks";
  }
  auto node = ffi::make_object<BufferLoadNode>();
  node->ty = TypeFromDataType(dtype);
  node->buffer = std::move(buffer);
  node->indices = std::move(indices);
  node->predicate = std::move(predicate);
  node->span = std::move(span);
  data_ = std::move(node);
}

BufferRegion::BufferRegion(Buffer buffer, ffi::Array<Range> region) {
  TVM_FFI_CHECK(buffer.defined(), ValueError) << "BufferRegion.buffer is not defined";
  TVM_FFI_CHECK(buffer.ndim() == region.size(), ValueError)
      << "The dimension between " << buffer.name() << " (" << buffer.ndim() << ") and region ("
      << region.size() << ") mismatched";
  auto node = ffi::make_object<BufferRegionNode>();
  node->buffer = std::move(buffer);
  node->region = std::move(region);
  data_ = std::move(node);
}

BufferRegion BufferRegion::FullRegion(Buffer buffer) {
  ffi::Array<Range> region;
  for (const PrimExpr& extent : buffer.shape()) {
    region.push_back(Range::FromMinExtent(make_zero(extent.dtype()), extent));
  }
  return BufferRegion(std::move(buffer), std::move(region));
}

BufferRegion BufferRegion::FromPoint(Buffer buffer, ffi::Array<PrimExpr> indices) {
  ffi::Array<Range> region;
  for (const PrimExpr& index : indices) {
    if (const auto* ramp = index.as<RampNode>()) {
      region.push_back(
          Range::FromMinExtent(ramp->base, ramp->stride * cast(ramp->stride.dtype(), ramp->lanes)));
    } else {
      region.push_back(Range::FromMinExtent(index, make_const(index.dtype(), 1)));
    }
  }
  return BufferRegion(std::move(buffer), std::move(region));
}

TVM_FFI_STATIC_INIT_BLOCK() {
  namespace refl = ffi::reflection;
  BufferTypeNode::RegisterReflection();
  BufferLoadNode::RegisterReflection();
  BufferRegionNode::RegisterReflection();
  refl::GlobalDef()
      .def("tirx.BufferType",
           [](DLDataType dtype, ffi::Array<PrimExpr> shape, ffi::Array<PrimExpr> strides,
              ffi::Optional<PrimExpr> elem_offset, ffi::String scope, int data_alignment,
              int offset_factor, ffi::Optional<ffi::ObjectRef> layout,
              ffi::Optional<ffi::Array<PrimExpr>> allocated_addr, Span span) {
             return BufferType(DataType(dtype), shape, strides, elem_offset.value_or(PrimExpr()),
                               scope, data_alignment, offset_factor, layout,
                               allocated_addr.value_or(ffi::Array<PrimExpr>()), span);
           })
      .def("tirx.IsBuffer", [](const ffi::ObjectRef& obj) { return IsBuffer(obj.get()); })
      .def("tirx.BufferFromType",
           [](ffi::String name, BufferType type, Span span) { return Buffer(name, type, span); })
      .def("tirx.BufferData", [](const Buffer& buffer) { return buffer_data(buffer); })
      .def("tirx.BufferElemOffset",
           [](const Buffer& buffer, ffi::Array<PrimExpr> indices) {
             return buffer.ElemOffset(indices);
           })
      .def("tirx.BufferComputedStrides",
           [](const Buffer& buffer) { return buffer.ComputedStrides(); })
      .def("tirx.BufferLoad",
           [](Buffer buffer, ffi::Array<PrimExpr> indices, ffi::Optional<PrimExpr> predicate,
              Span span) { return BufferLoad(buffer, indices, predicate, span); })
      .def("tirx.BufferRegion",
           [](Buffer buffer, ffi::Array<Range> region) { return BufferRegion(buffer, region); });
}

}  // namespace tvm::tirx
