// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include <tvm/ffi/function.h>
#include <tvm/ffi/memory.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/ir/name_supply.h>

namespace tvm {

void UniqueNameSupplyNode::RegisterReflection() {
  namespace refl = ffi::reflection;
  refl::ObjectDef<UniqueNameSupplyNode>().def_ro("prefix", &UniqueNameSupplyNode::prefix);
}

UniqueNameSupply::UniqueNameSupply(const ffi::String& prefix) {
  auto node = ffi::make_object<UniqueNameSupplyNode>();
  node->prefix = prefix;
  data_ = std::move(node);
}

std::string UniqueNameSupplyNode::WithPrefix(std::string_view name) const {
  std::string text(prefix);
  if (!text.empty()) text += "_";
  text += name;
  return text;
}

ffi::String UniqueNameSupplyNode::FreshName(const ffi::String& name, bool add_prefix,
                                            bool add_underscore) {
  std::string base(name);
  if (base.empty()) base = "v";
  for (char& c : base) {
    if (c == '.') c = '_';
  }
  if (add_prefix) base = WithPrefix(base);
  auto [it, is_new] = taken_.try_emplace(base, 0);
  if (is_new) return base;
  std::string candidate;
  do {
    candidate = base + (add_underscore ? "_" : "") + std::to_string(++it->second);
  } while (taken_.count(candidate) != 0);
  taken_.emplace(candidate, 0);
  return candidate;
}

ffi::String UniqueNameSupplyNode::ReserveName(const ffi::String& name, bool add_prefix) {
  std::string full = add_prefix ? WithPrefix(std::string(name)) : std::string(name);
  taken_.try_emplace(full, 0);
  return full;
}

bool UniqueNameSupplyNode::ContainsName(const ffi::String& name, bool add_prefix) const {
  std::string full = add_prefix ? WithPrefix(std::string(name)) : std::string(name);
  return taken_.count(full) != 0;
}

TVM_FFI_STATIC_INIT_BLOCK() {
  namespace refl = ffi::reflection;
  UniqueNameSupplyNode::RegisterReflection();
  refl::GlobalDef()
      .def("ir.UniqueNameSupply",
           [](const ffi::String& prefix) { return UniqueNameSupply(prefix); })
      .def_method("ir.UniqueNameSupply_FreshName", &UniqueNameSupplyNode::FreshName)
      .def_method("ir.UniqueNameSupply_ReserveName", &UniqueNameSupplyNode::ReserveName)
      .def_method("ir.UniqueNameSupply_ContainsName", &UniqueNameSupplyNode::ContainsName);
}

}  // namespace tvm
