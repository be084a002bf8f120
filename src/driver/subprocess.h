// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Running the C compiler and linker.
#ifndef TVM_DRIVER_SUBPROCESS_H_
#define TVM_DRIVER_SUBPROCESS_H_

#include <tvm/runtime/base.h>

#include <string>
#include <vector>

namespace tvm {
namespace driver {

/// Runs a command without a shell; RuntimeError `Compilation error:` with its output and the
/// command line unless it exits with 0.
void RunTool(const std::vector<std::string>& command);

/// First of the names that PATH knows; empty if none.
std::string FindTool(const std::vector<std::string>& names);

/// A folder that is removed with its files when this object dies.
class TVM_DLL TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace driver
}  // namespace tvm
#endif  // TVM_DRIVER_SUBPROCESS_H_
