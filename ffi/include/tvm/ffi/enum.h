// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors

/// Enumerations whose entries are objects that exist once per process.
///
/// An enum type is a subclass of EnumObj, IntEnumObj or StrEnumObj. Its entries are kept in an
/// EnumState, stored in the type attribute `__ffi_enum__`; see reflection/enum_def.h.
#ifndef TVM_FFI_ENUM_H_
#define TVM_FFI_ENUM_H_

#include <tvm/ffi/any.h>
#include <tvm/ffi/container/dict.h>
#include <tvm/ffi/container/list.h>
#include <tvm/ffi/memory.h>
#include <tvm/ffi/object.h>
#include <tvm/ffi/string.h>

#include <cstdint>
#include <optional>
#include <utility>

namespace tvm {
namespace ffi {

class EnumObj : public Object {
 public:
  /// Position or chosen number, unique within the type.
  int64_t _int_index = 0;
  /// Name, unique within the type.
  String _str_index;

  EnumObj() = default;
  EnumObj(int64_t int_index, String str_index)
      : _int_index(int_index), _str_index(std::move(str_index)) {}

  static constexpr TVMFFISEqHashKind _type_s_eq_hash_kind = kTVMFFISEqHashKindUniqueInstance;
  TVM_FFI_DECLARE_OBJECT_INFO("ffi.Enum", EnumObj, Object);
};

class Enum : public ObjectRef {
 public:
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NOTNULLABLE(Enum, ObjectRef, EnumObj);
};

/// Everything known about the entries of one enum type.
class EnumStateObj : public Object {
 public:
  /// In order of definition.
  List<ObjectRef> entries;
  /// By number and by name.
  Dict<Any, ObjectRef> indexes;
  /// Attribute name -> entry -> value.
  Dict<String, Dict<ObjectRef, Any>> attrs;

  static constexpr bool _type_mutable = true;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("ffi.EnumState", EnumStateObj, Object);
};

class EnumState : public ObjectRef {
 public:
  EnumState() : ObjectRef(make_object<EnumStateObj>()) {}
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NOTNULLABLE(EnumState, ObjectRef, EnumStateObj);
};

namespace detail {

inline TVMFFIAny OwnedNone() {
  TVMFFIAny none;
  SetNone(&none);
  return none;
}

/// Owned entry of an enum type by number or name; None if there is none.
inline TVMFFIAny FindEnumEntry(int32_t type_index, const Any& key) {
  constexpr const char kName[] = "__ffi_enum__";
  const TVMFFIByteArray name{kName, sizeof(kName) - 1};
  const TVMFFITypeAttrColumn* column = TVMFFIGetTypeAttrColumn(&name);
  if (column == nullptr) return OwnedNone();
  const int64_t position = static_cast<int64_t>(type_index) - column->begin_index;
  if (position < 0 || position >= column->size) return OwnedNone();
  const Any state(AnyView::CopyFromTVMFFIAny(column->data[position]));
  const auto* entries = state.as<EnumStateObj>();
  if (entries == nullptr) return OwnedNone();
  auto found = entries->indexes.find(key);
  if (found == entries->indexes.end()) return OwnedNone();
  return AnyUnsafe::MoveAnyToTVMFFIAny(Any((*found).second));
}

}  // namespace detail

/// Entries stand for their number.
class IntEnumObj : public EnumObj {
 public:
  IntEnumObj() = default;
  IntEnumObj(int64_t value, String name) : EnumObj(value, std::move(name)) {}
  int64_t value() const { return _int_index; }

  TVM_FFI_DECLARE_OBJECT_INFO("ffi.IntEnum", IntEnumObj, EnumObj);
};

class IntEnum : public Enum {
 public:
  /// Owned entry of that number, or None.
  static TVMFFIAny _FromPlainValue(const TVMFFIAny* value, int32_t type_index) {
    if (value->type_index != TypeIndex::kTVMFFIInt) return detail::OwnedNone();
    return detail::FindEnumEntry(type_index, Any(value->v_int64));
  }
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NOTNULLABLE(IntEnum, Enum, IntEnumObj);
};

/// Entries stand for their text.
class StrEnumObj : public EnumObj {
 public:
  StrEnumObj() = default;
  StrEnumObj(int64_t index, String value) : EnumObj(index, std::move(value)) {}
  const String& value() const { return _str_index; }

  TVM_FFI_DECLARE_OBJECT_INFO("ffi.StrEnum", StrEnumObj, EnumObj);
};

class StrEnum : public Enum {
 public:
  /// Owned entry of that text, or None.
  static TVMFFIAny _FromPlainValue(const TVMFFIAny* value, int32_t type_index) {
    std::optional<String> text = TypeTraits<String>::TryCastFromAnyView(value);
    if (!text.has_value()) return detail::OwnedNone();
    return detail::FindEnumEntry(type_index, Any(*std::move(text)));
  }
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NOTNULLABLE(StrEnum, Enum, StrEnumObj);
};

}  // namespace ffi
}  // namespace tvm
#endif  // TVM_FFI_ENUM_H_
