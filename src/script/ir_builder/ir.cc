// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include <tvm/ffi/reflection/registry.h>
#include <tvm/script/ir_builder/ir.h>
#include <tvm/target/target.h>

#include <string>

#include "script/ir_builder/api.h"

namespace tvm::script::ir_builder {

void IRModuleFrameNode::RegisterReflection() {
  ffi::reflection::ObjectDef<IRModuleFrameNode>()
      .def_ro("global_vars", &IRModuleFrameNode::global_var_map)
      .def_ro("global_var_map", &IRModuleFrameNode::global_var_map)
      .def_ro("functions", &IRModuleFrameNode::functions)
      .def_ro("attrs", &IRModuleFrameNode::attrs)
      .def_ro("global_infos", &IRModuleFrameNode::global_infos);
}

void IRModuleFrameNode::ExitWithScope() {
  IRBuilderFrameNode::ExitWithScope();
  for (const auto& [name, var] : global_var_map) {
    if (defined.count(var.get()) == 0) {
      TVM_FFI_THROW(ValueError) << "There is no definition of " << name;
    }
  }
  DictAttrs dict = attrs.empty() ? DictAttrs() : DictAttrs(attrs);
  IRBuilder::Current()->SetResult(
      tvm::IRModule(functions, SourceMap(), std::move(dict), global_infos));
}

IRModuleFrame IRModule() { return IRModuleFrame(ffi::make_object<IRModuleFrameNode>()); }

IRModuleFrame RequireModuleFrame(const ffi::String& who) {
  IRModuleFrame frame = IRBuilder::Current()->FindFrame<IRModuleFrame>();
  if (!frame.defined()) {
    TVM_FFI_THROW(ValueError) << who << " is used outside of I.ir_module()";
  }
  return frame;
}

GlobalVar DeclFunction(const ffi::String& name, const BaseFunc& signature) {
  IRModuleFrame frame = RequireModuleFrame("decl_function");
  if (frame->global_var_map.count(name) != 0) {
    TVM_FFI_THROW(ValueError) << "function " << name << " already exists";
  }
  GlobalVar var;
  std::string hook = "script.ir_builder.decl_function." + signature.GetTypeKey();
  if (auto make = ffi::Function::GetGlobal(hook)) {
    var = (*make)(name, signature).cast<GlobalVar>();
  } else {
    var = GlobalVar(name, signature->ty);
  }
  frame->global_var_map.Set(name, var);
  frame->functions.Set(var, signature);
  return var;
}

void DefFunction(const ffi::String& name, const BaseFunc& func) {
  IRModuleFrame frame = RequireModuleFrame("def_function");
  auto it = frame->global_var_map.find(name);
  if (it == frame->global_var_map.end()) {
    TVM_FFI_THROW(ValueError) << "function " << name << " does not exist, please declare it first.";
  }
  const GlobalVar var = (*it).second;
  var->ty = func->ty;
  frame->functions.Set(var, func);
  frame->defined.insert(var.get());
}

namespace {

void ModuleAttrs(const ffi::Map<ffi::String, ffi::Any>& attrs, bool allow_overwrite) {
  IRModuleFrame frame = RequireModuleFrame("I.module_attrs");
  if (!allow_overwrite && !frame->attrs.empty()) {
    TVM_FFI_THROW(ValueError) << "Duplicate module attrs, previous one is:\n"
                              << DebugText(frame->attrs);
  }
  frame->attrs = attrs;
}

ffi::Any ModuleGetAttr(const ffi::String& key) {
  IRModuleFrame frame = RequireModuleFrame("I.module_get_attr");
  return frame->attrs.Get(key).value_or(ffi::Any());
}

void ModuleSetAttr(const ffi::String& key, const ffi::Optional<ffi::Any>& value,
                   bool allow_overwrite) {
  IRModuleFrame frame = RequireModuleFrame("I.module_set_attr");
  auto previous = frame->attrs.Get(key);
  if (!allow_overwrite && previous.has_value() && value.has_value()) {
    TVM_FFI_THROW(ValueError) << "Duplicate module attr " << key << ", previous one is:\n"
                              << DebugText(*previous);
  }
  frame->attrs.Set(key, value.has_value() ? *value : ffi::Any());
}

void ModuleGlobalInfos(const ffi::Map<ffi::String, ffi::Array<GlobalInfo>>& infos) {
  IRModuleFrame frame = RequireModuleFrame("I.module_global_infos");
  if (!frame->global_infos.empty()) {
    TVM_FFI_THROW(ValueError) << "Duplicate module global_infos, previous one is:\n"
                              << DebugText(frame->global_infos);
  }
  frame->global_infos = infos;
}

/// The index-th virtual device of a target kind (of any kind if empty); negative counts from the
/// end, so that -1 is the one declared last.
VDevice LookupVDevice(const ffi::String& kind, int64_t index) {
  IRModuleFrame frame = RequireModuleFrame("I.lookup_vdevice");
  std::vector<VDevice> found;
  if (auto infos = frame->global_infos.Get("vdevice")) {
    for (const GlobalInfo& info : *infos) {
      auto device = info.as<VDevice>();
      if (!device.has_value()) continue;
      const auto* target = device.value()->target.as<TargetNode>();
      bool matches =
          kind.empty() || kind == "vdevice" || (target != nullptr && target->kind->name == kind);
      if (matches) found.push_back(*device);
    }
  }
  int64_t count = static_cast<int64_t>(found.size());
  int64_t position = index < 0 ? count + index : index;
  if (position < 0 || position >= count) {
    TVM_FFI_THROW(ValueError) << "The target VDevice in the GlobalInfos was not found: kind '"
                              << kind << "', index " << index << "; the module has " << count
                              << " of that kind";
  }
  return found[position];
}

}  // namespace

TVM_FFI_STATIC_INIT_BLOCK() {
  IRModuleFrameNode::RegisterReflection();
  BuilderApi()
      .def("script.ir_builder.ir.IRModule", IRModule)
      .def("script.ir_builder.ir.DeclFunction", DeclFunction)
      .def("script.ir_builder.ir.DefFunction", DefFunction)
      .def("script.ir_builder.ir.ModuleAttrs", ModuleAttrs)
      .def("script.ir_builder.ir.ModuleGetAttr", ModuleGetAttr)
      .def("script.ir_builder.ir.ModuleSetAttr", ModuleSetAttr)
      .def("script.ir_builder.ir.ModuleGlobalInfos", ModuleGlobalInfos)
      .def("script.ir_builder.ir.LookupVDevice", LookupVDevice);
}

}  // namespace tvm::script::ir_builder
