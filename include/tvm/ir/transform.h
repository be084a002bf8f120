// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Passes over modules, their context and their sequencing.
#ifndef TVM_IR_TRANSFORM_H_
#define TVM_IR_TRANSFORM_H_

#include <tvm/ffi/container/array.h>
#include <tvm/ffi/container/map.h>
#include <tvm/ffi/extra/visit_error_context.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/optional.h>
#include <tvm/ffi/reflection/creator.h>
#include <tvm/ir/instrument.h>
#include <tvm/ir/module.h>

#include <functional>
#include <string>
#include <type_traits>

namespace tvm::transform {

class PassInfoNode : public ffi::Object {
 public:
  int opt_level = 0;
  ffi::String name;
  bool traceable = false;
  ffi::Array<ffi::String> required;

  static void RegisterReflection();
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("transform.PassInfo", PassInfoNode, ffi::Object);
};

class PassInfo : public ffi::ObjectRef {
 public:
  TVM_DLL PassInfo(int opt_level, ffi::String name, ffi::Array<ffi::String> required = {},
                   bool traceable = false);
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(PassInfo, ffi::ObjectRef, PassInfoNode);
};

/// Options of a pass run; a thread-local stack of contexts, the top is Current().
class PassContextNode : public ffi::Object {
 public:
  int opt_level = 2;
  ffi::Array<ffi::String> required_pass;
  ffi::Array<ffi::String> disabled_pass;
  ffi::Map<ffi::String, ffi::Any> config;
  ffi::Array<instrument::PassInstrument> instruments;

  template <typename T>
  ffi::Optional<T> GetConfig(const ffi::String& key,
                             ffi::Optional<T> default_value = std::nullopt) const {
    auto it = config.find(key);
    if (it == config.end()) return default_value;
    return (*it).second.template cast<T>();
  }
  template <typename T>
  ffi::Optional<T> GetConfig(const ffi::String& key, T default_value) const {
    return GetConfig<T>(key, ffi::Optional<T>(std::move(default_value)));
  }

  static void RegisterReflection();
  static constexpr bool _type_mutable = true;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("transform.PassContext", PassContextNode, ffi::Object);
};

class PassContext : public ffi::ObjectRef {
 public:
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(PassContext, ffi::ObjectRef, PassContextNode);

  /// A fresh context with default options.
  TVM_DLL static PassContext Create();
  /// The innermost entered context of this thread, else this thread's default one.
  TVM_DLL static PassContext Current();
  /// Key -> {"type": type text} of every registered option.
  TVM_DLL static ffi::Map<ffi::String, ffi::Map<ffi::String, ffi::String>> ListConfigs();

  TVM_DLL bool PassEnabled(const PassInfo& info) const;

  // Instruments.
  TVM_DLL void InstrumentEnterPassContext();
  TVM_DLL void InstrumentExitPassContext();
  /// False if some instrument asks to skip the pass (a required pass is never skipped).
  TVM_DLL bool InstrumentBeforePass(const IRModule& mod, const PassInfo& info) const;
  TVM_DLL void InstrumentAfterPass(const IRModule& mod, const PassInfo& info) const;
  TVM_DLL void OverrideInstruments(ffi::Array<instrument::PassInstrument> instruments);

  TVM_DLL void EnterWithScope();
  TVM_DLL void ExitWithScope();

  /// Declares an option; see TVM_REGISTER_PASS_CONFIG_OPTION.
  template <typename T>
  static int32_t RegisterConfigOption(const char* key) {
    ConfigConverter convert = [](const ffi::Any& value) -> ffi::Any {
      if (auto cast = value.try_cast<T>()) return ffi::Any(*std::move(cast));
      if constexpr (std::is_base_of_v<ffi::ObjectRef, T>) {
        using Node = typename T::ContainerType;
        if (auto fields = value.try_cast<ffi::Map<ffi::String, ffi::Any>>()) {
          return ffi::reflection::ObjectCreator(Node::_type_key)(*fields);
        }
      }
      return ffi::Any();
    };
    RegisterConfigOption(key, ffi::TypeTraits<T>::TypeStr(), convert);
    return 0;
  }

  /// Returns None when the value does not convert.
  using ConfigConverter = ffi::Any (*)(const ffi::Any& value);
  TVM_DLL static void RegisterConfigOption(const char* key, std::string type_text,
                                           ConfigConverter convert);
  /// Checks and converts option values; AttributeError for an unknown key or a wrong type.
  TVM_DLL static ffi::Map<ffi::String, ffi::Any> ResolveConfig(
      const ffi::Map<ffi::String, ffi::Any>& config);
};

#define TVM_REGISTER_PASS_CONFIG_OPTION(Key, Type)                                         \
  [[maybe_unused]] static int32_t TVM_PASS_CONFIG_CONCAT_(tvm_pass_config_, __COUNTER__) = \
      ::tvm::transform::PassContext::RegisterConfigOption<Type>(Key)
#define TVM_PASS_CONFIG_CONCAT_(a, b) TVM_PASS_CONFIG_CONCAT_INNER_(a, b)
#define TVM_PASS_CONFIG_CONCAT_INNER_(a, b) a##b

/// Enters a context for the life of this object.
class PassContextScope {
 public:
  explicit PassContextScope(PassContext ctx) : ctx_(std::move(ctx)) { ctx_.EnterWithScope(); }
  ~PassContextScope() noexcept(false) { ctx_.ExitWithScope(); }
  PassContextScope(const PassContextScope&) = delete;
  PassContextScope& operator=(const PassContextScope&) = delete;

 private:
  PassContext ctx_;
};

/// Signature of what a pass does. The module comes by value: a sole owner may be changed in place.
using PassFunc = std::function<IRModule(IRModule mod, const PassContext& ctx)>;

class PassNode : public ffi::Object {
 public:
  PassInfo pass_info;

  static void RegisterReflection();
  static constexpr uint32_t _type_child_slots = 4;
  TVM_FFI_DECLARE_OBJECT_INFO("transform.Pass", PassNode, ffi::Object);

 protected:
  friend class Pass;
  /// Body of the pass, without instruments; set by the concrete kinds.
  std::function<IRModule(const PassNode* self, IRModule mod, const PassContext& ctx)> body_;
};

class Pass : public ffi::ObjectRef {
 public:
  /// Runs under the current context.
  TVM_DLL IRModule operator()(IRModule mod) const;
  /// Runs with instruments, timing, dumps and verification. A disabled pass that is called directly
  /// still runs; only Sequential skips.
  TVM_DLL IRModule operator()(IRModule mod, const PassContext& ctx) const;
  const PassInfo& Info() const { return (*this)->pass_info; }
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(Pass, ffi::ObjectRef, PassNode);
};

class ModulePassNode : public PassNode {
 public:
  static void RegisterReflection();
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("transform.ModulePass", ModulePassNode, PassNode);

 private:
  friend Pass CreateModulePass(PassFunc, int, ffi::String, ffi::Array<ffi::String>, bool);
};

class SequentialNode : public PassNode {
 public:
  ffi::Array<Pass> passes;

  static void RegisterReflection();
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("transform.Sequential", SequentialNode, PassNode);

 private:
  friend class Sequential;
  IRModule Run(IRModule mod, const PassContext& ctx) const;
};

class Sequential : public Pass {
 public:
  TVM_DLL Sequential(ffi::Array<Pass> passes, PassInfo info);
  TVM_DLL explicit Sequential(ffi::Array<Pass> passes, ffi::String name = "sequential");
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(Sequential, Pass, SequentialNode);
};

TVM_DLL Pass CreateModulePass(PassFunc pass_func, int opt_level, ffi::String name,
                              ffi::Array<ffi::String> required = {}, bool traceable = false);

/// The pass that logs the module.
TVM_DLL Pass PrintIR(const ffi::String& header = "");

/// Applies `func` to every function of reference type TFunc, in name order; a null result removes
/// the function; an unchanged function leaves the module untouched; an error remembers the
/// function. Dialects build their function passes (CreatePrimFuncPass and so on) on it.
template <typename TFunc, typename F>
IRModule MapFunctions(IRModule mod, F&& func) {
  std::vector<std::pair<GlobalVar, BaseFunc>> updates;
  std::vector<GlobalVar> removals;
  for (const auto& [var, base] : mod->SortedFunctions()) {
    auto typed = base.template as<TFunc>();
    if (!typed.has_value()) continue;
    TFunc before = *std::move(typed);
    TFunc after{ffi::UnsafeInit{}};
    TVM_FFI_VISIT_BEGIN();
    after = func(mod, var, before);
    TVM_FFI_VISIT_END(var);
    if (!after.defined()) {
      removals.push_back(var);
    } else if (!after.same_as(base)) {
      updates.emplace_back(var, after);
    }
  }
  if (updates.empty() && removals.empty()) return mod;
  auto* node = mod.CopyOnWrite();
  for (const auto& [var, updated] : updates) node->Update(var, updated);
  for (const GlobalVar& var : removals) node->Remove(var);
  return mod;
}

/// Declares a module pass in one place: name, summary, what it needs and what it does.
/// `name` has the form "layer.PassName"; the global function "layer.transform.PassName" makes the
/// pass.
struct ModulePassSpec {
  const char* name;
  const char* summary = "";
  IRModule (*run)(IRModule mod, const PassContext& ctx);
  int opt_level = 0;
  std::vector<const char*> required = {};
  bool traceable = false;
};

class ModulePassRegistration {
 public:
  TVM_DLL explicit ModulePassRegistration(ModulePassSpec spec);
};

/// (name, summary) of every pass that was registered by a registration object.
TVM_DLL ffi::Map<ffi::String, ffi::String> ListRegisteredPasses();
/// For registration classes of other layers: records the summary and defines the global factory.
TVM_DLL void RegisterPassFactory(const std::string& name, const std::string& summary,
                                 std::function<Pass()> factory);

/// Called after each pass when TVM_VERIFY=each; a dialect's well-formedness check throws.
using ModuleVerifier = void (*)(const IRModule& mod);
TVM_DLL void AddModuleVerifier(ModuleVerifier verifier);

}  // namespace tvm::transform
#endif  // TVM_IR_TRANSFORM_H_
