// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include <tvm/ffi/error.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/ir/transform.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace tvm::transform {

void PassInfoNode::RegisterReflection() {
  namespace refl = ffi::reflection;
  refl::ObjectDef<PassInfoNode>()
      .def_ro("opt_level", &PassInfoNode::opt_level)
      .def_ro("name", &PassInfoNode::name)
      .def_ro("required", &PassInfoNode::required)
      .def_ro("traceable", &PassInfoNode::traceable);
}

void PassContextNode::RegisterReflection() {
  namespace refl = ffi::reflection;
  refl::ObjectDef<PassContextNode>()
      .def_ro("opt_level", &PassContextNode::opt_level)
      .def_ro("required_pass", &PassContextNode::required_pass)
      .def_ro("disabled_pass", &PassContextNode::disabled_pass)
      .def_ro("instruments", &PassContextNode::instruments)
      .def_ro("config", &PassContextNode::config);
}

PassInfo::PassInfo(int opt_level, ffi::String name, ffi::Array<ffi::String> required,
                   bool traceable) {
  auto node = ffi::make_object<PassInfoNode>();
  node->opt_level = opt_level;
  node->name = std::move(name);
  node->required = std::move(required);
  node->traceable = traceable;
  data_ = std::move(node);
}

// ---------------------------------------------------------------------------------------------
// Options

namespace {

struct ConfigOption {
  std::string type_text;
  PassContext::ConfigConverter convert;
};

struct ConfigRegistry {
  std::mutex mutex;
  std::map<std::string, ConfigOption> options;

  static ConfigRegistry& Global() {
    static auto* registry = new ConfigRegistry;
    return *registry;
  }
};

}  // namespace

void PassContext::RegisterConfigOption(const char* key, std::string type_text,
                                       ConfigConverter convert) {
  ConfigRegistry& registry = ConfigRegistry::Global();
  std::lock_guard<std::mutex> lock(registry.mutex);
  registry.options[key] = ConfigOption{std::move(type_text), convert};
}

ffi::Map<ffi::String, ffi::Any> PassContext::ResolveConfig(
    const ffi::Map<ffi::String, ffi::Any>& config) {
  ConfigRegistry& registry = ConfigRegistry::Global();
  std::lock_guard<std::mutex> lock(registry.mutex);
  ffi::Map<ffi::String, ffi::Any> resolved;
  for (const auto& [key, given] : config) {
    auto it = registry.options.find(std::string(key));
    if (it == registry.options.end()) {
      std::string candidates;
      for (const auto& [name, option] : registry.options) {
        candidates += (candidates.empty() ? "" : " ,") + name;
      }
      TVM_FFI_THROW(AttributeError)
          << "Invalid config option '" << key << "' candidates are: " << candidates;
    }
    TVM_FFI_CHECK(given != nullptr, AttributeError) << key << " is None";
    ffi::Any value = given;
    if (const auto* imm = value.as<IntImmNode>()) value = imm->value;
    ffi::Any converted = it->second.convert(value);
    TVM_FFI_CHECK(converted != nullptr, AttributeError)
        << "Expect config " << key << " to have type " << it->second.type_text
        << ", but instead get " << value.GetTypeKey();
    resolved.Set(key, converted);
  }
  return resolved;
}

ffi::Map<ffi::String, ffi::Map<ffi::String, ffi::String>> PassContext::ListConfigs() {
  ConfigRegistry& registry = ConfigRegistry::Global();
  std::lock_guard<std::mutex> lock(registry.mutex);
  ffi::Map<ffi::String, ffi::Map<ffi::String, ffi::String>> result;
  for (const auto& [name, option] : registry.options) {
    result.Set(name, {{"type", option.type_text}});
  }
  return result;
}

// ---------------------------------------------------------------------------------------------
// The stack of this thread

namespace {

struct ContextStack {
  PassContext base = PassContext::Create();
  std::vector<PassContext> entered;

  static ContextStack& Local() {
    static thread_local ContextStack stack;
    return stack;
  }
};

bool Contains(const ffi::Array<ffi::String>& names, const ffi::String& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

PassContext PassContext::Create() { return PassContext(ffi::make_object<PassContextNode>()); }

PassContext PassContext::Current() {
  ContextStack& stack = ContextStack::Local();
  return stack.entered.empty() ? stack.base : stack.entered.back();
}

void PassContext::EnterWithScope() {
  // A context whose instruments fail to enter is not entered.
  InstrumentEnterPassContext();
  ContextStack::Local().entered.push_back(*this);
}

void PassContext::ExitWithScope() {
  std::vector<PassContext>& entered = ContextStack::Local().entered;
  TVM_FFI_ICHECK(!entered.empty() && entered.back().same_as(*this))
      << "pass contexts must be left in the reverse order of entering";
  entered.pop_back();
  InstrumentExitPassContext();
}

bool PassContext::PassEnabled(const PassInfo& info) const {
  const PassContextNode* ctx = operator->();
  if (Contains(ctx->disabled_pass, info->name)) return false;
  if (Contains(ctx->required_pass, info->name)) return true;
  return ctx->opt_level >= info->opt_level;
}

// ---------------------------------------------------------------------------------------------
// Instruments

void PassContext::InstrumentEnterPassContext() {
  PassContextNode* ctx = operator->();
  ffi::Array<instrument::PassInstrument> instruments = ctx->instruments;
  size_t entered = 0;
  try {
    for (; entered < instruments.size(); ++entered) {
      const auto& enter = instruments[entered]->enter_pass_ctx;
      if (enter.has_value()) enter.value()();
    }
  } catch (...) {
    ctx->instruments = {};
    while (entered-- > 0) {
      const auto& exit = instruments[entered]->exit_pass_ctx;
      if (exit.has_value()) exit.value()();
    }
    throw;
  }
}

void PassContext::InstrumentExitPassContext() {
  PassContextNode* ctx = operator->();
  ffi::Array<instrument::PassInstrument> instruments = ctx->instruments;
  try {
    for (const instrument::PassInstrument& item : instruments) {
      if (item->exit_pass_ctx.has_value()) item->exit_pass_ctx.value()();
    }
  } catch (...) {
    ctx->instruments = {};
    throw;
  }
}

bool PassContext::InstrumentBeforePass(const IRModule& mod, const PassInfo& info) const {
  const PassContextNode* ctx = operator->();
  if (ctx->instruments.empty()) return true;
  if (!Contains(ctx->required_pass, info->name)) {
    bool should_run = true;
    for (const instrument::PassInstrument& item : ctx->instruments) {
      if (item->should_run.has_value()) {
        should_run &= item->should_run.value()(mod, info).cast<bool>();
      }
    }
    if (!should_run) return false;
  }
  for (const instrument::PassInstrument& item : ctx->instruments) {
    if (item->run_before_pass.has_value()) item->run_before_pass.value()(mod, info);
  }
  return true;
}

void PassContext::InstrumentAfterPass(const IRModule& mod, const PassInfo& info) const {
  for (const instrument::PassInstrument& item : (*this)->instruments) {
    if (item->run_after_pass.has_value()) item->run_after_pass.value()(mod, info);
  }
}

void PassContext::OverrideInstruments(ffi::Array<instrument::PassInstrument> instruments) {
  InstrumentExitPassContext();
  (*this)->instruments = std::move(instruments);
  InstrumentEnterPassContext();
}

// Options that several layers read, or that are accepted for compatibility.
TVM_REGISTER_PASS_CONFIG_OPTION("testing.immutable_module", bool);

TVM_FFI_STATIC_INIT_BLOCK() {
  namespace refl = ffi::reflection;
  PassInfoNode::RegisterReflection();
  PassContextNode::RegisterReflection();
  refl::GlobalDef()
      .def("transform.PassInfo",
           [](int opt_level, ffi::String name, ffi::Array<ffi::String> required, bool traceable) {
             return PassInfo(opt_level, name, required, traceable);
           })
      .def("transform.PassContext",
           [](int opt_level, ffi::Array<ffi::String> required, ffi::Array<ffi::String> disabled,
              ffi::Array<instrument::PassInstrument> instruments,
              ffi::Optional<ffi::Map<ffi::String, ffi::Any>> config) {
             PassContext ctx = PassContext::Create();
             ctx->opt_level = opt_level;
             ctx->required_pass = std::move(required);
             ctx->disabled_pass = std::move(disabled);
             ctx->instruments = std::move(instruments);
             if (config.has_value()) ctx->config = PassContext::ResolveConfig(config.value());
             return ctx;
           })
      .def("transform.EnterPassContext", [](PassContext ctx) { ctx.EnterWithScope(); })
      .def("transform.ExitPassContext", [](PassContext ctx) { ctx.ExitWithScope(); })
      .def("transform.GetCurrentPassContext", []() { return PassContext::Current(); })
      .def("transform.OverrideInstruments",
           [](PassContext ctx, ffi::Array<instrument::PassInstrument> instruments) {
             ctx.OverrideInstruments(std::move(instruments));
           })
      .def("transform.PassEnabled",
           [](const PassContext& ctx, const PassInfo& info) { return ctx.PassEnabled(info); })
      .def("transform.ListConfigs", []() { return PassContext::ListConfigs(); });
}

}  // namespace tvm::transform
