// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include "driver/module_tree.h"

#include <tvm/ffi/error.h>

#include <algorithm>
#include <map>
#include <unordered_map>

namespace tvm {
namespace driver {
namespace {

constexpr size_t kLibrary = 0;  // group number of all exportable modules, before ordering

class TreeBuilder {
 public:
  ModuleTree Run(const ffi::Module& root) {
    groups_.emplace_back();
    const size_t first = Visit(root);
    Order(first);
    ModuleTree tree;
    std::reverse(order_.begin(), order_.end());
    std::unordered_map<size_t, size_t> number;
    for (size_t group : order_) number.emplace(group, number.size());
    for (size_t group : order_) {
      ModuleTree::Node node;
      if (group != kLibrary) node.module = groups_[group].module;
      for (size_t child : groups_[group].children) node.children.push_back(number.at(child));
      tree.nodes.push_back(std::move(node));
    }
    tree.exportable = std::move(exportable_);
    return tree;
  }

 private:
  struct Group {
    ffi::Optional<ffi::Module> module;
    std::vector<size_t> children;
    int state = 0;  // 1 on the stack, 2 done
  };

  size_t Visit(const ffi::Module& module) {
    auto known = group_of_.find(module.get());
    if (known != group_of_.end()) return known->second;
    const int mask = module->GetPropertyMask();
    size_t group = kLibrary;
    if (mask & ffi::Module::kCompilationExportable) {
      exportable_.push_back(module);
    } else if (mask & ffi::Module::kBinarySerializable) {
      group = groups_.size();
      groups_.emplace_back();
      groups_[group].module = module;
    } else {
      TVM_FFI_THROW(ValueError) << "module of kind `" << module->kind()
                                << "` cannot be exported: it is neither code nor serializable";
    }
    group_of_[module.get()] = group;
    for (const ffi::Any& import : module->imports()) {
      const size_t child = Visit(import.cast<ffi::Module>());
      std::vector<size_t>& children = groups_[group].children;
      const bool own = child == group;  // code that imports code: one library
      if (!own && std::find(children.begin(), children.end(), child) == children.end()) {
        children.push_back(child);
      }
    }
    return group;
  }

  // Post-order: reversed, parents come before children.
  void Order(size_t group) {
    TVM_FFI_CHECK(groups_[group].state != 1, RuntimeError)
        << "Cyclic dependency detected during export: compiled modules and "
           "serialized modules import each other";
    if (groups_[group].state == 2) return;
    groups_[group].state = 1;
    const std::vector<size_t>& children = groups_[group].children;
    for (auto it = children.rbegin(); it != children.rend(); ++it) Order(*it);
    groups_[group].state = 2;
    order_.push_back(group);
  }

  std::vector<Group> groups_;
  std::unordered_map<const ffi::Object*, size_t> group_of_;
  std::vector<ffi::Module> exportable_;
  std::vector<size_t> order_;
};

void PutNumber(std::string* out, uint64_t value) {
  out->append(reinterpret_cast<const char*>(&value), sizeof(value));
}

void PutBytes(std::string* out, const char* data, size_t nbytes) {
  PutNumber(out, nbytes);
  out->append(data, nbytes);
}

}  // namespace

ModuleTree BuildModuleTree(const ffi::Module& root) { return TreeBuilder().Run(root); }

std::string SerializeModuleTree(const ModuleTree& tree) {
  std::vector<uint64_t> starts = {0}, children;
  for (const ModuleTree::Node& node : tree.nodes) {
    for (size_t child : node.children) children.push_back(child);
    starts.push_back(children.size());
  }
  std::string body;
  PutNumber(&body, starts.size());
  for (uint64_t start : starts) PutNumber(&body, start);
  PutNumber(&body, children.size());
  for (uint64_t child : children) PutNumber(&body, child);
  for (const ModuleTree::Node& node : tree.nodes) {
    if (!node.module.has_value()) {
      PutBytes(&body, "_lib", 4);
      continue;
    }
    const std::string kind = (*node.module)->kind();
    PutBytes(&body, kind.data(), kind.size());
    const ffi::Bytes bytes = (*node.module)->SaveToBytes();
    PutBytes(&body, bytes.data(), bytes.size());
  }
  std::string out;
  PutNumber(&out, body.size());
  return out + body;
}

}  // namespace driver
}  // namespace tvm
