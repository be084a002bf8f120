// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Entry to the code generators: lowered functions of one target to a runtime module.
#ifndef TVM_CODEGEN_CODEGEN_H_
#define TVM_CODEGEN_CODEGEN_H_

#include <tvm/ffi/extra/module.h>
#include <tvm/ir/module.h>
#include <tvm/target/target.h>

#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace tvm {
namespace codegen {

/// What a module is made of besides the functions to compile: code that is known already, and what
/// to do with new code so that it can be known next time. Symbols are without `__tvm_ffi_`.
struct CodeReuse {
  /// An object file of one packed function that was compiled before under the name `symbol`; or,
  /// with an empty symbol, of any functions, which keep the names they have.
  struct Ready {
    std::string object;
    std::string symbol;
    /// The names that it gets, or has.
    std::vector<std::string> names;
  };
  std::vector<Ready> ready;
  /// Functions of the module that become an object each, with the names each of them gets.
  std::unordered_map<std::string, std::vector<std::string>> separate;
  /// Told the object of each separate function, on the thread that compiled it.
  std::function<void(const std::string& symbol, std::string_view object)> compiled;
  /// Lowered functions of the whole module, ready ones included, for whoever asks for its source.
  std::function<IRModule()> whole;

  bool empty() const { return ready.empty() && separate.empty(); }
};

/// Compiles through the global `target.build.<kind>`. ValueError `... is not enabled` without one.
/// With tirx.disable_assert in the pass context assertions are dropped first.
/// Only the target kind `llvm` takes a `reuse` that is not empty.
TVM_DLL ffi::Module Build(IRModule mod, Target target, const CodeReuse& reuse = {});

/// What libtvm_compiler_llvm offers. Libtvm_compiler declares it and opens that library, which lies
/// beside it, when one of these is first needed.
struct LLVMHooks {
  int version_major = 0;
  /// An address in LLVM's library, to tell one copy of it from another.
  const void* llvm_address = nullptr;
  ffi::Module (*build)(IRModule mod, Target target, const CodeReuse& reuse) = nullptr;
  ffi::Module (*create)(ffi::String target, ffi::String name) = nullptr;
  /// Of a file with LLVM IR, text or bitcode.
  ffi::Module (*load_ir)(ffi::String path) = nullptr;
  std::string (*default_triple)() = nullptr;
  std::string (*process_triple)() = nullptr;
  std::string (*host_cpu)() = nullptr;
  ffi::Map<ffi::String, bool> (*host_features)() = nullptr;
  /// Names of LLVM's back ends.
  ffi::Array<ffi::String> (*targets)() = nullptr;
  ffi::Array<ffi::String> (*cpu_list)(Target target) = nullptr;
  ffi::Array<ffi::String> (*features)(Target target) = nullptr;
  bool (*has_feature)(Target target, ffi::String feature) = nullptr;
  bool (*is_valid_cpu)(ffi::String cpu, ffi::String triple) = nullptr;
  int (*vector_width)(Target target) = nullptr;
  int64_t (*intrinsic_id)(ffi::String name) = nullptr;
  ffi::String (*intrinsic_name)(int64_t id) = nullptr;
};

/// Called once by libtvm_compiler_llvm while it is loaded.
TVM_DLL void SetLLVMHooks(const LLVMHooks& hooks);
/// Opens the library on first use; null, with the reason in `*reason`, when that fails.
TVM_DLL const LLVMHooks* TryGetLLVMHooks(std::string* reason = nullptr);
/// RuntimeError saying how to get the library when there is none.
TVM_DLL const LLVMHooks& GetLLVMHooks();

}  // namespace codegen
}  // namespace tvm
#endif  // TVM_CODEGEN_CODEGEN_H_
