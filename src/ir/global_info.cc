// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include <tvm/ffi/function.h>
#include <tvm/ffi/memory.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/ir/global_info.h>

namespace tvm {

void GlobalInfoNode::RegisterReflection() {
  namespace refl = ffi::reflection;
  refl::ObjectDef<GlobalInfoNode>();
}

void VDeviceNode::RegisterReflection() {
  namespace refl = ffi::reflection;
  refl::ObjectDef<VDeviceNode>()
      .def_ro("target", &VDeviceNode::target)
      .def_ro("vdevice_id", &VDeviceNode::vdevice_id)
      .def_ro("memory_scope", &VDeviceNode::memory_scope);
}

void DummyGlobalInfoNode::RegisterReflection() {
  namespace refl = ffi::reflection;
  refl::ObjectDef<DummyGlobalInfoNode>();
}

VDevice::VDevice(ffi::ObjectRef target, int vdevice_id, ffi::String memory_scope) {
  auto node = ffi::make_object<VDeviceNode>();
  node->target = std::move(target);
  node->vdevice_id = vdevice_id;
  node->memory_scope = std::move(memory_scope);
  data_ = std::move(node);
}

TVM_FFI_STATIC_INIT_BLOCK() {
  namespace refl = ffi::reflection;
  GlobalInfoNode::RegisterReflection();
  VDeviceNode::RegisterReflection();
  DummyGlobalInfoNode::RegisterReflection();
  refl::GlobalDef()
      .def("ir.DummyGlobalInfo",
           []() { return DummyGlobalInfo(ffi::make_object<DummyGlobalInfoNode>()); })
      .def("ir.VDevice", [](ffi::ObjectRef target, int id, ffi::String scope) {
        return VDevice(std::move(target), id, std::move(scope));
      });
}

}  // namespace tvm
