// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Attributes of operators and functions: typed structs with reflection, and dictionaries.
#ifndef TVM_IR_ATTRS_H_
#define TVM_IR_ATTRS_H_

#include <tvm/ffi/any.h>
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/container/map.h>
#include <tvm/ffi/optional.h>
#include <tvm/ffi/string.h>
#include <tvm/ir/cow.h>
#include <tvm/runtime/base.h>

namespace tvm {

/// Base of typed attribute structs. A struct declares its fields by reflection, with defaults:
/// `refl::ObjectDef<T>().def_ro("axis", &T::axis, refl::default_value(0))`.
class BaseAttrsNode : public ffi::Object {
 public:
  static void RegisterReflection();
  static constexpr TVMFFISEqHashKind _type_s_eq_hash_kind = kTVMFFISEqHashKindTreeNode;
  static constexpr uint32_t _type_child_slots = 128;
  TVM_FFI_DECLARE_OBJECT_INFO("ir.Attrs", BaseAttrsNode, ffi::Object);
};

class Attrs : public ffi::ObjectRef {
 public:
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(Attrs, ffi::ObjectRef, BaseAttrsNode);
};

/// Attributes by name. Never null inside a BaseFunc or an IRModule.
class DictAttrsNode : public BaseAttrsNode {
 public:
  ffi::Map<ffi::String, ffi::Any> dict;

  static void RegisterReflection();
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("ir.DictAttrs", DictAttrsNode, BaseAttrsNode);
};

class DictAttrs : public Attrs {
 public:
  /// An empty dictionary.
  TVM_DLL DictAttrs();
  TVM_DLL explicit DictAttrs(ffi::Map<ffi::String, ffi::Any> dict);
  explicit DictAttrs(ffi::ObjectPtr<DictAttrsNode> node) : Attrs(ffi::UnsafeInit{}) {
    data_ = std::move(node);
  }
  explicit DictAttrs(ffi::UnsafeInit tag) : Attrs(tag) {}
  DictAttrs(const DictAttrs&) = default;
  DictAttrs(DictAttrs&&) = default;
  DictAttrs& operator=(const DictAttrs&) = default;
  DictAttrs& operator=(DictAttrs&&) = default;

  const DictAttrsNode* operator->() const { return ffi::detail::NotNull(get()); }
  const DictAttrsNode* get() const { return static_cast<const DictAttrsNode*>(data_.get()); }

  /// Value of `key` converted to T; `default_value` when the key is absent.
  template <typename T>
  ffi::Optional<T> GetAttr(const ffi::String& key,
                           ffi::Optional<T> default_value = std::nullopt) const {
    if (data_ == nullptr) return default_value;
    auto it = get()->dict.find(key);
    if (it == get()->dict.end()) return default_value;
    return (*it).second.template cast<T>();
  }
  template <typename T>
  ffi::Optional<T> GetAttr(const ffi::String& key, T default_value) const {
    return GetAttr<T>(key, ffi::Optional<T>(std::move(default_value)));
  }
  bool HasAttr(const ffi::String& key) const {
    return data_ != nullptr && get()->dict.count(key) != 0;
  }
  /// True if `key` holds an integer (or bool, or integer literal) other than 0.
  TVM_DLL bool HasNonzeroAttr(const ffi::String& key) const;

  static constexpr bool _type_is_nullable = false;
  using ContainerType = DictAttrsNode;
  TVM_DEFINE_OBJECT_REF_COW_METHOD(DictAttrsNode);
};

TVM_DLL DictAttrs WithAttr(DictAttrs attrs, const ffi::String& key, ffi::Any value);
TVM_DLL DictAttrs WithAttrs(DictAttrs attrs, const ffi::Map<ffi::String, ffi::Any>& values);
TVM_DLL DictAttrs WithoutAttr(DictAttrs attrs, const ffi::String& key);

/// Builds a registered attribute struct from a dictionary of fields: unknown names and missing
/// required fields are errors, absent fields take their defaults.
TVM_DLL Attrs MakeAttrs(const ffi::String& type_key, const ffi::Map<ffi::String, ffi::Any>& fields);

}  // namespace tvm
#endif  // TVM_IR_ATTRS_H_
