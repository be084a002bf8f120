// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Lowering of single operations to blocks.
#ifndef TVM_SRC_TE_LOWER_COMPUTE_H_
#define TVM_SRC_TE_LOWER_COMPUTE_H_

#include <tvm/te/operation.h>
#include <tvm/tirx/stmt.h>

#include <string>
#include <unordered_map>

namespace tvm {
namespace te {

/// Hands out each name once: x, x_1, x_2, ...
class NameTable {
 public:
  ffi::String Fresh(std::string name) {
    int& used = count_[name];
    while (used > 0) {
      std::string candidate = name + "_" + std::to_string(used++);
      if (count_.emplace(candidate, 1).second) return candidate;
    }
    used = 1;
    return name;
  }

 private:
  std::unordered_map<std::string, int> count_;
};

/// What the operations lowered so far are stored in.
struct LowerEnv {
  std::unordered_map<Tensor, tirx::Buffer> buffers;
};

/// The loop nest and block that compute `op` into `outputs`.
tirx::Stmt LowerCompute(const ComputeOpNode* op, const ffi::String& block_name,
                        const ffi::Array<tirx::Buffer>& outputs,
                        const ffi::Map<ffi::String, ffi::Any>& annotations, const LowerEnv& env);

/// The block around the statement of a foreign operation.
tirx::Stmt LowerExtern(const ExternOpNode* op, const ffi::String& block_name,
                       const ffi::Array<tirx::Buffer>& outputs,
                       const ffi::Map<ffi::String, ffi::Any>& annotations, const LowerEnv& env);

}  // namespace te
}  // namespace tvm

#endif  // TVM_SRC_TE_LOWER_COMPUTE_H_
