// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Base of functions, and the attribute keys that every dialect understands.
#ifndef TVM_IR_FUNCTION_H_
#define TVM_IR_FUNCTION_H_

#include <tvm/ir/attrs.h>
#include <tvm/ir/expr.h>

#include <string>
#include <type_traits>

namespace tvm {

enum class CallingConv : int {
  kDefault = 0,
  kCPackedFunc = 1,
  kDeviceKernelLaunch = 2,
};

/// Whether a function is visible outside its module.
enum class LinkageType : int { kInternal = 0, kExternal = 1 };

class BaseFuncNode : public ExprNode {
 public:
  DictAttrs attrs;

  template <typename T>
  ffi::Optional<T> GetAttr(const ffi::String& key,
                           ffi::Optional<T> default_value = std::nullopt) const {
    return attrs.GetAttr<T>(key, std::move(default_value));
  }
  template <typename T>
  ffi::Optional<T> GetAttr(const ffi::String& key, T default_value) const {
    return attrs.GetAttr<T>(key, std::move(default_value));
  }
  bool HasNonzeroAttr(const ffi::String& key) const { return attrs.HasNonzeroAttr(key); }
  /// External if the function has a global symbol.
  TVM_DLL LinkageType GetLinkageType() const;

  static void RegisterReflection();
  static constexpr uint32_t _type_child_slots = 4;
  TVM_FFI_DECLARE_OBJECT_INFO("ir.BaseFunc", BaseFuncNode, ExprNode);
};

class BaseFunc : public Expr {
 public:
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(BaseFunc, Expr, BaseFuncNode);
};

template <typename TFunc, typename = std::enable_if_t<std::is_base_of_v<BaseFunc, TFunc>>>
inline TFunc WithAttr(TFunc func, const ffi::String& key, ffi::Any value) {
  auto* node = func.CopyOnWrite();
  node->attrs = WithAttr(std::move(node->attrs), key, std::move(value));
  return func;
}
template <typename TFunc, typename = std::enable_if_t<std::is_base_of_v<BaseFunc, TFunc>>>
inline TFunc WithAttrs(TFunc func, const ffi::Map<ffi::String, ffi::Any>& values) {
  auto* node = func.CopyOnWrite();
  node->attrs = WithAttrs(std::move(node->attrs), values);
  return func;
}
template <typename TFunc, typename = std::enable_if_t<std::is_base_of_v<BaseFunc, TFunc>>>
inline TFunc WithoutAttr(TFunc func, const ffi::String& key) {
  auto* node = func.CopyOnWrite();
  node->attrs = WithoutAttr(std::move(node->attrs), key);
  return func;
}
/// The same on the base reference: clones the node by reflection (`__ffi_shallow_copy__`).
TVM_DLL BaseFunc WithAttrsOnCopy(const BaseFunc& func,
                                 const ffi::Map<ffi::String, ffi::Any>& values);
TVM_DLL BaseFunc WithoutAttrOnCopy(const BaseFunc& func, const ffi::String& key);

namespace attr {
inline constexpr const char* kCallingConv = "calling_conv";
inline constexpr const char* kTarget = "target";
inline constexpr const char* kGlobalSymbol = "global_symbol";
inline constexpr const char* kSTir = "s_tir";
inline constexpr const char* kNumInputs = "num_inputs";
// On modules.
inline constexpr const char* kModuleName = "mod_name";
inline constexpr const char* kExternalMods = "external_mods";
inline constexpr const char* kSystemLibPrefix = "system_lib_prefix";
inline constexpr const char* kConstNameToConstant = "const_name_to_constant";
}  // namespace attr

}  // namespace tvm
#endif  // TVM_IR_FUNCTION_H_
