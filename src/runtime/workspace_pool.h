// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file workspace_pool.h
/// Scratch memory of one thread, kept for its next kernel.
#ifndef TVM_RUNTIME_WORKSPACE_POOL_H_
#define TVM_RUNTIME_WORKSPACE_POOL_H_

#include <tvm/runtime/device_api.h>

#include <memory>
#include <vector>

namespace tvm {
namespace runtime {

/// Not thread-safe: each thread has its own.
class TVM_RUNTIME_DLL WorkspacePool {
 public:
  WorkspacePool(DLDeviceType device_type, DeviceAPI* device);
  ~WorkspacePool();
  void* AllocWorkspace(Device dev, size_t nbytes);
  /// Raises InternalError for a pointer that is not in use.
  void FreeWorkspace(Device dev, void* ptr);
  /// Gives the free pages back to the device.
  void Release();

 private:
  class Pool;
  Pool* Of(Device dev);

  DLDeviceType device_type_;
  DeviceAPI* device_;
  std::vector<std::unique_ptr<Pool>> pools_;
};

}  // namespace runtime
}  // namespace tvm

#endif  // TVM_RUNTIME_WORKSPACE_POOL_H_
