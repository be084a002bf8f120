// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include <tvm/ffi/error.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/ir/function.h>

namespace tvm {

void BaseFuncNode::RegisterReflection() {
  namespace refl = ffi::reflection;
  refl::ObjectDef<BaseFuncNode>().def_ro("attrs", &BaseFuncNode::attrs,
                                         refl::default_factory([] { return DictAttrs(); }));
}

LinkageType BaseFuncNode::GetLinkageType() const {
  return attrs.HasAttr(attr::kGlobalSymbol) ? LinkageType::kExternal : LinkageType::kInternal;
}

namespace {

/// A copy that the caller owns alone; the concrete class is only known by its reflection.
BaseFunc ShallowCopy(const BaseFunc& func) {
  TVM_FFI_CHECK(func.defined(), ValueError) << "expected a function, found none";
  static const ffi::reflection::TypeAttrColumn column("__ffi_shallow_copy__");
  ffi::AnyView copy = column[func->type_index()];
  TVM_FFI_CHECK(copy.type_index() == ffi::TypeIndex::kTVMFFIFunction, TypeError)
      << "function class " << func->GetTypeKey() << " cannot be copied";
  return copy.cast<ffi::Function>()(func).cast<BaseFunc>();
}

BaseFuncNode* Mutable(const BaseFunc& func) { return const_cast<BaseFuncNode*>(func.get()); }

}  // namespace

BaseFunc WithAttrsOnCopy(const BaseFunc& func, const ffi::Map<ffi::String, ffi::Any>& values) {
  BaseFunc copy = ShallowCopy(func);
  Mutable(copy)->attrs = WithAttrs(std::move(Mutable(copy)->attrs), values);
  return copy;
}

BaseFunc WithoutAttrOnCopy(const BaseFunc& func, const ffi::String& key) {
  BaseFunc copy = ShallowCopy(func);
  Mutable(copy)->attrs = WithoutAttr(std::move(Mutable(copy)->attrs), key);
  return copy;
}

TVM_FFI_STATIC_INIT_BLOCK() {
  namespace refl = ffi::reflection;
  BaseFuncNode::RegisterReflection();
  refl::GlobalDef()
      .def("ir.BaseFunc_Attrs", [](const BaseFunc& func) { return func->attrs; })
      .def("ir.BaseFuncCopy", [](const BaseFunc& func) { return ShallowCopy(func); })
      .def("ir.BaseFuncWithAttr",
           [](const BaseFunc& func, ffi::String key, ffi::Any value) {
             return WithAttrsOnCopy(func, {{key, value}});
           })
      .def("ir.BaseFuncWithAttrs", WithAttrsOnCopy)
      .def("ir.BaseFuncWithoutAttr", WithoutAttrOnCopy);
}

}  // namespace tvm
