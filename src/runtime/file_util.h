// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file file_util.h
/// Whole files in and out.
#ifndef TVM_RUNTIME_FILE_UTIL_H_
#define TVM_RUNTIME_FILE_UTIL_H_

#include <string>
#include <string_view>

namespace tvm {
namespace runtime {

/// Content of a file; raises ValueError with the path and the system's reason.
std::string ReadFile(const std::string& path);
/// Writes through a temporary file beside the target, so that no half-written file appears.
void WriteFile(const std::string& path, std::string_view data);

}  // namespace runtime
}  // namespace tvm

#endif  // TVM_RUNTIME_FILE_UTIL_H_
