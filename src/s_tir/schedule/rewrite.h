// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Edits that primitives share.
#ifndef TVM_SRC_S_TIR_SCHEDULE_REWRITE_H_
#define TVM_SRC_S_TIR_SCHEDULE_REWRITE_H_

#include <string>
#include <utility>
#include <vector>

#include "s_tir/schedule/analysis.h"

namespace tvm {
namespace s_tir {

using BlockReuse = ffi::Map<tirx::SBlock, tirx::SBlock>;

/// First `first`, then `second`.
BlockReuse Compose(const BlockReuse& first, const BlockReuse& second);

/// A mutator that remembers which block became which, so that their references are kept.
class BlockMutator : public tirx::StmtExprMutator {
 public:
  BlockReuse reuse;

 protected:
  using tirx::StmtExprMutator::VisitExpr_;
  using tirx::StmtExprMutator::VisitStmt_;
  tirx::Stmt VisitStmt_(const tirx::SBlockNode* op) override;
};

/// Replaces variables and buffers.
class Substituter : public BlockMutator {
 public:
  explicit Substituter(const ffi::Map<tirx::Var, PrimExpr>& values,
                       const ffi::Map<tirx::Buffer, tirx::Buffer>& buffers = {});
  /// Both in one call: statements and regions.
  tirx::Stmt Run(const tirx::Stmt& stmt) { return VisitStmt(stmt); }
  tirx::BufferRegion Run(const tirx::BufferRegion& region) { return VisitRegion(region); }
  PrimExpr Run(const PrimExpr& expr) { return VisitPrimExpr(expr); }

 protected:
  using BlockMutator::VisitExpr_;
  using BlockMutator::VisitStmt_;
  Expr VisitExpr_(const tirx::VarNode* op) override;
  tirx::Buffer VisitBufferDef(const tirx::Buffer& buffer) override;

 private:
  ffi::Map<tirx::Var, PrimExpr> values_;
};

/// Puts `to` in the place of the statement `from` (by identity), anywhere in `stmt`; a sequence is
/// spliced in, a null `to` removes the statement. InternalError if it is not there.
tirx::Stmt ReplaceStmt(const tirx::Stmt& stmt, const tirx::StmtNode* from, const tirx::Stmt& to,
                       BlockReuse* reuse);

/// Loops around `body`, outermost first.
tirx::Stmt NestLoops(const std::vector<tirx::Var>& vars, const std::vector<Range>& ranges,
                     tirx::Stmt body, tirx::ForKind kind = tirx::ForKind::kSerial);

/// Adds `extra` to the predicate of every block below (not those inside of blocks), simplifies
/// the bindings for the loops around, and, if there is no block, guards the statement.
struct BindingOptions {
  ffi::Map<tirx::Var, Range> outer_loops;
  PrimExpr predicate = Bool(true);
  bool preserve_unit_iters = true;
};
tirx::Stmt SimplifyBindings(const tirx::Stmt& stmt, const BindingOptions& options,
                            const arith::Analyzer& analyzer);

/// The statement to take out so that `block` is gone with all loops that hold nothing else, and
/// what to put there. A failure if the block is all that its scope holds.
struct Removal {
  tirx::Stmt what;
};
Removal PlanRemoval(const State& state, const StmtSRef& block, const StmtSRef& scope_root);

/// The block without some allocations / with more.
tirx::SBlock WithoutAlloc(tirx::SBlock block, const tirx::Buffer& buffer);
tirx::SBlock WithAlloc(tirx::SBlock block, const tirx::Buffer& buffer);
tirx::SBlock WithBody(tirx::SBlock block, tirx::Stmt body);

/// A buffer like another one, fresh.
tirx::Buffer BufferLike(const tirx::Buffer& buffer, const std::string& name,
                        const std::string& scope);
tirx::Buffer BufferWithShape(const tirx::Buffer& buffer, const std::string& name,
                             const std::string& scope, ffi::Array<PrimExpr> shape);

/// Replaces the statement that holds a block's realize in the parent of `block`.
void ReplaceRealize(State* state, const StmtSRef& block, const tirx::Stmt& stmt,
                    const BlockReuse& reuse);

/// Statements of a body with `extra` before or after the member `anchor`.
tirx::Stmt InsertBeside(const tirx::Stmt& body, const tirx::StmtNode* anchor,
                        const tirx::Stmt& extra, bool after);
/// The direct member of `parent`'s body on the way to `sref` (a For, or the realize of a block).
tirx::Stmt MemberTowards(const State& state, const StmtSRef& parent, const StmtSRef& sref);

/// Conjunction, with constant parts left out.
PrimExpr Conjoin(const PrimExpr& a, const PrimExpr& b);
std::vector<PrimExpr> Conjuncts(const PrimExpr& predicate);

/// The one BufferStore that is the body; null if it is something else.
const tirx::BufferStoreNode* SingleStore(const tirx::Stmt& body);

}  // namespace s_tir
}  // namespace tvm

#endif  // TVM_SRC_S_TIR_SCHEDULE_REWRITE_H_
