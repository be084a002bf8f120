// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include <tvm/ffi/error.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/ir/env_func.h>

namespace tvm {

void EnvFuncNode::RegisterReflection() {
  namespace refl = ffi::reflection;
  // Only the name identifies it: the function is looked up again after loading.
  refl::ObjectDef<EnvFuncNode>()
      .def_ro("name", &EnvFuncNode::name)
      .def_ro("func", &EnvFuncNode::func, refl::AttachFieldFlag::SEqHashIgnore());
}

EnvFunc EnvFunc::Get(const ffi::String& name) {
  ffi::Optional<ffi::Function> func = ffi::Function::GetGlobal(name);
  TVM_FFI_CHECK(func.has_value(), ValueError) << "Cannot find global function '" << name << "'";
  auto node = ffi::make_object<EnvFuncNode>();
  node->name = name;
  node->func = func.value();
  return EnvFunc(std::move(node));
}

TVM_FFI_STATIC_INIT_BLOCK() {
  namespace refl = ffi::reflection;
  EnvFuncNode::RegisterReflection();
  refl::TypeAttrDef<EnvFuncNode>()
      .def("__data_to_json__", [](const EnvFunc& func) { return func->name; })
      .def("__data_from_json__", [](const ffi::String& name) { return EnvFunc::Get(name); });
  refl::GlobalDef()
      .def("ir.EnvFuncGet", [](const ffi::String& name) { return EnvFunc::Get(name); })
      .def("ir.EnvFuncGetFunction", [](const EnvFunc& func) { return func->func; })
      .def_packed("ir.EnvFuncCall", [](ffi::PackedArgs args, ffi::Any* result) {
        TVM_FFI_CHECK(args.size() > 0, TypeError) << "ir.EnvFuncCall needs a function";
        args[0].cast<EnvFunc>()->func.CallPacked(args.Slice(1), result);
      });
}

}  // namespace tvm
