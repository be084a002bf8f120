// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include "relax/ir/utils.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <new>

namespace tvm {
namespace relax {

namespace {

constexpr size_t kWorthMapping = size_t{256} << 10;
constexpr size_t kWorthHugePages = size_t{8} << 20;
constexpr size_t kHugePage = size_t{2} << 20;

/// Maps zeroed memory that starts at a multiple of `alignment`, a power of two of whole pages.
void* MapAligned(size_t size, size_t alignment) {
  const size_t whole = size + alignment;
  void* data = mmap(nullptr, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) throw std::bad_alloc();
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const auto start = reinterpret_cast<uintptr_t>(data);
  const uintptr_t first = (start + alignment - 1) / alignment * alignment;
  const uintptr_t end = first + (size + page - 1) / page * page;
  if (first > start) munmap(data, first - start);
  if (end < start + whole) munmap(reinterpret_cast<void*>(end), start + whole - end);
  return reinterpret_cast<void*>(first);
}

/// Allocator of constant tensors: aligned host memory, freed with the tensor. Weights come and go
/// several times while a model is compiled, so large ones are mapped: freed memory then really is.
struct HostAllocator {
  void AllocData(DLTensor* tensor) {
    int64_t bytes = (tensor->dtype.bits * tensor->dtype.lanes + 7) / 8;
    for (int i = 0; i < tensor->ndim; ++i) bytes *= tensor->shape[i];
    const auto size = static_cast<size_t>(bytes);
    if (size < kWorthMapping) {
      tensor->data = std::aligned_alloc(64, std::max<size_t>(64, (size + 63) / 64 * 64));
      if (tensor->data == nullptr) throw std::bad_alloc();
      return;
    }
    // Few page faults while weights are packed, few misses of the address cache while they are
    // read. The kernel itself aligns only sizes of whole huge pages to them.
    const bool huge = size >= kWorthHugePages;
    void* data = MapAligned(size, huge ? kHugePage : static_cast<size_t>(sysconf(_SC_PAGESIZE)));
    if (huge) madvise(data, size, MADV_HUGEPAGE);
    tensor->data = data;
    mapped = size;
  }
  void FreeData(DLTensor* tensor) {
    if (mapped != 0) {
      munmap(tensor->data, mapped);
    } else {
      std::free(tensor->data);
    }
  }
  size_t mapped = 0;
};

uint16_t DoubleToBFloat16(double value) {
  uint32_t bits = std::bit_cast<uint32_t>(static_cast<float>(value));
  if ((bits & 0x7FFFFFFFu) > 0x7F800000u) return static_cast<uint16_t>((bits >> 16) | 0x40);
  uint32_t round = 0x7FFFu + ((bits >> 16) & 1);
  return static_cast<uint16_t>((bits + round) >> 16);
}

double BFloat16ToDouble(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

template <typename T>
void Put(void* dst, T value) {
  std::memcpy(dst, &value, sizeof(T));
}
template <typename T>
T Take(const void* src) {
  T value;
  std::memcpy(&value, src, sizeof(T));
  return value;
}

[[noreturn]] void NoHostForm(DataType dtype) {
  TVM_FFI_THROW(TypeError) << "a scalar constant of type " << dtype << " is not supported";
}

template <typename V>
void StoreAny(void* dst, DataType dtype, V value) {
  if (dtype.is_bool()) return Put<uint8_t>(dst, value != 0);
  if (dtype.is_bfloat16()) return Put(dst, DoubleToBFloat16(static_cast<double>(value)));
  if (dtype.is_float()) {
    switch (dtype.bits()) {
      case 16:
        return Put<_Float16>(dst, static_cast<_Float16>(value));
      case 32:
        return Put<float>(dst, static_cast<float>(value));
      case 64:
        return Put<double>(dst, static_cast<double>(value));
      default:
        break;
    }
  }
  if (dtype.is_int() || dtype.is_uint()) {
    int64_t v = static_cast<int64_t>(value);
    switch (dtype.bits()) {
      case 8:
        return Put<uint8_t>(dst, static_cast<uint8_t>(v));
      case 16:
        return Put<uint16_t>(dst, static_cast<uint16_t>(v));
      case 32:
        return Put<uint32_t>(dst, static_cast<uint32_t>(v));
      case 64:
        return Put<uint64_t>(dst, static_cast<uint64_t>(v));
      default:
        break;
    }
  }
  NoHostForm(dtype);
}

template <typename V>
V LoadAny(const void* src, DataType dtype) {
  if (dtype.is_bool()) return static_cast<V>(Take<uint8_t>(src) != 0);
  if (dtype.is_bfloat16()) return static_cast<V>(BFloat16ToDouble(Take<uint16_t>(src)));
  if (dtype.is_float()) {
    switch (dtype.bits()) {
      case 16:
        return static_cast<V>(Take<_Float16>(src));
      case 32:
        return static_cast<V>(Take<float>(src));
      case 64:
        return static_cast<V>(Take<double>(src));
      default:
        break;
    }
  }
  if (dtype.is_int()) {
    switch (dtype.bits()) {
      case 8:
        return static_cast<V>(Take<int8_t>(src));
      case 16:
        return static_cast<V>(Take<int16_t>(src));
      case 32:
        return static_cast<V>(Take<int32_t>(src));
      case 64:
        return static_cast<V>(Take<int64_t>(src));
      default:
        break;
    }
  }
  if (dtype.is_uint()) {
    switch (dtype.bits()) {
      case 8:
        return static_cast<V>(Take<uint8_t>(src));
      case 16:
        return static_cast<V>(Take<uint16_t>(src));
      case 32:
        return static_cast<V>(Take<uint32_t>(src));
      case 64:
        return static_cast<V>(Take<uint64_t>(src));
      default:
        break;
    }
  }
  NoHostForm(dtype);
}

}  // namespace

ffi::Tensor NewHostTensor(const std::vector<int64_t>& shape, DataType dtype) {
  return ffi::Tensor::FromNDAlloc(HostAllocator(), ffi::Shape(shape.begin(), shape.end()), dtype,
                                  DLDevice{kDLCPU, 0});
}

void StoreScalar(void* dst, DataType dtype, double value) { StoreAny(dst, dtype, value); }
void StoreScalar(void* dst, DataType dtype, int64_t value) { StoreAny(dst, dtype, value); }
double LoadScalarAsDouble(const void* src, DataType dtype) { return LoadAny<double>(src, dtype); }
int64_t LoadScalarAsInt(const void* src, DataType dtype) { return LoadAny<int64_t>(src, dtype); }

}  // namespace relax
}  // namespace tvm
