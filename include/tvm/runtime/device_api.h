// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file device_api.h
/// DeviceAPI: what the runtime asks of a device, and the registry of devices.
#ifndef TVM_RUNTIME_DEVICE_API_H_
#define TVM_RUNTIME_DEVICE_API_H_

#include <tvm/ffi/any.h>
#include <tvm/ffi/container/shape.h>
#include <tvm/ffi/extra/c_env_api.h>
#include <tvm/ffi/optional.h>
#include <tvm/ffi/string.h>
#include <tvm/runtime/base.h>
#include <tvm/runtime/logging.h>

#include <ostream>
#include <string>

/// First value past the device types that a runtime may register.
enum TVMDeviceExtType : int32_t { TVMDeviceExtType_End = 36 };

namespace tvm {
namespace runtime {

enum DeviceAttrKind : int {
  kExist = 0,
  kMaxThreadsPerBlock = 1,
  kWarpSize = 2,
  kMaxSharedMemoryPerBlock = 3,
  kComputeVersion = 4,
  kDeviceName = 5,
  kMaxClockRate = 6,
  kMultiProcessorCount = 7,
  kMaxThreadDimensions = 8,
  kMaxRegistersPerBlock = 9,
  kGcnArch = 10,
  kApiVersion = 11,
  kDriverVersion = 12,
  kL2CacheSizeBytes = 13,
  kTotalGlobalMemory = 14,
  kAvailableGlobalMemory = 15,
  kImagePitchAlignment = 16,
};

/// A device's type with a session index, for tensors that live in an RPC peer.
inline constexpr int kRPCSessMask = 128;
static_assert(kRPCSessMask > TVMDeviceExtType_End);

/// Interface of one kind of device. Implementations register a global `device_api.<name>` that
/// returns a pointer to their singleton.
class TVM_RUNTIME_DLL DeviceAPI {
 public:
  virtual ~DeviceAPI() = default;
  virtual void SetDevice(Device dev) = 0;
  /// Writes the attribute's value, or None if it is unknown.
  virtual void GetAttr(Device dev, DeviceAttrKind kind, ffi::Any* rv) = 0;
  virtual size_t GetDataSize(const DLTensor& arr,
                             ffi::Optional<ffi::String> mem_scope = std::nullopt);
  virtual void GetTargetProperty(Device dev, const std::string& property, ffi::Any* rv) {}
  virtual void* AllocDataSpace(Device dev, size_t nbytes, size_t alignment,
                               DLDataType type_hint) = 0;
  virtual void* AllocDataSpace(Device dev, int ndim, const int64_t* shape, DLDataType dtype,
                               ffi::Optional<ffi::String> mem_scope = std::nullopt);
  virtual void FreeDataSpace(Device dev, void* ptr) = 0;
  /// A view of a region with another shape or scope; identity on most devices.
  virtual void* AllocDataSpaceView(Device dev, void* data, ffi::Shape shape, DLDataType dtype,
                                   ffi::Optional<ffi::String> mem_scope = std::nullopt);
  virtual void FreeDataSpaceView(Device dev, void* ptr) {}
  /// Copies between contiguous tensors of equal size in bytes.
  virtual void CopyDataFromTo(DLTensor* from, DLTensor* to, TVMStreamHandle stream);
  virtual TVMStreamHandle CreateStream(Device dev) { return nullptr; }
  virtual void FreeStream(Device dev, TVMStreamHandle stream) {}
  virtual void StreamSync(Device dev, TVMStreamHandle stream) = 0;
  virtual void SetStream(Device dev, TVMStreamHandle stream);
  virtual TVMStreamHandle GetCurrentStream(Device dev);
  virtual void SyncStreamFromTo(Device dev, TVMStreamHandle event_src, TVMStreamHandle event_dst);
  /// Temporary space for a kernel; only the thread that got it may free it.
  virtual void* AllocWorkspace(Device dev, size_t nbytes, DLDataType type_hint = {});
  virtual void FreeWorkspace(Device dev, void* ptr);
  /// True if device pointers may be offset on the host.
  virtual bool SupportsDevicePointerArithmeticsOnHost() { return false; }

  /// The API of a device; raises InternalError `Device API X is not enabled.` unless
  /// allow_missing is set.
  static DeviceAPI* Get(Device dev, bool allow_missing = false);
  static bool NeedSetDevice(int device_type) { return device_type != kDLCPU; }

 protected:
  virtual void CopyDataFromTo(const void* from, size_t from_offset, void* to, size_t to_offset,
                              size_t num_bytes, Device dev_from, Device dev_to,
                              DLDataType type_hint, TVMStreamHandle stream);
};

/// True if a tensor of this device lives in an RPC peer.
inline bool IsRPCSessionDevice(Device dev) { return dev.device_type / kRPCSessMask > 0; }
inline int GetRPCSessionIndex(Device dev) {
  ICHECK(IsRPCSessionDevice(dev)) << "the device is not remote";
  return dev.device_type / kRPCSessMask - 1;
}
inline Device RemoveRPCSessionMask(Device dev) {
  dev.device_type = static_cast<DLDeviceType>(dev.device_type % kRPCSessMask);
  return dev;
}
inline Device AddRPCSessionMask(Device dev, int session_table_index) {
  CHECK(!IsRPCSessionDevice(dev)) << "the device is already remote";
  dev.device_type =
      static_cast<DLDeviceType>(dev.device_type | kRPCSessMask * (session_table_index + 1));
  return dev;
}

/// Name of a device type, e.g. "cpu"; unknown types give "Device(<n>)".
TVM_RUNTIME_DLL std::string DeviceTypeName(int device_type);
/// E.g. "cpu:0" or "remote[1]-cuda:0".
TVM_RUNTIME_DLL std::string DeviceToString(Device dev);

/// True if this build can run programs of that kind ("cpu", "cuda", "llvm", "rpc", ...).
TVM_RUNTIME_DLL bool RuntimeEnabled(const ffi::String& target);

}  // namespace runtime
}  // namespace tvm

#endif  // TVM_RUNTIME_DEVICE_API_H_
