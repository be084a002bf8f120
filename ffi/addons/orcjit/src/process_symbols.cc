// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include "process_symbols.h"

#include <dlfcn.h>
#include <llvm/ExecutionEngine/Orc/AbsoluteSymbols.h>
#include <llvm/ExecutionEngine/Orc/ExecutionUtils.h>
#include <llvm/Support/Error.h>

#include <cstdio>
#include <map>
#include <mutex>
#include <utility>

namespace tvm {
namespace ffi {
namespace orcjit {
namespace {

using llvm::orc::ExecutorAddr;
using llvm::orc::ExecutorSymbolDef;

/// Defines in `dylib` those of the wanted symbols that `find` knows.
template <typename TFind>
llvm::Error DefineFound(llvm::orc::JITDylib& dylib, const llvm::orc::SymbolLookupSet& wanted,
                        const TFind& find) {
  llvm::orc::SymbolMap found;
  for (const auto& [name, flags] : wanted) {
    const std::string text = (*name).str();
    if (void* address = find(text.c_str())) {
      found[name] =
          ExecutorSymbolDef(ExecutorAddr::fromPtr(address), llvm::JITSymbolFlags::Exported);
    }
  }
  if (found.empty()) return llvm::Error::success();
  return dylib.define(llvm::orc::absoluteSymbols(std::move(found)));
}

class ProcessGenerator final : public llvm::orc::DefinitionGenerator {
 public:
  llvm::Error tryToGenerate(llvm::orc::LookupState&, llvm::orc::LookupKind,
                            llvm::orc::JITDylib& dylib, llvm::orc::JITDylibLookupFlags,
                            const llvm::orc::SymbolLookupSet& wanted) override {
    return DefineFound(dylib, wanted, FindProcessSymbol);
  }
};

class ToolchainGenerator final : public llvm::orc::DefinitionGenerator {
 public:
  ToolchainGenerator(llvm::orc::ObjectLayer& layer, std::string compiler)
      : layer_(layer), compiler_(std::move(compiler)) {}

  llvm::Error tryToGenerate(llvm::orc::LookupState& state, llvm::orc::LookupKind kind,
                            llvm::orc::JITDylib& dylib, llvm::orc::JITDylibLookupFlags flags,
                            const llvm::orc::SymbolLookupSet& wanted) override {
    // What may be missing is no reason to start a compiler.
    if (llvm::none_of(wanted, [](const auto& entry) {
          return entry.second == llvm::orc::SymbolLookupFlags::RequiredSymbol;
        })) {
      return llvm::Error::success();
    }
    if (llvm::Error error = Open()) return error;
    llvm::orc::SymbolLookupSet rest;
    for (const auto& entry : wanted) {
      if (!Exports(*entry.first)) rest.add(entry.first, entry.second);
    }
    if (handle_ != nullptr) {
      llvm::Error error =
          DefineFound(dylib, wanted, [this](const char* name) { return dlsym(handle_, name); });
      if (error) return error;
    }
    if (archive_ == nullptr || rest.empty()) return llvm::Error::success();
    return archive_->tryToGenerate(state, kind, dylib, flags, rest);
  }

 private:
  bool Exports(llvm::StringRef name) {
    return handle_ != nullptr && dlsym(handle_, name.str().c_str()) != nullptr;
  }

  llvm::Error Open() {
    if (opened_) return llvm::Error::success();
    opened_ = true;
    const ToolchainFiles files = FindToolchainFiles(compiler_);
    if (!files.shared.empty()) handle_ = dlopen(files.shared.c_str(), RTLD_LAZY | RTLD_LOCAL);
    if (files.archive.empty()) return llvm::Error::success();
    auto archive = llvm::orc::StaticLibraryDefinitionGenerator::Load(layer_, files.archive.c_str());
    if (!archive) return archive.takeError();
    archive_ = std::move(*archive);
    return llvm::Error::success();
  }

  llvm::orc::ObjectLayer& layer_;
  const std::string compiler_;
  bool opened_ = false;     // generators of a JITDylib run one at a time
  void* handle_ = nullptr;  ///< never closed: code may still use it
  std::unique_ptr<llvm::orc::DefinitionGenerator> archive_;
};

/// Path that the compiler prints for one of its files; empty if it has no such file.
std::string AskCompiler(const std::string& compiler, const char* file) {
  const std::string command = compiler + " -print-file-name=" + file + " 2>/dev/null";
  std::FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return "";
  std::string path;
  char buffer[256];
  while (std::fgets(buffer, sizeof(buffer), pipe) != nullptr) path += buffer;
  const bool failed = pclose(pipe) != 0;
  while (!path.empty() && (path.back() == '\n' || path.back() == '\r')) path.pop_back();
  // A compiler that does not find the file prints its bare name.
  return failed || path.find('/') == std::string::npos ? "" : path;
}

}  // namespace

void* FindProcessSymbol(const char* name) {
  if (void* address = dlsym(RTLD_DEFAULT, name)) return address;
  // An interpreter loads extension modules without making their symbols global. Through its own
  // handle this library sees what it depends on.
  static void* const own = [] {
    Dl_info info;
    if (dladdr(reinterpret_cast<void*>(&FindProcessSymbol), &info) == 0) {
      return static_cast<void*>(nullptr);
    }
    return dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  }();
  return own == nullptr ? nullptr : dlsym(own, name);
}

std::unique_ptr<llvm::orc::DefinitionGenerator> NewProcessGenerator() {
  return std::make_unique<ProcessGenerator>();
}

ToolchainFiles FindToolchainFiles(const std::string& compiler) {
  static std::mutex mutex;
  static auto* known = new std::map<std::string, ToolchainFiles>();
  std::lock_guard<std::mutex> guard(mutex);
  auto it = known->find(compiler);
  if (it == known->end()) {
    it = known
             ->emplace(compiler, ToolchainFiles{AskCompiler(compiler, "libstdc++.so.6"),
                                                AskCompiler(compiler, "libstdc++_nonshared.a")})
             .first;
  }
  return it->second;
}

std::unique_ptr<llvm::orc::DefinitionGenerator> NewToolchainGenerator(llvm::orc::ObjectLayer& layer,
                                                                      std::string compiler) {
  return std::make_unique<ToolchainGenerator>(layer, std::move(compiler));
}

}  // namespace orcjit
}  // namespace ffi
}  // namespace tvm
