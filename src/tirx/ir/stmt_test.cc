// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include <gtest/gtest.h>
#include <tvm/ffi/extra/structural_equal.h>
#include <tvm/tirx/builtin.h>
#include <tvm/tirx/op.h>
#include <tvm/tirx/stmt_functor.h>

#include <string>
#include <vector>

#include "tirx/testing/interpreter.h"

namespace tvm {
namespace tirx {
namespace {

Buffer VectorOf(int64_t n, const char* name) {
  return decl_buffer({IntImm::Int32(n)}, DataType::Float(32), name);
}

Stmt Store(const Buffer& buffer, PrimExpr index, PrimExpr value) {
  return BufferStore(buffer, value, {index});
}

TEST(Stmt, ConstructorsRejectIllTypedParts) {
  Buffer a = VectorOf(8, "A");
  Var i("i");
  EXPECT_THROW(BufferStore(a, IntImm::Int32(1), {i}), ffi::Error);   // int into float
  EXPECT_THROW(BufferStore(a, PrimExpr(1.0f), {i, i}), ffi::Error);  // rank
  EXPECT_THROW(IfThenElse(IntImm::Int32(1), Evaluate(0)), ffi::Error);
  EXPECT_THROW(For(i, 0, Var("n", DataType::Int(64)), ForKind::kSerial, Evaluate(0)), ffi::Error);
  EXPECT_THROW(Bind(i, FloatImm(DataType::Float(32), 1.0)), ffi::Error);
  EXPECT_THROW(DeclBuffer(a, IntImm::Int32(0)), ffi::Error);
  try {
    BufferStore(a, IntImm::Int32(1), {i});
  } catch (const ffi::Error& error) {
    EXPECT_EQ(error.kind(), "TypeError");
    EXPECT_NE(std::string(error.what()).find("float32"), std::string::npos);
  }
}

TEST(Stmt, VectorStoreNeedsAsManyLanesAsItsIndex) {
  Buffer a = VectorOf(8, "A");
  PrimExpr ramp = Ramp(IntImm::Int32(0), IntImm::Int32(1), 4);
  PrimExpr value = Broadcast(PrimExpr(1.0f), 4);
  BufferStore store(a, value, {ramp});
  EXPECT_EQ(store->value.dtype(), DataType::Float(32, 4));
  EXPECT_THROW(BufferStore(a, PrimExpr(1.0f), {ramp}), ffi::Error);
  EXPECT_THROW(BufferStore(a, value, {ramp}, const_true(8)), ffi::Error);
  EXPECT_NO_THROW(BufferStore(a, value, {ramp}, const_true(4)));
}

TEST(Stmt, LoopBoundsTakeTheDtypeOfTheVariable) {
  Var i("i", DataType::Int(64));
  For loop(i, 0, 8, ForKind::kSerial, Evaluate(1));
  EXPECT_EQ(loop->min.dtype(), DataType::Int(64));
  EXPECT_EQ(loop->extent.dtype(), DataType::Int(64));
}

TEST(Stmt, SequencesAreFlat) {
  Buffer a = VectorOf(8, "A");
  Stmt s = Store(a, 0, 1.0f);
  Stmt inner = SeqStmt({s, s});
  SeqStmt outer({inner, s});
  EXPECT_EQ(outer->size(), 3u);
  EXPECT_TRUE(SeqStmt::Flatten(Evaluate(0), s).same_as(s));
  EXPECT_EQ(SeqStmt::Flatten(ffi::Array<Stmt>{s, inner}, Stmt()).as<SeqStmtNode>()->size(), 3u);
  EXPECT_NE(SeqStmt::Flatten(Evaluate(0)).as<EvaluateNode>(), nullptr);
}

TEST(StmtMutator, ReturnsTheSameObjectWhenNothingChanges) {
  Buffer a = VectorOf(8, "A");
  Var i("i");
  Stmt body = For(i, 0, 8, ForKind::kSerial,
                  SeqStmt({Store(a, i, 1.0f), IfThenElse(i < 4, Store(a, i, 2.0f))}));
  class Identity final : public StmtExprMutator {};
  EXPECT_TRUE(Identity()(body).same_as(body));
}

TEST(StmtMutator, LeavesSharedInputAlone) {
  Buffer a = VectorOf(8, "A");
  Var n("n");
  Stmt before = For(Var("i"), 0, 8, ForKind::kSerial, Store(a, n, 1.0f));
  Stmt after = Substitute(before, ffi::Map<Var, Expr>{{n, IntImm::Int32(3)}});
  EXPECT_FALSE(after.same_as(before));
  EXPECT_TRUE(before.as<ForNode>()->body.as<BufferStoreNode>()->indices[0].same_as(n));
  EXPECT_TRUE(is_const_int(after.as<ForNode>()->body.as<BufferStoreNode>()->indices[0], 3));
}

TEST(Substitute, RedefinesBuffersWhoseShapeChanges) {
  Var n("n");
  Buffer b = decl_buffer({n}, DataType::Float(32), "B");
  Stmt before = SeqStmt({AllocBuffer(b), Store(b, 0, 1.0f)});
  Stmt after = Substitute(before, ffi::Map<Var, Expr>{{n, IntImm::Int32(16)}});
  const auto* seq = after.as<SeqStmtNode>();
  const Buffer& alloc = seq->seq[0].as<AllocBufferNode>()->buffer;
  EXPECT_TRUE(is_const_int(alloc.shape()[0], 16));
  EXPECT_TRUE(seq->seq[1].as<BufferStoreNode>()->buffer.same_as(alloc));
}

TEST(Visit, PostOrderSeesChildrenFirstPreOrderCanPrune) {
  Buffer a = VectorOf(8, "A");
  Var i("i");
  Stmt body = For(i, 0, 8, ForKind::kSerial, Store(a, i, PrimExpr(1.0f)));
  std::vector<std::string> order;
  PostOrderVisit(body, [&](const ffi::ObjectRef& node) { order.emplace_back(node->GetTypeKey()); });
  EXPECT_EQ(order.back(), "tirx.For");
  EXPECT_EQ(order[order.size() - 2], "tirx.BufferStore");
  int seen = 0;
  PreOrderVisit(body, [&](const ffi::ObjectRef& node) {
    ++seen;
    return node.as<ForNode>() == nullptr;
  });
  EXPECT_EQ(seen, 1);
}

TEST(ConvertSSA, RenamesSecondDefinitionOnly) {
  Buffer a = VectorOf(8, "A");
  Var i("i");
  Stmt loop = For(i, 0, 8, ForKind::kSerial, Store(a, i, 1.0f));
  Stmt after = ConvertToSSA(SeqStmt({loop, loop}));
  const auto* seq = after.as<SeqStmtNode>();
  const auto* first = seq->seq[0].as<ForNode>();
  const auto* second = seq->seq[1].as<ForNode>();
  EXPECT_TRUE(first->loop_var.same_as(i));
  EXPECT_FALSE(second->loop_var.same_as(i));
  EXPECT_TRUE(second->body.as<BufferStoreNode>()->indices[0].same_as(second->loop_var));
  EXPECT_TRUE(ConvertToSSA(after).same_as(after));
}

TEST(ConvertSSA, BindsEndWithTheirSequence) {
  Buffer a = VectorOf(8, "A");
  Var x("x");
  Stmt part = SeqStmt({Bind(x, IntImm::Int32(2)), Store(a, x, 1.0f)});
  Stmt both = IfThenElse(Var("c", DataType::Bool()), part, part);
  Stmt after = ConvertToSSA(both);
  const auto* branch = after.as<IfThenElseNode>();
  const auto* other = branch->else_case.value().as<SeqStmtNode>();
  const Var& renamed = other->seq[0].as<BindNode>()->var;
  EXPECT_FALSE(renamed.same_as(x));
  EXPECT_TRUE(other->seq[1].as<BufferStoreNode>()->indices[0].same_as(renamed));
}

TEST(RenewDefs, RenewsParametersShapesAndLocals) {
  Var n("n");
  Buffer a = decl_buffer({n}, DataType::Float(32), "A");
  Var i("i");
  PrimFunc func({a, n}, For(i, 0, n, ForKind::kSerial, Store(a, i, 1.0f)));
  PrimFunc renewed = RenewDefs(func);
  Buffer b(renewed->params[0]);
  EXPECT_FALSE(b.same_as(a));
  EXPECT_FALSE(renewed->params[1].same_as(n));
  EXPECT_TRUE(b.shape()[0].same_as(renewed->params[1]));
  const auto* loop = renewed->body.as<ForNode>();
  EXPECT_FALSE(loop->loop_var.same_as(i));
  EXPECT_TRUE(loop->extent.same_as(renewed->params[1]));
  EXPECT_TRUE(loop->body.as<BufferStoreNode>()->buffer.same_as(b));
  EXPECT_TRUE(ffi::StructuralEqual()(func, renewed));
}

TEST(StructuralEqual, BlockNamesDoNotCount) {
  Buffer a = VectorOf(8, "A");
  SBlock x({}, {}, {}, "x", Store(a, 0, 1.0f));
  SBlock y({}, {}, {}, "y", Store(a, 0, 1.0f));
  SBlock z({}, {}, {}, "x", Store(a, 1, 1.0f));
  EXPECT_TRUE(ffi::StructuralEqual()(x, y));
  EXPECT_FALSE(ffi::StructuralEqual()(x, z));
}

TEST(Interpreter, RunsABlockWithInit) {
  Buffer a = decl_buffer({IntImm::Int32(2), IntImm::Int32(3)}, DataType::Float(32), "A");
  Buffer c = VectorOf(2, "C");
  Var i("i"), k("k"), vi("vi"), vk("vk");
  SBlock block({IterVar(Range::FromMinExtent(0, 2), vi, kDataPar),
                IterVar(Range::FromMinExtent(0, 3), vk, kCommReduce)},
               {}, {}, "sum", Store(c, vi, BufferLoad(c, {vi}) + BufferLoad(a, {vi, vk})),
               Store(c, vi, 0.0f));
  Stmt nest = For(i, 0, 2, ForKind::kSerial,
                  For(k, 0, 3, ForKind::kSerial, SBlockRealize({i, k}, Bool(true), block)));
  auto out = testing::Floats({9, 9});
  testing::Interpreter().Run(PrimFunc({a, c}, nest), {testing::Floats({1, 2, 3, 4, 5, 6}), out});
  EXPECT_EQ(out->f, (std::vector<double>{6, 15}));
}

}  // namespace
}  // namespace tirx
}  // namespace tvm
