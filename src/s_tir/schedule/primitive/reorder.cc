// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// reorder: permutes loops of one chain. Loops of the chain that are not named stay where they are.
#include <unordered_map>
#include <unordered_set>

#include "s_tir/schedule/primitive/loop_uses.h"

namespace tvm {
namespace s_tir {

using namespace tirx;  // NOLINT(build/namespaces)

namespace {

/// The loops from the outermost to the innermost of `loops`, all of one chain.
std::vector<StmtSRef> FindChain(const std::vector<StmtSRef>& loops) {
  std::unordered_set<const StmtSRefNode*> wanted;
  for (const StmtSRef& loop : loops) {
    LoopOf(loop);
    SCHEDULE_CHECK(wanted.insert(loop.get()).second, loop)
        << "The loop {0} is given twice to reorder";
  }
  // The innermost one has all others above it.
  StmtSRef bottom = loops[0];
  for (const StmtSRef& loop : loops) {
    if (Encloses(bottom, loop)) bottom = loop;
  }
  std::vector<StmtSRef> chain;
  size_t found = 0;
  for (StmtSRefNode* node = bottom.get(); found < loops.size(); node = node->parent()) {
    SCHEDULE_CHECK(node != nullptr && node->StmtAs<ForNode>() != nullptr, loops[0], bottom)
        << "The loops to reorder, such as {0} and {1}, have to be nested in each other, below one "
           "block";
    chain.push_back(ffi::GetRef<StmtSRef>(node));
    found += wanted.count(node);
  }
  return std::vector<StmtSRef>(chain.rbegin(), chain.rend());
}

void CheckBlocks(State* state, const StmtSRef& bottom) {
  for (const StmtSRef& block : ChildBlocks(*state, bottom)) {
    for (const IterVar& iter : block->StmtAs<SBlockNode>()->iter_vars) {
      SCHEDULE_CHECK(iter->iter_type == kDataPar || iter->iter_type == kCommReduce, block)
          << "The iteration variable " << iter->var->name << " of the block {0} is neither data "
          << "parallel nor a reduction, so its order has to stay";
    }
    CheckAffineBinding(state, block);
  }
}

/// The init of a reduction runs where its variables are at their minimum, which has to come first.
/// It does in any order of loops, unless two of them feed reduction and other variables at once.
void CheckMixedLoops(State* state, const std::vector<StmtSRef>& chain,
                     const std::vector<StmtSRef>& target) {
  for (const StmtSRef& block : ChildBlocks(*state, chain.back())) {
    const SBlockRealize realize = RealizeOf(*state, block);
    auto mixed = [&](const std::vector<StmtSRef>& loops) {
      std::vector<const StmtSRefNode*> result;
      for (const StmtSRef& loop : loops) {
        const LoopUse use = UseOfLoop(realize, loop);
        if (use.spatial && use.reduce) result.push_back(loop.get());
      }
      return result;
    };
    SCHEDULE_CHECK(mixed(chain) == mixed(target), block)
        << "Several loops feed both reduction and data parallel variables of the block {0}, so "
           "their order has to stay";
  }
}

void Reorder(State* state, const std::vector<StmtSRef>& ordered) {
  if (ordered.size() < 2) {
    for (const StmtSRef& loop : ordered) LoopOf(loop);
    return;
  }
  const std::vector<StmtSRef> chain = FindChain(ordered);
  CheckChain(chain);
  CheckBlocks(state, chain.back());
  std::unordered_set<const StmtSRefNode*> named;
  for (const StmtSRef& loop : ordered) named.insert(loop.get());
  std::vector<StmtSRef> target;
  size_t next = 0;
  for (const StmtSRef& loop : chain) {
    target.push_back(named.count(loop.get()) != 0 ? ordered[next++] : loop);
  }
  for (size_t outer = 0; outer < target.size(); ++outer) {
    for (size_t inner = outer + 1; inner < target.size(); ++inner) {
      const ForNode* loop = LoopOf(target[outer]);
      SCHEDULE_CHECK(!UsesLoop(loop->min, target[inner]) && !UsesLoop(loop->extent, target[inner]),
                     target[outer], target[inner])
          << "The domain of the loop {0} depends on the loop {1}, so it has to stay inside of it";
    }
  }
  CheckMixedLoops(state, chain, target);
  Stmt body = LoopOf(chain.back())->body;
  for (size_t i = target.size(); i-- > 0;) {
    For loop = ffi::GetRef<For>(LoopOf(target[i]));
    loop.CopyOnWrite()->body = std::move(body);
    body = std::move(loop);
  }
  state->Replace(chain[0], body, {});
}

const PrimitiveRegistration kReorder{{
    .name = "Reorder",
    .method = "reorder",
    .params = "i0*",
    .run = [](PrimitiveCall& call) -> ffi::Array<ffi::Any> {
      TVM_FFI_CHECK(!call.inputs.empty(), ValueError) << "reorder needs at least one loop";
      Reorder(call.state, call.LoopsFrom(0));
      return {};
    },
}};

}  // namespace

}  // namespace s_tir
}  // namespace tvm
