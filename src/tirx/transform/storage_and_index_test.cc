// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// StorageRewrite, CommonSubexprElim, NarrowDataType; Specialize and IndexMap.
#include <gtest/gtest.h>
#include <tvm/tirx/analysis.h>
#include <tvm/tirx/index_map.h>
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

Buffer VectorOf(int64_t n, const char* name) {
  return decl_buffer({IntImm::Int32(n)}, DataType::Float(32), name);
}

Stmt Copy(const Buffer& from, const Buffer& to, int64_t n, float factor) {
  Var i("i");
  return For(i, 0, IntImm::Int32(n), ForKind::kSerial,
             BufferStore(to, BufferLoad(from, {i}) * factor, {i}));
}

TEST(StorageRewrite, BuffersOfDisjointLivesShare) {
  Buffer a = VectorOf(512, "A"), t = VectorOf(512, "T"), u = VectorOf(512, "U"),
         v = VectorOf(400, "V");
  PrimFunc func({a}, SeqStmt({AllocBuffer(t), AllocBuffer(u), AllocBuffer(v), Copy(a, t, 512, 2),
                              Copy(t, u, 512, 3), Copy(u, v, 400, 5), Copy(v, a, 400, 7)}));
  PrimFunc after = RunPass(transform::StorageRewrite(), func);
  EXPECT_EQ(CountNodes<AllocBufferNode>(after), 2);  // V takes the place of T
  EXPECT_TRUE(VerifyWellFormed(after, true));
  auto want = Pattern(512), got = Pattern(512);
  testing::Interpreter().Run(func, {want});
  testing::Interpreter().Run(after, {got});
  EXPECT_EQ(want->f, got->f);
}

TEST(StorageRewrite, LivesThatOverlapDoNotShare) {
  Buffer a = VectorOf(512, "A"), t = VectorOf(512, "T"), u = VectorOf(512, "U");
  Var i("i");
  Stmt both = For(i, 0, 512, ForKind::kSerial,
                  BufferStore(a, BufferLoad(t, {i}) + BufferLoad(u, {i}), {i}));
  PrimFunc func(
      {a}, SeqStmt({AllocBuffer(t), AllocBuffer(u), Copy(a, t, 512, 2), Copy(a, u, 512, 3), both}));
  EXPECT_TRUE(RunPass(transform::StorageRewrite(), func)->body.same_as(func->body));
}

TEST(CommonSubexprElim, NamesWhatTwoStatementsCompute) {
  Buffer a = VectorOf(64, "A");
  Var i("i"), j("j");
  PrimExpr at = PrimExpr(i) * 8 + j;
  PrimFunc func({a, j}, For(i, 0, 4, ForKind::kSerial,
                            SeqStmt({BufferStore(a, PrimExpr(1.0f), {Add(at, IntImm::Int32(1))}),
                                     BufferStore(a, PrimExpr(2.0f), {at}),
                                     BufferStore(a, PrimExpr(3.0f), {at})})));
  PrimFunc after = RunPass(transform::CommonSubexprElim(), func);
  EXPECT_GE(CountNodes<BindNode>(after), 1);
  EXPECT_TRUE(VerifyWellFormed(after, true));
  auto want = Pattern(64), got = Pattern(64);
  testing::Interpreter().Run(func, {want}, {3});
  testing::Interpreter().Run(after, {got}, {3});
  EXPECT_EQ(want->f, got->f);
}

TEST(NarrowDataType, OnlyWhereEverythingFits) {
  auto func = [](int64_t extent) {
    Buffer a = decl_buffer({IntImm::Int64(extent)}, DataType::Int(8), "A");
    Var i("i", DataType::Int(64));
    return PrimFunc({a}, For(i, 0, IntImm::Int64(extent), ForKind::kSerial,
                             BufferStore(a, make_const(DataType::Int(8), 1), {i})));
  };
  PrimFunc small = RunPass(transform::NarrowDataType(32), func(1 << 20));
  EXPECT_EQ(small->body.as<ForNode>()->loop_var->dtype(), DataType::Int(32));
  PrimFunc large = RunPass(transform::NarrowDataType(32), func(int64_t{1} << 33));
  EXPECT_EQ(large->body.as<ForNode>()->loop_var->dtype(), DataType::Int(64));
}

TEST(Specialize, SymbolsFollowTheGivenBuffer) {
  Var n("n"), k("k");
  Buffer a = decl_buffer({n}, DataType::Float(32), "A");
  Buffer b = decl_buffer({n * 2}, DataType::Float(32), "B");
  Var i("i");
  PrimFunc func({a, b, k}, For(i, 0, n, ForKind::kSerial,
                               BufferStore(b, BufferLoad(a, {i}), {PrimExpr(i) + k})));
  PrimFunc special = Specialize(func, {{a, VectorOf(8, "A8")}, {k, IntImm::Int32(3)}});
  ASSERT_EQ(special->params.size(), 2u);
  EXPECT_TRUE(is_const_int(special->body.as<ForNode>()->extent, 8));
  EXPECT_EQ(UndefinedVars(special->body, special->params).size(), 0u);
  EXPECT_THROW(Specialize(func, {{a, decl_buffer({4, 4}, DataType::Float(32), "M")}}), ffi::Error);
  EXPECT_THROW(Specialize(func, {{Var("z"), IntImm::Int32(3)}}), ffi::Error);
}

TEST(IndexMap, ShapesAndIndices) {
  IndexMap map = IndexMap::FromFunc(
      2,
      [](ffi::Array<Var> i) -> ffi::Array<PrimExpr> {
        return {i[0], floordiv(i[1], 4), floormod(i[1], 4)};
      },
      std::nullopt, DataType::Int(32));
  arith::Analyzer analyzer;
  ffi::Array<PrimExpr> shape = map->MapShape({8, 16}, analyzer);
  ASSERT_EQ(shape.size(), 3u);
  EXPECT_TRUE(is_const_int(shape[1], 4));
  EXPECT_TRUE(is_const_int(shape[2], 4));
  ffi::Array<PrimExpr> at = map->MapIndices({1, 7}, analyzer);
  EXPECT_TRUE(is_const_int(at[1], 1));
  EXPECT_TRUE(is_const_int(at[2], 3));
  EXPECT_THROW(map->MapIndices({1}, analyzer), ffi::Error);
}

}  // namespace
}  // namespace tirx
}  // namespace tvm
