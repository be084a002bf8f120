// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include <dlfcn.h>
#include <tvm/codegen/codegen.h>
#include <tvm/ffi/error.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/tirx/transform.h>

#include <mutex>

namespace tvm {
namespace codegen {
namespace {

constexpr char kLLVMLibrary[] = "libtvm_compiler_llvm.so";

struct HookState {
  std::mutex mutex;
  bool tried = false;
  bool present = false;
  std::string reason;
  LLVMHooks hooks;
};

HookState& State() {
  static auto* state = new HookState();  // the library stays loaded until the process ends
  return *state;
}

/// Folder of the library that holds this code, with a slash at its end.
std::string OwnFolder() {
  Dl_info info;
  if (dladdr(reinterpret_cast<void*>(&State), &info) == 0 || info.dli_fname == nullptr) return "";
  const std::string path = info.dli_fname;
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash + 1);
}

}  // namespace

void SetLLVMHooks(const LLVMHooks& hooks) {
  HookState& state = State();  // locked by the opener, or before any thread exists
  state.hooks = hooks;
  state.present = true;
}

const LLVMHooks* TryGetLLVMHooks(std::string* reason) {
  HookState& state = State();
  std::lock_guard<std::mutex> lock(state.mutex);
  if (!state.present && !state.tried) {
    state.tried = true;
    const std::string path = OwnFolder() + kLLVMLibrary;
    // Local: a driver in this process may carry another LLVM.
    if (dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL) == nullptr) {
      const char* error = dlerror();
      state.reason = error != nullptr ? error : "unknown error";
    } else if (!state.present) {
      state.reason = path + " does not register itself";
    }
  }
  if (reason != nullptr) *reason = state.reason;
  return state.present ? &state.hooks : nullptr;
}

const LLVMHooks& GetLLVMHooks() {
  std::string reason;
  const LLVMHooks* hooks = TryGetLLVMHooks(&reason);
  if (hooks == nullptr) {
    TVM_FFI_THROW(RuntimeError) << "target kind \"llvm\" needs " << kLLVMLibrary
                                << " beside libtvm_compiler, which cannot be opened: " << reason
                                << ". Build with TVM_USE_LLVM=ON, or use target \"c\"";
  }
  return *hooks;
}

ffi::Module Build(IRModule mod, Target target, const CodeReuse& reuse) {
  const std::string name = "target.build." + std::string(target->kind->name);
  auto build = ffi::Function::GetGlobal(name);
  TVM_FFI_CHECK(build.has_value(), ValueError) << "code generator `" << name << "` is not enabled";
  auto context = tvm::transform::PassContext::Current();
  if (context->GetConfig<bool>("tirx.disable_assert", false).value()) {
    mod = tirx::transform::SkipAssert()(std::move(mod));
  }
  if (!reuse.empty()) {
    TVM_FFI_ICHECK(target->kind->name == "llvm")
        << "compiled code can be reused for target kind `llvm` only, not " << target->kind->name;
    return GetLLVMHooks().build(std::move(mod), std::move(target), reuse);
  }
  return (*build)(std::move(mod), std::move(target)).cast<ffi::Module>();
}

namespace {

bool TargetHasFeatures(ffi::Any features, ffi::Optional<Target> target) {
  const Target on = target.has_value() ? *target : Target::Current(false);
  if (auto one = features.try_cast<ffi::String>()) return GetLLVMHooks().has_feature(on, *one);
  for (const ffi::String& feature : features.cast<ffi::Array<ffi::String>>()) {
    if (!GetLLVMHooks().has_feature(on, feature)) return false;
  }
  return true;
}

Target OrCurrent(const ffi::Optional<Target>& target) {
  return target.has_value() ? *target : Target::Current(false);
}

}  // namespace

TVM_FFI_STATIC_INIT_BLOCK() {
  namespace refl = ffi::reflection;
  using OptTarget = ffi::Optional<Target>;
  refl::GlobalDef()
      .def("target.Build", [](IRModule mod, Target target) { return Build(mod, target); })
      .def("target.build.llvm",
           [](IRModule mod, Target target) { return GetLLVMHooks().build(mod, target, {}); })
      .def("codegen.LLVMModuleCreate",
           [](ffi::String target, ffi::String name) { return GetLLVMHooks().create(target, name); })
      .def("codegen.llvm_target_enabled",
           [](ffi::String name) {
             const LLVMHooks* hooks = TryGetLLVMHooks();
             if (hooks == nullptr) return false;
             for (const ffi::String& known : hooks->targets()) {
               if (known == name) return true;
             }
             return name == "llvm";
           })
      .def("ffi.Module.load_from_file.ll",
           [](ffi::String path, ffi::String) { return GetLLVMHooks().load_ir(path); })
      .def("ffi.Module.load_from_file.bc",
           [](ffi::String path, ffi::String) { return GetLLVMHooks().load_ir(path); })
      .def("tvm.codegen.llvm.GetDefaultTargetTriple",
           [] { return ffi::String(GetLLVMHooks().default_triple()); })
      .def("tvm.codegen.llvm.GetProcessTriple",
           [] { return ffi::String(GetLLVMHooks().process_triple()); })
      .def("tvm.codegen.llvm.GetHostCPUName", [] { return ffi::String(GetLLVMHooks().host_cpu()); })
      .def("tvm.codegen.llvm.GetHostCPUFeatures", [] { return GetLLVMHooks().host_features(); })
      .def("target.target_has_features", TargetHasFeatures)
      .def("target.llvm_get_system_triple",
           [] { return ffi::String(GetLLVMHooks().default_triple()); })
      .def("target.llvm_get_system_cpu", [] { return ffi::String(GetLLVMHooks().host_cpu()); })
      .def("target.llvm_get_targets", [] { return GetLLVMHooks().targets(); })
      .def("target.llvm_get_cpu_archlist",
           [](OptTarget t) { return GetLLVMHooks().cpu_list(OrCurrent(t)); })
      .def("target.llvm_get_cpu_features",
           [](OptTarget t) { return GetLLVMHooks().features(OrCurrent(t)); })
      .def("target.llvm_cpu_has_feature",
           [](ffi::String feature, OptTarget t) {
             return GetLLVMHooks().has_feature(OrCurrent(t), feature);
           })
      .def("target.llvm_cpu_has_features", TargetHasFeatures)
      .def("target.llvm_is_valid_cpu",
           [](ffi::String cpu, ffi::String triple) {
             return GetLLVMHooks().is_valid_cpu(cpu, triple);
           })
      .def("target.llvm_get_vector_width",
           [](OptTarget t) { return GetLLVMHooks().vector_width(OrCurrent(t)); })
      .def("target.llvm_lookup_intrinsic_id",
           [](ffi::String name) { return GetLLVMHooks().intrinsic_id(name); })
      .def("target.llvm_get_intrinsic_name",
           [](int64_t id) { return GetLLVMHooks().intrinsic_name(id); })
      .def("target.llvm_version_major",
           [](ffi::Optional<bool> allow_none) -> ffi::Optional<int64_t> {
             const LLVMHooks* hooks = TryGetLLVMHooks();
             if (hooks != nullptr) return hooks->version_major;
             if (allow_none.value_or(false)) return std::nullopt;
             return GetLLVMHooks().version_major;
           });
}

}  // namespace codegen
}  // namespace tvm
