// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// The rules that every function obeys between passes:
///   - a variable is used inside of the scope of its definition;
///   - a variable is defined once (thread axes excepted);
///   - a buffer is a parameter, an allocation, a declaration or a match;
///   - a block with iteration variables uses those, not the loops around it.
#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/tirx/analysis.h>

#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "tirx/analysis/path_text.h"

namespace tvm {
namespace tirx {

namespace {

class WellFormedChecker final : public StmtExprVisitor {
 public:
  WellFormedChecker(std::string path, bool assert_mode)
      : assert_mode_(assert_mode), path_(std::move(path)) {}

  bool Check(const PrimFunc& func) {
    for (size_t i = 0; i < func->params.size(); ++i) {
      const Var& param = func->params[i];
      At at(this, ".params[" + std::to_string(i) + "]");
      if (!IsBuffer(param.get())) Define(param);
    }
    auto for_buffers = [&](auto&& visit) {
      for (size_t i = 0; i < func->params.size(); ++i) {
        if (!IsBuffer(func->params[i].get())) continue;
        At at(this, ".params[" + std::to_string(i) + "]");
        visit(Buffer(func->params[i]));
      }
    };
    // A later buffer may define a symbol that an earlier one uses.
    for_buffers([this](const Buffer& buffer) { DefineShapeSymbols(buffer); });
    for_buffers([this](const Buffer& buffer) { VisitBufferDef(buffer); });
    At at(this, ".body");
    VisitStmt(func->body);
    return ok_;
  }

 private:
  struct At : PathStep {
    At(WellFormedChecker* self, const std::string& step) : PathStep(&self->path_, step) {}
  };

  template <typename F>
  void InScope(F visit) {
    size_t mark = scope_.size();
    visit();
    while (scope_.size() > mark) {
      live_.erase(scope_.back());
      scope_.pop_back();
    }
  }

  void Fail(const std::string& message) {
    ok_ = false;
    if (assert_mode_) TVM_FFI_THROW(ValueError) << message;
  }

  void Define(const Var& var) {
    auto [it, inserted] = first_defined_.emplace(var.get(), path_);
    if (!inserted && thread_vars_.count(var.get()) == 0) {
      bool nested = live_.count(var.get()) != 0;
      Fail("TIR is ill-formed, due to multiple " + std::string(nested ? "nested " : "") +
           "definitions of variable " + std::string(var->name) + ". It was first defined at " +
           it->second + ", and was " + (nested ? "" : "later ") + "re-defined at " + path_);
    }
    if (live_.insert(var.get()).second) scope_.push_back(var.get());
  }

  void DefineShapeSymbols(const Buffer& buffer) {
    auto define = [this](const PrimExpr& expr) {
      const auto* var = expr.as<VarNode>();
      if (var != nullptr && live_.count(var) == 0) Define(ffi::GetRef<Var>(var));
    };
    for (const PrimExpr& extent : buffer.shape()) define(extent);
    for (const PrimExpr& stride : buffer.strides()) define(stride);
    if (buffer.elem_offset().defined()) define(buffer.elem_offset());
  }

  void VisitExpr_(const VarNode* op) final {
    if (live_.count(op) == 0) {
      if (IsBuffer(op)) {
        UndeclaredBuffer(op);
        return;
      }
      auto it = first_defined_.find(op);
      std::string note = it == first_defined_.end()
                             ? ""
                             : " While the variable was previously defined at " + it->second +
                                   ", that definition is no longer in scope.";
      Fail("Invalid use of undefined variable " + std::string(op->name) + " at " + path_ + "." +
           note);
      return;
    }
    auto loop = outer_loops_.find(op);
    if (loop != outer_loops_.end() && !block_stack_.empty()) {
      const SBlockNode* block = block_stack_.back();
      if (!block->iter_vars.empty()) OuterLoopInBlock(op, block);
    }
  }

  void OuterLoopInBlock(const VarNode* loop_var, const SBlockNode* block) {
    ok_ = false;
    if (!assert_mode_) return;
    TVM_FFI_THROW(InternalError)
        << "Well-formedness check failed: Loop iterator var " << loop_var->name
        << " is defined outside of any block, but is used inside the non-opaque current block \""
        << block->name_hint << "\". It is used at " << path_ << ".";
  }

  void UndeclaredBuffer(const VarNode* buffer) {
    auto it = first_defined_.find(buffer);
    std::string name(buffer->name);
    if (it != first_defined_.end()) {
      Fail("TIR is ill-formed: buffer " + name + " is used at " + path_ +
           " out of the scope of its declaration at " + it->second + ".");
    } else {
      Fail("TIR is ill-formed: buffer " + name + " is used at " + path_ +
           " without a prior DeclBuffer or other declaration.");
    }
  }

  void VisitBufferUse(const Buffer& buffer) final {
    if (live_.count(buffer.get()) == 0) UndeclaredBuffer(buffer.get());
  }

  void VisitBufferDef(const Buffer& buffer) final {
    StmtExprVisitor::VisitBufferDef(buffer);
    Define(buffer);
  }

  void VisitExpr_(const LetNode* op) final {
    InScope([&] {
      VisitExpr(op->value);
      Define(op->var);
      VisitExpr(op->body);
    });
  }

  void VisitExpr_(const ReduceNode* op) final {
    InScope([&] {
      for (const IterVar& axis : op->axis) Define(axis->var);
      StmtExprVisitor::VisitExpr_(op);
    });
  }

  void VisitStmt_(const BindNode* op) final {
    VisitExpr(op->value);
    Define(op->var);
  }

  void VisitStmt_(const ScopeIdDefStmtNode* op) final {
    StmtExprVisitor::VisitStmt_(op);
    for (const Var& id : op->def->def_ids) Define(id);
  }

  void VisitStmt_(const SeqStmtNode* op) final {
    InScope([&] {
      for (size_t i = 0; i < op->seq.size(); ++i) {
        At at(this, ".seq[" + std::to_string(i) + "]");
        VisitStmt(op->seq[i]);
      }
    });
  }

  void VisitStmt_(const IfThenElseNode* op) final {
    VisitExpr(op->condition);
    InScope([&] {
      At at(this, ".then_case");
      VisitStmt(op->then_case);
    });
    if (!op->else_case.has_value()) return;
    InScope([&] {
      At at(this, ".else_case");
      VisitStmt(op->else_case.value());
    });
  }

  void VisitStmt_(const ForNode* op) final {
    VisitExpr(op->min);
    VisitExpr(op->extent);
    if (op->step.has_value()) VisitExpr(op->step.value());
    InScope([&] {
      Define(op->loop_var);
      if (block_stack_.empty() || block_stack_.back()->iter_vars.empty()) {
        loops_.push_back(op->loop_var.get());
      }
      size_t loops = loops_.size();
      At at(this, ".body");
      VisitStmt(op->body);
      loops_.resize(loops);
      if (!loops_.empty() && loops_.back() == op->loop_var.get()) loops_.pop_back();
    });
  }

  void VisitStmt_(const WhileNode* op) final {
    VisitExpr(op->condition);
    At at(this, ".body");
    InScope([&] { VisitStmt(op->body); });
  }

  void VisitStmt_(const AttrStmtNode* op) final {
    VisitExpr(op->value);
    InScope([&] {
      if (auto iter = op->node.as<IterVar>()) {
        thread_vars_.insert(iter.value()->var.get());
        Define(iter.value()->var);
      }
      At at(this, ".body");
      VisitStmt(op->body);
    });
  }

  void VisitStmt_(const SBlockRealizeNode* op) final {
    VisitExprs(op->iter_values);
    VisitExpr(op->predicate);
    At at(this, ".block");
    VisitStmt(op->block);
  }

  void VisitStmt_(const SBlockNode* op) final {
    InScope([&] {
      for (const IterVar& iter : op->iter_vars) {
        VisitExpr(iter->dom->min);
        VisitExpr(iter->dom->extent);
      }
      for (const IterVar& iter : op->iter_vars) Define(iter->var);
      block_stack_.push_back(op);
      std::unordered_set<const VarNode*> saved = std::move(outer_loops_);
      outer_loops_.clear();
      if (!op->iter_vars.empty()) outer_loops_.insert(loops_.begin(), loops_.end());
      for (const Buffer& buffer : op->alloc_buffers) VisitBufferDef(buffer);
      for (const MatchBufferRegion& match : op->match_buffers) {
        VisitRegion(match->source);
        DefineShapeSymbols(match->buffer);
        VisitBufferDef(match->buffer);
      }
      for (const BufferRegion& region : op->reads) VisitRegion(region);
      for (const BufferRegion& region : op->writes) VisitRegion(region);
      if (op->init.has_value()) {
        At at(this, ".init");
        VisitStmt(op->init.value());
      }
      At at(this, ".body");
      VisitStmt(op->body);
      outer_loops_ = std::move(saved);
      block_stack_.pop_back();
    });
  }

  bool assert_mode_;
  bool ok_ = true;
  std::string path_;
  std::unordered_map<const ffi::Object*, std::string> first_defined_;
  std::unordered_set<const ffi::Object*> live_;
  std::vector<const ffi::Object*> scope_;
  std::unordered_set<const ffi::Object*> thread_vars_;
  std::vector<const SBlockNode*> block_stack_;
  /// Loops entered since the last block with iteration variables.
  std::vector<const VarNode*> loops_;
  /// Loops that the current block must not use.
  std::unordered_set<const VarNode*> outer_loops_;
};

class SSAChecker final : public StmtExprVisitor {
 public:
  bool is_ssa = true;

  void Define(const Var& var) {
    if (!defined_.insert(var.get()).second) is_ssa = false;
  }

 private:
  void VisitExpr_(const LetNode* op) final {
    // One Let node may be shared by several places; that is one definition.
    if (lets_.insert(op).second) Define(op->var);
    StmtExprVisitor::VisitExpr_(op);
  }
  void VisitBufferDef(const Buffer& buffer) final {
    StmtExprVisitor::VisitBufferDef(buffer);
    Define(buffer);
  }
  void VisitStmt_(const BindNode* op) final {
    StmtExprVisitor::VisitStmt_(op);
    Define(op->var);
  }
  void VisitStmt_(const ForNode* op) final {
    Define(op->loop_var);
    StmtExprVisitor::VisitStmt_(op);
  }

  std::unordered_set<const ffi::Object*> defined_;
  std::unordered_set<const ffi::Object*> lets_;
};

}  // namespace

bool VerifyWellFormed(const PrimFunc& func, bool assert_mode) {
  return WellFormedChecker(kRootPath, assert_mode).Check(func);
}

bool VerifyWellFormed(const IRModule& mod, bool assert_mode) {
  bool ok = true;
  for (const auto& [var, base] : mod->SortedFunctions()) {
    auto func = base.as<PrimFunc>();
    if (!func.has_value()) continue;
    ok = WellFormedChecker(FunctionPath(var), assert_mode).Check(*func) && ok;
  }
  return ok;
}

bool VerifySSA(const PrimFunc& func) {
  SSAChecker checker;
  for (const Var& param : func->params) checker.Define(param);
  checker(func->body);
  return checker.is_ssa;
}

TVM_FFI_STATIC_INIT_BLOCK() {
  namespace refl = ffi::reflection;
  refl::GlobalDef()
      .def("tirx.analysis.VerifyWellFormed",
           [](ffi::ObjectRef obj, bool assert_mode) {
             TVM_FFI_CHECK(obj.defined(), TypeError)
                 << "VerifyWellFormed expects a PrimFunc or an IRModule, got None";
             if (auto func = obj.as<PrimFunc>()) return VerifyWellFormed(*func, assert_mode);
             if (auto mod = obj.as<IRModule>()) return VerifyWellFormed(*mod, assert_mode);
             TVM_FFI_THROW(TypeError)
                 << "VerifyWellFormed expects a PrimFunc or an IRModule, got " << obj->GetTypeKey();
             TVM_FFI_UNREACHABLE();
           })
      .def("tirx.analysis.verify_ssa",
           [](const PrimFuncNode* func) { return VerifySSA(ffi::GetRef<PrimFunc>(func)); });
}

}  // namespace tirx
}  // namespace tvm
