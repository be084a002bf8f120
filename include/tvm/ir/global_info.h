// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Objects that a module keeps beside its functions and that expressions refer to.
#ifndef TVM_IR_GLOBAL_INFO_H_
#define TVM_IR_GLOBAL_INFO_H_

#include <tvm/ffi/object.h>
#include <tvm/ffi/string.h>
#include <tvm/runtime/base.h>

namespace tvm {

class GlobalInfoNode : public ffi::Object {
 public:
  static void RegisterReflection();
  static constexpr TVMFFISEqHashKind _type_s_eq_hash_kind = kTVMFFISEqHashKindTreeNode;
  static constexpr uint32_t _type_child_slots = 4;
  TVM_FFI_DECLARE_OBJECT_INFO("ir.GlobalInfo", GlobalInfoNode, ffi::Object);
};

class GlobalInfo : public ffi::ObjectRef {
 public:
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(GlobalInfo, ffi::ObjectRef, GlobalInfoNode);
};

/// A device that parts of a program are placed on. The target is a target.Target, which belongs
/// to a higher layer and is therefore kept untyped here.
class VDeviceNode : public GlobalInfoNode {
 public:
  ffi::ObjectRef target;
  int vdevice_id = 0;
  ffi::String memory_scope;

  static void RegisterReflection();
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("ir.VDevice", VDeviceNode, GlobalInfoNode);
};

class VDevice : public GlobalInfo {
 public:
  TVM_DLL VDevice(ffi::ObjectRef target, int vdevice_id, ffi::String memory_scope);
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(VDevice, GlobalInfo, VDeviceNode);
};

class DummyGlobalInfoNode : public GlobalInfoNode {
 public:
  static void RegisterReflection();
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("ir.DummyGlobalInfo", DummyGlobalInfoNode, GlobalInfoNode);
};

class DummyGlobalInfo : public GlobalInfo {
 public:
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(DummyGlobalInfo, GlobalInfo, DummyGlobalInfoNode);
};

}  // namespace tvm
#endif  // TVM_IR_GLOBAL_INFO_H_
