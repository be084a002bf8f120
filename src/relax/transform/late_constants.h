// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file
/// \brief Large constants that are not made before something reads them.
///
/// A weight that is scaled, rounded and turned on its way into a kernel would otherwise exist twice
/// for the whole model: as the kernel packs it, and as it was before. Bindings of such steps stay
/// calls until LowerGroups packs the weight, one at a time.
#ifndef TVM_SRC_RELAX_TRANSFORM_LATE_CONSTANTS_H_
#define TVM_SRC_RELAX_TRANSFORM_LATE_CONSTANTS_H_

#include <tvm/relax/expr.h>

#include <unordered_map>

namespace tvm {
namespace relax {

class LateConstants {
 public:
  /// Whether a call makes a large constant, of constants and of variables known here, and can be
  /// evaluated at any time.
  bool Accepts(const Call& call) const;
  void Add(const Var& var, const Call& call) { calls_.insert_or_assign(var.get(), call); }
  void Clear();

  bool Has(const Expr& e) const { return calls_.count(e.get()) != 0; }
  /// The constant itself; for a variable known here its value, made anew by each call.
  Expr Make(const Expr& e) const;
  /// The same, made once and kept: for values that the result holds as they are.
  Expr Keep(const Expr& e);

 private:
  std::unordered_map<const ffi::Object*, Call> calls_;
  std::unordered_map<const ffi::Object*, Expr> kept_;
};

}  // namespace relax
}  // namespace tvm

#endif  // TVM_SRC_RELAX_TRANSFORM_LATE_CONSTANTS_H_
