// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include <gtest/gtest.h>
#include <tvm/tirx/transform.h>

#include <functional>
#include <vector>

#include "tirx/testing/interpreter.h"
#include "tirx/testing/run_pass.h"

namespace tvm {
namespace tirx {
namespace {

using testing::Count;
using testing::Pattern;

Buffer VectorOf(int64_t n, const char* name, const char* scope = "global") {
  return decl_buffer({IntImm::Int32(n)}, DataType::Float(32), name, scope);
}

PrimFunc Vectorized(const PrimFunc& func, bool masks) {
  return testing::RunPassWith({{"tirx.enable_buffer_level_predication", masks}},
                              transform::VectorizeLoop(true), func);
}

/// The function gives the same numbers with and without the pass.
PrimFunc CheckSame(const PrimFunc& func, size_t in_size, size_t out_size, bool masks = true) {
  PrimFunc after = Vectorized(func, masks);
  auto input = Pattern(in_size);
  auto want = Pattern(out_size, 2), got = Pattern(out_size, 2);
  testing::Interpreter().Run(func, {input, want});
  testing::Interpreter().Run(after, {input, got});
  EXPECT_EQ(got->f, want->f) << DebugText(after->body);
  return after;
}

bool IsLoop(const ffi::ObjectRef& node) { return node.as<ForNode>() != nullptr; }

struct Nest {
  Buffer a = VectorOf(32, "A"), b = VectorOf(32, "B");
  Var i{"i"}, v{"v"};
  PrimFunc Func(Stmt body, int outer = 4, int lanes = 8) const {
    return PrimFunc(
        {a, b}, For(i, 0, outer, ForKind::kSerial, For(v, 0, lanes, ForKind::kVectorized, body)));
  }
  PrimExpr At() const { return i * 8 + v; }
};

TEST(VectorizeLoop, LoadsAndStoresBecomeRamps) {
  Nest n;
  PrimFunc after = CheckSame(
      n.Func(BufferStore(n.b, BufferLoad(n.a, {n.At()}) * 2.0f + 1.0f, {n.At()})), 32, 32);
  EXPECT_EQ(Count(after, IsLoop), 1);
  int ramps = Count(after, [](const ffi::ObjectRef& node) {
    const auto* store = node.as<BufferStoreNode>();
    return store != nullptr && store->indices[0].as<RampNode>() != nullptr;
  });
  EXPECT_EQ(ramps, 1);
}

TEST(VectorizeLoop, DivisionOfTheLaneIsSimplified) {
  Nest n;
  // (i * 8 + v) // 8 is i in every lane: one element, broadcast.
  PrimFunc after = CheckSame(
      n.Func(BufferStore(n.b, BufferLoad(n.a, {FloorDiv(n.At(), IntImm::Int32(8))}), {n.At()})), 32,
      32);
  EXPECT_EQ(Count(after, [](const ffi::ObjectRef& x) { return x.as<FloorDivNode>() != nullptr; }),
            0);
}

TEST(VectorizeLoop, ConditionOnLanesBecomesMask) {
  Nest n;
  Stmt body = IfThenElse(n.At() < 29, BufferStore(n.b, BufferLoad(n.a, {n.At()}), {n.At()}));
  PrimFunc masked = CheckSame(n.Func(body), 29, 32);  // A has 29 elements: no lane may read on
  EXPECT_EQ(Count(masked, IsLoop), 1);
  EXPECT_EQ(Count(masked,
                  [](const ffi::ObjectRef& x) {
                    const auto* store = x.as<BufferStoreNode>();
                    return store != nullptr && store->predicate.has_value();
                  }),
            1);
  PrimFunc scalar = CheckSame(n.Func(body), 29, 32, /*masks=*/false);
  EXPECT_EQ(Count(scalar, IsLoop), 2);
}

TEST(VectorizeLoop, IfThenElseExpressionLoadsUnderMask) {
  Nest n;
  PrimExpr value = if_then_else(n.At() >= 3 && n.At() < 29, BufferLoad(n.a, {n.At() - 3}),
                                FloatImm(DataType::Float(32), 0.5));
  CheckSame(n.Func(BufferStore(n.b, value, {n.At()})), 26, 32);
  CheckSame(n.Func(BufferStore(n.b, value, {n.At()})), 26, 32, false);
}

TEST(VectorizeLoop, ElseBranchUsesTheOldCondition) {
  Nest n;
  PrimExpr condition = BufferLoad(n.b, {n.At()}) < 0.0f;
  Stmt body = IfThenElse(condition, BufferStore(n.b, PrimExpr(5.0f), {n.At()}),
                         BufferStore(n.b, PrimExpr(-5.0f), {n.At()}));
  CheckSame(n.Func(body), 32, 32);
}

TEST(VectorizeLoop, SumIntoOneElementStaysInOrder) {
  Nest n;
  Stmt body = BufferStore(n.b, BufferLoad(n.b, {n.i}) + BufferLoad(n.a, {n.At()}), {n.i});
  PrimFunc after = CheckSame(n.Func(body), 32, 32);
  EXPECT_EQ(Count(after, IsLoop), 2);
}

TEST(VectorizeLoop, LocalBufferGetsOneElementPerLane) {
  Nest n;
  Buffer t = VectorOf(1, "t", "local");
  Var k("k");
  Stmt body =
      SeqStmt({AllocBuffer(t), BufferStore(t, PrimExpr(0.0f), {0}),
               For(k, 0, 4, ForKind::kSerial,
                   BufferStore(t, BufferLoad(t, {0}) + BufferLoad(n.a, {k * 8 + n.v}), {0})),
               BufferStore(n.b, BufferLoad(t, {0}), {n.At()})});
  PrimFunc after = CheckSame(n.Func(body), 32, 32);
  EXPECT_EQ(Count(after, IsLoop), 2);
  // A statement without vector form reads its own lane of the widened buffer.
  body = SeqStmt({AllocBuffer(t), BufferStore(t, BufferLoad(n.a, {n.At()}), {0}),
                  BufferStore(n.b, BufferLoad(n.b, {0}) + BufferLoad(t, {0}), {0})});
  CheckSame(n.Func(body), 32, 32);
}

TEST(VectorizeLoop, NamesOfVectorsReachOnlyVectorStatements) {
  Nest n;
  Var x("x", DataType::Float(32));
  Stmt body =
      SeqStmt({Bind(x, BufferLoad(n.a, {n.At()})), BufferStore(n.b, BufferLoad(n.b, {0}) + x, {0}),
               BufferStore(n.b, x, {n.At()})});
  CheckSame(n.Func(body), 32, 32);
}

TEST(VectorizeLoop, SequenceWithLocalsAndScalarStatements) {
  Nest n;
  Buffer t = VectorOf(2, "t", "local");
  Var x("x", DataType::Float(32));
  // The name x is a vector where the sum into B[0] needs one lane after the other.
  Stmt body =
      SeqStmt({AllocBuffer(t), BufferStore(t, BufferLoad(n.a, {n.At()}), {1}),
               Bind(x, BufferLoad(t, {1}) * 2.0f), BufferStore(n.b, BufferLoad(n.b, {0}) + x, {0}),
               BufferStore(n.b, BufferLoad(t, {1}) + x, {n.At()})});
  CheckSame(n.Func(body), 32, 32);
}

TEST(VectorizeLoop, IntegerDivisionUnderMaskIsNotSpeculated) {
  Buffer d = decl_buffer({IntImm::Int32(8)}, DataType::Int(32), "D");
  Buffer out = decl_buffer({IntImm::Int32(8)}, DataType::Int(32), "O");
  Var v("v");
  PrimExpr divisor = BufferLoad(d, {v});
  PrimFunc func({d, out},
                For(v, 0, 8, ForKind::kVectorized,
                    IfThenElse(divisor != 0, BufferStore(out, truncdiv(100, divisor), {v}))));
  PrimFunc after = Vectorized(func, true);
  auto result = testing::Ints(DataType::Int(32), std::vector<int64_t>(8, -1));
  testing::Interpreter().Run(after,
                             {testing::Ints(DataType::Int(32), {0, 1, 2, 0, 4, 5, 0, 10}), result});
  EXPECT_EQ(result->i, (std::vector<int64_t>{-1, 100, 50, -1, 25, 20, -1, 10}));
}

TEST(VectorizeLoop, SymbolicExtentIsAnError) {
  Buffer b = VectorOf(8, "B");
  Var v("v"), n("n");
  PrimFunc func({b, n}, For(v, 0, n, ForKind::kVectorized, BufferStore(b, PrimExpr(0.0f), {v})));
  EXPECT_THROW(Vectorized(func, true), ffi::Error);
}

TEST(VectorizeLoop, FunctionWithoutVectorLoopStaysTheSame) {
  Buffer b = VectorOf(8, "B");
  Var i("i");
  PrimFunc func({b}, For(i, 0, 8, ForKind::kSerial, BufferStore(b, PrimExpr(0.0f), {i})));
  EXPECT_TRUE(Vectorized(func, true)->body.same_as(func->body));
}

}  // namespace
}  // namespace tirx
}  // namespace tvm
