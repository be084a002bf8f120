// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file device_api.cc
/// Registry of devices, defaults of DeviceAPI, and the globals over them.
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/runtime/c_backend_api.h>
#include <tvm/runtime/device_api.h>
#include <tvm/runtime/tensor.h>

#include <array>
#include <atomic>

namespace tvm {
namespace runtime {

namespace {

struct DeviceName {
  int type;
  const char* name;
};
constexpr DeviceName kDeviceNames[] = {
    {1, "cpu"},        {2, "cuda"},     {3, "cuda_host"},     {4, "opencl"},
    {7, "vulkan"},     {8, "metal"},    {9, "vpi"},           {10, "rocm"},
    {11, "rocm_host"}, {12, "ext_dev"}, {13, "cuda_managed"}, {14, "oneapi"},
    {15, "webgpu"},    {16, "hexagon"}, {17, "maia"},         {18, "trn"},
};

/// Looks an API up once per device type; the pointers are never freed.
class DeviceAPITable {
 public:
  static DeviceAPITable* Global() {
    static auto* inst = new DeviceAPITable();
    return inst;
  }

  DeviceAPI* Get(int type, bool allow_missing) {
    bool remote = type >= kRPCSessMask;
    if (!remote && (type < 0 || type >= TVMDeviceExtType_End)) {
      if (allow_missing) return nullptr;
      TVM_FFI_THROW(InternalError) << "Device API " << DeviceTypeName(type) << " is not enabled.";
    }
    std::atomic<DeviceAPI*>& slot = slots_[remote ? TVMDeviceExtType_End : type];
    DeviceAPI* api = slot.load(std::memory_order_acquire);
    if (api != nullptr) return api;
    std::string name = remote ? "rpc" : DeviceTypeName(type);
    auto factory = ffi::Function::GetGlobal("device_api." + name);
    if (!factory.has_value()) {
      if (allow_missing) return nullptr;
      TVM_FFI_THROW(InternalError) << "Device API " << name << " is not enabled.";
    }
    api = static_cast<DeviceAPI*>((*factory)().cast<void*>());
    slot.store(api, std::memory_order_release);
    return api;
  }

 private:
  std::array<std::atomic<DeviceAPI*>, TVMDeviceExtType_End + 1> slots_{};
};

}  // namespace

std::string DeviceTypeName(int device_type) {
  for (const DeviceName& d : kDeviceNames) {
    if (d.type == device_type) return d.name;
  }
  return "Device(" + std::to_string(device_type) + ")";
}

std::string DeviceToString(Device dev) {
  std::string prefix;
  if (IsRPCSessionDevice(dev)) {
    prefix = "remote[" + std::to_string(GetRPCSessionIndex(dev)) + "]-";
    dev = RemoveRPCSessionMask(dev);
  }
  return prefix + DeviceTypeName(dev.device_type) + ":" + std::to_string(dev.device_id);
}

bool RuntimeEnabled(const ffi::String& target) {
  std::string name(target.data(), target.size());
  auto starts = [&name](const char* prefix) { return name.rfind(prefix, 0) == 0; };
  std::string api;
  if (name == "cpu") return true;
  if (name == "cuda" || name == "gpu" || starts("nvptx")) {
    api = "device_api.cuda";
  } else if (name == "cl" || name == "opencl") {
    api = "device_api.opencl";
  } else if (name == "mtl" || name == "metal") {
    api = "device_api.metal";
  } else if (name == "vulkan") {
    api = "device_api.vulkan";
  } else if (name == "rpc") {
    api = "device_api.rpc";
  } else if (name == "hexagon") {
    api = "device_api.hexagon";
  } else if (starts("rocm")) {
    api = "device_api.rocm";
  } else if (starts("llvm")) {
    auto enabled = ffi::Function::GetGlobal("codegen.llvm_target_enabled");
    return enabled.has_value() && (*enabled)(target).cast<bool>();
  } else {
    TVM_FFI_THROW(InternalError) << "Unknown optional runtime " << name;
  }
  return ffi::Function::GetGlobal(api).has_value();
}

DeviceAPI* DeviceAPI::Get(Device dev, bool allow_missing) {
  return DeviceAPITable::Global()->Get(static_cast<int>(dev.device_type), allow_missing);
}

size_t DeviceAPI::GetDataSize(const DLTensor& arr, ffi::Optional<ffi::String> mem_scope) {
  if (!mem_scope.has_value() || mem_scope.value().empty() || mem_scope.value() == "global") {
    return ffi::GetDataSize(arr);
  }
  TVM_FFI_THROW(InternalError) << "Device " << DeviceToString(arr.device)
                               << " does not know the size of data in memory scope "
                               << mem_scope.value();
  __builtin_unreachable();
}

void* DeviceAPI::AllocDataSpace(Device dev, int ndim, const int64_t* shape, DLDataType dtype,
                                ffi::Optional<ffi::String> mem_scope) {
  if (mem_scope.has_value() && !mem_scope.value().empty() && mem_scope.value() != "global") {
    TVM_FFI_THROW(InternalError)
        << "Device does not support allocate data space with specified memory scope: "
        << mem_scope.value();
  }
  DLTensor proto{};
  proto.ndim = ndim;
  proto.shape = const_cast<int64_t*>(shape);
  proto.dtype = dtype;
  proto.device = dev;
  return AllocDataSpace(dev, ffi::GetDataSize(proto), kAllocAlignment, dtype);
}

void* DeviceAPI::AllocDataSpaceView(Device dev, void* data, ffi::Shape shape, DLDataType dtype,
                                    ffi::Optional<ffi::String> mem_scope) {
  return data;
}

void DeviceAPI::CopyDataFromTo(DLTensor* from, DLTensor* to, TVMStreamHandle stream) {
  size_t nbytes = GetDataSize(*from);
  ICHECK_EQ(nbytes, GetDataSize(*to)) << "a copy needs both sides to have the same size in bytes";
  ICHECK(ffi::IsContiguous(*from) && ffi::IsContiguous(*to))
      << "a copy between devices needs contiguous tensors";
  CopyDataFromTo(from->data, from->byte_offset, to->data, to->byte_offset, nbytes, from->device,
                 to->device, from->dtype, stream);
}

void DeviceAPI::CopyDataFromTo(const void* from, size_t from_offset, void* to, size_t to_offset,
                               size_t num_bytes, Device dev_from, Device dev_to,
                               DLDataType type_hint, TVMStreamHandle stream) {
  TVM_FFI_THROW(InternalError) << "Device " << DeviceToString(dev_from)
                               << " does not support copies";
}

void DeviceAPI::SetStream(Device dev, TVMStreamHandle stream) {
  TVM_FFI_CHECK_SAFE_CALL(TVMFFIEnvSetStream(dev.device_type, dev.device_id, stream, nullptr));
}

TVMStreamHandle DeviceAPI::GetCurrentStream(Device dev) {
  return TVMFFIEnvGetStream(dev.device_type, dev.device_id);
}

void DeviceAPI::SyncStreamFromTo(Device dev, TVMStreamHandle event_src, TVMStreamHandle event_dst) {
  TVM_FFI_THROW(InternalError) << "Device " << DeviceToString(dev)
                               << " does not support synchronization between streams";
}

void* DeviceAPI::AllocWorkspace(Device dev, size_t nbytes, DLDataType type_hint) {
  return AllocDataSpace(dev, nbytes, kTempAllocaAlignment, type_hint);
}

void DeviceAPI::FreeWorkspace(Device dev, void* ptr) { FreeDataSpace(dev, ptr); }

TVM_FFI_STATIC_INIT_BLOCK() {
  namespace refl = tvm::ffi::reflection;
  auto stream_of = [](int64_t stream) { return reinterpret_cast<TVMStreamHandle>(stream); };
  refl::GlobalDef()
      .def("__tvm_set_device",
           [](int device_type, int device_id) {
             Device dev{static_cast<DLDeviceType>(device_type), device_id};
             DeviceAPI::Get(dev)->SetDevice(dev);
           })
      .def("runtime.GetDeviceAttr",
           [](int device_type, int device_id, int kind) -> ffi::Any {
             Device dev{static_cast<DLDeviceType>(device_type), device_id};
             ffi::Any rv;
             DeviceAPI* api = DeviceAPI::Get(dev, true);
             if (kind == kExist) {
               if (api == nullptr) return 0;
               api->GetAttr(dev, kExist, &rv);
               return rv;
             }
             if (api == nullptr) api = DeviceAPI::Get(dev);
             api->GetAttr(dev, static_cast<DeviceAttrKind>(kind), &rv);
             return rv;
           })
      .def("runtime.TVMSetStream",
           [](int device_type, int device_id, void* stream) {
             Device dev{static_cast<DLDeviceType>(device_type), device_id};
             DeviceAPI::Get(dev)->SetStream(dev, stream);
           })
      .def("runtime.RuntimeEnabled", RuntimeEnabled)
      .def("runtime.Device_StreamCreate",
           [](Device dev) {
             return reinterpret_cast<int64_t>(DeviceAPI::Get(dev)->CreateStream(dev));
           })
      .def("runtime.Device_StreamFree",
           [stream_of](Device dev, int64_t stream) {
             DeviceAPI::Get(dev)->FreeStream(dev, stream_of(stream));
           })
      .def("runtime.Device_SetStream",
           [stream_of](Device dev, int64_t stream) {
             DeviceAPI::Get(dev)->SetStream(dev, stream_of(stream));
           })
      .def("runtime.Device_StreamSync",
           [stream_of](Device dev, int64_t stream) {
             DeviceAPI::Get(dev)->StreamSync(dev, stream_of(stream));
           })
      .def("runtime.Device_StreamSyncFromTo", [stream_of](Device dev, int64_t src, int64_t dst) {
        DeviceAPI::Get(dev)->SyncStreamFromTo(dev, stream_of(src), stream_of(dst));
      });
}

}  // namespace runtime
}  // namespace tvm
