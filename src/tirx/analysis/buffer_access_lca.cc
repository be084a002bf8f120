// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// The innermost loop or block around all accesses of each buffer.
#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/tirx/analysis.h>
#include <tvm/tirx/builtin.h>

#include <unordered_map>
#include <vector>

namespace tvm {
namespace tirx {

namespace {

/// Loops and blocks form a tree; the answer for a buffer is the lowest common ancestor of the
/// scopes where it is accessed. Scope 0 is the function.
class LcaFinder final : public StmtExprVisitor {
 public:
  explicit LcaFinder(const PrimFunc& func) {
    scopes_.push_back({nullptr, 0, 0});
    for (const Var& param : func->params) {
      if (IsBuffer(param.get())) Touch(Buffer(param));
    }
    VisitStmt(func->body);
  }

  ffi::Map<Buffer, ffi::Optional<Stmt>> Result() const {
    ffi::Map<Buffer, ffi::Optional<Stmt>> result;
    for (const auto& [buffer, scope] : order_) {
      const StmtNode* stmt = scopes_[scope_of_.at(buffer.get())].stmt;
      result.Set(buffer, stmt == nullptr ? ffi::Optional<Stmt>(std::nullopt)
                                         : ffi::Optional<Stmt>(ffi::GetRef<Stmt>(stmt)));
    }
    return result;
  }

 private:
  struct Scope {
    const StmtNode* stmt;
    int parent;
    int depth;
  };

  template <typename F>
  void InScope(const StmtNode* stmt, F visit) {
    scopes_.push_back({stmt, current_, scopes_[current_].depth + 1});
    int outer = current_;
    current_ = static_cast<int>(scopes_.size()) - 1;
    visit();
    current_ = outer;
  }

  int CommonAncestor(int a, int b) const {
    while (a != b) {
      if (scopes_[a].depth < scopes_[b].depth) std::swap(a, b);
      a = scopes_[a].parent;
    }
    return a;
  }

  void Touch(const Buffer& buffer) {
    auto matched = match_source_.find(buffer.get());
    if (matched != match_source_.end()) Touch(matched->second);
    auto [it, inserted] = scope_of_.emplace(buffer.get(), current_);
    if (inserted) {
      order_.emplace_back(buffer, 0);
    } else {
      it->second = CommonAncestor(it->second, current_);
    }
  }

  void VisitBufferUse(const Buffer& buffer) final { Touch(buffer); }

  void VisitExpr_(const VarNode* op) final {
    if (IsBuffer(op)) Touch(Buffer(ffi::GetRef<Var>(op)));
  }

  void VisitStmt_(const ForNode* op) final {
    VisitExpr(op->min);
    VisitExpr(op->extent);
    InScope(op, [&] { VisitStmt(op->body); });
  }

  void VisitStmt_(const SBlockNode* op) final {
    // A reduction needs its accumulators outside of the loops that revisit them.
    InScope(op, [&] {
      for (const MatchBufferRegion& match : op->match_buffers) {
        match_source_.emplace(match->buffer.get(), match->source->buffer);
        VisitRegion(match->source);
      }
      if (op->init.has_value()) VisitStmt(op->init.value());
      VisitStmt(op->body);
    });
  }

  void VisitStmt_(const SBlockRealizeNode* op) final {
    VisitExprs(op->iter_values);
    VisitExpr(op->predicate);
    // Elements written under a reduction (or any non-data-parallel) loop live across its
    // iterations: they belong outside of the outermost such loop that binds the block.
    std::unordered_map<const ffi::Object*, bool> carried;
    for (size_t i = 0; i < op->iter_values.size(); ++i) {
      if (op->block->iter_vars[i]->iter_type == kDataPar) continue;
      PostOrderVisitExpr(op->iter_values[i], [&](const Expr& e) {
        if (e.as<VarNode>() != nullptr) carried[e.get()] = true;
      });
    }
    if (!carried.empty()) {
      int target = -1;
      for (int s = current_; s != 0; s = scopes_[s].parent) {
        const auto* loop =
            scopes_[s].stmt == nullptr ? nullptr : ffi::GetRef<Stmt>(scopes_[s].stmt).as<ForNode>();
        if (loop == nullptr) break;
        if (carried.count(loop->loop_var.get()) != 0) target = scopes_[s].parent;
      }
      if (target >= 0) {
        int saved = current_;
        current_ = target;
        for (const BufferRegion& write : op->block->writes) Touch(write->buffer);
        current_ = saved;
      }
    }
    VisitStmt(op->block);
  }

  std::vector<Scope> scopes_;
  int current_ = 0;
  std::unordered_map<const ffi::Object*, int> scope_of_;
  std::unordered_map<const ffi::Object*, Buffer> match_source_;
  std::vector<std::pair<Buffer, int>> order_;
};

}  // namespace

ffi::Map<Buffer, ffi::Optional<Stmt>> DetectBufferAccessLCA(const PrimFunc& func) {
  return LcaFinder(func).Result();
}

TVM_FFI_STATIC_INIT_BLOCK() {
  namespace refl = ffi::reflection;
  refl::GlobalDef().def("s_tir.analysis.detect_buffer_access_lca", [](const PrimFuncNode* func) {
    return DetectBufferAccessLCA(ffi::GetRef<PrimFunc>(func));
  });
}

}  // namespace tirx
}  // namespace tvm
