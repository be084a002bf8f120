// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include "codegen/llvm/llvm_target.h"

#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/TargetParser/Host.h>
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/string.h>
#include <tvm/runtime/logging.h>

#include <mutex>

namespace tvm {
namespace codegen {

std::string LLVMErrorText(llvm::Error error) { return llvm::toString(std::move(error)); }

namespace {

/// Held while LLVM's list of targets grows or is read.
std::mutex& RegistryMutex() {
  static std::mutex& mutex = *new std::mutex();
  return mutex;
}

}  // namespace

void InitializeLLVM() {
  static std::once_flag once;
  std::call_once(once, [] {
    std::lock_guard<std::mutex> lock(RegistryMutex());
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmParser();
    llvm::InitializeNativeTargetAsmPrinter();
  });
}

void InitializeAllLLVM() {
  static std::once_flag once;
  InitializeLLVM();
  std::call_once(once, [] {
    std::lock_guard<std::mutex> lock(RegistryMutex());
    llvm::InitializeAllTargetInfos();
    llvm::InitializeAllTargets();
    llvm::InitializeAllTargetMCs();
    llvm::InitializeAllAsmParsers();
    llvm::InitializeAllAsmPrinters();
  });
}

namespace {

const llvm::Target* FindTarget(const llvm::Triple& triple) {
  if (triple.getArch() != llvm::Triple(llvm::sys::getProcessTriple()).getArch()) {
    InitializeAllLLVM();
  }
  std::lock_guard<std::mutex> lock(RegistryMutex());
  std::string error;
#if LLVM_VERSION_MAJOR >= 22
  const llvm::Target* found = llvm::TargetRegistry::lookupTarget(triple, error);
#else
  const llvm::Target* found = llvm::TargetRegistry::lookupTarget(triple.str(), error);
#endif
  TVM_FFI_CHECK(found != nullptr, ValueError)
      << "LLVM has no code generator for target triple `" << triple.str() << "`: " << error;
  return found;
}

std::string HostFeatures() {
  std::string features;
  for (const auto& [name, on] : llvm::sys::getHostCPUFeatures()) {
    if (!features.empty()) features += ',';
    features += (on ? '+' : '-') + name.str();
  }
  return features;
}

std::string Join(const ffi::Array<ffi::String>& items) {
  std::string text;
  for (const ffi::String& item : items) {
    if (!text.empty()) text += ',';
    text += std::string(item);
  }
  return text;
}

llvm::FastMathFlags FastMathOf(const Target& target) {
  auto flag = [&](const char* key, bool otherwise) {
    return target->GetAttr<bool>(key).value_or(otherwise);
  };
  llvm::FastMathFlags flags;
  const bool all = flag("fast-math", false);
  flags.setNoNaNs(flag("fast-math-nnan", all));
  flags.setNoInfs(flag("fast-math-ninf", all));
  flags.setNoSignedZeros(flag("fast-math-nsz", all));
  flags.setAllowReciprocal(flag("fast-math-arcp", all));
  flags.setAllowReassoc(flag("fast-math-reassoc", all));
  flags.setApproxFunc(all);
  // Fused multiply-add rounds once instead of twice: never less exact, and what contractions need.
  flags.setAllowContract(flag("fast-math-contract", true));
  return flags;
}

}  // namespace

LLVMTarget::LLVMTarget(const Target& target) {
  InitializeLLVM();
  auto text = [&](const char* key) {
    auto value = target->GetAttr<ffi::String>(key);
    return value.has_value() ? std::string(*value) : std::string();
  };
  const std::string default_triple = llvm::sys::getDefaultTargetTriple();
  std::string triple = text("mtriple");
  cpu_ = text("mcpu");
  auto mattr = target->GetAttr<ffi::Array<ffi::String>>("mattr");
  features_ = mattr.has_value() ? Join(*mattr) : "";
  // The vendor part is a matter of taste ("pc", "unknown"): architecture and system decide.
  const llvm::Triple asked(llvm::Triple::normalize(triple)), machine(default_triple);
  const bool here =
      triple.empty() || (asked.getArch() == machine.getArch() && asked.getOS() == machine.getOS());
  if (triple.empty()) triple = default_triple;
  triple_ = llvm::Triple(llvm::Triple::normalize(triple));
  // A target that names no processor means this machine.
  if (cpu_ == "native" || (here && cpu_.empty() && features_.empty())) {
    cpu_ = llvm::sys::getHostCPUName().str();
    features_ = features_.empty() ? HostFeatures() : HostFeatures() + "," + features_;
  }
  abi_ = text("mabi");
  soft_float_ = text("mfloat-abi") == "soft";
  fast_math_ = FastMathOf(target);
  opt_level_ = static_cast<int>(target->GetAttr<int64_t>("opt-level").value_or(-1));
  target_text_ = target->str();
  Resolve();
  vector_bits_ = static_cast<int>(target->GetAttr<int64_t>("vector-width").value_or(vector_bits_));
}

LLVMTarget LLVMTarget::ForTriple(const std::string& triple) {
  InitializeLLVM();
  LLVMTarget result;
  result.triple_ = llvm::Triple(llvm::Triple::normalize(triple));
  result.fast_math_.setAllowContract(true);
  result.Resolve();
  return result;
}

void LLVMTarget::Resolve() {
  if (cpu_.empty()) cpu_ = triple_.isRISCV() ? "generic-rv64" : "generic";
  backend_ = FindTarget(triple_)->getName();
  std::unique_ptr<llvm::TargetMachine> machine = CreateMachine();
  if (!machine->getMCSubtargetInfo()->isCPUStringValid(cpu_)) {
    LOG(WARNING) << "LLVM does not know processor `" << cpu_ << "` of " << triple_.str()
                 << "; compiling for `generic`";
    cpu_ = "generic";
    machine = CreateMachine();
  }
  data_layout_ = std::make_shared<llvm::DataLayout>(machine->createDataLayout());
  auto enabled = std::make_shared<llvm::StringSet<>>();
  const llvm::MCSubtargetInfo* info = machine->getMCSubtargetInfo();
  for (const llvm::SubtargetFeatureKV& row : info->getAllProcessorFeatures()) {
    if (info->getFeatureBits().test(row.Value)) enabled->insert(row.Key);
  }
  enabled_ = std::move(enabled);
  if (HasFeature("avx512f")) {
    vector_bits_ = 512;
  } else if (HasFeature("avx2")) {
    vector_bits_ = 256;
  }
}

std::unique_ptr<llvm::TargetMachine> LLVMTarget::CreateMachine() const {
  llvm::TargetOptions options;
  // Fusion is licensed instruction by instruction, through their contract flag.
  options.AllowFPOpFusion = llvm::FPOpFusion::Standard;
  options.FloatABIType = soft_float_ ? llvm::FloatABI::Soft : llvm::FloatABI::Hard;
  options.MCOptions.ABIName = abi_;
  // Of what `Default` adds, mostly a second scheduling, our kernels do not get faster.
  const auto level = opt_level_ == 0  ? llvm::CodeGenOptLevel::None
                     : opt_level_ < 2 ? llvm::CodeGenOptLevel::Less
                                      : llvm::CodeGenOptLevel::Default;
  const auto model = triple_.isRISCV() ? llvm::CodeModel::Medium : llvm::CodeModel::Small;
  const llvm::Target* found = FindTarget(triple_);
#if LLVM_VERSION_MAJOR >= 22
  llvm::TargetMachine* machine = found->createTargetMachine(triple_, cpu_, features_, options,
                                                            llvm::Reloc::PIC_, model, level);
#else
  llvm::TargetMachine* machine = found->createTargetMachine(triple_.str(), cpu_, features_, options,
                                                            llvm::Reloc::PIC_, model, level);
#endif
  TVM_FFI_CHECK(machine != nullptr, ValueError)
      << "LLVM cannot create a machine for `" << triple_.str() << "`, processor `" << cpu_ << "`";
  return std::unique_ptr<llvm::TargetMachine>(machine);
}

bool LLVMTarget::HasFeature(const std::string& feature) const {
  return enabled_->contains(feature);  // not one of another architecture
}

bool LLVMTarget::RunsHere() const {
  const llvm::Triple process(llvm::sys::getProcessTriple());
  return process.getArch() == triple_.getArch() && process.getOS() == triple_.getOS();
}

}  // namespace codegen
}  // namespace tvm
