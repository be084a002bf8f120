// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
// What this library offers to libtvm_compiler, and queries about LLVM's targets.
#include <llvm/ADT/StringMap.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/TargetParser/Host.h>
#include <llvm/TargetParser/X86TargetParser.h>
#include <tvm/codegen/codegen.h>
#include <tvm/ffi/error.h>
#include <tvm/runtime/logging.h>

#include "codegen/llvm/llvm_module.h"
#include "codegen/llvm/llvm_target.h"

namespace tvm {
namespace codegen {

// Defined in llvm_module.cc.
ffi::Module BuildLLVM(IRModule mod, Target target, const CodeReuse& reuse);
ffi::Module CreateLLVMModule(ffi::String target, ffi::String name);
ffi::Module LoadLLVMIR(ffi::String path);

namespace {

ffi::Array<ffi::String> BackEnds() {
  InitializeAllLLVM();
  ffi::Array<ffi::String> names;
  for (const llvm::Target& target : llvm::TargetRegistry::targets()) {
    names.push_back(std::string(target.getName()));
  }
  return names;
}

ffi::Array<ffi::String> CpuList(Target target) {
  const auto machine = LLVMTarget(target).CreateMachine();
  ffi::Array<ffi::String> names;
  for (const auto& row : machine->getMCSubtargetInfo()->getAllProcessorDescriptions()) {
    names.push_back(std::string(row.Key));
  }
  return names;
}

ffi::Array<ffi::String> Features(Target target) {
  const auto machine = LLVMTarget(target).CreateMachine();
  const llvm::MCSubtargetInfo* info = machine->getMCSubtargetInfo();
  ffi::Array<ffi::String> names;
  for (const auto& row : info->getAllProcessorFeatures()) {
    if (info->getFeatureBits().test(row.Value)) names.push_back(std::string(row.Key));
  }
  return names;
}

bool IsValidCpu(ffi::String cpu, ffi::String triple) {
  const auto machine = LLVMTarget::ForTriple(triple).CreateMachine();
  return machine->getMCSubtargetInfo()->isCPUStringValid(std::string(cpu));
}

int VectorWidth(Target target) {
  if (auto width = target->GetAttr<int64_t>("vector-width")) return static_cast<int>(*width);
  const llvm::Triple triple = LLVMTarget(target).triple();
  if (triple.getArch() == llvm::Triple::x86_64) return 512;
  if (triple.getArch() == llvm::Triple::x86) return 256;
  if (triple.isARM() || triple.isAArch64() || triple.isRISCV()) return 128;
  LOG(WARNING) << "vector width of " << triple.str() << " is unknown; assuming 128 bits";
  return 128;
}

ffi::Map<ffi::String, bool> HostFeatureMap() {
  ffi::Map<ffi::String, bool> features;
  for (const auto& [name, on] : llvm::sys::getHostCPUFeatures()) features.Set(name.str(), on);
  return features;
}

ffi::String IntrinsicName(int64_t id) {
  if (id <= 0) return "";
  return llvm::Intrinsic::getBaseName(static_cast<llvm::Intrinsic::ID>(id)).str();
}

const bool kInstalled = [] {
  LLVMHooks hooks;
  hooks.version_major = LLVM_VERSION_MAJOR;
  hooks.llvm_address = reinterpret_cast<const void*>(&llvm::sys::getProcessTriple);
  hooks.build = BuildLLVM;
  hooks.create = CreateLLVMModule;
  hooks.load_ir = LoadLLVMIR;
  hooks.default_triple = [] { return llvm::sys::getDefaultTargetTriple(); };
  hooks.process_triple = [] { return llvm::sys::getProcessTriple(); };
  hooks.host_cpu = [] { return llvm::sys::getHostCPUName().str(); };
  hooks.host_features = HostFeatureMap;
  hooks.targets = BackEnds;
  hooks.cpu_list = CpuList;
  hooks.features = Features;
  hooks.has_feature = [](Target target, ffi::String feature) {
    return LLVMTarget(target).HasFeature(std::string(feature));
  };
  hooks.is_valid_cpu = IsValidCpu;
  hooks.vector_width = VectorWidth;
  hooks.intrinsic_id = [](ffi::String name) {
    return static_cast<int64_t>(LookupIntrinsic(std::string(name)));
  };
  hooks.intrinsic_name = IntrinsicName;
  SetLLVMHooks(hooks);
  TargetHooks target_hooks;
  target_hooks.default_triple = [] { return llvm::sys::getDefaultTargetTriple(); };
  target_hooks.host_cpu = [] { return llvm::sys::getHostCPUName().str(); };
  SetTargetHooks(target_hooks);
  return true;
}();

}  // namespace
}  // namespace codegen
}  // namespace tvm
