// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Defines the entries of enum types: `EnumDef<ColorObj>("red").set_attr("rgb", 0xff0000)`.
#ifndef TVM_FFI_REFLECTION_ENUM_DEF_H_
#define TVM_FFI_REFLECTION_ENUM_DEF_H_

#include <tvm/ffi/any.h>
#include <tvm/ffi/enum.h>
#include <tvm/ffi/error.h>
#include <tvm/ffi/memory.h>
#include <tvm/ffi/optional.h>
#include <tvm/ffi/reflection/accessor.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/ffi/string.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace tvm {
namespace ffi {
namespace type_attr {
inline constexpr reflection::AttrKey<EnumState> kEnumState{"__ffi_enum__"};
}  // namespace type_attr

namespace reflection {
namespace internal {

/// State of an enum type; nullopt before its first entry.
inline std::optional<EnumState> FindEnumState(int32_t type_index) {
  TVMFFIByteArray name = ToByteArray(type_attr::kEnumState.name);
  const TVMFFITypeAttrColumn* column = TVMFFIGetTypeAttrColumn(&name);
  if (column == nullptr) return std::nullopt;
  return type_attr::kEnumState.ValueFrom(TypeAttrColumn(type_attr::kEnumState)[type_index]);
}

inline EnumState EnumStateFor(int32_t type_index) {
  if (std::optional<EnumState> state = FindEnumState(type_index)) return *std::move(state);
  EnumState created;
  RegisterTypeAttr(type_index, type_attr::kEnumState, Any(created));
  return created;
}

}  // namespace internal

/// Defines one entry; a second entry of the same name or number is a RuntimeError.
template <typename T>
class EnumDef {
  static_assert(std::is_base_of_v<EnumObj, T>, "EnumDef describes subclasses of ffi::EnumObj");

 public:
  /// The number is the position unless given.
  explicit EnumDef(const char* name)
      : EnumDef(name, static_cast<int64_t>(State()->entries.size())) {}

  EnumDef(const char* name, int64_t number) : state_(State()), entry_(Create(name, number)) {
    const Any by_number(number);
    const Any by_name{String(name)};
    if (state_->indexes.count(by_name) != 0 || state_->indexes.count(by_number) != 0) {
      TVM_FFI_THROW(RuntimeError) << "Enum `" << T::_type_key << "` already has an entry `" << name
                                  << "` or number " << number;
    }
    state_->entries.push_back(entry_);
    state_->indexes.Set(by_number, entry_);
    state_->indexes.Set(by_name, entry_);
  }

  /// Value of attribute `key` for this entry.
  template <typename Key, typename Value>
  EnumDef& set_attr(const Key& key, Value&& value) {
    return SetAttr(internal::AttrName(key), Any(std::forward<Value>(value)));
  }

  /// Address of a native adapter around `Fn`; `key` gives the signature.
  template <auto Fn, typename Key>
  EnumDef& set_native_fn_attr(const Key& key) {
    return SetAttr(internal::AttrName(key), internal::NativeAttrValue<Fn>(key));
  }

  static bool IsDefined(const char* name) {
    std::optional<EnumState> state = internal::FindEnumState(T::RuntimeTypeIndex());
    return state.has_value() && (*state)->indexes.count(Any(String(name))) != 0;
  }

  const Enum& entry() const { return entry_; }

 private:
  static EnumState State() { return internal::EnumStateFor(T::RuntimeTypeIndex()); }

  static Enum Create(const char* name, int64_t number) {
    auto entry = make_object<T>();
    entry->_int_index = number;
    entry->_str_index = String(name);
    return Any(ObjectRef(std::move(entry))).template cast<Enum>();
  }

  EnumDef& SetAttr(std::string_view key, Any value) {
    const String name{std::string(key)};
    if (state_->attrs.count(name) == 0) state_->attrs.Set(name, Dict<ObjectRef, Any>());
    Dict<ObjectRef, Any> column = state_->attrs.at(name);
    if (column.count(entry_) != 0) {
      TVM_FFI_THROW(RuntimeError) << "Attribute `" << std::string(key) << "` of enum entry `"
                                  << T::_type_key << "."
                                  << std::string(entry_->_str_index.data(),
                                                 entry_->_str_index.size())
                                  << "` is already set";
    }
    column.Set(entry_, std::move(value));
    return *this;
  }

  EnumState state_;
  Enum entry_;
};

}  // namespace reflection
}  // namespace ffi
}  // namespace tvm
#endif  // TVM_FFI_REFLECTION_ENUM_DEF_H_
