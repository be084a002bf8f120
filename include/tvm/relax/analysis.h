// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file
/// \brief Questions about types and functions of the graph level.
#ifndef TVM_RELAX_ANALYSIS_H_
#define TVM_RELAX_ANALYSIS_H_

#include <tvm/relax/block_builder.h>
#include <tvm/relax/expr.h>

#include <functional>
#include <unordered_map>
#include <variant>

namespace tvm {
namespace relax {

/// How sure it is that every value of one type is a value of another.
enum class BaseCheckResult : int {
  kFailL0 = 0,  ///< never
  kFailL1 = 1,  ///< possible, needs a run-time check of rank or dtype
  kFailL2 = 2,  ///< possible, needs a run-time check of symbolic values
  kPass = 3,
};
TVM_DLL BaseCheckResult TypeBaseCheck(const Type& base, const Type& derived,
                                      arith::Analyzer* analyzer = nullptr);
inline bool IsBaseOf(const Type& base, const Type& derived, arith::Analyzer* ana = nullptr) {
  return TypeBaseCheck(base, derived, ana) == BaseCheckResult::kPass;
}
/// The narrowest known type of which both are.
TVM_DLL Type TypeLCA(const Type& lhs, const Type& rhs, arith::Analyzer* analyzer = nullptr);
/// Same kinds and ranks, without dimensions.
TVM_DLL Type GetStaticType(const Type& ty);
/// Return type of `call` to a function of type `func_ty`.
TVM_DLL Type DeriveCallRetType(const FuncType& func_ty, const Call& call, const BlockBuilder& ctx);
/// Replace variables: `shape_map` for symbolic ones, `var_map` for shape-valued ones; a shape
/// using an unmapped variable is dropped to its rank.
TVM_DLL Type EraseToWellDefined(const Type& ty,
                                std::function<Optional<PrimExpr>(const Var&)> shape_map,
                                std::function<Optional<Expr>(const Var&)> var_map);
/// Replace symbolic variables inside types; unmapped ones stay.
TVM_DLL Type SubstituteType(const Type& ty, const Map<Var, PrimExpr>& map);

/// Symbolic variables of a type; `definable` keeps only those that appear bare.
TVM_DLL Array<Var> SymbolicVarsInType(const Type& ty);
TVM_DLL Array<Var> DefinableSymbolicVarsInType(const Type& ty);
TVM_DLL Array<Var> DefinedSymbolicVars(const Expr& e);
TVM_DLL Array<Var> FreeSymbolicVars(const Expr& e);

TVM_DLL Array<Var> BoundVars(const Expr& e);
TVM_DLL Array<Var> FreeVars(const Expr& e);
TVM_DLL Array<Var> AllVars(const Expr& e);
TVM_DLL Array<GlobalVar> AllGlobalVars(const Expr& e);
/// Each bound variable with its value.
TVM_DLL Map<Var, Expr> VarToValue(const Function& func);

/// Whether a call has effects: its operator's or callee's purity.
TVM_DLL bool IsImpureCall(const Call& call);
TVM_DLL bool ContainsImpureCall(const Expr& e, Optional<Var> own_name = std::nullopt);

/// Throws TypeError or ValueError at the first violation of the rules of a well-formed program.
TVM_DLL void WellFormed(const ffi::ObjectRef& func_or_mod, bool check_ty = true);
TVM_DLL bool CheckWellFormed(const ffi::ObjectRef& func_or_mod, bool check_ty = true);

/// Element count of static dimensions, or nullopt.
TVM_DLL std::optional<int64_t> NumElements(const Array<PrimExpr>& shape);

}  // namespace relax
}  // namespace tvm

#endif  // TVM_RELAX_ANALYSIS_H_
