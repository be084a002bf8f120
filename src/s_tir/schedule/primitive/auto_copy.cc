// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// read_at, write_at: what an iteration of a loop reads (writes) of a buffer is copied at its start
/// (end) by one block, which is marked auto_copy: passes choose how to copy.
#include "s_tir/schedule/primitive/cache_util.h"

namespace tvm {
namespace s_tir {

using namespace tirx;  // NOLINT(build/namespaces)
using arith::IntSet;

namespace {

/// The copy of a region as one block: one variable for each axis whose place moves with the loops
/// outside, plain loops inside.
Stmt MakeAutoCopy(const Buffer& from, const Buffer& to, const ffi::Array<IntSet>& region,
                  const std::string& name, const StmtSRef& block, const arith::Analyzer& analyzer) {
  ffi::Array<IterVar> iters;
  ffi::Array<PrimExpr> values, indices;
  ffi::Array<Range> box;
  std::vector<Var> vars;
  std::vector<Range> ranges;
  for (size_t d = 0; d < from.ndim(); ++d) {
    const PrimExpr& extent = from.shape()[d];
    DataType dtype = extent.dtype();
    Range whole = Range::FromMinExtent(make_zero(dtype), extent);
    Range part = whole;
    if (region[d].HasLowerBound() && region[d].HasUpperBound()) {
      PrimExpr length =
          analyzer->Simplify(region[d].max() - region[d].min() + make_const(dtype, 1));
      if (is_const_int(length) && !analyzer->CanProve(length >= extent)) {
        part = Range::FromMinExtent(analyzer->Simplify(region[d].min()), length);
      }
    }
    PrimExpr begin = part->min;
    if (!is_const_int(begin)) {
      Var var("v" + std::to_string(iters.size()), dtype);
      iters.push_back(IterVar(whole, var, kDataPar));
      values.push_back(begin);
      const bool fits =
          analyzer->CanProve(begin >= 0) && analyzer->CanProve(begin + part->extent <= extent);
      begin = var;
      if (!fits) {
        SCHEDULE_CHECK(analyzer->CanProve(values[values.size() - 1] >= 0), block)
            << "The block {0} accesses " << from->name << " at " << part->min
            << ", which may be negative";
        PrimExpr room = extent - begin;
        part = Range::FromMinExtent(part->min, min(part->extent, room));
      }
    }
    Var loop("ax" + std::to_string(d), dtype);
    vars.push_back(loop);
    ranges.push_back(Range::FromMinExtent(make_zero(dtype), part->extent));
    box.push_back(Range::FromMinExtent(begin, part->extent));
    indices.push_back(is_zero(begin) ? PrimExpr(loop) : begin + loop);
  }
  Stmt body = NestLoops(vars, ranges, BufferStore(to, BufferLoad(from, indices), indices));
  SBlock copy(iters, {BufferRegion(from, box)}, {BufferRegion(to, box)}, name, body, std::nullopt,
              {}, {}, {{"auto_copy", true}});
  return SBlockRealize(values, Bool(true), copy);
}

template <bool kWrite>
StmtSRef CopyAt(State* state, const StmtSRef& loop, const StmtSRef& block, int64_t index,
                const std::string& scope) {
  LoopOf(loop);
  const StmtSRef scope_root = ScopeRootOf(block);
  SCHEDULE_CHECK(Encloses(loop, block) && ScopeRootOf(loop).same_as(scope_root), block, loop)
      << "The loop {1} has to be one of the loops of the block {0}";
  const Buffer buffer = NthBuffer(block, index, kWrite);
  ffi::Array<StmtSRef> swapped;
  ffi::Array<ffi::Array<IntSet>> regions;
  arith::Analyzer analyzer = AnalyzerAt(*state, loop);
  for (const StmtSRef& child : ChildBlocks(*state, scope_root)) {
    const auto* node = child->StmtAs<SBlockNode>();
    const bool inside = Encloses(loop, child);
    bool touches = false;
    auto visit = [&](const ffi::Array<BufferRegion>& list, bool writes) {
      for (const BufferRegion& region : list) {
        if (!region->buffer.same_as(buffer)) continue;
        SCHEDULE_CHECK(kWrite || !writes || !inside, child, loop)
            << "The block {0} writes " << buffer->name << " in the loop {1} that reads the copy";
        SCHEDULE_CHECK(!kWrite || writes == inside || !writes, child, loop)
            << "The block {0} writes " << buffer->name << " outside of the loop {1}";
        if (!inside) continue;
        touches = true;
        regions.push_back(
            RegionUpperBound(RealizeOf(*state, child), region, LoopDomains(child, loop), analyzer));
      }
    };
    visit(node->reads, false);
    visit(node->writes, true);
    if (!touches) continue;
    swapped.push_back(child);
    if (kWrite) {
      // All that is copied out has to have been written to the copy.
      CheckStartsAfresh(child, buffer);
      CheckPredicateIsDomain(*state, child);
    }
  }
  ffi::Array<IntSet> region = regions.size() == 1 ? regions[0] : arith::UnionRegion(regions);
  const std::string name = CacheName(buffer, scope);
  const Buffer cache = BufferLike(buffer, name, scope);
  Stmt copy = kWrite ? MakeAutoCopy(cache, buffer, region, name, block, analyzer)
                     : MakeAutoCopy(buffer, cache, region, name, block, analyzer);
  BufferSwapper swapper(buffer, cache, kWrite ? SwapWhat::kBoth : SwapWhat::kReads, swapped);
  InsertStages(state, scope_root,
               {{scope_root, loop, swapped[kWrite ? swapped.size() - 1 : 0], kWrite, copy}},
               {&swapper}, cache);
  return FindCopy(*state, scope_root, name, kWrite ? cache : buffer, kWrite ? buffer : cache);
}

const PrimitiveRegistration kReadAt{{
    .name = "ReadAt",
    .method = "read_at",
    .params = "loop=i0 block=i1 read_buffer_index=a0 storage_scope=a1",
    .result = Result::kOne,
    .run = [](PrimitiveCall& call) -> ffi::Array<ffi::Any> {
      return call.One(CopyAt<false>(call.state, call.Loop(0), call.Block(1), call.Int(0),
                                    std::string(call.Attr<ffi::String>(1))));
    },
}};

const PrimitiveRegistration kWriteAt{{
    .name = "WriteAt",
    .method = "write_at",
    .params = "loop=i0 block=i1 write_buffer_index=a0 storage_scope=a1",
    .result = Result::kOne,
    .run = [](PrimitiveCall& call) -> ffi::Array<ffi::Any> {
      return call.One(CopyAt<true>(call.state, call.Loop(0), call.Block(1), call.Int(0),
                                   std::string(call.Attr<ffi::String>(1))));
    },
}};

}  // namespace

}  // namespace s_tir
}  // namespace tvm
