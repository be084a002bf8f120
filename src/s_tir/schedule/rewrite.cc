// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include "s_tir/schedule/rewrite.h"

#include <tvm/tirx/op.h>

namespace tvm {
namespace s_tir {

using namespace tirx;  // NOLINT(build/namespaces)

BlockReuse Compose(const BlockReuse& first, const BlockReuse& second) {
  BlockReuse result = second;
  for (const auto& [before, between] : first) {
    auto it = second.find(between);
    result.Set(before, it == second.end() ? between : (*it).second);
    if (it != second.end()) result.erase(between);
  }
  return result;
}

Stmt BlockMutator::VisitStmt_(const SBlockNode* op) {
  Stmt result = StmtExprMutator::VisitStmt_(op);
  if (result.get() != op) reuse.Set(ffi::GetRef<SBlock>(op), Downcast<SBlock>(result));
  return result;
}

Substituter::Substituter(const ffi::Map<Var, PrimExpr>& values,
                         const ffi::Map<Buffer, Buffer>& buffers)
    : values_(values) {
  for (const auto& [from, to] : buffers) buffer_remap_[from.get()] = to;
}

Expr Substituter::VisitExpr_(const VarNode* op) {
  auto it = values_.find(ffi::GetRef<Var>(op));
  if (it != values_.end()) return (*it).second;
  return BlockMutator::VisitExpr_(op);
}

Buffer Substituter::VisitBufferDef(const Buffer& buffer) {
  auto it = buffer_remap_.find(buffer.get());
  return it == buffer_remap_.end() ? BlockMutator::VisitBufferDef(buffer) : it->second;
}

namespace {

class StmtSwapper final : public BlockMutator {
 public:
  StmtSwapper(const StmtNode* from, Stmt to) : from_(from), to_(std::move(to)) {}
  Stmt Run(const Stmt& stmt) {
    Stmt result = VisitStmt(stmt);
    TVM_FFI_ICHECK(found_) << "the statement to replace is not there";
    return result;
  }

 private:
  Expr VisitExpr(const Expr& expr) final { return expr; }
  Stmt VisitStmt(const Stmt& stmt) final {
    if (stmt.get() == from_) {
      found_ = true;
      return to_;
    }
    return found_ ? stmt : BlockMutator::VisitStmt(stmt);
  }
  Stmt VisitStmt_(const SeqStmtNode* op) final {
    bool changed = false;
    ffi::Array<Stmt> seq;
    for (const Stmt& stmt : op->seq) {
      Stmt visited = VisitStmt(stmt);
      changed = changed || !visited.same_as(stmt);
      if (visited.defined()) seq.push_back(visited);
    }
    if (!changed) return ffi::GetRef<Stmt>(op);
    return SeqStmt::Flatten(seq);
  }

  const StmtNode* from_;
  Stmt to_;
  bool found_ = false;
};

class BindingSimplifier final : public StmtMutator {
 public:
  BindingSimplifier(const BindingOptions& options, const arith::Analyzer& analyzer)
      : options_(options), loops_(options.outer_loops), analyzer_(analyzer) {}
  Stmt Run(const Stmt& stmt) { return VisitStmt(stmt); }

 private:
  Stmt VisitStmt_(const ForNode* op) final {
    Range range = Range::FromMinExtent(op->min, op->extent);
    loops_.Set(op->loop_var, range);
    analyzer_->Bind(op->loop_var, range, true);
    Stmt result = StmtMutator::VisitStmt_(op);
    loops_.erase(op->loop_var);
    return result;
  }
  Stmt VisitStmt_(const SBlockRealizeNode* op) final {
    SBlockRealize realize = ffi::GetRef<SBlockRealize>(op);
    SBlockRealizeNode* node = realize.CopyOnWrite();
    node->predicate = Conjoin(op->predicate, options_.predicate);
    node->iter_values =
        arith::IterMapSimplify(op->iter_values, loops_, node->predicate, arith::kSurjective,
                               analyzer_, !options_.preserve_unit_iters);
    return realize;
  }
  // Statements outside of blocks get the guard themselves.
  Stmt VisitStmt_(const BufferStoreNode* op) final { return Guard(ffi::GetRef<Stmt>(op)); }
  Stmt VisitStmt_(const EvaluateNode* op) final { return Guard(ffi::GetRef<Stmt>(op)); }
  Stmt VisitStmt_(const AssertStmtNode* op) final { return Guard(ffi::GetRef<Stmt>(op)); }
  Stmt Guard(const Stmt& stmt) {
    return is_one(options_.predicate) ? stmt : IfThenElse(options_.predicate, stmt);
  }

  const BindingOptions& options_;
  ffi::Map<Var, Range> loops_;
  arith::Analyzer analyzer_;
};

}  // namespace

Stmt ReplaceStmt(const Stmt& stmt, const StmtNode* from, const Stmt& to, BlockReuse* reuse) {
  StmtSwapper swapper(from, to);
  Stmt result = swapper.Run(stmt);
  for (const auto& [before, after] : swapper.reuse) reuse->Set(before, after);
  return result;
}

Stmt NestLoops(const std::vector<Var>& vars, const std::vector<Range>& ranges, Stmt body,
               ForKind kind) {
  for (size_t i = vars.size(); i-- > 0;) {
    body = For(vars[i], ranges[i]->min, ranges[i]->extent, kind, std::move(body));
  }
  return body;
}

Stmt SimplifyBindings(const Stmt& stmt, const BindingOptions& options,
                      const arith::Analyzer& analyzer) {
  return BindingSimplifier(options, analyzer).Run(stmt);
}

Removal PlanRemoval(const State& state, const StmtSRef& block, const StmtSRef& scope_root) {
  StmtSRef node = block;
  while (!node.same_as(scope_root)) {
    StmtSRef parent = ffi::GetRef<StmtSRef>(node->parent());
    if (StmtsOf(BodyOf(parent)).size() > 1) return {MemberTowards(state, parent, node)};
    node = parent;
  }
  SCHEDULE_FAIL(block, scope_root)
      << "The block {0} is the only block in its scope {1}, so it cannot be taken out of it";
  TVM_FFI_UNREACHABLE();
}

SBlock WithoutAlloc(SBlock block, const Buffer& buffer) {
  ffi::Array<Buffer> kept;
  for (const Buffer& alloc : block->alloc_buffers) {
    if (!alloc.same_as(buffer)) kept.push_back(alloc);
  }
  block.CopyOnWrite()->alloc_buffers = std::move(kept);
  return block;
}

SBlock WithAlloc(SBlock block, const Buffer& buffer) {
  block.CopyOnWrite()->alloc_buffers.push_back(buffer);
  return block;
}

SBlock WithBody(SBlock block, Stmt body) {
  block.CopyOnWrite()->body = std::move(body);
  return block;
}

Buffer BufferLike(const Buffer& buffer, const std::string& name, const std::string& scope) {
  return BufferWithShape(buffer, name, scope, buffer.shape());
}

Buffer BufferWithShape(const Buffer& buffer, const std::string& name, const std::string& scope,
                       ffi::Array<PrimExpr> shape) {
  return Buffer(name, BufferType(buffer.dtype(), std::move(shape), {}, PrimExpr(), scope));
}

Stmt MemberTowards(const State& state, const StmtSRef& parent, const StmtSRef& sref) {
  StmtSRef child = ChildTowards(parent, sref);
  if (child->StmtAs<ForNode>() != nullptr) return child->stmt.value();
  return RealizeOf(state, child);
}

void ReplaceRealize(State* state, const StmtSRef& block, const Stmt& stmt,
                    const BlockReuse& reuse) {
  StmtSRef parent = ffi::GetRef<StmtSRef>(block->parent());
  const SBlockRealize realize = RealizeOf(*state, block);
  BlockReuse all = reuse;
  Stmt replaced;
  if (const auto* op = parent->StmtAs<ForNode>()) {
    For loop = ffi::GetRef<For>(op);
    Stmt body = ReplaceStmt(op->body, realize.get(), stmt, &all);
    loop.CopyOnWrite()->body = std::move(body);
    replaced = loop;
  } else {
    SBlock outer = ffi::GetRef<SBlock>(parent->StmtAs<SBlockNode>());
    SBlock changed = WithBody(outer, ReplaceStmt(outer->body, realize.get(), stmt, &all));
    all.Set(outer, changed);
    replaced = changed;
  }
  state->Replace(parent, replaced, all);
}

Stmt InsertBeside(const Stmt& body, const StmtNode* anchor, const Stmt& extra, bool after) {
  ffi::Array<Stmt> result;
  bool found = false;
  for (const Stmt& stmt : StmtsOf(body)) {
    const bool here = stmt.get() == anchor;
    found = found || here;
    if (here && !after) result.push_back(extra);
    result.push_back(stmt);
    if (here && after) result.push_back(extra);
  }
  TVM_FFI_ICHECK(found) << "the statement to insert at is not a member of the body";
  return SeqStmt::Flatten(result);
}

PrimExpr Conjoin(const PrimExpr& a, const PrimExpr& b) {
  if (is_one(a)) return b;
  if (is_one(b)) return a;
  return a && b;
}

std::vector<PrimExpr> Conjuncts(const PrimExpr& predicate) {
  std::vector<PrimExpr> result, pending{predicate};
  while (!pending.empty()) {
    PrimExpr part = pending.back();
    pending.pop_back();
    if (const auto* op = part.as<AndNode>()) {
      pending.push_back(op->b);
      pending.push_back(op->a);
    } else if (!is_one(part)) {
      result.push_back(part);
    }
  }
  return result;
}

const BufferStoreNode* SingleStore(const Stmt& body) { return body.as<BufferStoreNode>(); }

}  // namespace s_tir
}  // namespace tvm
