// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// What the primitives that put a copy of a buffer between blocks share.
#ifndef TVM_SRC_S_TIR_SCHEDULE_PRIMITIVE_CACHE_UTIL_H_
#define TVM_SRC_S_TIR_SCHEDULE_PRIMITIVE_CACHE_UTIL_H_

#include <string>
#include <unordered_set>
#include <vector>

#include "s_tir/schedule/primitive/block_nest.h"

namespace tvm {
namespace s_tir {

enum class SwapWhat { kReads, kWrites, kBoth };

/// Swaps a buffer inside of some blocks.
class BufferSwapper final : public BlockMutator {
 public:
  BufferSwapper(const tirx::Buffer& from, const tirx::Buffer& to, SwapWhat what,
                const ffi::Array<StmtSRef>& blocks);
  tirx::Stmt Run(const tirx::Stmt& stmt) { return VisitStmt(stmt); }

 private:
  tirx::Stmt VisitStmt_(const tirx::SBlockNode* op) final;
  tirx::Stmt VisitStmt_(const tirx::BufferStoreNode* op) final;
  Expr VisitExpr_(const tirx::BufferLoadNode* op) final;
  ffi::Array<tirx::BufferRegion> SwapRegions(const ffi::Array<tirx::BufferRegion>& regions);
  bool Reads() const { return what_ != SwapWhat::kWrites; }
  bool Writes() const { return what_ != SwapWhat::kReads; }

  tirx::Buffer from_, to_;
  SwapWhat what_;
  std::unordered_set<const ffi::Object*> blocks_;
  int depth_ = 0;
};

/// Fails if the block goes on from what is in `buffer` already: without an init, a copy of what it
/// writes would lack that.
void CheckStartsAfresh(const StmtSRef& block, const tirx::Buffer& buffer);
/// "A_shared_dyn" for buffer A and scope "shared.dyn".
std::string CacheName(const tirx::Buffer& buffer, const std::string& scope);
/// `for ax..: with block(name): to[v..] = from[v..]` over a region, held inside of the buffer by
/// the predicate where that is in doubt; a whole axis where the region has no bound.
tirx::Stmt MakeCopy(const tirx::Buffer& from, const tirx::Buffer& to,
                    const ffi::Array<arith::IntSet>& region, const std::string& name,
                    const arith::Analyzer& analyzer);
/// Blocks of the scope that read `buffer`; with `wanted` those of it that do, and all of it have
/// to.
ffi::Array<StmtSRef> ReadersOf(State* state, const StmtSRef& scope_root, const tirx::Buffer& buffer,
                               const ffi::Array<StmtSRef>& wanted);
/// The block of that name below `scope_root` whose only write is `buffer`.
StmtSRef FindCopy(const State& state, const StmtSRef& scope_root, const std::string& name,
                  const tirx::Buffer& from, const tirx::Buffer& to);

/// Puts `stmt` beside the member of `parent`'s body that leads to `anchor` (null: at the start),
/// swaps buffers with `swapper` in the whole scope and allocates `alloc` there.
struct StageEdit {
  StmtSRef scope_root;
  StmtSRef parent;
  StmtSRef anchor;
  bool after = false;
  tirx::Stmt stmt;
};
void InsertStages(State* state, const StmtSRef& scope_root, const std::vector<StageEdit>& edits,
                  const std::vector<BufferSwapper*>& swappers, const tirx::Buffer& alloc);

}  // namespace s_tir
}  // namespace tvm

#endif  // TVM_SRC_S_TIR_SCHEDULE_PRIMITIVE_CACHE_UTIL_H_
