// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include "relax/ir/mapped_tensor.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <tvm/ffi/error.h>
#include <tvm/ffi/reflection/registry.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <map>
#include <mutex>
#include <vector>

#include "relax/ir/utils.h"

namespace tvm {
namespace relax {

namespace {

/// Mapped address ranges: begin -> end.
struct Mappings {
  std::mutex mutex;
  std::map<uintptr_t, uintptr_t> ranges;
};
Mappings& AllMappings() {
  static auto* mappings = new Mappings();
  return *mappings;
}

uintptr_t Address(const void* p) { return reinterpret_cast<uintptr_t>(p); }

struct FileMapping {
  void AllocData(DLTensor* tensor, void* data, size_t size) {
    tensor->data = data;
    length = size;
    if (data == nullptr) return;
    Mappings& all = AllMappings();
    std::lock_guard<std::mutex> lock(all.mutex);
    all.ranges[Address(data)] = Address(data) + size;
  }
  void FreeData(DLTensor* tensor) {
    if (tensor->data == nullptr) return;
    {
      Mappings& all = AllMappings();
      std::lock_guard<std::mutex> lock(all.mutex);
      all.ranges.erase(Address(tensor->data));
    }
    munmap(tensor->data, length);
  }
  size_t length = 0;
};

struct FileView {
  void AllocData(DLTensor* tensor, void* data) { tensor->data = data; }
  void FreeData(DLTensor*) {}
  ffi::Tensor file;
};

}  // namespace

ffi::Tensor MapFile(const ffi::String& path) {
  const std::string name(path);
  const int fd = open(name.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat info{};
  void* data = nullptr;
  int error = fd < 0 || fstat(fd, &info) != 0 ? errno : 0;
  if (error == 0 && !S_ISREG(info.st_mode)) error = EINVAL;
  const auto size = static_cast<size_t>(info.st_size);
  if (error == 0 && size > 0) {
    data = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (data == MAP_FAILED) error = errno;
  }
  if (fd >= 0) close(fd);
  TVM_FFI_CHECK(error == 0, RuntimeError) << "cannot map " << name << ": " << std::strerror(error);
  return ffi::Tensor::FromNDAlloc(FileMapping{}, ffi::Shape({static_cast<int64_t>(size)}),
                                  DLDataType{kDLUInt, 8, 1}, DLDevice{kDLCPU, 0}, data, size);
}

ffi::Tensor MapView(const ffi::Tensor& file, int64_t offset, DLDataType dtype,
                    const ffi::Shape& shape) {
  const auto item = static_cast<int64_t>((dtype.bits * dtype.lanes + 7) / 8);
  int64_t nbytes = item;
  bool fits = offset >= 0;
  for (int64_t extent : shape) {
    fits = fits && extent >= 0 && !__builtin_mul_overflow(nbytes, extent, &nbytes);
  }
  const int64_t size = file.numel();
  TVM_FFI_CHECK(fits && offset <= size && nbytes <= size - offset, ValueError)
      << "a tensor at byte " << offset << " of a file of " << size << " bytes lies outside of it";
  return ffi::Tensor::FromNDAlloc(FileView{file}, shape, dtype, DLDevice{kDLCPU, 0},
                                  static_cast<char*>(file.data_ptr()) + offset);
}

void ReleasePages(const ffi::Tensor& tensor) {
  if (tensor.device().device_type != kDLCPU) return;
  const uintptr_t begin = Address(TensorBytes(tensor));
  const uintptr_t end = begin + static_cast<uintptr_t>(TensorByteSize(tensor));
  Mappings& all = AllMappings();
  std::lock_guard<std::mutex> lock(all.mutex);
  auto it = all.ranges.upper_bound(begin);
  if (it == all.ranges.begin() || end > std::prev(it)->second) return;
  // Pages at both ends hold neighbours' bytes too, which only costs them another read.
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const uintptr_t first = begin / page * page;
  madvise(reinterpret_cast<void*>(first), end - first, MADV_DONTNEED);
}

ffi::Tensor AlignedTensor(const ffi::Tensor& tensor) {
  constexpr uintptr_t kAlignment = 64;
  if (tensor.device().device_type != kDLCPU || !tensor.IsContiguous()) return tensor;
  if (Address(TensorBytes(tensor)) % kAlignment == 0) return tensor;
  ffi::Tensor copy = NewHostTensor(
      std::vector<int64_t>(tensor.shape().begin(), tensor.shape().end()), DataType(tensor.dtype()));
  std::memcpy(TensorBytes(copy), TensorBytes(tensor), TensorByteSize(tensor));
  ReleasePages(tensor);
  return copy;
}

TVM_FFI_STATIC_INIT_BLOCK() {
  namespace refl = tvm::ffi::reflection;
  refl::GlobalDef()
      .def("relax.frontend.MapFile", MapFile)
      .def("relax.frontend.MapView", MapView)
      .def("relax.frontend.ReleasePages", ReleasePages);
}

}  // namespace relax
}  // namespace tvm
