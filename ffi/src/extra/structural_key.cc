// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include <tvm/ffi/extra/structural_key.h>
#include <tvm/ffi/reflection/registry.h>

#include "src/library_init.h"

namespace tvm {
namespace ffi {
namespace {

int64_t HashKey(const Any& value) { return value.as<StructuralKeyObj>()->hash_i64; }

bool EqualKeys(const Any& lhs, const Any& rhs) {
  const auto* left = lhs.as<StructuralKeyObj>();
  const auto* right = rhs.as<StructuralKeyObj>();
  if (left == nullptr || right == nullptr) return false;
  if (left == right) return true;
  return left->hash_i64 == right->hash_i64 && StructuralEqual::Equal(left->key, right->key);
}

}  // namespace

TVM_FFI_LIBRARY_INIT_BLOCK() {
  namespace refl = tvm::ffi::reflection;
  refl::ObjectDef<StructuralKeyObj>()
      .def_ro("key", &StructuralKeyObj::key)
      .def_ro("hash_i64", &StructuralKeyObj::hash_i64)
      .def(refl::init<Any>());
  refl::TypeAttrDef<StructuralKeyObj>()
      .native_fn_attr<&HashKey>(type_attr::kAnyHash)
      .native_fn_attr<&EqualKeys>(type_attr::kAnyEqual);
  refl::GlobalDef()
      .def("ffi.StructuralKey", [](Any key) { return StructuralKey(std::move(key)); })
      .def("ffi.StructuralKeyEqual",
           [](const Any& lhs, const Any& rhs) { return EqualKeys(lhs, rhs); });
}

}  // namespace ffi
}  // namespace tvm
