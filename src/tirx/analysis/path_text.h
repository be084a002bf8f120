// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Text of the access path to the statement that a verifier is at, e.g. "<root>.body.seq[1]".
#ifndef TVM_SRC_TIRX_ANALYSIS_PATH_TEXT_H_
#define TVM_SRC_TIRX_ANALYSIS_PATH_TEXT_H_

#include <tvm/ir/function.h>

#include <string>

namespace tvm {
namespace tirx {

inline constexpr char kRootPath[] = "<root>";

/// Path of a function in its module.
inline std::string FunctionPath(const GlobalVar& var) {
  return std::string(kRootPath) + ".functions[I.GlobalVar(\"" + std::string(var->name_hint) +
         "\")]";
}

/// Extends a path for the life of this object.
class PathStep {
 public:
  PathStep(std::string* path, const std::string& step) : path_(path), size_(path->size()) {
    *path_ += step;
  }
  PathStep(const PathStep&) = delete;
  PathStep& operator=(const PathStep&) = delete;
  ~PathStep() { path_->resize(size_); }

 private:
  std::string* path_;
  size_t size_;
};

}  // namespace tirx
}  // namespace tvm

#endif  // TVM_SRC_TIRX_ANALYSIS_PATH_TEXT_H_
