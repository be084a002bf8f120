// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Entry points of the compiler: from a module to runnable code, from runnable code to a file.
#ifndef TVM_DRIVER_DRIVER_H_
#define TVM_DRIVER_DRIVER_H_

#include <tvm/ffi/extra/module.h>
#include <tvm/ir/module.h>
#include <tvm/target/target.h>

#include <string>
#include <vector>

namespace tvm {
namespace driver {

/// Compiles the PrimFuncs of a module. A null target means the current one, else `llvm` of this
/// machine. ValueError for an unknown pipeline, naming the known ones.
TVM_DLL ffi::Module TirxBuild(IRModule mod, Target target, const ffi::String& pipeline = "default");

/// Compiles a module: a VM executable when it holds Relax functions, else TirxBuild's result.
TVM_DLL ffi::Module Compile(IRModule mod, Target target,
                            const ffi::String& relax_pipeline = "default",
                            const ffi::String& tir_pipeline = "default");

/// Functions of host targets and functions of each device target.
struct SplitModules {
  IRModule host;
  std::vector<std::pair<Target, IRModule>> devices;
};
TVM_DLL SplitModules SplitHostDeviceModules(const IRModule& mod);

struct ExportOptions {
  /// Compiler driver that compiles C sources and links; empty: $CC, cc, clang, gcc on PATH.
  std::string cc;
  /// Further arguments of the link.
  std::vector<std::string> options;
  /// Keeps the intermediate files in this folder; empty: a temporary one.
  std::string workspace_dir;
  /// Further object files, sources or libraries to link.
  std::vector<std::string> addons;
};

/// Writes one shared library that holds a module and everything it imports. Large constants of a VM
/// executable go into an aligned section and are used in place.
/// RuntimeError `Compilation error: ...` with the command when a tool fails.
TVM_DLL void ExportLibrary(const ffi::Module& mod, const std::string& path,
                           const ExportOptions& options = {});

/// The files that ExportLibrary would link, written into `folder`.
TVM_DLL std::vector<std::string> ExportObjects(const ffi::Module& mod, const std::string& folder,
                                               const ExportOptions& options = {});

}  // namespace driver
}  // namespace tvm
#endif  // TVM_DRIVER_DRIVER_H_
