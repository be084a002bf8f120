// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Regions of buffers seen from outside of a block.
#include <tvm/tirx/op.h>

#include "s_tir/schedule/analysis.h"

namespace tvm {
namespace s_tir {

using namespace tirx;  // NOLINT(build/namespaces)
using arith::Analyzer;
using arith::IntSet;

bool IsAffineBinding(const SBlockRealize& realize, const ffi::Map<Var, Range>& loops,
                     const Analyzer& analyzer) {
  if (realize->iter_values.empty()) return true;
  // The frequent case first: each variable is one loop. It holds for extents of any form.
  ffi::Map<Var, Range> unused = loops;
  bool trivial = is_one(realize->predicate);
  for (const PrimExpr& value : realize->iter_values) {
    auto var = value.as<Var>();
    if (var.has_value() && unused.count(*var) != 0) {
      unused.erase(*var);
    } else if (!is_const_int(value)) {
      trivial = false;
    }
  }
  if (trivial) return true;
  arith::IterMapResult result = arith::DetectIterMap(
      realize->iter_values, loops, realize->predicate, arith::kSurjective, analyzer);
  return !result->indices.empty();
}

namespace {

/// Whether an iterator takes the values min .. min + extent - 1, each of them.
bool CoversRange(const arith::IterSumExpr& sum, const Range& dom, const Analyzer& analyzer) {
  if (!analyzer->CanProveEqual(sum->base, dom->min)) return false;
  if (sum->args.empty()) return analyzer->CanProveEqual(dom->extent, 1);
  return sum->args.size() == 1 && is_one(sum->args[0]->scale) &&
         analyzer->CanProveEqual(sum->args[0]->extent, dom->extent);
}

}  // namespace

bool RunsOverDomain(const State& state, const StmtSRef& block) {
  if (block->parent() == nullptr) return true;
  const SBlockRealize realize = RealizeOf(state, block);
  const ffi::Map<Var, Range> loops = LoopDomains(block);
  Analyzer analyzer = AnalyzerAt(state, ffi::GetRef<StmtSRef>(block->parent()));
  bool simple = is_one(realize->predicate);
  ffi::Map<Var, Range> unused = loops;
  for (size_t i = 0; simple && i < realize->iter_values.size(); ++i) {
    const Range& dom = realize->block->iter_vars[i]->dom;
    auto var = realize->iter_values[i].as<Var>();
    if (var.has_value() && unused.count(*var) != 0) {
      const Range range = unused[*var];
      unused.erase(*var);
      simple = analyzer->CanProveEqual(range->min, dom->min) &&
               analyzer->CanProveEqual(range->extent, dom->extent);
    } else {
      simple = analyzer->CanProveEqual(dom->extent, 1) &&
               analyzer->CanProveEqual(realize->iter_values[i], dom->min);
    }
  }
  if (simple) return true;
  arith::IterMapResult map = arith::DetectIterMap(realize->iter_values, loops, realize->predicate,
                                                  arith::kSurjective, analyzer);
  if (map->indices.size() != realize->iter_values.size()) return false;
  for (size_t i = 0; i < map->indices.size(); ++i) {
    if (!CoversRange(map->indices[i], realize->block->iter_vars[i]->dom, analyzer)) return false;
  }
  return true;
}

bool DomainImpliesPredicate(const State& state, const StmtSRef& block) {
  const SBlockRealize realize = RealizeOf(state, block);
  if (is_one(realize->predicate)) return true;
  Analyzer analyzer = AnalyzerAt(state, ffi::GetRef<StmtSRef>(block->parent()));
  PrimExpr inside = Bool(true);
  for (size_t i = 0; i < realize->iter_values.size(); ++i) {
    const Range& dom = realize->block->iter_vars[i]->dom;
    const PrimExpr& value = realize->iter_values[i];
    inside = inside && value >= dom->min && value < dom->min + dom->extent;
  }
  arith::ConstraintScope scope(analyzer, inside);
  return analyzer->CanProve(realize->predicate);
}

void CheckPredicateIsDomain(const State& state, const StmtSRef& block) {
  const SBlockRealize realize = RealizeOf(state, block);
  if (is_one(realize->predicate) || RunsOverDomain(state, block)) return;
  SCHEDULE_CHECK(DomainImpliesPredicate(state, block), block)
      << "The block {0} runs under the predicate " << realize->predicate
      << ", which says more than that its variables are inside of their domains";
}

ffi::Map<Var, PrimExpr> Bindings(const SBlockRealize& realize) {
  ffi::Map<Var, PrimExpr> result;
  for (size_t i = 0; i < realize->iter_values.size(); ++i) {
    result.Set(realize->block->iter_vars[i]->var, realize->iter_values[i]);
  }
  return result;
}

ffi::Array<Range> SubstituteRegion(const ffi::Array<Range>& region,
                                   const ffi::Map<Var, PrimExpr>& values) {
  ffi::Array<Range> result;
  for (const Range& range : region) result.push_back(Substitute(range, values));
  return result;
}

ffi::Array<IntSet> RegionUpperBound(const SBlockRealize& realize, const BufferRegion& region,
                                    const ffi::Map<Var, Range>& loops, const Analyzer& analyzer) {
  ffi::Array<Range> bound = SubstituteRegion(region->region, Bindings(realize));
  return arith::EstimateRegionUpperBound(bound, loops, realize->predicate, analyzer);
}

ffi::Optional<ffi::Array<IntSet>> RegionLowerBound(const SBlockRealize& realize,
                                                   const BufferRegion& region,
                                                   const ffi::Map<Var, Range>& loops,
                                                   const Analyzer& analyzer) {
  ffi::Array<Range> bound = SubstituteRegion(region->region, Bindings(realize));
  auto result = arith::EstimateRegionLowerBound(bound, loops, realize->predicate, analyzer);
  if (result.has_value() || !is_one(realize->predicate)) return result;
  // Dimensions that one loop each runs over are exact whatever the form of the extents.
  ffi::Array<IntSet> exact;
  ffi::Map<Var, Range> unused = loops;
  for (const Range& range : bound) {
    auto var = range->min.as<Var>();
    if (is_one(range->extent) && var.has_value() && unused.count(*var) != 0) {
      exact.push_back(IntSet::FromRange(unused[*var]));
      unused.erase(*var);
    } else if (!UsesVar(range->min,
                        [&](const VarNode* v) { return loops.count(ffi::GetRef<Var>(v)) != 0; })) {
      exact.push_back(IntSet::FromRange(range));
    } else {
      return std::nullopt;
    }
  }
  return exact;
}

bool ProvablyCovers(const ffi::Array<IntSet>& outer, const ffi::Array<IntSet>& inner,
                    const Buffer& buffer, const Analyzer& analyzer) {
  if (outer.size() != inner.size() || outer.size() != buffer.ndim()) return false;
  for (size_t d = 0; d < outer.size(); ++d) {
    if (!outer[d].HasLowerBound() || !outer[d].HasUpperBound()) return false;
    const PrimExpr& extent = buffer.shape()[d];
    bool low = analyzer->CanProve(outer[d].min() <= 0) ||
               (inner[d].HasLowerBound() && analyzer->CanProve(outer[d].min() <= inner[d].min()));
    bool high = analyzer->CanProve(outer[d].max() >= extent - 1) ||
                (inner[d].HasUpperBound() && analyzer->CanProve(outer[d].max() >= inner[d].max()));
    if (!low || !high) return false;
  }
  return true;
}

BufferRegion NthRegion(const StmtSRef& sref, int64_t index, bool is_write) {
  const auto* block = sref->StmtAs<SBlockNode>();
  const ffi::Array<BufferRegion>& regions = is_write ? block->writes : block->reads;
  SCHEDULE_CHECK(index >= 0 && index < static_cast<int64_t>(regions.size()), sref)
      << "{0} has " << regions.size() << (is_write ? " write" : " read")
      << " regions, so the buffer index has to be in [0, " << regions.size() << "), but it is "
      << index;
  return regions[index];
}

Buffer NthBuffer(const StmtSRef& sref, int64_t index, bool is_write) {
  return NthRegion(sref, index, is_write)->buffer;
}

StmtSRef AllocationSite(const StmtSRef& below, const Buffer& buffer) {
  for (StmtSRefNode* node = below.get(); node != nullptr; node = node->parent()) {
    const auto* block = node->StmtAs<SBlockNode>();
    if (block == nullptr) continue;
    for (const Buffer& alloc : block->alloc_buffers) {
      if (alloc.same_as(buffer)) return ffi::GetRef<StmtSRef>(node);
    }
    for (const MatchBufferRegion& match : block->match_buffers) {
      SCHEDULE_CHECK(!match->buffer.same_as(buffer), StmtSRef(ffi::GetRef<StmtSRef>(node)))
          << "the buffer " << buffer->name << " is defined by a match_buffer of {0}";
    }
  }
  return StmtSRef();
}

bool MentionsVar(const ffi::ObjectRef& node, const std::function<bool(const VarNode*)>& is) {
  if (auto expr = node.as<Expr>()) return UsesVar(*expr, is);
  bool found = false;
  PreOrderVisit(node, [&](const ffi::ObjectRef& part) {
    if (const auto* var = part.as<VarNode>()) found = found || is(var);
    return !found;
  });
  return found;
}

bool UsesLoop(const PrimExpr& value, const StmtSRef& loop) {
  return UsesVar(value, loop->StmtAs<ForNode>()->loop_var);
}

}  // namespace s_tir
}  // namespace tvm
