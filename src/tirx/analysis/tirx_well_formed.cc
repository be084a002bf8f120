// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// The rules of functions written against threads and tiles beyond the common ones:
///   - there are no blocks;
///   - a TilePrimitiveCall calls a tile primitive;
///   - the definition of a scope id has an extent per id, and extents are positive;
///   - a kernel that names warps or lanes has whole warps.
#include <tvm/ffi/reflection/registry.h>
#include <tvm/tirx/analysis.h>
#include <tvm/tirx/op.h>

#include <string>

#include "tirx/analysis/path_text.h"

namespace tvm {
namespace tirx {

namespace {

constexpr int64_t kWarpSize = 32;

/// Product of constant extents; -1 when one is not constant.
int64_t CountOf(const ffi::Array<PrimExpr>& extents) {
  int64_t count = 1;
  for (const PrimExpr& extent : extents) {
    const int64_t* n = as_const_int(extent);
    if (n == nullptr || __builtin_mul_overflow(count, *n, &count)) return -1;
  }
  return count;
}

bool NamesWarps(ScopeBinding scope) {
  switch (scope) {
    case ScopeBinding::kCtaWarpgroup:
    case ScopeBinding::kCtaWarp:
    case ScopeBinding::kWarpgroupWarp:
    case ScopeBinding::kWarpThread:
    case ScopeBinding::kWarpgroupThread:
      return true;
    default:
      return false;
  }
}

class TIRxChecker final : public StmtVisitor {
 public:
  TIRxChecker(std::string path, bool device_func)
      : path_(std::move(path)), device_func_(device_func) {}
  /// The first violation; empty if there is none.
  std::string error;

  void Run(const PrimFunc& func) {
    At at(this, ".body");
    InKernel([&] { VisitStmt(func->body); });
  }

 private:
  using StmtVisitor::VisitStmt_;

  struct At : PathStep {
    At(TIRxChecker* self, const std::string& step) : PathStep(&self->path_, step) {}
  };
  /// What the scope ids of a kernel say of its threads.
  struct Kernel {
    int64_t threads = -1;
    bool names_warps = false;
  };

  void Fail(const std::string& what) {
    if (error.empty()) error = "TIRxError: " + what;
  }

  template <typename F>
  void InKernel(F&& visit) {
    Kernel outer = kernel_;
    kernel_ = Kernel();
    visit();
    // The threads of a device function are those of its caller.
    if (!device_func_ && kernel_.names_warps && kernel_.threads % kWarpSize != 0 &&
        kernel_.threads > 0) {
      Fail("kernel at " + path_ + " uses warp-granular bindings but has thread count " +
           std::to_string(kernel_.threads) + " not a multiple of " + std::to_string(kWarpSize));
    }
    kernel_ = outer;
  }

  void VisitStmt_(const SBlockNode*) final {
    Fail("SBlock is not allowed in tirx=True mode at " + path_);
  }
  void VisitStmt_(const SBlockRealizeNode*) final {
    Fail("SBlock is not allowed in tirx=True mode at " + path_);
  }

  void VisitStmt_(const TilePrimitiveCallNode* op) final {
    static const auto category = Op::GetAttrMap<ffi::String>("TIRxOpCategory");
    if (category.get(op->op, ffi::String("")) != "tile_primitive") {
      Fail("op " + std::string(op->op->name) + " of the TilePrimitiveCall at " + path_ +
           " is no tile primitive");
    }
    StmtVisitor::VisitStmt_(op);
  }

  void VisitStmt_(const ScopeIdDefStmtNode* op) final {
    const ScopeIdDefNode* def = op->def.get();
    auto invalid = [this](const std::string& why) {
      Fail("invalid scope_id_def at " + path_ + ": " + why);
    };
    if (NamesWarps(def->scope)) kernel_.names_warps = true;
    if (!def->extents.has_value()) {
      if (def->def_ids.size() != 1) {
        invalid(std::to_string(def->def_ids.size()) + " ids without extents, expected one");
      }
      return;
    }
    const ffi::Array<PrimExpr>& extents = def->extents.value();
    if (def->def_ids.size() != extents.size()) {
      invalid(std::to_string(def->def_ids.size()) + " ids for " + std::to_string(extents.size()) +
              " extents");
    }
    for (const PrimExpr& extent : extents) {
      const int64_t* n = as_const_int(extent);
      if (n == nullptr || *n > 0) continue;
      if (def->scope == ScopeBinding::kCtaThread) {
        Fail("kernel at " + path_ + " has a non-positive thread count: an extent is " +
             std::to_string(*n));
      }
      invalid("an extent is " + std::to_string(*n) + ", expected a positive number");
    }
    if (def->scope == ScopeBinding::kCtaThread) kernel_.threads = CountOf(extents);
  }

  void VisitStmt_(const SeqStmtNode* op) final {
    for (size_t i = 0; i < op->seq.size(); ++i) {
      At at(this, ".seq[" + std::to_string(i) + "]");
      VisitStmt(op->seq[i]);
    }
  }
  void VisitStmt_(const IfThenElseNode* op) final {
    {
      At at(this, ".then_case");
      VisitStmt(op->then_case);
    }
    if (!op->else_case.has_value()) return;
    At at(this, ".else_case");
    VisitStmt(op->else_case.value());
  }
  void VisitStmt_(const ForNode* op) final { VisitBody(op->body); }
  void VisitStmt_(const WhileNode* op) final { VisitBody(op->body); }
  void VisitStmt_(const AttrStmtNode* op) final {
    if (op->attr_key == attr::device_entry) return InKernel([&] { VisitBody(op->body); });
    VisitBody(op->body);
  }
  void VisitBody(const Stmt& body) {
    At at(this, ".body");
    VisitStmt(body);
  }

  std::string path_;
  bool device_func_;
  Kernel kernel_;
};

bool Verify(const PrimFunc& func, const std::string& path, bool assert_mode, bool device_func) {
  TIRxChecker checker(path, device_func);
  checker.Run(func);
  if (checker.error.empty()) return true;
  if (assert_mode) TVM_FFI_THROW(ValueError) << checker.error;
  return false;
}

/// Both verifiers; a function of blocks is none of the second one's business.
bool VerifyTIRxWellFormed(const ffi::ObjectRef& obj, bool assert_mode, bool device_func) {
  TVM_FFI_CHECK(obj.defined(), TypeError)
      << "VerifyTIRxWellFormed expects a PrimFunc or an IRModule, got None";
  if (auto func = obj.as<PrimFunc>()) {
    return ((*func)->HasNonzeroAttr(attr::kSTir) ||
            Verify(*func, kRootPath, assert_mode, device_func)) &&
           VerifyWellFormed(*func, assert_mode);
  }
  auto mod = obj.as<IRModule>();
  TVM_FFI_CHECK(mod.has_value(), TypeError)
      << "VerifyTIRxWellFormed expects a PrimFunc or an IRModule, got " << obj->GetTypeKey();
  bool ok = true;
  for (const auto& [var, base] : (*mod)->SortedFunctions()) {
    auto func = base.as<PrimFunc>();
    if (!func.has_value() || (*func)->HasNonzeroAttr(attr::kSTir)) continue;
    ok = Verify(*func, FunctionPath(var), assert_mode, device_func) && ok;
  }
  return VerifyWellFormed(*mod, assert_mode) && ok;
}

}  // namespace

TVM_FFI_STATIC_INIT_BLOCK() {
  namespace refl = ffi::reflection;
  refl::GlobalDef().def("tirx.analysis.VerifyTIRxWellFormed", VerifyTIRxWellFormed);
}

}  // namespace tirx
}  // namespace tvm
