// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Placement of a value: device type and index, target, memory scope; each part may be open.
#ifndef TVM_TARGET_VIRTUAL_DEVICE_H_
#define TVM_TARGET_VIRTUAL_DEVICE_H_

#include <tvm/target/target.h>

namespace tvm {

class VirtualDeviceNode : public ffi::Object {
 public:
  /// -1 = open.
  int device_type_int = -1;
  int virtual_device_id = -1;
  Target target;
  ffi::String memory_scope;

  static void RegisterReflection();
  static constexpr TVMFFISEqHashKind _type_s_eq_hash_kind = kTVMFFISEqHashKindTreeNode;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("target.VirtualDevice", VirtualDeviceNode, ffi::Object);
};

class VirtualDevice : public ffi::ObjectRef {
 public:
  TVM_DLL VirtualDevice(int device_type, int virtual_device_id, Target target,
                        ffi::String memory_scope);
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(VirtualDevice, ffi::ObjectRef, VirtualDeviceNode);
};

}  // namespace tvm
#endif  // TVM_TARGET_VIRTUAL_DEVICE_H_
