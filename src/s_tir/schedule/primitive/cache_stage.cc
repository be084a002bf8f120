// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// cache_read, cache_write, cache_inplace: a block works on a copy of a buffer.
///
///   C[v] = A[v]                 ==>   A_local[v] = A[v]
///                                     C[v] = A_local[v]
#include "s_tir/schedule/primitive/cache_util.h"

namespace tvm {
namespace s_tir {

using namespace tirx;  // NOLINT(build/namespaces)
using arith::IntSet;

namespace {

ffi::Array<StmtSRef> BlockList(const PrimitiveCall& call, size_t i) {
  ffi::Array<StmtSRef> result;
  if (call.inputs[i] == nullptr) return result;
  for (const SBlockRV& rv : call.inputs[i].cast<ffi::Array<SBlockRV>>()) {
    result.push_back(call.sch->GetSRef(rv));
  }
  return result;
}

/// The copy comes after the statement of `parent` that holds the writer: no reader may be in it.
void CheckReadersComeLater(const State& state, const StmtSRef& parent, const StmtSRef& writer,
                           const ffi::Array<StmtSRef>& readers) {
  const Stmt member = MemberTowards(state, parent, writer);
  for (const StmtSRef& reader : readers) {
    SCHEDULE_CHECK(!MemberTowards(state, parent, reader).same_as(member), writer, reader)
        << "The block {1} reads what the block {0} writes in the same loops as it, other readers "
           "do not: there is no place for a copy that serves all";
  }
}

StmtSRef CacheRead(State* state, const StmtSRef& block, int64_t index, const std::string& scope,
                   const ffi::Array<StmtSRef>& wanted) {
  const Buffer buffer = NthBuffer(block, index, /*is_write=*/false);
  const StmtSRef scope_root = ScopeRootOf(block);
  const ffi::Array<StmtSRef> writers = state->GetSBlockScope(scope_root)->WritersOf(buffer);
  SCHEDULE_CHECK(writers.size() <= 1, block)
      << "The buffer " << buffer->name << " that the block {0} reads has to have at most one "
      << "writer in its scope, but has " << writers.size();
  const ffi::Array<StmtSRef> readers = ReadersOf(state, scope_root, buffer, wanted);
  for (const StmtSRef& reader : readers) {
    SCHEDULE_CHECK(writers.empty() || !writers[0].same_as(reader), reader)
        << "The block {0} reads and writes the buffer " << buffer->name
        << "; cache_inplace caches both";
  }
  StmtSRef parent = scope_root, anchor;
  if (!writers.empty()) {
    std::vector<StmtSRef> all{writers[0]};
    for (const StmtSRef& reader : readers) all.push_back(reader);
    parent = CommonAncestor(all);
    anchor = writers[0];
    CheckReadersComeLater(*state, parent, anchor, readers);
  }
  arith::Analyzer analyzer = AnalyzerAt(*state, parent);
  ffi::Array<ffi::Array<IntSet>> regions;
  for (const StmtSRef& reader : readers) {
    SBlockRealize realize = RealizeOf(*state, reader);
    for (const BufferRegion& read : realize->block->reads) {
      if (!read->buffer.same_as(buffer)) continue;
      regions.push_back(RegionUpperBound(realize, read, LoopDomains(reader, parent), analyzer));
    }
  }
  ffi::Array<IntSet> region = regions.size() == 1 ? regions[0] : arith::UnionRegion(regions);
  const std::string name = CacheName(buffer, scope);
  const Buffer cache = BufferLike(buffer, name, scope);
  Stmt copy = MakeCopy(buffer, cache, region, name, analyzer);
  BufferSwapper swapper(buffer, cache, SwapWhat::kReads, readers);
  InsertStages(state, scope_root, {{scope_root, parent, anchor, true, copy}}, {&swapper}, cache);
  return FindCopy(*state, scope_root, name, buffer, cache);
}

/// The region that `block` has written of `buffer` when `parent`'s member with it is done.
ffi::Array<IntSet> WrittenRegion(const State& state, const StmtSRef& block, const StmtSRef& parent,
                                 const BufferRegion& write, bool is_root,
                                 const arith::Analyzer& analyzer) {
  if (is_root && RunsOverDomain(state, block)) {
    // All iterations have run then, whatever the loops look like.
    ffi::Map<Var, IntSet> domains;
    for (const IterVar& iter : block->StmtAs<SBlockNode>()->iter_vars) {
      domains.Set(iter->var, IntSet::FromRange(iter->dom));
    }
    return arith::EvalSet(write->region, domains);
  }
  return RegionUpperBound(RealizeOf(state, block), write, LoopDomains(block, parent), analyzer);
}

StmtSRef CacheWrite(State* state, const StmtSRef& block, int64_t index, const std::string& scope,
                    const ffi::Array<StmtSRef>& wanted) {
  const BufferRegion write = NthRegion(block, index, /*is_write=*/true);
  const Buffer buffer = write->buffer;
  const StmtSRef scope_root = ScopeRootOf(block);
  SCHEDULE_CHECK(state->GetSBlockScope(scope_root)->WritersOf(buffer).size() == 1, block)
      << "The block {0} has to be the only writer of the buffer " << buffer->name
      << " in its scope";
  CheckAffineBinding(state, block);
  CheckStartsAfresh(block, buffer);
  ffi::Array<StmtSRef> swapped{block};
  if (!wanted.empty()) {
    for (const StmtSRef& reader : ReadersOf(state, scope_root, buffer, wanted)) {
      swapped.push_back(reader);
    }
  }
  std::vector<StmtSRef> all{block};
  ffi::Array<StmtSRef> others;
  for (const StmtSRef& consumer : ConsumersOf(state, block)) {
    bool reads_copy = false;
    for (const StmtSRef& other : swapped) reads_copy = reads_copy || other.same_as(consumer);
    all.push_back(consumer);
    if (!reads_copy) others.push_back(consumer);
  }
  const StmtSRef parent = all.size() > 1 ? CommonAncestor(all) : scope_root;
  CheckReadersComeLater(*state, parent, block, others);
  arith::Analyzer analyzer = AnalyzerAt(*state, parent);
  ffi::Array<IntSet> region =
      WrittenRegion(*state, block, parent, write, parent.same_as(scope_root), analyzer);
  const std::string name = CacheName(buffer, scope);
  const Buffer cache = BufferLike(buffer, name, scope);
  Stmt copy = MakeCopy(cache, buffer, region, name, analyzer);
  BufferSwapper swapper(buffer, cache, SwapWhat::kBoth, swapped);
  InsertStages(state, scope_root, {{scope_root, parent, block, true, copy}}, {&swapper}, cache);
  return FindCopy(*state, scope_root, name, cache, buffer);
}

ffi::Array<ffi::Any> CacheInplace(PrimitiveCall& call) {
  State* state = call.state;
  const StmtSRef block = call.Block(0);
  const std::string scope(call.Attr<ffi::String>(1));
  const Buffer buffer = NthBuffer(block, call.Int(0), /*is_write=*/false);
  const StmtSRef scope_root = ScopeRootOf(block);
  BufferRegion write;
  for (const BufferRegion& region : block->StmtAs<SBlockNode>()->writes) {
    if (region->buffer.same_as(buffer)) write = region;
  }
  SCHEDULE_CHECK(write.defined(), block) << "The block {0} has to read and write the buffer "
                                         << buffer->name << ", but it only reads it";
  const BufferRegion read = NthRegion(block, call.Int(0), false);
  std::vector<StmtSRef> all{block};
  for (const StmtSRef& other : ChildBlocks(*state, scope_root)) {
    const auto* node = other->StmtAs<SBlockNode>();
    bool touches = false;
    for (const BufferRegion& r : node->reads) touches = touches || r->buffer.same_as(buffer);
    for (const BufferRegion& r : node->writes) touches = touches || r->buffer.same_as(buffer);
    if (touches && !other.same_as(block)) all.push_back(other);
  }
  const StmtSRef parent = all.size() > 1 ? CommonAncestor(all) : scope_root;
  const Stmt member = MemberTowards(*state, parent, block);
  for (size_t i = 1; i < all.size(); ++i) {
    SCHEDULE_CHECK(!MemberTowards(*state, parent, all[i]).same_as(member), block, all[i])
        << "The blocks {0} and {1} use the buffer " << buffer->name
        << " in the same loops, other blocks do not: there is no place for copies in and out";
  }
  arith::Analyzer analyzer = AnalyzerAt(*state, parent);
  const SBlockRealize realize = RealizeOf(*state, block);
  const ffi::Map<Var, Range> loops = LoopDomains(block, parent);
  ffi::Array<IntSet> region =
      arith::UnionRegion({RegionUpperBound(realize, read, loops, analyzer),
                          RegionUpperBound(realize, write, loops, analyzer)});
  const std::string name = CacheName(buffer, scope);
  const Buffer cache = BufferLike(buffer, name, scope);
  // All that is copied out was copied in before, so elements the block leaves alone keep.
  Stmt copy_in = MakeCopy(buffer, cache, region, name, analyzer);
  Stmt copy_out = MakeCopy(cache, buffer, region, name, analyzer);
  BufferSwapper swapper(buffer, cache, SwapWhat::kBoth, {block});
  InsertStages(
      state, scope_root,
      {{scope_root, parent, block, false, copy_in}, {scope_root, parent, block, true, copy_out}},
      {&swapper}, cache);
  return call.Blocks({FindCopy(*state, scope_root, name, buffer, cache),
                      FindCopy(*state, scope_root, name, cache, buffer)});
}

const PrimitiveRegistration kCacheRead{{
    .name = "CacheRead",
    .method = "cache_read",
    .params = "block=i0 read_buffer_index=a0 storage_scope=a1 consumer_blocks=i1?",
    .result = Result::kOne,
    .run = [](PrimitiveCall& call) -> ffi::Array<ffi::Any> {
      return call.One(CacheRead(call.state, call.Block(0), call.Int(0),
                                std::string(call.Attr<ffi::String>(1)), BlockList(call, 1)));
    },
}};

const PrimitiveRegistration kCacheWrite{{
    .name = "CacheWrite",
    .method = "cache_write",
    .params = "block=i0 write_buffer_index=a0 storage_scope=a1 consumer_blocks=i1?",
    .result = Result::kOne,
    .run = [](PrimitiveCall& call) -> ffi::Array<ffi::Any> {
      return call.One(CacheWrite(call.state, call.Block(0), call.Int(0),
                                 std::string(call.Attr<ffi::String>(1)), BlockList(call, 1)));
    },
}};

const PrimitiveRegistration kCacheInplace{{
    .name = "CacheInplace",
    .method = "cache_inplace",
    .params = "block=i0 read_buffer_index=a0 storage_scope=a1",
    .result = Result::kList,
    .run = CacheInplace,
}};

}  // namespace

}  // namespace s_tir
}  // namespace tvm
