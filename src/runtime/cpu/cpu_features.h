// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file cpu_features.h
/// Which instruction sets this CPU and its operating system offer.
#ifndef TVM_RUNTIME_CPU_CPU_FEATURES_H_
#define TVM_RUNTIME_CPU_CPU_FEATURES_H_

#include <optional>
#include <string_view>

namespace tvm {
namespace runtime {

/// Whether this machine has a feature by its LLVM name, e.g. "avx512f"; nullopt for an
/// unknown name.
std::optional<bool> HostHasCpuFeature(std::string_view name);

}  // namespace runtime
}  // namespace tvm

#endif  // TVM_RUNTIME_CPU_CPU_FEATURES_H_
