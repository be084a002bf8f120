// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// IRModule: the unit that passes transform.
#ifndef TVM_IR_MODULE_H_
#define TVM_IR_MODULE_H_

#include <tvm/ir/function.h>
#include <tvm/ir/global_info.h>
#include <tvm/ir/source_map.h>

#include <vector>

namespace tvm {

class IRModuleNode : public ffi::Object {
 public:
  ffi::Map<GlobalVar, BaseFunc> functions;
  ffi::Map<ffi::String, GlobalVar> global_var_map_;
  SourceMap source_map;
  DictAttrs attrs;
  ffi::Map<ffi::String, ffi::Array<GlobalInfo>> global_infos;

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

  /// Adds a function; an existing one of that variable (or name) is replaced only if `update`.
  TVM_DLL void Add(const GlobalVar& var, const BaseFunc& func, bool update = false);
  /// Adds or replaces.
  TVM_DLL void Update(const GlobalVar& var, const BaseFunc& func);
  /// Adds or replaces all functions of another module; same names become one variable.
  TVM_DLL void Update(const IRModule& other);
  TVM_DLL void Remove(const GlobalVar& var);
  TVM_DLL void UpdateGlobalInfo(const ffi::String& name, const ffi::Array<GlobalInfo>& infos);
  TVM_DLL bool ContainGlobalVar(const ffi::String& name) const;
  /// ValueError with the candidates when absent.
  TVM_DLL GlobalVar GetGlobalVar(const ffi::String& name) const;
  /// All variables, sorted by name.
  TVM_DLL ffi::Array<GlobalVar> GetGlobalVars() const;
  TVM_DLL BaseFunc Lookup(const GlobalVar& var) const;
  TVM_DLL BaseFunc Lookup(const ffi::String& name) const;
  /// (variable, function) pairs sorted by name: the order passes should walk in.
  TVM_DLL std::vector<std::pair<GlobalVar, BaseFunc>> SortedFunctions() const;

  static void RegisterReflection();
  static constexpr TVMFFISEqHashKind _type_s_eq_hash_kind = kTVMFFISEqHashKindTreeNode;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("ir.IRModule", IRModuleNode, ffi::Object);
};

class IRModule : public ffi::ObjectRef {
 public:
  /// An empty module. Use `IRModule(nullptr)` for a null reference.
  TVM_DLL IRModule();
  TVM_DLL explicit IRModule(ffi::Map<GlobalVar, BaseFunc> functions,
                            SourceMap source_map = SourceMap(), DictAttrs attrs = DictAttrs(),
                            ffi::Map<ffi::String, ffi::Array<GlobalInfo>> global_infos = {});
  explicit IRModule(std::nullptr_t) : ffi::ObjectRef(ffi::UnsafeInit{}) {}
  explicit IRModule(ffi::UnsafeInit tag) : ffi::ObjectRef(tag) {}
  explicit IRModule(ffi::ObjectPtr<IRModuleNode> node) : ffi::ObjectRef(ffi::UnsafeInit{}) {
    data_ = std::move(node);
  }
  IRModule(const IRModule&) = default;
  IRModule(IRModule&&) = default;
  IRModule& operator=(const IRModule&) = default;
  IRModule& operator=(IRModule&&) = default;

  /// A module of one function, named by its global_symbol, else "main".
  TVM_DLL static IRModule FromExpr(const Expr& expr,
                                   const ffi::Map<GlobalVar, BaseFunc>& functions = {});

  const IRModuleNode* operator->() const { return ffi::detail::NotNull(get()); }
  const IRModuleNode* get() const { return static_cast<const IRModuleNode*>(data_.get()); }

  static constexpr bool _type_is_nullable = true;
  using ContainerType = IRModuleNode;
  TVM_DEFINE_OBJECT_REF_COW_METHOD(IRModuleNode);
};

TVM_DLL IRModule WithAttr(IRModule mod, const ffi::String& key, ffi::Any value);
TVM_DLL IRModule WithAttrs(IRModule mod, const ffi::Map<ffi::String, ffi::Any>& values);
TVM_DLL IRModule WithoutAttr(IRModule mod, const ffi::String& key);

/// A module whose functions go by other variables, uses inside the functions included.
TVM_DLL IRModule ReplaceGlobalVars(const IRModule& mod,
                                   const ffi::Map<GlobalVar, GlobalVar>& replacements);

/// Graph JSON of any object, with the version in its metadata; and its inverse, which upgrades
/// names of older releases. ValueError for malformed or pre-graph text.
TVM_DLL ffi::String SaveJSON(const ffi::Any& value);
TVM_DLL ffi::Any LoadJSON(const ffi::String& json);

}  // namespace tvm
#endif  // TVM_IR_MODULE_H_
