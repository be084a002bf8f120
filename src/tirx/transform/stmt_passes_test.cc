// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// FlattenBuffer, StmtSimplify, RemoveNoOp, UnrollLoop.
#include <gtest/gtest.h>
#include <tvm/tirx/builtin.h>
#include <tvm/tirx/transform.h>

#include <vector>

#include "tirx/testing/interpreter.h"
#include "tirx/testing/run_pass.h"

namespace tvm {
namespace tirx {
namespace {

using testing::CountNodes;
using testing::Pattern;
using testing::RunPass;
using testing::RunPassWith;

Buffer VectorOf(int64_t n, const char* name) {
  return decl_buffer({IntImm::Int32(n)}, DataType::Float(32), name);
}

TEST(FlattenBuffer, ParametersKeepTheirShape) {
  Buffer a = decl_buffer({4, 8}, DataType::Float(32), "A");
  Buffer b = decl_buffer({4, 8}, DataType::Float(32), "B");
  Var i("i"), j("j");
  Stmt body = For(i, 0, 4, ForKind::kSerial,
                  For(j, 0, 8, ForKind::kSerial,
                      SeqStmt({BufferStore(b, BufferLoad(a, {i, j}) + 1.0f, {i, j})})));
  PrimFunc func(
      {a},
      SeqStmt({AllocBuffer(b), body,
               For(i, 0, 4, ForKind::kSerial, BufferStore(a, BufferLoad(b, {i, 7 - i}), {i, i}))}));
  PrimFunc after = RunPass(transform::FlattenBuffer(), func);
  EXPECT_TRUE(after->params[0].same_as(a));
  PostOrderVisit(after->body, [](const ffi::ObjectRef& node) {
    if (const auto* load = node.as<BufferLoadNode>()) EXPECT_EQ(load->indices.size(), 1u);
    if (const auto* store = node.as<BufferStoreNode>()) EXPECT_EQ(store->indices.size(), 1u);
    if (const auto* alloc = node.as<AllocBufferNode>()) {
      EXPECT_TRUE(is_const_int(alloc->buffer.shape()[0], 32));
    }
  });
  EXPECT_EQ(CountNodes<DeclBufferNode>(after), 1);
  auto before_data = Pattern(32), after_data = Pattern(32);
  testing::Interpreter().Run(func, {before_data});
  testing::Interpreter().Run(after, {after_data});
  EXPECT_EQ(before_data->f, after_data->f);
  EXPECT_TRUE(RunPass(transform::FlattenBuffer(), after)->body.same_as(after->body));
}

TEST(FlattenBuffer, StridesOffsetAndRankZero) {
  Buffer a("A", BufferType(DataType::Float(32), {3, 4}, {16, 2}, IntImm::Int32(5)));
  Buffer s = decl_buffer(ffi::Array<PrimExpr>(), DataType::Float(32), "S");
  Var i("i"), j("j");
  PrimFunc func({a, s},
                For(i, 0, 3, ForKind::kSerial,
                    For(j, 0, 4, ForKind::kSerial,
                        BufferStore(s, BufferLoad(s, {}) * 3.0f + BufferLoad(a, {i, j}), {}))));
  PrimFunc after = RunPass(transform::FlattenBuffer(), func);
  auto m1 = Pattern(64), m2 = Pattern(64), s1 = Pattern(1, 3), s2 = Pattern(1, 3);
  testing::Interpreter().Run(func, {m1, s1});
  testing::Interpreter().Run(after, {m2, s2});
  EXPECT_EQ(s1->f, s2->f);
}

TEST(FlattenBuffer, LargeBuffersAreIndexedIn64Bits) {
  Buffer a = decl_buffer({1 << 16, 1 << 16}, DataType::Int(8), "A");
  Var i("i"), j("j");
  PrimFunc func({a, i, j}, BufferStore(a, make_const(DataType::Int(8), 1), {i, j}));
  PrimFunc after = RunPass(transform::FlattenBuffer(), func);
  PostOrderVisit(after->body, [](const ffi::ObjectRef& node) {
    if (const auto* store = node.as<BufferStoreNode>()) {
      EXPECT_EQ(store->indices[0].dtype(), DataType::Int(64));
    }
  });
}

TEST(StmtSimplify, UsesLoopsAndConditions) {
  Buffer a = VectorOf(64, "A");
  Var i("i"), j("j"), n("n");
  Stmt body = For(
      i, 0, 8, ForKind::kSerial,
      For(j, 0, 8, ForKind::kSerial,
          SeqStmt({IfThenElse(i * 8 + j < 64, BufferStore(a, PrimExpr(1.0f),
                                                          {FloorDiv(i * 8 + j, IntImm::Int32(8))})),
                   IfThenElse(j >= 8, BufferStore(a, PrimExpr(2.0f), {0})),
                   IfThenElse(n > 3, IfThenElse(n > 2, BufferStore(a, PrimExpr(3.0f), {j})))})));
  PrimFunc func({a, n}, body);
  PrimFunc after = RunPass(transform::StmtSimplify(), func);
  EXPECT_EQ(CountNodes<IfThenElseNode>(after), 1);
  EXPECT_EQ(CountNodes<FloorDivNode>(after), 0);
  EXPECT_EQ(CountNodes<BufferStoreNode>(after), 2);
  EXPECT_TRUE(RunPass(transform::StmtSimplify(), after)->body.same_as(after->body));
}

TEST(StmtSimplify, FloatsKeepTheirNaNs) {
  Buffer a = VectorOf(1, "A");
  PrimExpr x = BufferLoad(a, {0});
  PrimFunc func({a}, IfThenElse(EQ(x, x), BufferStore(a, Sub(x, x), {0})));
  EXPECT_TRUE(RunPass(transform::StmtSimplify(), func)->body.same_as(func->body));
}

TEST(StmtSimplify, NamesOfConstantsAreInlined) {
  Buffer a = VectorOf(8, "A");
  Var x("x"), y("y"), n("n");
  PrimFunc func({a, n}, SeqStmt({Bind(x, IntImm::Int32(2) + 1), Bind(y, n * 2),
                                 BufferStore(a, PrimExpr(1.0f), {PrimExpr(x) + 1}),
                                 BufferStore(a, PrimExpr(1.0f), {y})}));
  PrimFunc after = RunPass(transform::StmtSimplify(), func);
  const auto* seq = after->body.as<SeqStmtNode>();
  ASSERT_EQ(seq->size(), 3u);
  EXPECT_TRUE(is_const_int(seq->seq[1].as<BufferStoreNode>()->indices[0], 4));
  EXPECT_TRUE(seq->seq[2].as<BufferStoreNode>()->indices[0].same_as(y));
}

TEST(RemoveNoOp, EmptyLoopsUnusedNamesAndSelfStores) {
  Buffer a = VectorOf(8, "A"), t = VectorOf(8, "T");
  Var i("i"), x("x"), y("y"), n("n");
  PrimFunc func({a, n}, SeqStmt({Bind(x, n + 1), Bind(y, PrimExpr(x) * 2), AllocBuffer(t),
                                 For(i, 0, n, ForKind::kSerial, Evaluate(y)),
                                 BufferStore(a, BufferLoad(a, {n}), {n}),
                                 IfThenElse(n > 2, Evaluate(0), BufferStore(a, 1.0f, {0}))}));
  PrimFunc after = RunPass(transform::RemoveNoOp(), func);
  const auto* branch = after->body.as<IfThenElseNode>();
  ASSERT_NE(branch, nullptr) << DebugText(after->body);
  EXPECT_FALSE(branch->else_case.has_value());
}

TEST(UnrollLoop, ReplicatesAndFolds) {
  Buffer a = VectorOf(8, "A");
  Var i("i"), j("j");
  PrimFunc func(
      {a}, For(i, 0, 4, ForKind::kUnrolled,
               For(j, 1, 2, ForKind::kUnrolled,
                   IfThenElse(PrimExpr(i) != 2,
                              BufferStore(a, cast(DataType::Float(32), i + j), {i * 2 + j - 1})))));
  PrimFunc after = RunPass(transform::UnrollLoop(), func);
  EXPECT_EQ(CountNodes<ForNode>(after), 0);
  EXPECT_EQ(CountNodes<IfThenElseNode>(after), 0);
  const auto* seq = after->body.as<SeqStmtNode>();
  ASSERT_EQ(seq->size(), 6u);
  EXPECT_TRUE(is_const_int(seq->seq[5].as<BufferStoreNode>()->indices[0], 7));
}

TEST(UnrollLoop, CopiesOfDefinitionsGetNamesOfTheirOwn) {
  Buffer a = VectorOf(8, "A"), t = VectorOf(1, "t");
  Var i("i");
  PrimFunc func({a}, For(i, 0, 2, ForKind::kUnrolled,
                         SeqStmt({AllocBuffer(t), BufferStore(t, PrimExpr(1.0f), {0}),
                                  BufferStore(a, BufferLoad(t, {0}), {i})})));
  PrimFunc after = RunPass(transform::UnrollLoop(), func);
  std::vector<const ffi::Object*> allocated;
  PostOrderVisit(after->body, [&](const ffi::ObjectRef& node) {
    if (const auto* alloc = node.as<AllocBufferNode>()) allocated.push_back(alloc->buffer.get());
  });
  ASSERT_EQ(allocated.size(), 2u);
  EXPECT_NE(allocated[0], allocated[1]);
}

TEST(UnrollLoop, AutomaticLimits) {
  Buffer a = VectorOf(64, "A");
  Var i("i"), j("j");
  Stmt nest = For(i, 0, 16, ForKind::kSerial,
                  For(j, 0, 4, ForKind::kSerial, BufferStore(a, PrimExpr(1.0f), {i * 4 + j})));
  PrimFunc func({a}, nest);
  EXPECT_TRUE(RunPass(transform::UnrollLoop(), func)->body.same_as(func->body));
  ffi::Map<ffi::String, ffi::Any> options{{"auto_max_step", 4}};
  PrimFunc after = RunPassWith({{"tirx.UnrollLoop", options}}, transform::UnrollLoop(), func);
  EXPECT_EQ(CountNodes<ForNode>(after), 1);
  Stmt pragma = AttrStmt(IntImm::Int32(0), "pragma_auto_unroll_max_step", IntImm::Int32(64), nest);
  after = RunPass(transform::UnrollLoop(), PrimFunc({a}, pragma));
  EXPECT_EQ(CountNodes<ForNode>(after), 0);
}

}  // namespace
}  // namespace tirx
}  // namespace tvm
