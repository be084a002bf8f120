// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// What Python's Buffer and IndexMap offer beyond their fields: flattening, offsets, pointers, and
/// moving the elements of a tensor.
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/runtime/tensor.h>
#include <tvm/tirx/builtin.h>
#include <tvm/tirx/index_map.h>
#include <tvm/tirx/op.h>

#include <cstring>
#include <vector>

namespace tvm {
namespace tirx {

namespace {

/// Elements from the first to the last.
PrimExpr Span1D(const Buffer& buffer) {
  PrimExpr count = make_const(buffer.DefaultIndexType(), 1);
  if (buffer.strides().empty()) {
    for (const PrimExpr& extent : buffer.shape()) count = count * extent;
    return count;
  }
  for (size_t i = 0; i < buffer.ndim(); ++i) {
    count = count + (buffer.shape()[i] - 1) * buffer.strides()[i];
  }
  return count;
}

Buffer Flattened(const Buffer& buffer) {
  if (buffer.ndim() == 1 && buffer.strides().empty()) return buffer;
  const BufferTypeNode* type = buffer.type();
  return buffer.WithType(BufferType(type->dtype, {Span1D(buffer)}, {}, type->elem_offset,
                                    type->storage_scope, type->data_alignment,
                                    type->offset_factor));
}

Expr AccessPtr(const Buffer& buffer, int64_t mask, Type pointer, int64_t lanes, PrimExpr offset,
               ffi::Optional<PrimExpr> extent) {
  TVM_FFI_CHECK(mask >= 1 && mask <= 3, ValueError)
      << "the access mask of a pointer into " << buffer->name
      << " is 1 (read), 2 (write) or 3, got " << mask;
  TVM_FFI_CHECK(lanes >= 1, ValueError)
      << "a pointer into " << buffer->name << " needs at least one lane, got " << lanes;
  PrimExpr start = offset;
  if (buffer.elem_offset().defined()) start = buffer.elem_offset() + offset;
  PrimExpr count = extent.has_value() ? extent.value() : Span1D(buffer) - offset;
  DataType element = buffer.dtype();
  if (lanes > 1) {
    element = element.with_lanes(static_cast<int>(element.lanes() * lanes));
    const PrimExpr per = IntImm(count.dtype(), lanes);
    count = floordiv(count, per);
    start = floordiv(start, IntImm(start.dtype(), lanes));
  }
  // The type travels as the type of a call without arguments.
  static const Op& annotation = *new Op(Op::Get("tirx.type_annotation"));
  return Call(std::move(pointer), builtin::tvm_access_ptr(),
              {Call(PrimType(element), annotation, {}), buffer_data(buffer), start, count,
               IntImm::Int32(mask)});
}

std::vector<int64_t> Literal(const ffi::Array<PrimExpr>& values, const char* what) {
  std::vector<int64_t> out;
  for (const PrimExpr& v : values) {
    const int64_t* n = as_const_int(v);
    TVM_FFI_CHECK(n != nullptr, ValueError) << "map_tensor: " << what << " is not constant: " << v;
    out.push_back(*n);
  }
  return out;
}

/// The tensor with element i at map(i); what no element reaches is 0.
ffi::Tensor MapTensor(const IndexMap& map, const ffi::Tensor& source) {
  using runtime::Tensor;
  TVM_FFI_CHECK(static_cast<size_t>(source.ndim()) == map->initial_indices.size(), ValueError)
      << "map_tensor: the map takes " << map->initial_indices.size() << " indices, the tensor has "
      << source.ndim() << " dimensions";
  TVM_FFI_CHECK(source.device().device_type == kDLCPU && source.IsContiguous(), ValueError)
      << "map_tensor needs a contiguous tensor on the CPU";
  arith::Analyzer analyzer;
  ffi::Array<PrimExpr> extents;
  for (int64_t d : source.shape()) extents.push_back(IntImm::Int64(d));
  const std::vector<int64_t> shape = Literal(map->MapShape(extents, analyzer), "a mapped extent");
  Tensor out =
      Tensor::Empty(ffi::Shape(shape.begin(), shape.end()), source.dtype(), Device{kDLCPU, 0});
  const size_t width = ffi::GetDataSize(1, source.dtype());
  std::memset(out->data, 0, ffi::GetDataSize(*out.GetDLTensorPtr()));
  const char* from = static_cast<const char*>(source.data_ptr()) + source.byte_offset();
  std::vector<int64_t> index(static_cast<size_t>(source.ndim()), 0);
  for (int64_t i = 0; i < source.numel(); ++i) {
    ffi::Array<PrimExpr> at;
    for (int64_t k : index) at.push_back(IntImm::Int64(k));
    const std::vector<int64_t> to = Literal(map->MapIndices(at, analyzer), "a mapped index");
    int64_t flat = 0;
    for (size_t k = 0; k < to.size(); ++k) {
      TVM_FFI_CHECK(to[k] >= 0 && to[k] < shape[k], IndexError)
          << "map_tensor: an element goes to " << to[k] << " of an axis of extent " << shape[k];
      flat = flat * shape[k] + to[k];
    }
    std::memcpy(static_cast<char*>(out->data) + static_cast<size_t>(flat) * width,
                from + static_cast<size_t>(i) * width, width);
    for (size_t k = index.size(); k-- > 0;) {
      if (++index[k] < source.shape()[k]) break;
      index[k] = 0;
    }
  }
  return out;
}

}  // namespace

TVM_FFI_STATIC_INIT_BLOCK() {
  namespace refl = ffi::reflection;
  refl::GlobalDef()
      .def("tirx.BufferGetFlattenedBuffer", Flattened)
      .def("tirx.BufferOffsetOf",
           [](Buffer buffer, ffi::Array<PrimExpr> indices) -> ffi::Array<PrimExpr> {
             return {buffer.ElemOffset(indices)};
           })
      .def("tirx.BufferAccessPtr", AccessPtr)
      .def("tirx.IndexMapMapTensor", MapTensor);
}

}  // namespace tirx
}  // namespace tvm
