// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include <tvm/ffi/device.h>
#include <tvm/ffi/error.h>
#include <tvm/ffi/extra/json.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/memory.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/target/target.h>
#include <tvm/target/target_tag.h>
#include <tvm/target/virtual_device.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "target/target_parser.h"

namespace tvm {

void TargetNode::RegisterReflection() {
  namespace refl = ffi::reflection;
  refl::ObjectDef<TargetNode>(refl::init(false))
      .def_ro("kind", &TargetNode::kind)
      .def_ro("tag", &TargetNode::tag)
      .def_ro("keys", &TargetNode::keys)
      .def_ro("attrs", &TargetNode::attrs)
      .def_ro("host", &TargetNode::host);
}

void VirtualDeviceNode::RegisterReflection() {
  namespace refl = ffi::reflection;
  refl::ObjectDef<VirtualDeviceNode>()
      .def_ro("device_type_int", &VirtualDeviceNode::device_type_int)
      .def_ro("virtual_device_id", &VirtualDeviceNode::virtual_device_id)
      .def_ro("target", &VirtualDeviceNode::target)
      .def_ro("memory_scope", &VirtualDeviceNode::memory_scope);
}

VirtualDevice::VirtualDevice(int device_type, int virtual_device_id, Target target,
                             ffi::String memory_scope) {
  auto node = ffi::make_object<VirtualDeviceNode>();
  node->device_type_int = device_type;
  node->virtual_device_id = virtual_device_id;
  node->target = std::move(target);
  node->memory_scope = std::move(memory_scope);
  data_ = std::move(node);
}

// ---------------------------------------------------------------------------------------------
// Queries

bool TargetNode::HasKey(const std::string& key) const {
  return std::find(keys.begin(), keys.end(), ffi::String(key)) != keys.end();
}

TargetConfig TargetNode::Export() const {
  TargetConfig config;
  config.Set("kind", kind->name);
  config.Set("tag", tag);
  config.Set("keys", keys);
  if (ffi::Optional<Target> host_target = GetHost(); host_target.has_value()) {
    config.Set("host", host_target.value()->Export());
  }
  for (const auto& [key, value] : attrs) {
    if (auto nested = value.as<Target>()) {
      config.Set(key, (*nested)->Export());
    } else if (auto list = value.try_cast<ffi::Array<Target>>(); list && !list->empty()) {
      ffi::Array<ffi::Any> exported;
      for (const Target& item : *list) exported.push_back(item->Export());
      config.Set(key, exported);
    } else {
      config.Set(key, value);
    }
  }
  return config;
}

const std::string& TargetNode::str() const {
  // The text is asked for as a key in hot paths; the node is immutable, so compute it once.
  static auto* mutex = new std::mutex;
  std::lock_guard<std::mutex> lock(*mutex);
  if (str_ == nullptr) {
    str_ = std::make_shared<const std::string>(ffi::json::Stringify(Export()));
  }
  return *str_;
}

int TargetNode::GetTargetDeviceType() const {
  if (auto type = GetAttr<int64_t>("target_device_type"); type.has_value()) {
    return static_cast<int>(type.value());
  }
  return kind->default_device_type;
}

ffi::Optional<Target> TargetNode::GetHost() const {
  if (!host.has_value()) return std::nullopt;
  return Downcast<Target>(host.value());
}

// ---------------------------------------------------------------------------------------------
// Construction

namespace {

/// Every failure is a ValueError that ends with what was being parsed.
template <typename F>
Target ParseOrExplain(const char* what, const std::string& text, F&& parse) {
  std::string message;
  try {
    return parse();
  } catch (const ffi::Error& error) {
    message = error.message();
  }
  TVM_FFI_THROW(ValueError) << message << ". Target creation from " << what << " failed: " << text;
  TVM_FFI_UNREACHABLE();
}

}  // namespace

Target::Target(const ffi::String& text) {
  *this = ParseOrExplain("string", std::string(text), [&] { return ParseTargetText(text); });
}

Target::Target(const TargetConfig& config) {
  *this = ParseOrExplain("config dict", DescribeConfig(config),
                         [&] { return ParseTargetConfig(config); });
}

Target::Target(Target target, Target host) {
  TVM_FFI_CHECK(target.defined(), ValueError) << "expected a target, found none";
  auto node = ffi::make_object<TargetNode>(*target.get());
  node->str_ = nullptr;
  node->host = std::move(host);
  data_ = std::move(node);
}

Target Target::WithHost(const Target& target, const Target& host) { return Target(target, host); }

Target Target::WithoutHost() const {
  if (!get()->host.has_value()) return *this;
  auto node = ffi::make_object<TargetNode>(*get());
  node->str_ = nullptr;
  node->host = std::nullopt;
  return Target(std::move(node));
}

// ---------------------------------------------------------------------------------------------
// Scope

namespace {

std::vector<Target>& TargetStack() {
  static thread_local std::vector<Target> stack;
  return stack;
}

}  // namespace

Target Target::Current(bool allow_not_defined) {
  const std::vector<Target>& stack = TargetStack();
  if (!stack.empty()) return stack.back();
  TVM_FFI_ICHECK(allow_not_defined)
      << "Target context required. Please set it by constructing a TargetContext";
  return Target();
}

void Target::EnterWithScope() const { TargetStack().push_back(*this); }

void Target::ExitWithScope() const {
  std::vector<Target>& stack = TargetStack();
  TVM_FFI_ICHECK(!stack.empty() && stack.back().same_as(*this))
      << "targets must be left in the reverse order of entering";
  stack.pop_back();
}

// ---------------------------------------------------------------------------------------------
// Machine facts

namespace {

TargetHooks& Hooks() {
  static TargetHooks hooks;
  return hooks;
}

const char* const kCompiledTriple =
#if defined(__x86_64__) && defined(__APPLE__)
    "x86_64-apple-darwin";
#elif defined(__aarch64__) && defined(__APPLE__)
    "arm64-apple-darwin";
#elif defined(__x86_64__)
    "x86_64-unknown-linux-gnu";
#elif defined(__aarch64__)
    "aarch64-unknown-linux-gnu";
#elif defined(__riscv) && __riscv_xlen == 64
    "riscv64-unknown-linux-gnu";
#elif defined(__wasm__)
    "wasm32-unknown-unknown-wasm";
#else
    "x86_64-unknown-linux-gnu";
#endif

}  // namespace

void SetTargetHooks(TargetHooks hooks) { Hooks() = hooks; }
const TargetHooks& GetTargetHooks() { return Hooks(); }

std::string DefaultTargetTriple() {
  if (Hooks().default_triple != nullptr) return Hooks().default_triple();
  return kCompiledTriple;
}

TVM_FFI_STATIC_INIT_BLOCK() {
  namespace refl = ffi::reflection;
  TargetNode::RegisterReflection();
  VirtualDeviceNode::RegisterReflection();
  // Saved as its configuration, rebuilt by parsing.
  refl::TypeAttrDef<TargetNode>()
      .def("__data_to_json__", [](const Target& target) { return ffi::String(target->str()); })
      .def("__data_from_json__", [](const ffi::String& text) { return Target(text); })
      .def("__ffi_repr__",
           [](const Target& target, const ffi::Function&) { return ffi::String(target->str()); });
  refl::GlobalDef()
      .def_packed("target.Target",
                  [](ffi::PackedArgs args, ffi::Any* result) {
                    TVM_FFI_CHECK(args.size() == 1 || args.size() == 2, TypeError)
                        << "target.Target takes 1 or 2 arguments, found " << args.size();
                    Target target = TargetFromAny(ffi::Any(args[0]));
                    if (args.size() == 2 && args[1] != nullptr) {
                      target = Target(target, TargetFromAny(ffi::Any(args[1])));
                    }
                    *result = target;
                  })
      .def("target.EnterTargetScope", [](const Target& target) { target.EnterWithScope(); })
      .def("target.ExitTargetScope", [](const Target& target) { target.ExitWithScope(); })
      .def("target.TargetCurrent", [](bool allow) { return Target::Current(allow); })
      .def("target.TargetExport", [](const Target& target) { return target->Export(); })
      .def("target.TargetStr", [](const Target& target) { return ffi::String(target->str()); })
      .def("target.WithHost",
           [](const Target& target, const Target& host) { return Target::WithHost(target, host); })
      .def("target.TargetGetDeviceType",
           [](const Target& target) { return target->GetTargetDeviceType(); })
      .def("target.TargetGetFeature",
           [](const Target& target, const ffi::String& name) {
             auto value = target->attrs.Get(ffi::String("feature." + std::string(name)));
             return value.has_value() ? *value : ffi::Any();
           })
      .def("target.TargetFromDevice", [](DLDevice device) { return TargetFromDevice(device); })
      .def("target.DefaultTargetTriple", []() { return ffi::String(DefaultTargetTriple()); })
      .def("target.VirtualDevice",
           [](int device_type, int id, Target target, ffi::String scope) {
             return VirtualDevice(device_type, id, target, scope);
           })
      .def("target.VirtualDevice_ForDeviceTargetAndMemoryScope", [](DLDevice device, Target target,
                                                                    ffi::String scope) {
        return VirtualDevice(static_cast<int>(device.device_type), device.device_id, target, scope);
      });
}

}  // namespace tvm
