// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// What a schedule's state finds out about blocks, on demand.
#include <unordered_set>

#include "s_tir/schedule/analysis.h"

namespace tvm {
namespace s_tir {

using namespace tirx;  // NOLINT(build/namespaces)
using arith::IntSet;

namespace {

/// Whether everything between a block and its child blocks is loops and sequences.
class OnlyLoopsAndBlocks final : public StmtFunctor<bool(const Stmt&)> {
 private:
  bool VisitStmt_(const ForNode* op) final { return VisitStmt(op->body); }
  bool VisitStmt_(const SBlockRealizeNode*) final { return true; }
  bool VisitStmt_(const SeqStmtNode* op) final {
    for (const Stmt& stmt : op->seq) {
      if (!VisitStmt(stmt)) return false;
    }
    return true;
  }
  bool VisitStmtDefault_(const ffi::Object*) final { return false; }
};

BufferRegion RegionOf(const StmtSRef& block, const Buffer& buffer, bool write) {
  const auto* node = block->StmtAs<SBlockNode>();
  for (const BufferRegion& region : write ? node->writes : node->reads) {
    if (region->buffer.same_as(buffer)) return region;
  }
  return BufferRegion();
}

/// Whether the producers of one buffer write, before `consumer` runs, all that it reads.
bool ProducersCover(const State& state, const StmtSRef& consumer, const BufferRegion& read,
                    const std::vector<StmtSRef>& producers) {
  std::vector<StmtSRef> all = producers;
  all.push_back(consumer);
  const StmtSRef lca = CommonAncestor(all);
  arith::Analyzer analyzer = AnalyzerAt(state, lca);
  const ffi::Map<Var, Range> threads = ThreadDomains(lca, std::string(read->buffer.scope()));
  auto domain = [&](const StmtSRef& block) {
    ffi::Map<Var, Range> result = LoopDomains(block, lca);
    for (const auto& [var, range] : threads) result.Set(var, range);
    return result;
  };
  ffi::Array<IntSet> needed =
      RegionUpperBound(RealizeOf(state, consumer), read, domain(consumer), analyzer);
  ffi::Array<ffi::Array<IntSet>> written;
  for (const StmtSRef& producer : producers) {
    auto region =
        RegionLowerBound(RealizeOf(state, producer), RegionOf(producer, read->buffer, true),
                         domain(producer), analyzer);
    if (!region.has_value()) continue;
    if (ProvablyCovers(region.value(), needed, read->buffer, analyzer)) return true;
    written.push_back(region.value());
  }
  return written.size() > 1 &&
         ProvablyCovers(arith::UnionRegionLowerBound(written), needed, read->buffer, analyzer);
}

}  // namespace

SBlockScope ScheduleStateNode::GetSBlockScope(const StmtSRef& block) {
  TVM_FFI_CHECK(IsAlive(block) && block->StmtAs<SBlockNode>() != nullptr, ValueError)
      << "the reference is no block of the program";
  SBlockInfo& info = infos_[block.get()];
  if (!info.scope.has_value()) info.scope = SBlockScope(ChildBlocks(*this, block));
  return info.scope.value();
}

bool ScheduleStateNode::IsAffineBlockBinding(const StmtSRef& block) {
  TVM_FFI_CHECK(IsAlive(block) && block->StmtAs<SBlockNode>() != nullptr, ValueError)
      << "the reference is no block of the program";
  std::optional<bool>& flag = infos_[block.get()].affine_binding;
  if (!flag.has_value()) {
    flag = block->parent() == nullptr ||
           IsAffineBinding(RealizeOf(*this, block), LoopDomains(block),
                           AnalyzerAt(*this, ffi::GetRef<StmtSRef>(block->parent())));
  }
  return flag.value();
}

bool ScheduleStateNode::IsRegionCoveredConsumer(const StmtSRef& block) {
  TVM_FFI_CHECK(IsAlive(block) && block->StmtAs<SBlockNode>() != nullptr, ValueError)
      << "the reference is no block of the program";
  if (infos_[block.get()].region_cover.has_value()) return *infos_[block.get()].region_cover;
  bool covered = true;
  if (block->parent() != nullptr) {
    SBlockScope scope = GetSBlockScope(ScopeRootOf(block));
    for (const BufferRegion& read : block->StmtAs<SBlockNode>()->reads) {
      std::vector<StmtSRef> producers;
      for (const Dependency& dep : scope->GetDepsByDst(block)) {
        if (dep->kind == DepKind::kRAW && RegionOf(dep->src, read->buffer, true).defined()) {
          producers.push_back(dep->src);
        }
      }
      if (!producers.empty()) covered = covered && ProducersCover(*this, block, read, producers);
    }
  }
  infos_[block.get()].region_cover = covered;
  return covered;
}

bool ScheduleStateNode::IsStagePipeline(const StmtSRef& block) {
  SBlockScope scope = GetSBlockScope(block);
  if (infos_[block.get()].stage_pipeline.has_value()) return *infos_[block.get()].stage_pipeline;
  bool pipeline = OnlyLoopsAndBlocks()(BodyOf(block));
  for (const StmtSRef& child : scope->blocks) {
    for (const Dependency& dep : scope->GetDepsBySrc(child)) {
      pipeline = pipeline && (dep->kind == DepKind::kRAW || dep->kind == DepKind::kWAW);
    }
    pipeline = pipeline && IsRegionCoveredConsumer(child);
  }
  infos_[block.get()].stage_pipeline = pipeline;
  return pipeline;
}

}  // namespace s_tir
}  // namespace tvm
