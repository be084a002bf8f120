// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include "codegen/llvm/llvm_module.h"

#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/Bitcode/BitcodeWriter.h>
#include <llvm/IRReader/IRReader.h>
#include <llvm/Linker/Linker.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Transforms/Utils/Cloning.h>
#include <tvm/ffi/error.h>
#include <tvm/ffi/function.h>
#include <tvm/runtime/logging.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <string_view>

#include "codegen/llvm/optimize.h"
#include "codegen/object_merge.h"
#include "codegen/object_symbols.h"

namespace tvm {
namespace codegen {
namespace {

constexpr char kPackedPrefix[] = "__tvm_ffi_";

template <typename T>
ffi::Function Constant(T value) {
  return ffi::Function::FromTyped([value = std::move(value)] { return value; });
}

/// A compiled function as a Function that keeps its module loaded.
ffi::Function WrapSymbol(void* address, ffi::ObjectPtr<ffi::ModuleObj> owner) {
  auto* keep = new ffi::ObjectPtr<ffi::ModuleObj>(std::move(owner));
  auto drop = [](void* self) { delete static_cast<ffi::ObjectPtr<ffi::ModuleObj>*>(self); };
  return ffi::Function::FromExternC(keep, reinterpret_cast<TVMFFISafeCallType>(address), drop);
}

std::unique_ptr<llvm::Module> ParseIR(const std::string& bytes, llvm::LLVMContext* context) {
  llvm::SMDiagnostic diagnostic;
  auto buffer = llvm::MemoryBuffer::getMemBuffer(bytes, "module");
  std::unique_ptr<llvm::Module> module = llvm::parseIR(*buffer, diagnostic, *context);
  TVM_FFI_CHECK(module != nullptr, ValueError)
      << "cannot parse LLVM IR, line " << diagnostic.getLineNo() << ": "
      << diagnostic.getMessage().str();
  return module;
}

std::string BitcodeOf(const llvm::Module& module) {
  std::string bytes;
  llvm::raw_string_ostream stream(bytes);
  llvm::WriteBitcodeToFile(module, stream);
  stream.flush();
  return bytes;
}

}  // namespace

LLVMModuleObj::LLVMModuleObj(LLVMTarget target, CompilePlan plan, const CodeReuse& reuse)
    : target_(std::move(target)), plan_(std::move(plan)) {
  const auto start = std::chrono::steady_clock::now();
  // With `whole`, the functions are made again should their text be asked for.
  objects_ = CompileBatches(&plan_, target_, /*keep_functions=*/!reuse.whole, &glue_);
  if (!reuse.empty()) Reuse(reuse);
  const char* timing = std::getenv("TVM_TIME_PASSES");
  if (timing != nullptr && std::string_view(timing) != "0") {
    const std::chrono::duration<double, std::milli> spent =
        std::chrono::steady_clock::now() - start;
    LOG(INFO) << "codegen.llvm: " << plan_.symbols.size() << " symbols in " << plan_.batches.size()
              << " batches, " << spent.count() << " ms";
  }
}

void LLVMModuleObj::Reuse(const CodeReuse& reuse) {
  const std::string prefix = kPackedPrefix;
  // Gives the function in `object` its names, in the object and in the tables here.
  auto named = [&](std::string object, const std::string& symbol, const auto& names) {
    std::vector<std::string> packed;
    for (const std::string& name : names) {
      packed.push_back(prefix + name);
      if (plan_.symbols.insert(packed.back()).second) plan_.function_names.push_back(name);
    }
    if (symbol.empty() || (packed.size() == 1 && packed[0] == prefix + symbol)) return object;
    return RenameSymbol(object, prefix + symbol, packed);
  };
  for (size_t i = 0; i < plan_.separate.size(); ++i) {
    if (plan_.separate[i].empty()) continue;
    const std::string symbol = plan_.separate[i].substr(prefix.size());
    if (reuse.compiled) reuse.compiled(symbol, objects_[i]);
    objects_[i] = named(std::move(objects_[i]), symbol, reuse.separate.at(symbol));
  }
  for (const CodeReuse::Ready& ready : reuse.ready) {
    objects_.push_back(named(ready.object, ready.symbol, ready.names));
  }
  whole_ = reuse.whole;
}

LLVMModuleObj::LLVMModuleObj(LLVMTarget target, std::string bitcode)
    : target_(std::move(target)), bitcode_(std::move(bitcode)) {
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module = ParseIR(bitcode_, &context);
  for (const llvm::Function& function : *module) {
    const std::string name = function.getName().str();
    if (function.isDeclaration() || name.rfind(kPackedPrefix, 0) != 0) continue;
    plan_.symbols.insert(name);
    plan_.function_names.push_back(name.substr(sizeof(kPackedPrefix) - 1));
  }
  std::unique_ptr<llvm::TargetMachine> machine = target_.CreateMachine();
  OptimizeModule(module.get(), target_, machine.get());
  objects_.push_back(EmitModule(module.get(), target_, machine.get(), EmitKind::kObject));
  glue_ = GlueObject(target_);
}

JITSession* LLVMModuleObj::Session() {
  std::lock_guard<std::mutex> lock(mutex_);
  if (session_ == nullptr) {
    std::vector<std::string_view> objects(objects_.begin(), objects_.end());
    objects.push_back(*glue_);
    session_ = std::make_unique<JITSession>(target_, objects, static_cast<ffi::ModuleObj*>(this));
  }
  return session_.get();
}

bool LLVMModuleObj::ImplementsFunction(const ffi::String& name) {
  return plan_.symbols.count(kPackedPrefix + std::string(name)) != 0;
}

ffi::Optional<ffi::Function> LLVMModuleObj::GetFunction(const ffi::String& name) {
  if (name == "__tvm_is_system_module") return Constant(plan_.is_system_lib);
  if (name == "__tvm_get_system_lib_prefix") {
    if (!plan_.is_system_lib) return std::nullopt;
    return Constant(ffi::String(plan_.system_lib_prefix));
  }
  if (name == "get_func_names") {
    ffi::Array<ffi::String> names;
    for (const std::string& function : plan_.function_names) names.push_back(function);
    return Constant(names);
  }
  if (name == "_get_target_string") return Constant(ffi::String(target_.target_text()));
  if (name == "__tvm_objects") {
    ffi::Array<ffi::Bytes> objects;
    for (const std::string& object : objects_) objects.push_back(ffi::Bytes(object));
    return Constant(objects);
  }
  if (name == "__tvm_merged_object") return Constant(ffi::Bytes(MergedObject()));
  if (name == "__tvm_target_triple") return Constant(ffi::String(target_.triple().str()));
  if (name == "__tvm_target_features") return Constant(ffi::String(target_.features()));
  if (!ImplementsFunction(name)) return std::nullopt;
  void* address = Session()->Lookup(kPackedPrefix + std::string(name));
  if (address == nullptr) return std::nullopt;
  return WrapSymbol(address, ffi::GetObjectPtr<ffi::ModuleObj>(this));
}

std::string LLVMModuleObj::MergedObject() const {
  std::vector<std::string_view> objects(objects_.begin(), objects_.end());
  objects.push_back(*glue_);
  return MergeObjects(objects);
}

std::unique_ptr<llvm::Module> LLVMModuleObj::Regenerate(llvm::LLVMContext* context,
                                                        bool with_glue) const {
  if (bitcode_.empty()) {
    const CompilePlan plan = whole_ ? PlanCompilation(whole_()) : plan_;
    return GenerateWhole(plan, target_, context, /*optimize=*/true, with_glue);
  }
  std::unique_ptr<llvm::Module> module = ParseIR(bitcode_, context);
  if (with_glue && module->getFunction("__tvm_check_args") == nullptr) {
    TVM_FFI_ICHECK(!llvm::Linker::linkModules(*module, GlueModule(target_, context)));
  }
  return module;
}

std::string LLVMModuleObj::Text(const std::string& format, bool with_glue) const {
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module = Regenerate(&context, with_glue);
  if (format == "bc") return BitcodeOf(*module);
  if (format == "s" || format == "asm") {
    return EmitModule(module.get(), target_, target_.CreateMachine().get(), EmitKind::kAssembly);
  }
  std::string text;
  llvm::raw_string_ostream stream(text);
  module->print(stream, nullptr);
  stream.flush();
  return text;
}

void LLVMModuleObj::WriteToFile(const ffi::String& file_name, const ffi::String& format) const {
  std::string kind(format);
  const std::string path(file_name);
  if (kind.empty()) {
    const size_t dot = path.rfind('.');
    kind = dot == std::string::npos ? "o" : path.substr(dot + 1);
  }
  std::string bytes;
  if (kind == "o" || kind == "obj") {
    bytes = MergedObject();
  } else if (kind == "s" || kind == "asm" || kind == "ll" || kind == "bc") {
    bytes = Text(kind, /*with_glue=*/true);
  } else {
    TVM_FFI_THROW(ValueError) << "cannot write an llvm module in format `" << kind
                              << "`; expected o, obj, s, asm, ll or bc";
  }
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file.close();
  TVM_FFI_CHECK(file.good(), RuntimeError) << "cannot write `" << path << "`";
}

ffi::String LLVMModuleObj::InspectSource(const ffi::String& format) const {
  const std::string kind = format.empty() ? "ll" : std::string(format);
  TVM_FFI_CHECK(kind == "ll" || kind == "s" || kind == "asm", ValueError)
      << "cannot show an llvm module as `" << kind << "`; expected ll, s or asm";
  return Text(kind, /*with_glue=*/false);
}

// Offered through LLVMHooks, see hooks.cc.
ffi::Module BuildLLVM(IRModule mod, Target target, const CodeReuse& reuse) {
  CompilePlan plan = PlanCompilation(mod, reuse);
  mod = IRModule();  // the plan alone holds the functions, to let go of them one by one
  return ffi::Module(ffi::make_object<LLVMModuleObj>(LLVMTarget(target), std::move(plan), reuse));
}

ffi::Module CreateLLVMModule(ffi::String target, ffi::String name) {
  return ffi::Module(
      ffi::make_object<LLVMModuleObj>(LLVMTarget(Target(target)), PlanCompilation(IRModule())));
}

ffi::Module LoadLLVMIR(ffi::String path) {
  std::ifstream file{std::string(path), std::ios::binary};
  TVM_FFI_CHECK(file.good(), ValueError) << "cannot find file " << path;
  std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module = ParseIR(bytes, &context);
  if (auto* flag = llvm::dyn_cast_or_null<llvm::MDString>(module->getModuleFlag("tvm_target"))) {
    if (!flag->getString().empty()) {
      return ffi::Module(ffi::make_object<LLVMModuleObj>(
          LLVMTarget(Target(ffi::String(flag->getString().str()))), std::move(bytes)));
    }
  }
  const std::string triple = TripleOf(*module).str();
  return ffi::Module(
      ffi::make_object<LLVMModuleObj>(LLVMTarget::ForTriple(triple), std::move(bytes)));
}

}  // namespace codegen
}  // namespace tvm
