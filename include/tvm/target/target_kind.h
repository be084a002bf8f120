// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Target kinds: a declaration per kind with options, keys and hooks.
///
///   const TargetKindRegistration kLLVM{{
///       .name = "llvm", .device_type = kDLCPU, .keys = {"cpu"},
///       .options = {{"mcpu", TargetOptionType::kString}, ...},
///       .canonicalize = CanonicalizeLLVM,
///   }};
#ifndef TVM_TARGET_TARGET_KIND_H_
#define TVM_TARGET_TARGET_KIND_H_

#include <tvm/ffi/any.h>
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/container/map.h>
#include <tvm/ffi/object.h>
#include <tvm/ffi/string.h>
#include <tvm/runtime/base.h>

#include <functional>
#include <vector>

namespace tvm {

using TargetConfig = ffi::Map<ffi::String, ffi::Any>;

enum class TargetOptionType : int { kBool, kInt, kString, kStringArray, kTargetArray, kIntArray };

struct TargetOption {
  const char* name;
  TargetOptionType type;
  /// None = no default.
  ffi::Any default_value = ffi::Any();
};

/// Type text of an option as error messages and TargetKind.options show it.
TVM_DLL const char* TargetOptionTypeName(TargetOptionType type);

class TargetKindNode : public ffi::Object {
 public:
  ffi::String name;
  int default_device_type = kDLCPU;
  ffi::Array<ffi::String> default_keys;

  /// Not reflected.
  std::vector<TargetOption> options;
  /// Derives further attributes (features, keys, arch) from the checked ones.
  std::function<TargetConfig(TargetConfig)> canonicalize;
  /// Values that only this kind's owner knows, e.g. the name of its code generator.
  ffi::Map<ffi::String, ffi::Any> attrs;

  const TargetOption* FindOption(const ffi::String& option) const;

  static void RegisterReflection();
  static constexpr TVMFFISEqHashKind _type_s_eq_hash_kind = kTVMFFISEqHashKindUniqueInstance;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("target.TargetKind", TargetKindNode, ffi::Object);
};

class TargetKind : public ffi::ObjectRef {
 public:
  /// Null when no kind has that name.
  TVM_DLL static TargetKind Get(const ffi::String& name);
  TVM_DLL static ffi::Array<ffi::String> ListKinds();
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(TargetKind, ffi::ObjectRef, TargetKindNode);
};

struct TargetKindSpec {
  const char* name;
  DLDeviceType device_type;
  std::vector<const char*> keys = {};
  std::vector<TargetOption> options = {};
  std::function<TargetConfig(TargetConfig)> canonicalize = nullptr;
};

/// Registers a kind; the common options (keys, tag, device, ...) are added. A second registration
/// of a name adds its options and replaces the hooks, so that a backend can extend a declared kind.
class TargetKindRegistration {
 public:
  TVM_DLL explicit TargetKindRegistration(TargetKindSpec spec);
};

/// Attribute of a kind set by a higher layer (Python: Target.get_kind_attr).
TVM_DLL void SetTargetKindAttr(const ffi::String& kind, const ffi::String& key, ffi::Any value);

}  // namespace tvm
#endif  // TVM_TARGET_TARGET_KIND_H_
