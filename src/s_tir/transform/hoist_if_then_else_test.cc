// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// HoistIfThenElse and RewriteUnsafeSelect.
#include <gtest/gtest.h>
#include <tvm/s_tir/transform.h>
#include <tvm/tirx/analysis.h>

#include "tirx/testing/interpreter.h"
#include "tirx/testing/run_pass.h"

namespace tvm {
namespace s_tir {
namespace {

using namespace tirx;  // NOLINT(build/namespaces)
using tirx::testing::CountNodes;
using tirx::testing::Interpreter;
using tirx::testing::Pattern;
using tirx::testing::RunPass;

struct Example {
  Buffer a = decl_buffer({IntImm::Int32(8)}, DataType::Float(32), "A");
  Var m{"m"}, i{"i"}, j{"j"};

  PrimFunc Func(PrimExpr condition) const {
    Stmt branch = IfThenElse(condition, BufferStore(a, PrimExpr(1.0f), {i}),
                             BufferStore(a, PrimExpr(2.0f), {j}));
    return PrimFunc({a, m}, For(i, 0, 4, ForKind::kSerial, For(j, 0, 8, ForKind::kSerial, branch)));
  }
};

TEST(HoistIfThenElse, LeavesAllLoopsItDoesNotUse) {
  Example e;
  PrimFunc func = e.Func(e.m > 4);
  PrimFunc after = RunPass(transform::HoistIfThenElse(), func);
  ASSERT_NE(after->body.as<IfThenElseNode>(), nullptr);
  EXPECT_EQ(CountNodes<ForNode>(after), 4);
  EXPECT_TRUE(VerifyWellFormed(after, true));
  for (int64_t m : {3, 5}) {
    auto want = Pattern(8), got = Pattern(8);
    Interpreter().Run(func, {want}, {m});
    Interpreter().Run(after, {got}, {m});
    EXPECT_EQ(want->f, got->f);
  }
}

TEST(HoistIfThenElse, KeepsConditionsOnLoopsAndMemory) {
  Example e;
  PrimFunc on_loop = e.Func(e.j > 4);
  EXPECT_TRUE(RunPass(transform::HoistIfThenElse(), on_loop)->body.same_as(on_loop->body));
  PrimFunc on_memory = e.Func(BufferLoad(e.a, {0}) > 0.0f);
  EXPECT_TRUE(RunPass(transform::HoistIfThenElse(), on_memory)->body.same_as(on_memory->body));
}

TEST(RewriteUnsafeSelect, LoadsAreNotSpeculated) {
  Example e;
  PrimExpr guarded = Select(e.i < 3, BufferLoad(e.a, {e.i * 4}), FloatImm(DataType::Float(32), 0));
  PrimExpr plain =
      Select(e.i < 3, cast(DataType::Float(32), e.i), FloatImm(DataType::Float(32), 0));
  PrimFunc func({e.a},
                For(e.i, 0, 1, ForKind::kSerial,
                    SeqStmt({BufferStore(e.a, guarded, {0}), BufferStore(e.a, plain, {1})})));
  PrimFunc after = RunPass(transform::RewriteUnsafeSelect(), func);
  EXPECT_EQ(CountNodes<SelectNode>(after), 1);
}

}  // namespace
}  // namespace s_tir
}  // namespace tvm
