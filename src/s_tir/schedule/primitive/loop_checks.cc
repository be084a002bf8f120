// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include "s_tir/schedule/primitive/loop_checks.h"

namespace tvm {
namespace s_tir {

using namespace tirx;  // NOLINT(build/namespaces)

const ForNode* LoopOf(const StmtSRef& loop) {
  const auto* node = loop->StmtAs<ForNode>();
  TVM_FFI_CHECK(node != nullptr, ValueError)
      << "expected a loop, but the variable is a mark (inline or root)";
  return node;
}

void CheckPlainLoop(const StmtSRef& sref) {
  const ForNode* loop = LoopOf(sref);
  SCHEDULE_CHECK(loop->annotations.empty(), sref)
      << "The loop {0} has annotations, which would be lost";
  SCHEDULE_CHECK(!loop->thread_binding.has_value(), sref)
      << "The loop {0} is bound to a thread axis, which would be lost";
  SCHEDULE_CHECK(loop->kind == ForKind::kSerial, sref)
      << "The loop {0} is " << ForKind2String(loop->kind)
      << ", which would be lost; mark loops after they are split and fused";
  SCHEDULE_CHECK(loop->HasTrivialStep(), sref) << "The loop {0} has a step";
}

void CheckStartsAtZero(const StmtSRef& sref, const arith::Analyzer& analyzer) {
  const ForNode* loop = LoopOf(sref);
  SCHEDULE_CHECK(analyzer->CanProve(loop->min == 0), sref)
      << "The loop {0} has to start at 0, but starts at " << loop->min;
}

void CheckChain(const std::vector<StmtSRef>& loops) {
  for (size_t i = 1; i < loops.size(); ++i) {
    SCHEDULE_CHECK(loops[i]->parent() == loops[i - 1].get(), loops[i - 1], loops[i])
        << "The loop {1} has to be directly inside of the loop {0}";
    SCHEDULE_CHECK(LoopOf(loops[i - 1])->body.get() == loops[i]->get_stmt(), loops[i - 1], loops[i])
        << "The loop {1} has to be the only statement of the loop {0}";
  }
}

void CheckChainToBlock(const State& state, const ffi::Array<StmtSRef>& loops,
                       const StmtSRef& block) {
  CheckChain(std::vector<StmtSRef>(loops.begin(), loops.end()));
  if (loops.empty()) return;
  SCHEDULE_CHECK(LoopOf(loops.back())->body.same_as(RealizeOf(state, block)), loops.back(), block)
      << "The block {1} has to be the only statement of the loop {0}";
}

int CheckFactors(const StmtSRef& loop, const ffi::Array<ffi::Optional<PrimExpr>>& factors,
                 const arith::Analyzer& analyzer) {
  SCHEDULE_CHECK(!factors.empty(), loop) << "At least one factor is needed to split the loop {0}";
  int open = -1;
  for (size_t i = 0; i < factors.size(); ++i) {
    if (!factors[i].has_value()) {
      SCHEDULE_CHECK(open < 0, loop)
          << "Only one factor of the loop {0} may be None, but the factors " << open << " and " << i
          << " are";
      open = static_cast<int>(i);
      continue;
    }
    const PrimExpr& factor = factors[i].value();
    SCHEDULE_CHECK(factor.dtype().is_int() || factor.dtype().is_uint(), loop)
        << "The factors of the loop {0} have to be integers, but one is " << factor.dtype();
    SCHEDULE_CHECK(analyzer->CanProve(factor > 0), loop)
        << "All factors of the loop {0} have to be positive, but the factor " << i << " is "
        << factor;
  }
  return open;
}

ffi::Array<StmtSRef> NestSRefs(const State& state, const Stmt& nest, size_t count) {
  ffi::Array<StmtSRef> result;
  Stmt stmt = nest;
  for (size_t i = 0; i < count; ++i) {
    const auto* loop = stmt.as<ForNode>();
    TVM_FFI_ICHECK(loop != nullptr);
    result.push_back(state.GetSRef(loop));
    stmt = loop->body;
  }
  return result;
}

}  // namespace s_tir
}  // namespace tvm
