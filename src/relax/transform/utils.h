// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file
/// \brief Registration of function passes, and what several of them share.
#ifndef TVM_SRC_RELAX_TRANSFORM_UTILS_H_
#define TVM_SRC_RELAX_TRANSFORM_UTILS_H_

#include <tvm/relax/expr_functor.h>
#include <tvm/relax/transform.h>

namespace tvm {
namespace relax {
namespace transform {

/// A pass over functions without options. `name` is `relax.PassName`.
struct FunctionPassSpec {
  const char* name;
  const char* summary;
  Function (*run)(Function func, const IRModule& mod, const PassContext& ctx);
  int opt_level = 0;
};
/// Defines the global `relax.transform.PassName` and makes the pass for C++ callers.
class FunctionPassRegistration {
 public:
  explicit FunctionPassRegistration(FunctionPassSpec spec);
  Pass operator()() const { return Create(spec_); }

 private:
  static Pass Create(const FunctionPassSpec& spec);
  FunctionPassSpec spec_;
};

/// Rewrites that leave types as they are: a rebuilt node gets the type of the one that it replaces.
class TypeKeepingMutator : public ExprMutatorBase {
 public:
  Expr VisitExpr(const Expr& e) override;
};

/// The function with symbolic variables of its own: no two functions may share one.
Function RenewSymbolicVars(const Function& func);

/// Call of the packed function that carries an operator out at run time (`packed` of its row, or
/// attribute FCallPacked); nullopt if it has none.
Optional<Expr> CallPackedFallback(const Call& call);

}  // namespace transform
}  // namespace relax
}  // namespace tvm

#endif  // TVM_SRC_RELAX_TRANSFORM_UTILS_H_
