// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// loop_partition: the range of a loop is cut into parts, each a loop of its own.
///
///   for i in range(16): B       ==>   block B_i_common:
///                                       block B_i0_partition: for i0 in range(4): B_i0
///                                       block B_i1_partition: for i1 in range(4, 16): B_i1
#include "s_tir/schedule/primitive/inline_util.h"
#include "s_tir/schedule/primitive/loop_checks.h"

namespace tvm {
namespace s_tir {

using namespace tirx;  // NOLINT(build/namespaces)

namespace {

/// A copy of a statement whose loops and block variables are fresh, blocks named after the part.
class PartCopier final : public StmtExprMutator {
 public:
  PartCopier(const ffi::Map<Var, PrimExpr>& values, std::string suffix)
      : values_(values), suffix_(std::move(suffix)) {}
  Stmt Run(const Stmt& stmt) { return VisitStmt(stmt); }

 private:
  Var Fresh(const Var& var) {
    Var fresh = var.copy_with_suffix("");
    values_.Set(var, fresh);
    return fresh;
  }
  Expr VisitExpr_(const VarNode* op) final {
    auto it = values_.find(ffi::GetRef<Var>(op));
    if (it != values_.end()) return (*it).second;
    return StmtExprMutator::VisitExpr_(op);
  }
  Stmt VisitStmt_(const ForNode* op) final {
    PrimExpr min = VisitPrimExpr(op->min), extent = VisitPrimExpr(op->extent);
    Var var = Fresh(op->loop_var);
    return For(var, min, extent, op->kind, VisitStmt(op->body), op->thread_binding, op->annotations,
               op->step);
  }
  Stmt VisitStmt_(const BindNode* op) final {
    Expr value = VisitExpr(op->value);
    return Bind(Fresh(op->var), value);
  }
  Stmt VisitStmt_(const SBlockNode* op) final {
    ffi::Array<IterVar> iters;
    for (const IterVar& iter : op->iter_vars) {
      Range dom =
          Range::FromMinExtent(VisitPrimExpr(iter->dom->min), VisitPrimExpr(iter->dom->extent));
      iters.push_back(IterVar(dom, Fresh(iter->var), iter->iter_type, iter->thread_tag));
    }
    for (const Buffer& buffer : op->alloc_buffers) {
      buffer_remap_[buffer.get()] = buffer.WithType(buffer.buffer_type());
    }
    for (const MatchBufferRegion& match : op->match_buffers) {
      buffer_remap_[match->buffer.get()] = match->buffer.WithType(match->buffer.buffer_type());
    }
    SBlock block = ffi::GetRef<SBlock>(op);
    SBlockNode* node = block.CopyOnWrite();
    node->iter_vars = {};
    SBlock copy = Downcast<SBlock>(StmtExprMutator::VisitStmt_(block.get()));
    SBlockNode* result = copy.CopyOnWrite();
    result->iter_vars = iters;
    result->name_hint = std::string(op->name_hint) + suffix_;
    return copy;
  }
  Buffer VisitBufferDef(const Buffer& buffer) final {
    auto it = buffer_remap_.find(buffer.get());
    return it == buffer_remap_.end() ? StmtExprMutator::VisitBufferDef(buffer) : it->second;
  }

  ffi::Map<Var, PrimExpr> values_;
  std::string suffix_;
};

struct Parts {
  std::vector<PrimExpr> begins, extents;
};

Parts CutRange(const StmtSRef& sref, const ffi::Array<ffi::Optional<PrimExpr>>& factors,
               const arith::Analyzer& analyzer) {
  const ForNode* loop = LoopOf(sref);
  const int open = CheckFactors(sref, factors, analyzer);
  DataType dtype = loop->loop_var->dtype();
  PrimExpr sum = make_zero(dtype);
  for (const auto& factor : factors) {
    if (factor.has_value()) sum = sum + cast(dtype, factor.value());
  }
  SCHEDULE_CHECK(analyzer->CanProve(sum < loop->extent), sref)
      << "The sum of the factors has to be less than the extent of the loop {0}, but " << sum
      << " < " << loop->extent << " cannot be shown";
  std::vector<PrimExpr> extents;
  for (const auto& factor : factors) {
    extents.push_back(factor.has_value() ? cast(dtype, factor.value())
                                         : analyzer->Simplify(loop->extent - sum));
  }
  // What is left over is one part more.
  if (open < 0) extents.push_back(analyzer->Simplify(loop->extent - sum));
  Parts parts;
  PrimExpr begin = loop->min;
  for (const PrimExpr& extent : extents) {
    parts.begins.push_back(begin);
    parts.extents.push_back(extent);
    begin = analyzer->Simplify(begin + extent);
  }
  return parts;
}

ffi::Array<StmtSRef> LoopPartition(State* state, const StmtSRef& sref,
                                   const ffi::Array<ffi::Optional<PrimExpr>>& factors,
                                   bool preserve_unit_iters) {
  CheckPlainLoop(sref);
  const ForNode* loop = LoopOf(sref);
  ffi::Array<StmtSRef> blocks = ChildBlocks(*state, sref);
  SCHEDULE_CHECK(!blocks.empty(), sref) << "The loop {0} holds no block";
  arith::Analyzer analyzer = AnalyzerAt(*state, ffi::GetRef<StmtSRef>(sref->parent()));
  const Parts parts = CutRange(sref, factors, analyzer);
  const std::string base = std::string(blocks[0]->StmtAs<SBlockNode>()->name_hint) + "_" +
                           std::string(loop->loop_var->name);
  ffi::Array<Stmt> pieces;
  for (size_t i = 0; i < parts.begins.size(); ++i) {
    Var var = loop->loop_var.copy_with_suffix(std::to_string(i));
    const std::string suffix = "_" + std::string(var->name);
    Stmt body = PartCopier({{loop->loop_var, var}}, suffix).Run(loop->body);
    Stmt piece = For(var, parts.begins[i], parts.extents[i], ForKind::kSerial, body);
    BindingOptions options{.outer_loops = LoopDomains(sref),
                           .preserve_unit_iters = preserve_unit_iters};
    piece = SimplifyBindings(piece, options, analyzer.Clone());
    SBlock holder({}, {}, {}, base + std::to_string(i) + "_partition", piece);
    pieces.push_back(SBlockRealize({}, Bool(true), RefreshRegions(holder)));
  }
  BlockReuse unused;  // all blocks below are new
  SBlock common({}, {}, {}, base + "_common", SeqStmt::Flatten(pieces));
  SBlockRealize realize = CloseOverLoops(common, LoopDomains(sref), &unused);
  state->Replace(sref, realize, {});
  ffi::Array<StmtSRef> result;
  for (const StmtSRef& partition : ChildBlocks(*state, state->GetSRef(realize->block.get()))) {
    result.push_back(state->GetSRef(partition->StmtAs<SBlockNode>()->body.as<ForNode>()));
  }
  return result;
}

const PrimitiveRegistration kLoopPartition{{
    .name = "LoopPartition",
    .method = "loop_partition",
    .params = "loop=i0 factors=i1* preserve_unit_iters=a0:bool",
    .result = Result::kList,
    .run = [](PrimitiveCall& call) -> ffi::Array<ffi::Any> {
      return call.LoopRVs(
          LoopPartition(call.state, call.Loop(0), call.FactorsFrom(1), call.Flag(0)));
    },
}};

}  // namespace

}  // namespace s_tir
}  // namespace tvm
