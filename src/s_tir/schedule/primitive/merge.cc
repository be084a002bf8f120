// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// merge: loops of equal extent, in different nests, run their bodies in one loop.
///
///   for i: A                    ==>   for i_m: A; B
///   for i: B
#include "s_tir/schedule/primitive/loop_checks.h"

namespace tvm {
namespace s_tir {

using namespace tirx;  // NOLINT(build/namespaces)
using arith::IntSet;

namespace {

/// The loops from just below `top` down to `loop`, a chain.
std::vector<StmtSRef> ChainBelow(const StmtSRef& top, const StmtSRef& loop) {
  std::vector<StmtSRef> chain;
  for (StmtSRefNode* node = loop.get(); node != top.get(); node = node->parent()) {
    chain.push_back(ffi::GetRef<StmtSRef>(node));
  }
  std::vector<StmtSRef> result(chain.rbegin(), chain.rend());
  for (const StmtSRef& part : result) {
    SCHEDULE_CHECK(part->StmtAs<ForNode>() != nullptr, loop)
        << "There is a block between the loop {0} and the statement that holds all loops to merge";
  }
  CheckChain(result);
  return result;
}

/// What one block touches of a buffer in one iteration of the merged loops, whose variables are
/// renamed to common ones.
ffi::Array<IntSet> Touched(const State& state, const StmtSRef& block, const BufferRegion& region,
                           const StmtSRef& loop, const ffi::Map<Var, PrimExpr>& renamed,
                           const arith::Analyzer& analyzer) {
  ffi::Array<IntSet> result;
  for (const IntSet& set :
       RegionUpperBound(RealizeOf(state, block), region, LoopDomains(block, loop), analyzer)) {
    if (!set.HasLowerBound() || !set.HasUpperBound()) {
      result.push_back(IntSet::Everything());
      continue;
    }
    result.push_back(
        IntSet::Interval(Substitute(set.min(), renamed), Substitute(set.max(), renamed)));
  }
  return result;
}

/// A later block may touch only what the same iteration of the earlier ones has touched.
void CheckDependences(State* state, const std::vector<std::vector<StmtSRef>>& chains,
                      const std::vector<ffi::Map<Var, PrimExpr>>& renamed,
                      const arith::Analyzer& analyzer) {
  auto blocks = [&](size_t i) { return ChildBlocks(*state, chains[i].back()); };
  auto check =
      [&](size_t first, const StmtSRef& a, const BufferRegion& ra, size_t second, const StmtSRef& b,
          const BufferRegion& rb) {
        if (!ra->buffer.same_as(rb->buffer)) return;
        ffi::Array<IntSet> ta =
            Touched(*state, a, ra, chains[first].back(), renamed[first], analyzer);
        ffi::Array<IntSet> tb =
            Touched(*state, b, rb, chains[second].back(), renamed[second], analyzer);
        // Some axis of the buffer has to keep different iterations apart.
        bool same = ta.size() == tb.size();
        for (size_t d = 0; same && d < ta.size(); ++d) {
          const bool covers = ta[d].HasLowerBound() && tb[d].HasLowerBound() &&
                              analyzer->CanProve(ta[d].min() <= tb[d].min()) &&
                              analyzer->CanProve(ta[d].max() >= tb[d].max());
          same = same && covers;
        }
        SCHEDULE_CHECK(same, a, b)
            << "The block {1} touches elements of " << ra->buffer->name
            << " that the block {0} touches in other iterations, so their loops cannot be merged";
      };
  for (size_t first = 0; first < chains.size(); ++first) {
    for (size_t second = first + 1; second < chains.size(); ++second) {
      for (const StmtSRef& a : blocks(first)) {
        const auto* na = a->StmtAs<SBlockNode>();
        for (const StmtSRef& b : blocks(second)) {
          const auto* nb = b->StmtAs<SBlockNode>();
          for (const BufferRegion& write : na->writes) {
            for (const BufferRegion& read : nb->reads) check(first, a, write, second, b, read);
            for (const BufferRegion& other : nb->writes) check(first, a, write, second, b, other);
          }
          for (const BufferRegion& read : na->reads) {
            for (const BufferRegion& write : nb->writes) check(first, a, read, second, b, write);
          }
        }
      }
    }
  }
}

StmtSRef Merge(State* state, const std::vector<StmtSRef>& loops) {
  TVM_FFI_CHECK(loops.size() >= 2, ValueError) << "merge needs at least two loops";
  for (const StmtSRef& loop : loops) {
    LoopOf(loop);
    SCHEDULE_CHECK(ScopeRootOf(loop).same_as(ScopeRootOf(loops[0])), loops[0], loop)
        << "The loops {0} and {1} to merge have to be in the same scope";
  }
  const StmtSRef top = CommonAncestor(loops);
  arith::Analyzer analyzer = AnalyzerAt(*state, top);
  std::vector<std::vector<StmtSRef>> chains;
  for (const StmtSRef& loop : loops) {
    for (const StmtSRef& other : loops) {
      SCHEDULE_CHECK(loop.same_as(other) || !Encloses(loop, other), loop, other)
          << "The loop {0} is around the loop {1}; loops to merge have to be in different nests";
    }
    chains.push_back(ChainBelow(top, loop));
    SCHEDULE_CHECK(chains.back().size() == chains[0].size(), loops[0], loop)
        << "The loops {0} and {1} to merge are at different depths";
  }
  std::vector<Var> vars;
  std::vector<Range> ranges;
  std::vector<ffi::Map<Var, PrimExpr>> renamed(loops.size());
  for (size_t depth = 0; depth < chains[0].size(); ++depth) {
    const ForNode* first = LoopOf(chains[0][depth]);
    Var var = first->loop_var.copy_with_suffix("_m");
    PrimExpr extent = Substitute(first->extent, renamed[0]);
    for (size_t i = 0; i < loops.size(); ++i) {
      const StmtSRef& sref = chains[i][depth];
      CheckPlainLoop(sref);
      CheckStartsAtZero(sref, analyzer);
      SCHEDULE_CHECK(analyzer->CanProveEqual(extent, Substitute(LoopOf(sref)->extent, renamed[i])),
                     chains[0][depth], sref)
          << "The loops {0} and {1} to merge have different extents";
      renamed[i].Set(LoopOf(sref)->loop_var, cast(LoopOf(sref)->loop_var->dtype(), var));
    }
    vars.push_back(var);
    ranges.push_back(Range::FromMinExtent(make_zero(var->dtype()), extent));
    analyzer->Bind(var, ranges.back());
  }
  // The nests have to follow each other: what is between them would move past one of them.
  ffi::Array<Stmt> members = StmtsOf(BodyOf(top));
  size_t begin = 0;
  while (!members[begin].same_as(MemberTowards(*state, top, loops[0]))) ++begin;
  for (size_t i = 0; i < loops.size(); ++i) {
    SCHEDULE_CHECK(begin + i < members.size() &&
                       members[begin + i].same_as(MemberTowards(*state, top, loops[i])),
                   loops[0], loops[i])
        << "The nests of the loops to merge have to follow each other in the given order, but {1} "
           "does not";
  }
  CheckDependences(state, chains, renamed, analyzer);
  BlockReuse reuse;
  ffi::Array<Stmt> bodies;
  for (size_t i = 0; i < loops.size(); ++i) {
    Substituter substituter(renamed[i]);
    bodies.push_back(substituter.Run(LoopOf(loops[i])->body));
    for (const auto& [before, after] : substituter.reuse) reuse.Set(before, after);
  }
  Stmt nest = NestLoops(vars, ranges, SeqStmt::Flatten(bodies));
  ffi::Array<Stmt> new_members(members.begin(), members.begin() + begin);
  new_members.push_back(nest);
  for (size_t i = begin + loops.size(); i < members.size(); ++i) new_members.push_back(members[i]);
  Stmt body = SeqStmt::Flatten(new_members);
  if (const auto* op = top->StmtAs<ForNode>()) {
    For outer = ffi::GetRef<For>(op);
    outer.CopyOnWrite()->body = body;
    state->Replace(top, outer, reuse);
  } else {
    SBlock outer = Downcast<SBlock>(top->stmt.value());
    SBlock changed = WithBody(outer, body);
    reuse.Set(outer, changed);
    state->Replace(top, changed, reuse);
  }
  ffi::Array<StmtSRef> srefs = NestSRefs(*state, nest, vars.size());
  return srefs[srefs.size() - 1];
}

const PrimitiveRegistration kMerge{{
    .name = "Merge",
    .method = "merge",
    .params = "i0*",
    .result = Result::kOne,
    .run = [](PrimitiveCall& call) -> ffi::Array<ffi::Any> {
      return {call.sch->NewLoopRV(Merge(call.state, call.LoopsFrom(0)))};
    },
}};

}  // namespace

}  // namespace s_tir
}  // namespace tvm
