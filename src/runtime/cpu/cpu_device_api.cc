// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file cpu_device_api.cc
/// The host as a device.
#include <sys/mman.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/runtime/device_api.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "runtime/workspace_pool.h"

namespace tvm {
namespace runtime {

namespace {

/// Regions this large start at a huge page and ask the kernel for huge pages.
constexpr size_t kHugePage = size_t{2} << 20;

class CPUDeviceAPI final : public DeviceAPI {
 public:
  static CPUDeviceAPI* Global() {
    // Never destroyed: tensors may outlive static destructors.
    static auto* inst = new CPUDeviceAPI();
    return inst;
  }

  void SetDevice(Device dev) final {}

  void GetAttr(Device dev, DeviceAttrKind kind, ffi::Any* rv) final {
    *rv = nullptr;
    switch (kind) {
      case kExist:
        *rv = 1;
        break;
      case kTotalGlobalMemory:
        *rv = Pages(_SC_PHYS_PAGES);
        break;
      case kAvailableGlobalMemory:
        *rv = Pages(_SC_AVPHYS_PAGES);
        break;
#ifdef _SC_LEVEL2_CACHE_SIZE
      case kL2CacheSizeBytes:
        if (int64_t bytes = sysconf(_SC_LEVEL2_CACHE_SIZE); bytes > 0) *rv = bytes;
        break;
#endif
      default:
        break;
    }
  }

  void* AllocDataSpace(Device dev, size_t nbytes, size_t alignment, DLDataType hint) final {
    alignment = std::max<size_t>(alignment, sizeof(void*));
    if (nbytes >= 2 * kHugePage) alignment = std::max(alignment, kHugePage);
    void* ptr = nullptr;
    int rc = posix_memalign(&ptr, alignment, std::max<size_t>(nbytes, 1));
    if (rc != 0) {
      TVM_FFI_THROW(MemoryError) << "cannot allocate " << nbytes << " bytes on "
                                 << DeviceToString(dev) << ": " << std::strerror(rc);
    }
#ifdef MADV_HUGEPAGE
    if (nbytes >= 2 * kHugePage) madvise(ptr, nbytes, MADV_HUGEPAGE);
#endif
    return ptr;
  }

  void FreeDataSpace(Device dev, void* ptr) final { std::free(ptr); }

  void StreamSync(Device dev, TVMStreamHandle stream) final {}
  void SyncStreamFromTo(Device dev, TVMStreamHandle src, TVMStreamHandle dst) final {}

  void* AllocWorkspace(Device dev, size_t nbytes, DLDataType hint) final {
    return Workspaces()->AllocWorkspace(dev, nbytes);
  }
  void FreeWorkspace(Device dev, void* ptr) final { Workspaces()->FreeWorkspace(dev, ptr); }

  bool SupportsDevicePointerArithmeticsOnHost() final { return true; }

 protected:
  void CopyDataFromTo(const void* from, size_t from_offset, void* to, size_t to_offset, size_t size,
                      Device dev_from, Device dev_to, DLDataType hint,
                      TVMStreamHandle stream) final {
    if (size == 0) return;
    std::memcpy(static_cast<char*>(to) + to_offset, static_cast<const char*>(from) + from_offset,
                size);
  }

 private:
  static int64_t Pages(int name) {
    return static_cast<int64_t>(sysconf(name)) * static_cast<int64_t>(sysconf(_SC_PAGESIZE));
  }
  static WorkspacePool* Workspaces() {
    static thread_local WorkspacePool pool(kDLCPU, Global());
    return &pool;
  }
};

}  // namespace

TVM_FFI_STATIC_INIT_BLOCK() {
  tvm::ffi::reflection::GlobalDef().def(
      "device_api.cpu", []() -> void* { return static_cast<DeviceAPI*>(CPUDeviceAPI::Global()); });
}

}  // namespace runtime
}  // namespace tvm
