// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include <tvm/ffi/error.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/memory.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/target/target_kind.h>

#include <map>
#include <mutex>
#include <string>

namespace tvm {

void TargetKindNode::RegisterReflection() {
  namespace refl = ffi::reflection;
  refl::ObjectDef<TargetKindNode>(refl::init(false))
      .def_ro("name", &TargetKindNode::name)
      .def_ro("default_device_type", &TargetKindNode::default_device_type)
      .def_ro("default_keys", &TargetKindNode::default_keys);
}

const TargetOption* TargetKindNode::FindOption(const ffi::String& option) const {
  for (const TargetOption& candidate : options) {
    if (option == candidate.name) return &candidate;
  }
  return nullptr;
}

const char* TargetOptionTypeName(TargetOptionType type) {
  switch (type) {
    case TargetOptionType::kBool:
      return "bool";
    case TargetOptionType::kInt:
      return "int";
    case TargetOptionType::kString:
      return "str";
    case TargetOptionType::kStringArray:
      return "Array<str>";
    case TargetOptionType::kTargetArray:
      return "Array<target.Target>";
    case TargetOptionType::kIntArray:
      return "Array<int>";
  }
  return "Any";
}

namespace {

struct KindRegistry {
  std::mutex mutex;
  std::map<std::string, ffi::ObjectPtr<TargetKindNode>> kinds;

  static KindRegistry& Global() {
    static auto* registry = new KindRegistry;
    return *registry;
  }
};

/// Options that every kind takes.
const std::vector<TargetOption>& CommonOptions() {
  static const auto* options = new std::vector<TargetOption>{
      {"kind", TargetOptionType::kString},
      {"keys", TargetOptionType::kStringArray},
      {"tag", TargetOptionType::kString},
      {"device", TargetOptionType::kString},
      {"model", TargetOptionType::kString},
      {"libs", TargetOptionType::kStringArray},
      {"host", TargetOptionType::kTargetArray},
      {"from_device", TargetOptionType::kInt},
      {"target_device_type", TargetOptionType::kInt},
  };
  return *options;
}

}  // namespace

TargetKindRegistration::TargetKindRegistration(TargetKindSpec spec) {
  KindRegistry& registry = KindRegistry::Global();
  std::lock_guard<std::mutex> lock(registry.mutex);
  ffi::ObjectPtr<TargetKindNode>& node = registry.kinds[spec.name];
  if (node == nullptr) {
    node = ffi::make_object<TargetKindNode>();
    node->name = spec.name;
    node->options = CommonOptions();
  }
  node->default_device_type = static_cast<int>(spec.device_type);
  ffi::Array<ffi::String> keys;
  for (const char* key : spec.keys) keys.push_back(key);
  node->default_keys = std::move(keys);
  for (TargetOption& option : spec.options) {
    if (node->FindOption(option.name) == nullptr) node->options.push_back(std::move(option));
  }
  if (spec.canonicalize != nullptr) node->canonicalize = std::move(spec.canonicalize);
}

TargetKind TargetKind::Get(const ffi::String& name) {
  KindRegistry& registry = KindRegistry::Global();
  std::lock_guard<std::mutex> lock(registry.mutex);
  auto it = registry.kinds.find(std::string(name));
  return it == registry.kinds.end() ? TargetKind() : TargetKind(it->second);
}

ffi::Array<ffi::String> TargetKind::ListKinds() {
  KindRegistry& registry = KindRegistry::Global();
  std::lock_guard<std::mutex> lock(registry.mutex);
  ffi::Array<ffi::String> names;
  for (const auto& [name, kind] : registry.kinds) names.push_back(name);
  return names;
}

void SetTargetKindAttr(const ffi::String& kind, const ffi::String& key, ffi::Any value) {
  KindRegistry& registry = KindRegistry::Global();
  std::lock_guard<std::mutex> lock(registry.mutex);
  auto it = registry.kinds.find(std::string(kind));
  TVM_FFI_CHECK(it != registry.kinds.end(), ValueError)
      << "Target kind \"" << kind << "\" is not defined";
  it->second->attrs.Set(key, std::move(value));
}

TVM_FFI_STATIC_INIT_BLOCK() {
  namespace refl = ffi::reflection;
  TargetKindNode::RegisterReflection();
  // One object a name, in every process.
  refl::TypeAttrDef<TargetKindNode>()
      .def("__data_to_json__", [](const TargetKind& kind) { return kind->name; })
      .def("__data_from_json__", [](const ffi::String& name) {
        TargetKind kind = TargetKind::Get(name);
        TVM_FFI_CHECK(kind.defined(), ValueError)
            << "Target kind \"" << name << "\" is not defined";
        return kind;
      });
  refl::GlobalDef()
      .def("target.ListTargetKinds", []() { return TargetKind::ListKinds(); })
      .def("target.TargetKindGet", [](const ffi::String& name) { return TargetKind::Get(name); })
      .def("target.TargetKindGetAttr",
           [](const TargetKind& kind, const ffi::String& key) {
             auto it = kind->attrs.find(key);
             return it == kind->attrs.end() ? ffi::Any() : ffi::Any((*it).second);
           })
      .def("target.SetTargetKindAttr", SetTargetKindAttr)
      .def("target.ListTargetKindOptions",
           [](const TargetKind& kind) {
             ffi::Map<ffi::String, ffi::String> options;
             for (const TargetOption& option : kind->options) {
               options.Set(option.name, TargetOptionTypeName(option.type));
             }
             return options;
           })
      .def("target.ListTargetKindOptionsFromName", [](const ffi::String& name) {
        TargetKind kind = TargetKind::Get(name);
        TVM_FFI_CHECK(kind.defined(), ValueError) << "Unknown target kind: " << name;
        ffi::Map<ffi::String, ffi::String> options;
        for (const TargetOption& option : kind->options) {
          options.Set(option.name, TargetOptionTypeName(option.type));
        }
        return options;
      });
}

}  // namespace tvm
