// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file tensor.cc
/// Allocation, views, copies and the file format of runtime::Tensor.
#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/runtime/device_api.h>
#include <tvm/runtime/logging.h>
#include <tvm/runtime/memory/memory_manager.h>
#include <tvm/runtime/tensor.h>
#include <tvm/support/byte_io.h>
#include <tvm/support/checked_math.h>

#include <cstring>
#include <optional>
#include <vector>

#include "runtime/memory/view_tensor.h"

namespace tvm {
namespace runtime {

namespace {

/// Elements of a file's tensor have this many dimensions at most.
constexpr int kMaxFileRank = 64;

char* DataOf(const DLTensor* t) { return static_cast<char*>(t->data) + t->byte_offset; }

/// Bytes of a compact tensor, or nullopt if a dimension is negative or the size overflows.
std::optional<size_t> CheckedDataSize(const int64_t* shape, int ndim, DLDataType dtype) {
  int lanes = static_cast<int16_t>(dtype.lanes);
  if (lanes < 0) return std::nullopt;
  int64_t bits = static_cast<int64_t>(dtype.bits) * lanes;
  bool empty = false;
  for (int i = 0; i < ndim; ++i) {
    if (shape[i] < 0) return std::nullopt;
    empty |= shape[i] == 0;
    // The others' product must fit even then: it is a stride.
    if (shape[i] > 1 && !support::CheckedMul(bits, shape[i], &bits)) return std::nullopt;
  }
  if (empty) return 0;
  return static_cast<size_t>(bits / 8 + (bits % 8 != 0));
}

size_t RequireDataSize(const ffi::Shape& shape, DLDataType dtype) {
  auto size = CheckedDataSize(shape.data(), static_cast<int>(shape.size()), dtype);
  TVM_REQUIRE(size.has_value(), ValueError)
      << "shape " << shape << " of " << runtime::DataType(dtype)
      << " has a negative extent or more bytes than an address can count";
  return *size;
}

struct DeviceAlloc {
  ffi::Optional<ffi::String> mem_scope;
  void AllocData(DLTensor* t) {
    t->data = DeviceAPI::Get(t->device)->AllocDataSpace(t->device, t->ndim, t->shape, t->dtype,
                                                        mem_scope);
  }
  void FreeData(DLTensor* t) { DeviceAPI::Get(t->device)->FreeDataSpace(t->device, t->data); }
};

/// Copies host memory element by element along the strides of both sides.
void CopyStrided(const DLTensor* from, const DLTensor* to) {
  ICHECK_EQ(from->ndim, to->ndim) << "a strided copy needs equal ranks";
  size_t elem_bits = static_cast<size_t>(from->dtype.bits) * from->dtype.lanes;
  ICHECK(runtime::DataType(from->dtype) == runtime::DataType(to->dtype) && elem_bits % 8 == 0)
      << "a strided copy needs equal types of whole bytes";
  size_t elem = elem_bits / 8;
  int ndim = from->ndim;
  std::vector<int64_t> index(ndim), from_stride(ndim), to_stride(ndim);
  int64_t from_next = 1, to_next = 1;
  for (int i = ndim - 1; i >= 0; --i) {
    ICHECK_EQ(from->shape[i], to->shape[i]) << "a strided copy needs equal shapes";
    if (from->shape[i] == 0) return;
    from_stride[i] = from->strides != nullptr ? from->strides[i] : from_next;
    to_stride[i] = to->strides != nullptr ? to->strides[i] : to_next;
    from_next *= from->shape[i];
    to_next *= to->shape[i];
  }
  const char* src = DataOf(from);
  char* dst = DataOf(to);
  for (;;) {
    std::memcpy(dst, src, elem);
    int d = ndim - 1;
    for (; d >= 0; --d) {
      src += from_stride[d] * static_cast<int64_t>(elem);
      dst += to_stride[d] * static_cast<int64_t>(elem);
      if (++index[d] < from->shape[d]) break;
      src -= from_stride[d] * from->shape[d] * static_cast<int64_t>(elem);
      dst -= to_stride[d] * to->shape[d] * static_cast<int64_t>(elem);
      index[d] = 0;
    }
    if (d < 0) return;
  }
}

bool IsHost(Device dev) {
  return dev.device_type == kDLCPU || dev.device_type == kDLCUDAHost ||
         dev.device_type == kDLROCMHost;
}

/// A one-dimensional host tensor over plain bytes.
struct HostBytes {
  HostBytes(void* data, size_t nbytes, const DLTensor* like)
      : extent(static_cast<int64_t>(nbytes)) {
    tensor.data = data;
    tensor.device = Device{kDLCPU, 0};
    tensor.ndim = like->ndim;
    tensor.dtype = like->dtype;
    tensor.shape = like->shape;
    tensor.strides = nullptr;
    tensor.byte_offset = 0;
  }
  int64_t extent;
  DLTensor tensor;
};

void CheckBytes(const DLTensor* tensor, size_t nbytes, const char* what) {
  size_t size = GetDataSize(*tensor);
  TVM_REQUIRE(size == nbytes, ValueError)
      << what << " expects exactly " << size << " bytes, got " << nbytes;
  TVM_REQUIRE(ffi::IsContiguous(*tensor), ValueError) << what << " expects a contiguous tensor";
}

}  // namespace

Tensor Tensor::Empty(ffi::Shape shape, DLDataType dtype, Device dev,
                     ffi::Optional<ffi::String> mem_scope) {
  RequireDataSize(shape, dtype);
  return ffi::Tensor::FromNDAlloc(DeviceAlloc{std::move(mem_scope)}, std::move(shape), dtype, dev);
}

Tensor Tensor::CreateView(ffi::Shape shape, DLDataType dtype, uint64_t relative_byte_offset) const {
  const DLTensor* self = GetDLTensorPtr();
  TVM_REQUIRE(ffi::IsContiguous(*self), ValueError) << "a view needs a contiguous tensor";
  size_t total = GetDataSize(*self);
  size_t size = RequireDataSize(shape, dtype);
  TVM_REQUIRE(relative_byte_offset <= total && size <= total - relative_byte_offset, ValueError)
      << "View with shape " << shape << " and datatype " << runtime::DataType(dtype)
      << " would cover bytes [" << relative_byte_offset << ", " << relative_byte_offset + size
      << "), which is outside the tensor's bytes [0, " << total << ")";
  uint64_t offset = self->byte_offset + relative_byte_offset;
  DeviceAPI* api = DeviceAPI::Get(self->device, true);
  void* data = self->data;
  uint64_t byte_offset = offset;
  if (api != nullptr && api->SupportsDevicePointerArithmeticsOnHost()) {
    data = static_cast<char*>(data) + offset;
    byte_offset = 0;
  }
  return memory::MakeViewTensor(data_, data, byte_offset, static_cast<int>(shape.size()),
                                shape.data(), dtype, self->device);
}

void Tensor::CopyFromTo(const DLTensor* from, DLTensor* to, TVMStreamHandle stream) {
  size_t from_size = GetDataSize(*from);
  size_t to_size = GetDataSize(*to);
  TVM_REQUIRE(from_size == to_size, ValueError)
      << "a copy needs both sides to have the same size in bytes, got " << from_size << " and "
      << to_size;
  bool both_host = IsHost(from->device) && IsHost(to->device);
  TVM_REQUIRE(from->device.device_type == to->device.device_type || IsHost(from->device) ||
                  IsHost(to->device),
              ValueError)
      << "cannot copy from " << DeviceToString(from->device) << " to " << DeviceToString(to->device)
      << " directly";
  if (from_size == 0) return;
  if (both_host && from->device.device_type == kDLCPU && to->device.device_type == kDLCPU) {
    if (ffi::IsContiguous(*from) && ffi::IsContiguous(*to)) {
      std::memmove(DataOf(to), DataOf(from), from_size);
    } else {
      CopyStrided(from, to);
    }
    return;
  }
  // The device side drives; pinned host memory belongs to its device's API.
  Device driver = from->device.device_type != kDLCPU ? from->device : to->device;
  DeviceAPI::Get(driver)->CopyDataFromTo(const_cast<DLTensor*>(from), to, stream);
}

void Tensor::CopyFrom(const DLTensor* other) { CopyFromTo(other, operator->()); }
void Tensor::CopyTo(DLTensor* other) const { CopyFromTo(GetDLTensorPtr(), other); }

Tensor Tensor::CopyTo(Device dev, ffi::Optional<ffi::String> mem_scope) const {
  const DLTensor* self = operator->();
  Tensor out = Empty(ffi::Shape(self->shape, self->shape + self->ndim), self->dtype, dev,
                     std::move(mem_scope));
  CopyFromTo(self, out.operator->());
  return out;
}

void Tensor::CopyFromBytes(const void* data, size_t nbytes) {
  CopyFromBytes(GetDLTensorPtr(), const_cast<void*>(data), nbytes);
}
void Tensor::CopyToBytes(void* data, size_t nbytes) const {
  CopyToBytes(GetDLTensorPtr(), data, nbytes);
}

void Tensor::CopyToBytes(const DLTensor* from, void* to, size_t nbytes, TVMStreamHandle stream) {
  CheckBytes(from, nbytes, "CopyToBytes");
  HostBytes host(to, nbytes, from);
  CopyFromTo(from, &host.tensor, stream);
  if (from->device.device_type != kDLCPU) {
    DeviceAPI::Get(from->device)->StreamSync(from->device, stream);
  }
}

void Tensor::CopyFromBytes(const DLTensor* to, void* from, size_t nbytes, TVMStreamHandle stream) {
  CheckBytes(to, nbytes, "CopyFromBytes");
  HostBytes host(from, nbytes, to);
  CopyFromTo(&host.tensor, const_cast<DLTensor*>(to), stream);
  if (to->device.device_type != kDLCPU) {
    DeviceAPI::Get(to->device)->StreamSync(to->device, stream);
  }
}

bool Tensor::IsStorageShared(const DLTensor* a, const DLTensor* b) {
  return a->device.device_type == b->device.device_type &&
         a->device.device_id == b->device.device_id && a->data == b->data;
}

Device Tensor::GetPreferredHostDevice(Device dev) {
  if (dev.device_type == kDLCUDA) return Device{kDLCUDAHost, 0};
  if (dev.device_type == kDLROCM) return Device{kDLROCMHost, 0};
  return Device{kDLCPU, 0};
}

void SaveDLTensor(std::string* out, const DLTensor* tensor) {
  support::ByteWriter w(out);
  w.Write<uint64_t>(kTVMTensorMagic);
  w.Write<uint64_t>(0);
  w.Write<int32_t>(kDLCPU);
  w.Write<int32_t>(0);
  w.Write<int32_t>(tensor->ndim);
  w.Write<uint8_t>(tensor->dtype.code);
  w.Write<uint8_t>(tensor->dtype.bits);
  w.Write<uint16_t>(tensor->dtype.lanes);
  for (int i = 0; i < tensor->ndim; ++i) w.Write<int64_t>(tensor->shape[i]);
  size_t nbytes = GetDataSize(*tensor);
  w.Write<int64_t>(static_cast<int64_t>(nbytes));
  if (tensor->device.device_type == kDLCPU && ffi::IsContiguous(*tensor)) {
    w.WriteRaw(DataOf(tensor), nbytes);
    return;
  }
  size_t at = out->size();
  out->resize(at + nbytes);
  HostBytes host(out->data() + at, nbytes, tensor);
  Tensor::CopyFromTo(tensor, &host.tensor, nullptr);
  if (tensor->device.device_type != kDLCPU) {
    DeviceAPI::Get(tensor->device)->StreamSync(tensor->device, nullptr);
  }
}

void Tensor::Save(std::string* out) const { SaveDLTensor(out, GetDLTensorPtr()); }

Tensor Tensor::Load(support::ByteReader* reader) {
  constexpr const char* kBad = "Invalid DLTensor file format";
  size_t begin = reader->offset();
  uint64_t magic = 0, reserved = 0;
  int32_t device_type = 0, device_id = 0, ndim = 0;
  DLDataType dtype{};
  TVM_REQUIRE(reader->Read(&magic) && magic == kTVMTensorMagic, InternalError)
      << kBad << ": no tensor at byte " << begin;
  TVM_REQUIRE(reader->Read(&reserved) && reader->Read(&device_type) && reader->Read(&device_id) &&
                  reader->Read(&ndim) && reader->Read(&dtype.code) && reader->Read(&dtype.bits) &&
                  reader->Read(&dtype.lanes),
              InternalError)
      << kBad << ": header at byte " << begin << " is cut short";
  TVM_REQUIRE(device_type == kDLCPU && device_id == 0, InternalError)
      << kBad << ": tensors are saved from the cpu, found device type " << device_type
      << " at byte " << begin;
  TVM_REQUIRE(ndim >= 0 && ndim <= kMaxFileRank, InternalError)
      << kBad << ": rank " << ndim << " at byte " << begin;
  std::vector<int64_t> shape(static_cast<size_t>(ndim));
  TVM_REQUIRE(reader->ReadRaw(shape.data(), shape.size() * sizeof(int64_t)), InternalError)
      << kBad << ": shape at byte " << begin << " is cut short";
  auto expected = CheckedDataSize(shape.data(), ndim, dtype);
  int64_t nbytes = 0;
  TVM_REQUIRE(reader->Read(&nbytes) && expected.has_value() && nbytes >= 0 &&
                  static_cast<size_t>(nbytes) == *expected,
              InternalError)
      << kBad << ": size " << nbytes << " at byte " << begin << " does not fit shape and type";
  std::string_view data;
  TVM_REQUIRE(reader->ReadView(*expected, &data), InternalError)
      << kBad << ": needs " << nbytes << " bytes of data at byte " << reader->offset() << ", found "
      << reader->remaining();
  Tensor out = Empty(ffi::Shape(shape.begin(), shape.end()), dtype, Device{kDLCPU, 0});
  if (!data.empty()) std::memcpy(out->data, data.data(), data.size());
  return out;
}

TVM_FFI_STATIC_INIT_BLOCK() {
  namespace refl = tvm::ffi::reflection;
  refl::GlobalDef()
      .def("runtime.TVMTensorAllocWithScope",
           [](ffi::Shape shape, DLDataType dtype, Device dev,
              ffi::Optional<ffi::String> scope) -> ffi::Tensor {
             return Tensor::Empty(std::move(shape), dtype, dev, std::move(scope));
           })
      .def("runtime.TVMTensorCreateView",
           [](ffi::Tensor t, ffi::Shape shape, DLDataType dtype,
              uint64_t relative_byte_offset) -> ffi::Tensor {
             return Tensor(std::move(t)).CreateView(std::move(shape), dtype, relative_byte_offset);
           })
      .def("runtime.TVMTensorCopyFromBytes",
           [](DLTensor* t, void* data, uint64_t nbytes) {
             Tensor::CopyFromBytes(t, data, static_cast<size_t>(nbytes));
           })
      .def("runtime.TVMTensorCopyToBytes",
           [](DLTensor* t, void* data, uint64_t nbytes) {
             Tensor::CopyToBytes(t, data, static_cast<size_t>(nbytes));
           })
      .def("runtime.TVMTensorCopyFromTo",
           [](DLTensor* from, DLTensor* to) { Tensor::CopyFromTo(from, to); })
      .def("runtime.TVMTensorIsStorageShared", [](ffi::Tensor a, ffi::Tensor b) {
        return Tensor::IsStorageShared(a.operator->(), b.operator->());
      });
}

}  // namespace runtime
}  // namespace tvm
