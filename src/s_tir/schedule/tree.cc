// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Questions about the tree of loops and blocks.
#include <algorithm>
#include <unordered_set>

#include "s_tir/schedule/analysis.h"

namespace tvm {
namespace s_tir {

using namespace tirx;  // NOLINT(build/namespaces)

namespace {

class ChildBlockCollector final : public StmtVisitor {
 public:
  explicit ChildBlockCollector(const State& state) : state_(state) {}
  ffi::Array<StmtSRef> Run(const Stmt& body) {
    VisitStmt(body);
    return result_;
  }

 private:
  void VisitStmt_(const SBlockRealizeNode* op) final {
    result_.push_back(state_.GetSRef(op->block.get()));
  }
  const State& state_;
  ffi::Array<StmtSRef> result_;
};

class RealizeFinder final : public StmtVisitor {
 public:
  explicit RealizeFinder(const SBlockNode* block) : block_(block) {}
  const SBlockRealizeNode* Run(const Stmt& body) {
    VisitStmt(body);
    return result_;
  }

 private:
  void VisitStmt_(const SBlockRealizeNode* op) final {
    if (op->block.get() == block_) result_ = op;
  }
  const SBlockNode* block_;
  const SBlockRealizeNode* result_ = nullptr;
};

}  // namespace

Stmt BodyOf(const StmtSRef& sref) {
  if (const auto* loop = sref->StmtAs<ForNode>()) return loop->body;
  const auto* block = sref->StmtAs<SBlockNode>();
  TVM_FFI_ICHECK(block != nullptr) << "the reference has expired";
  return block->body;
}

ffi::Array<StmtSRef> ChildBlocks(const State& state, const StmtSRef& parent) {
  return ChildBlockCollector(state).Run(BodyOf(parent));
}

ffi::Array<StmtSRef> LoopsAbove(const StmtSRef& block) {
  std::vector<StmtSRef> loops;
  for (StmtSRefNode* node = block->parent(); node != nullptr && node->StmtAs<ForNode>() != nullptr;
       node = node->parent()) {
    loops.push_back(ffi::GetRef<StmtSRef>(node));
  }
  return ffi::Array<StmtSRef>(loops.rbegin(), loops.rend());
}

StmtSRef ScopeRootOf(const StmtSRef& sref) {
  StmtSRefNode* node = sref->parent();
  while (node != nullptr && node->StmtAs<SBlockNode>() == nullptr) node = node->parent();
  SCHEDULE_CHECK(node != nullptr, sref)
      << "{0} is the root of its function; the primitive needs a block with an enclosing block";
  return ffi::GetRef<StmtSRef>(node);
}

SBlockRealize RealizeOf(const State& state, const StmtSRef& block) {
  const auto* node = block->StmtAs<SBlockNode>();
  TVM_FFI_ICHECK(node != nullptr) << "the reference is no block";
  if (block->parent() == nullptr) {
    return Downcast<SBlockRealize>(FunctionAround(state, block)->body);
  }
  const auto* realize = RealizeFinder(node).Run(BodyOf(ffi::GetRef<StmtSRef>(block->parent())));
  TVM_FFI_ICHECK(realize != nullptr) << "a block is not below its parent";
  return ffi::GetRef<SBlockRealize>(realize);
}

bool Encloses(const StmtSRef& above, const StmtSRef& below) {
  for (const StmtSRefNode* node = below.get(); node != nullptr; node = node->parent()) {
    if (node == above.get()) return true;
  }
  return false;
}

StmtSRef CommonAncestor(const std::vector<StmtSRef>& srefs) {
  TVM_FFI_ICHECK(!srefs.empty());
  StmtSRefNode* candidate = srefs[0]->parent();
  while (candidate != nullptr) {
    StmtSRef above = ffi::GetRef<StmtSRef>(candidate);
    bool all = true;
    for (const StmtSRef& sref : srefs) {
      all = all && !above.same_as(sref) && Encloses(above, sref);
    }
    if (all) return above;
    candidate = candidate->parent();
  }
  TVM_FFI_THROW(InternalError) << "the statements have no common ancestor";
  TVM_FFI_UNREACHABLE();
}

StmtSRef ChildTowards(const StmtSRef& ancestor, const StmtSRef& sref) {
  StmtSRefNode* node = sref.get();
  while (node->parent() != ancestor.get()) {
    node = node->parent();
    TVM_FFI_ICHECK(node != nullptr) << "the statement is not below the ancestor";
  }
  return ffi::GetRef<StmtSRef>(node);
}

ffi::Array<Stmt> StmtsOf(const Stmt& body) {
  if (const auto* seq = body.as<SeqStmtNode>()) return seq->seq;
  return {body};
}

ffi::Array<StmtSRef> BlocksNamed(const State& state, const std::string& name,
                                 const GlobalVar& gvar) {
  ffi::Array<StmtSRef> result;
  PrimFunc func = Downcast<PrimFunc>(state.mod->Lookup(gvar));
  PreOrderVisit(func->body, [&](const ffi::ObjectRef& node) {
    if (const auto* block = node.as<SBlockNode>()) {
      if (block->name_hint == name) result.push_back(state.GetSRef(block));
    }
    return node.as<ExprNode>() == nullptr;
  });
  return result;
}

PrimFunc FunctionAround(const State& state, const StmtSRef& sref) {
  return Downcast<PrimFunc>(state.mod->Lookup(state.FunctionOf(sref)));
}

ffi::Map<Var, Range> LoopDomains(const StmtSRef& low, const StmtSRef& high) {
  ffi::Map<Var, Range> result;
  for (const StmtSRefNode* node = low->parent(); node != nullptr; node = node->parent()) {
    const auto* loop = node->StmtAs<ForNode>();
    if (loop == nullptr || (high.defined() && node == high.get())) break;
    result.Set(loop->loop_var, Range::FromMinExtent(loop->min, loop->extent));
  }
  return result;
}

ffi::Map<Var, Range> ThreadDomains(const StmtSRef& sref, const std::string& scope) {
  ffi::Map<Var, Range> result;
  const bool shared = scope.rfind("shared", 0) == 0;
  const bool global = scope.empty() || scope.rfind("global", 0) == 0;
  for (const StmtSRefNode* node = sref.get(); node != nullptr; node = node->parent()) {
    const auto* loop = node->StmtAs<ForNode>();
    if (loop == nullptr || !loop->thread_binding.has_value()) continue;
    const std::string tag(loop->thread_binding.value()->thread_tag);
    const bool is_thread = tag.rfind("threadIdx", 0) == 0 || tag.rfind("vthread", 0) == 0;
    const bool relax =
        global || (shared && is_thread) || (scope.rfind("warp", 0) == 0 && tag == "threadIdx.x");
    if (relax) result.Set(loop->loop_var, Range::FromMinExtent(loop->min, loop->extent));
  }
  return result;
}

arith::Analyzer AnalyzerAt(const State& state, const StmtSRef& sref) {
  arith::Analyzer analyzer;
  std::vector<const StmtSRefNode*> path;
  for (const StmtSRefNode* node = sref.get(); node != nullptr; node = node->parent()) {
    path.push_back(node);
  }
  const PrimFunc func = FunctionAround(state, sref);
  std::unordered_set<const ffi::Object*> marked;
  for (const Var& param : func->params) {
    if (!IsBuffer(param.get())) continue;
    const Buffer buffer(param);
    for (const PrimExpr& extent : buffer.shape()) {
      if (extent.as<VarNode>() != nullptr && marked.insert(extent.get()).second) {
        analyzer->MarkGlobalNonNegValue(extent);
      }
    }
  }
  std::reverse(path.begin(), path.end());
  for (const StmtSRefNode* node : path) {
    if (const auto* loop = node->StmtAs<ForNode>()) {
      analyzer->Bind(loop->loop_var, Range::FromMinExtent(loop->min, loop->extent), true);
    } else if (const auto* block = node->StmtAs<SBlockNode>()) {
      for (const IterVar& iter : block->iter_vars) analyzer->Bind(iter->var, iter->dom, true);
    }
  }
  return analyzer;
}

}  // namespace s_tir
}  // namespace tvm
