// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include <tvm/ffi/error.h>
#include <tvm/ffi/extra/structural_equal.h>
#include <tvm/ffi/extra/structural_hash.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/ir/error_context.h>
#include <tvm/ir/transform.h>
#include <tvm/runtime/host_signals.h>
#include <tvm/runtime/logging.h>

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "ir/pass_trace.h"

namespace tvm::transform {

void PassNode::RegisterReflection() {
  namespace refl = ffi::reflection;
  refl::ObjectDef<PassNode>(refl::init(false)).def_ro("pass_info", &PassNode::pass_info);
}

void ModulePassNode::RegisterReflection() {
  namespace refl = ffi::reflection;
  refl::ObjectDef<ModulePassNode>(refl::init(false));
}

void SequentialNode::RegisterReflection() {
  namespace refl = ffi::reflection;
  refl::ObjectDef<SequentialNode>(refl::init(false)).def_ro("passes", &SequentialNode::passes);
}

// ---------------------------------------------------------------------------------------------
// Running

namespace {

struct VerifierList {
  std::mutex mutex;
  std::vector<ModuleVerifier> verifiers;

  static VerifierList& Global() {
    static auto* list = new VerifierList;
    return *list;
  }
};

void VerifyAfter(const IRModule& mod, const PassInfo& info) {
  VerifierList& list = VerifierList::Global();
  std::vector<ModuleVerifier> verifiers;
  {
    std::lock_guard<std::mutex> lock(list.mutex);
    verifiers = list.verifiers;
  }
  for (ModuleVerifier verify : verifiers) {
    try {
      verify(mod);
    } catch (const ffi::Error& error) {
      const ffi::Error named(error.kind(),
                             "Program is not well-formed after pass " + std::string(info->name) +
                                 ": " + error.message(),
                             error.backtrace(), error.cause_chain(), error.extra_context());
      throw EnrichPassErrorWithContext(named, mod, info->name);
    }
  }
}

}  // namespace

IRModule Pass::operator()(IRModule mod) const {
  return operator()(std::move(mod), PassContext::Current());
}

IRModule Pass::operator()(IRModule mod, const PassContext& ctx) const {
  const PassNode* node = get();
  TVM_FFI_ICHECK(node != nullptr) << "run of a null pass";
  const PassInfo& info = node->pass_info;
  TVM_FFI_CHECK(mod.get() != nullptr, ValueError)
      << "pass " << info->name << " needs a module, found none";
  // Who presses Ctrl-C does not wait for the rest of a compilation.
  runtime::CheckHostSignals();
  if (!ctx.InstrumentBeforePass(mod, info)) return mod;

  const bool check_immutable = ctx->GetConfig<bool>("testing.immutable_module", false).value();
  std::optional<int64_t> hash_before;
  if (check_immutable) hash_before = static_cast<int64_t>(ffi::StructuralHash::Hash(mod));

  // Kept for the error message; passes see a shared module and therefore copy what they change.
  const IRModule before = mod;
  PassTrace trace(info, node->type_index() == SequentialNode::RuntimeTypeIndex());
  IRModule after{nullptr};
  try {
    after = node->body_(node, std::move(mod), ctx);
  } catch (const ffi::Error& error) {
    throw EnrichPassErrorWithContext(error, before, info->name);
  }
  TVM_FFI_CHECK(after.get() != nullptr, ValueError)
      << "pass " << info->name << " returned no module";
  if (check_immutable) {
    TVM_FFI_CHECK(static_cast<int64_t>(ffi::StructuralHash::Hash(before)) == *hash_before,
                  RuntimeError)
        << "Immutable module has been modified in pass: " << info->name;
  }
  trace.Finish(before, after);
  if (VerifyEachPass() && node->type_index() != SequentialNode::RuntimeTypeIndex()) {
    VerifyAfter(after, info);
  }
  ctx.InstrumentAfterPass(after, info);
  return after;
}

void AddModuleVerifier(ModuleVerifier verifier) {
  VerifierList& list = VerifierList::Global();
  std::lock_guard<std::mutex> lock(list.mutex);
  list.verifiers.push_back(verifier);
}

// ---------------------------------------------------------------------------------------------
// Kinds of passes

Pass CreateModulePass(PassFunc pass_func, int opt_level, ffi::String name,
                      ffi::Array<ffi::String> required, bool traceable) {
  auto node = ffi::make_object<ModulePassNode>();
  node->pass_info = PassInfo(opt_level, std::move(name), std::move(required), traceable);
  node->body_ = [func = std::move(pass_func)](const PassNode*, IRModule mod,
                                              const PassContext& ctx) {
    return func(std::move(mod), ctx);
  };
  return Pass(std::move(node));
}

namespace {

/// The pass behind a required name: global "transform.<name>", or for "layer.Pass" the global
/// "layer.transform.Pass".
Pass ResolvePass(const ffi::String& name) {
  std::string text(name);
  if (auto factory = ffi::Function::GetGlobal("transform." + text); factory.has_value()) {
    return factory.value()().cast<Pass>();
  }
  size_t dot = text.find('.');
  if (dot != std::string::npos) {
    std::string full = text.substr(0, dot) + ".transform" + text.substr(dot);
    if (auto factory = ffi::Function::GetGlobal(full); factory.has_value()) {
      return factory.value()().cast<Pass>();
    }
  }
  TVM_FFI_THROW(ValueError) << "Cannot find required pass transform." << name;
  TVM_FFI_UNREACHABLE();
}

}  // namespace

Sequential::Sequential(ffi::Array<Pass> passes, PassInfo info) {
  auto node = ffi::make_object<SequentialNode>();
  node->passes = std::move(passes);
  node->pass_info = std::move(info);
  node->body_ = [](const PassNode* self, IRModule mod, const PassContext& ctx) {
    return static_cast<const SequentialNode*>(self)->Run(std::move(mod), ctx);
  };
  data_ = std::move(node);
}

Sequential::Sequential(ffi::Array<Pass> passes, ffi::String name)
    : Sequential(std::move(passes), PassInfo(0, std::move(name))) {}

IRModule SequentialNode::Run(IRModule mod, const PassContext& ctx) const {
  for (const Pass& pass : passes) {
    TVM_FFI_CHECK(pass.defined(), ValueError) << "Found undefined pass for optimization.";
    if (!ctx.PassEnabled(pass.Info())) continue;
    for (const ffi::String& name : pass.Info()->required) {
      mod = ResolvePass(name)(std::move(mod), ctx);
    }
    mod = pass(std::move(mod), ctx);
  }
  return mod;
}

Pass PrintIR(const ffi::String& header) {
  return CreateModulePass(
      [header](IRModule mod, const PassContext&) {
        LOG(INFO) << "PrintIR(" << header << "):\n" << DebugText(mod);
        return mod;
      },
      0, "PrintIR");
}

// ---------------------------------------------------------------------------------------------
// Registration

namespace {

struct PassTable {
  std::mutex mutex;
  std::map<std::string, std::string> summaries;

  static PassTable& Global() {
    static auto* table = new PassTable;
    return *table;
  }
};

}  // namespace

void RegisterPassFactory(const std::string& name, const std::string& summary,
                         std::function<Pass()> factory) {
  size_t dot = name.find('.');
  TVM_FFI_ICHECK(dot != std::string::npos)
      << "pass name must have the form layer.PassName, found " << name;
  {
    PassTable& table = PassTable::Global();
    std::lock_guard<std::mutex> lock(table.mutex);
    table.summaries[name] = summary;
  }
  std::string global = name.substr(0, dot) + ".transform" + name.substr(dot);
  ffi::Function::SetGlobal(global,
                           ffi::Function::FromTyped([factory]() { return factory(); }, global));
}

ffi::Map<ffi::String, ffi::String> ListRegisteredPasses() {
  PassTable& table = PassTable::Global();
  std::lock_guard<std::mutex> lock(table.mutex);
  ffi::Map<ffi::String, ffi::String> result;
  for (const auto& [name, summary] : table.summaries) result.Set(name, summary);
  return result;
}

ModulePassRegistration::ModulePassRegistration(ModulePassSpec spec) {
  RegisterPassFactory(spec.name, spec.summary, [spec]() {
    ffi::Array<ffi::String> required;
    for (const char* name : spec.required) required.push_back(name);
    return CreateModulePass(spec.run, spec.opt_level, spec.name, required, spec.traceable);
  });
}

TVM_FFI_STATIC_INIT_BLOCK() {
  namespace refl = ffi::reflection;
  PassNode::RegisterReflection();
  ModulePassNode::RegisterReflection();
  SequentialNode::RegisterReflection();
  refl::GlobalDef()
      .def("transform.MakeModulePass",
           [](ffi::Function func, PassInfo info) {
             return CreateModulePass(
                 [func](IRModule mod, const PassContext& ctx) {
                   return func(mod, ctx).cast<IRModule>();
                 },
                 info->opt_level, info->name, info->required, info->traceable);
           })
      .def("transform.Info", [](const Pass& pass) { return pass.Info(); })
      .def("transform.RunPass", [](const Pass& pass, const IRModule& mod) { return pass(mod); })
      .def("transform.Sequential",
           [](ffi::Array<Pass> passes, int opt_level, ffi::String name,
              ffi::Array<ffi::String> required, bool traceable) {
             return Sequential(passes, PassInfo(opt_level, name, required, traceable));
           })
      .def("transform.PrintIR", [](ffi::String header) { return PrintIR(header); })
      .def("transform.ListRegisteredPasses", ListRegisteredPasses);
}

}  // namespace tvm::transform
