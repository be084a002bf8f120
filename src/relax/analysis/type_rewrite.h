// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file
/// \brief Rebuilds types with other dimensions; parts that do not change keep their identity.
#ifndef TVM_SRC_RELAX_ANALYSIS_TYPE_REWRITE_H_
#define TVM_SRC_RELAX_ANALYSIS_TYPE_REWRITE_H_

#include <tvm/relax/analysis.h>

namespace tvm {
namespace relax {

/// Recursion over types. The two hooks decide about dimensions and about shape expressions.
class TypeRewriter {
 public:
  virtual ~TypeRewriter() = default;
  Type Rewrite(const Type& ty);

 protected:
  /// New dimensions, or nullopt to forget them (the rank stays).
  virtual Optional<Array<PrimExpr>> RewriteDims(const Array<PrimExpr>& dims) = 0;
  /// New shape of a tensor given as a variable, or nullopt to forget it.
  virtual Optional<Expr> RewriteShapeVar(const Var& var) { return Expr(var); }
  virtual Type RewriteFunc(const FuncTypeNode* ty);
};

/// Calls `f` for every dimension expression of a type (function types excluded).
void ForEachDim(const Type& ty, const std::function<void(const PrimExpr&)>& f);
/// Calls `f` for every variable that stands for a whole shape in a type (function types excluded).
void ForEachShapeVar(const Type& ty, const std::function<void(const VarNode*)>& f);

}  // namespace relax
}  // namespace tvm

#endif  // TVM_SRC_RELAX_ANALYSIS_TYPE_REWRITE_H_
