// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// add_unit_loop: a loop of one iteration around a loop or block.
#include "s_tir/schedule/primitive/loop_checks.h"

namespace tvm {
namespace s_tir {

using namespace tirx;  // NOLINT(build/namespaces)

namespace {

StmtSRef AddUnitLoop(State* state, const StmtSRef& sref) {
  if (const auto* loop = sref->StmtAs<ForNode>()) {
    DataType dtype = loop->loop_var->dtype();
    For unit(Var("u", dtype), make_zero(dtype), make_const(dtype, 1), ForKind::kSerial,
             ffi::GetRef<Stmt>(loop));
    state->Replace(sref, unit, {});
    return state->GetSRef(unit.get());
  }
  ScopeRootOf(sref);
  Var var("u");
  For unit(var, 0, 1, ForKind::kSerial, RealizeOf(*state, sref));
  ReplaceRealize(state, sref, unit, {});
  return ffi::GetRef<StmtSRef>(sref->parent());
}

const PrimitiveRegistration kAddUnitLoop{{
    .name = "AddUnitLoop",
    .method = "add_unit_loop",
    .params = "block_or_loop=i0",
    .result = Result::kOne,
    .run = [](PrimitiveCall& call) -> ffi::Array<ffi::Any> {
      return {call.sch->NewLoopRV(AddUnitLoop(call.state, call.BlockOrLoop(0)))};
    },
}};

}  // namespace

}  // namespace s_tir
}  // namespace tvm
