// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Imports managed tensors with arbitrary fields. An import either fails and leaves the tensor to
/// its owner, or gives a tensor that everything in the library can read; the deleter runs once.
///
/// Limits of the protocol: a shape of too few extents or a dangling pointer cannot be told from a
/// right one, so arrays are as long as `ndim` says unless they are NULL.
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/error.h>
#include <tvm/ffi/extra/dataclass.h>
#include <tvm/ffi/extra/structural_equal.h>
#include <tvm/ffi/extra/structural_hash.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

namespace {

using tvm::ffi::Tensor;

/// Reads values from the input; zeros after its end.
class Source {
 public:
  Source(const uint8_t* data, size_t size) : data_(data), left_(size) {}
  template <typename T>
  T Next() {
    T value{};
    const size_t count = left_ < sizeof(T) ? left_ : sizeof(T);
    if (count != 0) std::memcpy(&value, data_, count);
    data_ += count;
    left_ -= count;
    return value;
  }
  /// Small numbers mostly, any 64-bit number sometimes.
  int64_t NextExtent() {
    const auto small = Next<int8_t>();
    return small == INT8_MAX ? Next<int64_t>() : small;
  }

 private:
  const uint8_t* data_;
  size_t left_;
};

struct Owner {
  std::vector<int64_t> shape, strides;
  std::unique_ptr<char[]> memory;
  int deleted = 0;
};

template <typename Managed>
void Delete(Managed* self) {
  ++static_cast<Owner*>(self->manager_ctx)->deleted;
}

constexpr int32_t kMaxAxes = 8;
constexpr int64_t kMaxBytes = 1 << 12;

void FillTensor(Source* source, Owner* owner, DLTensor* tensor) {
  const auto bits = source->Next<uint8_t>();
  const bool has_shape = (bits & 1) == 0, has_strides = (bits & 2) != 0;
  tensor->device = {static_cast<DLDeviceType>((bits & 4) == 0 ? kDLCPU : source->Next<uint8_t>()),
                    source->Next<int8_t>()};
  tensor->dtype = source->Next<DLDataType>();
  const auto axes = source->Next<int8_t>();
  tensor->ndim = axes > kMaxAxes ? source->Next<int32_t>() : axes;
  if (has_shape && tensor->ndim > kMaxAxes) tensor->ndim = kMaxAxes;
  for (int32_t i = 0; i < tensor->ndim && i < kMaxAxes; ++i) {
    owner->shape.push_back(source->NextExtent());
    owner->strides.push_back(source->NextExtent());
  }
  tensor->shape = has_shape ? owner->shape.data() : nullptr;
  tensor->strides = has_strides ? owner->strides.data() : nullptr;
  tensor->byte_offset = (bits & 8) != 0 ? source->Next<uint64_t>() : 0;
  // Exactly the bytes of a small compact tensor, so that a read behind them is seen; else none.
  int64_t size = tensor->dtype.bits * tensor->dtype.lanes;
  for (int64_t extent : owner->shape) {
    if (extent < 0 || __builtin_mul_overflow(size, extent, &size)) size = INT64_MAX;
  }
  if ((bits & 16) != 0 || size > kMaxBytes * 8 || tensor->byte_offset != 0) return;
  const auto count = static_cast<size_t>((size + 7) / 8);
  owner->memory = std::make_unique<char[]>(count);
  tensor->data = owner->memory.get();
}

/// Everything that looks at the fields of a tensor. What it cannot read it refuses with an error.
void Use(const Tensor& tensor) {
  (void)tensor.numel();
  (void)tensor.IsContiguous();
  (void)tensor.IsAligned(64);
  if (tensor.strides().size() != static_cast<size_t>(tensor.ndim())) std::abort();
  try {
    tvm::ffi::ReprPrint(tensor);
    if (tensor.byte_offset() != 0) return;  // an offset beyond the memory cannot be noticed
    tvm::ffi::StructuralHash::Hash(tensor);
    const Tensor twin = tensor.as_strided(tensor.shape(), tensor.strides());
    if (!tvm::ffi::StructuralEqual::Equal(tensor, twin)) std::abort();
  } catch (const tvm::ffi::Error&) {
  }
}

/// Imports the tensor, exports it in both forms, and counts the calls of the deleter.
template <typename Managed, typename Import>
void RoundTrip(Managed* managed, const Owner& owner, const Import& import) {
  managed->deleter = Delete<Managed>;
  Tensor tensor;
  try {
    tensor = import(managed);
  } catch (const tvm::ffi::Error&) {
    if (owner.deleted != 0) std::abort();
    return;
  }
  Use(tensor);
  Use(Tensor::FromDLPackVersioned(tensor.ToDLPackVersioned()));
  DLManagedTensor* plain = tensor.ToDLPack();
  plain->deleter(plain);
  if (owner.deleted != 0) std::abort();
  tensor = Tensor();
  if (owner.deleted != 1) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Source source(data, size);
  const auto alignment = static_cast<size_t>(source.Next<int8_t>());
  const auto choice = source.Next<uint8_t>();
  const bool contiguous = (choice & 1) != 0;
  Owner owner;
  if ((choice & 2) != 0) {
    DLManagedTensor managed{};
    managed.manager_ctx = &owner;
    FillTensor(&source, &owner, &managed.dl_tensor);
    RoundTrip(&managed, owner, [&](DLManagedTensor* from) {
      return Tensor::FromDLPack(from, alignment, contiguous);
    });
    return 0;
  }
  DLManagedTensorVersioned managed{};
  managed.manager_ctx = &owner;
  managed.version = {(choice & 4) != 0 ? source.Next<uint32_t>() : DLPACK_MAJOR_VERSION,
                     source.Next<uint8_t>()};
  managed.flags = source.Next<uint8_t>();
  FillTensor(&source, &owner, &managed.dl_tensor);
  RoundTrip(&managed, owner, [&](DLManagedTensorVersioned* from) {
    return Tensor::FromDLPackVersioned(from, alignment, contiguous);
  });
  return 0;
}
