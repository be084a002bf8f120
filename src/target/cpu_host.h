// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#ifndef TVM_SRC_TARGET_CPU_HOST_H_
#define TVM_SRC_TARGET_CPU_HOST_H_

#include <tvm/target/cpu_features.h>

#include <string>

namespace tvm {

/// Sets the flags of an LLVM feature name ("avx2"); false when the name says nothing about what
/// CpuFeatures holds. Enabling implies what the feature is built on.
bool ApplyFeatureName(const std::string& name, bool enable, CpuFeatures* features);
/// Features of an LLVM CPU name; false when the name is not in the table.
bool ApplyCpuName(const std::string& name, CpuFeatures* features);
/// Vector width and register count that follow from the flags.
void DeriveVectorShape(CpuFeatures* features);

void RegisterTagConfig(const std::string& name, TargetConfig config, bool override_tag);

}  // namespace tvm
#endif  // TVM_SRC_TARGET_CPU_HOST_H_
