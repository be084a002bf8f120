// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Target: what to compile for.
#ifndef TVM_TARGET_TARGET_H_
#define TVM_TARGET_TARGET_H_

#include <tvm/ffi/optional.h>
#include <tvm/ir/cow.h>
#include <tvm/target/target_kind.h>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace tvm {

class Target;

class TargetNode : public ffi::Object {
 public:
  TargetKind kind;
  ffi::Optional<ffi::ObjectRef> host;
  ffi::String tag;
  ffi::Array<ffi::String> keys;
  TargetConfig attrs;

  template <typename T>
  ffi::Optional<T> GetAttr(const ffi::String& key,
                           ffi::Optional<T> default_value = std::nullopt) const {
    auto it = attrs.find(key);
    if (it == attrs.end()) return default_value;
    return (*it).second.template cast<T>();
  }
  template <typename T>
  ffi::Optional<T> GetAttr(const ffi::String& key, T default_value) const {
    return GetAttr<T>(key, ffi::Optional<T>(std::move(default_value)));
  }
  /// Attribute "feature.{name}".
  template <typename T>
  ffi::Optional<T> GetFeature(const std::string& name) const {
    return GetAttr<T>(ffi::String("feature." + name));
  }
  TVM_DLL bool HasKey(const std::string& key) const;
  /// Complete configuration; Target(Export()) equals this target.
  TVM_DLL TargetConfig Export() const;
  /// JSON of Export().
  TVM_DLL const std::string& str() const;
  /// The kind's device type, or the attribute target_device_type.
  TVM_DLL int GetTargetDeviceType() const;
  TVM_DLL ffi::Optional<Target> GetHost() const;

  static void RegisterReflection();
  static constexpr TVMFFISEqHashKind _type_s_eq_hash_kind = kTVMFFISEqHashKindTreeNode;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("target.Target", TargetNode, ffi::Object);

 private:
  friend class Target;
  mutable std::shared_ptr<const std::string> str_;
};

class Target : public ffi::ObjectRef {
 public:
  /// Kind name, tag, or JSON text. ValueError when it cannot be understood.
  TVM_DLL explicit Target(const ffi::String& text);
  explicit Target(const char* text) : Target(ffi::String(text)) {}
  /// A null pointer is no text; a null reference is `Target()`.
  explicit Target(std::nullptr_t) = delete;
  TVM_DLL explicit Target(const TargetConfig& config);
  TVM_DLL Target(Target target, Target host);
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(Target, ffi::ObjectRef, TargetNode);

  /// Innermost target entered by this thread; null if there is none and `allow_not_defined`.
  TVM_DLL static Target Current(bool allow_not_defined = true);
  TVM_DLL static Target WithHost(const Target& target, const Target& host);
  TVM_DLL Target WithoutHost() const;
  ffi::Optional<Target> GetHost() const { return (*this)->GetHost(); }

  TVM_DLL void EnterWithScope() const;
  TVM_DLL void ExitWithScope() const;
};

/// Enters a target for the life of this object.
class TargetScope {
 public:
  explicit TargetScope(Target target) : target_(std::move(target)) { target_.EnterWithScope(); }
  ~TargetScope() noexcept(false) { target_.ExitWithScope(); }
  TargetScope(const TargetScope&) = delete;
  TargetScope& operator=(const TargetScope&) = delete;

 private:
  Target target_;
};

/// Target for a device, by its registered detector (CPU: the host's triple and CPU name).
TVM_DLL Target TargetFromDevice(DLDevice device);

/// Facts that only a code generator library knows; installed by it when it is loaded.
struct TargetHooks {
  /// Default triple of this machine, e.g. "x86_64-unknown-linux-gnu"; may be null.
  std::string (*default_triple)() = nullptr;
  /// Host CPU name; may be null.
  std::string (*host_cpu)() = nullptr;
};
TVM_DLL void SetTargetHooks(TargetHooks hooks);
/// Triple of the machine this library was compiled for, unless a hook knows better.
TVM_DLL std::string DefaultTargetTriple();

}  // namespace tvm
#endif  // TVM_TARGET_TARGET_H_
