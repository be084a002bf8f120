// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// The rules of functions written against threads and tiles (no blocks) beyond the common ones.
#include <tvm/ffi/reflection/registry.h>
#include <tvm/tirx/analysis.h>
#include <tvm/tirx/op.h>

#include <string>

namespace tvm {
namespace tirx {

namespace {

class TIRxChecker final : public StmtVisitor {
 public:
  explicit TIRxChecker(const std::string& where) : where_(where) {}
  /// The first violation; empty if there is none.
  std::string error;

  void Run(const Stmt& body) { VisitStmt(body); }

 private:
  using StmtVisitor::VisitStmt_;

  void Fail(const std::string& what) {
    if (error.empty()) error = "TIRxError: " + what + " at " + where_;
  }
  void VisitStmt_(const SBlockNode*) final { Fail("SBlock is not allowed in tirx=True mode"); }
  void VisitStmt_(const SBlockRealizeNode*) final {
    Fail("SBlock is not allowed in tirx=True mode");
  }
  void VisitStmt_(const ScopeIdDefStmtNode* op) final {
    const ScopeIdDefNode* def = op->def.get();
    if (!def->extents.has_value()) return;
    const ffi::Array<PrimExpr>& extents = def->extents.value();
    if (!def->def_ids.empty() && def->def_ids.size() != extents.size()) {
      Fail("invalid scope_id_def: " + std::to_string(def->def_ids.size()) + " ids for " +
           std::to_string(extents.size()) + " extents");
    }
    for (const PrimExpr& extent : extents) {
      const int64_t* n = as_const_int(extent);
      if (n != nullptr && *n <= 0) {
        Fail("the number of threads of a scope must be positive, but is " + std::to_string(*n));
      }
    }
  }

  std::string where_;
};

bool Verify(const PrimFunc& func, const std::string& name, bool assert_mode) {
  if (func->HasNonzeroAttr(attr::kSTir)) return VerifyWellFormed(func, assert_mode);
  TIRxChecker checker(name);
  checker.Run(func->body);
  if (checker.error.empty()) return VerifyWellFormed(func, assert_mode);
  if (assert_mode) TVM_FFI_THROW(ValueError) << checker.error;
  return false;
}

}  // namespace

TVM_FFI_STATIC_INIT_BLOCK() {
  namespace refl = ffi::reflection;
  refl::GlobalDef().def(
      "tirx.analysis.VerifyTIRxWellFormed", [](ffi::ObjectRef obj, bool assert_mode, bool) {
        if (auto func = obj.as<PrimFunc>()) {
          auto symbol = (*func)->GetAttr<ffi::String>(tvm::attr::kGlobalSymbol);
          return Verify(*func, std::string(symbol.value_or("<root>")), assert_mode);
        }
        auto mod = obj.as<IRModule>();
        TVM_FFI_CHECK(mod.has_value(), TypeError)
            << "VerifyTIRxWellFormed expects a PrimFunc or an IRModule, got " << obj->GetTypeKey();
        bool ok = true;
        for (const auto& [var, base] : (*mod)->SortedFunctions()) {
          auto func = base.as<PrimFunc>();
          if (func.has_value()) ok = Verify(*func, std::string(var->name_hint), assert_mode) && ok;
        }
        return ok;
      });
}

}  // namespace tirx
}  // namespace tvm
