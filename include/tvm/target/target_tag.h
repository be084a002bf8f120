// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Target tags: short names of complete target configurations.
#ifndef TVM_TARGET_TARGET_TAG_H_
#define TVM_TARGET_TARGET_TAG_H_

#include <tvm/ffi/optional.h>
#include <tvm/target/target.h>

namespace tvm {

class TargetTagNode : public ffi::Object {
 public:
  ffi::String name;
  TargetConfig config;

  static void RegisterReflection();
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("target.TargetTag", TargetTagNode, ffi::Object);
};

class TargetTag : public ffi::ObjectRef {
 public:
  TVM_DLL static ffi::Optional<TargetConfig> GetConfig(const ffi::String& name);
  TVM_DLL static ffi::Map<ffi::String, Target> ListTags();
  /// InternalError when the name is taken and `override` is not set.
  TVM_DLL static Target AddTag(const ffi::String& name, TargetConfig config, bool override_tag);
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(TargetTag, ffi::ObjectRef, TargetTagNode);
};

}  // namespace tvm
#endif  // TVM_TARGET_TARGET_TAG_H_
