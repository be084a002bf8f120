// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// arith.* functions for other languages.
#include <tvm/arith/analyzer.h>
#include <tvm/arith/bound.h>
#include <tvm/arith/pattern.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/registry.h>

namespace tvm::arith {

TVM_FFI_STATIC_INIT_BLOCK() {
  namespace refl = ffi::reflection;
  ConstIntBoundNode::RegisterReflection();
  ModularSetNode::RegisterReflection();
  refl::GlobalDef()
      .def("arith.ConstIntBound", [](int64_t lo, int64_t hi) { return ConstIntBound(lo, hi); })
      .def("arith.ModularSet", [](int64_t coeff, int64_t base) { return ModularSet(coeff, base); })
      .def("arith.Analyzer", []() { return Analyzer(); })
      .def("arith.AnalyzerClone", [](const Analyzer& a) { return a.Clone(); })
      .def("arith.AnalyzerSimplify",
           [](const Analyzer& a, PrimExpr e, int steps) { return a->Simplify(e, steps); })
      .def("arith.AnalyzerRewriteSimplify",
           [](const Analyzer& a, PrimExpr e) { return a->RewriteSimplify(e); })
      .def("arith.AnalyzerCanonicalSimplify",
           [](const Analyzer& a, PrimExpr e) { return a->CanonicalSimplify(e); })
      .def("arith.AnalyzerConstIntBound",
           [](const Analyzer& a, PrimExpr e) { return a->GetConstIntBound(e); })
      .def("arith.AnalyzerConstIntBoundIsBound",
           [](const Analyzer& a, Var v) { return a->IsConstIntBoundBound(v); })
      .def("arith.AnalyzerModularSet",
           [](const Analyzer& a, PrimExpr e) { return a->GetModularSet(e); })
      .def("arith.AnalyzerIntSet",
           [](const Analyzer& a, PrimExpr e, ffi::Optional<ffi::Map<Var, IntSet>> dom_map) {
             return dom_map.has_value() ? a->GetIntSet(e, dom_map.value()) : a->GetIntSet(e);
           })
      .def("arith.AnalyzerBind",
           [](const Analyzer& a, Var var, ffi::Any value, bool allow_override) {
             if (auto range = value.as<Range>(); range && range->defined()) {
               a->Bind(var, *range, allow_override);
             } else {
               a->Bind(var, value.cast<PrimExpr>(), allow_override);
             }
           })
      .def("arith.AnalyzerConstIntBoundUpdate",
           [](const Analyzer& a, Var var, ConstIntBound bound, bool allow_override) {
             a->Update(var, bound, allow_override);
           })
      .def("arith.AnalyzerModularSetUpdate",
           [](const Analyzer& a, Var var, ModularSet set, bool allow_override) {
             a->Update(var, set, allow_override);
           })
      .def("arith.AnalyzerIntSetUpdate",
           [](const Analyzer& a, Var var, IntSet set, bool allow_override) {
             a->Update(var, set, allow_override);
           })
      .def("arith.AnalyzerCanProve",
           [](const Analyzer& a, PrimExpr cond, int strength) {
             return a->CanProve(cond, static_cast<ProofStrength>(strength));
           })
      .def("arith.AnalyzerCanProveEqual",
           [](const Analyzer& a, PrimExpr x, PrimExpr y) { return a->CanProveEqual(x, y); })
      .def("arith.AnalyzerTryCompare",
           [](const Analyzer& a, PrimExpr x, PrimExpr y, bool propagate) {
             return static_cast<int>(a->TryCompare(x, y, propagate));
           })
      .def("arith.AnalyzerEnterConstraintContext",
           [](const Analyzer& a, PrimExpr cond) {
             // The callback keeps the analyzer alive and may be called once.
             auto exit = std::make_shared<std::function<void()>>(a->EnterConstraint(cond));
             return ffi::Function::FromTyped([a, exit]() {
               if (*exit == nullptr) return;
               auto leave = std::move(*exit);
               *exit = nullptr;
               leave();
             });
           })
      .def("arith.AnalyzerGetEnabledExtensions",
           [](const Analyzer& a) { return a->GetEnabledExtensions(); })
      .def("arith.AnalyzerSetEnabledExtensions",
           [](const Analyzer& a, int64_t flags) { a->SetEnabledExtensions(flags); })
      .def("arith.AnalyzerGetRewriteSimplifyStats", [](const Analyzer& a) { return a->GetStats(); })
      .def("arith.AnalyzerResetRewriteSimplifyStats", [](const Analyzer& a) { a->ResetStats(); })
      .def("arith.AnalyzerSetMaximumRewriteSteps",
           [](const Analyzer& a, int64_t steps) { a->SetMaximumRewriteSteps(steps); })
      .def("arith.AnalyzerSetAllowUIntAsIndex",
           [](const Analyzer& a, bool allow) { a->SetAllowUIntAsIndex(allow); })
      .def("arith.DetectLinearEquation", DetectLinearEquation)
      .def("arith.DetectClipBound", DetectClipBound)
      .def("arith.DeduceBound", DeduceBound);
}

}  // namespace tvm::arith
