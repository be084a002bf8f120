// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Entry to the code generators: lowered functions of one target to a runtime module.
#ifndef TVM_CODEGEN_CODEGEN_H_
#define TVM_CODEGEN_CODEGEN_H_

#include <tvm/ffi/extra/module.h>
#include <tvm/ir/module.h>
#include <tvm/target/target.h>

#include <string>

namespace tvm {
namespace codegen {

/// Compiles through the global `target.build.<kind>`. ValueError `... is not enabled` without one.
/// With tirx.disable_assert in the pass context assertions are dropped first.
TVM_DLL ffi::Module Build(IRModule mod, Target target);

/// What libtvm_compiler_llvm offers. Libtvm_compiler declares it and opens that library, which lies
/// beside it, when one of these is first needed.
struct LLVMHooks {
  int version_major = 0;
  ffi::Module (*build)(IRModule mod, Target target) = nullptr;
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
