// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Comparison of a block with the description of a tensor intrinsic.
///
/// Both are nests of loops around blocks. Block variables are replaced by what they are bound to,
/// so that only loops remain; then loops are paired, and an element A[f(outer) + g(loops)] of the
/// program fits the description's A'[g(loops)] if the difference f is the same wherever A is used.
#ifndef TVM_SRC_S_TIR_SCHEDULE_PRIMITIVE_INTRIN_MATCH_H_
#define TVM_SRC_S_TIR_SCHEDULE_PRIMITIVE_INTRIN_MATCH_H_

#include <string>
#include <unordered_map>

#include "s_tir/schedule/analysis.h"

namespace tvm {
namespace s_tir {

class IntrinMatch {
 public:
  struct Binding {
    tirx::Buffer buffer;
    /// Index of the first element, for each axis of `buffer`.
    ffi::Array<PrimExpr> offsets;
  };

  IntrinMatch(const tirx::PrimFunc& desc, const arith::Analyzer& analyzer);
  bool Match(const tirx::Stmt& desc, const tirx::Stmt& target);
  /// Compares bodies of blocks, given what the description's block variables are.
  bool MatchBodies(const tirx::Stmt& desc, const tirx::Stmt& target,
                   const ffi::Map<tirx::Var, PrimExpr>& values);
  /// The first difference.
  const std::string& error() const { return error_; }
  /// What a parameter of the description stands for; null if it is not used.
  const Binding* Find(const tirx::Buffer& formal) const;

 private:
  bool Fail(const std::string& message);
  bool MatchStmt(const tirx::Stmt& desc, const tirx::Stmt& target);
  bool MatchLoop(const tirx::ForNode* desc, const tirx::ForNode* target);
  bool MatchRealize(const tirx::SBlockRealizeNode* desc, const tirx::SBlockRealizeNode* target);
  bool MatchExpr(const PrimExpr& desc, const PrimExpr& target);
  bool MatchAccess(const tirx::Buffer& desc, const ffi::Array<PrimExpr>& desc_indices,
                   const tirx::Buffer& target, const ffi::Array<PrimExpr>& target_indices);
  /// Index of the description in terms of the program's loops, all block variables gone.
  PrimExpr InTarget(const PrimExpr& desc) const;
  PrimExpr Resolve(const PrimExpr& target) const;

  arith::Analyzer analyzer_;
  ffi::Map<tirx::Var, PrimExpr> desc_values_, target_values_;
  std::unordered_map<const ffi::Object*, Binding> buffers_;
  std::unordered_map<const ffi::Object*, bool> formals_;
  std::string error_;
};

}  // namespace s_tir
}  // namespace tvm

#endif  // TVM_SRC_S_TIR_SCHEDULE_PRIMITIVE_INTRIN_MATCH_H_
