// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// From a configuration to a target: resolve the tag, build the host, check options in the order of
/// their declaration, fill defaults, canonicalize, compute keys.
#include "target/target_parser.h"

#include <tvm/ffi/device.h>
#include <tvm/ffi/error.h>
#include <tvm/ffi/extra/dataclass.h>
#include <tvm/ffi/extra/json.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/memory.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/target/target_tag.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "target/cpu_host.h"

namespace tvm {

namespace {

bool IsFeatureKey(const ffi::String& key) { return key.starts_with("feature."); }

std::string TypeNameOf(const ffi::Any& value) {
  if (value.try_cast<ffi::String>().has_value()) return "str";
  std::string key = value.GetTypeKey();
  if (key == "ffi.Array") return "Array";
  if (key == "ffi.Map") return "Map";
  return key;
}

/// The value as the option's type; nullopt when it has another one.
std::optional<ffi::Any> ConvertOption(TargetOptionType type, const ffi::Any& value) {
  switch (type) {
    case TargetOptionType::kBool:
      if (value.type_index() == ffi::TypeIndex::kTVMFFIBool) return value;
      if (auto number = value.as<int64_t>(); number && (*number == 0 || *number == 1)) {
        return ffi::Any(*number != 0);
      }
      return std::nullopt;
    case TargetOptionType::kInt:
      if (value.type_index() == ffi::TypeIndex::kTVMFFIInt) return value;
      return std::nullopt;
    case TargetOptionType::kString:
      if (auto text = value.try_cast<ffi::String>()) return ffi::Any(*text);
      return std::nullopt;
    case TargetOptionType::kStringArray:
      if (auto list = value.try_cast<ffi::Array<ffi::String>>()) return ffi::Any(*list);
      return std::nullopt;
    case TargetOptionType::kIntArray:
      if (auto list = value.try_cast<ffi::Array<int64_t>>()) return ffi::Any(*list);
      return std::nullopt;
    case TargetOptionType::kTargetArray: {
      auto list = value.try_cast<ffi::Array<ffi::Any>>();
      if (!list.has_value()) return std::nullopt;
      ffi::Array<Target> targets;
      for (const ffi::Any& item : *list) targets.push_back(TargetFromAny(item));
      return ffi::Any(targets);
    }
  }
  return std::nullopt;
}

void AddUnique(ffi::Array<ffi::String>* keys, const ffi::String& key) {
  if (std::find(keys->begin(), keys->end(), key) == keys->end()) keys->push_back(key);
}

/// A tag in place of a kind: its configuration, overlaid by what the user wrote.
TargetConfig ResolveTag(const TargetConfig& config) {
  auto tag = config.Get("tag");
  if (config.count("kind") != 0 || !tag.has_value()) return config;
  ffi::String name = tag->cast<ffi::String>();
  ffi::Optional<TargetConfig> base = TargetTag::GetConfig(name);
  TVM_FFI_CHECK(base.has_value(), ValueError) << "Unknown target tag: " << name;
  TargetConfig merged = base.value();
  for (const auto& [key, value] : config) merged.Set(key, value);
  return merged;
}

/// Keys that the parser itself reads; they are no attributes of the target.
bool IsStructuralKey(const ffi::String& key) {
  return key == "kind" || key == "tag" || key == "keys" || key == "host" || key == "from_device";
}

void RejectUnknown(const TargetKind& kind, const TargetConfig& config) {
  for (const auto& [key, value] : config) {
    if (IsFeatureKey(key) || kind->FindOption(key) != nullptr) continue;
    std::string known;
    for (const TargetOption& option : kind->options) {
      known += (known.empty() ? "'" : ", '") + std::string(option.name) + "'";
    }
    TVM_FFI_THROW(ValueError) << "Unknown config option '" << key << "'. Known options: " << known;
  }
}

/// Properties of device `id` of the kind, from its detector; empty when there is none.
TargetConfig QueryDevice(const TargetKind& kind, int64_t id) {
  std::string name = "target.query_device." + std::string(kind->name);
  auto query = ffi::Function::GetGlobal(name);
  TVM_FFI_CHECK(query.has_value(), ValueError)
      << "Requested reading the parameters for " << kind->name << " from device_id " << id
      << ", but no runtime for it is loaded";
  return query.value()(id).cast<TargetConfig>();
}

}  // namespace

std::string DescribeConfig(const TargetConfig& config) {
  return std::string(ffi::ReprPrint(config));
}

Target ParseTargetConfig(const TargetConfig& given) {
  TargetConfig config = ResolveTag(given);
  auto kind_name = config.Get("kind");
  TVM_FFI_CHECK(kind_name.has_value(), ValueError) << "Field \"kind\" is not found";
  auto kind_text = kind_name->try_cast<ffi::String>();
  TVM_FFI_CHECK(kind_text.has_value(), TypeError)
      << "Option 'kind': expected type 'str' but got '" << TypeNameOf(*kind_name) << "'";
  TargetKind kind = TargetKind::Get(*kind_text);
  TVM_FFI_CHECK(kind.defined(), ValueError)
      << "Target kind \"" << *kind_text << "\" is not defined";
  RejectUnknown(kind, config);

  auto node = ffi::make_object<TargetNode>();
  node->kind = kind;
  if (auto host = config.Get("host"); host.has_value() && *host != nullptr) {
    node->host = TargetFromAny(*host);
  }
  if (auto tag = config.Get("tag"); tag.has_value()) node->tag = tag->cast<ffi::String>();

  TargetConfig resolved, features, defaults;
  for (const auto& [key, value] : config) {
    if (IsFeatureKey(key)) features.Set(key, value);
  }
  for (const TargetOption& option : kind->options) {
    ffi::String key = option.name;
    if (key == "host" || key == "kind" || key == "tag") continue;
    auto value = config.Get(key);
    if (!value.has_value()) {
      if (option.default_value != nullptr) defaults.Set(key, option.default_value);
      continue;
    }
    std::optional<ffi::Any> converted = ConvertOption(option.type, *value);
    TVM_FFI_CHECK(converted.has_value(), TypeError)
        << "Option '" << key << "': expected type '" << TargetOptionTypeName(option.type)
        << "' but got '" << TypeNameOf(*value) << "'";
    resolved.Set(key, *converted);
  }
  if (auto id = resolved.Get("from_device"); id.has_value() && id->cast<int64_t>() >= 0) {
    for (const auto& [key, value] : QueryDevice(kind, id->cast<int64_t>())) {
      if (resolved.count(key) == 0) resolved.Set(key, value);
    }
  }
  for (const auto& [key, value] : defaults) {
    if (resolved.count(key) == 0) resolved.Set(key, value);
  }

  // The kind may derive keys: give it what the target would have.
  ffi::Array<ffi::String> keys;
  auto device = resolved.Get("device");
  if (auto list = resolved.Get("keys"); list.has_value()) {
    for (const ffi::String& key : list->cast<ffi::Array<ffi::String>>()) AddUnique(&keys, key);
    if (device.has_value()) AddUnique(&keys, device->cast<ffi::String>());
  } else {
    if (device.has_value()) AddUnique(&keys, device->cast<ffi::String>());
    for (const ffi::String& key : kind->default_keys) AddUnique(&keys, key);
  }
  resolved.Set("keys", keys);
  if (kind->canonicalize != nullptr) resolved = kind->canonicalize(std::move(resolved));
  node->keys = resolved.at("keys").cast<ffi::Array<ffi::String>>();

  for (const auto& [key, value] : resolved) {
    if (!IsStructuralKey(key)) node->attrs.Set(key, value);
  }
  for (const auto& [key, value] : features) {
    if (node->attrs.count(key) == 0) node->attrs.Set(key, value);
  }
  return Target(std::move(node));
}

Target ParseTargetText(const ffi::String& text) {
  std::string name(text);
  if (ffi::Optional<TargetConfig> tag = TargetTag::GetConfig(text); tag.has_value()) {
    TargetConfig config = tag.value();
    config.Set("tag", text);
    return ParseTargetConfig(config);
  }
  if (!name.empty() && name[0] == '{') {
    ffi::Any parsed;
    std::string failure;
    try {
      parsed = ffi::json::Parse(text);
    } catch (const ffi::Error& error) {
      failure = error.message();
    }
    auto config = parsed.try_cast<TargetConfig>();
    TVM_FFI_CHECK(config.has_value(), ValueError)
        << "Failed to parse target JSON config: " << failure;
    return ParseTargetConfig(*config);
  }
  TVM_FFI_CHECK(name.find(' ') == std::string::npos, ValueError)
      << "Cannot parse target string \"" << name
      << "\": command-line options are not supported, use a JSON or dict configuration";
  TVM_FFI_CHECK(TargetKind::Get(text).defined(), ValueError)
      << "Target kind \"" << name << "\" is not defined";
  return ParseTargetConfig({{"kind", text}});
}

Target TargetFromAny(const ffi::Any& value) {
  if (auto target = value.as<Target>(); target && target->defined()) return *target;
  if (auto text = value.try_cast<ffi::String>()) return Target(*text);
  if (auto config = value.try_cast<TargetConfig>()) return Target(*config);
  TVM_FFI_THROW(TypeError) << "Expect target to be a Target, str or dict, but instead get "
                           << value.GetTypeKey();
  TVM_FFI_UNREACHABLE();
}

// ---------------------------------------------------------------------------------------------
// Tags

void TargetTagNode::RegisterReflection() {
  namespace refl = ffi::reflection;
  refl::ObjectDef<TargetTagNode>(refl::init(false))
      .def_ro("name", &TargetTagNode::name)
      .def_ro("config", &TargetTagNode::config);
}

namespace {

struct TagRegistry {
  std::mutex mutex;
  std::map<std::string, TargetConfig> tags;

  static TagRegistry& Global() {
    static auto* registry = new TagRegistry;
    return *registry;
  }
};

}  // namespace

ffi::Optional<TargetConfig> TargetTag::GetConfig(const ffi::String& name) {
  TagRegistry& registry = TagRegistry::Global();
  std::lock_guard<std::mutex> lock(registry.mutex);
  auto it = registry.tags.find(std::string(name));
  if (it == registry.tags.end()) return std::nullopt;
  return it->second;
}

void RegisterTagConfig(const std::string& name, TargetConfig config, bool override_tag) {
  TagRegistry& registry = TagRegistry::Global();
  std::lock_guard<std::mutex> lock(registry.mutex);
  bool is_new = registry.tags.count(name) == 0;
  TVM_FFI_ICHECK(is_new || override_tag) << "Tag \"" << name << "\" has been previously defined";
  registry.tags[name] = std::move(config);
}

Target TargetTag::AddTag(const ffi::String& name, TargetConfig config, bool override_tag) {
  RegisterTagConfig(std::string(name), std::move(config), override_tag);
  return Target(name);
}

ffi::Map<ffi::String, Target> TargetTag::ListTags() {
  std::vector<std::string> names;
  {
    TagRegistry& registry = TagRegistry::Global();
    std::lock_guard<std::mutex> lock(registry.mutex);
    for (const auto& [name, config] : registry.tags) names.push_back(name);
  }
  ffi::Map<ffi::String, Target> targets;
  for (const std::string& name : names) targets.Set(name, Target(ffi::String(name)));
  return targets;
}

// ---------------------------------------------------------------------------------------------
// Targets of devices

namespace {

struct DetectorTable {
  std::mutex mutex;
  std::map<int, ffi::Function> detectors;

  static DetectorTable& Global() {
    static auto* table = new DetectorTable;
    return *table;
  }
};

}  // namespace

Target TargetFromDevice(DLDevice device) {
  const int type = static_cast<int>(device.device_type);
  ffi::Function detector;
  {
    DetectorTable& table = DetectorTable::Global();
    std::lock_guard<std::mutex> lock(table.mutex);
    auto it = table.detectors.find(type);
    if (it != table.detectors.end()) detector = it->second;
  }
  if (detector != nullptr) return TargetFromAny(detector(device));
  TVM_FFI_CHECK(device.device_type == kDLCPU, ValueError)
      << "Auto detection for device type " << type << " is not supported";
  TargetConfig config{{"kind", ffi::String("llvm")},
                      {"mtriple", ffi::String(DefaultTargetTriple())},
                      {"mcpu", ffi::String(HostCpuName())}};
  return Target(config);
}

TVM_FFI_STATIC_INIT_BLOCK() {
  namespace refl = ffi::reflection;
  TargetTagNode::RegisterReflection();
  refl::GlobalDef()
      .def("target.TargetTagListTags", []() { return TargetTag::ListTags(); })
      .def("target.TargetTagAddTag",
           [](const ffi::String& name, TargetConfig config, bool override_tag) {
             return TargetTag::AddTag(name, config, override_tag);
           })
      .def("target.RegisterDeviceTargetDetector", [](int device_type, ffi::Function detector) {
        DetectorTable& table = DetectorTable::Global();
        std::lock_guard<std::mutex> lock(table.mutex);
        table.detectors[device_type] = detector;
      });
}

}  // namespace tvm
