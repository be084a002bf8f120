// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// fuse: a chain of loops becomes one.
///
///   for i, j in grid(n, m):     ==>   for f in range(n * m):
///     block(v = i, w = j)               block(v = f // m, w = f % m)
#include "s_tir/schedule/primitive/loop_checks.h"

namespace tvm {
namespace s_tir {

using namespace tirx;  // NOLINT(build/namespaces)

namespace {

void CheckIndependentExtents(const std::vector<StmtSRef>& loops) {
  for (size_t inner = 1; inner < loops.size(); ++inner) {
    for (size_t outer = 0; outer < inner; ++outer) {
      SCHEDULE_CHECK(!UsesLoop(LoopOf(loops[inner])->extent, loops[outer]), loops[outer],
                     loops[inner])
          << "The extent of the loop {1} depends on the loop {0}, so they cannot be fused";
    }
  }
}

StmtSRef Fuse(State* state, const std::vector<StmtSRef>& loops, bool preserve_unit_iters) {
  TVM_FFI_CHECK(!loops.empty(), ValueError) << "fuse needs at least one loop";
  for (const StmtSRef& loop : loops) CheckPlainLoop(loop);
  arith::Analyzer analyzer = AnalyzerAt(*state, ffi::GetRef<StmtSRef>(loops[0]->parent()));
  for (const StmtSRef& loop : loops) CheckStartsAtZero(loop, analyzer);
  CheckChain(loops);
  CheckIndependentExtents(loops);

  std::string name;
  DataType dtype = LoopOf(loops[0])->loop_var->dtype();
  for (const StmtSRef& loop : loops) {
    name += std::string(LoopOf(loop)->loop_var->name) + "_";
    if (LoopOf(loop)->loop_var->dtype().bits() > dtype.bits()) {
      dtype = LoopOf(loop)->loop_var->dtype();
    }
  }
  PrimExpr total = make_const(DataType::Int(64), 1);
  for (const StmtSRef& loop : loops) total = total * cast(DataType::Int(64), LoopOf(loop)->extent);
  total = analyzer->Simplify(total);
  if (const int64_t* value = as_const_int(total); value != nullptr && dtype.bits() == 32) {
    SCHEDULE_CHECK(*value <= INT32_MAX, loops[0])
        << "The fused loop would have " << *value
        << " iterations, more than the index type int32 of {0} can count";
  }
  Var fused(name + "fused", dtype);
  PrimExpr extent = make_const(dtype, 1);
  ffi::Map<Var, PrimExpr> values;
  PrimExpr rest = fused;
  for (size_t i = loops.size(); i-- > 0;) {
    const ForNode* loop = LoopOf(loops[i]);
    PrimExpr own = cast(dtype, loop->extent);
    PrimExpr value = i == 0 ? rest : floormod(rest, own);
    values.Set(loop->loop_var, cast(loop->loop_var->dtype(), value));
    rest = floordiv(rest, own);
    extent = extent * own;
  }
  extent = analyzer->Simplify(extent);
  analyzer->Bind(fused, Range::FromMinExtent(make_zero(dtype), extent));
  for (const auto& [var, value] : ffi::Map<Var, PrimExpr>(values)) {
    values.Set(var, analyzer->Simplify(value));
  }
  Substituter substituter(values);
  Stmt body = substituter.Run(LoopOf(loops.back())->body);
  Stmt loop = For(fused, make_zero(dtype), extent, ForKind::kSerial, std::move(body));
  BindingOptions options{.outer_loops = LoopDomains(loops[0]),
                         .preserve_unit_iters = preserve_unit_iters};
  loop = SimplifyBindings(loop, options, analyzer);
  state->Replace(loops[0], loop, substituter.reuse);
  return state->GetSRef(loop.as<ForNode>());
}

const PrimitiveRegistration kFuse{{
    .name = "Fuse",
    .method = "fuse",
    .params = "i0* preserve_unit_iters=a0:bool",
    .result = Result::kOne,
    .run = [](PrimitiveCall& call) -> ffi::Array<ffi::Any> {
      return {call.sch->NewLoopRV(Fuse(call.state, call.LoopsFrom(0), call.Flag(0)))};
    },
}};

}  // namespace

}  // namespace s_tir
}  // namespace tvm
