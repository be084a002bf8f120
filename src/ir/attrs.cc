// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include <tvm/ffi/error.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/creator.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/ir/attrs.h>
#include <tvm/ir/expr.h>

namespace tvm {

void BaseAttrsNode::RegisterReflection() {
  namespace refl = ffi::reflection;
  refl::ObjectDef<BaseAttrsNode>();
}

void DictAttrsNode::RegisterReflection() {
  namespace refl = ffi::reflection;
  refl::ObjectDef<DictAttrsNode>().def_ro("__dict__", &DictAttrsNode::dict);
}

DictAttrs::DictAttrs() : Attrs(ffi::UnsafeInit{}) {
  // Shared: most functions have no attribute, and writing copies first.
  static auto* empty = new ffi::ObjectPtr<DictAttrsNode>(ffi::make_object<DictAttrsNode>());
  data_ = *empty;
}

DictAttrs::DictAttrs(ffi::Map<ffi::String, ffi::Any> dict) : Attrs(ffi::UnsafeInit{}) {
  auto node = ffi::make_object<DictAttrsNode>();
  node->dict = std::move(dict);
  data_ = std::move(node);
}

bool DictAttrs::HasNonzeroAttr(const ffi::String& key) const {
  if (data_ == nullptr) return false;
  auto it = get()->dict.find(key);
  if (it == get()->dict.end()) return false;
  ffi::Any value = (*it).second;
  if (auto number = value.try_cast<int64_t>()) return *number != 0;
  if (auto imm = value.try_cast<IntImm>(); imm && imm->defined()) return (*imm)->value != 0;
  return false;
}

DictAttrs WithAttr(DictAttrs attrs, const ffi::String& key, ffi::Any value) {
  attrs.CopyOnWrite()->dict.Set(key, std::move(value));
  return attrs;
}

DictAttrs WithAttrs(DictAttrs attrs, const ffi::Map<ffi::String, ffi::Any>& values) {
  if (values.empty()) return attrs;
  DictAttrsNode* node = attrs.CopyOnWrite();
  for (const auto& [key, value] : values) node->dict.Set(key, value);
  return attrs;
}

DictAttrs WithoutAttr(DictAttrs attrs, const ffi::String& key) {
  if (attrs.HasAttr(key)) attrs.CopyOnWrite()->dict.erase(key);
  return attrs;
}

Attrs MakeAttrs(const ffi::String& type_key, const ffi::Map<ffi::String, ffi::Any>& fields) {
  return ffi::reflection::ObjectCreator(std::string(type_key))(fields).cast<Attrs>();
}

TVM_FFI_STATIC_INIT_BLOCK() {
  namespace refl = ffi::reflection;
  BaseAttrsNode::RegisterReflection();
  DictAttrsNode::RegisterReflection();
  refl::GlobalDef()
      .def("ir.DictAttrs",
           [](ffi::Map<ffi::String, ffi::Any> dict) { return DictAttrs(std::move(dict)); })
      .def("ir.DictAttrsGetDict",
           [](const Attrs& attrs) {
             const auto* node = attrs.as<DictAttrsNode>();
             return node == nullptr ? ffi::Map<ffi::String, ffi::Any>() : node->dict;
           })
      .def("ir.MakeAttrs", MakeAttrs)
      .def("node.MakeNode", [](ffi::String type_key, ffi::Map<ffi::String, ffi::Any> fields) {
        return ffi::reflection::ObjectCreator(std::string(type_key))(fields);
      });
}

}  // namespace tvm
