// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Schedules from C++: primitives one by one against the interpreter, refusals, references.
#include <tvm/ffi/extra/structural_equal.h>

#include "s_tir/schedule/testing.h"

namespace tvm {
namespace s_tir {
namespace testing {
namespace {

using tirx::IndexMap;

Schedule Start(const Program& program) {
  return Schedule::Traced(ModuleOf(program), 1, kVerifySRefTree | kVerifyCachedFlags, 1);
}

TEST(Split, ExtentsOfAllKinds) {
  for (const Program& program : {Matmul(6, 8, 10), Matmul(1, 1, 1), SymbolicMatmul(0),
                                 SymbolicMatmul(1), SymbolicMatmul(7)}) {
    for (int factor : {1, 3, 8}) {
      Schedule sch = Start(program);
      for (const LoopRV& loop : sch->GetLoops(sch->GetSBlock("C"))) {
        sch->Split(loop, {std::nullopt, ExprRV(factor)});
      }
      ExpectSameResult(program, sch->mod());
    }
  }
}

TEST(Split, LoopsWithoutIterations) {
  // A reduction over nothing is the neutral element, which te writes without a reduction loop.
  Program program = Matmul(4, 4, 0);
  Schedule sch = Start(program);
  ffi::Array<LoopRV> loops = sch->GetLoops(sch->GetSBlock("C"));
  sch->Split(loops[0], {ExprRV(3), std::nullopt});
  sch->ReverseComputeAt(sch->GetSBlock("D"), sch->GetLoops(sch->GetSBlock("C"))[0]);
  ExpectSameResult(program, sch->mod());
}

TEST(Split, WithoutPredicateTheLoopOverruns) {
  Program program = Matmul(6, 8, 4);
  Schedule sch = Start(program);
  LoopRV loop = sch->GetLoops(sch->GetSBlock("C"))[0];
  sch->Split(loop, {std::nullopt, ExprRV(4)}, true, /*disable_predication=*/true);
  EXPECT_NE(FindDifference(program, sch->mod()), "");
}

TEST(Fuse, OfSplitLoopsIsTheLoop) {
  Program program = Matmul(6, 8, 4);
  Schedule sch = Start(program);
  ffi::Array<LoopRV> loops = sch->GetLoops(sch->GetSBlock("C"));
  ffi::Array<LoopRV> parts = sch->Split(loops[0], {ExprRV(2), ExprRV(3)});
  LoopRV fused = sch->Fuse(parts);
  EXPECT_TRUE(is_const_int(sch->Get(fused)->extent, 6));
  // The binding is one loop again.
  const StmtSRef block = sch->GetSRef(sch->GetSBlock("C"));
  EXPECT_TRUE(sch->state()->IsAffineBlockBinding(block));
  ExpectSameResult(program, sch->mod());
  sch->ReverseComputeAt(sch->GetSBlock("D"), fused);
  const ffi::Array<LoopRV> now = sch->GetLoops(sch->GetSBlock("D"));
  ExpectRefused(sch, "only statement", [&] { sch->Fuse({now[0], now[1]}); });
}

TEST(Reorder, ReductionInitStaysFirst) {
  Program program = Matmul(5, 4, 6);
  Schedule sch = Start(program);
  ffi::Array<LoopRV> loops = sch->GetLoops(sch->GetSBlock("C"));
  sch->Reorder({loops[2], loops[0]});
  ExpectSameResult(program, sch->mod());
  // Loops that are both rows and reduction keep their order.
  Schedule mixed = Start(program);
  loops = mixed->GetLoops(mixed->GetSBlock("C"));
  LoopRV fused = mixed->Fuse({loops[1], loops[2]});
  ffi::Array<LoopRV> parts = mixed->Split(fused, {std::nullopt, ExprRV(7)});
  ExpectRefused(mixed, "order has to stay", [&] { mixed->Reorder({parts[1], parts[0]}); });
}

TEST(ComputeAt, FailuresAfterTheMoveAreTakenBack) {
  // The reader of Q along a parallel loop would reduce in parallel: found after it was moved.
  Program program = Stencil(6);
  Schedule sch = Start(program);
  ffi::Array<LoopRV> loops = sch->GetLoops(sch->GetSBlock("Q"));
  sch->Parallel(loops[1]);
  SBlockRV reader = sch->GetSBlock("R");
  const ffi::Object* loop = sch->GetSRef(loops[1]).get();
  try {
    sch->ReverseComputeAt(reader, loops[1]);
    FAIL() << "expected a ScheduleError";
  } catch (const ffi::Error& error) {
    EXPECT_EQ(error.kind(), "ScheduleError");
    EXPECT_NE(error.message().find("reduce along"), std::string::npos) << error.message();
  }
  EXPECT_EQ(sch->GetSRef(loops[1]).get(), loop);
  sch->state()->DebugVerify();
  ExpectSameResult(program, sch->mod());
  sch->ComputeAt(sch->GetSBlock("P"), loops[0]);
  ExpectSameResult(program, sch->mod());
}

TEST(ComputeInline, TransposedReader) {
  Program program = Chain(5, 3);
  Schedule sch = Start(program);
  sch->ComputeInline(sch->GetSBlock("B"));
  sch->ReverseComputeInline(sch->GetSBlock("D"));
  EXPECT_EQ(sch->GetChildBlocks(sch->GetSBlock("root")).size(), 1u);
  ExpectSameResult(program, sch->mod());
  const SBlockRV last = sch->GetSBlock("C");
  ExpectRefused(sch, "output block", [&] { sch->ComputeInline(last); });
}

TEST(RFactor, TailOfTheReductionIsNeutral) {
  Program program = Matmul(3, 4, 10);
  Schedule sch = Start(program);
  ffi::Array<LoopRV> loops = sch->GetLoops(sch->GetSBlock("C"));
  // 4 x 4 iterations for 10: the last partial result adds nothing.
  ffi::Array<LoopRV> parts = sch->Split(loops[2], {ExprRV(4), ExprRV(4)});
  sch->RFactor(parts[0], -1);
  ExpectSameResult(program, sch->mod());
}

TEST(Merge, StagesOfOneIteration) {
  Program program = Stencil(6);
  Schedule sch = Start(program);
  LoopRV q = sch->GetLoops(sch->GetSBlock("Q"))[0], r = sch->GetLoops(sch->GetSBlock("R"))[0];
  sch->Merge({q, r});
  ExpectSameResult(program, sch->mod());
}

TEST(Trace, ReplaysThroughJSON) {
  Program program = Matmul(6, 8, 10);
  Schedule sch = Start(program);
  SBlockRV block = sch->GetSBlock("C");
  ffi::Array<LoopRV> loops = sch->GetLoops(block);
  ffi::Array<ExprRV> tile = sch->SamplePerfectTile(loops[1], 2);
  sch->Split(loops[1], {tile[0], tile[1]});
  sch->TransformLayout(block, 0, true, IndexMap::FromFunc(2, [](ffi::Array<Var> i) {
                         return ffi::Array<PrimExpr>{i[1], i[0]};
                       }));
  Schedule again = Start(program);
  TraceNode::ApplyJSONToSchedule(sch->trace().value()->AsJSON(false), again);
  EXPECT_TRUE(ffi::StructuralEqual()(sch->mod(), again->mod()));
  ExpectSameResult(program, again->mod());
}

TEST(State, ReplaceIsVisibleOnlyHere) {
  Program program = Chain(4, 4);
  IRModule mod = ModuleOf(program);
  ScheduleState state(mod);
  Schedule sch = Schedule::Concrete(mod);
  sch->Parallel(sch->GetLoops(sch->GetSBlock("B"))[0]);
  EXPECT_FALSE(sch->mod().same_as(mod));
  EXPECT_TRUE(state->mod.same_as(mod));
  ExpectSameResult(program, mod);
  EXPECT_FALSE(sch->trace().has_value());
}

}  // namespace
}  // namespace testing
}  // namespace s_tir
}  // namespace tvm
