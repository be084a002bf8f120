// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include <tvm/ffi/enum.h>
#include <tvm/ffi/reflection/enum_def.h>
#include <tvm/ffi/reflection/registry.h>

#include <optional>

#include "enum_util.h"
#include "src/library_init.h"

namespace tvm {
namespace ffi {

std::optional<Any> FindEnumEntry(int32_t type_index, const Any& key) {
  std::optional<EnumState> state = reflection::internal::FindEnumState(type_index);
  if (!state.has_value()) return std::nullopt;
  auto it = (*state)->indexes.find(key);
  if (it == (*state)->indexes.end()) return std::nullopt;
  return Any((*it).second);
}

TVM_FFI_LIBRARY_INIT_BLOCK() {
  namespace refl = tvm::ffi::reflection;
  // Number and name are given by EnumDef or by the binding, never by a constructor call.
  const auto ignored = refl::AttachFieldFlag::SEqHashIgnore();
  refl::EnsureTypeAttrColumn(type_attr::kEnumState);
  refl::ObjectDef<EnumStateObj>()
      .def_ro("entries", &EnumStateObj::entries, refl::init(false))
      .def_ro("indexes", &EnumStateObj::indexes, refl::init(false))
      .def_ro("attrs", &EnumStateObj::attrs, refl::init(false))
      .def(refl::init<>());
  refl::ObjectDef<EnumObj>(refl::init(false))
      .def_ro("_int_index", &EnumObj::_int_index, ignored)
      .def_ro("_str_index", &EnumObj::_str_index);
  refl::ObjectDef<IntEnumObj>(refl::init(false))
      .def_ro("value", &IntEnumObj::_int_index, ignored, refl::init(false))
      .def_convert<IntEnum>();
  refl::ObjectDef<StrEnumObj>(refl::init(false))
      .def_ro("value", &StrEnumObj::_str_index, ignored, refl::init(false))
      .def_convert<StrEnum>();
}

}  // namespace ffi
}  // namespace tvm
