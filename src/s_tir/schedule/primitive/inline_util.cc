// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include "s_tir/schedule/primitive/inline_util.h"

#include <tvm/tirx/analysis.h>
#include <tvm/tirx/builtin.h>

namespace tvm {
namespace s_tir {

using namespace tirx;  // NOLINT(build/namespaces)

Buffer SingleIntermediateBuffer(State* state, const StmtSRef& sref, const StmtSRef& scope_root) {
  const auto* block = sref->StmtAs<SBlockNode>();
  SCHEDULE_CHECK(block->writes.size() == 1, sref)
      << "The block {0} has to write one buffer, but writes " << block->writes.size();
  CheckNotOutputBlock(state, sref, scope_root);
  return block->writes[0]->buffer;
}

namespace {

class OpaqueUseFinder final : public StmtExprVisitor {
 public:
  explicit OpaqueUseFinder(const Buffer& buffer) : buffer_(buffer) {}
  const StmtNode* Run(const Stmt& stmt) {
    VisitStmt(stmt);
    return found_;
  }

 private:
  void VisitExpr_(const VarNode* op) final {
    if (op == buffer_.get()) found_ = current_;
  }
  void VisitStmt_(const SBlockNode* op) final {
    const StmtNode* outer = std::exchange(current_, op);
    for (const MatchBufferRegion& match : op->match_buffers) {
      if (match->source->buffer.same_as(buffer_)) found_ = op;
    }
    StmtExprVisitor::VisitStmt_(op);
    current_ = outer;
  }

  Buffer buffer_;
  const StmtNode* current_ = nullptr;
  const StmtNode* found_ = nullptr;
};

}  // namespace

void CheckNoOpaqueUse(const StmtSRef& scope_root, const Buffer& buffer) {
  const StmtNode* found = OpaqueUseFinder(buffer).Run(scope_root->stmt.value());
  if (found == nullptr) return;
  SCHEDULE_FAIL(found) << "The block {0} uses the buffer " << buffer->name
                       << " other than by loads and stores of elements";
}

SBlockRealize CloseOverLoops(SBlock block, const ffi::Map<Var, Range>& loops, BlockReuse* reuse) {
  ffi::Array<Var> used = UndefinedVars(block->body, {});
  ffi::Array<IterVar> iters;
  ffi::Array<PrimExpr> values;
  ffi::Map<Var, PrimExpr> renamed;
  for (const Var& var : used) {
    if (loops.count(var) == 0) continue;
    bool parallel = true;
    PostOrderVisit(block->body, [&](const ffi::ObjectRef& node) {
      const auto* realize = node.as<SBlockRealizeNode>();
      if (realize == nullptr) return;
      for (size_t i = 0; i < realize->iter_values.size(); ++i) {
        if (realize->block->iter_vars[i]->iter_type == kDataPar) continue;
        parallel = parallel && !UsesVar(realize->iter_values[i], var);
      }
    });
    Var own("v_" + std::string(var->name), var->dtype());
    iters.push_back(IterVar(loops[var], own, parallel ? kDataPar : kOpaque));
    values.push_back(var);
    renamed.Set(var, own);
  }
  SBlockNode* node = block.CopyOnWrite();
  node->reads = {};
  node->writes = {};
  if (!iters.empty()) {
    Substituter substituter(renamed);
    Stmt body = substituter.Run(block->body);
    block.CopyOnWrite()->body = body;
    block.CopyOnWrite()->iter_vars = iters;
    for (const auto& [before, after] : substituter.reuse) reuse->Set(before, after);
  }
  return SBlockRealize(values, Bool(true), RefreshRegions(block));
}

SBlock RefreshRegions(SBlock block) {
  ffi::Array<ffi::Array<BufferRegion>> found = GetSBlockReadWriteRegion(block);
  ffi::Array<BufferRegion> reads;
  for (const BufferRegion& region : found[0]) {
    bool own = false;
    for (const BufferRegion& write : found[1]) {
      own = own || (block->init.has_value() && write->buffer.same_as(region->buffer));
    }
    if (!own) reads.push_back(region);
  }
  SBlockNode* node = block.CopyOnWrite();
  node->reads = std::move(reads);
  node->writes = found[1];
  return block;
}

}  // namespace s_tir
}  // namespace tvm
