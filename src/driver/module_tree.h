// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// The import graph of a module as an exported library stores it.
#ifndef TVM_DRIVER_MODULE_TREE_H_
#define TVM_DRIVER_MODULE_TREE_H_

#include <tvm/ffi/extra/module.h>
#include <tvm/runtime/base.h>

#include <string>
#include <vector>

namespace tvm {
namespace driver {

/// Node 0 is the root; children have larger numbers. All compilation-exportable modules are one
/// node, the library itself.
struct ModuleTree {
  struct Node {
    /// The library node has no module.
    ffi::Optional<ffi::Module> module;
    std::vector<size_t> children;
  };
  std::vector<Node> nodes;
  /// Modules that become code of the library.
  std::vector<ffi::Module> exportable;
};

/// RuntimeError for a cycle; ValueError for a module that can be neither compiled nor serialized.
TVM_DLL ModuleTree BuildModuleTree(const ffi::Module& root);

/// Content of `__tvm_ffi__library_bin`; see spec/ffi.md 1.6.
TVM_DLL std::string SerializeModuleTree(const ModuleTree& tree);

}  // namespace driver
}  // namespace tvm
#endif  // TVM_DRIVER_MODULE_TREE_H_
